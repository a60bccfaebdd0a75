//! Mesh payloads: the draws of a glTF scene, transformed by their nodes, as primitives of one material each.
//!
//! Without a name, all draws of the scene. With a name, the mesh of that name at its first node, or else the node of
//! that name and its descendants. Node transforms do not apply to skinned meshes (glTF 2.0, 3.7.3.3).

mod interleave;
mod primitive;
mod streams;

use super::super::mesh_slots::{Slots, draws};
use super::super::plan::mesh::MeshSpec;
use super::animation::node_name;
use super::write_error;
use kiln_engine::{ActionContext, Code, Diag};
use kiln_format::pak::mesh::{self, Mesh};
use kiln_import::gltf::{self, ImageSelection, MaterialSelection, Options, SceneSelection};
use kiln_ir::{DrawnSize, MaterialId, Matrix, NodeId, Scene, SkinId, Valid};
use primitive::{PlacedPrimitive, bounds_of};
use rayon::prelude::*;
use std::collections::HashMap;
use streams::MorphNames;

/// Bakes the payload of a mesh.
pub(crate) fn bake(cx: &mut ActionContext<'_>, spec: &MeshSpec) -> Result<Vec<u8>, Diag> {
    let scene = spec.scene.as_deref().map_or(SceneSelection::Default, SceneSelection::Name);
    // Only a scene or description that uses a material reports its losses.
    let options = Options::new()
        .scene(scene)
        .images(ImageSelection::None)
        .materials(MaterialSelection::Geometry)
        .transmission(true)
        .vertex_colors(spec.colors)
        .morph_targets(spec.morphs);
    let imported = gltf::import_with(&mut cx.inputs, &spec.src, &options)?;
    for warning in imported.warnings {
        let warning = warning.or_path(&spec.src);
        // A description that names the scene needs no warning that there are several.
        if warning.code != Code::GltfScenes || spec.scene.is_none() {
            cx.warn(warning);
        }
    }
    let scene = imported.value;
    if scene.animations.iter().any(|animation| !animation.morph_channels.is_empty()) {
        let message =
            "animated morph weights are not stored; the weights of morph targets are those of the bind pose";
        cx.warn(Diag::new(Code::GltfDataIgnored, message).path(&spec.src));
    }
    let draws = draws(&scene, spec)?;
    let DrawnSize { instances, primitives, vertices, corners } = scene.drawn_size(draws.iter().copied());
    let triangles = corners / 3;
    let what = format!("{triangles} triangles of {vertices} vertices, drawn as {instances} instances,");
    let needed = kiln_mesh::working_set(primitives, vertices, corners)
        .saturating_add(streams::working_set(&scene, &draws));
    let (limits, deadline) = (*cx.inputs.limits(), cx.inputs.deadline());
    limits.check_memory(needed, what).map_err(|diag| diag.path(&spec.src))?;
    let _reserved = cx.inputs.admission().reserve(needed);
    let mut skin = Joints::default();
    let mut slots = Slots::default();
    let placement = placement(spec);
    let mut placed = Vec::new();
    for draw in &draws {
        let joints = draw.skin.filter(|_| !spec.ignore_skin).map(|id| skin.add(&scene, id, &placement));
        let matrix = if joints.is_some() { placement } else { placement * draw.world };
        let mesh = &scene.meshes[draw.mesh.0 as usize];
        let own_weights = &scene.nodes[draw.node.0 as usize].morph_weights;
        let weights = if own_weights.is_empty() { &mesh.morph_weights } else { own_weights };
        let morphs = MorphNames { weights, names: &mesh.morph_names };
        for primitive in &mesh.primitives {
            let slot = slots.slot(primitive.material);
            let material = u16::try_from(slot).map_err(|_| {
                Diag::new(
                    Code::PakMesh,
                    format!("the mesh has more than {} materials", usize::from(u16::MAX) + 1),
                )
                .path(&spec.src)
            })?;
            placed.push(PlacedPrimitive { primitive, joints: joints.clone(), matrix, material, morphs });
        }
    }
    let options = primitive::options(spec, deadline);
    let bake = |primitive: &PlacedPrimitive<'_>| primitive.bake(spec, &options, &limits);
    let baked: Result<Vec<_>, Diag> = placed.par_iter().map(bake).collect();
    let baked = baked.map_err(|diag| diag.path(&spec.src))?;
    let wide = skin.joints.len() > 256;
    let mut primitives = Vec::new();
    for part in baked {
        primitives.extend(part.into_records(wide));
    }
    if primitives.is_empty() {
        return Err(Diag::new(Code::PakMesh, "the mesh has no triangles").path(&spec.src));
    }
    let name = |id: &Option<MaterialId>| {
        id.map_or_else(String::new, |id| scene.materials[id.0 as usize].name.clone())
    };
    let materials = slots.0.iter().map(name).collect();
    let corners =
        primitives.iter().flat_map(|p| [&p.bounds[..3], &p.bounds[3..6]].map(|c| [c[0], c[1], c[2]]));
    let mut bounds = bounds_of(corners.collect::<Vec<_>>().as_slice());
    let reach = |p: &mesh::Primitive| {
        let apart: f32 = (0..3).map(|i| (p.bounds[6 + i] - bounds[6 + i]).powi(2)).sum();
        apart.sqrt() + p.bounds[9]
    };
    // The sphere around the box is conservative; the one around the spheres of the primitives is often smaller.
    bounds[9] = bounds[9].min(primitives.iter().map(reach).fold(0.0, f32::max));
    let mesh = Mesh { primitives, joints: skin.finish(&scene), materials, bounds };
    mesh::write(&mesh).map_err(|error| write_error(error).path(&spec.src))
}

/// Returns the transform of the description: flip, then scale, rotation and translation.
fn placement(spec: &MeshSpec) -> Matrix {
    let mut flip = Matrix::IDENTITY;
    for axis in 0..3 {
        if spec.flip[axis] {
            flip.0[axis][axis] = -1.0;
        }
    }
    spec.placement.matrix() * flip
}

/// The joints of all skins of the mesh in one list, without duplicates.
#[derive(Default)]
struct Joints {
    joints: Vec<(NodeId, [f32; 16])>,
    known: HashMap<(NodeId, [u32; 16]), u16>,
}

impl Joints {
    /// Adds a skin; returns the indices of its joints in the list. The description transforms the mesh, so the inverse
    /// bind matrices first undo that transform.
    fn add(&mut self, scene: &Scene, id: SkinId, placement: &Matrix) -> Vec<u16> {
        let skin = &scene.skins[id.0 as usize];
        let undo = placement.inverse().unwrap_or(Matrix::IDENTITY);
        let identity = *placement == Matrix::IDENTITY;
        let each = skin.joints.iter().zip(&skin.inverse_bind);
        each.map(|(node, bind)| {
            let bind = if identity { *bind } else { (Matrix::from_columns(bind) * undo).to_columns() };
            *self.known.entry((*node, bind.map(f32::to_bits))).or_insert_with(|| {
                self.joints.push((*node, bind));
                (self.joints.len() - 1).min(usize::from(u16::MAX)) as u16
            })
        })
        .collect()
    }

    /// Returns the name, parent and inverse bind matrix of each joint. The parent is the nearest ancestor joint.
    fn finish(self, scene: &Valid<Scene>) -> Vec<(String, u32, [f32; 16])> {
        let parents = scene.parents();
        let place = |node: NodeId| self.joints.iter().position(|(joint, _)| *joint == node);
        let joint = |(own, (node, bind)): (usize, &(NodeId, [f32; 16]))| {
            let above = std::iter::successors(parents[node.0 as usize], |id| parents[id.0 as usize]);
            let parent = above.filter_map(place).next().unwrap_or(own);
            (node_name(scene, *node), parent as u32, *bind)
        };
        self.joints.iter().enumerate().map(joint).collect()
    }
}
