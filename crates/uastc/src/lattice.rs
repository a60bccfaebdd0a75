//! The quantisation lattices of endpoints: which of the 256 values each ASTC range can hold.
//!
//! An ASTC range stores a value as `bits` plain bits and at most one trit or quint. The specification
//! (Khronos Data Format 1.3, section 23.13, "Endpoint Unquantization") turns the stored index into 0..=255 by
//! bit replication or by the rule with the constants `B` and `C` below. UASTC uses eight of the ranges.
//!
//! Sorted, the levels of each of these ranges happen to be `floor(i * step + offset)`, with a jump of
//! `upper` in the upper half. The encoder uses that closed form, so that finding the two levels around a value
//! takes a few multiplications and no table. The form is compared with the specification at compile time.

/// One range of the ASTC integer sequence encoding, with its levels and their stored indices.
#[derive(Debug)]
pub(crate) struct Lattice {
    /// Plain bits of each value.
    pub(crate) bits: u32,
    /// 3 if each value carries a trit, 5 for a quint, 1 for neither.
    pub(crate) radix: u32,
    /// How many levels there are.
    pub(crate) levels: u32,
    /// Distance between levels in the closed form.
    pub(crate) step: f32,
    /// What is added before rounding down.
    pub(crate) offset: f32,
    /// What is added as well in the upper half of the levels.
    pub(crate) upper: f32,
    /// Stored index to the value it stands for.
    pub(crate) values: [u8; 256],
    /// Value to the stored index; only the entries of levels mean anything.
    pub(crate) indices: [u8; 256],
}

/// The shape of a range: bits, radix, the letters of `B` from bit 8 down to bit 0 and the factor `C`, as the
/// specification's table 23.19 writes them, then the closed form.
struct Shape(u32, u32, &'static [u8; 9], u32, f32, f32, f32);

impl Lattice {
    const fn new(shape: Shape) -> Self {
        let Shape(bits, radix, pattern, factor, step, offset, upper) = shape;
        let levels = radix << bits;
        let mut lattice =
            Self { bits, radix, levels, step, offset, upper, values: [0; 256], indices: [0; 256] };
        let mut index = 0;
        while index < levels {
            let value = if radix == 1 {
                replicate(index, bits)
            } else {
                unquantise(index & ((1 << bits) - 1), index >> bits, pattern, factor)
            };
            lattice.values[index as usize] = value as u8;
            lattice.indices[value as usize] = index as u8;
            index += 1;
        }
        lattice.check_closed_form();
        lattice
    }

    /// Level `i` of the sorted levels, by the closed form.
    pub(crate) const fn level(&self, i: u32) -> u32 {
        let upper = if i >= self.levels / 2 { self.upper } else { 0.0 };
        (i as f32 * self.step + self.offset + upper) as u32
    }

    /// Every level of the closed form is a level of the specification, and they rise: so they are all of them.
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

/// A value of `bits` bits spread over eight by repeating it.
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
pub(crate) static LEVELS_12: Lattice = Lattice::new(Shape(2, 3, b"b000b0bb0", 93, 23.2, 0.1, 0.6));
/// 16 levels: four bits.
pub(crate) static LEVELS_16: Lattice = Lattice::new(Shape(4, 1, NO, 0, 17.0, 0.5, 0.0));
/// 32 levels: five bits.
pub(crate) static LEVELS_32: Lattice = Lattice::new(Shape(5, 1, NO, 0, 8.25, 0.125, 0.0));
/// 40 levels: three bits and a quint.
pub(crate) static LEVELS_40: Lattice = Lattice::new(Shape(3, 5, b"cb0000cbc", 26, 6.5, 0.25, 2.0));
/// 48 levels: four bits and a trit.
pub(crate) static LEVELS_48: Lattice = Lattice::new(Shape(4, 3, b"dcb000dcb", 22, 65.0 / 12.0, 0.2083, 1.0));
/// 160 levels: five bits and a quint.
pub(crate) static LEVELS_160: Lattice = Lattice::new(Shape(5, 5, b"edcb0000e", 6, 1.6, 0.1, 1.4));
/// 192 levels: six bits and a trit.
pub(crate) static LEVELS_192: Lattice = Lattice::new(Shape(6, 3, b"fedcb000f", 5, 4.0 / 3.0, 1.0 / 6.0, 1.0));
/// 256 levels: eight bits.
pub(crate) static LEVELS_256: Lattice = Lattice::new(Shape(8, 1, NO, 0, 1.0, 0.5, 0.0));

#[cfg(test)]
mod tests {
    use super::*;

    /// The same tables in the independent transcoder, by its range numbers.
    #[test]
    fn levels_are_those_of_the_independent_transcoder() {
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
        for (range, lattice) in ours {
            assert_eq!(basisu::uastc::bise::astc_get_levels(range), lattice.levels);
            for index in 0..lattice.levels {
                let value = basisu::uastc::bise::unquant_astc_endpoint_val(index, range);
                assert_eq!(u32::from(lattice.values[index as usize]), value, "range {range} index {index}");
            }
        }
    }
}
