//! The rival on the blocks that the tests of `kiln-uastc` are made of: the floors that `tests/bc7.rs` holds ours to.
//!
//! ```text
//! cargo run --profile lto --bin kinds
//! ```
//! For each kind of block and each pair of ours and theirs, the squared error of 1500 blocks; over red, green and blue
//! where the blocks are opaque.

#[allow(dead_code)]
#[path = "../encoders.rs"]
mod encoders;
#[allow(dead_code)]
#[path = "../../../uastc/src/images.rs"]
mod images;
#[path = "../../../../crates/uastc/tests/kinds/mod.rs"]
mod kinds;

use encoders::{Encoder, Profile};
use images::{Class, Half, Image};
use kiln_uastc::Quality;
use kinds::{KINDS, Random, Texels, block};

const BLOCKS: usize = 1_500;

#[link(name = "stdc++")]
unsafe extern "C" {}

fn main() {
    let pairs = [
        (Quality::Fast, Profile::UltraFast),
        (Quality::Default, Profile::Fast),
        (Quality::High, Profile::Slow),
    ];
    println!("kind: theirs, ours, for Fast and UltraFast, Default and Fast, High and Slow");
    for kind in 0..KINDS {
        let mut random = Random(u64::from(kind));
        let blocks: Vec<Texels> = (0..BLOCKS).map(|_| block(kind, &mut random)).collect();
        let mut rgba = Vec::with_capacity(BLOCKS * 64);
        for y in 0..4 {
            for block in &blocks {
                rgba.extend(block[y * 4..y * 4 + 4].iter().flatten());
            }
        }
        let has_alpha = blocks.iter().flatten().any(|t| t[3] != 255);
        let image = Image {
            name: String::new(),
            file: String::new(),
            width: BLOCKS * 4,
            height: 4,
            rgba,
            class: Class::BaseColour,
            half: Half::Tuning,
            has_alpha,
        };
        let total = |encoder: Encoder| -> u64 {
            let mut out = vec![0; BLOCKS * 16];
            encoder.encode(&image, &mut out);
            let channels = if has_alpha { 4 } else { 3 };
            let mut sum = 0;
            for (source, block) in blocks.iter().zip(out.chunks_exact(16)) {
                let mut decoded = [0; 64];
                bcdec_rs::bc7(block, &mut decoded, 16);
                for (a, b) in source.iter().zip(decoded.chunks_exact(4)) {
                    sum += (0..channels).map(|c| u64::from(a[c].abs_diff(b[c])).pow(2)).sum::<u64>();
                }
            }
            sum
        };
        print!("{kind:2}:");
        for (quality, profile) in pairs {
            print!("  {:9} {:9}", total(Encoder::Intel(profile)), total(Encoder::Ours(quality, false)));
        }
        println!();
    }
}
