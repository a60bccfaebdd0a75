//! The byte source of a pak: a memory-mapped file, a buffer in memory, or a seekable stream.

use crate::Error;
use crate::bytes::{Bytes, Owner};
use std::fmt::Debug;
use std::io::{self, Read, Seek, SeekFrom};
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

/// The bytes of a pak file.
pub(crate) enum Source {
    Memory(Bytes),
    Stream { stream: Mutex<Box<dyn Stream>>, len: u64 },
}

impl Source {
    pub(crate) fn map(path: &Path) -> Result<Source, Error> {
        let file = open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Source::memory(Owner::Static(&[])));
        }
        Ok(Source::memory(Owner::Map(map(&file)?)))
    }

    pub(crate) fn memory(owner: Owner) -> Source {
        Source::Memory(Bytes::all(Arc::new(owner)))
    }

    pub(crate) fn stream(mut stream: Box<dyn Stream>) -> Result<Source, Error> {
        let len = stream.seek(SeekFrom::End(0))?;
        Ok(Source::Stream { stream: Mutex::new(stream), len })
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Source::Memory(bytes) => bytes.len() as u64,
            Source::Stream { len, .. } => *len,
        }
    }

    /// Returns a range of the file zero-copy; `None` if the source is a stream.
    pub(crate) fn in_place(&self, start: u64, len: u64) -> Option<Bytes> {
        let Source::Memory(bytes) = self else { return None };
        let start = usize::try_from(start).ok()?;
        Some(bytes.slice(start..start.checked_add(usize::try_from(len).ok()?)?))
    }

    /// Fills `out` with the bytes at offset `start`.
    pub(crate) fn read(&self, start: u64, out: &mut [u8]) -> io::Result<()> {
        match self {
            Source::Memory(_) => {
                let bytes = self.in_place(start, out.len() as u64).filter(|bytes| bytes.len() == out.len());
                out.copy_from_slice(&bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Source::Stream { stream, .. } => {
                let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                stream.seek(SeekFrom::Start(start))?;
                stream.read_exact(out)
            }
        }
    }
}

/// Maps a file into memory for reading.
#[allow(unsafe_code, reason = "a mapping is only as constant as the file")]
fn map(file: &std::fs::File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the mapping is private and read-only. A file that another process writes to while it is mapped would
    // change under us; paks are replaced by renaming a new one over the old, which leaves the mapped one as it was.
    // Every byte is checked against a checksum before use, and no code depends on its value for memory safety:
    // readers treat the bytes as data and access them through bounds-checked slices.
    unsafe { memmap2::Mmap::map(file) }
}
