//! Renaming and removing files that another program may have open.
//!
//! Windows refuses to rename, replace or remove a file that another program opened without sharing its deletion. Virus
//! scanners, indexers and backup programs open new files for some milliseconds, so such an operation is repeated for about a
//! second before it fails. On other platforms an open file is no obstacle, and nothing is repeated.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// The pauses between attempts, in milliseconds; together 0.9 s.
const PAUSES_MS: [u64; 9] = [1, 2, 4, 10, 25, 60, 120, 250, 450];

/// Renames a file, also if another program has it or the replaced file open for a moment.
///
/// # Errors
/// If the file cannot be renamed, on Windows after several attempts.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    // The refusal to replace a directory has the same code, and does not pass.
    repeat(|error| is_in_use(error) && !to.is_dir(), pause, || fs::rename(from, to))
}

/// Calls an operation again while it fails because another program has the file open.
pub(crate) fn retry_while_in_use<T>(operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    repeat(is_in_use, pause, operation)
}

fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

fn repeat<T>(
    is_transient: impl Fn(&io::Error) -> bool,
    mut pause: impl FnMut(u64),
    mut operation: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    for milliseconds in PAUSES_MS {
        match operation() {
            Err(error) if is_transient(&error) => pause(milliseconds),
            result => return result,
        }
    }
    operation()
}

/// Returns whether an error can be that of a file that another program has open.
fn is_in_use(error: &io::Error) -> bool {
    const ERROR_ACCESS_DENIED: i32 = 5;
    const ERROR_SHARING_VIOLATION: i32 = 32;
    const ERROR_LOCK_VIOLATION: i32 = 33;
    let codes = [ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION];
    cfg!(windows) && error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_transient_failures_only() {
        let attempts = |failures: usize, is_transient: bool| {
            let (mut calls, mut waited) = (0, 0);
            let result = repeat(
                |_| is_transient,
                |milliseconds| waited += milliseconds,
                || {
                    calls += 1;
                    if calls > failures { Ok(()) } else { Err(io::Error::other("in use")) }
                },
            );
            (result.is_ok(), calls, waited)
        };
        assert_eq!(attempts(0, true), (true, 1, 0));
        assert_eq!(attempts(3, true), (true, 4, 7));
        assert_eq!(attempts(3, false), (false, 1, 0));
        assert_eq!(attempts(usize::MAX, true), (false, 10, 922));
    }

    #[test]
    fn renames_over_existing_files() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::write(&from, "new").unwrap();
        fs::write(&to, "old").unwrap();
        rename(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "new");
        assert_eq!(rename(&from, &to).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
