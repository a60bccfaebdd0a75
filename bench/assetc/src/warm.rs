//! A build with nothing to do, at several sizes. The bytes that it reads are taken from `strace` and set beside the size
//! of the journal.

use crate::process::{self, Costs, median};
use crate::{assetc, project};
use std::path::Path;
use std::process::{Command, Stdio};

/// Measures each number of sources, and prints one table.
pub fn warm(runs: usize, counts: &[usize]) {
    println!("PNG sources of 8x8 texels; medians of {runs} runs in turn (least–most).\n");
    println!(
        "| sources | floor wall, ms | floor CPU, ms | floor MB | warm wall, ms | warm CPU, ms | warm MB | ratio | read, bytes | journal, bytes |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut growth = Vec::new();
    for &count in counts {
        growth.push((count as f64, one(runs, count)));
    }
    if let [first, .., last] = &*growth {
        let micros = (last.1 - first.1) / (last.0 - first.0) * 1e6;
        println!("\nFrom the least to the most, a source more takes {micros:.1} µs more.");
    }
}

/// One row; returns the median of the warm build.
fn one(runs: usize, count: usize) -> f64 {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path();
    project::generate(&root.join("assets"), count);
    let build = || {
        let mut command = Command::new(assetc());
        command.env("KILN_CACHE", "off").arg("-q").arg("-C").arg(root).stdout(Stdio::null());
        process::run(&mut command).expect("assetc builds the project")
    };
    build();
    // Sources that were young when they were read are looked at once more.
    build();
    let me = std::env::current_exe().expect("this program has a path");
    let walk = || {
        let mut command = Command::new(&me);
        command.arg("walk").arg(root.join("assets")).arg(root.join("runtime")).stdout(Stdio::null());
        process::run(&mut command).expect("it walks")
    };
    let (mut floor, mut ours) = (Costs::default(), Costs::default());
    for _ in 0..runs {
        floor.push(walk());
        ours.push(build());
    }
    let ratio = ours.wall() / floor.wall();
    let journal = std::fs::metadata(root.join("runtime/.assetc-cache")).map_or(0, |meta| meta.len());
    let read = bytes_read(root).map_or_else(|| "needs strace".to_owned(), grouped);
    println!(
        "| {} | {} | {} | {ratio:.2} | {read} | {} |",
        grouped(count as u64),
        floor.cells(1e3),
        ours.cells(1e3),
        grouped(journal)
    );
    median(&ours.values(|c| c.wall, 1.0))
}

/// 10,000 rather than 10000.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Every byte that a warm build reads from files below the project, as `strace` counts them.
fn bytes_read(root: &Path) -> Option<u64> {
    let log = root.join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-e", "trace=read,pread64,readv,mmap", "-o"]).arg(&log).arg(assetc());
    command.env("KILN_CACHE", "off").arg("-q").arg("-C").arg(root).stdout(Stdio::null());
    command.status().ok().filter(|status| status.success())?;
    let text = std::fs::read_to_string(&log).ok()?;
    let root = root.to_str()?;
    let ours = text.lines().filter(|line| line.contains("read") && line.contains(root));
    Some(ours.filter_map(|line| line.rsplit_once("= ")?.1.trim().parse::<u64>().ok()).sum())
}
