//! Packs the fields of a UASTC block into its sixteen bytes.
//!
//! The order is that of the UASTC specification: mode, hints, pattern, channel of the second plane, trits or
//! quints of the endpoints, their bits, weights. Values are packed from the lowest bit of the first byte up.

use super::modes::{MODES, Mode, SOLID};
use crate::bits::Bits;

/// The fields of a block, before packing and after unpacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The mode number, 0..=18, except the solid-colour mode.
    pub mode: u8,
    /// The partition pattern, zero for a single subset.
    pub pattern: u8,
    /// The channel of the second plane, in dual-plane modes.
    pub channel: u8,
    /// Endpoints as values 0..=255 of the mode's endpoint range: per subset and component, low and high.
    pub endpoints: [u8; 18],
    /// Weights by texel, planes interleaved.
    pub weights: [u8; 32],
    /// The transcoding hints.
    pub hints: Hints,
}

/// Hints for transcoding to other formats. They never change the decoded texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// BC1: the endpoints and weights of the block can be used directly.
    pub bc1_direct: bool,
    /// BC1: the weights of the block can be used as selectors.
    pub bc1_weights: bool,
    /// ETC1: flip (bit 0), differential (bit 1), intensity tables of both halves (3 bits each).
    pub etc1: u8,
    /// ETC1: the bias of the base colours; 13 is no bias.
    pub etc1_bias: u8,
    /// ETC2 alpha: modifier table (4 bits) and multiplier (4 bits, not zero).
    pub eac: u8,
}

impl Hints {
    /// Valid hints without effect: differential, middle tables, no bias.
    pub const NEUTRAL: Self =
        Self { bc1_direct: false, bc1_weights: false, etc1: 0b0100_1010, etc1_bias: 13, eac: 0x1D };
}

/// The ETC1 encoding of a solid-colour block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SolidHint {
    /// The intensity table index.
    pub table: u8,
    /// The index of the modifier, from the most negative up.
    pub selector: u8,
    /// The base colour with five bits per channel.
    pub base: [u8; 3],
}

/// Packs a solid-colour block.
pub fn pack_solid(colour: [u8; 4], hint: &SolidHint) -> [u8; 16] {
    let mode = &MODES[usize::from(SOLID)];
    let mut bits = Bits::default();
    bits.put(mode.code.into(), mode.code_bits);
    bits.put(u32::from_le_bytes(colour).into(), 32);
    bits.put(1, 1);
    bits.put(hint.table.into(), 3);
    bits.put(hint.selector.into(), 2);
    for channel in hint.base {
        bits.put(channel.into(), 5);
    }
    bits.value.to_le_bytes()
}

/// Packs any other block. The fields need not be canonical: the endpoints of a subset whose anchor weight has
/// its top bit set are swapped here.
pub fn pack(fields: &Fields) -> [u8; 16] {
    let mode = &MODES[usize::from(fields.mode)];
    let partition = mode.partition(fields.pattern);
    let mut endpoints = fields.endpoints;
    let mut weights = fields.weights;
    swap_endpoints(mode, fields, &mut endpoints, &mut weights);

    let mut bits = Bits::default();
    bits.put(mode.code.into(), mode.code_bits);
    put_hints(&mut bits, mode, &fields.hints);
    bits.put(fields.pattern.into(), mode.pattern_bits());
    bits.put(if mode.selector_bits() > 0 { fields.channel.into() } else { 0 }, mode.selector_bits());
    put_endpoints(&mut bits, mode, &endpoints);
    put_weights(&mut bits, mode, &partition.anchors[..mode.subsets], &weights);
    debug_assert!(bits.used <= 128);
    bits.value.to_le_bytes()
}

/// Puts all weights at full width, then takes out the top bits of the anchors, which are zero.
fn put_weights(bits: &mut Bits, mode: &Mode, anchors: &[u8], weights: &[u8; 32]) {
    let width = mode.weight_bits;
    let mut all = 0u128;
    for (i, eight) in weights[..16 * mode.planes].chunks_exact(8).enumerate() {
        let word = eight.iter().rev().fold(0u64, |word, &weight| word << width | u64::from(weight));
        all |= u128::from(word) << (8 * width * i as u32);
    }
    let mut count = 16 * mode.planes as u32 * width;
    let mut take_out = |weight: u32| {
        let below = (1u128 << (weight * width + width - 1)) - 1;
        all = all & below | all >> 1 & !below;
        count -= 1;
    };
    // From the last to the first, so that the places of the others stay.
    for texel in (0..16u8).rev().filter(|texel| anchors.contains(texel)) {
        for plane in (0..mode.planes).rev() {
            take_out(u32::from(texel) * mode.planes as u32 + plane as u32);
        }
    }
    bits.value |= all << bits.used;
    bits.used += count;
}

/// Makes the top bit of each subset's anchor weight zero, by swapping low and high endpoints where needed.
fn swap_endpoints(mode: &Mode, fields: &Fields, endpoints: &mut [u8; 18], weights: &mut [u8; 32]) {
    let partition = mode.partition(fields.pattern);
    let top = (1u8 << mode.weight_bits) - 1;
    let planes = mode.planes;
    for plane in 0..planes {
        for subset in 0..mode.subsets {
            let anchor = usize::from(partition.anchors[subset]);
            if weights[anchor * planes + plane] <= top / 2 {
                continue;
            }
            for texel in 0..16 {
                if usize::from(partition.subset[texel]) == subset {
                    let weight = &mut weights[texel * planes + plane];
                    *weight = top - *weight;
                }
            }
            for component in 0..mode.components {
                if planes == 1 || (plane == 1) == is_second_plane(mode, fields.channel, component) {
                    let at = (subset * mode.components + component) * 2;
                    endpoints.swap(at, at + 1);
                }
            }
        }
    }
}

/// Returns true if a component belongs to the second plane of a dual-plane mode.
pub const fn is_second_plane(mode: &Mode, channel: u8, component: usize) -> bool {
    if mode.components == 2 { component == 1 } else { component == channel as usize }
}

fn put_hints(bits: &mut Bits, mode: &Mode, hints: &Hints) {
    bits.put(hints.bc1_direct.into(), 1);
    if mode.has_long_hints() {
        bits.put(hints.bc1_weights.into(), 1);
    }
    bits.put(hints.etc1.into(), 8);
    if mode.has_long_hints() {
        bits.put(hints.etc1_bias.into(), 5);
    }
    if mode.has_alpha() {
        bits.put(hints.eac.into(), 8);
    }
}

/// Returns the bits of `count` trits (radix 3, at most five) or quints (radix 5, at most three).
pub const fn digit_bits(radix: u32, count: usize) -> u32 {
    match (radix, count) {
        (3, n) => [0, 2, 4, 5, 7, 8][n],
        (5, n) => [0, 3, 5, 7][n],
        _ => 0,
    }
}

/// Returns the number of trits or quints in a group.
pub const fn digits_per_group(radix: u32) -> usize {
    if radix == 3 { 5 } else { 3 }
}

fn put_endpoints(bits: &mut Bits, mode: &Mode, endpoints: &[u8; 18]) {
    let range = mode.range;
    let count = mode.endpoints();
    let mut indices = [0u32; 18];
    for (index, &value) in indices.iter_mut().zip(endpoints) {
        *index = range.indices[usize::from(value)].into();
    }
    let indices = &indices[..count];
    if range.radix > 1 {
        for group in indices.chunks(digits_per_group(range.radix)) {
            let digits = group.iter().rev().fold(0, |sum, index| sum * range.radix + (index >> range.bits));
            bits.put(digits.into(), digit_bits(range.radix, group.len()));
        }
    }
    for index in indices {
        bits.put((index & ((1 << range.bits) - 1)).into(), range.bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of no mode exceed the block, and mode 0 fills it except for four bits.
    #[test]
    fn fields_fit_in_128_bits() {
        for (i, mode) in MODES.iter().enumerate() {
            if i == usize::from(SOLID) {
                continue;
            }
            let hints = 9 + 6 * u32::from(mode.has_long_hints()) + 8 * u32::from(mode.has_alpha());
            let mut used = mode.code_bits + hints + mode.pattern_bits() + mode.selector_bits();
            let range = mode.range;
            used += mode.endpoints() as u32 * range.bits;
            if range.radix > 1 {
                let group = digits_per_group(range.radix);
                let full = (mode.endpoints() / group) as u32;
                used += full * digit_bits(range.radix, group);
                used += digit_bits(range.radix, mode.endpoints() % group);
            }
            let anchors = (mode.subsets.max(mode.planes)) as u32;
            used += 16 * mode.planes as u32 * mode.weight_bits - anchors;
            assert!(used <= 128, "mode {i} takes {used} bits");
        }
    }
}
