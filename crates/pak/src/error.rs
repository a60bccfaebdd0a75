//! Errors of reading a pak.

use kiln_format::pak::{Codec, Kind};
use std::fmt;
use std::io;

/// An error of reading a pak. It names the asset: by key if it was read by key, otherwise by kind and id.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The pak has no asset of this kind with this key.
    NotFound {
        /// The kind of asset that was requested.
        kind: Kind,
        /// The key that was requested.
        key: String,
        /// The kind of asset that the key names instead, if any.
        found: Option<Kind>,
    },
    /// The pak has no asset of this kind with this id.
    NoSuchId {
        /// The kind of asset that was requested.
        kind: Kind,
        /// The id that was requested.
        id: usize,
    },
    /// The file is not a pak of this version, or its index is inconsistent.
    Format(kiln_format::Error),
    /// The checksum of the header or the index does not match.
    Damaged {
        /// The damaged part: `"header"` or `"index"`.
        part: &'static str,
    },
    /// An asset is damaged, invalid or too large.
    Asset {
        /// The kind of the asset.
        kind: Kind,
        /// The key of the asset, or its id if it was read by id.
        name: String,
        /// The defect of the asset.
        why: Fault,
    },
    /// A delta patch cannot be applied.
    Patch {
        /// The reason.
        why: String,
    },
    /// The signature of the pak is missing or not valid.
    Signature {
        /// The reason.
        why: String,
    },
    /// The file could not be read.
    Io(io::Error),
}

/// A defect of one asset.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The checksum of a block does not match its bytes.
    Checksum {
        /// The index of the block within the asset.
        block: usize,
    },
    /// A block does not decompress to its declared length.
    Codec {
        /// The codec of the asset.
        codec: Codec,
        /// The index of the block within the asset.
        block: usize,
    },
    /// The bytes of a block are not those that were signed.
    Signature {
        /// The index of the block within the asset.
        block: usize,
    },
    /// The blob is not a sound.
    Sound(crate::sound::SoundError),
    /// The payload is not valid for its kind.
    Content(kiln_format::Error),
    /// The asset is larger than [`Options::max_decoded`](crate::Options) or than the available memory.
    TooLarge {
        /// The decoded length in bytes.
        len: u64,
    },
    /// The file could not be read.
    Io(io::Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Checksum { block } => write!(f, "block {block} is damaged: checksum mismatch"),
            Fault::Signature { block } => {
                write!(f, "block {block} was modified: it does not match the signature of the pak")
            }
            Fault::Codec { codec, block } => {
                write!(
                    f,
                    "block {block} is damaged: it does not decompress with {} to its declared length",
                    codec.name()
                )
            }
            Fault::Sound(error) => write!(f, "{error}"),
            Fault::Content(error) => write!(f, "{error}"),
            Fault::TooLarge { len } => {
                write!(f, "the decoded asset has {len} bytes, more than the limit or the available memory")
            }
            Fault::Io(error) => write!(f, "{error}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotFound { kind, key, found: None } => {
                write!(f, "the pak has no {} with the key {key:?}", kind.name())
            }
            Error::NotFound { kind, key, found: Some(found) } => {
                write!(f, "expected the key {key:?} to be a {}, found a {}", kind.name(), found.name())
            }
            Error::NoSuchId { kind, id } => write!(f, "the pak has no {} with the id {id}", kind.name()),
            Error::Format(error) => write!(f, "{error}"),
            Error::Damaged { part } => write!(f, "the {part} of the pak is damaged: checksum mismatch"),
            Error::Asset { kind, name, why } => write!(f, "{} {name}: {why}", kind.name()),
            Error::Patch { why } => write!(f, "cannot apply the patch: {why}"),
            Error::Signature { why } => write!(f, "cannot verify the pak: {why}"),
            Error::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Returns the kind of the I/O error that this error converts to: `InvalidInput` for an unknown key or id,
    /// `OutOfMemory` for an asset beyond the limits, `InvalidData` for a damaged file, and the kind of an I/O error.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Error::NotFound { .. } | Error::NoSuchId { .. } => io::ErrorKind::InvalidInput,
            Error::Io(error) | Error::Asset { why: Fault::Io(error), .. } => error.kind(),
            Error::Asset { why: Fault::TooLarge { .. }, .. } => io::ErrorKind::OutOfMemory,
            _ => io::ErrorKind::InvalidData,
        }
    }

    /// Names the asset by its key in place of its id.
    pub(crate) fn named(self, key: &str) -> Error {
        match self {
            Error::Asset { kind, why, .. } => Error::Asset { kind, name: format!("{key:?}"), why },
            other => other,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io(error)
    }
}

impl From<kiln_format::Error> for Error {
    fn from(error: kiln_format::Error) -> Error {
        Error::Format(error)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        match error {
            Error::Io(error) => error,
            error => io::Error::new(error.kind(), error),
        }
    }
}
