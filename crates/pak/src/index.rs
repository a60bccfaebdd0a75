//! Indices of triangles, as narrow as their vertices allow.

use crate::Bytes;
use kiln_format::Array;
use std::borrow::Cow;

/// How wide indices are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IndexType {
    /// One byte.
    U8,
    /// Two bytes.
    U16,
    /// Four bytes.
    U32,
}

/// Three indices for each triangle.
#[derive(Clone, Debug, PartialEq)]
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

    /// Packs indices; `None` when they are not whole triangles.
    pub fn new(indices: &[u32]) -> Option<IndexBuffer> {
        if indices.is_empty() || !indices.len().is_multiple_of(3) {
            return None;
        }
        let (bytes, size): (Vec<u8>, u8) = match indices.iter().max()? {
            0..=0xff => (indices.iter().map(|&i| i as u8).collect(), 1),
            0x100..=0xffff => (indices.iter().flat_map(|&i| (i as u16).to_le_bytes()).collect(), 2),
            _ => (indices.iter().flat_map(|i| i.to_le_bytes()).collect(), 4),
        };
        Some(IndexBuffer::stored(Bytes::copy(&bytes)?, size))
    }

    /// The indices as they are stored.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How wide they are.
    pub fn index_type(&self) -> IndexType {
        self.index_type
    }

    /// How many there are.
    pub fn index_count(&self) -> usize {
        self.bytes.len() / [1, 2, 4][self.index_type as usize]
    }

    /// How many triangles.
    pub fn triangle_count(&self) -> usize {
        self.index_count() / 3
    }

    /// The indices, if they are bytes.
    pub fn as_u8(&self) -> Option<&[u8]> {
        (self.index_type == IndexType::U8).then_some(&self.bytes)
    }

    /// The indices in two bytes, if they fit: where they lie if they are that wide and aligned.
    pub fn as_u16(&self) -> Option<Cow<'_, [u16]>> {
        match self.index_type {
            IndexType::U8 => Some(self.bytes.iter().map(|&index| index.into()).collect()),
            IndexType::U16 => Some(shared(Array::new(&self.bytes))),
            IndexType::U32 => None,
        }
    }

    /// The indices in four bytes: where they lie if they are that wide and aligned.
    pub fn as_u32(&self) -> Cow<'_, [u32]> {
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
    fn indices_come_back_in_every_width() {
        for (last, index_type) in [(2, IndexType::U8), (256, IndexType::U16), (65536, IndexType::U32)] {
            let indices = [0, 1, last, last, 1, 0];
            let buffer = IndexBuffer::new(&indices).unwrap();
            assert_eq!(
                (buffer.index_type(), buffer.index_count(), buffer.triangle_count()),
                (index_type, 6, 2)
            );
            let width = buffer.bytes().len() / 6;
            assert!(buffer.bytes().chunks(width).zip(indices).all(|(b, i)| *b == i.to_le_bytes()[..width]));
            assert_eq!(*buffer.as_u32(), indices);
            assert_eq!(buffer.as_u16().is_some(), last < 65536);
            assert_eq!(buffer.as_u8().is_some(), last < 256);
        }
        assert!(IndexBuffer::new(&[]).is_none() && IndexBuffer::new(&[0, 1]).is_none());
    }
}
