//! The scene of a model to `.hscn`: nodes, skins, cameras, lights, instances, `extras` and animations, as the source has
//! them (`mesh.scene_data`).

use kiln_engine::{Code, Diag};
use kiln_format::hscn::{
    self, CameraKind, ChannelPath, DRAWN, LightKind, NONE, Parts, SceneCamera, SceneChannel, SceneClip,
    SceneInfo, SceneJoint, SceneLight, SceneMesh, SceneNode, SceneSkin, SceneTransform, TextBuilder,
    TextRange,
};
use kiln_format::{Error, count_u32};
use kiln_ir::{Animation, Camera, Interpolation, Light, NodeId, Projection, Property, Scene, Transform, Trs};

/// The tables of a scene file, complete but for the submeshes of nodes.
pub(crate) struct SceneFile {
    parts: Parts,
    /// The nodes of the scene, in the order of the file.
    order: Vec<NodeId>,
}

impl SceneFile {
    /// Converts a scene.
    pub(crate) fn of(scene: &Scene) -> Result<SceneFile, Diag> {
        let (order, parents, drawn) = sort_nodes(scene);
        let mut file = SceneFile { parts: Parts::default(), order };
        file.fill(scene, &parents, drawn).map_err(write_error)?;
        Ok(file)
    }

    /// Encodes the file; `submeshes` returns the submeshes that a node draws: the first, and their number.
    pub(crate) fn write(mut self, submeshes: impl Fn(NodeId) -> (u32, u32)) -> Result<Vec<u8>, Diag> {
        for (node, id) in self.parts.nodes.iter_mut().zip(&self.order) {
            (node.first_submesh, node.submesh_count) = submeshes(*id);
        }
        hscn::write(&self.parts).map_err(write_error)
    }

    fn fill(&mut self, scene: &Scene, parents: &[i32], drawn: usize) -> Result<(), Error> {
        // The place of each node of the scene in the file.
        let mut places = vec![0; self.order.len()];
        self.order.iter().enumerate().for_each(|(place, id)| places[id.0 as usize] = place as u32);
        let parts = &mut self.parts;
        let text = &mut parts.text;
        parts.info = SceneInfo {
            name: text.add(&scene.name)?,
            extras: text.add(&scene.extras)?,
            document_extras: text.add(&scene.document_extras)?,
        };
        for mesh in &scene.meshes {
            parts.weights.extend(&mesh.morph_weights);
        }
        for (index, (id, parent)) in self.order.iter().zip(parents).enumerate() {
            let node = &scene.nodes[id.0 as usize];
            let (name, extras) = labels(&mut parts.text, &node.name, &node.extras)?;
            let matrix = match &node.transform {
                Transform::Trs(_) => NONE,
                Transform::Matrix(matrix) => {
                    parts.matrices.push(matrix.to_columns());
                    parts.matrices.len() as i32 - 1
                }
            };
            parts.nodes.push(SceneNode {
                name,
                extras,
                parent: *parent,
                mesh: node.mesh.map_or(NONE, |id| id.0 as i32),
                skin: node.skin.map_or(NONE, |id| id.0 as i32),
                camera: node.camera.map_or(NONE, |id| id.0 as i32),
                light: match node.light {
                    Some(id) => id.0 as i32,
                    None => NONE,
                },
                matrix,
                flags: if index < drawn { DRAWN } else { 0 },
                first_instance: count_u32("instances", parts.instances.len())?,
                instance_count: count_u32("instances", node.instances.len())?,
                first_weight: count_u32("weights", parts.weights.len())?,
                weight_count: count_u32("weights", node.morph_weights.len())?,
                transform: placement(&node.transform.trs()),
                ..SceneNode::default()
            });
            parts.instances.extend(node.instances.iter().map(placement));
            parts.weights.extend(&node.morph_weights);
        }
        let mut first_weight = 0;
        for mesh in &scene.meshes {
            let (name, extras) = labels(&mut parts.text, &mesh.name, &mesh.extras)?;
            let weight_count = count_u32("weights", mesh.morph_weights.len())?;
            parts.meshes.push(SceneMesh { name, extras, first_weight, weight_count });
            first_weight += weight_count;
        }
        for skin in &scene.skins {
            let (name, extras) = labels(&mut parts.text, &skin.name, &skin.extras)?;
            let first_joint = count_u32("joints", parts.joints.len())?;
            parts.skins.push(SceneSkin { name, extras, first_joint, joint_count: skin.joints.len() as u32 });
            let joint = |(node, inverse): (&NodeId, &[f32; 16])| SceneJoint {
                node: places[node.0 as usize],
                inverse_bind: *inverse,
            };
            parts.joints.extend(skin.joints.iter().zip(&skin.inverse_bind).map(joint));
        }
        for source in &scene.cameras {
            let (name, extras) = labels(&mut parts.text, &source.name, &source.extras)?;
            parts.cameras.push(SceneCamera { name, extras, ..camera(source) });
        }
        for source in &scene.lights {
            let (name, extras) = labels(&mut parts.text, &source.name, &source.extras)?;
            parts.lights.push(SceneLight { name, extras, ..light(source) });
        }
        scene.animations.iter().try_for_each(|animation| add_clip(parts, animation, &places))
    }
}

/// Returns the nodes of a scene in the order of the file, the place of the parent of each, and the number of those that
/// are drawn, which come first.
fn sort_nodes(scene: &Scene) -> (Vec<NodeId>, Vec<i32>, usize) {
    let mut is_below = vec![false; scene.nodes.len()];
    scene.nodes.iter().flat_map(|node| &node.children).for_each(|id| is_below[id.0 as usize] = true);
    scene.roots.iter().for_each(|id| is_below[id.0 as usize] = true);
    let others = (0..scene.nodes.len()).filter(|index| !is_below[*index]).map(|index| NodeId(index as u32));
    let (mut order, mut parents) = (Vec::with_capacity(scene.nodes.len()), Vec::new());
    let mut visit = |roots: Vec<NodeId>| {
        let mut waiting: Vec<(NodeId, i32)> = roots.into_iter().rev().map(|root| (root, NONE)).collect();
        while let Some((id, parent)) = waiting.pop() {
            let place = order.len() as i32;
            order.push(id);
            parents.push(parent);
            waiting.extend(scene.nodes[id.0 as usize].children.iter().rev().map(|child| (*child, place)));
        }
        order.len()
    };
    let drawn = visit(scene.roots.clone());
    visit(others.collect());
    (order, parents, drawn)
}

fn placement(trs: &Trs) -> SceneTransform {
    SceneTransform { translation: trs.translation, rotation: trs.rotation, scale: trs.scale }
}

fn labels(text: &mut TextBuilder, name: &str, extras: &str) -> Result<(TextRange, TextRange), Error> {
    Ok((text.add(name)?, text.add(extras)?))
}

fn camera(camera: &Camera) -> SceneCamera {
    let (kind, [x, y, z_near, z_far]) = match camera.projection {
        Projection::Perspective { y_fov, aspect_ratio, z_near, z_far } => {
            let numbers = [aspect_ratio.unwrap_or(0.0), y_fov, z_near, z_far.unwrap_or(0.0)];
            (CameraKind::Perspective, numbers)
        }
        Projection::Orthographic { x_mag, y_mag, z_near, z_far } => {
            (CameraKind::Orthographic, [x_mag, y_mag, z_near, z_far])
        }
    };
    SceneCamera { kind: kind as u32, x, y, z_near, z_far, ..SceneCamera::default() }
}

fn light(light: &Light) -> SceneLight {
    let (kind, inner_cone_angle, outer_cone_angle) = match light.kind {
        kiln_ir::LightKind::Directional => (LightKind::Directional, 0.0, 0.0),
        kiln_ir::LightKind::Point => (LightKind::Point, 0.0, 0.0),
        kiln_ir::LightKind::Spot { inner_cone_angle, outer_cone_angle } => {
            (LightKind::Spot, inner_cone_angle, outer_cone_angle)
        }
    };
    SceneLight {
        kind: kind as u32,
        color: light.color,
        intensity: light.intensity,
        range: light.range.unwrap_or(0.0),
        inner_cone_angle,
        outer_cone_angle,
        ..SceneLight::default()
    }
}

/// Adds a clip with all its channels: those of nodes, then those of morph target weights.
fn add_clip(parts: &mut Parts, animation: &Animation, places: &[u32]) -> Result<(), Error> {
    let (name, extras) = labels(&mut parts.text, &animation.name, &animation.extras)?;
    let first_channel = count_u32("channels", parts.channels.len())?;
    let path = |property| match property {
        Property::Translation => ChannelPath::Translation,
        Property::Rotation => ChannelPath::Rotation,
        Property::Scale => ChannelPath::Scale,
    };
    let of_nodes = animation.channels.iter().map(|channel| {
        let components = channel.property.components();
        (
            channel.node,
            path(channel.property),
            components,
            channel.interpolation,
            &channel.times,
            &channel.values,
        )
    });
    let of_weights = animation.morph_channels.iter().map(|channel| {
        let (path, components) = (ChannelPath::Weights, channel.targets);
        (channel.node, path, components, channel.interpolation, &channel.times, &channel.values)
    });
    let mut duration = 0.0;
    for (node, path, components, interpolation, times, values) in of_nodes.chain(of_weights) {
        let last = times.last().copied().unwrap_or_default();
        duration = if last > duration { last } else { duration };
        // Channels of one sampler input have the same times.
        let previous = parts.channels.last().map(|channel| {
            let start = channel.first_time as usize;
            (channel.first_time, &parts.times[start..start + channel.key_count as usize])
        });
        let first_time = match previous.filter(|(_, previous)| *previous == times.as_slice()) {
            Some((first_time, _)) => first_time,
            None => {
                let first_time = count_u32("times", parts.times.len())?;
                parts.times.extend(times);
                first_time
            }
        };
        parts.channels.push(SceneChannel {
            node: places[node.0 as usize],
            path: path as u8,
            interpolation: match interpolation {
                Interpolation::Step => hscn::Interpolation::Step,
                Interpolation::Linear => hscn::Interpolation::Linear,
                Interpolation::CubicSpline => hscn::Interpolation::CubicSpline,
            } as u8,
            reserved: 0,
            components: count_u32("components", components)?,
            key_count: count_u32("keys", times.len())?,
            first_time,
            first_value: count_u32("values", parts.values.len())?,
        });
        parts.values.extend(values);
    }
    let channel_count = count_u32("channels", parts.channels.len())? - first_channel;
    parts.clips.push(SceneClip { name, extras, duration, first_channel, channel_count });
    Ok(())
}

fn write_error(error: Error) -> Diag {
    Diag::new(Code::Scene, error.to_string())
}
