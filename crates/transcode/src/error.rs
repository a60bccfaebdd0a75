//! Errors of the transcoder.

use core::fmt;

/// An error of the transcoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A block is not a UASTC block: its mode is the reserved one, or its partition pattern does not exist.
    Block {
        /// The index of the block in the image.
        index: usize,
    },
    /// The input does not have the length of the image.
    InputLength {
        /// The length of the image in bytes.
        expected: usize,
        /// The length of the input in bytes.
        found: usize,
    },
    /// The output does not have the length of the image in the format.
    OutputLength {
        /// The length of the image in bytes.
        expected: usize,
        /// The length of the output in bytes.
        found: usize,
    },
    /// The image exceeds the address space.
    TooLarge,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block { index } => write!(f, "block {index} is not a UASTC block"),
            Self::InputLength { expected, found } => {
                write!(f, "the image has {expected} bytes of UASTC blocks, got {found}")
            }
            Self::OutputLength { expected, found } => {
                write!(f, "the transcoded image has {expected} bytes, the output {found}")
            }
            Self::TooLarge => write!(f, "the image exceeds the address space"),
        }
    }
}

impl core::error::Error for Error {}
