//! The sRGB transfer function (IEC 61966-2-1), by its definition and with the same bits on every platform.

/// Decodes an sRGB value to linear, both in 0..=1.
pub fn to_linear(value: f64) -> f64 {
    if value <= 0.040_45 { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) }
}

/// Encodes a linear value in 0..=1 as sRGB.
pub fn from_linear(value: f64) -> f64 {
    if value <= 0.003_130_8 { value * 12.92 } else { 1.055 * libm::pow(value, 1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_inverts_encoding() {
        assert_eq!((to_linear(0.0), to_linear(1.0), from_linear(0.0)), (0.0, 1.0, 0.0));
        // 0x80 in sRGB is 0.2158605 linear.
        assert!((to_linear(128.0 / 255.0) - 0.215_860_5).abs() < 1e-7);
        for code in 0..=255 {
            let value = f64::from(code) / 255.0;
            assert!((from_linear(to_linear(value)) - value).abs() < 1e-6, "{code}");
        }
    }
}
