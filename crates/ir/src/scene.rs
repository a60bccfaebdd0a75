//! A scene: nodes in trees, and the meshes, materials, pictures, skins and animations they use.
//!
//! Everything is a list, and everything that refers does so by a typed index. [`Scene::validate`] is the only
//! way to a [`Valid`] scene, whose indices lead somewhere, whose nodes are trees of bounded depth, and whose
//! numbers are finite.

use crate::anim::Animation;
use crate::material::{ImageSource, Material};
use crate::mesh::{Mesh, MeshId};
use crate::skin::{Skin, SkinId};
use crate::transform::{Matrix, Transform, Trs};
use crate::valid::{Flaw, Valid, check_id};

/// Which node of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Everything that one source describes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// All nodes, also those that are not drawn.
    pub nodes: Vec<Node>,
    /// The nodes without a parent that are drawn, with all that is below them.
    pub roots: Vec<NodeId>,
    /// Shapes.
    pub meshes: Vec<Mesh>,
    /// What shapes are made of, also those that nothing is made of: their names count.
    pub materials: Vec<Material>,
    /// The pictures that materials use.
    pub images: Vec<ImageSource>,
    /// What shapes hang on.
    pub skins: Vec<Skin>,
    /// How nodes move.
    pub animations: Vec<Animation>,
}

/// A place in a tree of places, and what is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// As the source has it; empty when it has none.
    pub name: String,
    /// Where it is, relative to its parent.
    pub transform: Transform,
    /// What moves with it.
    pub children: Vec<NodeId>,
    /// What is drawn there.
    pub mesh: Option<MeshId>,
    /// What that hangs on.
    pub skin: Option<SkinId>,
    /// Where it is drawn instead, relative to the node, when it is drawn more than once; else empty.
    pub instances: Vec<Trs>,
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
        }
    }
}

/// One mesh in one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// The node that places it.
    pub node: NodeId,
    /// What is drawn.
    pub mesh: MeshId,
    /// What it hangs on.
    pub skin: Option<SkinId>,
    /// From the mesh's space into the scene's.
    pub world: Matrix,
}

impl Scene {
    /// The deepest that trees of nodes may be: far beyond any skeleton, and safe to recurse into.
    pub const MAX_DEPTH: usize = 1024;

    /// Checks every invariant.
    pub fn validate(self) -> Result<Valid<Scene>, Flaw> {
        for (index, node) in self.nodes.iter().enumerate() {
            self.check_node(node).map_err(|flaw| flaw.within(format_args!("nodes[{index}]")))?;
        }
        self.check_trees()?;
        for (index, mesh) in self.meshes.iter().enumerate() {
            for (part, primitive) in mesh.primitives.iter().enumerate() {
                primitive
                    .check(self.materials.len())
                    .map_err(|flaw| flaw.within(format_args!("meshes[{index}].primitives[{part}]")))?;
            }
        }
        for (index, material) in self.materials.iter().enumerate() {
            material
                .check(self.images.len())
                .map_err(|flaw| flaw.within(format_args!("materials[{index}]")))?;
        }
        for (index, skin) in self.skins.iter().enumerate() {
            skin.check(self.nodes.len()).map_err(|flaw| flaw.within(format_args!("skins[{index}]")))?;
        }
        for (index, animation) in self.animations.iter().enumerate() {
            for (part, channel) in animation.channels.iter().enumerate() {
                channel
                    .check(self.nodes.len())
                    .map_err(|flaw| flaw.within(format_args!("animations[{index}].channels[{part}]")))?;
            }
        }
        self.check_joints()?;
        Ok(Valid(self))
    }

    fn check_node(&self, node: &Node) -> Result<(), Flaw> {
        for (index, child) in node.children.iter().enumerate() {
            check_id(child.0, self.nodes.len(), format_args!("children[{index}]"))?;
        }
        if let Some(mesh) = node.mesh {
            check_id(mesh.0, self.meshes.len(), "mesh")?;
        }
        if let Some(skin) = node.skin {
            check_id(skin.0, self.skins.len(), "skin")?;
        }
        if !node.transform.is_finite() {
            return Err(Flaw::new("transform", "it is not finite"));
        }
        match node.instances.iter().position(|instance| !instance.is_finite()) {
            None => Ok(()),
            Some(index) => Err(Flaw::new(format_args!("instances[{index}]"), "it is not finite")),
        }
    }

    /// Every node has one parent at most, none is above itself, none is too deep, and roots have no parent.
    fn check_trees(&self) -> Result<(), Flaw> {
        let mut has_parent = vec![false; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for child in &node.children {
                if std::mem::replace(&mut has_parent[child.0 as usize], true) {
                    let message = format!("node {} has a parent already, or is here twice", child.0);
                    return Err(Flaw::new(format_args!("nodes[{index}].children"), message));
                }
            }
        }
        let mut rooted = vec![false; self.nodes.len()];
        for (index, root) in self.roots.iter().enumerate() {
            let at = format_args!("roots[{index}]");
            check_id(root.0, self.nodes.len(), at)?;
            if has_parent[root.0 as usize] {
                return Err(Flaw::new(at, format_args!("node {} has a parent", root.0)));
            }
            if std::mem::replace(&mut rooted[root.0 as usize], true) {
                return Err(Flaw::new(at, format_args!("node {} is a root already", root.0)));
            }
        }
        // With one parent at most for each, what cannot be reached from above is a ring.
        let mut level: Vec<usize> = (0..self.nodes.len()).filter(|&i| !has_parent[i]).collect();
        let mut reached = level.len();
        for _ in 0..Scene::MAX_DEPTH {
            level = level.iter().flat_map(|&i| &self.nodes[i].children).map(|c| c.0 as usize).collect();
            reached += level.len();
        }
        if !level.is_empty() {
            let message = format!("trees are more than {} nodes deep", Scene::MAX_DEPTH);
            return Err(Flaw::new(format_args!("nodes[{}]", level[0]), message));
        }
        if reached < self.nodes.len() {
            return Err(Flaw::new("nodes", "some are their own ancestors"));
        }
        Ok(())
    }

    /// Vertices hang on joints that their node's skin has.
    fn check_joints(&self) -> Result<(), Flaw> {
        let last = |mesh: &Mesh| mesh.primitives.iter().filter_map(|p| p.last_joint()).max();
        let last: Vec<_> = self.meshes.iter().map(last).collect();
        for (index, node) in self.nodes.iter().enumerate() {
            let (Some(mesh), Some(skin)) = (node.mesh, node.skin) else { continue };
            let joints = self.skins[skin.0 as usize].joints.len();
            if let Some(joint) = last[mesh.0 as usize].filter(|&joint| usize::from(joint) >= joints) {
                let message = format!("its mesh hangs on joint {joint}, and the skin has {joints}");
                return Err(Flaw::new(format_args!("nodes[{index}].skin"), message));
            }
        }
        Ok(())
    }
}

impl Valid<Scene> {
    /// The parent of each node.
    pub fn parents(&self) -> Vec<Option<NodeId>> {
        let mut parents = vec![None; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for child in &node.children {
                parents[child.0 as usize] = Some(NodeId(index as u32));
            }
        }
        parents
    }

    /// All nodes below these and these themselves, each before what is below it, in the order of the source.
    fn below(&self, roots: impl DoubleEndedIterator<Item = NodeId>) -> Vec<NodeId> {
        let mut waiting: Vec<NodeId> = roots.rev().collect();
        let mut found = Vec::new();
        while let Some(id) = waiting.pop() {
            found.push(id);
            waiting.extend(self.nodes[id.0 as usize].children.iter().rev());
        }
        found
    }

    /// From each node's space into that of the root above it.
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

    /// Counts what these draw. A few bytes of a source can stand for millions of instances, so this takes them one at a
    /// time.
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

    /// What is drawn, where: roots in order, each node before its children, each instance in turn.
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

/// The size of what a scene draws, each instance counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrawnSize {
    /// Meshes that are drawn.
    pub instances: u64,
    /// Their primitives.
    pub primitives: u64,
    /// Their vertices.
    pub vertices: u64,
    /// Corners of their triangles.
    pub corners: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Primitive;

    /// Nodes with these children; all without a parent are roots.
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
    fn trees_are_accepted_and_walked_in_order() {
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
    fn rings_and_second_parents_are_refused() {
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
    fn depth_is_bounded() {
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
    fn vertices_hang_on_joints_of_their_skin() {
        let mut scene = forest(&[&[]]);
        let primitive = Primitive {
            positions: vec![[0.0; 3]; 3],
            joints: vec![[1, 0, 0, 0]; 3],
            weights: vec![[1.0, 0.0, 0.0, 0.0]; 3],
            indices: vec![0, 1, 2],
            ..Primitive::default()
        };
        scene.meshes = vec![Mesh { name: String::new(), primitives: vec![primitive] }];
        scene.nodes[0].mesh = Some(MeshId(0));
        assert!(scene.clone().validate().is_ok(), "without a skin joints mean nothing");
        scene.nodes[0].skin = Some(SkinId(0));
        assert_eq!(scene.clone().validate().unwrap_err().at, "nodes[0].skin");
        scene.skins =
            vec![Skin { name: String::new(), joints: vec![NodeId(0)], inverse_bind: vec![[0.0; 16]] }];
        assert_eq!(scene.clone().validate().unwrap_err().at, "nodes[0].skin");
        scene.meshes[0].primitives[0].joints = vec![[0; 4]; 3];
        assert!(scene.validate().is_ok());
    }

    #[test]
    fn a_flaw_names_its_place() {
        let mut scene = forest(&[&[]]);
        scene.meshes =
            vec![Mesh::default(), Mesh { name: String::new(), primitives: vec![Primitive::default()] }];
        assert_eq!(
            scene.clone().validate().unwrap_err().to_string(),
            "meshes[1].primitives[0].indices: 0 are not triangles"
        );
        scene.meshes.clear();
        scene.nodes[0].mesh = Some(MeshId(0));
        assert_eq!(scene.validate().unwrap_err().at, "nodes[0].mesh");
    }
}
