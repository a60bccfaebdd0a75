//! Checks of the tables of a scene. They run on every read, so that all indices and ranges can be followed.

use core::mem::offset_of;

use super::HscnView;
use super::records::*;
use crate::Error;
use crate::chunk_tables::{TextRange, Texts};
use crate::error::{below, equal, finite};

/// The row of a table that is checked.
struct Row<'v, 'a> {
    view: &'v HscnView<'a>,
    id: ChunkId,
    index: usize,
}

impl Row<'_, '_> {
    /// Returns the byte offset of a field.
    fn at(&self, offset: usize) -> u64 {
        self.view.tables.at(self.id as usize) + (self.index * self.id.record_size() + offset) as u64
    }

    /// Checks an index that may be absent.
    fn index(&self, offset: usize, field: &'static str, found: i32, count: usize) -> Result<(), Error> {
        if found == NONE { Ok(()) } else { below(self.at(offset), field, found as u32, count as u64) }
    }

    /// Checks a range of another table. `offset` is that of the first index.
    fn range(
        &self,
        offset: usize,
        field: &'static str,
        start: u32,
        len: u64,
        of: ChunkId,
    ) -> Result<(), Error> {
        let count = (self.view.tables.payload(of as usize).len() / of.record_size()) as u64;
        below(self.at(offset), field, u64::from(start) + len, count + 1)
    }

    /// Checks the name and the `extras`, with which records start.
    fn labels(&self, texts: &mut Texts<'_>, name: TextRange, extras: TextRange) -> Result<(), Error> {
        texts.next(self.at(0), "name", name)?;
        texts.next(self.at(size_of::<TextRange>()), "extras", extras)
    }

    fn floats(&self, offset: usize, field: &'static str, numbers: &[f32]) -> Result<(), Error> {
        finite(self.at(offset), field, numbers)
    }

    fn known(
        &self,
        offset: usize,
        field: &'static str,
        found: u32,
        is_known: bool,
        expected: &'static str,
    ) -> Result<(), Error> {
        let (at, found) = (self.at(offset), found.into());
        if is_known { Ok(()) } else { Err(Error::Value { at, field, found, expected }) }
    }
}

/// Checks everything but the layout of chunks.
pub(super) fn check(view: &HscnView<'_>) -> Result<(), Error> {
    let mut texts = view.tables.texts();
    let row = |id, index| Row { view, id, index };
    let infos = view.tables.array::<SceneInfo>(ChunkId::Info as usize);
    if infos.is_empty() {
        return Err(Error::Missing { chunk: ChunkId::Info.name() });
    }
    if infos.len() > 1 {
        let at = view.tables.at(ChunkId::Info as usize);
        return Err(Error::Fault { at, field: "SCEN", why: "has more than one record" });
    }
    let info = view.info();
    row(ChunkId::Info, 0).labels(&mut texts, info.name, info.extras)?;
    let at = row(ChunkId::Info, 0).at(offset_of!(SceneInfo, document_extras));
    texts.next(at, "document_extras", info.document_extras)?;
    for (i, node) in view.nodes().iter().enumerate() {
        check_node(&row(ChunkId::Nodes, i), &node, &mut texts)?;
    }
    for (i, mesh) in view.meshes().iter().enumerate() {
        let row = row(ChunkId::Meshes, i);
        row.labels(&mut texts, mesh.name, mesh.extras)?;
        let count = u64::from(mesh.weight_count);
        let offset = offset_of!(SceneMesh, first_weight);
        row.range(offset, "weights", mesh.first_weight, count, ChunkId::Weights)?;
    }
    for (i, skin) in view.skins().iter().enumerate() {
        let row = row(ChunkId::Skins, i);
        row.labels(&mut texts, skin.name, skin.extras)?;
        let count = u64::from(skin.joint_count);
        row.range(offset_of!(SceneSkin, first_joint), "joints", skin.first_joint, count, ChunkId::Joints)?;
    }
    for (i, joint) in view.all_joints().iter().enumerate() {
        let row = row(ChunkId::Joints, i);
        below(row.at(0), "node", joint.node, view.nodes().len() as u64)?;
        row.floats(offset_of!(SceneJoint, inverse_bind), "inverse_bind", &joint.inverse_bind)?;
    }
    for (i, camera) in view.cameras().iter().enumerate() {
        let row = row(ChunkId::Cameras, i);
        row.labels(&mut texts, camera.name, camera.extras)?;
        let known = CameraKind::from_number(camera.kind).is_some();
        row.known(offset_of!(SceneCamera, kind), "kind", camera.kind, known, "0 or 1")?;
        let numbers = [camera.x, camera.y, camera.z_near, camera.z_far];
        row.floats(offset_of!(SceneCamera, x), "projection", &numbers)?;
    }
    for (i, light) in view.lights().iter().enumerate() {
        let row = row(ChunkId::Lights, i);
        row.labels(&mut texts, light.name, light.extras)?;
        let known = LightKind::from_number(light.kind).is_some();
        row.known(offset_of!(SceneLight, kind), "kind", light.kind, known, "at most 2")?;
        row.floats(offset_of!(SceneLight, color), "color", &light.color)?;
        let numbers = [light.intensity, light.range, light.inner_cone_angle, light.outer_cone_angle];
        row.floats(offset_of!(SceneLight, intensity), "intensity, range or angle", &numbers)?;
    }
    for (id, field) in [
        (ChunkId::Instances, "instance"),
        (ChunkId::Matrices, "matrix"),
        (ChunkId::Weights, "weight"),
        (ChunkId::Times, "time"),
        (ChunkId::Values, "value"),
    ] {
        for (i, number) in view.tables.array::<f32>(id as usize).iter().enumerate() {
            finite(view.tables.at(id as usize) + i as u64 * 4, field, &[number])?;
        }
    }
    let end = |first: u32, count: u32| if count == 0 { 0 } else { u64::from(first) + u64::from(count) };
    let of_nodes = view.nodes().iter().map(|node| end(node.first_weight, node.weight_count));
    let of_meshes = view.meshes().iter().map(|mesh| end(mesh.first_weight, mesh.weight_count));
    all_used(view, ChunkId::Weights, of_nodes.chain(of_meshes).max().unwrap_or(0))?;
    check_clips(view, &mut texts)?;
    texts.finish()
}

fn check_node(row: &Row<'_, '_>, node: &SceneNode, texts: &mut Texts<'_>) -> Result<(), Error> {
    let view = row.view;
    row.labels(texts, node.name, node.extras)?;
    row.index(offset_of!(SceneNode, parent), "parent", node.parent, row.index)?;
    row.index(offset_of!(SceneNode, mesh), "mesh", node.mesh, view.meshes().len())?;
    row.index(offset_of!(SceneNode, skin), "skin", node.skin, view.skins().len())?;
    row.index(offset_of!(SceneNode, camera), "camera", node.camera, view.cameras().len())?;
    row.index(offset_of!(SceneNode, light), "light", node.light, view.lights().len())?;
    row.index(offset_of!(SceneNode, matrix), "matrix", node.matrix, view.matrices().len())?;
    let known = node.flags <= DRAWN;
    row.known(offset_of!(SceneNode, flags), "flags", node.flags, known, "0 or 1")?;
    let (start, count) = (node.first_instance, u64::from(node.instance_count));
    row.range(offset_of!(SceneNode, first_instance), "instances", start, count, ChunkId::Instances)?;
    let (start, count) = (node.first_weight, u64::from(node.weight_count));
    row.range(offset_of!(SceneNode, first_weight), "weights", start, count, ChunkId::Weights)?;
    if node.weight_count > 0 {
        let mesh = usize::try_from(node.mesh).ok().and_then(|mesh| view.meshes().get(mesh));
        let targets = mesh.map_or(0, |mesh| mesh.weight_count);
        equal(row.at(offset_of!(SceneNode, weight_count)), "weight_count", node.weight_count, targets)?;
    }
    let SceneTransform { translation, rotation, scale } = node.transform;
    let at = offset_of!(SceneNode, transform);
    row.floats(at + offset_of!(SceneTransform, translation), "translation", &translation)?;
    row.floats(at + offset_of!(SceneTransform, rotation), "rotation", &rotation)?;
    row.floats(at + offset_of!(SceneTransform, scale), "scale", &scale)
}

/// Checks that clips cover the channels contiguously, and channels the times and values. A channel may have the times of
/// the one before it.
fn check_clips(view: &HscnView<'_>, texts: &mut Texts<'_>) -> Result<(), Error> {
    let (mut channels, mut keys) = (0u64, Keys::default());
    for (i, clip) in view.clips().iter().enumerate() {
        let row = Row { view, id: ChunkId::Clips, index: i };
        row.labels(texts, clip.name, clip.extras)?;
        let at = offset_of!(SceneClip, first_channel);
        equal(row.at(at), "first_channel", clip.first_channel, channels)?;
        row.range(at, "channels", clip.first_channel, clip.channel_count.into(), ChunkId::Channels)?;
        channels += u64::from(clip.channel_count);
        let mut last = 0.0;
        for index in clip.first_channel as usize..channels as usize {
            let time = keys.next(&Row { view, id: ChunkId::Channels, index })?;
            last = if time > last { time } else { last };
        }
        if clip.duration.to_bits() != f32::to_bits(last) {
            let at = row.at(offset_of!(SceneClip, duration));
            return Err(Error::Fault {
                at,
                field: "duration",
                why: "does not equal the time of the last key",
            });
        }
    }
    all_used(view, ChunkId::Channels, channels)?;
    all_used(view, ChunkId::Times, keys.times)?;
    all_used(view, ChunkId::Values, keys.values)
}

/// Fails unless a chunk ends with its last used record.
fn all_used(view: &HscnView<'_>, id: ChunkId, used: u64) -> Result<(), Error> {
    let end = used * id.record_size() as u64;
    match view.tables.payload(id as usize).len() as u64 - end {
        0 => Ok(()),
        extra => Err(Error::Trailing { at: view.tables.at(id as usize) + end, extra }),
    }
}

/// The keyframes of the channels so far.
#[derive(Default)]
struct Keys {
    times: u64,
    values: u64,
    /// The first time and the number of times of the channel before.
    previous: Option<(u32, u32)>,
}

impl Keys {
    /// Checks a channel; returns the time of its last key.
    fn next(&mut self, row: &Row<'_, '_>) -> Result<f32, Error> {
        let view = row.view;
        let channel = view.all_channels().get(row.index).unwrap_or_default();
        below(row.at(offset_of!(SceneChannel, node)), "node", channel.node, view.nodes().len() as u64)?;
        let (path, at) = (ChannelPath::from_number(channel.path), offset_of!(SceneChannel, path));
        row.known(at, "path", channel.path.into(), path.is_some(), "at most 3")?;
        let (mode, at) =
            (Interpolation::from_number(channel.interpolation), offset_of!(SceneChannel, interpolation));
        row.known(at, "interpolation", channel.interpolation.into(), mode.is_some(), "at most 2")?;
        equal(row.at(offset_of!(SceneChannel, reserved)), "reserved", channel.reserved, 0u32)?;
        let components = match path {
            Some(ChannelPath::Rotation) => 4,
            Some(ChannelPath::Weights) => channel.components.max(1),
            _ => 3,
        };
        let at = row.at(offset_of!(SceneChannel, components));
        equal(at, "components", channel.components, components)?;
        let some = channel.key_count > 0;
        row.known(offset_of!(SceneChannel, key_count), "key_count", channel.key_count, some, "at least 1")?;

        let at = offset_of!(SceneChannel, first_time);
        if self.previous != Some((channel.first_time, channel.key_count)) {
            equal(row.at(at), "first_time", channel.first_time, self.times)?;
            row.range(at, "times", channel.first_time, channel.key_count.into(), ChunkId::Times)?;
            self.times += u64::from(channel.key_count);
            self.previous = Some((channel.first_time, channel.key_count));
            let times = view.times(&channel);
            if let Some(i) = times.iter().zip(times.iter().skip(1)).position(|(a, b)| a > b) {
                let first = u64::from(channel.first_time) + i as u64 + 1;
                return Err(Error::Order {
                    at: view.tables.at(ChunkId::Times as usize) + first * 4,
                    field: "time",
                });
            }
        }
        let at = offset_of!(SceneChannel, first_value);
        equal(row.at(at), "first_value", channel.first_value, self.values)?;
        let per_key = mode.map_or(1, Interpolation::values_per_key);
        // Below 2^66, so a product of three numbers needs a check.
        let values = (u64::from(channel.key_count) * u64::from(per_key)).checked_mul(components.into());
        let values = values.filter(|values| *values <= u32::MAX.into()).unwrap_or(u64::from(u32::MAX) + 1);
        row.range(at, "values", channel.first_value, values, ChunkId::Values)?;
        self.values += values;
        let last = channel.first_time as usize + channel.key_count as usize - 1;
        Ok(view.tables.array::<f32>(ChunkId::Times as usize).get(last).unwrap_or_default())
    }
}
