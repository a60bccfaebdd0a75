//! `asset-db.bin`: the index of a Unity project, in the standard configuration of bincode 2.
//!
//! The layout is that of `docs/reference/formats/assetdb.md`. It is not Kiln's own: other tools write and read it. The
//! file is a stream of varints and can only be read sequentially. [`Reader`] returns rows that borrow from
//! the bytes and checks each row as it is read. It rejects a wrong magic, another schema version, lengths
//! past the end of the file and strings that are not UTF-8. Bytes after the last row are ignored, as bincode
//! ignores them.

use crate::Error;

/// The magic number: the first eight bytes of the file.
pub const MAGIC: [u8; 8] = *b"UADBIN__";
/// The schema version that is read and written.
pub const SCHEMA: u16 = 6;
/// Minimum size of a row in bytes: five one-byte numbers and a two-byte asset type.
const LEAST_ROW: usize = 6;
/// Minimum size of a script GUID or of a sub-asset record in bytes.
const LEAST_ITEM: usize = 1;

/// The type of an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowType {
    /// A built-in Unity class, by class ID.
    Native(u32),
    /// A script of the project, by index into the script table.
    Script(u32),
}

/// A sub-asset of an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubAssetRow<'a> {
    /// The file ID (local identifier) that references use.
    pub file_id: i64,
    /// The Unity class ID.
    pub class_id: u32,
    /// The name of the sub-asset.
    pub name: &'a str,
}

/// One asset. Its sub-assets have been checked; they are decoded again on each call of [`sub_assets`](AssetRow::sub_assets).
#[derive(Clone, Copy, Debug)]
pub struct AssetRow<'a> {
    /// The GUID: its 32 hexadecimal digits as one number.
    pub guid: u128,
    /// The type of the asset.
    pub kind: RowType,
    /// The name of the asset.
    pub name: &'a str,
    /// The path of the asset, relative to the project.
    pub hint: &'a str,
    sub_assets: Cursor<'a>,
    count: usize,
}

impl<'a> AssetRow<'a> {
    /// Returns the sub-assets in file order.
    pub fn sub_assets(&self) -> impl ExactSizeIterator<Item = SubAssetRow<'a>> + use<'a> {
        let mut at = self.sub_assets;
        (0..self.count)
            .map(move |_| at.sub_asset().unwrap_or(SubAssetRow { file_id: 0, class_id: 0, name: "" }))
    }
}

/// Sequential reader of a database: first the scripts, then the rows.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    scripts: Cursor<'a>,
    script_count: usize,
    rows: Cursor<'a>,
    left: usize,
}

impl<'a> Reader<'a> {
    /// Checks the header and the script table.
    ///
    /// # Errors
    ///
    /// [`Error`] if the magic or the schema version is wrong, or if the script table is invalid or truncated.
    pub fn new(bytes: &'a [u8]) -> Result<Reader<'a>, Error> {
        let Some((magic, _)) = bytes.split_first_chunk::<8>() else {
            let len = bytes.len() as u64;
            return Err(Error::Truncated { at: 0, field: "magic", needed: 8, len });
        };
        if *magic != MAGIC {
            let found = [magic[0], magic[1], magic[2], magic[3]];
            return Err(Error::Magic { found, format: "bin" });
        }
        let mut at = Cursor { bytes, at: 8 };
        let schema = at.unsigned("schema_version", u64::from(u16::MAX))?;
        crate::error::equal(8, "schema_version", schema, SCHEMA)?;
        let script_count = at.length("script_types", LEAST_ITEM)?;
        let scripts = at;
        for _ in 0..script_count {
            at.wide("script_types")?;
        }
        let left = at.length("entries", LEAST_ROW)?;
        Ok(Reader { scripts, script_count, rows: at, left })
    }

    /// Returns the GUIDs of the scripts; [`RowType::Script`] holds an index into this list.
    pub fn scripts(&self) -> impl ExactSizeIterator<Item = u128> + use<'a> {
        let mut at = self.scripts;
        (0..self.script_count).map(move |_| at.wide("script_types").unwrap_or_default())
    }

    /// Returns the number of rows still to be read. It is never more than the remaining bytes can hold.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Reads the next row; `None` after the last.
    ///
    /// # Errors
    ///
    /// [`Error`] if the row is truncated or holds an invalid value.
    pub fn next_row(&mut self) -> Result<Option<AssetRow<'a>>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        let at = &mut self.rows;
        let guid = at.wide("guid")?;
        let tag_at = at.at as u64;
        let tag = at.unsigned("asset_type", u64::from(u32::MAX))?;
        let number = at.u32("asset_type")?;
        let kind = match tag {
            0 => RowType::Native(number),
            1 => RowType::Script(number),
            found => {
                return Err(Error::Index { at: tag_at, field: "asset_type", found, count: 2 });
            }
        };
        let name = at.text("name")?;
        let count = at.length("sub_assets", 3)?;
        let sub_assets = *at;
        for _ in 0..count {
            at.sub_asset()?;
        }
        let hint = at.text("hint")?;
        self.left -= 1;
        Ok(Some(AssetRow { guid, kind, name, hint, sub_assets, count }))
    }
}

/// A read position in the bytes.
#[derive(Clone, Copy, Debug)]
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, field: &'static str, count: usize) -> Result<&'a [u8], Error> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(taken) = rest.get(..count) else {
            let (at, len) = (self.at as u64, self.bytes.len() as u64);
            return Err(Error::Truncated { at, field, needed: count as u64, len });
        };
        self.at += count;
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Error> {
        Ok(self.take(field, N)?.try_into().unwrap_or([0; N]))
    }

    /// Reads a varint of any width.
    fn wide(&mut self, field: &'static str) -> Result<u128, Error> {
        let at = self.at as u64;
        Ok(match self.fixed::<1>(field)?[0] {
            small @ 0..=250 => small.into(),
            251 => u16::from_le_bytes(self.fixed(field)?).into(),
            252 => u32::from_le_bytes(self.fixed(field)?).into(),
            253 => u64::from_le_bytes(self.fixed(field)?).into(),
            254 => u128::from_le_bytes(self.fixed(field)?),
            255 => {
                return Err(Error::Value {
                    at,
                    field,
                    found: 255,
                    expected: "the first byte of a varint (0 to 254)",
                });
            }
        })
    }

    fn unsigned(&mut self, field: &'static str, max: u64) -> Result<u64, Error> {
        let at = self.at as u64;
        let value = self.wide(field)?;
        let found = u64::try_from(value).unwrap_or(u64::MAX);
        if value > u128::from(max) {
            return Err(Error::Value { at, field, found, expected: "a number that fits the field" });
        }
        Ok(found)
    }

    fn u32(&mut self, field: &'static str) -> Result<u32, Error> {
        Ok(self.unsigned(field, u64::from(u32::MAX))? as u32)
    }

    fn signed(&mut self, field: &'static str) -> Result<i64, Error> {
        let zigzag = self.unsigned(field, u64::MAX)?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    /// Reads a count of items of at least `least` bytes each, and checks that they fit in the remaining
    /// bytes.
    fn length(&mut self, field: &'static str, least: usize) -> Result<usize, Error> {
        let at = self.at as u64;
        let found = self.unsigned(field, u64::MAX)?;
        let room = self.bytes.len().saturating_sub(self.at) / least;
        match usize::try_from(found) {
            Ok(count) if count <= room => Ok(count),
            _ => Err(Error::Range { at, field, start: at, size: found, len: self.bytes.len() as u64 }),
        }
    }

    fn text(&mut self, field: &'static str) -> Result<&'a str, Error> {
        let count = self.length(field, 1)?;
        let at = self.at as u64;
        core::str::from_utf8(self.take(field, count)?).map_err(|_| Error::Text { at, field })
    }

    fn sub_asset(&mut self) -> Result<SubAssetRow<'a>, Error> {
        let file_id = self.signed("file_id")?;
        let class_id = self.u32("class_id")?;
        Ok(SubAssetRow { file_id, class_id, name: self.text("name")? })
    }
}

#[cfg(feature = "tools")]
pub use write::Writer;

#[cfg(feature = "tools")]
mod write {
    use super::{MAGIC, RowType, SCHEMA, SubAssetRow};
    use alloc::vec::Vec;

    /// Writes a database: the header, then each row. The caller passes the number of rows beforehand.
    #[derive(Debug)]
    pub struct Writer<'a> {
        out: &'a mut Vec<u8>,
    }

    impl<'a> Writer<'a> {
        /// Writes the header, the script table and the number of rows.
        pub fn new(out: &'a mut Vec<u8>, scripts: &[u128], rows: usize) -> Writer<'a> {
            out.extend_from_slice(&MAGIC);
            let mut writer = Writer { out };
            writer.number(SCHEMA.into());
            writer.number(scripts.len() as u128);
            for script in scripts {
                writer.number(*script);
            }
            writer.number(rows as u128);
            writer
        }

        /// Continues in a separate buffer a database whose header has been written.
        pub fn resume(out: &'a mut Vec<u8>) -> Writer<'a> {
            Writer { out }
        }

        /// Writes a row. The caller passes rows in order of their GUIDs and sub-assets in order of their file
        /// IDs.
        pub fn row<'b>(
            &mut self,
            guid: u128,
            kind: RowType,
            name: &str,
            hint: &str,
            sub_assets: impl ExactSizeIterator<Item = SubAssetRow<'b>>,
        ) {
            self.number(guid);
            let (tag, number) = match kind {
                RowType::Native(class) => (0, class),
                RowType::Script(index) => (1, index),
            };
            self.out.push(tag);
            self.number(number.into());
            self.text(name);
            self.number(sub_assets.len() as u128);
            for part in sub_assets {
                self.number(((part.file_id << 1) ^ (part.file_id >> 63)) as u64 as u128);
                self.number(part.class_id.into());
                self.text(part.name);
            }
            self.text(hint);
        }

        fn text(&mut self, text: &str) {
            self.number(text.len() as u128);
            self.out.extend_from_slice(text.as_bytes());
        }

        fn number(&mut self, number: u128) {
            let bytes = number.to_le_bytes();
            let (tag, width) = match number {
                0..=250 => return self.out.push(bytes[0]),
                n if n <= u16::MAX.into() => (251, 2),
                n if n <= u32::MAX.into() => (252, 4),
                n if n <= u64::MAX.into() => (253, 8),
                _ => (254, 16),
            };
            self.out.push(tag);
            self.out.extend_from_slice(&bytes[..width]);
        }
    }
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// The example of `docs/reference/formats/assetdb.md`, 119 bytes.
    fn example() -> Vec<u8> {
        let mut bytes = b"UADBIN__\x06\x02\xfe".to_vec();
        bytes.extend([0xaa; 16]);
        bytes.push(0xfe);
        bytes.extend([0xbb; 16]);
        bytes.extend(b"\x02\xfe");
        bytes.extend([0x11; 16]);
        bytes.extend(b"\x01\x00\x01A\x00\x0eAssets/A.asset\xfe");
        bytes.extend([0x22; 16]);
        bytes.extend(b"\x01\x01\x01B\x00\x0eAssets/B.asset");
        bytes
    }

    fn number(byte: u8) -> u128 {
        u128::from_le_bytes([byte; 16])
    }

    #[test]
    fn documented_example_round_trips() {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, &[number(0xaa), number(0xbb)], 2);
        writer.row(number(0x11), RowType::Script(0), "A", "Assets/A.asset", [].into_iter());
        writer.row(number(0x22), RowType::Script(1), "B", "Assets/B.asset", [].into_iter());
        assert_eq!(out.len(), 119);
        assert_eq!(out, example());
        let mut reader = Reader::new(&out).unwrap();
        assert_eq!(reader.scripts().collect::<Vec<_>>(), [number(0xaa), number(0xbb)]);
        let row = reader.next_row().unwrap().unwrap();
        assert_eq!((row.guid, row.kind, row.name), (number(0x11), RowType::Script(0), "A"));
        let row = reader.next_row().unwrap().unwrap();
        assert_eq!((row.kind, row.hint, row.sub_assets().len()), (RowType::Script(1), "Assets/B.asset", 0));
        assert!(reader.next_row().unwrap().is_none());
    }

    #[test]
    fn varints_of_every_width_round_trip() {
        let ids = [0, 1, -1, 125, -126, 21_300_000, -8_679_921_383_154_817_045, i64::MIN, i64::MAX];
        let part = |&file_id: &i64| SubAssetRow { file_id, class_id: 687_078_895, name: "n" };
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, &[], 1);
        writer.row(250, RowType::Native(1_152_215_463), "", "", ids.iter().map(part));
        let row = Reader::new(&out).unwrap().next_row().unwrap().unwrap();
        assert_eq!(row.guid, 250);
        assert_eq!(row.sub_assets().map(|p| p.file_id).collect::<Vec<_>>(), ids);
    }

    #[test]
    fn damaged_file_never_panics() {
        fn drain(bytes: &[u8]) -> Result<usize, Error> {
            let mut reader = Reader::new(bytes)?;
            let mut rows = reader.scripts().len();
            while let Some(row) = reader.next_row()? {
                rows += row.sub_assets().map(|part| part.name.len()).sum::<usize>() + 1;
            }
            Ok(rows)
        }
        let good = example();
        assert_eq!(drain(&good), Ok(4));
        for end in 0..good.len() {
            assert!(drain(&good[..end]).is_err(), "{end}");
        }
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                let _ = drain(&bad);
            }
        }
        let mut huge = b"UADBIN__\x06\x00\xfd".to_vec();
        huge.extend([0xff; 8]);
        assert!(matches!(drain(&huge), Err(Error::Range { .. })));
    }
}
