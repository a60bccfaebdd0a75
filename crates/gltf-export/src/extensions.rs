//! Extensions of the source: those whose references to other objects are known, those that this crate replaces, and
//! those that cannot be kept because they refer to accessors or buffer views.

use std::collections::BTreeSet;

use kiln_diagnostics::{Code, Diag};

use crate::tree::{self, Json};

/// Extensions that are decoded while the source is read. The result has them where it needs them.
const REPLACED: [&str; 4] = [
    "EXT_meshopt_compression",
    "KHR_draco_mesh_compression",
    "KHR_mesh_quantization",
    "KHR_meshopt_compression",
];

/// Extensions besides those of materials that have no references, or whose references [`crate::references`] knows.
const KNOWN: [&str; 14] = [
    "EXT_mesh_gpu_instancing",
    "EXT_texture_avif",
    "EXT_texture_webp",
    "GODOT_single_root",
    "KHR_lights_punctual",
    "KHR_materials_variants",
    "KHR_node_hoverability",
    "KHR_node_selectability",
    "KHR_node_visibility",
    "KHR_texture_basisu",
    "KHR_texture_transform",
    "KHR_xmp_json_ld",
    "MSFT_lod",
    "MSFT_texture_dds",
];

/// Extensions that refer to buffer views or accessors by members of other names than those that are recognised.
const WITH_BINARY_DATA: [&str; 3] =
    ["EXT_feature_metadata", "EXT_structural_metadata", "KHR_gaussian_splatting"];

/// Removes the extensions that cannot be kept, with a warning. Returns true if references of all others are known, so
/// that objects may be removed and renumbered.
pub(crate) fn sort_out(root: &mut Json, warnings: &mut Vec<Diag>) -> bool {
    let mut found = Found::default();
    found.visit(root);
    if !found.dropped.is_empty() {
        let names: Vec<&str> = found.dropped.iter().map(String::as_str).collect();
        let message = format!(
            "extensions that refer to accessors or buffer views of the source are not kept: {}",
            names.join(", ")
        );
        warnings.push(Diag::new(Code::GltfExtensionDropped, message).at("/extensionsUsed"));
    }
    !found.unknown
}

/// Returns the names of all extensions in a tree.
pub(crate) fn used(json: &Json) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    collect(json, &mut names);
    names
}

fn collect(json: &Json, names: &mut BTreeSet<String>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| collect(item, names)),
        Json::Object(members) => {
            for (name, value) in members.iter().filter(|(name, _)| name != "extras") {
                if name == "extensions" {
                    names.extend(tree::members(Some(value)).iter().map(|(name, _)| name.to_string()));
                }
                collect(value, names);
            }
        }
        _ => {}
    }
}

#[derive(Default)]
struct Found {
    dropped: BTreeSet<String>,
    unknown: bool,
}

impl Found {
    fn visit(&mut self, json: &mut Json) {
        match json {
            Json::Array(items) => items.iter_mut().for_each(|item| self.visit(item)),
            Json::Object(members) => {
                for (name, value) in members.iter_mut().filter(|(name, _)| name != "extras") {
                    if name == "extensions" {
                        self.extensions(value);
                    }
                    self.visit(value);
                }
                members.retain(|(name, value)| name != "extensions" || *value != Json::Object(vec![]));
            }
            _ => {}
        }
    }

    fn extensions(&mut self, extensions: &mut Json) {
        let Json::Object(members) = extensions else { return };
        members.retain(|(name, value)| {
            let name = name.as_ref();
            if REPLACED.contains(&name)
                || KNOWN.contains(&name)
                || name.split('_').nth(1) == Some("materials")
            {
                return true;
            }
            if WITH_BINARY_DATA.contains(&name) || refers_to_binary_data(value) {
                self.dropped.insert(name.to_owned());
                return false;
            }
            self.unknown = true;
            true
        });
    }
}

/// Returns true if a member has the name of a reference to an accessor, a buffer view or a buffer.
fn refers_to_binary_data(json: &Json) -> bool {
    let is_reference = |value: &Json| match value {
        Json::Number(_) => true,
        Json::Array(items) => items.iter().any(|item| matches!(item, Json::Number(_))),
        _ => false,
    };
    match json {
        Json::Array(items) => items.iter().any(refers_to_binary_data),
        Json::Object(members) => members.iter().any(|(name, value)| {
            let name = name.to_ascii_lowercase();
            let named = ["accessor", "bufferview"].iter().any(|part| name.contains(part))
                || name == "buffer"
                || name.ends_with("indices");
            named && is_reference(value) || refers_to_binary_data(value)
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{number, object};

    fn with(name: &str, extension: Json) -> Json {
        object([("nodes", Json::Array(vec![object([("extensions", object([(name, extension)]))])]))])
    }

    #[test]
    fn keeps_known_extensions_and_unknown_ones_without_binary_data() {
        let mut warnings = Vec::new();
        for (name, known) in [("KHR_lights_punctual", true), ("KHR_materials_new", true), ("ACME_tag", false)]
        {
            let mut root = with(name, object([("light", number(1))]));
            let before = root.clone();
            assert_eq!(sort_out(&mut root, &mut warnings), known, "{name}");
            assert!(root == before && warnings.is_empty());
            assert_eq!(used(&root).into_iter().collect::<Vec<_>>(), [name]);
        }
    }

    #[test]
    fn drops_unknown_extensions_with_binary_data() {
        for member in ["accessor", "bufferView", "mergeIndices", "valuesAccessor"] {
            let mut root = with("ACME_data", object([("deep", object([(member, number(1))]))]));
            let mut warnings = Vec::new();
            assert!(sort_out(&mut root, &mut warnings));
            assert!(used(&root).is_empty(), "{member}");
            assert_eq!(warnings[0].code, Code::GltfExtensionDropped);
            assert!(warnings[0].message.ends_with(": ACME_data"), "{}", warnings[0].message);
        }
    }
}
