//! What turns one kind of source into runtime files, and the table of all kinds.

use crate::config::Settings;
use crate::link::Row;
use crate::recipes::{
    array::Array,
    cubemap::Cubemap,
    embed::Embed,
    font::Font,
    light::{Environment, Light},
    lut::Lut,
    material::Material,
    mesh::Mesh,
    shader::Shader,
    texture::Texture,
};
use crate::tools::{Tool, Tools};
use kiln_format::hman::Colorspace;
use kiln_kit::{Code, Cook, Diag, Entry, RelPath, Tree, World};
use kiln_texture::Mode;

/// One kind of source.
pub trait Recipe: Sync {
    /// What the kind is called, in listings and in cache keys.
    fn name(&self) -> &'static str;

    /// The sections of `assetc.yml` that it obeys.
    fn sections(&self) -> &'static [&'static str];

    /// Raised when the same source and settings come out differently than before: rebuilds this kind only.
    fn version(&self) -> u32;

    /// Whether a file, or a directory as a whole, is a source of this kind, by the end of its name.
    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool;

    /// The path of the main output, or of the directory that holds all of them.
    fn output(&self, source: &RelPath) -> Option<RelPath>;

    /// The memory that cooking it takes, roughly.
    fn weight(&self, source: &RelPath, settings: &Settings, world: World<'_>) -> u64;

    /// The programs that have a part in what comes out of a source, in a fixed order; what they are is part of its
    /// fingerprint.
    fn tools(&self, _: &RelPath, _: &Settings, _: &Tree, _: &Tools) -> Vec<Tool> {
        vec![]
    }

    /// Starts what its cook is going to need and takes long to start.
    fn prepare(&self, _: &RelPath, _: &Settings, _: World<'_>, _: &Tools) {}

    /// Returns whether a cook of `source` can write `output`; results of a cache that have any other are not used.
    fn writes(&self, source: &RelPath, output: &RelPath) -> bool {
        self.output(source).as_ref() == Some(output)
    }

    /// Returns whether its outputs are copies of their sources.
    fn copies(&self) -> bool {
        false
    }

    /// Returns how all textures that it writes are to be read, if that does not depend on the source.
    fn colorspace(&self) -> Option<Colorspace> {
        None
    }

    /// Returns whether the manifest lists the textures that it writes.
    fn lists_textures(&self) -> bool {
        false
    }

    /// Returns whether a row can be there because a cook read `input`, which is a source of its own.
    fn refers_to(&self, _input: &RelPath, _row: &Row) -> bool {
        false
    }

    /// Cooks it; returns its rows in the manifest.
    fn cook(&self, cx: &mut Cook<'_>, settings: &Settings, tools: &Tools) -> Result<Vec<Row>, Diag>;
}

/// Every kind; where several claim an entry the first one gets it.
pub static RECIPES: &[&dyn Recipe] = &[
    &Lut,
    &Material,
    &Mesh,
    &Shader,
    &Font,
    &Environment,
    &Light,
    &Cubemap,
    &Array(Mode::Normal),
    &Array(Mode::Grayscale),
    &Array(Mode::Color),
    &Texture(Mode::Normal),
    &Texture(Mode::Grayscale),
    &Texture(Mode::Color),
    &Embed,
];

/// The recipe for an entry, if it is a source. Names that start with a dot are not: they belong to tools. A file that
/// is to be embedded is that and nothing else.
pub fn recipe_for(entry: &Entry, embed: bool) -> Option<&'static dyn Recipe> {
    let is_file = entry.file.is_some();
    let by_name = || {
        let suffix = suffix(&entry.path)?;
        RECIPES.iter().copied().find(|recipe| recipe.claims(is_file, &suffix))
    };
    let recipe = if embed && is_file { Some(&Embed as &dyn Recipe) } else { by_name() }?;
    (!entry.path.is_hidden()).then_some(recipe)
}

/// What is said of a file that this program would take for a source if it had been built with all features. It is no
/// error: such a file may well lie beside what was exported from it.
pub(crate) fn unread(entry: &Entry) -> Option<Diag> {
    let fbx = entry.file.is_some() && suffix(&entry.path).is_some_and(|suffix| suffix.is(&["fbx"]));
    let warning = || {
        Diag::new(Code::FbxFeature, "this assetc was built without FBX, so nothing is written for it")
            .path(&entry.path)
            .hint("build assetc with `--features fbx`, or export the model as glTF")
    };
    (cfg!(not(feature = "fbx")) && fbx && !entry.path.is_hidden()).then(warning)
}

/// What the last dots of a name say, whatever their case: `wall.n.png` is a `png` of the mode that `n` stands for.
pub struct Suffix<'a> {
    /// The path up to the last dot.
    pub stem: &'a str,
    /// What follows it, as it is written.
    pub ext: &'a str,
    /// What the part before it says of the texels.
    pub mode: Mode,
}

impl Suffix<'_> {
    /// Whether the extension is one of these.
    pub fn is(&self, extensions: &[&str]) -> bool {
        extensions.iter().any(|ext| self.ext.eq_ignore_ascii_case(ext))
    }
}

/// Takes a path apart; `None` when its name has no extension, or nothing before it.
pub(crate) fn suffix(path: &RelPath) -> Option<Suffix<'_>> {
    let name = path.file_name();
    let (before, ext) = name.rsplit_once('.').filter(|(before, _)| !before.is_empty())?;
    let marker = before.rsplit_once('.').map_or("", |(_, marker)| marker);
    let is = |markers: &[&str]| markers.iter().any(|m| marker.eq_ignore_ascii_case(m));
    let mode = match () {
        () if is(&["n"]) => Mode::Normal,
        () if is(&["ao", "h", "r"]) => Mode::Grayscale,
        () => Mode::Color,
    };
    Some(Suffix { stem: &path.as_str()[..path.as_str().len() - ext.len() - 1], ext, mode })
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
        let recipe = recipe_for(&entry, false)?;
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
        check("models/Chair.v2.GLB", "mesh", "models/Chair.v2.hmesh");
        check("a.gltf", "mesh", "a.hmesh");
        check("a.obj", "mesh", "a.hmesh");
        match cfg!(feature = "fbx") {
            true => check("a.FBX", "mesh", "a.hmesh"),
            false => assert_eq!(claimed("a.FBX"), None),
        }
        check("brick.mat", "material", "brick.hmat");
        check("a/Lamp.hdr", "light", "a/Lamp.ktx2");
        check("lamp.EXR", "light", "lamp.ktx2");
        check("sky/dusk.env.hdr", "environment", "sky/dusk.env.ktx2");
        check("dusk.ENV.exr", "environment", "dusk.ENV.ktx2");
        check("env.hdr", "light", "env.ktx2");
        check("ui/Inter.TTF", "font", "ui/Inter.hfont");
        check("ui/inter.otf", "font", "ui/inter.hfont");
        check("sky.env/", "cubemap", "sky.env.ktx2");
        check("ground.array/", "array", "ground.arr.ktx2");
        check("ground.n.array/", "normal-array", "ground.n.arr.ktx2");
        check("sky.shader/", "shader", "sky.shader");
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
            "sky.shader",
            ".shader/",
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
