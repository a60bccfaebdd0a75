//! The encoders and decoders of single blocks.

use crate::digest;
use kiln_block_encoders::{Effort, bc1, bc4, bc6h, eac, etc2};

/// Encodes every block of an image in every format at every effort, decodes what has a decoder, and prints the digests.
pub(crate) fn print(texels: &[u8], width: u32, height: u32) {
    let blocks = blocks(texels, width as usize, height as usize);
    for effort in [Effort::Fast, Effort::Default, Effort::High] {
        line("bc1", effort, &blocks, |block| bc1::encode(block, effort).to_vec());
        line("bc3", effort, &blocks, |block| bc1::encode_with_alpha(block, effort).to_vec());
        line("bc4", effort, &blocks, |block| bc4::encode(&block.map(|t| t[0]), effort).to_vec());
        line("bc5", effort, &blocks, |block| bc4::encode_two(&block.map(|t| [t[0], t[1]]), effort).to_vec());
        line("etc2", effort, &blocks, |block| {
            let bytes = etc2::encode(block, effort);
            [bytes.to_vec(), etc2::decode(&bytes).concat()].concat()
        });
        line("etc2 with alpha", effort, &blocks, |block| etc2::encode_with_alpha(block, effort).to_vec());
        line("eac r11", effort, &blocks, |block| {
            let bytes = eac::encode_r11(&block.map(|t| t[2]), effort);
            [bytes.to_vec(), eac::decode_r11(&bytes).iter().flat_map(|v| v.to_le_bytes()).collect()].concat()
        });
        line("eac rg11", effort, &blocks, |block| {
            eac::encode_rg11(&block.map(|t| [t[2], t[3]]), effort).to_vec()
        });
        for signed in [false, true] {
            line(if signed { "bc6h signed" } else { "bc6h" }, effort, &blocks, |block| {
                let bytes = bc6h::encode(&block.map(|t| half_floats(t, signed)), signed, effort);
                let decoded = bc6h::decode(&bytes, signed);
                [bytes.to_vec(), decoded.concat().iter().flat_map(|v| v.to_le_bytes()).collect()].concat()
            });
        }
    }
}

fn line(name: &str, effort: Effort, blocks: &[[[u8; 4]; 16]], encode: impl Fn(&[[u8; 4]; 16]) -> Vec<u8>) {
    let bytes: Vec<u8> = blocks.iter().flat_map(encode).collect();
    println!("{name} {effort:?}: {:016x}", digest(&bytes));
}

/// The blocks of an image; texels at its border are repeated.
fn blocks(texels: &[u8], width: usize, height: usize) -> Vec<[[u8; 4]; 16]> {
    let texel = |x: usize, y: usize| {
        let at = 4 * (y.min(height - 1) * width + x.min(width - 1));
        [texels[at], texels[at + 1], texels[at + 2], texels[at + 3]]
    };
    let corners = (0..height).step_by(4).flat_map(|y| (0..width).step_by(4).map(move |x| (x, y)));
    corners.map(|(x, y)| std::array::from_fn(|i| texel(x + i % 4, y + i / 4))).collect()
}

/// Finite half floats over many stops, some of them negative if `signed`.
fn half_floats(texel: [u8; 4], signed: bool) -> [u16; 3] {
    std::array::from_fn(|channel| {
        let bits = (u16::from(texel[channel]) << 6) + (u16::from(texel[3]) << 5);
        let sign = u16::from(signed && texel[channel] > 128) << 15;
        bits | sign
    })
}
