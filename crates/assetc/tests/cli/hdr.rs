//! HDR images with the executable: RGBA16F textures, cubemaps from equirectangular panoramas, and errors.

use crate::project::Project;

/// A Radiance HDR image without RLE; a texel is three mantissas and a shared exponent (RGBE).
pub(crate) fn radiance(width: u32, height: u32, texel: impl Fn(u32, u32) -> [u8; 4]) -> Vec<u8> {
    let mut bytes = format!("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {height} +X {width}\n").into_bytes();
    (0..width * height).for_each(|i| bytes.extend(texel(i % width, i / width)));
    bytes
}

/// Returns format, width, level count, face count and the decompressed levels, by an independent reader.
fn texture(p: &Project, path: &str) -> (u32, u32, u32, u32, Vec<Vec<u8>>) {
    let bytes = p.read(path);
    let reader = ktx2::Reader::new(&bytes).unwrap();
    let header = reader.header();
    let levels = reader.levels().map(|level| {
        let len = level.uncompressed_byte_length as usize;
        match header.supercompression_scheme {
            Some(_) => zstd::bulk::decompress(level.data, len).unwrap(),
            None => level.data.to_vec(),
        }
    });
    let format = header.format.map_or(0, |format| format.value());
    (format, header.pixel_width, header.level_count, header.face_count, levels.collect())
}

/// The value of `VK_FORMAT_R16G16B16A16_SFLOAT`.
const RGBA16F: u32 = 97;
/// 1.0, 0.5, 4.0 in binary16.
const TEXEL: [u8; 8] = [0x00, 0x3c, 0x00, 0x38, 0x00, 0x44, 0x00, 0x3c];

#[test]
fn hdr_image_compiles_to_rgba16f() {
    let p = Project::new();
    p.write("assets/lamp.hdr", radiance(6, 4, |_, _| [32, 16, 128, 131]));
    p.run(&["--verify", "--pack"]).expect(0);
    p.run(&["check"]).expect(0);
    let (format, width, level_count, faces, levels) = texture(&p, "runtime/lamp.ktx2");
    assert_eq!((format, width, level_count, faces), (RGBA16F, 6, 3, 1));
    for level in &levels {
        assert!(level.chunks_exact(8).all(|texel| texel == TEXEL), "{level:?}");
    }
    let shown = p.run(&["info"]).expect(0).stdout;
    assert!(shown.contains("lamp.ktx2"), "{shown}");
    assert_eq!(p.build(), (0, 1));
    p.write("assetc.yml", "default: {texture: {mips: false, max_size: 3, supercompress: none}}\n").build();
    let (_, width, level_count, ..) = texture(&p, "runtime/lamp.ktx2");
    assert_eq!((width, level_count), (3, 1));
}

#[test]
fn panorama_compiles_to_cubemap_and_irradiance() {
    let p = Project::new();
    // The upper hemisphere is bright and the lower one black.
    let sky = radiance(64, 32, |_, y| if y < 16 { [32, 16, 128, 131] } else { [0; 4] });
    p.write("assets/sky/day.env.hdr", sky);
    p.run(&["--verify"]).expect(0);
    let (format, width, level_count, faces, levels) = texture(&p, "runtime/sky/day.env.ktx2");
    assert_eq!((format, width, level_count, faces), (RGBA16F, 16, 5, 6));
    let face = |n: usize| &levels[0][n * 16 * 16 * 8..][..16 * 16 * 8];
    assert!(face(2).chunks_exact(8).all(|texel| texel == TEXEL), "+Y is up");
    assert!(face(3).chunks_exact(8).all(|texel| texel[..6] == [0; 6]), "-Y is down");
    assert!(!p.exists("runtime/sky/day.irr.ktx2"));

    p.write("assetc.yml", "default: {environment: {specular: true, irradiance: true, size: 32}}\n");
    p.run(&["--verify"]).expect(0);
    p.run(&["check"]).expect(0);
    let (format, width, level_count, faces, levels) = texture(&p, "runtime/sky/day.env.ktx2");
    assert_eq!((format, width, level_count, faces), (RGBA16F, 32, 4, 6));
    // Higher roughness blends more of the lower hemisphere into the horizon; +Y of the last level is still the brightest.
    let last = &levels[3];
    let red = |n: usize| u16::from_le_bytes(last[n * 4 * 4 * 8 + 40..][..2].try_into().unwrap());
    assert!(red(2) > red(0) && red(0) > red(3), "{} {} {}", red(2), red(0), red(3));
    let (format, width, level_count, faces, _) = texture(&p, "runtime/sky/day.irr.ktx2");
    assert_eq!((format, width, level_count, faces), (RGBA16F, 32, 1, 6));
    // Without the setting the irradiance map is removed.
    p.remove("assetc.yml").build();
    assert!(!p.exists("runtime/sky/day.irr.ktx2"));
}

#[test]
fn broken_hdr_image_fails_alone() {
    let p = Project::new();
    let good = radiance(6, 4, |_, _| [32, 16, 128, 131]);
    p.write("assets/good.hdr", &good)
        .write("assets/cut.hdr", &good[..good.len() - 5])
        .write("assets/no.exr", b"not an image")
        .write("assets/half.exr", b"\x76\x2f\x31\x01\x02\0\0\0channels")
        .write("assets/square.env.hdr", radiance(4, 4, |_, _| [1, 1, 2, 128]));
    let ran = p.run(&["--verify"]).expect(1);
    for line in [
        "error[image-truncated]: cut.hdr",
        "error[image-unknown]: no.exr",
        "]: half.exr",
        "error[environment-shape]: square.env.hdr",
    ] {
        assert!(ran.stderr.contains(line), "{line}\n{}", ran.stderr);
    }
    assert!(p.exists("runtime/good.ktx2") && !p.exists("runtime/cut.ktx2") && !p.exists("runtime/half.ktx2"));
}

/// The values of `VK_FORMAT_BC6H_UFLOAT_BLOCK` and `VK_FORMAT_BC6H_SFLOAT_BLOCK`.
const BC6H: u32 = 143;

/// Returns a half float.
fn half(bytes: &[u8]) -> f32 {
    half::f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()
}

#[test]
fn environment_in_bc6h_is_an_eighth_of_rgba16f_at_every_mip_level() {
    let p = Project::new();
    // A bright sun on a gradient.
    let sky = radiance(256, 128, |x, y| {
        let sun = x.abs_diff(90) < 6 && y.abs_diff(30) < 6;
        if sun { [200, 190, 160, 138] } else { [60 + (y / 2) as u8, 90 + (x / 4) as u8, 150, 129] }
    });
    p.write("assets/day.env.hdr", sky);
    let settings = "environment: {specular: true, irradiance: true}";
    p.write("assetc.yml", format!("default: {{{settings}, texture: {{supercompress: none}}}}\n"));
    p.run(&["-q", "--verify"]).expect(0);
    let halves = ["runtime/day.env.ktx2", "runtime/day.irr.ktx2"].map(|path| texture(&p, path));
    for choice in ["target: desktop", "format: bc6h"] {
        p.write(
            "assetc.yml",
            format!("default: {{{settings}, texture: {{supercompress: none, {choice}}}}}\n"),
        );
        p.run(&["-q", "--verify"]).expect(0);
        p.run(&["check"]).expect(0);
        for (path, expected) in ["runtime/day.env.ktx2", "runtime/day.irr.ktx2"].into_iter().zip(&halves) {
            let found = texture(&p, path);
            assert_eq!((found.0, found.1, found.2, found.3), (BC6H, expected.1, expected.2, 6), "{path}");
            for (level, (blocks, halves)) in found.4.iter().zip(&expected.4).enumerate() {
                assert_eq!(blocks.len() * 8, halves.len(), "{path} level {level}");
                let side = (expected.1 >> level) as usize;
                let (mut squares, mut count) = (0.0, 0.0);
                for (n, block) in blocks.chunks_exact(16).enumerate() {
                    let mut decoded = [0.0; 48];
                    bcdec_rs::bc6h_float(block, &mut decoded, 12, false);
                    let (face, n) = (n / (side / 4).pow(2), n % (side / 4).pow(2));
                    for (i, texel) in decoded.chunks_exact(3).enumerate() {
                        let (x, y) = (n % (side / 4) * 4 + i % 4, n / (side / 4) * 4 + i / 4);
                        let at = ((face * side + y) * side + x) * 8;
                        let exact = [0, 2, 4].map(|c| half(&halves[at + c..]));
                        let brightest = exact.iter().fold(1e-3, |most: f32, value| most.max(*value));
                        for (found, exact) in texel.iter().zip(exact) {
                            squares += f64::from((found - exact) / brightest).powi(2);
                            count += 1.0;
                        }
                    }
                }
                let rms = (squares / count).sqrt();
                // The last level of the environment is one block for a whole face.
                let most = if side == 4 { 0.06 } else { 0.03 };
                assert!(rms < most, "{path} level {level}: {rms}");
            }
        }
    }
    let stats = p.run(&["--stats", "--json"]).expect(0).json();
    let rms = stats["stats"]["assets"][0]["error"]["relative_rms"].as_f64().unwrap();
    assert!(rms > 0.0 && rms < 0.03, "{rms}");
    p.run(&["extract", "runtime/day.env.ktx2", "-o", "face.exr"]).expect(0);
    p.run(&["report", "runtime", "-o", "report.html"]).expect(0);
}
