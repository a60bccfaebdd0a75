//! `texture.target` and `texture.format` with the executable: the format of every kind of image, its descriptor, its
//! texels by independent decoders, and what the commands say about it.

use super::layers::FACES;
use super::read::{LINEAR, SRGB, Texture, psnr};
use super::{bumpy, painted, rgba};
use crate::project::Project;

/// A project with colour with and without alpha, a normal map, a greyscale map, a cubemap and an array.
fn project() -> Project {
    let p = Project::new();
    p.write("assets/opaque.png", rgba(90, 62, &painted(90, 62, false)));
    p.write("assets/clear.png", rgba(90, 62, &painted(90, 62, true)));
    p.write("assets/wall.n.png", rgba(90, 62, &bumpy(90, 62)));
    p.write("assets/wall.h.png", rgba(90, 62, &painted(90, 62, false)));
    for face in FACES {
        p.write(&format!("assets/sky.env/{face}.png"), rgba(20, 20, &painted(20, 20, false)));
    }
    for layer in ["0", "1"] {
        p.write(&format!("assets/tiles.array/{layer}.png"), rgba(12, 8, &painted(12, 8, false)));
    }
    p
}

/// Decodes the base level of a texture of one image by an independent decoder.
fn decode(texture: &Texture) -> Vec<u8> {
    let (width, height, _) = texture.size();
    let (width, height) = (width as usize, height as usize);
    let (format, wide) = (texture.vk_format(), width.div_ceil(4));
    let len = if [139, 133, 134].contains(&format) { 8 } else { 16 };
    let mut out = vec![0; width * height * 4];
    for (n, block) in texture.levels[0].chunks_exact(len).enumerate() {
        let mut texels = [255; 64];
        match format {
            133 | 134 => bcdec_rs::bc1(block, &mut texels, 16),
            137 | 138 => bcdec_rs::bc3(block, &mut texels, 16),
            139 => {
                let mut red = [0; 16];
                bcdec_rs::bc4(block, &mut red, 4, false);
                red.iter().zip(texels.chunks_exact_mut(4)).for_each(|(red, texel)| texel[0] = *red);
            }
            141 => {
                let mut both = [0; 32];
                bcdec_rs::bc5(block, &mut both, 8, false);
                both.chunks_exact(2)
                    .zip(texels.chunks_exact_mut(4))
                    .for_each(|(two, t)| t[..2].copy_from_slice(two));
            }
            145 | 146 => bcdec_rs::bc7(block, &mut texels, 16),
            other => panic!("no decoder for {other}"),
        }
        for (t, texel) in texels.chunks_exact(4).enumerate() {
            let (x, y) = (n % wide * 4 + t % 4, n / wide * 4 + t / 4);
            if x < width && y < height {
                out[(y * width + x) * 4..][..4].copy_from_slice(texel);
            }
        }
    }
    out
}

/// Checks the header against the descriptor that another implementation makes for the format.
fn check_descriptor(p: &Project, path: &str, format: u32) -> Texture {
    let texture = Texture::open(p, path);
    assert_eq!(texture.vk_format(), format, "{path}");
    assert!(texture.zstd(), "{path}");
    let reader = ktx2::Reader::new(&texture.bytes).unwrap();
    let (mut expected, type_size) = ktx2::dfd::Basic::from_format(reader.header().format.unwrap()).unwrap();
    expected.color_primaries = reader.color_primaries();
    assert_eq!(reader.basic_dfd(), Some(&expected), "{path}");
    assert_eq!(reader.header().type_size, type_size, "{path}");
    texture
}

#[test]
fn desktop_target_chooses_by_the_kind_of_the_image() {
    let p = project();
    p.write("assetc.yml", "default: {texture: {target: desktop}}\n");
    p.run(&["-q", "--verify"]).expect(0);
    p.run(&["check"]).expect(0);
    for (name, source, format, transfer, channels, bound) in [
        ("opaque", painted(90, 62, false), 146, SRGB, &[0, 1, 2, 3][..], 44.0),
        ("clear", painted(90, 62, true), 146, SRGB, &[0, 1, 2, 3], 40.0),
        ("wall.n", bumpy(90, 62), 141, LINEAR, &[0, 1], 44.0),
        ("wall.h", painted(90, 62, false), 139, LINEAR, &[0], 44.0),
    ] {
        let texture = check_descriptor(&p, &format!("runtime/{name}.ktx2"), format);
        assert_eq!(texture.transfer, transfer, "{name}");
        let quality = psnr(&decode(&texture), &source, channels);
        assert!(quality > bound, "{name}: {quality:.1} dB");
    }
    assert_eq!(check_descriptor(&p, "runtime/sky.env.ktx2", 146).header.face_count, 6);
    assert_eq!(check_descriptor(&p, "runtime/tiles.arr.ktx2", 146).header.layer_count, 2);
    let shown = p.run(&["info", "runtime"]).expect(0).stdout;
    for format in ["BC7_SRGB_BLOCK", "BC5_UNORM_BLOCK", "BC4_UNORM_BLOCK"] {
        assert!(shown.contains(format), "{shown}");
    }
    let stats = p.run(&["--stats", "--json"]).expect(0).json();
    for asset in stats["stats"]["assets"].as_array().unwrap() {
        assert!(asset["error"].is_object(), "{asset}");
    }
    p.run(&["report", "runtime", "-o", "report.html"]).expect(0);
    p.run(&["extract", "runtime/wall.n.ktx2", "-o", "n.png"]).expect(0);
}

#[test]
fn mobile_target_and_every_format_are_valid_and_close() {
    let p = project();
    for (setting, formats, bounds) in [
        ("target: mobile", [158, 158, 157, 157], [40.0, 36.0]),
        ("format: etc2", [148, 152, 155, 153], [33.0, 30.0]),
        ("format: astc-4x4, rdo: 1", [158, 158, 157, 157], [36.0, 32.0]),
    ] {
        p.write("assetc.yml", format!("default: {{texture: {{{setting}}}}}\n"));
        p.run(&["-q", "--verify"]).expect(0);
        p.run(&["check"]).expect(0);
        for (name, format) in ["opaque", "clear", "wall.n", "wall.h"].into_iter().zip(formats) {
            check_descriptor(&p, &format!("runtime/{name}.ktx2"), format);
        }
        let stats = p.run(&["--stats", "--json"]).expect(0).json();
        for asset in stats["stats"]["assets"].as_array().unwrap() {
            let bound = if asset["source"] == "clear.png" { bounds[1] } else { bounds[0] };
            let quality = asset["error"]["psnr_db"].as_f64();
            assert!(quality.is_none_or(|db| db > bound), "{setting}: {asset}");
        }
    }
    p.write("assetc.yml", "default: {texture: {format: bc1}, rules: [{match: clear.png, texture: {format: bc3}}, {match: wall.*, texture: {format: raw}}]}\n");
    p.run(&["-q", "--verify"]).expect(0);
    let opaque = check_descriptor(&p, "runtime/opaque.ktx2", 134);
    assert!(psnr(&decode(&opaque), &painted(90, 62, false), &[0, 1, 2, 3]) > 34.0);
    let clear = check_descriptor(&p, "runtime/clear.ktx2", 138);
    assert!(psnr(&decode(&clear), &painted(90, 62, true), &[0, 1, 2, 3]) > 34.0);
    assert_eq!(Texture::open(&p, "runtime/wall.h.ktx2").vk_format(), 37);
}

#[test]
fn formats_that_cannot_hold_the_image_are_errors_that_name_the_fix() {
    let p = project();
    p.write("assetc.yml", "default: {texture: {format: bc5}}\n");
    let reported = p.run(&["-q"]).expect(1).stderr;
    assert!(reported.contains("error[texture-format]: opaque.png: texture.format is bc5"), "{reported}");
    assert!(reported.contains("set texture.target to desktop"), "{reported}");
    p.write("assetc.yml", "default: {texture: {format: bc6h}}\n");
    let reported = p.run(&["-q"]).expect(1).stderr;
    assert!(reported.contains("bc6h, which holds HDR images"), "{reported}");
    p.write("assetc.yml", "default: {rules: [{match: clear.png, texture: {format: bc1}}]}\n");
    let reported = p.run(&[]).expect(0).stderr;
    assert!(reported.contains("warning[texture-alpha]: clear.png:"), "{reported}");
}
