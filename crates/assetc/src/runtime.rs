//! A set of runtime files to look at: an output directory or a pack.

use crate::build::JOURNAL;
use crate::pack::read_head;
use kiln_format::Lookup;
use kiln_format::hpack::Toc;
use kiln_kit::{Diag, Fs, Real, RelPath};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Files by path, wherever they are kept. Only what is asked for is read.
pub struct Runtime {
    files: BTreeMap<String, u64>,
    from: From,
    /// What could not be looked at.
    pub problems: Vec<Diag>,
}

enum From {
    Directory(Real),
    /// The pack, and where each file starts in it.
    Pack(Mutex<File>, BTreeMap<String, u64>),
}

impl Runtime {
    /// Opens a directory or, when the path is a file, a pack.
    pub fn open(path: &Path) -> Result<Runtime, Diag> {
        let fault =
            |e: io::Error| Diag::error("unreadable", format!("cannot open it: {e}")).path(path.display());
        let missing = || {
            Diag::error("output-missing", "there is no such output")
                .path(path.display())
                .hint("build first, or name a directory or pack")
        };
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => Runtime::directory(path).map_err(fault),
            Ok(_) => Runtime::pack(path).map_err(fault),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(missing()),
            Err(e) => Err(fault(e)),
        }
    }

    fn directory(path: &Path) -> io::Result<Runtime> {
        let real = Real::open(path)?;
        let tree = real.walk(Some(JOURNAL))?;
        let files = tree.files().filter(|(path, _)| path.as_str() != JOURNAL);
        let files = files.map(|(path, stamp)| (path.to_string(), stamp.len)).collect();
        Ok(Runtime { files, from: From::Directory(real), problems: tree.problems })
    }

    fn pack(path: &Path) -> io::Result<Runtime> {
        let mut file = File::open(path)?;
        let (head, len) = read_head(&mut file)?;
        let toc =
            Toc::read(&head, len).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
        let files = toc.entries().map(|entry| (entry.path.to_owned(), entry.size)).collect();
        let offsets = toc.entries().map(|entry| (entry.path.to_owned(), entry.offset)).collect();
        Ok(Runtime { files, from: From::Pack(Mutex::new(file), offsets), problems: vec![] })
    }

    /// All files with their sizes, by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.files.iter().map(|(path, size)| (path.as_str(), *size))
    }

    /// The content of a file.
    pub fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        match &self.from {
            From::Directory(real) => real.read(&RelPath::new(path).map_err(io::Error::other)?),
            From::Pack(file, offsets) => {
                let size = self.files.get(path).copied().ok_or(io::ErrorKind::NotFound)?;
                let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(offsets.get(path).copied().unwrap_or_default()))?;
                file.read_exact(&mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

impl Lookup for Runtime {
    fn size(&self, path: &str) -> Option<u64> {
        self.files.get(path).copied()
    }

    fn bytes(&self, path: &str) -> Option<Cow<'_, [u8]>> {
        self.read(path).ok().map(Cow::Owned)
    }
}
