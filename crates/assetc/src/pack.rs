//! `--pack`: bundles every file of the output directory into one `.hpack` beside it.

mod compression;

use self::compression::Frames;
use crate::config::{PackCompression, Roots};
use crate::content;
use crate::digests::{self, Digests};
use crate::output::{JOURNAL, PACK, at_root};
use kiln_engine::inputs::{RACY_NS, racy_until};
use kiln_engine::ownership::{Replace, admit};
use kiln_engine::record::Record;
use kiln_engine::wire::{Reader, Writer};
use kiln_engine::{Code, Diag, Fs, Hash, Journal, Real, Records, RelPath, Stamp, regular_file};
use kiln_format::hpack::{self, FileToPack, PackKind, PackLayout, PlacedFile, Toc};
use kiln_format::{Format, by_path};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The pack that a build wrote or found up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packed {
    /// The path of the pack.
    pub path: PathBuf,
    /// The number of files in the pack.
    pub files: usize,
    /// True if the pack was up to date and not written.
    pub unchanged: bool,
    /// The packed files that no source of the project writes.
    pub unowned: Vec<RelPath>,
}

/// The sink of the pack beside an output directory.
pub(crate) struct PackSink<'a> {
    /// The directories of the build, and the path of the pack.
    pub(crate) roots: &'a Roots,
    /// The output directory that is packed.
    pub(crate) out: &'a dyn Fs,
    /// Writes the pack and reads it back, even if its timestamps are unchanged.
    pub(crate) verify: bool,
    /// Replaces a regular file at the path of the pack that no build wrote.
    pub(crate) overwrite: bool,
    /// Packs files that no build wrote.
    pub(crate) unowned: bool,
    /// The compression of the files.
    pub(crate) compression: PackCompression,
}

impl PackSink<'_> {
    /// Writes the digests of the files to pack, and the pack, unless the one at its path already has these files.
    pub(crate) fn write(&self, journal: &mut Journal) -> Result<Packed, Diag> {
        let PackSink { roots, out, verify, overwrite, compression, .. } = *self;
        let fault = |e: io::Error| at_root(Code::Unwritable, &roots.pack, &e);
        let (dir, name) = beside(&roots.pack)?;
        let digests = self.update_digests(journal)?;
        let owned = digests::recorded(journal.records());
        let mut listing = Listing::new(roots, out, journal.records(), self.unowned)?;
        let done = |listing: &Listing, unchanged| Packed {
            path: roots.pack.clone(),
            files: listing.files.len(),
            unchanged,
            unowned: listing.unowned(&owned).cloned().collect(),
        };

        let record =
            journal.records().get(PACK).filter(|r| r.fingerprint == listing.fingerprint(compression));
        let old = record.and_then(|r| get_stamp(&r.summary));
        if old.is_some() && old == dir.stamp(&name).map_err(fault)? && !verify {
            return Ok(done(&listing, true));
        }
        let is_own =
            || journal.records().get(PACK).is_some_and(|record| is_record_of(&record.summary, &name));
        let magic = by_path(name.as_str()).map(Format::magic);
        admit(&dir, &name, None, Replace { overwrite, magic, owned: &is_own })
            .map_err(|diag| diag.path(roots.pack.display()))?;
        if listing.racy_ns > 0 && listing.racy_ns <= 2 * RACY_NS {
            std::thread::sleep(Duration::from_nanos(listing.racy_ns.unsigned_abs()));
            listing = Listing::new(roots, out, journal.records(), self.unowned)?;
        }

        listing.unowned(&owned).try_for_each(|path| check_unowned(out, path))?;
        let hash = |path: &RelPath| {
            let owned = owned.get(path.as_str()).or_else(|| digests.get(path.as_str()));
            owned.map(|digest| digest.hash).ok_or_else(|| modified(path))
        };
        let files = listing.files.iter().map(|(path, stamp)| Ok((path, stamp.len, hash(path)?)));
        let files = files.collect::<Result<Vec<_>, Diag>>()?;
        let unreadable = |e: io::Error| at_root(Code::Unreadable, &roots.output, &e);
        let frames = match compression {
            PackCompression::None => None,
            PackCompression::Zstd => {
                Some(Frames::of(out, files.iter().map(|(path, _, hash)| (*path, *hash)), &unreadable)?)
            }
        };
        let layout = lay_out(&files, frames.as_ref())
            .map_err(|e| Diag::new(Code::Pack, e.to_string()).path(roots.pack.display()))?;
        let mut problem = None;
        let payloads = Payloads { out, hash: &hash, frames: frames.as_ref() };
        let staged = dir.stage(&mut |file| payloads.write(&layout, &mut problem, file));
        let staged = staged.map_err(|e| problem.take().unwrap_or_else(|| fault(e)))?;
        let stamp = dir
            .publish(vec![(staged, name.clone())])
            .pop()
            .unwrap_or_else(|| Err(io::ErrorKind::Other.into()))
            .map_err(fault)?;

        let fingerprint = if listing.racy_ns > 0 { String::new() } else { listing.fingerprint(compression) };
        let mut summary = put_stamp(stamp);
        summary.extend_from_slice(name.as_str().as_bytes());
        let record = Record { fingerprint: fingerprint.into(), summary: summary.into(), ..Record::default() };
        journal.append(&[(PACK, Some(&record))]).map_err(fault)?;
        if verify {
            check_pack(&roots.pack)?;
        }
        Ok(done(&listing, false))
    }

    /// Brings the digests of the files to pack up to date.
    pub(crate) fn update_digests(&self, journal: &mut Journal) -> Result<Digests, Diag> {
        let listing = Listing::new(self.roots, self.out, journal.records(), self.unowned)?;
        digests::update(self.out, &self.roots.output, &listing, journal, self.overwrite)
    }
}

/// Rejects a file that no build wrote if its extension is that of a runtime format, and its content is not.
fn check_unowned(out: &dyn Fs, path: &RelPath) -> Result<(), Diag> {
    let Some(format) = by_path(path.as_str()) else { return Ok(()) };
    let bytes = out.read(path).map_err(|e| e.to_string());
    bytes.and_then(|bytes| content::verify(format, &bytes)).map_err(|why| {
        Diag::new(
            Code::Pack,
            format!("the file is not a valid {}, so nothing was packed: {why}", format.noun()),
        )
        .path(path)
        .hint("remove the file from the output directory, or set `pack_unowned: false`")
    })
}

fn modified(path: &RelPath) -> Diag {
    Diag::new(Code::Pack, "the file was modified after the build, so nothing was packed")
        .path(path)
        .hint("run the build again with --verify")
}

/// The files to pack, with their stamps.
pub(crate) struct Listing {
    pub(crate) files: Vec<(RelPath, Stamp)>,
    /// The time in nanoseconds during which the youngest file could still change without a new stamp. A pack of such
    /// files is not recorded as up to date.
    racy_ns: i64,
}

impl Listing {
    /// Lists the files of an output directory; those that no record names only if `unowned` is true.
    fn new(roots: &Roots, out: &dyn Fs, records: &Records, unowned: bool) -> Result<Listing, Diag> {
        let now_ns = out.now_ns();
        let owned = if unowned { Digests::new() } else { digests::recorded(records) };
        let tree = out.walk(Some(JOURNAL)).map_err(|e| at_root(Code::Unreadable, &roots.output, &e))?;
        if let Some(problem) = tree.problems.first() {
            let message = format!("cannot pack the output directory: {}", problem.message);
            let mut diag = Diag::new(Code::Pack, message);
            diag.path.clone_from(&problem.path);
            return Err(diag);
        }
        let files: Vec<(RelPath, Stamp)> = tree
            .files()
            .filter(|(path, _)| !hpack::excludes(path.as_str()))
            .filter(|(path, _)| unowned || owned.contains_key(path.as_str()))
            .map(|(path, stamp)| (path.clone(), stamp))
            .collect();
        let racy = files.iter().map(|(_, stamp)| racy_until(*stamp).saturating_sub(now_ns));
        Ok(Listing { racy_ns: racy.max().unwrap_or(-1).saturating_add(1), files })
    }

    /// Returns the files that no build wrote.
    fn unowned<'a>(&'a self, owned: &'a Digests) -> impl Iterator<Item = &'a RelPath> {
        self.files.iter().map(|(path, _)| path).filter(|path| !owned.contains_key(path.as_str()))
    }

    /// Hashes the paths and stamps, and the parameters of the compression.
    fn fingerprint(&self, compression: PackCompression) -> String {
        let stamps: Vec<Vec<u8>> = self.files.iter().map(|(_, stamp)| put_stamp(*stamp)).collect();
        let fields = self
            .files
            .iter()
            .zip(&stamps)
            .flat_map(|((path, _), stamp)| [path.as_str().as_bytes(), stamp.as_slice()]);
        let parameters = (compression == PackCompression::Zstd).then_some(compression::VERSION.as_bytes());
        Hash::of_fields(fields.chain(parameters)).to_string()
    }
}

/// Removes temporary files that a killed run left beside the pack. Only the holder of the journal lock may call this. A
/// directory that cannot be listed has none.
pub(crate) fn sweep(roots: &Roots) {
    if let Ok((dir, _)) = beside(&roots.pack) {
        let _ = dir.sweep();
    }
}

/// Opens the directory of a pack, with temporary files named after the pack; returns it with the pack's file name.
pub(crate) fn beside(pack: &Path) -> Result<(Real, RelPath), Diag> {
    let name = pack.file_name().and_then(|name| name.to_str()).and_then(|name| RelPath::new(name).ok());
    let not_portable = || {
        Diag::new(Code::Pack, "the file name of the pack is not portable")
            .path(pack.display())
            .hint("rename the output directory")
    };
    let name = name.ok_or_else(not_portable)?;
    let dir = pack.parent().unwrap_or(Path::new("."));
    let dir = Real::named(dir, name.as_str()).map_err(|e| at_root(Code::Unwritable, dir, &e))?;
    Ok((dir, name))
}

/// Lays out the files of a pack, given as path, length and hash.
fn lay_out(
    files: &[(&RelPath, u64, Hash)],
    frames: Option<&Frames>,
) -> Result<PackLayout, kiln_format::Error> {
    let Some(frames) = frames else {
        return PackLayout::sharing(
            files.iter().map(|(path, len, hash)| (path.to_string(), *len, hash.0)).collect(),
        );
    };
    let to_pack = |(path, len, hash): &(&RelPath, u64, Hash)| FileToPack {
        path: path.to_string(),
        size: frames.stored_size(*hash, *len),
        content_size: *len,
        digest: hash.0,
    };
    PackLayout::compressed(files.iter().map(to_pack).collect())
}

/// The contents of a pack.
struct Payloads<'a> {
    out: &'a dyn Fs,
    hash: &'a dyn Fn(&RelPath) -> Result<Hash, Diag>,
    frames: Option<&'a Frames>,
}

impl Payloads<'_> {
    /// Writes a pack. A file whose content has another hash than the build wrote is a `problem`.
    fn write(
        &self,
        layout: &PackLayout,
        problem: &mut Option<Diag>,
        file: &mut dyn io::Write,
    ) -> io::Result<()> {
        file.write_all(layout.head())?;
        for placed in layout.files() {
            let path = RelPath::new(placed.path.as_str()).map_err(io::Error::other)?;
            let hash = (self.hash)(&path).ok();
            let padding = &[0; hpack::ALIGNMENT as usize][..placed.padding];
            if let Some(frame) = hash.and_then(|hash| self.frames?.kept(hash)) {
                // Its content was compared with the hash when it was compressed.
                if !placed.is_shared {
                    file.write_all(padding)?;
                    file.write_all(frame)?;
                }
                continue;
            }
            let bytes = self.out.read(&path).map_err(|e| io::Error::new(e.kind(), format!("{path}: {e}")))?;
            let is_unchanged = bytes.len() as u64 == placed.content_size && hash == Some(Hash::of(&bytes));
            let payload = payload(placed, bytes)?.filter(|_| is_unchanged);
            let Some(payload) = payload else {
                *problem = Some(modified(&path));
                return Err(io::ErrorKind::InvalidData.into());
            };
            if !placed.is_shared {
                file.write_all(padding)?;
                file.write_all(&payload)?;
            }
        }
        Ok(())
    }
}

/// Returns the payload of a file, compressed again if it is too large to be kept; `None` if it has another length.
fn payload(placed: &PlacedFile, bytes: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    if placed.is_shared || placed.size == placed.content_size {
        return Ok(Some(bytes));
    }
    Ok(compression::compress(&bytes)?.filter(|frame| frame.len() as u64 == placed.size))
}

pub(crate) fn put_stamp(stamp: Stamp) -> Vec<u8> {
    let mut w = Writer::new();
    w.i64(stamp.mtime_ns);
    w.i64(stamp.changed_ns);
    w.u64(stamp.len);
    w.finish()
}

/// Returns whether the record of a pack (stamp and name) is about the pack of this name: an output directory can be
/// renamed together with its journal.
fn is_record_of(summary: &[u8], name: &RelPath) -> bool {
    summary.strip_prefix(&*get_stamp(summary).map(put_stamp).unwrap_or_default())
        == Some(name.as_str().as_bytes())
}

pub(crate) fn get_stamp(bytes: &[u8]) -> Option<Stamp> {
    let mut r = Reader::new(bytes);
    Some(Stamp { mtime_ns: r.i64()?, changed_ns: r.i64()?, len: r.u64()? })
}

/// Opens a pack; returns the file, its validated header and table of contents, and its length in bytes.
pub(crate) fn open(path: &Path) -> Result<(File, Vec<u8>, u64), Diag> {
    let opened = regular_file::open(path).and_then(|mut file| {
        let (head, len) = read_head(&mut file)?;
        Ok((file, head, len))
    });
    opened.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Diag::new(Code::OutputMissing, "the pack does not exist")
            .path(path.display())
            .hint("build it with --pack, or give the path of a .hpack file"),
        io::ErrorKind::InvalidData => Diag::new(Code::CheckCorrupt, e.to_string()).path(path.display()).hint(
            "write the pack again with --pack, or give the path of an output directory, a .hpack or a runtime file",
        ),
        _ => at_root(Code::Unreadable, path, &e).hint("give the path of a .hpack file"),
    })
}

/// Reads and validates the header and the table of contents.
fn read_head(file: &mut File) -> io::Result<(Vec<u8>, u64)> {
    let invalid = |e: kiln_format::Error| io::Error::new(io::ErrorKind::InvalidData, e.to_string());
    let len = file.metadata()?.len();
    let mut head = Vec::new();
    file.take(hpack::HEADER_LEN as u64).read_to_end(&mut head)?;
    let head_len = hpack::head_len(&head, len).map_err(invalid)?;
    file.take(head_len - head.len() as u64).read_to_end(&mut head)?;
    Toc::read(&head, len).and_then(|toc| toc.check_shared()).map_err(invalid)?;
    Ok((head, len))
}

/// Reads a pack back, and checks every file in it.
fn check_pack(path: &Path) -> Result<(), Diag> {
    let report = crate::check::check(path, &|| ())?;
    let Some(problem) = report.problems.into_iter().next() else { return Ok(()) };
    let place = problem.path.map(|file| format!("{file}: ")).unwrap_or_default();
    Err(Diag::new(Code::Verify, format!("{place}{}", problem.message)).path(path.display()))
}

/// One file of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackEntry {
    /// The path, relative to the output directory that was packed.
    pub path: String,
    /// The name of the file kind, such as `texture`.
    pub kind: &'static str,
    /// The size in bytes.
    pub size: u64,
    /// The size of the payload in bytes: smaller than `size` if the file is compressed.
    pub stored: u64,
    /// The offset in the pack in bytes.
    pub offset: u64,
}

/// The number and size of the files of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackSummary {
    /// The plural noun of the file kind, such as `textures`.
    pub kind: &'static str,
    /// The file extension without a dot, if the kind has one.
    pub ext: Option<&'static str>,
    /// The number of files.
    pub files: usize,
    /// The total size in bytes.
    pub size: u64,
}

/// The layout and the entries of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackInfo {
    /// The version of the format.
    pub version: u32,
    /// The size of the whole pack in bytes.
    pub size: u64,
    /// The size of the header in bytes.
    pub header: u64,
    /// The size of the table of contents in bytes.
    pub toc: u64,
    /// The number of compressed files.
    pub compressed: usize,
    /// The total size of the files in bytes; contents that several files share count once.
    pub content: u64,
    /// The total size of the payloads in bytes; one that several files share counts once.
    pub payload: u64,
    /// The number of bytes that files with identical content save.
    pub shared: u64,
    /// The total size of the alignment padding in bytes.
    pub padding: u64,
    /// The file kinds that occur.
    pub kinds: Vec<PackSummary>,
    /// The files, sorted by path.
    pub entries: Vec<PackEntry>,
}

/// Reads the header and the table of contents of a pack; file contents are not read.
///
/// # Errors
///
/// `output-missing` if there is no such file, `check-corrupt` if it is not a valid pack, and I/O errors.
pub fn pack_info(path: &Path) -> Result<PackInfo, Diag> {
    let (_, head, size) = open(path)?;
    let toc = Toc::read(&head, size)
        .map_err(|e| Diag::new(Code::CheckCorrupt, e.to_string()).path(path.display()))?;
    let entries = toc.entries().map(|e| PackEntry {
        path: e.path.to_owned(),
        kind: e.kind.name(),
        size: e.content_size,
        stored: e.size,
        offset: e.offset,
    });
    let entries: Vec<PackEntry> = entries.collect();
    let kinds = PackKind::ALL.into_iter().map(|kind| {
        let of_kind = || entries.iter().filter(|entry| entry.kind == kind.name());
        PackSummary {
            kind: kind.title(),
            ext: kind.ext(),
            files: of_kind().count(),
            size: of_kind().fold(0, |sum, entry| sum.saturating_add(entry.size)),
        }
    });
    let kinds = kinds.filter(|summary| summary.files > 0).collect();
    let payload: u64 = toc.payloads().map(|entry| entry.size).sum();
    let header = hpack::HEADER_LEN as u64;
    Ok(PackInfo {
        version: toc.version(),
        size,
        header,
        toc: toc.head_len() - header,
        compressed: toc.entries().filter(hpack::PackEntry::is_compressed).count(),
        content: toc.payloads().fold(0, |sum, entry| sum.saturating_add(entry.content_size)),
        payload,
        shared: entries.iter().fold(0u64, |sum, entry| sum.saturating_add(entry.stored)) - payload,
        padding: size - toc.head_len() - payload,
        kinds,
        entries,
    })
}
