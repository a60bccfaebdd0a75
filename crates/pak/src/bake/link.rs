//! The serial end of a bake: equal content becomes one, numbers are given, and the file is laid out and written.

use super::compress::pack;
use super::cook::bitmap::solid;
use super::cook::unwritten;
use super::plan::{NodeId, Plan, Recipe};
use super::sink::{PakSink, Payload};
use crate::checksum::checksum;
use kiln_engine::{Code, Diag};
use kiln_format::pak::write::{self, Asset, FIRST_PAYLOAD, next_payload};
use kiln_format::pak::{Kind, Material, font, scene};
use std::collections::HashMap;
use std::io::{self, Write};

/// A file that is laid out, and not yet written.
pub(crate) struct Layout {
    payloads: Vec<Payload>,
    pub(crate) index: Vec<u8>,
    pub(crate) header: Vec<u8>,
}

/// The number of each node, once known.
struct Numbers {
    of_node: Vec<Option<u32>>,
}

/// Payloads that are made from the plan alone.
pub(super) fn immediate(plan: &Plan, sink: &PakSink<'_>) -> Result<Vec<Option<Payload>>, Diag> {
    let one = |recipe: &Recipe| -> Result<Option<Vec<u8>>, Diag> {
        Ok(match recipe {
            Recipe::Solid(color) => Some(solid(*color)?),
            Recipe::Font(def, pages) => Some(font::write(def, pages.len() as u32).map_err(unwritten)?),
            Recipe::Scene(spec) => {
                let assets = spec.refs.len() as u32;
                Some(scene::write(&spec.references, &spec.geometries, assets).map_err(unwritten)?)
            }
            _ => None,
        })
    };
    plan.nodes
        .iter()
        .map(|node| {
            let Some(content) = one(&node.recipe).map_err(|d| d.path(&node.name))? else { return Ok(None) };
            let staged = sink.put(&pack(content, node.packing)).map(Some);
            staged.map_err(|e| Diag::new(Code::Unwritable, format!("cannot keep it: {e}")).path(&node.name))
        })
        .collect()
}

/// Lays out a file. `payloads` has that of every node but materials.
pub(crate) fn layout(plan: &Plan, payloads: &[Option<Payload>]) -> Result<Layout, Diag> {
    let mut numbers = Numbers { of_node: vec![None; plan.nodes.len()] };
    let mut assets: Vec<Asset> = Vec::new();
    let mut placed: Vec<Payload> = Vec::new();
    // What others refer to comes first; materials are part of the index, and refer to bitmaps.
    let mut by_kind: Vec<Vec<(Asset, Payload)>> = vec![Vec::new(); 7];
    let mut materials: Vec<Material> = Vec::new();
    let mut known_materials = HashMap::new();
    const ORDER: [Kind; 7] = [
        Kind::Bitmap,
        Kind::Blob,
        Kind::Animation,
        Kind::BitmapFont,
        Kind::Material,
        Kind::Mesh,
        Kind::Scene,
    ];
    for kind in ORDER {
        let mut known: HashMap<(Payload, Vec<(Kind, u32)>), u32> = HashMap::new();
        for id in ordered(plan, kind) {
            let node = &plan.nodes[id.0];
            if let Recipe::Material(spec) = &node.recipe {
                let number = |id: NodeId| numbers.get(plan, id);
                let material = Material {
                    color: number(spec.color)?,
                    normal: spec.normal.map(number).transpose()?,
                    emissive: spec.emissive.map(number).transpose()?,
                    params: spec.params.map(number).transpose()?,
                    params_used: spec.params_used,
                    flags: spec.flags,
                    alpha_cutoff: spec.alpha_cutoff,
                };
                let (maps, flags) = (
                    [Some(material.color), material.normal, material.emissive, material.params],
                    [material.params_used, material.flags],
                );
                let same = known_materials.entry((maps, flags, material.alpha_cutoff.to_bits()));
                let number = *same.or_insert_with(|| {
                    materials.push(material);
                    materials.len() as u32 - 1
                });
                numbers.of_node[id.0] = Some(number);
                continue;
            }
            let Some(payload) = &payloads[id.0] else {
                return Err(Diag::new(Code::PakFormat, "it was not baked").path(&node.name));
            };
            let refs = node.recipe.refs().into_iter();
            let refs = refs.map(|id| Ok((plan.nodes[id.0].kind, numbers.get(plan, id)?)));
            let refs = refs.collect::<Result<Vec<_>, Diag>>()?;
            let place = &mut by_kind[kind as usize];
            let number = *known.entry((payload.clone(), refs.clone())).or_insert_with(|| {
                let stored = &payload.stored;
                let asset = Asset {
                    kind,
                    len: stored.len,
                    codec: stored.codec,
                    block_log2: stored.block_log2,
                    blocks: stored.format_blocks(),
                    refs,
                };
                place.push((asset, payload.clone()));
                place.len() as u32 - 1
            });
            numbers.of_node[id.0] = Some(number);
        }
    }
    for (asset, payload) in by_kind.into_iter().flatten() {
        assets.push(asset);
        placed.push(payload);
    }
    let mut keys = Vec::new();
    for (key, (id, _)) in &plan.keys {
        keys.push((key.clone(), plan.nodes[id.0].kind, numbers.get(plan, *id)?));
    }
    let index = write::index(&assets, &materials, &mut keys).map_err(unwritten)?;
    let end = end_of(&placed);
    let header = write::header(end, index.len() as u64, checksum(&index), checksum);
    Ok(Layout { payloads: placed, index, header })
}

/// The nodes of a kind: those with keys by the first of their keys, then the others as they were found.
fn ordered(plan: &Plan, kind: Kind) -> Vec<NodeId> {
    let mut seen = vec![false; plan.nodes.len()];
    let keyed = plan.keys.values().map(|(id, _)| *id);
    let all = keyed.chain((0..plan.nodes.len()).map(NodeId));
    all.filter(|id| plan.nodes[id.0].kind == kind && !std::mem::replace(&mut seen[id.0], true)).collect()
}

impl Numbers {
    fn get(&self, plan: &Plan, id: NodeId) -> Result<u32, Diag> {
        let missing =
            || Diag::new(Code::PakFormat, "it refers to what comes later").path(&plan.nodes[id.0].name);
        self.of_node[id.0].ok_or_else(missing)
    }
}

impl Layout {
    /// The length of the whole file.
    pub(crate) fn file_len(&self) -> u64 {
        end_of(&self.payloads) + self.index.len() as u64
    }

    /// Writes the file with the payloads of a sink.
    pub(super) fn write(&self, sink: &PakSink<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut out = io::BufWriter::with_capacity(1 << 20, out);
        out.write_all(&self.header)?;
        let mut at = self.header.len() as u64;
        let pad = |at: u64, to: u64, out: &mut dyn Write| out.write_all(&[0; 16][..(to - at) as usize]);
        for payload in &self.payloads {
            let start = next_payload(at);
            pad(at, start, &mut out)?;
            sink.copy(payload, &mut out)?;
            at = start + payload.stored.stored_len();
        }
        pad(at, next_payload(at), &mut out)?;
        out.write_all(&self.index)?;
        out.flush()
    }
}

/// The offset at which the index follows these payloads.
fn end_of(payloads: &[Payload]) -> u64 {
    payloads.iter().fold(FIRST_PAYLOAD, |at, payload| next_payload(at + payload.stored.stored_len()))
}

#[cfg(test)]
mod tests {
    use super::super::compress::{Packing, Stored};
    use super::super::plan::Node;
    use super::*;
    use kiln_engine::{Hash, RelPath};
    use kiln_format::pak::{Codec, Header, Index};

    #[test]
    fn offsets_go_on_beyond_four_gib() {
        let mut plan = Plan::default();
        let mut payloads = Vec::new();
        // Two of three GiB, and one that comes after them.
        for (number, len) in [3u64 << 30, 3 << 30, 5].into_iter().enumerate() {
            let name = RelPath::new(format!("{number}")).unwrap();
            plan.keys.insert(name.to_string(), (NodeId(number), name.clone()));
            let recipe = Recipe::Blob(name.clone());
            let (packing, fingerprint) = (Packing::default(), String::new());
            plan.nodes.push(Node { name, kind: Kind::Blob, recipe, packing, fingerprint });
            let blocks =
                (0..len.div_ceil(1 << 20)).map(|n| (number as u64, (len - (n << 20)).min(1 << 20) as u32));
            let stored = Stored { len, codec: Codec::None, block_log2: 20, blocks: blocks.collect() };
            payloads.push(Some(Payload { stored, hash: Hash::of(b"") }));
        }
        let layout = layout(&plan, &payloads).unwrap();
        let header = Header::read(&layout.header, layout.file_len()).unwrap();
        let index = Index::read(&layout.index, &header).unwrap();
        let view = index.view(&layout.index);
        let offset = |id| view.asset(Kind::Blob, id).unwrap().offset;
        assert_eq!([offset(0), offset(1), offset(2)], [64, 64 + (3 << 30), 64 + (6 << 30)]);
        assert_eq!(header.index_offset, 64 + (6 << 30) + 16);
    }
}
