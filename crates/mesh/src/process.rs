//! The mesh pipeline: one primitive from decoded attributes to the arrays of a runtime mesh, stage by stage.
//!
//! Rejected: indices out of range, attributes of the wrong length, positions and UVs that are not finite, a
//! mesh that cannot be reduced to the index type. Repaired, with a note: normals, tangents and joint weights
//! that are invalid.

mod extra;
mod finish;
mod flat_lods;
mod options;
mod reduce;
#[cfg(test)]
mod tests;
mod work_mesh;

use crate::Error;
use crate::bounds::Bounds;
use crate::meshlets::Meshlets;
use crate::simplify::Lod;
use crate::skin::{InfluenceSet, Influences};
use crate::transform::Transform;
pub use extra::{ExtraAttributes, MorphInput};
pub use finish::{ShadowGeometry, VertexStreams};
pub use options::{LodRule, MeshOptions, TangentMode};
use std::borrow::Cow;
use std::time::Instant;
pub(crate) use work_mesh::Unit;
use work_mesh::WorkMesh;

/// The attributes of one primitive: a triangle list, with one element per vertex in every attribute that is present.
/// Attributes that are passed by value are freed as soon as a stage has replaced them.
#[derive(Clone, Debug, Default)]
pub struct MeshInput<'a> {
    /// Vertex indices, three per triangle.
    pub indices: Cow<'a, [u32]>,
    /// Vertex positions in the units of the source.
    pub positions: Cow<'a, [[f32; 3]]>,
    /// Normals; flat ones are created if there are none.
    pub normals: Option<Cow<'a, [[f32; 3]]>>,
    /// UVs with the origin at the top left.
    pub uvs: Option<Cow<'a, [[f32; 2]]>>,
    /// The second UV set.
    pub uv1: Option<Cow<'a, [[f32; 2]]>>,
    /// The UV sets after the second.
    pub further_uvs: Vec<Cow<'a, [[f32; 2]]>>,
    /// Vertex colours.
    pub colors: Option<Cow<'a, [[f32; 4]]>>,
    /// Morph targets.
    pub morph_targets: Vec<MorphInput<'a>>,
    /// Tangents with glTF's handedness last.
    pub tangents: Option<Cow<'a, [[f32; 4]]>>,
    /// Bone influences, in sets of four; none for a mesh without skin.
    pub skin: &'a [InfluenceSet<'a>],
    /// The new joint index of each joint of `skin`; a joint that is not in the list becomes joint 0. Without
    /// a list the joint indices are unchanged.
    pub joint_map: Option<&'a [u16]>,
    /// A matrix to apply to all vertices.
    pub transform: Option<&'a Transform>,
}

/// A packed vertex of an `.hmesh`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vertex {
    /// The position in the units of the source.
    pub position: [f32; 3],
    /// The normal, [octahedral](crate::octahedral).
    pub normal: [i16; 2],
    /// The tangent, [octahedral](crate::octahedral), with the handedness in bit 0 of x.
    pub tangent: [i16; 2],
    /// UVs; zero if there are none.
    pub uv: [f32; 2],
}

/// The displacements of one morph target, one entry per vertex; a list that is empty stands for zeros.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MorphTarget {
    /// The displacements of the positions, in the units of the source.
    pub positions: Vec<[f32; 3]>,
    /// The displacements of the unit normals; the blended normal is to be normalised.
    pub normals: Vec<[f32; 3]>,
    /// The displacements of the unit tangents.
    pub tangents: Vec<[f32; 3]>,
}

/// The processed primitive, with its vertices packed ([`Vertex`]) or as [`VertexStreams`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MeshOutput<V = Vec<Vertex>> {
    /// The vertices, in their final order.
    pub vertices: V,
    /// Bone influences, one entry per vertex if the input had a skin, else empty.
    pub skin: Vec<Influences>,
    /// Further UV sets, vertex colours and morph targets, as far as the input had them.
    pub extra: ExtraAttributes,
    /// Vertex indices, three per triangle.
    pub indices: Vec<u32>,
    /// Meshlets of the same triangles, unless disabled.
    pub meshlets: Meshlets,
    /// LODs, one per level that the rule asks for; a level that stalled is empty.
    pub lods: Vec<Lod>,
    /// Position-only geometry for shadow maps, if requested.
    pub shadow: Option<ShadowGeometry>,
    /// Bounds of all vertices.
    pub bounds: Bounds,
    /// True if the tangents are valid.
    pub has_tangents: bool,
    /// Notes for the author of the asset.
    pub notes: Vec<Note>,
}

/// A note about something that was generated, repaired or left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The primitive has no triangles.
    NoTriangles,
    /// The primitive had no normals: they are flat.
    FlatNormals,
    /// This many normals were zero or NaN and were computed from the faces around them.
    RepairedNormals(usize),
    /// There are no UVs and no tangents, so none could be generated.
    NoTangents,
    /// Authored tangents prevented the welding of vertices and were replaced by generated ones.
    TangentsPreventedWelding {
        /// The number of vertices with the authored tangents.
        with: usize,
        /// The number of vertices without any tangents.
        without: usize,
    },
    /// This many authored tangents were zero or NaN. All were regenerated, or only these replaced if there
    /// are no UVs or the rest was to be kept.
    UnusableTangents(usize),
    /// This many vertices had more than four bone influences and lost the smallest.
    ReducedInfluences(usize),
    /// This many skinned vertices had no joint weight and are bound to joint 0.
    WeightlessVertices(usize),
}

/// A stage of the pipeline, for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Stage {
    /// Checks, bone influences, normals.
    Prepare,
    /// Welding of equal vertices.
    Weld,
    /// Generation of tangents from UVs.
    Tangents,
    /// Transformation by a node's matrix.
    Transform,
    /// Splitting of high-valence vertices, reduction to the index type, GPU order of triangles and vertices.
    Order,
    /// Meshlets and their bounds.
    Meshlets,
    /// Simplification to LODs (levels of detail).
    Lods,
    /// GPU order of the triangles of LODs.
    LodOrder,
    /// Bounds, and packing of vertices.
    Pack,
}

/// Runs all stages and packs the vertices as an `.hmesh` stores them.
///
/// # Errors
/// [`Error`] if the input is not a valid mesh, is too large, does not fit the index type, or the deadline
/// passed.
pub fn process(input: MeshInput<'_>, options: &MeshOptions) -> Result<MeshOutput, Error> {
    process_watched(input, options, &|_, _| ())
}

/// Runs all stages as [`process()`] does, and calls `watch` when a stage begins (`true`) and ends (`false`),
/// on the thread that runs it. [`Stage::LodOrder`] is part of [`Stage::Lods`].
///
/// # Errors
/// The errors of [`process()`].
pub fn process_watched(
    input: MeshInput<'_>,
    options: &MeshOptions,
    watch: &(dyn Fn(Stage, bool) + Sync),
) -> Result<MeshOutput, Error> {
    run(input, options, &Timed(watch), |mesh| mesh.pack_tangents(), |mesh, unit| mesh.pack(unit))
}

/// Runs all stages and returns each attribute in an array of its own, including the second UV set.
///
/// # Errors
/// The errors of [`process()`].
pub fn process_streams(
    input: MeshInput<'_>,
    options: &MeshOptions,
) -> Result<MeshOutput<VertexStreams>, Error> {
    run(input, options, &Timed(&|_, _| ()), |_| (), |mesh, unit| mesh.streams(unit))
}

/// Runs all stages; `release` frees memory that no later stage needs, `pack` creates the vertices and
/// computes their bounds.
fn run<V: Default>(
    input: MeshInput<'_>,
    options: &MeshOptions,
    timed: &Timed<'_>,
    release: impl FnOnce(&mut WorkMesh<'_>),
    pack: impl FnOnce(&mut WorkMesh<'_>, Unit) -> (V, Bounds),
) -> Result<MeshOutput<V>, Error> {
    let mut notes = Vec::new();
    let transform = input.transform;
    let mut mesh = timed.run(Stage::Prepare, || WorkMesh::new(input, options, &mut notes))?;
    if mesh.is_empty() {
        notes.push(Note::NoTriangles);
        let lods = vec![Lod::default(); options.lods.ratios(0).len()];
        let shadow = options.shadow.then(ShadowGeometry::default);
        return Ok(MeshOutput { lods, shadow, notes, ..MeshOutput::default() });
    }
    let check = || check(options.deadline);
    check()?;
    let generate = timed.run(Stage::Weld, || mesh.weld(options.tangents, &mut notes));
    check()?;
    if generate {
        timed.run(Stage::Tangents, || mesh.generate_tangents());
    }
    if let Some(transform) = transform {
        timed.run(Stage::Transform, || mesh.bake(transform))?;
    }
    check()?;
    let unit = mesh.shrink();
    timed.run(Stage::Pack, || release(&mut mesh));
    timed.run(Stage::Order, || {
        mesh.split_high_valence();
        mesh.reduce(options)?;
        mesh.order(options);
        Ok(())
    })?;
    check()?;
    let output = mesh.finish(options, unit, timed, notes, pack);
    // LODs are left out once the deadline has passed.
    check().map(|()| output)
}

/// Returns [`Error::Deadline`] if the deadline has passed; called between stages, and between LODs.
fn check(deadline: Option<Instant>) -> Result<(), Error> {
    if has_passed(deadline) { Err(Error::Deadline) } else { Ok(()) }
}

pub(crate) fn has_passed(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() > deadline)
}

/// Returns an upper estimate of the peak memory in bytes while so many primitives, with so many vertices and
/// triangle corners in total, are processed in parallel: attributes before and after a stage, the tables for
/// welding and ordering, meshlets, LODs and the result.
pub fn working_set(primitives: u64, vertices: u64, corners: u64) -> u64 {
    let parts = [(primitives, PRIMITIVE_BYTES), (vertices, VERTEX_BYTES), (corners, CORNER_BYTES)];
    parts.into_iter().fold(0, |sum, (count, bytes)| count.saturating_mul(bytes).saturating_add(sum))
}

/// Bytes per primitive, vertex and corner, measured with models that consist of nothing else.
const PRIMITIVE_BYTES: u64 = 2048;
const VERTEX_BYTES: u64 = 160;
const CORNER_BYTES: u64 = 60;

struct Timed<'a>(&'a (dyn Fn(Stage, bool) + Sync));

impl Timed<'_> {
    fn run<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        (self.0)(stage, true);
        let result = work();
        (self.0)(stage, false);
        result
    }
}
