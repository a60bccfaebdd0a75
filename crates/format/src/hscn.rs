//! `.hscn`: the scene of a model: nodes, cameras, lights, skins, instances, `extras`, and the animation of nodes and
//! morph target weights.
//!
//! Implements `docs/reference/formats/hscn.md`. Unknown chunks are ignored. [`HscnView::read`] rejects duplicate chunks,
//! nodes before their parents, indices and ranges that are out of bounds, numbers that are not finite, keyframes out of
//! order, and text that is not UTF-8. [`HscnView::verify`] also rejects gaps between chunks and unaccounted bytes.
//!
//! ```
//! use kiln_format::hscn::{HscnView, NONE};
//!
//! /// The names of the nodes with a light, and the intensities of the lights.
//! fn lights(file: &[u8]) -> Result<Vec<(&str, f32)>, kiln_format::Error> {
//!     let scene = HscnView::read(file)?;
//!     let lit = scene.nodes().iter().filter(|node| node.light != NONE);
//!     Ok(lit.filter_map(|node| Some((scene.text(node.name), scene.light(&node)?.intensity))).collect())
//! }
//! # assert!(lights(b"HSCN").is_err());
//! ```

mod check;
mod inspect;
mod records;
#[cfg(feature = "tools")]
mod write;

pub use self::inspect::HScn;
pub use self::records::*;
#[cfg(feature = "tools")]
pub use self::write::{Parts, write};
#[cfg(feature = "tools")]
pub use crate::chunk_tables::TextBuilder;
pub use crate::chunk_tables::TextRange;

use crate::chunk_tables::Tables;
use crate::chunks::Kind;
use crate::{Array, Error};

/// The magic number of scenes.
pub const MAGIC: [u8; 4] = *b"HSCN";
/// The only supported version.
pub const VERSION: u32 = 1;

const FORMAT: Kind = Kind { format: "hscn", magic: MAGIC, version: VERSION, version_text: "1" };

/// A checked scene: all indices and ranges are in bounds.
#[derive(Clone, Copy, Debug)]
pub struct HscnView<'a> {
    tables: Tables<'a, { ChunkId::ALL.len() }>,
}

impl<'a> HscnView<'a> {
    /// Checks everything except the layout of the chunks.
    ///
    /// # Errors
    ///
    /// [`Error`] if a chunk is duplicate or has an incomplete record, or if a table holds an invalid value.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let view = HscnView { tables: Tables::read(bytes, FORMAT, &ChunkId::TABLES)? };
        check::check(&view)?;
        Ok(view)
    }

    /// Checks that the chunks follow one another without gaps, and that nothing follows the last.
    ///
    /// # Errors
    ///
    /// [`Error`] at the first gap, overlap or trailing byte.
    pub fn verify(&self) -> Result<(), Error> {
        self.tables.check_layout()
    }

    /// Returns the name and the `extras` of the scene.
    pub fn info(&self) -> SceneInfo {
        self.tables.array(ChunkId::Info as usize).get(0).unwrap_or_default()
    }

    /// Returns the nodes, each parent before its children.
    pub fn nodes(&self) -> Array<'a, SceneNode> {
        self.tables.array(ChunkId::Nodes as usize)
    }

    /// Returns the meshes of the source.
    pub fn meshes(&self) -> Array<'a, SceneMesh> {
        self.tables.array(ChunkId::Meshes as usize)
    }

    /// Returns the skins of the source.
    pub fn skins(&self) -> Array<'a, SceneSkin> {
        self.tables.array(ChunkId::Skins as usize)
    }

    /// Returns the joints of all skins.
    pub fn all_joints(&self) -> Array<'a, SceneJoint> {
        self.tables.array(ChunkId::Joints as usize)
    }

    /// Returns the cameras.
    pub fn cameras(&self) -> Array<'a, SceneCamera> {
        self.tables.array(ChunkId::Cameras as usize)
    }

    /// Returns the lights.
    pub fn lights(&self) -> Array<'a, SceneLight> {
        self.tables.array(ChunkId::Lights as usize)
    }

    /// Returns the instances of all nodes.
    pub fn all_instances(&self) -> Array<'a, SceneTransform> {
        self.tables.array(ChunkId::Instances as usize)
    }

    /// Returns the matrices of all nodes that have one, column-major.
    pub fn matrices(&self) -> Array<'a, [f32; 16]> {
        self.tables.array(ChunkId::Matrices as usize)
    }

    /// Returns the morph target weights of all meshes and nodes.
    pub fn all_weights(&self) -> Array<'a, f32> {
        self.tables.array(ChunkId::Weights as usize)
    }

    /// Returns the animation clips.
    pub fn clips(&self) -> Array<'a, SceneClip> {
        self.tables.array(ChunkId::Clips as usize)
    }

    /// Returns the channels of all clips.
    pub fn all_channels(&self) -> Array<'a, SceneChannel> {
        self.tables.array(ChunkId::Channels as usize)
    }

    /// Returns a string of this scene: a name, or `extras` as JSON.
    pub fn text(&self, range: TextRange) -> &'a str {
        self.tables.text(range)
    }

    /// Returns the joints of a skin of this scene.
    pub fn joints(&self, skin: &SceneSkin) -> Array<'a, SceneJoint> {
        self.all_joints().range(skin.first_joint, skin.joint_count).unwrap_or_default()
    }

    /// Returns the instances of a node of this scene.
    pub fn instances(&self, node: &SceneNode) -> Array<'a, SceneTransform> {
        self.all_instances().range(node.first_instance, node.instance_count).unwrap_or_default()
    }

    /// Returns the matrix of a node of this scene, if it has one that `transform` only approximates.
    pub fn matrix(&self, node: &SceneNode) -> Option<[f32; 16]> {
        self.matrices().get(usize::try_from(node.matrix).ok()?)
    }

    /// Returns the camera of a node of this scene.
    pub fn camera(&self, node: &SceneNode) -> Option<SceneCamera> {
        self.cameras().get(usize::try_from(node.camera).ok()?)
    }

    /// Returns the light of a node of this scene.
    pub fn light(&self, node: &SceneNode) -> Option<SceneLight> {
        self.lights().get(usize::try_from(node.light).ok()?)
    }

    /// Returns the morph target weights of a node of this scene: its own, or the default weights of its mesh.
    pub fn weights(&self, node: &SceneNode) -> Array<'a, f32> {
        let mesh =
            usize::try_from(node.mesh).ok().and_then(|mesh| self.meshes().get(mesh)).unwrap_or_default();
        let (start, len) = match node.weight_count {
            0 => (mesh.first_weight, mesh.weight_count),
            own => (node.first_weight, own),
        };
        self.all_weights().range(start, len).unwrap_or_default()
    }

    /// Returns the channels of a clip of this scene.
    pub fn channels(&self, clip: &SceneClip) -> Array<'a, SceneChannel> {
        self.all_channels().range(clip.first_channel, clip.channel_count).unwrap_or_default()
    }

    /// Returns the times of a channel's keyframes in seconds, in ascending order.
    pub fn times(&self, channel: &SceneChannel) -> Array<'a, f32> {
        let times = self.tables.array(ChunkId::Times as usize);
        times.range(channel.first_time, channel.key_count).unwrap_or_default()
    }

    /// Returns the values of a channel's keyframes, `components` numbers each; with a cubic spline three such values for
    /// each keyframe: the in-tangent, the value and the out-tangent.
    pub fn values(&self, channel: &SceneChannel) -> Array<'a, f32> {
        let mode = Interpolation::from_number(channel.interpolation).unwrap_or(Interpolation::Step);
        let per_key = channel.components.checked_mul(mode.values_per_key());
        let len = per_key.and_then(|per_key| per_key.checked_mul(channel.key_count)).unwrap_or(u32::MAX);
        let values = self.tables.array(ChunkId::Values as usize);
        values.range(channel.first_value, len).unwrap_or_default()
    }
}
