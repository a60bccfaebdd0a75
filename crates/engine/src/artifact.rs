//! Artifacts: the results of actions, with metadata that is typed for the tool and opaque bytes for the engine.

use crate::fs::{Staged, Stamp};
use crate::record::{Output, Record};
use crate::remote::Blob;
use crate::shared_results::WorkKey;
use crate::wire::{Reader, Writer};
use crate::{Hash, RelPath};
use std::fmt::Debug;

/// Metadata of an artifact, such as its colour space, that the link step of a tool needs also when the artifact comes from
/// an earlier run or a cache. It is stored as bytes in the journal and in cache entries.
pub trait Metadata: Clone + Debug + PartialEq + Send + Sync {
    /// Serializes the metadata.
    fn write(&self, to: &mut Writer);

    /// Deserializes the output of [`write`](Self::write); `None` if the bytes are invalid.
    fn read(from: &mut Reader<'_>) -> Option<Self>;

    /// Returns the serialized bytes.
    fn encode(&self) -> Vec<u8> {
        let mut to = Writer::new();
        self.write(&mut to);
        to.finish()
    }

    /// Deserializes the whole of `bytes`; `None` if they are invalid or longer than the metadata.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader::new(bytes);
        Self::read(&mut from).filter(|_| from.is_empty())
    }
}

/// For tools that need no metadata.
impl Metadata for () {
    fn write(&self, _: &mut Writer) {}

    fn read(_: &mut Reader<'_>) -> Option<()> {
        Some(())
    }
}

/// A result of an action: a name, content and metadata. The content is staged by the sink of the run.
pub struct Artifact<M> {
    /// The name, which the sink interprets: in a directory it is a path.
    pub name: RelPath,
    /// The metadata of the tool.
    pub metadata: M,
    pub(crate) content: Content,
}

impl<M> Artifact<M> {
    /// Returns the content as its sink has staged it, for an artifact that is measured and not published.
    #[must_use]
    pub fn into_staged(self) -> Staged {
        self.content.staged
    }
}

/// Content that a sink has staged.
pub(crate) struct Content {
    pub(crate) staged: Staged,
    pub(crate) blob: Blob,
    /// The key of the shared work that made it, if other actions may use the result.
    pub(crate) work: Option<WorkKey>,
}

/// An artifact that has been published, by this run or an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedArtifact<M> {
    /// The name in the sink.
    pub name: RelPath,
    /// The hash of its content.
    pub hash: Hash,
    /// The metadata of the tool.
    pub metadata: M,
}

impl<M: Metadata> PlacedArtifact<M> {
    /// Returns the artifact of a recorded output; `None` if another version of the tool wrote the metadata.
    pub(crate) fn of(output: &Output<'_>) -> Option<PlacedArtifact<M>> {
        let (name, metadata) = (RelPath::new(&*output.path).ok()?, M::decode(&output.metadata)?);
        Some(PlacedArtifact { name, hash: output.hash, metadata })
    }

    /// Returns the artifacts that an action had published when it was recorded, without those that were only intended.
    pub fn recorded(record: &Record<'_>) -> Vec<PlacedArtifact<M>> {
        record.outputs.iter().filter(|o| o.stamp != Stamp::NONE).filter_map(PlacedArtifact::of).collect()
    }
}
