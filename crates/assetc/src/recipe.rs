//! What turns one kind of source into runtime files, and the table of all kinds.

use crate::config::Settings;
use crate::link::Row;
use crate::recipes::{array::Array, cubemap::Cubemap, lut::Lut, texture::Texture};
use kiln_kit::{Cook, Diag, Entry, RelPath, World};
use kiln_texture::Mode;

/// One kind of source.
pub trait Recipe: Sync {
    /// What the kind is called, in listings and in cache keys.
    fn name(&self) -> &'static str;

    /// The sections of `assetc.yml` that it obeys.
    fn sections(&self) -> &'static [&'static str];

    /// Raised when the same source and settings come out differently than before: rebuilds this kind only.
    fn version(&self) -> u32;

    /// Whether a file, or a directory as a whole, is a source of this kind.
    fn claims(&self, entry: &Entry) -> bool;

    /// The path of the main output.
    fn output(&self, source: &RelPath) -> Option<RelPath>;

    /// The memory that cooking it takes, roughly.
    fn weight(&self, source: &RelPath, settings: &Settings, world: World<'_>) -> u64;

    /// Cooks it; returns its rows in the manifest.
    fn cook(&self, cx: &mut Cook<'_>, settings: &Settings) -> Result<Vec<Row>, Diag>;
}

/// Every kind; where several claim an entry the first one gets it.
pub static RECIPES: &[&dyn Recipe] = &[
    &Lut,
    &Cubemap,
    &Array(Mode::Normal),
    &Array(Mode::Grayscale),
    &Array(Mode::Color),
    &Texture(Mode::Normal),
    &Texture(Mode::Grayscale),
    &Texture(Mode::Color),
];

/// The recipe for an entry, if it is a source. Names that start with a dot are not: they belong to tools.
pub fn recipe_for(entry: &Entry) -> Option<&'static dyn Recipe> {
    let hidden = entry.path.components().any(|part| part.starts_with('.'));
    if hidden { None } else { RECIPES.iter().copied().find(|recipe| recipe.claims(entry)) }
}

/// What the last dots of a name say, whatever their case: `wall.n.png` is a `png` of the mode that `n` stands for.
pub(crate) struct Suffix<'a> {
    /// The name up to the last dot.
    pub(crate) stem: &'a str,
    /// What follows it, in lower case.
    pub(crate) ext: String,
    /// What the part before it says of the texels.
    pub(crate) mode: Mode,
}

/// Takes a path apart; `None` when its name has no extension.
pub(crate) fn suffix(path: &RelPath) -> Option<Suffix<'_>> {
    let (stem, ext) = path
        .as_str()
        .rsplit_once('.')
        .filter(|(stem, ext)| !ext.contains('/') && !stem.is_empty() && !stem.ends_with('/'))?;
    let name = stem.rsplit('/').next().unwrap_or(stem);
    let marker = name.rsplit_once('.').map(|(_, marker)| marker.to_ascii_lowercase());
    let mode = match marker.as_deref() {
        Some("n") => Mode::Normal,
        Some("ao" | "h" | "r") => Mode::Grayscale,
        _ => Mode::Color,
    };
    Some(Suffix { stem, ext: ext.to_ascii_lowercase(), mode })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_kit::Stamp;

    fn claimed(path: &str) -> Option<(&'static str, String)> {
        let stamp = Stamp { mtime_ns: 0, changed_ns: 0, len: 0 };
        let (path, file) = match path.strip_suffix('/') {
            Some(dir) => (dir, None),
            None => (path, Some(stamp)),
        };
        let entry = Entry { path: RelPath::new(path).unwrap(), file };
        let recipe = recipe_for(&entry)?;
        Some((recipe.name(), recipe.output(&entry.path).unwrap().to_string()))
    }

    #[test]
    fn patterns_and_outputs_are_the_documented_ones() {
        let check = |path: &str, name: &str, output: &str| {
            assert_eq!(claimed(path), Some((name, output.to_owned())), "{path}");
        };
        check("a/wall.png", "color", "a/wall.ktx2");
        check("wall.n.png", "normal", "wall.n.ktx2");
        check("wall.ao.png", "grayscale", "wall.ao.ktx2");
        check("wall.h.png", "grayscale", "wall.h.ktx2");
        check("wall.r.png", "grayscale", "wall.r.ktx2");
        check("wall.x.png", "color", "wall.x.ktx2");
        check("WALL.N.PNG", "normal", "WALL.N.ktx2");
        check("n.png", "color", "n.ktx2");
        for ext in ["jpg", "jpeg", "tga", "bmp", "webp"] {
            check(&format!("a.n.{ext}"), "normal", "a.n.ktx2");
        }
        check("grade/warm.lut.cube", "lut", "grade/warm.lut.ktx2");
        check("sky.env/", "cubemap", "sky.env.ktx2");
        check("ground.array/", "array", "ground.arr.ktx2");
        check("ground.n.array/", "normal-array", "ground.n.arr.ktx2");
        for none in [
            "a.txt",
            "warm.cube",
            ".hidden.png",
            ".git/a.png",
            "sky.env",
            "a.png/",
            "png",
            "._a.png",
            ".env/",
        ] {
            assert_eq!(claimed(none), None, "{none}");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = RECIPES.iter().map(|r| r.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RECIPES.len());
    }
}
