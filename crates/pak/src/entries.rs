//! The index entries of assets: by key, or of all assets.

use crate::{Codec, Kind, PakBuf};
use std::collections::HashMap;

/// The index entry of an asset: key, kind, id and storage. See [`PakBuf::entries`] and [`PakBuf::assets`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// The key of the asset; empty if it has none.
    pub key: &'a str,
    /// The kind of the asset.
    pub kind: Kind,
    /// The id of the asset among those of its kind.
    pub id: usize,
    /// The decoded length in bytes.
    pub len: u64,
    /// The stored (compressed) length in bytes.
    pub stored_len: u64,
    /// The compression codec of the payload.
    pub codec: Codec,
    /// The checksum and stored length of each block: equal lists mean equal content.
    pub blocks: Vec<(u64, u32)>,
}

impl Entry<'_> {
    /// Returns the key, or `unnamed/<kind>-<id>` for an asset without one: the name in listings, reports and extracted
    /// files.
    pub fn name(&self) -> String {
        match self.key {
            "" => unnamed(self.kind, self.id),
            key => key.to_owned(),
        }
    }
}

/// Returns the name of an asset without a key.
pub(crate) fn unnamed(kind: Kind, id: usize) -> String {
    format!("unnamed/{}-{id}", kind.name())
}

impl PakBuf {
    /// Returns the index entries of all keys, sorted by key. A material is stored in the index itself and has length 0.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry<'_>> {
        let view = self.view();
        (0..view.key_count()).map(move |number| {
            let (key, kind, id) = view.key(number).unwrap_or(("", Kind::Blob, 0));
            self.entry(key, kind, id)
        })
    }

    pub(crate) fn entry<'a>(&self, key: &'a str, kind: Kind, id: u32) -> Entry<'a> {
        let view = self.view();
        let asset = view.asset(kind, id);
        let block = |n| view.block(n).map(|block| (block.checksum, block.stored_len));
        let blocks =
            asset.as_ref().map_or_else(Vec::new, |asset| asset.blocks.clone().filter_map(block).collect());
        Entry {
            key,
            kind,
            id: id as usize,
            len: asset.as_ref().map_or(0, |asset| asset.len),
            stored_len: asset.as_ref().map_or(0, |asset| view.stored_len(asset)),
            codec: asset.map_or(Codec::None, |asset| asset.codec),
            blocks,
        }
    }

    /// Returns the index entries of all assets, also of those without a key, by kind and id. An asset with several keys
    /// has the first of them.
    pub fn assets(&self) -> impl Iterator<Item = Entry<'_>> {
        let mut keys = HashMap::new();
        for (key, kind, id) in self.view_keys() {
            keys.entry((kind, id)).or_insert(key);
        }
        let all = Kind::ALL.into_iter().flat_map(|kind| (0..self.count(kind)).map(move |id| (kind, id)));
        all.map(move |(kind, id)| {
            let key = keys.get(&(kind, id)).copied().unwrap_or_default();
            self.entry(key, kind, id as u32)
        })
    }
}
