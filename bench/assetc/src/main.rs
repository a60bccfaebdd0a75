//! How long `assetc` takes. `warm`: when there is nothing to do, side by side with the least that any tool could do, a
//! bare parallel walk that stats every file of the source and the output tree. `cold`: when there is everything to do.
//! `store`: when it was done before, in another checkout or on another machine.
//!
//! ```text
//! cargo build --release -p kiln-cli
//! cargo run --release --manifest-path bench/assetc/Cargo.toml -- warm [assets] [runs]
//! cargo run --release --manifest-path bench/assetc/Cargo.toml -- cold <source tree> [runs]
//! cargo run --release --manifest-path bench/assetc/Cargo.toml -- store <source tree> [runs]
//! ```
//!
//! Both sides are whole processes, run in turn, on the same trees. The bytes that a warm build reads are taken from
//! the kernel's count for that process and set beside the size of the journal.

mod cold;
mod project;
#[path = "../../../crates/kit/tests/store/server.rs"]
#[allow(dead_code, reason = "the server is shared with the tests of the store")]
mod server;
mod stages;
mod store;
mod walk;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize, default: usize| args.get(n).and_then(|text| text.parse().ok()).unwrap_or(default);
    match args.first().map(String::as_str) {
        Some("walk") => println!("{}", args[1..].iter().map(|root| walk::walk(Path::new(root))).sum::<u64>()),
        Some("warm") => warm(number(1, 10_000), number(2, 21)),
        Some("cold") if args.len() > 1 => cold::cold(Path::new(&args[1]), number(2, 3)),
        Some("store") if args.len() > 1 => store::store(Path::new(&args[1]), number(2, 3)),
        _ => eprintln!("usage: bench-assetc warm [assets] [runs] | cold|store <source tree> [runs]"),
    }
}

fn assetc() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/assetc")
}

fn warm(assets: usize, runs: usize) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path();
    let bytes = project::generate(&root.join("assets"), assets);
    println!("{assets} PNG sources of 8x8 texels, {} KB", bytes / 1024);
    let build = || {
        let mut command = Command::new(assetc());
        command.env("KILN_CACHE", "off").arg("-q").arg("-C").arg(root).stdout(Stdio::null()).status()
    };
    let cold = timed(|| assert!(build().expect("assetc runs").success()));
    println!("cold build: {:.2} s", cold.as_secs_f64());
    // Sources that were young when they were read are looked at once more.
    assert!(build().expect("assetc runs").success());

    let me = std::env::current_exe().expect("this program has a path");
    let walk = || {
        let roots = [root.join("assets"), root.join("runtime")];
        assert!(Command::new(&me).arg("walk").args(&roots).stdout(Stdio::null()).status().expect("runs").success());
    };
    let (mut floor, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        floor.push(timed(walk));
        ours.push(timed(|| assert!(build().expect("assetc runs").success())));
    }
    let (floor, ours) = (median(floor), median(ours));
    println!("| | median of {runs}, ms |");
    println!("|---|---|");
    println!("| bare parallel walk + stat of both trees | {:.1} |", floor.as_secs_f64() * 1e3);
    println!("| warm `assetc`, nothing to do | {:.1} |", ours.as_secs_f64() * 1e3);
    println!("| ratio | {:.2} |", ours.as_secs_f64() / floor.as_secs_f64());

    let journal = std::fs::metadata(root.join("runtime/.assetc-cache")).map_or(0, |meta| meta.len());
    match bytes_read(root) {
        Some(read) => println!("bytes read by a warm build: {read}; the journal has {journal}"),
        None => println!("bytes read by a warm build: not known here (needs strace)"),
    }
}

/// Every byte that a warm build reads from files below the project, as `strace` counts them.
fn bytes_read(root: &Path) -> Option<u64> {
    let log = root.join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-e", "trace=read,pread64,readv,mmap", "-o"]).arg(&log).arg(assetc()).arg("-q").arg("-C").arg(root);
    command.stdout(Stdio::null()).status().ok().filter(|status| status.success())?;
    let text = std::fs::read_to_string(&log).ok()?;
    let root = root.to_str()?;
    let ours = text.lines().filter(|line| line.contains("read") && line.contains(root));
    Some(ours.filter_map(|line| line.rsplit_once("= ")?.1.trim().parse::<u64>().ok()).sum())
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
