//! Animations: one of a glTF file's, with the names of what it moves.
//!
//! Targets without a name are called after their number, `node 7`, as joints without one are.

use super::super::plan::animation::AnimationSpec;
use super::unwritten;
use kiln_engine::{ActionContext, Code, Diag};
use kiln_format::pak::animation::{self, Channel};
use kiln_import::gltf::{self, Parts, Pictures};
use kiln_ir::{Interpolation, NodeId, Property, Scene};

/// The payload of an animation.
pub(crate) fn bake(cx: &mut ActionContext<'_>, spec: &AnimationSpec) -> Result<Vec<u8>, Diag> {
    let parts = Parts { shapes: false, pictures: Pictures::None, ..Parts::default() };
    let imported = gltf::import_parts(&mut cx.inputs, &spec.src, &parts)?;
    let scene = imported.value;
    let bad = |message: String| Diag::new(Code::PakAnimation, message).path(&spec.src);
    let found = match &spec.name {
        None => scene.animations.first(),
        Some(name) => scene.animations.iter().find(|animation| animation.name == *name),
    };
    let Some(found) = found else {
        let names: Vec<String> = scene.animations.iter().map(|a| format!("{:?}", a.name)).collect();
        return Err(match &spec.name {
            Some(name) if !names.is_empty() => {
                bad(format!("there is no animation {name:?}")).hint(format!("there are {}", names.join(", ")))
            }
            _ => bad("there are no animations in it".to_owned()),
        });
    };
    let named: Vec<(String, &kiln_ir::Channel)> =
        found.channels.iter().map(|channel| (node_name(&scene, channel.node), channel)).collect();
    for name in &spec.exclude {
        if !named.iter().any(|(target, _)| target == name) {
            let message = format!("exclude: no channel moves {name:?}");
            cx.warn(Diag::new(Code::PakExclude, message).path(&spec.src));
        }
    }
    let kept = named.iter().filter(|(target, _)| !spec.exclude.contains(target));
    let channels: Vec<Channel<'_>> = kept
        .map(|(target, channel)| Channel {
            target,
            property: match channel.property {
                Property::Translation => 0,
                Property::Rotation => 1,
                Property::Scale => 2,
            },
            interpolation: match channel.interpolation {
                Interpolation::Step => 0,
                Interpolation::Linear => 1,
                Interpolation::CubicSpline => 2,
            },
            times: &channel.times,
            values: &channel.values,
        })
        .collect();
    if channels.is_empty() {
        let message = "no channel is left: the animation moves nothing that can be kept";
        cx.warn(Diag::new(Code::PakAnimationEmpty, message).path(&spec.src));
    }
    animation::write(&channels).map_err(unwritten)
}

/// What a node is called: its name, or its number.
pub(crate) fn node_name(scene: &Scene, id: NodeId) -> String {
    match scene.nodes.get(id.0 as usize).map(|node| node.name.as_str()) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => format!("node {}", id.0),
    }
}
