//! Whole processes, run in turn: CPU, wall and peak memory of each.

use crate::floor::{self, What};
use crate::process::{self, Cost, Costs};
use crate::{bake_ours, bake_theirs, canonical, gen_project};
use std::path::Path;
use std::process::Command;
use unity_assetdb::bake::Extra;

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
        "refresh-lookup" => {
            let index =
                unity_assetdb::bake::refresh(project, out, Extra::default(), &|_| None).expect("an index");
            let guid = index.entries().next().expect("an entry").expect("sound").guid();
            assert!(index.find_by_guid(guid).expect("sound").is_some());
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
    let warm = rounds(
        &[("floor-stat", "ours"), ("ours", "ours"), ("refresh-lookup", "ours"), ("theirs", "theirs")],
        false,
    );
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
        &["floor: walk and stat", "warm, ours", "refresh and one lookup, ours", "warm, 0.2.0"],
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
        warm[3].cpu() / warm[1].cpu()
    );
}

/// The commands of the executable whose cost is measured, with the index of the last bake.
const QUERIES: [&[&str]; 14] = [
    &["guid", "Asset1"],
    &["resolve", "Asset1"],
    &["uses", "Asset1"],
    &["deps", "Asset30"],
    &["find", "Asset12345"],
    &["list", "--type", "AudioClip"],
    &["why", "Asset1"],
    &["guid", "Nothing"],
    &["guid", "Asset199999x"],
    &["guid", "x/Asset123.png"],
    &["uses", "Assets/Area0/Set0/Folder0"],
    &["uses", "Assets/Area0/Set0"],
    &["uses", "--recursive", "Asset1"],
    &["deps", "Assets/Area0/Set0"],
];

/// Measures queries of the executable on a synthetic project, and lookups in one scene of 110 MB.
pub fn queries(executable: &Path, project: &Path, runs: usize) {
    let (executable, project) = (&canonical(executable), &canonical(project));
    let outs = tempfile::tempdir().expect("a folder");
    let command = |project: &Path, out: &Path, words: &[&str]| {
        let mut command = Command::new(executable);
        command.args(words).arg("--project").arg(project).arg("--out-dir").arg(out).arg("--quiet");
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        command
    };
    let out = outs.path().join("index");
    process::run(&mut command(project, &out, &["bake"])).expect("a bake");
    let scene = outs.path().join("scene");
    let ids = gen_project::scene(&scene, 110 << 20);
    let scene_out = outs.path().join("scene-index");
    process::run(&mut command(&scene, &scene_out, &["bake"])).expect("a bake");
    let ids = ids.map(|id| id.to_string());
    let lookup = ids.each_ref().map(|id| ["resolve", "Big", &**id]);
    let mut kinds: Vec<(String, &Path, &Path, Vec<&str>)> = QUERIES
        .into_iter()
        .flat_map(|words| {
            let name = words.join(" ");
            let without = [words, &["--no-refresh"]].concat();
            [
                (format!("{name} --no-refresh"), &**project, &*out, without),
                (name, project, &out, words.to_vec()),
            ]
        })
        .collect();
    let names = ["a GameObject in a scene of 110 MB", "a component in a scene of 110 MB"];
    for (name, words) in names.into_iter().zip(&lookup) {
        kinds.push((
            format!("{name} --no-refresh"),
            &scene,
            &scene_out,
            [words, &["--no-refresh"][..]].concat(),
        ));
    }
    let mut costs = vec![Costs::default(); kinds.len() + 1];
    for n in 0..=runs {
        let floor = run("floor-stat", project, &out);
        let all = kinds.iter().map(|(name, project, out, words)| {
            // An asset that no root reaches is an answer, too, with another exit code.
            process::run_any(&mut command(project, out, words)).unwrap_or_else(|| panic!("{name} failed"))
        });
        for (cost, costs) in [floor].into_iter().chain(all.collect::<Vec<_>>()).zip(&mut costs) {
            if n > 0 {
                costs.push(cost);
            }
        }
    }
    println!("## unity-queries\n\nWhole processes of the executable; median of {runs} (least–most).");
    println!("\n| | wall, ms | CPU, ms | peak memory, MB | CPU to floor |\n|---|---|---|---|---|");
    let names = ["floor: walk and stat".to_owned()].into_iter().chain(kinds.into_iter().map(|kind| kind.0));
    for (name, cost) in names.zip(&costs) {
        println!("| {name} | {} | {:.2} |", cost.cells(1e3), cost.cpu() / costs[0].cpu());
    }
}
