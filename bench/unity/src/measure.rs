//! Whole processes, run in turn: CPU, wall and peak memory of each.

use crate::floor::{self, What};
use crate::process::{self, Cost, Costs};
use crate::{bake_ours, bake_theirs, canonical};
use std::path::Path;
use std::process::Command;

/// Does one thing, in a process of its own.
pub fn child(what: &str, project: &Path, out: &Path) {
    match what {
        "ours" => drop(bake_ours(project, out, None)),
        "ours-1" => drop(bake_ours(project, out, Some(1))),
        "theirs" => bake_theirs(project, out).unwrap_or_else(|error| eprintln!("0.2.0: {error}")),
        "floor-read" => drop(floor::walk(project, What::Read)),
        "floor-stat" => drop(floor::walk(project, What::Stat)),
        "lookup" => {
            let index = unity_assetdb::index::Index::open(out).expect("an index");
            let guid = index.entries().next().expect("an entry").expect("sound").guid();
            let entry = index.find_by_guid(guid).expect("sound").expect("there");
            assert!(!entry.hint().expect("sound").is_empty());
        }
        "theirs-lookup" => {
            let db = theirs::store::read(&out.join("asset-db.bin")).expect("a database");
            assert!(db.find_by_guid(db.entries[db.entries.len() / 3].guid).is_some());
        }
        "nothing" => {}
        other => panic!("{other}?"),
    }
}

fn run(what: &str, project: &Path, out: &Path) -> Cost {
    let mut command = Command::new(std::env::current_exe().expect("myself"));
    command.args(["child", what]).arg(project).arg(out);
    process::run(&mut command).unwrap_or_else(|| panic!("{what} failed"))
}

/// Measures everything on one project and prints a table of this name.
pub fn speed(project: &Path, runs: usize, name: &str) {
    let project = &canonical(project);
    let outs = tempfile::tempdir().expect("a folder");
    let out = |name: &str| outs.path().join(name);
    let fresh = |name: &str| {
        let _ = std::fs::remove_dir_all(out(name));
        std::fs::create_dir_all(out(name)).expect("a folder");
    };
    // In turn; the first round warms the page cache and does not count.
    let rounds = |kinds: &[(&str, &str)], clean: bool| {
        let mut costs = vec![Costs::default(); kinds.len()];
        for n in 0..=runs {
            for ((kind, place), costs) in kinds.iter().zip(&mut costs) {
                if clean {
                    fresh(place);
                }
                let cost = run(kind, project, &out(place));
                if n > 0 {
                    costs.push(cost);
                }
            }
        }
        costs
    };
    let cold = rounds(&["floor-read", "ours-1", "ours", "theirs"].map(|kind| (kind, kind)), true);
    let warm = rounds(&[("floor-stat", "ours"), ("ours", "ours"), ("theirs", "theirs")], false);
    let look = rounds(&[("nothing", "ours"), ("lookup", "ours"), ("theirs-lookup", "theirs")], false);
    let size = |place: &str| {
        let files = std::fs::read_dir(out(place)).into_iter().flatten().flatten();
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum::<u64>() as f64 / 1e6
    };
    let (files, bytes) = floor::walk(project, What::Read);
    println!(
        "## {name}\n\n{files} files with {:.0} MB that matter; median of {runs} (least–most).",
        bytes as f64 / 1e6
    );
    println!(
        "Written: {:.1} MB by ours, index of references included, {:.1} MB by 0.2.0.",
        size("ours"),
        size("theirs")
    );
    println!("\n| | wall, ms | CPU, ms | peak memory, MB | CPU to floor |\n|---|---|---|---|---|");
    let names = [
        ["floor: walk and read", "cold, ours, one thread", "cold, ours", "cold, 0.2.0"].as_slice(),
        &["floor: walk and stat", "warm, ours", "warm, 0.2.0"],
        &["a process that does nothing", "open and one lookup, ours", "open and one lookup, 0.2.0"],
    ];
    for (names, costs) in names.into_iter().zip([&cold, &warm, &look]) {
        for (name, cost) in names.iter().zip(costs) {
            println!("| {name} | {} | {:.2} |", cost.cells(1e3), cost.cpu() / costs[0].cpu());
        }
    }
    println!(
        "\nCold: {:.2} times less CPU than 0.2.0, two cores {:.2} times as fast as one. Warm: {:.2} times less CPU.",
        cold[3].cpu() / cold[2].cpu(),
        cold[1].wall() / cold[2].wall(),
        warm[2].cpu() / warm[1].cpu()
    );
}
