//! Read access to a set of runtime files: an output directory, a pack, or a single file.

use crate::content;
use crate::output::{FAILURES, JOURNAL, at_root, journal_path};
use crate::pack;
use kiln_engine::{Code, Diag, Fs, Real, Records, RelPath, regular_file};
use kiln_format::hpack::{self, Toc};
use kiln_format::refs::hash_runtime_path;
use kiln_format::{FORMATS, Format, Lookup, by_path};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The runtime files of an output directory or of a pack, or one runtime file, by path. Contents are read on demand.
pub struct RuntimeFiles {
    files: BTreeMap<String, u64>,
    /// The one file that [`files`](Self::files) lists, if not all; the others are there to be looked up.
    only: Option<String>,
    origin: Origin,
    /// The journal of a directory. Its shared lock is held for as long as this value lives, because a concurrent build
    /// adds and removes files. A journal that cannot be read is not locked.
    pub(crate) records: Result<Records, Diag>,
    /// Files and directories that could not be read.
    pub problems: Vec<Diag>,
    /// The hashes of all textures, relative to each directory above them.
    texture_hashes: OnceLock<HashSet<u64>>,
}

enum Origin {
    Directory(Real),
    Pack(Pack),
    File(PathBuf, &'static dyn Format),
}

/// The largest single file that is read, in bytes: it is held in memory.
const MAX_FILE_LEN: u64 = 4 << 30;

struct Pack {
    file: Mutex<File>,
    /// The size of header and table of contents in bytes.
    head_len: u64,
    /// The offset and the length of the payload of each file in bytes.
    payloads: BTreeMap<String, (u64, u64)>,
}

/// Reads the journal of an output directory; without one there are no records.
pub(crate) fn read_records(output: &Path, waiting: &dyn Fn()) -> Result<Records, Diag> {
    let fault = |e| at_root(Code::Unreadable, output, &e);
    let real = Real::open(output).map_err(fault)?;
    Records::read(&real, &journal_path(), waiting).map_err(fault)
}

impl RuntimeFiles {
    /// Opens a directory, a pack, or a single runtime file. The extension determines the format of a single file, or
    /// its first bytes where the extension is unknown. A single file inside an output directory can refer to the other
    /// files there. Calls `waiting` when a build holds the lock of the directory.
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
                .hint("run a build first, or give the path of a directory, pack or runtime file")
        };
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => RuntimeFiles::directory(path, waiting).map_err(fault),
            Ok(_) => match file_format(path) {
                Some(format) => RuntimeFiles::file(path, format, waiting).map_err(fault),
                None if is_pack(path) => RuntimeFiles::pack(path),
                None => Err(Diag::new(Code::CheckCorrupt, "the file is not a runtime file: neither its extension nor its first bytes are known")
                    .path(path.display())
                    .hint("give the path of an output directory, a .hpack or a runtime file such as .ktx2 or .hmesh")),
            },
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(missing()),
            Err(e) => Err(fault(e)),
        }
    }

    fn new(
        files: BTreeMap<String, u64>,
        origin: Origin,
        records: Result<Records, Diag>,
        problems: Vec<Diag>,
    ) -> RuntimeFiles {
        RuntimeFiles { files, only: None, origin, records, problems, texture_hashes: OnceLock::new() }
    }

    fn directory(path: &Path, waiting: &dyn Fn()) -> io::Result<RuntimeFiles> {
        let real = Real::open(path)?;
        let records = read_records(path, waiting);
        let tree = real.walk(Some(JOURNAL))?;
        let files = tree.files().filter(|(path, _)| path.as_str() != JOURNAL);
        let files = files.map(|(path, stamp)| (path.to_string(), stamp.len)).collect();
        let origin = Origin::Directory(real);
        Ok(RuntimeFiles::new(files, origin, records, tree.problems))
    }

    fn file(path: &Path, format: &'static dyn Format, waiting: &dyn Fn()) -> io::Result<RuntimeFiles> {
        let full = std::fs::canonicalize(path)?;
        let output = full.ancestors().skip(1).find(|dir| dir.join(JOURNAL).is_file());
        if let Some(output) = output.filter(|_| by_path(&path.to_string_lossy()).is_some()) {
            let mut runtime = RuntimeFiles::directory(output, waiting)?;
            let inside = full.strip_prefix(output).unwrap_or(&full);
            let inside = inside.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
            if runtime.files.contains_key(&inside) {
                runtime.problems.clear();
                runtime.only = Some(inside);
                return Ok(runtime);
            }
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let size = regular_file::open(path)?.metadata()?.len();
        let (files, origin) = (BTreeMap::from([(name, size)]), Origin::File(path.to_owned(), format));
        Ok(RuntimeFiles::new(files, origin, Ok(Records::default()), vec![]))
    }

    fn pack(path: &Path) -> Result<RuntimeFiles, Diag> {
        let (file, head, len) = pack::open(path)?;
        let toc = Toc::read(&head, len)
            .map_err(|e| Diag::new(Code::CheckCorrupt, e.to_string()).path(path.display()))?;
        let files = toc.entries().map(|entry| (entry.path.to_owned(), entry.content_size)).collect();
        let payloads =
            toc.entries().map(|entry| (entry.path.to_owned(), (entry.offset, entry.size))).collect();
        let pack = Pack { file: Mutex::new(file), head_len: toc.head_len(), payloads };
        Ok(RuntimeFiles::new(files, Origin::Pack(pack), Ok(Records::default()), vec![]))
    }

    /// Returns the files with their sizes in bytes, sorted by path: all of a directory or pack, or the single one.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        let listed = self.files.iter().filter(|(path, _)| self.lists(path));
        listed.map(|(path, size)| (path.as_str(), *size))
    }

    /// Returns whether [`files`](Self::files) lists a path, if there is such a file.
    pub(crate) fn lists(&self, path: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == path)
    }

    /// Returns whether the files can be compared with those they refer to: a single file outside an output directory
    /// cannot.
    pub(crate) fn has_references(&self) -> bool {
        !matches!(self.origin, Origin::File(..))
    }

    /// Returns the warnings of the build that wrote an output directory, by source; none for a pack or a single file.
    pub fn warnings(&self) -> Vec<Diag> {
        let Ok(records) = &self.records else { return vec![] };
        // The record of failures has errors, not warnings.
        let names = records.names().into_iter().filter(|name| *name != FAILURES);
        let all = names.filter_map(|name| Some((name, records.get(name)?)));
        all.flat_map(|(name, record)| record.warnings.into_iter().map(move |warning| warning.or_path(name)))
            .collect()
    }

    /// Returns the format of a file; `None` if it is not a runtime format.
    pub fn format(&self, path: &str) -> Option<&'static dyn Format> {
        match &self.origin {
            Origin::File(_, format) => Some(*format),
            _ => by_path(path),
        }
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
                pack.content(path, size)
            }
            Origin::File(path, _) => {
                let mut bytes = Vec::new();
                regular_file::open(path)?.take(MAX_FILE_LEN + 1).read_to_end(&mut bytes)?;
                check_len(bytes.len() as u64)?;
                Ok(bytes)
            }
        }
    }

    /// Returns the offset of the first padding byte of a pack that is not zero.
    pub(crate) fn nonzero_padding(&self) -> io::Result<Option<u64>> {
        let Origin::Pack(pack) = &self.origin else { return Ok(None) };
        let mut end = pack.head_len;
        for (start, size) in self.files.keys().filter_map(|path| pack.payloads.get(path).copied()) {
            if start < end {
                // The file shares the payload of an earlier one.
                continue;
            }
            let gap = pack.read(end, start.saturating_sub(end))?;
            if let Some(at) = gap.iter().position(|byte| *byte != 0) {
                return Ok(Some(end + at as u64));
            }
            end = start + size;
        }
        Ok(None)
    }
}

/// Returns the format of a single runtime file that is not a pack, by its extension or, where that is unknown, by its
/// first bytes.
pub fn file_format(path: &Path) -> Option<&'static dyn Format> {
    let by_magic = || {
        let mut head = [0; 16];
        let len = regular_file::open(path).and_then(|mut file| file.read(&mut head)).ok()?;
        FORMATS.iter().copied().find(|format| head[..len].starts_with(format.magic()))
    };
    let format = by_path(&path.to_string_lossy()).or_else(by_magic)?;
    (format.magic() != hpack::HPack.magic() && path.is_file()).then_some(format)
}

/// Returns whether a path has the extension or the magic of a pack, or cannot be read, which is reported when it is opened.
fn is_pack(path: &Path) -> bool {
    let has_magic = || {
        let mut head = [0; 4];
        let len = regular_file::open(path)?.read(&mut head)?;
        io::Result::Ok(&head[..len] == hpack::HPack.magic())
    };
    by_path(&path.to_string_lossy()).is_some() || has_magic().unwrap_or(true)
}

fn check_len(len: u64) -> io::Result<()> {
    if len <= MAX_FILE_LEN {
        return Ok(());
    }
    let message = format!("the file has more than {MAX_FILE_LEN} bytes, which is the limit");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, message))
}

impl Pack {
    /// Reads a file of `size` bytes, and decompresses it if its payload has another length.
    fn content(&self, path: &str, size: u64) -> io::Result<Vec<u8>> {
        let (offset, stored) = self.payloads.get(path).copied().unwrap_or_default();
        if stored == size {
            return self.read(offset, size);
        }
        check_len(size)?;
        content::decompress(&self.read(offset, stored)?, offset, size)
    }

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

    fn has_texture(&self, hash: u64) -> bool {
        // A pack has one root. Its paths can be much longer than those of a directory, too.
        let depth = if matches!(self.origin, Origin::Directory(_)) { usize::MAX } else { 0 };
        let hashes = self.texture_hashes.get_or_init(|| {
            let textures = self.files.keys().filter(|path| path.ends_with(".ktx2"));
            let hashes = textures.flat_map(|path| {
                let below = path.match_indices('/').map(move |(slash, _)| &path[slash + 1..]).take(depth);
                std::iter::once(path.as_str()).chain(below).map(hash_runtime_path)
            });
            hashes.collect()
        });
        hashes.contains(&hash)
    }
}
