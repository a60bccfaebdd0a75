//! Bitmaps in the block formats of GPUs, decoded with independent decoders: `bcdec_rs` and `texture2ddecoder`.

use crate::project::Project;
use pak::bitmap::{Bitmap, BitmapFormat, GpuFormat, Sample, Transfer};
use pak::{Pak, PakBuf};

const WIDTH: usize = 14;
const HEIGHT: usize = 10;

/// Returns a gradient, which every format holds well. The size is not a multiple of 4.
fn texels(channels: usize) -> Vec<u8> {
    let texel = |n: usize| {
        let (x, y) = (n % WIDTH, n / WIDTH);
        [40 + 6 * (x + y), 60 + 8 * (x + y), 120, 255 - 10 * y].map(|value| value as u8)
    };
    (0..WIDTH * HEIGHT).flat_map(|n| texel(n).into_iter().take(channels)).collect()
}

/// Decodes mip level 0 to RGBA8; channels that the format has not are zero, alpha is 255.
fn decode(bitmap: &Bitmap) -> Vec<[u8; 4]> {
    let format = bitmap.gpu_format().expect("blocks");
    let ((width, height), blocks) = bitmap.gpu_level(0).expect("a stored level");
    assert_eq!((width as usize, height as usize), (WIDTH, HEIGHT));
    let wide = WIDTH.div_ceil(4);
    assert_eq!(blocks.len(), wide * HEIGHT.div_ceil(4) * format.block_len() as usize);
    let mut image = vec![0; WIDTH * HEIGHT];
    let decoded = match format {
        GpuFormat::Astc4x4 => texture2ddecoder::decode_astc_4_4(blocks, WIDTH, HEIGHT, &mut image),
        GpuFormat::Etc2Rgb => texture2ddecoder::decode_etc2_rgb(blocks, WIDTH, HEIGHT, &mut image),
        GpuFormat::Etc2Rgba => texture2ddecoder::decode_etc2_rgba8(blocks, WIDTH, HEIGHT, &mut image),
        _ => return decode_bc(format, blocks),
    };
    decoded.expect("valid blocks");
    // The decoder returns BGRA.
    image.iter().map(|texel| texel.to_le_bytes()).map(|[b, g, r, a]| [r, g, b, a]).collect()
}

fn decode_bc(format: GpuFormat, blocks: &[u8]) -> Vec<[u8; 4]> {
    let mut image = vec![[0, 0, 0, 255]; WIDTH * HEIGHT];
    for (number, block) in blocks.chunks_exact(format.block_len() as usize).enumerate() {
        let mut texels = [0; 64];
        let channels = match format {
            GpuFormat::Bc1 => {
                bcdec_rs::bc1(block, &mut texels, 16);
                4
            }
            GpuFormat::Bc3 => {
                bcdec_rs::bc3(block, &mut texels, 16);
                4
            }
            GpuFormat::Bc4 => {
                bcdec_rs::bc4(block, &mut texels, 4, false);
                1
            }
            GpuFormat::Bc5 => {
                bcdec_rs::bc5(block, &mut texels, 8, false);
                2
            }
            _ => {
                bcdec_rs::bc7(block, &mut texels, 16);
                4
            }
        };
        for (n, texel) in texels.chunks_exact(channels).take(16).enumerate() {
            let (x, y) = (number % WIDTH.div_ceil(4) * 4 + n % 4, number / WIDTH.div_ceil(4) * 4 + n / 4);
            if x < WIDTH && y < HEIGHT {
                image[y * WIDTH + x][..channels].copy_from_slice(texel);
            }
        }
    }
    image
}

/// Compares the first channels of a bitmap with the source.
fn check(bitmap: &Bitmap, channels: usize, source: &[u8], source_channels: usize) {
    for (texel, source) in decode(bitmap).iter().zip(source.chunks_exact(source_channels)) {
        for (a, b) in texel.iter().zip(source).take(channels) {
            assert!(a.abs_diff(*b) <= 12, "{:?}: {texel:?}, not {source:?}", bitmap.gpu_format());
        }
    }
}

/// Bakes one bitmap of an RGB, an RGBA or a gray source.
fn bake(source_channels: usize, settings: &str) -> (Project, PakBuf) {
    let project = Project::new();
    project.png("art/a.png", WIDTH as u32, source_channels, &texels(source_channels));
    project.put("art/x.toml", format!("[bitmap]\nsrc = 'a.png'\n{settings}\n"));
    let pak = project.open();
    (project, pak)
}

#[test]
fn formats_decode_to_the_source() {
    use BitmapFormat::{R, Rg, Rgb, Rgba};
    for (source, settings, format, transfer, channels, number) in [
        (3, "compression = 'bc1'", GpuFormat::Bc1, Transfer::Srgb, Rgb, 134),
        (4, "compression = 'bc3'", GpuFormat::Bc3, Transfer::Srgb, Rgba, 138),
        (3, "compression = 'bc7'", GpuFormat::Bc7, Transfer::Srgb, Rgb, 146),
        (3, "compression = 'etc2'", GpuFormat::Etc2Rgb, Transfer::Srgb, Rgb, 148),
        (4, "compression = 'etc2'", GpuFormat::Etc2Rgba, Transfer::Srgb, Rgba, 152),
        (3, "compression = 'astc-4x4'", GpuFormat::Astc4x4, Transfer::Srgb, Rgb, 158),
        (4, "compression = 'mobile'", GpuFormat::Astc4x4, Transfer::Srgb, Rgba, 158),
        (3, "compression = 'desktop'", GpuFormat::Bc7, Transfer::Srgb, Rgb, 146),
        (1, "compression = 'desktop'\ncolor = 'linear'", GpuFormat::Bc4, Transfer::Linear, R, 139),
        (1, "compression = 'bc4'\ncolor = 'linear'", GpuFormat::Bc4, Transfer::Linear, R, 139),
        (1, "compression = 'etc2'\ncolor = 'linear'", GpuFormat::EacR11, Transfer::Linear, R, 153),
        (
            3,
            "compression = 'bc5'\ncolor = 'linear'\nswizzle = 'rg'",
            GpuFormat::Bc5,
            Transfer::Linear,
            Rg,
            141,
        ),
    ] {
        let (_project, pak) = bake(source, &format!("{settings}\nmip-levels = true"));
        let bitmap = pak.read_bitmap("art/x").unwrap();
        assert_eq!((bitmap.gpu_format(), bitmap.transfer()), (Some(format), transfer), "{settings}");
        assert_eq!((bitmap.format(), bitmap.sample()), (channels, Sample::U8), "{settings}");
        assert_eq!(format.vk_format(transfer), number, "{settings}");
        // The independent decoder has the selectors of alpha for R11, where the specification has others.
        if format != GpuFormat::EacR11 {
            check(&bitmap, channels.channels(), &texels(source), source);
        }
        // 14×10, 7×5, 3×2, 1×1.
        assert_eq!(bitmap.mip_levels(), 4);
        let (size, block) = bitmap.gpu_level(3).unwrap();
        assert_eq!((size, block.len() as u64), ((1, 1), format.block_len()));
        assert_eq!(bitmap.gpu_level(4), None);
        assert!(bitmap.ktx2().unwrap().as_ptr_range().contains(&bitmap.gpu_level(1).unwrap().1.as_ptr()));
    }
}

#[test]
fn universal_is_uastc_without_levels_for_the_gpu() {
    let (_project, pak) = bake(3, "compression = 'universal'");
    let universal = pak.read_bitmap("art/x").unwrap();
    let (_project, pak) = bake(3, "compression = 'uastc'");
    assert_eq!(universal.ktx2(), pak.read_bitmap("art/x").unwrap().ktx2());
    assert!(matches!(universal.gpu_format(), Some(GpuFormat::Uastc { .. })));
    assert_eq!(universal.gpu_level(0), None);
    assert_eq!(pak.read_bitmap("art/a.png").unwrap().gpu_format(), None);
}

/// The role of an image decides the format of a target: normal maps, parameters and colors of materials.
#[test]
fn desktop_follows_the_roles_of_materials() {
    let project = Project::new();
    project.png("src/a.png", WIDTH as u32, 3, &texels(3));
    project.png("src/gray.png", WIDTH as u32, 1, &texels(1));
    project.put("src/a.toml", "[bitmap]\ncompression = 'desktop'\n");
    let image = |name: &str| format!("{{ src = '/src/{name}.png', compression = 'desktop' }}");
    project.put(
        "art/m.toml",
        format!(
            "[material]\ncolor = '/src/a.toml'\nnormal = '/src/a.toml'\nemissive = {}\nrough = {}\nmetal = 1.0\n",
            image("a"),
            image("gray")
        ),
    );
    let pak = project.open();
    let material = pak.read_material("art/m").unwrap();
    let read = |id| pak.read_bitmap_id(id).unwrap();
    let (color, normal) = (read(material.color), read(material.normal.unwrap()));
    assert_eq!((color.gpu_format(), normal.gpu_format()), (Some(GpuFormat::Bc7), Some(GpuFormat::Bc5)));
    assert_eq!((color.transfer(), normal.transfer()), (Transfer::Srgb, Transfer::Linear));
    assert_eq!(normal.format(), BitmapFormat::Rg);
    assert_eq!(read(material.emissive.unwrap()).gpu_format(), Some(GpuFormat::Bc7));
    let params = read(material.params.unwrap());
    assert_eq!((params.gpu_format(), params.transfer()), (Some(GpuFormat::Bc7), Transfer::Linear));
    for ([metal, rough, height, transmission], gray) in decode(&params).into_iter().zip(texels(1)) {
        assert!(metal >= 253 && rough.abs_diff(gray) < 6 && height < 3 && transmission < 3);
    }
    project.put(
        "art/m.toml",
        format!(
            "[material]\nrough = {}\nmetal = {{ src = '/src/a.png', compression = 'bc3' }}\n",
            image("gray")
        ),
    );
    let error = project.error();
    assert!(error.contains("the compressions \"bc3\" and \"desktop\""), "{error}");
}

#[test]
fn hdr_images_become_bc6h_or_half_floats() {
    let project = Project::new();
    let mut hdr = format!("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {HEIGHT} +X {WIDTH}\n").into_bytes();
    // RGBE with the exponent 2^(130 - 128) / 256: values from 0.6 to 4.
    hdr.extend((0..WIDTH * HEIGHT).flat_map(|n| [100 + n as u8, 60 + (n / WIDTH) as u8 * 12, 90, 130]));
    project.put("art/sky.hdr", &hdr);
    let expected = |n: usize| [100 + n, 60 + n / WIDTH * 12, 90].map(|mantissa| mantissa as f32 / 64.0);
    for (compression, format) in [
        ("bc6h", GpuFormat::Bc6h),
        ("desktop", GpuFormat::Bc6h),
        ("mobile", GpuFormat::Rgba16F),
        ("universal", GpuFormat::Rgba16F),
    ] {
        let text = format!("[bitmap]\nsrc = 'sky.hdr'\nmip-levels = true\ncompression = '{compression}'\n");
        project.put("art/x.toml", text);
        let pak = project.open();
        let bitmap = pak.read_bitmap("art/x").unwrap();
        assert_eq!((bitmap.gpu_format(), bitmap.transfer()), (Some(format), Transfer::Linear));
        assert_eq!((bitmap.sample(), bitmap.mip_levels()), (Sample::F32, 4));
        let (_, bytes) = bitmap.gpu_level(0).unwrap();
        for (number, block) in bytes.chunks_exact(format.block_len() as usize).enumerate() {
            let mut floats = [0.0; 48];
            let side = format.block_side() as usize;
            match format {
                GpuFormat::Bc6h => bcdec_rs::bc6h_float(block, &mut floats, 12, false),
                _ => {
                    let half = |n: usize| half::f16::from_le_bytes([block[2 * n], block[2 * n + 1]]);
                    floats[..3].copy_from_slice(&[0, 1, 2].map(|n| half(n).to_f32()));
                }
            }
            let wide = WIDTH.div_ceil(side);
            for n in 0..side * side {
                let (x, y) = (number % wide * side + n % side, number / wide * side + n / side);
                if x < WIDTH && y < HEIGHT {
                    for (a, b) in floats[3 * n..3 * n + 3].iter().zip(expected(y * WIDTH + x)) {
                        assert!((a - b).abs() < 0.06 * b, "{compression} {x},{y}: {a}, not {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn unsuitable_formats_are_errors() {
    let project = Project::new();
    project.png("src/a.png", WIDTH as u32, 3, &texels(3));
    project.put("src/sky.hdr", b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\n\x40\x80\x20\x82");
    for (text, expected) in [
        (
            "[bitmap]\nsrc = '/src/a.png'\ncompression = 'bc4'",
            "x.toml:3:15: bitmap.compression: BC4 holds one channel; this is an sRGB color image",
        ),
        (
            "[bitmap]\nsrc = '/src/a.png'\ncompression = 'bc6h'\ncolor = 'linear'",
            "BC6H holds HDR images (.hdr, .exr); this is not an HDR image",
        ),
        (
            "[bitmap]\nsrc = '/src/a.png'\ncompression = 'bc5'\ncolor = 'linear'",
            "BC5 holds two channels; the bitmap has 3",
        ),
        (
            "[bitmap]\nsrc = '/src/a.png'\ncompression = 'desktop'\ndepth = 16",
            "a block format supports 8 bits per channel only",
        ),
        ("[bitmap]\nsrc = '/src/sky.hdr'\ncompression = 'bc3'", "BC3 supports 8 bits per channel only"),
        ("[bitmap]\nsrc = '/src/sky.hdr'\ncompression = 'bc6h'\ndepth = 8", "remove depth"),
        ("[bitmap]\nsrc = '/src/a.png'\ncompression = 'bc2'", "did you mean \"bc1\"?"),
        (
            "[material]\nnormal = { src = '/src/a.png', compression = 'bc1' }",
            "BC1 holds colours with 5 and 6 bits; this is a normal map",
        ),
        (
            "[material]\nrough = { src = '/src/a.png', compression = 'bc4' }",
            "the parameters of a material, which are one bitmap",
        ),
    ] {
        project.put("art/x.toml", text);
        let error = project.error();
        assert!(error.contains(expected), "{text}\n{error}");
    }
    project.png("src/soft.png", WIDTH as u32, 4, &texels(4));
    project.put("art/x.toml", "[bitmap]\nsrc = '/src/soft.png'\ncompression = 'bc1'");
    let warnings: String = project.bake().unwrap().warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.contains("texture-alpha") && warnings.contains("BC1 stores one bit"), "{warnings}");
}
