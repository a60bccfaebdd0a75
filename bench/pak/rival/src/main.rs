//! One measurement of pak 0.7.6, in this process: started by `bench-pak`.

#[path = "../../src/measure.rs"]
mod measure;

use pak::{BitmapId, BlobId, MeshId, Pak, PakBuf, SceneId};
use std::hint::black_box;
use std::path::Path;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [_, what, root, codec, out] = args.as_slice() else { panic!("started by bench-pak") };
    let out = Path::new(out);
    let open = || PakBuf::open(out).expect("it opens");
    let wall = match what.as_str() {
        "bake" => {
            let _ = std::fs::remove_file(out);
            measure::median(1, || {
                PakBuf::bake(Path::new(root).join(format!("{codec}.toml")), out).expect("it bakes")
            })
        }
        "triangles" => return triangles(root, codec, out),
        "open" => measure::median(101, || drop(black_box(open()))),
        "terrain" => {
            let mut pak = open();
            let times = if codec == "brotli" { 3 } else { 21 };
            measure::median(times, || drop(black_box(pak.read_mesh("mesh/terrain").expect("it reads"))))
        }
        _ => measure::median(if codec == "brotli" { 1 } else { 3 }, || scan(&mut open())),
    };
    measure::report(wall);
}

/// Bakes one model and prints the number of its triangles.
fn triangles(root: &str, codec: &str, out: &Path) {
    let _ = std::fs::remove_file(out);
    PakBuf::bake(Path::new(root).join(format!("{codec}.toml")), out).expect("it bakes");
    let mut pak = PakBuf::open(out).expect("it opens");
    let mut count = 0;
    for id in 0..pak.mesh_count() {
        let mesh = pak.read_mesh_id(MeshId(id)).expect("a mesh");
        count += mesh.primitives().iter().map(|part| part.lods()[0].triangle_count()).sum::<usize>();
    }
    println!("triangles={count}");
}

fn scan(pak: &mut PakBuf) {
    (0..pak.bitmap_count())
        .for_each(|id| drop(black_box(pak.read_bitmap_id(BitmapId(id)).expect("a bitmap"))));
    (0..pak.blob_count()).for_each(|id| drop(black_box(pak.read_blob_id(BlobId(id)).expect("a blob"))));
    (0..pak.mesh_count()).for_each(|id| drop(black_box(pak.read_mesh_id(MeshId(id)).expect("a mesh"))));
    (0..pak.scene_count()).for_each(|id| drop(black_box(pak.read_scene_id(SceneId(id)).expect("a scene"))));
}
