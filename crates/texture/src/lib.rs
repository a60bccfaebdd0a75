//! Builds GPU textures from images: mip chains, cubemap filtering, block compression and supercompression.
//!
//! ```text
//! Image ─ fit to max_size ─┬─ level 0 ────────────────┬─ round ─ swizzle ─ UASTC ─┬─ Zstd ─ Encoded
//!                          └─ filter ─ level 1 ─ … ───┘           (or BCn, …, raw)┘
//! ```
//!
//! # Concepts
//!
//! * A **mip chain** is filtered level by level with a Mitchell–Netravali kernel. [`Mode`] selects the
//!   filter: sRGB colour is filtered in linear light and weighted by alpha, normals are renormalised, all other
//!   channels are filtered independently.
//! * **Block compression** encodes 4×4 texels in 8 or 16 bytes: UASTC LDR, which transcodes to the formats of any
//!   GPU, or a format of some GPUs ([`BlockFormat`]). RDO ([`Settings::rdo`]) trades quality for a smaller supercompressed size.
//! * **Supercompression** stores every mip level as a Zstandard frame, as KTX2 does.
//! * **Alpha coverage** ([`Settings::alpha_coverage`]) keeps the share of texels that pass an alpha test
//!   constant over the mip chain.
//! * An **environment map** ([`encode_environment`]) is an equirectangular HDR panorama turned into a
//!   cubemap, with prefiltered specular mip levels (GGX) and a diffuse irradiance cubemap.
//!
//! All work runs in the rayon pool of the caller. The bytes do not depend on the number of threads. The crate
//! reads no files and knows no container format: the caller lays out the mip levels of [`Encoded`].
//!
//! # Example
//!
//! ```
//! use kiln_ir::{Image, Texels};
//! use kiln_texture::{Channels, Mode, Payload, Settings, encode_2d};
//!
//! let grey = Image::new(16, 8, Texels::Rgba8(vec![128; 16 * 8 * 4])).expect("the texels suffice");
//! let texture = encode_2d(grey, Mode::Color, &Settings::default())?;
//! assert_eq!(texture.levels.len(), 5); // 16×8, 8×4, 4×2, 2×1, 1×1
//! assert_eq!(texture.texels, Payload::Uastc { channels: Channels::Rgba });
//! # Ok::<(), kiln_texture::Error>(())
//! ```

mod block_format;
mod channel_map;
mod channel_packing;
mod coverage;
mod cube;
mod decode;
mod encode;
mod environment;
mod filter_mode;
mod goal;
mod half;
mod hdr;
mod high_precision;
mod kernel;
mod lut;
mod mip_tail;
mod mips;
mod plane;
mod row_stream;
mod srgb;
mod streaming;
mod supercompress;
mod swizzle;
mod working_set;
mod wrapped_plane;

use std::time::Instant;

use kiln_ir::{Image, Lut, Texels};

use encode::{Blocks, Target};
use filter_mode::FilterMode;
use plane::{ClampedPlane, Plane};
use streaming::MipChain;
use swizzle::Swizzle;
use wrapped_plane::WrappedPlane;

pub use block_format::{BlockChoice, BlockFormat, GpuTarget};
pub use channel_map::{ChannelMap, flip_green};
pub use channel_packing::{ChannelPlane, PackedChannel, pack_channels};
pub use decode::{
    DecodeError, DecodedImage, DecodedTexels, decode_block, decode_hdr_block, decode_level, inflate_level,
};
pub use environment::{EnvironmentSettings, encode_environment};
pub use goal::{Choice, Goal, GoalSearch, Ladder, Reached, angle, brightest};
pub use hdr::{HdrSettings, encode_hdr};
pub use high_precision::{FloatLevel, levels_16, levels_f32};
pub use kiln_format::ktx2::{Channels, Payload};
pub use kiln_uastc::Quality;
pub use lut::LutDepth;
pub use mips::Mips;
pub use working_set::{Sources, working_set};
pub use wrapped_plane::Wrap;

/// The content of an image, which selects the mip filter and the channels that are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// sRGB colour with straight alpha.
    Color,
    /// Four independent linear channels, such as occlusion, roughness and metalness. Alpha is one of them:
    /// colours are not weighted by alpha.
    LinearColor,
    /// A tangent-space normal map. Encoded as `rg01`: X and Y; the shader reconstructs Z.
    Normal,
    /// A single linear channel, red. Encoded as `r001`.
    Grayscale,
}

/// Options of a texture. The default is UASTC blocks with a full mip chain and Zstandard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Encodes blocks if true; otherwise stores RGBA8 without a swizzle, the base level unmodified.
    pub compress: bool,
    /// The block format, if `compress` is true.
    pub format: BlockFormat,
    /// The number of mip levels.
    pub mips: Mips,
    /// The longest side of the base level in texels; a larger image is downscaled and keeps its aspect ratio.
    pub max_size: Option<u32>,
    /// The effort of the block encoder.
    pub quality: Quality,
    /// The RDO lambda of the UASTC and BC7 encoders: larger values compress better and look worse. `None` disables
    /// RDO. Applies to UASTC, ASTC and BC7; other formats ignore it.
    pub rdo: Option<f32>,
    /// Compresses every mip level with Zstandard.
    pub zstd: bool,
    /// The alpha cutoff of alpha-tested materials. The alpha coverage of a [`Mode::Color`] image, which is
    /// the share of texels that pass the alpha test, is kept at every mip level.
    pub alpha_coverage: Option<f32>,
    /// The address mode beyond the edges while mip levels are filtered. Cubemaps are filtered across their edges instead.
    pub wrap: Wrap,
    /// Keeps 16 bits per channel, as R16, RG16 or RGBA16 for greyscale, normal maps and linear colour, if `compress` is
    /// false. Colour is always stored with 8 bits: no 16-bit format has the sRGB transfer function.
    pub sixteen_bit: bool,
    /// Encodes all three components of normal maps, for shaders that do not reconstruct Z.
    pub normal_z: bool,
    /// The instant at which encoding is cancelled. The result does not depend on it.
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
            wrap: Wrap::Clamp,
            sixteen_bit: false,
            normal_z: false,
            deadline: None,
        }
    }
}

/// A mip level as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Level {
    /// The stored bytes: layer by layer, within a layer face by face, within a face slice by slice.
    pub bytes: Vec<u8>,
    /// The number of bytes before supercompression.
    pub uncompressed_len: u64,
}

/// An encoded texture, ready to be written to a container.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Encoded {
    /// Width of the base level in texels.
    pub width: u32,
    /// Height of the base level in texels.
    pub height: u32,
    /// Depth of a 3D texture; zero for all others.
    pub depth: u32,
    /// Layers of a texture array; zero for all others.
    pub layers: u32,
    /// Six for a cubemap, otherwise one.
    pub faces: u32,
    /// True if colours are sRGB; otherwise all channels are linear.
    pub srgb: bool,
    /// The texel format of all mip levels.
    pub texels: Payload,
    /// True if every mip level is a Zstandard frame.
    pub zstd: bool,
    /// The mip levels, largest first.
    pub levels: Vec<Level>,
}

/// The reason why images cannot be encoded as a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A texture array has no layers.
    Empty,
    /// The size of an image differs from the size of the first.
    SizeDiffers {
        /// The index of the image among the layers or faces.
        index: usize,
        /// The width and height of the image.
        found: (u32, u32),
        /// The width and height of the first image.
        expected: (u32, u32),
    },
    /// A cubemap face is not square.
    NotSquare {
        /// The width and height of the face.
        found: (u32, u32),
    },
    /// BC6H was requested for an image that is not HDR.
    NotHdr,
    /// Zstandard failed, which happens only when memory runs out.
    Zstd,
    /// The deadline of the settings has passed.
    Deadline,
}

/// Returns [`Error::Deadline`] if the deadline has passed; called between mip levels, and between blocks of
/// rows of large ones.
pub(crate) fn check(deadline: Option<Instant>) -> Result<(), Error> {
    match deadline {
        Some(deadline) if Instant::now() > deadline => Err(Error::Deadline),
        _ => Ok(()),
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Empty => write!(f, "a texture array needs at least one layer"),
            Error::SizeDiffers { index, found: (w, h), expected: (ew, eh) } => {
                write!(f, "image {index} is {w}x{h}, but the first image is {ew}x{eh}")
            }
            Error::NotSquare { found: (w, h) } => {
                write!(f, "a cubemap face must be square, but this one is {w}x{h}")
            }
            Error::NotHdr => write!(f, "BC6H holds HDR images, and this image has 8 or 16 bits per channel"),
            Error::Zstd => write!(f, "Zstandard ran out of memory"),
            Error::Deadline => write!(f, "the deadline passed before the texture was encoded"),
        }
    }
}

impl std::error::Error for Error {}

/// Encodes a 2D texture.
///
/// # Errors
///
/// [`Error::NotHdr`] if the format is BC6H, [`Error::Deadline`] if the deadline passes, [`Error::Zstd`] if
/// memory runs out.
pub fn encode_2d(image: Image, mode: Mode, settings: &Settings) -> Result<Encoded, Error> {
    encode_layers(vec![vec![image]], mode, settings)
}

/// Encodes a 2D texture array. All layers must have the same size.
///
/// # Errors
///
/// [`Error::Empty`] without layers, [`Error::SizeDiffers`] if the sizes differ, and the errors of
/// [`encode_2d`].
pub fn encode_array(layers: Vec<Image>, mode: Mode, settings: &Settings) -> Result<Encoded, Error> {
    check_sizes(&layers)?;
    let count = layers.len() as u32;
    let encoded = encode_layers(layers.into_iter().map(|layer| vec![layer]).collect(), mode, settings)?;
    Ok(Encoded { layers: count, ..encoded })
}

/// Encodes a cubemap from six squares of the same size in the order +X −X +Y −Y +Z −Z, oriented as in Vulkan
/// and OpenGL.
///
/// # Errors
///
/// [`Error::SizeDiffers`] or [`Error::NotSquare`] if the faces are not squares of the same size, and the
/// errors of [`encode_2d`].
pub fn encode_cube(faces: [Image; 6], mode: Mode, settings: &Settings) -> Result<Encoded, Error> {
    check_sizes(&faces)?;
    let found = (faces[0].width(), faces[0].height());
    if found.0 != found.1 {
        return Err(Error::NotSquare { found });
    }
    Ok(Encoded { faces: 6, ..encode_layers(vec![faces.into()], mode, settings)? })
}

/// Encodes a colour lookup table as a 3D texture. Returns the texture and the number of values that were
/// clamped.
///
/// # Errors
///
/// [`Error::Zstd`] if memory runs out.
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

/// The dimensions of a texture; unused ones are as in [`Encoded`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Width of the base level in texels.
    pub width: u32,
    /// Height of the base level in texels.
    pub height: u32,
    /// Depth of a 3D texture; zero for all others.
    pub depth: u32,
    /// Layers of a texture array; zero for all others.
    pub layers: u32,
    /// Six for a cubemap, otherwise one.
    pub faces: u32,
}

/// Wraps mip levels that are in the format of the GPU already, largest first, and supercompresses them if the settings
/// ask for it. The lengths of the levels are left to the writer of the container.
///
/// # Errors
///
/// [`Error::Deadline`] if the deadline passes, [`Error::Zstd`] if memory runs out.
pub fn wrap_levels(
    extent: Extent,
    texels: Payload,
    srgb: bool,
    levels: Vec<Vec<u8>>,
    settings: &Settings,
) -> Result<Encoded, Error> {
    let Extent { width, height, depth, layers, faces } = extent;
    let levels = supercompress::levels(levels, settings.zstd, settings.deadline)?;
    Ok(Encoded { width, height, depth, layers, faces, srgb, texels, zstd: settings.zstd, levels })
}

fn check_sizes(images: &[Image]) -> Result<(), Error> {
    let size = |image: &Image| (image.width(), image.height());
    let expected = size(images.first().ok_or(Error::Empty)?);
    match images.iter().position(|image| size(image) != expected) {
        Some(index) => Err(Error::SizeDiffers { index, found: size(&images[index]), expected }),
        None => Ok(()),
    }
}

/// Encodes layers of the same size, each a single image or the six faces of a cubemap.
fn encode_layers(layers: Vec<Vec<Image>>, mode: Mode, settings: &Settings) -> Result<Encoded, Error> {
    if settings.sixteen_bit
        && !settings.compress
        && mode != Mode::Color
        && layers.iter().all(|l| l.len() == 1)
    {
        return high_precision::encode_layers_16(layers.into_iter().flatten().collect(), mode, settings);
    }
    let first = layers.first().and_then(|layer| layer.first()).ok_or(Error::Empty)?;
    let (width, height) = mips::fit(first.width(), first.height(), settings.max_size);
    let images = layers.iter().map(Vec::len).sum::<usize>();
    let opaque = !layers.iter().flatten().any(Image::has_alpha);
    let target = target(mode, settings, opaque)?;
    let count = settings.mips.levels(width, height);
    if is_huge(&layers, (width, height), mode, settings, &target) {
        let image = layers.into_iter().flatten().next().ok_or(Error::Empty)?;
        let (source, filter_mode) = ((image.width(), image.height()), filter_mode(mode, !opaque, settings));
        let (texels, mut at) = (image.into_rgba8(), 0);
        let next = |rows: &mut [u8]| {
            rows.copy_from_slice(&texels[at..at + rows.len()]);
            at += rows.len();
            Ok::<(), Error>(())
        };
        return encode_row_stream(source, next, mode, filter_mode, settings, &target);
    }
    let mut levels: Vec<Vec<u8>> = (0..count)
        .map(|level| mips::level_size(width, height, level))
        .map(|(width, height)| Vec::with_capacity(target.encoded_len(width, height) * images))
        .collect();
    let mut alpha = false;
    for layer in layers {
        alpha |= encode_layer(layer, (width, height), mode, settings, &target, &mut levels)?;
    }
    let levels = supercompress::levels(levels, settings.zstd, settings.deadline)?;
    Ok(encoded_2d((width, height), mode, settings, target.payload(alpha), levels))
}

/// Returns whether the base level of a texture is supercompressed while it is encoded: that of a single huge image of 8 bits
/// per channel whose mip levels are filtered in a streaming window.
fn is_huge(
    layers: &[Vec<Image>],
    (width, height): (u32, u32),
    mode: Mode,
    settings: &Settings,
    target: &Target,
) -> bool {
    let keeps_coverage = mode == Mode::Color && settings.alpha_coverage.is_some();
    let [layer] = layers else { return false };
    let [image] = &layer[..] else { return false };
    settings.zstd
        && settings.compress
        && settings.wrap == Wrap::Clamp
        && !keeps_coverage
        && matches!(image.texels(), Texels::Rgba8(_))
        && target.encoded_len(width, height) >= row_stream::STREAMED_LEN
}

/// Returns whether [`encode_opaque_rows`] encodes an image of this size while its rows are decoded.
pub fn streams_rows((width, height): (u32, u32), settings: &Settings) -> bool {
    let len = u64::from(width) * u64::from(height) * 4;
    settings.compress && settings.wrap == Wrap::Clamp && len > row_stream::BATCH_LEN as u64
}

/// Encodes a 2D texture of an opaque image of 8 bits per channel, whose rows are decoded while it is encoded: a large image
/// is never in memory as a whole. `next` fills a buffer with the next rows as RGBA8; it is called until all rows of the image
/// are read or it fails. The result is that of [`encode_2d`].
///
/// # Errors
///
/// The errors of `next` and of [`encode_2d`].
pub fn encode_opaque_rows<E: From<Error> + Send>(
    (width, height): (u32, u32),
    mut next: impl FnMut(&mut [u8]) -> Result<(), E> + Send,
    mode: Mode,
    settings: &Settings,
) -> Result<Encoded, E> {
    if streams_rows((width, height), settings) {
        let target = target(mode, settings, true)?;
        let filter_mode = filter_mode(mode, false, settings);
        return encode_row_stream((width, height), next, mode, filter_mode, settings, &target);
    }
    let mut texels = vec![0; width as usize * height as usize * 4];
    next(&mut texels)?;
    let image = Image::new(width, height, Texels::Rgba8(texels)).ok_or(Error::Empty)?;
    Ok(encode_2d(image, mode, settings)?)
}

fn encode_row_stream<E: From<Error> + Send>(
    source: (u32, u32),
    next: impl FnMut(&mut [u8]) -> Result<(), E> + Send,
    mode: Mode,
    filter_mode: FilterMode,
    settings: &Settings,
    target: &Target,
) -> Result<Encoded, E> {
    let size = mips::fit(source.0, source.1, settings.max_size);
    let chain = MipChain { size, filter_mode, target, deadline: settings.deadline };
    let count = settings.mips.levels(size.0, size.1);
    let (levels, alpha) = chain.encode_rows(source, next, count, settings.zstd)?;
    Ok(encoded_2d(size, mode, settings, target.payload(alpha), levels))
}

fn encoded_2d(
    (width, height): (u32, u32),
    mode: Mode,
    settings: &Settings,
    texels: Payload,
    levels: Vec<Level>,
) -> Encoded {
    let srgb = mode == Mode::Color;
    Encoded { width, height, depth: 0, layers: 0, faces: 1, srgb, texels, zstd: settings.zstd, levels }
}

/// Encodes the mip chain of one layer and appends each level to its bytes in `levels`. Returns true if the
/// block encoder saw alpha.
fn encode_layer(
    images: Vec<Image>,
    (width, height): (u32, u32),
    mode: Mode,
    settings: &Settings,
    target: &Target,
    levels: &mut [Vec<u8>],
) -> Result<bool, Error> {
    let has_alpha = mode == Mode::Color && images.iter().any(Image::has_alpha);
    let filter_mode = filter_mode(mode, has_alpha, settings);
    let cutoff = settings.alpha_coverage.filter(|_| filter_mode == FilterMode::Translucent);
    let shares: Vec<_> =
        images.iter().map(|image| cutoff.map(|cutoff| (cutoff, coverage::of_image(image, cutoff)))).collect();
    let mut planes: Vec<Plane> = images.into_iter().map(Plane::Source).collect();
    // Faces are filtered across their edges, alpha coverage is a property of a whole level, and a wrapped
    // image is read at its other end: all need whole levels in memory.
    if let ([None], 1, Wrap::Clamp) = (&shares[..], planes.len(), settings.wrap) {
        let plane = planes.remove(0);
        let chain = MipChain { size: (width, height), filter_mode, target, deadline: settings.deadline };
        return chain.encode(plane, levels);
    }
    let mut alpha = false;
    for (level, out) in (0..).zip(levels) {
        check(settings.deadline)?;
        let (width, height) = mips::level_size(width, height, level);
        if planes.iter().any(|plane| (plane.width(), plane.height()) != (width, height)) {
            planes = next_level(&planes, filter_mode, settings.wrap, width, height);
        }
        for (plane, share) in planes.iter().zip(&shares) {
            let alpha_scale = match (plane, share) {
                (Plane::Filtered { texels, .. }, Some((cutoff, share))) => {
                    coverage::scale(texels, *cutoff, *share)
                }
                _ => 1.0,
            };
            alpha |= encode::append(plane, filter_mode, alpha_scale, target, out);
        }
    }
    Ok(alpha)
}

/// Filters the next mip level of a single image, or of six faces across their edges.
fn next_level(planes: &[Plane], filter_mode: FilterMode, wrap: Wrap, width: u32, height: u32) -> Vec<Plane> {
    let shrink = |i: usize| match planes.len() {
        1 if wrap != Wrap::Clamp => {
            let plane = WrappedPlane::new(&planes[i], filter_mode, wrap, (width, height));
            mips::shrink(&plane, filter_mode, width, height)
        }
        1 => mips::shrink(&ClampedPlane { plane: &planes[i], filter_mode }, filter_mode, width, height),
        _ => mips::shrink(&cube::Face::new(planes, i, filter_mode, width), filter_mode, width, height),
    };
    (0..planes.len()).map(|i| Plane::Filtered { width, texels: shrink(i) }).collect()
}

fn filter_mode(mode: Mode, has_alpha: bool, settings: &Settings) -> FilterMode {
    match mode {
        Mode::Color if has_alpha => FilterMode::Translucent,
        Mode::Color => FilterMode::Opaque,
        Mode::LinearColor | Mode::Grayscale => FilterMode::Data,
        Mode::Normal if settings.compress && !settings.normal_z => FilterMode::VectorXy,
        Mode::Normal => FilterMode::Vector,
    }
}

fn target(mode: Mode, settings: &Settings, opaque: bool) -> Result<Target, Error> {
    if !settings.compress {
        return Ok(Target::Raw);
    }
    let swizzle = match mode {
        Mode::Color | Mode::LinearColor => Swizzle::Rgba,
        Mode::Normal if settings.normal_z => Swizzle::Rgba,
        Mode::Normal => Swizzle::Rg01,
        Mode::Grayscale => Swizzle::R001,
    };
    let Settings { quality, rdo, .. } = *settings;
    let opaque = opaque || swizzle != Swizzle::Rgba;
    let blocks = match settings.format {
        BlockFormat::Uastc => return Ok(Target::Uastc(swizzle, kiln_uastc::Options { quality, rdo })),
        BlockFormat::Astc4x4 => return Ok(Target::Astc(swizzle, kiln_uastc::Options { quality, rdo })),
        BlockFormat::Bc7 => {
            // Nothing samples the alpha of the other swizzles; that of a colour stays exactly opaque.
            let opaque = swizzle != Swizzle::Rgba;
            return Ok(Target::Bc7(swizzle, kiln_uastc::bc7::Bc7Options { quality, opaque, rdo }));
        }
        BlockFormat::Bc6h => return Err(Error::NotHdr),
        BlockFormat::Bc1 => Blocks::Bc1,
        BlockFormat::Bc3 => Blocks::Bc3,
        BlockFormat::Bc4 => Blocks::Bc4,
        BlockFormat::Bc5 => Blocks::Bc5,
        BlockFormat::Etc2 => match swizzle {
            Swizzle::Rg01 => Blocks::EacRg11,
            Swizzle::R001 => Blocks::EacR11,
            Swizzle::Rgba if opaque => Blocks::Etc2Rgb,
            Swizzle::Rgba => Blocks::Etc2Rgba,
        },
    };
    Ok(Target::Blocks(swizzle, blocks, effort(quality)))
}

/// Returns the effort of the portable block encoders.
pub(crate) const fn effort(quality: Quality) -> kiln_block_encoders::Effort {
    match quality {
        Quality::Fast => kiln_block_encoders::Effort::Fast,
        Quality::Default => kiln_block_encoders::Effort::Default,
        Quality::High => kiln_block_encoders::Effort::High,
    }
}
