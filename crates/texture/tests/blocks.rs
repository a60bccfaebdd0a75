//! UASTC textures, decoded with the independent `basisu` crate; and equal bytes for any number of threads.

use kiln_ir::{Image, Texels};
use kiln_texture::{Channels, Encoded, Mips, Mode, Payload, Settings, encode_2d, encode_array, encode_cube};

fn plain() -> Settings {
    Settings { zstd: false, ..Settings::default() }
}

/// Decodes a mip level to RGBA8 with the independent decoder. Blocks at the right and lower edges are
/// cropped.
fn decode(bytes: &[u8], width: usize, height: usize) -> Vec<u8> {
    let mut out = vec![0; width * height * 4];
    for (i, block) in bytes.chunks_exact(16).enumerate() {
        let block: &[u8; 16] = block.try_into().unwrap();
        let texels = basisu::uastc::unpack::unpack_uastc(block, false).expect("a valid block");
        let (left, top) = (i % width.div_ceil(4) * 4, i / width.div_ceil(4) * 4);
        for (t, texel) in texels.iter().enumerate() {
            let (x, y) = (left + t % 4, top + t / 4);
            if x < width && y < height {
                out[(y * width + x) * 4..][..4].copy_from_slice(&[
                    texel.r(),
                    texel.g(),
                    texel.b(),
                    texel.a(),
                ]);
            }
        }
    }
    out
}

fn psnr(a: &[u8], b: &[u8]) -> f64 {
    let error: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
    10.0 * libm::log10(255.0 * 255.0 * a.len() as f64 / error.max(1e-9))
}

/// Returns an image with smooth shading, a few soft shapes and fine grain, like a painted texture.
fn painted(width: u32, height: u32, alpha: bool) -> Image {
    let texels = (0..width * height).flat_map(|i| {
        let (x, y) = (f64::from(i % width), f64::from(i / width));
        let grain = f64::from(i.wrapping_mul(0x9E37_79B1) >> 29);
        let shade = 100.0 + 80.0 * libm::sin(x * 0.05) * libm::cos(y * 0.04);
        let warm = 20.0 * libm::sin(x * 0.11 + y * 0.07);
        let a = if alpha { 128.0 + 127.0 * libm::sin(x * 0.06 + y * 0.02) } else { 255.0 };
        [shade + warm + grain, shade + grain, shade - warm + grain, a].map(|v| v as u8)
    });
    Image::new(width, height, Texels::Rgba8(texels.collect())).unwrap()
}

/// Checks that the `kept` channels of all mip levels match the raw path (the base level by more than `bound`
/// decibels) and that the `fixed` channels have the given value.
fn check(image: Image, mode: Mode, kept: &[usize], fixed: &[(usize, u8)], bound: f64) -> Encoded {
    let raw = encode_2d(image.clone(), mode, &Settings { compress: false, ..plain() }).unwrap();
    let blocks = encode_2d(image, mode, &plain()).unwrap();
    assert_eq!(blocks.levels.len(), raw.levels.len());
    for (i, (level, raw)) in blocks.levels.iter().zip(&raw.levels).enumerate() {
        let (width, height) = ((blocks.width >> i).max(1) as usize, (blocks.height >> i).max(1) as usize);
        assert_eq!(level.bytes.len(), width.div_ceil(4) * height.div_ceil(4) * 16);
        let decoded = decode(&level.bytes, width, height);
        let only = |bytes: &[u8]| -> Vec<u8> {
            bytes.chunks_exact(4).flat_map(|t| kept.iter().map(|c| t[*c])).collect()
        };
        let quality = psnr(&only(&decoded), &only(&raw.bytes));
        // A block of a small level covers a quarter of the image: no format is good at that.
        assert!(quality > if i == 0 { bound } else { 26.0 }, "{mode:?} level {i}: {quality:.1} dB");
        for &(channel, value) in fixed {
            let worst = decoded.chunks_exact(4).map(|t| t[channel].abs_diff(value)).max();
            // Interpolated endpoints may be off by one in a colour channel; opaque alpha is exact.
            let allowed = u8::from(channel != 3);
            assert!(worst <= Some(allowed), "{mode:?} level {i} channel {channel}: {worst:?}");
        }
    }
    blocks
}

#[test]
fn psnr_is_above_bound() {
    let opaque = check(painted(128, 96, false), Mode::Color, &[0, 1, 2], &[(3, 255)], 44.0);
    assert_eq!((opaque.texels, opaque.srgb), (Payload::Uastc { channels: Channels::Rgb }, true));
    let translucent = check(painted(128, 96, true), Mode::Color, &[0, 1, 2, 3], &[], 40.0);
    assert_eq!(translucent.texels, Payload::Uastc { channels: Channels::Rgba });
    let linear = check(painted(61, 33, false), Mode::LinearColor, &[0, 1, 2, 3], &[], 44.0);
    assert_eq!((linear.texels, linear.srgb), (Payload::Uastc { channels: Channels::Rgb }, false));
}

#[test]
fn swizzled_channels_are_constant() {
    // Alpha of the source is ignored once it is swizzled away.
    let gray = check(painted(70, 50, true), Mode::Grayscale, &[0], &[(1, 0), (2, 0), (3, 255)], 52.0);
    assert_eq!((gray.texels, gray.srgb), (Payload::Uastc { channels: Channels::Rgb }, false));
    let bumps = |i: u32| {
        let (x, y) = (f64::from(i % 64), f64::from(i / 64));
        let (nx, ny) = (0.5 * libm::sin(x * 0.2), 0.5 * libm::cos(y * 0.15));
        let nz = (1.0 - nx * nx - ny * ny).sqrt();
        [nx, ny, nz, 0.0].map(|v| ((v * 0.5 + 0.5) * 255.0).round() as u8)
    };
    let normals = Image::new(64, 64, Texels::Rgba8((0..64 * 64).flat_map(bumps).collect())).unwrap();
    let normal = check(normals, Mode::Normal, &[0, 1], &[(2, 0), (3, 255)], 46.0);
    assert_eq!((normal.texels, normal.srgb), (Payload::Uastc { channels: Channels::Rgb }, false));
}

#[test]
fn one_translucent_texel_sets_the_alpha_flag() {
    let mut texels = vec![255; 64 * 64 * 4];
    texels[4 * 1000 + 3] = 254;
    let image = Image::new(64, 64, Texels::Rgba8(texels)).unwrap();
    let encoded = encode_2d(image, Mode::Color, &plain()).unwrap();
    assert_eq!(encoded.texels, Payload::Uastc { channels: Channels::Rgba });
}

#[test]
fn layers_and_faces_are_consecutive() {
    let one = |i: u32| painted(20 + 4 * i, 20 + 4 * i, i == 1);
    let (a, b) = (one(0), one(0));
    let array = encode_array(vec![a, b], Mode::Color, &plain()).unwrap();
    let alone = encode_2d(one(0), Mode::Color, &plain()).unwrap();
    for (array, alone) in array.levels.iter().zip(&alone.levels) {
        assert_eq!(array.bytes, alone.bytes.repeat(2));
    }
    let cube = encode_cube(std::array::from_fn(|_| one(1)), Mode::Color, &plain()).unwrap();
    assert_eq!((cube.faces, cube.texels), (6, Payload::Uastc { channels: Channels::Rgba }));
    assert_eq!(
        cube.levels[0].bytes,
        encode_2d(one(1), Mode::Color, &plain()).unwrap().levels[0].bytes.repeat(6)
    );
    assert_eq!(cube.levels[4].bytes.len(), 6 * 16);
}

#[test]
fn bytes_do_not_depend_on_the_thread_count() {
    let make = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let alpha_tested =
                Settings { alpha_coverage: Some(0.5), max_size: Some(150), ..Settings::default() };
            let rdo = Settings { rdo: Some(1.0), mips: Mips::Count(3), ..Settings::default() };
            let raw = Settings { compress: false, ..Settings::default() };
            [
                encode_2d(painted(257, 190, false), Mode::Color, &Settings::default()),
                encode_2d(painted(257, 190, true), Mode::Color, &alpha_tested),
                encode_2d(painted(130, 140, false), Mode::Normal, &rdo),
                encode_2d(painted(300, 300, true), Mode::Grayscale, &raw),
                encode_array(vec![painted(90, 90, true), painted(90, 90, false)], Mode::LinearColor, &raw),
                encode_cube(
                    std::array::from_fn(|i| painted(80, 80, i == 2)),
                    Mode::Color,
                    &Settings::default(),
                ),
            ]
        })
    };
    let one = make(1);
    assert!(one.iter().all(Result::is_ok));
    assert!(one == make(4));
    assert!(one == make(3));
}
