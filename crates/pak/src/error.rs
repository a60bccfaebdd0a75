//! Why something could not be read.

use kiln_format::pak::{Codec, Kind};
use std::fmt;
use std::io;

/// What went wrong. It names the asset: by its key where it was asked for by key, else by kind and number.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// There is no asset of this kind under this key.
    NotFound {
        /// What was asked for.
        kind: Kind,
        /// Under which key.
        key: String,
        /// What the key names instead, if anything.
        found: Option<Kind>,
    },
    /// There is no asset of this kind with this number.
    NoSuchId {
        /// What was asked for.
        kind: Kind,
        /// With which number.
        id: usize,
    },
    /// The file is not a pak of this version, or its index contradicts itself.
    Format(kiln_format::Error),
    /// The header or the index is not what was written.
    Damaged {
        /// Which of them.
        part: &'static str,
    },
    /// An asset is not what was written: a checksum differs, or its content contradicts itself.
    Asset {
        /// What it is.
        kind: Kind,
        /// Its key, or its number where it was asked for by that.
        name: String,
        /// What is wrong with it.
        why: Fault,
    },
    /// The file could not be read.
    Io(io::Error),
}

/// What is wrong with an asset.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault {
    /// A block's checksum is not that of its bytes.
    Checksum {
        /// Which block.
        block: usize,
    },
    /// A block does not decode to what was declared.
    Codec {
        /// How it should be packed.
        codec: Codec,
        /// Which block.
        block: usize,
    },
    /// The content is not what its kind demands.
    Content(kiln_format::Error),
    /// It would take more memory than is allowed, or than there is.
    TooLarge {
        /// How many bytes it would be.
        len: u64,
    },
    /// The file could not be read.
    Io(io::Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Checksum { block } => write!(f, "block {block} is damaged: its checksum differs"),
            Fault::Codec { codec, block } => {
                write!(f, "block {block} is damaged: it is not {} data of the declared length", codec.name())
            }
            Fault::Content(error) => write!(f, "{error}"),
            Fault::TooLarge { len } => {
                write!(f, "it takes {len} bytes, which is more than is allowed or there is")
            }
            Fault::Io(error) => write!(f, "{error}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotFound { kind, key, found: None } => write!(f, "there is no {} {key:?}", kind.name()),
            Error::NotFound { kind, key, found: Some(found) } => {
                write!(f, "{key:?} is no {}, but a {}", kind.name(), found.name())
            }
            Error::NoSuchId { kind, id } => write!(f, "there is no {} with the number {id}", kind.name()),
            Error::Format(error) => write!(f, "{error}"),
            Error::Damaged { part } => write!(f, "the {part} is damaged: its checksum differs"),
            Error::Asset { kind, name, why } => write!(f, "{} {name}: {why}", kind.name()),
            Error::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// The same about an asset that was asked for by key.
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
        let kind = match &error {
            Error::NotFound { .. } | Error::NoSuchId { .. } => io::ErrorKind::NotFound,
            Error::Io(error) => error.kind(),
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}
