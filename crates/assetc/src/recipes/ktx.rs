//! Writes KTX2 textures, from encoded source images or from encoded mip levels.

use super::row_stream;
use crate::artifact::{FileArtifact, FileMetadata};
use crate::cache_check::is_texture;
use crate::config::{self, ChannelMap, Depth, Settings, TexelFormat};
use crate::recipe::suffix;
use crate::texture_format::{block_format, check_alpha};
use crate::texture_role::check_texels;
use kiln_engine::{ActionContext, Code, Diag, Hash, Limits, RelPath, SharedResult, SourceTree, WorkKey};
use kiln_format::hman::Colorspace;
use kiln_format::ktx2::{self, Desc, Shape, Supercompression};
use kiln_import::image::{self, Header};
use kiln_ir::{Image, ImageSource, Texels};
use kiln_texture::{Choice, Encoded, Goal, GoalSearch, Ladder, Mips, Mode, Reached, Sources, flip_green};
use std::borrow::Cow;

/// The version of the texture pipeline, from pixels to bytes; raised when the bytes of a texture change.
pub(crate) const VERSION: u32 = 7;

/// The value of `KTXwriter`, without a program version: a release alone must not change the bytes.
const WRITER: &str = "Kiln assetc";

/// The number of bytes at the start of a file that are read for its dimensions.
pub(crate) const HEAD: usize = 64 << 10;

/// A source image, encoded as PNG, JPEG or another format: a file of its own, or a part of a model.
pub(crate) struct EncodedImage<'a> {
    /// Owned if nothing else needs them, so that they are freed before the texels are encoded.
    bytes: Cow<'a, [u8]>,
    hash: Hash,
    /// The declared format as a file extension; empty if none is declared.
    extension: &'a str,
    /// True for an image that is a source of its own, whose channels `texture.swizzle` rearranges.
    is_source: bool,
    /// True if an image that looks like a normal map is worth a warning.
    checked_for_normals: bool,
}

impl<'a> EncodedImage<'a> {
    /// Wraps an image file; its hash is known since it was read.
    pub(crate) fn file(cx: &ActionContext<'_>, path: &'a RelPath, bytes: Vec<u8>) -> EncodedImage<'a> {
        let hash = cx.inputs.hash(path).unwrap_or_else(|| Hash::of(&bytes));
        let extension = suffix(path).map_or("", |s| s.ext);
        EncodedImage { bytes: bytes.into(), hash, extension, is_source: false, checked_for_normals: false }
    }

    /// Wraps an image of a model, embedded or in a file of its own.
    pub(crate) fn of_model(cx: &ActionContext<'_>, image: &'a ImageSource) -> EncodedImage<'a> {
        let file = RelPath::new(image.path.as_str()).ok();
        let hash = file.and_then(|file| cx.inputs.hash(&file)).unwrap_or_else(|| Hash::of(&image.bytes));
        EncodedImage {
            bytes: (&*image.bytes).into(),
            hash,
            extension: &image.extension,
            is_source: false,
            checked_for_normals: false,
        }
    }

    /// Marks the image as a source of its own: `texture.swizzle` applies to it.
    pub(crate) fn standalone(self) -> EncodedImage<'a> {
        EncodedImage { is_source: true, ..self }
    }

    /// Asks for a warning if the texels are those of a normal map.
    pub(crate) fn checked_for_normals(self) -> EncodedImage<'a> {
        EncodedImage { checked_for_normals: true, ..self }
    }
}

/// Encodes an image as a texture; returns it with the warnings about the image, without a path. An image that occurs
/// several times with the same mode and settings is encoded once (single-flight).
pub(crate) fn image_artifact(
    cx: &ActionContext<'_>,
    output: &RelPath,
    image: EncodedImage<'_>,
    mode: Mode,
    settings: &Settings,
) -> Result<(FileArtifact, Vec<Diag>), Diag> {
    let EncodedImage { bytes, hash, extension, is_source, checked_for_normals } = image;
    let extension = extension.to_ascii_lowercase();
    let wanted = settings.canonical_texture();
    let fields: [&[u8]; 6] = [
        &VERSION.to_le_bytes(),
        mode_name(mode).as_bytes(),
        wanted.as_bytes(),
        extension.as_bytes(),
        &hash.0,
        // Without a swizzle, models share the texture of an image that is a source of its own.
        &[(is_source && settings.texture.swizzle != ChannelMap::default()).into()],
    ];
    let (limits, admission) = (*cx.inputs.limits(), cx.inputs.admission());
    let wanted =
        kiln_texture::Settings { deadline: cx.inputs.deadline(), ..texture_settings(settings, mode)? };
    let metadata = FileMetadata::texture(output, colorspace(mode));
    let accept = |bytes: &[u8]| is_texture(bytes, colorspace(mode));
    let (artifact, mut warnings) =
        cx.shared_artifact(output, metadata, WorkKey::of(fields), accept, || {
            let memory = |image| attempts(settings).saturating_mul(memory_of(image, 1, false, &wanted));
            let needed = needed(&bytes, &extension, &limits, memory)?;
            let _reserved = admission.reserve(needed);
            let image = (&*bytes, &*extension);
            if let Some(result) = row_stream::encode(image, is_source, mode, settings, &wanted, &limits)? {
                return Ok(result);
            }
            let mut imported = image::import(&bytes, &extension, &limits)?;
            drop(bytes);
            if mode == Mode::Color {
                imported.warnings.extend(check_texels(&imported.value));
            }
            let image =
                if is_source { settings.texture.swizzle.apply(imported.value) } else { imported.value };
            let bytes = encode_image(image, mode, settings, wanted, &limits, &mut imported.warnings)?;
            Ok(SharedResult::new(bytes, imported.warnings))
        })?;
    // The result is shared with users for whom the content of the image is known.
    warnings.retain(|warning| checked_for_normals || warning.code != Code::TextureRole);
    Ok((artifact, warnings))
}

/// Encodes an image whose channels are in place as a KTX2 file; adds the warnings about its depth, alpha and quality.
pub(crate) fn encode_image(
    image: Image,
    mode: Mode,
    settings: &Settings,
    mut wanted: kiln_texture::Settings,
    limits: &Limits,
    warnings: &mut Vec<Diag>,
) -> Result<Vec<u8>, Diag> {
    let image = rearranged(image, mode, settings, false);
    warnings.extend(choose_depth(&image, mode, settings, &mut wanted));
    warnings.extend(check_alpha(&image, wanted.compress.then_some(wanted.format), mode));
    let attempt = |wanted: &kiln_texture::Settings| kiln_texture::encode_2d(image.clone(), mode, wanted);
    let size = (image.width(), image.height());
    warnings.extend(reach_quality(settings, mode, &mut wanted, size, limits, attempt)?);
    let encoded = kiln_texture::encode_2d(image, mode, &wanted).map_err(|error| failed(error, limits))?;
    lay_out(&encoded)
}

/// Chooses the settings of `texture.size_target`, or those with which a texture reaches `texture.quality`, if that is a
/// target; returns the warning about a target that the texture does not reach. `size` is that of the images.
pub(crate) fn reach_quality(
    settings: &Settings,
    mode: Mode,
    wanted: &mut kiln_texture::Settings,
    size: (u32, u32),
    limits: &Limits,
    encode: impl Fn(&kiln_texture::Settings) -> Result<Encoded, kiln_texture::Error>,
) -> Result<Option<Diag>, Diag> {
    if !wanted.compress {
        return Ok(None);
    }
    if let Some(step) = settings.size_step {
        *wanted = step.choice(longest(size, wanted.max_size), wanted.quality).applied(wanted);
        return Ok(None);
    }
    let base = kiln_texture::Settings { mips: Mips::None, zstd: false, ..*wanted };
    let reference = || encode(&kiln_texture::Settings { compress: false, ..base });
    let attempt = |choice: &Choice| encode(&choice.applied(&base));
    let reached = search_quality(settings, Some(mode), wanted.format.ladder(), limits, reference, attempt)?;
    Ok(reached.and_then(|(choice, warning)| {
        *wanted = choice.applied(wanted);
        warning
    }))
}

/// Returns the longest side of an image, after it is downscaled to `max_size`.
pub(crate) fn longest((width, height): (u32, u32), max_size: Option<u32>) -> u32 {
    width.max(height).min(max_size.unwrap_or(u32::MAX))
}

/// Finds the settings with which a texture reaches `texture.quality`, with the warning about a target that it does not
/// reach; `None` if there is no target for it. `mode` is `None` for HDR images.
pub(crate) fn search_quality(
    settings: &Settings,
    mode: Option<Mode>,
    ladder: Ladder,
    limits: &Limits,
    reference: impl FnOnce() -> Result<Encoded, kiln_texture::Error>,
    encode: impl Fn(&Choice) -> Result<Encoded, kiln_texture::Error>,
) -> Result<Option<(Choice, Option<Diag>)>, Diag> {
    let Some(goal) = settings.texture.quality.goal() else { return Ok(None) };
    let search = GoalSearch { goal, halvings: settings.texture.min_scale.halvings(), mode, ladder };
    let reached = reference().and_then(|reference| search.run(&reference, encode));
    let reached = reached.map_err(|error| failed(error, limits))?;
    Ok(reached.map(|reached| (reached.choice, missed(goal, &reached))))
}

/// Returns the warning about a target that a texture does not reach.
fn missed(goal: Goal, reached: &Reached) -> Option<Diag> {
    let message = match goal {
        Goal::Psnr(wanted) => {
            format!("the texture reaches {:.2} dB, and texture.quality asks for {wanted} dB", reached.value)
        }
        Goal::Angle(wanted) => format!(
            "the texture reaches a mean angle of {:.2} degrees, and texture.quality asks for {wanted} degrees",
            reached.value
        ),
    };
    (!reached.is_met).then(|| {
        Diag::new(Code::TextureQuality, message)
            .hint("lower the target in a rule, or set texture.format to a more precise format")
    })
}

/// Returns the image with `texture.swizzle`, if it is a source of its own, and with `texture.flip_green`, if it is a normal
/// map.
pub(crate) fn rearranged(image: Image, mode: Mode, settings: &Settings, is_source: bool) -> Image {
    let image = if is_source { settings.texture.swizzle.apply(image) } else { image };
    if settings.texture.flip_green && mode == Mode::Normal { flip_green(image) } else { image }
}

/// Selects 8 or 16 bits per channel for an image; returns the warning about a 16-bit image that is reduced to 8 bits.
pub(crate) fn choose_depth(
    image: &Image,
    mode: Mode,
    settings: &Settings,
    wanted: &mut kiln_texture::Settings,
) -> Option<Diag> {
    let is_deep = matches!(image.texels(), Texels::Rgba16(_));
    let asked = match settings.texture.depth {
        Depth::Eight => false,
        Depth::Sixteen => true,
        Depth::Auto => is_deep,
    };
    wanted.sixteen_bit = asked && !wanted.compress && mode != Mode::Color;
    if !is_deep || wanted.sixteen_bit {
        return None;
    }
    let is_requested = settings.texture.depth != Depth::Eight;
    let (why, hint) = match (mode, wanted.compress) {
        (Mode::Color, _) => (
            "colour textures",
            "set texture.kind to linear or grayscale if the image holds data, with texture.depth: auto and texture.compress: false",
        ),
        (_, true) if is_requested => {
            ("block-compressed textures", "set texture.compress to false to keep 16 bits")
        }
        (_, true) => (
            "block-compressed textures",
            "set texture.depth to auto and texture.compress to false to keep 16 bits",
        ),
        (_, false) => ("textures with texture.depth: 8", "set texture.depth to auto to keep 16 bits"),
    };
    let message = format!("the source has 16 bits per channel, and {why} have 8");
    Some(Diag::new(Code::TextureDepth, message).hint(hint))
}

/// Estimates the peak memory of encoding an image in bytes, from its header. An image with too many pixels is left to
/// the importer, whose error names the place in the file.
///
/// # Errors
///
/// `memory-limit` when the estimate exceeds the limit.
pub(crate) fn needed(
    bytes: &[u8],
    extension: &str,
    limits: &Limits,
    memory: impl FnOnce(Header) -> u64,
) -> Result<u64, Diag> {
    let header = image::probe(bytes, extension);
    let Some(header) = header.filter(|h| limits.check_pixels(h.width, h.height).is_ok()) else {
        return Ok(0);
    };
    let needed = memory(header);
    let what = format!("the texels of {}x{} pixels and their mip chain", header.width, header.height);
    limits.check_memory(needed, what).map(|()| needed)
}

/// Estimates the peak memory of encoding `count` images of one size as one texture, in bytes.
pub(crate) fn memory_of(image: Header, count: u32, cube: bool, settings: &kiln_texture::Settings) -> u64 {
    let Header { width, height, channel_bytes } = image;
    kiln_texture::working_set(&Sources { width, height, channel_bytes, count, cube }, settings)
}

/// Writes encoded mip levels as a texture.
pub(crate) fn artifact(
    cx: &ActionContext<'_>,
    output: Option<RelPath>,
    encoded: Result<Encoded, kiln_texture::Error>,
) -> Result<FileArtifact, Diag> {
    let output = output.ok_or_else(nameless)?;
    let encoded = encoded.map_err(|error| failed(error, cx.inputs.limits()))?;
    let colorspace = Colorspace::of(encoded.srgb);
    cx.artifact(&output, FileMetadata::texture(&output, colorspace), &lay_out(&encoded)?)
}

/// Returns the error about a source whose output would have no name.
pub(crate) fn nameless() -> Diag {
    Diag::new(Code::Texture, "the file name has no stem, so the output has no name").hint("rename the source")
}

/// Converts an error of the texture encoder.
pub(crate) fn failed(error: kiln_texture::Error, limits: &Limits) -> Diag {
    let diag = Diag::new(Code::Texture, error.to_string());
    match error {
        kiln_texture::Error::Deadline => limits.out_of_time(),
        _ => diag,
    }
}

/// Writes encoded mip levels as a KTX2 file.
pub(crate) fn lay_out(encoded: &Encoded) -> Result<Vec<u8>, Diag> {
    let levels: Vec<&[u8]> = encoded.levels.iter().map(|level| level.bytes.as_slice()).collect();
    ktx2::write(&desc(encoded), &levels).map_err(|error| Diag::new(Code::Texture, error.to_string()))
}

fn desc(encoded: &Encoded) -> Desc<'static> {
    Desc {
        shape: Shape {
            width: encoded.width,
            height: encoded.height,
            depth: encoded.depth,
            layer_count: encoded.layers,
            face_count: encoded.faces,
        },
        payload: encoded.texels,
        transfer: Colorspace::of(encoded.srgb),
        supercompression: if encoded.zstd { Supercompression::Zstd } else { Supercompression::None },
        writer: WRITER,
        // Faces of a cubemap have their own convention, and a lookup table has no up.
        oriented: encoded.depth == 0 && encoded.faces == 1,
    }
}

/// Returns the colour space of a texture mode.
pub(crate) fn colorspace(mode: Mode) -> Colorspace {
    Colorspace::of(mode == Mode::Color)
}

/// Returns the name of a texture mode in cache keys and listings.
pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Color => "color",
        Mode::LinearColor => "linear",
        Mode::Normal => "normal",
        Mode::Grayscale => "grayscale",
    }
}

/// Returns whether a texture mode has this name.
pub(crate) fn is_mode_name(name: &str) -> bool {
    let modes = [Mode::Color, Mode::LinearColor, Mode::Normal, Mode::Grayscale];
    modes.into_iter().any(|mode| mode_name(mode) == name)
}

/// Estimates the peak memory of compiling these images together in bytes, from their headers.
pub(crate) fn weigh(paths: &[&RelPath], cube: bool, settings: &Settings, sources: SourceTree<'_>) -> u64 {
    let header = |path: &&RelPath| {
        let extension = suffix(path).map_or("", |s| s.ext);
        sources.fs.peek(path, HEAD).ok().and_then(|head| image::probe(&head, extension))
    };
    let larger = |a: Header, b: Header| Header {
        width: a.width.max(b.width),
        height: a.height.max(b.height),
        channel_bytes: a.channel_bytes.max(b.channel_bytes),
    };
    let files: u64 = paths.iter().filter_map(|path| sources.tree.stamp(path.as_str())).map(|s| s.len).sum();
    // A header may state any size; one beyond the limits is rejected when the image is read.
    let images = paths
        .iter()
        .filter_map(header)
        .reduce(larger)
        .map_or(0, |largest| memory_of(largest, paths.len() as u32, cube, &memory_settings(settings)));
    files.saturating_add(images.saturating_mul(attempts(settings)))
}

/// Estimates the peak memory of compiling a file of a few bytes without opening it for its header, which costs as much as
/// reading it. An image that turns out to have more than 64×64 texels reserves their memory before it is decoded.
pub(crate) fn weigh_tiny(len: u64, settings: &Settings) -> u64 {
    let image = Header { width: 64, height: 64, channel_bytes: 1 };
    let memory = memory_of(image, 1, false, &memory_settings(settings));
    len.saturating_add(memory.saturating_mul(attempts(settings)))
}

/// Returns the number of textures that are in memory at a time: a quality target keeps its reference beside an attempt.
pub(crate) fn attempts(settings: &Settings) -> u64 {
    if settings.texture.quality.goal().is_some() { 2 } else { 1 }
}

/// Converts the settings to those of the texture encoder, for images in a mode.
///
/// # Errors
///
/// `texture-format` if `texture.format` cannot hold such an image.
pub(crate) fn texture_settings(settings: &Settings, mode: Mode) -> Result<kiln_texture::Settings, Diag> {
    let format = block_format(&settings.texture, mode)?;
    let common = memory_settings(settings);
    let compress = format.is_some();
    Ok(kiln_texture::Settings {
        compress,
        format: format.unwrap_or_default(),
        // Uncompressed texels are always supercompressed: otherwise the pixel-exact path would be too large.
        zstd: !compress || common.zstd,
        ..common
    })
}

/// Converts the settings that do not depend on the texture mode; for an estimate of memory they are all.
pub(crate) fn memory_settings(settings: &Settings) -> kiln_texture::Settings {
    let texture = &settings.texture;
    let compress = texture.compress && texture.format != TexelFormat::Raw;
    kiln_texture::Settings {
        compress,
        format: kiln_texture::BlockFormat::default(),
        mips: texture.mips,
        max_size: texture.max_size.map(config::Pixels::get),
        quality: texture.quality.effort(),
        rdo: Some(texture.rdo.get()).filter(|lambda| *lambda > 0.0),
        zstd: !compress || texture.supercompress == config::Supercompress::Zstd,
        alpha_coverage: texture.alpha_coverage.map(config::AlphaCutoff::get),
        wrap: texture.wrap,
        // Upper estimate for the working set; the image decides.
        sixteen_bit: !compress && texture.depth != Depth::Eight,
        normal_z: false,
        deadline: None,
    }
}
