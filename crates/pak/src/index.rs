//! Index buffers of triangle lists, in the narrowest type that holds the largest index.

use crate::Bytes;
use kiln_format::Array;
use std::borrow::Cow;
use std::fmt;

/// The integer type of the indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IndexType {
    /// Indices are 8-bit unsigned integers.
    U8,
    /// Indices are 16-bit unsigned integers.
    U16,
    /// Indices are 32-bit unsigned integers.
    U32,
}

impl IndexType {
    /// Returns the size of an index in bytes.
    pub const fn stride(self) -> usize {
        match self {
            IndexType::U8 => 1,
            IndexType::U16 => 2,
            IndexType::U32 => 4,
        }
    }
}

/// The error of indices that are no triangle list: none, or not a multiple of 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidIndexCount(
    /// The number of indices.
    pub usize,
);

impl fmt::Display for InvalidIndexCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the number of indices must be a positive multiple of 3, got {}", self.0)
    }
}

impl std::error::Error for InvalidIndexCount {}

/// The indices of a triangle list, three per triangle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexBuffer {
    bytes: Bytes,
    index_type: IndexType,
}

impl IndexBuffer {
    pub(crate) fn stored(bytes: Bytes, index_size: u8) -> IndexBuffer {
        let index_type = match index_size {
            1 => IndexType::U8,
            2 => IndexType::U16,
            _ => IndexType::U32,
        };
        IndexBuffer { bytes, index_type }
    }

    /// Stores indices in the narrowest type.
    ///
    /// # Errors
    /// [`InvalidIndexCount`] if the list is empty or its length is not a multiple of 3.
    pub fn new(indices: &[u32]) -> Result<IndexBuffer, InvalidIndexCount> {
        match indices.is_empty() || !indices.len().is_multiple_of(3) {
            true => Err(InvalidIndexCount(indices.len())),
            false => Ok(IndexBuffer::narrowest(indices)),
        }
    }

    /// Stores any number of indices in the narrowest type.
    pub(crate) fn narrowest(indices: &[u32]) -> IndexBuffer {
        let (bytes, size): (Vec<u8>, u8) = match indices.iter().max().copied().unwrap_or(0) {
            0..=0xff => (indices.iter().map(|&i| i as u8).collect(), 1),
            0x100..=0xffff => (indices.iter().flat_map(|&i| (i as u16).to_le_bytes()).collect(), 2),
            _ => (indices.iter().flat_map(|i| i.to_le_bytes()).collect(), 4),
        };
        IndexBuffer::stored(Bytes::from_vec(bytes), size)
    }

    /// Returns the indices as little-endian bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the integer type of the indices.
    pub fn index_type(&self) -> IndexType {
        self.index_type
    }

    /// Returns the number of indices.
    pub fn index_count(&self) -> usize {
        self.bytes.len() / self.index_type.stride()
    }

    /// Returns the number of triangles.
    pub fn triangle_count(&self) -> usize {
        self.index_count() / 3
    }

    /// Returns a copy of the indices if their type is [`IndexType::U8`].
    pub fn as_u8(&self) -> Option<Vec<u8>> {
        self.u8_indices().map(<[u8]>::to_vec)
    }

    /// Returns a copy of the indices as 16-bit integers if they fit.
    pub fn as_u16(&self) -> Option<Vec<u16>> {
        self.u16_indices().map(Cow::into_owned)
    }

    /// Returns a copy of the indices as 32-bit integers.
    pub fn as_u32(&self) -> Vec<u32> {
        self.u32_indices().into_owned()
    }

    /// Returns the indices zero-copy if their type is [`IndexType::U8`].
    pub fn u8_indices(&self) -> Option<&[u8]> {
        (self.index_type == IndexType::U8).then_some(&self.bytes)
    }

    /// Returns the indices as 16-bit integers if they fit. Zero-copy if they are stored as such and aligned.
    pub fn u16_indices(&self) -> Option<Cow<'_, [u16]>> {
        match self.index_type {
            IndexType::U8 => Some(self.bytes.iter().map(|&index| index.into()).collect()),
            IndexType::U16 => Some(shared(Array::new(&self.bytes))),
            IndexType::U32 => None,
        }
    }

    /// Returns the indices as 32-bit integers. Zero-copy if they are stored as such and aligned.
    pub fn u32_indices(&self) -> Cow<'_, [u32]> {
        match self.index_type {
            IndexType::U8 => self.bytes.iter().map(|&index| index.into()).collect(),
            IndexType::U16 => Array::<u16>::new(&self.bytes).iter().map(u32::from).collect(),
            IndexType::U32 => shared(Array::new(&self.bytes)),
        }
    }
}

fn shared<T: kiln_format::Pod>(array: Array<'_, T>) -> Cow<'_, [T]> {
    array.as_slice().map_or_else(|| array.iter().collect(), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_round_trip_in_every_type() {
        for (last, index_type) in [(2, IndexType::U8), (256, IndexType::U16), (65536, IndexType::U32)] {
            let indices = [0, 1, last, last, 1, 0];
            let buffer = IndexBuffer::new(&indices).unwrap();
            assert_eq!(
                (buffer.index_type(), buffer.index_count(), buffer.triangle_count()),
                (index_type, 6, 2)
            );
            let width = buffer.bytes().len() / 6;
            assert!(buffer.bytes().chunks(width).zip(indices).all(|(b, i)| *b == i.to_le_bytes()[..width]));
            assert_eq!(buffer.as_u32(), indices);
            assert_eq!(*buffer.u32_indices(), indices);
            assert_eq!(buffer.as_u16().is_some(), last < 65536);
            assert_eq!(buffer.as_u8().is_some(), last < 256);
        }
        assert_eq!(IndexBuffer::new(&[]), Err(InvalidIndexCount(0)));
        assert_eq!(IndexBuffer::new(&[0, 1]), Err(InvalidIndexCount(2)));
    }
}
