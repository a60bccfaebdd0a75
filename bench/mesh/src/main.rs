//! The mesh path beside gltfpack and meshoptimizer's standard builders, in one run.
//!
//! ```text
//! cargo run --release -- ../../../shared/data/gltf 'native=/tmp/gltfpack -noq -i {in} -o {out}' ...
//! ```
//! The first argument is a folder of glTF models, of which the largest are taken; each further one is a program to
//! run beside ours: a name, and a command with places for the source and the result. A program named with a `+` gets
//! the time of meshoptimizer's tangents on top, for one that cannot make tangents itself. Start-up is taken out of
//! every program's time by running it on a single triangle. `stages` alone shows the sphere's stages, quickly, and `levels` its levels or those of the
//! models named after it. Times are the least of several runs; Linux only.

mod clock;
mod distance;
mod models;
mod ours;
mod quality;

use clock::{Took, time, time_program};
use kiln_mesh::process::{Output, Settings, Stage};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

const RUNS: usize = 5;
const MODELS: usize = 4;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, what, path] = arguments.as_slice()
        && word == "peak"
    {
        return peak(what, Path::new(path));
    }
    if let [word, program, rest @ ..] = arguments.as_slice()
        && word == "held"
    {
        return println!("{}", time_program(program, rest).map_or(f64::NAN, |(_, most)| most));
    }
    if arguments.first().is_some_and(|word| word == "stages") {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        return stages(&models::sphere(scratch.path()));
    }
    if let [word, paths @ ..] = arguments.as_slice()
        && word == "levels"
    {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let mut paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        if paths.is_empty() {
            paths = vec![models::sphere(scratch.path()), models::relief(scratch.path())];
        }
        return levels(&paths.iter().map(processed).collect::<Vec<_>>());
    }
    let root = arguments.first().map_or("../../../shared/data/gltf", |path| path);
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let mut paths = vec![models::sphere(scratch.path())];
    paths.extend(models::largest(Path::new(root), MODELS, scratch.path()));
    let rivals: Vec<Rival> = arguments.iter().skip(1).map(|text| Rival::new(text, scratch.path())).collect();

    println!("## Without meshlets and levels, one thread: CPU ms, start-up taken out\n");
    print!("| model | triangles | import | process | write | ours |");
    rivals.iter().for_each(|rival| print!(" {} | ratio |", rival.name));
    println!("\n|{}", "---|".repeat(6 + 2 * rivals.len()));
    paths.iter().for_each(|path| beside(path, &rivals));

    println!("\n## With meshlets and two levels\n");
    for path in &paths {
        stages(path);
    }
    println!(
        "\n## Meshlets\n\n| model | meshlets | mean radius | sum of squares | mean cutoff | cullable |\n|---|---|---|---|---|---|"
    );
    let outputs: Vec<(String, Vec<Output>)> = paths.iter().map(processed).collect();
    for (name, outputs) in &outputs {
        let (ours, theirs) = quality::clusters(outputs);
        ours.row(name);
        theirs.row("  standard builder");
    }
    levels(&outputs);
    memory(&paths, &rivals);
}

fn processed(path: &PathBuf) -> (String, Vec<Output>) {
    (name(path), ours::process(&ours::import(path), &Settings::default(), &|_, _| ()))
}

/// Levels beside the standard simplifier's.
fn levels(outputs: &[(String, Vec<Output>)]) {
    println!("\n## Levels of the largest part, against the vertices of the full mesh\n");
    println!("| model | triangles | mean distance | largest | normals, degrees |\n|---|---|---|---|---|");
    for (name, outputs) in outputs {
        for (number, level) in quality::levels(outputs).iter().enumerate() {
            level.ours.row(&format!("{name}, level {}", number + 1));
            level.plain.row("  standard, by position alone");
            level.weighed.row("  standard, with normals");
        }
    }
}

/// The most memory held, each in a process of its own.
fn memory(paths: &[PathBuf], rivals: &[Rival]) {
    println!("\n## Memory: the most held, in MB, and that over the decoded mesh\n");
    print!(
        "| model | decoded mesh | without levels and meshlets | | one thread | | two | | simplifier alone | |"
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

/// The least of several runs.
fn least<T>(mut work: impl FnMut() -> T) -> (T, Took) {
    let (mut result, mut took) = time(&mut work);
    for _ in 1..RUNS {
        let (next, its) = time(&mut work);
        (result, took) = (next, took.least(its));
    }
    (result, took)
}

struct Rival {
    name: String,
    command: Vec<String>,
    /// Whether it needs the time of making tangents on top.
    bare: bool,
    result: PathBuf,
    start: f64,
}

impl Rival {
    fn new(text: &str, scratch: &Path) -> Self {
        let (name, command) = text.split_once('=').expect("name=command");
        let mut rival = Self {
            name: name.to_owned(),
            command: command.split_whitespace().map(str::to_owned).collect(),
            bare: name.ends_with('+'),
            result: scratch.join("result.glb"),
            start: 0.0,
        };
        rival.start = rival.run(&models::triangle(scratch)).map_or(0.0, |took| took.cpu);
        rival
    }

    /// The command for a model.
    fn words(&self, model: &Path) -> Vec<String> {
        let fill = |word: &String| match word.as_str() {
            "{in}" => model.to_string_lossy().into_owned(),
            "{out}" => self.result.to_string_lossy().into_owned(),
            word => word.to_owned(),
        };
        self.command.iter().map(fill).collect()
    }

    /// The least of several runs.
    fn run(&self, model: &Path) -> Option<Took> {
        let words = self.words(model);
        (0..RUNS).filter_map(|_| Some(time_program(&words[0], &words[1..])?.0)).reduce(Took::least)
    }
}

/// Ours in steps, and every rival.
fn beside(path: &Path, rivals: &[Rival]) {
    let settings = Settings { lods: Vec::new(), meshlets: false, ..Settings::default() };
    let pool = pool(1);
    let (scene, import) = least(|| ours::import(path));
    let (outputs, process) = least(|| pool.install(|| ours::process(&scene, &settings, &|_, _| ())));
    let triangles: usize = outputs.iter().map(|output| output.indices.len() / 3).sum();
    let result = path.with_extension("hmesh");
    // The outputs are given up to be written, so they are made again for each run.
    let mut write = f64::MAX;
    for _ in 0..RUNS {
        let again = ours::process(&scene, &settings, &|_, _| ());
        let ((), took) = time(|| std::fs::write(&result, ours::write(again, 0)).expect("room for a mesh"));
        write = write.min(took.cpu);
    }
    let ours = import.cpu + process.cpu + write;
    let ms = 1e3;
    print!(
        "| {} | {triangles} | {:.1} | {:.1} | {:.1} | {:.1} |",
        name(path),
        import.cpu * ms,
        process.cpu * ms,
        write * ms,
        ours * ms
    );
    let tangents = tangents(&scene);
    for rival in rivals {
        match rival.run(path) {
            None => print!(" fails | |"),
            Some(took) => {
                let total = took.cpu - rival.start + if rival.bare { tangents } else { 0.0 };
                print!(" {:.1} | {:.2} |", total * ms, ours / total);
            }
        }
    }
    println!();
}

/// CPU time of meshoptimizer's tangents for every primitive that needs some.
fn tangents(scene: &kiln_ir::Scene) -> f64 {
    let mut total = 0.0;
    for p in scene.meshes.iter().flat_map(|mesh| &mesh.primitives) {
        if !p.tangents.is_empty() || p.uv0.is_empty() || p.normals.is_empty() {
            continue;
        }
        total += least(|| models::tangents(p)).1.cpu;
    }
    total
}

/// Everything on: wall and CPU on one thread and on two, and the share of each stage.
fn stages(path: &Path) {
    let scene = ours::import(path);
    let settings = Settings::default();
    let mut outputs = Vec::new();
    for threads in [1, 2] {
        let pool = pool(threads);
        let (found, took) = least(|| pool.install(|| ours::process(&scene, &settings, &|_, _| ())));
        println!(
            "{}, {threads} thread(s): {:.0} ms CPU, {:.0} ms wall",
            name(path),
            took.cpu * 1e3,
            took.wall * 1e3
        );
        outputs.push(found);
    }
    assert!(outputs[0] == outputs[1], "the result must not depend on the number of threads");
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
    pool(1).install(|| ours::process(&scene, &settings, &watch));
    let mut spent = spent.into_inner().expect("no panic");
    let ordering = spent.get(&Stage::LodOrder).copied().unwrap_or(0.0);
    spent.entry(Stage::Lods).and_modify(|seconds| *seconds -= ordering);
    let total: f64 = spent.values().sum();
    for (stage, seconds) in spent {
        print!("  {stage:?} {:.1} %", seconds / total * 100.0);
    }
    println!();
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
    let plain = Settings { lods: Vec::new(), meshlets: false, ..Settings::default() };
    match what {
        "plain" => drop(pool.install(|| ours::consume(scene, &plain))),
        "simplifier" => quality::simplify_alone(&scene),
        _ => drop(pool.install(|| ours::consume(scene, &Settings::default()))),
    }
    println!("{decoded} {}", clock::memory("VmHWM:") - idle);
}
