//! The kinds of packed files, and the extensions that determine them.
//!
//! The numbers are those of `docs/reference/formats/hpack.md`.

use crate::numbered::numbered;
use crate::paths;

numbered! {
    /// The kind of a packed file, by its extension.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum PackKind: u8 {
        /// A file with any other extension.
        Other = "other",
        /// A mesh (`.hmesh`).
        Mesh = "mesh",
        /// A material table (`.hmat`).
        Material = "material",
        /// A manifest (`.hman`).
        Manifest = "manifest",
        /// Animation clips (`.hanim`).
        Animation = "animation",
        /// A texture (`.ktx2`).
        Texture = "texture",
        /// A shader module (`.spv`).
        Shader = "shader",
        /// A font (`.hfont`).
        Font = "font",
    }
}

impl PackKind {
    /// Returns the kind of the file at `path`; the extension is case-sensitive.
    pub fn from_path(path: &str) -> PackKind {
        let ext = paths::extension(path).unwrap_or_default();
        let known = PackKind::ALL.into_iter().find(|kind| kind.ext() == Some(ext));
        known.unwrap_or(PackKind::Other)
    }

    /// Returns the plural name, for headings.
    pub const fn title(self) -> &'static str {
        ["other files", "meshes", "materials", "manifests", "animations", "textures", "shaders", "fonts"]
            [self as usize]
    }

    /// Returns the extension without the dot; `None` for `Other`.
    pub const fn ext(self) -> Option<&'static str> {
        match self {
            PackKind::Other => None,
            PackKind::Mesh => Some("hmesh"),
            PackKind::Material => Some("hmat"),
            PackKind::Manifest => Some("hman"),
            PackKind::Animation => Some("hanim"),
            PackKind::Texture => Some("ktx2"),
            PackKind::Shader => Some("spv"),
            PackKind::Font => Some("hfont"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_documented_numbers() {
        let of = |path| PackKind::from_path(path) as u8;
        assert_eq!(
            ["x.bin", "x.hmesh", "x.hmat", "x.hman", "x.hanim", "x.ktx2", "x.spv", "x.hfont", "x.hpack"]
                .map(of),
            [0, 1, 2, 3, 4, 5, 6, 7, 0]
        );
        for (number, kind) in PackKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }
}
