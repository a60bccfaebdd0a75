//! Packs with compressed files: version 3.
//!
//! A payload that is shorter than its file is one Zstandard frame with a content size and a checksum. Files that do not
//! shrink are stored as they are. Decompression is the caller's, or that of the feature `zstd`.

use super::{PackEntry, Toc};
use crate::Error;
use crate::bytes::slice;

/// The largest ratio of content to payload, against decompression bombs. A file that shrinks further is stored as it is.
pub const MAX_RATIO: u64 = 1024;

/// The length in bytes up to which a file may have any ratio.
pub const UNLIMITED_CONTENT: u64 = 1 << 20;

/// Returns whether a payload of `size` bytes may have `content_size` bytes of content.
pub fn is_accepted_size(size: u64, content_size: u64) -> bool {
    let limit = size.saturating_mul(MAX_RATIO).max(UNLIMITED_CONTENT);
    content_size == size || size > 0 && (size..=limit).contains(&content_size)
}

/// The payload of a file in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// The file itself.
    Stored(&'a [u8]),
    /// A Zstandard frame. The frame is not checked: a decompressor does that.
    Zstd {
        /// The frame.
        frame: &'a [u8],
        /// The length of the file in bytes: at most [`MAX_RATIO`] times that of the frame, or
        /// [`UNLIMITED_CONTENT`].
        content_size: u64,
    },
}

impl<'a> Payload<'a> {
    fn of(entry: &PackEntry<'a>, pack: &'a [u8]) -> Payload<'a> {
        let bytes = slice(pack, entry.offset, entry.size).unwrap_or_default();
        match entry.is_compressed() {
            false => Payload::Stored(bytes),
            true => Payload::Zstd { frame: bytes, content_size: entry.content_size },
        }
    }

    /// Returns the length of the file in bytes.
    pub fn content_size(&self) -> u64 {
        match self {
            Payload::Stored(bytes) => bytes.len() as u64,
            Payload::Zstd { content_size, .. } => *content_size,
        }
    }

    /// Returns the bytes of a file that is stored as it is, in place; `None` if it is compressed.
    pub fn stored(&self) -> Option<&'a [u8]> {
        match self {
            Payload::Stored(bytes) => Some(bytes),
            Payload::Zstd { .. } => None,
        }
    }

    /// Copies or decompresses the file into a buffer of exactly [`content_size`](Payload::content_size) bytes: allocates
    /// nothing. `decompress` decompresses one frame into a buffer of exactly its content, and returns false if it cannot;
    /// it is called for compressed files only.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] if the buffer has another length, [`Error::Fault`] if `decompress` failed; offsets are those
    /// from the start of the payload.
    pub fn read_into(
        &self,
        decompress: impl FnOnce(&[u8], &mut [u8]) -> bool,
        out: &mut [u8],
    ) -> Result<(), Error> {
        crate::error::equal(0, "buffer length", out.len() as u64, self.content_size())?;
        match self {
            Payload::Stored(bytes) => out.copy_from_slice(bytes),
            Payload::Zstd { frame, .. } if decompress(frame, out) => {}
            Payload::Zstd { .. } => return Err(INVALID),
        }
        Ok(())
    }

    /// Returns the file: in place, or decompressed in memory of its own, which grows with what was decompressed.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] if the frame is invalid or has another length, or the memory does not suffice.
    #[cfg(feature = "zstd")]
    pub fn content(&self) -> Result<alloc::borrow::Cow<'a, [u8]>, Error> {
        use crate::zstd_frame::{DecompressError, decompress};
        let (frame, content_size) = match self {
            Payload::Stored(bytes) => return Ok((*bytes).into()),
            Payload::Zstd { frame, content_size } => (frame, *content_size),
        };
        let why = "does not fit in the memory";
        let too_large = Error::Fault { at: 0, field: "content", why };
        let Ok(len) = usize::try_from(content_size) else { return Err(too_large) };
        decompress(frame, len).map(Into::into).map_err(|error| match error {
            DecompressError::OutOfMemory => too_large,
            DecompressError::Invalid => INVALID,
        })
    }
}

const INVALID: Error = Error::Fault {
    at: 0,
    field: "Zstandard frame",
    why: "is invalid, or its content has not the length that the table of contents gives",
};

/// A whole pack of version 2 or 3 in memory, read or memory-mapped.
///
/// ```
/// # #[cfg(all(feature = "tools", feature = "zstd"))]
/// # {
/// use kiln_format::hpack::{CompressedHpackView, write_compressed};
///
/// # let pack = write_compressed(&[("a.txt", b"text")], |_| None)?;
/// let pack = CompressedHpackView::read(&pack)?;
/// let text = pack.get("a.txt").map(|payload| payload.content()).transpose()?;
/// assert_eq!(text.as_deref(), Some(&b"text"[..]));
/// # }
/// # Ok::<(), kiln_format::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CompressedHpackView<'a> {
    bytes: &'a [u8],
    toc: Toc<'a>,
}

impl<'a> CompressedHpackView<'a> {
    /// Checks the header and the table of contents. Padding and Zstandard frames are left to
    /// [`verify`](crate::Format::verify).
    ///
    /// # Errors
    ///
    /// [`Error`] if the header or an entry is invalid.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        Ok(CompressedHpackView { bytes, toc: Toc::read(bytes, bytes.len() as u64)? })
    }

    /// Returns the table of contents.
    pub fn toc(&self) -> &Toc<'a> {
        &self.toc
    }

    /// Returns all files with their payloads, by ascending path.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (PackEntry<'a>, Payload<'a>)> + use<'a> {
        let bytes = self.bytes;
        self.toc.entries().map(move |entry| (entry, Payload::of(&entry, bytes)))
    }

    /// Returns the payload of the file at `path`; a linear search, as in [`Toc::find`].
    pub fn get(&self, path: &str) -> Option<Payload<'a>> {
        self.toc.find(path).map(|entry| Payload::of(&entry, self.bytes))
    }
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use crate::Format;
    use crate::hpack::{HPack, HpackView, write, write_compressed};
    use alloc::{vec, vec::Vec};

    fn zstd(bytes: &[u8]) -> Option<Vec<u8>> {
        ::zstd::bulk::compress(bytes, 3).ok()
    }

    /// Decompresses with the reference implementation.
    fn unzstd(frame: &[u8], out: &mut [u8]) -> bool {
        ::zstd::bulk::decompress_to_buffer(frame, out).ok() == Some(out.len())
    }

    fn read(payload: Payload<'_>) -> Vec<u8> {
        let mut out = vec![0; payload.content_size() as usize];
        payload.read_into(unzstd, &mut out).unwrap();
        #[cfg(feature = "zstd")]
        assert_eq!(payload.content().as_deref(), Ok(&out[..]));
        out
    }

    #[test]
    fn compressed_files_round_trip() {
        let (long, noise) =
            (vec![7; 5000], (0..300u32).map(|n| ((n * n * 31) >> 3) as u8).collect::<Vec<_>>());
        let files: [(&str, &[u8]); 6] =
            [("a", &long), ("b", b"short"), ("c", &long), ("d", b""), ("e.hmesh", &noise), ("f", b"short")];
        let bytes = write_compressed(&files, zstd).unwrap();
        HPack.verify(&bytes).unwrap();
        assert!(bytes.len() < 1000);
        let view = CompressedHpackView::read(&bytes).unwrap();
        assert_eq!(view.toc().version(), 3);
        for (path, data) in files {
            assert_eq!(read(view.get(path).unwrap()), data, "{path}");
        }
        let is_compressed = |path| view.toc().find(path).unwrap().is_compressed();
        assert_eq!(["a", "b", "c", "d"].map(is_compressed), [true, false, true, false]);
        let offset = |path| view.toc().find(path).unwrap().offset;
        assert_eq!((offset("a"), offset("b")), (offset("c"), offset("f")), "equal files share a payload");
        assert_eq!(view.get("g"), None);

        let mut frames = vec![];
        HPack
            .zstd_frames(&bytes, &mut |frame| {
                frames.push(::zstd::bulk::decompress(frame.bytes, 5000).unwrap())
            })
            .unwrap();
        assert_eq!(frames.first(), Some(&long), "each payload once");
    }

    #[test]
    fn both_versions_are_read_and_in_place_reader_rejects_the_compressed_one() {
        let files: [(&str, &[u8]); 2] = [("a", &[1; 100]), ("b", b"2")];
        let (plain, compressed) = (write(&files).unwrap(), write_compressed(&files, zstd).unwrap());
        let view = CompressedHpackView::read(&plain).unwrap();
        assert_eq!(view.get("a").and_then(|payload| payload.stored()), Some(&[1; 100][..]));
        assert!(
            view.files()
                .eq(files.map(|(path, data)| (view.toc().find(path).unwrap(), Payload::Stored(data))))
        );
        let error = HpackView::read(&compressed).unwrap_err();
        assert!(matches!(error, Error::Value { at: 4, field: "version", found: 3, .. }), "{error}");
    }

    #[test]
    fn rejects_sizes_that_no_frame_has() {
        let good = write_compressed(&[("a", &[1; 100])], zstd).unwrap();
        let entry = CompressedHpackView::read(&good).unwrap().toc().find("a").unwrap();
        let with_content = |content_size: u64| {
            let mut bytes = good.clone();
            bytes[24 + 16..24 + 24].copy_from_slice(&content_size.to_le_bytes());
            bytes
        };
        // The table of contents is wrong by itself.
        for content_size in [0, entry.size - 1, UNLIMITED_CONTENT + 1, u64::MAX] {
            let bytes = with_content(content_size);
            let error = CompressedHpackView::read(&bytes).unwrap_err();
            assert!(matches!(error, Error::Value { at: 40, field: "content_size", .. }), "{error}");
        }
        // The frame has another content size.
        for content_size in [99, 101, UNLIMITED_CONTENT] {
            let bytes = with_content(content_size);
            let view = CompressedHpackView::read(&bytes).unwrap();
            assert!(matches!(HPack.verify(&bytes), Err(Error::Mismatch { field: "content size", .. })));
            let mut out = vec![0; content_size as usize];
            assert_eq!(view.get("a").unwrap().read_into(unzstd, &mut out), Err(INVALID));
            #[cfg(feature = "zstd")]
            assert_eq!(view.get("a").unwrap().content(), Err(INVALID));
        }
        // Not compressed, by its sizes.
        let bytes = with_content(entry.size);
        assert!(matches!(CompressedHpackView::read(&bytes).unwrap().get("a"), Some(Payload::Stored(_))));
        let payload = CompressedHpackView::read(&good).unwrap().get("a").unwrap();
        assert!(matches!(payload.read_into(unzstd, &mut [0; 99]), Err(Error::Mismatch { .. })));
    }

    #[test]
    fn ratio_is_limited() {
        assert!(is_accepted_size(0, 0) && is_accepted_size(5, 5) && is_accepted_size(u64::MAX, u64::MAX));
        assert!(!is_accepted_size(0, 1) && !is_accepted_size(5, 4));
        assert!(is_accepted_size(1, UNLIMITED_CONTENT) && !is_accepted_size(1, UNLIMITED_CONTENT + 1));
        let size = 10 << 20;
        assert!(is_accepted_size(size, size * MAX_RATIO) && !is_accepted_size(size, size * MAX_RATIO + 1));
        // A file that shrinks further is stored as it is.
        let zeros = vec![0; 2 << 20];
        let bytes = write_compressed(&[("a", &zeros[..]), ("b", &zeros[..1 << 20])], zstd).unwrap();
        let view = CompressedHpackView::read(&bytes).unwrap();
        assert_eq!(view.get("a").unwrap().stored(), Some(&zeros[..]));
        assert_eq!(view.get("b").unwrap().stored(), None);
        HPack.verify(&bytes).unwrap();
    }
}
