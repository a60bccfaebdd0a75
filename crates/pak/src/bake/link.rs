//! The link step of a bake, serial: merges equal payloads, assigns ids, lays the file out and writes it.

use super::compression::{CompressedPayload, Payload, PayloadEntry, compress};
use super::payload::bitmap::solid;
use super::payload::write_error;
use super::plan::{Node, NodeId, Plan, Recipe};
use super::staging::PayloadOrder;
use crate::checksum::checksum;
use kiln_engine::{Code, Diag};
use kiln_format::pak::write::{self, AssetBlocks, FIRST_PAYLOAD, next_payload};
use kiln_format::pak::{Kind, Material, font, scene};
use std::collections::HashMap;
use std::io::{self, Write};

/// The layout of a pak before it is written.
pub(crate) struct Layout {
    pub(super) payloads: Vec<Payload>,
    pub(crate) index: Vec<u8>,
    pub(crate) header: Vec<u8>,
}

/// The id of each node, once assigned.
struct Numbers {
    of_node: Vec<Option<u32>>,
}

/// Stages the payloads that are generated from the plan alone; the other entries are `None`.
pub(super) fn plan_payloads(
    plan: &Plan,
    stage: &dyn Fn(&Node, CompressedPayload) -> io::Result<Payload>,
) -> Result<Vec<Option<Payload>>, Diag> {
    let one = |recipe: &Recipe| -> Result<Option<Vec<u8>>, Diag> {
        Ok(match recipe {
            Recipe::Solid(color) => Some(solid(*color)?),
            Recipe::Font(def, pages) => Some(font::write(def, pages.len() as u32).map_err(write_error)?),
            Recipe::Scene(spec) => {
                let assets = spec.refs.len() as u32;
                Some(scene::write(&spec.references, &spec.geometries, assets).map_err(write_error)?)
            }
            _ => None,
        })
    };
    plan.nodes
        .iter()
        .map(|node| {
            let Some(content) = one(&node.recipe).map_err(|d| d.path(&node.name))? else { return Ok(None) };
            let staged = stage(node, compress(content, node.compression)).map(Some);
            staged.map_err(|e| {
                Diag::new(Code::Unwritable, format!("cannot write the payload to the staging file: {e}"))
                    .path(&node.name)
            })
        })
        .collect()
}

/// The kinds in the order in which ids are assigned: referenced kinds come first.
const ORDER: [Kind; 7] =
    [Kind::Bitmap, Kind::Blob, Kind::Animation, Kind::BitmapFont, Kind::Material, Kind::Mesh, Kind::Scene];

/// Returns the place of each asset in the order of payloads, which [`layout`] follows.
pub(super) fn payload_order(plan: &Plan) -> PayloadOrder {
    let nodes = Kind::ALL.into_iter().flat_map(|kind| ordered(plan, kind)).map(|id| &plan.nodes[id.0]);
    let stored = nodes.filter(|node| node.kind != Kind::Material);
    stored.enumerate().map(|(number, node)| (node.name.clone(), (number, node.kind))).collect()
}

/// The payload of an asset and the assets that it refers to: assets with equal content are stored once.
type Content<'a> = (&'a PayloadEntry, Vec<(Kind, u32)>);

/// Lays out a pak. Equal payloads are stored once. `payloads` has the payload of every node except materials.
pub(crate) fn layout(plan: &Plan, payloads: &[Option<Payload>]) -> Result<Layout, Diag> {
    let mut numbers = Numbers { of_node: vec![None; plan.nodes.len()] };
    let mut assets: Vec<AssetBlocks> = Vec::new();
    let mut placed: Vec<Payload> = Vec::new();
    // Materials are stored in the index, and refer to bitmaps.
    let mut by_kind: Vec<Vec<(AssetBlocks, Payload)>> = vec![Vec::new(); 7];
    let mut materials: Vec<Material> = Vec::new();
    let mut known_materials = HashMap::new();
    for kind in ORDER {
        let mut known: HashMap<Content<'_>, u32> = HashMap::new();
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
                    emissive_strength: spec.emissive_strength,
                    alpha_cutoff: spec.alpha_cutoff,
                };
                let (maps, flags) = (
                    [Some(material.color), material.normal, material.emissive, material.params],
                    [material.params_used, material.flags],
                );
                let same = known_materials.entry((
                    maps,
                    flags,
                    material.emissive_strength,
                    material.alpha_cutoff.to_bits(),
                ));
                let number = *same.or_insert_with(|| {
                    materials.push(material);
                    materials.len() as u32 - 1
                });
                numbers.of_node[id.0] = Some(number);
                continue;
            }
            let Some(payload) = &payloads[id.0] else {
                return Err(Diag::new(Code::PakFormat, "the asset was not baked").path(&node.name));
            };
            let refs = node.recipe.refs().into_iter();
            let refs = refs.map(|id| Ok((plan.nodes[id.0].kind, numbers.get(plan, id)?)));
            let refs = refs.collect::<Result<Vec<_>, Diag>>()?;
            let place = &mut by_kind[kind as usize];
            let number = *known.entry((&payload.stored, refs.clone())).or_insert_with(|| {
                let stored = &payload.stored;
                let asset = AssetBlocks {
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
    let index = write::index(&assets, &materials, &mut keys).map_err(write_error)?;
    let end = end_of(&placed);
    let header = write::header(end, index.len() as u64, checksum(&index), checksum);
    Ok(Layout { payloads: placed, index, header })
}

/// Returns the nodes of a kind: those with keys ordered by their first key, then the others in plan order.
fn ordered(plan: &Plan, kind: Kind) -> Vec<NodeId> {
    let mut seen = vec![false; plan.nodes.len()];
    let keyed = plan.keys.values().map(|(id, _)| *id);
    let all = keyed.chain((0..plan.nodes.len()).map(NodeId));
    all.filter(|id| plan.nodes[id.0].kind == kind && !std::mem::replace(&mut seen[id.0], true)).collect()
}

impl Numbers {
    fn get(&self, plan: &Plan, id: NodeId) -> Result<u32, Diag> {
        let missing = || {
            Diag::new(Code::PakFormat, "an asset is referenced before it has an id")
                .path(&plan.nodes[id.0].name)
        };
        self.of_node[id.0].ok_or_else(missing)
    }
}

impl Layout {
    /// Returns the length of the file in bytes.
    pub(crate) fn file_len(&self) -> u64 {
        end_of(&self.payloads) + self.index.len() as u64
    }

    /// Writes the file; `copy_payload` writes the stored bytes of a payload.
    pub(super) fn write(
        &self,
        copy_payload: &dyn Fn(&Payload, &mut dyn Write) -> io::Result<()>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        out.write_all(&self.header)?;
        self.write_after(0, copy_payload, out)
    }

    /// Writes what follows the header and the first `count` payloads.
    pub(super) fn write_after(
        &self,
        count: usize,
        copy_payload: &dyn Fn(&Payload, &mut dyn Write) -> io::Result<()>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        // Smaller than the parts in which payloads are copied, which therefore bypass the buffer.
        let mut out = io::BufWriter::with_capacity(64 << 10, out);
        let place = |at: u64, payload: &Payload| next_payload(at) + payload.stored.stored_len();
        let mut at = self.payloads[..count].iter().fold(self.header.len() as u64, place);
        let pad = |at: u64, to: u64, out: &mut dyn Write| out.write_all(&[0; 16][..(to - at) as usize]);
        for payload in &self.payloads[count..] {
            let start = next_payload(at);
            pad(at, start, &mut out)?;
            copy_payload(payload, &mut out)?;
            at = start + payload.stored.stored_len();
        }
        pad(at, next_payload(at), &mut out)?;
        out.write_all(&self.index)?;
        out.flush()
    }
}

/// Returns the offset of the index after these payloads.
fn end_of(payloads: &[Payload]) -> u64 {
    payloads.iter().fold(FIRST_PAYLOAD, |at, payload| next_payload(at + payload.stored.stored_len()))
}

#[cfg(test)]
mod tests {
    use super::super::compression::{Compression, PayloadEntry};
    use super::super::plan::Node;
    use super::*;
    use kiln_engine::{Hash, RelPath};
    use kiln_format::pak::{Codec, Header, Index};

    #[test]
    fn offsets_exceed_4_gib() {
        let mut plan = Plan::default();
        let mut payloads = Vec::new();
        // Two payloads of 3 GiB, and one after them.
        for (number, len) in [3u64 << 30, 3 << 30, 5].into_iter().enumerate() {
            let name = RelPath::new(format!("{number}")).unwrap();
            plan.keys.insert(name.to_string(), (NodeId(number), name.clone()));
            let recipe = Recipe::Blob(name.clone());
            let (compression, fingerprint) = (Compression::default(), String::new());
            plan.nodes.push(Node { name, kind: Kind::Blob, recipe, compression, fingerprint, listed: None });
            let blocks =
                (0..len.div_ceil(1 << 20)).map(|n| (number as u64, (len - (n << 20)).min(1 << 20) as u32));
            let stored = PayloadEntry { len, codec: Codec::None, block_log2: 20, blocks: blocks.collect() };
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
