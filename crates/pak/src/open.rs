//! The constructors of [`PakBuf`]: from a file, a range of a file, memory, a stream, or a [`ReadAt`].

use crate::aligned::Aligned;
use crate::bytes::Owner;
use crate::source::{Source, Stream};
use crate::{Error, Options, PakBuf, ReadAt};
use std::ops::Range;
use std::path::Path;

/// Embeds a pak in the executable, aligned so that its assets are zero-copy: `include_bytes!` for
/// [`PakBuf::from_static`](crate::PakBuf::from_static).
///
/// ```ignore
/// let pak = pak::PakBuf::from_static(pak::include_pak!(concat!(env!("OUT_DIR"), "/game_art.pak")))?;
/// ```
#[macro_export]
macro_rules! include_pak {
    ($path:expr $(,)?) => {{
        #[repr(C, align(16))]
        struct Aligned<Content: ?Sized>(Content);
        static PAK: &Aligned<[u8]> = &Aligned(*include_bytes!($path));
        let bytes: &'static [u8] = &PAK.0;
        bytes
    }};
}

impl PakBuf {
    /// Opens a memory-mapped pak file with default options.
    ///
    /// The file must not be modified while it is open: see [`Options::mapped`]. Baking renames a new file into place,
    /// which is safe: a pak that is already open keeps the old file.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be opened or is not a regular file, [`Error::Format`] if it is not a pak of this
    /// version or its index is inconsistent, [`Error::Damaged`] if the checksum of header or index does not match.
    pub fn open(path: impl AsRef<Path>) -> Result<PakBuf, Error> {
        PakBuf::open_with(path, Options::default())
    }

    /// Opens a pak file, memory-mapped or not.
    ///
    /// # Errors
    /// As for [`PakBuf::open`].
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<PakBuf, Error> {
        PakBuf::new(Source::file(path.as_ref(), None, options.mapped)?, options)
    }

    /// Opens a pak inside another file, such as an uncompressed entry of an APK or the end of a self-extracting
    /// executable. `range` is in bytes. Assets are zero-copy if it starts at a multiple of 16.
    ///
    /// # Errors
    /// As for [`PakBuf::open`], and [`Error::Io`] if the range is not inside the file.
    pub fn open_range(path: impl AsRef<Path>, range: Range<u64>, options: Options) -> Result<PakBuf, Error> {
        PakBuf::new(Source::file(path.as_ref(), Some(range), options.mapped)?, options)
    }

    /// Reads a pak from a seekable stream: the index now, assets on demand.
    ///
    /// # Errors
    /// As for [`PakBuf::open`].
    pub fn from_stream(stream: impl Stream + 'static) -> Result<PakBuf, Error> {
        PakBuf::from_stream_with(stream, Options::default())
    }

    /// Reads a pak from a seekable stream with options.
    ///
    /// # Errors
    /// As for [`PakBuf::open`].
    pub fn from_stream_with(stream: impl Stream + 'static, options: Options) -> Result<PakBuf, Error> {
        PakBuf::new(Source::stream(Box::new(stream))?, options)
    }

    /// Reads a pak from a source that reads at an offset: the index now, assets on demand and in parallel.
    ///
    /// # Errors
    /// As for [`PakBuf::open`].
    pub fn from_source(source: impl ReadAt + 'static) -> Result<PakBuf, Error> {
        PakBuf::from_source_with(source, Options::default())
    }

    /// Reads a pak from a source that reads at an offset, with options.
    ///
    /// # Errors
    /// As for [`PakBuf::open`].
    pub fn from_source_with(source: impl ReadAt + 'static, options: Options) -> Result<PakBuf, Error> {
        PakBuf::new(Source::read_at(Box::new(source))?, options)
    }

    /// Reads a pak from memory. The bytes are copied once, so that assets are aligned.
    ///
    /// # Errors
    /// As for [`PakBuf::open`], and [`Error::Io`] if there is not enough memory for the copy.
    pub fn from_bytes(bytes: &[u8]) -> Result<PakBuf, Error> {
        PakBuf::from_bytes_with(bytes, Options::default())
    }

    /// Reads a pak from memory with options.
    ///
    /// # Errors
    /// As for [`PakBuf::from_bytes`].
    pub fn from_bytes_with(bytes: &[u8], options: Options) -> Result<PakBuf, Error> {
        let memory = Aligned::zeroed(bytes.len()).ok_or(std::io::ErrorKind::OutOfMemory);
        let mut memory = memory.map_err(std::io::Error::from)?;
        memory.copy_from_slice(bytes);
        PakBuf::new(Source::memory(Owner::Heap(memory)), options)
    }

    /// Reads a pak from a `'static` slice without a copy. If the slice is not aligned to 16 bytes, which
    /// [`include_pak!`](crate::include_pak) ensures, uncompressed assets are copied when they are read.
    ///
    /// # Errors
    /// As for [`PakBuf::open`].
    pub fn from_static(bytes: &'static [u8]) -> Result<PakBuf, Error> {
        PakBuf::from_static_with(bytes, Options::default())
    }

    /// Reads a pak from a `'static` slice with options.
    ///
    /// # Errors
    /// As for [`PakBuf::open`].
    pub fn from_static_with(bytes: &'static [u8], options: Options) -> Result<PakBuf, Error> {
        PakBuf::new(Source::memory(Owner::Static(bytes)), options)
    }
}

impl TryFrom<&'static [u8]> for PakBuf {
    type Error = Error;

    /// Reads a pak as [`PakBuf::from_static`] does.
    ///
    /// # Errors
    /// As for [`PakBuf::open`].
    fn try_from(bytes: &'static [u8]) -> Result<PakBuf, Error> {
        PakBuf::from_static(bytes)
    }
}
