//! Encodes a generated image as UASTC and as BC7 at every quality and prints the PSNR of the decoded blocks.
//!
//! ```text
//! cargo run -p kiln-uastc --example psnr
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use kiln_uastc::{BLOCK_BYTES, Options, Quality, View, bc7, blocks_high, encode_rows, encoded_len};

/// Side of the image in texels, a multiple of four.
const SIDE: u32 = 64;

fn main() {
    let texel = |i: u32| {
        let (x, y) = (i % SIDE, i / SIDE);
        [(x * 4) as u8, (y * 4) as u8, (x * y / 16) as u8, u8::MAX]
    };
    let pixels: Vec<u8> = (0..SIDE * SIDE).flat_map(texel).collect();
    let view = View::tight(&pixels, SIDE, SIDE).expect("four bytes for each texel");
    let mut blocks = vec![0; encoded_len(SIDE, SIDE).expect("the image is small")];

    for quality in [Quality::Fast, Quality::Default, Quality::High] {
        encode_rows(&view, 0..blocks_high(SIDE), &Options { quality, rdo: None }, &mut blocks);
        println!("UASTC {quality:?}: {:.2} dB", psnr(&pixels, &blocks, kiln_uastc::decode_block));
        let options = bc7::Bc7Options { quality, opaque: true, rdo: None };
        bc7::encode_rows(&view, 0..blocks_high(SIDE), options, &mut blocks);
        println!("BC7 {quality:?}: {:.2} dB", psnr(&pixels, &blocks, bc7::decode_block));
    }
}

/// Returns the peak signal-to-noise ratio of red, green and blue.
fn psnr(pixels: &[u8], blocks: &[u8], decode: fn(&[u8; 16]) -> Option<[[u8; 4]; 16]>) -> f64 {
    let mut sum = 0.0;
    for (block, bytes) in (0..).zip(blocks.as_chunks::<BLOCK_BYTES>().0) {
        for (i, texel) in (0..).zip(decode(bytes).expect("a valid block")) {
            let (x, y) = (block % (SIDE / 4) * 4 + i % 4, block / (SIDE / 4) * 4 + i / 4);
            let source = &pixels[((y * SIDE + x) * 4) as usize..];
            sum += (0..3).map(|c| f64::from(source[c].abs_diff(texel[c])).powi(2)).sum::<f64>();
        }
    }
    10.0 * (255.0 * 255.0 * f64::from(SIDE * SIDE * 3) / sum.max(1e-9)).log10()
}
