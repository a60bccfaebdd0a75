//! Violations of the glTF 2.0 specification that do not keep a file from being read.
//!
//! Other readers may reject such a file or draw it differently, so each kind of violation is reported once for the
//! whole document, with the number of its occurrences and the place of the first. What is read stays the same.

use kiln_kit::{Code, Diag};

use super::at::{At, List};

/// The component type that is allowed for indices only.
const UNSIGNED_INT: usize = 5125;

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
}

/// The number of occurrences and the JSON pointer of the first.
type Occurrences = Option<(usize, String)>;

impl Violations {
    /// Checks the attributes of a primitive, whether they are kept or not.
    pub(super) fn check_attributes<'a>(
        &mut self,
        attributes: At<'a>,
        accessors: List<'a>,
    ) -> Result<(), Diag> {
        for name in attributes.names() {
            let Some(reference) = attributes.get(name) else { continue };
            let (_, accessor) = reference.refer(accessors, "accessor")?;
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
    pub(super) fn check_indices(&mut self, indices: &[[u32; 1]], restart: u32, reference: At<'_>) {
        let count = indices.iter().filter(|[index]| *index == restart).count();
        if count > 0 {
            record(&mut self.restart_indices, count, reference);
        }
    }

    /// Checks a node that is drawn: that its transform is stated once, and that all primitives of a mesh with a skin
    /// have joints and weights.
    pub(super) fn check_node<'a>(&mut self, node: At<'a>, meshes: List<'a>) -> Result<(), Diag> {
        let is_there = |name: &&str| node.get(name).is_some();
        if let (Some(matrix), true) =
            (node.get("matrix"), ["translation", "rotation", "scale"].iter().any(is_there))
        {
            record(&mut self.double_transforms, 1, matrix);
        }
        let (Some(skin), Some(mesh)) = (node.get("skin"), node.get("mesh")) else { return Ok(()) };
        let (_, mesh) = mesh.refer(meshes, "mesh")?;
        let is_skinned = |primitive: At<'a>| {
            let attribute = |name| primitive.get("attributes").and_then(|attributes| attributes.get(name));
            attribute("JOINTS_0").is_some() && attribute("WEIGHTS_0").is_some()
        };
        if !mesh.list("primitives")?.iter().all(is_skinned) {
            record(&mut self.skins_without_joints, 1, skin);
        }
        Ok(())
    }

    /// One warning for each kind of violation.
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
                "the name of a vertex attribute is not one of glTF, or its set does not follow those before it",
                "number sets from 0 without gaps, and let the names of other attributes begin with an underscore",
            ),
            violation(
                Code::GltfPrimitiveRestart,
                self.restart_indices,
                "the largest value of the index type is used as an index, which graphics APIs take for \
                 primitive restart and glTF forbids; it is read as the number of a vertex",
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
        ]
        .into_iter()
        .flatten()
    }
}

/// The warning about one kind of violation, if it occurred.
fn violation(code: Code, occurrences: Occurrences, message: &str, hint: &str) -> Option<Diag> {
    let (count, at) = occurrences?;
    Some(Diag::new(code, format!("{message} (occurrences: {count})")).at(at).hint(hint))
}

/// Whether glTF or an extension defines this name, or it is one that applications may use; of a numbered set, the
/// one before has to be there.
fn is_well_named(name: &str, attributes: At<'_>) -> bool {
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

fn record(occurrences: &mut Occurrences, count: usize, at: At<'_>) {
    occurrences.get_or_insert_with(|| (0, at.pointer())).0 += count;
}
