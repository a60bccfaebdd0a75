//! A pak of an earlier bake, whose payloads are copied instead of baked again.

use super::compression::PayloadEntry;
use super::staging::copy;
use crate::checksum::checksum;
use crate::{Error, PakBuf};
use kiln_format::pak::Kind;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The payloads of a pak and their offsets, by index entry.
pub(super) struct EarlierPak {
    pub(super) pak: PakBuf,
    file: File,
    places: HashMap<PayloadEntry, u64>,
}

impl EarlierPak {
    /// Opens a pak and indexes its payloads.
    pub(super) fn open(path: &Path) -> Result<EarlierPak, Error> {
        let file = crate::source::open(path)?;
        // Read through the file handle: mapped pages would count as resident memory of the bake.
        let pak = PakBuf::from_stream(file.try_clone()?)?;
        let view = pak.view();
        let mut places = HashMap::new();
        for kind in Kind::ALL {
            for id in 0..pak.count(kind) as u32 {
                let Some(asset) = view.asset(kind, id) else { continue };
                let blocks = asset.blocks.clone().filter_map(|n| view.block(n));
                let stored = PayloadEntry {
                    len: asset.len,
                    codec: asset.codec,
                    block_log2: asset.block_len.ilog2() as u8,
                    blocks: blocks.map(|block| (block.checksum, block.stored_len)).collect(),
                };
                places.insert(stored, asset.offset);
            }
        }
        Ok(EarlierPak { pak, file, places })
    }

    /// Returns `true` if the pak contains the payload.
    pub(super) fn contains(&self, stored: &PayloadEntry) -> bool {
        self.places.contains_key(stored)
    }

    /// Copies a payload to `out`, block by block, and verifies each checksum.
    pub(super) fn copy(&self, stored: &PayloadEntry, out: &mut dyn Write) -> io::Result<()> {
        let place = self.places.get(stored).copied().ok_or(io::ErrorKind::NotFound)?;
        let mut at = place;
        let mut block = Vec::new();
        for (sum, len) in &stored.blocks {
            block.clear();
            copy(&self.file, at, (*len).into(), &mut block)?;
            at += u64::from(*len);
            if checksum(&block) != *sum {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the pak of an earlier bake is damaged: checksum mismatch",
                ));
            }
            out.write_all(&block)?;
        }
        Ok(())
    }
}
