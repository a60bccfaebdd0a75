//! The payload of a bitmap font: its definition as a string. Its pages are the bitmaps that the index lists
//! for it.

use super::Sections;
use crate::Error;
use crate::bytes::Le;
use crate::pod::pod;

pod! {
    /// The header of the payload: the size of its parts.
    pub struct FontHead {
        /// Size of the definition in bytes.
        pub def_len: u32,
        /// Number of pages.
        pub pages: u32,
    }
}

/// Checks a payload; returns the definition and the number of pages.
///
/// # Errors
///
/// [`Error`] if the payload is truncated, has trailing bytes or is not UTF-8.
pub fn read(bytes: &[u8]) -> Result<(&str, u32), Error> {
    let len = bytes.len() as u64;
    let short = Error::Truncated { at: 0, field: "head", needed: FontHead::SIZE as u64, len };
    let head = FontHead::get(bytes).ok_or(short)?;
    let mut sections = Sections::new(bytes, FontHead::SIZE);
    let def = sections.bytes(head.def_len.into(), "definition")?;
    sections.finish()?;
    let def = core::str::from_utf8(def).map_err(|_| Error::Text { at: 8, field: "definition" })?;
    Ok((def, head.pages))
}

/// Encodes the payload of a bitmap font.
///
/// # Errors
///
/// [`Error::TooLarge`] if the definition exceeds 2³²−1 bytes.
#[cfg(feature = "tools")]
pub fn write(def: &str, pages: u32) -> Result<alloc::vec::Vec<u8>, Error> {
    let def_len = crate::count_u32("def_len", def.len())?;
    let mut out = alloc::vec::Vec::new();
    Le::put(FontHead { def_len, pages }, &mut out);
    out.extend_from_slice(def.as_bytes());
    Ok(out)
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;

    #[test]
    fn definition_round_trips() {
        let bytes = write("info face=\"ä\"", 2).unwrap();
        assert_eq!(read(&bytes), Ok(("info face=\"ä\"", 2)));
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len]).is_err());
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(read(&longer).is_err());
    }
}
