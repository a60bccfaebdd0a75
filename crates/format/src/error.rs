//! Why a file is not what it should be, or cannot be written: the place, the field, the value found.

use core::fmt;

use crate::PathFault;

/// A defect of a file, or of what was to be written to one. `at` is a byte offset from the start of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The file ends before something it must hold.
    Truncated {
        /// Where the missing bytes begin.
        at: u64,
        /// What they would be.
        field: &'static str,
        /// How many were needed.
        needed: u64,
        /// The length of the file.
        len: u64,
    },
    /// The file does not start as one of this format.
    Magic {
        /// Its first four bytes.
        found: [u8; 4],
        /// The extension of the format it was read as.
        format: &'static str,
    },
    /// A field holds a value that the format does not allow.
    Value {
        /// Where the field is.
        at: u64,
        /// Its name.
        field: &'static str,
        /// What it holds.
        found: u64,
        /// What it may hold.
        expected: &'static str,
    },
    /// A field disagrees with what the rest of the file makes it.
    Mismatch {
        /// Where the field is.
        at: u64,
        /// Its name.
        field: &'static str,
        /// What it holds.
        found: u64,
        /// What it must hold.
        expected: u64,
    },
    /// A range that a record names does not lie in the file.
    Range {
        /// Where the record is.
        at: u64,
        /// What the range holds.
        field: &'static str,
        /// Where it would start.
        start: u64,
        /// How long it would be.
        size: u64,
        /// The length of the file.
        len: u64,
    },
    /// A chunk that the file must hold is not there.
    Missing {
        /// Its name.
        chunk: &'static str,
    },
    /// A field names something by a number that nothing has.
    Index {
        /// Where the field is.
        at: u64,
        /// Its name.
        field: &'static str,
        /// The number.
        found: u64,
        /// How many there are to name.
        count: u64,
    },
    /// A field is wrong in a way that takes more than one number to tell.
    Fault {
        /// Where the field is.
        at: u64,
        /// Its name.
        field: &'static str,
        /// What is wrong, as the rest of a sentence.
        why: &'static str,
    },
    /// A record does not come after the one before it.
    Order {
        /// Where the record is.
        at: u64,
        /// What the records are sorted by.
        field: &'static str,
    },
    /// A text is not UTF-8.
    Text {
        /// Where it is.
        at: u64,
        /// What it is.
        field: &'static str,
    },
    /// A path is not one that can be joined to the runtime root.
    Path {
        /// Where it is.
        at: u64,
        /// What is wrong with it.
        why: PathFault,
    },
    /// There are bytes after the end.
    Trailing {
        /// Where the file should end.
        at: u64,
        /// How many bytes follow.
        extra: u64,
    },
    /// A value does not fit the field it would be written to.
    TooLarge {
        /// The field.
        field: &'static str,
        /// The value.
        found: u64,
        /// The largest that fits.
        max: u64,
    },
    /// Two paths would share one hash, so that neither could be found by it.
    #[cfg(feature = "tools")]
    Collision {
        /// The hash.
        hash: u64,
        /// One path.
        first: alloc::string::String,
        /// The other.
        second: alloc::string::String,
    },
    /// One path was given twice, with different facts about it.
    #[cfg(feature = "tools")]
    Conflict {
        /// The path.
        path: alloc::string::String,
    },
    /// One path was given twice.
    #[cfg(feature = "tools")]
    Duplicate {
        /// The path.
        path: alloc::string::String,
    },
    /// A path to be written cannot be joined to the runtime root.
    #[cfg(feature = "tools")]
    BadPath {
        /// The path.
        path: alloc::string::String,
        /// What is wrong with it.
        why: PathFault,
    },
    /// The sink of a description or dump refused to take more.
    Sink,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Truncated { at, field, needed, len } => {
                write!(f, "the file ends at byte {len}, but {field} at byte {at} needs {needed}")?;
                f.write_str(if *needed == 1 { " byte" } else { " bytes" })
            }
            Error::Magic { found, format } => {
                write!(f, "not a .{format} file: it starts with \"{}\"", found.escape_ascii())
            }
            Error::Value { at, field, found, expected } => {
                write!(f, "{field} at byte {at} is {found}, but must be {expected}")
            }
            Error::Mismatch { at, field, found, expected } => {
                write!(f, "{field} at byte {at} is {found}, but must be {expected} here")
            }
            Error::Range { at, field, start, size, len } => write!(
                f,
                "the record at byte {at} puts its {field} at byte {start} with {size} bytes, \
                 but the file has {len}"
            ),
            Error::Missing { chunk } => write!(f, "the chunk {chunk} is missing"),
            Error::Index { at, field, found, count } => {
                write!(f, "{field} at byte {at} is {found}, but must be below {count}")
            }
            Error::Fault { at, field, why } => write!(f, "{field} at byte {at} {why}"),
            Error::Order { at, field } => {
                write!(f, "the record at byte {at} does not sort after the one before it by {field}")
            }
            Error::Text { at, field } => write!(f, "{field} at byte {at} is not UTF-8"),
            Error::Path { at, why } => write!(f, "the path at byte {at} is refused: {why}"),
            Error::Trailing { at, extra } => {
                write!(f, "the file should end at byte {at}, but {extra} more follow")
            }
            Error::TooLarge { field, found, max } => {
                write!(f, "{field} would be {found}, but its field holds at most {max}")
            }
            #[cfg(feature = "tools")]
            Error::Collision { hash, first, second } => {
                write!(f, "{first:?} and {second:?} share the hash {hash:#018x}: rename one of them")
            }
            #[cfg(feature = "tools")]
            Error::Conflict { path } => {
                write!(f, "{path:?} is listed twice with different kinds or colour spaces")
            }
            #[cfg(feature = "tools")]
            Error::Duplicate { path } => write!(f, "{path:?} is listed twice"),
            #[cfg(feature = "tools")]
            Error::BadPath { path, why } => write!(f, "the path {path:?} is refused: {why}"),
            Error::Sink => f.write_str("the text could not be written"),
        }
    }
}

impl core::error::Error for Error {}

/// Fails unless the field has the one value that the rest of the file leaves it.
pub(crate) fn equal(
    at: u64,
    field: &'static str,
    found: impl Into<u64>,
    expected: impl Into<u64>,
) -> Result<(), Error> {
    let (found, expected) = (found.into(), expected.into());
    if found == expected { Ok(()) } else { Err(Error::Mismatch { at, field, found, expected }) }
}

/// Fails unless all numbers are finite.
pub(crate) fn finite(at: u64, field: &'static str, numbers: &[f32]) -> Result<(), Error> {
    let fine = numbers.iter().all(|n| n.is_finite());
    if fine { Ok(()) } else { Err(Error::Fault { at, field, why: "is not finite" }) }
}

/// Fails unless the field names one of `count` things.
pub(crate) fn below(
    at: u64,
    field: &'static str,
    found: impl Into<u64>,
    count: impl Into<u64>,
) -> Result<(), Error> {
    let (found, count) = (found.into(), count.into());
    if found < count { Ok(()) } else { Err(Error::Index { at, field, found, count }) }
}

impl From<fmt::Error> for Error {
    fn from(_: fmt::Error) -> Self {
        Error::Sink
    }
}
