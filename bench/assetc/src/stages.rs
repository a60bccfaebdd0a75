//! Where the time of a cold build goes: the same work by the libraries, stage by stage, on one thread.

use kiln_import::image::{self, IMAGE_EXTENSIONS, Limits};
use kiln_import::{gltf, obj};
use kiln_ir::{Scene, Valid};
use kiln_kit::{Cook, Fs, Real};
use kiln_mesh::process::{Input, Settings};
use kiln_texture::Mode;
use std::borrow::Cow;
use std::path::Path;
use std::time::Instant;

#[derive(Default)]
struct Seconds {
    models: f64,
    meshes: f64,
    pictures: f64,
    blocks: f64,
    packing: f64,
}

/// Prints the share of each stage.
pub fn print(assets: &Path) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one");
    let seconds = pool.install(|| measure(assets));
    let Seconds { models, meshes, pictures, blocks, packing } = seconds;
    let total = models + meshes + pictures + blocks + packing;
    println!("| stage, one thread | s | share |\n|---|---|---|");
    let rows = [
        ("reading models", models),
        ("meshes: weld, tangents, order, meshlets, levels of detail", meshes),
        ("decoding pictures", pictures),
        ("mips and UASTC blocks", blocks),
        ("Zstd", packing),
    ];
    for (name, time) in rows {
        println!("| {name} | {time:.2} | {:.0} % |", 100.0 * time / total);
    }
}

fn measure(assets: &Path) -> Seconds {
    let files = Real::open(assets).expect("the project is there");
    let tree = files.walk(None).expect("a tree");
    let mut seconds = Seconds::default();
    let mut seen = std::collections::BTreeSet::new();
    for (path, _) in tree.files() {
        let extension = path.as_str().rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        if ["gltf", "glb", "obj"].contains(&extension.as_str()) {
            let mut cook = Cook::new(path, &files, &tree, &files);
            let start = Instant::now();
            let model = if extension == "obj" { obj::import(&mut cook, path) } else { gltf::import(&mut cook, path) };
            seconds.models += start.elapsed().as_secs_f64();
            let Ok(model) = model else { continue };
            mesh(&model.value, &mut seconds);
            for picture in &model.value.images {
                if seen.insert(picture.bytes.clone()) {
                    texture(&picture.bytes, &picture.extension, &mut seconds);
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
            let input = Input {
                indices: Cow::Borrowed(&p.indices),
                positions: Cow::Borrowed(&p.positions),
                normals: there(&p.normals),
                uvs: there(&p.uv0),
                tangents: there(&p.tangents),
                ..Input::default()
            };
            let _ = kiln_mesh::process(input, &Settings::default());
        }
    }
    seconds.meshes += start.elapsed().as_secs_f64();
}

fn texture(bytes: &[u8], extension: &str, seconds: &mut Seconds) {
    let start = Instant::now();
    let Ok(picture) = image::import(bytes, extension, &Limits::default()) else { return };
    seconds.pictures += start.elapsed().as_secs_f64();
    let encode = |zstd: bool| {
        let picture = picture.value.clone();
        let start = Instant::now();
        let settings = kiln_texture::Settings { zstd, ..Default::default() };
        kiln_texture::encode_2d(picture, Mode::Color, &settings).expect("it was decoded");
        start.elapsed().as_secs_f64()
    };
    let plain = encode(false);
    seconds.blocks += plain;
    seconds.packing += (encode(true) - plain).max(0.0);
}
