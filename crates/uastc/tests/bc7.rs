//! The BC7 encoder compared with an independent decoder: blocks are valid and decode to the predicted error.

mod kinds;

use kiln_uastc::bc7::{
    Bc7Options, decode_block, encode_block, encode_rows, encode_rows_on, encode_with_errors,
};
use kiln_uastc::{BLOCK_BYTES, Path, Quality, View, blocks_high, blocks_wide, encoded_len};
use kinds::{KINDS, Random, Texels, block};

const QUALITIES: [Quality; 3] = [Quality::Fast, Quality::Default, Quality::High];

fn every_option() -> impl Iterator<Item = Bc7Options> {
    QUALITIES
        .into_iter()
        .flat_map(|quality| [false, true].map(|opaque| Bc7Options { quality, opaque, rdo: None }))
}

fn corpus(count: usize, seed: u64) -> Vec<Texels> {
    let mut random = Random(seed);
    (0..count).map(|i| block(i as u32 % KINDS, &mut random)).collect()
}

/// Returns blocks side by side as one row of an image: RGBA bytes, four rows of texels.
fn strip(blocks: &[Texels]) -> Vec<u8> {
    let mut rgba = Vec::with_capacity(blocks.len() * 64);
    for y in 0..4 {
        for block in blocks {
            rgba.extend(block[y * 4..y * 4 + 4].iter().flatten());
        }
    }
    rgba
}

fn encode(blocks: &[Texels], options: Bc7Options) -> Vec<[u8; BLOCK_BYTES]> {
    let rgba = strip(blocks);
    let view = View::tight(&rgba, blocks.len() as u32 * 4, 4).expect("a strip");
    let mut out = vec![0; blocks.len() * BLOCK_BYTES];
    encode_rows(&view, 0..1, options, &mut out);
    out.as_chunks().0.to_vec()
}

fn theirs(block: &[u8; 16]) -> Texels {
    let mut out = [0; 64];
    bcdec_rs::bc7(block, &mut out, 16);
    std::array::from_fn(|i| std::array::from_fn(|c| out[i * 4 + c]))
}

fn error(a: &Texels, b: &Texels, channels: usize) -> u32 {
    let texel = |(a, b): (&[u8; 4], &[u8; 4])| -> u32 {
        a.iter().zip(b).take(channels).map(|(x, y)| u32::from(x.abs_diff(*y)).pow(2)).sum()
    };
    a.iter().zip(b).map(texel).sum()
}

fn is_opaque(texels: &Texels) -> bool {
    texels.iter().all(|t| t[3] == 255)
}

/// The squared errors of Intel's ISPC encoder on 1500 blocks of each kind, over red, green and blue where
/// they are opaque: its profiles ultra fast, fast and slow (`bench/bc7`, `kinds`).
const ISPC_ERRORS: [[u64; 3]; KINDS as usize] = [
    [198_728_642, 176_711_135, 167_563_648],
    [187_741_479, 99_646_149, 69_949_039],
    [1_093_164, 1_034_793, 927_837],
    [12_253_743, 11_588_130, 11_431_627],
    [47_630, 38_001, 31_119],
    [3_683_294, 3_410_145, 3_180_637],
    [3_154_444, 1_823_540, 1_418_853],
    [38_589, 25_077, 17_331],
    [18_130, 16_810, 9_461],
    [14_752, 13_628, 7_580],
    [353_835, 351_250, 349_845],
    [2_624_254, 1_441_293, 1_082_593],
    [43_597_740, 11_349_943, 927_760],
    [91_333, 91_159, 78_142],
    [140_149, 88_361, 76_211],
    [38_943, 0, 0],
    [65_264, 64_853, 64_582],
    [4_566_693, 1_414_140, 224_115],
];

/// Smaller errors than Intel's ISPC encoder on every kind of block except noise and gradients without colour,
/// and blocks to which it fits more patterns; those stay within a bound.
#[test]
fn errors_are_bounded_by_ispc_errors() {
    let behind: [&[u32]; 3] = [&[3, 7, 14, 16], &[2, 3, 4, 7, 15], &[4, 7, 8, 11, 12]];
    for (kind, rival) in (0..KINDS).zip(ISPC_ERRORS) {
        let mut random = Random(kind.into());
        let blocks: Vec<Texels> = (0..1_500).map(|_| block(kind, &mut random)).collect();
        let opaque = blocks.iter().all(is_opaque);
        let channels = if opaque { 3 } else { 4 };
        for ((quality, rival), behind) in QUALITIES.into_iter().zip(rival).zip(behind) {
            let coded = encode(&blocks, Bc7Options { quality, opaque, rdo: None });
            let error = |(texels, coded)| u64::from(error(texels, &theirs(coded), channels));
            let ours: u64 = blocks.iter().zip(&coded).map(error).sum();
            let most = if behind.contains(&kind) { rival * 7 / 5 + 100 } else { rival };
            assert!(ours <= most, "kind {kind}, {quality:?}: {ours} is more than {most}");
        }
    }
}

/// Any sixteen bytes: both decoders agree on the texels. The reserved mode is rejected here and black there.
#[test]
fn decoders_agree_on_any_bytes() {
    let mut random = Random(7);
    for i in 0..200_000 {
        let mut bytes = (u128::from(random.next()) << 64 | u128::from(random.next())).to_le_bytes();
        // Every mode equally often: otherwise half of the blocks would be mode 0.
        bytes[0] = (bytes[0] | 1) << (i % 8);
        assert_eq!(decode_block(&bytes), Some(theirs(&bytes)), "{bytes:02x?}");
        bytes[0] = 0;
        assert_eq!((decode_block(&bytes), theirs(&bytes)), (None, [[0; 4]; 16]));
    }
}

/// Every block has, in the independent decoder, exactly the predicted error, and every mode occurs.
#[test]
fn predicted_errors_are_exact() {
    let blocks = corpus(24_000, 1);
    let mut modes = [0u32; 8];
    for options in every_option() {
        encode_with_errors(&blocks, options, |i, bytes, predicted| {
            let (source, decoded) = (&blocks[i], theirs(&bytes));
            let mode = bytes[0].trailing_zeros() as usize;
            modes[mode] += 1;
            if is_opaque(source) {
                assert_eq!(error(source, &decoded, 3), predicted, "{options:?} mode {mode}");
                let least = if options.opaque { 254 } else { 255 };
                assert!(decoded.iter().all(|t| t[3] >= least), "{options:?} mode {mode}: {decoded:?}");
            } else {
                assert_eq!(error(source, &decoded, 4), predicted, "{options:?} mode {mode}");
            }
            if source.iter().all(|t| t == &source[0]) {
                assert_eq!(&decoded, source, "a solid block is exact");
            }
        });
    }
    assert!(modes.iter().all(|&n| n > 0), "every mode occurs: {modes:?}");
}

/// All 256 values of each channel alone, and of all together.
#[test]
fn solid_colours_are_exact() {
    for value in 0..=255 {
        let mixed = [value, 255 - value, value ^ 0x5A, value / 2];
        for colour in [[value, 0, 0, 255], [0, value, 9, 255], [255, 3, value, value], [value; 4], mixed] {
            for options in every_option() {
                assert_eq!(theirs(&encode_block(&[colour; 16], options)), [colour; 16]);
            }
        }
    }
}

/// A ramp in one channel, in grey or in alpha is off by one step of sixteen weights at most.
#[test]
fn ramps_are_smooth() {
    for options in every_option() {
        for channels in [&[0][..], &[1], &[2], &[3], &[0, 1, 2]] {
            for (first, step) in [(0, 1), (0, 17), (100, 2), (240, 1), (15, 16)] {
                let texels: Texels = std::array::from_fn(|i| {
                    let mut texel = [40, 80, 120, 255];
                    channels.iter().for_each(|&c| texel[c] = (first + step * i as u16) as u8);
                    texel
                });
                let decoded = theirs(&encode_block(&texels, options));
                for (a, b) in texels.iter().flatten().zip(decoded.iter().flatten()) {
                    let most = 2 + step as u8 / 8;
                    assert!(a.abs_diff(*b) <= most, "{options:?} {channels:?} {first} {step}: {decoded:?}");
                }
            }
        }
    }
}

#[test]
fn all_paths_encode_the_same_bytes() {
    let blocks = corpus(4_000, 2);
    let rgba = strip(&blocks);
    let view = View::tight(&rgba, blocks.len() as u32 * 4, 4).expect("a strip");
    for options in every_option() {
        let mut all = Path::available().map(|path| {
            let mut out = vec![0; blocks.len() * BLOCK_BYTES];
            encode_rows_on(path, &view, 0..1, options, &mut out);
            (path, out)
        });
        let (baseline, first) = all.next().expect("every machine has a path");
        for (path, other) in all {
            assert!(first == other, "{path:?} differs from {baseline:?}");
        }
    }
}

#[test]
fn single_block_equals_block_in_batch() {
    let blocks = corpus(2_000, 3);
    for options in every_option() {
        let together = encode(&blocks, options);
        for (texels, expected) in blocks.iter().zip(together) {
            assert_eq!(encode_block(texels, options), expected);
        }
    }
}

#[test]
fn bytes_do_not_depend_on_strips_or_stride() {
    let (width, height, stride) = (150u32, 61u32, 150 * 4 + 12);
    let mut random = Random(4);
    let rgba: Vec<u8> = (0..stride * height as usize)
        .map(|i| ((i / 7) as u8).wrapping_add((random.next() & 15) as u8))
        .collect();
    let packed: Vec<u8> = rgba.chunks(stride).flat_map(|row| &row[..width as usize * 4]).copied().collect();
    let view = View::new(&rgba, width, height, stride).expect("the bytes suffice");
    let tight = View::tight(&packed, width, height).expect("the bytes suffice");
    for rdo in [None, Some(1.0)] {
        let options = Bc7Options { rdo, ..Bc7Options::default() };
        let mut whole = vec![0; encoded_len(width, height).expect("small")];
        encode_rows(&tight, 0..blocks_high(height), options, &mut whole);
        for rows in [1, 2, 3, 7, 16, 100] {
            let mut out = vec![0; whole.len()];
            let row_bytes = blocks_wide(width) as usize * BLOCK_BYTES;
            for (i, out) in out.chunks_mut(rows * row_bytes).enumerate() {
                let first = (i * rows) as u32;
                encode_rows(&view, first..first + rows as u32, options, out);
            }
            assert!(out == whole, "strips of {rows} rows, rdo {rdo:?}");
        }
    }
}

#[test]
fn short_buffer_and_rows_out_of_range_are_ignored() {
    let rgba = [9; 8 * 8 * 4];
    let view = View::tight(&rgba, 8, 8).expect("the bytes suffice");
    let options = Bc7Options::default();
    let mut whole = [0; 64];
    encode_rows(&view, 0..2, options, &mut whole);
    let mut short = [0; 40];
    encode_rows(&view, 0..2, options, &mut short);
    assert_eq!(short[..32], whole[..32]);
    assert_eq!(short[32..], [0; 8]);
    let mut far = [7; 64];
    encode_rows(&view, 1..u32::MAX, options, &mut far);
    assert_eq!(far[..32], whole[32..]);
    assert_eq!(far[32..], [7; 32]);
    encode_rows(&view, 5..9, options, &mut []);
}
