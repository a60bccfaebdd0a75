//! The folder of tiles beside a report: reuses the tiles of the report that is replaced, and removes those that the new one
//! does not load.

use kiln_engine::fs::Staged;
use kiln_engine::ownership::{Replace, admit};
use kiln_engine::{Code, Diag, Fs, Real, RelPath};
use kiln_report::{Files, Options, PreviousReport, Report, Tiles};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The first bytes of every PNG.
const MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The last bytes of every PNG, the chunk `IEND`.
const END: &[u8; 12] = b"\0\0\0\0IEND\xaeB`\x82";
/// The number of tiles that are published together: one flush for all of them, and a limit on open files.
const BATCH: usize = 64;

/// The largest width and height of a tile, by default.
const MAX_SIDE: u32 = 1024;
/// The largest number of texels of all tiles, by default: some five seconds of CPU time.
const MAX_TEXELS: u64 = 256 << 20;

/// The folder `<report>.tiles`.
pub(super) struct TileFolder {
    dir: Real,
    path: PathBuf,
    /// The folder as a URL relative to the page.
    url: String,
    /// The tiles of the report that is replaced.
    previous: BTreeSet<String>,
    staged: Mutex<Vec<(Staged, RelPath)>>,
}

impl TileFolder {
    /// Returns the path of the folder of the tiles of a report.
    pub(super) fn beside(report: &Path) -> PathBuf {
        let stem = report.file_stem().unwrap_or(report.as_os_str()).to_string_lossy();
        report.with_file_name(format!("{stem}.tiles"))
    }

    /// Creates the folder of the tiles of a report, if it does not exist.
    pub(super) fn open(report: &Path) -> Result<TileFolder, Diag> {
        let path = Self::beside(report);
        let folder = path.file_name().unwrap_or_default().to_string_lossy();
        std::fs::create_dir_all(&path).map_err(|e| unwritable(&path, &e))?;
        let dir = Real::open(&path).map_err(|e| unwritable(&path, &e))?;
        // A relative URL, with the bytes of the name escaped.
        let url: String = folder
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => char::from(byte).to_string(),
                byte => format!("%{byte:02X}"),
            })
            .collect();
        let page = std::fs::read_to_string(report).ok().and_then(|page| PreviousReport::read(&page).ok());
        let previous = page.iter().flat_map(|page| page.tiles(&url)).map(str::to_owned).collect();
        Ok(TileFolder { dir, path, url, previous, staged: Mutex::default() })
    }

    /// Returns the path of the folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Builds a report and writes its tiles; returns how many were not there yet.
    pub(super) fn report(
        &self,
        files: &Files<'_>,
        options: &Options,
        max_side: Option<u32>,
    ) -> Result<(Report, usize), Diag> {
        let written = Mutex::new(0);
        let write = |name: &str, bytes: &[u8]| {
            *written.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            self.write(name, bytes)
        };
        let contains = |name: &str| is_complete(&self.path.join(name)).unwrap_or(false);
        // A limit that the user chose holds for any number of textures.
        let max_texels = if max_side.is_some() { u64::MAX } else { MAX_TEXELS };
        let max_side = max_side.unwrap_or(MAX_SIDE);
        let tiles = Tiles { folder: &self.url, max_side, max_texels, contains: &contains, write: &write };
        let report = kiln_report::report_with_tiles(files, options, Some(&tiles));
        self.publish(0).map_err(|e| unwritable(&self.path, &e))?;
        Ok((report, written.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Removes the tiles of the replaced report that the new one does not load. Those of other reports stay.
    pub(super) fn remove_unused(&self, report: &Report) {
        let used: BTreeSet<&str> = report.tiles.iter().map(String::as_str).collect();
        for name in self.previous.iter().filter(|name| !used.contains(name.as_str())) {
            if let Ok(name) = RelPath::new(name.as_str())
                && is_complete(&name.below(&self.path)).unwrap_or(false)
            {
                // A tile that stays costs space only.
                let _ = self.dir.remove(&name);
            }
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let name = RelPath::new(name).map_err(io::Error::other)?;
        let replace = Replace { overwrite: false, magic: Some(MAGIC), owned: &|| false };
        admit(&self.dir, &name, None, replace).map_err(|diag| io::Error::other(diag.message))?;
        let staged = self.dir.stage(&mut |file: &mut dyn Write| file.write_all(bytes))?;
        self.staged.lock().unwrap_or_else(PoisonError::into_inner).push((staged, name));
        self.publish(BATCH)
    }

    /// Publishes the staged tiles if there are at least this many.
    fn publish(&self, least: usize) -> io::Result<()> {
        let mut staged = self.staged.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = if staged.len() < least { vec![] } else { std::mem::take(&mut *staged) };
        drop(staged);
        self.dir.publish(batch).into_iter().try_for_each(|placed| placed.map(drop))
    }
}

/// Returns whether a regular file is a PNG with its first and its last chunk.
fn is_complete(path: &Path) -> io::Result<bool> {
    if !std::fs::symlink_metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    let (mut head, mut end) = ([0; MAGIC.len()], [0; END.len()]);
    file.read_exact(&mut head)?;
    file.seek(SeekFrom::End(-(END.len() as i64)))?;
    file.read_exact(&mut end)?;
    Ok(head == MAGIC && end == *END)
}

fn unwritable(path: &Path, error: &io::Error) -> Diag {
    Diag::new(Code::Unwritable, format!("cannot write the tiles of the report: {error}")).path(path.display())
}
