//! Textures of the executable, decoded by independent implementations: the `ktx2` parser for the container, `basisu` for
//! UASTC (with a Zstandard decoder of its own), `bcdec` for BC7, `zstd` for uncompressed levels.

mod channel_packing;
mod large;
mod layers;
mod precompressed;
mod quality_targets;
mod read;
mod roles;
mod size_target;
mod targets;

use crate::project::{Project, png, test_image};
use basisu::{DecodeFlags, TargetFormat, Transcoder};
use layers::FACES;
use read::{LINEAR, SRGB, Texture, psnr};
use std::path::Path;

#[path = "../../../import/tests/support/mod.rs"]
mod images;

/// A synthetic texture with smooth shading, soft shapes and grain.
fn painted(width: u32, height: u32, alpha: bool) -> Vec<u8> {
    let texel = |i: u32| {
        let (x, y) = (f64::from(i % width), f64::from(i / width));
        let grain = f64::from(i.wrapping_mul(0x9E37_79B1) >> 29);
        let shade = 100.0 + 80.0 * libm::sin(x * 0.05) * libm::cos(y * 0.04);
        let warm = 20.0 * libm::sin(x * 0.11 + y * 0.07);
        let a = if alpha { 128.0 + 127.0 * libm::sin(x * 0.06 + y * 0.02) } else { 255.0 };
        [shade + warm + grain, shade + grain, shade - warm + grain, a].map(|v| v as u8)
    };
    (0..width * height).flat_map(texel).collect()
}

/// A synthetic normal map of a bumpy surface.
fn bumpy(width: u32, height: u32) -> Vec<u8> {
    let texel = |i: u32| {
        let (x, y) = (f64::from(i % width), f64::from(i / width));
        let (nx, ny) = (0.5 * libm::sin(x * 0.2), 0.4 * libm::cos(y * 0.15 + x * 0.05));
        let nz = (1.0 - nx * nx - ny * ny).sqrt();
        [nx, ny, nz].map(|v| (v * 127.5 + 127.5).round() as u8)
    };
    (0..width * height)
        .flat_map(|i| {
            let [r, g, b] = texel(i);
            [r, g, b, 255]
        })
        .collect()
}

fn rgba(width: u32, height: u32, texels: &[u8]) -> Vec<u8> {
    png(width, height, png::ColorType::Rgba, texels)
}

#[test]
fn colour_textures_exceed_psnr_bounds() {
    let p = Project::new();
    let (opaque, clear) = (painted(96, 64, false), painted(96, 64, true));
    p.write("assets/opaque.png", rgba(96, 64, &opaque)).write("assets/clear.png", rgba(96, 64, &clear));
    p.run(&["-q", "--verify"]).expect(0);
    for (name, source, channel, bound) in [("opaque", opaque, 0, 46.0), ("clear", clear, 3, 41.0)] {
        let texture = Texture::open(&p, &format!("runtime/{name}.ktx2"));
        assert_eq!((texture.vk_format(), texture.zstd(), texture.size()), (0, true, (96, 64, 7)));
        assert_eq!((texture.transfer, texture.channel), (SRGB, channel));
        assert_eq!(texture.header.type_size, 1);
        assert_eq!(Transcoder::new(&texture.bytes).unwrap().has_alpha(), channel == 3);
        let decoded = texture.decode(0, 0, 0);
        let quality = psnr(&decoded, &source, &[0, 1, 2, 3]);
        assert!(quality > bound, "{name}: {quality:.1} dB");
        if channel == 0 {
            assert!(decoded.chunks_exact(4).all(|texel| texel[3] == 255));
        }
    }
}

#[test]
fn encodes_bc7() {
    let p = Project::new();
    p.write(
        "assetc.yml",
        "presets:\n  desktop: {texture: {format: bc7}}\n  both: {texture: {format: bc7, rdo: 1}}\n",
    );
    let (opaque, clear, normals) = (painted(90, 62, false), painted(90, 62, true), bumpy(90, 62));
    p.write("assets/opaque.png", rgba(90, 62, &opaque)).write("assets/clear.png", rgba(90, 62, &clear));
    p.write("assets/wall.n.png", rgba(90, 62, &normals));
    for face in FACES {
        p.write(&format!("assets/sky.env/{face}.png"), test_image(20, 20, 1));
    }
    for layer in ["0", "1"] {
        p.write(&format!("assets/tiles.array/{layer}.png"), test_image(12, 8, 1));
    }
    p.run(&["-q", "--verify"]).expect(0);
    let uastc = Texture::open(&p, "runtime/opaque.ktx2");
    assert_eq!(uastc.vk_format(), 0);
    p.run(&["-q", "--verify", "--preset", "desktop"]).expect(0);
    for (name, source, format, transfer, channels, bound) in [
        ("opaque", &opaque, 146, SRGB, &[0, 1, 2][..], 46.0),
        ("clear", &clear, 146, SRGB, &[0, 1, 2, 3], 41.0),
        ("wall.n", &normals, 145, LINEAR, &[0, 1], 42.0),
    ] {
        let texture = Texture::open(&p, &format!("runtime/{name}.ktx2"));
        assert_eq!(
            (texture.vk_format(), texture.zstd(), texture.size()),
            (format, true, (90, 62, 7)),
            "{name}"
        );
        assert_eq!((texture.transfer, texture.header.type_size), (transfer, 1));
        let reader = ktx2::Reader::new(&texture.bytes).unwrap();
        let (mut expected, _) = ktx2::dfd::Basic::from_format(reader.header().format.unwrap()).unwrap();
        expected.color_primaries = reader.color_primaries();
        assert_eq!(reader.basic_dfd(), Some(&expected), "the descriptor that another implementation makes");
        let quality = psnr(&texture.decode_bc7(0, 0), source, channels);
        assert!(quality > bound, "{name}: {quality:.1} dB");
    }
    // The colours of UASTC are as good; a direct block is better than a transcoded one.
    let texture = Texture::open(&p, "runtime/opaque.ktx2");
    let transcoded = Transcoder::new(&uastc.bytes).unwrap();
    let transcoded = transcoded.transcode_image(0, 0, 0, TargetFormat::Bc7Rgba, DecodeFlags::NONE).unwrap();
    let transcoded = Texture { levels: vec![transcoded], ..uastc };
    let channels = [0, 1, 2];
    assert!(
        psnr(&texture.decode_bc7(0, 0), &opaque, &channels)
            > psnr(&transcoded.decode_bc7(0, 0), &opaque, &channels)
    );

    let sky = Texture::open(&p, "runtime/sky.env.ktx2");
    assert_eq!((sky.vk_format(), sky.header.face_count), (146, 6));
    let tiles = Texture::open(&p, "runtime/tiles.arr.ktx2");
    assert_eq!((tiles.vk_format(), tiles.header.layer_count), (146, 2));
    assert_eq!(tiles.decode_bc7(0, 0), tiles.decode_bc7(0, 1));
    let reported = p.run(&["info", "runtime"]).expect(0).stdout;
    assert!(reported.contains("90x62 | 2D | BC7_SRGB_BLOCK | 7 mip levels"), "{reported}");

    // An opaque image is opaque in every texel, with RDO, too.
    let plain = p.read("runtime/opaque.ktx2").len();
    p.run(&["-q", "--preset", "both"]).expect(0);
    let rdo = Texture::open(&p, "runtime/opaque.ktx2");
    assert!(p.read("runtime/opaque.ktx2").len() < plain);
    for texture in [texture, rdo] {
        assert!(texture.decode_bc7(0, 0).chunks_exact(4).all(|texel| texel[3] == 255));
        assert!(psnr(&texture.decode_bc7(0, 0), &opaque, &channels) > 38.0);
    }
}

#[test]
fn normal_and_greyscale_textures_are_swizzled_and_linear() {
    let p = Project::new();
    let normals = bumpy(64, 64);
    let grey: Vec<u8> = painted(64, 64, false).chunks_exact(4).map(|texel| texel[0]).collect();
    p.write("assets/wall.n.png", rgba(64, 64, &normals));
    for marker in ["ao", "h", "r"] {
        p.write(&format!("assets/wall.{marker}.png"), png(64, 64, png::ColorType::Grayscale, &grey));
    }
    p.run(&["-q"]).expect(0);

    let texture = Texture::open(&p, "runtime/wall.n.ktx2");
    assert_eq!((texture.vk_format(), texture.transfer, texture.channel), (0, LINEAR, 0));
    for level in 0..texture.header.level_count {
        let decoded = texture.decode(level, 0, 0);
        assert!(
            decoded.chunks_exact(4).all(|texel| texel[2] <= 1 && texel[3] == 255),
            "rg01 in level {level}"
        );
    }
    let quality = psnr(&texture.decode(0, 0, 0), &normals, &[0, 1]);
    assert!(quality > 42.0, "{quality:.1} dB");

    let wanted: Vec<u8> = grey.iter().flat_map(|v| [*v, 0, 0, 255]).collect();
    for marker in ["ao", "h", "r"] {
        let texture = Texture::open(&p, &format!("runtime/wall.{marker}.ktx2"));
        assert_eq!((texture.vk_format(), texture.transfer, texture.channel), (0, LINEAR, 0));
        let decoded = texture.decode(0, 0, 0);
        assert!(decoded.chunks_exact(4).all(|t| t[1] <= 1 && t[2] <= 1 && t[3] == 255), "r001");
        let quality = psnr(&decoded, &wanted, &[0]);
        assert!(quality > 54.0, "{marker}: {quality:.1} dB");
    }
}

#[test]
fn uncompressed_textures_are_pixel_exact() {
    let p = Project::new();
    p.write("assetc.yml", "default: {texture: {compress: false, supercompress: none}}\n");
    let texels = painted(13, 9, true);
    for name in ["a", "a.n", "a.ao", "a.h", "a.r"] {
        p.write(&format!("assets/{name}.png"), rgba(13, 9, &texels));
    }
    p.run(&["-q"]).expect(0);
    for (name, vk_format, transfer) in
        [("a", 43, SRGB), ("a.n", 37, LINEAR), ("a.ao", 37, LINEAR), ("a.h", 37, LINEAR), ("a.r", 37, LINEAR)]
    {
        let texture = Texture::open(&p, &format!("runtime/{name}.ktx2"));
        // Uncompressed texels are always supercompressed.
        assert_eq!((texture.vk_format(), texture.zstd(), texture.transfer), (vk_format, true, transfer));
        assert_eq!(texture.size(), (13, 9, 4));
        assert_eq!(texture.levels[0], texels, "{name}");
    }
    // The data format descriptor equals that of an independent implementation.
    for name in ["a", "a.n"] {
        let bytes = p.read(&format!("runtime/{name}.ktx2"));
        let reader = ktx2::Reader::new(&bytes).unwrap();
        let (mut expected, type_size) =
            ktx2::dfd::Basic::from_format(reader.header().format.unwrap()).unwrap();
        expected.color_primaries = reader.color_primaries();
        assert_eq!(reader.basic_dfd(), Some(&expected));
        assert_eq!(reader.header().type_size, type_size);
    }
}

#[test]
fn mip_count_and_max_size_follow_settings() {
    let p = Project::new();
    let rules = [("none", "mips: false"), ("two", "mips: 2"), ("many", "mips: 32"), ("fit", "max_size: 10")];
    let mut config = "default:\n  rules:\n".to_owned();
    for (name, setting) in rules {
        config += &format!("    - match: \"{name}/*\"\n      texture: {{{setting}}}\n");
    }
    p.write("assetc.yml", config);
    for (name, _) in rules.iter().chain(&[("full", "")]) {
        for (w, h) in [(1, 1), (5, 3), (40, 20), (1, 33)] {
            p.write(&format!("assets/{name}/{w}x{h}.png"), test_image(w, h, 1));
        }
    }
    p.run(&["-q", "--verify"]).expect(0);
    let size = |path: &str| Texture::new(p.read(&format!("runtime/{path}.ktx2"))).size();
    for (name, expected) in [
        ("full", [(1, 1, 1), (5, 3, 3), (40, 20, 6), (1, 33, 6)]),
        ("none", [(1, 1, 1), (5, 3, 1), (40, 20, 1), (1, 33, 1)]),
        ("two", [(1, 1, 1), (5, 3, 2), (40, 20, 2), (1, 33, 2)]),
        ("many", [(1, 1, 1), (5, 3, 3), (40, 20, 6), (1, 33, 6)]),
        ("fit", [(1, 1, 1), (5, 3, 3), (10, 5, 4), (1, 10, 4)]),
    ] {
        let found = ["1x1", "5x3", "40x20", "1x33"].map(|file| size(&format!("{name}/{file}")));
        assert_eq!(found, expected, "{name}");
    }
    p.run(&["check"]).expect(0);
    // A texture of one texel.
    let texture = Texture::new(p.read("runtime/full/1x1.ktx2"));
    let wanted = [17, 18, 19, 255];
    assert!(psnr(&texture.decode(0, 0, 0), &wanted, &[0, 1, 2, 3]) > 42.0);
}

#[test]
fn levels_without_supercompression_are_aligned_blocks() {
    let p = Project::new();
    p.write("assetc.yml", "default: {texture: {supercompress: none}}\n");
    let texels = painted(21, 34, false);
    p.write("assets/a.png", rgba(21, 34, &texels));
    p.run(&["-q"]).expect(0);
    let texture = Texture::open(&p, "runtime/a.ktx2");
    assert_eq!((texture.zstd(), texture.size()), (false, (21, 34, 6)));
    assert!(psnr(&texture.decode(0, 0, 0), &texels, &[0, 1, 2]) > 40.0);
    // The same blocks as with Zstandard supercompression.
    p.remove("assetc.yml").run(&["-q"]).expect(0);
    let packed = Texture::open(&p, "runtime/a.ktx2");
    assert!(packed.zstd());
    assert_eq!(packed.levels, texture.levels);
}

#[test]
fn mips_are_filtered_in_linear_light_with_alpha_weighting() {
    let p = Project::new();
    p.write("assetc.yml", "default: {texture: {compress: false}}\n");
    let board = |odd: [u8; 4], even: [u8; 4]| -> Vec<u8> {
        (0..256).flat_map(|i| if (i % 16 + i / 16) % 2 == 0 { even } else { odd }).collect()
    };
    let grey = board([255; 4], [0, 0, 0, 255]);
    p.write("assets/a.png", rgba(16, 16, &grey)).write("assets/a.r.png", rgba(16, 16, &grey));
    p.write("assets/leaf.png", rgba(16, 16, &board([255, 0, 0, 0], [0, 200, 0, 255])));
    p.run(&["-q"]).expect(0);
    // At the clamped edges the checkerboard is not quite balanced.
    const EDGE: u8 = 8;
    // Half of the linear intensity is 188 in sRGB; data textures are averaged directly.
    for (path, mean) in [("a", 188u8), ("a.r", 128)] {
        let texture = Texture::open(&p, &format!("runtime/{path}.ktx2"));
        for level in &texture.levels[1..] {
            assert!(
                level.chunks_exact(4).all(|t| t[0].abs_diff(mean) <= EDGE && t[3] == 255),
                "{path}: {level:?}"
            );
        }
    }
    // Transparent texels do not contribute colour.
    for level in &Texture::open(&p, "runtime/leaf.ktx2").levels[1..] {
        let right = |t: &[u8]| t[0] <= 1 && t[1].abs_diff(200) <= 1 && t[3].abs_diff(128) <= EDGE;
        assert!(level.chunks_exact(4).all(right), "{level:?}");
    }
}

#[test]
fn decodes_every_png_colour_type() {
    use images::{Noise, Png};
    let p = Project::new();
    p.write("assetc.yml", "default: {texture: {compress: false, mips: false}}\n");
    let types: [(u8, &[u8]); 5] =
        [(0, &[1, 2, 4, 8, 16]), (2, &[8, 16]), (3, &[1, 2, 4, 8]), (4, &[8, 16]), (6, &[8, 16])];
    let mut expected = Vec::new();
    for (colour, depths) in types {
        for &depth in depths {
            for (interlaced, keyed) in [(false, false), (true, false), (false, true), (true, true)] {
                if keyed && colour >= 4 {
                    continue;
                }
                let mut noise = Noise(u64::from(colour) << 8 | u64::from(depth));
                let bound = if colour == 3 { (1usize << depth).min(200) } else { 1 << depth };
                let mut png = Png {
                    width: 13,
                    height: 7,
                    colour,
                    depth,
                    interlaced,
                    palette: vec![],
                    trns: None,
                    samples: vec![],
                };
                png.samples = (0..13 * 7 * png.channels()).map(|_| noise.below(bound) as u16).collect();
                if colour == 3 {
                    png.palette = (0..bound).map(|_| std::array::from_fn(|_| noise.next() as u8)).collect();
                }
                if keyed {
                    png.trns = Some(match colour {
                        3 => (0..bound.div_ceil(2)).map(|_| noise.below(256) as u16).collect(),
                        _ => png.samples[..png.channels()].to_vec(),
                    });
                }
                let name = format!("{colour}-{depth}-{interlaced}-{keyed}");
                p.write(&format!("assets/{name}.png"), png.bytes());
                let eight = |v: u16| match depth {
                    16 => ((u32::from(v) * 255 + 32767) / 65535) as u8,
                    _ => v as u8,
                };
                expected.push((name, png.rgba().into_iter().map(eight).collect::<Vec<u8>>()));
            }
        }
    }
    assert_eq!(expected.len(), 52);
    p.run(&["-q", "--verify"]).expect(0);
    for (name, texels) in expected {
        let texture = Texture::new(p.read(&format!("runtime/{name}.ktx2")));
        assert_eq!(texture.levels, [texels], "{name}");
    }
}

#[test]
fn decodes_other_image_formats() {
    let p = Project::new();
    p.write("assetc.yml", "default: {texture: {compress: false, mips: false}}\n");
    let lossless = ["rgb.bmp", "palette.bmp", "rgb.tga", "rgba.tga", "rgba-rle.tga", "rgb.webp", "rgba.webp"];
    let lossy = ["rgb.jpg", "progressive.jpg", "lossy.webp"];
    let stem = |name: &str| name.replace('.', "_");
    for name in lossless.iter().chain(&lossy) {
        let path = format!("assets/{}.{}", stem(name), images::extension(name).to_uppercase());
        p.write(&path, images::file(name));
    }
    p.write("assets/jpeg.n.jpeg", images::file("rgb.jpg"));
    p.run(&["-q", "--verify"]).expect(0);
    // As the README beside these images documents.
    let ramp = |x: u32, y: u32, opaque: bool| {
        let alpha = if opaque { 255 } else { 255 - x * 40 };
        [x * 50, y * 100, (x + y) * 20, alpha].map(|v| v as u8)
    };
    for name in lossless {
        let opaque = !name.starts_with("rgba");
        let texels: Vec<u8> = (0..15).flat_map(|i| ramp(i % 5, i / 5, opaque)).collect();
        let texture = Texture::new(p.read(&format!("runtime/{}.ktx2", stem(name))));
        assert_eq!(texture.levels, [texels], "{name}");
    }
    let colours = [[200, 40, 30], [40, 180, 60], [30, 60, 220], [230, 220, 90u8]];
    for name in lossy {
        let texture = Texture::new(p.read(&format!("runtime/{}.ktx2", stem(name))));
        assert_eq!(texture.size(), (32, 32, 1), "{name}");
        for (i, colour) in colours.iter().enumerate() {
            let texel = &texture.levels[0][((i / 2 * 16 + 8) * 32 + i % 2 * 16 + 8) * 4..][..3];
            assert!(texel.iter().zip(colour).all(|(a, b)| a.abs_diff(*b) <= 6), "{name}: {texel:?}");
        }
    }
    assert_eq!(Texture::new(p.read("runtime/jpeg.n.ktx2")).vk_format(), 37);
}

/// A PNG of the showcase as RGBA.
fn source(path: &Path) -> Vec<u8> {
    let mut decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(path).unwrap()));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().unwrap();
    let mut samples = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut samples).unwrap();
    match reader.output_color_type().0.samples() {
        1 => samples.iter().flat_map(|&v| [v, v, v, 255]).collect(),
        2 => samples.chunks_exact(2).flat_map(|t| [t[0], t[0], t[0], t[1]]).collect(),
        3 => samples.chunks_exact(3).flat_map(|t| [t[0], t[1], t[2], 255]).collect(),
        _ => samples,
    }
}

#[test]
fn showcase_exceeds_psnr_bounds() {
    let showcase = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/showcase");
    let p = Project::new();
    let (dir, out) = (showcase.to_str().unwrap(), p.path("out"));
    let (out, build) = (out.to_str().unwrap(), ["-q", "--verify"]);
    p.run(&[&["-C", dir, "-o", out][..], &build].concat()).expect(0);
    p.run(&["-C", dir, "-o", out, "check"]).expect(0);
    for (name, channels, bound) in [
        ("textures/bricks", &[0, 1, 2][..], 45.5),
        ("textures/bricks.n", &[0, 1], 35.5),
        ("textures/bricks.ao", &[0], 48.0),
        ("textures/bricks.h", &[0], 52.0),
        ("textures/plating", &[0, 1, 2], 45.5),
        ("textures/plating.n", &[0, 1], 39.0),
        ("foliage/sprig", &[3], 41.0),
        ("ui/atlas", &[0, 1, 2, 3], f64::INFINITY),
        ("ui/icons", &[0, 1, 2, 3], f64::INFINITY),
    ] {
        let texels = source(&showcase.join(format!("assets/{name}.png")));
        let texture = Texture::new(p.read(&format!("out/{name}.ktx2")));
        if bound.is_finite() {
            let quality = psnr(&texture.decode(0, 0, 0), &texels, channels);
            assert!(quality > bound, "{name}: {quality:.1} dB");
        } else {
            assert_eq!(texture.levels[0], texels, "{name}");
        }
    }
}
