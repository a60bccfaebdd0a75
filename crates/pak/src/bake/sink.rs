//! The pak as a sink: payloads are found by their content, in this bake or in the pak of an earlier one, and placed all at
//! once when the file is written.
//!
//! The pak itself is what makes a bake incremental: the journal says which payload an asset had, and a payload that is
//! found in the old file is copied from there. After a failed bake, what succeeded is kept in a pak without keys beside
//! the journal, so that it is not baked again.

use super::bake_paths::BakePaths;
use super::compress::{Packed, Stored};
use super::earlier_pak::EarlierPak;
use super::link::{self, Layout};
use super::plan::{Node, Plan, Recipe};
use super::staging::Staging;
use super::{is_action, path_error};
use kiln_engine::fs::{Fill, Staged};
use kiln_engine::record::Output;
use kiln_engine::remote::Blob;
use kiln_engine::sink::Candidate;
use kiln_engine::{
    Code, Diag, Fs, Hash, Journal, Metadata, PlacedArtifact, Records, RelPath, Sink, Stamp, Why,
};
use std::io::{self, Write};

/// A payload: what the index says of it, and the hash of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Payload {
    pub(crate) stored: Stored,
    pub(crate) hash: Hash,
}

impl From<&PlacedArtifact<Stored>> for Payload {
    fn from(artifact: &PlacedArtifact<Stored>) -> Payload {
        Payload { stored: artifact.metadata.clone(), hash: artifact.hash }
    }
}

/// A pak that is being baked.
pub(super) struct PakSink<'a> {
    paths: &'a BakePaths,
    staging: Staging<'a>,
    /// The pak that is there, if it is sound.
    current: Option<EarlierPak>,
    /// What a bake that failed got done.
    partial: Option<EarlierPak>,
    /// Whether the pak that is there is the one that was written last.
    is_trusted: bool,
}

impl<'a> PakSink<'a> {
    /// A sink for these paths. Earlier paks are not used to `force` a bake.
    pub(super) fn new(paths: &'a BakePaths, journal: &Journal, force: bool) -> PakSink<'a> {
        let is_trusted = paths.is_trusted(journal);
        let open = |path| EarlierPak::open(path).ok().filter(|_| !force);
        // Somebody touched it, so that its bytes may be anything.
        let is_sound = |pak: &EarlierPak| is_trusted || pak.pak.validate_hash().unwrap_or(false);
        PakSink {
            paths,
            staging: Staging::new(&paths.cache),
            current: open(&paths.pak).filter(is_sound),
            partial: open(&paths.partial),
            is_trusted,
        }
    }

    fn earlier(&self) -> impl Iterator<Item = &EarlierPak> {
        [&self.current, &self.partial].into_iter().flatten()
    }

    /// Stages a payload that is made from the plan alone.
    pub(super) fn put(&self, packed: &Packed) -> io::Result<Payload> {
        let blob = Blob::of(&packed.bytes);
        self.staging.put(blob, &mut |file| file.write_all(&packed.bytes))?;
        Ok(Payload { stored: packed.stored.clone(), hash: blob.hash })
    }

    /// Copies a payload: what was just baked from the staging area, the rest from earlier files.
    pub(super) fn copy(&self, payload: &Payload, out: &mut dyn Write) -> io::Result<()> {
        let Payload { stored, hash } = payload;
        let blob = Blob { hash: *hash, len: stored.stored_len() };
        // Nothing is kept anywhere of what is empty.
        if stored.blocks.is_empty() || self.staging.copy(blob, out)? {
            return Ok(());
        }
        let earlier = self.earlier().find(|pak| pak.contains(stored));
        earlier.ok_or_else(|| io::Error::other("a baked payload is gone"))?.copy(stored, out)
    }

    /// Writes the pak, unless the file that is there is the one; returns whether that is so.
    pub(super) fn write(&self, layout: &Layout, journal: &Journal, overwrite: bool) -> Result<bool, Diag> {
        let is_the_file = |pak: &EarlierPak| pak.pak.is_the_file(&layout.header, &layout.index);
        let unchanged = self.is_trusted && self.current.as_ref().is_some_and(is_the_file);
        if !unchanged {
            let unwritable = |e| path_error(Code::Unwritable, &self.paths.pak, "write", &e);
            let staged = self.paths.out.stage(&mut |file| layout.write(self, file)).map_err(unwritable)?;
            self.paths.admit(journal, overwrite)?;
            let placed = self.paths.out.publish(vec![(staged, self.paths.name.clone())]).into_iter().next();
            placed.unwrap_or_else(|| Err(io::ErrorKind::Other.into())).map_err(unwritable)?;
        }
        self.paths.remove_partial();
        Ok(unchanged)
    }

    /// Keeps what was baked beside what failed. A help for next time: whether it works out changes nothing now.
    pub(super) fn write_partial(&self, plan: &Plan, payloads: &[Option<Payload>]) {
        let mut good = Plan::default();
        let mut kept = Vec::new();
        for (node, payload) in plan.nodes.iter().zip(payloads) {
            let Some(payload) = payload.as_ref().filter(|_| is_action(&node.recipe)) else { continue };
            good.nodes.push(Node { recipe: Recipe::Solid([0; 4]), ..node.clone() });
            kept.push(Some(payload.clone()));
        }
        let Ok(layout) = link::layout(&good, &kept) else { return };
        let Ok(staged) = self.paths.cache.stage(&mut |file| layout.write(self, file)) else { return };
        let name = self.paths.partial.file_name().and_then(|name| name.to_str());
        if let Some(name) = name.and_then(|name| RelPath::new(name).ok()) {
            self.paths.cache.publish(vec![(staged, name)]);
        }
    }
}

impl Sink for PakSink<'_> {
    fn stage(&self, blob: Blob, fill: Fill<'_>) -> io::Result<Staged> {
        self.staging.put(blob, fill).map(|()| Staged::new(blob))
    }

    /// Payloads are found by their content, and the plan says which asset has which.
    fn slot(&self, _: &RelPath) -> Option<String> {
        None
    }

    fn admit(&self, _: Candidate<'_>, _: &Records) -> Result<Option<Stamp>, Diag> {
        Ok(None)
    }

    /// Payloads are placed when the pak is written; the staging area has them until then.
    fn publish(&self, batch: Vec<(Staged, RelPath)>) -> Vec<io::Result<Stamp>> {
        let stamp = |blob: Blob| Stamp { len: blob.len, ..Stamp::NONE };
        let staged = |(staged, _): (Staged, RelPath)| staged.into_inner().map(stamp);
        batch.into_iter().map(|each| staged(each).ok_or_else(|| io::ErrorKind::InvalidInput.into())).collect()
    }

    /// A payload that is in no pak was baked by a run that was killed before it wrote the file, or the file is gone or
    /// damaged: as good as never baked.
    fn find(&self, recorded: &Output<'_>, _: bool, _: &mut usize) -> Result<Stamp, Why> {
        let stored = Stored::decode(&recorded.metadata).ok_or(Why::New)?;
        let is_there = stored.blocks.is_empty() || self.earlier().any(|pak| pak.contains(&stored));
        is_there.then_some(recorded.stamp).ok_or(Why::New)
    }

    fn read(&self, _: &RelPath) -> Option<Vec<u8>> {
        None
    }

    fn remove(&self, _: &Output<'_>) -> Result<(), Diag> {
        Ok(())
    }
}
