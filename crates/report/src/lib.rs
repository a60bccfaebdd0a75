//! `assetc report`: one page of HTML about a set of runtime files, which needs nothing beside itself.
//!
//! Files in, text out: [`report`] reads what it is given, decodes pictures, embeds meshes as they are, and compares with
//! an older report. What a file is called or holds can never become markup: the page is a constant, all data is JSON or
//! base64, and the browser is told to run the page's own script and no other. A damaged file is shown as damaged; the
//! rest works. The same files give the same bytes. `docs/report.md` has the data that programs may read back.

mod file;
mod material;
mod page;
mod picture;
mod since;

pub use since::{Since, SinceError};

use file::{Entry, Looked};
use kiln_engine::Json;
use kiln_format::FORMATS;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The files to report on.
pub struct Files<'a> {
    /// What the page is called.
    pub title: &'a str,
    /// Every file with its size, by path.
    pub list: &'a [(String, u64)],
    /// The content of a file.
    pub read: &'a (dyn Fn(&str) -> io::Result<Vec<u8>> + Sync),
    /// What could not be looked at, as text.
    pub problems: &'a [String],
}

/// How to report.
#[derive(Clone, Debug)]
pub struct Options {
    /// No side of a picture is longer, in texels. At least 16.
    pub max_texture: u32,
    /// About how many bytes of pictures, meshes and animations the page may hold. Half of them at most are geometry.
    pub max_bytes: u64,
    /// What to compare with.
    pub since: Option<Since>,
}

impl Default for Options {
    fn default() -> Self {
        Options { max_texture: 512, max_bytes: 64 << 20, since: None }
    }
}

/// A page, and what a program may want to say about it.
#[derive(Clone, Debug)]
pub struct Report {
    /// The page.
    pub html: String,
    /// How many files it is about.
    pub files: usize,
    /// Their size together.
    pub size: u64,
    /// How many of them are damaged.
    pub broken: usize,
    /// What was reduced or left out, as sentences.
    pub notes: Vec<String>,
    /// What changed since the older report, if there is one.
    pub change: Option<Change>,
}

/// What changed between two reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The size of everything then.
    pub size_before: u64,
    /// Files that were not there.
    pub added: usize,
    /// Files that are gone.
    pub removed: usize,
    /// Files with another content.
    pub changed: usize,
}

/// Reports on these files.
pub fn report(files: &Files<'_>, options: &Options) -> Report {
    let cap = options.max_texture.max(16);
    let (geometry, mut notes) = choose_geometry(files, options.max_bytes / 2);
    let looked: Vec<Looked> = files
        .list
        .par_iter()
        .map(|(path, size)| Looked::new(path, *size, geometry.contains(path), files.read))
        .collect();
    let spent: u64 = looked.iter().flat_map(|file| &file.geometry).map(|b| base64_len(b.len() as u64)).sum();
    let cap = choose_cap(&looked, cap, options.max_bytes.saturating_sub(spent));
    let reduced = looked.iter().filter_map(|file| file.shape.as_ref());
    let reduced = reduced.filter(|(shape, _)| shape.width.max(shape.height) > cap).count();
    if reduced > 0 {
        let why = if cap < options.max_texture.max(16) {
            "so that the report stays small"
        } else {
            "see --max-texture"
        };
        notes.push(format!(
            "{} shown at most {cap} texels wide and high ({why})",
            count(reduced, "texture is", "textures are")
        ));
    }

    let manifest = material::Textures::new(files);
    let mut entries: Vec<Entry> =
        looked.into_par_iter().map(|looked| looked.finish(cap, files.read, &manifest)).collect();
    let more = entries.iter().filter(|entry| entry.cut).count();
    if more > 0 {
        notes.push(format!(
            "of {} only the first {} images of each level are shown",
            count(more, "texture", "textures"),
            picture::MAX_IMAGES
        ));
    }
    let change = options.since.as_ref().map(|since| compare(since, &mut entries));
    let (files_count, size) = (entries.len(), total(entries.iter().map(|e| e.size)));
    let broken = entries.iter().filter(|entry| entry.error.is_some()).count();
    let mut blobs = page::Blobs::default();
    let kinds = kinds(&entries, options.since.as_ref());
    let data = Json::object([
        ("kiln_report", since::VERSION.into()),
        ("title", files.title.into()),
        ("size", size.into()),
        ("kinds", kinds),
        ("notes", Json::list(notes.iter().map(String::as_str))),
        ("problems", Json::list(files.problems.iter().map(String::as_str))),
        ("since", since_json(options.since.as_ref(), change, &entries)),
        ("files", Json::list(entries.iter_mut().map(|entry| entry.json(&mut blobs)))),
    ]);
    let html = page::page(files.title, &data, blobs);
    Report { html, files: files_count, size, broken, notes, change }
}

/// Which meshes and animations are embedded: the smallest, as many as fit.
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
        "{} not embedded, so that the report stays small",
        count(left, "mesh or animation file is", "meshes and animation files are")
    );
    (chosen, if left > 0 { vec![note] } else { vec![] })
}

/// The length of so many bytes as base64.
fn base64_len(bytes: u64) -> u64 {
    bytes.div_ceil(3).saturating_mul(4)
}

/// The largest side of pictures, at most `cap`, with which they fit. A texel is taken to cost a byte, and three
/// quarters of another one go to base64.
fn choose_cap(looked: &[Looked], cap: u32, budget: u64) -> u32 {
    let cost = |cap| {
        let shapes = looked.iter().filter_map(|file| file.shape.as_ref());
        total(shapes.map(|(shape, levels)| picture::texels(shape, *levels, cap).saturating_mul(7) / 4))
    };
    let mut cap = cap;
    while cap > 16 && cost(cap) > budget {
        cap = (cap / 2).max(16);
    }
    cap
}

/// Tells every entry what it was, and counts.
fn compare(since: &Since, entries: &mut [Entry]) -> Change {
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

fn since_json(since: Option<&Since>, change: Option<Change>, entries: &[Entry]) -> Json {
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

/// Sizes and totals by kind, in the order of the format table; what is of no format comes last.
fn kinds(entries: &[Entry], since: Option<&Since>) -> Json {
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

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Paths and their places in the list.
fn places<'a>(files: &Files<'a>) -> BTreeMap<&'a str, usize> {
    files.list.iter().enumerate().map(|(n, (path, _))| (path.as_str(), n)).collect()
}
