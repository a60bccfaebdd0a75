//! Baked bitmaps and bitmap fonts: texels, mip levels, sample types, channels and color spaces.

use crate::project::{Project, png};
use pak::Pak;
use pak::bitmap::{BitmapColor, BitmapFormat, Sample};

fn ramp(count: usize) -> Vec<u8> {
    (0..count).map(|n| (n * 37 % 251) as u8).collect()
}

#[test]
fn texels_round_trip_in_source_channels() {
    let project = Project::new();
    project.png("art/grey.png", 3, 1, &ramp(6));
    project.png("art/rgb.png", 2, 3, &ramp(12));
    let translucent: Vec<u8> = ramp(16);
    project.png("art/rgba.png", 2, 4, &translucent);
    let opaque: Vec<u8> = ramp(12).chunks(3).flat_map(|c| [c[0], c[1], c[2], 255]).collect();
    project.png("art/opaque.png", 2, 4, &opaque);
    project.png("art/grey-alpha.png", 1, 2, &[9, 7, 5, 3]);
    let pak = project.open();
    let check = |key: &str, format: BitmapFormat, texels: &[u8]| {
        let bitmap = pak.read_bitmap(format!("art/{key}.png")).unwrap();
        assert_eq!((bitmap.format(), bitmap.pixels()), (format, texels), "{key}");
        assert_eq!(
            (bitmap.color(), bitmap.sample(), bitmap.mip_levels()),
            (BitmapColor::Srgb, Sample::U8, 1)
        );
        bitmap
    };
    check("grey", BitmapFormat::R, &ramp(6));
    check("rgba", BitmapFormat::Rgba, &translucent);
    check("opaque", BitmapFormat::Rgb, &ramp(12));
    check("grey-alpha", BitmapFormat::Rgba, &[9, 9, 9, 7, 5, 5, 5, 3]);
    let rgb = check("rgb", BitmapFormat::Rgb, &ramp(12));
    assert_eq!((rgb.extent(), rgb.stride()), ((2, 2), 6));
    assert_eq!(rgb.pixel(1, 1), &ramp(12)[9..12]);
    assert_eq!(rgb.pixel(2, 0), b"");
    assert_eq!(
        rgb.pixels_as_format(BitmapFormat::Rgba).take(4).collect::<Vec<_>>(),
        [ramp(12)[0], ramp(12)[1], ramp(12)[2], 255]
    );
}

#[test]
fn swizzle_selects_channels_in_order() {
    let project = Project::new();
    project.png("art/a.png", 2, 4, &[1, 2, 3, 4, 5, 6, 7, 8]);
    for (swizzle, expected) in [
        ("bgr", &[3, 2, 1, 7, 6, 5][..]),
        ("a", &[4, 8]),
        ("rg", &[1, 2, 5, 6]),
        ("rrrr", &[1, 1, 1, 1, 5, 5, 5, 5]),
    ] {
        project.put("art/x.toml", format!("[bitmap]\nsrc = 'a.png'\nswizzle = '{swizzle}'\n"));
        assert_eq!(project.open().read_bitmap("art/x").unwrap().pixels(), expected);
    }
}

#[test]
fn mip_chain_reaches_1x1_and_is_filtered_in_linear_light() {
    let project = Project::new();
    // A checkerboard of black and white: 0.5 in linear light.
    let board: Vec<u8> = (0..64).flat_map(|n| [if (n + n / 8) % 2 == 0 { 0 } else { 255 }; 3]).collect();
    project.png("art/a.png", 8, 3, &board);
    project.put("art/srgb.toml", "[bitmap]\nsrc = 'a.png'\nmip-levels = true\n");
    project.put("art/linear.toml", "[bitmap]\nsrc = 'a.png'\nmip-levels = 99\ncolor = 'linear'\n");
    project.put("art/two.toml", "[bitmap]\nsrc = 'a.png'\nmip-levels = 2\n");
    let pak = project.open();
    for (key, levels, grey) in [("srgb", 4, 188), ("linear", 4, 128), ("two", 2, 188)] {
        let bitmap = pak.read_bitmap(format!("art/{key}")).unwrap();
        assert_eq!(bitmap.mip_levels(), levels, "{key}");
        assert_eq!(bitmap.pixels(), board);
        for level in 1..levels {
            let (size, texels) = bitmap.level(level).unwrap();
            assert_eq!(size, (8 >> level, 8 >> level));
            assert_eq!(texels.len(), (size.0 * size.1 * 3) as usize);
            assert!(texels.iter().all(|t: &u8| t.abs_diff(grey) <= 8), "{key} {level}: {texels:?}");
        }
        assert_eq!(bitmap.level(levels), None);
    }
}

#[test]
fn resize_keeps_aspect_ratio_and_at_least_one_texel() {
    let project = Project::new();
    project.png("art/wide.png", 400, 3, &ramp(1200));
    project.put("art/x.toml", "[bitmap]\nsrc = 'wide.png'\nresize = 16\n");
    assert_eq!(project.open().read_bitmap("art/x").unwrap().extent(), (16, 1));
    for bad in ["0", "100000000", "-1", "1.5"] {
        project.put("art/x.toml", format!("[bitmap]\nsrc = 'wide.png'\nresize = {bad}\n"));
        assert!(project.error().contains("art/x.toml:3:10: bitmap.resize"), "{}", project.error());
    }
}

#[test]
fn keeps_16_bits_unless_depth_is_set() {
    let project = Project::new();
    let values: Vec<u16> = vec![1, 256, 65535, 32768, 257, 300, 4000, 5000, 60000, 700, 800, 900];
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    project.put("art/a.png", png(2, 3, png::BitDepth::Sixteen, &bytes));
    project.put("art/narrow.toml", "[bitmap]\nsrc = 'a.png'\ndepth = 8\n");
    project.put("art/mips.toml", "[bitmap]\nsrc = 'a.png'\nmip-levels = true\ncolor = 'linear'\n");
    let pak = project.open();
    let wide = pak.read_bitmap("art/a.png").unwrap();
    assert_eq!((wide.sample(), wide.format()), (Sample::U16, BitmapFormat::Rgb));
    let found: Vec<u16> = wide.pixels().as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
    assert_eq!(found, values);
    let narrow = pak.read_bitmap("art/narrow").unwrap();
    let expected: Vec<u8> = values.iter().map(|v| ((u32::from(*v) + 128) / 257) as u8).collect();
    assert_eq!((narrow.sample(), narrow.pixels()), (Sample::U8, &expected[..]));
    let mips = pak.read_bitmap("art/mips").unwrap();
    assert_eq!((mips.sample(), mips.mip_levels()), (Sample::U16, 2));
    let last = u16::from_le_bytes(mips.level(1).unwrap().1[..2].try_into().unwrap());
    let mean = (1 + 32768 + 4000 + 700) / 4;
    assert!(u32::from(last).abs_diff(mean) < 400, "{last} is not near {mean}");
}

#[test]
fn radiance_images_bake_to_f32() {
    let project = Project::new();
    let bytes = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 2\n\x40\x80\x20\x82\x80\0\0\x89";
    project.put("art/sky.hdr", bytes);
    project.put("art/narrow.toml", "[bitmap]\nsrc = 'sky.hdr'\ndepth = 8\nmip-levels = true\n");
    project.png("art/a.png", 1, 1, &[51]);
    project.put("art/wide.toml", "[bitmap]\nsrc = 'a.png'\ndepth = 32\nswizzle = 'r'\n");
    let pak = project.open();
    let sky = pak.read_bitmap("art/sky.hdr").unwrap();
    assert_eq!(
        (sky.sample(), sky.color(), sky.format()),
        (Sample::F32, BitmapColor::Linear, BitmapFormat::Rgb)
    );
    let floats: Vec<f32> = sky.pixels().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    assert!((floats[1] - 2.0).abs() < 0.1 && (floats[3] - 256.0).abs() < 4.0, "{floats:?}");
    let narrow = pak.read_bitmap("art/narrow").unwrap();
    assert_eq!((narrow.sample(), narrow.mip_levels(), narrow.pixel(1, 0)), (Sample::U8, 2, &[255, 0, 0][..]));
    assert_eq!(pak.read_bitmap("art/wide").unwrap().pixels(), 0.2f32.to_le_bytes());
    project.put("art/narrow.toml", "[bitmap]\nsrc = 'sky.hdr'\ncompression = 'uastc'\n");
    assert!(project.error().contains("UASTC supports 8 bits per channel only"));
}

#[test]
fn uastc_bitmaps_are_ktx2_files() {
    let project = Project::new();
    let texels: Vec<u8> = (0..16 * 16).flat_map(|n| [n as u8, (n / 16 * 16) as u8, 99]).collect();
    project.png("art/a.png", 16, 3, &texels);
    project.put("art/x.toml", "[bitmap]\nsrc = 'a.png'\ncompression = 'uastc'\nmip-levels = true\n");
    let pak = project.open();
    let bitmap = pak.read_bitmap("art/x").unwrap();
    let file = bitmap.ktx2().unwrap();
    assert!(file.starts_with(b"\xabKTX 20\xbb"));
    let view = kiln_format::ktx2::Ktx2View::read(file).unwrap();
    assert_eq!((bitmap.extent(), bitmap.mip_levels()), ((16, 16), 5));
    assert_eq!(view.levels().count(), 5);
    assert_eq!((bitmap.pixels(), bitmap.level(0)), (&[][..], None));
    #[cfg(feature = "transcode")]
    {
        use pak::transcode::Target;
        let rgba = bitmap.transcode(0, Target::Rgba8).unwrap().bytes;
        assert_eq!(rgba.len(), 16 * 16 * 4);
        for (texel, source) in rgba.chunks(4).zip(texels.chunks(3)) {
            assert!(source.iter().zip(texel).all(|(a, b)| a.abs_diff(*b) < 12), "{source:?} {texel:?}");
        }
        assert_eq!(bitmap.transcode(0, Target::Bc7).unwrap().bytes.len(), 16 * 16);
        assert!(bitmap.transcode(5, Target::Bc7).is_err());
        assert!(pak.read_bitmap("art/a.png").unwrap().transcode(0, Target::Bc7).is_err());
    }
}

/// The blocks are stored without supercompression, so that a game uploads them as they are.
#[test]
fn bc7_bitmaps_are_blocks_for_the_gpu() {
    let project = Project::new();
    let texels: Vec<u8> = (0..16 * 16).flat_map(|n| [n as u8, (n / 16 * 16) as u8, 99]).collect();
    project.png("art/a.png", 16, 3, &texels);
    project.put("art/x.toml", "[bitmap]\nsrc = 'a.png'\ncompression = 'bc7'\nmip-levels = true\n");
    let pak = project.open();
    let bitmap = pak.read_bitmap("art/x").unwrap();
    let file = bitmap.ktx2().unwrap();
    let view = kiln_format::ktx2::Ktx2View::read(file).unwrap();
    assert_eq!((bitmap.mip_levels(), view.level_count(), view.vk_format()), (5, 5, 146));
    assert_eq!((bitmap.format(), bitmap.color()), (BitmapFormat::Rgb, BitmapColor::Srgb));
    let (size, blocks) = bitmap.bc7_level(0).unwrap();
    assert_eq!((size, blocks.len()), ((16, 16), 16 * 16));
    assert!(file.as_ptr_range().contains(&blocks.as_ptr()), "zero-copy");
    for (number, block) in blocks.as_chunks::<16>().0.iter().enumerate() {
        let mut decoded = [0; 64];
        bcdec_rs::bc7(block, &mut decoded, 16);
        for (n, texel) in decoded.as_chunks::<4>().0.iter().enumerate() {
            let (x, y) = (number % 4 * 4 + n % 4, number / 4 * 4 + n / 4);
            let source = &texels[(y * 16 + x) * 3..][..3];
            assert!(source.iter().zip(texel).all(|(a, b)| a.abs_diff(*b) < 8), "{source:?} {texel:?}");
            assert_eq!(texel[3], 255);
        }
    }
    assert_eq!(bitmap.bc7_level(4).unwrap().0, (1, 1));
    assert!(bitmap.bc7_level(5).is_none() && !bitmap.write_rgba8(0, &mut [0; 4096], 64));
    project.put("art/x.toml", "[bitmap]\nsrc = 'a.png'\ncompression = 'bc7'\ndepth = 16\n");
    assert!(project.error().contains("BC7 supports 8 bits per channel only"));
}

#[test]
fn three_channels_become_rgba_in_the_bake_or_on_reading() {
    let project = Project::new();
    let texels: Vec<u8> = (0..4 * 2 * 3).map(|n| n as u8 * 7).collect();
    project.png("art/a.png", 4, 3, &texels);
    project.png("art/gray.png", 2, 1, &[10, 20]);
    project.put("art/rgba.toml", "[bitmap]\nsrc = 'a.png'\nswizzle = 'rgba'\nmip-levels = true\n");
    project.put("art/rgb.toml", "[bitmap]\nsrc = 'a.png'\nmip-levels = true\n");
    project.put("art/wide.toml", "[bitmap]\nsrc = 'a.png'\ndepth = 16\n");
    let pak = project.open();
    let (rgba, rgb) = (pak.read_bitmap("art/rgba").unwrap(), pak.read_bitmap("art/rgb").unwrap());
    assert_eq!((rgba.format(), rgb.format()), (BitmapFormat::Rgba, BitmapFormat::Rgb));
    let expected: Vec<u8> = texels.chunks(3).flat_map(|t| [t[0], t[1], t[2], 255]).collect();
    assert_eq!(rgba.pixels(), expected, "alpha 255 was added");
    for level in 0..3 {
        let ((width, height), stored) = rgba.level(level).unwrap();
        let mut out = vec![7; 256 * height as usize];
        assert!(rgb.write_rgba8(level, &mut out, 256));
        for (row, stored) in out.chunks(256).zip(stored.chunks(width as usize * 4)) {
            assert_eq!(row[..stored.len()], *stored, "{level}");
            assert!(row[stored.len()..].iter().all(|byte| *byte == 7), "the rest of a row is not written");
        }
        let mut again = vec![0; stored.len()];
        assert!(rgba.write_rgba8(level, &mut again, width as usize * 4) && again == stored);
        assert!(!rgb.write_rgba8(level, &mut again[1..], width as usize * 4), "too small");
        assert!(!rgb.write_rgba8(level, &mut out, width as usize * 4 - 1), "rows overlap");
    }
    let mut out = vec![0; expected.len()];
    assert!(pak.read_bitmap("art/wide").unwrap().write_rgba8(0, &mut out, 16) && out == expected);
    assert!(!rgb.write_rgba8(3, &mut out, 16));
    let mut gray = [0; 8];
    assert!(pak.read_bitmap("art/gray.png").unwrap().write_rgba8(0, &mut gray, 8));
    assert_eq!(gray, [10, 0, 0, 255, 20, 0, 0, 255], "as `pixels_as_format`");
}

#[test]
fn fonts_keep_antialiasing_and_all_channels() {
    let project = Project::new();
    let row: Vec<u8> = (0..8).flat_map(|n| [255, 200, n * 10, n * 36]).collect();
    project.png("art/page.png", 8, 4, &row);
    let def =
        "info face=\"x\" size=8\ncommon lineHeight=8 pages=1\npage id=0 file=\"page.png\"\nchars count=0\n";
    project.put("art/f.fnt", def);
    project.put("art/f.toml", "[bitmap-font]\n");
    project.content("none", "['art/f.toml']");
    let pak = project.open();
    let font = pak.read_bitmap_font("art/f").unwrap();
    assert_eq!(font.def(), def);
    let pages: Vec<_> = font.pages().collect();
    assert_eq!(pages.len(), 1);
    assert_eq!(pages[0].pixels(), row);
    project.put("art/f.fnt", def.replace("page.png", "gone.png"));
    assert!(project.error().contains("page 0: the file art/gone.png does not exist"));
}

#[test]
fn reads_the_formats_of_the_image_importer() {
    let project = Project::new();
    // A QOI image of one RGB texel.
    let qoi =
        [&b"qoif"[..], &[0, 0, 0, 1, 0, 0, 0, 1, 3, 0, 0xfe, 1, 2, 3], &[0, 0, 0, 0, 0, 0, 0, 1]].concat();
    project.put("art/q.qoi", qoi);
    project.put("art/m.toml", "[material]\ncolor = 'q.qoi'\n");
    let pak = project.open();
    assert_eq!(pak.read_bitmap("art/q.qoi").unwrap().pixels(), [1, 2, 3]);
    let material = pak.read_material("art/m").unwrap();
    assert_eq!(pak.read_bitmap_id(material.color).unwrap().pixels(), [1, 2, 3]);
}

/// Files of one channel stay so in every format that can state it; the base level of a DDS texture is read.
#[test]
fn greyscale_files_and_dds_textures_keep_their_channels() {
    let project = Project::new();
    let tga = |kind: u8, bits: u8, texels: &[u8]| {
        let mut file = vec![0, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, bits, 0x20];
        file.extend(texels);
        file
    };
    project.put("art/grey.tga", tga(3, 8, &[77, 78]));
    project.put("art/rgb.tga", tga(2, 24, &[3, 2, 1, 6, 5, 4]));
    // TIFF 6.0: ImageWidth, ImageLength, BitsPerSample, PhotometricInterpretation, StripOffsets, SamplesPerPixel,
    // RowsPerStrip, StripByteCounts; one strip behind the directory.
    let tags: [(u16, u32); 8] =
        [(256, 2), (257, 1), (258, 8), (262, 1), (273, 110), (277, 1), (278, 1), (279, 2)];
    let mut tiff = b"II*\0\x08\0\0\0\x08\0".to_vec();
    for (tag, value) in tags {
        tiff.extend([&tag.to_le_bytes()[..], &[4, 0, 1, 0, 0, 0], &value.to_le_bytes()].concat());
    }
    tiff.extend([0, 0, 0, 0, 77, 78]);
    project.put("art/grey.tiff", tiff);
    // A Photoshop document in greyscale mode with one channel, uncompressed.
    let psd =
        [&b"8BPS\0\x01\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x02\0\x08\0\x01"[..], &[0; 14], &[77, 78]].concat();
    project.put("art/grey.psd", psd);
    // DDS with bit masks: 0x2_0000 is luminance, 0x41 RGBA.
    let dds = |flags: u32, bits: u32, masks: [u32; 4], texels: &[u8]| {
        let mut words = [0u32; 32];
        (words[0], words[1], words[2], words[3], words[4]) = (0x2053_4444, 124, 0x1007, 1, 2);
        (words[19], words[20], words[22], words[27]) = (32, flags, bits, 0x1000);
        words[23..27].copy_from_slice(&masks);
        let header = words.iter().flat_map(|word| word.to_le_bytes());
        header.chain(texels.iter().copied()).collect::<Vec<u8>>()
    };
    project.put("art/grey.dds", dds(0x2_0000, 8, [0xff, 0, 0, 0], &[77, 78]));
    let masks = [0xff, 0xff00, 0xff_0000, 0xff00_0000];
    project.put("art/rgba.dds", dds(0x41, 32, masks, &[1, 2, 3, 4, 5, 6, 7, 8]));
    project.put("art/d.toml", "[bitmap]\nsrc = 'rgba.dds'\nswizzle = 'a'\n");
    let pak = project.open();
    for extension in ["tga", "tiff", "psd", "dds"] {
        let bitmap = pak.read_bitmap(format!("art/grey.{extension}")).unwrap();
        assert_eq!((bitmap.format(), bitmap.pixels()), (BitmapFormat::R, &[77, 78][..]), "{extension}");
    }
    let read = |key: &str| pak.read_bitmap(key).unwrap().pixels().to_vec();
    assert_eq!(read("art/rgb.tga"), [1, 2, 3, 4, 5, 6]);
    assert_eq!(read("art/rgba.dds"), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(read("art/d"), [4, 8]);
}
