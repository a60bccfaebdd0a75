//! The layout and the writer of packs.
//!
//! Rejects duplicate paths, paths that could escape the runtime root, and values that exceed their fields.

use alloc::{borrow::Cow, collections::BTreeMap, string::String, vec::Vec};

use super::{
    ALIGNMENT, COMPRESSED_VERSION, CompressedRecord, Header, MAGIC, PackKind, Record, VERSION,
    is_accepted_size, record_len,
};
use crate::bytes::align;
use crate::{Error, paths};

/// The layout of a pack to be written. It needs only paths and sizes, so a pack may be larger than memory:
/// write [`head`](PackLayout::head), then for each of [`files`](PackLayout::files) its padding and its payload.
/// Nothing follows the last payload.
#[derive(Clone, Debug)]
pub struct PackLayout {
    head: Vec<u8>,
    files: Vec<PlacedFile>,
    file_len: u64,
}

/// A file in a [`PackLayout`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedFile {
    /// The path of the file, relative to the output root.
    pub path: String,
    /// The length of the payload in bytes.
    pub size: u64,
    /// The length of the file in bytes; greater than `size` if the payload is a Zstandard frame.
    pub content_size: u64,
    /// The kind of the file, by its extension.
    pub kind: PackKind,
    /// Number of zero bytes before the payload: fewer than [`ALIGNMENT`].
    pub padding: usize,
    /// True if an earlier file has the same content, whose payload this file shares: nothing is written for it.
    pub is_shared: bool,
    /// The byte offset of the payload in the pack.
    pub offset: u64,
}

/// A file to be packed, compressed or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileToPack<K> {
    /// The path of the file, relative to the output root.
    pub path: String,
    /// The length of the payload in bytes.
    pub size: u64,
    /// The length of the file in bytes; that of the payload, or more if it is a Zstandard frame.
    pub content_size: u64,
    /// The digest of the content: files with equal digests share one payload.
    pub digest: K,
}

impl PackLayout {
    /// Lays out files given as path and size, in any order.
    ///
    /// # Errors
    ///
    /// [`Error::Duplicate`], [`Error::BadPath`] or [`Error::TooLarge`] if the files cannot be packed.
    pub fn new(files: Vec<(String, u64)>) -> Result<PackLayout, Error> {
        PackLayout::lay_out(
            VERSION,
            files.into_iter().map(|(path, size)| stored(path, size, None::<()>)).collect(),
        )
    }

    /// Lays out files given as path, size and digest, in any order. Files with equal digests share one payload.
    ///
    /// # Errors
    ///
    /// Those of [`new`](PackLayout::new).
    pub fn sharing(files: Vec<(String, u64, [u8; 32])>) -> Result<PackLayout, Error> {
        let files = files.into_iter().map(|(path, size, digest)| stored(path, size, Some(digest)));
        PackLayout::lay_out(VERSION, files.collect())
    }

    /// Lays out a pack of version 3, in any order of the files. Files with equal digests share one payload.
    ///
    /// # Errors
    ///
    /// Those of [`new`](PackLayout::new), and [`Error::Value`] if the sizes of a file are not
    /// [accepted](is_accepted_size).
    pub fn compressed(files: Vec<FileToPack<[u8; 32]>>) -> Result<PackLayout, Error> {
        PackLayout::lay_out(COMPRESSED_VERSION, files.into_iter().map(|file| file.map(Some)).collect())
    }

    /// Lays out files; those with the same key share one payload, which is that of the first by path.
    fn lay_out<K: Ord>(version: u32, mut files: Vec<FileToPack<Option<K>>>) -> Result<PackLayout, Error> {
        let too_large = |field, found| Error::TooLarge { field, found, max: u64::MAX };
        files.sort_by(|a, b| a.path.cmp(&b.path));
        if let Some(pair) = files.windows(2).find(|pair| pair[0].path == pair[1].path) {
            return Err(Error::Duplicate { path: pair[0].path.clone() });
        }
        let count = crate::count_u32("count", files.len())?;
        let toc_bytes: u64 = files.iter().map(|file| (record_len(version) + file.path.len()) as u64).sum();

        let mut head = Vec::new();
        Header { magic: MAGIC, version, count, flags: 0, toc_bytes }.put(&mut head);
        let mut end = Header::SIZE as u64 + toc_bytes;
        let mut placed = Vec::with_capacity(files.len());
        let mut payloads: BTreeMap<(u64, K), u64> = BTreeMap::new();
        for FileToPack { path, size, content_size, digest } in files {
            paths::check(&path).map_err(|why| Error::BadPath { path: path.clone(), why })?;
            if !is_accepted_size(size, content_size) {
                let (field, found, expected) = ("content_size", content_size, "a size that the ratio allows");
                return Err(Error::Value { at: 0, field, found, expected });
            }
            let (kind, path_len) = (PackKind::from_path(&path), paths::len_u16(&path)?);
            let place = align(end, ALIGNMENT).ok_or(too_large("offset", end))?;
            let key = digest.filter(|_| size > 0);
            let earlier =
                key.map(|key| *payloads.entry((size, key)).or_insert(place)).filter(|at| *at != place);
            let (offset, is_shared) = (earlier.unwrap_or(place), earlier.is_some());
            if version == COMPRESSED_VERSION {
                CompressedRecord { offset, size, content_size, kind: kind as u8, path_len }.put(&mut head);
            } else {
                Record { offset, size, kind: kind as u8, path_len }.put(&mut head);
            }
            head.extend_from_slice(path.as_bytes());
            let padding = if is_shared { 0 } else { (offset - end) as usize };
            placed.push(PlacedFile { path, size, content_size, kind, padding, is_shared, offset });
            if is_shared {
                continue;
            }
            end = offset.checked_add(size).ok_or(too_large("size", size))?;
        }
        Ok(PackLayout { head, files: placed, file_len: end })
    }

    /// Returns the header and the table of contents: the first bytes of the pack.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the files in the order in which they are written: by path.
    pub fn files(&self) -> &[PlacedFile] {
        &self.files
    }

    /// Returns the length of the finished pack in bytes.
    pub fn file_len(&self) -> u64 {
        self.file_len
    }
}

impl<K> FileToPack<K> {
    fn map<L>(self, digest: impl FnOnce(K) -> L) -> FileToPack<L> {
        let FileToPack { path, size, content_size, digest: key } = self;
        FileToPack { path, size, content_size, digest: digest(key) }
    }
}

fn stored<K>(path: String, size: u64, digest: K) -> FileToPack<K> {
    FileToPack { path, size, content_size: size, digest }
}

/// Encodes a pack of files in memory, in any order. Files with equal contents share one payload.
///
/// # Errors
///
/// The errors of [`PackLayout::new`].
pub fn write(files: &[(&str, &[u8])]) -> Result<Vec<u8>, Error> {
    encode(VERSION, files, |_| None)
}

/// Encodes a pack of version 3 in memory, in any order of the files. `compress` returns one Zstandard frame with a
/// content size, or `None` to store a file as it is; so are files that do not shrink, and those whose ratio is beyond
/// [`MAX_RATIO`](super::MAX_RATIO). Equal contents must give equal frames. Files with equal contents share one payload.
///
/// # Errors
///
/// The errors of [`PackLayout::new`].
pub fn write_compressed(
    files: &[(&str, &[u8])],
    compress: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Result<Vec<u8>, Error> {
    encode(COMPRESSED_VERSION, files, compress)
}

fn encode(
    version: u32,
    files: &[(&str, &[u8])],
    mut compress: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Result<Vec<u8>, Error> {
    let mut files = files.to_vec();
    files.sort();
    let is_used = |frame: &Vec<u8>, data: &[u8]| {
        frame.len() < data.len() && is_accepted_size(frame.len() as u64, data.len() as u64)
    };
    let payloads: Vec<Cow<'_, [u8]>> = files
        .iter()
        .map(|(_, data)| {
            compress(data).filter(|frame| is_used(frame, data)).map_or((*data).into(), Cow::Owned)
        })
        .collect();
    let mut to_pack = Vec::with_capacity(files.len());
    for ((path, data), payload) in files.iter().zip(&payloads) {
        let (size, content_size) = (payload.len() as u64, data.len() as u64);
        to_pack.push(FileToPack { path: (*path).into(), size, content_size, digest: Some(*data) });
    }
    let layout = PackLayout::lay_out(version, to_pack)?;
    let mut out = layout.head.clone();
    for (placed, payload) in layout.files().iter().zip(payloads).filter(|(placed, _)| !placed.is_shared) {
        out.extend_from_slice(&[0; ALIGNMENT as usize][..placed.padding]);
        out.extend_from_slice(&payload);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::hpack::{HPack, HpackView, Toc, head_len};
    use alloc::{string::ToString, vec};

    #[test]
    fn encodes_documented_bytes() {
        let bytes = write(&[("b.ktx2", b"two"), ("a", b"1")]).unwrap();
        let mut expected = b"HPAK\x02\0\0\0\x02\0\0\0\0\0\0\0\x2d\0\0\0\0\0\0\0".to_vec();
        expected.extend(b"\x50\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x00\x01\0a");
        expected.extend(b"\x60\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x05\x06\0b.ktx2");
        expected.resize(0x50, 0);
        expected.extend(b"1");
        expected.resize(0x60, 0);
        expected.extend(b"two");
        assert_eq!(bytes, expected);
        HPack.verify(&bytes).unwrap();
    }

    #[test]
    fn encodes_documented_bytes_of_version_3() {
        let frame = b"\x28\xb5\x2f\xfd\x24\x28\x45\0\0\x10\0\0\x01\0\x1f\x80\x05\x72\xd1\xf1\x2d";
        let zeros = |data: &[u8]| (data.len() == 40).then(|| frame.to_vec());
        let bytes = write_compressed(&[("b.ktx2", &[0; 40]), ("a", b"1"), ("c", &[0; 40])], zeros).unwrap();
        let mut expected = b"HPAK\x03\0\0\0\x03\0\0\0\0\0\0\0\x59\0\0\0\0\0\0\0".to_vec();
        expected.extend(b"\x80\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x00\x01\0a");
        expected.extend(b"\x90\0\0\0\0\0\0\0\x15\0\0\0\0\0\0\0\x28\0\0\0\0\0\0\0\x05\x06\0b.ktx2");
        expected.extend(b"\x90\0\0\0\0\0\0\0\x15\0\0\0\0\0\0\0\x28\0\0\0\0\0\0\0\x00\x01\0c");
        expected.resize(0x80, 0);
        expected.extend(b"1");
        expected.resize(0x90, 0);
        expected.extend(frame);
        assert_eq!(bytes, expected);
        HPack.verify(&bytes).unwrap();
    }

    #[test]
    fn lays_out_pack_larger_than_memory() {
        let sizes = vec![("b".to_string(), 1 << 50), ("a".to_string(), (1 << 40) + 1)];
        let layout = PackLayout::new(sizes).unwrap();
        assert_eq!(head_len(&layout.head()[..24], layout.file_len()), Ok(layout.head().len() as u64));
        let toc = Toc::read(layout.head(), layout.file_len()).unwrap();
        let read: Vec<_> = toc.entries().map(|e| (e.path, e.offset, e.size)).collect();
        let laid: Vec<_> = layout.files().iter().map(|f| (f.path.as_str(), f.offset, f.size)).collect();
        assert_eq!(read, laid);
        assert_eq!(layout.files()[1].padding, 15);
        assert!(Toc::read(layout.head(), layout.file_len() - 1).is_err());
        assert!(Toc::read(layout.head(), layout.file_len() + 1).is_err());
        assert!(PackLayout::new(vec![("a".to_string(), u64::MAX), ("b".to_string(), 1)]).is_err());
    }

    #[test]
    fn writer_rejects_invalid_input() {
        assert_eq!(write(&[("a", b"1"), ("a", b"2")]), Err(Error::Duplicate { path: "a".to_string() }));
        assert!(matches!(write(&[("../a", b"")]), Err(Error::BadPath { .. })));
        let long = "a".repeat(65536);
        assert!(matches!(write(&[(&long, b"")]), Err(Error::TooLarge { field: "path_len", .. })));
    }

    #[test]
    fn packs_empty_files_and_no_files() {
        assert_eq!(write(&[]).unwrap().len(), 24);
        HPack.verify(&write(&[]).unwrap()).unwrap();
        let bytes = write(&[("a", b"x"), ("b", b"")]).unwrap();
        HPack.verify(&bytes).unwrap();
        assert_eq!(HpackView::read(&bytes).unwrap().get("b"), Some(&[][..]));
        assert_eq!(bytes.len() % 16, 0, "the padding before an empty payload is there, none after it");
    }
}
