//! Texture algorithms: pictures in, the levels of a GPU texture out.
//!
//! ```text
//! Image ─ fit to max_size ─┬─ level 0 ────────────────┬─ round ─ swizzle ─ UASTC ─┬─ Zstd ─ Encoded
//!                          └─ filter ─ level 1 ─ … ───┘           (or BC7, or raw)┘
//! ```
//!
//! Colour is filtered in linear light and weighted by alpha, directions are made unit vectors again,
//! everything else is filtered channel by channel. All work runs in the rayon pool of the caller, and the
//! bytes do not depend on how many threads that pool has. Nothing here reads files or knows a container: the
//! caller lays the levels out.
//!
//! ```
//! use kiln_ir::{Image, Texels};
//! use kiln_texture::{Mode, Payload, Settings, encode_2d};
//!
//! let grey = Image::new(16, 8, Texels::Rgba8(vec![128; 16 * 8 * 4])).expect("the texels suffice");
//! let texture = encode_2d(grey, Mode::Color, &Settings::default())?;
//! assert_eq!(texture.levels.len(), 5); // 16×8, 8×4, 4×2, 2×1, 1×1
//! assert_eq!(texture.texels, Payload::Uastc { alpha: true });
//! # Ok::<(), kiln_texture::Error>(())
//! ```

mod cascade;
mod coverage;
mod cube;
mod deep;
mod encode;
mod environment;
mod half;
mod kernel;
mod light;
mod lut;
mod mips;
mod plane;
mod srgb;
mod supercompress;
mod swizzle;
mod texel;
mod working_set;

use std::time::Instant;

use kiln_ir::{Image, Lut};

use encode::Target;
use plane::{Flat, Plane};
use swizzle::Swizzle;
use texel::Meaning;

pub use deep::{FloatLevel, levels_16, levels_f32};
pub use environment::{EnvironmentSettings, encode_environment};
pub use kiln_uastc::Quality;
pub use light::encode_light;
pub use lut::LutDepth;
pub use mips::Mips;
pub use working_set::{Sources, working_set};

/// What a picture shows, which decides how it is filtered and which channels are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// sRGB colour with straight alpha.
    Color,
    /// Four independent linear channels, such as occlusion, roughness and metalness. Alpha is one of them: it
    /// does not weigh the others.
    LinearColor,
    /// A tangent-space normal map. Encoded as `rg01`: X and Y, from which the reader derives Z.
    Normal,
    /// One linear channel, the red one. Encoded as `r001`.
    Grayscale,
}

/// How to make a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Blocks; otherwise RGBA8 without a swizzle, the base level exactly as it came.
    pub compress: bool,
    /// Which blocks.
    pub format: BlockFormat,
    /// How many levels.
    pub mips: Mips,
    /// The longest side that the base may have; a larger picture is scaled down, keeping its aspect.
    pub max_size: Option<u32>,
    /// Effort of the block encoder.
    pub quality: Quality,
    /// Rate–distortion trade of the block encoder: larger compresses better and looks worse.
    pub rdo: Option<f32>,
    /// Zstandard on every level.
    pub zstd: bool,
    /// For cut-outs: the reference of the alpha test. The share of texels that pass it is kept at every level
    /// of a [`Mode::Color`] picture.
    pub alpha_coverage: Option<f32>,
    /// When to give up. The result does not depend on it.
    pub deadline: Option<Instant>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            compress: true,
            format: BlockFormat::Uastc,
            mips: Mips::Full,
            max_size: None,
            quality: Quality::Default,
            rdo: None,
            zstd: true,
            alpha_coverage: None,
            deadline: None,
        }
    }
}

/// What blocks are made of sixteen texels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockFormat {
    /// UASTC LDR 4×4, which transcodes to what any GPU has.
    #[default]
    Uastc,
    /// BC7, which desktop GPUs have. There is no rate–distortion trade.
    Bc7,
}

/// What the bytes of the levels are, before supercompression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// UASTC LDR 4×4 blocks.
    Uastc {
        /// Whether any texel at any level is not opaque.
        alpha: bool,
    },
    /// BC7 blocks.
    Bc7,
    /// Four bytes a texel.
    Rgba8,
    /// Four half floats a texel.
    Rgba16F,
}

/// One level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// What is stored: layer by layer, within a layer face by face, within a face slice by slice.
    pub bytes: Vec<u8>,
    /// How many bytes that is before supercompression.
    pub uncompressed_len: u64,
}

/// A texture, ready for a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Texels in a row of the base level.
    pub width: u32,
    /// Rows of the base level.
    pub height: u32,
    /// Slices of a 3D texture; zero for all others.
    pub depth: u32,
    /// Layers of an array; zero for all others.
    pub layers: u32,
    /// Six for a cubemap, else one.
    pub faces: u32,
    /// Whether colours are sRGB; otherwise all channels are linear.
    pub srgb: bool,
    /// What the bytes are.
    pub texels: Payload,
    /// Whether every level is a Zstandard frame.
    pub zstd: bool,
    /// The levels, largest first.
    pub levels: Vec<Level>,
}

/// Why pictures do not make a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// An array without layers.
    Empty,
    /// A picture whose size is not that of the first.
    SizeDiffers {
        /// Its place among the layers or faces.
        index: usize,
        /// Its width and height.
        found: (u32, u32),
        /// The width and height of the first.
        expected: (u32, u32),
    },
    /// A cubemap's face that is not square.
    NotSquare {
        /// Its width and height.
        found: (u32, u32),
    },
    /// A rate–distortion trade of BC7 blocks.
    Rdo,
    /// The compressor failed, which it does only when memory runs out.
    Zstd,
    /// The deadline passed.
    Deadline,
}

/// Gives up when the deadline has passed; called between levels, and between blocks of large ones.
pub(crate) fn check(deadline: Option<Instant>) -> Result<(), Error> {
    match deadline {
        Some(deadline) if Instant::now() > deadline => Err(Error::Deadline),
        _ => Ok(()),
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Empty => write!(f, "an array needs at least one layer"),
            Error::SizeDiffers { index, found: (w, h), expected: (ew, eh) } => {
                write!(f, "picture {index} is {w}x{h}, but the first is {ew}x{eh}")
            }
            Error::NotSquare { found: (w, h) } => write!(f, "a cubemap's face must be square, not {w}x{h}"),
            Error::Rdo => write!(f, "BC7 blocks have no rate–distortion trade"),
            Error::Zstd => write!(f, "Zstandard ran out of memory"),
            Error::Deadline => write!(f, "the deadline has passed"),
        }
    }
}

impl std::error::Error for Error {}

/// Makes a 2D texture.
pub fn encode_2d(image: Image, mode: Mode, settings: &Settings) -> Result<Encoded, Error> {
    texture(vec![vec![image]], mode, settings)
}

/// Makes an array of 2D textures, which must be of one size.
pub fn encode_array(layers: Vec<Image>, mode: Mode, settings: &Settings) -> Result<Encoded, Error> {
    check_sizes(&layers)?;
    let count = layers.len() as u32;
    let encoded = texture(layers.into_iter().map(|layer| vec![layer]).collect(), mode, settings)?;
    Ok(Encoded { layers: count, ..encoded })
}

/// Makes a cubemap of six equal squares in the order +X −X +Y −Y +Z −Z, oriented as in Vulkan and OpenGL.
pub fn encode_cube(faces: [Image; 6], mode: Mode, settings: &Settings) -> Result<Encoded, Error> {
    check_sizes(&faces)?;
    let found = (faces[0].width(), faces[0].height());
    if found.0 != found.1 {
        return Err(Error::NotSquare { found });
    }
    Ok(Encoded { faces: 6, ..texture(vec![faces.into()], mode, settings)? })
}

/// Makes a 3D texture of a lookup table; also says how many values did not fit and were clamped.
pub fn encode_lut(lut: &Lut, depth: LutDepth, zstd: bool) -> Result<(Encoded, u64), Error> {
    let (bytes, clamped) = lut::texels(lut, depth);
    let encoded = Encoded {
        width: lut.size(),
        height: lut.size(),
        depth: lut.size(),
        layers: 0,
        faces: 1,
        srgb: false,
        texels: match depth {
            LutDepth::Unorm8 => Payload::Rgba8,
            LutDepth::Float16 => Payload::Rgba16F,
        },
        zstd,
        levels: supercompress::levels(vec![bytes], zstd, None)?,
    };
    Ok((encoded, clamped))
}

fn check_sizes(images: &[Image]) -> Result<(), Error> {
    let size = |image: &Image| (image.width(), image.height());
    let expected = size(images.first().ok_or(Error::Empty)?);
    match images.iter().position(|image| size(image) != expected) {
        Some(index) => Err(Error::SizeDiffers { index, found: size(&images[index]), expected }),
        None => Ok(()),
    }
}

/// Makes a texture of layers of one size, each a single picture or the six faces of a cube.
fn texture(layers: Vec<Vec<Image>>, mode: Mode, settings: &Settings) -> Result<Encoded, Error> {
    let first = layers.first().and_then(|layer| layer.first()).ok_or(Error::Empty)?;
    let (width, height) = mips::fit(first.width(), first.height(), settings.max_size);
    let pictures = layers.iter().map(Vec::len).sum::<usize>();
    let opaque = !layers.iter().flatten().any(Image::has_alpha);
    let target = target(mode, settings, opaque)?;
    let mut levels: Vec<Vec<u8>> = (0..settings.mips.levels(width, height))
        .map(|level| mips::level_size(width, height, level))
        .map(|(width, height)| Vec::with_capacity(target.encoded_len(width, height) * pictures))
        .collect();
    let mut alpha = false;
    for layer in layers {
        alpha |= descend(layer, (width, height), mode, settings, &target, &mut levels)?;
    }
    Ok(Encoded {
        width,
        height,
        depth: 0,
        layers: 0,
        faces: 1,
        srgb: mode == Mode::Color,
        texels: match target {
            Target::Uastc(..) => Payload::Uastc { alpha },
            Target::Bc7(..) => Payload::Bc7,
            Target::Raw => Payload::Rgba8,
        },
        zstd: settings.zstd,
        levels: supercompress::levels(levels, settings.zstd, settings.deadline)?,
    })
}

/// Goes down the levels of one layer and appends each to its level's bytes. Says whether the block encoder
/// saw alpha.
fn descend(
    images: Vec<Image>,
    (width, height): (u32, u32),
    mode: Mode,
    settings: &Settings,
    target: &Target,
    levels: &mut [Vec<u8>],
) -> Result<bool, Error> {
    let meaning = meaning(mode, settings, &images);
    let cutoff = settings.alpha_coverage.filter(|_| meaning == Meaning::Translucent);
    let shares: Vec<_> =
        images.iter().map(|image| cutoff.map(|cutoff| (cutoff, coverage::of_image(image, cutoff)))).collect();
    let mut planes: Vec<Plane> = images.into_iter().map(Plane::Source).collect();
    // Faces look past their edges, and coverage is a property of a whole level: those have their levels as a whole.
    if let ([None], 1) = (&shares[..], planes.len()) {
        let plane = planes.remove(0);
        return cascade::levels(plane, (width, height), meaning, target, settings.deadline, levels);
    }
    let mut alpha = false;
    for (level, out) in (0..).zip(levels) {
        check(settings.deadline)?;
        let (width, height) = mips::level_size(width, height, level);
        if planes.iter().any(|plane| (plane.width(), plane.height()) != (width, height)) {
            planes = smaller(&planes, meaning, width, height);
        }
        for (plane, share) in planes.iter().zip(&shares) {
            let alpha_scale = match (plane, share) {
                (Plane::Filtered { texels, .. }, Some((cutoff, share))) => {
                    coverage::scale(texels, *cutoff, *share)
                }
                _ => 1.0,
            };
            alpha |= encode::append(plane, meaning, alpha_scale, target, out);
        }
    }
    Ok(alpha)
}

/// The next level of one picture, or of six faces that look past their edges.
fn smaller(planes: &[Plane], meaning: Meaning, width: u32, height: u32) -> Vec<Plane> {
    let shrink = |i: usize| match planes.len() {
        1 => mips::shrink(&Flat { plane: &planes[i], meaning }, meaning, width, height),
        _ => mips::shrink(&cube::Face::new(planes, i, meaning, width), meaning, width, height),
    };
    (0..planes.len()).map(|i| Plane::Filtered { width, texels: shrink(i) }).collect()
}

fn meaning(mode: Mode, settings: &Settings, images: &[Image]) -> Meaning {
    match mode {
        Mode::Color if images.iter().any(Image::has_alpha) => Meaning::Translucent,
        Mode::Color => Meaning::Opaque,
        Mode::LinearColor | Mode::Grayscale => Meaning::Data,
        Mode::Normal if settings.compress => Meaning::VectorXy,
        Mode::Normal => Meaning::Vector,
    }
}

fn target(mode: Mode, settings: &Settings, opaque: bool) -> Result<Target, Error> {
    if !settings.compress {
        return Ok(Target::Raw);
    }
    let swizzle = match mode {
        Mode::Color | Mode::LinearColor => Swizzle::Rgba,
        Mode::Normal => Swizzle::Rg01,
        Mode::Grayscale => Swizzle::R001,
    };
    let Settings { quality, rdo, .. } = *settings;
    match (settings.format, rdo) {
        (BlockFormat::Uastc, rdo) => Ok(Target::Uastc(swizzle, kiln_uastc::Options { quality, rdo })),
        (BlockFormat::Bc7, None) => {
            let opaque = opaque || swizzle != Swizzle::Rgba;
            Ok(Target::Bc7(swizzle, kiln_uastc::bc7::Options { quality, opaque }))
        }
        (BlockFormat::Bc7, Some(_)) => Err(Error::Rdo),
    }
}
