//! The writer of scenes.

use alloc::vec::Vec;

use super::records::*;
use super::{FORMAT, HscnView, TextBuilder};
use crate::Error;
use crate::chunk_tables;
use crate::pod::as_bytes;

/// The tables of a scene. Strings are added to `text` in the order of the chunks, of their records, and of the fields in
/// a record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// The scene as a whole.
    pub info: SceneInfo,
    /// The nodes, each parent before its children.
    pub nodes: Vec<SceneNode>,
    /// The meshes.
    pub meshes: Vec<SceneMesh>,
    /// The skins.
    pub skins: Vec<SceneSkin>,
    /// The joints of all skins.
    pub joints: Vec<SceneJoint>,
    /// The cameras.
    pub cameras: Vec<SceneCamera>,
    /// The lights.
    pub lights: Vec<SceneLight>,
    /// The instances of all nodes.
    pub instances: Vec<SceneTransform>,
    /// The matrices of nodes.
    pub matrices: Vec<[f32; 16]>,
    /// The morph target weights of meshes and nodes.
    pub weights: Vec<f32>,
    /// The clips.
    pub clips: Vec<SceneClip>,
    /// The channels of all clips.
    pub channels: Vec<SceneChannel>,
    /// The times of all channels; a channel may have those of the one before it.
    pub times: Vec<f32>,
    /// The values of all channels.
    pub values: Vec<f32>,
    /// The strings.
    pub text: TextBuilder,
}

/// Encodes a scene as an `.hscn` file.
///
/// # Errors
///
/// [`Error`] if the result would not pass [`HscnView::read`].
pub fn write(parts: &Parts) -> Result<Vec<u8>, Error> {
    let payloads = ChunkId::ALL.map(|id| {
        let bytes = match id {
            ChunkId::Info => as_bytes(core::slice::from_ref(&parts.info)),
            ChunkId::Nodes => as_bytes(&parts.nodes),
            ChunkId::Meshes => as_bytes(&parts.meshes),
            ChunkId::Skins => as_bytes(&parts.skins),
            ChunkId::Joints => as_bytes(&parts.joints),
            ChunkId::Cameras => as_bytes(&parts.cameras),
            ChunkId::Lights => as_bytes(&parts.lights),
            ChunkId::Instances => as_bytes(&parts.instances),
            ChunkId::Matrices => as_bytes(&parts.matrices),
            ChunkId::Weights => as_bytes(&parts.weights),
            ChunkId::Clips => as_bytes(&parts.clips),
            ChunkId::Channels => as_bytes(&parts.channels),
            ChunkId::Times => as_bytes(&parts.times),
            ChunkId::Values => as_bytes(&parts.values),
            ChunkId::Text => parts.text.as_str().as_bytes(),
        };
        (id.fourcc(), bytes)
    });
    let bytes = chunk_tables::write(FORMAT, &payloads)?;
    HscnView::read(&bytes)?.verify()?;
    Ok(bytes)
}
