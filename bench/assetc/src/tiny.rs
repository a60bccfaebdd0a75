//! A cold build of many tiny images beside the least that writing its outputs costs: files of the same sizes and one flush.

use crate::process::{self, Costs};
use crate::{cold, project};
use std::process::{Command, Stdio};

/// Measures each number of sources in turn with the floor, without a build cache and with an empty one, and prints one table.
/// Every run has new directories, and nothing is removed before the last one: some file systems write slowly where they
/// removed many files a moment ago.
pub fn tiny(runs: usize, counts: &[usize]) {
    println!("PNG sources of 8x8 texels; medians of {runs} runs in turn (least–most), two threads.\n");
    println!("| sources | wall, ms | CPU, ms | peak memory, MB | wall of the floor | CPU of the floor |");
    println!("|---|---|---|---|---|---|");
    let me = std::env::current_exe().expect("this program has a path");
    let folder = || tempfile::tempdir().expect("a temporary directory");
    for &count in counts {
        let dir = folder();
        let (sources, outputs) = (dir.path().join("assets"), dir.path().join("runtime"));
        project::generate(&sources, count);
        let mut build = Command::new(crate::assetc());
        build.env("KILN_CACHE", "off").arg("-q").arg("-C").arg(dir.path()).stdout(Stdio::null());
        process::run(&mut build).expect("assetc builds the project");
        let mut costs = [(); 3].map(|()| Costs::default());
        let mut folders = Vec::new();
        for _ in 0..runs {
            let [floor, ours, cached, cache] = [(); 4].map(|()| folder());
            let mut command = Command::new(&me);
            command.arg("flush").arg(&outputs).arg(floor.path());
            costs[0].push(process::run(&mut command).expect("it writes"));
            costs[1].push(cold::build_in(ours.path(), &sources, 2, &[("KILN_CACHE", "off")]));
            let cache_dir = cache.path().to_str().expect("temporary directories have Unicode names");
            let vars = [("KILN_CACHE", "on"), ("KILN_CACHE_DIR", cache_dir)];
            costs[2].push(cold::build_in(cached.path(), &sources, 2, &vars));
            folders.extend([floor, ours, cached, cache]);
        }
        let names =
            ["writing the outputs, one `syncfs`", "a build without a cache", "a build with an empty cache"];
        for (name, each) in names.into_iter().zip(&costs) {
            let (wall, cpu) = (each.wall() / costs[0].wall(), each.cpu() / costs[0].cpu());
            println!("| {count}: {name} | {} | {wall:.1} | {cpu:.1} |", each.cells(1e3));
        }
    }
}
