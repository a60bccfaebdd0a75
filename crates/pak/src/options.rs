//! Options for reading a pak.

use std::num::NonZero;

/// Options for reading a pak.
///
/// ```
/// let options = pak::Options::default().checksums(false).max_decoded(256 << 20);
/// assert!(!options.checksums);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Verifies the block checksums of an asset when it is read. The checksums of header and index are always
    /// verified. Default: `true`.
    pub checksums: bool,
    /// The largest asset to decode or to copy into memory, in bytes. Zero-copy content does not count, and
    /// [`stream_blob`](crate::Pak::stream_blob) has no limit. A file of 100 KB may declare an asset of any size.
    /// Default: 512 MiB.
    pub max_decoded: u64,
    /// The number of threads that decode a large asset; `None` for one per core.
    pub threads: Option<NonZero<usize>>,
    /// Maps files into memory. Otherwise [`PakBuf::open`](crate::PakBuf::open) reads assets into memory on demand.
    /// Default: `true`.
    ///
    /// Mapped content is zero-copy, but if another program truncates the file while it is open, the system ends the
    /// process on the next access (`SIGBUS`). Without a mapping, reading returns an error. Baking never truncates a pak:
    /// it renames a new file into place. Choose `false` where files are replaced by other means, such as an updater that
    /// writes into the installation of a running game, or a network drive.
    pub mapped: bool,
}

impl Options {
    /// Sets whether block checksums are verified.
    #[must_use]
    pub fn checksums(mut self, checksums: bool) -> Options {
        self.checksums = checksums;
        self
    }

    /// Sets the largest asset to decode, in bytes.
    #[must_use]
    pub fn max_decoded(mut self, max_decoded: u64) -> Options {
        self.max_decoded = max_decoded;
        self
    }

    /// Sets whether files are mapped into memory.
    #[must_use]
    pub fn mapped(mut self, mapped: bool) -> Options {
        self.mapped = mapped;
        self
    }

    /// Sets the number of decoding threads; `None` for one per core.
    #[must_use]
    pub fn threads(mut self, threads: Option<NonZero<usize>>) -> Options {
        self.threads = threads;
        self
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { checksums: true, max_decoded: 512 << 20, threads: None, mapped: true }
    }
}
