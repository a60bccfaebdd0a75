//! Zstandard on UASTC blocks: time against size by level, and with two threads.

use crate::{File, clock, import, process};
use kiln_uastc::{Options, View, blocks_high, encode_rows, encoded_len};
use std::io::Write;

pub fn print(photographs: &[File], textures: &[File], runs: usize) {
    println!("\n## stages-zstd\n");
    println!(
        "UASTC blocks of the base levels, frames of one call, CPU time, medians of {runs} runs (least–most).\n"
    );
    println!(
        "| files | level | threads | CPU, ms | MB/s of CPU time | wall, ms | size |\n|---|---|---|---|---|---|---|"
    );
    for (name, files) in [("photographs", photographs), ("textures", textures)] {
        let blocks: Vec<u8> = files.iter().flat_map(blocks).collect();
        for (level, threads) in [(1, 1), (3, 1), (6, 1), (6, 2), (9, 1), (15, 1), (19, 1)] {
            let runs = if level > 9 { 1 } else { runs };
            let (mut cpu, mut wall, mut size) = (Vec::new(), Vec::new(), 0);
            for _ in 0..runs {
                let (frame, took) = clock::time(|| compress(&blocks, level, threads));
                (size, _) = (frame.len(), (cpu.push(took.cpu * 1e3), wall.push(took.wall * 1e3)));
            }
            let speed = blocks.len() as f64 / 1e3 / process::median(&cpu);
            println!(
                "| {name} | {level} | {threads} | {} | {speed:.0} | {} | {:.1} % |",
                process::spread(&cpu),
                process::spread(&wall),
                100.0 * size as f64 / blocks.len() as f64
            );
        }
    }
}

fn blocks(file: &File) -> Vec<u8> {
    let image = import(file);
    let (width, height) = (image.width(), image.height());
    let texels = image.into_rgba8();
    let view = View::tight(&texels, width, height).expect("an image");
    let mut out = vec![0; encoded_len(width, height).expect("a size")];
    encode_rows(&view, 0..blocks_high(height), &Options::default(), &mut out);
    out
}

fn compress(bytes: &[u8], level: i32, threads: u32) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level).expect("memory");
    encoder.include_checksum(true).expect("a parameter");
    encoder.set_pledged_src_size(Some(bytes.len() as u64)).expect("a parameter");
    if threads > 1 {
        encoder.multithread(threads).expect("a library with threads");
    }
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}
