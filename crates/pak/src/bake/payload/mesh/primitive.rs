//! One primitive of a mesh: from the importer's attributes through the mesh pipeline to the records of a pak.

use super::super::super::plan::mesh::MeshSpec;
use super::interleave::Attributes;
use super::streams::{MorphNames, streams};
use kiln_engine::{Code, Diag, Limits};
use kiln_format::pak::Role;
use kiln_format::pak::mesh::{MeshletRecord, Primitive as PayloadEntry, Stream};
use kiln_ir::{Matrix, MorphTarget, Primitive};
use kiln_mesh::meshlets::{Meshlet, MeshletBounds, Meshlets};
use kiln_mesh::{
    Bounds, InfluenceSet, Influences, Lod, LodRule, MeshInput, MeshOptions, MorphInput, TangentMode,
    Transform, VertexStreams, bounds,
};
use std::borrow::Cow;
use std::time::Instant;

/// A primitive with its transform, joints and material slot.
pub(super) struct PlacedPrimitive<'a> {
    pub(super) primitive: &'a Primitive,
    /// The indices of its joints in the joint list of the mesh, if it is skinned.
    pub(super) joints: Option<Vec<u16>>,
    pub(super) matrix: Matrix,
    pub(super) material: u16,
    pub(super) morphs: MorphNames<'a>,
}

/// A processed primitive and its shadow geometry.
pub(super) struct BakedPrimitive {
    main: Geometry,
    shadow: Option<Geometry>,
    meshlets: Meshlets,
    material: u16,
    streams: Vec<Stream>,
}

/// The vertices, and the indices and error of each LOD, LOD 0 first.
struct Geometry {
    vertices: Attributes,
    levels: Vec<(Vec<u32>, f32)>,
    bounds: Bounds,
}

impl Geometry {
    fn new(vertices: Attributes, indices: Vec<u32>, lods: Vec<Lod>, bounds: Bounds) -> Self {
        // An empty LOD means that simplification stalled.
        let coarser = lods.into_iter().filter(|lod| !lod.indices.is_empty());
        let levels = std::iter::once((indices, 0.0)).chain(coarser.map(|lod| (lod.indices, lod.error)));
        Self { vertices, levels: levels.collect(), bounds }
    }
}

/// Returns the options of the mesh pipeline for a description.
pub(super) fn options(spec: &MeshSpec, deadline: Option<Instant>) -> MeshOptions {
    let mut options = MeshOptions::default();
    options.normals = spec.normals;
    options.tangents = if spec.tangents { TangentMode::KeepIfAllUsable } else { TangentMode::None };
    options.lods = match spec.lod {
        true => LodRule::HalveDownTo(spec.min_lod_triangles),
        false => LodRule::halves(0),
    };
    options.lod_error = spec.lod_error;
    options.lock_border = spec.lod_lock_border;
    options.optimize = spec.optimize;
    options.overdraw_threshold = spec.overdraw;
    options.meshlets = spec.meshlets;
    options.shadow = spec.shadow;
    options.max_index = spec.max_index;
    // A pak keeps negative zeros of the source.
    options.positive_zeros = false;
    options.deadline = deadline;
    options
}

/// Returns the bounding box, and the center and radius of the bounding sphere.
pub(super) fn bounds_of(positions: &[[f32; 3]]) -> [f32; 10] {
    record(&bounds::bounds(positions.iter().copied()))
}

fn record(bounds: &Bounds) -> [f32; 10] {
    let ([a, b, c], [d, e, f], [g, h, i]) = (bounds.min, bounds.max, bounds.center);
    [a, b, c, d, e, f, g, h, i, bounds.radius]
}

impl PlacedPrimitive<'_> {
    /// Runs the mesh pipeline.
    ///
    /// # Errors
    /// `pak-mesh` if the geometry is invalid, `time-limit` if the deadline passed.
    pub(super) fn bake(
        &self,
        spec: &MeshSpec,
        options: &MeshOptions,
        limits: &Limits,
    ) -> Result<BakedPrimitive, Diag> {
        let source = self.primitive;
        let count = source.positions.len();
        // Without influences of its own, a primitive of a skinned node is bound rigidly to the first joint.
        let (joints, weights): (Cow<'_, [_]>, Cow<'_, [_]>) = match source.joints.is_empty() {
            true => (vec![[0; 4]; count].into(), vec![Influences::RIGID.weights; count].into()),
            false => ((&source.joints).into(), (&source.weights).into()),
        };
        let skin = [InfluenceSet { joints: &joints, weights: &weights }];
        let mut columns = [0.0; 16];
        columns.copy_from_slice(self.matrix.0.as_flattened());
        let transform = (self.matrix != Matrix::IDENTITY).then(|| Transform::new(&columns));
        let input = MeshInput {
            indices: (&source.indices).into(),
            positions: (&source.positions).into(),
            normals: non_empty(&source.normals),
            uvs: non_empty(&source.uv0),
            uv1: non_empty(&source.uv1).filter(|_| spec.uv1),
            tangents: non_empty(&source.tangents),
            // Both are empty unless the description asks for them.
            colors: non_empty(&source.colors),
            morph_targets: source.morph_targets.iter().map(morph_input).collect(),
            skin: if self.joints.is_some() { &skin } else { &[] },
            joint_map: self.joints.as_deref(),
            transform: transform.as_ref(),
            ..MeshInput::default()
        };
        let mesh = kiln_mesh::process_streams(input, options).map_err(|error| mesh_error(error, limits))?;
        let shadow = mesh.shadow.map(|shadow| {
            let bounds = bounds::bounds(shadow.positions.iter().copied());
            let mut streams = VertexStreams::default();
            streams.positions = shadow.positions;
            Geometry::new(Attributes { streams, skin: shadow.skin }, shadow.indices, shadow.lods, bounds)
        });
        let streams = streams(&mesh.extra, mesh.vertices.positions.len(), self.morphs);
        let vertices = Attributes { streams: mesh.vertices, skin: mesh.skin };
        let main = Geometry::new(vertices, mesh.indices, mesh.lods, mesh.bounds);
        Ok(BakedPrimitive { main, shadow, meshlets: mesh.meshlets, material: self.material, streams })
    }
}

fn non_empty<T: Clone>(list: &[T]) -> Option<Cow<'_, [T]>> {
    Some(list).filter(|list| !list.is_empty()).map(Cow::Borrowed)
}

fn morph_input(target: &MorphTarget) -> MorphInput<'_> {
    MorphInput {
        positions: non_empty(&target.positions),
        normals: non_empty(&target.normals),
        tangents: non_empty(&target.tangents),
    }
}

fn mesh_error(error: kiln_mesh::Error, limits: &Limits) -> Diag {
    let diag = Diag::new(Code::PakMesh, format!("the geometry is invalid: {error}"));
    match error {
        kiln_mesh::Error::Deadline => limits.out_of_time(),
        kiln_mesh::Error::NotFinite { .. } => diag.hint("fix the model, or use a smaller scale"),
        kiln_mesh::Error::IndexType { .. } => {
            Diag::new(Code::PakMesh, error.to_string()).hint("increase max-index, or split the mesh")
        }
        _ => diag,
    }
}

impl BakedPrimitive {
    /// Returns the record of the primitive, followed by that of its shadow geometry.
    pub(super) fn into_records(self, wide: bool) -> Vec<PayloadEntry> {
        let meshlet = |(m, b): (&Meshlet, &MeshletBounds)| MeshletRecord {
            vertex_offset: m.vertex_offset,
            vertex_count: m.vertex_count,
            triangle_offset: m.triangle_offset,
            triangle_count: m.triangle_count,
            center: b.center,
            radius: b.radius,
            cone_axis: b.cone_axis,
            cone_cutoff: b.cone_cutoff,
        };
        let stored = |geometry: Geometry, role: Role, meshlets: Meshlets, streams| PayloadEntry {
            vertex_type: geometry.vertices.vertex_type(wide),
            vertices: geometry.vertices.interleaved(wide),
            lods: geometry.levels,
            material: self.material,
            role,
            bounds: record(&geometry.bounds),
            meshlets: meshlets.meshlets.iter().zip(&meshlets.bounds).map(meshlet).collect(),
            meshlet_vertices: meshlets.vertices,
            meshlet_triangles: meshlets.triangles,
            streams,
        };
        let main = stored(self.main, Role::Main, self.meshlets, self.streams);
        let shadow = self.shadow.map(|shadow| stored(shadow, Role::Shadow, Meshlets::default(), Vec::new()));
        std::iter::once(main).chain(shadow).collect()
    }
}
