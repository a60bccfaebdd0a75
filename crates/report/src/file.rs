//! One file of a report: its description, its facts and the data that the page needs to show it.
//!
//! Files are processed in two passes: first all files for their facts, to choose what fits into the page,
//! then textures for their images. Only the chosen geometry is kept in between.

use crate::material::{Textures, materials};
use crate::page::Blobs;
use crate::texture_images::{MAX_IMAGES, TextureImages, decode_images};
use crate::tiles::{Tile, TileWriter};
use kiln_engine::Json;
use kiln_format::hmat::HmatView;
use kiln_format::hmesh;
use kiln_format::hpack::PackKind;
use kiln_format::ktx2::{Ktx2View, Shape};
use kiln_format::{Fact, by_path};
use std::borrow::Cow;
use std::io;

type Read<'a> = dyn Fn(&str) -> io::Result<Vec<u8>> + Sync + 'a;

/// Returns whether the page renders such a file itself.
pub(crate) fn is_geometry(path: &str) -> bool {
    matches!(PackKind::from_path(path), PackKind::Mesh | PackKind::Animation | PackKind::Font)
        || by_path(path).is_some_and(|format| format.name() == "hscn")
}

/// Returns a file that the page reads in place: a compressed mesh is decoded.
fn in_place(bytes: Vec<u8>) -> Vec<u8> {
    let decoded = match hmesh::decoded(&bytes) {
        Ok(Cow::Owned(decoded)) => Some(decoded),
        _ => None,
    };
    decoded.unwrap_or(bytes)
}

/// A file after the first pass.
pub(crate) struct ScannedFile {
    entry: Entry,
    /// The bytes of a mesh or animation to be embedded.
    pub(crate) geometry: Option<Vec<u8>>,
    /// The dimensions and the number of mip levels of a texture.
    pub(crate) shape: Option<(Shape, u32)>,
}

/// A file of the page.
pub(crate) struct Entry {
    pub(crate) path: String,
    /// The extension of its format; empty for an unknown format.
    pub(crate) ext: &'static str,
    pub(crate) size: u64,
    /// The hash of its contents, if it could be read.
    pub(crate) hash: Option<String>,
    /// The error of a damaged file.
    pub(crate) error: Option<String>,
    /// The file in the previous report, if there is one: `None` if it is new, else its size and whether its
    /// contents differ.
    pub(crate) was: Option<Option<(u64, bool)>>,
    /// Facts that are summed over files.
    pub(crate) totals: Vec<(&'static str, u64)>,
    /// Set if there are more images than are shown.
    pub(crate) cut: bool,
    /// The image of a texture that the page loads on demand.
    pub(crate) tile: Option<Tile>,
    line: String,
    facts: Vec<(String, Json)>,
    images: TextureImages,
    geometry: Option<Vec<u8>>,
    materials: Json,
}

impl ScannedFile {
    /// Reads a file and its facts; `keep` selects embedding.
    pub(crate) fn new(path: &str, size: u64, keep: bool, read: &Read<'_>) -> ScannedFile {
        let format = by_path(path);
        let entry = Entry {
            path: path.to_owned(),
            ext: format.map_or("", |format| format.ext()),
            size,
            hash: None,
            error: None,
            was: None,
            totals: vec![],
            cut: false,
            tile: None,
            line: String::new(),
            facts: vec![],
            images: TextureImages::default(),
            geometry: None,
            materials: Json::Null,
        };
        let mut scanned = ScannedFile { geometry: None, shape: None, entry };
        let entry = &mut scanned.entry;
        let bytes = match read(path) {
            Ok(bytes) => bytes,
            Err(e) => {
                entry.error = Some(format!("the file cannot be read: {e}"));
                return scanned;
            }
        };
        entry.hash = Some(hash(&bytes));
        let Some(format) = format else { return scanned };
        entry.error = format.verify(&bytes).err().map(|e| e.to_string());
        // A damaged file may still be valid enough for a description.
        let _ = format.describe(&bytes, &mut entry.line);
        let _ = format.facts(&bytes, &mut |name, fact| {
            if let Fact::Total(number) = fact {
                entry.totals.push((name, number));
            }
            entry.facts.push((name.to_owned(), fact_json(fact)));
        });
        if entry.error.is_none() {
            if format.pack_kind() == PackKind::Texture {
                scanned.shape = Ktx2View::read(&bytes).ok().map(|view| (view.shape(), view.level_count()));
            }
            scanned.geometry = keep.then_some(bytes).map(in_place);
        }
        scanned
    }

    /// Runs the second pass: everything that needs other files or the image size limit.
    pub(crate) fn finish(
        self,
        cap: u32,
        read: &Read<'_>,
        textures: &Textures,
        tiles: Option<&TileWriter<'_>>,
    ) -> Entry {
        let ScannedFile { mut entry, geometry, shape } = self;
        entry.geometry = geometry;
        if shape.is_some() {
            let shown = read(&entry.path).map_err(|e| e.to_string()).and_then(|bytes| {
                let view = Ktx2View::read(&bytes).map_err(|e| e.to_string())?;
                if let (Some(tiles), Some(hash)) = (tiles, &entry.hash) {
                    entry.tile = tiles.add(hash, entry.size, &view)?;
                }
                decode_images(&view, cap)
            });
            match shown {
                Ok(images) => entry.images = images,
                Err(why) => entry.error = Some(why),
            }
            entry.cut = entry.images.levels.iter().any(|level| level.images.len() as u64 == MAX_IMAGES)
                && shape.is_some_and(|(shape, _)| {
                    let depth = u64::from(shape.depth.max(1));
                    u64::from(shape.layer_count.max(1)) * u64::from(shape.face_count) * depth > MAX_IMAGES
                });
        }
        if entry.ext == "hmat"
            && let Ok(bytes) = read(&entry.path)
            && let Ok(view) = HmatView::read(&bytes)
        {
            entry.materials = materials(&view, textures);
        }
        entry
    }
}

impl Entry {
    /// Returns the JSON of the page; images and geometry are moved to the blobs.
    pub(crate) fn json(&mut self, blobs: &mut Blobs) -> Json {
        let mut members = vec![
            ("path", Json::from(self.path.as_str())),
            ("ext", self.ext.into()),
            ("size", self.size.into()),
            ("hash", self.hash.clone().into()),
        ];
        if let Some(error) = self.error.take() {
            members.push(("error", error.into()));
        }
        if !self.line.is_empty() {
            members.push(("line", std::mem::take(&mut self.line).into()));
            members.push(("facts", Json::Object(std::mem::take(&mut self.facts))));
        }
        match self.was {
            None => {}
            Some(None) => members.push(("was", Json::Null)),
            Some(Some((size, changed))) => {
                let was = Json::object([("size", size.into()), ("changed", changed.into())]);
                members.push(("was", was));
            }
        }
        let TextureImages { levels, holds, range } = std::mem::take(&mut self.images);
        if !levels.is_empty() {
            let ids: Vec<Vec<usize>> =
                levels.iter().map(|level| level.images.iter().map(|png| blobs.add(png)).collect()).collect();
            let levels = levels.into_iter().enumerate().map(|(number, level)| {
                let images = ids.get(level.same_as.unwrap_or(number)).cloned().unwrap_or_default();
                Json::object([
                    ("dims", Json::list(level.dims)),
                    ("size", level.stored.into()),
                    ("shown", Json::list(level.shown)),
                    ("images", Json::list(images)),
                ])
            });
            members.push(("levels", Json::List(levels.collect())));
            members.push(("holds", holds.into()));
            if let Some(range) = range {
                members.push(("range", Json::list(range.map(u32::from))));
            }
        }
        if let Some(tile) = self.tile.take() {
            members.push(("tile", tile.url.into()));
            members.push(("tile_size", Json::list(tile.size)));
        }
        if let Some(bytes) = self.geometry.take() {
            members.push(("blob", blobs.add(&bytes).into()));
        }
        if self.materials != Json::Null {
            members.push(("materials", std::mem::replace(&mut self.materials, Json::Null)));
        }
        Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// Returns the FNV-1a 64 hash: not cryptographic, but enough to detect changed files.
fn hash(bytes: &[u8]) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

fn fact_json(fact: Fact<'_>) -> Json {
    match fact {
        Fact::Total(number) | Fact::Number(number) => number.into(),
        Fact::Text(text) => text.into(),
        Fact::Rows(rows) => {
            let row = |row: &&[(&str, Fact<'_>)]| {
                Json::Object(row.iter().map(|(name, fact)| ((*name).to_owned(), fact_json(*fact))).collect())
            };
            Json::List(rows.iter().map(row).collect())
        }
        _ => Json::Null,
    }
}
