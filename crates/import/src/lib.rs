//! Importers of game asset formats: glTF, OBJ, FBX, images, HDR images and `.cube` tables into the neutral model of
//! `kiln-ir`.
//!
//! # Formats
//!
//! | module | reads | into |
//! |---|---|---|
//! | [`gltf`] | glTF 2.0 as `.gltf` and `.glb` | [`Scene`](kiln_ir::Scene) |
//! | [`obj`] | Wavefront OBJ with MTL libraries | [`Scene`](kiln_ir::Scene) |
//! | `fbx` | Autodesk FBX, with the feature `fbx` | [`Scene`](kiln_ir::Scene) |
//! | [`image`] | PNG, JPEG, WebP, BMP, TGA, GIF, TIFF, PSD, QOI, DDS, KTX2 | [`Image`](kiln_ir::Image) |
//! | [`hdr`] | Radiance HDR and OpenEXR | [`HdrImage`](kiln_ir::HdrImage) |
//! | [`cube`] | `.cube` colour grading tables | [`Lut`](kiln_ir::Lut) |
//! | [`faces`] | names of cubemap faces and array layers | indices of files |
//!
//! # Sources
//!
//! A format of one file is imported from bytes. A format of several files is imported through [`SourceFiles`], a trait
//! with `read`, `exists` and `list`: a [`Directory`] on disk, [`MemoryFiles`], or the inputs of a build engine that
//! records every access. A [`Recorder`] around any of them lists the dependencies of an import.
//!
//! ```
//! use kiln_import::{MemoryFiles, RelPath, gltf};
//!
//! # let json = br#"{"asset":{"version":"2.0"},"nodes":[{"name":"root"}],"scenes":[{"nodes":[0]}]}"#;
//! let mut files = MemoryFiles::from_iter([(RelPath::new("model.gltf")?, json.to_vec())]);
//! let imported = gltf::import(&mut files, &RelPath::new("model.gltf")?)?;
//! assert_eq!(imported.value.nodes[0].name, "root");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Results
//!
//! An importer returns [`Imported`]: the model, whose invariants are checked, and warnings about what the model cannot
//! represent. An error is a [`Diag`] with a [`Code`] to match on. A diagnostic of a single-file importer names a place
//! in the file at most; the caller adds the path.
//!
//! Whatever the bytes are, an importer returns a model or an error, within memory that the size of the files or the
//! [`Limits`] bound. Sizes that a header states are compared with the limits before memory is allocated.

pub mod cube;
pub mod dds;
pub mod faces;
#[cfg(feature = "fbx")]
pub mod fbx;
mod files;
pub mod gltf;
pub mod hdr;
pub mod image;
pub mod obj;
mod polygon;
mod source;

pub use kiln_diagnostics::{BadPath, Code, Diag, Limits, RelPath, Severity, SourceFiles};
pub use source::{Directory, MemoryFiles, Recorder};

use files::Files;
use kiln_diagnostics::counted;

/// The model that an importer read, with its warnings.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported<T> {
    /// The model.
    pub value: T,
    /// Diagnostics about content that the model cannot represent, in the order of the file.
    pub warnings: Vec<Diag>,
}

/// Reads a source that may refer to other files. An error that names no other file gets the path of the source.
fn open<T>(
    source_files: &mut dyn SourceFiles,
    source: &RelPath,
    read: impl FnOnce(&[u8], &mut Files<'_>) -> Result<T, Diag>,
) -> Result<T, Diag> {
    let bytes = source_files.read(source)?;
    let done = match absent_content(&bytes) {
        Some(diag) => Err(diag),
        None => read(&bytes, &mut Files::beside(source_files, source)),
    };
    done.map_err(|diag| diag.or_path(source))
}

/// Returns the error of a file without content of its own: an empty file, or the pointer that Git LFS leaves where the
/// content was not fetched.
fn absent_content(bytes: &[u8]) -> Option<Diag> {
    if bytes.is_empty() {
        return Some(Diag::new(Code::FileEmpty, "the file is empty").hint("export or download it again"));
    }
    bytes.starts_with(b"version https://git-lfs.github.com/spec").then(|| {
        Diag::new(Code::LfsPointer, "the file is a Git LFS pointer, not the content itself")
            .hint("fetch the content: git lfs pull")
    })
}

/// Quotes a string of a source, shortened to a bounded length.
fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_empty_files_and_git_lfs_pointers() {
        assert_eq!(absent_content(b"").unwrap().code, Code::FileEmpty);
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
        let diag = absent_content(pointer).unwrap();
        assert_eq!(diag.code, Code::LfsPointer);
        assert!(diag.hint.as_deref().is_some_and(|hint| hint.contains("git lfs pull")));
        assert_eq!(absent_content(b"version 1"), None);
    }
}
