//! Source files of games into the neutral model of `kiln-ir`.
//!
//! Importers are pure: bytes in, a model and warnings out. They read no files and know no paths, so a
//! [`Diag`] from here names a place in the file at most; the caller adds the path. A format of several files is
//! read through [`kiln_engine::Inputs`], which records what was read. Whatever the bytes are, the answer is a model or an
//! error, within memory that the files' length or the caller's limits bound.

pub mod cube;
pub mod faces;
#[cfg(feature = "fbx")]
pub mod fbx;
mod files;
pub mod gltf;
pub mod image;
pub mod light;
pub mod obj;
mod polygon;

use files::Files;
use kiln_engine::{Code, Diag, Inputs, RelPath};

/// What an importer made of a source, and what in it deserves a look.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported<T> {
    /// The model.
    pub value: T,
    /// Findings that did not prevent it, in the order of the file.
    pub warnings: Vec<Diag>,
}

/// Reads a source that may refer to other files. An error that names no other file is about the source.
fn open<T>(
    cx: &mut Inputs<'_>,
    source: &RelPath,
    read: impl FnOnce(&[u8], &mut Files<'_, '_>) -> Result<T, Diag>,
) -> Result<T, Diag> {
    let bytes = cx.read(source)?;
    let done = match absent(&bytes) {
        Some(diag) => Err(diag),
        None => read(&bytes, &mut Files::beside(cx, source)),
    };
    done.map_err(|diag| diag.or_path(source))
}

/// What is wrong with a source of any kind before its format is looked at: nothing in it, or a stand-in that
/// Git LFS left where the content was not fetched.
fn absent(bytes: &[u8]) -> Option<Diag> {
    if bytes.is_empty() {
        return Some(Diag::new(Code::FileEmpty, "the file is empty").hint("export or download it again"));
    }
    bytes.starts_with(b"version https://git-lfs.github.com/spec").then(|| {
        Diag::new(Code::LfsPointer, "this is a Git LFS pointer, not the content it stands for")
            .hint("fetch the content: git lfs pull")
    })
}

/// A text of a source, quoted and of bounded length.
fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_content_is_told_from_bad_content() {
        assert_eq!(absent(b"").unwrap().code, Code::FileEmpty);
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
        let diag = absent(pointer).unwrap();
        assert_eq!(diag.code, Code::LfsPointer);
        assert!(diag.hint.as_deref().is_some_and(|hint| hint.contains("git lfs pull")));
        assert_eq!(absent(b"version 1"), None);
    }
}
