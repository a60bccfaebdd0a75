//! One primitive from decoded attributes to what a runtime mesh holds: the stages in their order.
//!
//! Refused: indices out of range, attributes of the wrong length, positions and texture coordinates that are not
//! numbers. Repaired, with a note: normals, tangents and skin weights that cannot be used.

mod stages;
#[cfg(test)]
mod tests;

use crate::Error;
use crate::bounds::Bounds;
use crate::meshlets::Meshlets;
use crate::simplify::{self, Lod};
use crate::skin::{self, Influences};
use crate::transform::Transform;
use stages::Mesh;
use std::borrow::Cow;
use std::time::Instant;

/// The attributes of one primitive: a triangle list, one element per vertex in everything that is there. What is
/// handed over for good is freed as soon as it has been replaced.
#[derive(Clone, Debug, Default)]
pub struct Input<'a> {
    /// Three per triangle.
    pub indices: Cow<'a, [u32]>,
    /// Where the vertices are.
    pub positions: Cow<'a, [[f32; 3]]>,
    /// Normals; flat ones are made if there are none.
    pub normals: Option<Cow<'a, [[f32; 3]]>>,
    /// Texture coordinates, from the top left.
    pub uvs: Option<Cow<'a, [[f32; 2]]>>,
    /// Tangents with glTF's handedness last.
    pub tangents: Option<Cow<'a, [[f32; 4]]>>,
    /// Influences of a skin, in sets of four; none for a mesh without skin.
    pub skin: &'a [skin::Set<'a>],
    /// A matrix to bake in.
    pub transform: Option<&'a Transform>,
}

/// What to do about tangents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TangentMode {
    /// Authored tangents stay, whatever they cost; missing ones are made.
    Keep,
    /// All tangents are made anew from the texture coordinates.
    Generate,
    /// Authored tangents stay unless they are unusable or keep far too many vertices apart.
    #[default]
    Auto,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where tangents come from.
    pub tangents: TangentMode,
    /// One level of detail per entry: the part of the triangles to keep. See [`simplify::halves`].
    pub lods: Vec<f32>,
    /// The error a level may have, as part of the mesh's extent.
    pub lod_error: f32,
    /// Whether to order triangles and vertices for the GPU.
    pub optimize: bool,
    /// Whether to build meshlets.
    pub meshlets: bool,
    /// When to give up. The result does not depend on it.
    pub deadline: Option<Instant>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tangents: TangentMode::Auto,
            lods: simplify::halves(2),
            lod_error: simplify::DEFAULT_ERROR,
            optimize: true,
            meshlets: true,
            deadline: None,
        }
    }
}

/// A vertex as the runtime keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vertex {
    /// Where it is.
    pub position: [f32; 3],
    /// Its normal, [octahedral](crate::octahedral).
    pub normal: [i16; 2],
    /// Its tangent, [octahedral](crate::octahedral), with the handedness in bit 0 of x.
    pub tangent: [i16; 2],
    /// Its texture coordinates; zero if there are none.
    pub uv: [f32; 2],
}

/// The finished primitive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// The vertices, in their final order.
    pub vertices: Vec<Vertex>,
    /// One per vertex if the input had a skin, else none.
    pub skin: Vec<Influences>,
    /// The triangles.
    pub indices: Vec<u32>,
    /// The same triangles in clusters, unless switched off.
    pub meshlets: Meshlets,
    /// One per level asked for; a level that stalled is empty.
    pub lods: Vec<Lod>,
    /// Around all vertices.
    pub bounds: Bounds,
    /// Whether the vertices' tangents mean anything.
    pub has_tangents: bool,
    /// What the author may want to know.
    pub notes: Vec<Note>,
}

/// Something that was made up, repaired or given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// There is no triangle.
    NoTriangles,
    /// There were no normals: they are flat.
    FlatNormals,
    /// This many normals were zero or no numbers and come from the faces around them.
    RepairedNormals(usize),
    /// There are no texture coordinates and no tangents, so none could be made.
    NoTangents,
    /// Authored tangents kept vertices apart and were made anew.
    TangentsPreventedWelding {
        /// How many vertices there would have been with them.
        with: usize,
        /// How many without any tangents.
        without: usize,
    },
    /// This many authored tangents were zero or no numbers; all were made anew, or these replaced if there are no
    /// texture coordinates or the rest was to be kept.
    UnusableTangents(usize),
    /// This many vertices had more than four influences and lost the smallest.
    ReducedInfluences(usize),
    /// This many vertices of a skin had no weight and hang on joint 0.
    WeightlessVertices(usize),
}

/// A part of the work, for whoever measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Checks, influences, normals.
    Prepare,
    /// Equal vertices become one.
    Weld,
    /// Tangents are made.
    Tangents,
    /// A matrix is baked in.
    Transform,
    /// Crowded vertices are split, triangles and vertices ordered.
    Order,
    /// Meshlets and their bounds.
    Meshlets,
    /// Levels of detail.
    Lods,
    /// The triangles of levels are ordered.
    LodOrder,
    /// Bounds, and vertices in their final form.
    Pack,
}

/// Runs all stages.
pub fn process(input: Input<'_>, settings: &Settings) -> Result<Output, Error> {
    process_watched(input, settings, &|_, _| ())
}

/// As [`process()`], calling `watch` when a stage begins (`true`) and ends (`false`), on the thread that runs it.
/// [`Stage::LodOrder`] is part of [`Stage::Lods`].
pub fn process_watched(
    input: Input<'_>,
    settings: &Settings,
    watch: &(dyn Fn(Stage, bool) + Sync),
) -> Result<Output, Error> {
    let timed = Timed(watch);
    let mut notes = Vec::new();
    let transform = input.transform;
    let mut mesh = timed.run(Stage::Prepare, || Mesh::new(input, &mut notes))?;
    if mesh.is_empty() {
        notes.push(Note::NoTriangles);
        let lods = vec![Lod::default(); settings.lods.len()];
        return Ok(Output { lods, notes, ..Output::default() });
    }
    let check = || check(settings.deadline);
    check()?;
    let generate = timed.run(Stage::Weld, || mesh.weld(settings.tangents, &mut notes));
    check()?;
    if generate {
        timed.run(Stage::Tangents, || mesh.generate_tangents());
    }
    if let Some(transform) = transform {
        timed.run(Stage::Transform, || mesh.bake(transform))?;
    }
    check()?;
    let unit = mesh.shrink();
    timed.run(Stage::Pack, || mesh.pack_tangents());
    timed.run(Stage::Order, || mesh.order(settings.optimize));
    check()?;
    let output = mesh.finish(settings, unit, &timed, notes);
    // Levels are left out once the deadline has passed.
    check().map(|()| output)
}

/// Gives up when the deadline has passed; called between stages, and between levels of detail.
fn check(deadline: Option<Instant>) -> Result<(), Error> {
    if has_passed(deadline) { Err(Error::Deadline) } else { Ok(()) }
}

pub(crate) fn has_passed(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() > deadline)
}

/// An upper estimate of the bytes in use at the worst moment while so many primitives, with so many vertices and corners
/// of triangles together, are processed side by side: attributes before and after a stage, what they are welded and
/// ordered with, meshlets, levels of detail and the result.
pub fn working_set(primitives: u64, vertices: u64, corners: u64) -> u64 {
    let parts = [(primitives, PRIMITIVE_BYTES), (vertices, VERTEX_BYTES), (corners, CORNER_BYTES)];
    parts.into_iter().fold(0, |sum, (count, bytes)| count.saturating_mul(bytes).saturating_add(sum))
}

/// Bytes for a primitive, a vertex and a corner, as measured with models that are nothing else.
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
