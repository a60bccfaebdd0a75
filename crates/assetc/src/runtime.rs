//! Read access to a set of runtime files: an output directory or a pack.

use crate::output::{JOURNAL, at_root, journal_path};
use crate::pack;
use kiln_engine::{Code, Diag, Fs, Real, Records, RelPath};
use kiln_format::Lookup;
use kiln_format::hpack::Toc;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The runtime files of an output directory or of a pack, by path. Contents are read on demand.
pub struct RuntimeFiles {
    files: BTreeMap<String, u64>,
    origin: Origin,
    /// The journal of a directory. Its shared lock is held for as long as this value lives, because a concurrent build
    /// adds and removes files. A journal that cannot be read is not locked.
    pub(crate) records: Result<Records, Diag>,
    /// Files and directories that could not be read.
    pub problems: Vec<Diag>,
}

enum Origin {
    Directory(Real),
    Pack(Pack),
}

struct Pack {
    file: Mutex<File>,
    /// The size of header and table of contents in bytes.
    head_len: u64,
    /// The offset of each file in bytes.
    offsets: BTreeMap<String, u64>,
}

/// Reads the journal of an output directory; without one there are no records.
pub(crate) fn read_records(output: &Path, waiting: &dyn Fn()) -> Result<Records, Diag> {
    let fault = |e| at_root(Code::Unreadable, output, &e);
    let real = Real::open(output).map_err(fault)?;
    Records::read(&real, &journal_path(), waiting).map_err(fault)
}

impl RuntimeFiles {
    /// Opens a directory or, when the path is a file, a pack. Calls `waiting` when a build holds the lock of the
    /// directory.
    ///
    /// # Errors
    ///
    /// `output-missing` if the path does not exist, `check-corrupt` if the pack is damaged, and I/O errors.
    pub fn open(path: &Path, waiting: &dyn Fn()) -> Result<RuntimeFiles, Diag> {
        let fault = |e: io::Error| {
            Diag::new(Code::Unreadable, format!("cannot open the output: {e}")).path(path.display())
        };
        let missing = || {
            Diag::new(Code::OutputMissing, "the output does not exist")
                .path(path.display())
                .hint("run a build first, or give the path of a directory or pack")
        };
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => RuntimeFiles::directory(path, waiting).map_err(fault),
            Ok(_) => RuntimeFiles::pack(path),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(missing()),
            Err(e) => Err(fault(e)),
        }
    }

    fn directory(path: &Path, waiting: &dyn Fn()) -> io::Result<RuntimeFiles> {
        let real = Real::open(path)?;
        let records = read_records(path, waiting);
        let tree = real.walk(Some(JOURNAL))?;
        let files = tree.files().filter(|(path, _)| path.as_str() != JOURNAL);
        let files = files.map(|(path, stamp)| (path.to_string(), stamp.len)).collect();
        Ok(RuntimeFiles { files, origin: Origin::Directory(real), records, problems: tree.problems })
    }

    fn pack(path: &Path) -> Result<RuntimeFiles, Diag> {
        let (file, head, len) = pack::open(path)?;
        let toc = Toc::read(&head, len)
            .map_err(|e| Diag::new(Code::CheckCorrupt, e.to_string()).path(path.display()))?;
        let files = toc.entries().map(|entry| (entry.path.to_owned(), entry.size)).collect();
        let offsets = toc.entries().map(|entry| (entry.path.to_owned(), entry.offset)).collect();
        let pack = Pack { file: Mutex::new(file), head_len: toc.head_len(), offsets };
        Ok(RuntimeFiles {
            files,
            origin: Origin::Pack(pack),
            records: Ok(Records::default()),
            problems: vec![],
        })
    }

    /// Returns all files with their sizes in bytes, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.files.iter().map(|(path, size)| (path.as_str(), *size))
    }

    /// Reads the content of a file.
    ///
    /// # Errors
    ///
    /// The file does not exist, or an I/O error.
    pub fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        match &self.origin {
            Origin::Directory(real) => real.read(&RelPath::new(path).map_err(io::Error::other)?),
            Origin::Pack(pack) => {
                let size = self.files.get(path).copied().ok_or(io::ErrorKind::NotFound)?;
                pack.read(pack.offsets.get(path).copied().unwrap_or_default(), size)
            }
        }
    }

    /// Returns the offset of the first padding byte of a pack that is not zero.
    pub(crate) fn nonzero_padding(&self) -> io::Result<Option<u64>> {
        let Origin::Pack(pack) = &self.origin else { return Ok(None) };
        let mut end = pack.head_len;
        for (path, size) in &self.files {
            let start = pack.offsets.get(path).copied().unwrap_or(end);
            let gap = pack.read(end, start.saturating_sub(end))?;
            if let Some(at) = gap.iter().position(|byte| *byte != 0) {
                return Ok(Some(end + at as u64));
            }
            end = start + size;
        }
        Ok(None)
    }
}

impl Pack {
    fn read(&self, start: u64, size: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

impl Lookup for RuntimeFiles {
    fn size(&self, path: &str) -> Option<u64> {
        self.files.get(path).copied()
    }

    fn bytes(&self, path: &str) -> Option<Cow<'_, [u8]>> {
        self.read(path).ok().map(Cow::Owned)
    }
}
