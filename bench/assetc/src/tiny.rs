//! A cold build of many tiny images beside the least that writing its outputs costs: files of the same sizes and one flush.

use crate::process::{self, Costs};
use crate::{cold, project};
use std::process::{Command, Stdio};

/// Measures each number of sources in turn with the floor, and prints one table.
pub fn tiny(runs: usize, counts: &[usize]) {
    println!("PNG sources of 8x8 texels, no cache; medians of {runs} runs in turn (least–most).\n");
    println!(
        "| sources | floor wall, ms | floor CPU, ms | floor MB | cold wall, ms | cold CPU, ms | cold MB | wall ratio | CPU ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let me = std::env::current_exe().expect("this program has a path");
    for &count in counts {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (sources, outputs) = (dir.path().join("assets"), dir.path().join("runtime"));
        project::generate(&sources, count);
        let mut build = Command::new(crate::assetc());
        build.env("KILN_CACHE", "off").arg("-q").arg("-C").arg(dir.path()).stdout(Stdio::null());
        process::run(&mut build).expect("assetc builds the project");
        let (mut floor, mut ours) = (Costs::default(), Costs::default());
        for _ in 0..runs {
            let to = tempfile::tempdir().expect("a temporary directory");
            let mut command = Command::new(&me);
            floor.push(process::run(command.arg("flush").arg(&outputs).arg(to.path())).expect("it writes"));
            ours.push(cold::build(&sources, 2, &[("KILN_CACHE", "off")]).0);
        }
        println!(
            "| {count} | {} | {} | {:.2} | {:.2} |",
            floor.cells(1e3),
            ours.cells(1e3),
            ours.wall() / floor.wall(),
            ours.cpu() / floor.cpu()
        );
    }
}
