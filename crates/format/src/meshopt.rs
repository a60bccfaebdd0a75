//! Decoders of meshoptimizer's streams: vertices, triangle lists and index sequences, versions 0 and 1.
//!
//! The streams are those of `EXT_meshopt_compression` (version 0 of vertices) and `KHR_meshopt_compression`. Nothing is
//! allocated, and no stream makes a decoder panic: one that is damaged is an error, or other vertices and indices,
//! which the caller checks as those of any file.

mod indices;
mod vertices;

pub use self::indices::{decode_index_sequence, decode_triangles};
pub use self::vertices::decode_vertices;
pub(crate) use self::vertices::is_stride;

/// A defect of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamError {
    /// The size of a vertex or of the output is not one that a stream can have.
    Size,
    /// The first byte is not that of such a stream, or its version is unknown.
    Header,
    /// The stream ends before the last element.
    Truncated,
    /// The stream has other bytes after the last element.
    Trailing,
    /// A channel of vertices has an unknown kind.
    Channel,
    /// An index is larger than its type.
    Index,
}

impl StreamError {
    /// Returns the reason as a predicate: "ends before its last element".
    pub const fn why(self) -> &'static str {
        match self {
            StreamError::Size => "has elements of a size that no such stream has",
            StreamError::Header => "does not start with the byte of a known version",
            StreamError::Truncated => "ends before its last element",
            StreamError::Trailing => "has trailing bytes after its last element",
            StreamError::Channel => "has a channel of an unknown kind",
            StreamError::Index => "has an index that is larger than its type",
        }
    }
}

impl core::fmt::Display for StreamError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the meshopt stream {}", self.why())
    }
}

impl core::error::Error for StreamError {}
