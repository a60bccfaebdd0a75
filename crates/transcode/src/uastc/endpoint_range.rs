//! ASTC endpoint ranges: the quantised levels of endpoints.
//!
//! An ASTC range stores a value as `bits` bits and at most one trit or quint. The specification (Khronos Data
//! Format 1.3, section 23.13, "Endpoint Unquantization") converts the stored index to 0..=255 by bit
//! replication or by the rule with the constants `B` and `C` below. UASTC uses eight of the ranges.
//!
//! Sorted, the levels of each of these ranges are `floor(i * step + offset)`, with a jump of `upper` in the
//! upper half. The encoder uses that closed form, so that finding the two levels around a value takes a few
//! multiplications and no table. The form is compared with the specification at compile time.

/// A range of the ASTC integer sequence encoding, with its levels and their stored indices.
#[derive(Debug)]
pub struct EndpointRange {
    /// Bits of each value besides the trit or quint.
    pub bits: u32,
    /// 3 if each value carries a trit, 5 for a quint, 1 for neither.
    pub radix: u32,
    /// The number of levels.
    pub levels: u32,
    /// Distance between levels in the closed form.
    pub step: f32,
    /// The offset that is added before rounding down.
    pub offset: f32,
    /// The additional offset in the upper half of the levels.
    pub upper: f32,
    /// The unquantised value of each stored index.
    pub values: [u8; 256],
    /// The stored index of each value; defined for levels only.
    pub indices: [u8; 256],
}

/// The parameters of a range: bits, radix, the letters of `B` from bit 8 down to bit 0 and the factor `C`, as
/// table 23.19 of the specification writes them, then the closed form.
struct RangeParameters(u32, u32, &'static [u8; 9], u32, f32, f32, f32);

impl EndpointRange {
    const fn new(parameters: RangeParameters) -> Self {
        let RangeParameters(bits, radix, pattern, factor, step, offset, upper) = parameters;
        let levels = radix << bits;
        let mut range =
            Self { bits, radix, levels, step, offset, upper, values: [0; 256], indices: [0; 256] };
        let mut index = 0;
        while index < levels {
            let value = if radix == 1 {
                replicate(index, bits)
            } else {
                unquantise(index & ((1 << bits) - 1), index >> bits, pattern, factor)
            };
            range.values[index as usize] = value as u8;
            range.indices[value as usize] = index as u8;
            index += 1;
        }
        range.check_closed_form();
        range
    }

    /// Returns level `i` of the sorted levels, by the closed form.
    pub const fn level(&self, i: u32) -> u32 {
        let upper = if i >= self.levels / 2 { self.upper } else { 0.0 };
        (i as f32 * self.step + self.offset + upper) as u32
    }

    /// Checks that every level of the closed form is a level of the specification, and that they increase: so
    /// they are all of them.
    const fn check_closed_form(&self) {
        let mut i = 0;
        while i < self.levels {
            let value = self.level(i);
            assert!(self.values[self.indices[value as usize] as usize] as u32 == value);
            assert!(i == 0 || value > self.level(i - 1));
            i += 1;
        }
    }
}

/// Expands a value of `bits` bits to eight by replication.
const fn replicate(value: u32, bits: u32) -> u32 {
    let mut out = value << (8 - bits);
    let mut have = bits;
    while have < 8 {
        out |= (value << (8 - bits)) >> have;
        have += bits;
    }
    out
}

/// The rule for ranges with a trit or quint: `T = D * C + B`, mirrored by the lowest bit.
const fn unquantise(bits: u32, digit: u32, pattern: &[u8; 9], factor: u32) -> u32 {
    let mirror = if bits & 1 != 0 { 0x1FF } else { 0 };
    let mut scattered = 0;
    let mut i = 0;
    while i < 9 {
        scattered <<= 1;
        if pattern[i] != b'0' {
            scattered |= (bits >> (pattern[i] - b'a')) & 1;
        }
        i += 1;
    }
    let t = (digit * factor + scattered) ^ mirror;
    (mirror & 0x80) | (t >> 2)
}

const NO: &[u8; 9] = b"000000000";

/// 12 levels: two bits and a trit.
pub static LEVELS_12: EndpointRange =
    EndpointRange::new(RangeParameters(2, 3, b"b000b0bb0", 93, 23.2, 0.1, 0.6));
/// 16 levels: four bits.
pub static LEVELS_16: EndpointRange = EndpointRange::new(RangeParameters(4, 1, NO, 0, 17.0, 0.5, 0.0));
/// 32 levels: five bits.
pub static LEVELS_32: EndpointRange = EndpointRange::new(RangeParameters(5, 1, NO, 0, 8.25, 0.125, 0.0));
/// 40 levels: three bits and a quint.
pub static LEVELS_40: EndpointRange =
    EndpointRange::new(RangeParameters(3, 5, b"cb0000cbc", 26, 6.5, 0.25, 2.0));
/// 48 levels: four bits and a trit.
pub static LEVELS_48: EndpointRange =
    EndpointRange::new(RangeParameters(4, 3, b"dcb000dcb", 22, 65.0 / 12.0, 0.2083, 1.0));
/// 160 levels: five bits and a quint.
pub static LEVELS_160: EndpointRange =
    EndpointRange::new(RangeParameters(5, 5, b"edcb0000e", 6, 1.6, 0.1, 1.4));
/// 192 levels: six bits and a trit.
pub static LEVELS_192: EndpointRange =
    EndpointRange::new(RangeParameters(6, 3, b"fedcb000f", 5, 4.0 / 3.0, 1.0 / 6.0, 1.0));
/// 256 levels: eight bits.
pub static LEVELS_256: EndpointRange = EndpointRange::new(RangeParameters(8, 1, NO, 0, 1.0, 0.5, 0.0));

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the tables of the independent transcoder, by its range numbers.
    #[test]
    fn levels_match_the_independent_transcoder() {
        let ours = [
            (7, &LEVELS_12),
            (8, &LEVELS_16),
            (11, &LEVELS_32),
            (12, &LEVELS_40),
            (13, &LEVELS_48),
            (18, &LEVELS_160),
            (19, &LEVELS_192),
            (20, &LEVELS_256),
        ];
        for (number, range) in ours {
            assert_eq!(basisu::uastc::bise::astc_get_levels(number), range.levels);
            for index in 0..range.levels {
                let value = basisu::uastc::bise::unquant_astc_endpoint_val(index, number);
                assert_eq!(u32::from(range.values[index as usize]), value, "range {number} index {index}");
            }
        }
    }
}
