//! The nineteen modes of UASTC LDR 4x4, from the mode table of the UASTC specification.

use super::endpoint_range::{self, EndpointRange};
use super::partitions::{self, Partition};

/// The fields of a mode and their widths.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// The prefix code, lowest bit first.
    pub code: u32,
    /// The number of bits of the prefix code.
    pub code_bits: u32,
    /// 2 for grey and alpha, 3 for RGB, 4 for RGBA.
    pub components: usize,
    /// The number of subsets, each with an endpoint pair.
    pub subsets: usize,
    /// The number of planes: 2 for dual-plane modes.
    pub planes: usize,
    /// Bits of a weight.
    pub weight_bits: u32,
    /// The range of the endpoints.
    pub range: &'static EndpointRange,
    /// The partition patterns, if there is more than one subset.
    pub patterns: &'static [Partition],
}

/// The mode of a solid-colour block.
pub const SOLID: u8 = 8;

/// All modes by number.
pub static MODES: [Mode; 19] = [
    mode(0x01, 4, 3, 1, 4, &endpoint_range::LEVELS_192),
    mode(0x35, 6, 3, 1, 2, &endpoint_range::LEVELS_256),
    split(0x1D, 5, 3, 2, 3, &endpoint_range::LEVELS_16, &partitions::TWO),
    split(0x03, 5, 3, 3, 2, &endpoint_range::LEVELS_12, &partitions::THREE),
    split(0x13, 5, 3, 2, 2, &endpoint_range::LEVELS_40, &partitions::TWO),
    mode(0x0B, 5, 3, 1, 3, &endpoint_range::LEVELS_256),
    mode(0x1B, 5, 3, 2, 2, &endpoint_range::LEVELS_160),
    split(0x07, 5, 3, 2, 2, &endpoint_range::LEVELS_40, &partitions::TWO_OF_THREE),
    mode(0x17, 5, 4, 1, 0, &endpoint_range::LEVELS_256),
    split(0x0F, 5, 4, 2, 2, &endpoint_range::LEVELS_16, &partitions::TWO),
    mode(0x02, 3, 4, 1, 4, &endpoint_range::LEVELS_48),
    mode(0x00, 2, 4, 2, 2, &endpoint_range::LEVELS_48),
    mode(0x06, 3, 4, 1, 3, &endpoint_range::LEVELS_192),
    mode(0x1F, 5, 4, 2, 1, &endpoint_range::LEVELS_256),
    mode(0x0D, 5, 4, 1, 2, &endpoint_range::LEVELS_256),
    mode(0x05, 7, 2, 1, 4, &endpoint_range::LEVELS_256),
    split(0x15, 6, 2, 2, 2, &endpoint_range::LEVELS_256, &partitions::TWO),
    mode(0x25, 6, 2, 2, 2, &endpoint_range::LEVELS_256),
    mode(0x09, 4, 3, 1, 5, &endpoint_range::LEVELS_32),
];

const fn mode(
    code: u32,
    code_bits: u32,
    components: usize,
    planes: usize,
    weight_bits: u32,
    range: &'static EndpointRange,
) -> Mode {
    Mode { code, code_bits, components, subsets: 1, planes, weight_bits, range, patterns: &[] }
}

const fn split(
    code: u32,
    code_bits: u32,
    components: usize,
    subsets: usize,
    weight_bits: u32,
    range: &'static EndpointRange,
    patterns: &'static [Partition],
) -> Mode {
    Mode { code, code_bits, components, subsets, planes: 1, weight_bits, range, patterns }
}

impl Mode {
    /// Returns true if the block stores alpha, and so the EAC hint.
    pub const fn has_alpha(&self) -> bool {
        self.components != 3
    }

    /// Returns true if the mode has the second BC1 hint and the ETC1 bias; modes 10 to 12 have no room for
    /// them.
    pub const fn has_long_hints(&self) -> bool {
        self.code_bits > 3 || self.components == 3
    }

    /// Returns the bits of the pattern index.
    pub const fn pattern_bits(&self) -> u32 {
        match self.subsets {
            2 => 5,
            3 => 4,
            _ => 0,
        }
    }

    /// Returns the bits that select the channel of the second plane; grey with alpha needs none.
    pub const fn selector_bits(&self) -> u32 {
        if self.planes == 2 && self.components != 2 { 2 } else { 0 }
    }

    /// Returns the number of stored endpoint values.
    pub const fn endpoints(&self) -> usize {
        self.components * 2 * self.subsets
    }

    /// Returns the partition of a pattern index, which must exist.
    #[inline]
    pub fn partition(&self, pattern: u8) -> &'static Partition {
        self.patterns.get(usize::from(pattern)).unwrap_or(&partitions::WHOLE)
    }

    /// Returns the mode whose prefix code a block's first byte begins with.
    #[inline]
    pub fn of_first_byte(byte: u8) -> Option<u8> {
        let mode = MODE_OF_FIRST_BYTE[usize::from(byte & 127)];
        if mode == RESERVED { None } else { Some(mode) }
    }

    /// Returns the first bit of the fields after the prefix code and the hints.
    pub(crate) const fn pattern_at(&self) -> u32 {
        let long = if self.has_long_hints() { 6 } else { 0 };
        let alpha = if self.has_alpha() { 8 } else { 0 };
        self.code_bits + 9 + long + alpha
    }
}

/// The entry of the reserved prefix code.
const RESERVED: u8 = u8::MAX;

/// The mode of each value of the first seven bits, the length of the longest prefix code.
static MODE_OF_FIRST_BYTE: [u8; 128] = {
    let mut out = [RESERVED; 128];
    let mut byte = 0;
    while byte < 128 {
        let mut mode = 0;
        while mode < MODES.len() {
            if byte as u32 & ((1 << MODES[mode].code_bits) - 1) == MODES[mode].code {
                out[byte] = mode as u8;
            }
            mode += 1;
        }
        byte += 1;
    }
    out
};

#[cfg(test)]
mod tests {
    use super::*;
    use basisu::uastc::tables as theirs;

    #[test]
    fn mode_table_matches_the_independent_transcoder() {
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
            assert_eq!(basisu::uastc::bise::astc_get_levels(range), mode.range.levels);
        }
    }

    /// The code of mode 12 has three bits like that of mode 10; that of mode 0 has four but it has long
    /// hints.
    #[test]
    fn prefix_codes_match_the_independent_transcoder() {
        for byte in 0..=255u8 {
            let theirs = basisu::uastc::huff_modes::HUFF_MODES[usize::from(byte & 127)];
            let ours = Mode::of_first_byte(byte).unwrap_or(19);
            assert_eq!(ours, theirs, "first byte {byte:#x}");
        }
    }
}
