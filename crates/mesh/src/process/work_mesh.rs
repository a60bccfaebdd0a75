//! The mesh between stages, up to its final order.

use super::extra::Extra;
use super::{MeshInput, MeshOptions, Note, TangentMode};
use crate::skin::{self, Influences};
use crate::transform::Transform;
use crate::vector::{Vec3, scale};
use crate::weld::{self, Attribute, Welded};
use crate::{Error, Triangles, high_valence, normals, octahedral, order, tangents};
use rayon::prelude::*;
use std::borrow::Cow;

/// Vertices per unit of parallel work.
pub(super) const BLOCK: usize = 8192;

/// Authored tangents are dropped by [`TangentMode::Auto`] if the vertices with them are more than this many
/// halves of the vertices without. MikkTSpace tangents add a few per cent, where the texture is mirrored.
const MAX_VERTEX_GROWTH_HALVES: usize = 3;

/// A power of two that scales positions to about one, so that no algorithm overflows f32 by squaring.
/// Multiplying by it and back is exact.
#[derive(Clone, Copy)]
pub(crate) struct Unit(pub(crate) f32);

impl Unit {
    pub(crate) fn of(positions: &[Vec3]) -> Self {
        let largest = positions.iter().flatten().fold(0.0f32, |most, x| most.max(x.abs()));
        if largest == 0.0 || (9.765_625e-4..65536.0).contains(&largest) {
            return Self(1.0);
        }
        // The exponent field of a positive float, clamped so that the reciprocal is normal too.
        let exponent = (largest.to_bits() >> 23).clamp(2, 252);
        Self(f32::from_bits(exponent << 23))
    }

    pub(crate) fn shrink(self, positions: &mut [Vec3]) {
        if self.0 != 1.0 {
            let by = 1.0 / self.0;
            positions.iter_mut().for_each(|p| *p = scale(*p, by));
        }
    }

    pub(crate) fn grow(self, position: Vec3) -> Vec3 {
        scale(position, self.0)
    }
}

/// The mesh between two stages: borrowed until a stage changes it.
#[derive(Default)]
pub(super) struct WorkMesh<'a> {
    pub(super) indices: Cow<'a, [u32]>,
    pub(super) positions: Cow<'a, [Vec3]>,
    /// Empty if normals are disabled.
    pub(super) normals: Cow<'a, [Vec3]>,
    pub(super) uvs: Option<Cow<'a, [[f32; 2]]>>,
    pub(super) uv1: Option<Cow<'a, [[f32; 2]]>>,
    pub(super) tangents: Option<Cow<'a, [[f32; 4]]>>,
    /// The tangents in packed form, once no stage needs them unpacked.
    pub(super) packed: Option<Vec<[i16; 2]>>,
    pub(super) skin: Option<Vec<Influences>>,
    pub(super) extra: Extra<'a>,
    /// True if the source had no normals, so that those of the faces were created.
    pub(super) flat_normals: bool,
    positive_zeros: bool,
}

impl<'a> WorkMesh<'a> {
    pub(super) fn new(
        mut input: MeshInput<'a>,
        options: &MeshOptions,
        notes: &mut Vec<Note>,
    ) -> Result<Self, Error> {
        check(&input)?;
        let extra = Extra::take(&mut input);
        extra.check(input.positions.len())?;
        let skin = (!input.skin.is_empty()).then(|| {
            let (mut all, changes) = skin::influences(input.skin, input.positions.len());
            notes.extend((changes.reduced > 0).then_some(Note::ReducedInfluences(changes.reduced)));
            notes.extend((changes.weightless > 0).then_some(Note::WeightlessVertices(changes.weightless)));
            if let Some(map) = input.joint_map {
                let mapped = |joint: u16| map.get(usize::from(joint)).copied().unwrap_or(0);
                all.iter_mut().for_each(|one| one.joints = one.joints.map(mapped));
            }
            all
        });
        let has_normals = input.normals.is_some();
        let mut mesh = Self {
            indices: input.indices,
            positions: input.positions,
            normals: input.normals.filter(|_| options.normals).unwrap_or_default(),
            uvs: input.uvs,
            uv1: input.uv1,
            tangents: input.tangents.filter(|_| options.normals && options.tangents != TangentMode::None),
            packed: None,
            skin,
            extra,
            flat_normals: options.normals && !has_normals,
            positive_zeros: options.positive_zeros,
        };
        if !options.normals || !has_normals {
            mesh.extra.drop_normals();
        }
        if !options.normals {
            return Ok(mesh);
        }
        if !has_normals {
            if !mesh.is_empty() {
                notes.push(Note::FlatNormals);
            }
            mesh.flatten();
        } else if !mesh.normals.iter().all(normals::is_unit) {
            mesh.extra.normalize(&mesh.normals);
            let triangles = Triangles::trusted(&mesh.indices, mesh.positions.len());
            let made = normals::repair(triangles, &mesh.positions, mesh.normals.to_mut());
            notes.extend((made > 0).then_some(Note::RepairedNormals(made)));
        }
        Ok(mesh)
    }

    /// Makes every corner its own vertex, with the normal of its face.
    fn flatten(&mut self) {
        let faces = normals::flat(self.triangles(), &self.positions);
        let corners = self.indices.to_vec();
        self.pick(&corners);
        self.normals = faces.into_iter().flat_map(|normal| [normal; 3]).collect::<Vec<_>>().into();
        self.indices = (0..corners.len() as u32).collect::<Vec<_>>().into();
    }

    /// Replaces the vertices by those at `sources`.
    pub(super) fn pick(&mut self, sources: &[u32]) {
        let zeros = self.positive_zeros;
        self.positions = picked(&self.positions, sources, zeros).into();
        if !self.normals.is_empty() {
            self.normals = picked(&self.normals, sources, zeros).into();
        }
        self.uvs = self.uvs.take().map(|uvs| picked(&uvs, sources, zeros).into());
        self.uv1 = self.uv1.take().map(|uvs| picked(&uvs, sources, zeros).into());
        self.tangents = self.tangents.take().map(|tangents| picked(&tangents, sources, zeros).into());
        self.packed = self.packed.take().map(|packed| weld::gather(&packed, sources));
        self.skin = self.skin.take().map(|skin| weld::gather(&skin, sources));
        self.extra.pick(sources, zeros);
    }

    /// Appends copies of the vertices in `added`; `tangents` are left alone if the caller has new ones.
    fn append(&mut self, added: &[u32], with_tangents: bool) {
        fn copies<T: Copy>(attribute: &mut Cow<'_, [T]>, added: &[u32]) {
            let attribute = attribute.to_mut();
            attribute.extend_from_slice(&weld::gather(attribute, added));
        }
        if added.is_empty() {
            return;
        }
        copies(&mut self.positions, added);
        if !self.normals.is_empty() {
            copies(&mut self.normals, added);
        }
        for uvs in self.uvs.iter_mut().chain(&mut self.uv1) {
            copies(uvs, added);
        }
        if let Some(tangents) = self.tangents.as_mut().filter(|_| with_tangents) {
            copies(tangents, added);
        }
        if let Some(packed) = &mut self.packed {
            packed.extend_from_slice(&weld::gather(packed, added));
        }
        if let Some(skin) = &mut self.skin {
            skin.extend_from_slice(&weld::gather(skin, added));
        }
        self.extra.append(added);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    pub(super) fn triangles(&self) -> Triangles<'_> {
        Triangles::trusted(&self.indices, self.positions.len())
    }

    /// Welds vertices, and returns true if tangents are to be generated.
    pub(super) fn weld(&mut self, mode: TangentMode, notes: &mut Vec<Note>) -> bool {
        let can = self.uvs.is_some();
        if mode == TangentMode::Generate && can {
            self.tangents = None;
        }
        if let Some(authored) = &self.tangents {
            let unusable = authored.iter().filter(|tangent| !is_tangent(tangent)).count();
            if unusable > 0 {
                notes.push(Note::UnusableTangents(unusable));
                if mode == TangentMode::KeepIfAllUsable || mode == TangentMode::Auto && can {
                    self.tangents = None;
                } else {
                    self.replace_tangents();
                }
            }
        }
        let mut welded = self.welded(true);
        if self.tangents.is_some() && mode == TangentMode::Auto && can {
            let without = self.welded(false);
            if welded.sources.len() * 2 > without.sources.len() * MAX_VERTEX_GROWTH_HALVES {
                let (with, count) = (welded.sources.len(), without.sources.len());
                notes.push(Note::TangentsPreventedWelding { with, without: count });
                self.tangents = None;
                welded = without;
            }
        }
        if self.tangents.is_none() {
            self.extra.drop_tangents();
        }
        self.pick(&welded.sources);
        self.indices = welded.indices.into();
        if self.tangents.is_some() || self.normals.is_empty() || mode == TangentMode::None {
            return false;
        }
        notes.extend((!can).then_some(Note::NoTangents));
        can
    }

    fn welded(&self, with_tangents: bool) -> Welded {
        let mut keys = vec![Attribute::F3(&self.positions)];
        keys.extend((!self.normals.is_empty()).then_some(Attribute::F3(&self.normals)));
        keys.extend(self.uvs.iter().chain(&self.uv1).map(|uvs| Attribute::F2(uvs)));
        if with_tangents {
            keys.extend(self.tangents.as_deref().map(Attribute::F4));
        }
        keys.extend(self.extra.keys(with_tangents && self.tangents.is_some()));
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

    /// Replaces invalid authored tangents by a direction perpendicular to the normal.
    fn replace_tangents(&mut self) {
        let Some(authored) = &mut self.tangents else { return };
        for (tangent, &normal) in authored.to_mut().iter_mut().zip(self.normals.iter()) {
            if !is_tangent(tangent) {
                let [x, y, z] = tangents::perpendicular(normal);
                *tangent = [x, y, z, if tangent[3] < 0.0 { -1.0 } else { 1.0 }];
            }
        }
    }

    pub(super) fn generate_tangents(&mut self) {
        let Some(uvs) = &self.uvs else { return };
        let unit = Unit::of(&self.positions);
        let mut near = Cow::Borrowed(&*self.positions);
        if unit.0 != 1.0 {
            unit.shrink(near.to_mut());
        }
        let made = match (&self.skin, &self.uv1) {
            (None, None) if self.extra.is_empty() => {
                tangents::make_welded(self.triangles(), &near, &self.normals, uvs)
            }
            // Vertices may differ in their bone influences, second UVs, colours or morph targets alone, which
            // must not split tangents.
            _ => tangents::make(self.triangles(), &near, &self.normals, uvs),
        };
        drop(near);
        self.append(&made.added, false);
        made.rename(self.indices.to_mut());
        self.tangents = Some(made.tangents.into());
    }

    pub(super) fn bake(&mut self, transform: &Transform) -> Result<(), Error> {
        self.extra.bake(transform, &self.normals, self.tangents.as_deref());
        transform.positions(self.positions.to_mut());
        transform.normals(self.normals.to_mut());
        if let Some(tangents) = &mut self.tangents {
            transform.tangents(tangents.to_mut());
        }
        transform.winding(self.indices.to_mut());
        finite("positions transformed by the node's matrix", &self.positions)
    }

    /// Scales positions to about one for the following algorithms; [`Unit::grow`] undoes it.
    pub(super) fn shrink(&mut self) -> Unit {
        let unit = Unit::of(&self.positions);
        unit.shrink(self.positions.to_mut());
        unit
    }

    /// Packs the tangents: no later stage reads them, and packed they take a quarter of the memory.
    pub(super) fn pack_tangents(&mut self) {
        self.packed = self.tangents.take().map(|tangents| {
            let tangents = tangents.par_iter().with_min_len(BLOCK);
            tangents.map(|&tangent| octahedral::encode_tangent(tangent)).collect()
        });
    }

    /// Orders triangles and vertices for the GPU.
    pub(super) fn order(&mut self, options: &MeshOptions) {
        if !options.optimize {
            return;
        }
        self.indices = order::vertex_cache(self.triangles()).into();
        if options.overdraw_threshold > 0.0 {
            let threshold = options.overdraw_threshold;
            self.indices = order::overdraw(self.triangles(), &self.positions, threshold).into();
        }
        let sources = order::vertex_fetch(self.indices.to_mut(), self.positions.len());
        self.pick(&sources);
    }

    /// Splits [high-valence vertices](high_valence).
    pub(super) fn split_high_valence(&mut self) {
        let count = self.positions.len();
        let added = high_valence::split(self.indices.to_mut(), count);
        self.append(&added, true);
    }
}

/// Returns the elements of `attribute` at `sources`.
pub(super) fn picked<const N: usize>(
    attribute: &[[f32; N]],
    sources: &[u32],
    positive_zeros: bool,
) -> Vec<[f32; N]> {
    match positive_zeros {
        true => weld::gather_floats(attribute, sources),
        false => weld::gather(attribute, sources),
    }
}

fn is_tangent(tangent: &[f32; 4]) -> bool {
    let [x, y, z, w] = tangent;
    let square = x * x + y * y + z * z;
    square > 1e-12 && square.is_finite() && w.is_finite()
}

fn check(input: &MeshInput<'_>) -> Result<(), Error> {
    let expected = input.positions.len();
    Triangles::new(&input.indices, expected)?;
    let mut lengths = vec![
        ("normals", input.normals.as_ref().map(|all| all.len())),
        ("UVs", input.uvs.as_ref().map(|all| all.len())),
        ("second UVs", input.uv1.as_ref().map(|all| all.len())),
        ("tangents", input.tangents.as_ref().map(|all| all.len())),
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
    finite("positions", &input.positions)?;
    finite("UVs", input.uvs.as_deref().unwrap_or_default())
}

pub(super) fn finite<const N: usize>(attribute: &'static str, values: &[[f32; N]]) -> Result<(), Error> {
    // NaN fails the comparison as well.
    match values.iter().position(|value| !value.iter().all(|x| x.abs() < 1e37)) {
        Some(vertex) => Err(Error::NotFinite { attribute, vertex }),
        None => Ok(()),
    }
}
