//! The speed of one thread in every format, beside the reference in C++ and its port to Rust.
//!
//! Reads every PNG of a directory, encodes it with our encoder (whose BC1 hints are unset), and transcodes all blocks with
//! each transcoder in turn, several times over. The figures are the fastest of all rounds, in CPU time of the thread, so that
//! other load on the machine does not change them.
//!
//! ```text
//! cargo run --profile lto -p transcode-bench -- /path/to/images
//! ```

use kiln_transcode::transcode;
use kiln_uastc::{Options, View, blocks_high, encode_rows, encoded_len};
use std::fs;
use std::hint::black_box;
use transcode_bench::{FORMATS, Reference, port};

const ROUNDS: usize = 15;

fn main() {
    let folder = std::env::args().nth(1).expect("a directory of PNG files");
    let blocks = load(&folder);
    let texels = blocks.len() as f64 * 16.0;
    println!(
        "{} blocks, {:.1} megapixels; MP/s of one thread, the fastest of {ROUNDS} rounds",
        blocks.len(),
        texels / 1e6
    );
    println!("| format | `kiln-transcode` | reference (C++) | port (`basisu`) |");
    println!("|---|---:|---:|---:|");
    let transcoder = Reference::default();
    let width = blocks.len() as u32 * 4;
    for (name, target, format) in FORMATS {
        let len = target.block_bytes();
        let mut out = vec![0; blocks.len() * len];
        let mut best = [f64::INFINITY; 3];
        for _ in 0..ROUNDS {
            best[0] = best[0].min(time(|| {
                transcode(blocks.as_flattened(), width, 4, target, &mut out).expect("valid blocks");
                black_box(&out);
            }));
            best[1] = best[1].min(time(|| {
                assert!(transcoder.transcode(&blocks, target, format, &mut out));
                black_box(&out);
            }));
            best[2] = best[2].min(time(|| {
                for (block, out) in blocks.iter().zip(out.chunks_exact_mut(len)) {
                    assert!(port(block, target, out));
                }
                black_box(&out);
            }));
        }
        let [ours, reference, port] = best.map(|seconds| texels / 1e6 / seconds);
        println!("| {name} | {ours:.0} | {reference:.0} | {port:.0} |");
    }
}

/// Returns the CPU time of this thread that a function takes.
fn time(run: impl FnOnce()) -> f64 {
    let start = cpu();
    run();
    cpu() - start
}

fn cpu() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid for writes.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    assert_eq!(result, 0);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Encodes all PNG files of a directory.
fn load(folder: &str) -> Vec<[u8; 16]> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("a directory").map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    let mut blocks = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|e| e == "png")) {
        let mut decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(path).expect("an image")));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().expect("a PNG");
        let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut bytes).expect("texels");
        let channels = info.color_type.samples();
        let rgba: Vec<u8> = bytes[..info.buffer_size()]
            .chunks(channels)
            .flat_map(|t| match channels {
                1 => [t[0], t[0], t[0], 255],
                2 => [t[0], t[0], t[0], t[1]],
                3 => [t[0], t[1], t[2], 255],
                _ => [t[0], t[1], t[2], t[3]],
            })
            .collect();
        let view = View::tight(&rgba, info.width, info.height).expect("all texels");
        let mut out = vec![0; encoded_len(info.width, info.height).expect("a size")];
        encode_rows(&view, 0..blocks_high(info.height), &Options::default(), &mut out);
        blocks.extend_from_slice(out.as_chunks::<16>().0);
    }
    assert!(!blocks.is_empty(), "{folder} has no PNG files");
    blocks
}
