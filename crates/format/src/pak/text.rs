//! Strings of a payload: one run of UTF-8, and ranges in it.

use crate::pod::pod;
use crate::{Array, Error};

pod! {
    /// The range of a string in the payload's run of UTF-8.
    pub struct TextRange {
        /// Byte offset of the string.
        pub offset: u32,
        /// Length of the string in bytes.
        pub len: u32,
    }
}

/// The strings of a payload.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Texts<'a>(&'a str);

impl<'a> Texts<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        core::str::from_utf8(bytes).map(Texts).map_err(|_| Error::Text { at: 0, field: "text" })
    }

    /// Returns the string at a range; `None` if it is out of bounds or splits a character.
    pub(super) fn get(&self, range: TextRange) -> Option<&'a str> {
        let start = range.offset as usize;
        self.0.get(start..start.checked_add(range.len as usize)?)
    }

    pub(super) fn check(&self, ranges: Array<'_, TextRange>) -> Result<(), Error> {
        match ranges.iter().position(|range| self.get(range).is_none()) {
            None => Ok(()),
            Some(index) => {
                Err(Error::Index { at: 0, field: "text", found: index as u64, count: ranges.len() as u64 })
            }
        }
    }
}

/// Collects the strings of a payload; equal strings are stored once.
#[cfg(feature = "tools")]
#[derive(Default)]
pub(super) struct TextWriter {
    text: alloc::string::String,
    places: alloc::collections::BTreeMap<alloc::string::String, TextRange>,
}

#[cfg(feature = "tools")]
impl TextWriter {
    pub(super) fn put(&mut self, text: &str) -> Result<TextRange, Error> {
        if let Some(place) = self.places.get(text) {
            return Ok(*place);
        }
        let number = |n: usize| crate::count_u32("text", n);
        number(self.text.len() + text.len())?;
        let place = TextRange { offset: number(self.text.len())?, len: number(text.len())? };
        self.text.push_str(text);
        self.places.insert(text.into(), place);
        Ok(place)
    }

    pub(super) fn len(&self) -> u32 {
        self.text.len() as u32
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }
}
