//! `assetc extract`: runtime files back to files that other programs read.
//!
//! A pack becomes a folder, a texture PNG or EXR images or a texture without supercompression, a mesh a binary glTF.

mod glb;
mod images;

pub use glb::glb;
pub use images::{TextureFormat, images, without_supercompression};

use crate::runtime::RuntimeFiles;
use kiln_engine::{Code, Diag, Fs, Real, RelPath, folded};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// A file that was extracted, in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtractedFile {
    /// The suffix of its name, with a dot: `.png`, `_px.png`.
    pub suffix: String,
    /// The content.
    pub bytes: Vec<u8>,
}

/// Writes the files of a pack, or of another output directory, below `dir`, which is created. Files are published
/// atomically, one by one; an existing file is an error unless it has the same bytes or `overwrite` is set. Returns the
/// number of files.
///
/// # Errors
///
/// `extract-name` if a path is not portable or two paths are one file on some file systems; nothing is written then.
/// `output-not-owned` if another file is at a path, and I/O errors.
pub fn unpack(pack: &Path, dir: &Path, overwrite: bool, waiting: &dyn Fn()) -> Result<usize, Diag> {
    use kiln_engine::ownership::{Admission, Replace, admit};
    let runtime = RuntimeFiles::open(pack, waiting)?;
    let fault = |e: io::Error| Diag::new(Code::Unwritable, format!("cannot write: {e}")).path(dir.display());
    let mut paths: BTreeMap<String, RelPath> = BTreeMap::new();
    for (path, _) in runtime.files() {
        let unsafe_name = |why: String| {
            Diag::new(Code::ExtractName, why)
                .path(path)
                .hint("the pack was not written by assetc, or is damaged")
        };
        let name =
            RelPath::new(path).map_err(|bad| unsafe_name(format!("the path is not portable: {bad}")))?;
        if let Some(other) = paths.insert(folded(&name), name.clone()) {
            return Err(unsafe_name(format!("{other} and {name} are one file on many systems")));
        }
    }
    std::fs::create_dir_all(dir).map_err(fault)?;
    let out = Real::open(dir).map_err(fault)?;
    for name in paths.values() {
        let unreadable = |e: io::Error| {
            Diag::new(Code::Unreadable, format!("cannot read the file from the pack: {e}")).path(name)
        };
        let bytes = runtime.read(name.as_str()).map_err(unreadable)?;
        let blob = Some(kiln_engine::remote::Blob::of(&bytes));
        let admitted = admit(&out, name, blob, Replace { overwrite, magic: None, owned: &|| false })?;
        if admitted == Admission::Write {
            let staged = out.stage(&mut |file| file.write_all(&bytes)).map_err(fault)?;
            let placed = out.publish(vec![(staged, name.clone())]).pop();
            placed
                .unwrap_or_else(|| Err(io::ErrorKind::Other.into()))
                .map_err(|e| Diag::new(Code::Unwritable, format!("cannot write the file: {e}")).path(name))?;
        }
    }
    Ok(paths.len())
}
