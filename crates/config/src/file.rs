//! Reads configuration files, with a size limit, and checks their owner and permissions.

use crate::yaml::MAX_BYTES;
use kiln_engine::{Code, Diag, regular_file};
use std::fmt::Display;
use std::fs::Metadata;
use std::io::Read;
use std::path::Path;

/// Returns the error about a file that cannot be read; `name` is the name of the file in the message.
pub fn unreadable(name: &str, why: &dyn Display) -> Diag {
    Diag::new(Code::ConfigUnreadable, format!("the file cannot be read: {why}")).path(name)
}

/// Reads a file as UTF-8; `name` is its name in messages.
///
/// # Errors
///
/// `config-unreadable` if the file cannot be read or is truncated while it is read, `config-syntax` if it is not UTF-8. At
/// most [`MAX_BYTES`] and one byte are read.
pub fn read_text(file: &Path, name: &str) -> Result<String, Diag> {
    let unreadable = |why: &dyn Display| unreadable(name, why);
    let mut bytes = Vec::new();
    let len = regular_file::open(file)
        .and_then(|open| {
            let len = open.metadata()?.len();
            open.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map(|_| len)
        })
        .map_err(|error| unreadable(&error))?;
    // A truncated file would mean other settings.
    if (bytes.len() as u64) < len.min(MAX_BYTES as u64) {
        return Err(unreadable(&"unexpected end of file"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        Diag::new(Code::ConfigSyntax, "the file is not UTF-8")
            .path(name)
            .at(line)
            .hint("save the file as UTF-8")
    })
}

/// Returns whether a file belongs to neither this user nor root. Always false on Windows, where the owner of a file is no
/// evidence of its author.
pub fn is_foreign(meta: &Metadata) -> bool {
    #[cfg(unix)]
    return {
        use std::os::unix::fs::MetadataExt;
        !matches!(meta.uid(), uid if uid == 0 || uid == rustix::process::geteuid().as_raw())
    };
    #[cfg(not(unix))]
    {
        let _ = meta;
        false
    }
}

/// Returns a clause with the reason that a file of the user is not trustworthy: "belongs to another user". `bits` are the
/// permission bits that must not be set on the file. Neither the file nor its directory may be writable by others.
pub fn unsafe_reason(file: &Path, bits: u32) -> Option<String> {
    let reason = |path: &Path, bits: u32| {
        let meta = std::fs::metadata(path).ok()?;
        match () {
            () if is_foreign(&meta) => Some("belongs to another user"),
            () if has_mode(&meta, bits) => Some("is writable by other users"),
            () => None,
        }
    };
    let in_directory = || reason(file.parent()?, 0o002).map(|why| format!("is in a directory that {why}"));
    reason(file, bits).map(str::to_owned).or_else(in_directory)
}

/// Returns whether one of these permission bits is set. Always false on Windows.
pub fn has_mode(meta: &Metadata, bits: u32) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::mode(meta) & bits != 0;
    #[cfg(not(unix))]
    {
        let _ = (meta, bits);
        false
    }
}
