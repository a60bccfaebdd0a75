//! From an image, or from encoded levels, to a `.ktx2`.

use crate::artifact::{FileArtifact, FileMetadata};
use crate::config::{self, Settings};
use crate::recipe::suffix;
use crate::stored::is_texture;
use kiln_engine::{ActionContext, Code, Diag, Hash, Limits, RelPath, SharedResult, SourceTree, WorkKey};
use kiln_format::hman::Colorspace;
use kiln_format::ktx2::{self, Channels, Desc, Shape, Supercompression, Transfer};
use kiln_import::image::{self, Header};
use kiln_ir::ImageSource;
use kiln_texture::{Encoded, Mode, Payload, Sources};

/// The version of everything between pixels and bytes: raised when a texture comes out differently.
pub(crate) const VERSION: u32 = 2;

/// What `KTXwriter` says. Without a version of the program: that alone must not change the bytes.
const WRITER: &str = "Kiln assetc";

/// How much of a file is looked at to learn its dimensions.
pub(crate) const HEAD: usize = 64 << 10;

/// An image as a source has it, encoded as PNG, JPEG or the like: a file of its own, or a part of a model.
pub(crate) struct EncodedImage<'a> {
    bytes: &'a [u8],
    hash: Hash,
    /// What it says it is, as a file extension; empty when it does not say.
    extension: &'a str,
}

impl<'a> EncodedImage<'a> {
    /// An image file that was read, and hashed by that.
    pub(crate) fn file(cx: &ActionContext<'_>, path: &'a RelPath, bytes: &'a [u8]) -> EncodedImage<'a> {
        let hash = cx.inputs.hash(path).unwrap_or_else(|| Hash::of(bytes));
        EncodedImage { bytes, hash, extension: suffix(path).map_or("", |s| s.ext) }
    }

    /// An image of a model.
    pub(crate) fn of_model(cx: &ActionContext<'_>, image: &'a ImageSource) -> EncodedImage<'a> {
        let file = RelPath::new(image.path.as_str()).ok();
        let hash = file.and_then(|file| cx.inputs.hash(&file)).unwrap_or_else(|| Hash::of(&image.bytes));
        EncodedImage { bytes: &image.bytes, hash, extension: &image.extension }
    }
}

/// Makes the texture of an image; returns it with the warnings about the image, without a path. Wherever the same image
/// occurs with the same mode and settings, it is encoded once.
pub(crate) fn image_artifact(
    cx: &ActionContext<'_>,
    output: &RelPath,
    image: EncodedImage<'_>,
    mode: Mode,
    settings: &Settings,
) -> Result<(FileArtifact, Vec<Diag>), Diag> {
    let EncodedImage { bytes, hash, extension } = image;
    let extension = extension.to_ascii_lowercase();
    let wanted = settings.canonical(&["texture"]);
    let fields: [&[u8]; 5] = [
        &VERSION.to_le_bytes(),
        mode_name(mode).as_bytes(),
        wanted.as_bytes(),
        extension.as_bytes(),
        &hash.0,
    ];
    let (limits, admission) = (*cx.inputs.limits(), cx.inputs.admission());
    let wanted = kiln_texture::Settings { deadline: cx.inputs.deadline(), ..texture_settings(settings) };
    let metadata = FileMetadata::texture(output, colorspace(mode));
    let accept = |bytes: &[u8]| is_texture(bytes, colorspace(mode));
    cx.shared_artifact(output, metadata, WorkKey::of(fields), accept, || {
        let needed = needed(bytes, &extension, &limits, |image| memory_of(image, 1, false, &wanted))?;
        let _reserved = admission.reserve(needed);
        let imported = image::import(bytes, &extension, &limits)?;
        let encoded = kiln_texture::encode_2d(imported.value, mode, &wanted);
        let encoded = encoded.map_err(|error| failed(error, &limits))?;
        Ok(SharedResult::new(lay_out(&encoded)?, imported.warnings))
    })
}

/// The memory that it takes to make a texture of an image, by what its header states. Too many pixels are left to the
/// importer, which names their place.
///
/// # Errors
/// `memory-limit` when it is more than the limits admit.
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

/// The memory that it takes to make a texture of so many images.
pub(crate) fn memory_of(image: Header, count: u32, cube: bool, settings: &kiln_texture::Settings) -> u64 {
    let Header { width, height, channel_bytes } = image;
    kiln_texture::working_set(&Sources { width, height, channel_bytes, count, cube }, settings)
}

/// Makes a texture of encoded levels.
pub(crate) fn artifact(
    cx: &ActionContext<'_>,
    output: Option<RelPath>,
    encoded: Result<Encoded, kiln_texture::Error>,
) -> Result<FileArtifact, Diag> {
    let output = output.ok_or_else(nameless)?;
    let encoded = encoded.map_err(|error| failed(error, cx.inputs.limits()))?;
    let colorspace = if encoded.srgb { Colorspace::Srgb } else { Colorspace::Linear };
    cx.artifact(&output, FileMetadata::texture(&output, colorspace), &lay_out(&encoded)?)
}

/// What is wrong with a source whose output would have no name.
pub(crate) fn nameless() -> Diag {
    Diag::new(Code::Texture, "its name leaves no name for the output")
}

/// What is wrong with a texture that could not be made.
pub(crate) fn failed(error: kiln_texture::Error, limits: &Limits) -> Diag {
    let diag = Diag::new(Code::Texture, error.to_string());
    match error {
        kiln_texture::Error::Rdo => diag.hint("set texture.rdo to 0, or texture.format to uastc"),
        kiln_texture::Error::Deadline => limits.out_of_time(),
        _ => diag,
    }
}

fn lay_out(encoded: &Encoded) -> Result<Vec<u8>, Diag> {
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
        payload: match encoded.texels {
            Payload::Uastc { alpha: true } => ktx2::Payload::Uastc { channels: Channels::Rgba },
            Payload::Uastc { alpha: false } => ktx2::Payload::Uastc { channels: Channels::Rgb },
            Payload::Bc7 => ktx2::Payload::Bc7,
            Payload::Rgba8 => ktx2::Payload::Rgba8,
            Payload::Rgba16F => ktx2::Payload::Rgba16F,
        },
        transfer: if encoded.srgb { Transfer::Srgb } else { Transfer::Linear },
        supercompression: if encoded.zstd { Supercompression::Zstd } else { Supercompression::None },
        writer: WRITER,
        // Faces of a cubemap have their own convention, and a lookup table has no up.
        oriented: encoded.depth == 0 && encoded.faces == 1,
    }
}

/// How the texels of a mode are read.
pub(crate) fn colorspace(mode: Mode) -> Colorspace {
    if mode == Mode::Color { Colorspace::Srgb } else { Colorspace::Linear }
}

/// What a mode is called in cache keys and listings.
pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Color => "color",
        Mode::LinearColor => "linear",
        Mode::Normal => "normal",
        Mode::Grayscale => "grayscale",
    }
}

/// Returns whether a mode is called like this.
pub(crate) fn is_mode_name(name: &str) -> bool {
    let modes = [Mode::Color, Mode::LinearColor, Mode::Normal, Mode::Grayscale];
    modes.into_iter().any(|mode| mode_name(mode) == name)
}

/// The memory it takes to cook these images together, by what their headers state.
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
    // A header may claim any size; one that is beyond the limits is refused when it is read.
    let images = paths
        .iter()
        .filter_map(header)
        .reduce(larger)
        .map_or(0, |largest| memory_of(largest, paths.len() as u32, cube, &texture_settings(settings)));
    files.saturating_add(images)
}

/// The settings of the file as the texture crate takes them.
pub(crate) fn texture_settings(settings: &Settings) -> kiln_texture::Settings {
    let texture = &settings.texture;
    kiln_texture::Settings {
        compress: texture.compress,
        format: texture.format,
        mips: texture.mips,
        max_size: texture.max_size.map(config::Pixels::get),
        quality: texture.quality,
        rdo: Some(texture.rdo.get()).filter(|lambda| *lambda > 0.0),
        // Raw texels are always packed: that is what makes the pixel-exact path bearable.
        zstd: !texture.compress || texture.supercompress == config::Supercompress::Zstd,
        alpha_coverage: texture.alpha_coverage.map(config::CutOff::get),
        deadline: None,
    }
}
