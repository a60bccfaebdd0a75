//! Every target over its corpus, and over seeded damage of it: a short run of what the fuzzer does for long.

#![allow(clippy::print_stderr, reason = "shown where a test fails, even by an abort")]

use std::fs;
use std::path::{Path, PathBuf};

use kiln_fuzz_targets::{TARGETS, Target};

/// Damaged copies of each file of the corpus; KILN_DAMAGE multiplies them.
const DAMAGED: u64 = 60;

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

/// One to four changes: a bit, a byte, a number, a piece that is gone, doubled or comes from the other file.
fn damage(bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
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
fn nothing_in_the_corpus_breaks_its_target() {
    for target in TARGETS {
        let files = corpus(target);
        assert!(!files.is_empty(), "no corpus of {}", target.name);
        for (path, bytes) in &files {
            eprintln!("{}", path.display());
            (target.run)(bytes);
        }
    }
}

#[test]
fn no_damage_breaks_a_target() {
    let times = std::env::var("KILN_DAMAGE").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    for target in TARGETS {
        let files = corpus(target);
        for (number, (path, bytes)) in files.iter().enumerate() {
            let (_, other) = &files[(number + 1) % files.len()];
            for seed in 0..DAMAGED * times {
                // What is printed is shown where the test fails.
                eprintln!("{} damaged with seed {seed}", path.display());
                let mut random =
                    Random(0x9e37_79b9_7f4a_7c15 ^ (seed + 1).wrapping_mul(0xd134_2543_de82_ef95));
                (target.run)(&damage(bytes, other, &mut random));
            }
        }
    }
}

#[test]
fn the_fuzzer_has_every_target() {
    let manifest =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/Cargo.toml")).unwrap();
    for target in TARGETS {
        assert!(
            manifest.contains(&format!("name = \"{}\"\n", target.name)),
            "{} is not in fuzz/",
            target.name
        );
    }
}
