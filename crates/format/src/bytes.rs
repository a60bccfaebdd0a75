//! Little-endian numbers in byte slices: the cursor of all readers, and the records that readers and writers
//! share.
//!
//! A record is a sequence of fields without padding. Declaring it once with [`record!`] generates its reader,
//! its writer and the layout that a test compares with the tables in `docs/reference/formats/`.

use crate::Error;

// All formats are little-endian and read in place. Big-endian targets are rejected at compile time, because
// readers would work for single fields but not for memory-mapped arrays.
#[cfg(not(target_endian = "little"))]
compile_error!("Kiln's formats are little-endian and used in place: big-endian targets are not supported");

/// A value with a fixed size on disk, equal to the size of the type.
pub trait Le: Sized {
    /// Decodes the value at the start of `bytes`; `None` if there are too few bytes.
    fn get(bytes: &[u8]) -> Option<Self>;

    /// Appends the encoded value to `out`.
    #[cfg(feature = "tools")]
    fn put(self, out: &mut alloc::vec::Vec<u8>);
}

macro_rules! number {
    ($($ty:ty)*) => {$(
        impl Le for $ty {
            #[inline]
            fn get(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|b| <$ty>::from_le_bytes(*b))
            }

            #[cfg(feature = "tools")]
            fn put(self, out: &mut alloc::vec::Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

number! { u8 u16 u32 u64 i16 i32 f32 }

impl<T: Le + Copy + Default, const N: usize> Le for [T; N] {
    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..size_of::<Self>())?;
        let mut values = [T::default(); N];
        for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(size_of::<T>())) {
            *value = T::get(bytes)?;
        }
        Some(values)
    }

    #[cfg(feature = "tools")]
    fn put(self, out: &mut alloc::vec::Vec<u8>) {
        self.into_iter().for_each(|value| value.put(out));
    }
}

/// A value as it is shown in an error message.
pub(crate) trait Number {
    fn number(self) -> u64;
}

macro_rules! as_number {
    ($($ty:ty)*) => {$(
        impl Number for $ty {
            fn number(self) -> u64 {
                self.into()
            }
        }
    )*};
}

as_number! { u8 u16 u32 u64 }

impl Number for f32 {
    fn number(self) -> u64 {
        self.to_bits().into()
    }
}

impl<const N: usize> Number for [u8; N] {
    fn number(self) -> u64 {
        self.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}

/// Builds the [`Layout`](crate::Layout) that a test compares with the table in the format's document.
#[cfg(feature = "tools")]
macro_rules! layout {
    ($name:ident { $($field:ident: $ty:ty,)* }) => {
        $crate::Layout {
            name: stringify!($name),
            size: size_of::<$name>(),
            fields: &[$($crate::Field {
                name: stringify!($field),
                offset: core::mem::offset_of!($name, $field),
                size: size_of::<$ty>(),
            },)*],
        }
    };
}
#[cfg(feature = "tools")]
pub(crate) use layout;

/// Declares a packed record: fields in file order, without padding.
macro_rules! record {
    ($(#[$meta:meta])* struct $name:ident { $($field:ident: $ty:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C, packed)]
        pub(crate) struct $name { $(pub(crate) $field: $ty,)* }

        impl $name {
            /// Size on disk in bytes.
            #[allow(dead_code, reason = "some records are only read in passing without `tools`")]
            pub(crate) const SIZE: usize = size_of::<Self>();

            /// The layout that the format's document must show.
            #[cfg(feature = "tools")]
            pub(crate) const LAYOUT: $crate::Layout =
                $crate::bytes::layout!($name { $($field: $ty,)* });

            #[allow(dead_code, reason = "rows of long tables are read field by field")]
            pub(crate) fn read(from: &mut $crate::bytes::Reader<'_>) -> Result<Self, $crate::Error> {
                Ok(Self { $($field: from.get(stringify!($field))?,)* })
            }

            /// Fails at the first field that differs; `at` is the byte offset of this record in the file.
            #[allow(dead_code, reason = "most records are checked field by field")]
            pub(crate) fn must_equal(self, expected: Self, at: u64) -> Result<(), $crate::Error> {
                $(if self.$field != expected.$field {
                    return Err($crate::Error::Mismatch {
                        at: at + core::mem::offset_of!($name, $field) as u64,
                        field: stringify!($field),
                        found: $crate::bytes::Number::number(self.$field),
                        expected: $crate::bytes::Number::number(expected.$field),
                    });
                })*
                Ok(())
            }

            #[cfg(feature = "tools")]
            #[allow(dead_code, reason = "some formats are written by others")]
            pub(crate) fn put(self, out: &mut alloc::vec::Vec<u8>) {
                $($crate::bytes::Le::put(self.$field, out);)*
            }
        }
    };
}
pub(crate) use record;

/// A read position in a file. Every read is bounds-checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// Creates a reader that starts at byte `at`; past the end of the file every read fails.
    pub(crate) fn starting(bytes: &'a [u8], at: usize) -> Self {
        Reader { bytes, at }
    }

    /// Returns the byte offset from the start of the file.
    pub(crate) fn at(&self) -> u64 {
        self.at as u64
    }

    pub(crate) fn get<T: Le>(&mut self, field: &'static str) -> Result<T, Error> {
        let value = self.bytes.get(self.at..).and_then(T::get);
        let value = value.ok_or_else(|| self.truncated(field, size_of::<T>() as u64))?;
        self.at += size_of::<T>();
        Ok(value)
    }

    pub(crate) fn take(&mut self, len: u64, field: &'static str) -> Result<&'a [u8], Error> {
        let end = usize::try_from(len).ok().and_then(|len| self.at.checked_add(len));
        let taken = end.and_then(|end| Some((end, self.bytes.get(self.at..end)?)));
        let (end, taken) = taken.ok_or_else(|| self.truncated(field, len))?;
        self.at = end;
        Ok(taken)
    }

    pub(crate) fn text(&mut self, len: u64, field: &'static str) -> Result<&'a str, Error> {
        let at = self.at();
        core::str::from_utf8(self.take(len, field)?).map_err(|_| Error::Text { at, field })
    }

    /// Fails unless all bytes were read.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        match self.bytes.len() - self.at.min(self.bytes.len()) {
            0 => Ok(()),
            extra => Err(Error::Trailing { at: self.at(), extra: extra as u64 }),
        }
    }

    fn truncated(&self, field: &'static str, needed: u64) -> Error {
        Error::Truncated { at: self.at(), field, needed, len: self.bytes.len() as u64 }
    }
}

/// Returns `len` bytes at `offset`, or `None` if the range is out of bounds.
pub(crate) fn slice(bytes: &[u8], offset: u64, len: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(len).ok()?)?)
}

/// Rounds `at` up to a multiple of `to`, which must not be zero; `None` on overflow.
pub(crate) fn align(at: u64, to: u64) -> Option<u64> {
    at.checked_next_multiple_of(to)
}

/// Fails at the first byte of `bytes[start..end]` that is not zero.
pub(crate) fn zeroed(bytes: &[u8], start: u64, end: u64) -> Result<(), Error> {
    let gap = slice(bytes, start, end.saturating_sub(start)).unwrap_or_default();
    match gap.iter().position(|&b| b != 0) {
        None => Ok(()),
        Some(i) => {
            Err(Error::Value { at: start + i as u64, field: "padding", found: gap[i].into(), expected: "0" })
        }
    }
}

/// Returns whether `a < b` in byte order. Adjacent keys share long prefixes and are short: comparing eight
/// bytes at a time is faster than a `memcmp` call per pair.
pub(crate) fn ascends(a: &[u8], b: &[u8]) -> bool {
    let shared = a.len().min(b.len());
    let (head_a, head_b) = (&a[..shared], &b[..shared]);
    // If the length is not a multiple of eight, the last word overlaps the one before it; equal bytes compare
    // equal twice.
    let (Some(last_a), Some(last_b)) = (head_a.last_chunk::<8>(), head_b.last_chunk::<8>()) else {
        return a < b;
    };
    for (x, y) in head_a.as_chunks::<8>().0.iter().zip(head_b.as_chunks::<8>().0) {
        if x != y {
            return u64::from_be_bytes(*x) < u64::from_be_bytes(*y);
        }
    }
    if last_a != last_b {
        return u64::from_be_bytes(*last_a) < u64::from_be_bytes(*last_b);
    }
    a.len() < b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_comparison_matches_byte_order() {
        let pieces = ["", "a", "b", "aaaaaaa", "aaaaaaab", "\u{ff}", "aaaaaaaa\0", "zz"];
        let texts: alloc::vec::Vec<alloc::string::String> =
            pieces.iter().flat_map(|a| pieces.iter().map(move |b| alloc::format!("{a}{b}{a}"))).collect();
        for a in &texts {
            for b in &texts {
                assert_eq!(ascends(a.as_bytes(), b.as_bytes()), a < b, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn numbers_are_little_endian() {
        assert_eq!(<[u16; 2]>::get(&[1, 2, 3, 4, 5]), Some([0x0201, 0x0403]));
        assert_eq!(<[u16; 2]>::get(&[1, 2, 3]), None);
        assert_eq!(f32::get(&[0, 0, 0x80, 0xbf]), Some(-1.0));
        assert_eq!(i16::get(&[0xfe, 0xff]), Some(-2));
        assert_eq!([1u8, 2, 3].number(), 0x03_02_01);
    }

    #[test]
    fn rejects_reads_past_end() {
        let mut reader = Reader::new(&[1, 0, 2, 0, 0, 0, 9]);
        assert_eq!(reader.get::<u16>("a"), Ok(1));
        assert_eq!(reader.get::<u32>("b"), Ok(2));
        assert_eq!(reader.finish(), Err(Error::Trailing { at: 6, extra: 1 }));
        let short = Error::Truncated { at: 6, field: "c", needed: 2, len: 7 };
        assert_eq!(reader.get::<u16>("c"), Err(short.clone()));
        assert_eq!(reader.take(2, "c"), Err(short));
        assert!(reader.take(u64::MAX, "d").is_err());
        assert_eq!(reader.take(1, "e"), Ok(&[9][..]));
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn reader_starting_past_end_fails() {
        let mut reader = Reader::starting(&[1], 5);
        assert!(reader.get::<u8>("a").is_err());
        assert!(reader.take(0, "a").is_err());
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn slice_and_align_do_not_overflow() {
        assert_eq!(slice(&[1, 2, 3], 1, 2), Some(&[2, 3][..]));
        assert_eq!(slice(&[1, 2, 3], 3, 0), Some(&[][..]));
        assert_eq!(slice(&[1, 2, 3], 2, 2), None);
        assert_eq!(slice(&[1, 2, 3], u64::MAX, 2), None);
        assert_eq!(slice(&[1, 2, 3], 2, u64::MAX), None);
        assert_eq!(align(u64::MAX, 16), None);
        assert_eq!(align(17, 16), Some(32));
    }
}
