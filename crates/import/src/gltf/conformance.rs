//! Violations of the glTF 2.0 specification that do not keep a file from being read.
//!
//! Other readers may reject such a file or draw it differently, so each kind of violation is reported once for the
//! whole document, with the number of its occurrences and the place of the first. What is read stays the same.

use kiln_diagnostics::{Code, Diag};
use kiln_ir::Property;

use super::accessor::Accessor;
use super::buffers::Buffers;
use super::document::{Document, parse_version};
use super::value::{List, Value};

/// The component type that is allowed for indices only.
const UNSIGNED_INT: usize = 5125;

/// The tolerance of the length of a normal and of a quaternion: a little more than the error of signed bytes, as in
/// the Khronos validator.
const UNIT_NORMAL_TOLERANCE: f32 = 0.00674;
const UNIT_ROTATION_TOLERANCE: f32 = 0.00769;

/// The cosine of the angle between the axes of a matrix up to which they are orthogonal. The Khronos validator allows
/// less, but measures lengths, which grow with the scale.
const ORTHOGONAL_TOLERANCE: f64 = 1e-3;

/// The violations found so far, by kind.
#[derive(Default)]
pub(super) struct Violations {
    integer_attributes: Occurrences,
    unbounded_positions: Occurrences,
    unpaired_joints: Occurrences,
    attribute_names: Occurrences,
    restart_indices: Occurrences,
    skins_without_joints: Occurrences,
    double_transforms: Occurrences,
    versions: Occurrences,
    unlisted_extensions: Occurrences,
    wrong_bounds: Occurrences,
    unbounded_times: Occurrences,
    rotations: Occurrences,
    normals: Occurrences,
    sheared_matrices: Occurrences,
    animated_matrices: Occurrences,
}

/// The number of occurrences and the JSON pointer of the first.
type Occurrences = Option<(usize, String)>;

impl Violations {
    /// Checks the version of a document, and that it lists the extensions that it requires.
    pub(super) fn check_document(&mut self, document: &Document<'_>) -> Result<(), Diag> {
        let version = document.root.required("asset")?.required("version")?;
        if parse_version(version.string()?).is_none() {
            record(&mut self.versions, 1, version);
        }
        let used = document.root.list("extensionsUsed")?;
        for required in document.root.list("extensionsRequired")?.iter() {
            let name = required.string()?;
            if !used.iter().any(|used| used.string().is_ok_and(|used| used == name)) {
                record(&mut self.unlisted_extensions, 1, required);
            }
        }
        Ok(())
    }

    /// Checks `min` and `max` of the accessors that were used.
    pub(super) fn check_bounds<'a>(&mut self, accessors: List<'a>, buffers: &Buffers<'a>) {
        for id in buffers.used_accessors() {
            let Some(at) = accessors.get(id as usize) else { continue };
            let accessor = Accessor::at(at, buffers);
            if let Some(bound) = accessor.ok().and_then(|accessor| accessor.wrong_bound()) {
                record(&mut self.wrong_bounds, 1, bound);
            }
        }
    }

    /// Checks the normals of a primitive, which `reference` names.
    pub(super) fn check_normals(&mut self, normals: &[[f32; 3]], reference: Value<'_>) {
        let count = normals.iter().filter(|normal| !is_unit(*normal, UNIT_NORMAL_TOLERANCE)).count();
        if count > 0 {
            record(&mut self.normals, count, reference);
        }
    }

    /// Checks a channel of an animation: the bounds of the times of its sampler, the length of its rotations, and that
    /// the node has no matrix.
    pub(super) fn check_channel(
        &mut self,
        sampler: Value<'_>,
        times: Value<'_>,
        node: Value<'_>,
        channel: &kiln_ir::Channel,
    ) -> Result<(), Diag> {
        let bound = |name| times.get(name).is_some_and(|bound| bound.floats::<1>().is_ok());
        if !(bound("min") && bound("max")) {
            record(&mut self.unbounded_times, 1, sampler.required("input")?);
        }
        if channel.property == Property::Rotation {
            // In a cubic spline, the value is between two tangents.
            let (all, per_key) = (channel.values.as_chunks::<4>().0, channel.interpolation.values_per_key());
            let values = all.iter().skip(per_key / 2).step_by(per_key);
            let count = values.filter(|rotation| !is_unit(*rotation, UNIT_ROTATION_TOLERANCE)).count();
            if count > 0 {
                record(&mut self.rotations, count, sampler.required("output")?);
            }
        }
        if let Some(matrix) = node.get("matrix") {
            record(&mut self.animated_matrices, 1, matrix);
        }
        Ok(())
    }

    /// Checks the attributes of a primitive, including those that are not imported.
    pub(super) fn check_attributes<'a>(
        &mut self,
        attributes: Value<'a>,
        accessors: List<'a>,
    ) -> Result<(), Diag> {
        for name in attributes.names() {
            let Some(reference) = attributes.get(name) else { continue };
            let (_, accessor) = reference.resolve(accessors, "accessor")?;
            if accessor.get("componentType").is_some_and(|t| t.uint().is_ok_and(|t| t == UNSIGNED_INT)) {
                record(&mut self.integer_attributes, 1, reference);
            }
            let bound = |name| accessor.get(name).is_some_and(|bound| bound.floats::<3>().is_ok());
            if name == "POSITION" && !(bound("min") && bound("max")) {
                record(&mut self.unbounded_positions, 1, reference);
            }
            if !is_well_named(name, attributes) {
                record(&mut self.attribute_names, 1, reference);
            }
            let counterpart = match name.split_once('_') {
                Some(("JOINTS", set)) => format!("WEIGHTS_{set}"),
                Some(("WEIGHTS", set)) => format!("JOINTS_{set}"),
                _ => continue,
            };
            if attributes.get(&counterpart).is_none() {
                record(&mut self.unpaired_joints, 1, reference);
            }
        }
        Ok(())
    }

    /// Checks the indices of a primitive, which `reference` names, for the primitive restart value of their type.
    pub(super) fn check_indices(&mut self, indices: &[[u32; 1]], restart: u32, reference: Value<'_>) {
        let count = indices.iter().filter(|[index]| *index == restart).count();
        if count > 0 {
            record(&mut self.restart_indices, count, reference);
        }
    }

    /// Checks a node that is drawn: that its transform is stated once, is a translation, a rotation and a scale, and
    /// that all primitives of a mesh with a skin have joints and weights.
    pub(super) fn check_node<'a>(&mut self, node: Value<'a>, meshes: List<'a>) -> Result<(), Diag> {
        let is_there = |name: &&str| node.get(name).is_some();
        if let (Some(matrix), true) =
            (node.get("matrix"), ["translation", "rotation", "scale"].iter().any(is_there))
        {
            record(&mut self.double_transforms, 1, matrix);
        }
        match (node.get("matrix"), node.get("rotation")) {
            (Some(matrix), _) if !is_decomposable(&matrix.floats()?) => {
                record(&mut self.sheared_matrices, 1, matrix);
            }
            (None, Some(rotation)) if !is_unit(&rotation.floats::<4>()?, UNIT_ROTATION_TOLERANCE) => {
                record(&mut self.rotations, 1, rotation);
            }
            _ => {}
        }
        let (Some(skin), Some(mesh)) = (node.get("skin"), node.get("mesh")) else { return Ok(()) };
        let (_, mesh) = mesh.resolve(meshes, "mesh")?;
        let is_skinned = |primitive: Value<'a>| {
            let attribute = |name| primitive.get("attributes").and_then(|attributes| attributes.get(name));
            attribute("JOINTS_0").is_some() && attribute("WEIGHTS_0").is_some()
        };
        if !mesh.list("primitives")?.iter().all(is_skinned) {
            record(&mut self.skins_without_joints, 1, skin);
        }
        Ok(())
    }

    /// Returns one warning for each kind of violation.
    pub(super) fn warnings(self) -> impl Iterator<Item = Diag> {
        [
            violation(
                Code::GltfAttributeType,
                self.integer_attributes,
                "a vertex attribute has the component type UNSIGNED_INT, which glTF allows for indices only",
                "export the attribute as bytes, shorts or floats",
            ),
            violation(
                Code::GltfPositionBounds,
                self.unbounded_positions,
                "the accessor of a POSITION attribute lacks \"min\" and \"max\", which glTF requires; \
                 the bounds are computed from the positions",
                "export the model again with an exporter that writes them: other readers may reject the file",
            ),
            violation(
                Code::GltfJointSets,
                self.unpaired_joints,
                "JOINTS_n and WEIGHTS_n attributes of a primitive do not come in pairs; \
                 sets from the first incomplete pair on are ignored",
                "export the model again, or remove the attribute without a counterpart",
            ),
            violation(
                Code::GltfAttributeName,
                self.attribute_names,
                "the name of a vertex attribute is not defined by glTF, or its set number leaves a gap",
                "number sets from 0 without gaps, and let the names of other attributes begin with an underscore",
            ),
            violation(
                Code::GltfPrimitiveRestart,
                self.restart_indices,
                "the largest value of the index type is used as an index, which graphics APIs take for \
                 primitive restart and glTF forbids; it is read as the index of a vertex",
                "export the indices with a wider component type",
            ),
            violation(
                Code::GltfSkinWithoutJoints,
                self.skins_without_joints,
                "a node has a skin, but a primitive of its mesh lacks JOINTS_0 or WEIGHTS_0 and is not skinned",
                "remove the skin from the node, or assign bone influences to the mesh",
            ),
            violation(
                Code::GltfDoubleTransform,
                self.double_transforms,
                "a node has a \"matrix\" and also \"translation\", \"rotation\" or \"scale\"; the matrix is used",
                "remove one of them: other readers may use the other one",
            ),
            violation(
                Code::GltfVersionForm,
                self.versions,
                "\"asset.version\" has to be a major and a minor version, such as \"2.0\"; it is read as 2.0",
                "write \"2.0\": other readers may reject the file",
            ),
            violation(
                Code::GltfExtensionUnlisted,
                self.unlisted_extensions,
                "\"extensionsRequired\" names an extension that \"extensionsUsed\" does not list",
                "list the extension in both, or in neither if nothing uses it",
            ),
            violation(
                Code::GltfAccessorBounds,
                self.wrong_bounds,
                "\"min\" or \"max\" of an accessor differs from its elements; the elements are used",
                "export the model again: other readers may cull the mesh, or clip the animation, by these bounds",
            ),
            violation(
                Code::GltfAnimationBounds,
                self.unbounded_times,
                "the accessor of an animation sampler's \"input\" lacks \"min\" and \"max\", which glTF requires; \
                 the length of the animation is computed from the keyframes",
                "export the model again with an exporter that writes them: other readers may reject the file",
            ),
            violation(
                Code::GltfRotationLength,
                self.rotations,
                "a rotation is not a quaternion of unit length",
                "normalize it in the source: other readers may scale or shear what it rotates",
            ),
            violation(
                Code::GltfNormalLength,
                self.normals,
                "a normal is not of unit length",
                "normalize normals in the source: other readers may shade the mesh differently",
            ),
            violation(
                Code::GltfMatrixShear,
                self.sheared_matrices,
                "the \"matrix\" of a node is not a product of a translation, a rotation and a scale, which glTF \
                 requires; the matrix is used as it is",
                "apply the transform of the node in the source: other readers may draw the mesh differently",
            ),
            violation(
                Code::GltfAnimatedMatrix,
                self.animated_matrices,
                "an animation targets a node that has a \"matrix\"; glTF allows \"translation\", \"rotation\" and \
                 \"scale\" only for such a node",
                "export the transform of the node as translation, rotation and scale",
            ),
        ]
        .into_iter()
        .flatten()
    }
}

/// Creates the warning about one kind of violation, if it occurred.
fn violation(code: Code, occurrences: Occurrences, message: &str, hint: &str) -> Option<Diag> {
    let (count, at) = occurrences?;
    Some(Diag::new(code, format!("{message} (occurrences: {count})")).at(at).hint(hint))
}

/// Returns `true` if glTF or an extension defines this attribute name, or it is application-specific; of a numbered
/// set, the previous one has to exist.
fn is_well_named(name: &str, attributes: Value<'_>) -> bool {
    if matches!(name, "POSITION" | "NORMAL" | "TANGENT") || name.starts_with('_') || name.contains(':') {
        return true;
    }
    let Some((semantic @ ("TEXCOORD" | "COLOR" | "JOINTS" | "WEIGHTS"), set)) = name.split_once('_') else {
        return false;
    };
    match set.parse::<u32>() {
        Ok(0) => set == "0",
        Ok(number) => attributes.get(&format!("{semantic}_{}", number - 1)).is_some(),
        Err(_) => false,
    }
}

/// Returns `true` if a vector has unit length within a tolerance.
fn is_unit(vector: &[f32], tolerance: f32) -> bool {
    let square: f64 = vector.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
    (square.sqrt() - 1.0).abs() <= tolerance.into()
}

/// Returns `true` if the axes of a column-major matrix are orthogonal and none is zero.
fn is_decomposable(matrix: &[f32; 16]) -> bool {
    let axis = |column: usize| [0, 1, 2].map(|row| f64::from(matrix[column * 4 + row]));
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let axes = [axis(0), axis(1), axis(2)];
    let lengths = axes.map(|axis| dot(axis, axis).sqrt());
    let pairs = [(0, 1), (0, 2), (1, 2)];
    lengths.iter().all(|length| *length > 0.0)
        && pairs
            .iter()
            .all(|&(a, b)| dot(axes[a], axes[b]).abs() <= ORTHOGONAL_TOLERANCE * lengths[a] * lengths[b])
}

fn record(occurrences: &mut Occurrences, count: usize, at: Value<'_>) {
    occurrences.get_or_insert_with(|| (0, at.pointer())).0 += count;
}
