//! From a picture, or from encoded levels, to a `.ktx2` in the output.

use super::mesh::materials::colorspace;
use super::texture::{mode_name, texture_settings};
use crate::config::Settings;
use crate::stored::is_texture;
use kiln_format::ktx2::{self, Channels, Desc, Shape, Supercompression, Transfer};
use kiln_import::image::{self, Header};
use kiln_kit::{Code, Cook, Diag, Limits, Made, RelPath, WorkKey};
use kiln_texture::{Encoded, Mode, Payload, Sources};

/// The version of everything between pixels and bytes: raised when a texture comes out differently.
pub(crate) const VERSION: u32 = 2;

/// What `KTXwriter` says. Without a version of the program: that alone must not change the bytes.
const WRITER: &str = "Kiln assetc";

/// A picture as a source has it: a file of its own, or a part of a model.
pub(crate) struct Picture<'a> {
    /// Encoded as PNG, JPEG or the like.
    pub(crate) bytes: &'a [u8],
    /// What it says it is, as a file extension; empty when it does not say.
    pub(crate) extension: &'a str,
}

/// Emits the texture of a picture, and returns what there is to say about it, without a path. Wherever the same
/// picture occurs with the same mode and settings, it is encoded once.
pub(crate) fn emit_picture(
    cx: &mut Cook<'_>,
    output: &RelPath,
    picture: Picture<'_>,
    mode: Mode,
    settings: &Settings,
) -> Result<Vec<Diag>, Diag> {
    let extension = picture.extension.to_ascii_lowercase();
    let wanted = settings.canonical(&["texture"]);
    let fields =
        [&VERSION.to_le_bytes(), mode_name(mode).as_bytes(), wanted.as_bytes(), extension.as_bytes()];
    let key = WorkKey::of(fields.into_iter().chain([picture.bytes]));
    let (limits, admission) = (*cx.limits(), cx.admission());
    let wanted = kiln_texture::Settings { deadline: cx.deadline(), ..texture_settings(settings) };
    let accept = |bytes: &[u8]| is_texture(bytes, colorspace(mode));
    cx.emit_shared(output, key, accept, || {
        let needed = needed(picture.bytes, &extension, &limits, |image| memory_of(image, 1, false, &wanted))?;
        let _reserved = admission.reserve(needed);
        let imported = image::import(picture.bytes, &extension, &limits)?;
        let encoded = kiln_texture::encode_2d(imported.value, mode, &wanted);
        Ok(Made { bytes: lay_out(encoded, &limits)?, warnings: imported.warnings })
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

/// Lays a texture out and emits it.
pub(crate) fn emit(
    cx: &mut Cook<'_>,
    output: Option<RelPath>,
    encoded: Result<Encoded, kiln_texture::Error>,
) -> Result<(), Diag> {
    let output = output.ok_or_else(nameless)?;
    let bytes = lay_out(encoded, cx.limits())?;
    cx.emit(&output, &bytes)
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

fn lay_out(encoded: Result<Encoded, kiln_texture::Error>, limits: &Limits) -> Result<Vec<u8>, Diag> {
    let encoded = encoded.map_err(|error| failed(error, limits))?;
    let levels: Vec<&[u8]> = encoded.levels.iter().map(|level| level.bytes.as_slice()).collect();
    ktx2::write(&desc(&encoded), &levels).map_err(|error| Diag::new(Code::Texture, error.to_string()))
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
