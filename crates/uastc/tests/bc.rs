//! The decoders of BC1 and BC3 to BC5 compared with an independent decoder.

use kiln_uastc::bc::{decode_bc1, decode_bc3, decode_bc4, decode_bc5};

type Texel = [u8; 4];

/// Blocks with every order of endpoints, from a multiplicative generator.
fn blocks() -> impl Iterator<Item = [u8; 16]> {
    (1..4096u64).map(|n| {
        let half = |n: u64| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ n << 17).to_le_bytes();
        [half(n), half(n << 20 | 1)].as_flattened().try_into().unwrap()
    })
}

#[test]
fn blocks_match_an_independent_decoder() {
    for block in blocks() {
        let first = block.as_chunks::<8>().0[0];
        let mut rgba = [0u8; 64];
        bcdec_rs::bc1(&first, &mut rgba, 16);
        let close = |a: u8, b: u8| a.abs_diff(b) <= 1;
        let check = |texels: [Texel; 16], rgba: &[u8; 64]| {
            texels.as_flattened().iter().zip(rgba).all(|(a, b)| close(*a, *b))
        };
        assert!(check(decode_bc1(&first), &rgba), "BC1 {block:?}");
        bcdec_rs::bc3(&block, &mut rgba, 16);
        assert!(check(decode_bc3(&block), &rgba), "BC3 {block:?}");
        let mut red = [0u8; 16];
        bcdec_rs::bc4(&first, &mut red, 4, false);
        assert!(decode_bc4(&first).iter().zip(&red).all(|(a, b)| close(*a, *b)), "BC4 {block:?}");
        let mut both = [0u8; 32];
        bcdec_rs::bc5(&block, &mut both, 8, false);
        let found = decode_bc5(&block);
        assert!(found.as_flattened().iter().zip(&both).all(|(a, b)| close(*a, *b)), "BC5 {block:?}");
    }
}
