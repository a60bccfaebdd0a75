//! The `pak extract` command: writes assets as files inside a directory, and never outside it.
//!
//! Blobs are written unchanged, everything else in the formats of [`pak::export`](::pak::export), or with `--raw` as the
//! payload that `docs/reference/formats/pak.md` describes, with the kind as extension. Reserved and dangerous names are
//! escaped. Rejects keys that are not paths inside the directory (path traversal), and keys whose file would replace that
//! of another key on a file system that ignores case or Unicode normalization.

use super::file_names::escape;
use super::{damaged_asset, find, open};
use ::pak::export::{ExportedFile, Exporter};
use ::pak::{Entry, Kind, Pak, PakBuf};
use kiln_cli::interrupt;
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK, Reporter};
use kiln_engine::{Code, Diag, Fs, Json, Real, RelPath};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The arguments of `pak extract`.
#[derive(clap::Args, Debug)]
pub(super) struct ExtractArgs {
    /// Path of the pak
    pak: PathBuf,
    /// Directory to write to
    dir: PathBuf,
    /// Extract only these keys, or assets by their names in `list --all` [default: all keys]
    keys: Vec<String>,
    /// Extract assets without keys as well, to the folder `unnamed`
    #[arg(long, conflicts_with = "keys")]
    all: bool,
    /// Write payloads as they are stored instead of PNG, KTX2, GLB and JSON files
    #[arg(long)]
    raw: bool,
}

pub(super) fn extract(reporter: &Reporter, args: &ExtractArgs) -> Result<u8, Diag> {
    interrupt::handle("the files that were written are complete and kept");
    let (path, dir) = (&*args.pak, &*args.dir);
    let pak = open(path)?;
    let mut chosen = Vec::new();
    let mut unknown = Vec::new();
    for key in &args.keys {
        match find(&pak, path, key) {
            Ok(entry) if chosen.contains(&entry) => {}
            Ok(entry) => chosen.push(entry),
            Err(diag) => unknown.push(diag),
        }
    }
    if let Some(last) = unknown.pop() {
        unknown.iter().for_each(|diag| reporter.say(diag));
        return Err(last);
    }
    let unwritable = |e: std::io::Error| {
        Diag::new(Code::Unwritable, format!("cannot write to the directory: {e}")).path(dir.display())
    };
    std::fs::create_dir_all(dir).map_err(unwritable)?;
    // `Real` rejects symbolic links that lead out of the directory, and renames files into place.
    let out = Real::open(dir).map_err(unwritable)?;
    if args.keys.is_empty() {
        chosen.extend(pak.entries());
        chosen.extend(pak.assets().filter(|entry| args.all && entry.key.is_empty()));
    }
    let mut extraction = Extraction {
        pak: &pak,
        exporter: (!args.raw).then(|| Exporter::new(&pak)),
        path,
        out,
        taken: HashMap::new(),
        written: 0,
    };
    let mut failed = 0usize;
    for entry in chosen {
        if let Err(diag) = extraction.one(&entry) {
            failed += 1;
            reporter.say(&diag);
        }
    }
    let written = extraction.written;
    if reporter.json {
        reporter.print_json(Json::object([("written", written.into()), ("failed", failed.into())]));
    } else if reporter.verbosity > Verbosity::Quiet {
        let count = render::count(written, "file", "files");
        reporter.out().line(&format!("{count} written to {}", dir.display()));
    }
    Ok(if failed == 0 { OK } else { FAILED })
}

struct Extraction<'a> {
    pak: &'a PakBuf,
    /// Absent if payloads are written as they are stored.
    exporter: Option<Exporter<'a>>,
    path: &'a Path,
    out: Real,
    /// The case-folded paths that were already written, and their assets.
    taken: HashMap<String, String>,
    written: usize,
}

impl Extraction<'_> {
    /// Writes one asset.
    fn one(&mut self, entry: &Entry<'_>) -> Result<(), Diag> {
        let bad = |error: ::pak::Error| damaged_asset(self.path, &entry.name(), &error);
        if entry.kind == Kind::Blob {
            // A blob may be larger than memory.
            let mut blob = self.pak.stream_blob_id(entry.id).map_err(bad)?;
            return self.write(entry, &entry.name(), &mut |file| std::io::copy(&mut blob, file).map(drop));
        }
        let files = match &self.exporter {
            Some(exporter) => exporter.export(entry.kind, entry.id).map_err(bad)?,
            None => return self.raw(entry),
        };
        for ExportedFile { suffix, bytes, .. } in files {
            let name = entry.name();
            let has_suffix = name.to_ascii_lowercase().ends_with(&suffix);
            let name = if has_suffix { name } else { name + &suffix };
            self.write(entry, &name, &mut |file| file.write_all(&bytes))?;
        }
        Ok(())
    }

    /// Writes the payload of an asset; a material, which has none, as text.
    fn raw(&mut self, entry: &Entry<'_>) -> Result<(), Diag> {
        let bad = |error: ::pak::Error| damaged_asset(self.path, &entry.name(), &error);
        let (bytes, extension) = match entry.kind {
            Kind::Material => {
                let info = self.pak.read_material_id(entry.id);
                (format!("{info:#?}\n").into_bytes(), "material")
            }
            kind => (self.pak.payload(kind, entry.id).map_err(bad)?.to_vec(), kind.name()),
        };
        let name = format!("{}.{extension}", entry.name());
        self.write(entry, &name, &mut |file| file.write_all(&bytes))
    }

    fn write(
        &mut self,
        entry: &Entry<'_>,
        name: &str,
        fill: &mut dyn FnMut(&mut dyn std::io::Write) -> std::io::Result<()>,
    ) -> Result<(), Diag> {
        let path = self.path;
        let extract_error = |why: String| {
            Diag::new(Code::PakExtract, format!("cannot extract the key {:?}: {why}", entry.name()))
                .path(path.display())
        };
        let target = RelPath::new(escape(name)).map_err(|why| extract_error(why.to_string()))?;
        if let Some(other) = self.taken.get(&kiln_engine::folded(&target)) {
            let message = format!(
                "{target} and the file of {other:?} are one file on systems that ignore case or Unicode normalization"
            );
            return Err(extract_error(message)
                .hint("list the keys to extract, and extract these two into different directories"));
        }
        self.taken.insert(kiln_engine::folded(&target), entry.name());
        let inside = target.below(self.out.root());
        if let Some(parent) = inside.parent() {
            std::fs::create_dir_all(parent).map_err(|e| extract_error(e.to_string()))?;
            // A symbolic link in the path could lead out of the directory.
            let real = std::fs::canonicalize(parent).map_err(|e| extract_error(e.to_string()))?;
            if !real.starts_with(self.out.root()) {
                return Err(extract_error("a symbolic link leads out of the directory".to_owned()));
            }
        }
        let staged = self.out.stage(fill).map_err(|e| match e.kind() {
            std::io::ErrorKind::InvalidData => damaged_asset(path, &entry.name(), &e.into()),
            _ => extract_error(e.to_string()),
        })?;
        let done = self.out.publish(vec![(staged, target)]).into_iter().next();
        done.unwrap_or_else(|| Err(std::io::ErrorKind::Other.into()))
            .map_err(|e| extract_error(e.to_string()))?;
        self.written += 1;
        Ok(())
    }
}
