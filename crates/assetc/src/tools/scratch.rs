//! A directory that is there as long as somebody works in it.

use kiln_engine::{Code, Diag, RelPath};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many names are tried.
const TRIES: u64 = 1000;

/// A directory of one's own, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: PathBuf,
}

impl Scratch {
    /// Makes a directory that nobody else has.
    pub(super) fn new(parent: &Path) -> Result<Scratch, Diag> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..TRIES {
            let name = format!("kiln-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let dir = parent.join(name);
            match fs::create_dir(&dir) {
                Ok(()) => return Ok(Scratch { dir }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => last = e,
                Err(e) => {
                    last = e;
                    break;
                }
            }
        }
        Err(broken(parent, &last))
    }

    /// Where it is.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Puts a file into it.
    pub(crate) fn put(&self, path: &RelPath, bytes: &[u8]) -> Result<(), Diag> {
        let file = path.below(&self.dir);
        let made = file.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&file, bytes)).map_err(|e| broken(&self.dir, &e))
    }

    /// Takes a file out of it, if it is there.
    pub(crate) fn take(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.dir.join(name)).ok()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever tidies the directory for temporary files.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn broken(dir: &Path, error: &io::Error) -> Diag {
    Diag::new(Code::Scratch, format!("cannot work in {}: {error}", dir.display()))
        .hint("see to space and permissions in the directory for temporary files")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_gone_with_its_owner() {
        let parent = tempfile::tempdir().unwrap();
        let (one, two) = (Scratch::new(parent.path()).unwrap(), Scratch::new(parent.path()).unwrap());
        assert_ne!(one.dir(), two.dir());
        one.put(&RelPath::new("a/b.h").unwrap(), b"x").unwrap();
        assert_eq!(one.take("a/b.h").as_deref(), Some(&b"x"[..]));
        assert_eq!(two.take("a/b.h"), None);
        drop((one, two));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
        assert_eq!(Scratch::new(&parent.path().join("none")).unwrap_err().code, Code::Scratch);
    }
}
