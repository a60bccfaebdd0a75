//! The sRGB transfer function of IEC 61966-2-1, exactly: tables to linear light, correct rounding back.
//!
//! Every table is computed once in `f64` with the `libm` crate, so the values are the same on every platform.

use std::sync::OnceLock;

/// The linear light of an sRGB value, both in 0..=1.
fn to_linear(value: f64) -> f64 {
    if value <= 0.04045 { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) }
}

/// The value of a light in 0..=1 (others are clamped), by the definition (IEC 61966-2-1).
pub(crate) fn from_linear(light: f32) -> f32 {
    let light = f64::from(light).clamp(0.0, 1.0);
    (if light <= 0.003_130_8 { light * 12.92 } else { 1.055 * libm::pow(light, 1.0 / 2.4) - 0.055 }) as f32
}

/// Linear light of every eight-bit sRGB value.
pub(crate) fn linear8() -> &'static [f32; 256] {
    static TABLE: OnceLock<[f32; 256]> = OnceLock::new();
    TABLE.get_or_init(|| std::array::from_fn(|i| to_linear(i as f64 / 255.0) as f32))
}

/// Linear light of every sixteen-bit sRGB value (256 KB, made only when a sixteen-bit source turns up).
pub(crate) fn linear16() -> &'static [f32] {
    static TABLE: OnceLock<Vec<f32>> = OnceLock::new();
    TABLE.get_or_init(|| (0..=u16::MAX).map(|i| to_linear(f64::from(i) / 65535.0) as f32).collect())
}

/// A power of two just below the first threshold (0.5 / 255 / 12.92 = 1.52e-4): down here every code is zero.
const LOWEST: f32 = 1.0 / 8192.0;
/// The largest value under one: where the table ends.
const HIGHEST: f32 = 1.0 - f32::EPSILON / 2.0;
/// Bits of the mantissa that a bucket does not look at: 128 buckets an octave, so that no bucket holds more
/// than one threshold (the densest octave, 0.5..1, holds 67).
const SHIFT: u32 = 16;
const BUCKETS: usize = 13 << (23 - SHIFT);

/// Linear light to the nearest eight-bit sRGB value.
///
/// The code of `x` is the number of thresholds at or below it, where threshold `i` is the light whose exact
/// sRGB value is `i - 0.5`. A bucket, picked by the leading bits of the float, knows the count at its start;
/// one comparison adds the one threshold it may hold.
pub(crate) struct Encoder {
    at_start: [u8; BUCKETS],
    /// `thresholds[i]` is the smallest float whose code is at least `i`; the last entry is never reached.
    thresholds: [f32; 257],
}

/// The one encoder.
pub(crate) fn encoder() -> &'static Encoder {
    static ENCODER: OnceLock<Encoder> = OnceLock::new();
    ENCODER.get_or_init(Encoder::new)
}

impl Encoder {
    fn new() -> Encoder {
        let thresholds: [f32; 257] = std::array::from_fn(|i| match i {
            0 => 0.0,
            256 => f32::INFINITY,
            _ => smallest_f32_not_below(threshold(i)),
        });
        let at_start = std::array::from_fn(|bucket| {
            let start = f32::from_bits(LOWEST.to_bits() + ((bucket as u32) << SHIFT));
            (1..256).take_while(|&i| thresholds[i] <= start).count() as u8
        });
        Encoder { at_start, thresholds }
    }

    /// The nearest code; what lies outside 0..=1 is clamped, and what is no number is black.
    #[inline]
    #[expect(clippy::manual_clamp, reason = "clamp would let through what is no number")]
    pub(crate) fn encode(&self, light: f32) -> u8 {
        let light = light.max(LOWEST).min(HIGHEST);
        let code = self.at_start[((light.to_bits() - LOWEST.to_bits()) >> SHIFT) as usize];
        code + u8::from(light >= self.thresholds[usize::from(code) + 1])
    }
}

/// The light between codes `i - 1` and `i`.
fn threshold(i: usize) -> f64 {
    to_linear((i as f64 - 0.5) / 255.0)
}

fn smallest_f32_not_below(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) < value { near.next_up() } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The other direction of the definition, from the document.
    fn to_srgb(light: f64) -> f64 {
        if light <= 0.0031308 { light * 12.92 } else { 1.055 * libm::pow(light, 1.0 / 2.4) - 0.055 }
    }

    fn code_by_definition(light: f32) -> u8 {
        (to_srgb(f64::from(light).clamp(0.0, 1.0)) * 255.0 + 0.5).floor() as u8
    }

    #[test]
    fn every_code_survives_the_round_trip() {
        for code in 0..=255u8 {
            assert_eq!(encoder().encode(linear8()[usize::from(code)]), code);
        }
        for code in 0..=u16::MAX {
            assert_eq!(
                encoder().encode(linear16()[usize::from(code)]),
                kiln_ir::image::narrow(code),
                "{code}"
            );
        }
    }

    /// Between two thresholds the code is constant by construction, so that the floats on both sides of each
    /// threshold are the only places where the encoder could differ from the definition.
    #[test]
    fn rounding_is_right_on_both_sides_of_every_threshold() {
        let e = encoder();
        for i in 1..256 {
            let at = e.thresholds[i];
            let below = at.next_down();
            assert_eq!((e.encode(below), e.encode(at)), ((i - 1) as u8, i as u8));
            assert_eq!((code_by_definition(below), code_by_definition(at)), ((i - 1) as u8, i as u8));
            // The tables are in f64: far finer than the distance from the exact threshold to the next float.
            let gap = (f64::from(at) - threshold(i)).min(threshold(i) - f64::from(below));
            assert!(gap / threshold(i) > 1e-13, "threshold {i} is too close to a float to call");
        }
    }

    #[test]
    fn no_bucket_holds_two_thresholds() {
        let e = encoder();
        for (bucket, pair) in e.at_start.windows(2).enumerate() {
            assert!(pair[1] - pair[0] <= 1, "bucket {bucket}");
        }
        assert!(255 - e.at_start[BUCKETS - 1] <= 1);
    }

    #[test]
    fn all_of_the_range_agrees_with_the_definition() {
        for bits in (0..=1.0f32.to_bits()).step_by(4099) {
            let light = f32::from_bits(bits);
            assert_eq!(encoder().encode(light), code_by_definition(light), "{light}");
        }
    }

    #[test]
    fn out_of_range_is_clamped() {
        for (light, code) in [
            (-1.0, 0),
            (-0.0, 0),
            (f32::MIN_POSITIVE / 2.0, 0),
            (f32::NAN, 0),
            (f32::NEG_INFINITY, 0),
            (1.0, 255),
            (7.0, 255),
            (f32::INFINITY, 255),
        ] {
            assert_eq!(encoder().encode(light), code, "{light}");
        }
    }
}
