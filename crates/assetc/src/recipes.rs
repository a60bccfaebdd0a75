//! The table of recipes; one file per recipe.

mod array;
mod cubemap;
mod embed;
mod font;
mod gltf;
mod hdr;
mod lut;
pub(crate) mod material;
mod mesh;
mod packed_texture;
pub(crate) mod packing;
mod precompressed;
mod row_stream;
mod shader;
mod texture;
mod yaml_errors;

mod folder;
mod ktx;

use crate::recipe::{Recipe, suffix};
use array::Array;
use cubemap::Cubemap;
use embed::Embed;
use font::Font;
use gltf::GltfModel;
use hdr::{Environment, HdrTexture};
use kiln_engine::{Code, Diag, Entry};
use kiln_texture::Mode;
use lut::Lut;
use material::Material;
use mesh::Mesh;
use packed_texture::PackedTexture;
use precompressed::Precompressed;
use shader::Shader;
use texture::Texture;

/// All recipes, in order of precedence: the first one that claims an entry compiles it.
pub(crate) static RECIPES: &[&dyn Recipe] = &[
    &Lut,
    &Material,
    &Mesh,
    &Shader,
    &Font,
    &Environment,
    &HdrTexture,
    &Cubemap,
    &Array(Mode::Normal),
    &Array(Mode::Grayscale),
    &Array(Mode::Color),
    &Texture(Mode::Normal),
    &Texture(Mode::Grayscale),
    &Texture(Mode::Color),
    &PackedTexture,
    &Precompressed,
    &GltfModel,
    &Embed,
];

/// Returns the recipe of an entry, if it is a source. Hidden names are not: they belong to other tools. A file that is
/// to be embedded is not compiled by any other recipe.
pub(crate) fn recipe_for(entry: &Entry, embed: bool) -> Option<&'static dyn Recipe> {
    let is_file = entry.file.is_some();
    let by_name = || {
        let suffix = suffix(&entry.path)?;
        RECIPES.iter().copied().find(|recipe| recipe.claims(is_file, &suffix))
    };
    let recipe = if embed && is_file { Some(&Embed as &dyn Recipe) } else { by_name() }?;
    (!entry.path.is_hidden()).then_some(recipe)
}

/// Returns the warning about a file that would be a source if `assetc` had been built with all features. It is not an
/// error: such a file often lies beside the glTF that was exported from it.
pub(crate) fn unread_warning(entry: &Entry) -> Option<Diag> {
    let fbx = entry.file.is_some() && suffix(&entry.path).is_some_and(|suffix| suffix.is(&["fbx"]));
    let warning = || {
        Diag::new(
            Code::FbxFeature,
            "the FBX model is skipped, because this assetc was built without FBX support",
        )
        .path(&entry.path)
        .hint("build assetc with `--features fbx`, or export the model as glTF")
    };
    (cfg!(not(feature = "fbx")) && fbx && !entry.path.is_hidden()).then(warning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_engine::{RelPath, Stamp};

    fn claimed(path: &str) -> Option<(&'static str, String)> {
        let stamp = Stamp { mtime_ns: 0, changed_ns: 0, len: 0 };
        let (path, file) = match path.strip_suffix('/') {
            Some(dir) => (dir, None),
            None => (path, Some(stamp)),
        };
        let entry = Entry { path: RelPath::new(path).unwrap(), file };
        let recipe = recipe_for(&entry, false)?;
        Some((recipe.info().name, recipe.output(&entry.path).unwrap().to_string()))
    }

    #[test]
    fn names_select_the_documented_recipe_and_output() {
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
        check("wall.dds", "precompressed", "wall.ktx2");
        check("wall.n.KTX2", "precompressed", "wall.n.ktx2");
        for ext in ["jpg", "jpeg", "tga", "bmp", "webp", "qoi", "gif", "tif", "tiff", "psd", "psb"] {
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
        check("a/wall_orm.TEX", "packed-texture", "a/wall_orm.ktx2");
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
    fn recipe_names_are_unique() {
        let mut names: Vec<_> = RECIPES.iter().map(|r| r.info().name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RECIPES.len());
    }
}
