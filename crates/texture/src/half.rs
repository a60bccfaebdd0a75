//! Half floats, IEEE 754 binary16: what lookup tables and light are stored in.

/// 1.0 as a half float, little-endian.
pub(crate) const HALF_ONE: [u8; 2] = 0x3C00u16.to_le_bytes();
/// The largest finite half float.
pub(crate) const HALF_MAX: f32 = 65504.0;

/// The nearest IEEE 754 binary16, ties to even; beyond the largest finite one, that one.
pub(crate) fn half(value: f32) -> u16 {
    let sign = (value.to_bits() >> 16) as u16 & 0x8000;
    let size = value.abs().min(HALF_MAX);
    let magnitude = if size < SMALLEST_NORMAL {
        // Subnormal halves are multiples of 2^-24. Adding 0.5, whose last place that is, lets the addition
        // round.
        (size + 0.5).to_bits() - 0.5f32.to_bits()
    } else {
        // Thirteen mantissa bits go; the bias drops from 127 to 15. A carry out of the mantissa is the right
        // exponent.
        let bits = size.to_bits() - ((127 - 15) << 23);
        (bits + 0x0FFF + (bits >> 13 & 1)) >> 13
    };
    sign | magnitude as u16
}

/// The smallest normal half float, 2^-14.
const SMALLEST_NORMAL: f32 = 1.0 / 16384.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a finite half, by the definition of the format.
    fn value_of(half: u16) -> f64 {
        let (exponent, mantissa) = (i32::from(half >> 10 & 31), f64::from(half & 1023));
        let size = if exponent == 0 {
            mantissa * 2f64.powi(-24)
        } else {
            (1024.0 + mantissa) * 2f64.powi(exponent - 25)
        };
        if half & 0x8000 != 0 { -size } else { size }
    }

    #[test]
    fn every_half_and_every_midpoint_rounds_right() {
        for h in 0..0x7C00u16 {
            let exact = value_of(h) as f32;
            assert_eq!(half(exact), h);
            assert_eq!(half(-exact), h | 0x8000);
            if h == 0x7BFF {
                continue;
            }
            // Midpoints are exact floats: ties go to the even neighbour, the floats next to them to the
            // nearer one.
            let midpoint = ((value_of(h) + value_of(h + 1)) / 2.0) as f32;
            assert_eq!(half(midpoint), h + (h & 1), "{h:#x}");
            assert_eq!(half(midpoint.next_down()), h, "{h:#x}");
            assert_eq!(half(midpoint.next_up()), h + 1, "{h:#x}");
        }
    }

    #[test]
    fn large_values_stop_at_the_largest_half() {
        for v in [65504.0, 65519.0, 65520.0, 1e9, f32::MAX] {
            assert_eq!((half(v), half(-v)), (0x7BFF, 0xFBFF), "{v}");
        }
        assert_eq!(half(1.0).to_le_bytes(), HALF_ONE);
        assert_eq!(half(f32::from_bits(1)), 0);
    }
}
