//! A block's fields into its sixteen bytes.
//!
//! The order is that of the UASTC specification: mode, hints, pattern, channel of the second plane, trits or
//! quints of the endpoints, their bits, weights. Values are packed from the lowest bit of the first byte up.

use crate::modes::{MODES, Mode, SOLID};

/// What one block says, before packing and after unpacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    /// Which mode, 0..=18, not the solid one.
    pub(crate) mode: u8,
    /// Which partition pattern, zero if there is one subset.
    pub(crate) pattern: u8,
    /// The channel that has the second plane to itself, if there are two planes.
    pub(crate) channel: u8,
    /// Endpoints as values 0..=255 that the mode's lattice holds: per subset and component, low and high.
    pub(crate) endpoints: [u8; 18],
    /// Weights by texel, planes interleaved.
    pub(crate) weights: [u8; 32],
    /// What helps transcoders.
    pub(crate) hints: Hints,
}

/// Advice for transcoding to other formats. It never changes the decoded texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hints {
    /// BC1: the endpoints and weights of the block can be used as they are.
    pub(crate) bc1_direct: bool,
    /// BC1: the weights of the block can be used as selectors.
    pub(crate) bc1_weights: bool,
    /// ETC1: flip (bit 0), differential (bit 1), intensity tables of both halves (3 bits each).
    pub(crate) etc1: u8,
    /// ETC1: how the base colours are nudged; 13 does nothing.
    pub(crate) etc1_bias: u8,
    /// ETC2 alpha: modifier table (4 bits) and multiplier (4 bits, not zero).
    pub(crate) eac: u8,
}

impl Hints {
    /// Hints that are legal and do no harm: differential, middling tables, no nudge.
    pub(crate) const NEUTRAL: Self =
        Self { bc1_direct: false, bc1_weights: false, etc1: 0b0100_1010, etc1_bias: 13, eac: 0x1D };
}

/// The ETC1 colour of a block of one colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SolidHint {
    /// Intensity table.
    pub(crate) table: u8,
    /// Which of the four modifiers, from the most negative up.
    pub(crate) selector: u8,
    /// Base colour, five bits each.
    pub(crate) base: [u8; 3],
}

struct Bits {
    value: u128,
    used: u32,
}

impl Bits {
    #[inline]
    fn put(&mut self, value: u32, bits: u32) {
        debug_assert!(bits == 32 || value >> bits == 0, "{value} does not fit {bits} bits");
        self.value |= u128::from(value) << self.used;
        self.used += bits;
    }
}

/// A block of one colour.
pub(crate) fn pack_solid(colour: [u8; 4], hint: &SolidHint) -> [u8; 16] {
    let mode = &MODES[usize::from(SOLID)];
    let mut bits = Bits { value: 0, used: 0 };
    bits.put(mode.code, mode.code_bits);
    bits.put(u32::from_le_bytes(colour), 32);
    bits.put(1, 1);
    bits.put(hint.table.into(), 3);
    bits.put(hint.selector.into(), 2);
    for channel in hint.base {
        bits.put(channel.into(), 5);
    }
    bits.value.to_le_bytes()
}

/// Every other block. The fields need not be canonical: a subset whose first weight has its top bit set is
/// turned around here.
pub(crate) fn pack(fields: &Fields) -> [u8; 16] {
    let mode = &MODES[usize::from(fields.mode)];
    let partition = mode.partition(fields.pattern);
    let mut endpoints = fields.endpoints;
    let mut weights = fields.weights;
    turn_subsets(mode, fields, &mut endpoints, &mut weights);

    let mut bits = Bits { value: 0, used: 0 };
    bits.put(mode.code, mode.code_bits);
    put_hints(&mut bits, mode, &fields.hints);
    bits.put(fields.pattern.into(), mode.pattern_bits());
    bits.put(if mode.selector_bits() > 0 { fields.channel.into() } else { 0 }, mode.selector_bits());
    put_endpoints(&mut bits, mode, &endpoints);
    let anchors = &partition.anchors[..mode.subsets];
    for (i, &weight) in weights[..16 * mode.planes].iter().enumerate() {
        let texel = (i / mode.planes) as u8;
        let saved = u32::from(anchors.contains(&texel));
        bits.put(weight.into(), mode.weight_bits - saved);
    }
    debug_assert!(bits.used <= 128);
    bits.value.to_le_bytes()
}

/// Makes the top bit of each subset's first weight zero, by exchanging low and high endpoints where needed.
fn turn_subsets(mode: &Mode, fields: &Fields, endpoints: &mut [u8; 18], weights: &mut [u8; 32]) {
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

/// Whether a component is driven by the second plane of a two-plane mode.
pub(crate) const fn is_second_plane(mode: &Mode, channel: u8, component: usize) -> bool {
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

/// Bits that hold `count` trits (radix 3, at most five) or quints (radix 5, at most three).
pub(crate) const fn digit_bits(radix: u32, count: usize) -> u32 {
    match (radix, count) {
        (3, n) => [0, 2, 4, 5, 7, 8][n],
        (5, n) => [0, 3, 5, 7][n],
        _ => 0,
    }
}

/// How many trits or quints share one group.
pub(crate) const fn digits_per_group(radix: u32) -> usize {
    if radix == 3 { 5 } else { 3 }
}

fn put_endpoints(bits: &mut Bits, mode: &Mode, endpoints: &[u8; 18]) {
    let lattice = mode.lattice;
    let count = mode.endpoints();
    let mut indices = [0u32; 18];
    for (index, &value) in indices.iter_mut().zip(endpoints) {
        *index = lattice.indices[usize::from(value)].into();
    }
    let indices = &indices[..count];
    if lattice.radix > 1 {
        for group in indices.chunks(digits_per_group(lattice.radix)) {
            let digits =
                group.iter().rev().fold(0, |sum, index| sum * lattice.radix + (index >> lattice.bits));
            bits.put(digits, digit_bits(lattice.radix, group.len()));
        }
    }
    for index in indices {
        bits.put(index & ((1 << lattice.bits) - 1), lattice.bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No mode's fields exceed the block, and mode 0 fills it but for four bits.
    #[test]
    fn fields_fit() {
        for (i, mode) in MODES.iter().enumerate() {
            if i == usize::from(SOLID) {
                continue;
            }
            let hints = 9 + 6 * u32::from(mode.has_long_hints()) + 8 * u32::from(mode.has_alpha());
            let mut used = mode.code_bits + hints + mode.pattern_bits() + mode.selector_bits();
            let lattice = mode.lattice;
            used += mode.endpoints() as u32 * lattice.bits;
            if lattice.radix > 1 {
                let group = digits_per_group(lattice.radix);
                let full = (mode.endpoints() / group) as u32;
                used += full * digit_bits(lattice.radix, group);
                used += digit_bits(lattice.radix, mode.endpoints() % group);
            }
            let anchors = (mode.subsets.max(mode.planes)) as u32;
            used += 16 * mode.planes as u32 * mode.weight_bits - anchors;
            assert!(used <= 128, "mode {i} takes {used} bits");
        }
    }
}
