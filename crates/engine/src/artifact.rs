//! Artifacts: the results of actions, with metadata that is typed for the tool and bytes for everyone else.

use crate::fs::Staged;
use crate::remote::Blob;
use crate::shared_results::WorkKey;
use crate::wire::{Reader, Writer};
use crate::{Hash, RelPath};
use std::fmt::Debug;

/// Facts about an artifact that its tool wants back when the artifact is used again: typed for the tool, bytes in the
/// journal and in cache entries.
pub trait Metadata: Clone + Debug + PartialEq + Send + Sync {
    /// Writes it.
    fn write(&self, to: &mut Writer);

    /// Reads what [`write`](Self::write) wrote; `None` when the bytes are something else.
    fn read(from: &mut Reader<'_>) -> Option<Self>;

    /// The bytes.
    fn encode(&self) -> Vec<u8> {
        let mut to = Writer::new();
        self.write(&mut to);
        to.finish()
    }

    /// The metadata in these bytes, if they are nothing but that.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader::new(bytes);
        Self::read(&mut from).filter(|_| from.is_empty())
    }
}

/// For tools that only want files.
impl Metadata for () {
    fn write(&self, _: &mut Writer) {}

    fn read(_: &mut Reader<'_>) -> Option<()> {
        Some(())
    }
}

/// A result of an action: content under a name, and what is known of it. The content is staged by the sink of the run.
pub struct Artifact<M> {
    /// The name, which the sink gives a meaning: in a directory it is a path.
    pub name: RelPath,
    /// What is known of it.
    pub metadata: M,
    pub(crate) content: Content,
}

/// Content that a sink has staged.
pub(crate) struct Content {
    pub(crate) staged: Staged,
    pub(crate) blob: Blob,
    /// The shared work that it is the result of, if other actions may use it too.
    pub(crate) work: Option<WorkKey>,
}

/// An artifact that is in its place, from this run or an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedArtifact<M> {
    /// The name.
    pub name: RelPath,
    /// The hash of its bytes.
    pub hash: Hash,
    /// What is known of it.
    pub metadata: M,
}
