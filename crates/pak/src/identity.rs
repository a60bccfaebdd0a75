//! Content hashes of assets including their references, to compare a key across two paks whose ids differ.

use crate::PakBuf;
use crate::checksum::checksum;
use kiln_format::pak::Kind;

/// The maximum reference depth. Scenes refer to materials and materials to bitmaps; the baker writes nothing deeper.
const DEEPEST: usize = 4;

impl PakBuf {
    /// Returns a 64-bit hash of an asset and everything it refers to. Equal hashes of one kind mean equal assets, in this
    /// pak or another one, provided that both were compressed with the same settings. Reads the index only.
    pub fn identity(&self, kind: Kind, id: usize) -> u64 {
        u32::try_from(id).map_or(0, |id| self.identity_within(kind, id, DEEPEST))
    }

    fn identity_within(&self, kind: Kind, id: u32, depth: usize) -> u64 {
        if depth == 0 {
            return 0;
        }
        let view = self.view();
        let mut all = vec![kind as u8];
        let mut refs: Vec<Option<(Kind, u32)>> = Vec::new();
        if let Some(asset) = view.asset(kind, id) {
            all.extend(asset.len.to_le_bytes());
            for block in asset.blocks.clone().filter_map(|number| view.block(number)) {
                all.extend(block.checksum.to_le_bytes());
                all.extend(block.stored_len.to_le_bytes());
            }
            refs.extend(view.refs(&asset).map(Some));
        } else if let Some(material) = (kind == Kind::Material).then(|| view.material(id)).flatten() {
            all.extend([material.params_used, material.flags]);
            all.extend(material.emissive_strength.to_f32().to_le_bytes());
            all.extend(material.alpha_cutoff.to_le_bytes());
            let maps = [Some(material.color), material.normal, material.emissive, material.params];
            refs.extend(maps.map(|id| Some((Kind::Bitmap, id?))));
        }
        for reference in refs {
            let number = reference.map_or(0, |(kind, id)| self.identity_within(kind, id, depth - 1));
            all.extend(number.to_le_bytes());
        }
        checksum(&all)
    }
}
