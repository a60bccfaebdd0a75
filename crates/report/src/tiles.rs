//! Tiles: images of 2D textures in a higher resolution than the page embeds, in files of their own that it loads on demand.
//!
//! A tile is named after the content of its texture, the size limit and the version of this module. So textures with the
//! same content share a tile, and a tile of an earlier report is used again without decoding the texture.

use crate::texture_images::{BaseImage, base_image_texels};
use kiln_format::ktx2::{Ktx2View, Shape};
use std::collections::BTreeSet;
use std::io;
use std::sync::Mutex;

/// Must be raised when the same texture gives another image.
const VERSION: u32 = 1;

/// The folder of the images that the page loads on demand, because they would make it too large.
pub struct Tiles<'a> {
    /// The folder as a URL relative to the page.
    pub folder: &'a str,
    /// The largest width and height of an image in texels.
    pub max_side: u32,
    /// The largest number of texels of all images together: `max_side` is halved until they fit.
    pub max_texels: u64,
    /// Returns whether the folder has a complete image of this file name, from an earlier report.
    pub contains: &'a (dyn Fn(&str) -> bool + Sync),
    /// Writes an image, given its file name and its bytes.
    pub write: &'a (dyn Fn(&str, &[u8]) -> io::Result<()> + Sync),
}

/// An image that the page loads on demand.
#[derive(Clone)]
pub(crate) struct Tile {
    /// The file name.
    pub(crate) name: String,
    /// The URL relative to the page.
    pub(crate) url: String,
    /// Width and height in texels.
    pub(crate) size: [u32; 2],
}

/// Writes each tile of a report once.
pub(crate) struct TileWriter<'a> {
    tiles: &'a Tiles<'a>,
    /// The largest width and height of a tile, with which all tiles fit.
    max_side: u32,
    /// The largest width and height of the images in the page.
    embedded: u32,
    /// The names of the tiles that were written or found.
    names: Mutex<BTreeSet<String>>,
}

impl<'a> TileWriter<'a> {
    /// Chooses the size of the tiles of these textures. Images in the page are at most `embedded` texels in width and
    /// height.
    pub(crate) fn new<'s>(
        tiles: &'a Tiles<'a>,
        embedded: u32,
        textures: impl Iterator<Item = &'s Shape> + Clone,
    ) -> TileWriter<'a> {
        let shown_small = textures.filter(|shape| shape.width.max(shape.height) > embedded);
        let texels = |side| shown_small.clone().map(|shape| base_image_texels(shape, side)).sum::<u64>();
        let mut max_side = tiles.max_side;
        while max_side > embedded && texels(max_side) > tiles.max_texels {
            max_side /= 2;
        }
        TileWriter { tiles, max_side, embedded, names: Mutex::default() }
    }

    /// Returns the note about tiles that are smaller than wanted.
    pub(crate) fn note(&self) -> Option<String> {
        let side = self.max_side;
        let note = match side > self.embedded {
            true => format!(
                "tiles are at most {side} texels in width and height, to limit their number of texels"
            ),
            false => "there are no tiles, because they would be too many texels".to_owned(),
        };
        (side < self.tiles.max_side).then(|| note + " (see --max-tile)")
    }

    /// Returns the tile of a texture with this content, after writing it if the folder does not have it. Returns `None` for
    /// cubemaps, arrays and 3D textures, and if the image in the page is as large.
    pub(crate) fn add(&self, hash: &str, size: u64, view: &Ktx2View<'_>) -> Result<Option<Tile>, String> {
        let max = self.max_side;
        let (width, height) = (view.shape().width, view.shape().height);
        if max <= self.embedded || width.max(height) <= self.embedded {
            return Ok(None);
        }
        let Some(image) = BaseImage::of(view, max) else { return Ok(None) };
        // A name without characters that a URL or a file system treats specially.
        let name = format!("{hash}-{size:x}-{max}-{VERSION}.png");
        let first = self.names.lock().is_ok_and(|mut names| names.insert(name.clone()));
        if first && !(self.tiles.contains)(&name) {
            (self.tiles.write)(&name, &image.png()?)
                .map_err(|e| format!("the image cannot be written: {e}"))?;
        }
        let url = format!("{}/{name}", self.tiles.folder);
        Ok(Some(Tile { name, url, size: image.size() }))
    }
}

/// Returns whether a file name is one that a tile can have.
pub(crate) fn is_tile_name(name: &str) -> bool {
    let is_hex =
        |part: &str| part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) && !part.is_empty();
    let parts: Vec<&str> = name.strip_suffix(".png").unwrap_or_default().split('-').collect();
    parts.len() == 4 && parts[0].len() == 16 && parts.iter().all(|part| is_hex(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tile_names_are_recognised() {
        assert!(is_tile_name("0123456789abcdef-1f-1024-1.png"));
        for other in [
            "0123456789abcdef-1f-1024-1.jpg",
            "0123456789abcdef.png",
            "0123456789abcde-1f-1024-1.png",
            "0123456789abcdef-1f-1024-.png",
            "0123456789abcdef-1f-1024-1-1.png",
            "../456789abcdefg-1f-1024-1.png",
            "0123456789abcdef-../-1024-1.png",
            ".png",
            "",
        ] {
            assert!(!is_tile_name(other), "{other}");
        }
    }
}
