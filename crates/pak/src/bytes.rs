//! Reference-counted byte slices: part of a memory-mapped file, of a `'static` slice, or of the heap buffer that an asset
//! was decoded into.

use crate::aligned::Aligned;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// The backing storage of a byte slice.
pub(crate) enum Owner {
    Map(memmap2::Mmap),
    Static(&'static [u8]),
    Heap(Aligned),
}

impl Owner {
    pub(crate) fn all(&self) -> &[u8] {
        match self {
            Owner::Map(map) => map,
            Owner::Static(bytes) => bytes,
            Owner::Heap(memory) => memory,
        }
    }
}

/// A reference-counted byte slice, cheap to clone. The content of an asset is aligned to 16 bytes.
#[derive(Clone)]
pub struct Bytes {
    owner: Arc<Owner>,
    range: Range<usize>,
}

impl Bytes {
    pub(crate) fn all(owner: Arc<Owner>) -> Bytes {
        let range = 0..owner.all().len();
        Bytes { owner, range }
    }

    pub(crate) fn heap(memory: Aligned) -> Bytes {
        Bytes::all(Arc::new(Owner::Heap(memory)))
    }

    /// Copies bytes into an aligned heap buffer; `None` if the allocation fails.
    pub(crate) fn copy(bytes: &[u8]) -> Option<Bytes> {
        let mut memory = Aligned::zeroed(bytes.len())?;
        memory.copy_from_slice(bytes);
        Some(Bytes::heap(memory))
    }

    /// Moves bytes of the heap into an aligned buffer.
    ///
    /// # Panics
    /// If there is no memory for the copy.
    pub(crate) fn from_vec(bytes: Vec<u8>) -> Bytes {
        Bytes::copy(&bytes).expect("memory for a copy of a list that is in memory")
    }

    /// Returns a subslice; empty if the range is out of bounds.
    pub fn slice(&self, range: Range<usize>) -> Bytes {
        let inside = range.start <= range.end && range.end <= self.range.len();
        let range = if inside { range } else { 0..0 };
        Bytes {
            owner: self.owner.clone(),
            range: self.range.start + range.start..self.range.start + range.end,
        }
    }

    /// Returns `true` if the bytes are zero-copy: part of the memory-mapped file or `'static` slice, neither copied nor
    /// decoded.
    pub fn is_in_place(&self) -> bool {
        !matches!(*self.owner, Owner::Heap(_))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.owner.all().get(self.range.clone()).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Bytes {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for Bytes {}

impl PartialEq<Bytes> for Vec<u8> {
    fn eq(&self, other: &Bytes) -> bool {
        **self == **other
    }
}

impl PartialEq<Bytes> for [u8] {
    fn eq(&self, other: &Bytes) -> bool {
        *self == **other
    }
}

impl From<Bytes> for Vec<u8> {
    fn from(bytes: Bytes) -> Vec<u8> {
        bytes.to_vec()
    }
}

impl<'a> IntoIterator for &'a Bytes {
    type Item = &'a u8;
    type IntoIter = std::slice::Iter<'a, u8>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subslices_stay_in_bounds() {
        let all = Bytes::all(Arc::new(Owner::Static(b"0123456789")));
        let part = all.slice(2..8);
        assert_eq!(&*part, b"234567");
        assert_eq!(&*part.slice(1..3), b"34");
        assert_eq!((&*part.slice(3..7), &*part.slice(6..6)), (&b""[..], &b""[..]));
        assert_eq!(Bytes::copy(b"234567"), Some(part.clone()));
        assert_eq!(part, b"234567".to_vec());
        assert_eq!(b"234567".to_vec(), part);
        assert_eq!(Vec::from(part.clone()), part);
        assert!(part.is_in_place() && !Bytes::copy(b"").unwrap().is_in_place());
    }
}
