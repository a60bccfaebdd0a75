//! Baking and reading paks, side by side with pak 0.7.6 on one corpus, in one run.
//!
//! ```text
//! cargo build --release --manifest-path bench/Cargo.toml -p bench-pak
//! cargo build --release --manifest-path bench/Cargo.toml -p bench-pak-rival
//! bench/target/release/bench-pak all [folder]
//! ```
//! `quick` instead of `all` takes a sixth of the corpus, once. `real <data> <folder>` takes the files of a data directory
//! instead of generated ones, and compares decoders of Zstandard on them.
//!
//! Every figure is taken in a process of its own, the two tools in turn; of several runs the median counts, with the
//! least and the most behind it. Reads compare checksums on our side, and there are none on the other. Bakes are cold:
//! no output, no cache. The floor of a bake is reading every source, on two threads.

mod corpus;
mod data_corpus;
mod decoders;
mod figures;
mod measure;
mod real;

use figures::{Figures, output, pair, run};
use std::hint::black_box;
use std::path::Path;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["all"] => all(&std::env::temp_dir().join("bench-pak"), false),
        ["all", dir] => all(Path::new(dir), false),
        ["quick", dir] => all(Path::new(dir), true),
        ["real", data, dir] => real::table(Path::new(data), Path::new(dir), 5),
        ["real-quick", data, dir] => real::table(Path::new(data), Path::new(dir), 1),
        ["one", what, root, codec] => one(what, Path::new(root), codec),
        _ => {
            eprintln!("usage: bench-pak all|quick [folder]\n       bench-pak real|real-quick <data> <folder>")
        }
    }
}

const CODECS: [&str; 3] = ["none", "snap", "brotli"];

fn all(dir: &Path, quick: bool) {
    let _ = std::fs::remove_dir_all(dir);
    let root = dir.join("corpus");
    let bytes = corpus::generate(&root, if quick { 6 } else { 1 });
    let times = |runs: usize| if quick { 1 } else { runs };
    println!(
        "{:.1} MB of sources; wall, with the least and the most, and CPU in brackets.\n",
        bytes as f64 / 1e6
    );
    println!("| | pak 0.7.6 | Kiln | ratio | wanted |\n|---|---|---|---|---|");
    for (codec, faster) in CODECS.into_iter().zip([3.0, 3.0, 1.8]) {
        let runs = times(if codec == "brotli" { 2 } else { 5 });
        let [theirs, ours] = pair("bake", &root, codec, runs);
        race(&format!("bake, {codec}"), &theirs, &ours, faster);
        let size = |tool| std::fs::metadata(output(&root, tool, codec)).map_or(0.0, |m| m.len() as f64 / 1e6);
        share(&format!("size, {codec}"), size("theirs"), size("ours"), 1.03);
        share(&format!("peak memory of a bake, {codec}"), theirs.middle("rss"), ours.middle("rss"), 0.5);
        let warm = run("ours", "rebake", &root, codec, times(5));
        let part = 100.0 * warm.middle("wall") / ours.middle("wall");
        let (time, ok) = (warm.took(), mark(part < 2.0));
        println!("| unchanged bake, {codec} | — | {time} | {part:.2} % of cold | < 2 %{ok} |");
    }
    for (codec, bars) in CODECS.into_iter().zip([[5.0, 2.0], [4.0, 1.3], [40.0, 2.0]]) {
        let runs = times(if codec == "brotli" { 3 } else { 5 });
        for ((what, name), faster) in
            [("terrain", "10 MB mesh"), ("scan", "everything")].into_iter().zip(bars)
        {
            let [theirs, ours] = pair(what, &root, codec, runs);
            race(&format!("read {name}, {codec}"), &theirs, &ours, faster);
            let [a, b] = [theirs.middle("rss"), ours.middle("rss")];
            println!(
                "| peak memory of reading {name}, {codec} | {a:.1} MB | {b:.1} MB | {:.3} of it | |",
                b / a
            );
        }
    }
    for (count, faster) in [(100, 1.0), (if quick { 500 } else { 20_000 }, 20.0)] {
        let root = dir.join(format!("keys{count}"));
        corpus::keys(&root, count);
        pair("bake", &root, "none", 1);
        let [theirs, ours] = pair("open", &root, "none", times(5));
        race(&format!("open, {count} keys"), &theirs, &ours, faster);
    }
    growth(dir, if quick { &[6] } else { &[4, 2, 1] }, times(5));
}

/// Scaling of a bake with its sources, beside reading them.
fn growth(dir: &Path, parts: &[u32], runs: usize) {
    println!(
        "\n## pak-growth\n\n| sources | reading them | pak 0.7.6, bake none | Kiln, bake none | Kiln, a MB of sources |\n|---|---|---|---|---|"
    );
    for part in parts {
        let root = dir.join(format!("part{part}"));
        let megabytes = corpus::generate(&root, *part) as f64 / 1e6;
        let floor = run("ours", "floor", &root, "none", runs);
        let [theirs, ours] = pair("bake", &root, "none", runs);
        let each = ours.middle("wall") * 1e3 / megabytes;
        println!(
            "| {megabytes:.1} MB | {} | {} | {} | {each:.1} ms |",
            floor.took(),
            theirs.took(),
            ours.took()
        );
        let _ = std::fs::remove_dir_all(&root);
    }
}

/// One row: how many times faster, by the wall.
fn race(name: &str, theirs: &Figures, ours: &Figures, wanted: f64) {
    let ratio = theirs.middle("wall") / ours.middle("wall");
    let (a, b, ok) = (theirs.took(), ours.took(), mark(ratio >= wanted));
    println!("| {name} | {a} | {b} | {ratio:.1}× | {wanted}×{ok} |");
}

/// One row: how much of the other's, in MB.
fn share(name: &str, theirs: f64, ours: f64, wanted: f64) {
    let (ratio, ok) = (ours / theirs, mark(ours / theirs <= wanted));
    println!("| {name} | {theirs:.1} MB | {ours:.1} MB | {ratio:.3} of it | ≤ {wanted}{ok} |");
}

fn mark(met: bool) -> &'static str {
    if met { "" } else { " **missed**" }
}

/// One measurement of ours, in this process.
fn one(what: &str, root: &Path, codec: &str) {
    use pak::Pak;
    let out = output(root, "ours", codec);
    let open = || pak::PakBuf::open(&out).expect("it opens");
    let wall = match what {
        "bake" => {
            let _ = std::fs::remove_file(&out);
            let _ = std::fs::remove_file(out.with_file_name(format!(".ours-{codec}.pak.cache")));
            measure::median(1, || {
                pak::PakBuf::bake(root.join(format!("{codec}.toml")), &out).expect("it bakes")
            })
        }
        "rebake" => measure::median(1, || {
            pak::PakBuf::bake(root.join(format!("{codec}.toml")), &out).expect("it bakes")
        }),
        "triangles" => return triangles(root, codec, &out),
        "decoders" => return decoders::measure(&open()),
        "floor" => measure::median(1, || corpus::read(root)),
        "open" => measure::median(101, || drop(black_box(open()))),
        "terrain" => {
            let pak = open();
            measure::median(21, || drop(black_box(pak.read_mesh("mesh/terrain").expect("it reads"))))
        }
        _ => measure::median(scans(codec), || ours(&open())),
    };
    measure::report(wall);
}

/// Bakes one model and prints the number of its triangles.
fn triangles(root: &Path, codec: &str, out: &Path) {
    use pak::Pak;
    let _ = std::fs::remove_file(out);
    pak::PakBuf::bake(root.join(format!("{codec}.toml")), out).expect("it bakes");
    let pak = pak::PakBuf::open(out).expect("it opens");
    let meshes = (0..pak.mesh_count()).map(|id| pak.read_mesh_id(id).expect("a mesh"));
    let count = |mesh: pak::mesh::Mesh| -> usize {
        mesh.primitives().iter().map(|part| part.lods()[0].triangle_count()).sum()
    };
    println!("triangles={}", meshes.map(count).sum::<usize>());
}

fn scans(codec: &str) -> usize {
    if codec == "brotli" { 1 } else { 3 }
}

fn ours(pak: &pak::PakBuf) {
    use pak::Pak;
    (0..pak.bitmap_count()).for_each(|id| drop(black_box(pak.read_bitmap_id(id).expect("a bitmap"))));
    (0..pak.blob_count()).for_each(|id| drop(black_box(pak.read_blob_id(id).expect("a blob"))));
    (0..pak.mesh_count()).for_each(|id| drop(black_box(pak.read_mesh_id(id).expect("a mesh"))));
    (0..pak.scene_count()).for_each(|id| drop(black_box(pak.read_scene_id(id).expect("a scene"))));
}
