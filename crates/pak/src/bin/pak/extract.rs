//! `pak extract`: assets as files below a folder, and never beside it.
//!
//! Blobs come out as they went in; KTX2 bitmaps as `.ktx2`; fonts as their definition with a `.fnt`; everything else as
//! the payload that `docs/formats/pak.md` describes, with the kind for an extension. Keys that are no paths inside the
//! folder are refused, and so is a key whose file would replace that of another key on a file system that ignores case
//! or Unicode normalization.

use super::{damaged, open};
use ::pak::{Entry, Kind, Pak, PakBuf};
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::voice::{FAILED, OK, Voice};
use kiln_engine::{Code, Diag, Fs, Json, Real, RelPath};
use std::collections::HashMap;
use std::path::Path;

pub(super) fn extract(voice: &Voice, path: &Path, dir: &Path, keys: &[String]) -> Result<u8, Diag> {
    let pak = open(path)?;
    for key in keys {
        if pak.find(key).is_none() {
            return Err(Diag::new(Code::PakNoKey, format!("there is no key {key:?}")).path(path.display()));
        }
    }
    let unwritable =
        |e: std::io::Error| Diag::new(Code::Unwritable, format!("cannot write it: {e}")).path(dir.display());
    std::fs::create_dir_all(dir).map_err(unwritable)?;
    // The tree refuses links that lead out, and files appear under their names whole.
    let out = Real::open(dir).map_err(unwritable)?;
    let (mut written, mut failed) = (0usize, 0usize);
    let mut taken = HashMap::new();
    for entry in pak.entries().filter(|entry| keys.is_empty() || keys.iter().any(|key| key == entry.key)) {
        match one(&pak, &entry, path, &out, &mut taken) {
            Ok(()) => written += 1,
            Err(diag) => {
                failed += 1;
                voice.say(&diag);
            }
        }
    }
    if voice.json {
        let told = Json::object([("written", written.into()), ("failed", failed.into())]);
        voice.out().line(&told.to_string());
    } else if voice.verbosity > Verbosity::Quiet {
        let count = render::count(written, "file", "files");
        voice.out().line(&format!("{count} written to {}", dir.display()));
    }
    Ok(if failed == 0 { OK } else { FAILED })
}

/// Writes one asset. `taken` has the files that were written before, folded, and their keys.
fn one(
    pak: &PakBuf,
    entry: &Entry<'_>,
    path: &Path,
    out: &Real,
    taken: &mut HashMap<String, String>,
) -> Result<(), Diag> {
    let bad = |error: ::pak::Error| damaged(path, &error);
    let (bytes, extension) = match entry.kind {
        // Piece by piece, below: it may be larger than memory.
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
    let refused =
        |why: String| Diag::new(Code::PakExtract, format!("{:?}: {why}", entry.key)).path(path.display());
    let target = RelPath::new(name).map_err(|why| refused(why.to_string()))?;
    if let Some(other) = taken.get(&kiln_engine::folded(&target)) {
        let message = format!(
            "{target} and the file of {other:?} are one file on systems that ignore case or Unicode normalization"
        );
        return Err(
            refused(message).hint("name the keys to extract, and extract these two into different folders")
        );
    }
    taken.insert(kiln_engine::folded(&target), entry.key.to_owned());
    let inside = target.below(out.root());
    if let Some(parent) = inside.parent() {
        std::fs::create_dir_all(parent).map_err(|e| refused(e.to_string()))?;
        // A link on the way could lead out.
        let real = std::fs::canonicalize(parent).map_err(|e| refused(e.to_string()))?;
        if !real.starts_with(out.root()) {
            return Err(refused("a link leads out of the folder".to_owned()));
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
        _ => refused(e.to_string()),
    })?;
    let done = out.publish(vec![(staged, target)]).into_iter().next();
    done.unwrap_or_else(|| Err(std::io::ErrorKind::Other.into()))
        .map(|_| ())
        .map_err(|e| refused(e.to_string()))
}
