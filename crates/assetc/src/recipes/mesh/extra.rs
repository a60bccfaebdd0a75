//! The optional chunks of a `.hmesh`: vertex colours, further UV sets, morph targets and nodes.
//!
//! Arrays have a value for every vertex of the file, so parts without colours are white and parts without a UV set have
//! zeros. A morph target keeps the vertices that it moves only.

use super::parts::DrawnMesh;
use kiln_engine::{Code, Diag};
use kiln_format::hmesh::{self, Colors, MeshNode, MorphDelta, MorphSet, MorphTarget, NO_PARENT};
use kiln_ir::{MeshId, Node, NodeId, Scene};
use kiln_mesh::ExtraAttributes;

const WHITE: [f32; 4] = [1.0; 4];

/// The optional content of the parts so far.
#[derive(Default)]
pub(crate) struct Extra {
    colors: Vec<[f32; 4]>,
    uv_sets: Vec<Vec<[f32; 2]>>,
    morphs: Vec<MorphedMesh>,
    /// The submeshes of each drawn mesh: the first, and their number.
    submeshes: Vec<(u32, u32)>,
}

/// The morph targets of one drawn mesh.
struct MorphedMesh {
    drawn: usize,
    first_submesh: u32,
    submesh_count: u32,
    targets: Vec<Target>,
}

/// The vertices that a morph target moves.
struct Target {
    name: String,
    weight: f32,
    deltas: Vec<MorphDelta>,
    normals: Vec<[f32; 3]>,
    tangents: Vec<[f32; 3]>,
}

impl Extra {
    /// Creates the optional content of a file with so many drawn meshes.
    pub(crate) fn new(drawn: usize) -> Extra {
        Extra { submeshes: vec![(0, 0); drawn], ..Extra::default() }
    }

    /// Appends the attributes of a part, which is submesh `submesh` and starts at vertex `first_vertex`.
    pub(crate) fn append(
        &mut self,
        extra: ExtraAttributes,
        first_vertex: usize,
        submesh: usize,
        drawn: usize,
        mesh: &DrawnMesh,
    ) {
        let range = &mut self.submeshes[drawn];
        *range = if range.1 == 0 { (submesh as u32, 1) } else { (range.0, range.1 + 1) };
        if !extra.colors.is_empty() {
            self.colors.resize(first_vertex, WHITE);
            self.colors.extend(extra.colors);
        }
        for (set, uvs) in std::iter::once(extra.uv1).chain(extra.further_uvs).enumerate() {
            if uvs.is_empty() {
                continue;
            }
            if self.uv_sets.len() <= set {
                self.uv_sets.resize(set + 1, Vec::new());
            }
            self.uv_sets[set].resize(first_vertex, [0.0; 2]);
            self.uv_sets[set].extend(uvs);
        }
        if extra.morph_targets.is_empty() {
            return;
        }
        if self.morphs.last().is_none_or(|last| last.drawn != drawn) {
            let target = |(name, weight): (&String, &f32)| Target {
                name: name.clone(),
                weight: *weight,
                deltas: Vec::new(),
                normals: Vec::new(),
                tangents: Vec::new(),
            };
            let targets = mesh.morph_names.iter().zip(&mesh.morph_weights).map(target).collect();
            let first_submesh = submesh as u32;
            self.morphs.push(MorphedMesh { drawn, first_submesh, submesh_count: 0, targets });
        }
        let Some(morphed) = self.morphs.last_mut() else { return };
        morphed.submesh_count = submesh as u32 + 1 - morphed.first_submesh;
        for (target, found) in morphed.targets.iter_mut().zip(&extra.morph_targets) {
            target.append(found, first_vertex);
        }
    }

    /// Returns the submeshes of each node of a scene without merged nodes.
    pub(crate) fn node_submeshes(&self, scene: &Scene, drawn: &[DrawnMesh]) -> Vec<(u32, u32)> {
        let of = |(index, node): (usize, &Node)| {
            submeshes_of(NodeId(index as u32), node.mesh, drawn, &self.submeshes)
        };
        scene.nodes.iter().enumerate().map(of).collect()
    }

    /// Completes the arrays for a file with so many vertices, with the nodes of a scene where it keeps them.
    pub(crate) fn finish(
        mut self,
        vertices: usize,
        nodes: Option<(&Scene, &[DrawnMesh])>,
    ) -> Result<OptionalChunks, Diag> {
        let mut chunks = OptionalChunks::default();
        if !self.colors.is_empty() {
            self.colors.resize(vertices, WHITE);
            chunks.colors = Some(PackedColors::new(self.colors));
        }
        for mut set in self.uv_sets {
            set.resize(vertices, [0.0; 2]);
            chunks.uv_sets.extend(set);
        }
        let has = |list: fn(&Target) -> &Vec<[f32; 3]>| {
            let mut targets = self.morphs.iter().flat_map(|morphed| &morphed.targets);
            targets.any(|target| list(target).iter().flatten().any(|v| *v != 0.0))
        };
        let (has_normals, has_tangents) = (has(|target| &target.normals), has(|target| &target.tangents));
        let mut targets = 0;
        for morphed in self.morphs {
            chunks.morph_sets.push(MorphSet {
                first_submesh: morphed.first_submesh,
                submesh_count: morphed.submesh_count,
                first_target: targets,
                target_count: morphed.targets.len() as u32,
            });
            targets += morphed.targets.len() as u32;
            for target in morphed.targets {
                let (name_offset, name_size) = chunks.name(&target.name)?;
                chunks.morph_targets.push(MorphTarget {
                    name_offset,
                    name_size,
                    weight: target.weight,
                    first_delta: count(chunks.morph_deltas.len())?,
                    delta_count: count(target.deltas.len())?,
                });
                chunks.morph_deltas.extend(target.deltas);
                chunks.morph_normals.extend(target.normals.into_iter().filter(|_| has_normals));
                chunks.morph_tangents.extend(target.tangents.into_iter().filter(|_| has_tangents));
            }
        }
        if let Some((scene, drawn)) = nodes {
            chunks.add_nodes(scene, drawn, &self.submeshes)?;
        }
        Ok(chunks)
    }
}

/// Returns the submeshes of a node: the first, and their number.
fn submeshes_of(
    id: NodeId,
    mesh: Option<MeshId>,
    drawn: &[DrawnMesh],
    submeshes: &[(u32, u32)],
) -> (u32, u32) {
    // A skinned mesh is written for every node that draws it, another one once for all.
    let own = drawn.iter().position(|drawn| drawn.node == id);
    let shared = || drawn.iter().position(|drawn| Some(drawn.mesh) == mesh);
    mesh.and_then(|_| own.or_else(shared)).map_or((0, 0), |index| submeshes[index])
}

impl Target {
    fn append(&mut self, found: &kiln_mesh::MorphTarget, first_vertex: usize) {
        let lists = [&found.positions, &found.normals, &found.tangents];
        let vertices = lists.iter().map(|list| list.len()).max().unwrap_or(0);
        for vertex in 0..vertices {
            let [position, normal, tangent] = lists.map(|list| list.get(vertex).copied().unwrap_or_default());
            if [position, normal, tangent].iter().flatten().any(|v| *v != 0.0) {
                self.deltas.push(MorphDelta { vertex: (first_vertex + vertex) as u32, position });
                self.normals.push(normal);
                self.tangents.push(tangent);
            }
        }
    }
}

/// The arrays of the optional chunks.
#[derive(Default)]
pub(crate) struct OptionalChunks {
    colors: Option<PackedColors>,
    uv_sets: Vec<[f32; 2]>,
    morph_sets: Vec<MorphSet>,
    morph_targets: Vec<MorphTarget>,
    morph_deltas: Vec<MorphDelta>,
    morph_normals: Vec<[f32; 3]>,
    morph_tangents: Vec<[f32; 3]>,
    nodes: Vec<MeshNode>,
    names: String,
}

impl OptionalChunks {
    /// Adds the optional chunks to the input of the writer.
    pub(crate) fn parts<'a>(&'a self, parts: hmesh::Parts<'a>) -> hmesh::Parts<'a> {
        hmesh::Parts {
            colors: self.colors.as_ref().map(PackedColors::view),
            uv_sets: &self.uv_sets,
            morph_sets: &self.morph_sets,
            morph_targets: &self.morph_targets,
            morph_deltas: &self.morph_deltas,
            morph_normals: &self.morph_normals,
            morph_tangents: &self.morph_tangents,
            nodes: &self.nodes,
            names: &self.names,
            ..parts
        }
    }

    /// Adds a name; returns its offset and size.
    fn name(&mut self, name: &str) -> Result<(u32, u32), Diag> {
        if name.is_empty() {
            return Ok((0, 0));
        }
        let offset = count(self.names.len())?;
        self.names.push_str(name);
        count(self.names.len())?;
        Ok((offset, name.len() as u32))
    }

    /// Adds the nodes below the roots of a scene, each parent before its children, with the submeshes that they draw.
    fn add_nodes(
        &mut self,
        scene: &Scene,
        drawn: &[DrawnMesh],
        submeshes: &[(u32, u32)],
    ) -> Result<(), Diag> {
        let mut waiting: Vec<(NodeId, i32)> =
            scene.roots.iter().rev().map(|root| (*root, NO_PARENT)).collect();
        while let Some((id, parent)) = waiting.pop() {
            let node = &scene.nodes[id.0 as usize];
            let (first_submesh, submesh_count) = submeshes_of(id, node.mesh, drawn, submeshes);
            let (name_offset, name_size) = self.name(&node.name)?;
            let trs = node.transform.trs();
            let index = i32::try_from(self.nodes.len()).map_err(|_| too_large())?;
            self.nodes.push(MeshNode {
                name_offset,
                name_size,
                parent,
                first_submesh,
                submesh_count,
                translation: trs.translation,
                rotation: trs.rotation,
                scale: trs.scale,
            });
            waiting.extend(node.children.iter().rev().map(|child| (*child, index)));
        }
        Ok(())
    }
}

/// Vertex colours in the smallest format that holds them: 8 bits where all values have 8 bits, 16 bits where they are
/// between 0 and 1, floats otherwise.
enum PackedColors {
    Rgba8(Vec<[u8; 4]>),
    Rgba16(Vec<[u16; 4]>),
    Rgba32F(Vec<[f32; 4]>),
}

impl PackedColors {
    fn new(colors: Vec<[f32; 4]>) -> PackedColors {
        let mut values = colors.iter().flatten();
        if !values.clone().all(|v| (0.0..=1.0).contains(v)) {
            return PackedColors::Rgba32F(colors);
        }
        let byte = |v: f32| (v * 255.0).round() as u8;
        if values.all(|v| f32::from(byte(*v)) / 255.0 == *v) {
            return PackedColors::Rgba8(colors.iter().map(|color| color.map(byte)).collect());
        }
        let short = |v: f32| (f64::from(v) * 65535.0).round() as u16;
        PackedColors::Rgba16(colors.iter().map(|color| color.map(short)).collect())
    }

    fn view(&self) -> Colors<'_> {
        match self {
            PackedColors::Rgba8(colors) => Colors::Rgba8(colors.as_slice().into()),
            PackedColors::Rgba16(colors) => Colors::Rgba16(colors.as_slice().into()),
            PackedColors::Rgba32F(colors) => Colors::Rgba32F(colors.as_slice().into()),
        }
    }
}

fn count(len: usize) -> Result<u32, Diag> {
    u32::try_from(len).map_err(|_| too_large())
}

fn too_large() -> Diag {
    Diag::new(
        Code::MeshTooLarge,
        "the mesh has more than 4294967295 morphed vertices, nodes or bytes of names",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_take_the_smallest_exact_format() {
        let of = |value: f32| PackedColors::new(vec![[value, 0.0, 1.0, 1.0]]);
        for byte in 0..=255u8 {
            let PackedColors::Rgba8(colors) = of(f32::from(byte) / 255.0) else { panic!("{byte}") };
            assert_eq!(colors[0][0], byte);
        }
        for short in [1u16, 256, 4660, 65534] {
            let PackedColors::Rgba16(colors) = of(f32::from(short) / 65535.0) else { panic!("{short}") };
            assert_eq!(colors[0], [short, 0, 65535, 65535]);
        }
        for value in [-0.5, 1.5, 1e9] {
            assert!(matches!(of(value), PackedColors::Rgba32F(_)));
        }
    }
}
