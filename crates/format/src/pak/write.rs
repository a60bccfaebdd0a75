//! The writer of a pak: payloads come first, then the index; the header at the front is written last.
//!
//! Rejects duplicate keys and numbers that exceed their fields. The caller writes the payloads and computes
//! the checksums; this module computes offsets, the index and the header.

use alloc::{string::String, vec::Vec};

use super::{
    ALIGNMENT, AssetRecord, Block, BlockRecord, Codec, HeaderRecord, IndexRecord, KeyRecord, Kind, MAGIC,
    Material, MaterialRecord, NONE, RefRecord, VERSION,
};
use crate::Error;
use crate::bytes::align;

/// One asset with its compressed blocks.
#[derive(Clone, Debug)]
pub struct AssetBlocks {
    /// The kind of the asset; not a material.
    pub kind: Kind,
    /// The decompressed length in bytes.
    pub len: u64,
    /// The compression codec of the blocks.
    pub codec: Codec,
    /// The decompressed length of a block, as a power of two.
    pub block_log2: u8,
    /// The blocks of the payload.
    pub blocks: Vec<Block>,
    /// The assets that this asset references.
    pub refs: Vec<(Kind, u32)>,
}

/// The byte offset of the first payload.
pub const FIRST_PAYLOAD: u64 = (super::HEADER_LEN as u64).next_multiple_of(ALIGNMENT);

/// Returns the byte offset of the payload after one that ends at `end`.
pub fn next_payload(end: u64) -> u64 {
    align(end, ALIGNMENT).unwrap_or(u64::MAX)
}

/// Encodes an index. Assets are in order of their kinds; keys may come in any order and are sorted.
///
/// # Errors
///
/// [`Error::Duplicate`] if a key occurs twice, [`Error::TooLarge`] if a number exceeds its field.
pub fn index(
    assets: &[AssetBlocks],
    materials: &[Material],
    keys: &mut [(String, Kind, u32)],
) -> Result<Vec<u8>, Error> {
    let number = |n: usize, field| crate::count_u32(field, n);
    let mut counts = [0u32; 7];
    assets.iter().for_each(|asset| counts[asset.kind as usize] += 1);
    counts[Kind::Material as usize] = number(materials.len(), "materials")?;
    keys.sort();
    if let Some(pair) = keys.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Error::Duplicate { path: pair[0].0.clone() });
    }
    let [animations, bitmaps, bitmap_fonts, blobs, materials_len, meshes, scenes] = counts;
    let head = IndexRecord {
        animations,
        bitmaps,
        bitmap_fonts,
        blobs,
        materials: materials_len,
        meshes,
        scenes,
        keys: number(keys.len(), "keys")?,
        blocks: number(assets.iter().map(|a| a.blocks.len()).sum(), "blocks")?,
        refs: number(assets.iter().map(|a| a.refs.len()).sum(), "refs")?,
        text_len: number(keys.iter().map(|k| k.0.len()).sum(), "text_len")?,
        reserved: 0,
    };
    let mut out = Vec::new();
    head.put(&mut out);
    let (mut end, mut first_block, mut first_ref) = (super::HEADER_LEN as u64, 0u32, 0u32);
    for asset in assets {
        let offset = next_payload(end);
        let refs = asset.refs.len() as u32;
        AssetRecord {
            offset,
            len: asset.len,
            first_block,
            first_ref,
            refs,
            codec: asset.codec as u8,
            block_log2: asset.block_log2,
            reserved: 0,
        }
        .put(&mut out);
        first_block += asset.blocks.len() as u32;
        first_ref += refs;
        end = offset + asset.blocks.iter().map(|b| u64::from(b.stored_len)).sum::<u64>();
    }
    for Block { checksum, stored_len } in assets.iter().flat_map(|a| &a.blocks).copied() {
        BlockRecord { checksum, stored_len }.put(&mut out);
    }
    for (kind, id) in assets.iter().flat_map(|a| &a.refs).copied() {
        RefRecord { kind: kind as u32, id }.put(&mut out);
    }
    for material in materials {
        MaterialRecord {
            color: material.color,
            normal: material.normal.unwrap_or(NONE),
            emissive: material.emissive.unwrap_or(NONE),
            params: material.params.unwrap_or(NONE),
            params_used: material.params_used,
            flags: material.flags,
            emissive_strength: material.emissive_strength.stored(),
            alpha_cutoff: material.alpha_cutoff,
        }
        .put(&mut out);
    }
    let mut text_offset = 0u32;
    for (key, kind, id) in keys.iter() {
        let too_long = |found| Error::TooLarge { field: "key", found, max: u16::MAX.into() };
        let text_len = u16::try_from(key.len()).map_err(|_| too_long(key.len() as u64))?;
        KeyRecord { text_offset, text_len, kind: *kind as u8, reserved: 0, id: *id }.put(&mut out);
        text_offset += u32::from(text_len);
    }
    keys.iter().for_each(|(key, ..)| out.extend_from_slice(key.as_bytes()));
    Ok(out)
}

/// Encodes a header; `checksum` is called with the bytes that the header's checksum covers.
pub fn header(
    index_offset: u64,
    index_len: u64,
    index_checksum: u64,
    checksum: impl FnOnce(&[u8]) -> u64,
) -> Vec<u8> {
    let mut record = HeaderRecord {
        magic: MAGIC,
        version: VERSION,
        flags: 0,
        reserved: 0,
        file_len: index_offset + index_len,
        index_offset,
        index_len,
        index_checksum,
        header_checksum: 0,
    };
    let mut out = Vec::new();
    record.put(&mut out);
    record.header_checksum = checksum(&out[..super::HEADER_CHECKED]);
    out.clear();
    record.put(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Half, Header, Index};
    use super::*;
    use alloc::vec;

    fn asset(kind: Kind, len: u32) -> AssetBlocks {
        let blocks = if len == 0 { vec![] } else { vec![Block { checksum: 1, stored_len: len }] };
        AssetBlocks { kind, len: len.into(), codec: Codec::None, block_log2: 20, blocks, refs: vec![] }
    }

    fn file() -> (Vec<u8>, Vec<u8>) {
        let mut scene = asset(Kind::Scene, 5);
        scene.refs = vec![(Kind::Mesh, 0), (Kind::Material, 0)];
        let assets = [asset(Kind::Bitmap, 7), asset(Kind::Blob, 0), asset(Kind::Mesh, 32), scene];
        let material = Material {
            color: 0,
            normal: None,
            emissive: Some(0),
            params: None,
            params_used: 3,
            flags: 1,
            emissive_strength: Half::ONE,
            alpha_cutoff: 0.5,
        };
        let mut keys =
            vec![("b/ä".into(), Kind::Mesh, 0), ("a".into(), Kind::Blob, 0), ("b".into(), Kind::Material, 0)];
        let index = index(&assets, &[material], &mut keys).unwrap();
        (header(64 + 16 + 32 + 16, index.len() as u64, 9, |_| 8), index)
    }

    #[test]
    fn index_round_trips() {
        let (head, bytes) = file();
        let header = Header::read(&head, 128 + bytes.len() as u64).unwrap();
        assert_eq!((header.index_checksum, header.checksum), (9, 8));
        let index = Index::read(&bytes, &header).unwrap();
        let view = index.view(&bytes);
        assert_eq!(view.find("b/ä"), Some((Kind::Mesh, 0)));
        assert_eq!((view.find("b/"), view.find("c"), view.find("")), (None, None, None));
        assert_eq!(view.key(0), Some(("a", Kind::Blob, 0)));
        let scene = view.asset(Kind::Scene, 0).unwrap();
        assert_eq!((scene.offset, scene.len, view.stored_len(&scene)), (112, 5, 5));
        assert!(view.refs(&scene).eq([(Kind::Mesh, 0), (Kind::Material, 0)]));
        assert_eq!(view.material(0).unwrap().emissive, Some(0));
        assert_eq!(view.asset(Kind::Scene, 1), None);
        assert_eq!(view.asset(Kind::Material, 0), None);
    }

    #[test]
    fn truncated_or_bit_flipped_index_never_panics() {
        let (head, bytes) = file();
        let header = Header::read(&head, 128 + bytes.len() as u64).unwrap();
        for len in 0..bytes.len() {
            assert!(Index::read(&bytes[..len], &header).is_err(), "{len}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            if let Ok(index) = Index::read(&bad, &header) {
                let view = index.view(&bad);
                for kind in Kind::ALL {
                    for id in 0..index.count(kind) {
                        let _ = (view.asset(kind, id).map(|a| view.stored_len(&a)), view.material(id));
                    }
                }
                (0..view.key_count()).for_each(|n| assert!(view.key(n).is_some()));
            }
        }
        for bit in 0..head.len() * 8 {
            let mut bad = head.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let _ = Header::read(&bad, header.file_len);
        }
    }

    #[test]
    fn rejects_duplicate_keys() {
        let mut keys = vec![("a".into(), Kind::Blob, 0), ("a".into(), Kind::Blob, 0)];
        assert!(index(&[asset(Kind::Blob, 1)], &[], &mut keys).is_err());
    }
}
