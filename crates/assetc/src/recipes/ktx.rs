//! From a picture, or from encoded levels, to a `.ktx2` in the output.

use super::mesh::materials::colorspace;
use super::texture::{mode_name, texture_settings};
use crate::config::Settings;
use crate::stored::is_texture;
use kiln_format::ktx2::{self, Channels, Desc, Shape, Supercompression, Transfer};
use kiln_import::image::{self, Limits};
use kiln_kit::{Cook, Diag, Made, RelPath, WorkKey};
use kiln_texture::{Encoded, Mode, Payload};

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
    let accept = |bytes: &[u8]| is_texture(bytes, colorspace(mode));
    cx.emit_shared(output, key, accept, || {
        let imported = image::import(picture.bytes, &extension, &Limits::default())?;
        let encoded = kiln_texture::encode_2d(imported.value, mode, &texture_settings(settings));
        Ok(Made { bytes: lay_out(encoded)?, warnings: imported.warnings })
    })
}

/// Lays a texture out and emits it.
pub(crate) fn emit(
    cx: &mut Cook<'_>,
    output: Option<RelPath>,
    encoded: Result<Encoded, kiln_texture::Error>,
) -> Result<(), Diag> {
    let output = output.ok_or_else(nameless)?;
    cx.emit(&output, &lay_out(encoded)?)
}

/// What is wrong with a source whose output would have no name.
pub(crate) fn nameless() -> Diag {
    Diag::error("texture", "its name leaves no name for the output")
}

fn lay_out(encoded: Result<Encoded, kiln_texture::Error>) -> Result<Vec<u8>, Diag> {
    let encoded = encoded.map_err(|error| {
        let diag = Diag::error("texture", error.to_string());
        match error {
            kiln_texture::Error::Rdo => diag.hint("set texture.rdo to 0, or texture.format to uastc"),
            _ => diag,
        }
    })?;
    let levels: Vec<&[u8]> = encoded.levels.iter().map(|level| level.bytes.as_slice()).collect();
    ktx2::write(&desc(&encoded), &levels).map_err(|error| Diag::error("texture", error.to_string()))
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
