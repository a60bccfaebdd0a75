//! Binary glTF 2.0 (`.glb`): the container of models that `assetc` writes for engines that load the standard.
//!
//! The reader validates the container: header, JSON chunk, binary chunk, and that nothing follows. The document itself is
//! JSON of the Khronos specification, which is left to the loaders of engines. [`write()`] is the container of every GLB
//! file that Kiln writes.

use crate::Error;
use crate::hpack::PackKind;
#[cfg(feature = "tools")]
use crate::refs;
use crate::table::{Format, FormatId, format_entry};

const MAGIC: &[u8; 4] = b"glTF";

/// The chunks of a binary glTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlbView<'a> {
    json: &'a str,
    binary: &'a [u8],
}

impl<'a> GlbView<'a> {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`Error`] if the container is truncated or damaged, has another version than 2, or more than two chunks.
    pub fn read(bytes: &'a [u8]) -> Result<GlbView<'a>, Error> {
        let len = bytes.len() as u64;
        if !bytes.starts_with(MAGIC) {
            let mut found = [0; 4];
            found.iter_mut().zip(bytes).for_each(|(found, byte)| *found = *byte);
            return Err(Error::Magic { found, format: "glb" });
        }
        let version = word(bytes, 4, "version")?;
        if version != 2 {
            return Err(Error::Value { at: 4, field: "version", found: version.into(), expected: "2" });
        }
        let length = word(bytes, 8, "length")?;
        if u64::from(length) != len {
            return Err(Error::Mismatch { at: 8, field: "length", found: length.into(), expected: len });
        }
        let (json, end) = chunk(bytes, 12, b"JSON")?;
        let json = core::str::from_utf8(json).map_err(|error| Error::Fault {
            at: 20 + error.valid_up_to() as u64,
            field: "JSON chunk",
            why: "is not UTF-8",
        })?;
        if !json.starts_with('{') {
            return Err(Error::Fault { at: 20, field: "JSON chunk", why: "is not an object" });
        }
        let (binary, end) = if end == bytes.len() { (&[][..], end) } else { chunk(bytes, end, b"BIN\0")? };
        if end != bytes.len() {
            return Err(Error::Mismatch {
                at: 8,
                field: "length",
                found: length.into(),
                expected: end as u64,
            });
        }
        Ok(GlbView { json, binary })
    }

    /// Returns the document.
    pub fn json(&self) -> &'a str {
        self.json
    }

    /// Returns the data of the first buffer; empty if there is none.
    pub fn binary(&self) -> &'a [u8] {
        self.binary
    }
}

/// Writes a file of a document and the data of its first buffer; without data, there is no binary chunk.
///
/// # Errors
///
/// [`Error::TooLarge`] if the file would exceed the 4 GiB of the format.
#[cfg(feature = "tools")]
pub fn write(json: &str, binary: &[u8]) -> Result<alloc::vec::Vec<u8>, Error> {
    let chunks = [(b"JSON", json.as_bytes(), b' '), (b"BIN\0", binary, 0)];
    let chunks = chunks.into_iter().filter(|(_, content, _)| !content.is_empty());
    let len = chunks.clone().map(|(_, content, _)| 8 + content.len().next_multiple_of(4)).sum::<usize>() + 12;
    let length = crate::count_u32("length", len)?;
    let mut out = alloc::vec::Vec::with_capacity(len);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&2u32.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    for (kind, content, padding) in chunks {
        let padded = content.len().next_multiple_of(4);
        out.extend_from_slice(&(padded as u32).to_le_bytes());
        out.extend_from_slice(kind);
        out.extend_from_slice(content);
        out.resize(out.len() + padded - content.len(), padding);
    }
    Ok(out)
}

fn word(bytes: &[u8], at: usize, field: &'static str) -> Result<u32, Error> {
    let found = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    let truncated = Error::Truncated { at: at as u64, field, needed: 4, len: bytes.len() as u64 };
    found.map(u32::from_le_bytes).ok_or(truncated)
}

/// Returns the data of a chunk and the offset of its end.
fn chunk<'a>(bytes: &'a [u8], at: usize, kind: &[u8; 4]) -> Result<(&'a [u8], usize), Error> {
    let length = word(bytes, at, "chunk length")?;
    let found = word(bytes, at + 4, "chunk type")?;
    if found != u32::from_le_bytes(*kind) {
        let expected = "JSON for the first chunk, BIN for the second";
        return Err(Error::Value { at: at as u64 + 4, field: "chunk type", found: found.into(), expected });
    }
    if !length.is_multiple_of(4) {
        let expected = "a multiple of 4";
        return Err(Error::Value { at: at as u64, field: "chunk length", found: length.into(), expected });
    }
    let start = at + 8;
    let end = start.checked_add(length as usize).filter(|end| *end <= bytes.len()).ok_or(Error::Range {
        at: at as u64,
        field: "chunk",
        start: start as u64,
        size: length.into(),
        len: bytes.len() as u64,
    })?;
    Ok((&bytes[start..end], end))
}

format_entry!(
    Glb,
    FormatId { name: "glb", magic: MAGIC, title: "models", noun: "model", kind: PackKind::Other }
);

impl Format for Glb {
    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        GlbView::read(bytes).map(drop)
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = GlbView::read(bytes)?;
        write!(out, "glTF 2.0 | {} B JSON | {} B data", view.json.len(), view.binary.len())?;
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, crate::Fact<'_>)) -> Result<(), Error> {
        let view = GlbView::read(bytes)?;
        each("json_bytes", crate::Fact::Number(view.json.len() as u64));
        each("data_bytes", crate::Fact::Number(view.binary.len() as u64));
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = GlbView::read(bytes)?;
        writeln!(out, "glb 2, {} B data, fnv {:016x}", view.binary.len(), refs::fnv1a_64(view.binary))?;
        writeln!(out, "{}", view.json.trim_end())?;
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [crate::Layout] {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn glb(json: &[u8], binary: &[u8]) -> Vec<u8> {
        let mut bytes = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
        for (kind, data) in [(b"JSON", json), (b"BIN\0", binary)].into_iter().filter(|(_, d)| !d.is_empty()) {
            bytes.extend((data.len() as u32).to_le_bytes());
            bytes.extend(kind);
            bytes.extend(data);
        }
        let length = bytes.len() as u32;
        bytes[8..12].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    #[test]
    fn reads_the_chunks_of_the_specification() {
        let bytes = glb(b"{}  ", b"data");
        let view = GlbView::read(&bytes).unwrap();
        assert_eq!((view.json(), view.binary()), ("{}  ", &b"data"[..]));
        assert_eq!(GlbView::read(&glb(b"{}  ", b"")).unwrap().binary(), b"");
    }

    /// The bytes are those of the specification: chunks of whole words, JSON padded with spaces, data with zeros.
    #[test]
    #[cfg(feature = "tools")]
    fn writes_padded_chunks() {
        assert_eq!(write("{}", b"abcde").unwrap(), glb(b"{}  ", b"abcde\0\0\0"));
        assert_eq!(write("{ }", b"").unwrap(), glb(b"{ } ", b""));
        assert_eq!(GlbView::read(&write("{}", b"abcd").unwrap()).unwrap().binary(), b"abcd");
    }

    #[test]
    fn rejects_truncated_and_damaged_containers() {
        let bytes = glb(b"{}  ", b"data");
        for end in 0..bytes.len() {
            assert!(GlbView::read(&bytes[..end]).is_err(), "{end}");
        }
        let change = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            GlbView::read(&bytes).unwrap_err()
        };
        assert!(matches!(change(0, b'x'), Error::Magic { .. }));
        assert!(matches!(change(4, 1), Error::Value { field: "version", .. }));
        assert!(matches!(change(8, 99), Error::Mismatch { field: "length", .. }));
        assert!(matches!(change(12, 200), Error::Range { .. }));
        assert!(matches!(change(12, 3), Error::Value { field: "chunk length", .. }));
        assert!(matches!(change(16, b'X'), Error::Value { field: "chunk type", .. }));
        assert!(matches!(change(20, 0xff), Error::Fault { why: "is not UTF-8", .. }));
        assert!(matches!(change(20, b'['), Error::Fault { why: "is not an object", .. }));
    }
}
