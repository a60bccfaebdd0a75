//! Laying out and writing packs.
//!
//! Refuses a path given twice, a path that could leave the runtime root, and what does not fit its field.

use alloc::{string::String, vec::Vec};

use super::{ALIGNMENT, Header, MAGIC, PackKind, Record, VERSION};
use crate::bytes::align;
use crate::{Error, paths};

/// Where everything goes in a pack that is about to be written. Only the paths and sizes are needed, so a pack
/// may be larger than memory: write [`head`](Layout::head), then for each of [`files`](Layout::files) its
/// padding and its payload. Nothing follows the last payload.
#[derive(Clone, Debug)]
pub struct Layout {
    head: Vec<u8>,
    files: Vec<Placed>,
    file_len: u64,
}

/// A file in a [`Layout`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where the file is, relative to the output root.
    pub path: String,
    /// Its length in bytes.
    pub size: u64,
    /// What it is.
    pub kind: PackKind,
    /// How many zero bytes go before its payload: fewer than [`ALIGNMENT`].
    pub padding: usize,
    /// Where its payload starts in the pack.
    pub offset: u64,
}

impl Layout {
    /// Lays out files given as path and size, in any order.
    pub fn new(mut files: Vec<(String, u64)>) -> Result<Layout, Error> {
        let too_large = |field, found| Error::TooLarge { field, found, max: u64::MAX };
        files.sort();
        if let Some(pair) = files.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::Duplicate { path: pair[0].0.clone() });
        }
        let count = u32::try_from(files.len()).map_err(|_| Error::TooLarge {
            field: "count",
            found: files.len() as u64,
            max: u32::MAX.into(),
        })?;
        let toc_bytes: u64 = files.iter().map(|(path, _)| (Record::SIZE + path.len()) as u64).sum();

        let mut head = Vec::new();
        Header { magic: MAGIC, version: VERSION, count, flags: 0, toc_bytes }.put(&mut head);
        let mut end = Header::SIZE as u64 + toc_bytes;
        let mut placed = Vec::with_capacity(files.len());
        for (path, size) in files {
            paths::check(&path).map_err(|why| Error::BadPath { path: path.clone(), why })?;
            let (kind, path_len) = (PackKind::from_path(&path), paths::len_u16(&path)?);
            let offset = align(end, ALIGNMENT).ok_or(too_large("offset", end))?;
            Record { offset, size, kind: kind as u8, path_len }.put(&mut head);
            head.extend_from_slice(path.as_bytes());
            placed.push(Placed { path, size, kind, padding: (offset - end) as usize, offset });
            end = offset.checked_add(size).ok_or(too_large("size", size))?;
        }
        Ok(Layout { head, files: placed, file_len: end })
    }

    /// Header and table of contents: the first bytes of the pack.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The files in the order in which they are written, which is that of their paths.
    pub fn files(&self) -> &[Placed] {
        &self.files
    }

    /// The length of the finished pack.
    pub fn file_len(&self) -> u64 {
        self.file_len
    }
}

/// The bytes of a pack of files in memory, which may come in any order.
pub fn write(files: &[(&str, &[u8])]) -> Result<Vec<u8>, Error> {
    let mut files = files.to_vec();
    files.sort();
    let layout = Layout::new(files.iter().map(|(path, data)| ((*path).into(), data.len() as u64)).collect())?;
    let mut out = layout.head.clone();
    for (placed, (_, data)) in layout.files().iter().zip(files) {
        out.extend_from_slice(&[0; ALIGNMENT as usize][..placed.padding]);
        out.extend_from_slice(data);
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
    fn bytes_are_as_documented() {
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
    fn a_pack_larger_than_memory_is_laid_out() {
        let sizes = vec![("b".to_string(), 1 << 50), ("a".to_string(), (1 << 40) + 1)];
        let layout = Layout::new(sizes).unwrap();
        assert_eq!(head_len(&layout.head()[..24], layout.file_len()), Ok(layout.head().len() as u64));
        let toc = Toc::read(layout.head(), layout.file_len()).unwrap();
        let read: Vec<_> = toc.entries().map(|e| (e.path, e.offset, e.size)).collect();
        let laid: Vec<_> = layout.files().iter().map(|f| (f.path.as_str(), f.offset, f.size)).collect();
        assert_eq!(read, laid);
        assert_eq!(layout.files()[1].padding, 15);
        assert!(Toc::read(layout.head(), layout.file_len() - 1).is_err());
        assert!(Toc::read(layout.head(), layout.file_len() + 1).is_err());
        assert!(Layout::new(vec![("a".to_string(), u64::MAX), ("b".to_string(), 1)]).is_err());
    }

    #[test]
    fn what_cannot_be_written() {
        assert_eq!(write(&[("a", b"1"), ("a", b"2")]), Err(Error::Duplicate { path: "a".to_string() }));
        assert!(matches!(write(&[("../a", b"")]), Err(Error::BadPath { .. })));
        let long = "a".repeat(65536);
        assert!(matches!(write(&[(&long, b"")]), Err(Error::TooLarge { field: "path_len", .. })));
    }

    #[test]
    fn empty_files_and_empty_packs() {
        assert_eq!(write(&[]).unwrap().len(), 24);
        HPack.verify(&write(&[]).unwrap()).unwrap();
        let bytes = write(&[("a", b"x"), ("b", b"")]).unwrap();
        HPack.verify(&bytes).unwrap();
        assert_eq!(HpackView::read(&bytes).unwrap().get("b"), Some(&[][..]));
        assert_eq!(bytes.len() % 16, 0, "the padding before an empty payload is there, none after it");
    }
}
