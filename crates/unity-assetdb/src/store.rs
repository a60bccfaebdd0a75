//! The database in memory and as `asset-db.bin`: [`encode`] and [`decode`] bytes, [`read`] and [`write()`] files.
//!
//! The layout is that of `docs/reference/formats/assetdb.md`: bincode 2 after eight bytes of magic. Files appear by rename only.
//! For lookups in a large project without decoding all of it, see [`crate::index`].

use kiln_engine::publish::Durability;
use kiln_engine::{Real, regular_file};
use kiln_format::assetdb::{Reader, RowType, SubAssetRow, Writer};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// The schema of [`DB_FILENAME`].
pub const SCHEMA_VERSION: u16 = kiln_format::assetdb::SCHEMA;
/// The first bytes of [`DB_FILENAME`].
pub const MAGIC: [u8; 8] = kiln_format::assetdb::MAGIC;
/// The name of the database.
pub const DB_FILENAME: &str = "asset-db.bin";
/// The name of the state that bakes and queries keep beside it.
pub const CACHE_FILENAME: &str = "asset-db.cache.bin";

/// Returns the path of the database in an output directory.
pub fn db_path(out_dir: &Path) -> PathBuf {
    out_dir.join(DB_FILENAME)
}

/// Returns the path of the state in an output directory.
pub fn cache_path(out_dir: &Path) -> PathBuf {
    out_dir.join(CACHE_FILENAME)
}

/// The type of an asset: a built-in class or a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AssetType {
    /// A built-in class of Unity, by its class ID; see [`crate::class_id`].
    Native(u32),
    /// A ScriptableObject: the index of its script in [`AssetDb::script_types`].
    Script(u32),
}

impl AssetType {
    /// Returns the type of an asset of a built-in class.
    pub fn native(class_id: crate::class_id::ClassId) -> AssetType {
        AssetType::Native(class_id.raw())
    }
}

/// A named object inside an asset that references can point to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubAsset {
    /// The fileID that references use.
    pub file_id: i64,
    /// The class ID of the object.
    pub class_id: u32,
    /// The name, unique among objects of its class unless it is scoped to its asset.
    pub name: Box<str>,
}

/// One asset of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetEntry {
    /// The GUID from the `.meta` file.
    pub guid: u128,
    /// The type of the main object.
    pub asset_type: AssetType,
    /// The stem of the file name, with a suffix where other assets of the type have the same stem.
    pub name: Box<str>,
    /// The sub-assets, ascending by `file_id`.
    pub sub_assets: Vec<SubAsset>,
    /// The path, relative to the project: `Assets/Foo.prefab`.
    pub hint: Box<str>,
}

/// A database of assets: the content of `asset-db.bin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetDb {
    /// The schema version; [`encode`] always writes [`SCHEMA_VERSION`].
    pub schema_version: u16,
    /// The GUIDs of scripts that [`AssetType::Script`] indexes, ascending.
    pub script_types: Vec<u128>,
    /// The assets, ascending by GUID.
    pub entries: Vec<AssetEntry>,
}

impl Default for AssetDb {
    fn default() -> AssetDb {
        AssetDb { schema_version: SCHEMA_VERSION, script_types: Vec::new(), entries: Vec::new() }
    }
}

impl AssetDb {
    /// Creates a database without assets.
    pub fn new() -> AssetDb {
        AssetDb::default()
    }

    /// Returns the asset with this GUID, by binary search.
    ///
    /// ```
    /// use unity_assetdb::store::{AssetDb, AssetEntry, AssetType};
    /// let mut db = AssetDb::new();
    /// db.entries.push(AssetEntry {
    ///     guid: 7,
    ///     asset_type: AssetType::Native(213),
    ///     name: "Flag".into(),
    ///     sub_assets: Vec::new(),
    ///     hint: "Assets/Flag.png".into(),
    /// });
    /// assert_eq!(&*db.find_by_guid(7).unwrap().name, "Flag");
    /// assert!(db.find_by_guid(8).is_none());
    /// ```
    pub fn find_by_guid(&self, guid: u128) -> Option<&AssetEntry> {
        self.entries.binary_search_by_key(&guid, |entry| entry.guid).ok().map(|at| &self.entries[at])
    }

    /// Returns the GUID of the script with this index, as in [`AssetType::Script`]; 0 if the table has no such script.
    ///
    /// ```
    /// use unity_assetdb::store::AssetDb;
    /// let mut db = AssetDb::new();
    /// let index = db.intern_script(7);
    /// assert_eq!((db.script_guid(index), db.script_guid(9)), (7, 0));
    /// ```
    pub fn script_guid(&self, idx: u32) -> u128 {
        self.script_types.get(idx as usize).copied().unwrap_or(0)
    }

    /// Returns the GUID of the script of a ScriptableObject; `None` for built-in classes.
    pub fn script_of(&self, asset_type: AssetType) -> Option<u128> {
        match asset_type {
            AssetType::Native(_) => None,
            AssetType::Script(index) => self.script_types.get(index as usize).copied(),
        }
    }

    /// Adds a script to the table and adjusts the indices of all entries. Returns its index, as in [`AssetType::Script`].
    pub fn intern_script(&mut self, guid: u128) -> u32 {
        let index = match self.script_types.binary_search(&guid) {
            Ok(at) => at,
            Err(at) => {
                self.script_types.insert(at, guid);
                for entry in &mut self.entries {
                    if let AssetType::Script(index) = &mut entry.asset_type
                        && *index as usize >= at
                    {
                        *index += 1;
                    }
                }
                at
            }
        };
        index as u32
    }

    /// Sorts the entries by GUID and their sub-assets by fileID.
    pub fn sort(&mut self) {
        self.entries.sort_by_key(|entry| entry.guid);
        for entry in &mut self.entries {
            entry.sub_assets.sort_by_key(|sub| sub.file_id);
        }
    }
}

/// The error of reading or writing a database.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The system could not read or write the file.
    Io(io::Error),
    /// The file is too short to be a database.
    TooShort(usize),
    /// The file does not start with [`MAGIC`].
    Magic,
    /// The file has another schema.
    Schema {
        /// The schema of the file.
        found: u64,
    },
    /// The file is damaged; the string describes where.
    Damaged(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Io(error) => error.fmt(f),
            StoreError::TooShort(len) => write!(f, "asset-db too short ({len} bytes)"),
            StoreError::Magic => f.write_str("asset-db magic mismatch"),
            StoreError::Schema { found } => {
                write!(f, "asset-db schema {found} expected {SCHEMA_VERSION}, re-bake required")
            }
            StoreError::Damaged(why) => write!(f, "asset-db damaged: {why}"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StoreError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> StoreError {
        StoreError::Io(error)
    }
}

impl From<kiln_format::Error> for StoreError {
    fn from(error: kiln_format::Error) -> StoreError {
        match error {
            kiln_format::Error::Truncated { field: "magic", len, .. } => StoreError::TooShort(len as usize),
            kiln_format::Error::Magic { .. } => StoreError::Magic,
            kiln_format::Error::Mismatch { field: "schema_version", found, .. } => {
                StoreError::Schema { found }
            }
            other => StoreError::Damaged(other.to_string()),
        }
    }
}

impl From<RowType> for AssetType {
    fn from(kind: RowType) -> AssetType {
        match kind {
            RowType::Native(class) => AssetType::Native(class),
            RowType::Script(index) => AssetType::Script(index),
        }
    }
}

impl From<AssetType> for RowType {
    fn from(asset_type: AssetType) -> RowType {
        match asset_type {
            AssetType::Native(class) => RowType::Native(class),
            AssetType::Script(index) => RowType::Script(index),
        }
    }
}

/// Encodes a database. Entries are written in their order: see [`AssetDb::sort`].
///
/// # Errors
/// None at present; the signature is that of 0.2.0.
pub fn encode(db: &AssetDb) -> Result<Vec<u8>, StoreError> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, &db.script_types, db.entries.len());
    for entry in &db.entries {
        let parts = entry.sub_assets.iter();
        let parts =
            parts.map(|sub| SubAssetRow { file_id: sub.file_id, class_id: sub.class_id, name: &sub.name });
        writer.row(entry.guid, entry.asset_type.into(), &entry.name, &entry.hint, parts);
    }
    Ok(out)
}

/// Decodes a database. Bytes after its end are ignored.
///
/// # Errors
/// [`StoreError`], except [`StoreError::Io`], if the bytes are not a database of this schema.
pub fn decode(bytes: &[u8]) -> Result<AssetDb, StoreError> {
    let mut reader = Reader::new(bytes)?;
    let mut db = AssetDb { script_types: reader.scripts().collect(), ..AssetDb::new() };
    while let Some(row) = reader.next_row()? {
        let sub = |part: SubAssetRow<'_>| SubAsset {
            file_id: part.file_id,
            class_id: part.class_id,
            name: part.name.into(),
        };
        db.entries.push(AssetEntry {
            guid: row.guid,
            asset_type: row.kind.into(),
            name: row.name.into(),
            sub_assets: row.sub_assets().map(sub).collect(),
            hint: row.hint.into(),
        });
    }
    Ok(db)
}

/// Reads a database from a file.
///
/// # Errors
/// [`StoreError::Io`] if there is no regular file that can be read, otherwise as [`decode`].
///
/// ```
/// use unity_assetdb::store::{self, AssetDb};
/// let dir = tempfile::tempdir()?;
/// let path = store::db_path(dir.path());
/// store::write(&path, &AssetDb::new())?;
/// assert_eq!(store::read(&path)?, AssetDb::new());
/// # Ok::<(), store::StoreError>(())
/// ```
pub fn read(path: &Path) -> Result<AssetDb, StoreError> {
    let mut bytes = Vec::new();
    regular_file::open(path)?.read_to_end(&mut bytes)?;
    decode(&bytes)
}

/// Writes a database atomically: the path has the old content or all of the new one. The directory must exist.
///
/// # Errors
/// [`StoreError::Io`] if the file cannot be written, flushed or renamed into place.
pub fn write(path: &Path, db: &AssetDb) -> Result<(), StoreError> {
    let dir = match path.parent() {
        Some(dir) if dir != Path::new("") => dir,
        _ => Path::new("."),
    };
    let file = output(dir)?.temporary_file()?;
    file.file().write_all(&encode(db)?)?;
    Ok(file.publish(path, Durability::Durable)?)
}

/// Opens an output directory. Its temporary files have a prefix of their own, by which a bake sweeps up after one that
/// was killed.
pub(crate) fn output(dir: &Path) -> io::Result<Real> {
    Real::named(dir, "asset-db")
}

/// The lock file by which concurrent bakes of one output exclude each other.
pub(crate) const LOCK: &str = ".asset-db.lock";

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn sample() -> AssetDb {
        let sub = |file_id, name: &str| SubAsset { file_id, class_id: 213, name: name.into() };
        let entry = |guid, asset_type, name: &str| AssetEntry {
            guid,
            asset_type,
            name: name.into(),
            sub_assets: vec![sub(21_300_002, "b"), sub(-1, "ü")],
            hint: format!("Assets/{name}").into(),
        };
        let entries = vec![entry(u128::MAX, AssetType::Native(28), "Z"), entry(3, AssetType::Script(0), "A")];
        let mut db = AssetDb { script_types: vec![9], entries, ..AssetDb::new() };
        db.sort();
        db
    }

    #[test]
    fn decodes_what_it_encodes() {
        let db = sample();
        assert_eq!(decode(&encode(&db).unwrap()).unwrap(), db);
        let mut longer = encode(&db).unwrap();
        longer.extend(b"trailing");
        assert_eq!(decode(&longer).unwrap(), db);
        assert_eq!(db.entries[0].guid, 3);
        assert_eq!(db.entries[0].sub_assets[0].file_id, -1);
        assert_eq!(db.script_of(db.entries[0].asset_type), Some(9));
    }

    #[test]
    fn failed_write_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let list = || fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect::<Vec<_>>();
        let target = dir.path().join("asset-db.bin");
        write(&target, &sample()).unwrap();
        assert_eq!(list(), ["asset-db.bin"]);
        // A directory cannot be replaced by a file.
        fs::remove_file(&target).unwrap();
        fs::create_dir(&target).unwrap();
        let error = write(&target, &sample()).unwrap_err();
        assert!(
            matches!(&error, StoreError::Io(io) if std::error::Error::source(&error).unwrap().to_string() == io.to_string())
        );
        assert!(std::error::Error::source(&StoreError::Magic).is_none());
        assert_eq!(list(), ["asset-db.bin"]);
    }

    #[test]
    fn interning_a_script_shifts_indices() {
        let mut db = sample();
        assert_eq!(db.intern_script(4), 0);
        assert_eq!(db.script_of(db.entries[0].asset_type), Some(9), "shifted by the new one");
        assert_eq!(db.intern_script(9), 1);
        assert_eq!(db.script_types, [4, 9]);
    }

    #[test]
    fn rejects_foreign_files() {
        let check = |bytes: &[u8], text: &str| assert_eq!(decode(bytes).unwrap_err().to_string(), text);
        check(b"UAD", "asset-db too short (3 bytes)");
        check(b"UADCACHE\x06\x00", "asset-db magic mismatch");
        check(b"UADBIN__\x05\x00\x00", "asset-db schema 5 expected 6, re-bake required");
        check(b"UADBIN__\xfb\x00\x01\x00\x00", "asset-db schema 256 expected 6, re-bake required");
        assert!(matches!(decode(b"UADBIN__\x06\x00\x02").unwrap_err(), StoreError::Damaged(_)));
    }

    /// A second reader of the layout, written from the specification of bincode 2 (standard configuration): lengths and
    /// numbers as varints, signed ones zigzag, variants as numbers.
    mod bincode_2 {
        use super::*;

        struct Reader<'a>(&'a [u8]);

        impl Reader<'_> {
            fn bytes(&mut self, len: usize) -> &[u8] {
                let (bytes, rest) = self.0.split_at(len);
                self.0 = rest;
                bytes
            }

            fn number(&mut self) -> u128 {
                let (wide, least) = match self.bytes(1)[0] {
                    byte @ 0..=250 => return byte.into(),
                    251 => (2, 251),
                    252 => (4, 1 << 16),
                    253 => (8, 1 << 32),
                    254 => (16, 1 << 64),
                    255 => panic!("no number starts with 255"),
                };
                let value =
                    self.bytes(wide).iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte));
                assert!(value >= least, "{value} has a shorter form");
                value
            }

            fn signed(&mut self) -> i64 {
                let value = self.number() as u64;
                (value >> 1) as i64 ^ -((value & 1) as i64)
            }

            fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
                let count = self.number();
                (0..count).map(|_| item(self)).collect()
            }

            fn string(&mut self) -> Box<str> {
                let len = self.number() as usize;
                std::str::from_utf8(self.bytes(len)).unwrap().into()
            }

            fn entry(&mut self) -> AssetEntry {
                AssetEntry {
                    guid: self.number(),
                    asset_type: match (self.number(), self.number() as u32) {
                        (0, class) => AssetType::Native(class),
                        (1, index) => AssetType::Script(index),
                        (variant, _) => panic!("variant {variant}"),
                    },
                    name: self.string(),
                    sub_assets: self.list(|reader| SubAsset {
                        file_id: reader.signed(),
                        class_id: reader.number() as u32,
                        name: reader.string(),
                    }),
                    hint: self.string(),
                }
            }
        }

        fn check(db: &AssetDb) {
            let bytes = encode(db).unwrap();
            let mut reader = Reader(&bytes[8..]);
            assert_eq!(reader.number(), u128::from(SCHEMA_VERSION));
            let (script_types, entries) = (reader.list(Reader::number), reader.list(Reader::entry));
            assert_eq!(AssetDb { script_types, entries, ..AssetDb::new() }, *db);
            assert!(reader.0.is_empty());
        }

        /// Bytes that bincode 2.0.1 wrote for the same rows.
        #[test]
        fn writes_the_bytes_of_bincode_2() {
            assert_eq!(encode(&AssetDb::new()).unwrap(), b"UADBIN__\x06\0\0");
            let golden = [
                &b"UADBIN__\x06\x01\x09\x02"[..],
                b"\x03\x01\0\x01A\x02\x01\xd5\x02\xc3\xbc\xfc\x44\x06\x8a\x02\xd5\x01b\x08Assets/A",
                b"\xfe",
                &[0xFF; 16],
                b"\0\x1c\x01Z\x02\x01\xd5\x02\xc3\xbc\xfc\x44\x06\x8a\x02\xd5\x01b\x08Assets/Z",
            ];
            assert_eq!(encode(&sample()).unwrap(), golden.concat());
            check(&AssetDb::new());
            check(&sample());
        }

        proptest::proptest! {
            #[test]
            fn writes_numbers_of_every_width(guids: Vec<u128>, ids: Vec<i64>, class: u32, name: String) {
                let sub = |file_id: &i64| SubAsset { file_id: *file_id, class_id: class, name: name.clone().into() };
                let entry = |guid: &u128| AssetEntry {
                    guid: *guid,
                    asset_type: AssetType::Script(class),
                    name: name.clone().into(),
                    sub_assets: ids.iter().map(sub).collect(),
                    hint: name.repeat(40).into(),
                };
                let entries = guids.iter().map(entry).collect();
                check(&AssetDb { script_types: guids, entries, ..AssetDb::new() });
            }
        }
    }
}
