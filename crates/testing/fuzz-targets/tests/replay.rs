//! Runs every target over its corpus, and over seeded mutations of it: a short form of fuzzing.

#![allow(clippy::print_stderr, reason = "names the input even if the test aborts")]

use std::fs;
use std::path::{Path, PathBuf};

use kiln_fuzz_targets::{TARGETS, Target};

/// The number of mutations of each file of the corpus; the environment variable KILN_DAMAGE multiplies it.
const MUTATIONS: u64 = 60;

fn corpus(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let files = fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut files: Vec<_> = files
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// Makes one to four mutations: a bit, a byte, an integer, a range that is removed, duplicated or copied from the other
/// file.
fn mutate(bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let end = (at + 1 + random.below(16)).min(bytes.len());
        match random.below(7) {
            _ if bytes.is_empty() => bytes = other.to_vec(),
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'"', b'{', b'-', b'9', b'\n'][random.below(10)],
            2 => {
                let number = [0, 1, u32::MAX, 1 << 31, i32::MAX as u32, 1 << 20][random.below(6)];
                let number = number.to_le_bytes();
                let room = (bytes.len() - at).min(4);
                bytes[at..at + room].copy_from_slice(&number[..room]);
            }
            3 => drop(bytes.drain(at..end)),
            4 => bytes.truncate(at),
            5 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let from = random.below(other.len());
                let piece = &other[from..(from + 1 + random.below(32)).min(other.len())];
                bytes.splice(at..end, piece.iter().copied());
            }
        }
    }
    bytes
}

#[test]
fn corpus_passes() {
    for target in TARGETS {
        let files = corpus(target);
        assert!(!files.is_empty(), "the corpus of {} is empty", target.name);
        for (path, bytes) in &files {
            eprintln!("{}", path.display());
            (target.run)(bytes);
        }
    }
}

#[test]
fn mutated_corpus_passes() {
    let times = std::env::var("KILN_DAMAGE").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    // Some invalid sources fail an assertion of glslang, which aborts the process. Only the worker process of the product
    // contains that, so its targets run over their corpus alone.
    for target in TARGETS.iter().filter(|target| !["glsl", "hlsl"].contains(&target.name)) {
        let files = corpus(target);
        for (number, (path, bytes)) in files.iter().enumerate() {
            let (_, other) = &files[(number + 1) % files.len()];
            for seed in 0..MUTATIONS * times {
                // Printed output is shown if the test fails.
                eprintln!("{} mutated with seed {seed}", path.display());
                let mut random =
                    Random(0x9e37_79b9_7f4a_7c15 ^ (seed + 1).wrapping_mul(0xd134_2543_de82_ef95));
                (target.run)(&mutate(bytes, other, &mut random));
            }
        }
    }
}

#[test]
fn fuzz_workspace_has_every_target() {
    let manifest =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/Cargo.toml")).unwrap();
    for target in TARGETS {
        assert!(
            manifest.contains(&format!("name = \"{}\"\n", target.name)),
            "{} is missing in fuzz/Cargo.toml",
            target.name
        );
    }
}

#[test]
fn documentation_lists_every_target() {
    let rows: Vec<&str> =
        include_str!("../src/lib.rs").lines().filter(|line| line.starts_with("//! | `")).collect();
    for target in TARGETS {
        let name = format!("`{}`", target.name);
        assert!(rows.iter().any(|row| row.contains(&name)), "{name} is missing in the crate documentation");
    }
}
