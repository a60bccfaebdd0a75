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
    let start = std::time::Instant::now();
    let _ = std::fs::remove_dir_all(dir);
    let root = dir.join("corpus");
    let bytes = corpus::generate(&root);
    println!("corpus: {:.1} MB of sources\n", bytes as f64 / 1e6);
    println!("| | pak 0.7.6, wall (CPU) | Kiln, wall (CPU) | | wanted |\n|---|---|---|---|---|");
    for (codec, faster) in CODECS.into_iter().zip([3.0, 3.0, 1.8]) {
        let runs = if codec == "brotli" { 1 } else { 3 };
        let [theirs, ours] = pair("bake", &root, codec, runs);
        race(&format!("bake, {codec}"), &theirs, &ours, faster);
        let size = |tool| std::fs::metadata(output(&root, tool, codec)).map_or(0.0, |m| m.len() as f64 / 1e6);
        share(&format!("size, {codec}"), size("theirs"), size("ours"), 1.03);
        share(&format!("peak memory of a bake, {codec}"), theirs["rss"], ours["rss"], 0.5);
        let warm = run("ours", "rebake", &root, codec, 5);
        let part = 100.0 * warm["wall"] / ours["wall"];
        let (time, ok) = (took(&warm), mark(part < 2.0));
        println!("| unchanged bake, {codec} | — | {time} | {part:.2} % of cold | < 2 %{ok} |");
    }
    for (codec, bars) in CODECS.into_iter().zip([[5.0, 2.0], [4.0, 1.3], [40.0, 2.0]]) {
        let runs = if codec == "brotli" { 3 } else { 5 };
        for ((what, name), faster) in [("terrain", "10 MB mesh"), ("scan", "everything")].into_iter().zip(bars) {
            let [theirs, ours] = pair(what, &root, codec, runs);
            race(&format!("read {name}, {codec}"), &theirs, &ours, faster);
        }
    }
    for (count, faster) in [(100, 1.0), (20_000, 20.0)] {
        let root = dir.join(format!("keys{count}"));
        corpus::keys(&root, count);
        pair("bake", &root, "none", 1);
        let [theirs, ours] = pair("open", &root, "none", 5);
        race(&format!("open, {count} keys"), &theirs, &ours, faster);
    }
    println!("\nThe whole run took {:.0} s.", start.elapsed().as_secs_f64());
}

/// One row: how many times faster, by the wall.
fn race(name: &str, theirs: &Figures, ours: &Figures, wanted: f64) {
    let ratio = theirs["wall"] / ours["wall"];
    let (a, b, ok) = (took(theirs), took(ours), mark(ratio >= wanted));
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

/// Wall and CPU in a unit that fits both.
fn took(figures: &Figures) -> String {
    let (wall, cpu) = (figures["wall"], figures["cpu"]);
    let (factor, unit) = match wall {
        1.0.. => (1.0, "s"),
        0.001.. => (1e3, "ms"),
        _ => (1e6, "µs"),
    };
    let digits = |value: f64| format!("{:.*}", if value * factor < 10.0 { 2 } else { 1 }, value * factor);
    format!("{} {unit} ({})", digits(wall), digits(cpu))
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
        _ => measure::median(scans(codec), || ours(&open())),
    };
    measure::report(wall);
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
