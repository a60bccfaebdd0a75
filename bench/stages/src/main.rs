//! The stages of a cold build of textures beside other libraries that do the same work: decoding, mip filtering,
//! supercompression, hashing and flushing. CPU time of one thread, all contestants in turn, medians.
//!
//! ```text
//! cargo run --release --manifest-path bench/Cargo.toml -p bench-stages -- DATA [RUNS]
//! ```
//!
//! DATA has `images/` (photographs) and `textures/` (of materials). Files are written to the directory for temporary files.

#[path = "../../mesh/src/clock.rs"]
#[allow(dead_code, reason = "shared with other benches")]
mod clock;
mod decode;
mod flush;
mod hash;
mod mips;
#[path = "../../process.rs"]
#[allow(dead_code, reason = "shared with other benches")]
mod process;
mod supercompress;

use kiln_import::{Limits, image};
use kiln_ir::Image;
use std::path::Path;

/// A file of the data.
pub struct File {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// A contestant: its name, and the work of one run.
pub type Contestant<'a> = (&'a str, Box<dyn FnMut() + 'a>);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [data, rest @ ..] = &args[..] else { return eprintln!("usage: bench-stages DATA [RUNS]") };
    let runs = rest.first().map_or(7, |runs| runs.parse().expect("a number of runs"));
    let photographs = files(&Path::new(data).join("images"));
    let textures = files(&Path::new(data).join("textures"));
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one");
    one.install(|| {
        decode::png(&[("photographs", &photographs), ("textures", &textures)], runs);
        decode::jpeg(&photographs, runs);
        mips::print(&textures, runs);
    });
    supercompress::print(&photographs, &textures, runs);
    hash::print(runs);
    flush::print(runs);
}

/// Reads the PNG files of a directory, by name.
fn files(dir: &Path) -> Vec<File> {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let paths = entries.map(|entry| entry.expect("a readable directory").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "png")).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().expect("a file").to_string_lossy().into_owned();
    let read = |path: &Path| File { name: name(path), bytes: std::fs::read(path).expect("a readable file") };
    paths.iter().map(|path| read(path)).collect()
}

/// Decodes a file with the importer.
pub fn import(file: &File) -> Image {
    let imported = image::import(&file.bytes, "png", &Limits::default());
    imported.unwrap_or_else(|error| panic!("{}: {error}", file.name)).value
}

/// Runs all contestants in turn, and returns the CPU seconds of each: median, and with the least and the most.
pub fn race(runs: usize, mut contestants: Vec<Contestant<'_>>) -> Vec<(String, f64, String)> {
    let mut seconds = vec![Vec::new(); contestants.len()];
    for _ in 0..runs {
        for ((_, work), seconds) in contestants.iter_mut().zip(&mut seconds) {
            let start = clock::thread_seconds();
            work();
            seconds.push(clock::thread_seconds() - start);
        }
    }
    let row = |((name, _), seconds): (&Contestant<'_>, &Vec<f64>)| {
        let milliseconds: Vec<f64> = seconds.iter().map(|seconds| seconds * 1e3).collect();
        (name.to_string(), process::median(seconds), process::spread(&milliseconds))
    };
    contestants.iter().zip(&seconds).map(row).collect()
}
