//! The key/value data of a texture, sorted by key.
//!
//! Rejects keys that are empty, out of order, duplicate or not UTF-8, padding that is not zero, and invalid
//! orientations.

use crate::Error;
use crate::bytes::{Reader, zeroed};

/// The key of the name of the program that wrote the file.
#[cfg(feature = "tools")]
pub(super) const WRITER: &str = "KTXwriter";
/// The key of the orientation of rows, columns and slices.
pub(super) const ORIENTATION: &str = "KTXorientation";

/// Iterator over keys and values; see [`Ktx2View::key_values`](super::Ktx2View::key_values).
#[derive(Clone, Debug)]
pub struct KeyValues<'a> {
    reader: Reader<'a>,
    bytes: &'a [u8],
}

impl<'a> KeyValues<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        KeyValues { reader: Reader::new(bytes), bytes }
    }

    /// Reads the next pair; `None` at the end. Byte offsets in errors are relative to the key/value data.
    fn read(&mut self) -> Result<Option<(&'a str, &'a [u8])>, Error> {
        if self.reader.finish().is_ok() {
            return Ok(None);
        }
        let len: u32 = self.reader.get("key_and_value_length")?;
        let at = self.reader.at();
        let pair = self.reader.take(len.into(), "key and value")?;
        let nul = pair.iter().position(|&b| b == 0).filter(|&nul| nul > 0);
        let nul = nul.ok_or(Error::Value {
            at: at - size_of::<u32>() as u64,
            field: "key_and_value_length",
            found: len.into(),
            expected: "the length of a key, a NUL byte and a value",
        })?;
        let key = core::str::from_utf8(&pair[..nul]).map_err(|_| Error::Text { at, field: "key" })?;
        let padding_at = self.reader.at();
        self.reader.take(u64::from(len.wrapping_neg() % 4), "padding")?;
        zeroed(self.bytes, padding_at, self.reader.at())?;
        Ok(Some((key, &pair[nul + 1..])))
    }
}

impl<'a> Iterator for KeyValues<'a> {
    type Item = (&'a str, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.read().ok().flatten()
    }
}

/// Checks key/value data that starts at byte `start` of the file.
pub(super) fn check(bytes: &[u8], start: u64) -> Result<(), Error> {
    let mut pairs = KeyValues::new(bytes);
    let mut last: Option<&str> = None;
    let mut at = start;
    while let Some((key, value)) = pairs.read().map_err(|error| shifted(error, start))? {
        if last.is_some_and(|last| last >= key) {
            return Err(Error::Order { at, field: "key" });
        }
        if key == ORIENTATION && !is_orientation(value) {
            return Err(Error::Text { at, field: "KTXorientation" });
        }
        last = Some(key);
        at = start + pairs.reader.at();
    }
    Ok(())
}

/// Returns whether `value` has one letter per dimension, with or without a terminating NUL.
fn is_orientation(value: &[u8]) -> bool {
    let letters = value.strip_suffix(&[0]).unwrap_or(value);
    let sides: [&[u8]; 3] = [b"rl", b"du", b"io"];
    (1..=3).contains(&letters.len()) && letters.iter().zip(sides).all(|(l, side)| side.contains(l))
}

fn shifted(mut error: Error, start: u64) -> Error {
    match &mut error {
        Error::Truncated { at, len, .. } => {
            *at += start;
            *len += start;
        }
        Error::Value { at, .. } | Error::Text { at, .. } => *at += start,
        _ => {}
    }
    error
}

/// Appends one pair; the caller passes the keys in order.
#[cfg(feature = "tools")]
pub(super) fn put(key: &str, value: &[u8], out: &mut alloc::vec::Vec<u8>) -> Result<(), Error> {
    let len = key.len() + 1 + value.len();
    out.extend_from_slice(&crate::count_u32("key_and_value_length", len)?.to_le_bytes());
    out.extend_from_slice(key.as_bytes());
    out.push(0);
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
    Ok(())
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    fn bytes(pairs: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = vec![];
        pairs.iter().for_each(|(key, value)| put(key, value, &mut out).unwrap());
        out
    }

    #[test]
    fn key_values_round_trip() {
        let pairs: [(&str, &[u8]); 4] = [("KTXwriter", b"x\0"), ("a", b""), ("b", b"\0\xff"), ("ä", b"123")];
        let bytes = bytes(&pairs);
        assert_eq!(check(&bytes, 0), Ok(()));
        assert!(KeyValues::new(&bytes).eq(pairs));
        assert_eq!(check(&[], 7), Ok(()));
    }

    #[test]
    fn rejects_invalid_input() {
        let order = Error::Order { at: 108, field: "key" };
        assert_eq!(check(&bytes(&[("b", b""), ("a", b"")]), 100), Err(order.clone()));
        assert_eq!(check(&bytes(&[("a", b""), ("a", b"")]), 100), Err(order));
        assert!(matches!(check(&bytes(&[("", b"x")]), 100), Err(Error::Value { at: 100, found: 2, .. })));
        assert!(matches!(check(&[1, 0, 0, 0, b'a', 0, 0, 0], 100), Err(Error::Value { .. })));
        assert_eq!(check(&[2, 0, 0, 0, 0xff, 0, 0, 0], 100), Err(Error::Text { at: 104, field: "key" }));
        assert!(matches!(
            check(&[2, 0, 0, 0, b'a', 0, 0, 9], 100),
            Err(Error::Value { at: 107, field: "padding", found: 9, .. })
        ));
        assert!(matches!(check(&[2, 0, 0, 0, b'a', 0], 100), Err(Error::Truncated { at: 106, .. })));
        assert!(matches!(check(&[255; 9], 100), Err(Error::Truncated { at: 104, .. })));
        for (value, good) in [
            ("rd\0", true),
            ("rd", true),
            ("rdi\0", true),
            ("lu", true),
            ("dr", false),
            ("", false),
            ("S=r,T=d", false),
        ] {
            assert_eq!(check(&bytes(&[(ORIENTATION, value.as_bytes())]), 0).is_ok(), good, "{value:?}");
        }
    }
}
