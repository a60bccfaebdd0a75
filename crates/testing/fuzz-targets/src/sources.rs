//! Importers of what artists and editors write, each handed one file.

use std::hint::black_box;
use std::path::Path;

use crate::cooking::run_in_memory;
use crate::halves;
use assetc::config::Config;
use assetc::plan::{Versions, plan};
use assetc::tools::Tools;
use kiln_engine::mem::Mem;
use kiln_engine::{Fs, Inputs, Limits, RelPath, SourceTree};
use kiln_font::Settings;
use kiln_import::image::{self, IMAGE_EXTENSIONS};
use kiln_import::{cube as lut, gltf as models, light as lights, obj as wavefront};

/// What a picture may be at most here: the fuzzer should not spend its time on texels.
const LIMITS: Limits = Limits { max_pixels: 1 << 20, max_memory: 1 << 22, max_time: None };

/// Cooks in memory: `run` reads these files and writes nowhere.
fn cook(files: &[(&str, &[u8])], run: impl FnOnce(&mut Inputs<'_>, &RelPath)) {
    let fs = Mem::new();
    files.iter().for_each(|(name, bytes)| fs.put(name, *bytes));
    let tree = fs.walk(None).expect("a tree");
    let path = RelPath::new(files[0].0).expect("a plain name");
    run(&mut Inputs::new(SourceTree { fs: &fs, tree: &tree }), &path);
}

/// A `.glb` or `.gltf`, alone in its folder.
pub(crate) fn gltf(bytes: &[u8]) {
    let name = if bytes.starts_with(b"glTF") { "a.glb" } else { "a.gltf" };
    cook(&[(name, bytes)], |cx, path| drop(black_box(models::import(cx, path))));
}

/// An OBJ, and after a line of `%%` the MTL beside it.
pub(crate) fn obj(bytes: &[u8]) {
    let (obj, mtl) = halves(bytes);
    cook(&[("a.obj", obj), ("a.mtl", mtl.unwrap_or_default())], |cx, path| {
        drop(black_box(wavefront::import(cx, path)))
    });
}

/// An FBX model, alone in its folder.
#[cfg(feature = "fbx")]
pub(crate) fn fbx(bytes: &[u8]) {
    cook(&[("a.fbx", bytes)], |cx, path| drop(black_box(kiln_import::fbx::import(cx, path))));
}

/// A lookup table.
pub(crate) fn cube(bytes: &[u8]) {
    let _ = black_box(lut::import(bytes));
}

/// A picture under the extension that the first byte chooses.
pub(crate) fn image(bytes: &[u8]) {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    let extension = IMAGE_EXTENSIONS[usize::from(kind) % IMAGE_EXTENSIONS.len()];
    if let Ok(imported) = image::import(bytes, extension, &LIMITS) {
        assert!(imported.value.width() > 0 && imported.value.height() > 0);
    }
}

/// A Radiance or OpenEXR picture.
pub(crate) fn light(bytes: &[u8]) {
    black_box(lights::probe(bytes));
    if let Ok(imported) = lights::import(bytes, &LIMITS) {
        assert!(imported.value.texels().iter().flatten().all(|value| value.is_finite()));
    }
}

/// A font.
pub(crate) fn font(bytes: &[u8]) {
    let settings = Settings { size: 8, spread: 1, ..Settings::default() };
    let _ = black_box(kiln_font::compile(bytes, &settings));
}

/// A `.meta` of Unity, and the references in the same bytes.
pub(crate) fn unity_meta(bytes: &[u8]) {
    black_box(unity_assetdb::meta::parse(bytes));
    let mut last = 0;
    unity_assetdb::refs::scan(bytes, 0, |found| {
        let span = found.span(bytes);
        assert!(span.end <= bytes.len() && span.contains(&found.at) && found.at > last);
        last = found.at;
    });
}

/// An `assetc.yml`, and what it says of a few paths.
pub(crate) fn assetc_yml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(config) = Config::parse(text, "assetc.yml") else { return };
    for preset in config.presets().iter().map(Some).chain([None]) {
        let resolver = config.resolver(preset);
        for path in ["a.png", "models/b/c.glb", "ä/ö.n.png"] {
            black_box((resolver.resolve(path), resolver.embeds(path)));
        }
    }
}

/// A `.mat`, compiled as a build does it.
pub(crate) fn mat(bytes: &[u8]) {
    let src = Mem::new();
    src.put("a.mat", bytes);
    let resolver = Config::built_in(Path::new("project")).resolver(None);
    let (tree, tools) = (src.walk(None).expect("a tree"), Tools::default());
    let planned = plan(&tree, &resolver, &tools, Versions::Unasked);
    run_in_memory(&src, &Mem::new(), &planned.assets, None);
}
