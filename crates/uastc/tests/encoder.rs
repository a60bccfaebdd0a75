//! The UASTC encoder compared with an independent transcoder: blocks are valid and decode to the predicted
//! error.

mod kinds;

use kiln_uastc::{
    BLOCK_BYTES, Options, Path, Quality, View, bc7, blocks_high, blocks_wide, decode_block, encode_block,
    encode_rows, encode_rows_on, encode_with_errors, encoded_len,
};
use kinds::{KINDS, Random, Texels, block};

const QUALITIES: [Quality; 3] = [Quality::Fast, Quality::Default, Quality::High];

fn options(quality: Quality) -> Options {
    Options { quality, rdo: None }
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

fn encode(blocks: &[Texels], options: &Options) -> Vec<[u8; BLOCK_BYTES]> {
    let rgba = strip(blocks);
    let view = View::tight(&rgba, blocks.len() as u32 * 4, 4).expect("a strip");
    let mut out = vec![0; blocks.len() * BLOCK_BYTES];
    encode_rows(&view, 0..1, options, &mut out);
    out.chunks_exact(BLOCK_BYTES).map(|b| b.try_into().expect("sixteen bytes")).collect()
}

fn theirs(block: &[u8; 16]) -> Option<Texels> {
    basisu::uastc::unpack::unpack_uastc(block, false).map(|texels| texels.map(|t| t.c))
}

fn error(a: &Texels, b: &Texels) -> u32 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(&x, &y)| u32::from(x.abs_diff(y)).pow(2)).sum()
}

#[test]
fn decoders_agree_on_encoded_blocks() {
    let blocks = corpus(24_000, 1);
    let mut modes = [0u32; 19];
    for quality in QUALITIES {
        for (source, encoded) in blocks.iter().zip(encode(&blocks, &options(quality))) {
            let theirs = theirs(&encoded).expect("a legal block");
            assert_eq!(decode_block(&encoded), Some(theirs));
            if source.iter().all(|t| t == &source[0]) {
                assert_eq!(&theirs, source, "a solid block is exact");
            }
            let alpha = |t: &Texels| t.iter().all(|t| t[3] == 255);
            assert!(!alpha(source) || alpha(&theirs), "opaque blocks stay opaque");
            modes[usize::from(basisu::uastc::huff_modes::HUFF_MODES[usize::from(encoded[0] & 127)])] += 1;
        }
    }
    assert!(modes.iter().all(|&n| n > 0), "every mode occurs: {modes:?}");
}

/// Smooth grey maps survive the way to a desktop GPU: their BC7 blocks are as good as their UASTC blocks.
#[test]
fn smooth_grey_maps_stay_smooth_as_bc7() {
    let mut random = Random(21);
    let mut blocks = Vec::new();
    for _ in 0..4_000 {
        let mut below = |limit: u32| random.below(limit);
        let (base, right, down) = (20 + below(200) as i32, below(9) as i32 - 4, below(9) as i32 - 4);
        blocks.push(std::array::from_fn(|i| {
            let (x, y) = ((i % 4) as i32, (i / 4) as i32);
            let value = (base + (x * right + y * down) / 2).clamp(0, 255) as u8;
            [value, value, value, 255]
        }));
    }
    for quality in QUALITIES {
        let (mut own, mut bc7) = (0, 0);
        for (source, encoded) in blocks.iter().zip(encode(&blocks, &options(quality))) {
            own += error(source, &theirs(&encoded).expect("a legal block"));
            let block = basisu::uastc::bc7::transcode_uastc_to_bc7(&encoded).expect("a legal block");
            let mut decoded = kiln_uastc::bc7::decode_block(&block).expect("a legal block");
            // The transcoder may make alpha 254: the P-bit belongs to the colours.
            decoded.iter_mut().for_each(|texel| texel[3] = 255);
            bc7 += error(source, &decoded);
        }
        let share = |sum: u32| f64::from(sum) / (blocks.len() * 48) as f64;
        assert!(share(own) < 0.03 && share(bc7) < 0.03, "{quality:?}: {} and {}", share(own), share(bc7));
    }
}

/// The error that RDO bounds: alpha counts six times.
fn rdo_error(a: &Texels, b: &Texels) -> u32 {
    let alpha: u32 = a.iter().zip(b).map(|(a, b)| u32::from(a[3].abs_diff(b[3])).pow(2)).sum();
    error(a, b) + 5 * alpha
}

/// RDO keeps blocks valid, adds a bounded error, and makes bytes repeat.
#[test]
fn rdo_trades_error_for_repetition() {
    let mut random = Random(9);
    let blocks: Vec<_> = (0..3_000).map(|i| block([5, 6, 8, 13, 14][i % 5], &mut random)).collect();
    let plain = encode(&blocks, &options(Quality::Default));
    let mut repeats = vec![];
    for lambda in [0.0, 0.5, 1.0, 2.0] {
        let rdo = Some(lambda);
        let encoded = encode(&blocks, &Options { quality: Quality::Default, rdo });
        for ((source, before), after) in blocks.iter().zip(&plain).zip(&encoded) {
            let (before, after) = (theirs(before).expect("legal"), theirs(after).expect("legal"));
            let gained = rdo_error(source, &after) as f32 - rdo_error(source, &before) as f32;
            assert!(gained <= lambda * 16.0 * 7.0 * 1.6 + 0.5, "λ {lambda}: {gained}");
        }
        let ends: std::collections::BTreeSet<_> = encoded.iter().map(|b| &b[10..]).collect();
        repeats.push(encoded.len() - ends.len());
    }
    assert!(repeats.is_sorted(), "{repeats:?}");
    assert!(repeats[3] > repeats[0] * 3 / 2, "{repeats:?}");
    assert_eq!(encode(&blocks, &Options { quality: Quality::Default, rdo: Some(0.0) }), plain);
}

/// Any sixteen bytes: both decoders agree on their validity and on the texels.
#[test]
fn decoders_agree_on_any_bytes() {
    let mut random = Random(7);
    for _ in 0..200_000 {
        let bytes = (u128::from(random.next()) << 64 | u128::from(random.next())).to_le_bytes();
        assert_eq!(decode_block(&bytes), theirs(&bytes), "{bytes:02x?}");
    }
}

#[test]
fn all_paths_encode_the_same_bytes() {
    let blocks = corpus(4_000, 2);
    let rgba = strip(&blocks);
    let view = View::tight(&rgba, blocks.len() as u32 * 4, 4).expect("a strip");
    for quality in QUALITIES {
        let mut all = Path::available().map(|path| {
            let mut out = vec![0; blocks.len() * BLOCK_BYTES];
            encode_rows_on(path, &view, 0..1, &options(quality), &mut out);
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
    for quality in QUALITIES {
        let together = encode(&blocks, &options(quality));
        for (texels, expected) in blocks.iter().zip(together) {
            assert_eq!(encode_block(texels, &options(quality)), expected);
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
        let options = Options { quality: Quality::Default, rdo };
        let mut whole = vec![0; encoded_len(width, height).expect("small")];
        encode_rows(&tight, 0..blocks_high(height), &options, &mut whole);
        for rows in [1, 2, 3, 7, 16, 100] {
            let mut out = vec![0; whole.len()];
            let row_bytes = blocks_wide(width) as usize * BLOCK_BYTES;
            for (i, out) in out.chunks_mut(rows * row_bytes).enumerate() {
                let first = (i * rows) as u32;
                encode_rows(&view, first..first + rows as u32, &options, out);
            }
            assert!(out == whole, "strips of {rows} rows, rdo {rdo:?}");
        }
    }
}

/// More effort must reduce the total error, on every kind of block.
#[test]
fn error_decreases_with_effort() {
    for kind in 0..KINDS {
        let mut random = Random(u64::from(kind));
        let blocks: Vec<_> = (0..1_500).map(|_| block(kind, &mut random)).collect();
        let total = |quality| -> u64 {
            let encoded = encode(&blocks, &options(quality));
            let decoded = encoded.iter().map(|b| decode_block(b).expect("legal"));
            blocks.iter().zip(decoded).map(|(a, b)| u64::from(error(a, &b))).sum()
        };
        let [fast, default, high] = QUALITIES.map(total);
        assert!(default <= fast + fast / 50 + 100, "kind {kind}: default {default}, fast {fast}");
        assert!(high <= default + default / 100 + 100, "kind {kind}: high {high}, default {default}");
    }
}

#[test]
fn short_buffer_and_rows_out_of_range_are_ignored() {
    let rgba = [9; 8 * 8 * 4];
    let view = View::tight(&rgba, 8, 8).expect("the bytes suffice");
    let mut whole = [0; 64];
    encode_rows(&view, 0..2, &Options::default(), &mut whole);
    let mut short = [0; 40];
    encode_rows(&view, 0..2, &Options::default(), &mut short);
    assert_eq!(short[..32], whole[..32]);
    assert_eq!(short[32..], [0; 8]);
    let mut far = [7; 64];
    encode_rows(&view, 1..u32::MAX, &Options::default(), &mut far);
    assert_eq!(far[..32], whole[32..]);
    assert_eq!(far[32..], [7; 32]);
    encode_rows(&view, 5..9, &Options::default(), &mut []);
}

/// The error that selection uses is the error of the decoded block; that of the BC7 block it transcodes to is close to
/// the model's. BC7 may change the alpha of an opaque block to 254, which selection does not count.
#[test]
fn predicted_errors_are_exact() {
    let blocks = corpus(24_000, 11);
    let mut modelled = [[0u32; 2]; 19];
    for quality in QUALITIES {
        encode_with_errors(&blocks, &options(quality), |i, bytes, predicted| {
            let source = &blocks[i];
            let decoded = theirs(&bytes).expect("a legal block");
            assert_eq!(error(source, &decoded), predicted.error, "{bytes:02x?}");
            let transcoded = basisu::uastc::bc7::transcode_uastc_to_bc7(&bytes).expect("a legal block");
            let mut transcoded = bc7::decode_block(&transcoded).expect("a legal block");
            if source.iter().all(|texel| texel[3] == 255) {
                transcoded.iter_mut().for_each(|texel| texel[3] = 255);
            }
            let actual = error(source, &transcoded) as f32;
            let mode = kiln_transcode::uastc::modes::Mode::of_first_byte(bytes[0]).expect("a mode");
            let mode = &mut modelled[usize::from(mode)];
            mode[0] += 1;
            mode[1] += u32::from((actual - predicted.as_bc7).abs() > 0.01 * actual + 1.0);
        });
    }
    assert!(modelled.iter().all(|[all, wrong]| wrong * 20 <= *all), "{modelled:?}");
}
