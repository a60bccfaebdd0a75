//! The chunk tags of a scene, and the records in the chunks.

use crate::chunk_tables::{TextRange, table_ids};
use crate::numbered::numbered;
use crate::pod::pod;

/// The index of an absent object, in fields of [`SceneNode`].
pub const NONE: i32 = -1;

/// The bit of [`SceneNode::flags`] of a node that is drawn: a root of the scene, or below one.
pub const DRAWN: u32 = 1;

table_ids! {
    /// A single [`SceneInfo`].
    Info "SCEN" SceneInfo,
    /// An array of [`SceneNode`], each parent before its children.
    Nodes "NODE" SceneNode,
    /// An array of [`SceneMesh`].
    Meshes "MESH" SceneMesh,
    /// An array of [`SceneSkin`].
    Skins "SKIN" SceneSkin,
    /// An array of [`SceneJoint`]: the joints of all skins.
    Joints "JNTS" SceneJoint,
    /// An array of [`SceneCamera`].
    Cameras "CAMR" SceneCamera,
    /// An array of [`SceneLight`].
    Lights "LGHT" SceneLight,
    /// An array of [`SceneTransform`]: the instances of all nodes.
    Instances "INST" SceneTransform,
    /// An array of `[f32; 16]`: the matrices of nodes that have one.
    Matrices "MTRX" [f32; 16],
    /// An array of `f32`: the morph target weights of meshes and nodes.
    Weights "WGHT" f32,
    /// An array of [`SceneClip`].
    Clips "CLIP" SceneClip,
    /// An array of [`SceneChannel`]: the channels of all clips.
    Channels "CHAN" SceneChannel,
    /// An array of `f32`: the times of keyframes.
    Times "TIME" f32,
    /// An array of `f32`: the values of keyframes.
    Values "VALU" f32,
    /// The names and `extras`, in UTF-8.
    Text "TEXT" u8,
}

pod! {
    /// The scene as a whole.
    #[derive(Default, Eq)]
    pub struct SceneInfo {
        /// The name of the scene.
        pub name: TextRange,
        /// The `extras` of the scene, as JSON.
        pub extras: TextRange,
        /// The `extras` of the document, as JSON.
        pub document_extras: TextRange,
    }
}

pod! {
    /// A scale, then a rotation, then a translation.
    pub struct SceneTransform {
        /// The translation.
        pub translation: [f32; 3],
        /// The rotation: a quaternion x, y, z, w.
        pub rotation: [f32; 4],
        /// The scale along each axis.
        pub scale: [f32; 3],
    }
}

/// The identity.
impl Default for SceneTransform {
    fn default() -> Self {
        SceneTransform { translation: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0], scale: [1.0; 3] }
    }
}

pod! {
    /// A node of the scene graph.
    pub struct SceneNode {
        /// The name.
        pub name: TextRange,
        /// The `extras`, as JSON.
        pub extras: TextRange,
        /// The index of the parent node, which comes before this one, or [`NONE`].
        pub parent: i32,
        /// The index of the mesh that the node draws, or [`NONE`].
        pub mesh: i32,
        /// The index of the mesh's skin, or [`NONE`].
        pub skin: i32,
        /// The index of the camera at the node, or [`NONE`].
        pub camera: i32,
        /// The index of the light at the node, or [`NONE`].
        pub light: i32,
        /// The index of the matrix that `transform` approximates, or [`NONE`] where `transform` is exact.
        pub matrix: i32,
        /// [`DRAWN`] or 0.
        pub flags: u32,
        /// The index of the first submesh of the node in the `.hmesh` beside the scene.
        pub first_submesh: u32,
        /// The number of submeshes; 0 where the vertices of the `.hmesh` are in world space.
        pub submesh_count: u32,
        /// The index of the first instance in `INST`.
        pub first_instance: u32,
        /// The number of instances; if there are any, the mesh is drawn at each of them and not at the node itself.
        pub instance_count: u32,
        /// The index of the first morph target weight in `WGHT`.
        pub first_weight: u32,
        /// The number of morph target weights; 0 for the weights of the mesh.
        pub weight_count: u32,
        /// The transform relative to the parent.
        pub transform: SceneTransform,
    }
}

impl Default for SceneNode {
    /// A node at the identity, without content.
    fn default() -> Self {
        SceneNode {
            name: TextRange::default(),
            extras: TextRange::default(),
            parent: NONE,
            mesh: NONE,
            skin: NONE,
            camera: NONE,
            light: NONE,
            matrix: NONE,
            flags: 0,
            first_submesh: 0,
            submesh_count: 0,
            first_instance: 0,
            instance_count: 0,
            first_weight: 0,
            weight_count: 0,
            transform: SceneTransform::default(),
        }
    }
}

pod! {
    /// A mesh of the source.
    #[derive(Default, Eq)]
    pub struct SceneMesh {
        /// The name.
        pub name: TextRange,
        /// The `extras`, as JSON.
        pub extras: TextRange,
        /// The index of the first default weight in `WGHT`.
        pub first_weight: u32,
        /// The number of morph targets, each with a default weight.
        pub weight_count: u32,
    }
}

pod! {
    /// A skin of the source.
    #[derive(Default, Eq)]
    pub struct SceneSkin {
        /// The name.
        pub name: TextRange,
        /// The `extras`, as JSON.
        pub extras: TextRange,
        /// The index of the first joint in `JNTS`.
        pub first_joint: u32,
        /// The number of joints.
        pub joint_count: u32,
    }
}

pod! {
    /// A joint of a skin.
    pub struct SceneJoint {
        /// The index of the node that is the joint.
        pub node: u32,
        /// The inverse bind matrix, column-major: from the space of the mesh into that of the joint.
        pub inverse_bind: [f32; 16],
    }
}

pod! {
    /// A camera, which looks along -Z of its node with +Y up.
    #[derive(Default)]
    pub struct SceneCamera {
        /// The name.
        pub name: TextRange,
        /// The `extras`, as JSON.
        pub extras: TextRange,
        /// The number of a [`CameraKind`].
        pub kind: u32,
        /// Perspective: the aspect ratio, 0 for that of the window. Orthographic: half of the width of the view.
        pub x: f32,
        /// Perspective: the vertical field of view in radians. Orthographic: half of the height of the view.
        pub y: f32,
        /// The distance of the near plane.
        pub z_near: f32,
        /// The distance of the far plane; 0 for an infinite perspective projection.
        pub z_far: f32,
    }
}

pod! {
    /// A punctual light; directional lights and spot lights shine along -Z of their node.
    #[derive(Default)]
    pub struct SceneLight {
        /// The name.
        pub name: TextRange,
        /// The `extras`, as JSON.
        pub extras: TextRange,
        /// The number of a [`LightKind`].
        pub kind: u32,
        /// The colour, linear RGB.
        pub color: [f32; 3],
        /// The intensity: candela for point lights and spot lights, lux for directional lights.
        pub intensity: f32,
        /// The distance at which the light ends; 0 where it has no end.
        pub range: f32,
        /// Spot lights: the angle in radians from the axis to where the intensity begins to fall off.
        pub inner_cone_angle: f32,
        /// Spot lights: the angle in radians from the axis to where the light ends.
        pub outer_cone_angle: f32,
    }
}

pod! {
    /// An animation clip.
    #[derive(Default)]
    pub struct SceneClip {
        /// The name.
        pub name: TextRange,
        /// The `extras`, as JSON.
        pub extras: TextRange,
        /// The duration in seconds: the greatest time of its keyframes.
        pub duration: f32,
        /// The index of the first channel in `CHAN`: that after the last of the preceding clip.
        pub first_channel: u32,
        /// The number of channels.
        pub channel_count: u32,
    }
}

pod! {
    /// The keyframes of one property of one node.
    #[derive(Default, Eq)]
    pub struct SceneChannel {
        /// The index of the node.
        pub node: u32,
        /// The number of a [`ChannelPath`].
        pub path: u8,
        /// The number of an [`Interpolation`].
        pub interpolation: u8,
        /// 0.
        pub reserved: u16,
        /// The number of components of a value: 3, 4 for rotations, or the number of morph targets.
        pub components: u32,
        /// The number of keyframes, at least one.
        pub key_count: u32,
        /// The index of the first time in `TIME`.
        pub first_time: u32,
        /// The index of the first value in `VALU`.
        pub first_value: u32,
    }
}

numbered! {
    /// The projection of a camera.
    pub enum CameraKind: u32 {
        /// A perspective projection.
        Perspective = "perspective",
        /// An orthographic projection.
        Orthographic = "orthographic",
    }
}

numbered! {
    /// The type of a light.
    pub enum LightKind: u32 {
        /// A light that is infinitely far away.
        Directional = "directional",
        /// A light that shines in all directions.
        Point = "point",
        /// A light that shines into a cone.
        Spot = "spot",
    }
}

numbered! {
    /// The property of a node that a channel animates.
    pub enum ChannelPath: u8 {
        /// The translation.
        Translation = "translation",
        /// The rotation.
        Rotation = "rotation",
        /// The scale.
        Scale = "scale",
        /// The morph target weights of the node's mesh.
        Weights = "weights",
    }
}

numbered! {
    /// The interpolation between two keyframes.
    pub enum Interpolation: u8 {
        /// Holds the value of the preceding keyframe.
        Step = "step",
        /// Interpolates linearly; rotations spherically, along the shorter arc.
        Linear = "linear",
        /// A cubic Hermite spline: each keyframe has an in-tangent, a value and an out-tangent.
        CubicSpline = "cubic spline",
    }
}

impl Interpolation {
    /// Returns the number of values of a keyframe: 3 with tangents, otherwise 1.
    pub const fn values_per_key(self) -> u32 {
        match self {
            Interpolation::CubicSpline => 3,
            Interpolation::Step | Interpolation::Linear => 1,
        }
    }
}
