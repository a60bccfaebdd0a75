//! Reads the class of the main object from the header of an asset that Unity serialised in its binary format: TerrainData,
//! NavMeshData, LightingData, and every asset of a project that is not set to text serialisation.
//!
//! The header has the version of the format and the endianness; the metadata after it has the types and the objects. Only
//! versions since Unity 5.5 are read (17 to 22). The objects themselves are opaque.

use crate::class_id::{ClassId, canonical_fid};

/// The number of bytes of a file that are read: the metadata of an asset has some kilobytes for each type.
pub(crate) const MAX_SIZE: u64 = 4 << 20;
/// The maximum number of types and of objects that are read.
const MAX_COUNT: u32 = 100_000;

/// Returns the class of the main object: the one with the fileID that the `.meta` states, else one with the canonical fileID of
/// its class, else the first. `None` if the bytes are not such a file.
pub(crate) fn main_class(bytes: &[u8], main: Option<i64>) -> Option<u32> {
    let mut header = Cursor { bytes, at: 8, is_big: true };
    let version = header.u32()?;
    if !(17..=22).contains(&version) {
        return None;
    }
    header.u32()?;
    let is_big = header.take(4)?[0] != 0;
    if version >= 22 {
        header.take(28)?;
    }
    let mut metadata = Cursor { bytes, at: header.at, is_big };
    let unity = metadata.bytes.get(metadata.at..)?;
    metadata.at += memchr::memchr(0, unity.get(..unity.len().min(64))?)? + 1;
    metadata.u32()?;
    let has_trees = metadata.take(1)?[0] != 0;
    let types = metadata.count()?;
    let mut classes = Vec::new();
    for _ in 0..types {
        classes.push(metadata.class(version, has_trees)?);
    }
    let objects = metadata.count()?;
    let (mut first, mut canonical) = (None, None);
    for _ in 0..objects {
        metadata.at = metadata.at.next_multiple_of(4);
        let file_id = metadata.u64()? as i64;
        metadata.take(if version >= 22 { 8 } else { 4 })?;
        metadata.u32()?;
        let class = *classes.get(metadata.u32()? as usize)?;
        if Some(file_id) == main {
            return Some(class);
        }
        first = first.or(Some(class));
        canonical = canonical.or((file_id == canonical_fid(class)).then_some(class));
    }
    canonical.or(first)
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    is_big: bool,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        let bytes = self.take(4)?.try_into().ok()?;
        Some(if self.is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn u64(&mut self) -> Option<u64> {
        let bytes = self.take(8)?.try_into().ok()?;
        Some(if self.is_big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    fn count(&mut self) -> Option<u32> {
        self.u32().filter(|count| *count <= MAX_COUNT)
    }

    /// Reads a type. Returns its class.
    fn class(&mut self, version: u32, has_tree: bool) -> Option<u32> {
        let class = self.u32()?;
        self.take(3)?;
        let hashes = if class == ClassId::MonoBehaviour as u32 { 32 } else { 16 };
        self.take(hashes)?;
        if has_tree {
            let (nodes, strings) = (self.count()? as usize, self.u32()? as usize);
            let size = if version >= 19 { 32 } else { 24 };
            self.take(nodes * size)?;
            self.take(strings)?;
            if version >= 21 {
                let dependencies = self.count()? as usize;
                self.take(dependencies * 4)?;
            }
        }
        Some(class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with these objects, each with a type of its own: fileID and class.
    fn file(version: u32, objects: &[(i64, u32)]) -> Vec<u8> {
        let mut out = Vec::new();
        [0, 0, version, 0].iter().for_each(|word: &u32| out.extend(word.to_be_bytes()));
        out.extend([0; 4]);
        if version >= 22 {
            out.extend([0; 28]);
        }
        out.extend(b"2021.3.1f1\0");
        out.extend(19u32.to_le_bytes());
        out.push(1);
        out.extend((objects.len() as u32).to_le_bytes());
        for (_, class) in objects {
            out.extend(class.to_le_bytes());
            out.extend([0; 3]);
            out.extend(vec![7; if *class == 114 { 32 } else { 16 }]);
            out.extend(2u32.to_le_bytes());
            out.extend(5u32.to_le_bytes());
            out.extend(vec![1; 2 * if version >= 19 { 32 } else { 24 } + 5]);
            if version >= 21 {
                out.extend(1u32.to_le_bytes());
                out.extend([0; 4]);
            }
        }
        out.extend((objects.len() as u32).to_le_bytes());
        for (n, (file_id, _)) in objects.iter().enumerate() {
            out.resize(out.len().next_multiple_of(4), 0);
            out.extend(file_id.to_le_bytes());
            out.extend(vec![0; if version >= 22 { 8 } else { 4 }]);
            out.extend(9u32.to_le_bytes());
            out.extend((n as u32).to_le_bytes());
        }
        out
    }

    #[test]
    fn main_object_decides_the_class() {
        for version in [17, 18, 19, 20, 21, 22] {
            let bytes = file(version, &[(7, 114), (15_600_000, 156), (8, 28)]);
            assert_eq!(main_class(&bytes, None), Some(156), "canonical fileID, version {version}");
            assert_eq!(main_class(&bytes, Some(8)), Some(28), "stated in the .meta, version {version}");
            assert_eq!(main_class(&file(version, &[(5, 238)]), None), Some(238), "version {version}");
        }
    }

    #[test]
    fn rejects_other_and_truncated_files() {
        let bytes = file(22, &[(7, 114), (15_600_000, 156)]);
        for end in 0..bytes.len() {
            let _ = main_class(&bytes[..end], None);
        }
        assert_eq!(main_class(&bytes[..bytes.len() - 1], None), None);
        assert_eq!(main_class(&file(16, &[(1, 1)]), None), None);
        assert_eq!(main_class(&[0xff; 200], None), None);
    }
}
