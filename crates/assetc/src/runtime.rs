//! A set of runtime files to look at: an output directory or a pack.

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

/// Files by path, wherever they are kept. Only what is asked for is read.
pub struct Runtime {
    files: BTreeMap<String, u64>,
    from: From,
    /// The journal of a directory, held for as long as this is looked at: while a build runs, files come and go. One that
    /// cannot be read holds nobody back.
    pub(crate) records: Result<Records, Diag>,
    /// What could not be looked at.
    pub problems: Vec<Diag>,
}

enum From {
    Directory(Real),
    Pack(Pack),
}

struct Pack {
    file: Mutex<File>,
    /// Where header and table of contents end.
    head_len: u64,
    /// Where each file starts.
    offsets: BTreeMap<String, u64>,
}

/// The journal of an output directory, or no records when it has none.
pub(crate) fn read_records(output: &Path, waiting: &dyn Fn()) -> Result<Records, Diag> {
    let fault = |e| at_root(Code::Unreadable, output, &e);
    let real = Real::open(output).map_err(fault)?;
    Records::read(&real, &journal_path(), waiting).map_err(fault)
}

impl Runtime {
    /// Opens a directory or, when the path is a file, a pack. Calls `waiting` when a build has to end first.
    pub fn open(path: &Path, waiting: &dyn Fn()) -> Result<Runtime, Diag> {
        let fault =
            |e: io::Error| Diag::new(Code::Unreadable, format!("cannot open it: {e}")).path(path.display());
        let missing = || {
            Diag::new(Code::OutputMissing, "there is no such output")
                .path(path.display())
                .hint("build first, or name a directory or pack")
        };
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => Runtime::directory(path, waiting).map_err(fault),
            Ok(_) => Runtime::pack(path),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(missing()),
            Err(e) => Err(fault(e)),
        }
    }

    fn directory(path: &Path, waiting: &dyn Fn()) -> io::Result<Runtime> {
        let real = Real::open(path)?;
        let records = read_records(path, waiting);
        let tree = real.walk(Some(JOURNAL))?;
        let files = tree.files().filter(|(path, _)| path.as_str() != JOURNAL);
        let files = files.map(|(path, stamp)| (path.to_string(), stamp.len)).collect();
        Ok(Runtime { files, from: From::Directory(real), records, problems: tree.problems })
    }

    fn pack(path: &Path) -> Result<Runtime, Diag> {
        let (file, head, len) = pack::open(path)?;
        let toc = Toc::read(&head, len)
            .map_err(|e| Diag::new(Code::CheckBroken, e.to_string()).path(path.display()))?;
        let files = toc.entries().map(|entry| (entry.path.to_owned(), entry.size)).collect();
        let offsets = toc.entries().map(|entry| (entry.path.to_owned(), entry.offset)).collect();
        let pack = Pack { file: Mutex::new(file), head_len: toc.head_len(), offsets };
        Ok(Runtime { files, from: From::Pack(pack), records: Ok(Records::default()), problems: vec![] })
    }

    /// All files with their sizes, by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.files.iter().map(|(path, size)| (path.as_str(), *size))
    }

    /// The content of a file.
    pub fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        match &self.from {
            From::Directory(real) => real.read(&RelPath::new(path).map_err(io::Error::other)?),
            From::Pack(pack) => {
                let size = self.files.get(path).copied().ok_or(io::ErrorKind::NotFound)?;
                pack.read(pack.offsets.get(path).copied().unwrap_or_default(), size)
            }
        }
    }

    /// The first byte between the files of a pack that is not zero.
    pub(crate) fn stray_byte(&self) -> io::Result<Option<u64>> {
        let From::Pack(pack) = &self.from else { return Ok(None) };
        let mut end = pack.head_len;
        for (path, size) in &self.files {
            let start = pack.offsets.get(path).copied().unwrap_or(end);
            let gap = pack.read(end, start.saturating_sub(end))?;
            if let Some(stray) = gap.iter().position(|byte| *byte != 0) {
                return Ok(Some(end + stray as u64));
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

impl Lookup for Runtime {
    fn size(&self, path: &str) -> Option<u64> {
        self.files.get(path).copied()
    }

    fn bytes(&self, path: &str) -> Option<Cow<'_, [u8]>> {
        self.read(path).ok().map(Cow::Owned)
    }
}
