//! A scene: trees of nodes, and the meshes, materials, images, skins, cameras, lights and animations they use.
//!
//! All objects are in lists and refer to each other by typed indices. [`Scene::validate`] is the only way to a [`Valid`]
//! scene: its indices are in range, its nodes are trees of bounded depth, and its numbers are finite.

use crate::anim::Animation;
use crate::camera::{Camera, CameraId};
use crate::light::{Light, LightId};
use crate::material::{ImageSource, Material};
use crate::mesh::{Mesh, MeshId};
use crate::skin::{Skin, SkinId};
use crate::transform::{Matrix, Transform, Trs};
use crate::valid::{Valid, ValidationError, check_id, plural};

/// The index of a node in [`Scene::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// The content of one source: a scene graph and the objects it uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// All nodes, including those that are not drawn.
    pub nodes: Vec<Node>,
    /// The root nodes that are drawn, with all their descendants.
    pub roots: Vec<NodeId>,
    /// The meshes.
    pub meshes: Vec<Mesh>,
    /// The materials, including unused ones: runtime files refer to materials by name.
    pub materials: Vec<Material>,
    /// The images that materials use.
    pub images: Vec<ImageSource>,
    /// The skins of skinned meshes.
    pub skins: Vec<Skin>,
    /// The animation clips.
    pub animations: Vec<Animation>,
    /// The cameras that nodes place.
    pub cameras: Vec<Camera>,
    /// The punctual lights that nodes place.
    pub lights: Vec<Light>,
    /// The name of the scene in the source; empty when the source has none.
    pub name: String,
    /// The application-specific data of the scene, as JSON text; empty when there is none.
    pub extras: String,
    /// The application-specific data of the source as a whole, as JSON text; empty when there is none.
    pub document_extras: String,
}

/// A node of the scene graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The name in the source; empty when the source has none.
    pub name: String,
    /// The transform relative to the parent.
    pub transform: Transform,
    /// The child nodes.
    pub children: Vec<NodeId>,
    /// The mesh that the node draws.
    pub mesh: Option<MeshId>,
    /// The skin of that mesh.
    pub skin: Option<SkinId>,
    /// The transforms of GPU instances, relative to the node. When there are any, they replace the mesh at the node itself.
    pub instances: Vec<Trs>,
    /// The camera at the node.
    pub camera: Option<CameraId>,
    /// The light at the node.
    pub light: Option<LightId>,
    /// The weights of the mesh's morph targets at this node; empty for the default weights of the mesh.
    pub morph_weights: Vec<f32>,
    /// The application-specific data of the source, as JSON text; empty when there is none.
    pub extras: String,
}

impl Default for Node {
    fn default() -> Node {
        Node {
            name: String::new(),
            transform: Transform::IDENTITY,
            children: Vec::new(),
            mesh: None,
            skin: None,
            instances: Vec::new(),
            camera: None,
            light: None,
            morph_weights: Vec::new(),
            extras: String::new(),
        }
    }
}

/// One draw of a mesh: by a node, or by one of its instances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// The node that draws the mesh.
    pub node: NodeId,
    /// The mesh.
    pub mesh: MeshId,
    /// The skin of the mesh.
    pub skin: Option<SkinId>,
    /// The world matrix: from the space of the mesh into that of the scene.
    pub world: Matrix,
}

impl Scene {
    /// The maximum depth of trees of nodes: far beyond any skeleton, and safe for recursion.
    pub const MAX_DEPTH: usize = 1024;

    /// Checks every invariant.
    ///
    /// # Errors
    /// The first violation, with its place: an index out of range, lists of different lengths, a number that is not
    /// finite, a node with two parents, a cycle or a tree deeper than [`MAX_DEPTH`](Self::MAX_DEPTH).
    pub fn validate(self) -> Result<Valid<Scene>, ValidationError> {
        for (index, node) in self.nodes.iter().enumerate() {
            self.check_node(node).map_err(|error| error.within(format_args!("nodes[{index}]")))?;
        }
        self.check_trees()?;
        for (index, mesh) in self.meshes.iter().enumerate() {
            let within = |error: ValidationError| error.within(format_args!("meshes[{index}]"));
            mesh.check(self.materials.len()).map_err(within)?;
        }
        for (index, material) in self.materials.iter().enumerate() {
            material
                .check(self.images.len())
                .map_err(|error| error.within(format_args!("materials[{index}]")))?;
        }
        for (index, skin) in self.skins.iter().enumerate() {
            skin.check(self.nodes.len()).map_err(|error| error.within(format_args!("skins[{index}]")))?;
        }
        for (index, animation) in self.animations.iter().enumerate() {
            for (part, channel) in animation.channels.iter().enumerate() {
                channel
                    .check(self.nodes.len())
                    .map_err(|error| error.within(format_args!("animations[{index}].channels[{part}]")))?;
            }
            for (part, channel) in animation.morph_channels.iter().enumerate() {
                let place = format_args!("animations[{index}].morph_channels[{part}]");
                channel.check(self.nodes.len()).map_err(|error| error.within(place))?;
            }
        }
        for (index, camera) in self.cameras.iter().enumerate() {
            camera.check().map_err(|error| error.within(format_args!("cameras[{index}]")))?;
        }
        for (index, light) in self.lights.iter().enumerate() {
            light.check().map_err(|error| error.within(format_args!("lights[{index}]")))?;
        }
        self.check_joints()?;
        Ok(Valid(self))
    }

    fn check_node(&self, node: &Node) -> Result<(), ValidationError> {
        for (index, child) in node.children.iter().enumerate() {
            check_id(child.0, self.nodes.len(), format_args!("children[{index}]"))?;
        }
        if let Some(mesh) = node.mesh {
            check_id(mesh.0, self.meshes.len(), "mesh")?;
        }
        if let Some(skin) = node.skin {
            check_id(skin.0, self.skins.len(), "skin")?;
        }
        if let Some(camera) = node.camera {
            check_id(camera.0, self.cameras.len(), "camera")?;
        }
        if let Some(light) = node.light {
            check_id(light.0, self.lights.len(), "light")?;
        }
        if !node.morph_weights.is_empty() {
            let targets = node.mesh.map_or(0, |mesh| self.meshes[mesh.0 as usize].morph_weights.len());
            if node.morph_weights.len() != targets || !node.morph_weights.iter().all(|w| w.is_finite()) {
                let message =
                    format!("{targets} finite weights are needed, one for each morph target of the mesh");
                return Err(ValidationError::new("morph_weights", message));
            }
        }
        if !node.transform.is_finite() {
            return Err(ValidationError::new("transform", "the transform is not finite"));
        }
        match node.instances.iter().position(|instance| !instance.is_finite()) {
            None => Ok(()),
            Some(index) => {
                Err(ValidationError::new(format_args!("instances[{index}]"), "the transform is not finite"))
            }
        }
    }

    /// Checks that every node has at most one parent, that there are no cycles, that no tree is too deep, and that roots
    /// have no parent.
    fn check_trees(&self) -> Result<(), ValidationError> {
        let mut has_parent = vec![false; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for child in &node.children {
                if std::mem::replace(&mut has_parent[child.0 as usize], true) {
                    let message = format!("node {} already has a parent, or is listed twice", child.0);
                    return Err(ValidationError::new(format_args!("nodes[{index}].children"), message));
                }
            }
        }
        let mut rooted = vec![false; self.nodes.len()];
        for (index, root) in self.roots.iter().enumerate() {
            let at = format_args!("roots[{index}]");
            check_id(root.0, self.nodes.len(), at)?;
            if has_parent[root.0 as usize] {
                return Err(ValidationError::new(at, format_args!("node {} has a parent", root.0)));
            }
            if std::mem::replace(&mut rooted[root.0 as usize], true) {
                return Err(ValidationError::new(
                    at,
                    format_args!("node {} is listed as a root twice", root.0),
                ));
            }
        }
        // With at most one parent for each node, a node that cannot be reached from a root is part of a cycle.
        let mut level: Vec<usize> = (0..self.nodes.len()).filter(|&i| !has_parent[i]).collect();
        let mut reached = level.len();
        for _ in 0..Scene::MAX_DEPTH {
            level = level.iter().flat_map(|&i| &self.nodes[i].children).map(|c| c.0 as usize).collect();
            reached += level.len();
        }
        if !level.is_empty() {
            let message = format!("the node is deeper than {} levels below its root", Scene::MAX_DEPTH);
            return Err(ValidationError::new(format_args!("nodes[{}]", level[0]), message));
        }
        if reached < self.nodes.len() {
            return Err(ValidationError::new("nodes", "some nodes are their own ancestors"));
        }
        Ok(())
    }

    /// Checks that joint indices are in range of the skin of the node that draws the mesh.
    fn check_joints(&self) -> Result<(), ValidationError> {
        let last = |mesh: &Mesh| mesh.primitives.iter().filter_map(|p| p.last_joint()).max();
        let last: Vec<_> = self.meshes.iter().map(last).collect();
        for (index, node) in self.nodes.iter().enumerate() {
            let (Some(mesh), Some(skin)) = (node.mesh, node.skin) else { continue };
            let joints = self.skins[skin.0 as usize].joints.len();
            if let Some(joint) = last[mesh.0 as usize].filter(|&joint| usize::from(joint) >= joints) {
                let message = format!(
                    "the mesh uses joint index {joint}, and the skin has {joints} {}",
                    plural(joints, "joint", "joints")
                );
                return Err(ValidationError::new(format_args!("nodes[{index}].skin"), message));
            }
        }
        Ok(())
    }
}

impl Valid<Scene> {
    /// Returns the parent of each node.
    pub fn parents(&self) -> Vec<Option<NodeId>> {
        let mut parents = vec![None; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for child in &node.children {
                parents[child.0 as usize] = Some(NodeId(index as u32));
            }
        }
        parents
    }

    /// Returns these nodes and all their descendants in depth-first preorder.
    fn below(&self, roots: impl DoubleEndedIterator<Item = NodeId>) -> Vec<NodeId> {
        let mut waiting: Vec<NodeId> = roots.rev().collect();
        let mut found = Vec::new();
        while let Some(id) = waiting.pop() {
            found.push(id);
            waiting.extend(self.nodes[id.0 as usize].children.iter().rev());
        }
        found
    }

    /// Returns the world matrix of each node: from its space into that of its root.
    pub fn worlds(&self) -> Vec<Matrix> {
        let parents = self.parents();
        let roots = (0..self.nodes.len() as u32).map(NodeId).filter(|id| parents[id.0 as usize].is_none());
        let mut worlds = vec![Matrix::IDENTITY; self.nodes.len()];
        for id in self.below(roots) {
            let local = self.nodes[id.0 as usize].transform.matrix();
            worlds[id.0 as usize] = match parents[id.0 as usize] {
                Some(parent) => worlds[parent.0 as usize] * local,
                None => local,
            };
        }
        worlds
    }

    /// Adds up the sizes of these draws. Takes an iterator, because a few bytes of a source can stand for millions of
    /// instances.
    pub fn drawn_size(&self, draws: impl Iterator<Item = Draw>) -> DrawnSize {
        let mesh = |mesh: &Mesh| {
            mesh.primitives.iter().fold(DrawnSize { instances: 1, ..DrawnSize::default() }, |size, p| {
                DrawnSize {
                    primitives: size.primitives + 1,
                    vertices: size.vertices + p.positions.len() as u64,
                    corners: size.corners + p.indices.len() as u64,
                    ..size
                }
            })
        };
        let each: Vec<DrawnSize> = self.meshes.iter().map(mesh).collect();
        draws.fold(DrawnSize::default(), |sum, draw| {
            let one = each[draw.mesh.0 as usize];
            DrawnSize {
                instances: sum.instances + one.instances,
                primitives: sum.primitives + one.primitives,
                vertices: sum.vertices + one.vertices,
                corners: sum.corners + one.corners,
            }
        })
    }

    /// Returns all draws of the scene: roots in order, each node before its children, each instance in turn.
    pub fn draws(&self) -> impl Iterator<Item = Draw> {
        let worlds = self.worlds();
        self.below(self.roots.iter().copied()).into_iter().flat_map(move |id| {
            let node = &self.nodes[id.0 as usize];
            let world = worlds[id.0 as usize];
            let draw = move |world| Some(Draw { node: id, mesh: node.mesh?, skin: node.skin, world });
            let own = node.instances.is_empty().then_some(world);
            own.into_iter().chain(node.instances.iter().map(move |at| world * at.matrix())).filter_map(draw)
        })
    }
}

/// The size of what a scene draws, with each instance counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrawnSize {
    /// The number of drawn meshes.
    pub instances: u64,
    /// The number of their primitives.
    pub primitives: u64,
    /// The number of their vertices.
    pub vertices: u64,
    /// The number of their indices: three for each triangle.
    pub corners: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Primitive;

    /// Creates nodes with these children; all without a parent are roots.
    fn forest(children: &[&[u32]]) -> Scene {
        let node = |ids: &&[u32]| Node {
            transform: Transform::Trs(Trs { translation: [1.0, 0.0, 0.0], ..Trs::IDENTITY }),
            children: ids.iter().copied().map(NodeId).collect(),
            ..Node::default()
        };
        let is_child = |id: u32| children.iter().any(|ids| ids.contains(&id));
        let roots = (0..children.len() as u32).filter(|&id| !is_child(id)).map(NodeId).collect();
        Scene { nodes: children.iter().map(node).collect(), roots, ..Scene::default() }
    }

    #[test]
    fn draws_trees_in_preorder() {
        let mut scene = forest(&[&[2, 1], &[], &[3], &[], &[]]);
        scene.meshes = vec![Mesh::default()];
        for node in &mut scene.nodes {
            node.mesh = Some(MeshId(0));
        }
        let scene = scene.validate().unwrap();
        let order: Vec<u32> = scene.draws().map(|draw| draw.node.0).collect();
        assert_eq!(order, [0, 2, 3, 1, 4]);
        let x: Vec<f64> = scene.draws().map(|draw| draw.world.0[3][0]).collect();
        assert_eq!(x, [1.0, 2.0, 3.0, 2.0, 1.0]);
        assert_eq!(scene.parents()[3], Some(NodeId(2)));
    }

    #[test]
    fn rejects_cycles_and_second_parents() {
        for bad in [
            forest(&[&[0]]),
            forest(&[&[1], &[0]]),
            forest(&[&[], &[2], &[3], &[1]]),
            forest(&[&[2], &[2], &[]]),
            forest(&[&[1, 1], &[]]),
            forest(&[&[7]]),
            Scene { roots: vec![NodeId(1)], ..forest(&[&[1], &[]]) },
            Scene { roots: vec![NodeId(0), NodeId(0)], ..forest(&[&[]]) },
            Scene { roots: vec![NodeId(3)], ..forest(&[&[]]) },
        ] {
            assert!(bad.clone().validate().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn rejects_trees_beyond_the_maximum_depth() {
        let chain = |length: u32| {
            let next = |id: u32| (id + 1 < length).then_some(NodeId(id + 1)).into_iter().collect();
            let node = |id| Node { children: next(id), ..Node::default() };
            Scene { nodes: (0..length).map(node).collect(), roots: vec![NodeId(0)], ..Scene::default() }
        };
        assert!(chain(Scene::MAX_DEPTH as u32).validate().is_ok());
        assert!(chain(Scene::MAX_DEPTH as u32 + 1).validate().is_err());
        assert!(chain(100_000).validate().is_err());
    }

    #[test]
    fn instances_replace_the_node_itself() {
        let mut scene = forest(&[&[]]);
        scene.meshes = vec![Mesh::default()];
        scene.nodes[0].mesh = Some(MeshId(0));
        let at = |x| Trs { translation: [x, 0.0, 0.0], ..Trs::IDENTITY };
        scene.nodes[0].instances = vec![at(10.0), at(20.0)];
        let scene = scene.validate().unwrap();
        let x: Vec<f64> = scene.draws().map(|draw| draw.world.0[3][0]).collect();
        assert_eq!(x, [11.0, 21.0]);
    }

    #[test]
    fn rejects_joint_indices_out_of_range() {
        let mut scene = forest(&[&[]]);
        let primitive = Primitive {
            positions: vec![[0.0; 3]; 3],
            joints: vec![[1, 0, 0, 0]; 3],
            weights: vec![[1.0, 0.0, 0.0, 0.0]; 3],
            indices: vec![0, 1, 2],
            ..Primitive::default()
        };
        scene.meshes = vec![Mesh { primitives: vec![primitive], ..Mesh::default() }];
        scene.nodes[0].mesh = Some(MeshId(0));
        assert!(scene.clone().validate().is_ok(), "without a skin, joint indices are not used");
        scene.nodes[0].skin = Some(SkinId(0));
        assert_eq!(scene.clone().validate().unwrap_err().at, "nodes[0].skin");
        scene.skins =
            vec![Skin { joints: vec![NodeId(0)], inverse_bind: vec![[0.0; 16]], ..Skin::default() }];
        assert_eq!(scene.clone().validate().unwrap_err().at, "nodes[0].skin");
        scene.meshes[0].primitives[0].joints = vec![[0; 4]; 3];
        assert!(scene.validate().is_ok());
    }

    #[test]
    fn rejects_cameras_lights_and_weights_that_do_not_exist() {
        let rejected = |at: &str, change: fn(&mut Node)| {
            let mut scene = forest(&[&[]]);
            change(&mut scene.nodes[0]);
            assert_eq!(scene.validate().unwrap_err().at, at);
        };
        rejected("nodes[0].camera", |node| node.camera = Some(CameraId(0)));
        rejected("nodes[0].light", |node| node.light = Some(LightId(0)));
        rejected("nodes[0].morph_weights", |node| node.morph_weights = vec![1.0]);
        let mut scene = forest(&[&[]]);
        scene.lights = vec![Light { range: Some(f32::NAN), ..Light::default() }];
        assert_eq!(scene.validate().unwrap_err().at, "lights[0].light");
    }

    #[test]
    fn errors_name_their_place() {
        let mut scene = forest(&[&[]]);
        scene.meshes =
            vec![Mesh::default(), Mesh { primitives: vec![Primitive::default()], ..Mesh::default() }];
        assert_eq!(
            scene.clone().validate().unwrap_err().to_string(),
            "meshes[1].primitives[0].indices: the number of indices must be a positive multiple of 3, got 0"
        );
        scene.meshes.clear();
        scene.nodes[0].mesh = Some(MeshId(0));
        assert_eq!(scene.validate().unwrap_err().at, "nodes[0].mesh");
    }
}
