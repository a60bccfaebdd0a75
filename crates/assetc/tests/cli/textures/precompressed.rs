//! `.ktx2` and `.dds` sources, and the image formats that yield to an export of the same name.

use super::images::{AUTHORING, psd};
use super::read::{LINEAR, SRGB, Texture};
use crate::project::{Project, test_image};

fn file(name: &str) -> &'static [u8] {
    AUTHORING.iter().find(|(known, _)| *known == name).unwrap().1
}

#[test]
fn dds_texels_are_passed_through() {
    let p = Project::new();
    for name in ["dxt1", "dxt5", "bc5", "rgba"] {
        p.write(&format!("assets/{name}.dds"), file(&format!("{name}.dds")));
    }
    p.write("assets/data.n.dds", file("dxt5.dds"));
    p.write("assetc.yml", "default: {texture: {supercompress: none}}\n");
    p.run(&["--verify"]).expect(0);
    for (name, vk_format, transfer, start) in [
        ("dxt1", 134, SRGB, 128),
        ("dxt5", 138, SRGB, 128),
        ("data.n", 137, LINEAR, 128),
        ("bc5", 141, LINEAR, 148),
        ("rgba", 43, SRGB, 128),
    ] {
        let bytes = p.read(&format!("runtime/{name}.ktx2"));
        let reader = ktx2::Reader::new(&bytes).unwrap();
        assert_eq!(reader.header().format.unwrap().value(), vk_format, "{name}");
        assert_eq!(reader.basic_dfd().unwrap().transfer_function, transfer, "{name}");
        let source = p.read(&format!("assets/{name}.dds"));
        let level = reader.levels().next().unwrap().data.to_vec();
        match name {
            // Pillow stores BGRA.
            "rgba" => assert_eq!(level[..4], [source[130], source[129], source[128], source[131]]),
            _ => assert_eq!(level, source[start..], "{name}"),
        }
    }
    p.run(&["check"]).expect(0);
}

/// Reads the samples of an RGBA PNG and their depth.
fn read_png(bytes: &[u8]) -> (png::BitDepth, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut samples = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut samples).unwrap();
    assert_eq!(reader.info().color_type, png::ColorType::Rgba);
    (reader.info().bit_depth, samples)
}

#[test]
fn extract_and_report_decode_passed_through_blocks() {
    let p = Project::new();
    p.write("empty/assetc.yml", "").write("empty/assets/a.txt", "");
    p.run(&["-C", "empty"]).expect(0);
    p.run(&["-C", "empty", "report", "--out", "report.html"]).expect(0);
    let images = |page: &str| String::from_utf8(p.read(page)).unwrap().matches("iVBORw0KGgo").count();
    let none = images("empty/report.html");
    for (name, start) in [("dxt1", 128), ("dxt5", 128), ("bc5", 148)] {
        let source = file(&format!("{name}.dds"));
        p.write(&format!("{name}/assets/{name}.dds"), source);
        p.run(&["-C", name]).expect(0);
        p.run(&["extract", &format!("{name}/runtime/{name}.ktx2"), "-o", &format!("{name}.png")]).expect(0);
        let (depth, texels) = read_png(&p.read(&format!("{name}.png")));
        assert_eq!(depth, png::BitDepth::Eight);
        // The first block, by an independent decoder.
        let mut expected = [0u8; 64];
        match name {
            "dxt1" => bcdec_rs::bc1(&source[start..], &mut expected, 16),
            "dxt5" => bcdec_rs::bc3(&source[start..], &mut expected, 16),
            _ => {
                let mut both = [0u8; 32];
                bcdec_rs::bc5(&source[start..], &mut both, 8, false);
                for (texel, pair) in expected.chunks_mut(4).zip(both.chunks(2)) {
                    texel.copy_from_slice(&[pair[0], pair[1], 0, 255]);
                }
            }
        }
        let close = |a: &u8, b: &u8| a.abs_diff(*b) <= 1;
        assert!(texels[..16].iter().zip(&expected).all(|(a, b)| close(a, b)), "{name}");
        p.run(&["-C", name, "report", "--out", "report.html"]).expect(0);
        assert!(images(&format!("{name}/report.html")) > none, "{name}");
    }
}

#[test]
fn extract_keeps_sixteen_bits() {
    let p = Project::new();
    let samples: Vec<u16> = (0..16).map(|i| 1000 + 257 * i + 3).collect();
    let grey = super::images::Png {
        width: 4,
        height: 4,
        colour: 0,
        depth: 16,
        interlaced: false,
        palette: vec![],
        trns: None,
        samples: samples.clone(),
    };
    p.write("assets/a.h.png", grey.bytes());
    p.write("assetc.yml", "default: {texture: {compress: false, depth: auto}}\n").run(&[]).expect(0);
    p.run(&["extract", "runtime/a.h.ktx2", "-o", "a.png"]).expect(0);
    let (depth, texels) = read_png(&p.read("a.png"));
    assert_eq!(depth, png::BitDepth::Sixteen);
    let red: Vec<u16> = texels.chunks(8).map(|texel| u16::from_be_bytes([texel[0], texel[1]])).collect();
    assert_eq!(red, samples);
    p.run(&["extract", "runtime/a.h.ktx2", "-o", "a.exr"]).expect(0);
}

#[test]
fn ktx2_sources_are_copied_or_encoded_again() {
    let p = Project::new();
    p.write("assets/a.png", test_image(16, 16, 1));
    p.run(&[]).expect(0);
    let texture = p.read("runtime/a.ktx2");
    p.remove("assets/a.png").write("assets/a.ktx2", &texture);
    assert_eq!(p.build(), (1, 0));
    assert_eq!(p.read("runtime/a.ktx2"), texture);

    p.write("assetc.yml", "default: {texture: {precompressed: reencode, compress: false, mips: false}}\n");
    p.run(&[]).expect(0);
    let again = Texture::open(&p, "runtime/a.ktx2");
    assert_eq!((again.vk_format(), again.size()), (43, (16, 16, 1)));
    let explained = p.run(&["explain", "a.ktx2"]).expect(0).stdout;
    assert!(explained.contains("texture.precompressed") && explained.contains("reencode"), "{explained}");

    p.write("assetc.yml", "")
        .write("assets/a.ktx2", &texture[..100])
        .write("assets/b.png", test_image(4, 4, 2));
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("error[texture-passthrough]: a.ktx2: "), "{}", ran.stderr);
    assert!(p.exists("runtime/b.ktx2"));

    // Damage inside a supercompressed mip level leaves the structure intact.
    let mut damaged = texture.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    p.write("assets/a.ktx2", &damaged);
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("the Zstandard frame at offset "), "{}", ran.stderr);
}

#[test]
fn foreign_ktx2_is_a_warning_and_can_be_encoded_again() {
    let p = Project::new();
    p.write("assets/f.ktx2", include_bytes!("../../../../import/tests/data/etc1s-alpha.ktx2"));
    let json = p.run(&["--json"]).expect(0).json();
    assert_eq!(json["assets"][0]["warnings"][0]["code"], "texture-foreign", "{json}");
    assert!(!p.exists("runtime/f.ktx2"));
    p.run(&["check"]).expect(0);
    p.write("assetc.yml", "default: {texture: {precompressed: reencode}}\n");
    p.run(&[]).expect(0);
    assert_eq!(Texture::open(&p, "runtime/f.ktx2").size().0, 37);
}

#[test]
fn documents_yield_to_their_export() {
    let p = Project::new();
    let document = psd((4, 4), (3, 3, 8), true, &[], |channel, index| (channel * 40 + index) as u16);
    p.write("assets/wall.psd", &document)
        .write("assets/wall.png", test_image(4, 4, 1))
        .write("assets/own.psd", &document);
    p.write("assetc.yml", "default: {texture: {compress: false, mips: false}}\n");
    let json = p.run(&["--json"]).expect(0).json();
    let problem = &json["problems"][0];
    assert_eq!(
        (problem["code"].as_str(), problem["path"].as_str()),
        (Some("source-shadowed"), Some("wall.psd"))
    );
    assert_eq!(json["built"], 2);
    let own = Texture::open(&p, "runtime/own.ktx2");
    assert_eq!(own.levels[0][4..8], [1, 41, 81, 255]);
    p.write("assets/own.tif", file("rgb.tif"));
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("own.psd and own.tif both write own.ktx2"), "{}", ran.stderr);
}
