//! The objects inside a model file, and the fileIDs that Unity assigns to them.
//!
//! Since 2019 Unity derives the fileID of an object from its class and name: the xxHash64 of `Type:Mesh->NAME0`, where the
//! number counts objects of one class and name. Nodes are named by their path. The first generation roots it at `//RootNode` and
//! gives components the path of their node; the second roots it at `//RootNode/root` and adds the component's class.
//! A single root node is folded into the main object, unless the `.meta` sets `preserveHierarchy`. Meshes have the names of
//! their nodes, not those of the mesh data. The root has the name of the file, as Unity shows it. A node with children
//! `*_LOD0`, `*_LOD1` has a LODGroup.

use super::folder::{Folder, Sub};
use super::import_plan::ModelFormat;
use super::{fbx, obj};
use crate::class_id::ClassId;
use crate::meta::{LFS, Meta};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use xxhash_rust::xxh64::xxh64;

/// The name of the root in the tables of a `.meta`.
pub(crate) const ROOT: &str = "//RootNode";
/// The fileID of the avatar of every model.
const AVATAR: i64 = 9_000_000;
/// The maximum depth of a hierarchy.
const MAX_DEPTH: usize = 512;
/// The maximum number of objects that are read from one model.
pub(crate) const MAX_OBJECTS: usize = 100_000;

/// The named objects of a model file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Model {
    /// The nodes, parents before their children.
    pub(crate) nodes: Vec<Node>,
    pub(crate) materials: Vec<String>,
    pub(crate) clips: Vec<String>,
}

/// A node of the hierarchy of a model.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) parent: Option<usize>,
    pub(crate) mesh: Mesh,
}

/// The kind of mesh attached to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mesh {
    #[default]
    None,
    Rigid,
    Skinned,
}

/// The reason why the objects of a model are unknown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ModelError {
    /// The file is empty.
    Empty,
    /// The file is a Git LFS pointer.
    LfsPointer,
    /// The file is damaged; the string describes the damage.
    Damaged(String),
}

impl From<io::Error> for ModelError {
    fn from(error: io::Error) -> ModelError {
        ModelError::Damaged(error.to_string())
    }
}

/// Reads the object names of a model file.
pub(crate) fn read(file: &File, len: u64, format: ModelFormat) -> Result<Model, ModelError> {
    let mut window = Window { file, len, at: 0, bytes: Vec::new() };
    let start = window.get(0, LFS.len())?;
    match start {
        [] => Err(ModelError::Empty),
        start if start == LFS => Err(ModelError::LfsPointer),
        _ => match format {
            ModelFormat::Fbx => fbx::read(&mut window),
            ModelFormat::Obj => obj::read(&mut window),
        },
    }
}

/// A buffered window into a file for random access.
pub(crate) struct Window<'f> {
    file: &'f File,
    pub(crate) len: u64,
    at: u64,
    bytes: Vec<u8>,
}

/// The size of the buffer in bytes.
const WINDOW: usize = 16 << 10;

impl Window<'_> {
    /// Returns up to `count` bytes from `at`; fewer at the end of the file.
    pub(crate) fn get(&mut self, at: u64, count: usize) -> io::Result<&[u8]> {
        let room = usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX);
        let count = count.min(room);
        if count == 0 {
            return Ok(&[]);
        }
        let end = at + count as u64;
        if at < self.at || end > self.at + self.bytes.len() as u64 {
            self.bytes.resize(WINDOW.max(count).min(room), 0);
            self.at = at;
            let read = read_at(self.file, at, &mut self.bytes)?;
            self.bytes.truncate(read);
        }
        let from = (at - self.at) as usize;
        Ok(&self.bytes[from.min(self.bytes.len())..(from + count).min(self.bytes.len())])
    }
}

#[cfg(unix)]
fn read_at(file: &File, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
    use std::os::unix::fs::FileExt;
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], at + read as u64) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

#[cfg(not(unix))]
fn read_at(mut file: &File, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(at))?;
    let mut read = 0;
    while read < buffer.len() {
        match file.read(&mut buffer[read..])? {
            0 => break,
            n => read += n,
        }
    }
    Ok(read)
}

/// Returns the fileID of the object with this class and name; `index` counts the equal ones before it.
pub(crate) fn file_id(class: &str, name: &str, index: usize) -> i64 {
    xxh64(format!("Type:{class}->{name}{index}").as_bytes(), 0) as i64
}

/// Generates fileIDs, counting equal names.
#[derive(Default)]
struct Ids {
    seen: HashMap<(u32, String), usize>,
}

impl Ids {
    fn next(&mut self, class: ClassId, key: &str) -> i64 {
        let count = self.seen.entry((class as u32, key.to_owned())).or_default();
        *count += 1;
        file_id(class.name(), key, *count - 1)
    }
}

impl Model {
    /// Adds the objects of the model file `stem` to a folder, with the fileIDs of the generation that the `.meta` states.
    pub(crate) fn subs(&self, meta: &Meta<'_>, stem: &str, folder: &mut Folder) {
        let second = meta.file_ids_generation == Some(2);
        let mut ids = Ids::default();
        let mut put = |class: ClassId, key: &str, name: &str| {
            let file_id = ids.next(class, key);
            if !name.is_empty() {
                let name = folder.intern(name);
                folder.subs.push(Sub { file_id, class_id: class as u32, name });
            }
        };
        let root_path = if second { "//RootNode/root" } else { ROOT };
        let roots: Vec<usize> = (0..self.nodes.len()).filter(|at| self.nodes[*at].parent.is_none()).collect();
        let folded = match *roots {
            [only] if !meta.preserve_hierarchy => Some(only),
            _ => None,
        };
        let has_lods = self.lod_parents(folded);
        let mut node = |path: &str, name: &str, mesh: Mesh, animated: Option<ClassId>, has_lods: bool| {
            put(ClassId::GameObject, path, name);
            let of_mesh: &[ClassId] = match mesh {
                Mesh::None => &[],
                Mesh::Rigid => &[ClassId::MeshFilter, ClassId::MeshRenderer],
                Mesh::Skinned => &[ClassId::SkinnedMeshRenderer],
            };
            let lod_group = has_lods.then_some(ClassId::LODGroup);
            let collider = (meta.add_colliders && mesh != Mesh::None).then_some(ClassId::MeshCollider);
            let transform = [ClassId::Transform];
            let classes = transform.iter().chain(of_mesh).chain(&animated).chain(&lod_group).chain(&collider);
            for class in classes {
                match second {
                    true => put(*class, &format!("{path}/{}", class.name()), name),
                    false => put(*class, path, name),
                }
            }
        };
        let animated = match meta.animation_type {
            Some(1) => Some(ClassId::Animation),
            Some(2 | 3) => Some(ClassId::Animator),
            _ => None,
        };
        let mesh_of_root = folded.map_or(Mesh::None, |at| self.nodes[at].mesh);
        node(root_path, stem, mesh_of_root, animated, has_lods[self.nodes.len()]);
        let mut paths: Vec<Option<(String, usize)>> = Vec::with_capacity(self.nodes.len());
        let mut total = 0;
        for (at, each) in self.nodes.iter().enumerate() {
            let parent = match each.parent {
                _ if folded == Some(at) => {
                    paths.push(Some((root_path.to_owned(), 0)));
                    continue;
                }
                Some(parent) => paths.get(parent).cloned().flatten(),
                None => Some((root_path.to_owned(), 0)),
            };
            let path = parent.filter(|(_, depth)| *depth < MAX_DEPTH).map(|(path, depth)| {
                let path = format!("{path}/{}", each.name);
                node(&path, &each.name, each.mesh, None, has_lods[at]);
                (path, depth + 1)
            });
            // A crafted file could have paths of quadratic total length.
            total += path.as_ref().map_or(0, |(path, _)| path.len());
            paths.push(path.filter(|_| total < 64 << 20));
        }
        for each in self.nodes.iter().filter(|node| node.mesh != Mesh::None) {
            put(ClassId::Mesh, &each.name, &each.name);
        }
        for name in &self.materials {
            put(ClassId::Material, name, name);
        }
        for name in self.clips.iter().filter(|_| meta.clips.is_empty()) {
            put(ClassId::AnimationClip, name, name);
        }
    }

    /// Returns which nodes have children that are levels of detail; the last one is the root of the model.
    fn lod_parents(&self, folded: Option<usize>) -> Vec<bool> {
        let root = self.nodes.len();
        let mut found = vec![false; root + 1];
        for each in self.nodes.iter().filter(|node| is_lod(&node.name)) {
            let parent = each.parent.filter(|parent| Some(*parent) != folded);
            found[parent.unwrap_or(root)] = true;
        }
        found
    }
}

/// Returns whether the name of a node ends in `_LOD` and a number.
fn is_lod(name: &str) -> bool {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    digits > 0 && name[..name.len() - digits].to_ascii_uppercase().ends_with("_LOD")
}

/// Returns the fileID and the name of the avatar that Unity creates for a model with a skeleton.
pub(crate) fn avatar(meta: &Meta<'_>, stem: &str) -> Option<(i64, String)> {
    let has_avatar = matches!(meta.animation_type, Some(2 | 3)) && !matches!(meta.avatar_setup, Some(0 | 2));
    has_avatar.then(|| (AVATAR, format!("{stem}Avatar")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta;

    fn subs(model: &Model, body: &str) -> Vec<(String, u32, i64)> {
        let text = format!("guid: 8f57b4a070f7b43bbb3925467e6752ab\nModelImporter:\n{body}");
        let mut folder = Folder::default();
        model.subs(&meta::parse(text.as_bytes()), "Tree", &mut folder);
        folder
            .subs
            .iter()
            .map(|sub| (folder.view().get(sub.name).to_owned(), sub.class_id, sub.file_id))
            .collect()
    }

    fn node(name: &str, parent: Option<usize>, mesh: Mesh) -> Node {
        Node { name: name.into(), parent, mesh }
    }

    #[test]
    fn second_generation_ids_are_rooted_at_root() {
        let nodes = vec![
            node("tube", None, Mesh::None),
            node("pCylinder12", Some(0), Mesh::Rigid),
            node("base", None, Mesh::None),
        ];
        let model = Model { nodes, ..Model::default() };
        let found = subs(&model, "  meshes:\n    fileIdsGeneration: 2\n");
        // fileIDs from real projects.
        assert!(found.contains(&("Tree".into(), 1, 919_132_149_155_446_097)));
        assert!(found.contains(&("Tree".into(), 4, -8_679_921_383_154_817_045)));
        assert!(found.contains(&("pCylinder12".into(), 4, 3_070_783_425_072_336_940)));
    }

    #[test]
    fn first_generation_folds_a_single_root() {
        let model = Model { nodes: vec![node("Tree.001", None, Mesh::Rigid)], ..Model::default() };
        let found = subs(&model, "");
        assert!(found.contains(&("Tree.001".into(), 43, 7_560_277_172_612_512_602)));
        assert!(found.contains(&("Tree".into(), 1, -927_199_367_670_048_503)));
        assert!(found.contains(&("Tree".into(), 4, -4_216_859_302_048_453_862)));
        assert_eq!(found.len(), 5, "{found:?}");
        let kept = subs(&model, "  meshes:\n    preserveHierarchy: 1\n");
        assert_eq!(kept.len(), 7, "{kept:?}");
    }

    #[test]
    fn levels_of_detail_have_a_group() {
        let lods = |parent| {
            ["Bench_LOD0", "Bench_LOD1"]
                .map(|name| node(name, parent, Mesh::Rigid))
                .into_iter()
                .collect::<Vec<_>>()
        };
        let second = "  meshes:\n    fileIdsGeneration: 2\n";
        // The fileID from a real project.
        let group = ("Tree".to_owned(), 205, 4_742_473_837_712_756_890);
        assert!(subs(&Model { nodes: lods(None), ..Model::default() }, second).contains(&group));
        let mut nested = vec![node("Bench", None, Mesh::None)];
        nested.extend(lods(Some(0)));
        assert!(subs(&Model { nodes: nested, ..Model::default() }, second).contains(&group));
        let plain = Model { nodes: vec![node("Bench_LODs", None, Mesh::Rigid)], ..Model::default() };
        assert!(!subs(&plain, second).iter().any(|(_, class, _)| *class == 205));
    }

    #[test]
    fn avatars_are_named_after_the_file() {
        let meta = |text: &'static str| meta::parse(text.as_bytes());
        let base = "guid: 8f57b4a070f7b43bbb3925467e6752ab\nModelImporter:\n";
        assert_eq!(avatar(&meta(base), "Cat"), None);
        let with = |body: &str| format!("{base}{body}").leak() as &'static str;
        let expected = Some((9_000_000, "CatAvatar".to_owned()));
        assert_eq!(avatar(&meta(with("  animationType: 3\n")), "Cat"), expected);
        assert_eq!(avatar(&meta(with("  animationType: 2\n  avatarSetup: 1\n")), "Cat"), expected);
        assert_eq!(avatar(&meta(with("  animationType: 2\n  avatarSetup: 0\n")), "Cat"), None);
    }

    #[test]
    fn numbers_equal_names() {
        let clips = vec!["Armature|Jump".to_owned(), "Armature|Jump".to_owned()];
        let found = subs(&Model { clips, ..Model::default() }, "");
        assert_eq!(found[2].2, 1_079_665_108_409_675_491);
        assert_ne!(found[3].2, found[2].2);
    }

    #[test]
    fn limits_deep_hierarchies() {
        let name = "n".repeat(1000);
        let nodes = (0..20_000usize).map(|at| node(&name, at.checked_sub(1), Mesh::None)).collect();
        assert!(subs(&Model { nodes, ..Model::default() }, "").len() < 20_000);
    }
}
