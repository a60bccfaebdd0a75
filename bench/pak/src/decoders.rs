//! Decoders of Zstandard, on the content of a pak: blocks of 1 MiB, compressed by the C library at the level of paks.

use pak::{Kind, PakBuf};
use std::hint::black_box;

/// The block size and compression level of paks.
const BLOCK: usize = 1 << 20;
const LEVEL: i32 = 9;

/// Prints the CPU seconds of each decoder for the whole content; the decoders take turns, block by block.
pub fn measure(pak: &PakBuf) {
    let mut times = [0.0; 3];
    let mut out = vec![0; BLOCK];
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Material) {
        for id in 0..pak.count(kind) {
            let content = pak.payload(kind, id).expect("a payload");
            for block in content.chunks(BLOCK) {
                let stored = zstd::bulk::compress(block, LEVEL).expect("a block");
                if stored.len() >= block.len() {
                    continue;
                }
                let out = &mut out[..block.len()];
                let decoders: [fn(&[u8], &mut [u8]) -> usize; 3] = [c, structured, ruzstd];
                for (time, decoder) in times.iter_mut().zip(decoders) {
                    out.fill(0);
                    let [_, cpu] = crate::measure::median(1, || {
                        assert_eq!(black_box(decoder(&stored, out)), block.len());
                    });
                    *time += cpu;
                    assert!(out == block, "the decoders agree");
                }
            }
        }
    }
    println!("c={} structured={} ruzstd={}", times[0], times[1], times[2]);
}

fn c(stored: &[u8], out: &mut [u8]) -> usize {
    zstd::bulk::decompress_to_buffer(stored, out).expect("a block")
}

fn structured(stored: &[u8], out: &mut [u8]) -> usize {
    structured_zstd::decoding::FrameDecoder::new().decode_all(stored, out).expect("a block")
}

fn ruzstd(stored: &[u8], out: &mut [u8]) -> usize {
    ruzstd::decoding::FrameDecoder::new().decode_all(stored, out).expect("a block")
}
