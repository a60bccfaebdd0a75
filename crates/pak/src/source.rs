//! Where the bytes of a pak come from: a mapped file, bytes in memory, or something that reads and seeks.

use crate::Error;
use crate::bytes::{Bytes, Owner};
use std::fmt::Debug;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Something that can be read and sought in, and opened once more for a reader of its own.
pub trait Stream: Debug + Read + Seek + Send {
    /// The same bytes, with a position of their own.
    fn open(&self) -> io::Result<Box<dyn Stream>>;
}

impl Stream for io::Cursor<&'static [u8]> {
    fn open(&self) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(io::Cursor::new(*self.get_ref())))
    }
}

impl Stream for std::fs::File {
    /// The position is shared with the original: every read here seeks first.
    fn open(&self) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(self.try_clone()?))
    }
}

/// Opens a regular file. On a pipe one would wait without end.
pub(crate) fn open(path: &Path) -> io::Result<std::fs::File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    std::fs::File::open(path)
}

/// The bytes of a pak.
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

    /// Bytes that are known to be inside, where they lie; `None` when they have to be read.
    pub(crate) fn in_place(&self, start: u64, len: u64) -> Option<Bytes> {
        let Source::Memory(bytes) = self else { return None };
        let start = usize::try_from(start).ok()?;
        Some(bytes.slice(start..start.checked_add(usize::try_from(len).ok()?)?))
    }

    /// Fills `out` from a place in the file.
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

/// Maps a file for reading.
#[allow(unsafe_code, reason = "a mapping is only as constant as the file")]
fn map(file: &std::fs::File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the mapping is private and read-only. A file that another process writes to while it is mapped would
    // change under us; paks are replaced by renaming a new one over the old, which leaves the mapped one as it was.
    // Every byte is checked against checksums before it is believed, and whatever it is, no code depends on it for
    // memory safety: readers take the bytes as data and bound every access by slices.
    unsafe { memmap2::Mmap::map(file) }
}
