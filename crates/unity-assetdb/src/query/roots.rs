//! The roots of a build: assets that are in the player, or in the editor, without being referred to.
//!
//! Roots are the project's settings, `Resources`, `StreamingAssets`, Addressables, editor-only assets, packages, and code with
//! its libraries. The build settings list scenes; a scene that is disabled there is no root unless the caller asks for it.

use crate::file_name::extension;
use crate::guid;
use crate::index::{Entry, Reference};
use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

/// The file that lists the scenes of a build.
pub(super) const BUILD_SETTINGS: &str = "ProjectSettings/EditorBuildSettings.asset";
/// The maximum size of a settings or `.meta` file that is read, in bytes.
const MAX_FILE_SIZE: u64 = 16 << 20;

/// The maximum length of the extension of source code and of files that are loaded by path.
const MAX_EXTENSION: usize = 8;

/// The reason why an asset is a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootKind {
    /// A file of the project's settings.
    Settings,
    /// In a folder whose content is in every build, or in the editor: `Resources`, `StreamingAssets`, `Editor` and others.
    Folder(&'static str),
    /// In a package.
    Package,
    /// Source code or a library, which is compiled whether it is referred to or not.
    Code,
    /// A shader include, documentation or data that is loaded by path.
    LoadedByPath,
    /// An input action asset for which Unity generates a C# class.
    InputActions,
}

impl std::fmt::Display for RootKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RootKind::Settings => f.write_str("project settings"),
            RootKind::Folder(name) => write!(f, "folder {name}"),
            RootKind::Package => f.write_str("package"),
            RootKind::Code => f.write_str("code"),
            RootKind::LoadedByPath => f.write_str("loaded by path"),
            RootKind::InputActions => f.write_str("input actions with a generated class"),
        }
    }
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

/// The roots of a project.
#[derive(Debug)]
pub(super) struct Roots<'a> {
    root: &'a Path,
    /// The scenes that the build settings list as disabled, and not as enabled.
    disabled: HashSet<u128>,
}

impl<'a> Roots<'a> {
    /// Reads the build settings. With `all_scenes`, disabled scenes count as enabled.
    pub(super) fn new(root: &'a Path, all_scenes: bool) -> Roots<'a> {
        let disabled = match all_scenes {
            true => HashSet::new(),
            false => disabled_scenes(&read(&root.join(BUILD_SETTINGS))),
        };
        Roots { root, disabled }
    }

    /// Returns why an asset is a root; `None` if it is none.
    pub(super) fn kind(&self, entry: &Entry<'_>, hint: &str) -> Option<RootKind> {
        if entry.is_settings() {
            return Some(RootKind::Settings);
        }
        let (folder, name) = hint.rsplit_once('/').unwrap_or(("", hint));
        kind_of_folder(folder).or_else(|| kind_of_file(name)).or_else(|| {
            let generates_class = || {
                let meta = read(&self.root.join(format!("{hint}.meta")));
                has_line(&meta, b"generateWrapperCode: 1")
            };
            (is_input_actions(name) && generates_class()).then_some(RootKind::InputActions)
        })
    }

    /// Returns whether a reference of a root is no reason to keep its target: a scene that is disabled in the build settings.
    pub(super) fn is_disabled(&self, source: &str, reference: &Reference) -> bool {
        source == BUILD_SETTINGS && self.disabled.contains(&reference.guid)
    }

    /// Iterates over the scenes that are disabled in the build settings.
    pub(super) fn disabled_scenes(&self) -> impl Iterator<Item = u128> {
        self.disabled.iter().copied()
    }

    /// Returns whether a scene is disabled in the build settings.
    pub(super) fn is_disabled_scene(&self, guid: u128) -> bool {
        self.disabled.contains(&guid)
    }
}

/// Returns whether all assets of a folder are roots, by its path.
pub(crate) fn kind_of_folder(folder: &str) -> Option<RootKind> {
    if folder == "Packages" || folder.starts_with("Packages/") {
        return Some(RootKind::Package);
    }
    let name = FOLDERS.into_iter().find(|name| folder.split('/').any(|part| part == *name))?;
    Some(RootKind::Folder(name))
}

/// Returns whether a file of this name may be a root in any folder. Only its `.meta` decides about input actions.
pub(crate) fn may_be_root_file(name: &str) -> bool {
    kind_of_file(name).is_some() || is_input_actions(name)
}

fn kind_of_file(name: &str) -> Option<RootKind> {
    let mut lower = [0; MAX_EXTENSION];
    let lower = lower.get_mut(..extension(name).len())?;
    lower.copy_from_slice(extension(name).as_bytes());
    lower.make_ascii_lowercase();
    Some(match &*lower {
        b"cs" | b"dll" | b"asmdef" | b"asmref" | b"rsp" | b"so" | b"a" | b"mm" | b"m" | b"h" | b"cpp"
        | b"java" | b"jar" | b"aar" | b"jslib" | b"winmd" => RootKind::Code,
        // Shader includes, documentation and data that are loaded by path.
        b"cginc" | b"hlsl" | b"glslinc" | b"md" | b"pdf" | b"template" | b"txt" | b"json" | b"xml" => {
            RootKind::LoadedByPath
        }
        _ => return None,
    })
}

fn is_input_actions(name: &str) -> bool {
    extension(name).eq_ignore_ascii_case("inputactions")
}

fn has_line(text: &[u8], wanted: &[u8]) -> bool {
    text.split(|b| *b == b'\n').any(|line| line.trim_ascii() == wanted)
}

/// Returns the GUIDs of scenes that are only listed with `enabled: 0`.
fn disabled_scenes(settings: &[u8]) -> HashSet<u128> {
    let (mut enabled, mut disabled) = (HashSet::new(), HashSet::new());
    let mut is_enabled = true;
    for line in settings.split(|b| *b == b'\n') {
        let line = line.trim_ascii();
        let line = line.strip_prefix(b"- ").unwrap_or(line);
        if let Some(value) = line.strip_prefix(b"enabled:") {
            is_enabled = value.trim_ascii() != b"0";
        } else if let Some(value) = line.strip_prefix(b"guid:")
            && let Some(guid) = std::str::from_utf8(value).ok().and_then(|text| guid::parse(text.trim()))
        {
            if is_enabled { &mut enabled } else { &mut disabled }.insert(guid);
            is_enabled = true;
        }
    }
    disabled.retain(|guid| !enabled.contains(guid));
    disabled
}

/// Returns the content of a regular file; empty if it cannot be read.
pub(super) fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = kiln_engine::regular_file::open(path)
        .and_then(|file| file.take(MAX_FILE_SIZE).read_to_end(&mut bytes));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scene_is_disabled_if_no_entry_enables_it() {
        let (a, b) = ("8f57b4a070f7b43bbb3925467e6752ab", "9f57b4a070f7b43bbb3925467e6752ab");
        let text = format!(
            "  m_Scenes:\n  - enabled: 0\n    path: A\n    guid: {a}\n  - enabled: 1\n    path: B\n    guid: {b}\n  \
             - enabled: 0\n    path: B\n    guid: {b}\n  m_configObjects:\n    x: {{fileID: 1, guid: {a}}}\n"
        );
        assert_eq!(disabled_scenes(text.as_bytes()), HashSet::from([guid::parse(a).unwrap()]));
        assert!(disabled_scenes(b"").is_empty());
    }
}
