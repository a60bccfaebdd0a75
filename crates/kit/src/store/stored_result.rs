//! A stored result as a tool sees it before it stands in for a cook.
//!
//! Whoever can write to a shared cache decides what is stored under a key. Only the tool knows what the cook of a source
//! may come to, so it is asked first ([`Task::restore`](crate::Task::restore)), and what it refuses is dropped.

use super::action::Answer;
use crate::record::Seen;
use crate::{Hash, RelPath};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// A stored result that fits the inputs, before anything in it is used.
pub struct StoredResult<'a> {
    pub(super) answer: &'a Answer,
    pub(super) inputs: &'a BTreeMap<RelPath, Seen>,
    /// The bytes of each output, then what was kept.
    pub(super) files: &'a mut [File],
}

/// Why a stored result is not used: a sentence that ends another one, such as `it writes b.ktx2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected(pub String);

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Rejected {}

/// A file of a result that cannot be read is as good as none.
impl From<io::Error> for Rejected {
    fn from(error: io::Error) -> Rejected {
        Rejected(format!("a file of it cannot be read: {error}"))
    }
}

impl StoredResult<'_> {
    /// The outputs it would write, each with the hash of its bytes.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = (&RelPath, Hash)> {
        self.answer.outputs.iter().map(|output| (&output.path, output.blob.hash))
    }

    /// What the cook returned.
    pub fn payload(&self) -> &[u8] {
        &self.answer.payload
    }

    /// The files that the cook read, each with the hash of its bytes, which are the same now.
    pub fn inputs(&self) -> impl Iterator<Item = (&RelPath, Hash)> {
        self.inputs.iter().filter_map(|(path, seen)| match seen {
            Seen::File { hash, .. } => Some((path, *hash)),
            _ => None,
        })
    }

    /// Reads the bytes of an output, by its place among the [outputs](StoredResult::outputs).
    ///
    /// # Errors
    ///
    /// If there is no such output, or it cannot be read.
    pub fn read(&mut self, index: usize) -> io::Result<Vec<u8>> {
        let count = self.answer.outputs.len();
        read(self.files[..count].get_mut(index).ok_or(io::ErrorKind::NotFound)?)
    }

    /// Returns whether the cook [kept](crate::Cook::keep) something.
    pub fn has_kept(&self) -> bool {
        self.answer.kept.is_some()
    }

    /// Reads what the cook [kept](crate::Cook::keep); `None` if it kept nothing.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn kept(&mut self) -> io::Result<Option<Vec<u8>>> {
        match (self.answer.kept, self.files.last_mut()) {
            (Some(_), Some(file)) => read(file).map(Some),
            _ => Ok(None),
        }
    }
}

/// Reads a file from its start, and leaves it there for the next one.
fn read(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(bytes)
}
