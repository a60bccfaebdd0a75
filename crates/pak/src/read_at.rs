//! Sources that read at an offset: files, memory, and those of a game, such as an archive or an HTTP server.

use crate::Bytes;
use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// A source of bytes that is read at any offset, by several threads at a time.
///
/// Opening a pak reads its header and its index; each asset is one more read, and a
/// [`BlobStream`](crate::BlobStream) reads the blocks it needs only. So a pak can be on a server that answers range
/// requests, and asynchronous programs read assets on threads of their own.
///
/// ```
/// use std::io;
///
/// /// A pak inside another file in memory.
/// #[derive(Debug)]
/// struct Embedded {
///     bytes: Vec<u8>,
///     start: usize,
/// }
///
/// impl pak::ReadAt for Embedded {
///     fn size(&self) -> io::Result<u64> {
///         Ok((self.bytes.len() - self.start) as u64)
///     }
///
///     fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
///         let start = self.start.saturating_add(usize::try_from(offset).map_err(io::Error::other)?);
///         let found = self.bytes.get(start..).and_then(|rest| rest.get(..out.len()));
///         out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
///         Ok(())
///     }
/// }
/// ```
pub trait ReadAt: Debug + Send + Sync {
    /// Returns the length of the pak in bytes.
    ///
    /// # Errors
    /// The I/O error of the source.
    fn size(&self) -> io::Result<u64>;

    /// Fills `out` with the bytes at an offset.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the source ends before, otherwise the I/O error of the source.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
}

impl ReadAt for File {
    fn size(&self) -> io::Result<u64> {
        self.metadata().map(|metadata| metadata.len())
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, out, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(self, out, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    out = &mut out[count..];
                    offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    #[cfg(not(any(unix, windows)))]
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        // Without reads at an offset, the position of the file is shared: one read at a time.
        static POSITION: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _guard = POSITION.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut file = self;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(out)
    }
}

fn read_slice(bytes: &[u8], offset: u64, out: &mut [u8]) -> io::Result<()> {
    let start = usize::try_from(offset).ok();
    let found = start.and_then(|start| bytes.get(start..)?.get(..out.len()));
    out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
    Ok(())
}

macro_rules! memory {
    ($($type:ty),+) => { $(
        impl ReadAt for $type {
            fn size(&self) -> io::Result<u64> {
                Ok(<[u8]>::len(self) as u64)
            }

            fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
                read_slice(self, offset, out)
            }
        }
    )+ };
}

memory!(Vec<u8>, &'static [u8], Bytes);

impl<T: ReadAt + ?Sized> ReadAt for Arc<T> {
    fn size(&self) -> io::Result<u64> {
        (**self).size()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        (**self).read_at(offset, out)
    }
}
