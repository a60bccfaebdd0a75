//! Content of a document that a scene cannot represent: cameras, `extras` and extensions.
//!
//! Extensions and `extras` may be on every object of a document, so the whole JSON is searched once. Extensions of
//! materials are not listed here, because only those of drawn materials are a loss.

use std::collections::BTreeSet;

use super::Options;
use super::document::Document;
use super::json::Json;
use super::support::{self, Support};

const LIGHTS: &str = "KHR_lights_punctual";

/// The top-level lists whose objects keep their `extras` in a scene with scene data.
const WITH_EXTRAS: [&str; 7] = ["animations", "cameras", "materials", "meshes", "nodes", "scenes", "skins"];

/// Adds the names of lost content outside of geometry, materials and animations; `reached` marks the nodes of the scene.
pub(super) fn find(
    document: &Document<'_>,
    reached: &[bool],
    options: &Options<'_>,
    lost: &mut BTreeSet<String>,
) {
    let mut nodes = document.nodes.iter().zip(reached);
    if !options.scene_data && nodes.any(|(node, reached)| *reached && node.get("camera").is_some()) {
        lost.insert("cameras".to_owned());
    }
    let (extras, extensions) = Default::default();
    let mut search = Search { options, extras, extensions };
    search.document(document.root.json());
    if !search.extras.is_empty() {
        let places: Vec<&str> = search.extras.into_iter().collect();
        lost.insert(format!("extras ({})", places.join(", ")));
    }
    for name in search.extensions {
        let Some(feature) = support::extension(name) else { continue };
        if options.scene_data && name == LIGHTS {
            continue;
        }
        // A texture with such an extension has a warning of its own if there is no image beside it.
        let is_texture = feature.warning == Some(kiln_diagnostics::Code::GltfTexture);
        if feature.support == Support::Dropped && !is_texture {
            lost.insert(format!("{} ({name})", feature.note));
        }
    }
}

/// The names that a document contains.
struct Search<'a, 'o> {
    options: &'o Options<'o>,
    /// The top-level members whose objects have `extras`.
    extras: BTreeSet<&'a str>,
    /// The extensions of objects other than materials.
    extensions: BTreeSet<&'a str>,
}

impl<'a> Search<'a, '_> {
    fn document(&mut self, root: &'a Json<'a>) {
        let Json::Object(members) = root else { return };
        for (name, value) in members {
            match name.as_ref() {
                // The description of the file itself: its author, its licence.
                "asset" => {}
                "extras" if self.options.scene_data => {}
                "extras" => self.extras("document", value),
                "extensions" => self.extensions(name, value),
                list => match value {
                    Json::Array(items) => items.iter().for_each(|item| self.object(list, item)),
                    other => self.value(list, other),
                },
            }
        }
    }

    /// Searches an object of a top-level list.
    fn object(&mut self, list: &'a str, object: &'a Json<'a>) {
        let Json::Object(members) = object else { return };
        for (name, value) in members {
            match name.as_ref() {
                "extras" if self.options.scene_data && WITH_EXTRAS.contains(&list) => {}
                // The names of morph targets.
                "extras"
                    if self.options.morph_targets && list == "meshes" && has_target_names_only(value) => {}
                "extras" => self.extras(list, value),
                "extensions" => self.extensions(list, value),
                _ => self.value(list, value),
            }
        }
    }

    fn value(&mut self, list: &'a str, value: &'a Json<'a>) {
        match value {
            Json::Array(items) => items.iter().for_each(|item| self.value(list, item)),
            Json::Object(members) => {
                for (name, value) in members {
                    match name.as_ref() {
                        "extras" => self.extras(list, value),
                        "extensions" => self.extensions(list, value),
                        _ => self.value(list, value),
                    }
                }
            }
            _ => {}
        }
    }

    fn extras(&mut self, list: &'a str, value: &Json<'_>) {
        let is_empty = match value {
            Json::Null => true,
            Json::Object(members) => members.is_empty(),
            _ => false,
        };
        if !is_empty {
            self.extras.insert(list);
        }
    }

    fn extensions(&mut self, list: &'a str, extensions: &'a Json<'a>) {
        let Json::Object(members) = extensions else { return };
        for (name, value) in members {
            if list != "materials" {
                self.extensions.insert(name);
            }
            if !(self.options.scene_data && name == LIGHTS) {
                self.value(list, value);
            }
        }
    }
}

fn has_target_names_only(extras: &Json<'_>) -> bool {
    matches!(extras, Json::Object(members) if members.iter().all(|(name, _)| name == "targetNames"))
}
