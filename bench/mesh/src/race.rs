//! The mesh path in steps, beside programs that do the same: every run takes ours and each of theirs once.

use crate::clock::time;
use crate::process::{self, Cost, median, spread};
use crate::{models, name, ours, pool};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program that does what ours does.
pub struct Rival {
    pub name: String,
    command: Vec<String>,
    /// True if the time of generating tangents is added.
    bare: bool,
    result: PathBuf,
    /// CPU seconds that it takes for a single triangle.
    start: f64,
}

impl Rival {
    pub fn new(text: &str, scratch: &Path, runs: usize) -> Self {
        let (name, command) = text.split_once('=').expect("name=command");
        let mut rival = Self {
            name: name.to_owned(),
            command: command.split_whitespace().map(str::to_owned).collect(),
            bare: name.ends_with('+'),
            result: scratch.join("result.glb"),
            start: 0.0,
        };
        let triangle = models::triangle(scratch);
        let starts: Vec<f64> = (0..runs).filter_map(|_| Some(rival.run(&triangle)?.cpu)).collect();
        rival.start = if starts.is_empty() { 0.0 } else { median(&starts) };
        rival
    }

    /// The command for a model.
    pub fn words(&self, model: &Path) -> Vec<String> {
        let fill = |word: &String| match word.as_str() {
            "{in}" => model.to_string_lossy().into_owned(),
            "{out}" => self.result.to_string_lossy().into_owned(),
            word => word.to_owned(),
        };
        self.command.iter().map(fill).collect()
    }

    fn run(&self, model: &Path) -> Option<Cost> {
        let words = self.words(model);
        let mut command = Command::new(&words[0]);
        process::run(command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()))
    }
}

/// Without meshlets and levels, one thread: CPU ms, start-up taken out.
pub fn table(paths: &[PathBuf], rivals: &[Rival], runs: usize) {
    println!("CPU ms of one thread, medians of {runs} runs in turn (least–most).\n");
    print!("| model | triangles | import | process | write | ours | wall | output, MB |");
    rivals.iter().for_each(|rival| print!(" {} | ratio | output, MB |", rival.name));
    println!("\n|{}", "---|".repeat(8 + 3 * rivals.len()));
    paths.iter().for_each(|path| row(path, rivals, runs));
}

/// Ours in steps, and every rival.
fn row(path: &Path, rivals: &[Rival], runs: usize) {
    let settings = ours::without_levels();
    let (pool, result) = (pool(1), path.with_extension("hmesh"));
    let mut steps = [const { Vec::new() }; 5];
    let mut theirs = vec![Vec::new(); rivals.len()];
    let (mut triangles, mut size) = (0, 0);
    for _ in 0..runs {
        let (scene, import) = time(|| ours::import(path));
        let (outputs, process) = time(|| pool.install(|| ours::process(&scene, &settings, &|_, _| ())));
        triangles = outputs.iter().map(|output| output.indices.len() / 3).sum();
        let (bytes, write) = time(|| {
            let bytes = ours::write(outputs, 0);
            std::fs::write(&result, &bytes).expect("room for a mesh");
            bytes.len()
        });
        size = bytes;
        let cpu = import.cpu + process.cpu + write.cpu;
        let wall = import.wall + process.wall + write.wall;
        let tangents = tangents(&scene);
        drop(scene);
        for (step, seconds) in steps.iter_mut().zip([import.cpu, process.cpu, write.cpu, cpu, wall]) {
            step.push(seconds * 1e3);
        }
        for (rival, all) in rivals.iter().zip(&mut theirs) {
            let more = if rival.bare { tangents } else { 0.0 };
            all.extend(rival.run(path).map(|cost| (cost.cpu - rival.start + more) * 1e3));
        }
    }
    let [import, process, write, ours, wall] = steps;
    let parts = [import, process, write].map(|step| format!("{:.1}", median(&step))).join(" | ");
    let megabytes = |bytes: u64| format!("{:.2}", bytes as f64 / 1e6);
    let (all, wall, size) = (spread(&ours), spread(&wall), megabytes(size as u64));
    print!("| {} | {triangles} | {parts} | {all} | {wall} | {size} |", name(path));
    for (rival, all) in rivals.iter().zip(&theirs) {
        // The last run is that of the last rival: each is run once more for its size.
        let written = || rival.run(path).and_then(|_| Some(std::fs::metadata(&rival.result).ok()?.len()));
        match (all.is_empty(), written()) {
            (false, Some(bytes)) => {
                print!(" {} | {:.2} | {} |", spread(all), median(&ours) / median(all), megabytes(bytes))
            }
            _ => print!(" fails | | |"),
        }
    }
    println!();
}

/// CPU time of meshoptimizer's tangents for every primitive that needs some.
fn tangents(scene: &kiln_ir::Scene) -> f64 {
    let mut total = 0.0;
    for p in scene.meshes.iter().flat_map(|mesh| &mesh.primitives) {
        if p.tangents.is_empty() && !p.uv0.is_empty() && !p.normals.is_empty() {
            total += time(|| models::tangents(p)).1.cpu;
        }
    }
    total
}
