//! A memory-mapped file that is divided into pages, each with a CRC-32 that is verified when the page is first read.
//!
//! A lookup therefore reads and checks the pages that it touches and no others, and damage in any of them is an error
//! instead of a wrong answer.

// The one place of this crate that is not safe: see `contents`.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The size of a page in bytes: small enough that a lookup checks little, large enough that the checksum table is small
/// (1/4096 of the file).
pub(crate) const PAGE: usize = 16 << 10;

/// The reason why a state file is not as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage(pub(crate) &'static str);

/// The bytes of the file: memory-mapped, so that only the pages that a lookup touches are read.
#[cfg(not(windows))]
type Contents = memmap2::Mmap;

/// The bytes of the file. Windows refuses to replace a file that any process has mapped, so that a server with an open index
/// would block every bake; there the file is read as a whole.
#[cfg(windows)]
type Contents = Vec<u8>;

/// A file with checksums per page.
#[derive(Debug)]
pub(crate) struct PagedFile {
    map: Contents,
    /// The offset of the checksum table, which is where the pages end.
    end: usize,
    /// One bit for each page, set once its checksum was found correct.
    verified: Vec<AtomicU64>,
}

impl PagedFile {
    /// Maps a file, or reads it where a mapped file cannot be replaced.
    ///
    /// # Errors
    /// If the system cannot map or read the file.
    pub(crate) fn open(file: &File) -> io::Result<PagedFile> {
        Ok(PagedFile { map: contents(file)?, end: 0, verified: Vec::new() })
    }

    /// Returns all bytes, unverified.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.map
    }

    /// Locates and verifies the checksum table. Must be called before [`get`](Self::get).
    ///
    /// # Errors
    /// If the table is not there in full, or does not match its own checksum.
    pub(crate) fn load_checksums(&mut self, at: u64, crc: u32) -> Result<(), Damage> {
        let at = usize::try_from(at).ok().filter(|at| *at <= self.map.len()).ok_or(Damage(UNEXPECTED_END))?;
        let count = at.div_ceil(PAGE);
        let table = &self.map[at..];
        if table.len() != count * 4 {
            return Err(Damage(UNEXPECTED_END));
        }
        if crc32fast::hash(table) != crc {
            return Err(Damage("its checksum table is damaged"));
        }
        self.end = at;
        self.verified = (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(())
    }

    /// Returns a range of bytes, after the checksums of its pages were verified.
    ///
    /// # Errors
    /// If the range is not in the file, or a checksum does not match.
    #[inline]
    pub(crate) fn get(&self, at: u64, len: usize) -> Result<&[u8], Damage> {
        let at = at as usize;
        let Some(bytes) = at.checked_add(len).and_then(|end| self.map.get(at..end)) else {
            return Err(Damage(UNEXPECTED_END));
        };
        if len > 0 {
            let last = (at + len - 1).min(self.end.saturating_sub(1)) / PAGE;
            for page in at / PAGE..=last {
                let (word, bit) = (page / 64, 1u64 << (page % 64));
                let known =
                    self.verified.get(word).is_some_and(|word| word.load(Ordering::Relaxed) & bit != 0);
                if !known {
                    self.verify(page)?;
                }
            }
        }
        Ok(bytes)
    }

    #[cold]
    fn verify(&self, page: usize) -> Result<(), Damage> {
        let bytes = &self.map[(page * PAGE).min(self.end)..((page + 1) * PAGE).min(self.end)];
        let table = self.map.get(self.end + page * 4..self.end + page * 4 + 4);
        let expected = table.and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        // The header has a checksum of its own, because it is written last.
        let bytes = if page == 0 { bytes.get(super::HEADER..).unwrap_or_default() } else { bytes };
        if expected != Some(crc32fast::hash(bytes)) {
            return Err(Damage("the checksum of a page does not match"));
        }
        if let Some(word) = self.verified.get(page / 64) {
            word.fetch_or(1 << (page % 64), Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Maps a file. Its length is all that is read.
#[cfg(not(windows))]
fn contents(file: &File) -> io::Result<Contents> {
    // SAFETY: a map is sound as long as the file under it is not modified. This crate never writes to a state in place: a
    // new one is written under a temporary name and renamed, and the old one stays as it was for every process that has it
    // mapped. Another program that overwrites it breaks that contract, as with every memory-mapped file; the map is only
    // ever read as bytes, after its checksum was found correct.
    unsafe { memmap2::Mmap::map(file) }
}

#[cfg(windows)]
fn contents(mut file: &File) -> io::Result<Contents> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(bytes)
}

/// The file is shorter than its header states.
pub(crate) const UNEXPECTED_END: &str = "unexpected end of file";
