//! The diagnostics about files that are read: unreadable, not UTF-8, Git LFS pointers, faults of a `.meta`.

use crate::class_id::class_name;
use crate::documents::Document;
use crate::guid;
use crate::meta::{Fault, FaultKind};
use kiln_engine::{Code, Diag};
use std::io;

pub(super) fn bom() -> Diag {
    Diag::new(Code::UnityBom, "the file starts with a byte order mark")
        .hint("save the file as UTF-8 without a byte order mark")
}

pub(super) fn not_utf8() -> Diag {
    Diag::new(Code::UnityNotUtf8, "the file is not valid UTF-8")
        .hint("save the file as UTF-8; invalid bytes in names are replaced by U+FFFD")
}

pub(super) fn pointer(hint: &str) -> Diag {
    Diag::new(Code::UnityLfsPointer, "the file is a Git LFS pointer; its content was not fetched")
        .path(hint)
        .hint("run git lfs pull")
}

/// Returns the diagnostic for a file or folder that cannot be read. An error that is not caused by the file fails the bake:
/// an index without the file would be wrong, and the old index is better.
pub(crate) fn unreadable(hint: &str, error: &io::Error) -> Diag {
    let code = if is_transient(error) { Code::UnityIo } else { Code::UnityUnreadable };
    let diag = Diag::new(code, format!("cannot read the file or folder: {error}")).path(hint);
    match error.kind() {
        io::ErrorKind::PermissionDenied => diag.hint("give the user who runs this permission to read it"),
        _ => diag,
    }
}

/// Returns whether a retry may succeed: a disk or a server failed, or memory or file descriptors are exhausted.
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{OutOfMemory, StorageFull, UnexpectedEof};
    // EIO, ENFILE and EMFILE, which have no kind of their own.
    let code = cfg!(unix) && matches!(error.raw_os_error(), Some(5 | 23 | 24));
    code || matches!(error.kind(), OutOfMemory | StorageFull | UnexpectedEof)
}

/// Returns the diagnostic for a fault; `None` for CR LF, which is reported once for the whole project.
pub(super) fn fault_diag(fault: &Fault) -> Option<Diag> {
    let regenerate = "restore the file from version control, or let Unity write it again";
    Some(match &fault.kind {
        FaultKind::Crlf => return None,
        FaultKind::Empty => Diag::new(Code::UnityMetaEmpty, "the .meta file is empty").hint(regenerate),
        FaultKind::NoGuid => {
            Diag::new(Code::UnityMetaGuid, "missing or malformed `guid:` in .meta").hint(regenerate)
        }
        FaultKind::BadGuid(found) => {
            let message =
                format!("missing or malformed `guid:` in .meta: {found:?} is not 32 hexadecimal digits");
            Diag::new(Code::UnityMetaGuid, message).hint(regenerate)
        }
        FaultKind::ZeroGuid => {
            Diag::new(Code::UnityMetaGuid, "the `guid:` is zero, which denotes no asset").hint(regenerate)
        }
        FaultKind::UpperCaseGuid => {
            let message = "the `guid:` has upper-case digits, which Unity never writes";
            Diag::new(Code::UnityMetaGuid, message).hint("write the GUID in lower case")
        }
        FaultKind::SecondGuid(second) => {
            let message = format!("the file has a second, different `guid:` {}", guid::Guid(*second));
            Diag::new(Code::UnityMetaGuid, message).hint("keep the GUID that other files refer to")
        }
        FaultKind::Conflict => {
            Diag::new(Code::UnityMergeConflict, "the file contains merge conflict markers")
                .hint("resolve the conflict")
        }
        FaultKind::Bom => bom(),
        FaultKind::NotUtf8 => not_utf8(),
        FaultKind::LfsPointer => pointer(""),
    })
}

/// Reports two objects with the same fileID, class and name.
pub(super) fn duplicate_object(hint: &str, object: &Document, [first, other]: [u32; 2]) -> Diag {
    let (name, class) = (object.name.as_deref().unwrap_or_default(), class_name(object.class_id));
    let message = format!(
        "lines {first} and {other} have the same {class} {name:?} with the fileID {}",
        object.file_id
    );
    Diag::new(Code::UnityDuplicateObject, message)
        .path(hint)
        .at(other)
        .hint("a merge has kept both sides: remove one of the two documents")
}
