//! Assets as files of common formats, for people and other tools: PNG, KTX2, GLB and JSON.
//!
//! | kind | file |
//! |---|---|
//! | animation | `.animation.json`: channels with times and values |
//! | bitmap | `.png`; with mip levels or floats `.ktx2`; a KTX2 file unchanged |
//! | bitmap font | `.fnt`, the definition, and each page as an image |
//! | blob | the file unchanged |
//! | material | `.material.json`: names of bitmaps, and flags |
//! | mesh | `.glb`: all primitives, LODs as `MSFT_lod`, shadow geometry as a node beside the scene, the skin in its bind pose |
//! | scene | `.scene.json`: references and geometries with their data |
//!
//! The payload itself is [`PakBuf::payload`].

mod bitmap;
mod glb;
mod json;

use crate::{Error, Kind, Pak, PakBuf};
use std::collections::HashMap;

/// A file of an exported asset.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedFile {
    /// The end of the file name, to be appended to the name of the asset: the extension with its dot, empty for a blob.
    pub suffix: String,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// Exports the assets of a pak. References to other assets are written as their names
/// ([`Entry::name`](crate::Entry::name)).
#[derive(Debug)]
pub struct Exporter<'a> {
    pak: &'a PakBuf,
    names: HashMap<(Kind, usize), &'a str>,
}

impl<'a> Exporter<'a> {
    /// Prepares the names of all assets.
    pub fn new(pak: &'a PakBuf) -> Exporter<'a> {
        let mut names = HashMap::new();
        for (key, kind, id) in pak.view_keys() {
            names.entry((kind, id)).or_insert(key);
        }
        Exporter { pak, names }
    }

    /// Returns the name of an asset: its first key, or `unnamed/<kind>-<id>`.
    fn name(&self, kind: Kind, id: usize) -> String {
        let key = self.names.get(&(kind, id)).copied();
        key.map_or_else(|| crate::entries::unnamed(kind, id), str::to_owned)
    }

    /// Returns the files of an asset: one, or several for a bitmap font.
    ///
    /// # Errors
    /// As for reading the asset, and [`Fault::TooLarge`](crate::error::Fault) if it does not fit into the format.
    pub fn export(&self, kind: Kind, id: usize) -> Result<Vec<ExportedFile>, Error> {
        let one = |suffix: &str, bytes: Vec<u8>| vec![ExportedFile { suffix: suffix.to_owned(), bytes }];
        Ok(match kind {
            Kind::Animation => {
                let animation = json::animation(&self.pak.read_animation_id(id)?);
                one(".animation.json", animation.pretty().into_bytes())
            }
            Kind::Bitmap => {
                let (extension, bytes) = bitmap::file(&self.pak.read_bitmap_id(id)?, id)?;
                one(extension, bytes)
            }
            Kind::BitmapFont => {
                let font = self.pak.read_bitmap_font_id(id)?;
                let mut files = one(".fnt", font.def().as_bytes().to_vec());
                for (number, page) in font.pages().enumerate() {
                    let (extension, bytes) = bitmap::file(page, id)?;
                    files.push(ExportedFile { suffix: format!(".page-{number}{extension}"), bytes });
                }
                files
            }
            Kind::Blob => one("", self.pak.read_blob_id(id)?.to_vec()),
            Kind::Material => {
                let info = self.pak.read_material_id(id).ok_or(Error::NoSuchId { kind, id })?;
                one(".material.json", json::material(&info, self).pretty().into_bytes())
            }
            Kind::Mesh => one(".glb", glb::write(&self.pak.read_mesh_id(id)?, &self.name(kind, id), id)?),
            Kind::Scene => {
                let scene = json::scene(&self.pak.read_scene_id(id)?, self);
                one(".scene.json", scene.pretty().into_bytes())
            }
        })
    }
}

/// Converts a bitmap to a KTX2 file, whatever its sample type and number of mip levels. 8-bit texels become RGBA8, 16-bit
/// texels RGBA16, and floats RGBA16F; one channel becomes gray.
///
/// # Errors
/// [`Fault::Content`](crate::error::Fault) if the bitmap does not fit into the format.
pub fn ktx2(bitmap: &crate::Bitmap, id: usize) -> Result<Vec<u8>, Error> {
    bitmap::ktx2(bitmap, id)
}
