//! Assets that nothing leads to from where a game starts.
//!
//! Roots are the project's settings with the scenes they list, `Resources`, `StreamingAssets`, Addressables, everything
//! that is only for the editor, and code with what goes with it, which is compiled whether something refers to it or not.
//! An asset that code may find by its name is marked, because nothing but a search through the code could tell.

use crate::class_id::ClassId;
use crate::index::{Entry, Index, Result};
use crate::store::AssetType;
use std::collections::{HashMap, VecDeque};

/// An asset that no root leads to.
#[derive(Clone, Debug)]
pub struct Unused<'a> {
    /// The asset.
    pub entry: Entry<'a>,
    /// Its path.
    pub hint: String,
    /// How code may come by it all the same; empty where only a GUID leads to it.
    pub by_name: &'static str,
}

/// Folders whose contents are in a build, or in the editor, without being referred to.
const FOLDERS: [&str; 7] = [
    "Resources",
    "StreamingAssets",
    "Editor",
    "Editor Default Resources",
    "Gizmos",
    "AddressableAssetsData",
    "Plugins",
];

/// Extensions of what is compiled, or taken by name from what is.
const CODE: [&str; 16] = [
    "cs", "dll", "asmdef", "asmref", "rsp", "so", "a", "mm", "m", "h", "cpp", "java", "jar", "aar", "jslib",
    "winmd",
];
/// Extensions of what shaders and documentation take by path.
const TEXTS: [&str; 9] = ["cginc", "hlsl", "glslinc", "md", "pdf", "template", "txt", "json", "xml"];

/// Every unused asset, in the order of paths.
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
            // A folder stands for everything in it.
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
            Some(ClassId::Shader | ClassId::ComputeShader) => "code may ask for the shader by its name",
            Some(ClassId::AudioMixerController) => "code may ask for its groups by name",
            _ => "",
        },
        AssetType::Script(_) => "",
    }
}
