//! Writes one file or page at a path that the user named, atomically.

use kiln_engine::ownership::{Replace, admit};
use kiln_engine::remote::Blob;
use kiln_engine::{Code, Diag, Fs, Real, RelPath};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file under a temporary name and renames it into place. A regular file at the path is replaced, a symbolic
/// link is not. `what` names the file in the error.
///
/// # Errors
///
/// `unwritable` if the directory does not exist or cannot be written, or if something else is at the path.
pub fn publish_file(path: &Path, bytes: &[u8], what: &str) -> Result<(), Diag> {
    let fault = |e: io::Error| {
        Diag::new(Code::Unwritable, format!("cannot write the {what}: {e}")).path(path.display())
    };
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| RelPath::new(name).ok());
    let name = name.ok_or_else(|| fault(io::Error::other("the file name is not portable")))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = Real::named(parent, name.as_str()).map_err(fault)?;
    let staged = dir.stage(&mut |file: &mut dyn Write| file.write_all(bytes)).map_err(fault)?;
    let placed = dir.publish(vec![(staged, name)]).pop();
    placed.unwrap_or_else(|| Err(io::ErrorKind::Other.into())).map(drop).map_err(fault)
}

/// Writes a page to a temporary file and renames it into place. An existing file is replaced if `is_page` recognizes it as
/// an earlier page, or with `overwrite`.
///
/// # Errors
///
/// `unwritable` if the directory cannot be written, and the errors of [`admit`] if another file is at the path.
pub fn write_page(
    out: &Path,
    html: &[u8],
    overwrite: bool,
    is_page: &dyn Fn(&str) -> bool,
) -> Result<(), Diag> {
    let fault =
        |e: io::Error| Diag::new(Code::Unwritable, format!("cannot write the page: {e}")).path(out.display());
    let name = out.file_name().and_then(|name| name.to_str()).and_then(|name| RelPath::new(name).ok());
    let name = name.ok_or_else(|| fault(io::Error::other("the file name is not portable")))?;
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = Real::named(parent, name.as_str()).map_err(fault)?;
    let owned = || {
        let page = dir.read(&name).ok().and_then(|page| String::from_utf8(page).ok());
        page.is_some_and(|page| is_page(&page))
    };
    admit(&dir, &name, Some(Blob::of(html)), Replace { overwrite, magic: None, owned: &owned })
        .map_err(|diag| diag.path(out.display()))?;
    let staged = dir.stage(&mut |file: &mut dyn Write| file.write_all(html)).map_err(fault)?;
    let placed = dir.publish(vec![(staged, name.clone())]).pop();
    placed.unwrap_or_else(|| Err(io::ErrorKind::Other.into())).map(drop).map_err(fault)
}
