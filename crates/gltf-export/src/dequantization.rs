//! Grids of quantised positions, and the nodes and matrices that convert them back.
//!
//! A node that draws a mesh gets a child with the mesh and the scale and offset of its grid, so that the node itself
//! keeps its name, transform and animation. A skinned mesh ignores the transforms of its node: there the grid is part of
//! the inverse bind matrices, so all meshes of a skin share one grid.

use std::collections::BTreeMap;

use kiln_import::gltf::AccessorData;

use crate::attribute::{Elements, FLOAT, Grid, numbers};
use crate::primitive::Decoded;
use crate::references::{Document, List, Used};
use crate::tree::{self, Json, floats, number, object};

/// The grid of each mesh and of each skin that has one.
pub(crate) struct Grids {
    pub(crate) meshes: BTreeMap<usize, Grid>,
    pub(crate) skins: BTreeMap<usize, Grid>,
}

/// An object whose grid has to be that of others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Member {
    Mesh(usize),
    Skin(usize),
}

/// The bounds of the positions of a set of meshes.
#[derive(Clone, Copy)]
struct Extent {
    least: [f32; 3],
    most: [f32; 3],
    displacement: f32,
    /// False if a position is not a float, or a mesh has to be in its own units.
    fits: bool,
}

impl Extent {
    fn of(primitives: &[Decoded]) -> Extent {
        let mut extent =
            Extent { least: [f32::INFINITY; 3], most: [f32::NEG_INFINITY; 3], displacement: 0.0, fits: true };
        for primitive in primitives {
            let Some(positions) = primitive.positions() else {
                extent.fits = false;
                continue;
            };
            for position in positions {
                extent.least = std::array::from_fn(|axis| extent.least[axis].min(position[axis]));
                extent.most = std::array::from_fn(|axis| extent.most[axis].max(position[axis]));
            }
            extent.displacement = extent.displacement.max(primitive.largest_displacement());
        }
        extent
    }

    fn union(self, other: Extent) -> Extent {
        Extent {
            least: std::array::from_fn(|axis| self.least[axis].min(other.least[axis])),
            most: std::array::from_fn(|axis| self.most[axis].max(other.most[axis])),
            displacement: self.displacement.max(other.displacement),
            fits: self.fits && other.fits,
        }
    }

    fn grid(self) -> Option<Grid> {
        let size = (0..3).map(|axis| self.most[axis] - self.least[axis]).fold(0.0, f32::max);
        let scale = (size / 65535.0).max(self.displacement / 32767.0);
        let is_finite = size.is_finite() && self.least.iter().all(|x| x.is_finite()) && scale.is_finite();
        if !self.fits || !is_finite {
            return None;
        }
        // A single point, or one that is too small for a float.
        let scale = if scale.is_normal() { scale } else { 1.0 };
        Some(Grid { offset: self.least, scale })
    }
}

impl Grids {
    /// Returns no grids: positions are not quantised.
    pub(crate) fn none() -> Grids {
        Grids { meshes: BTreeMap::new(), skins: BTreeMap::new() }
    }

    /// Chooses the grids of all decoded meshes. `keep` are meshes that stay in their own units.
    pub(crate) fn new(
        document: &Document,
        used: &Used,
        decoded: &BTreeMap<usize, Vec<Decoded>>,
        keep: &dyn Fn(usize) -> bool,
    ) -> Grids {
        let mut extents: BTreeMap<Member, Extent> = BTreeMap::new();
        for (&mesh, primitives) in decoded {
            let extent = Extent::of(primitives);
            extents.insert(Member::Mesh(mesh), Extent { fits: extent.fits && !keep(mesh), ..extent });
        }
        let mut leader: BTreeMap<Member, Member> = BTreeMap::new();
        fn find(leader: &BTreeMap<Member, Member>, mut member: Member) -> Member {
            while let Some(&next) = leader.get(&member).filter(|next| **next != member) {
                member = next;
            }
            member
        }
        for (at, node) in document.list(List::Nodes).iter().enumerate() {
            let (mesh, skin) = (tree::index_of(node, "mesh"), tree::index_of(node, "skin"));
            let Some(mesh) = mesh.filter(|_| used.is_used(List::Nodes, at)) else { continue };
            // Instances multiply the transform of the node, which is outside of the grid.
            if tree::extension(node, "EXT_mesh_gpu_instancing").is_some()
                && let Some(extent) = extents.get_mut(&Member::Mesh(mesh))
            {
                extent.fits = false;
            }
            if let Some(skin) = skin {
                let (a, b) = (find(&leader, Member::Mesh(mesh)), find(&leader, Member::Skin(skin)));
                leader.insert(a.max(b), a.min(b));
            }
        }
        let mut sets: BTreeMap<Member, Extent> = BTreeMap::new();
        for (member, extent) in &extents {
            let set = find(&leader, *member);
            sets.entry(set).and_modify(|all| *all = all.union(*extent)).or_insert(*extent);
        }
        let grid = |member: Member| sets.get(&find(&leader, member)).copied().and_then(Extent::grid);
        let meshes = decoded.keys().filter_map(|&mesh| Some((mesh, grid(Member::Mesh(mesh))?))).collect();
        let skins = 0..document.list(List::Skins).len();
        let skins = skins.filter_map(|skin| Some((skin, grid(Member::Skin(skin))?))).collect();
        Grids { meshes, skins }
    }
}

/// Moves the meshes of nodes to children with the transform of their grid and, for a mesh with LODs, with
/// `MSFT_lod`. `lods` has the meshes of the LODs.
pub(crate) fn write_nodes(
    document: &mut Document,
    used: &mut Used,
    grids: &Grids,
    lods: &BTreeMap<usize, Vec<usize>>,
) {
    let mut moved: BTreeMap<usize, usize> = BTreeMap::new();
    for at in 0..document.list(List::Nodes).len() {
        let node = &document.list(List::Nodes)[at];
        let Some(mesh) = tree::index_of(node, "mesh").filter(|_| used.is_used(List::Nodes, at)) else {
            continue;
        };
        let is_skinned = tree::index_of(node, "skin").is_some();
        let grid = grids.meshes.get(&mesh).filter(|_| !is_skinned);
        let has_lods = tree::extension(node, "EXT_mesh_gpu_instancing").is_none()
            && tree::extension(node, "MSFT_lod").is_none();
        let lods = lods.get(&mesh).filter(|_| has_lods);
        let mut carrier = at;
        if !is_skinned && (grid.is_some() || lods.is_some()) {
            let mut child = object([("mesh", number(mesh))]);
            if let Some(grid) = grid {
                tree::set(&mut child, "translation", floats(&grid.offset));
                tree::set(&mut child, "scale", floats(&[grid.scale; 3]));
            }
            let node = &mut document.list_mut(List::Nodes)[at];
            tree::remove(node, "mesh");
            if let Some(weights) = tree::remove(node, "weights") {
                tree::set(&mut child, "weights", weights);
            }
            carrier = add_node(document, used, child);
            let node = &mut document.list_mut(List::Nodes)[at];
            match tree::get_mut(node, "children") {
                Some(Json::Array(children)) => children.push(number(carrier)),
                _ => tree::set(node, "children", Json::Array(vec![number(carrier)])),
            }
            moved.insert(at, carrier);
        }
        if let Some(lods) = lods {
            let mut level = document.list(List::Nodes)[carrier].clone();
            ["name", "extras", "extensions", "children", "camera"]
                .iter()
                .for_each(|name| _ = tree::remove(&mut level, name));
            let ids = lods.iter().map(|&lod| {
                tree::set(&mut level, "mesh", number(lod));
                number(add_node(document, used, level.clone()))
            });
            let ids = object([("ids", Json::Array(ids.collect()))]);
            tree::set_extension(&mut document.list_mut(List::Nodes)[carrier], "MSFT_lod", ids);
        }
    }
    // Morph weights belong to the node that has the mesh.
    for animation in document.list_mut(List::Animations) {
        for channel in tree::items_mut(animation, "channels") {
            let Some(target) = tree::get_mut(channel, "target") else { continue };
            let child = tree::index_of(target, "node").and_then(|node| moved.get(&node));
            if let Some(child) = child.filter(|_| tree::string_of(target, "path") == "weights") {
                tree::set(target, "node", number(*child));
            }
        }
    }
}

fn add_node(document: &mut Document, used: &mut Used, node: Json) -> usize {
    document.list_mut(List::Nodes).push(node);
    used.added(List::Nodes);
    document.list(List::Nodes).len() - 1
}

/// Returns the inverse bind matrices of a skin for positions on a grid; `None` stands for identities.
pub(crate) fn inverse_bind_matrices(data: Option<&AccessorData>, joints: usize, grid: Grid) -> Elements {
    let identity: Vec<f32> = (0..16).map(|i| if i % 5 == 0 { 1.0 } else { 0.0 }).collect();
    let matrices = data.map_or_else(|| identity.repeat(joints), numbers);
    let (offset, scale) = (grid.offset.map(f64::from), f64::from(grid.scale));
    let mut bytes = Vec::with_capacity(matrices.len() * 4);
    for matrix in matrices.as_chunks::<16>().0 {
        let cell = |column: usize, row: usize| f64::from(matrix[column * 4 + row]);
        for column in 0..4 {
            for row in 0..4 {
                let value = match column {
                    3 => (0..3).map(|axis| cell(axis, row) * offset[axis]).sum::<f64>() + cell(3, row),
                    _ => cell(column, row) * scale,
                };
                bytes.extend_from_slice(&(value as f32).to_le_bytes());
            }
        }
    }
    let data = AccessorData {
        component_type: FLOAT,
        kind: "MAT4".to_owned(),
        components: 16,
        normalized: false,
        count: bytes.len() / 64,
        bytes,
    };
    Elements::tight(&data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::tests::floats as accessor;

    #[test]
    fn inverse_bind_matrices_undo_the_grid() {
        let grid = Grid { offset: [1.0, -2.0, 0.5], scale: 0.25 };
        // Scale 2 along x, then a translation.
        let matrix = [2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 5.0, 6.0, 7.0, 1.0];
        let elements = inverse_bind_matrices(Some(&accessor("MAT4", 16, &matrix)), 1, grid);
        let found: Vec<f32> = elements.bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        let apply = |m: &[f32], p: [f32; 3]| -> [f32; 3] {
            std::array::from_fn(|row| (0..3).map(|c| m[c * 4 + row] * p[c]).sum::<f32>() + m[12 + row])
        };
        let integer = [3.0, 4.0, 8.0];
        let position = std::array::from_fn(|axis| grid.offset[axis] + grid.scale * integer[axis]);
        assert_eq!(apply(&found, integer), apply(&matrix, position));
        assert_eq!(inverse_bind_matrices(None, 3, grid).count(), 3);
    }
}
