//! Plain old data: public records that are nothing but their bytes, and arrays of them in a file.
//!
//! An [`Array`] reads from bytes wherever they lie, one element at a time and by copying. Where they are aligned,
//! as they are in a mapped file, [`Array::as_slice`] gives them as they are.

#![allow(unsafe_code, reason = "slices of records and slices of bytes are the same memory")]

use core::fmt;
use core::marker::PhantomData;

use crate::bytes::Le;

/// A type whose value is its bytes: what a file holds can be read, or used where it lies.
///
/// # Safety
///
/// Every pattern of bits is a value, no byte is padding, and the bytes in memory are those on disk.
pub unsafe trait Pod: Le + Copy + fmt::Debug + 'static {}

// SAFETY: numbers without padding or forbidden values; targets that are not little-endian are refused in `bytes`.
unsafe impl Pod for u8 {}
// SAFETY: as above.
unsafe impl Pod for u16 {}
// SAFETY: as above.
unsafe impl Pod for u32 {}
// SAFETY: as above.
unsafe impl Pod for u64 {}
// SAFETY: as above.
unsafe impl Pod for i16 {}
// SAFETY: as above.
unsafe impl Pod for i32 {}
// SAFETY: as above.
unsafe impl Pod for f32 {}
// SAFETY: elements of an array follow one another without padding.
unsafe impl<T: Pod + Default, const N: usize> Pod for [T; N] {}

/// Declares a public record: fields in file order, nothing between them.
macro_rules! pod {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident: $ty:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C)]
        pub struct $name { $($(#[$doc])* pub $field: $ty,)* }

        impl $name {
            /// Bytes on disk, and in memory.
            pub const SIZE: usize = size_of::<Self>();

            /// What the document's table must say.
            #[cfg(feature = "tools")]
            pub(crate) const LAYOUT: $crate::Layout =
                $crate::bytes::layout!($name { $($field: $ty,)* });
        }

        impl $crate::bytes::Le for $name {
            #[inline]
            fn get(bytes: &[u8]) -> Option<Self> {
                let bytes = bytes.get(..Self::SIZE)?;
                Some(Self { $($field: <$ty>::get(bytes.get(core::mem::offset_of!(Self, $field)..)?)?,)* })
            }

            #[cfg(feature = "tools")]
            fn put(self, out: &mut alloc::vec::Vec<u8>) {
                $($crate::bytes::Le::put(self.$field, out);)*
            }
        }

        const _: () = {
            const fn is_pod<T: $crate::pod::Pod>() {}
            $(is_pod::<$ty>();)*
            assert!(size_of::<$name>() == 0 $(+ size_of::<$ty>())*, "there is padding");
        };
        // SAFETY: laid out as declared, and just now every field was found to be plain old data with no padding
        // between or after.
        #[allow(unsafe_code, reason = "the claim is checked above")]
        unsafe impl $crate::pod::Pod for $name {}
    };
}
pub(crate) use pod;

/// Records in a file, one after another. All accessors are total.
pub struct Array<'a, T> {
    bytes: &'a [u8],
    of: PhantomData<&'a [T]>,
}

impl<'a, T: Pod> Array<'a, T> {
    /// The records in `bytes`; what is left at the end, if anything, is none.
    pub fn new(bytes: &'a [u8]) -> Self {
        Array { bytes: &bytes[..bytes.len() - bytes.len() % size_of::<T>()], of: PhantomData }
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.bytes.len() / size_of::<T>()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A copy of the record with this number, or `None` when there are not so many.
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        T::get(self.bytes.get(index.checked_mul(size_of::<T>())?..)?)
    }

    /// Copies of the records.
    pub fn iter(&self) -> Iter<'a, T> {
        Iter(*self)
    }

    /// `len` records from number `start` on, or `None` when they are not all there.
    pub fn range(&self, start: u32, len: u32) -> Option<Self> {
        let start = (start as usize).checked_mul(size_of::<T>())?;
        let end = start.checked_add((len as usize).checked_mul(size_of::<T>())?)?;
        Some(Array { bytes: self.bytes.get(start..end)?, of: PhantomData })
    }

    /// The records as they lie in the file: what is copied to a GPU.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The records where they lie, or `None` when the bytes are not aligned for it. Chunks of a file are aligned
    /// if its first byte is at an address that is a multiple of 16, as in a mapped file or pack.
    pub fn as_slice(&self) -> Option<&'a [T]> {
        // SAFETY: `Pod` promises that any bytes are values of `T`; `align_to` sees to alignment and length.
        let (before, records, after) = unsafe { self.bytes.align_to::<T>() };
        (before.is_empty() && after.is_empty()).then_some(records)
    }
}

impl<'a, T: Pod> From<&'a [T]> for Array<'a, T> {
    fn from(records: &'a [T]) -> Self {
        Array { bytes: as_bytes(records), of: PhantomData }
    }
}

/// The records of an [`Array`].
#[derive(Clone, Debug)]
pub struct Iter<'a, T: Pod>(Array<'a, T>);

impl<T: Pod> Iterator for Iter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let (record, rest) = self.0.bytes.split_at_checked(size_of::<T>())?;
        self.0.bytes = rest;
        T::get(record)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl<T: Pod> ExactSizeIterator for Iter<'_, T> {}

impl<'a, T: Pod> IntoIterator for Array<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> Clone for Array<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Array<'_, T> {}

impl<T> Default for Array<'_, T> {
    fn default() -> Self {
        Array { bytes: &[], of: PhantomData }
    }
}

impl<T: Pod> fmt::Debug for Array<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Pod> PartialEq for Array<'_, T> {
    /// Whether their bytes are equal; a float that is no number is equal to itself here.
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

/// The bytes of records in memory, which are those on disk.
pub(crate) fn as_bytes<T: Pod>(records: &[T]) -> &[u8] {
    // SAFETY: `Pod` promises that no byte is padding, so all of them are initialised; length and lifetime are those
    // of the slice.
    unsafe { core::slice::from_raw_parts(records.as_ptr().cast(), size_of_val(records)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hmat::GpuMaterial;
    use crate::hmesh::GpuVertex;
    use std::vec::Vec;

    /// A record with fields of four bytes and of two.
    const VERTEX: GpuVertex =
        GpuVertex { position: [1.0, -2.0, 0.0], normal: [-3, 0x0102], tangent: [4, 5], uv: [0.5, 0.25] };

    #[test]
    fn a_record_is_its_bytes() {
        let expected = b"\0\0\x80\x3f\0\0\0\xc0\0\0\0\0\xfd\xff\x02\x01\x04\0\x05\0\0\0\0\x3f\0\0\x80\x3e";
        assert_eq!(as_bytes(&[VERTEX]), expected);
        assert_eq!(GpuVertex::get(expected), Some(VERTEX));
        assert_eq!(GpuVertex::get(&expected[..27]), None);
        #[cfg(feature = "tools")]
        {
            let mut out = Vec::new();
            VERTEX.put(&mut out);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn arrays_read_from_any_address() {
        // Rows with numbers of eight bytes, which are the hardest to align.
        let records = [1, 2].map(|base_color_tex| GpuMaterial { base_color_tex, ..GpuMaterial::default() });
        for offset in 0..8 {
            let mut bytes = std::vec![0; offset];
            bytes.extend_from_slice(as_bytes(&records));
            bytes.push(0xff);
            let bytes = &bytes[offset..];
            let array = Array::<GpuMaterial>::new(bytes);
            assert_eq!((array.len(), array.is_empty()), (2, false));
            assert!(array.iter().eq(records));
            assert_eq!(array.get(1), Some(records[1]));
            assert_eq!((array.get(2), array.get(usize::MAX)), (None, None));
            assert_eq!(array.as_slice().is_some(), bytes.as_ptr().addr() % 8 == 0);
            assert_eq!(array.as_slice().unwrap_or(&records), records);
        }
    }

    #[test]
    fn ranges_are_within() {
        let array = Array::from(&[1u32, 2, 3][..]);
        let values = |start, len| array.range(start, len).map(|a| a.iter().collect::<Vec<_>>());
        assert_eq!(values(1, 2), Some(std::vec![2, 3]));
        assert_eq!(values(3, 0), Some(std::vec![]));
        assert_eq!((values(3, 1), values(u32::MAX, u32::MAX), values(4, 0)), (None, None, None));
        assert_eq!(array.as_slice(), Some(&[1, 2, 3][..]));
        assert_eq!(array.bytes().len(), 12);
        assert_eq!(Array::<u32>::default().as_slice(), Some(&[][..]));
        assert_eq!(std::format!("{array:?}"), "[1, 2, 3]");
        assert_eq!(Array::<[u8; 3]>::new(&[1, 2, 3, 4]).len(), 1);
    }
}
