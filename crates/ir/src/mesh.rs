//! Meshes: triangles with what their corners carry.

use crate::material::MaterialId;
use crate::valid::{Flaw, check_finite, check_id};

/// Which mesh of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MeshId(pub u32);

/// A shape, in parts that each have one material. A mesh without parts draws nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// As the source has it; empty when it has none.
    pub name: String,
    /// In the order of the source.
    pub primitives: Vec<Primitive>,
}

/// At least one triangle, all of one material.
///
/// What a source does not say is an empty list; every other list is as long as `positions`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Primitive {
    /// Where the vertices are.
    pub positions: Vec<[f32; 3]>,
    /// Which way they face. The length is what the source has, usually one.
    pub normals: Vec<[f32; 3]>,
    /// Where in the material's textures they are; the origin is the top left, and v grows downwards.
    pub uv0: Vec<[f32; 2]>,
    /// A second set, for whatever the program wants with it.
    pub uv1: Vec<[f32; 2]>,
    /// The direction of growing u, and the sign of the bitangent `cross(normal, tangent) * w`, which is 1 or -1.
    pub tangents: Vec<[f32; 4]>,
    /// Which joints of the skin pull a vertex. A joint without weight is 0.
    pub joints: Vec<[u16; 4]>,
    /// How much they do: never negative, of any sum. There are as many as `joints`.
    pub weights: Vec<[f32; 4]>,
    /// Three for each triangle, counter-clockwise when seen from outside.
    pub indices: Vec<u32>,
    /// What it is made of.
    pub material: Option<MaterialId>,
}

impl Primitive {
    /// The number of triangles.
    pub fn triangles(&self) -> usize {
        self.indices.len() / 3
    }

    pub(crate) fn check(&self, materials: usize) -> Result<(), Flaw> {
        let vertices = self.positions.len();
        let lengths = [
            ("normals", self.normals.len()),
            ("uv0", self.uv0.len()),
            ("uv1", self.uv1.len()),
            ("tangents", self.tangents.len()),
            ("joints", self.joints.len()),
            ("weights", self.weights.len()),
        ];
        for (list, length) in lengths {
            if length != 0 && length != vertices {
                return Err(Flaw::new(list, format_args!("{length} for {vertices} positions")));
            }
        }
        if self.joints.len() != self.weights.len() {
            return Err(Flaw::new("weights", "joints come with weights, and weights with joints"));
        }
        if u32::try_from(vertices).is_err() {
            return Err(Flaw::new("positions", format_args!("{vertices} are too many to be numbered")));
        }
        if self.indices.is_empty() || !self.indices.len().is_multiple_of(3) {
            return Err(Flaw::new("indices", format_args!("{} are not triangles", self.indices.len())));
        }
        if let Some(at) = self.indices.iter().position(|&index| index as usize >= vertices) {
            let message = format!("{} is not one of {vertices} vertices", self.indices[at]);
            return Err(Flaw::new(format_args!("indices[{at}]"), message));
        }
        check_finite(&self.positions, "positions")?;
        check_finite(&self.normals, "normals")?;
        check_finite(&self.uv0, "uv0")?;
        check_finite(&self.uv1, "uv1")?;
        check_finite(&self.tangents, "tangents")?;
        check_finite(&self.weights, "weights")?;
        if let Some(at) = self.tangents.iter().position(|t| t[3].abs() != 1.0) {
            return Err(Flaw::new(format_args!("tangents[{at}]"), "its sign is neither 1 nor -1"));
        }
        if let Some(at) = self.weights.iter().position(|w| w.iter().any(|&w| w < 0.0)) {
            return Err(Flaw::new(format_args!("weights[{at}]"), "it is negative"));
        }
        match self.material {
            Some(material) => check_id(material.0, materials, "material"),
            None => Ok(()),
        }
    }

    /// The highest number of a joint, or `None` when it hangs on none.
    pub(crate) fn last_joint(&self) -> Option<u16> {
        self.joints.iter().flatten().copied().max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triangle() -> Primitive {
        Primitive {
            positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            indices: vec![0, 1, 2],
            ..Primitive::default()
        }
    }

    fn flaw(at: &str, change: impl FnOnce(&mut Primitive)) {
        let mut primitive = triangle();
        change(&mut primitive);
        assert_eq!(primitive.check(1).unwrap_err().at, at);
    }

    #[test]
    fn what_is_there_is_whole() {
        assert_eq!(triangle().check(0), Ok(()));
        assert_eq!(triangle().triangles(), 1);
        flaw("normals", |p| p.normals = vec![[0.0; 3]; 2]);
        flaw("uv0", |p| p.uv0 = vec![[0.0; 2]; 4]);
        flaw("tangents", |p| p.tangents = vec![[0.0; 4]; 1]);
        flaw("weights", |p| p.joints = vec![[0; 4]; 3]);
        flaw("indices", |p| p.indices = vec![]);
        flaw("indices", |p| p.indices = vec![0, 1, 2, 0]);
        flaw("indices[1]", |p| p.indices[1] = 3);
        flaw("material", |p| p.material = Some(MaterialId(1)));
    }

    #[test]
    fn numbers_make_sense() {
        flaw("positions[1]", |p| p.positions[1][2] = f32::NAN);
        flaw("uv0[2]", |p| p.uv0 = vec![[0.0; 2], [0.0; 2], [f32::INFINITY, 0.0]]);
        flaw("tangents[0]", |p| p.tangents = vec![[1.0, 0.0, 0.0, 0.0]; 3]);
        flaw("weights[0]", |p| {
            p.joints = vec![[0; 4]; 3];
            p.weights = vec![[-1.0, 0.0, 0.0, 0.0]; 3];
        });
    }
}
