//! The error of readers and writers: the byte offset, the field and the value found.

use core::fmt;

use crate::PathFault;

/// A defect of a file, or of the values to be written to one. `at` is a byte offset from the start of the
/// file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The file ends before a required field.
    Truncated {
        /// The byte offset of the missing bytes.
        at: u64,
        /// The name of the missing field.
        field: &'static str,
        /// The number of bytes that the field needs.
        needed: u64,
        /// The length of the file in bytes.
        len: u64,
    },
    /// The file does not start with the magic of this format.
    Magic {
        /// The first four bytes of the file.
        found: [u8; 4],
        /// The extension of the expected format.
        format: &'static str,
    },
    /// A field holds a value that the format does not allow.
    Value {
        /// The byte offset of the field.
        at: u64,
        /// The name of the field.
        field: &'static str,
        /// The value of the field.
        found: u64,
        /// The values that are allowed.
        expected: &'static str,
    },
    /// A field is inconsistent with the rest of the file.
    Mismatch {
        /// The byte offset of the field.
        at: u64,
        /// The name of the field.
        field: &'static str,
        /// The value of the field.
        found: u64,
        /// The only value that is consistent with the rest of the file.
        expected: u64,
    },
    /// A range given by a record is out of the bounds of the file.
    Range {
        /// The byte offset of the record.
        at: u64,
        /// The name of the range.
        field: &'static str,
        /// The start of the range, as a byte offset.
        start: u64,
        /// The length of the range in bytes.
        size: u64,
        /// The length of the file in bytes.
        len: u64,
    },
    /// A required chunk is missing.
    Missing {
        /// The tag of the chunk.
        chunk: &'static str,
    },
    /// An index is out of range.
    Index {
        /// The byte offset of the field.
        at: u64,
        /// The name of the field.
        field: &'static str,
        /// The index that was found.
        found: u64,
        /// The number of elements; the index must be below it.
        count: u64,
    },
    /// A field is invalid for a reason that one number cannot express.
    Fault {
        /// The byte offset of the field.
        at: u64,
        /// The name of the field.
        field: &'static str,
        /// The reason, as a predicate that follows the name of the field.
        why: &'static str,
    },
    /// A record is out of order.
    Order {
        /// The byte offset of the record.
        at: u64,
        /// The sort key of the records.
        field: &'static str,
    },
    /// A string is not UTF-8.
    Text {
        /// The byte offset of the string.
        at: u64,
        /// The name of the field.
        field: &'static str,
    },
    /// A path cannot be joined to the runtime root.
    Path {
        /// The byte offset of the path.
        at: u64,
        /// The reason for the rejection.
        why: PathFault,
    },
    /// The file has trailing bytes.
    Trailing {
        /// The expected end of the file, as a byte offset.
        at: u64,
        /// The number of trailing bytes.
        extra: u64,
    },
    /// A value is too large for the field it would be written to.
    TooLarge {
        /// The name of the field.
        field: &'static str,
        /// The value to be written.
        found: u64,
        /// The largest value that fits.
        max: u64,
    },
    /// Two paths have the same hash, so neither could be looked up by it.
    #[cfg(feature = "tools")]
    Collision {
        /// The hash of both paths.
        hash: u64,
        /// One of the two paths.
        first: alloc::string::String,
        /// The other path.
        second: alloc::string::String,
    },
    /// A path was passed twice, with different kinds or colour spaces.
    #[cfg(feature = "tools")]
    Conflict {
        /// The path that was passed twice.
        path: alloc::string::String,
    },
    /// A path or key was passed twice.
    #[cfg(feature = "tools")]
    Duplicate {
        /// The path or key that was passed twice.
        path: alloc::string::String,
    },
    /// A path to be written cannot be joined to the runtime root.
    #[cfg(feature = "tools")]
    BadPath {
        /// The path that was rejected.
        path: alloc::string::String,
        /// The reason for the rejection.
        why: PathFault,
    },
    /// Writing a description or dump to its `fmt::Write` failed.
    Sink,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Truncated { at, field, needed, len } => {
                let needed = Count(*needed, "byte", "bytes");
                write!(
                    f,
                    "unexpected end of file: {field} at byte {at} needs {needed}, but the file has {len}"
                )
            }
            Error::Magic { found, format } => {
                write!(f, "not a .{format} file: the first bytes are \"{}\"", found.escape_ascii())
            }
            Error::Value { at, field, found, expected } => {
                write!(f, "{field} at byte {at} must be {expected}, found {found}")
            }
            Error::Mismatch { at, field, found, expected } => write!(
                f,
                "{field} at byte {at} must be {expected} to match the rest of the file, found {found}"
            ),
            Error::Range { at, field, start, size, len } => write!(
                f,
                "the {field} of the record at byte {at} is out of bounds: {} at byte {start} of a file of {}",
                Count(*size, "byte", "bytes"),
                Count(*len, "byte", "bytes"),
            ),
            Error::Missing { chunk } => write!(f, "the required chunk {chunk} is missing"),
            Error::Index { at, field, found, count } => {
                write!(f, "{field} at byte {at} is out of range: it must be below {count}, found {found}")
            }
            Error::Fault { at, field, why } => write!(f, "{field} at byte {at} {why}"),
            Error::Order { at, field } => {
                write!(f, "the record at byte {at} is out of order: records must ascend by {field}")
            }
            Error::Text { at, field } => write!(f, "{field} at byte {at} is not UTF-8"),
            Error::Path { at, why } => write!(f, "the path at byte {at} is invalid: {why}"),
            Error::Trailing { at, extra } => {
                let extra = Count(*extra, "byte", "bytes");
                write!(f, "the file must end at byte {at}, but has {extra} more")
            }
            Error::TooLarge { field, found, max } => {
                write!(f, "{field} must be at most {max}, found {found}")
            }
            #[cfg(feature = "tools")]
            Error::Collision { hash, first, second } => {
                write!(f, "{first:?} and {second:?} have the same hash {hash:#018x}: rename one of them")
            }
            #[cfg(feature = "tools")]
            Error::Conflict { path } => {
                write!(f, "{path:?} is listed twice with different kinds or colour spaces")
            }
            #[cfg(feature = "tools")]
            Error::Duplicate { path } => write!(f, "{path:?} is listed twice"),
            #[cfg(feature = "tools")]
            Error::BadPath { path, why } => write!(f, "the path {path:?} is invalid: {why}"),
            Error::Sink => f.write_str("the output could not be written"),
        }
    }
}

/// Displays a number with the right noun: singular, plural.
pub(crate) struct Count(pub(crate) u64, pub(crate) &'static str, pub(crate) &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { self.1 } else { self.2 })
    }
}

impl core::error::Error for Error {}

/// Fails unless the field has the one value that is consistent with the rest of the file.
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

/// Fails unless `found` is a valid index into `count` elements.
pub(crate) fn below(
    at: u64,
    field: &'static str,
    found: impl Into<u64>,
    count: impl Into<u64>,
) -> Result<(), Error> {
    let (found, count) = (found.into(), count.into());
    if found < count { Ok(()) } else { Err(Error::Index { at, field, found, count }) }
}

/// Returns a number as the 32-bit field of a file.
///
/// # Errors
///
/// [`Error::TooLarge`] if the number exceeds 2³²−1.
#[cfg(feature = "tools")]
pub fn count_u32(field: &'static str, number: usize) -> Result<u32, Error> {
    u32::try_from(number).map_err(|_| Error::TooLarge { field, found: number as u64, max: u32::MAX.into() })
}

impl From<fmt::Error> for Error {
    fn from(_: fmt::Error) -> Self {
        Error::Sink
    }
}
