//! The local cache: two directories of files named by hash, in the layout of the HTTP cache protocol, so that a server can
//! serve the directory.
//!
//! ```text
//! ac/ab/ab12…    records, by key
//! cas/ab/ab34…   blobs, by the SHA-256 of their bytes
//! tmp/…          blobs being received
//! ```
//!
//! Files are renamed into place and never modified, so any number of processes may use a cache concurrently. Files are not
//! flushed: every file is verified when it is used, and removed if a crash left it damaged. The modification time of a file is
//! the time of its last use, for LRU eviction. A file whose content is in memory is written in the directory of its shard,
//! because Linux lets one thread of a file system rename between directories at a time.
//!
//! A directory is used only if it has the `CACHEDIR.TAG` of Kiln, or is empty and gets one; no symbolic link below it is
//! followed (`dir.rs`), and only regular files with names of the forms above are ever removed. So neither a directory that
//! comes with a project nor one given by mistake can lose a file of the user.

use super::dir::{Dir, EntryKind};
use crate::hash::Hash;
use crate::publish::{Durability, publish};
use crate::remote::{Blob, LONGEST_RECORD};
use crate::{Code, Diag};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// The resolution of the time of last use: updating it for every use would write to the disk for every read.
const USE_RESOLUTION: Duration = Duration::from_secs(3600);

/// The age at which a temporary file is considered to be left by a killed process.
const ABANDONED_AGE: Duration = Duration::from_secs(24 * 3600);

/// Marks the directory as a cache for backup programs (see <https://bford.info/cachedir/>), and as a cache of Kiln. Never
/// change it: caches with another text are rejected.
const TAG: &str =
    "Signature: 8a477f597d28d172789f06886806bc55\n# Results of Kiln's tools; it may be removed.\n";

/// The name of the tag.
const TAG_NAME: &str = "CACHEDIR.TAG";

/// The file whose modification time is the time of the last eviction.
const SWEPT: &str = "swept";

/// The directory of blobs being received.
const TMP: &str = "tmp";

/// The kind of a cache file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Record,
    Blob,
}

impl Kind {
    pub(crate) const ALL: [Kind; 2] = [Kind::Record, Kind::Blob];

    /// Returns the name of the directory, which is also part of URLs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Record => "ac",
            Kind::Blob => "cas",
        }
    }
}

/// The directory of the local cache.
pub(crate) struct Local {
    root: PathBuf,
    dir: Dir,
    /// The directories of records and blobs, open from their first use on.
    kinds: [OnceLock<Dir>; 2],
}

/// A file of the cache: time of last use, length and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CacheFile {
    pub(crate) used: SystemTime,
    pub(crate) len: u64,
    pub(crate) kind: Kind,
    pub(crate) hash: Hash,
}

impl Local {
    /// Opens a cache, and creates the directory if it does not exist.
    ///
    /// # Errors
    ///
    /// A warning if the directory cannot be created or read, is not a cache directory, or has a symbolic link in place of a
    /// directory or file of the cache.
    pub(crate) fn open(root: &Path) -> Result<Local, Diag> {
        let io = |error: io::Error| super::unwritable(root, &error);
        fs::create_dir_all(root).map_err(io)?;
        let dir = Dir::root(root).map_err(io)?;
        if let Some(link) = first_link(&dir).map_err(io)? {
            return Err(rejected_link(root, &link));
        }
        let local = Local { root: root.to_path_buf(), dir, kinds: Default::default() };
        // A process that creates the cache concurrently writes the tag before anything else.
        if !local.has_tag().map_err(io)? {
            match local.foreign_entry().map_err(io)? {
                None => local.write_tag().map_err(io)?,
                Some(_) if local.has_tag().map_err(io)? => {}
                Some(entry) => return Err(not_owned(root, &entry)),
            }
        }
        local.dir.make_dir(TMP).map_err(io)?;
        Ok(local)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns whether the directory has the complete tag of Kiln, not only the signature that all caches share.
    fn has_tag(&self) -> io::Result<bool> {
        let file = match self.dir.open(TAG_NAME) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file?,
        };
        let mut bytes = Vec::new();
        file.take(TAG.len() as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes == TAG.as_bytes())
    }

    /// Returns an entry of a directory without a tag; temporary files of the tag do not count.
    fn foreign_entry(&self) -> io::Result<Option<String>> {
        let being_written = |name: &str| {
            name.strip_prefix(TAG_NAME).and_then(|rest| rest.strip_prefix('.')).is_some_and(is_temporary)
        };
        let entries = self.dir.list()?.into_iter().map(|(name, _)| name);
        Ok(entries.filter(|name| !being_written(name)).min())
    }

    /// Publishes the tag durably: a cache whose tag a crash emptied would be rejected from then on.
    fn write_tag(&self) -> io::Result<()> {
        let temporary = format!("{TAG_NAME}.{}", Local::temporary());
        let mut file = self.dir.create(&temporary)?;
        let rename = || self.dir.rename(&temporary, &self.dir, TAG_NAME);
        let written = file.write_all(TAG.as_bytes());
        let placed = written.and_then(|()| publish(&file, Durability::Durable, rename));
        if placed.is_err() {
            let _ = self.dir.remove(&temporary);
        }
        placed
    }

    /// Returns the directory of a kind, opened by `open` if it is not open yet.
    fn kind_dir(&self, kind: Kind, open: impl FnOnce() -> io::Result<Dir>) -> io::Result<&Dir> {
        let cell = &self.kinds[kind as usize];
        match cell.get() {
            Some(dir) => Ok(dir),
            None => open().map(|dir| cell.get_or_init(|| dir)),
        }
    }

    /// Returns the directory and the name of a cache file.
    fn shard(&self, kind: Kind, hash: Hash) -> io::Result<(Dir, String)> {
        let name = hash.to_string();
        let dir = self.kind_dir(kind, || self.dir.dir(kind.name()))?;
        Ok((dir.dir(&name[..2])?, name))
    }

    /// Opens a cache file.
    fn open_file(&self, kind: Kind, hash: Hash) -> io::Result<File> {
        let name = hash.to_string();
        self.kind_dir(kind, || self.dir.dir(kind.name()))?.open_in(&name[..2], &name)
    }

    /// Reads a record without verifying it.
    pub(crate) fn record(&self, key: Hash) -> Option<Vec<u8>> {
        let mut file = self.open_used(Kind::Record, key)?;
        let mut bytes = Vec::new();
        let read = (&mut file).take(LONGEST_RECORD).read_to_end(&mut bytes);
        read.ok().map(|_| bytes)
    }

    /// Opens a blob and verifies its digest; a damaged blob is removed.
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

    /// Returns whether a blob of this length exists; its content is not verified.
    pub(crate) fn has(&self, blob: Blob) -> bool {
        let meta = self.open_file(Kind::Blob, blob.hash).and_then(|file| file.metadata());
        meta.is_ok_and(|meta| meta.len() == blob.len)
    }

    /// Removes a regular file; returns whether it existed and was removed.
    pub(crate) fn remove(&self, kind: Kind, hash: Hash) -> bool {
        let removed = self.shard(kind, hash).and_then(|(dir, name)| match dir.meta(&name)?.kind {
            EntryKind::File => dir.remove(&name),
            _ => Err(io::ErrorKind::NotFound.into()),
        });
        removed.is_ok()
    }

    /// Writes a file, replacing an existing one.
    pub(crate) fn put(&self, kind: Kind, hash: Hash, bytes: &[u8]) -> io::Result<()> {
        let (dir, name) = self.make_shard(kind, hash)?;
        let temporary = format!("{name}.{}", Local::temporary());
        let mut file = dir.create(&temporary)?;
        let rename = || dir.rename(&temporary, &dir, &name);
        let placed = file.write_all(bytes).and_then(|()| publish(&file, Durability::Verified, rename));
        if placed.is_err() {
            let _ = dir.remove(&temporary);
        }
        // On platforms where an open file cannot be replaced, the existing file is equivalent.
        if placed.is_err() && dir.open(&name).is_ok() { Ok(()) } else { placed }
    }

    /// Returns the directory and the name of a cache file, and creates the directory if it does not exist.
    fn make_shard(&self, kind: Kind, hash: Hash) -> io::Result<(Dir, String)> {
        match self.shard(kind, hash) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let name = hash.to_string();
                let dir = self.kind_dir(kind, || self.dir.make_dir(kind.name()))?;
                Ok((dir.make_dir(&name[..2])?, name))
            }
            shard => shard,
        }
    }

    /// Returns a unique name for a temporary file. The counter is global to the process: two threads that open the same cache
    /// can read the same time.
    fn temporary() -> String {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        format!("{}-{}-{n}", std::process::id(), since.as_nanos())
    }

    /// Starts to receive a blob in chunks.
    pub(crate) fn incoming(&self) -> io::Result<Incoming<'_>> {
        let (tmp, temporary) = (self.dir.dir(TMP)?, Local::temporary());
        let file = tmp.create(&temporary)?;
        Ok(Incoming { local: self, tmp, temporary, file, sha: Sha256::new(), len: 0 })
    }

    fn open_used(&self, kind: Kind, hash: Hash) -> Option<File> {
        let file = self.open_file(kind, hash).ok()?;
        let (modified, now) = (file.metadata().ok()?.modified(), SystemTime::now());
        let noted = modified.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age < USE_RESOLUTION));
        if !noted {
            // A read-only cache can still be read.
            let _ = self.shard(kind, hash).and_then(|(dir, name)| dir.touch(&name, &file, now));
        }
        Some(file)
    }

    /// Iterates over the directories of a kind, with their names.
    fn shards(&self, kind: Kind) -> impl Iterator<Item = (String, Dir)> {
        let all = self.dir.dir(kind.name()).ok();
        let names = all.as_ref().and_then(|all| all.list().ok()).unwrap_or_default();
        names.into_iter().filter(|(name, _)| name.len() == 2).filter_map(move |(name, _)| {
            let dir = all.as_ref()?.dir(&name).ok()?;
            Some((name, dir))
        })
    }

    /// Returns all cache files of a kind: those with a name of 64 digits, in the directory of the first two.
    pub(crate) fn files(&self, kind: Kind) -> Vec<CacheFile> {
        let mut files = Vec::new();
        for (shard, dir) in self.shards(kind) {
            for (name, _) in dir.list().unwrap_or_default() {
                let Some(hash) = Hash::parse(&name).filter(|_| name.starts_with(&shard)) else { continue };
                let Ok(meta) = dir.meta(&name) else { continue };
                if meta.kind == EntryKind::File {
                    files.push(CacheFile { used: meta.modified, len: meta.len, kind, hash });
                }
            }
        }
        files
    }

    /// Removes temporary files of killed processes.
    pub(crate) fn sweep(&self) {
        let shards = Kind::ALL.into_iter().flat_map(|kind| self.shards(kind)).map(|(_, dir)| dir);
        let received = self.dir.dir(TMP).into_iter().map(|dir| (dir, is_temporary as fn(&str) -> bool));
        for (dir, is_ours) in received.chain(shards.map(|dir| (dir, is_being_written as _))) {
            for (name, _) in dir.list().unwrap_or_default().iter().filter(|(name, _)| is_ours(name)) {
                let abandoned = dir.meta(name).is_ok_and(|meta| {
                    meta.kind == EntryKind::File
                        && meta.modified.elapsed().is_ok_and(|age| age > ABANDONED_AGE)
                });
                if abandoned {
                    let _ = dir.remove(name);
                }
            }
        }
    }

    /// Returns the time of the last eviction.
    pub(crate) fn swept_at(&self) -> Option<SystemTime> {
        self.dir.meta(SWEPT).ok().filter(|meta| meta.kind == EntryKind::File).map(|meta| meta.modified)
    }

    /// Records the time of an eviction with a new file, because the old one may have become a link.
    pub(crate) fn note_swept(&self) {
        let Ok(tmp) = self.dir.dir(TMP) else { return };
        let temporary = Local::temporary();
        let Ok(file) = tmp.create(&temporary) else { return };
        if publish(&file, Durability::Verified, || tmp.rename(&temporary, &self.dir, SWEPT)).is_err() {
            let _ = tmp.remove(&temporary);
        }
    }
}

/// Returns whether a name has the form of [`Local::temporary`].
fn is_temporary(name: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    name.split('-').count() == 3 && name.split('-').all(number)
}

/// Returns whether a name is that of a cache file that is being written: its own one, and a temporary one.
fn is_being_written(name: &str) -> bool {
    name.split_once('.').is_some_and(|(hash, rest)| Hash::parse(hash).is_some() && is_temporary(rest))
}

/// Returns the path of a symbolic link in place of a file or directory of the cache.
fn first_link(root: &Dir) -> io::Result<Option<String>> {
    for name in [TAG_NAME, SWEPT, TMP, Kind::Record.name(), Kind::Blob.name()] {
        match root.meta(name) {
            Ok(meta) if meta.kind == EntryKind::Link => return Ok(Some(name.to_owned())),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    for kind in Kind::ALL {
        let shards = match root.dir(kind.name()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            dir => dir?.list()?,
        };
        if let Some((name, _)) =
            shards.into_iter().filter(|(_, entry)| *entry == EntryKind::Link).min_by(|a, b| a.0.cmp(&b.0))
        {
            return Ok(Some(format!("{}/{name}", kind.name())));
        }
    }
    Ok(None)
}

/// Returns the warning about a cache directory with a symbolic link in it.
fn rejected_link(root: &Path, link: &str) -> Diag {
    let message = format!("the cache directory is not used, because {link} in it is a symbolic link");
    Diag::new(Code::CacheDirLink, message)
        .path(root.display())
        .hint("remove the link, or set KILN_CACHE_DIR to another directory")
}

/// Returns the warning about a directory that is not a cache.
fn not_owned(root: &Path, entry: &str) -> Diag {
    let message = format!(
        "the directory is not used as a cache, because it has files such as '{entry}' and no {TAG_NAME} of Kiln"
    );
    Diag::new(Code::CacheDirNotOwned, message)
        .path(root.display())
        .hint("set KILN_CACHE_DIR to an empty or new directory")
}

/// A blob that is being received: a temporary file, hashed as it is written. It is removed unless it is committed.
pub(crate) struct Incoming<'a> {
    local: &'a Local,
    tmp: Dir,
    temporary: String,
    file: File,
    sha: Sha256,
    len: u64,
}

impl Incoming<'_> {
    /// Returns whether the received bytes are this blob.
    pub(crate) fn is(&self, blob: Blob) -> bool {
        self.len == blob.len && Hash(self.sha.clone().finalize().into()) == blob.hash
    }

    /// Renames the file into place.
    pub(crate) fn commit(self, blob: Blob) -> io::Result<()> {
        let (dir, name) = self.local.make_shard(Kind::Blob, blob.hash)?;
        publish(&self.file, Durability::Verified, || self.tmp.rename(&self.temporary, &dir, &name))
    }
}

impl Write for Incoming<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.sha.update(&bytes[..n]);
        self.len += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        let _ = self.tmp.remove(&self.temporary);
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

    fn path(local: &Local, kind: Kind, hash: Hash) -> PathBuf {
        let name = hash.to_string();
        local.root().join(kind.name()).join(&name[..2]).join(name)
    }

    #[test]
    fn damaged_blobs_are_removed() {
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
        let path = path(&local, Kind::Blob, wanted.hash);
        let damages: [fn(&mut Vec<u8>); 3] = [|b| b[9] ^= 1, |b| b.truncate(5), |b| b.push(0)];
        for damage in damages {
            let mut damaged = bytes.clone();
            damage(&mut damaged);
            fs::write(&path, damaged).unwrap();
            assert_eq!(read(), None);
            assert!(!path.exists(), "the damaged blob was not removed");
            local.put(Kind::Blob, wanted.hash, &bytes).unwrap();
            assert_eq!(read(), Some(bytes.clone()));
        }
        assert_eq!(fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);
    }

    #[test]
    fn updates_the_time_of_last_use() {
        let dir = tempfile::tempdir().unwrap();
        let local = Local::open(dir.path()).unwrap();
        local.put(Kind::Record, Hash::of(b"k"), b"r").unwrap();
        let path = path(&local, Kind::Record, Hash::of(b"k"));
        let old = SystemTime::now() - 2 * USE_RESOLUTION;
        File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        assert_eq!(local.record(Hash::of(b"k")).unwrap(), b"r");
        assert!(fs::metadata(&path).unwrap().modified().unwrap() > old + USE_RESOLUTION);
    }

    fn code(root: &Path) -> String {
        Local::open(root).err().map(|diag| diag.code.to_string()).unwrap_or_default()
    }

    #[test]
    fn rejects_directories_that_are_not_a_cache() {
        let dir = tempfile::tempdir().unwrap();
        let notes = dir.path().join("notes.txt");
        fs::write(&notes, "mine").unwrap();
        let error = Local::open(dir.path()).err().unwrap();
        assert!(error.code == Code::CacheDirNotOwned && error.message.contains("notes.txt"), "{error}");
        // The tag of another program, or a part of the tag of Kiln, does not count.
        let tag = dir.path().join(TAG_NAME);
        let foreign = "Signature: 8a477f597d28d172789f06886806bc55\n# of another program\n";
        for text in [foreign, "", &TAG[..TAG.len() - 1], &format!("{TAG}more")] {
            fs::write(&tag, text).unwrap();
            assert_eq!(code(dir.path()), "cache-dir-not-owned", "{text:?}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "something was written");
        // Accepted: a directory with the tag, an empty one, and one that another process is creating.
        fs::write(&tag, TAG).unwrap();
        assert_eq!(code(dir.path()), "");
        let fresh = tempfile::tempdir().unwrap();
        fs::write(fresh.path().join("CACHEDIR.TAG.1-2-3"), "Sig").unwrap();
        assert_eq!(code(fresh.path()), "");
        assert_eq!(code(&fresh.path().join("new/deep")), "");
    }

    #[test]
    fn opens_while_other_threads_create_it() {
        for _ in 0..20 {
            let dir = tempfile::tempdir().unwrap();
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| assert_eq!(code(&dir.path().join("c")), ""));
                }
            });
        }
    }

    #[cfg(unix)]
    #[test]
    fn rejects_links_and_does_not_follow_them() {
        use std::os::unix::fs::symlink;
        let old = SystemTime::now() - 30 * ABANDONED_AGE;
        for link in [TAG_NAME, SWEPT, TMP, "ac", "cas", "ac/zz", "cas/00", "ac/anything"] {
            let (dir, victim) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            drop(Local::open(dir.path()).unwrap());
            let local = Local::open(dir.path()).unwrap();
            let at = dir.path().join(link);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&at).or_else(|_| fs::remove_dir_all(&at));
            let target = if [TAG_NAME, SWEPT].contains(&link) { "1-2-3" } else { "" };
            for name in ["1-2-3".to_owned(), Hash::of(b"k").to_string()] {
                let file = victim.path().join(name);
                fs::write(&file, TAG).unwrap();
                File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
            }
            symlink(victim.path().join(target), &at).unwrap();
            let error = Local::open(dir.path()).err().unwrap();
            assert!(error.code == Code::CacheDirLink && error.message.contains(link), "{error}");
            // A cache that was opened before the link appeared does not follow it either.
            local.sweep();
            local.note_swept();
            let _ = local.put(Kind::Record, Hash::of(b"k"), b"new");
            local.files(Kind::Record).iter().for_each(|file| _ = local.remove(file.kind, file.hash));
            let left = fs::read_dir(victim.path()).unwrap().map(|e| fs::read(e.unwrap().path()).unwrap());
            assert_eq!(left.collect::<Vec<_>>(), [TAG.as_bytes(), TAG.as_bytes()], "{link}");
        }
    }

    #[test]
    fn lists_and_removes_only_cache_files() {
        let dir = tempfile::tempdir().unwrap();
        let local = Local::open(dir.path()).unwrap();
        let (key, old) = (Hash::of(b"k"), SystemTime::now() - 2 * ABANDONED_AGE);
        local.put(Kind::Record, key, b"r").unwrap();
        let name = key.to_string();
        let foreign = [
            format!("ac/{}/notes.txt", &name[..2]),
            format!("ac/{}/{}", &name[..2], name.to_uppercase()),
            format!("ac/{}/{}", &name[..2], &name[..63]),
            format!("ac/xy/{name}"),
            format!("ac/{name}"),
            "tmp/letter.txt".to_owned(),
            "tmp/1-2".to_owned(),
            "tmp/1-2-3-4".to_owned(),
            "tmp/1--3".to_owned(),
            "tmp/a-2-3".to_owned(),
            "1-2-3".to_owned(),
            format!("ac/{}/1-2-3", &name[..2]),
            format!("ac/{}/{name}.txt", &name[..2]),
        ];
        let place = |path: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "mine").unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        };
        foreign.iter().for_each(|path| place(path));
        let abandoned = ["tmp/12-345-6".to_owned(), format!("ac/{}/{name}.12-345-6", &name[..2])];
        abandoned.iter().for_each(|path| place(path));
        assert_eq!(local.files(Kind::Record).iter().map(|file| file.hash).collect::<Vec<_>>(), [key]);
        local.sweep();
        assert!(abandoned.iter().all(|path| !dir.path().join(path).exists()));
        assert!(local.remove(Kind::Record, key) && !local.remove(Kind::Record, key));
        assert!(foreign.iter().all(|path| dir.path().join(path).exists()));
    }
}
