//! Textures of materials: images as KTX2 with `KHR_texture_basisu`, or as they are, inside the buffer.
//!
//! The material slots of a texture decide its role. An image that slots of different roles use becomes one image for
//! each role. An image that the encoder declines is kept as it is.

use std::collections::BTreeMap;

use kiln_diagnostics::Diag;
use kiln_ir::ImageSource;

use crate::references::{Document, List, Used, textures};
use crate::source::Source;
use crate::streams::Streams;
use crate::tree::{self, Json, number, object, string};

/// The content of a texture, from the material slots that use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextureRole {
    /// sRGB colour with straight alpha.
    Color,
    /// Independent linear channels.
    Linear,
    /// A tangent-space normal map, of which shaders read all three channels.
    Normal,
}

impl TextureRole {
    /// Returns the role of a material slot, such as `baseColorTexture`.
    fn of(slot: &str) -> TextureRole {
        match slot {
            "emissiveTexture" | "diffuseTexture" | "specularGlossinessTexture" => TextureRole::Color,
            slot if slot.ends_with("ColorTexture") => TextureRole::Color,
            slot if slot.to_ascii_lowercase().ends_with("normaltexture") => TextureRole::Normal,
            _ => TextureRole::Linear,
        }
    }
}

/// Encodes an image as KTX2 with Basis Universal texels; `None` keeps the image as it is.
pub type TextureEncoder<'e> = dyn FnMut(&ImageSource, TextureRole) -> Result<Option<Vec<u8>>, Diag> + 'e;

/// Extensions by which a texture has a second image.
const ALTERNATIVES: [&str; 3] = ["EXT_texture_webp", "EXT_texture_avif", "MSFT_texture_dds"];

const BASISU: &str = "KHR_texture_basisu";

/// Converts the textures of used materials. Images that stay in use are not part of the buffer yet.
pub(crate) fn encode(
    document: &mut Document,
    used: &mut Used,
    source: &dyn Source,
    streams: &mut Streams,
    encoder: &mut TextureEncoder<'_>,
) -> Result<(), Diag> {
    // The texture and the image of each role; the first role takes the place of the original.
    let mut texture_of: BTreeMap<(usize, TextureRole), usize> = BTreeMap::new();
    let mut image_of: BTreeMap<(usize, TextureRole), Option<usize>> = BTreeMap::new();
    for at in 0..document.list(List::Materials).len() {
        if !used.is_used(List::Materials, at) {
            continue;
        }
        let mut material = document.list(List::Materials)[at].clone();
        let mut slots = Vec::new();
        textures(&mut material, &mut |slot, reference| {
            slots.extend(tree::index(reference).map(|texture| (texture, TextureRole::of(slot))));
        });
        for &(texture, role) in &slots {
            if texture_of.contains_key(&(texture, role)) {
                continue;
            }
            let Some(mut json) = document.list(List::Textures).get(texture).cloned() else { continue };
            let is_first = !texture_of.keys().any(|(known, _)| *known == texture);
            let original =
                if is_first { json.clone() } else { original(source, texture).unwrap_or(json.clone()) };
            let image = match (tree::extension(&original, BASISU), image_index(&original)) {
                // Kept: it is in the format already.
                (Some(basisu), _) => tree::index_of(basisu, "source"),
                (None, Some(image)) => {
                    convert(document, used, source, streams, encoder, &mut image_of, (image, role))?
                }
                (None, None) => None,
            };
            if let Some(image) = image {
                json = original;
                tree::remove(&mut json, "source");
                ALTERNATIVES.iter().for_each(|name| _ = tree::remove_extension(&mut json, name));
                tree::set_extension(&mut json, BASISU, object([("source", number(image))]));
            }
            let new = if is_first {
                document.list_mut(List::Textures)[texture] = json;
                texture
            } else {
                document.list_mut(List::Textures).push(json);
                used.added(List::Textures);
                document.list(List::Textures).len() - 1
            };
            texture_of.insert((texture, role), new);
        }
        textures(&mut document.list_mut(List::Materials)[at], &mut |slot, reference| {
            let new = tree::index(reference).and_then(|old| texture_of.get(&(old, TextureRole::of(slot))));
            if let Some(new) = new {
                *reference = number(*new);
            }
        });
    }
    Ok(())
}

/// Returns a texture as it is in the source.
fn original(source: &dyn Source, texture: usize) -> Option<Json> {
    tree::items(&source.json(), "textures").get(texture).cloned()
}

/// Returns the image that a texture is converted from.
fn image_index(texture: &Json) -> Option<usize> {
    let webp = || tree::extension(texture, ALTERNATIVES[0]).and_then(|webp| tree::index_of(webp, "source"));
    tree::index_of(texture, "source").or_else(webp)
}

/// Encodes an image for a role; returns its index, or `None` if it is kept as it is.
fn convert(
    document: &mut Document,
    used: &mut Used,
    source: &dyn Source,
    streams: &mut Streams,
    encoder: &mut TextureEncoder<'_>,
    image_of: &mut BTreeMap<(usize, TextureRole), Option<usize>>,
    key: (usize, TextureRole),
) -> Result<Option<usize>, Diag> {
    if let Some(known) = image_of.get(&key) {
        return Ok(*known);
    }
    let (image, role) = key;
    let content = source.image(image)?;
    let new = match encoder(&content, role)? {
        None => None,
        Some(bytes) => {
            let is_first = !image_of.iter().any(|((known, _), new)| *known == image && new.is_some());
            let place = if is_first { image } else { document.list(List::Images).len() };
            if !is_first {
                let copy = document.list(List::Images)[image].clone();
                document.list_mut(List::Images).push(copy);
                used.added(List::Images);
            }
            embed(&mut document.list_mut(List::Images)[place], streams, bytes, "image/ktx2");
            Some(place)
        }
    };
    image_of.insert(key, new);
    Ok(new)
}

/// Copies the used images that are not part of the buffer yet.
pub(crate) fn embed_all(
    document: &mut Document,
    used: &Used,
    source: &dyn Source,
    streams: &mut Streams,
) -> Result<(), Diag> {
    for at in (0..document.list(List::Images).len()).filter(|at| used.is_used(List::Images, *at)) {
        if tree::get(&document.list(List::Images)[at], EMBEDDED).is_some() {
            tree::remove(&mut document.list_mut(List::Images)[at], EMBEDDED);
            continue;
        }
        let content = source.image(at)?;
        let image = &mut document.list_mut(List::Images)[at];
        let media = match media_type(&content.bytes) {
            Some(media) => media.to_owned(),
            None => tree::string_of(image, "mimeType").to_owned(),
        };
        embed(image, streams, content.bytes, &media);
        tree::remove(image, EMBEDDED);
    }
    Ok(())
}

/// A member that marks images whose bytes are in the buffer, until all are.
const EMBEDDED: &str = "\0embedded";

fn embed(image: &mut Json, streams: &mut Streams, bytes: Vec<u8>, media: &str) {
    tree::remove(image, "uri");
    tree::set(image, "mimeType", string(media));
    tree::set(image, "bufferView", number(streams.blob(bytes)));
    tree::set(image, EMBEDDED, Json::Bool(true));
}

/// Returns the media type of an image by its first bytes.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [0xab, b'K', b'T', b'X', b' ', b'2', b'0', ..] => Some("image/ktx2"),
        [b'D', b'D', b'S', b' ', ..] => Some("image/vnd-ms.dds"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_have_the_colour_space_of_their_extension() {
        use TextureRole::{Color, Linear, Normal};
        for (slot, role) in [
            ("baseColorTexture", Color),
            ("emissiveTexture", Color),
            ("sheenColorTexture", Color),
            ("specularColorTexture", Color),
            ("diffuseTransmissionColorTexture", Color),
            ("specularGlossinessTexture", Color),
            ("normalTexture", Normal),
            ("clearcoatNormalTexture", Normal),
            ("metallicRoughnessTexture", Linear),
            ("occlusionTexture", Linear),
            ("clearcoatTexture", Linear),
            ("specularTexture", Linear),
            ("thicknessTexture", Linear),
        ] {
            assert_eq!(TextureRole::of(slot), role, "{slot}");
        }
    }

    #[test]
    fn media_types_follow_from_the_content() {
        assert_eq!(media_type(b"\x89PNG\r\n\x1a\n"), Some("image/png"));
        assert_eq!(media_type(b"RIFF\0\0\0\0WEBPVP8 "), Some("image/webp"));
        assert_eq!(media_type(b"text"), None);
    }
}
