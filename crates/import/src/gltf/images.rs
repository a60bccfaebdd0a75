//! Images of a document, not decoded (glTF 2.0, 3.8.2).
//!
//! Only used images are read: a scene keeps the others by name, so that indices stay valid.

use std::collections::BTreeSet;

use kiln_diagnostics::Diag;
use kiln_ir::{ImageId, ImageSource};

use super::buffers::Buffers;
use super::document::Document;
use super::value::Value;

/// Reads the used images of a document.
pub(super) fn read<'a>(
    document: &Document<'a>,
    buffers: &Buffers<'a>,
    used: &BTreeSet<ImageId>,
) -> Result<Vec<ImageSource>, Diag> {
    let mut images = Vec::new();
    for (index, at) in document.images.iter().enumerate() {
        let name = at.string_or_empty("name")?.to_owned();
        images.push(if used.contains(&ImageId(index as u32)) {
            ImageSource { name, ..image(at, buffers)? }
        } else {
            ImageSource { name, ..ImageSource::default() }
        });
    }
    Ok(images)
}

fn image<'a>(at: Value<'a>, buffers: &Buffers<'a>) -> Result<ImageSource, Diag> {
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
