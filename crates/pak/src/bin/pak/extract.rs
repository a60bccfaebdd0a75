//! The `pak extract` command: writes assets as files inside a directory, and never outside it.
//!
//! Blobs are written unchanged, KTX2 bitmaps as `.ktx2`, bitmap fonts as their definition with `.fnt`, everything else as
//! the payload that `docs/reference/formats/pak.md` describes, with the kind as extension. Rejects keys that are not paths inside
//! the directory (path traversal), and keys whose file would replace that of another key on a file system that ignores
//! case or Unicode normalization.

use super::{damaged, open};
use ::pak::{Entry, Kind, Pak, PakBuf};
use kiln_cli::interrupt;
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK, Reporter};
use kiln_engine::{Code, Diag, Fs, Json, Real, RelPath};
use std::collections::HashMap;
use std::path::Path;

pub(super) fn extract(reporter: &Reporter, path: &Path, dir: &Path, keys: &[String]) -> Result<u8, Diag> {
    interrupt::handle("the files that were written are complete and kept");
    let pak = open(path)?;
    for key in keys {
        if pak.find(key).is_none() {
            return Err(
                Diag::new(Code::PakUnknownKey, format!("the pak has no key {key:?}")).path(path.display())
            );
        }
    }
    let unwritable = |e: std::io::Error| {
        Diag::new(Code::Unwritable, format!("cannot write to the directory: {e}")).path(dir.display())
    };
    std::fs::create_dir_all(dir).map_err(unwritable)?;
    // `Real` rejects symbolic links that lead out of the directory, and renames files into place.
    let out = Real::open(dir).map_err(unwritable)?;
    let (mut written, mut failed) = (0usize, 0usize);
    let mut taken = HashMap::new();
    for entry in pak.entries().filter(|entry| keys.is_empty() || keys.iter().any(|key| key == entry.key)) {
        match one(&pak, &entry, path, &out, &mut taken) {
            Ok(()) => written += 1,
            Err(diag) => {
                failed += 1;
                reporter.say(&diag);
            }
        }
    }
    if reporter.json {
        let report = Json::object([("written", written.into()), ("failed", failed.into())]);
        reporter.out().line(&report.to_string());
    } else if reporter.verbosity > Verbosity::Quiet {
        let count = render::count(written, "file", "files");
        reporter.out().line(&format!("{count} written to {}", dir.display()));
    }
    Ok(if failed == 0 { OK } else { FAILED })
}

/// Writes one asset. `taken` maps the case-folded paths that were already written to their keys.
fn one(
    pak: &PakBuf,
    entry: &Entry<'_>,
    path: &Path,
    out: &Real,
    taken: &mut HashMap<String, String>,
) -> Result<(), Diag> {
    let bad = |error: ::pak::Error| damaged(path, &error);
    let (bytes, extension) = match entry.kind {
        // Streamed below: a blob may be larger than memory.
        Kind::Blob => (vec![], None),
        Kind::BitmapFont => {
            let font = pak.read_bitmap_font_id(entry.id).map_err(bad)?;
            (font.def().as_bytes().to_vec(), Some("fnt"))
        }
        Kind::Bitmap => {
            let bitmap = pak.read_bitmap_id(entry.id).map_err(bad)?;
            match bitmap.ktx2() {
                Some(file) => (file.to_vec(), Some("ktx2")),
                None => (pak.payload(entry.kind, entry.id).map_err(bad)?.to_vec(), Some("bitmap")),
            }
        }
        Kind::Material => {
            let info = pak.read_material_id(entry.id);
            (format!("{info:#?}\n").into_bytes(), Some("material"))
        }
        kind => (pak.payload(kind, entry.id).map_err(bad)?.to_vec(), Some(kind.name())),
    };
    let name = match extension {
        None => entry.key.to_owned(),
        Some(extension) => format!("{}.{extension}", entry.key),
    };
    let extract_error = |why: String| {
        Diag::new(Code::PakExtract, format!("cannot extract the key {:?}: {why}", entry.key))
            .path(path.display())
    };
    let target = RelPath::new(name).map_err(|why| extract_error(why.to_string()))?;
    if let Some(other) = taken.get(&kiln_engine::folded(&target)) {
        let message = format!(
            "{target} and the file of {other:?} are one file on systems that ignore case or Unicode normalization"
        );
        return Err(extract_error(message)
            .hint("list the keys to extract, and extract these two into different directories"));
    }
    taken.insert(kiln_engine::folded(&target), entry.key.to_owned());
    let inside = target.below(out.root());
    if let Some(parent) = inside.parent() {
        std::fs::create_dir_all(parent).map_err(|e| extract_error(e.to_string()))?;
        // A symbolic link in the path could lead out of the directory.
        let real = std::fs::canonicalize(parent).map_err(|e| extract_error(e.to_string()))?;
        if !real.starts_with(out.root()) {
            return Err(extract_error("a symbolic link leads out of the directory".to_owned()));
        }
    }
    let mut fill = |file: &mut dyn std::io::Write| match entry.kind {
        Kind::Blob => {
            let mut blob = pak.stream_blob_id(entry.id).map_err(std::io::Error::other)?;
            std::io::copy(&mut blob, file).map(drop)
        }
        _ => file.write_all(&bytes),
    };
    let staged = out.stage(&mut fill).map_err(|e| match e.kind() {
        std::io::ErrorKind::InvalidData => bad(e.into()),
        _ => extract_error(e.to_string()),
    })?;
    let done = out.publish(vec![(staged, target)]).into_iter().next();
    done.unwrap_or_else(|| Err(std::io::ErrorKind::Other.into()))
        .map(|_| ())
        .map_err(|e| extract_error(e.to_string()))
}
