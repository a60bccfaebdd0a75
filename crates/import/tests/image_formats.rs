//! Image formats other than PNG, compared with the output of other implementations, and rules for all formats.

mod support;

use kiln_import::Code;
use kiln_import::Imported;
use kiln_import::Limits;
use kiln_import::image::{self, Header, IMAGE_EXTENSIONS};
use kiln_ir::Image;
use support::{extension, file};

fn import(name: &str) -> Imported<Image> {
    image::import(file(name), extension(name), &Limits::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn codes(imported: &Imported<Image>) -> Vec<&str> {
    imported.warnings.iter().map(|w| w.code.as_str()).collect()
}

/// The texel that `data/make.py` puts at x, y.
fn ramp(x: u32, y: u32) -> [u8; 4] {
    [x * 50, y * 100, (x + y) * 20, 255 - x * 40].map(|v| v as u8)
}

/// The whole image, if its texels are `texel(x, y)` in 5x3.
fn texels_of(texel: impl Fn(u32, u32) -> [u8; 4]) -> Vec<u8> {
    (0..3).flat_map(|y| (0..5).map(move |x| (x, y))).flat_map(|(x, y)| texel(x, y)).collect()
}

#[test]
fn lossless_images_are_exact() {
    let opaque = |[r, g, b, _]: [u8; 4]| [r, g, b, 255];
    let grey = |[r, _, _, a]: [u8; 4]| [r, r, r, a];
    type Texel = Box<dyn Fn(u32, u32) -> [u8; 4]>;
    let cases: [(&str, Texel); 12] = [
        ("rgb.bmp", Box::new(move |x, y| opaque(ramp(x, y)))),
        ("palette.bmp", Box::new(move |x, y| opaque(ramp(x, y)))),
        ("bits.bmp", Box::new(move |x, _| if x >= 2 { [255; 4] } else { [0, 0, 0, 255] })),
        ("rgb.tga", Box::new(move |x, y| opaque(ramp(x, y)))),
        ("rgba.tga", Box::new(ramp)),
        ("rgba-rle.tga", Box::new(ramp)),
        ("grey.tga", Box::new(move |x, y| opaque(grey(ramp(x, y))))),
        ("grey-alpha-rle.tga", Box::new(move |x, y| grey(ramp(x, y)))),
        ("palette.tga", Box::new(move |x, y| opaque(ramp(x, y)))),
        ("rgb.webp", Box::new(move |x, y| opaque(ramp(x, y)))),
        ("rgba.webp", Box::new(ramp)),
        ("animated.webp", Box::new(ramp)),
    ];
    for (name, texel) in cases {
        let found = import(name);
        assert_eq!((found.value.width(), found.value.height()), (5, 3), "{name}");
        assert_eq!(found.value.into_rgba8(), texels_of(texel), "{name}");
    }
}

#[test]
fn uses_the_first_frame_of_animations_with_a_warning() {
    for name in ["animated.webp", "animated.png"] {
        let found = import(name);
        assert_eq!(codes(&found), ["image-animated"], "{name}");
        assert_eq!(found.value.into_rgba8(), texels_of(ramp), "{name}");
    }
    assert_eq!(codes(&import("rgba.webp")), [""; 0]);
}

#[test]
fn lossy_images_match_expected_colours() {
    let colours = [[200, 40, 30], [40, 180, 60], [30, 60, 220], [230, 220, 90]];
    let darker = [[160, 32, 24], [32, 144, 48], [24, 48, 176], [184, 176, 72]];
    // What libjpeg-turbo makes of the samples when they are declared YCCK.
    let ycck = [[154, 0, 169], [204, 147, 98], [77, 204, 204], [62, 24, 0]];
    let luma = colours.map(|[r, g, b]: [u32; 3]| [(r * 299 + g * 587 + b * 114 + 500) / 1000; 3]);
    for (name, colours, off) in [
        ("rgb.jpg", colours, 2),
        ("rgb-420.jpg", colours, 2),
        ("progressive.jpg", colours, 2),
        ("restarts.jpg", colours, 2),
        ("kept-rgb.jpg", colours, 2),
        ("adobe-rgb.jpg", colours, 2),
        ("grey.jpg", luma, 2),
        ("cmyk.jpg", darker, 2),
        ("cmyk-plain.jpg", darker, 2),
        ("ycck.jpg", ycck, 3),
        ("lossy.webp", colours, 6),
        ("lossy-alpha.webp", colours, 6),
        ("animated-lossy.webp", colours, 6),
    ] {
        let found = import(name);
        let wanted: &[&str] = match name {
            "cmyk.jpg" | "cmyk-plain.jpg" | "ycck.jpg" => &["image-cmyk"],
            "animated-lossy.webp" => &["image-animated"],
            _ => &[],
        };
        assert_eq!(codes(&found), wanted, "{name}");
        assert_eq!((found.value.width(), found.value.height()), (32, 32), "{name}");
        let texels = found.value.into_rgba8();
        for (i, colour) in colours.iter().enumerate() {
            let (x, y) = (i % 2 * 16 + 8, i / 2 * 16 + 8);
            let texel = &texels[(y * 32 + x) * 4..][..4];
            let near = texel.iter().zip(colour).all(|(&t, &c)| u32::from(t).abs_diff(c) <= off);
            assert!(near, "{name}: {texel:?} is not {colour:?}");
        }
        let alphas: Vec<u8> = texels.iter().skip(3).step_by(4).copied().collect();
        if matches!(name, "lossy-alpha.webp" | "animated-lossy.webp") {
            assert!(alphas[..32].iter().all(|&a| a < 10) && alphas[31 * 32..].iter().all(|&a| a > 245));
        } else {
            assert!(alphas.iter().all(|&a| a == 255), "{name}");
        }
    }
}

#[test]
fn jpeg_detail_matches_libjpeg() {
    let references: [(&str, &[u8]); 2] = [
        ("detail.jpg", include_bytes!("data/detail.rgb")),
        ("detail-420.jpg", include_bytes!("data/detail-420.rgb")),
    ];
    for (name, reference) in references {
        let texels = import(name).value.into_rgba8();
        let ours = texels.chunks_exact(4).flat_map(|t| &t[..3]);
        let worst = ours.zip(reference).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(worst <= Some(3), "{name}: off by {worst:?}");
    }
}

/// The size of a frame in a container is stated twice, and the decoder trusts both.
#[test]
fn rejects_webp_frames_with_conflicting_sizes() {
    for name in ["animated-lossy.webp", "lossy-alpha.webp"] {
        let good = file(name);
        let start = good.windows(3).position(|w| w == [0x9D, 0x01, 0x2A]).unwrap();
        for sides in [[33u16, 32], [32, 40], [16, 16], [16383, 16383], [0, 0]] {
            let mut bytes = good.to_vec();
            bytes[start + 3..start + 7].copy_from_slice(sides.map(u16::to_le_bytes).as_flattened());
            let limits = Limits { max_pixels: 64 * 64, ..Limits::default() };
            let error = image::import(&bytes, "webp", &limits).unwrap_err();
            assert_eq!(error.code, Code::ImageCorrupt, "{name} {sides:?}: {error}");
        }
    }
}

/// Vector instructions are chosen at run time; the texels must not depend on the machine.
#[test]
fn jpeg_texels_do_not_depend_on_vector_instructions() {
    use zune_jpeg::JpegDecoder;
    use zune_jpeg::zune_core::bytestream::ZCursor;
    use zune_jpeg::zune_core::colorspace::ColorSpace;
    use zune_jpeg::zune_core::options::DecoderOptions;
    for name in ["rgb.jpg", "rgb-420.jpg", "grey.jpg", "detail.jpg", "detail-420.jpg"] {
        let options =
            DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGBA).set_use_unsafe(false);
        let scalar = JpegDecoder::new_with_options(ZCursor::new(file(name)), options).decode().unwrap();
        assert!(import(name).value.into_rgba8() == scalar, "{name}");
    }
}

#[test]
fn rotates_images_upright_by_exif_with_a_warning() {
    // Orientation 6: the stored left column is the top row of the upright image, read from below.
    let turned: Vec<u8> =
        (0..5).flat_map(|y| (0..3).map(move |x| (x, y))).flat_map(|(x, y)| ramp(y, 2 - x)).collect();
    for name in ["turned.webp", "turned.png"] {
        let found = import(name);
        assert_eq!(codes(&found), ["image-orientation"], "{name}");
        assert!(found.warnings[0].message.contains("orientation 6"));
        assert_eq!((found.value.width(), found.value.height()), (3, 5), "{name}");
        assert_eq!(found.value.into_rgba8(), turned, "{name}");
    }
    let found = import("turned.jpg");
    assert_eq!(codes(&found), ["image-orientation"]);
    // Bottom left comes to the top left: blue.
    let texels = found.value.into_rgba8();
    assert!(texels[(8 * 32 + 8) * 4 + 2] > 200, "{:?}", &texels[(8 * 32 + 8) * 4..][..4]);
}

#[test]
fn decodes_bmp_with_alpha_in_both_row_orders() {
    for height in [1i32, 2, -2] {
        let rows: Vec<[u8; 4]> = (0..height.unsigned_abs() as u8).map(|y| [10 + y, 20, 30, 40 + y]).collect();
        let mut file = b"BM".to_vec();
        let size = 14 + 108 + rows.len() as u32 * 4;
        file.extend([size, 0, 14 + 108, 108, 1].map(u32::to_le_bytes).as_flattened());
        file.extend(height.to_le_bytes());
        file.extend([1, 0, 32, 0]);
        // Bit fields: BGRA in memory.
        file.extend([3, rows.len() as u32 * 4, 0, 0, 0, 0].map(u32::to_le_bytes).as_flattened());
        file.extend([0xFF_0000u32, 0xFF00, 0xFF, 0xFF00_0000].map(u32::to_le_bytes).as_flattened());
        file.resize(14 + 108, 0);
        let stored: Vec<u8> = rows.iter().flat_map(|&[r, g, b, a]| [b, g, r, a]).collect();
        file.extend(&stored);
        let found = image::import(&file, "bmp", &Limits::default()).unwrap();
        let mut wanted = rows.clone();
        if height > 0 {
            wanted.reverse();
        }
        assert_eq!(found.value.into_rgba8(), wanted.concat(), "{height}");
        let header = Header { width: 1, height: height.unsigned_abs(), channel_bytes: 1 };
        assert_eq!(image::probe(&file, ""), Some(header));
    }
}

#[test]
fn decodes_tga_with_every_origin() {
    for (descriptor, wanted) in
        [(0x20, [1, 2, 3, 4]), (0x30, [2, 1, 4, 3]), (0x00, [3, 4, 1, 2]), (0x10, [4, 3, 2, 1])]
    {
        let mut file = vec![0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 8, descriptor];
        file.extend([1, 2, 3, 4]);
        let found = image::import(&file, "TGA", &Limits::default()).unwrap().value.into_rgba8();
        let greys: Vec<u8> = found.iter().step_by(4).copied().collect();
        assert_eq!(greys, wanted, "{descriptor:#x}");
    }
}

#[test]
fn probes_dimensions_from_the_first_bytes() {
    for (name, bytes) in support::FILES {
        let wanted = match extension(name) {
            _ if name.starts_with("detail") => (23, 19),
            "jpg" => (32, 32),
            _ if name.contains("lossy") => (32, 32),
            _ => (5, 3),
        };
        let wanted = Header { width: wanted.0, height: wanted.1, channel_bytes: 1 };
        assert_eq!(image::probe(bytes, extension(name)), Some(wanted), "{name}");
        for end in 0..bytes.len() {
            let probed = image::probe(&bytes[..end], extension(name));
            assert!(probed.is_none() || probed == Some(wanted), "{name} cut to {end}: {probed:?}");
        }
    }
    let tga = file("rgb.tga");
    assert_eq!(image::probe(tga, "png"), None);
    assert_eq!(image::probe(b"", "png"), None);
}

#[test]
fn content_decides_format_and_wrong_extension_warns() {
    let found = image::import(file("rgb.jpg"), "png", &Limits::default()).unwrap();
    assert_eq!(codes(&found), ["image-extension"]);
    assert!(found.warnings[0].message.contains("JPEG") && found.warnings[0].message.contains("PNG"));
    for extension in ["jpg", "JPEG", ".Jpg", "", "dat"] {
        let found = image::import(file("rgb.jpg"), extension, &Limits::default()).unwrap();
        assert_eq!(codes(&found), [""; 0], "{extension}");
    }
    // TGA has no signature.
    assert_eq!(
        image::import(file("rgb.tga"), "png", &Limits::default()).unwrap_err().code,
        Code::ImageUnknown
    );
}

#[test]
fn names_unsupported_formats() {
    let cases: [(&[u8], &str, &str); 9] = [
        (b"", "file-empty", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "lfs-pointer", "Git LFS"),
        (b"<!DOCTYPE html><html><body>404", "image-unknown", "<!DOCTYPE html>"),
        (b"II+\0\x08\0\0\0", "image-unknown", "BigTIFF"),
        (b"8BPS\0\x03", "image-unknown", "Photoshop"),
        (b"\0\0\0\x1cftypavif", "image-unknown", "AVIF"),
        (b"\x00\x01\x02\xff\xfe", "image-unknown", "00 01 02 ff fe"),
        ("Grüße an alle, die dies lesen: üüüü".as_bytes(), "image-unknown", "Grüße"),
        (b"\x89PNG\r\n", "image-unknown", "89 50 4e 47"),
    ];
    for (bytes, code, words) in cases {
        for extension in IMAGE_EXTENSIONS {
            let error = image::import(bytes, extension, &Limits::default()).unwrap_err();
            assert_eq!(error.code.as_str(), code, "{error}");
            assert!(error.message.contains(words), "{error}");
            assert!(error.hint.is_some(), "{error}");
        }
    }
}

#[test]
fn rejects_unsupported_jpeg_variants() {
    let edited = |edit: fn(&mut [u8])| {
        let mut bytes = file("rgb.jpg").to_vec();
        let frame = bytes.windows(2).position(|w| w == [0xFF, 0xC0]).unwrap();
        edit(&mut bytes[frame..]);
        image::import(&bytes, "jpg", &Limits::default()).unwrap_err()
    };
    let error = edited(|frame| frame[1] = 0xC9);
    assert_eq!(error.code, Code::ImageUnsupported);
    assert!(error.message.contains("arithmetic"), "{error}");
    let error = edited(|frame| frame[4] = 12);
    assert_eq!(error.code, Code::ImageUnsupported);
    assert!(error.message.contains("12 bits"), "{error}");
    let error = edited(|frame| frame[5..9].copy_from_slice(&[0xFF; 4]));
    assert_eq!((error.code.as_str(), error.at.as_deref().unwrap_or_default()), ("image-too-large", "SOF"));
    assert!(error.message.contains("65535x65535"), "{error}");
    let error = edited(|frame| frame[5..9].copy_from_slice(&[0x40, 0, 0x40, 0]));
    assert_eq!(error.code, Code::ImageTruncated, "{error}");
    let error = edited(|frame| frame[5..7].fill(0));
    assert_eq!(error.code, Code::ImageCorrupt, "{error}");
}

/// The texels are those of the `basisu` transcoder.
#[test]
fn etc1s_textures_agree_with_another_transcoder() {
    let files: [(&[u8], &[u8]); 2] = [
        (include_bytes!("data/etc1s.ktx2"), include_bytes!("data/etc1s.rgba")),
        (include_bytes!("data/etc1s-alpha.ktx2"), include_bytes!("data/etc1s-alpha.rgba")),
    ];
    for (file, texels) in files {
        let image = image::import(file, "", &Limits::default()).unwrap().value;
        assert_eq!((image.width(), image.height()), (37, 22));
        assert!(image.into_rgba8() == texels);
    }
}

/// A KTX 2.0 file with one level of UASTC blocks, under a supercompression scheme.
fn uastc_file(width: u32, height: u32, scheme: u32, level: &[u8], unpacked: usize) -> Vec<u8> {
    const UASTC: u32 = 166;
    let mut file = b"\xABKTX 20\xBB\r\n\x1A\n".to_vec();
    let (start, descriptor) = (80 + 24, 44);
    let header = [0, 1, width, height, 0, 0, 1, 1, scheme, start, descriptor, 0, 0, 0, 0, 0, 0];
    file.extend(header.map(u32::to_le_bytes).concat());
    let index = [u64::from(start + descriptor), level.len() as u64, unpacked as u64];
    file.extend(index.map(u64::to_le_bytes).concat());
    file.extend([descriptor, 0, 0, UASTC, 0, 0, 0, 0, 0, 0, 0].map(u32::to_le_bytes).concat());
    file.extend(level);
    file
}

#[test]
fn decodes_uastc_textures() {
    let (width, height) = (7, 6);
    let texel = |i: u8| [i.wrapping_mul(37), i, 255 - i, i.wrapping_mul(101)];
    let sources: Vec<[[u8; 4]; 16]> =
        (0..4u8).map(|block| std::array::from_fn(|i| texel(block * 16 + i as u8))).collect();
    let blocks: Vec<[u8; 16]> =
        sources.iter().map(|texels| kiln_uastc::encode_block(texels, &Default::default())).collect();
    let level = blocks.concat();
    let packed = zstd::bulk::compress(&level, 1).unwrap();
    let decoded: Vec<_> = blocks.iter().map(|block| kiln_uastc::decode_block(block).unwrap()).collect();
    let at = |x: usize, y: usize| decoded[y / 4 * 2 + x / 4][y % 4 * 4 + x % 4];
    let wanted: Vec<u8> = (0..42).flat_map(|i| at(i % 7, i / 7)).collect();
    for (scheme, stored) in [(0, &level), (2, &packed)] {
        let file = uastc_file(width, height, scheme, stored, level.len());
        let image = image::import(&file, "", &Limits::default()).unwrap().value;
        assert_eq!((image.width(), image.height()), (width, height));
        assert!(image.into_rgba8() == wanted, "scheme {scheme}");
        for end in 12..file.len() {
            assert_eq!(
                image::import(&file[..end], "", &Limits::default()).unwrap_err().code.as_str(),
                "image-corrupt"
            );
        }
    }
    // A level that is too short, one that unpacks to another length, a scheme that is not ours, a cubemap.
    for (scheme, stored, unpacked) in [(0, &level[..48], 48), (2, &packed[..], 48), (3, &level[..], 64)] {
        let file = uastc_file(width, height, scheme, stored, unpacked);
        assert_eq!(
            image::import(&file, "", &Limits::default()).unwrap_err().code.as_str(),
            "image-corrupt",
            "{scheme}"
        );
    }
    let mut cubemap = uastc_file(width, height, 0, &level, level.len());
    cubemap[36] = 6;
    assert_eq!(image::import(&cubemap, "", &Limits::default()).unwrap_err().code.as_str(), "image-kind");
}
