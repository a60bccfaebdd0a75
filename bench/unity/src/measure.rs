//! Whole processes, run in turn: CPU, wall and peak memory of each.

use crate::floor::{self, What};
use crate::{bake_ours, bake_theirs, canonical};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// What one process took: CPU and wall in ms, peak memory in MB.
#[derive(Clone, Copy, Default)]
struct Cost {
    cpu: f64,
    wall: f64,
    memory: f64,
}

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
    let started = Instant::now();
    let child = command.spawn().expect("a process");
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the child is ours and waited for once; both places are valid for writes.
    let usage = unsafe {
        libc::wait4(child.id() as libc::pid_t, &mut status, 0, usage.as_mut_ptr());
        usage.assume_init()
    };
    assert_eq!(status, 0, "{what} failed");
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    let cpu = ms(usage.ru_utime) + ms(usage.ru_stime);
    Cost { cpu, wall: started.elapsed().as_secs_f64() * 1e3, memory: usage.ru_maxrss as f64 / 1024.0 }
}

fn median(mut costs: Vec<Cost>) -> Cost {
    let mut middle = |key: fn(&Cost) -> f64| {
        costs.sort_by(|a, b| key(a).total_cmp(&key(b)));
        key(&costs[costs.len() / 2])
    };
    Cost { cpu: middle(|cost| cost.cpu), wall: middle(|cost| cost.wall), memory: middle(|cost| cost.memory) }
}

/// Measures everything on one project and prints a table.
pub fn speed(project: &Path, runs: usize) {
    let project = &canonical(project);
    let outs = tempfile::tempdir().expect("a folder");
    let out = |name: &str| outs.path().join(name);
    let fresh = |name: &str| {
        let _ = std::fs::remove_dir_all(out(name));
        std::fs::create_dir_all(out(name)).expect("a folder");
    };
    let kinds = ["floor-read", "ours", "ours-1", "theirs"];
    let mut cold: Vec<Vec<Cost>> = vec![Vec::new(); kinds.len()];
    for n in 0..=runs {
        for (at, kind) in kinds.iter().enumerate() {
            fresh(kind);
            let cost = run(kind, project, &out(kind));
            // The first round warms the page cache.
            if n > 0 {
                cold[at].push(cost);
            }
        }
    }
    let warm_kinds = [("floor-stat", "ours"), ("ours", "ours"), ("theirs", "theirs")];
    let mut warm: Vec<Vec<Cost>> = vec![Vec::new(); warm_kinds.len()];
    let look_kinds = [("nothing", "ours"), ("lookup", "ours"), ("theirs-lookup", "theirs")];
    let mut look: Vec<Vec<Cost>> = vec![Vec::new(); look_kinds.len()];
    for n in 0..=runs {
        for (at, (kind, place)) in warm_kinds.iter().enumerate() {
            let cost = run(kind, project, &out(place));
            if n > 0 {
                warm[at].push(cost);
            }
        }
        for (at, (kind, place)) in look_kinds.iter().enumerate() {
            let cost = run(kind, project, &out(place));
            if n > 0 {
                look[at].push(cost);
            }
        }
    }
    let (files, bytes) = floor::walk(project, What::Read);
    println!("{files} files with {:.0} MB that matter; median of {runs}", bytes as f64 / 1e6);
    println!("\n| | CPU ms | wall ms | peak MB | CPU to floor |");
    println!("|---|---:|---:|---:|---:|");
    let line = |name: &str, cost: Cost, floor: f64| {
        println!(
            "| {name} | {:.1} | {:.1} | {:.1} | {:.2} |",
            cost.cpu,
            cost.wall,
            cost.memory,
            cost.cpu / floor
        );
    };
    let [floor_read, ours, ours_1, theirs] = [0, 1, 2, 3].map(|at| median(cold[at].clone()));
    line("floor: walk and read", floor_read, floor_read.cpu);
    line("cold, ours", ours, floor_read.cpu);
    line("cold, ours, one thread", ours_1, floor_read.cpu);
    line("cold, 0.2.0", theirs, floor_read.cpu);
    let [floor_stat, again, their_again] = [0, 1, 2].map(|at| median(warm[at].clone()));
    line("floor: walk and stat", floor_stat, floor_stat.cpu);
    line("warm, ours", again, floor_stat.cpu);
    line("warm, 0.2.0", their_again, floor_stat.cpu);
    let [nothing, lookup, their_lookup] = [0, 1, 2].map(|at| median(look[at].clone()));
    line("a process that does nothing", nothing, nothing.cpu);
    line("open and one lookup, ours", lookup, nothing.cpu);
    line("open and one lookup, 0.2.0", their_lookup, nothing.cpu);
    println!(
        "\ncold: {:.2}x less CPU than 0.2.0, two cores {:.2}x faster than one; warm: {:.2}x less CPU",
        theirs.cpu / ours.cpu,
        ours_1.wall / ours.wall,
        their_again.cpu / again.cpu
    );
}
