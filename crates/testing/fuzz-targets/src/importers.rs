//! Targets for importers of source files, each with one file in memory.

use std::hint::black_box;
use std::path::Path;

use crate::in_memory_build::run_in_memory;
use crate::split_input;
use assetc::config::Config;
use assetc::plan::{Versions, plan};
use assetc::tools::Tools;
use kiln_engine::mem::Mem;
use kiln_engine::{Fs, Inputs, Limits, RelPath, SourceTree};
use kiln_font::Settings;
use kiln_import::dds::Dds;
use kiln_import::image::{self, IMAGE_EXTENSIONS};
use kiln_import::{cube as lut, gltf as models, hdr as hdr_images, obj as wavefront};

/// The limits of images, so that the fuzzer does not spend its time on texels.
const LIMITS: Limits = Limits { max_pixels: 1 << 20, max_memory: 1 << 22, max_time: None };

/// Runs an importer on files in memory.
fn with_files(files: &[(&str, &[u8])], run: impl FnOnce(&mut Inputs<'_>, &RelPath)) {
    let fs = Mem::new();
    files.iter().for_each(|(name, bytes)| fs.put(name, *bytes));
    let tree = fs.walk(None).expect("a tree");
    let path = RelPath::new(files[0].0).expect("a plain name");
    run(&mut Inputs::new(SourceTree { fs: &fs, tree: &tree }), &path);
}

/// Imports a `.glb` or `.gltf` file without other files, and exports it again: the result must be readable.
pub(crate) fn gltf(bytes: &[u8]) {
    let name = if bytes.starts_with(b"glTF") { "a.glb" } else { "a.gltf" };
    with_files(&[(name, bytes)], |cx, path| drop(black_box(models::import(cx, path))));
    with_files(&[(name, bytes)], |cx, path| {
        if let Ok(exported) = kiln_gltf_export::export(cx, path, &kiln_gltf_export::Options::default(), None)
        {
            assert!(
                kiln_format::glb::GlbView::read(&exported.glb).is_ok(),
                "the export is not a binary glTF"
            );
        }
    });
}

/// Imports an OBJ file, with the MTL file after a line of `%%`.
pub(crate) fn obj(bytes: &[u8]) {
    let (obj, mtl) = split_input(bytes);
    with_files(&[("a.obj", obj), ("a.mtl", mtl.unwrap_or_default())], |cx, path| {
        drop(black_box(wavefront::import(cx, path)))
    });
}

/// Imports an FBX file without other files.
#[cfg(feature = "fbx")]
pub(crate) fn fbx(bytes: &[u8]) {
    with_files(&[("a.fbx", bytes)], |cx, path| drop(black_box(kiln_import::fbx::import(cx, path))));
}

/// Imports a color LUT.
pub(crate) fn cube(bytes: &[u8]) {
    let _ = black_box(lut::import(bytes));
}

/// Reads a DDS texture, all of its mip levels and the decoded base level.
pub(crate) fn dds(bytes: &[u8]) {
    let Ok(texture) = Dds::read(bytes, &LIMITS) else { return };
    for level in 0..texture.levels {
        texture.level(level).iter().for_each(|texels| drop(black_box(texture.rgba8(texels))));
    }
    let _ = black_box(texture.decode(&LIMITS));
}

/// Imports an image with the extension that the first byte chooses.
pub(crate) fn image(bytes: &[u8]) {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    let extension = IMAGE_EXTENSIONS[usize::from(kind) % IMAGE_EXTENSIONS.len()];
    if let Ok(imported) = image::import(bytes, extension, &LIMITS) {
        assert!(imported.value.width() > 0 && imported.value.height() > 0);
    }
}

/// Imports a Radiance or OpenEXR image.
pub(crate) fn hdr(bytes: &[u8]) {
    black_box(hdr_images::probe(bytes));
    if let Ok(imported) = hdr_images::import(bytes, &LIMITS) {
        assert!(imported.value.texels().iter().flatten().all(|value| value.is_finite()));
    }
}

/// Compiles a font.
pub(crate) fn font(bytes: &[u8]) {
    let settings = Settings { size: 8, spread: 1, ..Settings::default() };
    let _ = black_box(kiln_font::compile(bytes, &settings));
}

/// Parses a Unity `.meta` file, and scans the same bytes for references.
pub(crate) fn unity_meta(bytes: &[u8]) {
    black_box(unity_assetdb::meta::parse(bytes));
    let mut last = 0;
    unity_assetdb::refs::scan(bytes, 0, |found| {
        let span = found.span(bytes);
        assert!(span.end <= bytes.len() && span.contains(&found.at) && found.at > last);
        last = found.at;
    });
}

/// Parses an `assetc.yml`, and resolves the settings of a few paths.
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

/// Compiles a `.mat` file as a build does.
pub(crate) fn mat(bytes: &[u8]) {
    build("a.mat", bytes);
}

/// Compiles a `.tex` file as a build does.
pub(crate) fn tex(bytes: &[u8]) {
    build("a.tex", bytes);
}

/// Builds a project of one source.
fn build(name: &str, bytes: &[u8]) {
    let src = Mem::new();
    src.put(name, bytes);
    let resolver = Config::built_in(Path::new("project")).resolver(None);
    let (tree, tools) = (src.walk(None).expect("a tree"), Tools::default());
    let planned = plan(&tree, &resolver, &tools, Versions::Unasked);
    run_in_memory(&src, &Mem::new(), &planned.assets, None);
}
