//! What every format can do, so that `info`, `check`, `pack`, `--verify` and the tests can walk
//! [`FORMATS`](crate::FORMATS) and name none.

use crate::hpack::PackKind;
use crate::{Error, FORMATS, paths};

pub(crate) mod sealed {
    /// Keeps [`Format`](super::Format) free to grow: only this crate implements it.
    pub trait Sealed {}
}

/// One kind of runtime file.
///
/// Every method is total: any bytes whatever give an answer or an [`Error`], in time and memory bounded by
/// their length.
pub trait Format: Sync + sealed::Sealed {
    /// The stem of its module and its document: `ktx2`.
    fn name(&self) -> &'static str;

    /// Its file extension, without the dot.
    fn ext(&self) -> &'static str;

    /// The first bytes of every such file, which no other format starts with.
    fn magic(&self) -> &'static [u8];

    /// What a listing calls several of them: `textures`.
    fn title(&self) -> &'static str;

    /// How a pack tags such a file.
    fn pack_kind(&self) -> PackKind;

    /// What one of them is called: `texture`.
    fn noun(&self) -> &'static str {
        self.pack_kind().name()
    }

    /// Checks everything that can be checked in the file alone: more than its reader, which leaves out what
    /// no accessor depends on.
    fn verify(&self, bytes: &[u8]) -> Result<(), Error>;

    /// One line for a person, without the file's name and size.
    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error>;

    /// Named facts for a program, always in the same order.
    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error>;

    /// All there is to say about the file as text, one fact a line; long payloads as their length and hash.
    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error>;

    /// The records it is made of, as the document's tables have them.
    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout];

    /// Checks what the file says about other files; `path` is its own, relative to the runtime root.
    #[cfg(feature = "tools")]
    fn cross(
        &self,
        path: &str,
        bytes: &[u8],
        at: &dyn Lookup,
        bad: &mut dyn FnMut(Problem),
    ) -> Result<(), Error> {
        let _ = (path, bytes, at, bad);
        Ok(())
    }
}

/// The format of a file by the extension of its path, which is matched as written.
pub fn by_path(path: &str) -> Option<&'static dyn Format> {
    let ext = paths::extension(path)?;
    FORMATS.iter().copied().find(|format| format.ext() == ext)
}

/// A fact about one file.
#[cfg(feature = "tools")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fact<'a> {
    /// A count that adds up over files: the totals of `info`.
    Total(u64),
    /// A number that means something for this file only.
    Number(u64),
    /// A word or name.
    Text(&'a str),
    /// Several things of one kind, each with facts of its own.
    Rows(&'a [&'a [(&'static str, Fact<'a>)]]),
}

/// The files a set of runtime files consists of, by path relative to the runtime root: a directory or a pack.
#[cfg(feature = "tools")]
pub trait Lookup {
    /// The length of a file, or `None` when there is none.
    fn size(&self, path: &str) -> Option<u64>;

    /// The content of a file, or `None` when it cannot be had.
    fn bytes(&self, path: &str) -> Option<alloc::borrow::Cow<'_, [u8]>>;
}

/// A disagreement between files.
#[cfg(feature = "tools")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Stable, kebab-case, listed in `docs/diagnostics.md`.
    pub code: kiln_diagnostics::Code,
    /// What is wrong, with the values found.
    pub message: alloc::string::String,
    /// What to do about it.
    pub hint: &'static str,
}

/// The layout of one record, for the test that holds the documents to it.
#[cfg(feature = "tools")]
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Its name.
    pub name: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// Its fields, in file order.
    pub fields: &'static [Field],
}

/// One field of a [`Layout`].
#[cfg(feature = "tools")]
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Bytes from the start of the record.
    pub offset: usize,
    /// Its size in bytes.
    pub size: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_found_by_extension() {
        for format in FORMATS {
            let path = std::format!("models/a.b.{}", format.ext());
            assert_eq!(by_path(&path).map(Format::name), Some(format.name()));
            assert_eq!(PackKind::from_path(&path), format.pack_kind(), "{path}");
        }
        for path in ["ktx2", ".ktx2", "a.KTX2", "a.png", "a", ""] {
            assert!(by_path(path).is_none(), "{path}");
        }
    }

    #[test]
    fn names_are_unique() {
        for (i, a) in FORMATS.iter().enumerate() {
            for b in &FORMATS[..i] {
                assert!(a.name() != b.name() && a.ext() != b.ext() && a.title() != b.title());
                assert!(!a.magic().starts_with(b.magic()) && !b.magic().starts_with(a.magic()));
            }
        }
    }
}
