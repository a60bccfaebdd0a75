//! Finds assets that are unreachable from the roots of a build.
//!
//! Roots are the project's settings with the scenes they list, `Resources`, `StreamingAssets`, Addressables, editor-only
//! assets, and code with its libraries, which is compiled whether it is referred to or not. An asset that code may load by
//! name is marked, because only a search through the code could tell.

use crate::class_id::ClassId;
use crate::index::{Entry, Index, Result};
use crate::store::AssetType;
use std::collections::{HashMap, VecDeque};

/// An asset that no root reaches.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unused<'a> {
    /// The asset that is unused.
    pub entry: Entry<'a>,
    /// The path, relative to the project.
    pub hint: String,
    /// The way in which code may load the asset by name; empty if only a GUID refers to it.
    pub by_name: &'static str,
}

/// Folders whose assets are in a build, or in the editor, without being referred to.
const FOLDERS: [&str; 7] = [
    "Resources",
    "StreamingAssets",
    "Editor",
    "Editor Default Resources",
    "Gizmos",
    "AddressableAssetsData",
    "Plugins",
];

/// Extensions of source code and libraries.
const CODE: [&str; 16] = [
    "cs", "dll", "asmdef", "asmref", "rsp", "so", "a", "mm", "m", "h", "cpp", "java", "jar", "aar", "jslib",
    "winmd",
];
/// Extensions of shader includes, documentation and data that are loaded by path.
const TEXTS: [&str; 9] = ["cginc", "hlsl", "glslinc", "md", "pdf", "template", "txt", "json", "xml"];

/// Returns all unused assets, by path.
///
/// # Errors
/// If the index is damaged.
pub fn unused(index: &Index) -> Result<Vec<Unused<'_>>> {
    let mut hints = HashMap::with_capacity(index.len());
    let mut folders = HashMap::new();
    let mut waiting = VecDeque::new();
    let mut used: HashMap<u128, ()> = HashMap::new();
    let mut children: HashMap<String, Vec<Entry<'_>>> = HashMap::new();
    for entry in index.entries() {
        let entry = entry?;
        let hint = entry.hint()?;
        if entry.is_folder() {
            folders.insert(entry.guid(), hint.clone());
        } else if let Some((folder, _)) = hint.rsplit_once('/') {
            children.entry(folder.to_owned()).or_default().push(entry);
        }
        if is_root(&entry, &hint) {
            if !entry.is_settings() {
                used.insert(entry.guid(), ());
            }
            waiting.push_back(entry);
        }
        hints.insert(entry.guid(), hint);
    }
    while let Some(entry) = waiting.pop_front() {
        for reference in entry.references()? {
            let mut reached = vec![reference.guid];
            // A reference to a folder reaches all assets in it.
            if let Some(folder) = folders.get(&reference.guid).filter(|_| !used.contains_key(&reference.guid))
            {
                let below = format!("{folder}/");
                let mut inside: Vec<&String> =
                    children.keys().filter(|path| *path == folder || path.starts_with(&below)).collect();
                inside.sort();
                reached.extend(inside.iter().flat_map(|path| &children[*path]).map(Entry::guid));
            }
            for guid in reached {
                if used.insert(guid, ()).is_none()
                    && let Some(entry) = index.find_by_guid(guid)?
                {
                    waiting.push_back(entry);
                }
            }
        }
    }
    let mut found = Vec::new();
    for entry in index.entries() {
        let entry = entry?;
        if entry.is_folder() || entry.is_settings() || used.contains_key(&entry.guid()) {
            continue;
        }
        let hint = hints.remove(&entry.guid()).unwrap_or_default();
        let by_name = by_name(&entry);
        found.push(Unused { entry, hint, by_name });
    }
    found.sort_by(|a, b| a.hint.cmp(&b.hint));
    Ok(found)
}

fn is_root(entry: &Entry<'_>, hint: &str) -> bool {
    let folder = hint.rsplit_once('/').map_or("", |(folder, _)| folder);
    let ext = hint.rsplit_once('.').map(|(_, ext)| ext.to_ascii_lowercase()).unwrap_or_default();
    entry.is_settings()
        || hint.starts_with("Packages/")
        || folder.split('/').any(|part| FOLDERS.contains(&part))
        || CODE.contains(&&*ext)
        || TEXTS.contains(&&*ext)
}

fn by_name(entry: &Entry<'_>) -> &'static str {
    match entry.asset_type() {
        AssetType::Native(class) => match ClassId::from_raw(class) {
            Some(ClassId::SceneAsset) => "code may load the scene by its name or path, if a build lists it",
            Some(ClassId::Shader | ClassId::ComputeShader) => "code may load the shader by its name",
            Some(ClassId::AudioMixerController) => "code may look up its groups by name",
            _ => "",
        },
        AssetType::Script(_) => "",
    }
}
