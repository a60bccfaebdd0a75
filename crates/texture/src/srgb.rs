//! The sRGB transfer function (IEC 61966-2-1): decoding tables and correctly rounded encoding.
//!
//! Every table is computed once in `f64` with the `libm` crate, so the values are the same on every platform.

use kiln_ir::srgb::{self, to_linear};
use std::sync::OnceLock;

/// Encodes a linear value in 0..=1 (others are clamped) as sRGB, by the definition (IEC 61966-2-1).
pub(crate) fn from_linear(linear: f32) -> f32 {
    srgb::from_linear(f64::from(linear).clamp(0.0, 1.0)) as f32
}

/// Returns the linear values of all 8-bit sRGB codes.
pub(crate) fn linear8() -> &'static [f32; 256] {
    static TABLE: OnceLock<[f32; 256]> = OnceLock::new();
    TABLE.get_or_init(|| std::array::from_fn(|i| to_linear(i as f64 / 255.0) as f32))
}

/// Returns the linear values of all 16-bit sRGB codes (256 KB, computed at the first 16-bit source).
pub(crate) fn linear16() -> &'static [f32] {
    static TABLE: OnceLock<Vec<f32>> = OnceLock::new();
    TABLE.get_or_init(|| (0..=u16::MAX).map(|i| to_linear(f64::from(i) / 65535.0) as f32).collect())
}

/// A power of two just below the first threshold (0.5 / 255 / 12.92 = 1.52e-4): below it every code is zero.
const LOWEST: f32 = 1.0 / 8192.0;
/// The largest value below one: the end of the table.
const HIGHEST: f32 = 1.0 - f32::EPSILON / 2.0;
/// Mantissa bits that a bucket ignores: 128 buckets an octave, so that no bucket holds more than one
/// threshold (the densest octave, 0.5..1, holds 67).
const SHIFT: u32 = 16;
const BUCKETS: usize = 13 << (23 - SHIFT);

/// An encoder from linear values to the nearest 8-bit sRGB code.
///
/// The code of `x` is the number of thresholds at or below it, where threshold `i` is the linear value whose
/// exact sRGB value is `i - 0.5`. A bucket, selected by the leading bits of the float, holds the count at its
/// start; one comparison adds the single threshold that it may contain.
pub(crate) struct Encoder {
    at_start: [u8; BUCKETS],
    /// `thresholds[i]` is the smallest float whose code is at least `i`; the last entry is never reached.
    thresholds: [f32; 257],
}

/// Returns the shared encoder.
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

    /// Returns the nearest code; values outside 0..=1 are clamped, and NaN is zero.
    #[inline]
    #[expect(clippy::manual_clamp, reason = "clamp would let NaN through")]
    pub(crate) fn encode(&self, linear: f32) -> u8 {
        let linear = linear.max(LOWEST).min(HIGHEST);
        let code = self.at_start[((linear.to_bits() - LOWEST.to_bits()) >> SHIFT) as usize];
        code + u8::from(linear >= self.thresholds[usize::from(code) + 1])
    }
}

/// Returns the linear value between codes `i - 1` and `i`.
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

    /// The inverse of the definition, from the standard.
    fn to_srgb(linear: f64) -> f64 {
        if linear <= 0.0031308 { linear * 12.92 } else { 1.055 * libm::pow(linear, 1.0 / 2.4) - 0.055 }
    }

    fn code_by_definition(linear: f32) -> u8 {
        (to_srgb(f64::from(linear).clamp(0.0, 1.0)) * 255.0 + 0.5).floor() as u8
    }

    #[test]
    fn every_code_round_trips() {
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

    /// Between two thresholds the code is constant by construction, so the floats on both sides of each
    /// threshold are the only places where the encoder could differ from the definition.
    #[test]
    fn rounds_correctly_on_both_sides_of_every_threshold() {
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
    fn encoder_matches_the_definition() {
        for bits in (0..=1.0f32.to_bits()).step_by(4099) {
            let linear = f32::from_bits(bits);
            assert_eq!(encoder().encode(linear), code_by_definition(linear), "{linear}");
        }
    }

    #[test]
    fn out_of_range_is_clamped() {
        for (linear, code) in [
            (-1.0, 0),
            (-0.0, 0),
            (f32::MIN_POSITIVE / 2.0, 0),
            (f32::NAN, 0),
            (f32::NEG_INFINITY, 0),
            (1.0, 255),
            (7.0, 255),
            (f32::INFINITY, 255),
        ] {
            assert_eq!(encoder().encode(linear), code, "{linear}");
        }
    }
}
