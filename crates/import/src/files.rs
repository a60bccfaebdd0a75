//! The files that a source refers to, wherever that is inside the project, and nowhere else.
//!
//! Absolute paths and `..` that climbs above the root of the project are refused by name, before a file system is
//! asked. Every file that is read or looked for goes through [`Inputs`] and is an input of the asset from then on.

use kiln_engine::{Code, Diag, Inputs, Limits, RelPath};
use std::time::Instant;

/// The most bytes that a source may name in files: it may name one file a thousand times.
const MOST_BYTES: u64 = 4 << 30;

/// The files beside a source.
pub(crate) struct Files<'c, 'x> {
    cx: &'c mut Inputs<'x>,
    dir: Option<RelPath>,
    left: u64,
}

/// What became of a name.
pub(crate) enum Sought {
    /// It was read.
    Found(RelPath, Vec<u8>),
    /// It names a file of the project that is not there.
    Missing(RelPath),
    /// It names none, for this reason.
    Refused(String),
}

impl<'c, 'x> Files<'c, 'x> {
    /// The files beside this one.
    pub(crate) fn beside(cx: &'c mut Inputs<'x>, source: &RelPath) -> Files<'c, 'x> {
        Files { cx, dir: source.parent(), left: MOST_BYTES }
    }

    /// The limits on the source.
    pub(crate) fn limits(&self) -> &Limits {
        self.cx.limits()
    }

    /// The moment at which the import has to be done.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.cx.deadline()
    }

    /// Where relative names start from now on: beside another file.
    pub(crate) fn go_beside(&mut self, file: &RelPath) {
        self.dir = file.parent();
    }

    /// The path that a name stands for, or why it stands for none.
    pub(crate) fn resolve(&self, name: &str) -> Result<RelPath, String> {
        match name {
            "" => Err("it is empty".to_owned()),
            name => RelPath::resolve(self.dir.as_ref(), name).map_err(|why| why.to_string()),
        }
    }

    /// Reads what a name stands for. Files that cannot be read, or hold nothing, are errors.
    pub(crate) fn seek(&mut self, name: &str) -> Result<Sought, Diag> {
        let path = match self.resolve(name) {
            Ok(path) => path,
            Err(why) => return Ok(Sought::Refused(why)),
        };
        let Some(bytes) = self.cx.read_opt(&path)? else { return Ok(Sought::Missing(path)) };
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            let message = format!("with {path}, the files it refers to have more than {MOST_BYTES} bytes");
            Diag::new(Code::ReferencesTooLarge, message)
        })?;
        match crate::absent(&bytes) {
            Some(diag) => Err(diag.path(&path)),
            None => Ok(Sought::Found(path, bytes)),
        }
    }
}
