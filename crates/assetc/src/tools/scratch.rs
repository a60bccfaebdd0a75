//! Temporary directories for external programs, removed on drop.

use kiln_engine::temporary::TemporaryPath;
use kiln_engine::{Code, Diag, RelPath};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most names that are tried for a new directory.
const TRIES: u64 = 1000;

/// A temporary directory, removed on drop.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: TemporaryPath,
}

impl Scratch {
    /// Creates a directory with a unique name.
    pub(super) fn new(parent: &Path) -> Result<Scratch, Diag> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..TRIES {
            let name = format!("kiln-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let dir = parent.join(name);
            match TemporaryPath::directory(dir) {
                Ok(dir) => return Ok(Scratch { dir }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => last = e,
                Err(e) => {
                    last = e;
                    break;
                }
            }
        }
        Err(broken(parent, &last))
    }

    /// Returns the path of the directory.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file, and the directories above it.
    pub(crate) fn write(&self, path: &RelPath, bytes: &[u8]) -> Result<(), Diag> {
        let file = path.below(self.dir());
        let made = file.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&file, bytes)).map_err(|e| broken(self.dir(), &e))
    }

    /// Reads a file; `None` if there is none.
    pub(crate) fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.dir().join(name)).ok()
    }
}

fn broken(dir: &Path, error: &io::Error) -> Diag {
    Diag::new(Code::Scratch, format!("cannot write to the temporary directory {}: {error}", dir.display()))
        .hint("check the free space and the permissions of the directory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_directory_on_drop() {
        let parent = tempfile::tempdir().unwrap();
        let (one, two) = (Scratch::new(parent.path()).unwrap(), Scratch::new(parent.path()).unwrap());
        assert_ne!(one.dir(), two.dir());
        one.write(&RelPath::new("a/b.h").unwrap(), b"x").unwrap();
        assert_eq!(one.read("a/b.h").as_deref(), Some(&b"x"[..]));
        assert_eq!(two.read("a/b.h"), None);
        drop((one, two));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
        assert_eq!(Scratch::new(&parent.path().join("none")).unwrap_err().code, Code::Scratch);
    }
}
