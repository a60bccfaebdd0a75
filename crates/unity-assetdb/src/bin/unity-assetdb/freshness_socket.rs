//! The socket of `watch`, `.asset-db.sock` beside the database: a query asks the watch for an index that is up to date,
//! instead of comparing every file itself.
//!
//! The protocol is one line: the watch answers a connection with `fresh` once the index is up to date, or with `failed`. A
//! query that gets no answer refreshes the index itself. Linux only, as [`super::folder_watch`].

#[cfg(target_os = "linux")]
pub(super) use linux::{Query, ask, listen};
#[cfg(not(target_os = "linux"))]
pub(super) use unavailable::{Query, ask, listen};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::io::{self, Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    const SOCKET: &str = ".asset-db.sock";
    const FRESH: &[u8] = b"fresh\n";
    const FAILED: &[u8] = b"failed\n";
    /// The time after which a query refreshes the index itself.
    const TIMEOUT: Duration = Duration::from_secs(10);

    /// A query that waits for an index that is up to date.
    pub(crate) struct Query(UnixStream);

    impl Query {
        /// Answers the query: whether the index is up to date.
        pub(crate) fn answer(mut self, is_fresh: bool) {
            let _ = self.0.set_write_timeout(Some(TIMEOUT));
            let _ = self.0.write_all(if is_fresh { FRESH } else { FAILED });
        }
    }

    /// The path of the socket through the descriptor of its directory, because paths of sockets are at most 108 bytes long.
    fn socket(out_dir: &Path) -> io::Result<(File, PathBuf)> {
        let dir = File::open(out_dir)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", dir.as_raw_fd()));
        Ok((dir, path))
    }

    /// Asks the watch of an output directory for an index that is up to date. Returns false if there is no watch.
    pub(crate) fn ask(out_dir: &Path) -> bool {
        let answer = || -> io::Result<Vec<u8>> {
            let (_dir, path) = socket(out_dir)?;
            let mut stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            let mut answer = vec![0; FRESH.len()];
            stream.read_exact(&mut answer)?;
            Ok(answer)
        };
        answer().is_ok_and(|answer| answer == FRESH)
    }

    /// Listens for queries in a thread of its own.
    ///
    /// # Errors
    /// If the socket cannot be created, or another watch listens.
    pub(crate) fn listen(out_dir: &Path, each: impl Fn(Query) -> bool + Send + 'static) -> io::Result<()> {
        let (dir, path) = socket(out_dir)?;
        if UnixStream::connect(&path).is_ok() {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another watch of this project is running"));
        }
        // The socket of a watch that was killed.
        if fs::symlink_metadata(&path).is_ok_and(|meta| meta.file_type().is_socket()) {
            fs::remove_file(&path)?;
        }
        let listener = UnixListener::bind(&path)?;
        std::thread::Builder::new().name("unity-assetdb-socket".to_owned()).spawn(move || {
            let _dir = dir;
            for stream in listener.incoming().flatten() {
                if !each(Query(stream)) {
                    return;
                }
            }
        })?;
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
mod unavailable {
    use std::io;
    use std::path::Path;

    /// A query that waits for an index that is up to date, which this platform does not have.
    pub(crate) enum Query {}

    impl Query {
        pub(crate) fn answer(self, _: bool) {
            match self {}
        }
    }

    pub(crate) fn ask(_: &Path) -> bool {
        false
    }

    /// # Errors
    /// Never.
    pub(crate) fn listen(_: &Path, _: impl Fn(Query) -> bool + Send + 'static) -> io::Result<()> {
        Ok(())
    }
}
