//! A cold build: wall time, processor time and peak memory of one thread on one core and of two on two, beside copying the
//! tree, decoding its images and, where there is nothing but images, basisu; how that grows; where the time goes.

use crate::process::{self, Cost, Costs};
use crate::project::{self, Tree};
use crate::stages;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A contestant of the cold-build table.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    Copy,
    Decode,
    Ours(usize),
    /// basisu at the level that our default quality is held to, with two threads.
    Basis,
}

impl Who {
    fn name(self) -> String {
        match self {
            Self::Copy => "copying it".to_owned(),
            Self::Decode => "decoding its images".to_owned(),
            Self::Ours(1) => "ours, one thread".to_owned(),
            Self::Ours(_) => "ours, two threads".to_owned(),
            Self::Basis => "basisu level 2, two threads".to_owned(),
        }
    }

    /// Runs the contestant; returns its cost and the bytes of its output.
    fn run(self, tree: &Path) -> Option<(Cost, u64)> {
        let out = tempfile::tempdir().expect("a temporary directory");
        let me = std::env::current_exe().expect("this program has a path");
        let mut command = match self {
            Self::Ours(jobs) => return Some(build(tree, jobs, &[("KILN_CACHE", "off")])),
            Self::Basis => Command::new(std::env::var_os("KILN_BASISU")?),
            _ => Command::new(me),
        };
        match self {
            Self::Copy => command.arg("copy").arg(tree).arg(out.path()),
            Self::Decode => command.arg("decode").arg(tree),
            Self::Basis => command.arg(tree).arg("2").arg(out.path()),
            Self::Ours(_) => &mut command,
        };
        let cost = process::run(command.stdout(Stdio::null()))?;
        Some((cost, project::size(out.path()).1))
    }
}

/// Builds every tree into fresh directories, everyone in turn.
pub fn cold(runs: usize, trees: &[Tree]) {
    println!("Whole processes, median of {runs} runs in turn (least–most).\n");
    println!(
        "| tree | sources | wall, s | CPU, s | peak memory, MB | output, MB |\n|---|---|---|---|---|---|"
    );
    let mut staged = Vec::new();
    for tree in trees {
        let floors = [Who::Copy, Who::Decode, Who::Ours(1), Who::Ours(2)];
        if tree.sizes.is_empty() {
            rows(&tree.name, &tree.path, runs, &floors);
            staged.push((tree.name.as_str(), tree.path.as_path()));
        }
        for &times in &tree.sizes {
            let dir = tempfile::tempdir().expect("a temporary directory");
            project::multiply(&tree.path, times, dir.path());
            let mut everyone = floors.to_vec();
            // It would take minutes for the larger ones, and it is ours whose growth is asked for.
            everyone.extend((times == 1).then_some(Who::Basis));
            rows(&format!("{}, {times}×", tree.name), dir.path(), runs, &everyone);
        }
    }
    stages::print(&staged);
}

fn rows(name: &str, tree: &Path, runs: usize, everyone: &[Who]) {
    let mut costs = vec![(Costs::default(), 0); everyone.len()];
    for _ in 0..runs {
        for (who, (costs, size)) in everyone.iter().zip(&mut costs) {
            if let Some((cost, bytes)) = who.run(tree) {
                costs.push(cost);
                *size = bytes;
            }
        }
    }
    let sources = project::size(tree).0;
    for (who, (costs, size)) in everyone.iter().zip(costs) {
        if costs.0.is_empty() {
            println!("missing: {} for {name} (it cannot be started, or fails)", who.name());
            continue;
        }
        let size = if *who == Who::Decode { String::new() } else { format!("{:.1}", size as f64 / 1e6) };
        println!("| {name}: {} | {sources} | {} | {size} |", who.name(), costs.cells(1.0));
    }
}

/// Builds into an empty output, in this environment; returns the cost and the bytes of what was written.
pub fn build(tree: &Path, jobs: usize, vars: &[(&str, &str)]) -> (Cost, u64) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let cost = build_in(dir.path(), tree, jobs, vars);
    (cost, project::size(&dir.path().join("runtime")).1)
}

/// Builds into `runtime` in a directory.
pub fn build_in(dir: &Path, tree: &Path, jobs: usize, vars: &[(&str, &str)]) -> Cost {
    let input = std::fs::canonicalize(tree).expect("the project is there");
    std::fs::write(dir.join("assetc.yml"), format!("input: {}\n", input.display())).expect("room for a file");
    let mut command = Command::new(crate::assetc());
    // The input is outside the project.
    command.env("KILN_TRUST", "1").envs(vars.iter().copied());
    command.arg("-q").arg("-C").arg(dir).arg(format!("-j{jobs}")).stderr(Stdio::null()).stdout(Stdio::null());
    // One thread gets one core: the process that compiles shaders would use the other, and flatter it.
    let pin = move || unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        (0..jobs).for_each(|core| libc::CPU_SET(core, &mut cores));
        match libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &cores) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec it calls the kernel and nothing else.
    unsafe { command.pre_exec(pin) };
    process::run(&mut command).expect("assetc builds the project")
}
