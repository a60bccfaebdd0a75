//! Plain old data: public records that are identical to their bytes, and arrays of them in a file.
//!
//! An [`Array`] copies elements from bytes at any alignment. If the bytes are aligned, as in a memory-mapped
//! file, [`Array::as_slice`] returns the records without copying.

#![allow(unsafe_code, reason = "slices of records and slices of bytes are the same memory")]

use core::fmt;
use core::marker::PhantomData;

use crate::bytes::Le;

/// A plain-old-data type: its value is its bytes, so it can be read by copying or used in place.
///
/// # Safety
///
/// Every bit pattern is a valid value, no byte is padding, and the bytes in memory are those on disk.
pub unsafe trait Pod: Le + Copy + fmt::Debug + 'static {}

// SAFETY: numbers without padding or invalid bit patterns; big-endian targets are rejected in `bytes`.
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
// SAFETY: the elements of an array are contiguous, without padding.
unsafe impl<T: Pod + Default, const N: usize> Pod for [T; N] {}

/// Declares a public plain-old-data record: fields in file order, without padding.
macro_rules! pod {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident: $ty:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C)]
        pub struct $name { $($(#[$doc])* pub $field: $ty,)* }

        impl $name {
            /// Size in bytes on disk and in memory.
            pub const SIZE: usize = size_of::<Self>();

            /// The layout that the format's document must show.
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
        // SAFETY: the type is `repr(C)`, and the constant above checks that every field is plain old data and
        // that there is no padding.
        #[allow(unsafe_code, reason = "the claim is checked above")]
        unsafe impl $crate::pod::Pod for $name {}
    };
}
pub(crate) use pod;

/// An array of records in a file. No accessor can panic.
pub struct Array<'a, T> {
    bytes: &'a [u8],
    of: PhantomData<&'a [T]>,
}

impl<'a, T: Pod> Array<'a, T> {
    /// Wraps the records in `bytes`; an incomplete record at the end is ignored.
    pub fn new(bytes: &'a [u8]) -> Self {
        Array { bytes: &bytes[..bytes.len() - bytes.len() % size_of::<T>()], of: PhantomData }
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.bytes.len() / size_of::<T>()
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns a copy of record `index`, or `None` if it is out of range.
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        T::get(self.bytes.get(index.checked_mul(size_of::<T>())?..)?)
    }

    /// Iterates over copies of the records.
    pub fn iter(&self) -> Iter<'a, T> {
        Iter(*self)
    }

    /// Returns `len` records from index `start` on, or `None` if the range is out of bounds.
    pub fn range(&self, start: u32, len: u32) -> Option<Self> {
        let start = (start as usize).checked_mul(size_of::<T>())?;
        let end = start.checked_add((len as usize).checked_mul(size_of::<T>())?)?;
        Some(Array { bytes: self.bytes.get(start..end)?, of: PhantomData })
    }

    /// Returns the bytes as stored in the file, ready for upload to a GPU.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the records in place, or `None` if the bytes are not aligned. Chunks of a file are aligned if
    /// its first byte is at an address that is a multiple of 16, as in a memory-mapped file or pack.
    pub fn as_slice(&self) -> Option<&'a [T]> {
        // SAFETY: `Pod` guarantees that any bytes are valid values of `T`; `align_to` handles alignment and
        // length.
        let (before, records, after) = unsafe { self.bytes.align_to::<T>() };
        (before.is_empty() && after.is_empty()).then_some(records)
    }
}

impl<'a, T: Pod> From<&'a [T]> for Array<'a, T> {
    fn from(records: &'a [T]) -> Self {
        Array { bytes: as_bytes(records), of: PhantomData }
    }
}

/// Iterator over the records of an [`Array`].
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
    /// Compares the bytes, so a NaN is equal to itself.
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

/// Returns the bytes of records in memory, which are those on disk.
pub(crate) fn as_bytes<T: Pod>(records: &[T]) -> &[u8] {
    // SAFETY: `Pod` guarantees that no byte is padding, so all bytes are initialised; length and lifetime are
    // those of the slice.
    unsafe { core::slice::from_raw_parts(records.as_ptr().cast(), size_of_val(records)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hmat::GpuMaterial;
    use crate::hmesh::GpuVertex;
    use std::vec::Vec;

    /// A record with fields of four and of two bytes.
    const VERTEX: GpuVertex =
        GpuVertex { position: [1.0, -2.0, 0.0], normal: [-3, 0x0102], tangent: [4, 5], uv: [0.5, 0.25] };

    #[test]
    fn record_round_trips_as_bytes() {
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
    fn arrays_read_unaligned_bytes() {
        // Rows with eight-byte numbers, which need the largest alignment.
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
    fn range_checks_bounds() {
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
