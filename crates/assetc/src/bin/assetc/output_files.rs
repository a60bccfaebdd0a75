//! Files that `convert` and `extract` write at paths of the user.

use super::Session;
use kiln_cli::progress::Verbosity;
use kiln_cli::publish::publish_file;
use kiln_cli::render;
use kiln_engine::ownership::{Admission, Replace, admit};
use kiln_engine::remote::Blob;
use kiln_engine::{Code, Diag, Json, Real, RelPath};
use std::path::{Path, PathBuf};

/// A file to write.
pub(super) struct OutputFile {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    /// The first bytes of files that may be replaced without `--overwrite`.
    pub(super) magic: Option<&'static [u8]>,
}

/// Writes files atomically. Before the first is written, every path is checked: a file that may not be replaced fails
/// the command.
pub(super) fn write_files(files: &[OutputFile], overwrite: bool) -> Result<(), Diag> {
    let mut admitted = Vec::with_capacity(files.len());
    for OutputFile { path, bytes, magic } in files {
        let dir = path.parent().unwrap_or(Path::new("."));
        let fault = |e: std::io::Error| {
            Diag::new(Code::Unwritable, format!("cannot write the directory: {e}")).path(dir.display())
        };
        std::fs::create_dir_all(dir).map_err(fault)?;
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| RelPath::new(name).ok());
        let name = name.ok_or_else(|| {
            Diag::new(Code::Unwritable, "the file name is not portable").path(path.display())
        })?;
        let real = Real::open(dir).map_err(fault)?;
        let replace = Replace { overwrite, magic: *magic, owned: &|| false };
        let decision = admit(&real, &name, Some(Blob::of(bytes)), replace);
        admitted.push(decision.map_err(|diag| diag.path(path.display()))?);
    }
    for (file, decision) in files.iter().zip(admitted) {
        if decision == Admission::Write {
            publish_file(&file.path, &file.bytes, "file")?;
        }
    }
    Ok(())
}

/// Prints the files that were written.
pub(super) fn report_written(session: &Session, files: &[OutputFile], warnings: &[Diag]) {
    if session.reporter.json {
        let written = files.iter().map(|file| {
            Json::object([
                ("path", file.path.display().to_string().into()),
                ("size", file.bytes.len().into()),
            ])
        });
        let warnings = session.reporter.diags_json(warnings);
        let json = Json::object([("written", Json::list(written)), ("warnings", warnings)]);
        session.reporter.print_json(json);
    } else if session.reporter.verbosity > Verbosity::Quiet {
        let mut out = session.reporter.out();
        for file in files {
            out.line(&format!(
                "wrote {} ({})",
                session.shown(&file.path),
                render::size(file.bytes.len() as u64)
            ));
        }
        if files.is_empty() {
            out.line("nothing to write: the source has no content");
        }
    }
}
