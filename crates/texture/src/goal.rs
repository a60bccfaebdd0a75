//! Quality targets: the lowest resolution, the largest RDO lambda, or the least effort, with which a texture reaches a given
//! quality.
//!
//! The base level is encoded and decoded a few times: lambdas form a ladder, and the error grows with them, so that
//! bisection finds the largest one that reaches the target. Formats without RDO have a ladder of efforts. Where a lower
//! resolution is allowed, the smallest one that reaches the target is taken; it is compared with the full resolution after
//! bilinear enlargement.

use rayon::prelude::*;

use crate::decode::{DecodedImage, decode_image};
use crate::{BlockFormat, Encoded, Error, Mode, Payload, Quality, Settings};

/// The quality that a texture has to reach, measured over its base level, all layers and faces together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// The least peak signal-to-noise ratio in decibels of the channels in use. The peak of an HDR texel is its brightest
    /// channel.
    Psnr(f32),
    /// The largest mean angle between normals, in degrees. Textures that are not normal maps ignore it.
    Angle(f32),
}

/// The settings of an encoder that a [`Goal`] chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The effort.
    pub quality: Quality,
    /// The RDO lambda.
    pub rdo: Option<f32>,
    /// The longest side in texels, if the resolution is reduced.
    pub max_size: Option<u32>,
}

impl Choice {
    /// Returns settings with these choices.
    #[must_use]
    pub fn applied(&self, settings: &Settings) -> Settings {
        let max_size = self.max_size.or(settings.max_size);
        Settings { quality: self.quality, rdo: self.rdo, max_size, ..*settings }
    }
}

/// The settings that were found for a [`Goal`], and the quality that they reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// The settings.
    pub choice: Choice,
    /// The quality in the unit of the goal.
    pub value: f64,
    /// True if the goal was reached.
    pub is_met: bool,
}

/// A goal with what the encoder may choose to reach it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoalSearch {
    /// The quality to reach.
    pub goal: Goal,
    /// The number of times that the resolution may be halved.
    pub halvings: u32,
    /// The content of the images; `None` for HDR images.
    pub mode: Option<Mode>,
    /// The setting of the encoder that is chosen.
    pub ladder: Ladder,
}

/// The setting of an encoder that trades quality for size or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ladder {
    /// The RDO lambda.
    Lambda,
    /// The effort.
    Effort,
    /// None: texels are not compressed.
    Fixed,
}

/// Lambdas from the least error to the smallest size.
pub(crate) const LAMBDAS: [f32; 9] = [0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];

/// The shortest side in texels to which a resolution is reduced: one block.
const SHORTEST_SIDE: u32 = 4;

impl BlockFormat {
    /// Returns the setting of the format's encoder that a goal chooses.
    #[must_use]
    pub const fn ladder(self) -> Ladder {
        match self {
            BlockFormat::Uastc | BlockFormat::Astc4x4 | BlockFormat::Bc7 => Ladder::Lambda,
            _ => Ladder::Effort,
        }
    }
}

impl GoalSearch {
    /// Finds the settings with which a texture reaches the goal at the smallest size. Returns the settings with the least
    /// error, and [`Reached::is_met`] false, if none does; `None` if the goal does not apply to the texture.
    ///
    /// `reference` is the texture without block compression, and `encode` encodes it; both are without supercompression, and
    /// only the base level is measured.
    ///
    /// # Errors
    ///
    /// Those of `encode`.
    pub fn run(
        &self,
        reference: &Encoded,
        encode: impl Fn(&Choice) -> Result<Encoded, Error>,
    ) -> Result<Option<Reached>, Error> {
        if matches!(self.goal, Goal::Angle(_)) && self.mode != Some(Mode::Normal) {
            return Ok(None);
        }
        let longest = reference.width.max(reference.height);
        let shortest = reference.width.min(reference.height);
        let most = (0..=self.halvings).rev().find(|by| *by == 0 || shortest >> by >= SHORTEST_SIDE);
        for halvings in (0..=most.unwrap_or(0)).rev() {
            let max_size = (halvings > 0).then_some(longest >> halvings);
            let attempt = |quality: Quality, rdo: Option<f32>| -> Result<Reached, Error> {
                let choice = Choice { quality, rdo, max_size };
                let value = self.measure(reference, &encode(&choice)?);
                let is_met = match self.goal {
                    Goal::Psnr(least) => value >= f64::from(least),
                    Goal::Angle(most) => value <= f64::from(most),
                };
                Ok(Reached { choice, value, is_met })
            };
            let reached = match self.ladder {
                Ladder::Lambda => largest_lambda(attempt, halvings == 0)?,
                Ladder::Effort => least_effort(attempt)?,
                Ladder::Fixed => attempt(Quality::Default, None)?,
            };
            if reached.is_met || halvings == 0 {
                return Ok(Some(reached));
            }
        }
        Ok(None)
    }

    /// Compares the base levels of a texture and of its uncompressed reference.
    fn measure(&self, reference: &Encoded, encoded: &Encoded) -> f64 {
        let channels = match self.mode {
            Some(Mode::Color | Mode::LinearColor) => 4,
            None => 3,
            Some(Mode::Normal) => 2,
            Some(Mode::Grayscale) => 1,
        };
        let (width, height) = (reference.width, reference.height);
        let (mut squares, mut angles, mut count) = (0.0, 0.0, 0u64);
        for (expected, found) in images(reference).zip(images(encoded)) {
            let row = |y: u32| {
                let (mut squares, mut angles) = (0.0, 0.0);
                for x in 0..width {
                    let expected = expected.enlarged_texel(x, y, (width, height));
                    let found = found.enlarged_texel(x, y, (width, height));
                    let peak = if self.mode.is_none() { brightest(&expected) } else { 1.0 };
                    for c in 0..channels {
                        squares += ((f64::from(expected[c]) - f64::from(found[c])) / peak).powi(2);
                    }
                    if let Goal::Angle(_) = self.goal {
                        angles += angle(&expected, &found);
                    }
                }
                (squares, angles)
            };
            // Rows are added in their order, so that the sum does not depend on the number of threads.
            let rows: Vec<(f64, f64)> = (0..height).into_par_iter().map(row).collect();
            for (of_squares, of_angles) in rows {
                squares += of_squares;
                angles += of_angles;
            }
            count += u64::from(width) * u64::from(height);
        }
        let count = count.max(1) as f64;
        match self.goal {
            Goal::Psnr(_) if squares == 0.0 => f64::INFINITY,
            Goal::Psnr(_) => 10.0 * libm::log10(count * f64::from(channels as u32) / squares),
            Goal::Angle(_) => angles / count,
        }
    }
}

/// Finds the largest lambda with which an attempt reaches the goal. If there is none, tries the highest effort, unless a
/// higher resolution is left to try.
fn largest_lambda(
    attempt: impl Fn(Quality, Option<f32>) -> Result<Reached, Error>,
    is_full_size: bool,
) -> Result<Reached, Error> {
    let mut best = attempt(Quality::Default, None)?;
    if !best.is_met {
        return if is_full_size { attempt(Quality::High, None) } else { Ok(best) };
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
    Ok(best)
}

/// Finds the least effort with which an attempt reaches the goal.
fn least_effort(attempt: impl Fn(Quality, Option<f32>) -> Result<Reached, Error>) -> Result<Reached, Error> {
    for quality in [Quality::Fast, Quality::Default] {
        let reached = attempt(quality, None)?;
        if reached.is_met {
            return Ok(reached);
        }
    }
    attempt(Quality::High, None)
}

/// Decodes the layers and faces of the base level, one after the other.
fn images(encoded: &Encoded) -> impl Iterator<Item = DecodedImage> {
    let (payload, width, height): (Payload, _, _) = (encoded.texels, encoded.width, encoded.height);
    let side = payload.block_side();
    let blocks = width.div_ceil(side) as usize * height.div_ceil(side) as usize;
    let bytes = encoded.levels.first().map_or(&[][..], |level| level.bytes.as_slice());
    let images = bytes.chunks_exact(blocks * payload.block_len() as usize);
    images.filter_map(move |image| decode_image(payload, image, width, height).ok())
}

/// Returns the peak of an HDR texel. Texels that are black to the eye have no brightness to relate to.
#[must_use]
pub fn brightest(texel: &[f32; 4]) -> f64 {
    texel[..3].iter().fold(1e-4, |most, value| most.max(f64::from(*value).abs()))
}

/// Returns the angle between two normals in degrees; their Z is reconstructed from X and Y.
#[must_use]
pub fn angle(a: &[f32; 4], b: &[f32; 4]) -> f64 {
    let unit = |texel: &[f32; 4]| {
        let [x, y] = [texel[0], texel[1]].map(|value| f64::from(value) * 2.0 - 1.0);
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
    use crate::{HdrSettings, Mips, encode_2d, encode_hdr};
    use kiln_ir::{Image, Texels};

    fn image() -> Image {
        let texel = |i: u32| {
            let (x, y) = (i % 96, i / 96);
            let grain = (i.wrapping_mul(0x9E37_79B1) >> 28) as u8;
            [(x * 2) as u8 + grain, (y * 3) as u8, 90 + grain, 255]
        };
        Image::new(96, 64, Texels::Rgba8((0..96 * 64).flat_map(texel).collect())).unwrap()
    }

    fn reach(goal: Goal, mode: Mode, halvings: u32, settings: &Settings) -> Option<Reached> {
        let base = Settings { mips: Mips::None, zstd: false, ..*settings };
        let reference = encode_2d(image(), mode, &Settings { compress: false, ..base }).unwrap();
        let search = GoalSearch { goal, halvings, mode: Some(mode), ladder: settings.format.ladder() };
        search.run(&reference, |choice| encode_2d(image(), mode, &choice.applied(&base))).unwrap()
    }

    #[test]
    fn finds_the_largest_lambda_that_reaches_the_goal() {
        for format in [BlockFormat::Uastc, BlockFormat::Bc7] {
            let settings = Settings { format, ..Settings::default() };
            let mut before = f32::INFINITY;
            for goal in [34.0, 38.0, 42.0] {
                let reached = reach(Goal::Psnr(goal), Mode::Color, 0, &settings).unwrap();
                assert!(reached.is_met && reached.value >= f64::from(goal), "{reached:?}");
                let lambda = reached.choice.rdo.unwrap_or(0.0);
                assert!(lambda <= before, "{format:?} {goal}: {reached:?}");
                before = lambda;
            }
            let reached = reach(Goal::Psnr(90.0), Mode::Color, 0, &settings).unwrap();
            assert!(!reached.is_met && reached.choice.quality == Quality::High && reached.value < 90.0);
        }
    }

    #[test]
    fn other_formats_raise_the_effort() {
        let settings = Settings { format: BlockFormat::Bc5, ..Settings::default() };
        let coarse = reach(Goal::Angle(30.0), Mode::Normal, 0, &settings).unwrap();
        assert_eq!((coarse.choice.quality, coarse.is_met), (Quality::Fast, true));
        let fine = reach(Goal::Angle(0.0), Mode::Normal, 0, &settings).unwrap();
        assert_eq!((fine.choice.quality, fine.is_met), (Quality::High, false));
        assert_eq!(reach(Goal::Angle(1.0), Mode::Color, 0, &settings), None);
    }

    #[test]
    fn lowers_the_resolution_while_the_goal_holds() {
        let settings = Settings::default();
        let size = |goal: f32| reach(Goal::Psnr(goal), Mode::Color, 2, &settings).unwrap();
        let [low, middle, full] = [24.0, 28.0, 42.0].map(size);
        assert!(low.is_met && middle.is_met && full.is_met, "{low:?} {middle:?} {full:?}");
        assert_eq!(low.choice.max_size, Some(24));
        assert_eq!(full.choice.max_size, None);
        assert!(middle.choice.max_size.is_none_or(|size| size >= 24));
    }

    #[test]
    fn measures_hdr_texels_relative_to_their_brightest_channel() {
        let texel = |i: u32| {
            let exposure = 2f32.powi((i % 16) as i32 - 8);
            [0.2, 1.0, 0.4, 1.0].map(|value| value * exposure)
        };
        let image = || kiln_ir::HdrImage::new(32, 32, (0..32 * 32).map(texel).collect()).unwrap();
        let settings =
            HdrSettings { mips: Mips::None, max_size: None, bc6h: None, zstd: false, deadline: None };
        let reference = encode_hdr(image(), &settings).unwrap();
        let search = GoalSearch { goal: Goal::Psnr(20.0), halvings: 0, mode: None, ladder: Ladder::Effort };
        let reached = search
            .run(&reference, |choice| {
                // One percent more in every channel of every texel: of its brightest one, 0.2, 1 and 0.4 percent.
                let texel =
                    |i: u32| texel(i).map(|value| value * if choice.rdo.is_none() { 1.01 } else { 1.0 });
                let image = kiln_ir::HdrImage::new(32, 32, (0..32 * 32).map(texel).collect()).unwrap();
                encode_hdr(image, &settings)
            })
            .unwrap()
            .unwrap();
        let expected = -10.0 * ((0.2f64.powi(2) + 1.0 + 0.4f64.powi(2)) * 1e-4 / 3.0).log10();
        assert!((reached.value - expected).abs() < 0.3, "{} {expected}", reached.value);
    }

    #[test]
    fn enlargement_interpolates_between_texel_centres() {
        let encoded = encode_2d(
            Image::new(2, 1, Texels::Rgba8(vec![0, 0, 0, 255, 255, 255, 255, 255])).unwrap(),
            Mode::LinearColor,
            &Settings { compress: false, zstd: false, mips: Mips::None, ..Settings::default() },
        )
        .unwrap();
        let image = images(&encoded).next().unwrap();
        let row: Vec<f32> = (0..4).map(|x| image.enlarged_texel(x, 0, (4, 1))[0]).collect();
        assert_eq!(row, [0.0, 0.25, 0.75, 1.0]);
    }
}
