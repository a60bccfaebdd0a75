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
    /// The largest asset to decode, in bytes. Zero-copy content does not count. Default: 4 GiB.
    pub max_decoded: u64,
    /// The number of threads that decode a large asset; `None` for one per core.
    pub threads: Option<NonZero<usize>>,
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

    /// Sets the number of decoding threads; `None` for one per core.
    #[must_use]
    pub fn threads(mut self, threads: Option<NonZero<usize>>) -> Options {
        self.threads = threads;
        self
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { checksums: true, max_decoded: 4 << 30, threads: None }
    }
}
