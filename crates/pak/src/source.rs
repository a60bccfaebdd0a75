//! The byte source of a pak: a memory-mapped file, a buffer in memory, a seekable stream, or anything that reads at an
//! offset.

use crate::Error;
use crate::aligned::ALIGNMENT;
use crate::bytes::{Bytes, Owner};
use crate::read_at::ReadAt;
use std::fmt::Debug;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A seekable byte stream that can be opened again with an independent position.
pub trait Stream: Debug + Read + Seek + Send {
    /// Opens the same bytes once more, with an independent position.
    ///
    /// # Errors
    /// The I/O error of duplicating or reopening the underlying file.
    fn open(&self) -> io::Result<Box<dyn Stream>>;
}

impl Stream for io::Cursor<&'static [u8]> {
    fn open(&self) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(io::Cursor::new(*self.get_ref())))
    }
}

impl Stream for std::fs::File {
    /// Duplicates the file handle. The position is shared with the original, so every read of a pak seeks first.
    fn open(&self) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(self.try_clone()?))
    }
}

/// Opens a regular file. Opening a named pipe would block forever.
pub(crate) fn open(path: &Path) -> io::Result<std::fs::File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    std::fs::File::open(path)
}

/// A stream with a position, as a source without one.
#[derive(Debug)]
struct SharedStream {
    stream: Mutex<Box<dyn Stream>>,
    len: u64,
}

impl ReadAt for SharedStream {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.seek(SeekFrom::Start(offset))?;
        stream.read_exact(out)
    }
}

/// The bytes of a pak file.
pub(crate) enum Source {
    Memory(Bytes),
    ReadAt {
        source: Box<dyn ReadAt>,
        /// The offset of the pak in the source.
        start: u64,
        len: u64,
    },
}

impl Source {
    /// Maps a range of a file, or reads it on demand.
    pub(crate) fn file(path: &Path, range: Option<Range<u64>>, mapped: bool) -> Result<Source, Error> {
        let file = open(path)?;
        let file_len = file.metadata()?.len();
        let Range { start, end } = range.unwrap_or(0..file_len);
        let Some(len) = end.checked_sub(start).filter(|_| end <= file_len) else {
            let message =
                format!("the range {start}..{end} is not inside the file, which has {file_len} bytes");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message).into());
        };
        if len == 0 {
            return Ok(Source::memory(Owner::Static(&[])));
        }
        if !mapped {
            return Ok(Source::ReadAt { source: Box::new(file), start, len });
        }
        let len = usize::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Source::memory(Owner::Map(map(&file, start, len)?)))
    }

    pub(crate) fn memory(owner: Owner) -> Source {
        Source::Memory(Bytes::all(Arc::new(owner)))
    }

    pub(crate) fn stream(mut stream: Box<dyn Stream>) -> Result<Source, Error> {
        let len = stream.seek(SeekFrom::End(0))?;
        Source::read_at(Box::new(SharedStream { stream: Mutex::new(stream), len }))
    }

    pub(crate) fn read_at(source: Box<dyn ReadAt>) -> Result<Source, Error> {
        let len = source.size()?;
        Ok(Source::ReadAt { source, start: 0, len })
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Source::Memory(bytes) => bytes.len() as u64,
            Source::ReadAt { len, .. } => *len,
        }
    }

    /// Returns a range of the file zero-copy; `None` if the source is not in memory.
    pub(crate) fn in_place(&self, start: u64, len: u64) -> Option<Bytes> {
        let Source::Memory(bytes) = self else { return None };
        let start = usize::try_from(start).ok()?;
        Some(bytes.slice(start..start.checked_add(usize::try_from(len).ok()?)?))
    }

    /// Returns whether payloads, which are aligned in the file, are aligned in memory as well.
    pub(crate) fn is_aligned(&self) -> bool {
        match self {
            Source::Memory(bytes) => bytes.as_ptr().addr().is_multiple_of(ALIGNMENT),
            Source::ReadAt { .. } => true,
        }
    }

    /// Fills `out` with the bytes at offset `at`.
    pub(crate) fn read(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        match self {
            Source::Memory(_) => {
                let bytes = self.in_place(at, out.len() as u64).filter(|bytes| bytes.len() == out.len());
                out.copy_from_slice(&bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Source::ReadAt { source, start, len } => {
                let end = at.checked_add(out.len() as u64).filter(|end| end <= len);
                end.ok_or(io::ErrorKind::UnexpectedEof)?;
                let at = start.checked_add(at).ok_or(io::ErrorKind::UnexpectedEof)?;
                source.read_at(at, out)
            }
        }
    }
}

/// Maps a range of a file into memory for reading.
#[allow(unsafe_code, reason = "a mapping is only as constant as the file")]
fn map(file: &std::fs::File, start: u64, len: usize) -> io::Result<memmap2::Mmap> {
    // SAFETY: the mapping is private and read-only. A file that another process writes to while it is mapped would
    // change under us; paks are replaced by renaming a new one over the old, which leaves the mapped one as it was.
    // Every byte is checked against a checksum before use, and no code depends on its value for memory safety:
    // readers treat the bytes as data and access them through bounds-checked slices. A file that is truncated ends the
    // process with SIGBUS on access, which is not undefined behavior; `Options::mapped` avoids it.
    unsafe { memmap2::MmapOptions::new().offset(start).len(len).map(file) }
}
