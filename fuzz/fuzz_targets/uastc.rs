//! Fuzzes the block encoder with arbitrary texels and options: blocks decode with the error that the encoder predicted, and
//! every SIMD path gives the same bytes.
#![no_main]

use kiln_uastc::{Options, Path, Quality, View, decode_block, encode_rows_on, encode_with_errors};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u8, Vec<[[u8; 4]; 16]>)| {
    let (quality, lambda, mut texels) = input;
    texels.truncate(64);
    if texels.is_empty() {
        return;
    }
    let quality = [Quality::Fast, Quality::Default, Quality::High][usize::from(quality % 3)];
    encode_with_errors(&texels, &Options { quality, rdo: None }, |i, bytes, predicted| {
        let decoded = decode_block(&bytes).expect("a legal block");
        let pairs = texels[i].as_flattened().iter().zip(decoded.as_flattened());
        let error: u32 = pairs.map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum();
        assert_eq!(error, predicted);
    });
    let options = Options { quality, rdo: (lambda > 0).then(|| f32::from(lambda) / 64.0) };
    let wide = texels.len() as u32 * 4;
    let rows: Vec<u8> = (0..4)
        .flat_map(|y| texels.iter().flat_map(move |b| b[y * 4..y * 4 + 4].iter().flatten().copied()))
        .collect();
    let view = View::tight(&rows, wide, 4).expect("a strip");
    let encode = |path| {
        let mut out = vec![0; texels.len() * 16];
        encode_rows_on(path, &view, 0..1, &options, &mut out);
        out
    };
    let mut encoded = Path::available().map(encode);
    let first = encoded.next().expect("every machine has a path");
    assert!(encoded.all(|other| other == first), "every path gives the same bytes");
});
