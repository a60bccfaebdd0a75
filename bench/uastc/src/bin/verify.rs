//! Ten million blocks of every kind: each decodes, here and in the independent transcoder, to the same texels,
//! with exactly the error that the encoder predicted; and every mode occurs.
//!
//! ```text
//! cargo run --profile lto --bin verify -- 10000000
//! ```

#[path = "../../../../crates/uastc/tests/kinds/mod.rs"]
mod kinds;

use kiln_uastc::{Options, Quality, decode_block, encode_with_errors};
use kinds::{KINDS, Random, Texels, block};

const GROUP: usize = 12_800;

fn main() {
    let wanted: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let mut random = Random(2026);
    let mut modes = [0u64; 19];
    let mut done = 0;
    while done < wanted {
        let texels: Vec<Texels> =
            (0..GROUP.min(wanted - done)).map(|i| block((done + i) as u32 % KINDS, &mut random)).collect();
        let quality = [Quality::Fast, Quality::Default, Quality::High][done / GROUP % 3];
        encode_with_errors(&texels, &Options { quality, rdo: None }, |i, bytes, predicted| {
            let theirs =
                basisu::uastc::unpack::unpack_uastc(&bytes, false).expect("a legal block").map(|t| t.c);
            assert_eq!(decode_block(&bytes), Some(theirs), "both decoders: {bytes:02x?}");
            let error: u32 = texels[i]
                .as_flattened()
                .iter()
                .zip(theirs.as_flattened())
                .map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2))
                .sum();
            assert_eq!(error, predicted.error, "the error of {:?}", texels[i]);
            modes[usize::from(basisu::uastc::huff_modes::HUFF_MODES[usize::from(bytes[0] & 127)])] += 1;
        });
        done += texels.len();
    }
    println!("{done} blocks as predicted; by mode: {modes:?}");
    assert!(modes.iter().all(|&n| n > 0), "every mode occurs");
}
