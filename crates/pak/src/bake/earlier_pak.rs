//! A pak of an earlier bake: what is in it is copied, not baked again.

use super::compress::Stored;
use super::staging::copy;
use crate::checksum::checksum;
use crate::{Error, PakBuf};
use kiln_format::pak::Kind;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// The payloads of a pak, by what the index says of them.
pub(super) struct EarlierPak {
    pub(super) pak: PakBuf,
    file: File,
    places: HashMap<Stored, u64>,
}

impl EarlierPak {
    /// Opens a pak, if there is a good one.
    pub(super) fn open(path: &Path) -> Result<EarlierPak, Error> {
        let file = crate::source::open(path)?;
        // Through the file, not mapped: mapped pages would count as memory of the bake.
        let pak = PakBuf::from_stream(file.try_clone()?)?;
        let view = pak.view();
        let mut places = HashMap::new();
        for kind in Kind::ALL {
            for id in 0..pak.count(kind) as u32 {
                let Some(asset) = view.asset(kind, id) else { continue };
                let blocks = asset.blocks.clone().filter_map(|n| view.block(n));
                let stored = Stored {
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

    /// Returns whether a payload is here.
    pub(super) fn contains(&self, stored: &Stored) -> bool {
        self.places.contains_key(stored)
    }

    /// Copies content, block by block, as far as it is still what it was.
    pub(super) fn copy(&self, stored: &Stored, out: &mut dyn Write) -> io::Result<()> {
        let place = self.places.get(stored).copied().ok_or(io::ErrorKind::NotFound)?;
        let mut file = &self.file;
        file.seek(SeekFrom::Start(place))?;
        let mut block = Vec::new();
        for (sum, len) in &stored.blocks {
            block.clear();
            copy(&mut file, (*len).into(), &mut block)?;
            if checksum(&block) != *sum {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the file that was baked before is damaged",
                ));
            }
            out.write_all(&block)?;
        }
        Ok(())
    }
}
