//! Time of a cold build by stage: the same work by the libraries, stage by stage, on one thread.

use kiln_engine::{Fs, Inputs, Limits, Real, SourceTree};
use kiln_import::image::{self, IMAGE_EXTENSIONS};
use kiln_import::{gltf, obj};
use kiln_ir::{Scene, Valid};
use kiln_mesh::{MeshInput, MeshOptions};
use kiln_texture::Mode;
use rayon::prelude::*;
use std::borrow::Cow;
use std::path::Path;
use std::time::Instant;

#[derive(Default)]
struct Seconds {
    models: f64,
    meshes: f64,
    images: f64,
    blocks: f64,
    packing: f64,
}

/// Prints the seconds and the share of each stage, for every tree.
pub fn print(trees: &[(&str, &Path)]) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one");
    let all: Vec<Seconds> = trees.iter().map(|(_, tree)| pool.install(|| measure(tree))).collect();
    println!("\n## cold-stages\n");
    let heads: String = trees.iter().map(|(name, _)| format!(" {name}, s | share |")).collect();
    println!("| stage, one thread |{heads}\n|---|{}", "---|---|".repeat(trees.len()));
    let rows: [(&str, fn(&Seconds) -> f64); 5] = [
        ("reading models", |s| s.models),
        ("meshes: weld, tangents, order, meshlets, LODs", |s| s.meshes),
        ("decoding images", |s| s.images),
        ("mips and UASTC blocks", |s| s.blocks),
        ("Zstd", |s| s.packing),
    ];
    for (name, time) in rows {
        let cell = |s: &Seconds| {
            let total: f64 = rows.iter().map(|(_, time)| time(s)).sum();
            format!(" {:.2} | {:.0} % |", time(s), 100.0 * time(s) / total)
        };
        println!("| {name} |{}", all.iter().map(cell).collect::<String>());
    }
}

/// Decodes every image below a folder on all threads, models left alone; returns how many there were.
pub fn decode(tree: &Path) -> usize {
    let files = Real::open(tree).expect("the tree is there");
    let all = files.walk(None).expect("a tree");
    let paths: Vec<_> = all.files().map(|(path, _)| path.clone()).collect();
    let one = |path: &kiln_engine::RelPath| {
        let extension = path.as_str().rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let known = IMAGE_EXTENSIONS.contains(&extension.as_str());
        known
            && files
                .read(path)
                .is_ok_and(|bytes| image::import(&bytes, &extension, &Limits::default()).is_ok())
    };
    paths.par_iter().filter(|path| one(path)).count()
}

fn measure(assets: &Path) -> Seconds {
    let files = Real::open(assets).expect("the project is there");
    let tree = files.walk(None).expect("a tree");
    let mut seconds = Seconds::default();
    let mut seen = std::collections::BTreeSet::new();
    for (path, _) in tree.files() {
        let extension = path.as_str().rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        if ["gltf", "glb", "obj"].contains(&extension.as_str()) {
            let mut cook = Inputs::new(SourceTree { fs: &files, tree: &tree });
            let start = Instant::now();
            let model =
                if extension == "obj" { obj::import(&mut cook, path) } else { gltf::import(&mut cook, path) };
            seconds.models += start.elapsed().as_secs_f64();
            let Ok(model) = model else { continue };
            mesh(&model.value, &mut seconds);
            for image in &model.value.images {
                if seen.insert(image.bytes.clone()) {
                    texture(&image.bytes, &image.extension, &mut seconds);
                }
            }
        } else if IMAGE_EXTENSIONS.contains(&extension.as_str()) {
            let bytes = files.read(path).expect("it was just there");
            if seen.insert(bytes.clone()) {
                texture(&bytes, &extension, &mut seconds);
            }
        }
    }
    seconds
}

fn mesh(scene: &Valid<Scene>, seconds: &mut Seconds) {
    fn there<T: Clone>(list: &[T]) -> Option<Cow<'_, [T]>> {
        Some(list).filter(|list| !list.is_empty()).map(Cow::Borrowed)
    }
    let start = Instant::now();
    for draw in scene.draws() {
        for p in &scene.meshes[draw.mesh.0 as usize].primitives {
            let input = MeshInput {
                indices: Cow::Borrowed(&p.indices),
                positions: Cow::Borrowed(&p.positions),
                normals: there(&p.normals),
                uvs: there(&p.uv0),
                tangents: there(&p.tangents),
                ..MeshInput::default()
            };
            let _ = kiln_mesh::process(input, &MeshOptions::default());
        }
    }
    seconds.meshes += start.elapsed().as_secs_f64();
}

fn texture(bytes: &[u8], extension: &str, seconds: &mut Seconds) {
    let start = Instant::now();
    let Ok(image) = image::import(bytes, extension, &Limits::default()) else { return };
    seconds.images += start.elapsed().as_secs_f64();
    let encode = |zstd: bool| {
        let image = image.value.clone();
        let start = Instant::now();
        let settings = kiln_texture::Settings { zstd, ..Default::default() };
        kiln_texture::encode_2d(image, Mode::Color, &settings).expect("it was decoded");
        start.elapsed().as_secs_f64()
    };
    let plain = encode(false);
    seconds.blocks += plain;
    seconds.packing += (encode(true) - plain).max(0.0);
}
