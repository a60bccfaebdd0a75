//! Finds assets that are unreachable from the roots of a build ([`super::roots`]).
//!
//! A result that depends on files that cannot be read would list used assets, so that unreadable scenes, prefabs and settings on
//! the way are returned as errors. An asset that code may load by name or GUID, or that a binary asset beside it may refer to, is
//! marked as uncertain.

use super::roots::Roots;
use super::string_literals::StringLiterals;
use crate::class_id::ClassId;
use crate::index::{Entry, Index, Result};
use crate::store::AssetType;
use kiln_engine::{Code, Diag};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::io::Read;
use std::path::Path;

/// The options of [`unused`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnusedOptions {
    /// Scenes that are disabled in the build settings are roots as well.
    pub all_scenes: bool,
}

impl UnusedOptions {
    /// Sets whether scenes that are disabled in the build settings are roots as well.
    pub fn all_scenes(self, all_scenes: bool) -> UnusedOptions {
        UnusedOptions { all_scenes }
    }
}

/// The result of [`unused`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct UnusedAssets<'a> {
    /// The assets that no root reaches, by path.
    pub assets: Vec<Unused<'a>>,
    /// The files whose references could not be read although a root reaches them, by path. If there are any, `assets` contains
    /// used ones.
    pub unreadable: Vec<Diag>,
}

/// An asset that no root reaches.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unused<'a> {
    /// The asset that is unused.
    pub entry: Entry<'a>,
    /// The path, relative to the project.
    pub hint: String,
    /// The reason why the asset may be used nevertheless; empty if nothing points to that.
    pub maybe: String,
    /// A remark for the reader; empty if there is none.
    pub note: String,
}

/// Extensions of files with references to other assets.
const WITH_REFERENCES: [&str; 24] = [
    "unity",
    "prefab",
    "asset",
    "mat",
    "controller",
    "overridecontroller",
    "playable",
    "anim",
    "spriteatlas",
    "spriteatlasv2",
    "shadergraph",
    "shadersubgraph",
    "vfx",
    "uxml",
    "uss",
    "tss",
    "lighting",
    "terrainlayer",
    "preset",
    "guiskin",
    "fontsettings",
    "flare",
    "scenetemplate",
    "brush",
];

/// Returns all unused assets.
///
/// # Errors
/// If the index is damaged.
pub fn unused<'a>(index: &'a Index, root: &Path, options: UnusedOptions) -> Result<UnusedAssets<'a>> {
    let roots = Roots::new(root, options.all_scenes);
    let mut hints = HashMap::with_capacity(index.len());
    let mut folders = HashMap::new();
    let mut waiting = VecDeque::new();
    let mut used: HashSet<u128> = HashSet::new();
    let mut children: HashMap<String, Vec<Entry<'_>>> = HashMap::new();
    for entry in index.entries() {
        let entry = entry?;
        let hint = entry.hint()?;
        if entry.is_folder() {
            folders.insert(entry.guid(), hint.clone());
        } else if let Some((folder, _)) = hint.rsplit_once('/') {
            children.entry(folder.to_owned()).or_default().push(entry);
        }
        if roots.kind(&entry, &hint).is_some() {
            if !entry.is_settings() {
                used.insert(entry.guid());
            }
            waiting.push_back((entry, hint.clone()));
        }
        hints.insert(entry.guid(), hint);
    }
    let mut result = UnusedAssets::default();
    // Folders with a binary asset that is used: lighting data, terrains and navigation meshes are never text.
    let mut opaque: BTreeSet<String> = BTreeSet::new();
    while let Some((entry, hint)) = waiting.pop_front() {
        match readability(root, &entry, &hint)? {
            Readability::Text => {}
            Readability::Unreadable(diag) => result.unreadable.push(diag),
            Readability::Binary => _ = opaque.insert(hint.clone()),
        }
        for reference in entry.references()? {
            if roots.is_disabled(&hint, &reference) {
                continue;
            }
            let mut reached = vec![reference.guid];
            // A reference to a folder reaches all assets in it.
            if let Some(folder) = folders.get(&reference.guid).filter(|_| !used.contains(&reference.guid)) {
                let below = format!("{folder}/");
                let mut inside: Vec<&String> =
                    children.keys().filter(|path| *path == folder || path.starts_with(&below)).collect();
                inside.sort();
                reached.extend(inside.iter().flat_map(|path| &children[*path]).map(Entry::guid));
            }
            for guid in reached {
                if used.insert(guid)
                    && let Some(entry) = index.find_by_guid(guid)?
                {
                    let hint = entry.hint()?;
                    waiting.push_back((entry, hint));
                }
            }
        }
    }
    let literals = StringLiterals::of_project(index, root)?;
    for entry in index.entries() {
        let entry = entry?;
        if entry.is_folder() || entry.is_settings() || used.contains(&entry.guid()) {
            continue;
        }
        let hint = hints.remove(&entry.guid()).unwrap_or_default();
        let maybe = literals.naming(&hint, entry.guid());
        let maybe = maybe.or_else(|| beside(&opaque, &hint)).unwrap_or_default();
        let note = match roots.is_disabled_scene(entry.guid()) {
            true => "disabled in the build settings".to_owned(),
            false => by_name(&entry).to_owned(),
        };
        result.assets.push(Unused { entry, hint, maybe, note });
    }
    result.assets.sort_by(|a, b| a.hint.cmp(&b.hint));
    result.unreadable.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(result)
}

/// The readability of the references of a used asset.
enum Readability {
    Text,
    /// A binary asset that Unity never writes as text.
    Binary,
    /// A scene, prefab, material or settings file that should be text.
    Unreadable(Diag),
}

fn readability(root: &Path, entry: &Entry<'_>, hint: &str) -> Result<Readability> {
    let ext = hint.rsplit_once('.').map(|(_, ext)| ext.to_ascii_lowercase()).unwrap_or_default();
    if !WITH_REFERENCES.contains(&&*ext) {
        return Ok(Readability::Text);
    }
    let unreadable = |what: &str, hint_text: &str| {
        let message = format!("{what}, so that every asset that only this file refers to would be listed");
        Readability::Unreadable(Diag::new(Code::UnityUnreadableRoot, message).path(hint).hint(hint_text))
    };
    if entry.is_pointer() {
        return Ok(unreadable("the file is a Git LFS pointer", "run git lfs pull"));
    }
    // A file in text has references or objects; only one without any may be binary.
    if !entry.references()?.is_empty() || !entry.subs()?.is_empty() || !is_binary(&root.join(hint)) {
        return Ok(Readability::Text);
    }
    Ok(match (&*ext, entry.is_settings()) {
        ("asset", false) => Readability::Binary,
        _ => unreadable(
            "the file is in binary serialization",
            "set Asset Serialization to Force Text in the editor settings",
        ),
    })
}

/// Returns whether a file has zero bytes at its start, as binary assets do and text does not.
fn is_binary(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = kiln_engine::regular_file::open(path).and_then(|file| file.take(64).read_to_end(&mut head));
    read.is_ok() && head.contains(&0)
}

/// Returns the binary asset in the folder of an asset, or in one above, that may refer to it.
fn beside(opaque: &BTreeSet<String>, hint: &str) -> Option<String> {
    let folder =
        |path: &str| path.rsplit_once('/').map(|(folder, _)| format!("{folder}/")).unwrap_or_default();
    let found = opaque.iter().find(|path| hint.starts_with(&folder(path)) && folder(path) != "Assets/")?;
    Some(format!("the binary asset {found} may refer to it"))
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
