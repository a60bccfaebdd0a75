//! Merges paks: the assets of all keys, where later paks override earlier ones as in an [`Overlay`].
//!
//! Stored blocks are copied as they are, and each checksum is verified. Assets that no key leads to are left out, and
//! equal ones are stored once.

use crate::checksum::checksum;
use crate::error::{Error, Fault};
use crate::{Codec, Kind, Overlay, Pak};
use kiln_format::pak::write::{self, AssetBlocks, FIRST_PAYLOAD, next_payload};
use kiln_format::pak::{Block, Material};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;

/// The order in which kinds get ids: referenced kinds first.
const ORDER: [Kind; 7] =
    [Kind::Bitmap, Kind::Blob, Kind::Animation, Kind::BitmapFont, Kind::Material, Kind::Mesh, Kind::Scene];

/// The key of equal assets: storage and references.
type Stored = (u64, Codec, u8, Vec<(u64, u32)>, Vec<(Kind, u32)>);
/// The key of equal materials: bitmaps, flags, emissive strength and alpha cutoff.
type Look = ([Option<u32>; 4], [u8; 2], u32, u32);

/// Writes the merge of the paks of an overlay; returns the number of keys.
///
/// # Errors
/// [`Error::Asset`] if a block is damaged, [`Error::Format`] if the result exceeds a limit of the format, [`Error::Io`]
/// if a pak cannot be read or `out` cannot be written.
pub fn merge(overlay: &Overlay, out: &mut dyn Write) -> Result<usize, Error> {
    let keys: Vec<(&str, Kind, usize)> =
        overlay.keys().filter_map(|key| overlay.lookup(key).map(|(kind, id)| (key, kind, id))).collect();
    let reachable = reachable(overlay, &keys)?;
    let mut numbers: HashMap<(Kind, usize), u32> = HashMap::new();
    let mut by_kind: BTreeMap<Kind, Vec<(AssetBlocks, usize)>> = BTreeMap::new();
    let mut materials = Vec::new();
    let mut looks: HashMap<Look, u32> = HashMap::new();
    for kind in ORDER {
        let mut known: HashMap<Stored, u32> = HashMap::new();
        for id in reachable.iter().filter(|(found, _)| *found == kind).map(|(_, id)| *id) {
            let refs = overlay.refs_of(kind, id)?;
            let number = |reference: &(Kind, usize)| numbers.get(reference).copied();
            let number = if kind == Kind::Material {
                let maps: Vec<Option<u32>> = refs.iter().map(|map| map.as_ref().and_then(number)).collect();
                let material = material(overlay, id, &maps)?;
                let maps = [Some(material.color), material.normal, material.emissive, material.params];
                let flags = [material.params_used, material.flags];
                let strength = material.emissive_strength.to_f32().to_bits();
                let next = materials.len() as u32;
                let number =
                    *looks.entry((maps, flags, strength, material.alpha_cutoff.to_bits())).or_insert(next);
                if number == next {
                    materials.push(material);
                }
                number
            } else {
                let refs =
                    refs.iter().flatten().filter_map(|found| Some((found.0, number(found)?))).collect();
                let asset = asset(overlay, kind, id, refs)?;
                let blocks = asset.blocks.iter().map(|block| (block.checksum, block.stored_len)).collect();
                let stored = (asset.len, asset.codec, asset.block_log2, blocks, asset.refs.clone());
                let list = by_kind.entry(kind).or_default();
                *known.entry(stored).or_insert_with(|| {
                    list.push((asset, id));
                    list.len() as u32 - 1
                })
            };
            numbers.insert((kind, id), number);
        }
    }
    let (assets, ids): (Vec<AssetBlocks>, Vec<usize>) = by_kind.into_values().flatten().unzip();
    let number =
        |&(key, kind, id): &(&str, Kind, usize)| Some((key.to_owned(), kind, *numbers.get(&(kind, id))?));
    let mut listed: Vec<(String, Kind, u32)> = keys.iter().filter_map(number).collect();
    let index = write::index(&assets, &materials, &mut listed)?;
    let stored_len =
        |asset: &AssetBlocks| asset.blocks.iter().map(|block| u64::from(block.stored_len)).sum::<u64>();
    let end = assets.iter().fold(FIRST_PAYLOAD, |at, asset| next_payload(at + stored_len(asset)));
    let header = write::header(end, index.len() as u64, checksum(&index), checksum);
    out.write_all(&header)?;
    let mut at = header.len() as u64;
    for (asset, id) in assets.iter().zip(ids) {
        out.write_all(&[0; 16][..(next_payload(at) - at) as usize])?;
        at = next_payload(at) + stored_len(asset);
        let (pak, local) = overlay.pak_of(asset.kind, id)?;
        let found = pak.view().asset(asset.kind, local as u32);
        let found = found.ok_or(Error::NoSuchId { kind: asset.kind, id })?;
        pak.for_each_block_of(&found, &mut |bytes| out.write_all(bytes)).map_err(|why| match why {
            Fault::Io(error) => error.into(),
            why => Error::Asset { kind: asset.kind, name: format!("id {local}"), why },
        })?;
    }
    out.write_all(&[0; 16][..(end - at) as usize])?;
    out.write_all(&index)?;
    Ok(listed.len())
}

/// Returns the assets that keys lead to: those of the keys in their order, then the assets they refer to.
fn reachable(overlay: &Overlay, keys: &[(&str, Kind, usize)]) -> Result<Vec<(Kind, usize)>, Error> {
    let mut found: Vec<(Kind, usize)> = Vec::new();
    let mut seen = HashSet::new();
    found.extend(keys.iter().map(|&(_, kind, id)| (kind, id)).filter(|asset| seen.insert(*asset)));
    let mut next = 0;
    while let Some(&(kind, id)) = found.get(next) {
        let refs = overlay.refs_of(kind, id)?;
        found.extend(refs.into_iter().flatten().filter(|asset| seen.insert(*asset)));
        next += 1;
    }
    Ok(found)
}

fn asset(overlay: &Overlay, kind: Kind, id: usize, refs: Vec<(Kind, u32)>) -> Result<AssetBlocks, Error> {
    let (pak, local) = overlay.pak_of(kind, id)?;
    let view = pak.view();
    let asset = view.asset(kind, local as u32).ok_or(Error::NoSuchId { kind, id })?;
    let blocks: Vec<Block> = asset.blocks.clone().filter_map(|number| view.block(number)).collect();
    let block_log2 = asset.block_len.ilog2() as u8;
    Ok(AssetBlocks { kind, len: asset.len, codec: asset.codec, block_log2, blocks, refs })
}

fn material(overlay: &Overlay, id: usize, maps: &[Option<u32>]) -> Result<Material, Error> {
    let kind = Kind::Material;
    let (pak, local) = overlay.pak_of(kind, id)?;
    let material = pak.view().material(local as u32).ok_or(Error::NoSuchId { kind, id })?;
    let map = |n: usize| maps.get(n).copied().flatten();
    Ok(Material {
        color: map(0).ok_or(Error::NoSuchId { kind: Kind::Bitmap, id: material.color as usize })?,
        normal: map(1),
        emissive: map(2),
        params: map(3),
        ..material
    })
}
