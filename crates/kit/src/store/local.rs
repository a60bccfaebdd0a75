//! The store on this machine: two directories of files named by hash, in the layout that servers of the HTTP cache
//! protocol use, so that one can serve the other.
//!
//! ```text
//! ac/ab/ab12…    records, by key
//! cas/ab/ab34…   blobs, by the SHA-256 of their bytes
//! tmp/…          files being written
//! ```
//!
//! Files appear by rename and are never changed, so any number of processes may use a store at once. Nothing is flushed:
//! what a crash leaves is checked when it is used, as is everything, and removed when it is not what it should be. A
//! file's modification time is when it was last used.

use super::action::{LONGEST_RECORD, SETS, read_sets, write_sets};
use crate::hash::Hash;
use crate::remote::{Blob, Source};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Uses are noted to the hour: noting each one would write to the disk for every read.
const NOTED: Duration = Duration::from_secs(3600);

/// A file of a killed process that is older than this is nobody's.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// Says to backup programs that this can be made again; see <https://bford.info/cachedir/>.
const TAG: &str =
    "Signature: 8a477f597d28d172789f06886806bc55\n# Results of Kiln's tools; it may be removed.\n";

/// What a file of the store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Record,
    Blob,
}

impl Kind {
    pub(crate) const ALL: [Kind; 2] = [Kind::Record, Kind::Blob];

    /// The directory, here and in addresses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Record => "ac",
            Kind::Blob => "cas",
        }
    }
}

/// A store's directory.
pub(crate) struct Local {
    root: PathBuf,
    next: AtomicU64,
}

impl Local {
    /// Opens a store, making the directory if need be.
    pub(crate) fn open(root: &Path) -> io::Result<Local> {
        fs::create_dir_all(root.join("tmp"))?;
        let tag = root.join("CACHEDIR.TAG");
        if !tag.exists() {
            fs::write(tag, TAG)?;
        }
        Ok(Local { root: root.to_path_buf(), next: AtomicU64::new(0) })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self, kind: Kind, hash: Hash) -> PathBuf {
        let name = hash.to_string();
        self.root.join(kind.name()).join(&name[..2]).join(name)
    }

    /// A record, whatever it holds.
    pub(crate) fn record(&self, key: Hash) -> Option<Vec<u8>> {
        let mut file = self.open_used(Kind::Record, key)?;
        let mut bytes = Vec::new();
        let read = (&mut file).take(LONGEST_RECORD).read_to_end(&mut bytes);
        read.ok().map(|_| bytes)
    }

    /// A blob, found to be what it should be, at its start.
    pub(crate) fn blob(&self, blob: Blob) -> Option<File> {
        let mut file = self.open_used(Kind::Blob, blob.hash)?;
        let sound = file.metadata().is_ok_and(|meta| meta.len() == blob.len)
            && hash_of(&mut file).is_ok_and(|hash| hash == blob.hash)
            && file.seek(SeekFrom::Start(0)).is_ok();
        if !sound {
            self.remove(Kind::Blob, blob.hash);
            return None;
        }
        Some(file)
    }

    /// Whether a blob of this length is there; its bytes are not looked at.
    pub(crate) fn has(&self, blob: Blob) -> bool {
        fs::metadata(self.path(Kind::Blob, blob.hash)).is_ok_and(|meta| meta.len() == blob.len)
    }

    /// Removes what turned out to be damaged, so that the next one to write it does.
    pub(crate) fn remove(&self, kind: Kind, hash: Hash) {
        let _ = fs::remove_file(self.path(kind, hash));
    }

    /// Puts a file into the store, in place of what may be there.
    pub(crate) fn put(&self, kind: Kind, hash: Hash, bytes: &[u8]) -> io::Result<()> {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let temporary =
            self.root.join("tmp").join(format!("{}-{}-{n}", std::process::id(), since.as_nanos()));
        let path = self.path(kind, hash);
        let place = || {
            File::options().write(true).create_new(true).open(&temporary)?.write_all(bytes)?;
            match fs::rename(&temporary, &path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    path.parent().map_or(Ok(()), fs::create_dir_all)?;
                    fs::rename(&temporary, &path)
                }
                renamed => renamed,
            }
        };
        let placed = place();
        if placed.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        // Where a file that someone reads cannot be replaced, what is there is as good.
        if placed.is_err() && path.is_file() { Ok(()) } else { placed }
    }

    fn open_used(&self, kind: Kind, hash: Hash) -> Option<File> {
        let file = File::open(self.path(kind, hash)).ok()?;
        let meta = file.metadata().ok().filter(|meta| meta.is_file())?;
        let now = SystemTime::now();
        let noted = meta.modified().is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age < NOTED));
        if !noted {
            // A store that cannot be written to still serves.
            let _ = File::options().write(true).open(self.path(kind, hash)).and_then(|f| f.set_modified(now));
        }
        Some(file)
    }

    /// Every file of a kind: when it was last used, its length and its path.
    pub(crate) fn files(&self, kind: Kind) -> Vec<(SystemTime, u64, PathBuf)> {
        let listed = |dir: &Path| fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
        let below = |dir: PathBuf| listed(&dir).collect::<Vec<_>>();
        let all = listed(&self.root.join(kind.name())).flat_map(|part| below(part.path()));
        all.filter_map(|item| {
            let meta = item.metadata().ok().filter(|meta| meta.is_file())?;
            Some((meta.modified().ok()?, meta.len(), item.path()))
        })
        .collect()
    }

    /// Removes what killed processes left.
    pub(crate) fn sweep(&self) {
        for item in fs::read_dir(self.root.join("tmp")).into_iter().flatten().filter_map(Result::ok) {
            let age = item.metadata().and_then(|meta| meta.modified()).map(|at| at.elapsed());
            if age.is_ok_and(|age| age.is_ok_and(|age| age > ABANDONED)) {
                let _ = fs::remove_file(item.path());
            }
        }
    }
}

impl Source for Local {
    fn record(&self, key: Hash) -> Option<Vec<u8>> {
        self.record(key)
    }

    fn blob(&self, blob: Blob) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.blob(blob)?.read_to_end(&mut bytes).ok().map(|_| bytes)
    }

    fn merge(&self, key: Hash, theirs: &[u8]) -> Option<Vec<u8>> {
        let mut sets = read_sets(key, &self.record(key)?)?;
        let theirs = read_sets(key, theirs).unwrap_or_default();
        if sets.iter().all(|set| theirs.contains(set)) {
            return None;
        }
        sets.extend(theirs.into_iter().filter(|set| !sets.contains(set)).collect::<Vec<_>>());
        sets.truncate(SETS);
        Some(write_sets(key, &sets))
    }
}

fn hash_of(file: &mut File) -> io::Result<Hash> {
    let mut sha = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Hash(sha.finalize().into())),
            n => sha.update(&buffer[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_come_back_while_they_are_what_they_were() {
        let dir = tempfile::tempdir().unwrap();
        let local = Local::open(dir.path()).unwrap();
        let bytes = vec![7; 600 << 10];
        let wanted = Blob::of(&bytes);
        assert!(local.blob(wanted).is_none());
        local.put(Kind::Blob, wanted.hash, &bytes).unwrap();
        let read = || {
            let mut back = Vec::new();
            local.blob(wanted)?.read_to_end(&mut back).ok().map(|_| back)
        };
        assert_eq!(read(), Some(bytes.clone()));
        let path = local.path(Kind::Blob, wanted.hash);
        let damages: [fn(&mut Vec<u8>); 3] = [|b| b[9] ^= 1, |b| b.truncate(5), |b| b.push(0)];
        for damage in damages {
            let mut damaged = bytes.clone();
            damage(&mut damaged);
            fs::write(&path, damaged).unwrap();
            assert_eq!(read(), None);
            assert!(!path.exists(), "it stays damaged");
            local.put(Kind::Blob, wanted.hash, &bytes).unwrap();
            assert_eq!(read(), Some(bytes.clone()));
        }
        assert_eq!(fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);
    }

    #[test]
    fn a_use_is_noted() {
        let dir = tempfile::tempdir().unwrap();
        let local = Local::open(dir.path()).unwrap();
        local.put(Kind::Record, Hash::of(b"k"), b"r").unwrap();
        let path = local.path(Kind::Record, Hash::of(b"k"));
        let old = SystemTime::now() - 2 * NOTED;
        File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        assert_eq!(local.record(Hash::of(b"k")).unwrap(), b"r");
        assert!(fs::metadata(&path).unwrap().modified().unwrap() > old + NOTED);
    }
}
