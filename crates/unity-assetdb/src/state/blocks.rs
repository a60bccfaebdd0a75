//! A memory-mapped file whose blocks are checked when they are first looked at.

// The one place of this crate that is not safe: see `Blocks::map`.
#![allow(unsafe_code)]

use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The size of a block: small enough that a lookup checks little, large enough that checksums take little room.
pub(crate) const BLOCK: usize = 16 << 10;

/// The file is not what was written; the text goes on "the state is …".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage(pub(crate) &'static str);

/// A mapped file.
#[derive(Debug)]
pub(crate) struct Blocks {
    map: Mmap,
    /// Where the checksums start, and so where the blocks end.
    end: usize,
    /// One bit for each block that was found whole.
    sound: Vec<AtomicU64>,
}

impl Blocks {
    /// Maps a file.
    pub(crate) fn map(file: &File) -> io::Result<Blocks> {
        // SAFETY: a map is sound as long as nobody changes the file under it. This crate never writes to a state in
        // place: a new one is written under another name and renamed, and the old one stays as it was for whoever has
        // it mapped. Someone else who overwrites it breaks that contract, as with every memory-mapped file; what they
        // leave there is only ever read as bytes, after its checksum was found right.
        let map = unsafe { Mmap::map(file)? };
        Ok(Blocks { map, end: 0, sound: Vec::new() })
    }

    /// All bytes, unchecked.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.map
    }

    /// Takes note of where the checksums are. Nothing else can be read before.
    pub(crate) fn checksums(&mut self, at: u64, crc: u32) -> Result<(), Damage> {
        let at = usize::try_from(at).ok().filter(|at| *at <= self.map.len()).ok_or(Damage("cut off"))?;
        let count = at.div_ceil(BLOCK);
        let table = &self.map[at..];
        if table.len() != count * 4 || crc32fast::hash(table) != crc {
            return Err(Damage("cut off or damaged at its end"));
        }
        self.end = at;
        self.sound = (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(())
    }

    /// Some bytes, after their blocks were found whole.
    #[inline]
    pub(crate) fn get(&self, at: u64, len: usize) -> Result<&[u8], Damage> {
        let at = at as usize;
        let Some(bytes) = at.checked_add(len).and_then(|end| self.map.get(at..end)) else {
            return Err(Damage("cut off"));
        };
        if len > 0 {
            let last = (at + len - 1).min(self.end.saturating_sub(1)) / BLOCK;
            for block in at / BLOCK..=last {
                let (word, bit) = (block / 64, 1u64 << (block % 64));
                let known = self.sound.get(word).is_some_and(|word| word.load(Ordering::Relaxed) & bit != 0);
                if !known {
                    self.check(block)?;
                }
            }
        }
        Ok(bytes)
    }

    #[cold]
    fn check(&self, block: usize) -> Result<(), Damage> {
        let bytes = &self.map[(block * BLOCK).min(self.end)..((block + 1) * BLOCK).min(self.end)];
        let table = self.map.get(self.end + block * 4..self.end + block * 4 + 4);
        let expected = table.and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        // The head has a checksum of its own, because it is written last.
        let bytes = if block == 0 { bytes.get(super::HEAD..).unwrap_or_default() } else { bytes };
        if expected != Some(crc32fast::hash(bytes)) {
            return Err(Damage("damaged"));
        }
        if let Some(word) = self.sound.get(block / 64) {
            word.fetch_or(1 << (block % 64), Ordering::Relaxed);
        }
        Ok(())
    }
}
