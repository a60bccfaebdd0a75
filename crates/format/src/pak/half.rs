//! Half-precision floats (IEEE 754 binary16) of at least 1, for strengths. Rejects values below 1, infinities and NaN.

/// A half-precision float of at least 1 and at most 65,504. Stored 0 is 1, so that a field that was reserved before has
/// the neutral value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Half(u16);

impl Half {
    /// The neutral factor.
    pub const ONE: Half = Half(0x3c00);
    const MAX: u16 = 0x7bff;

    /// Returns the smallest half that is not below `value`, clamped to the range.
    pub fn at_least(value: f32) -> Half {
        // The bits of positive floats are ordered like the floats; 13 bits of the mantissa are cut, rounding up.
        let bits = value.clamp(1.0, 65504.0).to_bits();
        let rounded = bits.div_ceil(1 << 13);
        Half((rounded - (112 << 10)).min(Half::MAX.into()) as u16)
    }

    /// Returns the value as `f32`.
    pub fn to_f32(self) -> f32 {
        f32::from_bits((u32::from(self.0) + (112 << 10)) << 13)
    }

    #[cfg(feature = "tools")]
    pub(super) fn stored(self) -> u16 {
        if self == Half::ONE { 0 } else { self.0 }
    }

    pub(super) fn from_stored(bits: u16) -> Option<Half> {
        match bits {
            0 => Some(Half::ONE),
            bits => (Half::ONE.0 < bits && bits <= Half::MAX).then_some(Half(bits)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_up_and_clamps() {
        for (value, expected) in [
            (0.0, 1.0),
            (1.0, 1.0),
            (1.0001, 1.000_976_6),
            (2.5, 2.5),
            (1000.2, 1000.5),
            (65504.0, 65504.0),
            (1e9, 65504.0),
            (f32::INFINITY, 65504.0),
        ] {
            let half = Half::at_least(value);
            assert_eq!(half.to_f32(), expected, "{value}");
            assert_eq!(Half::from_stored(half.stored()), Some(half));
        }
        assert_eq!(Half::ONE.stored(), 0);
        for bits in [1, 0x3bff, 0x3c00, 0x7c00, 0x7e00, 0x8000, 0xffff] {
            assert_eq!(Half::from_stored(bits), None, "{bits:#x}");
        }
    }
}
