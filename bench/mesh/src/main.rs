//! The mesh path beside gltfpack and meshoptimizer's standard builders, in one run.
//!
//! ```text
//! cargo run --profile lto -- all <folder of glTF models> 'native=gltfpack -noq -i {in} -o {out}' ...
//! ```
//! Of the models the largest are taken. Each further argument is a program to run beside ours: a name, and a command
//! with places for the source and the result. A program named with a `+` gets the time of meshoptimizer's tangents on
//! top, for one that cannot make tangents itself. Start-up is taken out of every program's time by running it on a single
//! triangle. Times are medians of several runs in turn. `quick` instead of `all` takes one small sphere, once. `stages`
//! alone shows the sphere's stages, and `levels` its levels or those of the models named after it. Linux only.

mod clock;
mod distance;
mod models;
mod ours;
#[allow(dead_code, reason = "no bench uses everything")]
#[path = "../../process.rs"]
mod process;
mod quality;
mod race;

use clock::time;
use kiln_mesh::{MeshOptions, MeshOutput, Stage};
use race::Rival;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

const RUNS: usize = 5;
const MODELS: usize = 4;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let folder = scratch.path();
    match &*words {
        ["peak", what, path] => peak(what, Path::new(path)),
        ["held", program, rest @ ..] => {
            let mut command = Command::new(program);
            let cost = process::run(command.args(rest).stdout(Stdio::null()).stderr(Stdio::null()));
            println!("{}", cost.map_or(f64::NAN, |cost| cost.peak));
        }
        ["stages"] => stages(&[models::sphere(folder, models::RINGS)], RUNS),
        ["levels"] => {
            let paths = [models::sphere(folder, models::RINGS), models::relief(folder)];
            levels(&paths.iter().map(processed).collect::<Vec<_>>());
        }
        ["levels", paths @ ..] => {
            levels(&paths.iter().map(PathBuf::from).map(|p| processed(&p)).collect::<Vec<_>>())
        }
        ["quick", _, rivals @ ..] => all(&[models::sphere(folder, models::RINGS / 16)], rivals, 1, folder),
        ["all", root, rivals @ ..] => {
            let mut paths = [4, 2, 1].map(|part| models::sphere(folder, models::RINGS / part)).to_vec();
            paths.extend(models::largest(Path::new(root), MODELS, folder));
            all(&paths, rivals, RUNS, folder);
        }
        _ => eprintln!("usage: mesh-bench all|quick <folder of models> [name=command]..."),
    }
}

/// Every table.
fn all(paths: &[PathBuf], rivals: &[&str], runs: usize, scratch: &Path) {
    let rivals: Vec<Rival> = rivals.iter().map(|text| Rival::new(text, scratch, runs)).collect();
    race::table(paths, &rivals, runs);
    stages(paths, runs);
    println!(
        "\n## mesh-meshlets\n\n| model | meshlets | mean radius | sum of squares | mean cutoff | cullable |\n|---|---|---|---|---|---|"
    );
    let mut outputs: Vec<(String, Vec<MeshOutput>)> = paths.iter().map(processed).collect();
    for (name, outputs) in &outputs {
        let (ours, theirs) = quality::clusters(outputs);
        ours.row(name);
        theirs.row(&format!("{name}, standard builder"));
    }
    if runs > 1 {
        outputs.push(processed(&models::relief(scratch)));
    }
    levels(&outputs);
    memory(paths, &rivals);
}

fn processed(path: &PathBuf) -> (String, Vec<MeshOutput>) {
    (name(path), ours::process(&ours::import(path), &MeshOptions::default(), &|_, _| ()))
}

/// Levels beside the standard simplifier's.
fn levels(outputs: &[(String, Vec<MeshOutput>)]) {
    println!("\n## mesh-levels\n");
    println!("| model | triangles | mean distance | largest | normals, degrees |\n|---|---|---|---|---|");
    for (name, outputs) in outputs {
        for (number, level) in quality::levels(outputs).iter().enumerate() {
            level.ours.row(&format!("{name}, LOD {}", number + 1));
            level.plain.row(&format!("{name}, LOD {}, position-only", number + 1));
            level.weighed.row(&format!("{name}, LOD {}, with normals", number + 1));
        }
    }
}

/// The most memory held, each in a process of its own.
fn memory(paths: &[PathBuf], rivals: &[Rival]) {
    println!("\n## mesh-memory\n");
    print!(
        "| model | decoded mesh | without LODs and meshlets | | one thread | | two | | simplifier alone | |"
    );
    rivals.iter().for_each(|rival| print!(" {} | |", rival.name));
    println!("\n|{}", "---|".repeat(10 + 2 * rivals.len()));
    let program = std::env::current_exe().expect("a program with a name");
    for path in paths {
        let numbers = |words: &[String]| -> Vec<f64> {
            let run = Command::new(&program).args(words).output().expect("this program");
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
        };
        let peak = |what: &str| numbers(&["peak".into(), what.into(), path.to_string_lossy().into_owned()]);
        let decoded = peak("plain")[0];
        print!("| {} | {decoded:.1} |", name(path));
        for what in ["plain", "1", "2", "simplifier"] {
            let most = peak(what)[1];
            print!(" {most:.1} | {:.2} |", most / decoded);
        }
        for rival in rivals {
            let words: Vec<String> = std::iter::once("held".to_owned()).chain(rival.words(path)).collect();
            let most = numbers(&words)[0];
            print!(" {most:.1} | {:.2} |", most / decoded);
        }
        println!();
    }
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool")
}

/// Everything on: wall and CPU on one thread and on two, and the share of each stage.
fn stages(paths: &[PathBuf], runs: usize) {
    println!("\n## mesh-stages\n");
    let heads = [
        "one thread CPU, ms",
        "two threads wall, ms",
        "two threads CPU, ms",
        "wall ratio",
        "stages on one thread",
    ];
    println!("| model | one thread wall, ms | {} |\n|{}", heads.join(" | "), "---|".repeat(7));
    for path in paths {
        let scene = ours::import(path);
        let settings = MeshOptions::default();
        let pools = [1, 2].map(pool);
        let mut times = [const { (Vec::new(), Vec::new()) }; 2];
        let mut outputs = [const { Vec::new() }; 2];
        for _ in 0..runs {
            for ((pool, (wall, cpu)), output) in pools.iter().zip(&mut times).zip(&mut outputs) {
                let (found, took) = time(|| pool.install(|| ours::process(&scene, &settings, &|_, _| ())));
                wall.push(took.wall * 1e3);
                cpu.push(took.cpu * 1e3);
                *output = found;
            }
        }
        assert!(outputs[0] == outputs[1], "the result must not depend on the number of threads");
        let [one, two] = &times;
        println!(
            "| {} | {} | {} | {} | {} | {:.2} | {} |",
            name(path),
            process::spread(&one.0),
            process::spread(&one.1),
            process::spread(&two.0),
            process::spread(&two.1),
            process::median(&one.0) / process::median(&two.0),
            shares(&scene, &settings)
        );
    }
}

/// The share of the time of each stage.
fn shares(scene: &kiln_ir::Valid<kiln_ir::Scene>, settings: &MeshOptions) -> String {
    let open = Mutex::new(BTreeMap::new());
    let spent = Mutex::new(BTreeMap::<Stage, f64>::new());
    let watch = |stage, begins: bool| {
        let now = clock::thread_seconds();
        if begins {
            open.lock().expect("no panic").insert(stage, now);
        } else if let Some(since) = open.lock().expect("no panic").remove(&stage) {
            *spent.lock().expect("no panic").entry(stage).or_default() += now - since;
        }
    };
    pool(1).install(|| ours::process(scene, settings, &watch));
    let mut spent = spent.into_inner().expect("no panic");
    let ordering = spent.get(&Stage::LodOrder).copied().unwrap_or(0.0);
    spent.entry(Stage::Lods).and_modify(|seconds| *seconds -= ordering);
    let total: f64 = spent.values().sum();
    let share = |(stage, seconds): (Stage, f64)| format!("{stage:?} {:.0} %", seconds / total * 100.0);
    spent.into_iter().map(share).collect::<Vec<_>>().join(", ")
}

/// Prints the decoded mesh and the most memory held while it is processed, itself included, in MB. What the program
/// holds before there is a mesh is not counted.
fn peak(what: &str, path: &Path) {
    let pool = pool(if what == "2" { 2 } else { 1 });
    let idle = clock::memory("VmRSS:");
    let scene = ours::import(path);
    let decoded = ours::decoded_bytes(&scene) as f64 / 1e6;
    // SAFETY: asks the allocator to give back what reading the file took; touches no object.
    unsafe { libc::malloc_trim(0) };
    clock::forget_peak();
    let plain = ours::without_levels();
    match what {
        "plain" => drop(pool.install(|| ours::consume(scene, &plain))),
        "simplifier" => quality::simplify_alone(&scene),
        _ => drop(pool.install(|| ours::consume(scene, &MeshOptions::default()))),
    }
    println!("{decoded} {}", clock::memory("VmHWM:") - idle);
}
