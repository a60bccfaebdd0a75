//! `assetc report`: a self-contained HTML page about a set of runtime files.
//!
//! [`report`] takes files and returns a string: it decodes textures to PNG images, embeds meshes unchanged,
//! and compares with a previous report. Names and contents of files can never become markup: the page is a
//! constant, all data is JSON or base64, and the content security policy allows only the page's own script. A
//! damaged file is listed as damaged; the rest works. Equal files give equal bytes. `docs/guide/report.md`
//! documents the JSON data for programs.
//!
//! ```
//! use kiln_report::{Files, Options, report};
//!
//! let list = [("notes.txt".to_owned(), 5)];
//! let read = |_: &str| Ok(b"hello".to_vec());
//! let files = Files { title: "example", list: &list, read: &read, problems: &[] };
//! let page = report(&files, &Options::default().max_texture(256));
//! assert_eq!((page.files, page.size, page.broken), (1, 5, 0));
//! assert!(page.html.starts_with("<!doctype html>"));
//! ```

mod file;
mod material;
mod page;
mod previous;
mod texture_images;
mod tiles;

pub use previous::{PreviousReport, PreviousReportError};
pub use tiles::Tiles;

use file::{Entry, ScannedFile};
use kiln_engine::{Json, counted};
use kiln_format::FORMATS;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use tiles::TileWriter;

/// The files to report on.
pub struct Files<'a> {
    /// The title of the page.
    pub title: &'a str,
    /// Every file with its size in bytes, by path.
    pub list: &'a [(String, u64)],
    /// Reads the contents of a file.
    pub read: &'a (dyn Fn(&str) -> io::Result<Vec<u8>> + Sync),
    /// Files that could not be listed, as messages.
    pub problems: &'a [String],
}

/// The options of a report.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Maximum width and height of an image in texels; at least 16.
    pub max_texture: u32,
    /// Approximate maximum size of images, meshes and animations in the page, in bytes. At most half of it is
    /// geometry.
    pub max_bytes: u64,
    /// The previous report to compare with.
    pub since: Option<PreviousReport>,
    /// The warnings of the build, as sentences.
    pub warnings: Vec<String>,
}

impl Options {
    /// Sets the maximum width and height of an image in texels.
    #[must_use]
    pub fn max_texture(self, max_texture: u32) -> Options {
        Options { max_texture, ..self }
    }

    /// Sets the approximate maximum size of the embedded data in bytes.
    #[must_use]
    pub fn max_bytes(self, max_bytes: u64) -> Options {
        Options { max_bytes, ..self }
    }

    /// Sets the warnings of the build to list.
    #[must_use]
    pub fn warnings(self, warnings: Vec<String>) -> Options {
        Options { warnings, ..self }
    }

    /// Sets the previous report to compare with.
    #[must_use]
    pub fn since(self, since: Option<PreviousReport>) -> Options {
        Options { since, ..self }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options { max_texture: 512, max_bytes: 64 << 20, since: None, warnings: vec![] }
    }
}

/// A page and its summary.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The HTML of the page.
    pub html: String,
    /// The number of files on the page.
    pub files: usize,
    /// Total size of the files in bytes.
    pub size: u64,
    /// Number of damaged files.
    pub broken: usize,
    /// Notes on what was downsampled or omitted, as sentences.
    pub notes: Vec<String>,
    /// The changes since the previous report, if there is one.
    pub change: Option<Change>,
    /// The file names of the tiles that the page loads, sorted.
    pub tiles: Vec<String>,
}

/// The changes between two reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// Total size in the previous report, in bytes.
    pub size_before: u64,
    /// Number of added files.
    pub added: usize,
    /// Number of removed files.
    pub removed: usize,
    /// Number of files with changed contents.
    pub changed: usize,
}

/// Builds the report of these files.
pub fn report(files: &Files<'_>, options: &Options) -> Report {
    report_with_tiles(files, options, None)
}

/// Builds the report of these files. Textures that the page shows downsampled are written to `tiles` in a higher
/// resolution.
pub fn report_with_tiles(files: &Files<'_>, options: &Options, tiles: Option<&Tiles<'_>>) -> Report {
    let cap = options.max_texture.max(16);
    let (geometry, mut notes) = choose_geometry(files, options.max_bytes / 2);
    let scanned: Vec<ScannedFile> = files
        .list
        .par_iter()
        .map(|(path, size)| ScannedFile::new(path, *size, geometry.contains(path), files.read))
        .collect();
    let spent: u64 = scanned.iter().flat_map(|file| &file.geometry).map(|b| base64_len(b.len() as u64)).sum();
    let cap = choose_cap(&scanned, cap, options.max_bytes.saturating_sub(spent));
    let reduced = scanned.iter().filter_map(|file| file.shape.as_ref());
    let reduced = reduced.filter(|(shape, _)| shape.width.max(shape.height) > cap).count();
    if reduced > 0 {
        let why = if cap < options.max_texture.max(16) {
            "to limit the size of the report"
        } else {
            "see --max-texture"
        };
        notes.push(format!(
            "{} downsampled to at most {cap} texels in width and height ({why})",
            counted(reduced, "texture is", "textures are")
        ));
    }

    let manifest = material::Textures::new(files);
    let shapes = scanned.iter().filter_map(|file| file.shape.as_ref()).map(|(shape, _)| shape);
    let tiles = tiles.map(|tiles| TileWriter::new(tiles, cap, shapes));
    notes.extend(tiles.as_ref().and_then(TileWriter::note));
    let finish = |scanned: ScannedFile| scanned.finish(cap, files.read, &manifest, tiles.as_ref());
    let mut entries: Vec<Entry> = scanned.into_par_iter().map(finish).collect();
    let tile_names: BTreeSet<String> =
        entries.iter().filter_map(|entry| Some(entry.tile.as_ref()?.name.clone())).collect();
    let more = entries.iter().filter(|entry| entry.cut).count();
    if more > 0 {
        notes.push(format!(
            "only the first {} images of each mip level are shown for {}",
            texture_images::MAX_IMAGES,
            counted(more, "texture", "textures")
        ));
    }
    let change = options.since.as_ref().map(|since| compare(since, &mut entries));
    let (files_count, size) = (entries.len(), total(entries.iter().map(|e| e.size)));
    let broken = entries.iter().filter(|entry| entry.error.is_some()).count();
    let mut blobs = page::Blobs::default();
    let kinds = kinds(&entries, options.since.as_ref());
    let data = Json::object([
        ("kiln_report", previous::VERSION.into()),
        ("title", files.title.into()),
        ("size", size.into()),
        ("kinds", kinds),
        ("notes", Json::list(notes.iter().map(String::as_str))),
        ("warnings", Json::list(options.warnings.iter().map(String::as_str))),
        ("problems", Json::list(files.problems.iter().map(String::as_str))),
        ("since", since_json(options.since.as_ref(), change, &entries)),
        ("files", Json::list(entries.iter_mut().map(|entry| entry.json(&mut blobs)))),
    ]);
    let html = page::page(files.title, &data, blobs, tiles.is_some());
    let tiles = tile_names.into_iter().collect();
    Report { html, files: files_count, size, broken, notes, change, tiles }
}

/// Chooses the meshes and animations to embed: the smallest ones, as many as fit.
fn choose_geometry(files: &Files<'_>, budget: u64) -> (BTreeSet<String>, Vec<String>) {
    let mut all: Vec<(u64, &str)> = files
        .list
        .iter()
        .filter(|(path, _)| file::is_geometry(path))
        .map(|(path, size)| (base64_len(*size), path.as_str()))
        .collect();
    all.sort_unstable();
    let mut spent = 0u64;
    let fits = |(size, _): &&(u64, &str)| {
        spent = spent.saturating_add(*size);
        spent <= budget
    };
    let chosen: BTreeSet<String> = all.iter().take_while(fits).map(|(_, path)| (*path).to_owned()).collect();
    let left = all.len() - chosen.len();
    let note = format!(
        "{} not embedded, to limit the size of the report",
        counted(left, "mesh or animation file is", "meshes and animation files are")
    );
    (chosen, if left > 0 { vec![note] } else { vec![] })
}

/// Returns the length of `bytes` bytes in base64.
fn base64_len(bytes: u64) -> u64 {
    bytes.div_ceil(3).saturating_mul(4)
}

/// Returns the largest image size, at most `cap`, with which all images fit. The estimate is one byte per
/// texel, and base64 adds a third.
fn choose_cap(scanned: &[ScannedFile], cap: u32, budget: u64) -> u32 {
    let cost = |cap| {
        let shapes = scanned.iter().filter_map(|file| file.shape.as_ref());
        total(shapes.map(|(shape, levels)| texture_images::texels(shape, *levels, cap).saturating_mul(7) / 4))
    };
    let mut cap = cap;
    while cap > 16 && cost(cap) > budget {
        cap = (cap / 2).max(16);
    }
    cap
}

/// Records the previous state of every entry and counts the changes.
fn compare(since: &PreviousReport, entries: &mut [Entry]) -> Change {
    let mut change = Change { size_before: since.size(), ..Change::default() };
    let mut left: BTreeSet<&str> = since.files.keys().map(String::as_str).collect();
    for entry in entries {
        left.remove(entry.path.as_str());
        let old = since.files.get(&entry.path);
        let changed = old.is_some_and(|old| old.size != entry.size || old.hash != entry.hash);
        change.added += usize::from(old.is_none());
        change.changed += usize::from(changed);
        entry.was = Some(old.map(|old| (old.size, changed)));
    }
    change.removed = left.len();
    change
}

fn since_json(since: Option<&PreviousReport>, change: Option<Change>, entries: &[Entry]) -> Json {
    let (Some(since), Some(change)) = (since, change) else { return Json::Null };
    let here: BTreeSet<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    let gone = since.files.iter().filter(|(path, _)| !here.contains(path.as_str()));
    let gone = gone.map(|(path, old)| {
        Json::object([
            ("path", path.as_str().into()),
            ("ext", old.ext.as_str().into()),
            ("size", old.size.into()),
        ])
    });
    Json::object([
        ("title", since.title.as_str().into()),
        ("size", change.size_before.into()),
        ("added", change.added.into()),
        ("removed", change.removed.into()),
        ("changed", change.changed.into()),
        ("gone", Json::list(gone)),
    ])
}

/// Returns sizes and totals by kind, in the order of `FORMATS`; unknown formats come last.
fn kinds(entries: &[Entry], since: Option<&PreviousReport>) -> Json {
    let known = FORMATS.iter().map(|format| (format.ext(), format.title(), format.noun()));
    let kinds = known.chain([("", "other files", "other file")]).filter_map(|(ext, title, noun)| {
        let of: Vec<&Entry> = entries.iter().filter(|entry| entry.ext == ext).collect();
        let was =
            since.map(|since| total(since.files.values().filter(|old| old.ext == ext).map(|old| old.size)));
        if of.is_empty() && was.is_none_or(|was| was == 0) {
            return None;
        }
        let mut totals: Vec<(&str, u64)> = Vec::new();
        for (name, number) in of.iter().flat_map(|entry| &entry.totals) {
            match totals.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum = sum.saturating_add(*number),
                None => totals.push((name, *number)),
            }
        }
        let totals = totals.into_iter().map(|(name, sum)| (name.to_owned(), sum.into()));
        Some(Json::object([
            ("ext", ext.into()),
            ("title", title.into()),
            ("noun", noun.into()),
            ("files", of.len().into()),
            ("size", total(of.iter().map(|entry| entry.size)).into()),
            ("was", was.into()),
            ("totals", Json::Object(totals.collect())),
        ]))
    });
    Json::List(kinds.collect())
}

fn total(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.fold(0, u64::saturating_add)
}

/// Maps paths to their indices in the list.
fn file_indices<'a>(files: &Files<'a>) -> BTreeMap<&'a str, usize> {
    files.list.iter().enumerate().map(|(n, (path, _))| (path.as_str(), n)).collect()
}
