//! Writes a state: section by section, with the checksum of each page, and the header last.

use super::pages::PAGE;
use super::{HEADER, Header, Record, SECTIONS, Section};
use kiln_engine::temporary::TemporaryFile;
use std::io::{self, Seek, SeekFrom, Write};

/// The size of the write buffer in bytes.
const BUFFER: usize = 32 * PAGE;

/// A state that is being written.
pub(crate) struct Writer {
    file: TemporaryFile,
    buffer: Vec<u8>,
    /// The number of bytes of the file that have been written.
    written: u64,
    checksums: Vec<u8>,
    open: Option<(usize, u64)>,
    sections: [(u64, u64); SECTIONS],
}

impl Writer {
    pub(crate) fn new(file: TemporaryFile) -> Writer {
        let buffer = vec![0; HEADER];
        Writer { file, buffer, written: 0, checksums: Vec::new(), open: None, sections: [(0, 0); SECTIONS] }
    }

    /// Starts a section, to which all records that follow belong.
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

    /// Writes what a function appends to the buffer, which should be short. Returns the number of bytes.
    pub(crate) fn append(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> io::Result<usize> {
        let before = self.buffer.len();
        put(&mut self.buffer);
        let len = self.buffer.len() - before;
        self.spill()?;
        Ok(len)
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.buffer.len() < BUFFER {
            return Ok(());
        }
        let whole = self.buffer.len() / PAGE * PAGE;
        self.flush(whole)
    }

    fn flush(&mut self, len: usize) -> io::Result<()> {
        for (n, block) in self.buffer[..len].chunks(PAGE).enumerate() {
            let checked =
                if self.written == 0 && n == 0 { block.get(HEADER..).unwrap_or_default() } else { block };
            self.checksums.extend(crc32fast::hash(checked).to_le_bytes());
        }
        self.file.file().write_all(&self.buffer[..len])?;
        self.written += len as u64;
        self.buffer.drain(..len);
        Ok(())
    }

    /// Writes the checksum table and the header. The caller publishes the file.
    pub(crate) fn finish(mut self, header: Header) -> io::Result<TemporaryFile> {
        self.close();
        let rest = self.buffer.len();
        self.flush(rest)?;
        self.file.file().write_all(&self.checksums)?;
        let header = Header {
            sections: self.sections,
            checksums: self.written,
            checksums_crc: crc32fast::hash(&self.checksums),
            ..header
        };
        let mut file = self.file.file();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&header.put())?;
        Ok(self.file)
    }
}
