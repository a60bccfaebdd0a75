//! Vertex attributes beyond those that the pipeline computes with: further UV sets, vertex colours and morph targets.
//!
//! They follow every stage: vertices that differ in one of them are not welded, copies of a vertex copy them, and a
//! node's matrix transforms the displacements of morph targets. Simplification picks vertices and never averages them,
//! so that an LOD has the values of the vertices that it keeps.

use super::work_mesh::picked;
use super::{MeshInput, MorphTarget, WorkMesh};
use crate::Error;
use crate::transform::Transform;
use crate::vector::Vec3;
use crate::weld::{self, Attribute};
use std::borrow::Cow;

/// The displacements of one morph target; a list that is absent stands for zeros.
#[derive(Clone, Debug, Default)]
pub struct MorphInput<'a> {
    /// The displacements of the positions.
    pub positions: Option<Cow<'a, [[f32; 3]]>>,
    /// The displacements of the normals. They are dropped where the mesh has no normals of its own.
    pub normals: Option<Cow<'a, [[f32; 3]]>>,
    /// The displacements of the tangents. They are dropped where the authored tangents are not kept.
    pub tangents: Option<Cow<'a, [[f32; 3]]>>,
}

/// The attributes that follow the vertices.
#[derive(Default)]
pub(super) struct Extra<'a> {
    uvs: Vec<Cow<'a, [[f32; 2]]>>,
    colors: Option<Cow<'a, [[f32; 4]]>>,
    targets: Vec<MorphInput<'a>>,
}

/// The result of the pipeline for attributes that only some meshes have.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ExtraAttributes {
    /// The second UV set, where the vertices themselves do not have it; empty if the input had none.
    pub uv1: Vec<[f32; 2]>,
    /// The UV sets after the second.
    pub further_uvs: Vec<Vec<[f32; 2]>>,
    /// The vertex colours; empty if the input had none.
    pub colors: Vec<[f32; 4]>,
    /// The morph targets of the input, in its order.
    pub morph_targets: Vec<MorphTarget>,
}

impl<'a> Extra<'a> {
    pub(super) fn take(input: &mut MeshInput<'a>) -> Extra<'a> {
        Extra {
            uvs: std::mem::take(&mut input.further_uvs),
            colors: input.colors.take(),
            targets: std::mem::take(&mut input.morph_targets),
        }
    }

    /// Checks that every attribute has an element for each vertex, and that all numbers are finite.
    pub(super) fn check(&self, vertices: usize) -> Result<(), Error> {
        fn one<const N: usize>(
            attribute: &'static str,
            values: &[[f32; N]],
            expected: usize,
        ) -> Result<(), Error> {
            match values.len() == expected {
                true => super::work_mesh::finite(attribute, values),
                false => Err(Error::Length { attribute, found: values.len(), expected }),
            }
        }
        self.uvs.iter().try_for_each(|uvs| one("further UVs", uvs, vertices))?;
        self.colors.iter().try_for_each(|colors| one("vertex colours", colors, vertices))?;
        let lists = self.targets.iter().flat_map(|t| [&t.positions, &t.normals, &t.tangents]).flatten();
        lists.into_iter().try_for_each(|deltas| one("morph targets", deltas, vertices))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.uvs.is_empty() && self.colors.is_none() && self.targets.is_empty()
    }

    pub(super) fn drop_normals(&mut self) {
        self.targets.iter_mut().for_each(|target| target.normals = None);
    }

    pub(super) fn drop_tangents(&mut self) {
        self.targets.iter_mut().for_each(|target| target.tangents = None);
    }

    /// Returns the attributes that keep vertices apart.
    pub(super) fn keys(&self, with_tangents: bool) -> Vec<Attribute<'_>> {
        let mut keys: Vec<Attribute<'_>> = self.uvs.iter().map(|uvs| Attribute::F2(uvs)).collect();
        keys.extend(self.colors.iter().map(|colors| Attribute::F4(colors)));
        for target in &self.targets {
            let tangents = target.tangents.as_ref().filter(|_| with_tangents);
            let deltas = target.positions.iter().chain(&target.normals).chain(tangents);
            keys.extend(deltas.map(|deltas| Attribute::F3(deltas)));
        }
        keys
    }

    /// Returns the displacements of positions, which keep vertices of shadow geometry apart.
    pub(super) fn position_keys(&self) -> impl Iterator<Item = Attribute<'_>> {
        self.targets.iter().filter_map(|target| Some(Attribute::F3(target.positions.as_deref()?)))
    }

    /// Replaces the vertices by those at `sources`.
    pub(super) fn pick(&mut self, sources: &[u32], zeros: bool) {
        self.uvs.iter_mut().for_each(|uvs| *uvs = picked(uvs, sources, zeros).into());
        self.colors.iter_mut().for_each(|colors| *colors = picked(colors, sources, zeros).into());
        self.deltas().for_each(|deltas| *deltas = picked(deltas, sources, zeros).into());
    }

    /// Appends copies of the vertices in `added`.
    pub(super) fn append(&mut self, added: &[u32]) {
        fn copies<T: Copy>(attribute: &mut Cow<'_, [T]>, added: &[u32]) {
            let attribute = attribute.to_mut();
            attribute.extend_from_slice(&weld::gather(attribute, added));
        }
        self.uvs.iter_mut().for_each(|uvs| copies(uvs, added));
        self.colors.iter_mut().for_each(|colors| copies(colors, added));
        self.deltas().for_each(|deltas| copies(deltas, added));
    }

    fn deltas(&mut self) -> impl Iterator<Item = &mut Cow<'a, [Vec3]>> {
        fn lists<'t, 'a>(target: &'t mut MorphInput<'a>) -> [Option<&'t mut Cow<'a, [Vec3]>>; 3] {
            [target.positions.as_mut(), target.normals.as_mut(), target.tangents.as_mut()]
        }
        self.targets.iter_mut().flat_map(lists).flatten()
    }

    /// Divides the displacements of normals by the lengths of the authored normals, which are about to become unit
    /// vectors: the direction of the blended normal stays the same.
    pub(super) fn normalize(&mut self, normals: &[Vec3]) {
        for deltas in self.targets.iter_mut().filter_map(|target| target.normals.as_mut()) {
            for (delta, [x, y, z]) in deltas.to_mut().iter_mut().zip(normals) {
                let length = (x * x + y * y + z * z).sqrt();
                if length > 1e-6 && length.is_finite() && (length - 1.0).abs() > 1e-4 {
                    *delta = delta.map(|v| v / length);
                }
            }
        }
    }

    /// Transforms the displacements by a node's matrix; `normals` and `tangents` are those before the transform.
    pub(super) fn bake(&mut self, transform: &Transform, normals: &[Vec3], tangents: Option<&[[f32; 4]]>) {
        for target in &mut self.targets {
            if let Some(deltas) = &mut target.positions {
                transform.displacements(deltas.to_mut());
            }
            if let Some(deltas) = &mut target.normals {
                transform.normal_displacements(normals, deltas.to_mut());
            }
            if let (Some(deltas), Some(tangents)) = (&mut target.tangents, tangents) {
                transform.tangent_displacements(tangents, deltas.to_mut());
            }
        }
    }

    fn into_attributes(self) -> ExtraAttributes {
        let list = |deltas: Option<Cow<'a, [Vec3]>>| deltas.unwrap_or_default().into_owned();
        let target = |target: MorphInput<'a>| MorphTarget {
            positions: list(target.positions),
            normals: list(target.normals),
            tangents: list(target.tangents),
        };
        ExtraAttributes {
            uv1: Vec::new(),
            further_uvs: self.uvs.into_iter().map(Cow::into_owned).collect(),
            colors: self.colors.unwrap_or_default().into_owned(),
            morph_targets: self.targets.into_iter().map(target).collect(),
        }
    }
}

impl WorkMesh<'_> {
    /// Returns the attributes of the output that only some meshes have.
    pub(super) fn extra_attributes(&mut self) -> ExtraAttributes {
        let uv1 = self.uv1.take().unwrap_or_default().into_owned();
        ExtraAttributes { uv1, ..std::mem::take(&mut self.extra).into_attributes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{MeshOptions, TangentMode, process_streams};
    use crate::vector::unit;

    /// A grid of n × n quads with every corner a vertex of its own; attributes are functions of the position.
    fn grid(n: u32) -> (Vec<[f32; 3]>, Vec<u32>) {
        let corner = |x: u32, y: u32| [x as f32, y as f32, ((x * 7 + y * 3) % 5) as f32 * 0.1];
        let quad = |i: u32| {
            let (x, y) = (i % n, i / n);
            let [a, b, c, d] = [corner(x, y), corner(x + 1, y), corner(x, y + 1), corner(x + 1, y + 1)];
            [a, b, d, a, d, c]
        };
        let positions: Vec<[f32; 3]> = (0..n * n).flat_map(quad).collect();
        let indices = (0..positions.len() as u32).collect();
        (positions, indices)
    }

    fn color([x, y, z]: [f32; 3]) -> [f32; 4] {
        [x * 0.01, y * 0.01, z, 1.0]
    }

    fn delta([x, y, z]: [f32; 3]) -> [f32; 3] {
        [y, -x, z + 1.0]
    }

    fn wanted(options: &mut MeshOptions) {
        options.lods = crate::LodRule::halves(2);
        options.lod_error = 1.0;
        options.tangents = TangentMode::Auto;
    }

    #[test]
    fn attributes_follow_their_vertices_through_all_stages() {
        let (positions, indices) = grid(24);
        for with_normals in [true, false] {
            let input = MeshInput {
                indices: indices.clone().into(),
                normals: with_normals.then(|| vec![[0.0, 0.0, 1.0]; positions.len()].into()),
                uvs: Some(positions.iter().map(|p| [p[0], p[1]]).collect()),
                uv1: Some(positions.iter().map(|p| [p[1], p[0]]).collect()),
                further_uvs: vec![positions.iter().map(|p| [p[2], p[0]]).collect()],
                colors: Some(positions.iter().copied().map(color).collect()),
                morph_targets: vec![MorphInput {
                    positions: Some(positions.iter().copied().map(delta).collect()),
                    ..MorphInput::default()
                }],
                positions: positions.clone().into(),
                ..MeshInput::default()
            };
            let mut options = MeshOptions::default();
            wanted(&mut options);
            let output = crate::process(input, &options).unwrap();
            if with_normals {
                assert_eq!(output.vertices.len(), 25 * 25, "equal vertices are welded");
            }
            assert!(output.lods.iter().any(|lod| !lod.indices.is_empty()));
            let extra = &output.extra;
            for (at, vertex) in output.vertices.iter().enumerate() {
                let [x, y, z] = vertex.position;
                assert_eq!(extra.uv1[at], [y, x]);
                assert_eq!(extra.further_uvs[0][at], [z, x]);
                assert_eq!(extra.colors[at], color(vertex.position));
                assert_eq!(extra.morph_targets[0].positions[at], delta(vertex.position));
            }
        }
    }

    #[test]
    fn any_difference_keeps_vertices_apart() {
        let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let twice: Vec<[f32; 3]> = positions.iter().chain(&positions).copied().collect();
        let input = || MeshInput {
            indices: vec![0, 1, 2, 3, 4, 5].into(),
            normals: Some(vec![[0.0, 0.0, 1.0]; 6].into()),
            positions: twice.clone().into(),
            ..MeshInput::default()
        };
        let vertices =
            |input: MeshInput<'_>| crate::process(input, &MeshOptions::default()).unwrap().vertices.len();
        let mut last = vec![[0.0; 3]; 6];
        last[5] = [0.0, 0.0, 1.0];
        let target = |deltas: &Vec<[f32; 3]>| MorphInput {
            normals: Some(deltas.clone().into()),
            ..Default::default()
        };
        assert_eq!(vertices(input()), 3);
        assert_eq!(vertices(MeshInput { morph_targets: vec![target(&vec![[0.5; 3]; 6])], ..input() }), 3);
        assert_eq!(vertices(MeshInput { morph_targets: vec![target(&last)], ..input() }), 4);
        let mut colors = vec![[1.0; 4]; 6];
        colors[3][1] = 0.5;
        assert_eq!(vertices(MeshInput { colors: Some(colors.into()), ..input() }), 4);
        let mut uvs = vec![[0.0; 2]; 6];
        uvs[4] = [1.0, 0.0];
        assert_eq!(vertices(MeshInput { further_uvs: vec![uvs.into()], ..input() }), 4);
        let short = MeshInput { colors: Some(vec![[1.0; 4]; 5].into()), ..input() };
        assert!(matches!(
            crate::process(short, &MeshOptions::default()),
            Err(Error::Length { found: 5, .. })
        ));
        let mut broken = last.clone();
        broken[0][0] = f32::NAN;
        let broken = MeshInput { morph_targets: vec![target(&broken)], ..input() };
        assert!(matches!(crate::process(broken, &MeshOptions::default()), Err(Error::NotFinite { .. })));
    }

    /// A matrix with shear, mirroring and non-uniform scale: transforming the blend and blending the transformed give the
    /// same positions and directions.
    #[test]
    fn transforms_commute_with_blending() {
        let matrix = [-2.0, 0.5, 0.0, 0.0, 0.25, 0.5, 0.1, 0.0, 0.3, 0.0, 1.5, 0.0, 1.0, 2.0, 3.0, 1.0];
        let transform = Transform::new(&matrix);
        let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.5], [0.0, 1.0, -0.5]];
        let normals: Vec<[f32; 3]> = vec![[0.0, 0.0, 1.0], [0.6, 0.0, 0.8], [0.0, 0.8, 0.6]];
        // Not of unit length in the source.
        let authored: Vec<[f32; 3]> = normals.iter().map(|n| n.map(|v| v * 2.0)).collect();
        let moved = vec![[0.5, 0.0, 1.0], [0.0, -1.0, 0.25], [1.0, 1.0, 1.0]];
        let turned: Vec<[f32; 3]> = vec![[0.4, 0.2, 0.0], [-0.5, 0.5, 0.1], [0.0, -0.3, 0.9]];
        let input = MeshInput {
            indices: vec![0, 1, 2].into(),
            positions: positions.clone().into(),
            normals: Some(authored.clone().into()),
            morph_targets: vec![MorphInput {
                positions: Some(moved.clone().into()),
                normals: Some(turned.clone().into()),
                tangents: None,
            }],
            transform: Some(&transform),
            ..MeshInput::default()
        };
        let options = MeshOptions { optimize: false, ..MeshOptions::default() };
        let output = process_streams(input, &options).unwrap();
        for weight in [0.0f32, 0.5, 1.0, -0.75] {
            let blend = |a: [f32; 3], b: [f32; 3]| std::array::from_fn(|i| a[i] + weight * b[i]);
            for (at, &position) in output.vertices.positions.iter().enumerate() {
                let target = &output.extra.morph_targets[0];
                let found: [f32; 3] = blend(position, target.positions[at]);
                let source = (0..3).find(|&s| {
                    let mut base = [positions[s]];
                    transform.positions(&mut base);
                    base[0] == position
                });
                let source = source.expect("a vertex of the source");
                let mut expected = [blend(positions[source], moved[source])];
                transform.positions(&mut expected);
                let mut direction = [unit(blend(authored[source], turned[source]))];
                transform.normals(&mut direction);
                let normal = unit(blend(output.vertices.normals[at], target.normals[at]));
                let near = |a: [f32; 3], b: [f32; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
                assert!(near(found, expected[0]), "{found:?} {expected:?}");
                assert!(near(normal, direction[0]), "{normal:?} {direction:?}");
            }
        }
    }
}
