//! Half floats (IEEE 754 binary16), the channel format of lookup tables and HDR textures.

use half::f16;
use half::slice::HalfFloatSliceExt;

/// 1.0 as a half float, little-endian.
pub(crate) const HALF_ONE: [u8; 2] = 0x3C00u16.to_le_bytes();
/// The largest finite half float.
pub(crate) const HALF_MAX: f32 = 65504.0;

/// Returns the nearest half float, ties to even; values beyond the largest finite half are clamped to it.
pub(crate) fn half(value: f32) -> u16 {
    f16::from_f32(finite(value)).to_bits()
}

/// Converts four values as [`half`] does, little-endian: one instruction where the processor supports it.
pub(crate) fn half4(values: &[f32; 4]) -> [[u8; 2]; 4] {
    let mut halves = [f16::ZERO; 4];
    halves.convert_from_f32_slice(&values.map(finite));
    halves.map(f16::to_le_bytes)
}

fn finite(value: f32) -> f32 {
    value.abs().min(HALF_MAX).copysign(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the value of a finite half, by the definition of the format.
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
    fn rounds_every_half_and_midpoint_to_even() {
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
            let four = [exact, -exact, midpoint, midpoint.next_up()];
            assert_eq!(half4(&four), four.map(|value| half(value).to_le_bytes()), "{h:#x}");
            assert_eq!(half(midpoint.next_down()), h, "{h:#x}");
            assert_eq!(half(midpoint.next_up()), h + 1, "{h:#x}");
        }
    }

    #[test]
    fn clamps_to_largest_finite_half() {
        for v in [65504.0, 65519.0, 65520.0, 1e9, f32::MAX] {
            assert_eq!((half(v), half(-v)), (0x7BFF, 0xFBFF), "{v}");
        }
        assert_eq!(half(1.0).to_le_bytes(), HALF_ONE);
        assert_eq!(half(f32::from_bits(1)), 0);
    }
}
