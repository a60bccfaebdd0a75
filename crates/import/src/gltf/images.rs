//! Images of a document, not decoded (glTF 2.0, 3.8.2).
//!
//! Only used images are read: a scene keeps the others by name, so that indices stay valid. Images that are converted
//! follow those of the document.

use std::collections::BTreeSet;
use std::time::Instant;

use kiln_diagnostics::{Diag, Limits};
use kiln_ir::{ImageId, ImageSource};

use super::buffers::Buffers;
use super::document::Document;
use super::material::converted_images;
use super::specular_glossiness::SpecularGlossiness;
use super::value::Value;

/// The images of a document that are read.
pub(super) struct Images<'b, 'a> {
    pub(super) document: &'b Document<'a>,
    /// The images that materials use, including converted ones.
    pub(super) used: BTreeSet<ImageId>,
    pub(super) limits: &'b Limits,
    pub(super) deadline: Option<Instant>,
}

impl<'a> Images<'_, 'a> {
    /// Reads the used images of the document, and converts those of specular-glossiness materials.
    pub(super) fn read(
        &mut self,
        buffers: &Buffers<'a>,
        conversions: &[SpecularGlossiness],
        warnings: &mut Vec<Diag>,
    ) -> Result<Vec<ImageSource>, Diag> {
        let is_used = |index: usize| self.used.contains(&converted_images(index, self.document)[0]);
        let used_conversions: Vec<bool> = (0..conversions.len()).map(is_used).collect();
        let sources = conversions.iter().zip(&used_conversions).filter(|(_, used)| **used);
        let sources: BTreeSet<ImageId> =
            sources.flat_map(|(conversion, _)| [conversion.diffuse, conversion.specular]).flatten().collect();
        let mut images = Vec::new();
        for (index, at) in self.document.images.iter().enumerate() {
            let (name, id) = (at.string_or_empty("name")?.to_owned(), ImageId(index as u32));
            images.push(if self.used.contains(&id) || sources.contains(&id) {
                ImageSource { name, ..image(at, buffers)? }
            } else {
                ImageSource { name, ..ImageSource::default() }
            });
        }
        for (conversion, used) in conversions.iter().zip(used_conversions) {
            images.extend(if used {
                conversion.images(&images, self.limits, self.deadline, warnings)?
            } else {
                [ImageSource::default(), ImageSource::default()]
            });
        }
        // Nothing draws these.
        for id in sources.difference(&self.used) {
            images[id.0 as usize].bytes = Vec::new();
        }
        Ok(images)
    }
}

/// Reads the bytes of an image with its format as a file extension.
pub(super) fn image<'a>(at: Value<'a>, buffers: &Buffers<'a>) -> Result<ImageSource, Diag> {
    let declared = at.string_or_empty("mimeType")?;
    let (bytes, path, media) = match (at.get("uri"), at.get("bufferView")) {
        (Some(uri), _) => {
            let content = buffers.fetch(uri)?;
            (content.bytes, content.path, content.media)
        }
        (None, Some(view)) => {
            let bytes = buffers.view(view)?.bytes;
            buffers.charge(bytes.len(), at)?;
            (bytes.to_vec(), String::new(), String::new())
        }
        (None, None) => return Err(at.invalid("the image has neither \"uri\" nor \"bufferView\"")),
    };
    if bytes.is_empty() {
        return Err(at.invalid("the image has no bytes"));
    }
    let of_path =
        || path.rsplit('/').next()?.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let extension = of_media(declared).or_else(|| of_media(&media)).map(str::to_owned).or_else(of_path);
    Ok(ImageSource { name: String::new(), extension: extension.unwrap_or_default(), path, bytes })
}

/// Returns the file extension of a media type.
fn of_media(media: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 10] = [
        ("image/png", "png"),
        ("image/jpeg", "jpg"),
        ("image/jpg", "jpg"),
        ("image/webp", "webp"),
        ("image/ktx2", "ktx2"),
        ("image/bmp", "bmp"),
        ("image/x-tga", "tga"),
        ("image/tga", "tga"),
        ("image/vnd-ms.dds", "dds"),
        ("image/avif", "avif"),
    ];
    KNOWN.iter().find(|(known, _)| known.eq_ignore_ascii_case(media)).map(|(_, extension)| *extension)
}
