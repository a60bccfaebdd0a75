//! Properties of the mip chain of any image, through the public API with raw texels.

use kiln_ir::{Image, Texels};
use kiln_texture::{Encoded, Error, LutDepth, Mips, Mode, Payload, Settings};
use kiln_texture::{Sources, encode_2d, encode_array, encode_lut, working_set};
use proptest::prelude::*;

const MODES: [Mode; 4] = [Mode::Color, Mode::LinearColor, Mode::Normal, Mode::Grayscale];

fn raw() -> Settings {
    Settings { compress: false, zstd: false, ..Settings::default() }
}

fn image_of(width: u32, height: u32, texel: impl Fn(u32, u32) -> [u8; 4]) -> Image {
    let texels = (0..width * height).flat_map(|i| texel(i % width, i / width)).collect();
    Image::new(width, height, Texels::Rgba8(texels)).unwrap()
}

fn texels(encoded: &Encoded, level: usize) -> impl Iterator<Item = [u8; 4]> {
    encoded.levels[level].bytes.chunks_exact(4).map(|t| [t[0], t[1], t[2], t[3]])
}

/// Returns a hash that looks like noise.
fn noise(x: u32, y: u32, channel: u32) -> u8 {
    let mut h = x.wrapping_mul(0x9E37_79B1) ^ y.wrapping_mul(0x85EB_CA77) ^ channel.wrapping_mul(0xC2B2_AE3D);
    h = (h ^ (h >> 15)).wrapping_mul(0x2C1B_3C6D);
    (h ^ (h >> 13)) as u8
}

fn linear(code: u8) -> f64 {
    let v = f64::from(code) / 255.0;
    if v <= 0.04045 { v / 12.92 } else { libm::pow((v + 0.055) / 1.055, 2.4) }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), v| (sum + v, count + 1));
    sum / f64::from(count)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn constant_image_stays_constant(w in 1u32..70, h in 1u32..70, colour: [u8; 4], limit in 1u32..80) {
        for mode in [Mode::Color, Mode::LinearColor, Mode::Grayscale] {
            for max_size in [None, Some(limit)] {
                let image = image_of(w, h, |_, _| colour);
                let encoded = encode_2d(image, mode, &Settings { max_size, ..raw() }).unwrap();
                for level in 0..encoded.levels.len() {
                    prop_assert!(texels(&encoded, level).all(|t| t == colour), "{mode:?} level {level}");
                }
            }
        }
    }

    #[test]
    fn constant_normal_stays_constant(w in 1u32..40, h in 1u32..40, x in -0.7f32..0.7, y in -0.7f32..0.7) {
        let z = (1.0 - x * x - y * y).sqrt();
        let byte = |v: f32| ((v * 0.5 + 0.5) * 255.0).round() as u8;
        let normal = [byte(x), byte(y), byte(z), 255];
        let encoded = encode_2d(image_of(w, h, |_, _| normal), Mode::Normal, &raw()).unwrap();
        for level in 0..encoded.levels.len() {
            // Unit vectors in bytes are not exactly of unit length: renormalising may change the last bit.
            prop_assert!(texels(&encoded, level).all(|t| (0..3).all(|c| t[c].abs_diff(normal[c]) <= 1)));
        }
    }

    #[test]
    fn any_size_and_settings_are_accepted(
        w in 1u32..40, h in 1u32..40, limit in proptest::option::of(0u32..50), count in 0u32..9,
        coverage in proptest::option::of(-1.0f32..2.0), seed: u32,
    ) {
        for mode in MODES {
            let image = image_of(w, h, |x, y| [0, 1, 2, 3].map(|c| noise(x ^ seed, y, c)));
            let settings = Settings { max_size: limit, mips: Mips::Count(count), alpha_coverage: coverage, ..raw() };
            let encoded = encode_2d(image, mode, &settings).unwrap();
            prop_assert!(encoded.width.max(encoded.height) <= limit.unwrap_or(40).max(1));
            prop_assert_eq!(encoded.levels.len() as u32, Mips::Count(count).levels(encoded.width, encoded.height));
            for (i, level) in encoded.levels.iter().enumerate() {
                let size = (encoded.width >> i).max(1) * (encoded.height >> i).max(1) * 4;
                prop_assert_eq!(level.bytes.len(), size as usize);
                prop_assert_eq!(level.uncompressed_len, u64::from(size));
            }
        }
    }
}

#[test]
fn base_level_is_pixel_exact_and_unswizzled() {
    for mode in MODES {
        let image = image_of(13, 7, |x, y| [0, 1, 2, 3].map(|c| noise(x, y, c)));
        let bytes = image.clone().into_rgba8();
        let encoded = encode_2d(image, mode, &raw()).unwrap();
        assert_eq!(encoded.levels[0].bytes, bytes, "{mode:?}");
        assert_eq!((encoded.texels, encoded.srgb), (Payload::Rgba8, mode == Mode::Color));
        assert_eq!((encoded.depth, encoded.layers, encoded.faces), (0, 0, 1));
    }
    let deep = Image::new(1, 1, Texels::Rgba16(vec![128, 129, 65535, 257])).unwrap();
    assert_eq!(encode_2d(deep, Mode::Color, &raw()).unwrap().levels[0].bytes, [0, 1, 255, 1]);
}

#[test]
fn checkerboard_averages_in_linear_light() {
    let board = |x: u32, y: u32| if (x + y).is_multiple_of(2) { [255; 4] } else { [0, 0, 0, 255] };
    // 255 * srgb(0.5) = 187.516; averaging the stored values would give 128.
    let encoded = encode_2d(image_of(2, 2, board), Mode::Color, &raw()).unwrap();
    assert_eq!(encoded.levels[1].bytes, [188, 188, 188, 255]);
    let encoded = encode_2d(image_of(64, 64, board), Mode::Color, &raw()).unwrap();
    let inner = texels(&encoded, 1)
        .enumerate()
        .filter(|(i, _)| (4..28).contains(&(i % 32)) && (4..28).contains(&(i / 32)));
    assert!(inner.into_iter().all(|(_, t)| t == [188, 188, 188, 255]));
    let linear = encode_2d(image_of(2, 2, board), Mode::LinearColor, &raw()).unwrap();
    assert_eq!(linear.levels[1].bytes, [128, 128, 128, 255]);
}

#[test]
fn mips_preserve_energy() {
    for (w, h) in [(128, 128), (100, 77), (255, 3)] {
        let image = image_of(w, h, |x, y| [noise(x, y, 0), noise(x / 9, y / 9, 1), (x * 255 / w) as u8, 255]);
        let encoded = encode_2d(image, Mode::Color, &raw()).unwrap();
        for c in 0..3 {
            let base = mean(texels(&encoded, 0).map(|t| linear(t[c])));
            // Clamped edge texels weigh more than inner ones, ever more so in small levels.
            for (level, tolerance) in [(1, 0.01), (2, 0.02), (3, 0.04)] {
                let now = mean(texels(&encoded, level).map(|t| linear(t[c])));
                assert!(
                    (now - base).abs() < tolerance,
                    "{w}x{h} level {level} channel {c}: {now} for {base}"
                );
            }
        }
    }
}

#[test]
fn transparent_texels_do_not_bleed() {
    let (red, green) = ([255, 0, 0, 0], [0, 255, 0, 255]);
    for patterns in [
        (|x, _| x < 23) as fn(u32, u32) -> bool,
        |x, y| (x + y) % 2 == 0,
        |x, y| (x * 7 + y * 3) % 11 < 9,
        |x, y| x > 3 || y > 2,
    ] {
        let image = image_of(48, 40, |x, y| if patterns(x, y) { red } else { green });
        let encoded = encode_2d(image, Mode::Color, &raw()).unwrap();
        for level in 0..encoded.levels.len() {
            for t in texels(&encoded, level) {
                assert!(t[3] == 0 || t == [0, 255, 0, t[3]], "level {level}: {t:?}");
                // A texel without alpha has the average of the colours around it: never black.
                let sum = linear(t[0]) + linear(t[1]);
                assert!((sum - 1.0).abs() < 0.01 && t[2] == 0, "level {level}: {t:?}");
            }
        }
        assert!(texels(&encoded, 2).any(|t| t[3] > 0));
    }
    // No visible texel: the unweighted average.
    let image = image_of(2, 2, |x, _| if x == 0 { [255, 255, 255, 0] } else { [0; 4] });
    assert_eq!(encode_2d(image, Mode::Color, &raw()).unwrap().levels[1].bytes, [188, 188, 188, 0]);
}

#[test]
fn low_alpha_texels_keep_source_colours() {
    // Thin opaque grey lines: what the kernel's negative lobes leave between them must still be grey.
    let image = image_of(96, 96, |x, y| match (x % 12, y % 16) {
        (0, _) => [120, 120, 120, 255],
        (_, 3) => [140, 140, 140, 255],
        _ => [130, 130, 130, 0],
    });
    let encoded = encode_2d(image, Mode::Color, &raw()).unwrap();
    for level in 0..encoded.levels.len() {
        assert!(texels(&encoded, level).all(|t| (110..=150).contains(&t[0]) && t[0] == t[1] && t[1] == t[2]));
    }
}

#[test]
fn low_alpha_texels_do_not_overshoot() {
    // Grey stripes as wide as the positive lobe of the kernel, black opaque ones under its negative lobes:
    // those subtract alpha from the sum and no colour, so that dividing by alpha would give a brighter grey
    // than the source.
    for alpha in 12..=68 {
        let stripes =
            |x: u32, _| if (1..=4).contains(&(x % 8)) { [200, 200, 200, alpha] } else { [0, 0, 0, 255] };
        let encoded = encode_2d(image_of(64, 8, stripes), Mode::Color, &raw()).unwrap();
        let grey: Vec<_> = texels(&encoded, 1).skip(5).step_by(4).take(6).collect();
        assert!(grey.iter().all(|t| t[3] < 63 && t[3] < alpha), "{alpha}: {grey:?}");
        assert!(grey.iter().all(|t| (60..=200).contains(&t[0])), "{alpha}: {grey:?}");
    }
}

#[test]
fn linear_channels_are_independent() {
    let image = image_of(32, 32, |x, y| [noise(x, y, 0), 0, 0, 0]);
    let weighted = image_of(32, 32, |x, y| [noise(x, y, 0), noise(x, y, 1), 9, noise(x, y, 2)]);
    let (a, b) =
        (encode_2d(image, Mode::LinearColor, &raw()), encode_2d(weighted, Mode::LinearColor, &raw()));
    let (a, b) = (a.unwrap(), b.unwrap());
    for level in 0..a.levels.len() {
        assert!(texels(&a, level).zip(texels(&b, level)).all(|(a, b)| a[0] == b[0] && b[2] == 9));
    }
}

#[test]
fn normals_have_unit_length() {
    let image = image_of(64, 50, |x, y| [noise(x, y, 0), noise(x, y, 1), 128 + noise(x, y, 2) / 2, 255]);
    let encoded = encode_2d(image, Mode::Normal, &raw()).unwrap();
    for level in 1..encoded.levels.len() {
        for t in texels(&encoded, level) {
            let v = [t[0], t[1], t[2]].map(|c| f64::from(c) / 127.5 - 1.0);
            let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
            assert!((length - 1.0).abs() < 0.008, "level {level}: {t:?} is {length} long");
        }
    }
    // Opposite directions cancel out: +Z replaces them.
    let image = image_of(2, 1, |x, _| if x == 0 { [255, 128, 128, 255] } else { [0, 127, 127, 255] });
    assert_eq!(encode_2d(image, Mode::Normal, &raw()).unwrap().levels[1].bytes, [128, 128, 255, 255]);
}

#[test]
fn alpha_coverage_is_kept_at_every_level() {
    let leaves = |x: u32, y: u32| {
        let blade = (x * 3 + y) % 17 < 3 || noise(x / 2, y / 2, 0) < 20;
        [40, 160, 30, if blade { 255 } else { noise(x, y, 1) / 4 }]
    };
    for cutoff in [0.25, 0.5, 0.8] {
        let passing = |encoded: &Encoded, level| {
            mean(texels(encoded, level).map(|t| f64::from(u8::from(f32::from(t[3]) / 255.0 >= cutoff))))
        };
        let kept = Settings { alpha_coverage: Some(cutoff), ..raw() };
        let encoded = encode_2d(image_of(256, 256, leaves), Mode::Color, &kept).unwrap();
        let plain = encode_2d(image_of(256, 256, leaves), Mode::Color, &raw()).unwrap();
        let share = passing(&encoded, 0);
        assert_eq!(encoded.levels[0], plain.levels[0]);
        for level in 1..encoded.levels.len() {
            // One texel of a small level is more than one percent.
            let tolerance = 0.01f64.max(0.51 / f64::from(256u32 >> level).powi(2));
            let now = passing(&encoded, level);
            assert!((now - share).abs() <= tolerance, "cutoff {cutoff} level {level}: {now} for {share}");
        }
        assert!((passing(&plain, 3) - share).abs() > 0.02, "coverage changes without the setting");
        // The source's coverage applies to a downscaled base level too.
        let small = Settings { max_size: Some(100), ..kept };
        let encoded = encode_2d(image_of(256, 256, leaves), Mode::Color, &small).unwrap();
        assert!((passing(&encoded, 0) - share).abs() <= 0.01);
    }
}

#[test]
fn max_size_uses_the_mip_filter() {
    let image = || image_of(200, 100, |x, y| [noise(x, y, 0), noise(x / 7, y / 5, 1), (x + y) as u8, 255]);
    let full = encode_2d(image(), Mode::Color, &raw()).unwrap();
    let half = encode_2d(image(), Mode::Color, &Settings { max_size: Some(100), ..raw() }).unwrap();
    assert_eq!((half.width, half.height), (100, 50));
    assert_eq!(half.levels[..], full.levels[1..]);
    let odd =
        encode_2d(image(), Mode::Color, &Settings { max_size: Some(77), mips: Mips::None, ..raw() }).unwrap();
    assert_eq!((odd.width, odd.height, odd.levels.len()), (77, 39, 1));
}

#[test]
fn layers_are_consecutive_in_every_level() {
    let layer = |i: u32| image_of(20, 12, move |x, y| [noise(x, y, i), noise(x, y, 7 * i), 3, 255 - i as u8]);
    let array = encode_array(vec![layer(0), layer(1), layer(2)], Mode::Color, &raw()).unwrap();
    assert_eq!((array.layers, array.faces, array.depth), (3, 1, 0));
    for level in 0..array.levels.len() {
        let alone =
            (0..3).flat_map(|i| encode_2d(layer(i), Mode::Color, &raw()).unwrap().levels.remove(level).bytes);
        assert_eq!(array.levels[level].bytes, alone.collect::<Vec<_>>());
    }
    assert_eq!(encode_array(vec![], Mode::Color, &raw()), Err(Error::Empty));
    let other = image_of(20, 13, |_, _| [0; 4]);
    assert_eq!(
        encode_array(vec![layer(0), other], Mode::Color, &raw()),
        Err(Error::SizeDiffers { index: 1, found: (20, 13), expected: (20, 12) })
    );
}

#[test]
fn lut_is_a_3d_texture_with_one_level() {
    let rgb =
        (0..27).map(|i| [(i % 3) as f32 / 2.0, (i / 3 % 3) as f32 / 2.0, (i / 9) as f32 / 2.0]).collect();
    let lut = kiln_ir::Lut::new(3, [[0.0; 3], [1.0; 3]], rgb).unwrap();
    for (depth, payload, len) in
        [(LutDepth::Unorm8, Payload::Rgba8, 108), (LutDepth::Float16, Payload::Rgba16F, 216)]
    {
        for zstd in [false, true] {
            let (encoded, clamped) = encode_lut(&lut, depth, zstd).unwrap();
            assert_eq!((encoded.width, encoded.height, encoded.depth), (3, 3, 3));
            assert_eq!((encoded.texels, encoded.srgb, encoded.zstd, clamped), (payload, false, zstd, 0));
            assert_eq!((encoded.levels.len(), encoded.levels[0].uncompressed_len), (1, len));
        }
    }
    let (encoded, _) = encode_lut(&lut, LutDepth::Unorm8, false).unwrap();
    assert_eq!(encoded.levels[0].bytes[4..8], [128, 0, 0, 255]); // Red varies fastest.
    assert_eq!(encoded.levels[0].bytes[36..40], [0, 0, 128, 255]); // A slice is 3 × 3 texels.
}

#[test]
fn zstd_round_trips() {
    let image = || image_of(300, 200, |x, y| [(x / 32) as u8, (y / 32) as u8, noise(x / 16, y / 16, 0), 255]);
    let plain = encode_2d(image(), Mode::Color, &raw()).unwrap();
    let packed = encode_2d(image(), Mode::Color, &Settings { zstd: true, ..raw() }).unwrap();
    assert!(packed.zstd && !plain.zstd);
    for (packed, plain) in packed.levels.iter().zip(&plain.levels) {
        assert_eq!(packed.uncompressed_len, plain.uncompressed_len);
        assert_eq!(zstd::bulk::decompress(&packed.bytes, plain.bytes.len()).unwrap(), plain.bytes);
    }
    assert!(packed.levels[0].bytes.len() < plain.levels[0].bytes.len() / 2);
}

#[test]
fn working_set_is_bounded_for_any_size() {
    let settings = Settings::default();
    let estimate = |side: u32, count: u32, settings: &Settings| {
        let sources = Sources { width: side, height: side, channel_bytes: 1, count, cube: count == 6 };
        working_set(&sources, settings)
    };
    // Source 64 MB, windows of filtered levels 64 MB at the most, blocks 21 MB.
    let four_k = estimate(4096, 1, &settings);
    assert!((100 << 20..200 << 20).contains(&four_k) || rayon::current_num_threads() > 8, "{four_k}");
    // The largest image that the default limits admit stays below their memory limit.
    assert!(estimate(16384, 1, &settings) < 2 << 30 || rayon::current_num_threads() > 64);
    assert!(estimate(1024, 6, &settings) > 5 * estimate(1024, 1, &settings) / 2);
    assert!(estimate(4096, 1, &raw()) > four_k);
    assert_eq!(estimate(u32::MAX, u32::MAX, &settings), u64::MAX);
    assert!(estimate(1, 1, &settings) > 0);
}
