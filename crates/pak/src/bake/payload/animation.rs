//! Animation payloads: one animation of a glTF file, with the names of its targets.
//!
//! Targets without a name are named after their index, `node 7`, like joints without a name.

use super::super::plan::animation::AnimationSpec;
use super::write_error;
use kiln_engine::{ActionContext, Code, Diag};
use kiln_format::pak::animation::{self, ChannelData};
use kiln_import::gltf::{self, ImageSelection, Options};
use kiln_ir::{Interpolation, NodeId, Property, Scene};

/// Bakes the payload of an animation.
pub(crate) fn bake(cx: &mut ActionContext<'_>, spec: &AnimationSpec) -> Result<Vec<u8>, Diag> {
    let options = Options::new().geometry(false).images(ImageSelection::None);
    let imported = gltf::import_with(&mut cx.inputs, &spec.src, &options)?;
    let scene = imported.value;
    let bad = |message: String| Diag::new(Code::PakAnimation, message).path(&spec.src);
    let found = match &spec.name {
        None => scene.animations.first(),
        Some(name) => scene.animations.iter().find(|animation| animation.name == *name),
    };
    let Some(found) = found else {
        let names: Vec<String> = scene.animations.iter().map(|a| format!("{:?}", a.name)).collect();
        return Err(match &spec.name {
            Some(name) if !names.is_empty() => bad(format!("the file has no animation {name:?}"))
                .hint(format!("the animations of the file are {}", names.join(", "))),
            _ => bad("the file has no animations".to_owned()),
        });
    };
    let named: Vec<(String, &kiln_ir::Channel)> =
        found.channels.iter().map(|channel| (node_name(&scene, channel.node), channel)).collect();
    for name in &spec.exclude {
        if !named.iter().any(|(target, _)| target == name) {
            let message = format!("exclude: no channel has the target {name:?}");
            cx.warn(Diag::new(Code::PakExclude, message).path(&spec.src));
        }
    }
    let kept = named.iter().filter(|(target, _)| !spec.exclude.contains(target));
    let channels: Vec<ChannelData<'_>> = kept
        .map(|(target, channel)| ChannelData {
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
        let message = "the animation has no channels: none is supported, or all are excluded";
        cx.warn(Diag::new(Code::PakAnimationEmpty, message).path(&spec.src));
    }
    animation::write(&channels).map_err(write_error)
}

/// Returns the name of a node, or `node` and its index if it has none.
pub(crate) fn node_name(scene: &Scene, id: NodeId) -> String {
    match scene.nodes.get(id.0 as usize).map(|node| node.name.as_str()) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => format!("node {}", id.0),
    }
}
