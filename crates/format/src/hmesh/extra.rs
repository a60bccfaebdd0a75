//! The optional chunks of a mesh: vertex colours, further UV sets, morph targets and nodes.
//!
//! [`check`] runs on every read, so that accessors can follow ranges and names; the arrays that grow with the vertices
//! are checked by [`HmeshView::verify`].

use core::mem::offset_of;

use super::records::*;
use super::view::HmeshView;
use crate::error::{below, equal, finite};
use crate::{Array, Error};

#[cfg(feature = "tools")]
use crate::{Fact, error::Count};

/// Vertex colours in the format of the file: linear RGB and alpha, which multiply the base colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Colors<'a> {
    /// `VK_FORMAT_R8G8B8A8_UNORM`.
    Rgba8(Array<'a, [u8; 4]>),
    /// `VK_FORMAT_R16G16B16A16_UNORM`.
    Rgba16(Array<'a, [u16; 4]>),
    /// `VK_FORMAT_R32G32B32A32_SFLOAT`.
    Rgba32F(Array<'a, [f32; 4]>),
}

impl<'a> Colors<'a> {
    /// Returns the colour of a vertex, or `None` if it is out of range.
    pub fn get(&self, vertex: usize) -> Option<[f32; 4]> {
        match self {
            Colors::Rgba8(colors) => Some(colors.get(vertex)?.map(|v| f32::from(v) / 255.0)),
            Colors::Rgba16(colors) => Some(colors.get(vertex)?.map(|v| f32::from(v) / 65535.0)),
            Colors::Rgba32F(colors) => colors.get(vertex),
        }
    }

    /// Returns the size of a colour in bytes: 4, 8 or 16.
    pub fn stride(&self) -> usize {
        match self {
            Colors::Rgba8(_) => 4,
            Colors::Rgba16(_) => 8,
            Colors::Rgba32F(_) => 16,
        }
    }

    /// Returns the bytes as stored in the file, ready for upload to a GPU.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Colors::Rgba8(colors) => colors.bytes(),
            Colors::Rgba16(colors) => colors.bytes(),
            Colors::Rgba32F(colors) => colors.bytes(),
        }
    }
}

/// A morph target with the vertices that it moves.
#[derive(Clone, Copy, Debug)]
pub struct Morph<'a> {
    /// The name; empty if the source has none.
    pub name: &'a str,
    /// The default weight.
    pub weight: f32,
    /// The vertices that move, in ascending order, and the displacements of their positions.
    pub deltas: Array<'a, MorphDelta>,
    /// The displacement of the normal for each delta; empty if no target of the mesh changes normals.
    pub normals: Array<'a, [f32; 3]>,
    /// The displacement of the tangent for each delta; empty if no target of the mesh changes tangents.
    pub tangents: Array<'a, [f32; 3]>,
}

impl<'a> HmeshView<'a> {
    /// Returns the vertex colours; `None` if the mesh has none.
    pub fn colors(&self) -> Option<Colors<'a>> {
        if !self.has(ChunkId::Colors) {
            return None;
        }
        let count = self.desc().vertex_count as usize;
        Some(match self.payload(ChunkId::Colors).len().checked_div(count) {
            Some(8) => Colors::Rgba16(self.array(ChunkId::Colors)),
            Some(16) => Colors::Rgba32F(self.array(ChunkId::Colors)),
            _ => Colors::Rgba8(self.array(ChunkId::Colors)),
        })
    }

    /// Returns the number of UV sets, including the one in the vertices.
    pub fn uv_set_count(&self) -> u32 {
        let sets = self.array::<[f32; 2]>(ChunkId::UvSets).len();
        1 + sets.checked_div(self.desc().vertex_count as usize).unwrap_or(0) as u32
    }

    /// Returns the UVs of each vertex in set `set`; `None` if there is no such set, or for set 0, which is in the vertices.
    pub fn uv_set(&self, set: u32) -> Option<Array<'a, [f32; 2]>> {
        let start = set.checked_sub(1)?.checked_mul(self.desc().vertex_count)?;
        let all = self.array::<[f32; 2]>(ChunkId::UvSets);
        if set >= self.uv_set_count() { None } else { all.range(start, self.desc().vertex_count) }
    }

    /// Returns the submeshes with morph targets.
    pub fn morph_sets(&self) -> Array<'a, MorphSet> {
        self.array(ChunkId::MorphSets)
    }

    /// Returns the morph targets of all sets.
    pub fn morph_targets(&self) -> Array<'a, MorphTarget> {
        self.array(ChunkId::MorphTargets)
    }

    /// Returns a morph target by its index in [`morph_targets`](Self::morph_targets), with the vertices that it moves.
    pub fn morph(&self, target: usize) -> Option<Morph<'a>> {
        let target = self.morph_targets().get(target)?;
        let (start, len) = (target.first_delta, target.delta_count);
        Some(Morph {
            name: self.name(target.name_offset, target.name_size).unwrap_or_default(),
            weight: target.weight,
            deltas: self.array(ChunkId::MorphDeltas).range(start, len)?,
            normals: self.array(ChunkId::MorphNormals).range(start, len).unwrap_or_default(),
            tangents: self.array(ChunkId::MorphTangents).range(start, len).unwrap_or_default(),
        })
    }

    /// Returns the nodes of the source, each parent before its children; empty where the transforms of nodes are applied to
    /// the vertices.
    pub fn nodes(&self) -> Array<'a, MeshNode> {
        self.array(ChunkId::Nodes)
    }

    /// Returns the name of a node of this mesh.
    pub fn node_name(&self, node: &MeshNode) -> &'a str {
        self.name(node.name_offset, node.name_size).unwrap_or_default()
    }

    fn name(&self, offset: u32, size: u32) -> Option<&'a str> {
        let end = (offset as usize).checked_add(size as usize)?;
        core::str::from_utf8(self.payload(ChunkId::Names).get(offset as usize..end)?).ok()
    }

    /// Returns the size of a chunk in bytes; 0 if it is absent.
    #[cfg(feature = "tools")]
    pub(super) fn chunk_len(&self, id: ChunkId) -> usize {
        self.payload(id).len()
    }

    /// Checks the contents of the arrays that grow with the vertices.
    pub(super) fn check_extra(&self) -> Result<(), Error> {
        if let Err(error) = core::str::from_utf8(self.payload(ChunkId::Names)) {
            let at = self.at(ChunkId::Names) + error.valid_up_to() as u64;
            return Err(Error::Text { at, field: "name" });
        }
        if let Some(Colors::Rgba32F(colors)) = self.colors() {
            for (i, color) in colors.iter().enumerate() {
                finite(self.place(ChunkId::Colors, i, 16, 0), "color", &color)?;
            }
        }
        for (i, uv) in self.array::<[f32; 2]>(ChunkId::UvSets).iter().enumerate() {
            finite(self.place(ChunkId::UvSets, i, 8, 0), "uv", &uv)?;
        }
        for (id, field) in [(ChunkId::MorphNormals, "normal"), (ChunkId::MorphTangents, "tangent")] {
            for (i, delta) in self.array::<[f32; 3]>(id).iter().enumerate() {
                finite(self.place(id, i, 12, 0), field, &delta)?;
            }
        }
        for target in self.morph_targets().iter() {
            let deltas = self.array::<MorphDelta>(ChunkId::MorphDeltas);
            let deltas = deltas.range(target.first_delta, target.delta_count).unwrap_or_default();
            let mut last = None;
            for (i, delta) in deltas.iter().enumerate() {
                let index = target.first_delta as usize + i;
                let at = self.place(ChunkId::MorphDeltas, index, MorphDelta::SIZE, 0);
                below(at, "vertex", delta.vertex, self.desc().vertex_count)?;
                if last.is_some_and(|last| last >= delta.vertex) {
                    return Err(Error::Order { at, field: "vertex" });
                }
                last = Some(delta.vertex);
                finite(at + offset_of!(MorphDelta, position) as u64, "position", &delta.position)?;
            }
        }
        Ok(())
    }
}

/// Checks sizes, ranges, names and the numbers of the small tables.
pub(super) fn check(view: &HmeshView<'_>) -> Result<(), Error> {
    let vertices = u64::from(view.desc().vertex_count);
    let size = |id: ChunkId| view.payload(id).len() as u64;
    if view.has(ChunkId::Colors) && ![4, 8, 16].iter().any(|each| each * vertices == size(ChunkId::Colors)) {
        view.must_be(ChunkId::Colors, 4 * vertices)?;
    }
    let set = vertices * 8;
    let sets = size(ChunkId::UvSets).checked_div(set).unwrap_or(0);
    // As many sets as the index of a set can count.
    view.must_be(ChunkId::UvSets, sets.min(u64::from(u32::MAX - 1)) * set)?;
    for (id, each) in [
        (ChunkId::MorphSets, MorphSet::SIZE),
        (ChunkId::MorphTargets, MorphTarget::SIZE),
        (ChunkId::MorphDeltas, MorphDelta::SIZE),
        (ChunkId::Nodes, MeshNode::SIZE),
    ] {
        view.must_be(id, size(id) - size(id) % each as u64)?;
    }
    let deltas = size(ChunkId::MorphDeltas) / MorphDelta::SIZE as u64;
    for id in [ChunkId::MorphNormals, ChunkId::MorphTangents] {
        if view.has(id) {
            view.must_be(id, deltas * 12)?;
        }
    }
    check_sets(view)?;
    check_targets(view, deltas)?;
    check_nodes(view)
}

/// Checks that sets are in the order of their submeshes and cover the targets contiguously.
fn check_sets(view: &HmeshView<'_>) -> Result<(), Error> {
    let (mut submeshes, mut targets) = (0u64, 0u64);
    for (i, set) in view.morph_sets().iter().enumerate() {
        let at = |offset: usize| view.place(ChunkId::MorphSets, i, MorphSet::SIZE, offset);
        if u64::from(set.first_submesh) < submeshes {
            return Err(Error::Order { at: at(0), field: "first_submesh" });
        }
        submeshes = u64::from(set.first_submesh) + u64::from(set.submesh_count);
        let count = at(offset_of!(MorphSet, submesh_count));
        some(count, "submesh_count", set.submesh_count)?;
        below(count, "submesh_count", submeshes, u64::from(view.desc().submesh_count) + 1)?;
        equal(at(offset_of!(MorphSet, first_target)), "first_target", set.first_target, targets)?;
        some(at(offset_of!(MorphSet, target_count)), "target_count", set.target_count)?;
        targets += u64::from(set.target_count);
    }
    view.must_be(ChunkId::MorphTargets, targets * MorphTarget::SIZE as u64)
}

fn check_targets(view: &HmeshView<'_>, deltas: u64) -> Result<(), Error> {
    let mut end = 0u64;
    for (i, target) in view.morph_targets().iter().enumerate() {
        let at = |offset: usize| view.place(ChunkId::MorphTargets, i, MorphTarget::SIZE, offset);
        check_name(view, at(0), target.name_offset, target.name_size)?;
        finite(at(offset_of!(MorphTarget, weight)), "weight", &[target.weight])?;
        equal(at(offset_of!(MorphTarget, first_delta)), "first_delta", target.first_delta, end)?;
        end += u64::from(target.delta_count);
        below(at(offset_of!(MorphTarget, delta_count)), "delta_count", end, deltas + 1)?;
    }
    view.must_be(ChunkId::MorphDeltas, end * MorphDelta::SIZE as u64)
}

/// Checks that parents come before their children, and that submeshes and numbers are in range.
fn check_nodes(view: &HmeshView<'_>) -> Result<(), Error> {
    for (i, node) in view.nodes().iter().enumerate() {
        let at = |offset: usize| view.place(ChunkId::Nodes, i, MeshNode::SIZE, offset);
        check_name(view, at(0), node.name_offset, node.name_size)?;
        if node.parent != NO_PARENT {
            below(at(offset_of!(MeshNode, parent)), "parent", node.parent as u32, i as u64)?;
        }
        let end = u64::from(node.first_submesh) + u64::from(node.submesh_count);
        let count = u64::from(view.desc().submesh_count);
        below(at(offset_of!(MeshNode, submesh_count)), "submesh_count", end, count + 1)?;
        finite(at(offset_of!(MeshNode, translation)), "translation", &node.translation)?;
        finite(at(offset_of!(MeshNode, rotation)), "rotation", &node.rotation)?;
        finite(at(offset_of!(MeshNode, scale)), "scale", &node.scale)?;
    }
    Ok(())
}

fn check_name(view: &HmeshView<'_>, at: u64, offset: u32, size: u32) -> Result<(), Error> {
    let len = view.payload(ChunkId::Names).len() as u64;
    let start = u64::from(offset);
    if start + u64::from(size) > len {
        return Err(Error::Range { at, field: "name", start, size: size.into(), len });
    }
    match view.name(offset, size) {
        Some(_) => Ok(()),
        None => Err(Error::Text { at: view.at(ChunkId::Names) + start, field: "name" }),
    }
}

fn some(at: u64, field: &'static str, found: u32) -> Result<(), Error> {
    if found > 0 { Ok(()) } else { Err(Error::Value { at, field, found: 0, expected: "at least 1" }) }
}

/// Writes the optional content of a mesh to its description.
#[cfg(feature = "tools")]
pub(super) fn describe(view: &HmeshView<'_>, out: &mut dyn core::fmt::Write) -> core::fmt::Result {
    if let Some(colors) = view.colors() {
        write!(out, " | vertex colours ({} B)", colors.stride())?;
    }
    if view.uv_set_count() > 1 {
        write!(out, " | {} UV sets", view.uv_set_count())?;
    }
    if !view.morph_targets().is_empty() {
        write!(out, " | {}", Count(view.morph_targets().len() as u64, "morph target", "morph targets"))?;
    }
    if !view.nodes().is_empty() {
        write!(out, " | {}", Count(view.nodes().len() as u64, "node", "nodes"))?;
    }
    Ok(())
}

/// Reports the optional content of a mesh, as far as it has some.
#[cfg(feature = "tools")]
pub(super) fn facts(view: &HmeshView<'_>, each: &mut dyn FnMut(&'static str, Fact<'_>)) {
    if let Some(colors) = view.colors() {
        each("color_stride", Fact::Number(colors.stride() as u64));
    }
    if view.uv_set_count() > 1 {
        each("uv_sets", Fact::Number(view.uv_set_count().into()));
    }
    if !view.morph_targets().is_empty() {
        each("morph_targets", Fact::Number(view.morph_targets().len() as u64));
        let deltas = view.array::<MorphDelta>(ChunkId::MorphDeltas).len();
        each("morph_deltas", Fact::Number(deltas as u64));
    }
    if !view.nodes().is_empty() {
        each("nodes", Fact::Number(view.nodes().len() as u64));
    }
}

/// Writes the optional tables of a mesh to its dump.
#[cfg(feature = "tools")]
pub(super) fn dump(view: &HmeshView<'_>, out: &mut dyn core::fmt::Write) -> Result<(), Error> {
    for (i, set) in view.morph_sets().iter().enumerate() {
        writeln!(out, "morph set {i} {set:?}")?;
    }
    for i in 0..view.morph_targets().len() {
        let Some(morph) = view.morph(i) else { continue };
        let vertices = Count(morph.deltas.len() as u64, "vertex", "vertices");
        writeln!(out, "morph target {i} {:?} weight {} {vertices}", morph.name, morph.weight)?;
    }
    for (i, node) in view.nodes().iter().enumerate() {
        writeln!(out, "node {i} {:?} {node:?}", view.node_name(&node))?;
    }
    Ok(())
}
