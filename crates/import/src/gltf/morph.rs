//! Morph targets of meshes: default weights, names, and the weights of nodes (glTF 2.0, 3.7.2.2).
//!
//! The names are in the `extras` of a mesh, as `targetNames`, where all exporters write them.

use kiln_diagnostics::Diag;
use kiln_ir::{Mesh, MorphTarget, Node};

use super::animation::Animations;
use super::json::Json;
use super::value::Value;

/// Completes a mesh with as many default weights and names as it has morph targets. A primitive with fewer targets than
/// others, which the specification forbids, gets targets that move nothing.
pub(super) fn complete(mesh: &mut Mesh, at: Value<'_>) -> Result<(), Diag> {
    let count = mesh.primitives.iter().map(|primitive| primitive.morph_targets.len()).max().unwrap_or(0);
    if count == 0 {
        return Ok(());
    }
    for primitive in &mut mesh.primitives {
        primitive.morph_targets.resize(count, MorphTarget::default());
    }
    for weight in at.list("weights")?.iter().take(count) {
        mesh.morph_weights.push(weight.float()?);
    }
    mesh.morph_weights.resize(count, 0.0);
    let names = at.get("extras").and_then(|extras| extras.get("targetNames"));
    if let Some(Json::Array(names)) = names.map(Value::json) {
        let name = |name: &Json<'_>| match name {
            Json::String(name) => name.to_string(),
            _ => String::new(),
        };
        mesh.morph_names = names.iter().take(count).map(name).collect();
        mesh.morph_names.resize(count, String::new());
    }
    Ok(())
}

/// Makes the weights of nodes as many as their meshes have morph targets. Those of a mesh that was not decoded are
/// removed.
pub(super) fn fit_node_weights(nodes: &mut [Node], meshes: &[Mesh]) {
    for node in nodes.iter_mut().filter(|node| !node.morph_weights.is_empty()) {
        let targets = node.mesh.map_or(0, |mesh| meshes[mesh.0 as usize].morph_weights.len());
        node.morph_weights.resize(targets, 0.0);
    }
}

/// Removes channels of morph weights whose node draws a mesh with another number of morph targets, or none.
pub(super) fn keep_matching_channels(animated: &mut Animations, nodes: &[Node], meshes: &[Mesh]) {
    for animation in &mut animated.animations {
        animation.morph_channels.retain(|channel| {
            let mesh = nodes[channel.node.0 as usize].mesh;
            let targets = mesh.map_or(0, |mesh| meshes[mesh.0 as usize].morph_weights.len());
            if targets != channel.targets {
                animated
                    .unsupported
                    .insert("animated morph weights of nodes without morph targets".to_owned());
            }
            targets == channel.targets
        });
    }
}
