//! UASTC decoder: sixteen bytes to sixteen texels, bit-exact with a conforming transcoder.
//!
//! A block is rejected if its prefix code is the reserved one or its pattern index is past the last pattern.
//! Weights interpolate by the linear rule of ASTC (endpoints expanded to sixteen bits by replication).

use crate::modes::{MODES, Mode, SOLID};
use crate::packing::{Fields, Hints, digit_bits, digits_per_group, is_second_plane};

struct Reader {
    value: u128,
}

impl Reader {
    fn take(&mut self, bits: u32) -> u32 {
        let out = (self.value & ((1 << bits) - 1)) as u32;
        self.value >>= bits;
        out
    }
}

/// Decodes the texels of a block in raster order. Returns `None` if its mode or pattern does not exist.
#[must_use]
pub fn decode_block(block: &[u8; 16]) -> Option<[[u8; 4]; 16]> {
    let mode = Mode::of_first_byte(block[0])?;
    if mode == SOLID {
        let mut reader = Reader { value: u128::from_le_bytes(*block) };
        reader.take(MODES[usize::from(SOLID)].code_bits);
        return Some([reader.take(32).to_le_bytes(); 16]);
    }
    Some(texels(&unpack(mode, block)?))
}

/// Unpacks the fields of a block of any mode except the solid-colour mode.
pub(crate) fn unpack(number: u8, block: &[u8; 16]) -> Option<Fields> {
    let mode = &MODES[usize::from(number)];
    let mut reader = Reader { value: u128::from_le_bytes(*block) };
    reader.take(mode.code_bits);
    let hints = take_hints(&mut reader, mode);
    let pattern = reader.take(mode.pattern_bits()) as u8;
    if mode.subsets > 1 && usize::from(pattern) >= mode.patterns.len() {
        return None;
    }
    let mut channel = reader.take(mode.selector_bits()) as u8;
    if mode.planes == 2 && mode.components == 2 {
        channel = 3;
    }
    let endpoints = take_endpoints(&mut reader, mode);
    let anchors = &mode.partition(pattern).anchors[..mode.subsets];
    let mut weights = [0; 32];
    for (i, weight) in weights[..16 * mode.planes].iter_mut().enumerate() {
        let saved = u32::from(anchors.contains(&((i / mode.planes) as u8)));
        *weight = reader.take(mode.weight_bits - saved) as u8;
    }
    Some(Fields { mode: number, pattern, channel, endpoints, weights, hints })
}

fn take_hints(reader: &mut Reader, mode: &Mode) -> Hints {
    let mut hints = Hints::NEUTRAL;
    hints.bc1_direct = reader.take(1) != 0;
    if mode.has_long_hints() {
        hints.bc1_weights = reader.take(1) != 0;
    }
    hints.etc1 = reader.take(8) as u8;
    if mode.has_long_hints() {
        hints.etc1_bias = reader.take(5) as u8;
    }
    if mode.has_alpha() {
        hints.eac = reader.take(8) as u8;
    }
    hints
}

fn take_endpoints(reader: &mut Reader, mode: &Mode) -> [u8; 18] {
    let range = mode.range;
    let count = mode.endpoints();
    let mut indices = [0u32; 18];
    if range.radix > 1 {
        for group in indices[..count].chunks_mut(digits_per_group(range.radix)) {
            let mut digits = reader.take(digit_bits(range.radix, group.len()));
            for index in group {
                *index = (digits % range.radix) << range.bits;
                digits /= range.radix;
            }
        }
    }
    let mut endpoints = [0; 18];
    for (value, index) in endpoints.iter_mut().zip(indices).take(count) {
        *value = range.values[(index | reader.take(range.bits)) as usize];
    }
    endpoints
}

/// Returns a weight index in 64ths: ASTC's weight unquantisation for one to five bits.
pub(crate) const fn weight_64ths(bits: u32, index: u8) -> u32 {
    let index = index as u32;
    let six = match bits {
        1 => index * 63,
        2 => index * 21,
        3 => index << 3 | index,
        4 => index << 2 | index >> 2,
        _ => index << 1 | index >> 4,
    };
    if six > 32 { six + 1 } else { six }
}

/// Interpolates one channel between two endpoints by ASTC's linear rule.
pub(crate) const fn interpolate(low: u8, high: u8, weight: u32) -> u8 {
    let (low, high) = (low as u32 * 257, high as u32 * 257);
    (((low * (64 - weight) + high * weight + 32) >> 6) >> 8) as u8
}

/// Decodes the texels of unpacked fields.
pub(crate) fn texels(fields: &Fields) -> [[u8; 4]; 16] {
    let mode = &MODES[usize::from(fields.mode)];
    let partition = mode.partition(fields.pattern);
    let mut out = [[255; 4]; 16];
    for (i, texel) in out.iter_mut().enumerate() {
        let first = usize::from(partition.subset[i]) * mode.components * 2;
        let mut values = [255; 4];
        for (component, value) in values.iter_mut().enumerate().take(mode.components) {
            let second = mode.planes == 2 && is_second_plane(mode, fields.channel, component);
            let index = fields.weights[i * mode.planes + usize::from(second)];
            let weight = weight_64ths(mode.weight_bits, index);
            let at = first + component * 2;
            *value = interpolate(fields.endpoints[at], fields.endpoints[at + 1], weight);
        }
        *texel = if mode.components == 2 { [values[0], values[0], values[0], values[1]] } else { values };
    }
    out
}
