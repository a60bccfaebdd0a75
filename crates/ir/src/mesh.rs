//! Meshes: indexed triangles with vertex attributes.

use crate::material::MaterialId;
use crate::morph::MorphTarget;
use crate::valid::{ValidationError, check_finite, check_id, plural};

/// The index of a mesh in [`Scene::meshes`](crate::Scene::meshes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MeshId(pub u32);

/// A mesh of primitives with one material each. A mesh without primitives draws nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// The name in the source; empty when the source has none.
    pub name: String,
    /// The primitives, in the order of the source.
    pub primitives: Vec<Primitive>,
    /// The default weight of each morph target; as many as every primitive has targets.
    pub morph_weights: Vec<f32>,
    /// The name of each morph target, empty where it has none; as many as `morph_weights`, or no names at all.
    pub morph_names: Vec<String>,
    /// The application-specific data of the source, as JSON text; empty when there is none.
    pub extras: String,
}

impl Mesh {
    pub(crate) fn check(&self, materials: usize) -> Result<(), ValidationError> {
        let targets = self.morph_weights.len();
        if !self.morph_names.is_empty() && self.morph_names.len() != targets {
            let message = format!("there are {} names for {targets} morph targets", self.morph_names.len());
            return Err(ValidationError::new("morph_names", message));
        }
        if !self.morph_weights.iter().all(|weight| weight.is_finite()) {
            return Err(ValidationError::new("morph_weights", "a weight is not finite"));
        }
        for (index, primitive) in self.primitives.iter().enumerate() {
            let within = |error: ValidationError| error.within(format_args!("primitives[{index}]"));
            primitive.check(materials).map_err(within)?;
            let found = primitive.morph_targets.len();
            if found != targets {
                let message = format!("the primitive has {found} morph targets, and the mesh has {targets}");
                return Err(within(ValidationError::new("morph_targets", message)));
            }
        }
        Ok(())
    }
}

/// A list of at least one indexed triangle, all of one material.
///
/// A vertex attribute that the source does not have is an empty list; every other one is as long as `positions`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Primitive {
    /// The positions of the vertices.
    pub positions: Vec<[f32; 3]>,
    /// The normals, with the length that they have in the source, usually one.
    pub normals: Vec<[f32; 3]>,
    /// The UVs of the material's textures; the origin is the top left, and v grows downwards.
    pub uv0: Vec<[f32; 2]>,
    /// A second UV set, such as one for lightmaps.
    pub uv1: Vec<[f32; 2]>,
    /// The UV sets after the second one. A set that only other primitives have is an empty list.
    pub further_uvs: Vec<Vec<[f32; 2]>>,
    /// The vertex colours: linear RGB and alpha, which multiply the base colour.
    pub colors: Vec<[f32; 4]>,
    /// The tangents: the direction of growing u, and in `w` the sign of the bitangent `cross(normal, tangent) * w`, 1 or -1.
    pub tangents: Vec<[f32; 4]>,
    /// The joint indices of each vertex, into the joints of the skin. A joint without weight is 0.
    pub joints: Vec<[u16; 4]>,
    /// The joint weights: never negative, of any sum. The list is as long as `joints`.
    pub weights: Vec<[f32; 4]>,
    /// The morph targets, in the order of the mesh's `morph_weights`.
    pub morph_targets: Vec<MorphTarget>,
    /// Three vertex indices for each triangle, counter-clockwise when seen from outside.
    pub indices: Vec<u32>,
    /// The material of all triangles.
    pub material: Option<MaterialId>,
}

impl Primitive {
    /// Returns the number of triangles.
    pub fn triangles(&self) -> usize {
        self.indices.len() / 3
    }

    pub(crate) fn check(&self, materials: usize) -> Result<(), ValidationError> {
        let vertices = self.positions.len();
        let lengths = [
            ("normals", self.normals.len()),
            ("uv0", self.uv0.len()),
            ("uv1", self.uv1.len()),
            ("colors", self.colors.len()),
            ("tangents", self.tangents.len()),
            ("joints", self.joints.len()),
            ("weights", self.weights.len()),
        ];
        let further = self.further_uvs.iter().map(|set| ("further_uvs", set.len()));
        for (list, length) in lengths.into_iter().chain(further) {
            if length != 0 && length != vertices {
                return Err(ValidationError::new(
                    list,
                    format_args!("the list has length {length}, and there are {vertices} positions"),
                ));
            }
        }
        if self.joints.len() != self.weights.len() {
            return Err(ValidationError::new(
                "weights",
                "joint indices and joint weights must come together, in equal number",
            ));
        }
        if u32::try_from(vertices).is_err() {
            return Err(ValidationError::new(
                "positions",
                format_args!("{vertices} vertices are too many for 32-bit indices"),
            ));
        }
        if self.indices.is_empty() || !self.indices.len().is_multiple_of(3) {
            return Err(ValidationError::new(
                "indices",
                format_args!(
                    "the number of indices must be a positive multiple of 3, got {}",
                    self.indices.len()
                ),
            ));
        }
        if let Some(at) = self.indices.iter().position(|&index| index as usize >= vertices) {
            let message = format!(
                "index {} is out of range: the primitive has {vertices} {}",
                self.indices[at],
                plural(vertices, "vertex", "vertices")
            );
            return Err(ValidationError::new(format_args!("indices[{at}]"), message));
        }
        check_finite(&self.positions, "positions")?;
        check_finite(&self.normals, "normals")?;
        check_finite(&self.uv0, "uv0")?;
        check_finite(&self.uv1, "uv1")?;
        self.further_uvs.iter().try_for_each(|set| check_finite(set, "further_uvs"))?;
        check_finite(&self.colors, "colors")?;
        for (index, target) in self.morph_targets.iter().enumerate() {
            let within = |error: ValidationError| error.within(format_args!("morph_targets[{index}]"));
            target.check(vertices).map_err(within)?;
        }
        check_finite(&self.tangents, "tangents")?;
        check_finite(&self.weights, "weights")?;
        if let Some(at) = self.tangents.iter().position(|t| t[3].abs() != 1.0) {
            return Err(ValidationError::new(
                format_args!("tangents[{at}]"),
                "the sign of the bitangent is neither 1 nor -1",
            ));
        }
        if let Some(at) = self.weights.iter().position(|w| w.iter().any(|&w| w < 0.0)) {
            return Err(ValidationError::new(format_args!("weights[{at}]"), "a joint weight is negative"));
        }
        match self.material {
            Some(material) => check_id(material.0, materials, "material"),
            None => Ok(()),
        }
    }

    /// Returns the highest joint index, or `None` when the primitive is not skinned.
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

    fn rejected(at: &str, change: impl FnOnce(&mut Primitive)) {
        let mut primitive = triangle();
        change(&mut primitive);
        assert_eq!(primitive.check(1).unwrap_err().at, at);
    }

    #[test]
    fn rejects_lists_and_indices_that_do_not_match() {
        assert_eq!(triangle().check(0), Ok(()));
        assert_eq!(triangle().triangles(), 1);
        rejected("normals", |p| p.normals = vec![[0.0; 3]; 2]);
        rejected("uv0", |p| p.uv0 = vec![[0.0; 2]; 4]);
        rejected("tangents", |p| p.tangents = vec![[0.0; 4]; 1]);
        rejected("colors", |p| p.colors = vec![[0.0; 4]; 1]);
        rejected("further_uvs", |p| p.further_uvs = vec![vec![], vec![[0.0; 2]; 4]]);
        rejected("morph_targets[0].normals", |p| {
            p.morph_targets = vec![MorphTarget { normals: vec![[0.0; 3]; 2], ..MorphTarget::default() }];
        });
        rejected("weights", |p| p.joints = vec![[0; 4]; 3]);
        rejected("indices", |p| p.indices = vec![]);
        rejected("indices", |p| p.indices = vec![0, 1, 2, 0]);
        rejected("indices[1]", |p| p.indices[1] = 3);
        rejected("material", |p| p.material = Some(MaterialId(1)));
    }

    #[test]
    fn every_primitive_has_the_targets_of_its_mesh() {
        let mut mesh = Mesh { primitives: vec![triangle(), triangle()], ..Mesh::default() };
        assert_eq!(mesh.check(0), Ok(()));
        mesh.morph_weights = vec![0.5];
        assert_eq!(mesh.check(0).unwrap_err().at, "primitives[0].morph_targets");
        mesh.primitives.iter_mut().for_each(|p| p.morph_targets = vec![MorphTarget::default()]);
        assert_eq!(mesh.check(0), Ok(()));
        mesh.morph_names = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(mesh.check(0).unwrap_err().at, "morph_names");
        mesh.morph_names.clear();
        mesh.morph_weights = vec![f32::NAN];
        assert_eq!(mesh.check(0).unwrap_err().at, "morph_weights");
    }

    #[test]
    fn rejects_invalid_values() {
        rejected("positions[1]", |p| p.positions[1][2] = f32::NAN);
        rejected("uv0[2]", |p| p.uv0 = vec![[0.0; 2], [0.0; 2], [f32::INFINITY, 0.0]]);
        rejected("tangents[0]", |p| p.tangents = vec![[1.0, 0.0, 0.0, 0.0]; 3]);
        rejected("weights[0]", |p| {
            p.joints = vec![[0; 4]; 3];
            p.weights = vec![[-1.0, 0.0, 0.0, 0.0]; 3];
        });
    }
}
