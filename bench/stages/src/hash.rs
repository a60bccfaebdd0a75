//! Hash functions on 64 MiB.

use crate::race;
use sha2::Digest;
use std::hint::black_box;

pub fn print(runs: usize) {
    let bytes: Vec<u8> = (0..64_u32 << 20).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    println!("\n## stages-hash\n");
    println!("64 MiB, CPU time of one thread, medians of {runs} runs in turn (least–most).\n");
    println!("| hash | use | CPU, ms | GB/s |\n|---|---|---|---|");
    let rows = race(
        runs,
        vec![
            ("SHA-256 (`sha2`)", Box::new(|| _ = black_box(sha2::Sha256::digest(&bytes)))),
            ("BLAKE3", Box::new(|| _ = black_box(blake3::hash(&bytes)))),
            ("XXH3, 64 bits", Box::new(|| _ = black_box(xxhash_rust::xxh3::xxh3_64(&bytes)))),
        ],
    );
    let uses =
        ["content of sources and results, as servers of caches expect it", "none", "checksums of paks"];
    for ((name, seconds, spread), uses) in rows.into_iter().zip(uses) {
        println!("| {name} | {uses} | {spread} | {:.2} |", bytes.len() as f64 / 1e9 / seconds);
    }
}
