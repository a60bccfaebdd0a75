//! Serialization of journal and cache records: little-endian integers and length-prefixed bytes. Lengths are checked against
//! the remaining bytes; reading never panics and returns `None` for invalid bytes.

use crate::{Diag, Limits};
use std::time::Duration;

/// Serializes values into a buffer.
#[derive(Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Makes an empty buffer.
    pub fn new() -> Writer {
        Writer::default()
    }

    /// Makes a writer that appends to `bytes`.
    pub(crate) fn appending(bytes: Vec<u8>) -> Writer {
        Writer(bytes)
    }

    /// Returns the number of bytes in the buffer.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Replaces the `u32` at an offset.
    pub(crate) fn set_u32(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Returns the bytes from an offset on.
    pub(crate) fn from(&self, at: usize) -> &[u8] {
        &self.0[at..]
    }

    /// Writes one byte.
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// Writes a little-endian `u32`.
    pub fn u32(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    /// Writes a little-endian `u64`.
    pub fn u64(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    /// Writes a little-endian `i64`.
    pub fn i64(&mut self, value: i64) {
        self.raw(&value.to_le_bytes());
    }

    /// Writes the number of items that follow, as a `u32`.
    ///
    /// # Panics
    /// If there are more than `u32::MAX` items.
    pub fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).expect("fewer than 2^32 items in a record"));
    }

    /// Writes bytes with a `u32` length prefix.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }

    /// Writes a string with a `u32` length prefix.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Writes bytes without a length.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Writes a diagnostic.
    pub fn diag<'a>(&mut self, diag: &'a Diag) {
        let optional = |text: &'a Option<String>| text.as_deref().unwrap_or_default();
        let (path, at, hint) = (optional(&diag.path), optional(&diag.at), optional(&diag.hint));
        for text in [diag.code.as_str(), path, at, &diag.message, hint] {
            self.text(text);
        }
    }

    /// Writes limits.
    pub fn limits(&mut self, limits: &Limits) {
        self.u64(limits.max_pixels);
        self.u64(limits.max_memory);
        self.u64(limits.max_time.map_or(0, |time| (time.as_millis() as u64).max(1)));
    }

    /// Returns the serialized bytes.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Deserializes values from a byte slice.
#[derive(Clone, Copy)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Makes a reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    /// Reads one byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Reads a little-endian `u32`.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads a little-endian `u64`.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a little-endian `i64`.
    pub fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// Reads a number of items of at least one byte each; `None` if it exceeds the remaining bytes.
    pub fn count(&mut self) -> Option<usize> {
        let count = self.u32()? as usize;
        (count <= self.0.len()).then_some(count)
    }

    /// Reads bytes with a `u32` length prefix.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()? as usize;
        self.take(len)
    }

    /// Reads `len` bytes.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }

    /// Reads a string with a `u32` length prefix.
    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// Reads `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>()?;
        self.0 = tail;
        Some(*head)
    }

    /// Reads a diagnostic; `None` also for a code that this version does not have.
    pub fn diag(&mut self) -> Option<Diag> {
        let code = self.text()?.parse().ok()?;
        let mut optional = || self.text().map(|text| (!text.is_empty()).then(|| text.to_owned()));
        let (path, at) = (optional()?, optional()?);
        let message = optional()?.unwrap_or_default();
        let mut diag = Diag::new(code, message);
        (diag.path, diag.at, diag.hint) = (path, at, optional()?);
        Some(diag)
    }

    /// Reads limits.
    pub fn limits(&mut self) -> Option<Limits> {
        let (max_pixels, max_memory, milliseconds) = (self.u64()?, self.u64()?, self.u64()?);
        let max_time = (milliseconds > 0).then(|| Duration::from_millis(milliseconds));
        Some(Limits { max_pixels, max_memory, max_time })
    }

    /// Returns whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_rejects_every_prefix() {
        let mut w = Writer::new();
        w.u8(7);
        w.u64(u64::MAX - 1);
        w.i64(-3);
        w.text("grey");
        w.bytes(&[1, 2]);
        let bytes = w.finish();
        let read = |bytes| -> Option<(u8, u64, i64, String, Vec<u8>)> {
            let mut r = Reader::new(bytes);
            let all = (r.u8()?, r.u64()?, r.i64()?, r.text()?.to_owned(), r.bytes()?.to_vec());
            r.is_empty().then_some(all)
        };
        assert_eq!(read(&bytes), Some((7, u64::MAX - 1, -3, "grey".to_owned(), vec![1, 2])));
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end]), None, "{end}");
        }
    }

    #[test]
    fn rejects_counts_beyond_the_remaining_bytes() {
        let mut w = Writer::new();
        w.u32(u32::MAX);
        assert_eq!(Reader::new(&w.finish()).count(), None);
    }

    #[test]
    fn rejects_diagnostics_with_unknown_codes() {
        let written = |code: &str| {
            let mut w = Writer::new();
            [code, "path", "", "message", ""].iter().for_each(|text| w.text(text));
            w.finish()
        };
        let read = Reader::new(&written("unreadable")).diag().unwrap();
        assert_eq!(read, Diag::new(crate::Code::Unreadable, "message").path("path"));
        for code in ["", "Unreadable", "unreadable one", "unreadable\u{1b}[31m", "-", &"o".repeat(65)] {
            assert_eq!(Reader::new(&written(code)).diag(), None, "{code}");
        }
    }
}
