//! The [`Format`] trait, by which `info`, `check`, `pack`, `--verify` and the tests work on all
//! [`FORMATS`](crate::FORMATS) without naming any.

use crate::hpack::PackKind;
use crate::{Error, FORMATS, paths};

/// The constant facts of a format.
#[derive(Clone, Copy, Debug)]
pub struct FormatId {
    pub(crate) name: &'static str,
    pub(crate) magic: &'static [u8],
    pub(crate) title: &'static str,
    pub(crate) noun: &'static str,
    pub(crate) kind: PackKind,
}

/// The supertrait that seals [`Format`]: methods can be added without breaking other crates.
pub trait Identified {
    /// Returns the constant facts that the accessors of [`Format`] read.
    fn id(&self) -> FormatId;
}

/// Declares the entry of a format in [`FORMATS`], with its constant facts.
macro_rules! format_entry {
    ($Entry:ident, $id:expr) => {
        /// The entry of this format in [`FORMATS`](crate::FORMATS).
        #[derive(Clone, Copy, Debug)]
        pub struct $Entry;

        impl crate::table::Identified for $Entry {
            fn id(&self) -> FormatId {
                $id
            }
        }
    };
}
pub(crate) use format_entry;

/// A runtime format.
///
/// Every method is total: any bytes give a result or an [`Error`], in time and memory bounded by their
/// length.
pub trait Format: Identified + Sync {
    /// Returns the name of the format's module and document: `ktx2`.
    fn name(&self) -> &'static str {
        self.id().name
    }

    /// Returns the file extension without the dot, which is the name of the format.
    fn ext(&self) -> &'static str {
        self.id().name
    }

    /// Returns the magic: the first bytes of every such file, which no other format starts with.
    fn magic(&self) -> &'static [u8] {
        self.id().magic
    }

    /// Returns the plural name for headings: `textures`.
    fn title(&self) -> &'static str {
        self.id().title
    }

    /// Returns the kind of such a file in a pack.
    fn pack_kind(&self) -> PackKind {
        self.id().kind
    }

    /// Returns the singular name: `texture`.
    fn noun(&self) -> &'static str {
        self.id().noun
    }

    /// Checks everything that can be checked in the file alone: more than the reader, which skips what no
    /// accessor depends on.
    ///
    /// # Errors
    ///
    /// [`Error`] at the first defect.
    fn verify(&self, bytes: &[u8]) -> Result<(), Error>;

    /// Writes a one-line description for people, without the file's name and size.
    ///
    /// # Errors
    ///
    /// [`Error`] if the file is invalid, or [`Error::Sink`] if writing fails.
    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error>;

    /// Reports named facts for programs, always in the same order.
    ///
    /// # Errors
    ///
    /// [`Error`] if the file is invalid.
    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error>;

    /// Writes a full dump as text, one fact per line; long payloads as their length and hash.
    ///
    /// # Errors
    ///
    /// [`Error`] if the file is invalid, or [`Error::Sink`] if writing fails.
    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error>;

    /// Returns the layouts of the records of the format, as in the tables of its document.
    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout];

    /// Reports the Zstandard frames of a valid file, which [`verify`](Format::verify) does not decode.
    ///
    /// # Errors
    ///
    /// [`Error`] if the file is invalid.
    #[cfg(feature = "tools")]
    fn zstd_frames(&self, bytes: &[u8], each: &mut dyn FnMut(ZstdFrame<'_>)) -> Result<(), Error> {
        let _ = (bytes, each);
        Ok(())
    }

    /// Checks the references to other files and reports each problem to `bad`; `path` is the file's own path,
    /// relative to the runtime root.
    ///
    /// # Errors
    ///
    /// [`Error`] if the file itself is invalid.
    #[cfg(feature = "tools")]
    fn check_references(
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

/// Returns the format of a file by the extension of its path, which is case-sensitive.
pub fn by_path(path: &str) -> Option<&'static dyn Format> {
    let ext = paths::extension(path)?;
    FORMATS.iter().copied().find(|format| format.ext() == ext)
}

/// The name of the [fact](Format::facts) with the GPU memory of a file in bytes: the texels or the buffers that an
/// engine uploads. UASTC counts as BC7 or ASTC 4x4, which it is transcoded to at load time.
#[cfg(feature = "tools")]
pub const GPU_BYTES: &str = "gpu_bytes";

/// A Zstandard frame in a file.
#[cfg(feature = "tools")]
#[derive(Clone, Copy, Debug)]
pub struct ZstdFrame<'a> {
    /// The byte offset of the frame in the file.
    pub offset: u64,
    /// The frame.
    pub bytes: &'a [u8],
    /// The length of its content in bytes.
    pub content_len: u64,
}

/// A fact about one file.
#[cfg(feature = "tools")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fact<'a> {
    /// A count that can be summed over files, as in the totals of `info`.
    Total(u64),
    /// A number that is meaningful for this file only.
    Number(u64),
    /// A string: a word or a name.
    Text(&'a str),
    /// Several items of one kind, each with its own facts.
    Rows(&'a [&'a [(&'static str, Fact<'a>)]]),
}

/// Access to a set of runtime files by path relative to the runtime root: a directory or a pack.
#[cfg(feature = "tools")]
pub trait Lookup {
    /// Returns the length of a file in bytes; `None` if it does not exist.
    fn size(&self, path: &str) -> Option<u64>;

    /// Returns the contents of a file; `None` if it does not exist or cannot be read.
    fn bytes(&self, path: &str) -> Option<alloc::borrow::Cow<'_, [u8]>>;

    /// Returns whether there is a texture whose path, relative to one of the directories above it, has this
    /// [hash](crate::refs::hash_runtime_path). It takes the place of a manifest where there is none: files that were
    /// compiled one by one can be anywhere below the files' root.
    fn has_texture(&self, hash: u64) -> bool {
        let _ = hash;
        false
    }
}

#[cfg(feature = "tools")]
impl dyn Lookup + '_ {
    /// Returns the path of a companion file, which has the same path with another extension, and what `read` finds in
    /// it; `None` if there is no such file. A companion that cannot be read is reported for itself.
    pub(crate) fn companion<T>(
        &self,
        path: &str,
        ext: &str,
        read: impl FnOnce(&[u8]) -> Result<T, Error>,
    ) -> (alloc::string::String, Result<Option<T>, Error>) {
        let companion = alloc::format!("{}.{ext}", paths::stem(path));
        let found = self.bytes(&companion).map(|bytes| read(&bytes)).transpose();
        (companion, found)
    }
}

/// An inconsistency between files.
#[cfg(feature = "tools")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The diagnostic code, listed in `docs/reference/diagnostics.md`.
    pub code: kiln_diagnostics::Code,
    /// The message, with the values found.
    pub message: alloc::string::String,
    /// The fix to suggest.
    pub hint: &'static str,
}

/// The layout of one record, for the test that compares it with the format's document.
#[cfg(feature = "tools")]
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Layout {
    /// The name of the record.
    pub name: &'static str,
    /// The size in bytes.
    pub size: usize,
    /// The fields, in file order.
    pub fields: &'static [Field],
}

/// One field of a [`Layout`].
#[cfg(feature = "tools")]
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Field {
    /// The name of the field.
    pub name: &'static str,
    /// Offset from the start of the record in bytes.
    pub offset: usize,
    /// The size in bytes.
    pub size: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_path_matches_extension() {
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
    fn format_names_are_unique() {
        for (i, a) in FORMATS.iter().enumerate() {
            for b in &FORMATS[..i] {
                assert!(a.name() != b.name() && a.ext() != b.ext() && a.title() != b.title());
                assert!(!a.magic().starts_with(b.magic()) && !b.magic().starts_with(a.magic()));
            }
        }
    }
}
