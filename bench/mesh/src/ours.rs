//! The mesh path as a build takes it: a glTF file is imported, every primitive processed, and an `.hmesh` written.

use kiln_engine::{Fs, Inputs, Real, RelPath, SourceTree};
use kiln_format::hmesh::{self, GpuVertex, MeshBounds, MeshLod, Parts, SubMesh};
use kiln_ir::{Draw, Primitive, Scene, Valid};
use kiln_mesh::{InfluenceSet, MeshInput, MeshOptions, MeshOutput, Stage, Transform, bounds};
use rayon::prelude::*;
use std::borrow::Cow;
use std::path::Path;

/// The scene of a file.
pub fn import(path: &Path) -> Valid<Scene> {
    let root = Real::open(path.parent().expect("a folder")).expect("a folder that opens");
    let tree = root.walk(None).expect("a folder that lists");
    let source =
        RelPath::new(path.file_name().expect("a name").to_string_lossy().into_owned()).expect("a plain name");
    let mut cook = Inputs::new(SourceTree { fs: &root, tree: &tree });
    kiln_import::gltf::import(&mut cook, &source)
        .unwrap_or_else(|diag| panic!("{}: {diag:?}", path.display()))
        .value
}

/// Every primitive of every draw, processed in parallel, in the order they are drawn.
pub fn process(
    scene: &Valid<Scene>,
    settings: &MeshOptions,
    watch: &(dyn Fn(Stage, bool) + Sync),
) -> Vec<MeshOutput> {
    let draws: Vec<(Draw, &Primitive)> = scene
        .draws()
        .flat_map(|draw| scene.meshes[draw.mesh.0 as usize].primitives.iter().map(move |p| (draw, p)))
        .collect();
    let run = |(draw, primitive)| one(draw, Cow::Borrowed(primitive), settings, watch);
    draws.into_par_iter().map(run).collect()
}

/// The same, giving up the scene: a primitive that is drawn once is handed over, as a build does it.
pub fn consume(scene: Valid<Scene>, settings: &MeshOptions) -> Vec<MeshOutput> {
    let draws: Vec<Draw> = scene.draws().collect();
    let mut scene = scene.into_inner();
    let mut parts: Vec<(Draw, usize, Option<Primitive>)> = Vec::new();
    for draw in &draws {
        let once = draws.iter().filter(|other| other.mesh == draw.mesh).count() == 1;
        for (number, primitive) in scene.meshes[draw.mesh.0 as usize].primitives.iter_mut().enumerate() {
            parts.push((*draw, number, once.then(|| std::mem::take(primitive))));
        }
    }
    let run = |(draw, number, own): (Draw, usize, Option<Primitive>)| {
        let borrow = || Cow::Borrowed(&scene.meshes[draw.mesh.0 as usize].primitives[number]);
        one(draw, own.map_or_else(borrow, Cow::Owned), settings, &|_, _| ())
    };
    parts.into_par_iter().map(run).collect()
}

fn one(
    draw: Draw,
    primitive: Cow<'_, Primitive>,
    settings: &MeshOptions,
    watch: &(dyn Fn(Stage, bool) + Sync),
) -> MeshOutput {
    fn there<T: Clone>(list: Cow<'_, [T]>) -> Option<Cow<'_, [T]>> {
        Some(list).filter(|list| !list.is_empty())
    }
    let columns: [f64; 16] = std::array::from_fn(|i| draw.world.0[i / 4][i % 4]);
    let transform = Transform::new(&columns);
    let skinned = draw.skin.is_some() && !primitive.joints.is_empty();
    let (joints, weights);
    let input = match primitive {
        Cow::Owned(p) => {
            (joints, weights) = (Cow::Owned(p.joints), Cow::Owned(p.weights));
            MeshInput {
                indices: p.indices.into(),
                positions: p.positions.into(),
                normals: there(p.normals.into()),
                uvs: there(p.uv0.into()),
                tangents: there(p.tangents.into()),
                ..MeshInput::default()
            }
        }
        Cow::Borrowed(p) => {
            (joints, weights) = (Cow::Borrowed(&*p.joints), Cow::Borrowed(&*p.weights));
            MeshInput {
                indices: (&p.indices).into(),
                positions: (&p.positions).into(),
                normals: there((&p.normals).into()),
                uvs: there((&p.uv0).into()),
                tangents: there((&p.tangents).into()),
                ..MeshInput::default()
            }
        }
    };
    let set = [InfluenceSet { joints: &joints, weights: &weights }];
    let input = MeshInput {
        skin: if skinned { &set } else { &[] },
        transform: (!skinned && draw.world != kiln_ir::Matrix::IDENTITY).then_some(&transform),
        ..input
    };
    kiln_mesh::process_watched(input, settings, watch).expect("a sound primitive")
}

/// The pipeline without levels of detail and meshlets.
pub fn without_levels() -> MeshOptions {
    let mut options = MeshOptions::default();
    options.lods = kiln_mesh::LodRule::halves(0);
    options.meshlets = false;
    options
}

/// The bytes of the mesh, without materials and skin.
pub fn write(outputs: Vec<MeshOutput>, levels: usize) -> Vec<u8> {
    let mut all = Assembled::default();
    let vertices: usize = outputs.iter().map(|o| o.vertices.len()).sum();
    all.vertices.reserve_exact(vertices);
    all.indices.reserve_exact(outputs.iter().map(|o| o.indices.len()).sum());
    let tangents = outputs.iter().any(|output| output.has_tangents);
    for output in outputs {
        all.add(output);
    }
    let around = bounds::bounds(all.vertices.iter().map(|vertex| vertex.position));
    let parts = Parts {
        bounds: boxed(&around),
        vertices: &all.vertices,
        has_tangents: tangents,
        indices: &all.indices,
        meshlets: &all.meshlets,
        meshlet_vertices: &all.meshlet_vertices,
        meshlet_triangles: &all.meshlet_triangles,
        meshlet_bounds: &all.meshlet_bounds,
        submeshes: &all.submeshes,
        lod_count: levels as u32,
        lods: &all.lods,
        lod_indices: &all.lod_indices,
        ..Parts::default()
    };
    hmesh::write(&parts).expect("a sound mesh")
}

#[derive(Default)]
struct Assembled {
    vertices: Vec<GpuVertex>,
    indices: Vec<u32>,
    meshlets: Vec<hmesh::Meshlet>,
    meshlet_vertices: Vec<u32>,
    meshlet_triangles: Vec<[u8; 3]>,
    meshlet_bounds: Vec<hmesh::MeshletBounds>,
    submeshes: Vec<SubMesh>,
    lods: Vec<MeshLod>,
    lod_indices: Vec<u32>,
}

impl Assembled {
    fn add(&mut self, output: MeshOutput) {
        if output.indices.is_empty() {
            return;
        }
        let base = self.vertices.len() as u32;
        let (vertex_base, triangle_base) =
            (self.meshlet_vertices.len() as u32, self.meshlet_triangles.len() as u32);
        self.submeshes.push(SubMesh {
            first_index: self.indices.len() as u32,
            index_count: output.indices.len() as u32,
            first_meshlet: self.meshlets.len() as u32,
            meshlet_count: output.meshlets.meshlets.len() as u32,
            material_slot: hmesh::NO_MATERIAL,
            base_vertex: 0,
            bounds: boxed(&output.bounds),
        });
        self.vertices.extend(output.vertices.iter().map(|v| GpuVertex {
            position: v.position,
            normal: v.normal,
            tangent: v.tangent,
            uv: v.uv,
        }));
        self.indices.extend(output.indices.iter().map(|index| base + index));
        self.meshlets.extend(output.meshlets.meshlets.iter().map(|m| hmesh::Meshlet {
            vertex_offset: vertex_base + m.vertex_offset,
            vertex_count: m.vertex_count,
            triangle_offset: triangle_base + m.triangle_offset,
            triangle_count: m.triangle_count,
        }));
        self.meshlet_vertices.extend(output.meshlets.vertices.iter().map(|vertex| base + vertex));
        self.meshlet_triangles.extend_from_slice(&output.meshlets.triangles);
        self.meshlet_bounds.extend(output.meshlets.bounds.iter().map(|b| hmesh::MeshletBounds {
            center: b.center,
            radius: b.radius,
            cone_axis: b.cone_axis,
            cone_cutoff: b.cone_cutoff,
        }));
        for lod in &output.lods {
            let first = if lod.indices.is_empty() { 0 } else { self.lod_indices.len() as u32 };
            self.lods.push(MeshLod { first_index: first, index_count: lod.indices.len() as u32 });
            self.lod_indices.extend(lod.indices.iter().map(|index| base + index));
        }
    }
}

fn boxed(bounds: &bounds::Bounds) -> MeshBounds {
    MeshBounds {
        aabb_min: bounds.min,
        aabb_max: bounds.max,
        sphere_center: bounds.center,
        sphere_radius: bounds.radius,
    }
}

/// The bytes of the decoded meshes: what an importer hands over.
pub fn decoded_bytes(scene: &Valid<Scene>) -> usize {
    let size = |p: &Primitive| {
        p.positions.len() * 12
            + p.normals.len() * 12
            + p.uv0.len() * 8
            + p.tangents.len() * 16
            + p.joints.len() * 24
            + p.indices.len() * 4
    };
    scene.meshes.iter().flat_map(|mesh| &mesh.primitives).map(size).sum()
}
