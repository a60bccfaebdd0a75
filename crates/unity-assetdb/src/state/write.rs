//! Writes a state: section by section, with the checksum of each block, and the head last.

use super::blocks::BLOCK;
use super::{HEAD, Head, Record, SECTIONS, Section};
use crate::store::Temporary;
use std::io::{self, Seek, SeekFrom, Write};

/// How much is kept before it is written.
const BUFFER: usize = 32 * BLOCK;

/// A state that is being written.
pub(crate) struct Writer {
    file: Temporary,
    buffer: Vec<u8>,
    /// How many bytes of the file have been written.
    written: u64,
    checksums: Vec<u8>,
    open: Option<(usize, u64)>,
    sections: [(u64, u64); SECTIONS],
}

impl Writer {
    pub(crate) fn new(file: Temporary) -> Writer {
        let buffer = vec![0; HEAD];
        Writer { file, buffer, written: 0, checksums: Vec::new(), open: None, sections: [(0, 0); SECTIONS] }
    }

    /// Starts a section; what is put from now on belongs to it.
    pub(crate) fn section(&mut self, section: Section) {
        self.close();
        self.open = Some((section as usize, self.written + self.buffer.len() as u64));
    }

    fn close(&mut self) {
        if let Some((section, start)) = self.open.take() {
            self.sections[section] = (start, self.written + self.buffer.len() as u64 - start);
        }
    }

    pub(crate) fn put<R: Record>(&mut self, record: &R) -> io::Result<()> {
        record.put(&mut self.buffer);
        self.spill()
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.chunks(BUFFER) {
            self.buffer.extend_from_slice(part);
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.buffer.len() < BUFFER {
            return Ok(());
        }
        let whole = self.buffer.len() / BLOCK * BLOCK;
        self.flush(whole)
    }

    fn flush(&mut self, len: usize) -> io::Result<()> {
        for (n, block) in self.buffer[..len].chunks(BLOCK).enumerate() {
            let checked =
                if self.written == 0 && n == 0 { block.get(HEAD..).unwrap_or_default() } else { block };
            self.checksums.extend(crc32fast::hash(checked).to_le_bytes());
        }
        self.file.write_all(&self.buffer[..len])?;
        self.written += len as u64;
        self.buffer.drain(..len);
        Ok(())
    }

    /// Writes checksums and head. The file still has to be published.
    pub(crate) fn finish(mut self, head: Head) -> io::Result<Temporary> {
        self.close();
        let rest = self.buffer.len();
        self.flush(rest)?;
        self.file.write_all(&self.checksums)?;
        let head = Head {
            sections: self.sections,
            checksums: self.written,
            checksums_crc: crc32fast::hash(&self.checksums),
            ..head
        };
        let mut file = self.file.file();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&head.put())?;
        Ok(self.file)
    }
}
