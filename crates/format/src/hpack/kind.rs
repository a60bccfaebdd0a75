//! The kinds of packed files, and the extensions that determine them.
//!
//! The numbers are those of `docs/reference/formats/hpack.md`.

use crate::paths;

/// The kind of a packed file, by its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum PackKind {
    /// A file with any other extension.
    Other = 0,
    /// A mesh (`.hmesh`).
    Mesh = 1,
    /// A material table (`.hmat`).
    Material = 2,
    /// A manifest (`.hman`).
    Manifest = 3,
    /// Animation clips (`.hanim`).
    Animation = 4,
    /// A texture (`.ktx2`).
    Texture = 5,
    /// A shader module (`.spv`).
    Shader = 6,
    /// A font (`.hfont`).
    Font = 7,
}

impl PackKind {
    /// All kinds, in order of their numbers.
    pub const ALL: [PackKind; 8] = [
        PackKind::Other,
        PackKind::Mesh,
        PackKind::Material,
        PackKind::Manifest,
        PackKind::Animation,
        PackKind::Texture,
        PackKind::Shader,
        PackKind::Font,
    ];

    /// Returns the kind of the file at `path`; the extension is case-sensitive.
    pub fn from_path(path: &str) -> PackKind {
        let ext = paths::extension(path).unwrap_or_default();
        let known = PackKind::ALL.into_iter().find(|kind| kind.ext() == Some(ext));
        known.unwrap_or(PackKind::Other)
    }

    /// Returns the name in lower case.
    pub const fn name(self) -> &'static str {
        ["other", "mesh", "material", "manifest", "animation", "texture", "shader", "font"][self as usize]
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
