//! Baking and reading paks, side by side with pak 0.7.6 on one corpus, in one run.
//!
//! ```text
//! cargo build --release --workspace --manifest-path bench/pak/Cargo.toml
//! bench/pak/target/release/bench-pak all [folder]
//! ```
//!
//! Every figure is taken in a process of its own, the two tools in turn; of several runs the median counts. Reads
//! compare checksums on our side, and there are none on the other. Bakes are cold: no output, no cache.

mod corpus;
mod measure;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["all"] => all(&std::env::temp_dir().join("bench-pak")),
        ["all", dir] => all(Path::new(dir)),
        ["one", what, root, codec] => one(what, Path::new(root), codec),
        _ => eprintln!("usage: bench-pak all [folder]"),
    }
}

const CODECS: [&str; 3] = ["none", "snap", "brotli"];

fn all(dir: &Path) {
    let _ = std::fs::remove_dir_all(dir);
    let root = dir.join("corpus");
    let bytes = corpus::generate(&root);
    println!("corpus: {:.1} MB of sources\n", bytes as f64 / 1e6);
    let mut rows = Vec::new();
    for codec in CODECS {
        let runs = if codec == "brotli" { 1 } else { 3 };
        let [theirs, ours] = pair("bake", &root, codec, runs);
        let size = |tool: &str| std::fs::metadata(output(&root, tool, codec)).map_or(0, |m| m.len()) as f64;
        let sizes = size("ours") / size("theirs");
        rows.push(format!(
            "| bake, {codec} | {:.2} s ({:.2} s) | {:.2} s ({:.2} s) | {:.1}× |",
            theirs["wall"],
            theirs["cpu"],
            ours["wall"],
            ours["cpu"],
            theirs["wall"] / ours["wall"]
        ));
        rows.push(format!(
            "| size, {codec} | {:.1} MB | {:.1} MB | {sizes:.3} of it |",
            size("theirs") / 1e6,
            size("ours") / 1e6
        ));
        rows.push(format!(
            "| peak memory, {codec} | {:.0} MB | {:.0} MB | {:.2} of it |",
            theirs["rss"],
            ours["rss"],
            ours["rss"] / theirs["rss"]
        ));
        let warm = run("ours", "rebake", &root, codec, 5);
        rows.push(format!(
            "| unchanged bake, {codec} | — | {:.0} ms | {:.1} % of cold |",
            warm["wall"] * 1e3,
            100.0 * warm["wall"] / ours["wall"]
        ));
    }
    for codec in CODECS {
        for (what, name) in [("terrain", "read 10 MB mesh"), ("scan", "read everything")] {
            let [theirs, ours] = pair(what, &root, codec, 5);
            rows.push(format!(
                "| {name}, {codec} | {:.2} ms | {:.2} ms | {:.1}× |",
                theirs["wall"] * 1e3,
                ours["wall"] * 1e3,
                theirs["wall"] / ours["wall"]
            ));
        }
    }
    for count in [100, 20_000] {
        let root = dir.join(format!("keys{count}"));
        corpus::keys(&root, count);
        pair("bake", &root, "none", 1);
        let [theirs, ours] = pair("open", &root, "none", 5);
        rows.push(format!(
            "| open, {count} keys | {:.0} µs | {:.0} µs | {:.1}× |",
            theirs["wall"] * 1e6,
            ours["wall"] * 1e6,
            theirs["wall"] / ours["wall"]
        ));
    }
    println!("| | pak 0.7.6, wall (CPU) | Kiln, wall (CPU) | |\n|---|---|---|---|");
    rows.iter().for_each(|row| println!("{row}"));
}

fn output(root: &Path, tool: &str, codec: &str) -> PathBuf {
    root.join(format!(
        "../out-{}/{tool}-{codec}.pak",
        root.file_name().and_then(|n| n.to_str()).unwrap_or("x")
    ))
}

type Figures = BTreeMap<String, f64>;

/// Both tools in turn.
fn pair(what: &str, root: &Path, codec: &str, runs: usize) -> [Figures; 2] {
    let mut all: [Vec<Figures>; 2] = Default::default();
    for _ in 0..runs {
        for (tool, all) in ["theirs", "ours"].into_iter().zip(&mut all) {
            all.push(run(tool, what, root, codec, 1));
        }
    }
    all.map(medians)
}

fn medians(all: Vec<Figures>) -> Figures {
    let median = |name: &String| {
        let mut values: Vec<f64> = all.iter().map(|one| one[name]).collect();
        values.sort_by(f64::total_cmp);
        (name.clone(), values[values.len() / 2])
    };
    all[0].keys().map(median).collect()
}

/// The median of several processes.
fn run(tool: &str, what: &str, root: &Path, codec: &str, runs: usize) -> Figures {
    let me = std::env::current_exe().expect("this program has a path");
    let program = if tool == "ours" { me } else { me.with_file_name("bench-pak-rival") };
    let out = output(root, tool, codec);
    std::fs::create_dir_all(out.parent().expect("a folder")).expect("a folder");
    let one = |_| {
        let mut command = Command::new(&program);
        command.args(["one", what]).arg(root).arg(codec);
        if tool == "theirs" {
            command.arg(&out);
        }
        let done = command.output().expect("it runs: build the whole workspace");
        assert!(done.status.success(), "{tool} {what} {codec}: {}", String::from_utf8_lossy(&done.stderr));
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let figure = |part: &str| {
            let (name, value) = part.split_once('=')?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        text.lines().last().unwrap_or_default().split(' ').filter_map(figure).collect()
    };
    medians((0..runs).map(one).collect())
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
        "open" => measure::median(101, || drop(black_box(open()))),
        "terrain" => {
            let pak = open();
            measure::median(21, || drop(black_box(pak.read_mesh("mesh/terrain").expect("it reads"))))
        }
        _ => measure::median(3, || ours(&open())),
    };
    measure::report(wall);
}

fn ours(pak: &pak::PakBuf) {
    use pak::Pak;
    (0..pak.bitmap_count()).for_each(|id| drop(black_box(pak.read_bitmap_id(id).expect("a bitmap"))));
    (0..pak.blob_count()).for_each(|id| drop(black_box(pak.read_blob_id(id).expect("a blob"))));
    (0..pak.mesh_count()).for_each(|id| drop(black_box(pak.read_mesh_id(id).expect("a mesh"))));
    (0..pak.scene_count()).for_each(|id| drop(black_box(pak.read_scene_id(id).expect("a scene"))));
}
