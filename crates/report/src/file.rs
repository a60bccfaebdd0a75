//! One file of a report: what its format tells of it, and what the page needs to show it.
//!
//! It is looked at twice: first all files for their facts, so that what fits into the page can be chosen, then textures
//! for their pictures. Only geometry that was chosen is kept in between.

use crate::material::{Textures, materials};
use crate::page::Blobs;
use crate::picture::{MAX_IMAGES, Pictures, pictures};
use kiln_engine::Json;
use kiln_format::hmat::HmatView;
use kiln_format::hpack::PackKind;
use kiln_format::ktx2::{Ktx2View, Shape};
use kiln_format::{Fact, by_path};
use std::io;

type Read<'a> = dyn Fn(&str) -> io::Result<Vec<u8>> + Sync + 'a;

/// Whether the page reads such a file itself.
pub(crate) fn is_geometry(path: &str) -> bool {
    matches!(PackKind::from_path(path), PackKind::Mesh | PackKind::Animation | PackKind::Font)
}

/// A file after the first look.
pub(crate) struct Looked {
    entry: Entry,
    /// The file itself, if the page is to have it.
    pub(crate) geometry: Option<Vec<u8>>,
    /// What a texture is, and how many levels it has.
    pub(crate) shape: Option<(Shape, u32)>,
}

/// A file of the page.
pub(crate) struct Entry {
    pub(crate) path: String,
    /// That of its format; empty if it is of none.
    pub(crate) ext: &'static str,
    pub(crate) size: u64,
    /// Of its content, if it could be read.
    pub(crate) hash: Option<String>,
    /// Why it is damaged.
    pub(crate) error: Option<String>,
    /// What it was in the older report, if there is one: nothing, or its size and whether its content is another.
    pub(crate) was: Option<Option<(u64, bool)>>,
    /// Facts that add up over files.
    pub(crate) totals: Vec<(&'static str, u64)>,
    /// Whether it has more images than are shown.
    pub(crate) cut: bool,
    line: String,
    facts: Vec<(String, Json)>,
    pictures: Pictures,
    geometry: Option<Vec<u8>>,
    materials: Json,
}

impl Looked {
    /// Reads a file and asks its format; `keep` says whether the page is to have it.
    pub(crate) fn new(path: &str, size: u64, keep: bool, read: &Read<'_>) -> Looked {
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
            line: String::new(),
            facts: vec![],
            pictures: Pictures::default(),
            geometry: None,
            materials: Json::Null,
        };
        let mut looked = Looked { geometry: None, shape: None, entry };
        let entry = &mut looked.entry;
        let bytes = match read(path) {
            Ok(bytes) => bytes,
            Err(e) => {
                entry.error = Some(format!("it cannot be read: {e}"));
                return looked;
            }
        };
        entry.hash = Some(hash(&bytes));
        let Some(format) = format else { return looked };
        entry.error = format.verify(&bytes).err().map(|e| e.to_string());
        // A file can be sound enough to tell something and damaged all the same.
        let _ = format.describe(&bytes, &mut entry.line);
        let _ = format.facts(&bytes, &mut |name, fact| {
            if let Fact::Total(number) = fact {
                entry.totals.push((name, number));
            }
            entry.facts.push((name.to_owned(), fact_json(fact)));
        });
        if entry.error.is_none() {
            if format.pack_kind() == PackKind::Texture {
                looked.shape = Ktx2View::read(&bytes).ok().map(|view| (view.shape(), view.level_count()));
            }
            looked.geometry = keep.then_some(bytes);
        }
        looked
    }

    /// Looks again at what needs more than one file, or to know how large pictures may be.
    pub(crate) fn finish(self, cap: u32, read: &Read<'_>, textures: &Textures) -> Entry {
        let Looked { mut entry, geometry, shape } = self;
        entry.geometry = geometry;
        if shape.is_some() {
            let shown = read(&entry.path).map_err(|e| e.to_string()).and_then(|bytes| {
                let view = Ktx2View::read(&bytes).map_err(|e| e.to_string())?;
                pictures(&view, cap)
            });
            match shown {
                Ok(pictures) => entry.pictures = pictures,
                Err(why) => entry.error = Some(why),
            }
            entry.cut = entry.pictures.levels.iter().any(|level| level.images.len() as u64 == MAX_IMAGES)
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
    /// As the page has it; pictures and geometry are moved to the blobs.
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
        let Pictures { levels, holds } = std::mem::take(&mut self.pictures);
        if !levels.is_empty() {
            let levels = levels.into_iter().map(|level| {
                let images = level.images.into_iter().map(|png| blobs.add(&png));
                Json::object([
                    ("dims", Json::list(level.dims)),
                    ("size", level.stored.into()),
                    ("shown", Json::list(level.shown)),
                    ("images", Json::list(images.collect::<Vec<_>>())),
                ])
            });
            members.push(("levels", Json::List(levels.collect())));
            members.push(("holds", holds.into()));
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

/// FNV-1a 64: not against intent, but enough to tell whether a file is another.
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
