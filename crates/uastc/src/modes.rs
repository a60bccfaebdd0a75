//! The nineteen modes of UASTC LDR 4x4, as the UASTC specification's mode table gives them.

use crate::lattice::{self, Lattice};
use crate::partitions::{self, Partition};

/// What a mode's fields are and how wide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    /// The prefix code, lowest bit first.
    pub(crate) code: u32,
    /// How many bits the prefix code takes.
    pub(crate) code_bits: u32,
    /// 2 for grey and alpha, 3 for RGB, 4 for RGBA.
    pub(crate) components: usize,
    /// How many endpoint pairs share the block's texels.
    pub(crate) subsets: usize,
    /// How many weights each texel has.
    pub(crate) planes: usize,
    /// Bits of a weight.
    pub(crate) weight_bits: u32,
    /// The levels of the endpoints.
    pub(crate) lattice: &'static Lattice,
    /// The patterns to choose from, if there is more than one subset.
    pub(crate) patterns: &'static [Partition],
}

/// The mode of a block of one colour.
pub(crate) const SOLID: u8 = 8;

/// All modes by number.
pub(crate) static MODES: [Mode; 19] = [
    mode(0x01, 4, 3, 1, 4, &lattice::LEVELS_192),
    mode(0x35, 6, 3, 1, 2, &lattice::LEVELS_256),
    split(0x1D, 5, 3, 2, 3, &lattice::LEVELS_16, &partitions::TWO),
    split(0x03, 5, 3, 3, 2, &lattice::LEVELS_12, &partitions::THREE),
    split(0x13, 5, 3, 2, 2, &lattice::LEVELS_40, &partitions::TWO),
    mode(0x0B, 5, 3, 1, 3, &lattice::LEVELS_256),
    mode(0x1B, 5, 3, 2, 2, &lattice::LEVELS_160),
    split(0x07, 5, 3, 2, 2, &lattice::LEVELS_40, &partitions::TWO_OF_THREE),
    mode(0x17, 5, 4, 1, 0, &lattice::LEVELS_256),
    split(0x0F, 5, 4, 2, 2, &lattice::LEVELS_16, &partitions::TWO),
    mode(0x02, 3, 4, 1, 4, &lattice::LEVELS_48),
    mode(0x00, 2, 4, 2, 2, &lattice::LEVELS_48),
    mode(0x06, 3, 4, 1, 3, &lattice::LEVELS_192),
    mode(0x1F, 5, 4, 2, 1, &lattice::LEVELS_256),
    mode(0x0D, 5, 4, 1, 2, &lattice::LEVELS_256),
    mode(0x05, 7, 2, 1, 4, &lattice::LEVELS_256),
    split(0x15, 6, 2, 2, 2, &lattice::LEVELS_256, &partitions::TWO),
    mode(0x25, 6, 2, 2, 2, &lattice::LEVELS_256),
    mode(0x09, 4, 3, 1, 5, &lattice::LEVELS_32),
];

const fn mode(
    code: u32,
    code_bits: u32,
    components: usize,
    planes: usize,
    weight_bits: u32,
    lattice: &'static Lattice,
) -> Mode {
    Mode { code, code_bits, components, subsets: 1, planes, weight_bits, lattice, patterns: &[] }
}

const fn split(
    code: u32,
    code_bits: u32,
    components: usize,
    subsets: usize,
    weight_bits: u32,
    lattice: &'static Lattice,
    patterns: &'static [Partition],
) -> Mode {
    Mode { code, code_bits, components, subsets, planes: 1, weight_bits, lattice, patterns }
}

impl Mode {
    /// Whether the block holds alpha, and so the hint byte for ETC2's alpha.
    pub(crate) const fn has_alpha(&self) -> bool {
        self.components != 3
    }

    /// Modes 10 to 12 have no room for the second BC1 hint and the ETC1 bias.
    pub(crate) const fn has_long_hints(&self) -> bool {
        self.code_bits > 3 || self.components == 3
    }

    /// Bits of the pattern index.
    pub(crate) const fn pattern_bits(&self) -> u32 {
        match self.subsets {
            2 => 5,
            3 => 4,
            _ => 0,
        }
    }

    /// Bits that say which channel has the second plane to itself; grey with alpha needs none.
    pub(crate) const fn selector_bits(&self) -> u32 {
        if self.planes == 2 && self.components != 2 { 2 } else { 0 }
    }

    /// How many endpoint values are stored.
    pub(crate) const fn endpoints(&self) -> usize {
        self.components * 2 * self.subsets
    }

    /// The partition of a pattern index, which must exist.
    pub(crate) fn partition(&self, pattern: u8) -> &'static Partition {
        self.patterns.get(usize::from(pattern)).unwrap_or(&partitions::WHOLE)
    }

    /// The mode whose prefix code a block's first byte begins with.
    pub(crate) fn of_first_byte(byte: u8) -> Option<u8> {
        let starts = |m: &Mode| u32::from(byte) & ((1 << m.code_bits) - 1) == m.code;
        MODES.iter().position(starts).map(|m| m as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use basisu::uastc::tables as theirs;

    #[test]
    fn the_table_is_that_of_the_independent_transcoder() {
        for (i, mode) in MODES.iter().enumerate() {
            assert_eq!(theirs::MODE_HUFF_CODES[i], [mode.code, mode.code_bits]);
            if i == usize::from(SOLID) {
                continue;
            }
            assert_eq!(usize::from(theirs::COMPS[i]), mode.components);
            assert_eq!(usize::from(theirs::SUBSETS[i]), mode.subsets);
            assert_eq!(usize::from(theirs::PLANES[i]), mode.planes);
            assert_eq!(u32::from(theirs::WEIGHT_BITS[i]), mode.weight_bits);
            assert_eq!(theirs::HAS_ALPHA[i] != 0, mode.has_alpha());
            assert_eq!(theirs::HAS_ETC1_BIAS[i] != 0, mode.has_long_hints());
            assert_eq!(theirs::HAS_BC1_HINT1[i] != 0, mode.has_long_hints());
            let range = u32::from(theirs::ENDPOINT_RANGES[i]);
            assert_eq!(basisu::uastc::bise::astc_get_levels(range), mode.lattice.levels);
        }
    }

    /// Mode 12's code is three bits like mode 10's; mode 0's is four but it has long hints.
    #[test]
    fn every_first_byte_has_the_transcoders_mode() {
        for byte in 0..=255u8 {
            let theirs = basisu::uastc::huff_modes::HUFF_MODES[usize::from(byte & 127)];
            let ours = Mode::of_first_byte(byte).unwrap_or(19);
            assert_eq!(ours, theirs, "first byte {byte:#x}");
        }
    }
}
