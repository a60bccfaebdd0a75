//! Formats that are tables of records in tagged chunks, with strings in a chunk of their own: `.hscn` and `.hmatx`.
//!
//! Every chunk but the strings is an array of one kind of record. Unknown chunks are ignored, an absent chunk is an
//! empty table. Strings follow one another in the order of the records that refer to them, so that checking and
//! printing them takes time in proportion to the file.

use crate::chunks::{self, Chunk, Chunks, Kind};
use crate::error::equal;
use crate::pod::pod;
use crate::{Array, Error, Pod};

pod! {
    /// A string: a range of bytes in the chunk `TEXT`.
    #[derive(Default, Eq)]
    pub struct TextRange {
        /// The byte offset in `TEXT`; 0 for an empty string.
        pub offset: u32,
        /// The length in bytes.
        pub size: u32,
    }
}

/// A known chunk of a format: its tag and the size of its records in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableId {
    pub(crate) fourcc: [u8; 4],
    pub(crate) size_name: &'static str,
    pub(crate) record: usize,
}

/// Declares the chunks of a format, with the type of their records.
macro_rules! table_ids {
    ($($(#[$doc:meta])* $id:ident $name:literal $record:ty,)*) => {
        $crate::chunks::chunk_ids! { $($(#[$doc])* $id $name,)* }

        impl ChunkId {
            /// Returns the size of the chunk's records in bytes.
            pub const fn record_size(self) -> usize {
                [$(size_of::<$record>()),*][self as usize]
            }

            pub(crate) const TABLES: [$crate::chunk_tables::TableId; ChunkId::ALL.len()] =
                [$($crate::chunk_tables::TableId {
                    fourcc: ChunkId::$id.fourcc(),
                    size_name: ChunkId::$id.size_name(),
                    record: size_of::<$record>(),
                }),*];
        }
    };
}
pub(crate) use table_ids;

/// The known chunks of a file, with whole records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables<'a, const N: usize> {
    chunks: Chunks<'a>,
    known: [Option<Chunk<'a>>; N],
}

impl<'a, const N: usize> Tables<'a, N> {
    /// Checks the chunk table, the sizes of the known chunks, and that the last of them, `TEXT`, is UTF-8.
    pub(crate) fn read(bytes: &'a [u8], kind: Kind, tables: &[TableId; N]) -> Result<Self, Error> {
        let chunks = Chunks::read(bytes, kind)?;
        let mut known = [None; N];
        for chunk in chunks.iter() {
            let Some(id) = tables.iter().position(|table| table.fourcc == chunk.fourcc) else { continue };
            if chunk.flags != 0 {
                let (at, found) = (chunks::flags_at(&chunk), chunk.flags.into());
                return Err(Error::Value { at, field: "flags", found, expected: "0" });
            }
            if known[id].replace(chunk).is_some() {
                let why = "is the tag of a duplicate chunk";
                return Err(Error::Fault { at: chunk.entry_at, field: "fourcc", why });
            }
            let (size, table) = (chunk.bytes.len(), tables[id]);
            equal(
                chunks::size_at(&chunk),
                table.size_name,
                size as u64,
                (size - size % table.record) as u64,
            )?;
            if size / table.record > u32::MAX as usize {
                let found = (size / table.record) as u64;
                return Err(Error::TooLarge { field: table.size_name, found, max: u32::MAX.into() });
            }
        }
        let tables = Tables { chunks, known };
        match core::str::from_utf8(tables.payload(N - 1)) {
            Ok(_) => Ok(tables),
            Err(error) => {
                let at = tables.at(N - 1) + error.valid_up_to() as u64;
                Err(Error::Text { at, field: "text" })
            }
        }
    }

    /// Rejects gaps, overlaps, padding that is not zero, and trailing bytes.
    pub(crate) fn check_layout(&self) -> Result<(), Error> {
        self.chunks.check_layout()
    }

    /// Returns the bytes of a chunk; empty if it is absent.
    pub(crate) fn payload(&self, id: usize) -> &'a [u8] {
        self.known[id].map_or(&[], |chunk| chunk.bytes)
    }

    /// Returns the records of a chunk.
    pub(crate) fn array<T: Pod>(&self, id: usize) -> Array<'a, T> {
        Array::new(self.payload(id))
    }

    /// Returns the byte offset of a chunk's payload.
    pub(crate) fn at(&self, id: usize) -> u64 {
        self.known[id].map_or(0, |chunk| chunk.at)
    }

    /// Returns the string of a range; empty if it is out of bounds.
    pub(crate) fn text(&self, range: TextRange) -> &'a str {
        let start = range.offset as usize;
        let bytes =
            start.checked_add(range.size as usize).and_then(|end| self.payload(N - 1).get(start..end));
        bytes.and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// Starts checking the strings of a file.
    pub(crate) fn texts(&self) -> Texts<'a> {
        // Checked to be UTF-8 when the tables were read.
        Texts {
            text: core::str::from_utf8(self.payload(N - 1)).unwrap_or_default(),
            at: self.at(N - 1),
            end: 0,
        }
    }
}

/// Checks that strings follow one another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texts<'a> {
    text: &'a str,
    at: u64,
    end: u64,
}

impl Texts<'_> {
    /// Checks the next string, whose range is at byte `at`.
    pub(crate) fn next(&mut self, at: u64, field: &'static str, range: TextRange) -> Result<(), Error> {
        let expected = if range.size == 0 { 0 } else { self.end };
        equal(at, field, range.offset, expected)?;
        if range.size > 0 {
            let (start, size, len) = (self.end, u64::from(range.size), self.text.len() as u64);
            self.end += size;
            if self.end > len {
                return Err(Error::Range { at, field, start, size, len });
            }
            if !self.text.is_char_boundary(self.end as usize) {
                return Err(Error::Text { at: self.at + start, field });
            }
        }
        Ok(())
    }

    /// Fails unless all text belongs to a string.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        match self.text.len() as u64 - self.end {
            0 => Ok(()),
            extra => Err(Error::Trailing { at: self.at + self.end, extra }),
        }
    }
}

/// Encodes a file of these chunks; empty ones are left out.
#[cfg(feature = "tools")]
pub(crate) fn write(kind: Kind, payloads: &[([u8; 4], &[u8])]) -> Result<alloc::vec::Vec<u8>, Error> {
    let slices: alloc::vec::Vec<([u8; 4], [&[u8]; 1])> =
        payloads.iter().filter(|(_, bytes)| !bytes.is_empty()).map(|(id, bytes)| (*id, [*bytes])).collect();
    let listed: alloc::vec::Vec<([u8; 4], &[&[u8]])> =
        slices.iter().map(|(id, bytes)| (*id, bytes.as_slice())).collect();
    chunks::write(kind, &listed)
}

/// Collects the strings of a file, in the order of the records that refer to them.
#[cfg(feature = "tools")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextBuilder {
    text: alloc::string::String,
}

#[cfg(feature = "tools")]
impl TextBuilder {
    /// Appends a string and returns its range.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] if all strings together have more than 4294967295 bytes.
    pub fn add(&mut self, text: &str) -> Result<TextRange, Error> {
        if text.is_empty() {
            return Ok(TextRange::default());
        }
        let offset = self.text.len();
        crate::count_u32("text", offset + text.len())?;
        self.text.push_str(text);
        Ok(TextRange { offset: offset as u32, size: text.len() as u32 })
    }

    /// Returns all strings.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}
