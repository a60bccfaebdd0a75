//! A project on disk for the tests of the bake.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use unity_assetdb::bake::{BakeError, BakeOptions, Extra, NameSanitizer, Report, bake_with};
use unity_assetdb::index::Index;
use unity_assetdb::store::{self, AssetDb, AssetEntry};

pub(crate) struct Project {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) messages: Arc<Mutex<Vec<String>>>,
    pub(crate) extra: Extra,
    pub(crate) scrub: Option<&'static str>,
}

/// Returns a GUID that is easy to recognize.
pub(crate) fn guid(n: u128) -> String {
    format!("{:032x}", n * 0x0101_0101_0101_0101_0101_0101_0101_0101)
}

pub(crate) fn number(n: u128) -> u128 {
    n * 0x0101_0101_0101_0101_0101_0101_0101_0101
}

impl Project {
    pub(crate) fn new() -> Project {
        let dir = tempfile::tempdir().unwrap();
        for name in ["Assets", "ProjectSettings"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        Project { dir, messages: Arc::default(), extra: Extra::default(), scrub: None }
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.root().join("Library/unity-assetdb")
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Project {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// An asset with a `.meta` of this GUID and body.
    pub(crate) fn asset(&self, path: &str, n: u128, body: &str, text: impl AsRef<[u8]>) -> &Project {
        self.write(path, text);
        self.write(&format!("{path}.meta"), format!("fileFormatVersion: 2\nguid: {}\n{body}", guid(n)))
    }

    /// A ScriptableObject of the script `script`.
    pub(crate) fn object(&self, path: &str, n: u128, script: u128) -> &Project {
        let text = format!(
            "%YAML 1.1\n%TAG !u! tag:unity3d.com,2011:\n--- !u!114 &11400000\nMonoBehaviour:\n  m_Script: {{fileID: 11500000, guid: {}, type: 3}}\n  m_Name: x\n",
            guid(script)
        );
        self.asset(path, n, "NativeFormatImporter:\n  mainObjectFileID: 0\n", text)
    }

    pub(crate) fn options(&self) -> BakeOptions {
        let messages = self.messages.clone();
        let scrub = self.scrub;
        let sanitizer = move |name: &str| -> Option<String> {
            let chars = scrub.unwrap_or_default();
            name.contains(|c| chars.contains(c)).then(|| name.replace(|c| chars.contains(c), "_"))
        };
        BakeOptions {
            project_root: self.root().to_owned(),
            out_dir: self.out(),
            name_sanitizer: scrub.map(|_| Box::new(sanitizer) as NameSanitizer),
            on_warn: Some(Box::new(move |line| messages.lock().unwrap().push(line.to_owned()))),
            on_progress: None,
            verbose_timing: false,
            verbose_collisions: false,
        }
    }

    pub(crate) fn try_bake(&self) -> Result<Report, BakeError> {
        self.messages.lock().unwrap().clear();
        bake_with(&self.options(), &self.extra)
    }

    pub(crate) fn bake(&self) -> Report {
        self.try_bake().unwrap()
    }

    pub(crate) fn db(&self) -> AssetDb {
        store::read(&store::db_path(&self.out())).unwrap()
    }

    pub(crate) fn index(&self) -> Index {
        Index::open(&self.out()).unwrap()
    }

    pub(crate) fn messages(&self) -> Vec<String> {
        self.messages.lock().unwrap().clone()
    }

    /// Waits until a change has another timestamp than the last one.
    pub(crate) fn rest(&self) {
        std::thread::sleep(std::time::Duration::from_millis(45));
    }
}

pub(crate) fn named<'a>(db: &'a AssetDb, hint: &str) -> &'a AssetEntry {
    db.entries
        .iter()
        .find(|entry| &*entry.hint == hint)
        .unwrap_or_else(|| panic!("{hint} is not in the database"))
}

/// Returns name, class and fileID of the sub-assets of an asset.
pub(crate) fn subs(entry: &AssetEntry) -> Vec<(&str, u32, i64)> {
    entry.sub_assets.iter().map(|sub| (&*sub.name, sub.class_id, sub.file_id)).collect()
}
