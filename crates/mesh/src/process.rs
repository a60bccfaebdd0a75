//! One primitive from decoded attributes to what a runtime mesh holds: the stages in their order.
//!
//! Refused: indices out of range, attributes of the wrong length, positions and texture coordinates that are not
//! numbers. Repaired, with a note: normals, tangents and skin weights that cannot be used.

use crate::bounds::{Bounds, bounds};
use crate::meshlets::{self, Meshlets};
use crate::simplify::{self, Lod, Surface};
use crate::skin::{self, Influences};
use crate::transform::Transform;
use crate::vector::{Vec3, scale};
use crate::weld::{self, Attribute, Welded};
use crate::{Error, Triangles, hubs, normals, octahedral, order, tangents};
use std::borrow::Cow;

/// The attributes of one primitive: a triangle list, one element per vertex in everything that is there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Input<'a> {
    /// Three per triangle.
    pub indices: &'a [u32],
    /// Where the vertices are.
    pub positions: &'a [[f32; 3]],
    /// Normals; flat ones are made if there are none.
    pub normals: Option<&'a [[f32; 3]]>,
    /// Texture coordinates, from the top left.
    pub uvs: Option<&'a [[f32; 2]]>,
    /// Tangents with glTF's handedness last.
    pub tangents: Option<&'a [[f32; 4]]>,
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
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tangents: TangentMode::Auto,
            lods: simplify::halves(2),
            lod_error: simplify::DEFAULT_ERROR,
            optimize: true,
            meshlets: true,
        }
    }
}

/// A vertex as the runtime keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vertex {
    /// Where it is.
    pub position: [f32; 3],
    /// Its normal, [octahedral].
    pub normal: [i16; 2],
    /// Its tangent, [octahedral], with the handedness in bit 0 of x.
    pub tangent: [i16; 2],
    /// Its texture coordinates; zero if there are none.
    pub uv: [f32; 2],
}

/// The finished primitive.
#[derive(Clone, Debug, PartialEq)]
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
    /// Triangles and vertices are ordered.
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

/// Authored tangents that make this many halves of the vertices there would be without them are not kept by
/// [`TangentMode::Auto`]. MikkTSpace tangents add a few per cent, where the texture is mirrored.
const TOO_MANY_HALVES: usize = 3;

/// Runs all stages.
pub fn process(input: &Input<'_>, settings: &Settings) -> Result<Output, Error> {
    process_watched(input, settings, &|_, _| ())
}

/// As [`process()`], calling `watch` when a stage begins (`true`) and ends (`false`), on the thread that runs it.
/// [`Stage::LodOrder`] is part of [`Stage::Lods`].
pub fn process_watched(
    input: &Input<'_>,
    settings: &Settings,
    watch: &(dyn Fn(Stage, bool) + Sync),
) -> Result<Output, Error> {
    let timed = Timed(watch);
    let mut notes = Vec::new();
    let mut mesh = timed.run(Stage::Prepare, || Mesh::new(input, &mut notes))?;
    if mesh.indices.is_empty() {
        notes.push(Note::NoTriangles);
        return Ok(Output {
            vertices: Vec::new(),
            skin: Vec::new(),
            indices: Vec::new(),
            meshlets: Meshlets::default(),
            lods: vec![Lod::default(); settings.lods.len()],
            bounds: Bounds::EMPTY,
            has_tangents: false,
            notes,
        });
    }
    let generate = timed.run(Stage::Weld, || mesh.weld(settings.tangents, &mut notes));
    if generate {
        timed.run(Stage::Tangents, || mesh.generate_tangents());
    }
    if let Some(transform) = input.transform {
        timed.run(Stage::Transform, || mesh.bake(transform))?;
    }
    let unit = Unit::of(&mesh.positions);
    unit.shrink(mesh.positions.to_mut());
    mesh.split_hubs();
    if settings.optimize {
        timed.run(Stage::Order, || mesh.order());
    }
    mesh.finish(settings, unit, &timed, notes)
}

struct Timed<'a>(&'a (dyn Fn(Stage, bool) + Sync));

impl Timed<'_> {
    fn run<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        (self.0)(stage, true);
        let result = work();
        (self.0)(stage, false);
        result
    }
}

/// A power of two that brings positions near one, so that no algorithm squares its way out of f32. Multiplying by
/// it and back changes no bit that matters.
#[derive(Clone, Copy)]
struct Unit(f32);

impl Unit {
    fn of(positions: &[Vec3]) -> Self {
        let largest = positions.iter().flatten().fold(0.0f32, |most, x| most.max(x.abs()));
        if largest == 0.0 || (9.765_625e-4..65536.0).contains(&largest) {
            return Self(1.0);
        }
        // The exponent field of a positive float, kept where the reciprocal is normal too.
        let exponent = (largest.to_bits() >> 23).clamp(2, 252);
        Self(f32::from_bits(exponent << 23))
    }

    fn shrink(self, positions: &mut [Vec3]) {
        if self.0 != 1.0 {
            let by = 1.0 / self.0;
            positions.iter_mut().for_each(|p| *p = scale(*p, by));
        }
    }

    fn grow(self, position: Vec3) -> Vec3 {
        scale(position, self.0)
    }
}

/// The mesh between two stages: borrowed for as long as nothing has changed.
struct Mesh<'a> {
    indices: Cow<'a, [u32]>,
    positions: Cow<'a, [Vec3]>,
    normals: Cow<'a, [Vec3]>,
    uvs: Option<Cow<'a, [[f32; 2]]>>,
    tangents: Option<Cow<'a, [[f32; 4]]>>,
    skin: Option<Vec<Influences>>,
}

impl<'a> Mesh<'a> {
    fn new(input: &Input<'a>, notes: &mut Vec<Note>) -> Result<Self, Error> {
        let triangles = check(input)?;
        let skin = (!input.skin.is_empty()).then(|| {
            let (all, changes) = skin::influences(input.skin, input.positions.len());
            notes.extend((changes.reduced > 0).then_some(Note::ReducedInfluences(changes.reduced)));
            notes.extend((changes.weightless > 0).then_some(Note::WeightlessVertices(changes.weightless)));
            all
        });
        let mut mesh = Self {
            indices: Cow::Borrowed(input.indices),
            positions: Cow::Borrowed(input.positions),
            normals: Cow::Borrowed(input.normals.unwrap_or_default()),
            uvs: input.uvs.map(Cow::Borrowed),
            tangents: input.tangents.map(Cow::Borrowed),
            skin,
        };
        if input.normals.is_none() {
            if !triangles.is_empty() {
                notes.push(Note::FlatNormals);
            }
            mesh.flatten(triangles);
        } else if input.normals.is_some_and(|normals| !normals.iter().all(normals::is_unit)) {
            let made = normals::repair(triangles, input.positions, mesh.normals.to_mut());
            notes.extend((made > 0).then_some(Note::RepairedNormals(made)));
        }
        Ok(mesh)
    }

    /// Every corner its own vertex, with the normal of its face.
    fn flatten(&mut self, triangles: Triangles<'_>) {
        let faces = normals::flat(triangles, &self.positions);
        let corners = self.indices.to_vec();
        self.pick(&corners);
        self.normals = faces.into_iter().flat_map(|normal| [normal; 3]).collect::<Vec<_>>().into();
        self.indices = (0..corners.len() as u32).collect::<Vec<_>>().into();
    }

    /// Replaces the vertices by those at `sources`.
    fn pick(&mut self, sources: &[u32]) {
        self.positions = weld::gather_floats(&self.positions, sources).into();
        if !self.normals.is_empty() {
            self.normals = weld::gather_floats(&self.normals, sources).into();
        }
        self.uvs = self.uvs.take().map(|uvs| weld::gather_floats(&uvs, sources).into());
        self.tangents = self.tangents.take().map(|tangents| weld::gather_floats(&tangents, sources).into());
        self.skin = self.skin.take().map(|skin| weld::gather(&skin, sources));
    }

    /// Adds copies of the vertices in `added` (tangents aside: whoever adds them has them).
    fn append(&mut self, added: &[u32]) {
        fn copies<T: Copy>(attribute: &mut Cow<'_, [T]>, added: &[u32]) {
            let attribute = attribute.to_mut();
            attribute.extend_from_slice(&weld::gather(attribute, added));
        }
        if added.is_empty() {
            return;
        }
        copies(&mut self.positions, added);
        copies(&mut self.normals, added);
        if let Some(uvs) = &mut self.uvs {
            copies(uvs, added);
        }
        if let Some(skin) = &mut self.skin {
            skin.extend_from_slice(&weld::gather(skin, added));
        }
    }

    fn triangles(&self) -> Triangles<'_> {
        Triangles::trusted(&self.indices, self.positions.len())
    }

    /// Welds, and decides whether tangents are to be made.
    fn weld(&mut self, mode: TangentMode, notes: &mut Vec<Note>) -> bool {
        let can = self.uvs.is_some();
        if mode == TangentMode::Generate && can {
            self.tangents = None;
        }
        if let Some(authored) = &self.tangents {
            let unusable = authored.iter().filter(|tangent| !is_tangent(tangent)).count();
            if unusable > 0 {
                notes.push(Note::UnusableTangents(unusable));
                if mode == TangentMode::Auto && can {
                    self.tangents = None;
                } else {
                    self.replace_tangents();
                }
            }
        }
        let mut welded = self.welded(true);
        if self.tangents.is_some() && mode == TangentMode::Auto && can {
            let without = self.welded(false);
            if welded.sources.len() * 2 > without.sources.len() * TOO_MANY_HALVES {
                let (with, count) = (welded.sources.len(), without.sources.len());
                notes.push(Note::TangentsPreventedWelding { with, without: count });
                self.tangents = None;
                welded = without;
            }
        }
        self.pick(&welded.sources);
        self.indices = welded.indices.into();
        if self.tangents.is_none() && !can {
            notes.push(Note::NoTangents);
        }
        self.tangents.is_none() && can
    }

    fn welded(&self, with_tangents: bool) -> Welded {
        let mut keys = vec![Attribute::F3(&self.positions), Attribute::F3(&self.normals)];
        keys.extend(self.uvs.as_deref().map(Attribute::F2));
        if with_tangents {
            keys.extend(self.tangents.as_deref().map(Attribute::F4));
        }
        match &self.skin {
            None => weld::weld(self.triangles(), &keys),
            Some(skin) => {
                let joints: Vec<_> = skin.iter().map(|s| s.joints).collect();
                let weights: Vec<_> = skin.iter().map(|s| s.weights).collect();
                keys.extend([Attribute::U4(&joints), Attribute::F4(&weights)]);
                weld::weld(self.triangles(), &keys)
            }
        }
    }

    /// Gives authored tangents that are none some direction across the normal.
    fn replace_tangents(&mut self) {
        let Some(authored) = &mut self.tangents else { return };
        for (tangent, &normal) in authored.to_mut().iter_mut().zip(self.normals.iter()) {
            if !is_tangent(tangent) {
                let [x, y, z] = tangents::across(normal);
                *tangent = [x, y, z, if tangent[3] < 0.0 { -1.0 } else { 1.0 }];
            }
        }
    }

    fn generate_tangents(&mut self) {
        let Some(uvs) = &self.uvs else { return };
        let unit = Unit::of(&self.positions);
        let mut near = Cow::Borrowed(&*self.positions);
        if unit.0 != 1.0 {
            unit.shrink(near.to_mut());
        }
        let made = match self.skin {
            None => tangents::generate_welded(self.triangles(), &near, &self.normals, uvs),
            // Vertices may differ in their influences alone, which must not part tangents.
            Some(_) => tangents::generate(self.triangles(), &near, &self.normals, uvs),
        };
        drop(near);
        self.append(&made.added);
        self.indices = made.indices.into();
        self.tangents = Some(made.tangents.into());
    }

    fn bake(&mut self, transform: &Transform) -> Result<(), Error> {
        transform.positions(self.positions.to_mut());
        transform.normals(self.normals.to_mut());
        if let Some(tangents) = &mut self.tangents {
            transform.tangents(tangents.to_mut());
        }
        transform.winding(self.indices.to_mut());
        finite("positions under their node's matrix", &self.positions)
    }

    fn split_hubs(&mut self) {
        let count = self.positions.len();
        let added = hubs::split(self.indices.to_mut(), count);
        self.append(&added);
        if let (Some(tangents), false) = (&mut self.tangents, added.is_empty()) {
            let tangents = tangents.to_mut();
            tangents.extend_from_slice(&weld::gather(tangents, &added));
        }
    }

    fn order(&mut self) {
        let count = self.positions.len();
        let cached = order::vertex_cache(self.triangles());
        let mut indices = order::overdraw(Triangles::trusted(&cached, count), &self.positions);
        let sources = order::vertex_fetch(&mut indices, count);
        self.pick(&sources);
        self.indices = indices.into();
    }

    fn finish(
        self,
        settings: &Settings,
        unit: Unit,
        timed: &Timed<'_>,
        notes: Vec<Note>,
    ) -> Result<Output, Error> {
        let triangles = self.triangles();
        let (mut lods, (mut meshlets, (vertices, bounds))) = rayon::join(
            || timed.run(Stage::Lods, || self.lods(settings, timed)),
            || {
                rayon::join(
                    || {
                        timed.run(Stage::Meshlets, || match settings.meshlets {
                            true => meshlets::build(triangles, &self.positions),
                            false => Meshlets::default(),
                        })
                    },
                    || timed.run(Stage::Pack, || self.pack(unit)),
                )
            },
        );
        if unit.0 != 1.0 {
            for cluster in &mut meshlets.bounds {
                cluster.center = unit.grow(cluster.center);
                cluster.radius *= unit.0;
            }
            lods.iter_mut().for_each(|lod| lod.error *= unit.0);
        }
        Ok(Output {
            vertices,
            skin: self.skin.unwrap_or_default(),
            indices: self.indices.into_owned(),
            meshlets,
            lods,
            bounds,
            has_tangents: self.tangents.is_some(),
            notes,
        })
    }

    fn lods(&self, settings: &Settings, timed: &Timed<'_>) -> Vec<Lod> {
        let count = self.positions.len();
        let finish = |indices: &[u32]| match settings.optimize {
            true => timed.run(Stage::LodOrder, || order::vertex_cache(Triangles::trusted(indices, count))),
            false => indices.to_vec(),
        };
        let surface = Surface {
            positions: &self.positions,
            normals: Some(&self.normals),
            uvs: self.uvs.as_deref(),
            skin: self.skin.as_deref(),
        };
        simplify::chain(self.triangles(), &surface, &settings.lods, settings.lod_error, &finish)
    }

    fn pack(&self, unit: Unit) -> (Vec<Vertex>, Bounds) {
        let vertex = |at: usize| Vertex {
            position: unit.grow(self.positions[at]),
            normal: octahedral::encode(self.normals[at]),
            tangent: self.tangents.as_ref().map_or([0, 0], |all| octahedral::encode_tangent(all[at])),
            uv: self.uvs.as_ref().map_or([0.0; 2], |all| all[at]),
        };
        let vertices: Vec<Vertex> = (0..self.positions.len()).map(vertex).collect();
        let around = bounds(vertices.iter().map(|vertex| vertex.position));
        (vertices, around)
    }
}

fn is_tangent(tangent: &[f32; 4]) -> bool {
    let [x, y, z, w] = tangent;
    let square = x * x + y * y + z * z;
    square > 1e-12 && square.is_finite() && w.is_finite()
}

fn check<'a>(input: &Input<'a>) -> Result<Triangles<'a>, Error> {
    let expected = input.positions.len();
    let triangles = Triangles::new(input.indices, expected)?;
    let mut lengths = vec![
        ("normals", input.normals.map(<[_]>::len)),
        ("texture coordinates", input.uvs.map(<[_]>::len)),
        ("tangents", input.tangents.map(<[_]>::len)),
    ];
    for set in input.skin {
        lengths.extend([("joints", Some(set.joints.len())), ("weights", Some(set.weights.len()))]);
    }
    for (attribute, found) in lengths {
        if let Some(found) = found
            && found != expected
        {
            return Err(Error::Length { attribute, found, expected });
        }
    }
    finite("positions", input.positions)?;
    finite("texture coordinates", input.uvs.unwrap_or_default())?;
    Ok(triangles)
}

fn finite<const N: usize>(attribute: &'static str, values: &[[f32; N]]) -> Result<(), Error> {
    // NaN fails the comparison as well.
    match values.iter().position(|value| !value.iter().all(|x| x.abs() < 1e37)) {
        Some(vertex) => Err(Error::NotFinite { attribute, vertex }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::tests::multiset;
    use crate::samples::{Sample, mirrored_sheet, soup, sphere};
    use proptest::prelude::*;

    fn input(sample: &Sample) -> Input<'_> {
        Input {
            indices: &sample.indices,
            positions: &sample.positions,
            normals: Some(&sample.normals),
            uvs: Some(&sample.uvs),
            ..Input::default()
        }
    }

    type Corner = ([u32; 3], [i16; 2], [u32; 2]);

    /// Triangles by what their corners hold, winding kept: positions, packed normals, texture coordinates.
    fn source(input: &Input<'_>) -> Vec<[Corner; 3]> {
        let bits = |x: f32| (x + 0.0).to_bits();
        multiset(Triangles::new(input.indices, input.positions.len()).unwrap().iter().map(|t| {
            t.map(|v| {
                let v = v as usize;
                let normal = octahedral::encode(input.normals.unwrap()[v]);
                (input.positions[v].map(bits), normal, input.uvs.map_or([0, 0], |uvs| uvs[v].map(bits)))
            })
        }))
    }

    fn result(output: &Output, indices: impl Iterator<Item = [u32; 3]>) -> Vec<[Corner; 3]> {
        multiset(indices.map(|t| {
            t.map(|v| {
                let vertex = output.vertices[v as usize];
                (vertex.position.map(f32::to_bits), vertex.normal, vertex.uv.map(f32::to_bits))
            })
        }))
    }

    fn triples(indices: &[u32]) -> impl Iterator<Item = [u32; 3]> {
        indices.as_chunks::<3>().0.iter().copied()
    }

    /// All that must hold whatever goes in.
    fn sound(output: &Output) {
        let count = output.vertices.len();
        for indices in [&output.indices].into_iter().chain(output.lods.iter().map(|lod| &lod.indices)) {
            assert!(Triangles::new(indices, count).is_ok());
        }
        for vertex in &output.vertices {
            let p = vertex.position;
            assert!(p.iter().all(|x| x.is_finite()));
            assert!((0..3).all(|a| output.bounds.min[a] <= p[a] && p[a] <= output.bounds.max[a]));
            let apart = |a: usize| f64::from(p[a]) - f64::from(output.bounds.center[a]);
            let square: f64 = (0..3).map(|a| apart(a) * apart(a)).sum();
            assert!(square.sqrt() <= f64::from(output.bounds.radius));
        }
        let lists = output.meshlets.meshlets.iter().flat_map(|m| {
            let vertices = &output.meshlets.vertices[m.vertex_offset as usize..][..m.vertex_count as usize];
            let triangles =
                &output.meshlets.triangles[m.triangle_offset as usize..][..m.triangle_count as usize];
            triangles.iter().map(|t| t.map(|local| vertices[usize::from(local)]))
        });
        if !output.meshlets.meshlets.is_empty() {
            assert_eq!(multiset(lists), multiset(triples(&output.indices)));
        }
        assert!(output.skin.is_empty() || output.skin.len() == count);
    }

    #[test]
    fn every_triangle_arrives() {
        let all = Settings::default();
        let plain = Settings { optimize: false, meshlets: false, lods: vec![], ..Settings::default() };
        for sample in [sphere(24, 12), mirrored_sheet(8), soup(3, 40, 100)] {
            for settings in [&all, &plain] {
                let output = process(&input(&sample), settings).unwrap();
                sound(&output);
                assert_eq!(result(&output, triples(&output.indices)), source(&input(&sample)));
                assert!(output.has_tangents);
                assert_eq!(output.lods.len(), settings.lods.len());
                assert_eq!(output.meshlets.meshlets.is_empty(), !settings.meshlets);
            }
        }
    }

    #[test]
    fn one_thread_or_many() {
        let sample = sphere(400, 200);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| process(&input(&sample), &Settings::default())).unwrap()
        };
        let one = run(1);
        assert!(one == run(2) && one == run(5));
    }

    #[test]
    fn missing_normals_are_flat_and_missing_uvs_mean_no_tangents() {
        let sample = sphere(12, 6);
        let output =
            process(&Input { normals: None, uvs: None, ..input(&sample) }, &Settings::default()).unwrap();
        sound(&output);
        assert_eq!(output.notes, [Note::FlatNormals, Note::NoTangents]);
        assert!(
            !output.has_tangents && output.vertices.iter().all(|v| v.tangent == [0, 0] && v.uv == [0.0; 2])
        );
        for t in triples(&output.indices) {
            let [a, b, c] = t.map(|v| output.vertices[v as usize]);
            let face = crate::vector::unit64(crate::vector::face(a.position, b.position, c.position));
            assert!([a, b, c].iter().all(|v| v.normal == octahedral::encode(face)));
        }
    }

    #[test]
    fn authored_tangents() {
        let sample = mirrored_sheet(8);
        let made = process(&input(&sample), &Settings::default()).unwrap();
        // Kept: one direction everywhere.
        let authored = vec![[1.0, 0.0, 0.0, -1.0]; sample.positions.len()];
        let with = Input { tangents: Some(&authored), ..input(&sample) };
        let output = process(&with, &Settings::default()).unwrap();
        assert!(output.notes.is_empty());
        assert!(output.vertices.iter().all(|v| v.tangent == octahedral::encode_tangent(authored[0])));
        // Made anew on request.
        let generate = Settings { tangents: TangentMode::Generate, ..Settings::default() };
        assert_eq!(process(&with, &generate).unwrap(), made);
        // Different at every corner: they would keep every vertex apart.
        let apart = Sample {
            positions: sample.indices.iter().map(|&i| sample.positions[i as usize]).collect(),
            normals: sample.indices.iter().map(|&i| sample.normals[i as usize]).collect(),
            uvs: sample.indices.iter().map(|&i| sample.uvs[i as usize]).collect(),
            indices: (0..sample.indices.len() as u32).collect(),
        };
        let wild: Vec<[f32; 4]> =
            (0..apart.indices.len()).map(|i| [1.0, i as f32 * 1e-3, 0.0, 1.0]).collect();
        let with = Input { tangents: Some(&wild), ..input(&apart) };
        let output = process(&with, &Settings::default()).unwrap();
        assert_eq!(output.notes, [Note::TangentsPreventedWelding { with: 384, without: 81 }]);
        assert_eq!(output.vertices, made.vertices);
        let keep = Settings { tangents: TangentMode::Keep, ..Settings::default() };
        assert_eq!(process(&with, &keep).unwrap().vertices.len(), 384);
        // Unusable ones.
        let broken = vec![[f32::NAN, 0.0, 0.0, 1.0]; sample.positions.len()];
        let with = Input { tangents: Some(&broken), ..input(&sample) };
        let output = process(&with, &Settings::default()).unwrap();
        assert_eq!(output.notes, [Note::UnusableTangents(81)]);
        assert_eq!(output.vertices, made.vertices);
        let output = process(&Input { uvs: None, ..with }, &keep).unwrap();
        assert!(output.has_tangents && output.vertices.iter().all(|v| v.tangent != [0, 0]));
    }

    #[test]
    fn mirrored_nodes_face_outward() {
        let sample = sphere(16, 8);
        let mut matrix = [0.0; 16];
        (matrix[0], matrix[5], matrix[10], matrix[15], matrix[13]) = (-2.0, 1.0, 3.0, 1.0, 10.0);
        let transform = Transform::new(&matrix);
        let output =
            process(&Input { transform: Some(&transform), ..input(&sample) }, &Settings::default()).unwrap();
        sound(&output);
        let plain = process(&input(&sample), &Settings::default()).unwrap();
        for t in triples(&output.indices) {
            let corners = t.map(|v| output.vertices[v as usize]);
            let face = crate::vector::unit64(crate::vector::face(
                corners[0].position,
                corners[1].position,
                corners[2].position,
            ));
            if face == [0.0; 3] {
                continue;
            }
            for corner in corners {
                assert!(crate::vector::dot(face, octahedral::decode(corner.normal)) > 0.3);
                let outward = [corner.position[0], corner.position[1] - 10.0, corner.position[2]];
                assert!(crate::vector::dot(face, outward) > 0.0);
            }
        }
        // The texture runs the other way around. (The two vertices at the poles that only collapsed triangles use have
        // no texture to go by.)
        let left = |output: &Output| output.vertices.iter().filter(|v| v.tangent[0] & 1 == 1).count();
        assert_eq!((left(&plain), left(&output)), (plain.vertices.len() - 2, 2));
        // Sent beyond f32, it is refused.
        matrix[0] = 1e300;
        let far = Transform::new(&matrix);
        let error =
            process(&Input { transform: Some(&far), ..input(&sample) }, &Settings::default()).unwrap_err();
        assert!(matches!(error, Error::NotFinite { .. }));
    }

    #[test]
    fn skins_are_welded_by_influence_and_share_tangents() {
        let sample = mirrored_sheet(8);
        let count = sample.positions.len();
        let joints: Vec<[u16; 4]> = (0..count).map(|i| [(i % 3) as u16, 9, 0, 0]).collect();
        let weights = vec![[3.0, 1.0, 0.0, 0.0]; count];
        let sets = [skin::Set { joints: &joints, weights: &weights }];
        let output = process(&Input { skin: &sets, ..input(&sample) }, &Settings::default()).unwrap();
        sound(&output);
        assert_eq!(output.skin.len(), output.vertices.len());
        assert!(output.skin.iter().all(|s| s.weights == [0.75, 0.25, 0.0, 0.0] && s.joints[1] == 9));
        assert_eq!(result(&output, triples(&output.indices)), source(&input(&sample)));
    }

    #[test]
    fn nothing_and_nonsense() {
        let output = process(&Input::default(), &Settings::default()).unwrap();
        assert_eq!(
            (output.notes, output.bounds, output.lods.len()),
            (vec![Note::NoTriangles], Bounds::EMPTY, 2)
        );
        let sample = soup(1, 10, 5);
        let fails = |input: Input<'_>| process(&input, &Settings::default()).unwrap_err();
        let normals = [[0.0; 3]; 9];
        assert_eq!(
            fails(Input { normals: Some(&normals), ..input(&sample) }),
            Error::Length { attribute: "normals", found: 9, expected: 10 }
        );
        assert!(matches!(
            fails(Input { indices: &[0, 1, 10], ..input(&sample) }),
            Error::IndexOutOfRange { .. }
        ));
        for bad in [f32::NAN, f32::INFINITY, -3e38] {
            let mut positions = sample.positions.clone();
            positions[4][1] = bad;
            assert_eq!(
                fails(Input { positions: &positions, ..input(&sample) }),
                Error::NotFinite { attribute: "positions", vertex: 4 }
            );
        }
        let mut normals = sample.normals.clone();
        normals[sample.indices[0] as usize] = [f32::NAN; 3];
        let output =
            process(&Input { normals: Some(&normals), ..input(&sample) }, &Settings::default()).unwrap();
        assert_eq!(output.notes, [Note::RepairedNormals(1)]);
    }

    #[test]
    fn tiny_and_huge_meshes_come_out_alike() {
        let sample = sphere(32, 16);
        let plain = process(&input(&sample), &Settings::default()).unwrap();
        for exponent in [-60, -20, 20, 60, 100] {
            let by = f32::from_bits(((exponent + 127) as u32) << 23);
            let scaled = Sample {
                positions: sample.positions.iter().map(|&p| scale(p, by)).collect(),
                normals: sample.normals.clone(),
                uvs: sample.uvs.clone(),
                indices: sample.indices.clone(),
            };
            let output = process(&input(&scaled), &Settings::default()).unwrap();
            sound(&output);
            assert_eq!(
                (&output.indices, &output.meshlets.meshlets),
                (&plain.indices, &plain.meshlets.meshlets)
            );
            assert!(output.vertices.iter().zip(&plain.vertices).all(|(a, b)| {
                a.position == scale(b.position, by) && (a.normal, a.tangent) == (b.normal, b.tangent)
            }));
            for (a, b) in output.lods.iter().zip(&plain.lods) {
                assert_eq!(a.indices.len(), b.indices.len());
                assert!((a.error / (b.error * by) - 1.0).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn hostile_fans_end() {
        // A fan of 100,000 around one vertex, then 100,000 collapsed triangles on it.
        let count = 100_000u32;
        let mut positions = vec![[0.0, 0.0, 1.0]];
        positions.extend((0..=count).map(|i| [libm::cosf(i as f32), libm::sinf(i as f32), 0.0]));
        let mut indices: Vec<u32> = (0..count).flat_map(|i| [0, i + 1, i + 2]).collect();
        indices.extend(std::iter::repeat_n(0, 300_000));
        let uvs = vec![[0.5, 0.5]; positions.len()];
        let normals = vec![[0.0, 0.0, 1.0]; positions.len()];
        let input = Input {
            indices: &indices,
            positions: &positions,
            normals: Some(&normals),
            uvs: Some(&uvs),
            ..Input::default()
        };
        let output = process(&input, &Settings::default()).unwrap();
        sound(&output);
        assert_eq!(result(&output, triples(&output.indices)), source(&input));
    }

    proptest! {
        #[test]
        fn soups_arrive_whole(seed: u64, vertices in 3u32..60, triangles in 0u32..200, extra in 0usize..4) {
            let mut sample = soup(seed, vertices, triangles);
            // Duplicates of vertices and of triangles, and a collapsed one.
            for i in 0..extra {
                sample.positions.push(sample.positions[i % 3]);
                sample.normals.push(sample.normals[i % 3]);
                sample.uvs.push(sample.uvs[i % 3]);
                sample.indices.extend([vertices + i as u32, 1, 2, 0, 1, 1]);
            }
            let output = process(&input(&sample), &Settings::default()).unwrap();
            sound(&output);
            prop_assert_eq!(result(&output, triples(&output.indices)), source(&input(&sample)));
        }
    }
}
