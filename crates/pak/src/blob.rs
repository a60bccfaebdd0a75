//! Streaming reads of a blob: one block is decoded at a time, compressed or not.

use crate::PakBuf;
use crate::error::Fault;
use kiln_format::pak::Asset;
use std::io::{self, Read, Seek, SeekFrom};

/// A streaming reader of one blob, with its own position. Implements [`Read`] and [`Seek`].
#[derive(Debug)]
pub struct BlobStream<'a> {
    pak: &'a PakBuf,
    asset: Asset,
    at: u64,
    /// The index and content of the block that was decoded last.
    block: (Option<usize>, Vec<u8>),
}

impl<'a> BlobStream<'a> {
    pub(crate) fn new(pak: &'a PakBuf, asset: Asset) -> BlobStream<'a> {
        BlobStream { pak, asset, at: 0, block: (None, Vec::new()) }
    }

    /// Returns the decoded length of the blob in bytes.
    pub fn len(&self) -> u64 {
        self.asset.len
    }

    /// Returns `true` if the blob is empty.
    pub fn is_empty(&self) -> bool {
        self.asset.len == 0
    }
}

impl Read for BlobStream<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.asset.len || out.is_empty() {
            return Ok(0);
        }
        let number = (self.at / self.asset.block_len) as usize;
        if self.block.0 != Some(number) {
            self.block.0 = None;
            self.pak.block(&self.asset, number, &mut self.block.1).map_err(|fault| match fault {
                Fault::Io(error) => error,
                other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
            })?;
            self.block.0 = Some(number);
        }
        let start = (self.at % self.asset.block_len) as usize;
        let found = self.block.1.get(start..).unwrap_or_default();
        let count = found.len().min(out.len());
        out[..count].copy_from_slice(&found[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for BlobStream<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.asset.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "seek to a position before the start of the blob")
        })?;
        Ok(self.at)
    }
}
