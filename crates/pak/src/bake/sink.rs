//! The pak as a sink of the engine: payloads are content-addressed, and found in this bake's staging area or in an earlier
//! pak. If all of them are baked, the staging area assembles the file; otherwise it is written at once at the end.
//!
//! The pak itself makes a bake incremental: the journal records the payload of each asset, and a payload that the old
//! file contains is copied from there. After a failed bake, the successful payloads are kept in a partial pak without
//! keys beside the journal, so that they are not baked again.

use super::bake_paths::BakePaths;
use super::compression::{CompressedPayload, Payload, PayloadEntry};
use super::earlier_pak::EarlierPak;
use super::link::{self, Layout};
use super::plan::{Node, Plan, Recipe};
use super::staging::{PayloadOrder, SAME_CHECKSUMS, Staging};
use super::{is_action, path_error};
use kiln_engine::fs::{Fill, Staged};
use kiln_engine::record::Output;
use kiln_engine::remote::Blob;
use kiln_engine::sink::Candidate;
use kiln_engine::{Code, Diag, Fs, Journal, Metadata, RebuildReason, Records, RelPath, Sink, Stamp};
use std::collections::HashMap;
use std::io::{self, Seek, SeekFrom, Write};

/// The sink of a bake: staged payloads plus the paks of earlier bakes.
pub(super) struct PakSink<'a> {
    paths: &'a BakePaths,
    staging: Staging<'a>,
    /// The existing pak, if it is intact.
    current: Option<EarlierPak>,
    /// The partial pak of a failed bake.
    partial: Option<EarlierPak>,
    /// True if the existing pak is unmodified since the last bake wrote it.
    is_unmodified: bool,
}

impl<'a> PakSink<'a> {
    /// Creates a sink for these paths. With `force`, earlier paks are ignored. `order` returns the order of payloads; it is
    /// called if all of them are going to be baked.
    pub(super) fn new(
        paths: &'a BakePaths,
        journal: &Journal,
        force: bool,
        max_memory: u64,
        order: impl FnOnce() -> PayloadOrder,
    ) -> PakSink<'a> {
        let is_unmodified = paths.is_unmodified(journal);
        let open = |path| EarlierPak::open(path).ok().filter(|_| !force);
        // A pak that was modified since is used only if all its checksums match.
        let is_consistent = |pak: &EarlierPak| is_unmodified || pak.pak.validate_hash().unwrap_or(false);
        let (current, partial) = (open(&paths.pak).filter(is_consistent), open(&paths.partial));
        let order = if current.is_none() && partial.is_none() { order() } else { PayloadOrder::new() };
        let staging = Staging::new(&paths.out, &paths.cache, order, max_memory);
        PakSink { paths, staging, current, partial, is_unmodified }
    }

    fn earlier(&self) -> impl Iterator<Item = &EarlierPak> {
        [&self.current, &self.partial].into_iter().flatten()
    }

    /// Closes the paks of earlier bakes once their payloads are copied: not every file system replaces an open file.
    fn close_earlier(&mut self) {
        (self.current, self.partial) = (None, None);
    }

    /// Stages a payload that is generated from the plan alone.
    pub(super) fn stage_payload(&self, node: &Node, compressed: CompressedPayload) -> io::Result<Payload> {
        let payload = Payload { hash: compressed.stored.identity(), stored: compressed.stored };
        self.staging.put(&node.name, payload.blob(), compressed.bytes)?;
        Ok(payload)
    }

    /// Checks that payloads with equal entries have equal content. Only those are compared whose hashes do not tell, because
    /// one of them was baked with a build cache and the other was not.
    ///
    /// # Errors
    /// If a payload cannot be read, or two differ.
    pub(super) fn check_equal_entries(&self, payloads: &[Option<Payload>]) -> io::Result<()> {
        let mut known: HashMap<&PayloadEntry, &Payload> = HashMap::new();
        for payload in payloads.iter().flatten() {
            let first = *known.entry(&payload.stored).or_insert(payload);
            if first.hash == payload.hash {
                continue;
            }
            let (mut one, mut other) = (Vec::new(), Vec::new());
            self.copy(first, &mut one)?;
            self.copy(payload, &mut other)?;
            if one != other {
                return Err(io::Error::new(io::ErrorKind::InvalidData, SAME_CHECKSUMS));
            }
        }
        Ok(())
    }

    /// Copies a payload to `out`, from the staging area or from an earlier pak.
    pub(super) fn copy(&self, payload: &Payload, out: &mut dyn Write) -> io::Result<()> {
        let stored = &payload.stored;
        // An empty payload is stored nowhere.
        if stored.blocks.is_empty() || self.staging.copy(payload.blob(), out)? {
            return Ok(());
        }
        let earlier = self.earlier().find(|pak| pak.contains(stored));
        earlier
            .ok_or_else(|| io::Error::other("a payload is neither staged nor in an earlier pak"))?
            .copy(stored, out)
    }

    /// Completes the assembled file, or writes the whole pak under a temporary name.
    fn staged(&self, layout: &Layout) -> io::Result<Staged> {
        let copy = |payload: &Payload, out: &mut dyn Write| self.copy(payload, out);
        let Some((pak, count)) = self.staging.take_assembled(layout.payloads.iter().map(Payload::blob))?
        else {
            return self.paths.out.stage(&mut |file| layout.write(&copy, file));
        };
        let mut file = pak.file();
        layout.write_after(count, &copy, &mut file)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&layout.header)?;
        Ok(Staged::new(pak))
    }

    /// Writes the pak, unless the existing file is identical; returns `true` if it was left unchanged.
    pub(super) fn write(mut self, layout: &Layout, journal: &Journal, overwrite: bool) -> Result<bool, Diag> {
        let matches_layout = |pak: &EarlierPak| pak.pak.matches_layout(&layout.header, &layout.index);
        let unchanged = self.is_unmodified && self.current.as_ref().is_some_and(matches_layout);
        if !unchanged {
            let unwritable = |e| path_error(Code::Unwritable, &self.paths.pak, "write the pak", &e);
            let staged = self.staged(layout).map_err(unwritable)?;
            self.paths.admit(journal, overwrite)?;
            self.close_earlier();
            let placed = self.paths.out.publish(vec![(staged, self.paths.name.clone())]).into_iter().next();
            placed.unwrap_or_else(|| Err(io::ErrorKind::Other.into())).map_err(unwritable)?;
        }
        self.close_earlier();
        self.paths.remove_partial();
        Ok(unchanged)
    }

    /// Keeps the successful payloads of a failed bake for the next one. Best effort: errors are ignored.
    pub(super) fn write_partial(mut self, plan: &Plan, payloads: &[Option<Payload>]) {
        let mut good = Plan::default();
        let mut kept = Vec::new();
        for (node, payload) in plan.nodes.iter().zip(payloads) {
            let Some(payload) = payload.as_ref().filter(|_| is_action(&node.recipe)) else { continue };
            good.nodes.push(Node { recipe: Recipe::Solid([0; 4]), ..node.clone() });
            kept.push(Some(payload.clone()));
        }
        let Ok(layout) = link::layout(&good, &kept) else { return };
        let Ok(staged) =
            self.paths.cache.stage(&mut |file| layout.write(&|payload, out| self.copy(payload, out), file))
        else {
            return;
        };
        self.close_earlier();
        let name = self.paths.partial.file_name().and_then(|name| name.to_str());
        if let Some(name) = name.and_then(|name| RelPath::new(name).ok()) {
            self.paths.cache.publish(vec![(staged, name)]);
        }
    }
}

impl Sink for PakSink<'_> {
    fn stage(&self, blob: Blob, fill: Fill<'_>) -> io::Result<Staged> {
        self.staging.spill(blob, fill).map(|()| Staged::new(blob))
    }

    fn stage_bytes(&self, asset: &RelPath, blob: Blob, bytes: Vec<u8>) -> io::Result<Staged> {
        self.staging.put(asset, blob, bytes).map(|()| Staged::new(blob))
    }

    fn held_bytes(&self) -> u64 {
        self.staging.held_bytes()
    }

    /// Returns `None`: payloads are content-addressed, and the plan maps assets to them.
    fn slot(&self, _: &RelPath) -> Option<String> {
        None
    }

    fn admit(&self, _: Candidate<'_>, _: &Records) -> Result<Option<Stamp>, Diag> {
        Ok(None)
    }

    /// Leaves payloads in the staging area until the pak is written.
    fn publish(&self, batch: Vec<(Staged, RelPath)>) -> Vec<io::Result<Stamp>> {
        let stamp = |blob: Blob| Stamp { len: blob.len, ..Stamp::NONE };
        let staged = |(staged, _): (Staged, RelPath)| staged.into_inner().map(stamp);
        batch.into_iter().map(|each| staged(each).ok_or_else(|| io::ErrorKind::InvalidInput.into())).collect()
    }

    /// Finds a payload in an earlier pak. If no pak contains it, an earlier run was killed before it wrote the file, or the
    /// file is missing or damaged: the asset is baked again.
    fn find(&self, recorded: &Output<'_>, _: bool, _: &mut usize) -> Result<Stamp, RebuildReason> {
        let stored = PayloadEntry::decode(&recorded.metadata).ok_or(RebuildReason::New)?;
        let is_there = stored.blocks.is_empty() || self.earlier().any(|pak| pak.contains(&stored));
        is_there.then_some(recorded.stamp).ok_or(RebuildReason::New)
    }

    fn read(&self, _: &RelPath) -> Option<Vec<u8>> {
        None
    }

    fn remove(&self, _: &Output<'_>) -> Result<(), Diag> {
        Ok(())
    }
}
