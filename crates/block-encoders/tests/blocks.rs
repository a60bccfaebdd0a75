//! Every encoder decoded by an independent decoder, and every decoder compared with one on arbitrary blocks.

use kiln_block_encoders::{Effort, astc, bc1, bc4, bc6h, eac, etc2};

const EFFORTS: [Effort; 3] = [Effort::Fast, Effort::Default, Effort::High];

/// A generator of numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }

    fn block<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| (self.next() >> 24) as u8)
    }
}

/// Blocks like those of textures: a gradient between two colours, with some noise.
fn painted(random: &mut Random) -> [[u8; 4]; 16] {
    let ends: [[i64; 4]; 2] = std::array::from_fn(|_| std::array::from_fn(|_| random.below(256) as i64));
    let noise = random.below(12) + 1;
    let (dx, dy) = (random.below(5) as i64, random.below(5) as i64 + 1);
    std::array::from_fn(|i| {
        let at = (i as i64 % 4 * dx + i as i64 / 4 * dy) * 64 / (3 * (dx + dy));
        std::array::from_fn(|c| {
            let value = (ends[0][c] * (64 - at) + ends[1][c] * at) / 64 + random.below(noise) as i64;
            value.clamp(0, 255) as u8
        })
    })
}

fn rms(sum: u64, count: u64) -> f64 {
    (sum as f64 / count as f64).sqrt()
}

/// Encodes blocks with every effort and returns the root mean square error of each, decoded by `decode`.
fn errors(
    encode: impl Fn(&[[u8; 4]; 16], Effort) -> Vec<u8>,
    decode: impl Fn(&[u8]) -> [[u8; 4]; 16],
    channels: &[usize],
) -> [f64; 3] {
    EFFORTS.map(|effort| {
        let mut random = Random(0x1234_5678_9ABC_DEF1);
        let mut sum = 0;
        for _ in 0..200 {
            let texels = painted(&mut random);
            let decoded = decode(&encode(&texels, effort));
            for (a, b) in texels.iter().zip(&decoded) {
                sum += channels.iter().map(|c| u64::from(a[*c].abs_diff(b[*c])).pow(2)).sum::<u64>();
            }
        }
        rms(sum, 200 * 16 * channels.len() as u64)
    })
}

/// Asserts that more effort is not worse, and the largest error.
fn check(name: &str, errors: [f64; 3], limit: f64) {
    assert!(errors[1] < limit && errors[0] < 1.5 * limit, "{name}: {errors:?}");
    assert!(errors[0] >= errors[1] - 1e-9 && errors[1] >= errors[2] - 1e-9, "{name}: {errors:?}");
}

fn bgra(pixels: &[u32; 16]) -> [[u8; 4]; 16] {
    pixels.map(|pixel| {
        let [b, g, r, a] = pixel.to_le_bytes();
        [r, g, b, a]
    })
}

/// A decoder of whole images: bytes, width, height, and the pixels to write.
type ImageDecoder = fn(&[u8], usize, usize, &mut [u32]) -> Result<(), &'static str>;

/// Decodes one block with a decoder of whole images.
fn with(decode: ImageDecoder, block: &[u8]) -> [[u8; 4]; 16] {
    let mut pixels = [0; 16];
    decode(block, 4, 4, &mut pixels).unwrap();
    bgra(&pixels)
}

fn decode_bc1(block: &[u8]) -> [[u8; 4]; 16] {
    let mut out = [0; 64];
    bcdec_rs::bc1(block, &mut out, 16);
    std::array::from_fn(|i| std::array::from_fn(|c| out[4 * i + c]))
}

#[test]
fn bc1_and_bc3_blocks_are_close_to_their_texels() {
    let opaque = |texels: &[[u8; 4]; 16]| texels.map(|[r, g, b, _]| [r, g, b, 255]);
    let encode = |texels: &[[u8; 4]; 16], effort| bc1::encode(&opaque(texels), effort).to_vec();
    check("BC1", errors(encode, decode_bc1, &[0, 1, 2]), 12.0);
    let decode = |block: &[u8]| {
        let mut out = [0; 64];
        bcdec_rs::bc3(block, &mut out, 16);
        std::array::from_fn(|i| std::array::from_fn(|c| out[4 * i + c]))
    };
    let encode = |texels: &[[u8; 4]; 16], effort| bc1::encode_with_alpha(texels, effort).to_vec();
    check("BC3", errors(encode, decode, &[0, 1, 2]), 12.0);
    check("BC3 alpha", errors(encode, decode, &[3]), 4.0);
}

#[test]
fn bc1_blocks_stay_opaque_and_cut_out_texels_become_transparent() {
    let mut random = Random(7);
    for _ in 0..300 {
        let mut texels = painted(&mut random).map(|[r, g, b, _]| [r, g, b, 255]);
        for effort in EFFORTS {
            assert!(decode_bc1(&bc1::encode(&texels, effort)).iter().all(|texel| texel[3] == 255));
        }
        texels.iter_mut().step_by(3).for_each(|texel| texel[3] = random.below(128) as u8);
        for effort in EFFORTS {
            let decoded = decode_bc1(&bc1::encode(&texels, effort));
            for (texel, decoded) in texels.iter().zip(&decoded) {
                assert_eq!(decoded[3], if texel[3] < 128 { 0 } else { 255 });
            }
        }
    }
    assert_eq!(decode_bc1(&bc1::encode(&[[9, 9, 9, 0]; 16], Effort::Default)), [[0; 4]; 16]);
}

#[test]
fn bc1_blocks_of_one_colour_are_nearly_exact() {
    for value in 0..=255u8 {
        let colour = [value, 255 - value, value ^ 0x55, 255];
        for decoded in decode_bc1(&bc1::encode(&[colour; 16], Effort::Fast)) {
            // Interpolation of two 5-bit endpoints comes within 1 of every value; decoders round by 1 differently.
            assert!((0..3).all(|c| decoded[c].abs_diff(colour[c]) <= 2), "{colour:?}, then {decoded:?}");
        }
    }
}

#[test]
fn etc2_blocks_are_close_to_their_texels() {
    let encode = |texels: &[[u8; 4]; 16], effort| etc2::encode(texels, effort).to_vec();
    let decode = |block: &[u8]| with(texture2ddecoder::decode_etc2_rgb, block);
    check("ETC2", errors(encode, decode, &[0, 1, 2]), 12.0);
    let encode = |texels: &[[u8; 4]; 16], effort| etc2::encode_with_alpha(texels, effort).to_vec();
    let decode = |block: &[u8]| with(texture2ddecoder::decode_etc2_rgba8, block);
    check("EAC alpha", errors(encode, decode, &[3]), 4.0);
}

/// Returns the mode of a block that is not ETC1, by the channel whose difference overflows (Khronos Data Format 1.3,
/// section 21.1).
fn etc2_mode(block: &[u8; 8]) -> &'static str {
    let overflows = |c: usize| {
        let (base, difference) = (i32::from(block[c] >> 3), i32::from(block[c] & 7));
        !(0..32).contains(&(base + if difference < 4 { difference } else { difference - 8 }))
    };
    match block[3] & 2 {
        0 => "individual",
        _ if overflows(0) => "T",
        _ if overflows(1) => "H",
        _ if overflows(2) => "planar",
        _ => "differential",
    }
}

#[test]
fn etc2_blocks_of_two_colours_use_the_modes_t_and_h() {
    let mut random = Random(0x7411_0000_0000_0001);
    let mut seen = std::collections::BTreeMap::<&str, usize>::new();
    let mut totals = [0; 3];
    for round in 0..4000 {
        let colours: [[i64; 3]; 2] =
            std::array::from_fn(|_| std::array::from_fn(|_| random.below(256) as i64));
        let spread = random.below(60) as i64;
        // Texels of both colours, in one or in both at several intensities.
        let mut texels = [[255; 4]; 16];
        for texel in &mut texels {
            let which = random.below(2) as usize;
            let by = if round % 2 == 0 && which == 0 { 0 } else { (random.below(3) as i64 - 1) * spread };
            (0..3).for_each(|c| texel[c] = (colours[which][c] + by).clamp(0, 255) as u8);
        }
        let mut error = |effort: Effort| -> i64 {
            let block = etc2::encode(&texels, effort);
            let (found, expected) = (etc2::decode(&block), with(texture2ddecoder::decode_etc2_rgb, &block));
            assert!(found.iter().zip(&expected).all(|(a, b)| a[..] == b[..3]), "{block:?}");
            if effort == Effort::High {
                *seen.entry(etc2_mode(&block)).or_default() += 1;
            }
            let square = |a: u8, b: u8| (i64::from(a) - i64::from(b)).pow(2);
            let pairs = texels.iter().zip(&expected);
            pairs.map(|(a, b)| (0..3).map(|c| square(a[c], b[c])).sum::<i64>()).sum()
        };
        let errors = EFFORTS.map(&mut error);
        (0..3).for_each(|effort| totals[effort] += errors[effort]);
    }
    // Without the modes the errors of all efforts are of one size.
    assert!(totals[1] * 4 < totals[0] && totals[2] <= totals[1], "{totals:?}");
    assert!(seen.get("T").is_some_and(|n| *n > 400) && seen.get("H").is_some_and(|n| *n > 400), "{seen:?}");
}

#[test]
fn eac_blocks_are_close_to_their_texels() {
    let two = |texels: &[[u8; 4]; 16]| texels.map(|[r, g, ..]| [r, g]);
    let encode = |texels: &[[u8; 4]; 16], effort| eac::encode_rg11(&two(texels), effort).to_vec();
    let decode = |block: &[u8]| {
        let [red, green] = [0, 8].map(|at| r11(block[at..at + 8].try_into().unwrap()));
        let byte = |value: u16| (f64::from(value) * 255.0 / 2047.0).round() as u8;
        std::array::from_fn(|i| [byte(red[i]), byte(green[i]), 0, 255])
    };
    check("RG11", errors(encode, decode, &[0, 1]), 4.0);
    for value in 0..=255 {
        let decoded = eac::decode_r11(&eac::encode_r11(&[value; 16], Effort::Default));
        let exact = f64::from(value) / 255.0 * 2047.0;
        assert!(decoded.iter().all(|found| (f64::from(*found) - exact).abs() <= 1.0), "{value}: {decoded:?}");
        assert_eq!(eac::decode_alpha(&eac::encode_alpha(&[value; 16], Effort::Fast)), [value; 16]);
    }
}

#[test]
fn bc4_and_bc5_blocks_are_close_to_their_texels() {
    let encode =
        |texels: &[[u8; 4]; 16], effort| bc4::encode_two(&texels.map(|[r, g, ..]| [r, g]), effort).to_vec();
    let decode = |block: &[u8]| {
        let mut out = [0; 32];
        bcdec_rs::bc5(block, &mut out, 8, false);
        std::array::from_fn(|i| [out[2 * i], out[2 * i + 1], 0, 255])
    };
    check("BC5", errors(encode, decode, &[0, 1]), 4.0);
}

#[test]
fn etc2_and_eac_decoders_match_independent_ones() {
    let mut random = Random(0xFEED_F00D_1234_5677);
    for _ in 0..20_000 {
        let block: [u8; 16] = random.block();
        let halves = block.as_chunks::<8>().0;
        let expected = with(texture2ddecoder::decode_etc2_rgb, &halves[0]);
        let found = etc2::decode(&halves[0]);
        assert!(
            found.iter().zip(&expected).all(|(a, b)| a[..] == b[..3]),
            "{block:?}: {found:?} {expected:?}"
        );
        let expected = with(texture2ddecoder::decode_etc2_rgba8, &block);
        let alpha = eac::decode_alpha(&halves[0]);
        assert!(alpha.iter().zip(&expected).all(|(a, b)| *a == b[3]), "{block:?}");
        assert_eq!(eac::decode_r11(&halves[0]), r11(&halves[0]), "{block:?}");
    }
}

/// Decodes R11 by the formulas of the specification (Khronos Data Format 1.3, section 21.5): `texture2ddecoder` differs
/// from them in the selectors, which are those of alpha.
fn r11(block: &[u8; 8]) -> [u16; 16] {
    let bits: Vec<u8> = block.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)).collect();
    let field =
        |range: std::ops::Range<usize>| bits[range].iter().fold(0i32, |all, bit| all * 2 + i32::from(*bit));
    let (base, multiplier, table) = (field(0..8), field(8..12), field(12..16));
    let mut out = [0; 16];
    for place in 0..16 {
        let selector = field(16 + 3 * place..19 + 3 * place);
        let modifier = i32::from(kiln_transcode::eac::MODIFIERS[table as usize][selector as usize]);
        let scaled = if multiplier == 0 { modifier } else { modifier * multiplier * 8 };
        // Columns first.
        out[place % 4 * 4 + place / 4] = (base * 8 + 4 + scaled).clamp(0, 2047) as u16;
    }
    out
}

#[test]
fn astc_decoder_matches_an_independent_one() {
    let mut random = Random(0xA57C_0000_0000_0001);
    let decode = |block: &[u8]| with(texture2ddecoder::decode_astc_4_4, block);
    let mut legal = 0;
    for _ in 0..60_000 {
        let block: [u8; 16] = random.block();
        let found = astc::decode(&block);
        if found == [[255, 0, 255, 255]; 16] {
            // Illegal, or HDR: the other decoder is lenient.
            continue;
        }
        legal += 1;
        let expected = decode(&block);
        let close = |(a, b): (&[u8; 4], &[u8; 4])| (0..4).all(|c| a[c].abs_diff(b[c]) <= 1);
        assert!(found.iter().zip(&expected).all(close), "{block:?}: {found:?} {expected:?}");
    }
    assert!(legal > 1000, "{legal}");
}

/// Returns half floats of a kind: nearly constant, a gradient over several exponents, or arbitrary.
fn halves(random: &mut Random, signed: bool) -> [[u16; 3]; 16] {
    let kind = random.below(4);
    let base: [u64; 3] = std::array::from_fn(|_| 0x2000 + random.below(0x3000));
    let noise = [4, 60, 700, 0x4000][kind as usize];
    std::array::from_fn(|i| {
        let ramp = if kind == 1 { 40 * i as u64 } else { 0 };
        std::array::from_fn(|c| {
            let magnitude = (base[c] + ramp + random.below(noise)).min(0x7BFF) as u16;
            let negative = signed && (kind == 3 && random.below(2) == 1 || kind == 2 && c == 0);
            if negative { magnitude | 0x8000 } else { magnitude }
        })
    })
}

fn number(bits: u16) -> f64 {
    let magnitude = f64::from(bits & 0x7FFF);
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[test]
fn bc6h_decoder_matches_an_independent_one() {
    let mut random = Random(0xBC6_0000_0000_0001);
    for _ in 0..20_000 {
        let block: [u8; 16] = random.block();
        for signed in [false, true] {
            let mut expected = [0u16; 48];
            bcdec_rs::bc6h_half(&block, &mut expected, 12, signed);
            let found = bc6h::decode(&block, signed);
            assert_eq!(found.as_flattened(), expected, "{block:?} {signed}");
        }
    }
}

#[test]
fn bc6h_blocks_are_close_to_their_texels() {
    for signed in [false, true] {
        let found = EFFORTS.map(|effort| {
            let mut random = Random(99);
            let (mut sum, mut count) = (0.0, 0.0);
            for _ in 0..400 {
                let texels = halves(&mut random, signed);
                let mut decoded = [0u16; 48];
                bcdec_rs::bc6h_half(&bc6h::encode(&texels, signed, effort), &mut decoded, 12, signed);
                let spread = texels.as_flattened().iter().map(|a| number(*a));
                let (low, high) = spread.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
                for (a, b) in texels.as_flattened().iter().zip(decoded) {
                    // Relative to the range of the block.
                    sum += ((number(*a) - number(b)) / (high - low + 1.0)).powi(2);
                    count += 1.0;
                }
            }
            (sum / count).sqrt()
        });
        check("BC6H", found, 0.14);
    }
}

#[test]
fn bc6h_blocks_of_one_colour_are_exact() {
    let mut random = Random(5);
    for _ in 0..500 {
        let colour: [u16; 3] = std::array::from_fn(|_| random.below(0x7C00) as u16);
        let block = bc6h::encode(&[colour; 16], false, Effort::Fast);
        assert_eq!(bc6h::decode(&block, false), [colour; 16]);
        let colour = [colour[0] | 0x8000, colour[1], colour[2] | 0x8000];
        let block = bc6h::encode(&[colour; 16], true, Effort::Fast);
        for (found, expected) in
            bc6h::decode(&block, true).as_flattened().iter().zip([colour; 16].as_flattened())
        {
            assert_eq!(number(*found), number(*expected));
        }
        // Negative values, infinities and NaN have no place in an unsigned block.
        let odd = [[0xBC00, 0x7C00, 0x7E01]; 16];
        let decoded = bc6h::decode(&bc6h::encode(&odd, false, Effort::Default), false);
        assert_eq!(decoded, [[0, 0x7BFF, 0x7BFF]; 16]);
    }
}
