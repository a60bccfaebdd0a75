//! The lists of a document and the references between their objects: which objects are used, and their new indices.
//!
//! References of the extensions in [`crate::extensions`] are known; a document with any other extension keeps all
//! objects at their indices.

use std::collections::{BTreeMap, HashMap};

use kiln_diagnostics::{Code, Diag};

use crate::tree::{self, Json, get_mut, index, items_mut};

/// A list of objects at the top level of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    Cameras,
    Images,
    Samplers,
    Textures,
    Materials,
    Meshes,
    Nodes,
    Skins,
    Animations,
    Scenes,
}

impl List {
    /// All lists; objects refer to objects of earlier lists, except for nodes and materials among themselves, and for
    /// nodes, whose skins refer to nodes.
    pub(crate) const ALL: [List; 10] = [
        List::Cameras,
        List::Images,
        List::Samplers,
        List::Textures,
        List::Materials,
        List::Meshes,
        List::Nodes,
        List::Skins,
        List::Animations,
        List::Scenes,
    ];

    /// Returns the name of the list in a document.
    pub(crate) fn name(self) -> &'static str {
        match self {
            List::Cameras => "cameras",
            List::Images => "images",
            List::Samplers => "samplers",
            List::Textures => "textures",
            List::Materials => "materials",
            List::Meshes => "meshes",
            List::Nodes => "nodes",
            List::Skins => "skins",
            List::Animations => "animations",
            List::Scenes => "scenes",
        }
    }
}

/// The objects of a document by list, and the other members of its root.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) root: Json,
    lists: BTreeMap<List, Vec<Json>>,
}

impl Document {
    pub(crate) fn new(mut root: Json) -> Document {
        let mut lists = BTreeMap::new();
        for list in List::ALL {
            let items = match tree::remove(&mut root, list.name()) {
                Some(Json::Array(items)) => items,
                _ => vec![],
            };
            lists.insert(list, items);
        }
        Document { root, lists }
    }

    pub(crate) fn list(&self, list: List) -> &[Json] {
        self.lists.get(&list).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn list_mut(&mut self, list: List) -> &mut Vec<Json> {
        self.lists.entry(list).or_default()
    }

    /// Returns the document as one tree, without empty lists.
    pub(crate) fn into_tree(mut self) -> Json {
        for (list, items) in self.lists {
            if !items.is_empty() {
                tree::set(&mut self.root, list.name(), Json::Array(items));
            }
        }
        self.root
    }
}

/// Calls `each` with every reference of an object to an object of a list.
pub(crate) fn references(list: List, object: &mut Json, each: &mut dyn FnMut(List, &mut Json)) {
    let mut one = |object: &mut Json, name: &str, to: List| {
        if let Some(reference) = get_mut(object, name) {
            each(to, reference);
        }
    };
    match list {
        List::Cameras | List::Samplers | List::Images => {}
        List::Textures => {
            one(object, "source", List::Images);
            one(object, "sampler", List::Samplers);
            if let Some(Json::Object(extensions)) = get_mut(object, "extensions") {
                extensions.iter_mut().for_each(|(_, extension)| one(extension, "source", List::Images));
            }
        }
        List::Materials => {
            all(object, &["extensions", "MSFT_lod"], "ids", List::Materials, each);
            textures(object, &mut |_, reference| each(List::Textures, reference));
        }
        List::Meshes => {
            for primitive in items_mut(object, "primitives") {
                if let Some(reference) = get_mut(primitive, "material") {
                    each(List::Materials, reference);
                }
                let variants = within(primitive, &["extensions", "KHR_materials_variants"]);
                for mapping in variants.map(|v| items_mut(v, "mappings")).unwrap_or_default() {
                    if let Some(reference) = get_mut(mapping, "material") {
                        each(List::Materials, reference);
                    }
                }
            }
        }
        List::Nodes => {
            one(object, "mesh", List::Meshes);
            one(object, "skin", List::Skins);
            one(object, "camera", List::Cameras);
            all(object, &[], "children", List::Nodes, each);
            all(object, &["extensions", "MSFT_lod"], "ids", List::Nodes, each);
        }
        List::Skins => {
            one(object, "skeleton", List::Nodes);
            all(object, &[], "joints", List::Nodes, each);
        }
        List::Animations => {
            for channel in items_mut(object, "channels") {
                if let Some(node) = get_mut(channel, "target").and_then(|target| get_mut(target, "node")) {
                    each(List::Nodes, node);
                }
            }
        }
        List::Scenes => all(object, &[], "nodes", List::Nodes, each),
    }
}

/// Calls `each` with the slot name and the `index` of every texture of a material, extensions included.
pub(crate) fn textures(json: &mut Json, each: &mut dyn FnMut(&str, &mut Json)) {
    let Json::Object(members) = json else { return };
    for (name, value) in members.iter_mut().filter(|(name, _)| name != "extras") {
        if name.ends_with("Texture")
            && let Some(reference) = get_mut(value, "index")
        {
            each(name, reference);
        }
        textures(value, each);
    }
}

fn within<'j>(json: &'j mut Json, path: &[&str]) -> Option<&'j mut Json> {
    path.iter().try_fold(json, |json, name| get_mut(json, name))
}

fn all(json: &mut Json, path: &[&str], name: &str, to: List, each: &mut dyn FnMut(List, &mut Json)) {
    let Some(json) = within(json, path) else { return };
    items_mut(json, name).iter_mut().for_each(|reference| each(to, reference));
}

/// The objects of each list that are used.
#[derive(Clone, Debug)]
pub(crate) struct Used(BTreeMap<List, Vec<bool>>);

impl Used {
    /// Marks all objects, for a document whose references are not all known.
    pub(crate) fn everything(document: &Document) -> Used {
        Used(List::ALL.map(|list| (list, vec![true; document.list(list).len()])).into())
    }

    /// Marks what scenes draw, and what that refers to. Channels of animations whose node is unused are removed.
    pub(crate) fn by_scenes(document: &mut Document) -> Result<Used, Diag> {
        let mut used = Used(List::ALL.map(|list| (list, vec![false; document.list(list).len()])).into());
        let mut pending: Vec<(List, usize)> =
            (0..document.list(List::Scenes).len()).rev().map(|scene| (List::Scenes, scene)).collect();
        while let Some((list, at)) = pending.pop() {
            let Some(mark) = used.0.get_mut(&list).and_then(|marks| marks.get_mut(at)) else {
                let message = format!("{} has no element {at}", list.name());
                return Err(Diag::new(Code::GltfReference, message));
            };
            if !std::mem::replace(mark, true)
                && let Some(object) = document.list_mut(list).get_mut(at)
            {
                references(list, object, &mut |to, reference| {
                    pending.extend(index(reference).map(|reference| (to, reference)));
                });
            }
        }
        let nodes = used.0.get(&List::Nodes).cloned().unwrap_or_default();
        let is_used = |channel: &Json| {
            let node = tree::get(channel, "target").and_then(|target| tree::index_of(target, "node"));
            node.is_none_or(|node| nodes.get(node) == Some(&true))
        };
        let marks = document.list_mut(List::Animations).iter_mut().map(|animation| {
            if let Some(Json::Array(channels)) = get_mut(animation, "channels") {
                channels.retain(is_used);
            }
            !tree::items(animation, "channels").is_empty()
        });
        let marks = marks.collect();
        used.0.insert(List::Animations, marks);
        Ok(used)
    }

    /// Returns true if an object is used.
    pub(crate) fn is_used(&self, list: List, at: usize) -> bool {
        self.0.get(&list).and_then(|marks| marks.get(at)) == Some(&true)
    }

    /// Marks an object that was added.
    pub(crate) fn added(&mut self, list: List) {
        self.0.entry(list).or_default().push(true);
    }
}

/// Removes unused objects, merges equal ones of lists whose objects have no identity, and renumbers all references.
///
/// # Errors
/// `gltf-reference` if a reference has no object.
pub(crate) fn compact(document: &mut Document, used: &Used, merge: bool) -> Result<(), Diag> {
    let mut renamed: BTreeMap<List, Vec<Option<usize>>> = BTreeMap::new();
    // Nodes are never merged, so their new indices are known before any object is compared.
    let mut next = 0..;
    let nodes = (0..document.list(List::Nodes).len())
        .map(|at| if used.is_used(List::Nodes, at) { next.next() } else { None });
    renamed.insert(List::Nodes, nodes.collect());
    let mut failed = None;
    // Skins before nodes, which refer to them.
    let order = List::ALL.into_iter().filter(|list| !matches!(list, List::Nodes | List::Skins));
    let order: Vec<List> = order.collect();
    let split = order.iter().position(|list| *list == List::Animations).unwrap_or(order.len());
    let (first, last) = order.split_at(split);
    for list in first.iter().chain(&[List::Skins, List::Nodes]).chain(last).copied() {
        let objects = std::mem::take(document.list_mut(list));
        let mut names = vec![None; objects.len()];
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut kept: Vec<Json> = Vec::new();
        if list == List::Materials {
            // Materials refer to each other with `MSFT_lod`; then none are merged.
            renamed.insert(list, (0..objects.len()).map(Some).collect());
        }
        let refers_to_itself = list == List::Materials
            && objects.iter().any(|object| tree::extension(object, "MSFT_lod").is_some());
        let mergeable =
            merge && !matches!(list, List::Nodes | List::Scenes | List::Animations) && !refers_to_itself;
        for (at, mut object) in objects.into_iter().enumerate() {
            if !used.is_used(list, at) && !refers_to_itself {
                continue;
            }
            references(list, &mut object, &mut |to, reference| {
                let new = index(reference).and_then(|old| *renamed.get(&to)?.get(old)?);
                match new {
                    Some(new) => *reference = tree::number(new),
                    None => {
                        let message =
                            format!("{} {at} refers to {} that do not exist", list.name(), to.name());
                        failed.get_or_insert(Diag::new(Code::GltfReference, message));
                    }
                }
            });
            let fresh = kept.len();
            let new = if mergeable { *known.entry(tree::text(&object)).or_insert(fresh) } else { fresh };
            names[at] = Some(new);
            if new == fresh {
                kept.push(object);
            }
        }
        *document.list_mut(list) = kept;
        if list != List::Nodes {
            renamed.insert(list, names);
        }
    }
    if let Some(scene) = get_mut(&mut document.root, "scene") {
        let new = index(scene).and_then(|old| *renamed.get(&List::Scenes)?.get(old)?);
        match new {
            Some(new) => *scene = tree::number(new),
            None => _ = tree::remove(&mut document.root, "scene"),
        }
    }
    failed.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        fn convert(value: &serde_json::Value) -> Json {
            match value {
                serde_json::Value::Null => Json::Null,
                serde_json::Value::Bool(value) => Json::Bool(*value),
                serde_json::Value::Number(value) => Json::Number(value.as_f64().unwrap()),
                serde_json::Value::String(value) => tree::string(value),
                serde_json::Value::Array(items) => Json::Array(items.iter().map(convert).collect()),
                serde_json::Value::Object(members) => {
                    Json::Object(members.iter().map(|(n, v)| (n.clone().into(), convert(v))).collect())
                }
            }
        }
        Document::new(convert(&value))
    }

    const MODEL: &str = r#"{
        "scene": 0, "scenes": [{"nodes": [2]}],
        "nodes": [{"mesh": 0}, {"name": "unused", "mesh": 1}, {"children": [0], "skin": 0, "mesh": 2}, {"name": "joint"}],
        "skins": [{"joints": [3]}],
        "meshes": [{"primitives": [{"material": 1}]}, {"primitives": [{"material": 0}]}, {"primitives": [{"material": 2,
            "extensions": {"KHR_materials_variants": {"mappings": [{"material": 3, "variants": [0]}]}}}]}],
        "materials": [{"name": "unused"},
            {"normalTexture": {"index": 1}}, {"normalTexture": {"index": 1}},
            {"extensions": {"KHR_materials_sheen": {"sheenColorTexture": {"index": 2}}}}],
        "textures": [{"source": 0}, {"source": 1}, {"extensions": {"KHR_texture_basisu": {"source": 1}}}],
        "images": [{"name": "unused"}, {"name": "used"}],
        "animations": [{"channels": [{"target": {"node": 1}}]}, {"channels": [{"target": {"node": 1}}, {"target": {"node": 3}}]}]
    }"#;

    #[test]
    fn removes_what_no_scene_uses_and_merges_equal_materials() {
        let mut document = document(MODEL);
        let used = Used::by_scenes(&mut document).unwrap();
        compact(&mut document, &used, true).unwrap();
        let read: serde_json::Value = serde_json::from_str(&tree::text(&document.into_tree())).unwrap();
        let expected: serde_json::Value = serde_json::from_str(
            r#"{
            "scene": 0, "scenes": [{"nodes": [1]}],
            "nodes": [{"mesh": 0}, {"children": [0], "skin": 0, "mesh": 1}, {"name": "joint"}],
            "skins": [{"joints": [2]}],
            "meshes": [{"primitives": [{"material": 0}]}, {"primitives": [{"material": 0,
                "extensions": {"KHR_materials_variants": {"mappings": [{"material": 1, "variants": [0]}]}}}]}],
            "materials": [{"normalTexture": {"index": 0}},
                {"extensions": {"KHR_materials_sheen": {"sheenColorTexture": {"index": 1}}}}],
            "textures": [{"source": 0}, {"extensions": {"KHR_texture_basisu": {"source": 0}}}],
            "images": [{"name": "used"}],
            "animations": [{"channels": [{"target": {"node": 2}}]}]
        }"#,
        )
        .unwrap();
        assert_eq!(read, expected);
    }

    #[test]
    fn keeps_all_indices_of_a_document_with_unknown_references() {
        let mut document = document(MODEL);
        let before = document.clone().into_tree();
        let used = Used::everything(&document);
        compact(&mut document, &used, false).unwrap();
        assert_eq!(tree::text(&document.into_tree()), tree::text(&before));
    }

    #[test]
    fn rejects_references_without_an_object() {
        for text in [
            r#"{"scenes": [{"nodes": [0]}]}"#,
            r#"{"scenes": [{"nodes": [0]}], "nodes": [{"mesh": 1}], "meshes": [{}]}"#,
        ] {
            let mut document = document(text);
            assert_eq!(Used::by_scenes(&mut document).unwrap_err().code, Code::GltfReference, "{text}");
            let everything = Used::everything(&document);
            assert_eq!(compact(&mut document, &everything, false).unwrap_err().code, Code::GltfReference);
        }
    }
}
