//! The draws of a glTF scene that a mesh description selects, and the material slots of the mesh.
//!
//! The slots are the materials in the order in which the draws first use them. Primitives without a material share one
//! slot. Planning and baking both use these functions, so that the slots of a mesh and the materials of a scene agree.

use super::plan::mesh::MeshSpec;
use kiln_engine::{Code, Diag};
use kiln_ir::{Draw, MaterialId, NodeId, Scene, Valid};
use std::collections::BTreeSet;

/// Returns the draws that the description selects.
///
/// # Errors
/// `pak-mesh` if the scene draws nothing, `pak-missing` if it has no mesh or node of the name.
pub(crate) fn draws(scene: &Valid<Scene>, spec: &MeshSpec) -> Result<Vec<Draw>, Diag> {
    let all: Vec<Draw> = scene.draws().collect();
    let Some(name) = &spec.name else {
        return if all.is_empty() {
            Err(Diag::new(Code::PakMesh, "the scene draws no mesh").path(&spec.src))
        } else {
            Ok(all)
        };
    };
    let mesh = scene.meshes.iter().position(|mesh| mesh.name == *name);
    if let Some(first) = mesh.and_then(|mesh| all.iter().find(|draw| draw.mesh.0 as usize == mesh)) {
        return Ok(vec![*first]);
    }
    let node = scene.nodes.iter().position(|node| node.name == *name);
    if let Some(node) = node {
        let parents = scene.parents();
        let below = |id: NodeId| {
            std::iter::successors(Some(id), |id| parents[id.0 as usize]).any(|id| id.0 as usize == node)
        };
        let found: Vec<Draw> = all.iter().filter(|draw| below(draw.node)).copied().collect();
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let names: BTreeSet<&str> = scene
        .meshes
        .iter()
        .map(|mesh| mesh.name.as_str())
        .chain(scene.nodes.iter().map(|node| node.name.as_str()))
        .filter(|name| !name.is_empty())
        .collect();
    let diag =
        Diag::new(Code::PakMissing, format!("the scene draws no mesh or node {name:?}")).path(&spec.src);
    Err(match kiln_engine::nearest(name, names.iter().copied()) {
        Some(near) => diag.hint(format!("did you mean {near:?}?")),
        None => diag.hint(format!(
            "the names in the file are {}",
            names.into_iter().take(20).collect::<Vec<_>>().join(", ")
        )),
    })
}

/// The material slots of a mesh; `None` is the slot of primitives without a material.
#[derive(Default)]
pub(crate) struct Slots(pub(crate) Vec<Option<MaterialId>>);

impl Slots {
    /// Returns the slots of all primitives of the draws.
    pub(crate) fn of(scene: &Scene, draws: &[Draw]) -> Slots {
        let mut slots = Slots::default();
        for draw in draws {
            for primitive in &scene.meshes[draw.mesh.0 as usize].primitives {
                slots.slot(primitive.material);
            }
        }
        slots
    }

    /// Returns the slot of a material; adds it if there is none.
    pub(crate) fn slot(&mut self, material: Option<MaterialId>) -> usize {
        self.0.iter().position(|known| *known == material).unwrap_or_else(|| {
            self.0.push(material);
            self.0.len() - 1
        })
    }
}
