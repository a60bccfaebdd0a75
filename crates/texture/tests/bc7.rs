//! BC7 textures, decoded with `bcdec`, an independent decoder.

use kiln_ir::{Image, Texels};
use kiln_texture::{
    BlockFormat, Encoded, Error, Mode, Payload, Quality, Settings, encode_2d, encode_array, encode_cube,
};

fn bc7() -> Settings {
    Settings { zstd: false, format: BlockFormat::Bc7, ..Settings::default() }
}

fn decode(bytes: &[u8], width: usize, height: usize) -> Vec<[u8; 4]> {
    let mut out = vec![[0; 4]; width * height];
    for (i, block) in bytes.chunks_exact(16).enumerate() {
        let mut texels = [0; 64];
        bcdec_rs::bc7(block, &mut texels, 16);
        let (left, top) = (i % width.div_ceil(4) * 4, i / width.div_ceil(4) * 4);
        for (t, texel) in texels.as_chunks().0.iter().enumerate() {
            let (x, y) = (left + t % 4, top + t / 4);
            if x < width && y < height {
                out[y * width + x] = *texel;
            }
        }
    }
    out
}

fn psnr(a: &[[u8; 4]], b: &[[u8; 4]], channels: &[usize]) -> f64 {
    let texel = |(a, b): (&[u8; 4], &[u8; 4])| -> f64 {
        channels.iter().map(|&c| f64::from(a[c].abs_diff(b[c])).powi(2)).sum()
    };
    let error: f64 = a.iter().zip(b).map(texel).sum();
    10.0 * libm::log10(255.0 * 255.0 * (a.len() * channels.len()) as f64 / error.max(1e-9))
}

/// Returns an image with smooth shading and grain.
fn painted(width: u32, height: u32, alpha: bool) -> Image {
    let texels = (0..width * height).flat_map(|i| {
        let (x, y) = (f64::from(i % width), f64::from(i / width));
        let grain = f64::from(i.wrapping_mul(0x9E37_79B1) >> 29);
        let shade = 100.0 + 80.0 * libm::sin(x * 0.05) * libm::cos(y * 0.04);
        let warm = 20.0 * libm::sin(x * 0.11 + y * 0.07);
        let a = if alpha && i % 7 < 3 { 128.0 + 127.0 * libm::sin(x * 0.06 + y * 0.02) } else { 255.0 };
        [shade + warm + grain, shade + grain, shade - warm + grain, a].map(|v| v as u8)
    });
    Image::new(width, height, Texels::Rgba8(texels.collect())).unwrap()
}

fn texels(image: &Image) -> Vec<[u8; 4]> {
    let Texels::Rgba8(bytes) = image.texels() else { panic!("eight bits") };
    bytes.as_chunks().0.to_vec()
}

fn base(image: &Image, mode: Mode, settings: &Settings) -> (Encoded, Vec<[u8; 4]>) {
    let encoded = encode_2d(image.clone(), mode, settings).unwrap();
    let decoded = decode(&encoded.levels[0].bytes, encoded.width as usize, encoded.height as usize);
    (encoded, decoded)
}

#[test]
fn psnr_is_above_bound_at_every_quality() {
    for (alpha, channels, bound) in [(false, &[0, 1, 2][..], 44.0), (true, &[0, 1, 2, 3], 30.0)] {
        let image = painted(61, 47, alpha);
        let mut before = 0.0;
        for quality in [Quality::Fast, Quality::Default, Quality::High] {
            let (encoded, decoded) = base(&image, Mode::Color, &Settings { quality, ..bc7() });
            assert_eq!((encoded.texels, encoded.srgb, encoded.levels.len()), (Payload::Bc7, true, 6));
            let found = psnr(&decoded, &texels(&image), channels);
            assert!(found > bound && found >= before, "{quality:?}: {found:.2} dB after {before:.2}");
            before = found;
            // Blocks without a translucent texel stay opaque.
            let solid = |block: usize, i: usize| block / 16 * 61 * 4 + block % 16 * 4 + i / 4 * 61 + i % 4;
            for block in (0..16 * 11).filter(|block| block % 16 < 15) {
                let source = texels(&image);
                if (0..16).all(|i| source[solid(block, i)][3] == 255) {
                    assert!((0..16).all(|i| decoded[solid(block, i)][3] == 255), "block {block}");
                }
            }
        }
    }
}

#[test]
fn swizzled_channels_are_constant() {
    let image = painted(70, 50, true);
    for (mode, kept) in [(Mode::Normal, &[0, 1][..]), (Mode::Grayscale, &[0])] {
        let (_, decoded) = base(&image, mode, &bc7());
        for texel in &decoded {
            assert!(texel[3] >= 254 && (kept.len()..3).all(|c| texel[c] <= 2), "{mode:?}: {texel:?}");
        }
        if mode == Mode::Grayscale {
            let found = psnr(&decoded, &texels(&image), kept);
            assert!(found > 50.0, "{found:.2} dB");
        }
    }
}

#[test]
fn layers_and_faces_are_consecutive() {
    let image = || painted(24, 24, true);
    let (alone, _) = base(&image(), Mode::Color, &bc7());
    let array = encode_array(vec![image(), image()], Mode::Color, &bc7()).unwrap();
    assert_eq!((array.layers, array.texels), (2, Payload::Bc7));
    for (array, alone) in array.levels.iter().zip(&alone.levels) {
        assert_eq!(array.bytes, alone.bytes.repeat(2));
    }
    let cube = encode_cube(std::array::from_fn(|_| image()), Mode::Color, &bc7()).unwrap();
    assert_eq!((cube.faces, cube.texels), (6, Payload::Bc7));
    assert_eq!(cube.levels[0].bytes, alone.levels[0].bytes.repeat(6));
}

#[test]
fn bytes_do_not_depend_on_the_thread_count() {
    let (first, _) = base(&painted(150, 90, false), Mode::Color, &bc7());
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let again = pool.install(|| base(&painted(150, 90, false), Mode::Color, &bc7()).0);
        assert!(again == first, "{threads} threads");
    }
}

#[test]
fn rdo_reduces_the_supercompressed_size_and_keeps_opaque_blocks() {
    let image = painted(200, 120, false);
    let size = |rdo: Option<f32>| {
        let settings = Settings { rdo, ..bc7() };
        let (encoded, decoded) = base(&image, Mode::Color, &settings);
        assert!(decoded.iter().all(|texel| texel[3] == 255), "{rdo:?}");
        let zstd = encode_2d(image.clone(), Mode::Color, &Settings { zstd: true, ..settings }).unwrap();
        (zstd.levels[0].bytes.len(), psnr(&decoded, &texels(&image), &[0, 1, 2]), encoded)
    };
    let (plain, fine, coarse) = (size(None), size(Some(0.5)), size(Some(4.0)));
    assert!(plain.0 > fine.0 && fine.0 > coarse.0, "{} {} {}", plain.0, fine.0, coarse.0);
    assert!(
        plain.1 >= fine.1 && fine.1 >= coarse.1 && coarse.1 > 30.0,
        "{} {} {}",
        plain.1,
        fine.1,
        coarse.1
    );
    assert_eq!(size(Some(0.0)).2, plain.2);
    // Strips of threads begin at bands.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert!(pool.install(|| size(Some(4.0))).2 == coarse.2);
}

#[test]
fn bc6h_is_for_hdr_images() {
    let settings = Settings { format: BlockFormat::Bc6h, ..bc7() };
    assert_eq!(encode_2d(painted(8, 8, false), Mode::Color, &settings), Err(Error::NotHdr));
    let raw = Settings { compress: false, ..settings };
    assert_eq!(encode_2d(painted(8, 8, false), Mode::Color, &raw).unwrap().texels, Payload::Rgba8);
}

/// Every other block format on whole images with odd sides: blocks at the edges, mip levels, roles, and the decoder that
/// `extract` and `--stats` use.
#[test]
fn every_block_format_is_close_to_the_image() {
    for (format, mode, alpha, payload, bound) in [
        (BlockFormat::Bc1, Mode::Color, false, Payload::Bc1, 33.0),
        (BlockFormat::Bc3, Mode::Color, true, Payload::Bc3, 25.0),
        (BlockFormat::Bc4, Mode::Grayscale, false, Payload::Bc4, 40.0),
        (BlockFormat::Bc5, Mode::Normal, false, Payload::Bc5, 38.0),
        (BlockFormat::Etc2, Mode::Color, false, Payload::Etc2Rgb, 31.0),
        (BlockFormat::Etc2, Mode::LinearColor, true, Payload::Etc2Rgba, 25.0),
        (BlockFormat::Etc2, Mode::Grayscale, false, Payload::EacR11, 38.0),
        (BlockFormat::Etc2, Mode::Normal, false, Payload::EacRg11, 36.0),
        (BlockFormat::Astc4x4, Mode::Color, true, Payload::Astc4x4, 28.0),
    ] {
        let image = painted(61, 47, alpha);
        let encoded = encode_2d(image.clone(), mode, &Settings { format, ..bc7() }).unwrap();
        assert_eq!((encoded.texels, encoded.levels.len()), (payload, 6), "{format:?}");
        let bytes = payload.block_len() as usize;
        assert_eq!(encoded.levels[0].bytes.len(), 16 * 12 * bytes);
        assert_eq!(encoded.levels[5].bytes.len(), bytes);
        let mut decoded = vec![[0; 4]; 61 * 47];
        for (n, block) in encoded.levels[0].bytes.chunks_exact(bytes).enumerate() {
            for (i, texel) in kiln_texture::decode_block(payload, block).unwrap().into_iter().enumerate() {
                let (x, y) = (n % 16 * 4 + i % 4, n / 16 * 4 + i / 4);
                if x < 61 && y < 47 {
                    decoded[y * 61 + x] = texel;
                }
            }
        }
        let channels: &[usize] = match mode {
            Mode::Grayscale => &[0],
            Mode::Normal => &[0, 1],
            _ if alpha => &[0, 1, 2, 3],
            _ => &[0, 1, 2],
        };
        let source = encode_2d(image, mode, &Settings { compress: false, ..bc7() }).unwrap();
        let source = source.levels[0].bytes.as_chunks::<4>().0;
        let found = psnr(&decoded, source, channels);
        assert!(found > bound, "{format:?} {mode:?}: {found:.2} dB");
    }
}
