//! Quality targets: the largest RDO lambda, or the least effort, with which a texture reaches a given quality.
//!
//! The base level is encoded and decoded a few times: lambdas form a ladder, and the error grows with them, so that
//! bisection finds the largest one that reaches the target. Formats without RDO have a ladder of efforts.

use kiln_ir::Image;

use crate::decode::decode_block;
use crate::{BlockFormat, Encoded, Error, Mips, Mode, Quality, Settings, encode_2d};

/// The quality that a texture has to reach, measured over its base level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// The least peak signal-to-noise ratio in decibels of the channels in use.
    Psnr(f32),
    /// The largest mean angle between normals, in degrees. Textures that are not normal maps ignore it.
    Angle(f32),
}

/// The settings that were found for a [`Goal`], and the quality that they reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// The effort.
    pub quality: Quality,
    /// The RDO lambda.
    pub rdo: Option<f32>,
    /// The quality in the unit of the goal.
    pub value: f64,
    /// True if the goal was reached.
    pub is_met: bool,
}

/// Lambdas from the least error to the smallest size.
const LAMBDAS: [f32; 9] = [0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];

/// Finds the settings with which an image reaches a goal at the smallest size. Returns the settings with the least error,
/// and [`Reached::is_met`] false, if none does; `None` if the goal does not apply to the image.
///
/// # Errors
///
/// Those of [`encode_2d`].
pub fn reach(goal: Goal, image: &Image, mode: Mode, settings: &Settings) -> Result<Option<Reached>, Error> {
    if !settings.compress || (matches!(goal, Goal::Angle(_)) && mode != Mode::Normal) {
        return Ok(None);
    }
    let base = Settings { mips: Mips::None, zstd: false, rdo: None, ..*settings };
    let reference = encode_2d(image.clone(), mode, &Settings { compress: false, ..base })?;
    let attempt = |quality: Quality, rdo: Option<f32>| -> Result<Reached, Error> {
        let encoded = encode_2d(image.clone(), mode, &Settings { quality, rdo, ..base })?;
        let value = measure(goal, mode, &reference, &encoded);
        let is_met = match goal {
            Goal::Psnr(least) => value >= f64::from(least),
            Goal::Angle(most) => value <= f64::from(most),
        };
        Ok(Reached { quality, rdo, value, is_met })
    };
    if !matches!(settings.format, BlockFormat::Uastc | BlockFormat::Astc4x4 | BlockFormat::Bc7) {
        for quality in [Quality::Fast, Quality::Default] {
            let reached = attempt(quality, None)?;
            if reached.is_met {
                return Ok(Some(reached));
            }
        }
        return attempt(Quality::High, None).map(Some);
    }
    let mut best = attempt(Quality::Default, None)?;
    if !best.is_met {
        return attempt(Quality::High, None).map(Some);
    }
    // The lambda at `low` reaches the goal, the one at `high` does not.
    let (mut low, mut high) = (0, LAMBDAS.len());
    while high - low > 1 {
        let middle = (low + high) / 2;
        let reached = attempt(Quality::Default, Some(LAMBDAS[middle]))?;
        if reached.is_met {
            (low, best) = (middle, reached);
        } else {
            high = middle;
        }
    }
    Ok(Some(best))
}

/// Compares the base levels of a texture and of its uncompressed reference.
fn measure(goal: Goal, mode: Mode, reference: &Encoded, encoded: &Encoded) -> f64 {
    let (width, height) = (encoded.width as usize, encoded.height as usize);
    let channels = match mode {
        Mode::Color | Mode::LinearColor => 4,
        Mode::Normal => 2,
        Mode::Grayscale => 1,
    };
    let block_len = encoded.texels.block_len() as usize;
    let expected = reference.levels[0].bytes.as_chunks::<4>().0;
    let (mut squares, mut angles) = (0.0, 0.0);
    for (n, block) in encoded.levels[0].bytes.chunks_exact(block_len).enumerate() {
        let Some(texels) = decode_block(encoded.texels, block) else { continue };
        let (left, top) = (n % width.div_ceil(4) * 4, n / width.div_ceil(4) * 4);
        for (i, found) in texels.iter().enumerate() {
            let (x, y) = (left + i % 4, top + i / 4);
            if x >= width || y >= height {
                continue;
            }
            let expected = &expected[y * width + x];
            for c in 0..channels {
                squares += f64::from(i32::from(expected[c]) - i32::from(found[c])).powi(2);
            }
            if let Goal::Angle(_) = goal {
                angles += angle(expected, found);
            }
        }
    }
    let count = (width * height) as f64;
    match goal {
        Goal::Psnr(_) if squares == 0.0 => f64::INFINITY,
        Goal::Psnr(_) => 10.0 * libm::log10(255.0 * 255.0 * count * f64::from(channels as u32) / squares),
        Goal::Angle(_) => angles / count,
    }
}

/// Returns the angle between two normals in degrees; their Z is reconstructed from X and Y.
fn angle(a: &[u8; 4], b: &[u8; 4]) -> f64 {
    let unit = |texel: &[u8; 4]| {
        let [x, y] = [texel[0], texel[1]].map(|value| f64::from(value) / 127.5 - 1.0);
        let z = (1.0 - x * x - y * y).max(0.0).sqrt();
        let length = (x * x + y * y + z * z).sqrt();
        [x / length, y / length, z / length]
    };
    let (a, b) = (unit(a), unit(b));
    libm::acos((a[0] * b[0] + a[1] * b[1] + a[2] * b[2]).clamp(-1.0, 1.0)).to_degrees()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_ir::Texels;

    fn image() -> Image {
        let texel = |i: u32| {
            let (x, y) = (i % 96, i / 96);
            let grain = (i.wrapping_mul(0x9E37_79B1) >> 28) as u8;
            [(x * 2) as u8 + grain, (y * 3) as u8, 90 + grain, 255]
        };
        Image::new(96, 64, Texels::Rgba8((0..96 * 64).flat_map(texel).collect())).unwrap()
    }

    #[test]
    fn finds_the_largest_lambda_that_reaches_the_goal() {
        for format in [BlockFormat::Uastc, BlockFormat::Bc7] {
            let settings = Settings { format, ..Settings::default() };
            let mut before = f32::INFINITY;
            for goal in [34.0, 38.0, 42.0] {
                let reached = reach(Goal::Psnr(goal), &image(), Mode::Color, &settings).unwrap().unwrap();
                assert!(reached.is_met && reached.value >= f64::from(goal), "{reached:?}");
                let lambda = reached.rdo.unwrap_or(0.0);
                assert!(lambda <= before, "{format:?} {goal}: {reached:?}");
                before = lambda;
            }
            let reached = reach(Goal::Psnr(90.0), &image(), Mode::Color, &settings).unwrap().unwrap();
            assert!(!reached.is_met && reached.quality == Quality::High && reached.value < 90.0);
        }
    }

    #[test]
    fn other_formats_raise_the_effort() {
        let settings = Settings { format: BlockFormat::Bc5, ..Settings::default() };
        let coarse = reach(Goal::Angle(30.0), &image(), Mode::Normal, &settings).unwrap().unwrap();
        assert_eq!((coarse.quality, coarse.is_met), (Quality::Fast, true));
        let fine = reach(Goal::Angle(0.0), &image(), Mode::Normal, &settings).unwrap().unwrap();
        assert_eq!((fine.quality, fine.is_met), (Quality::High, false));
        assert_eq!(reach(Goal::Angle(1.0), &image(), Mode::Color, &settings), Ok(None));
    }
}
