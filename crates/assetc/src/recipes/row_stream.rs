//! Encodes a large opaque image while its rows are decoded, so that it is never in memory as a whole.

use super::ktx::{failed, lay_out};
use crate::config::{ChannelMap, Settings};
use crate::texture_role::TexelCheck;
use kiln_engine::{Diag, Limits, SharedResult};
use kiln_import::image;
use kiln_texture::Mode;

/// The reason why an image is not encoded.
enum Failure {
    Image(Diag),
    Texture(kiln_texture::Error),
}

impl From<kiln_texture::Error> for Failure {
    fn from(error: kiln_texture::Error) -> Failure {
        Failure::Texture(error)
    }
}

/// Encodes an image as a KTX2 file; `None` if the texels of the whole image are needed, or it is not large or not opaque.
///
/// # Errors
///
/// Those of the importer and of the encoder.
pub(super) fn encode(
    (bytes, extension): (&[u8], &str),
    is_source: bool,
    mode: Mode,
    settings: &Settings,
    wanted: &kiln_texture::Settings,
    limits: &Limits,
) -> Result<Option<SharedResult>, Diag> {
    let is_rearranged = is_source && settings.texture.swizzle != ChannelMap::default()
        || settings.texture.flip_green && mode == Mode::Normal;
    // A target of quality encodes an image several times.
    let is_repeated = settings.texture.quality.goal().is_some() || settings.size_step.is_some();
    let header = image::probe(bytes, extension);
    let is_large = header.is_some_and(|h| kiln_texture::streams_rows((h.width, h.height), wanted));
    if is_rearranged || is_repeated || !is_large {
        return Ok(None);
    }
    let Some(mut rows) = image::opaque_rows(bytes, extension, limits)? else { return Ok(None) };
    let (width, height) = rows.size();
    let mut check = TexelCheck::new(width as usize * height as usize);
    let next = |texels: &mut [u8]| {
        rows.read(texels).map_err(Failure::Image)?;
        check.add(texels, |value| f32::from(value) / 127.5 - 1.0);
        Ok(())
    };
    let encoded =
        kiln_texture::encode_opaque_rows((width, height), next, mode, wanted).map_err(
            |error| match error {
                Failure::Image(diag) => diag,
                Failure::Texture(error) => failed(error, limits),
            },
        )?;
    let warning = check.finish().filter(|_| mode == Mode::Color);
    Ok(Some(SharedResult::new(lay_out(&encoded)?, Vec::from_iter(warning))))
}
