//! Animations of a file, baked to linear keyframes of node transforms.
//!
//! FBX animates Euler angles by curves, one for each axis; keyframes are quaternions, thirty per second where the curves
//! are not linear. Clips begin at time zero. Properties that a clip does not change have no keyframes.

use kiln_diagnostics::Diag;
use kiln_ir::{Animation, Channel, Interpolation, NodeId, Property};
use ufbx::BakeOpts;

use super::nodes::{quat, vec3};
use super::{Budget, library_error, too_large};

/// The maximum number of layers of a clip: the time to bake grows with the product of layers and keyframes.
const MAX_LAYERS: usize = 64;

/// Reads the animation clips of a file.
pub(super) fn read(model: &ufbx::Scene, budget: &mut Budget) -> Result<Vec<Animation>, Diag> {
    let mut animations = Vec::new();
    for stack in &model.anim_stacks {
        if stack.layers.count > MAX_LAYERS {
            return Err(too_large());
        }
        let options = BakeOpts {
            temp_allocator: budget.allocator(),
            result_allocator: budget.allocator(),
            trim_start_time: true,
            ..BakeOpts::default()
        };
        let baked =
            ufbx::bake_anim(model, &stack.anim, options).map_err(|error| library_error(&error, budget))?;
        // The library shifts clips to an earlier start only.
        let begin = stack.time_begin.min(0.0);
        let mut animation = Animation { name: stack.element.name.to_string(), ..Animation::default() };
        for keys in &baked.nodes {
            let Some(node) = model.nodes.get(keys.typed_id as usize) else { continue };
            let Some(id) = keys.typed_id.checked_sub(1).map(NodeId) else { continue };
            let rest = &node.local_transform;
            let mut add = |property, is_constant, times: Vec<f32>, values: Vec<f32>, rest: &[f32]| {
                budget.charge(times.len() + values.len(), size_of::<f32>())?;
                let mut channel =
                    Channel { node: id, property, interpolation: Interpolation::Linear, times, values };
                if is_constant {
                    channel.times.truncate(1);
                    channel.values.truncate(property.components());
                }
                let is_at_rest = is_constant && channel.values == rest;
                if !(channel.times.is_empty() || is_at_rest) {
                    animation.channels.push(channel);
                }
                Ok(())
            };
            let (times, values) = threes(&keys.translation_keys, begin);
            add(Property::Translation, keys.constant_translation, times, values, &vec3(rest.translation))?;
            let times = keys.rotation_keys.iter().map(|key| (key.time - begin) as f32).collect();
            let values = keys.rotation_keys.iter().flat_map(|key| quat(key.value)).collect();
            add(Property::Rotation, keys.constant_rotation, times, values, &quat(rest.rotation))?;
            let (times, values) = threes(&keys.scale_keys, begin);
            add(Property::Scale, keys.constant_scale, times, values, &vec3(rest.scale))?;
        }
        if !animation.channels.is_empty() {
            animations.push(animation);
        }
    }
    Ok(animations)
}

fn threes(keys: &[ufbx::BakedVec3], begin: f64) -> (Vec<f32>, Vec<f32>) {
    (
        keys.iter().map(|key| (key.time - begin) as f32).collect(),
        keys.iter().flat_map(|key| vec3(key.value)).collect(),
    )
}
