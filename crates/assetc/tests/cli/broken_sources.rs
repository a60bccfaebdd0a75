//! Sources that cannot be compiled: decompression bombs, truncated and invalid files.

use crate::project::{Project, test_image};
use std::time::{Duration, Instant};

/// A PNG whose header states a size, with texels for a few rows at most.
fn bomb(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 16, 16);
    encoder.set_color(png::ColorType::Rgba);
    encoder.write_header().unwrap().write_image_data(&[0; 16 * 16 * 4]).unwrap();
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let sum = crc32(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&sum.to_be_bytes());
    bytes
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |s, _| if s & 1 == 1 { s >> 1 ^ 0xEDB8_8320 } else { s >> 1 })
    })
}

#[test]
fn rejects_decompression_bombs() {
    let p = Project::new();
    p.write("assets/huge.png", bomb(2_000_000_000, 2_000_000_000));
    p.write("assets/wide.png", bomb(16_385, 1));
    p.write("assets/deep.png", bomb(16_384, 16_384));
    p.write("assets/fine.png", test_image(4, 4, 1));
    let mut tga = vec![0; 18];
    tga[2] = 2;
    tga[12..16].copy_from_slice(&[0xFF; 4]);
    tga[16] = 32;
    p.write("assets/t.tga", tga);
    p.write("assets/grade.lut.cube", "LUT_3D_SIZE 256\n0 0 0\n");
    let start = Instant::now();
    let ran = p.run(&[]).expect(1);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    for line in [
        "error[image-too-large]: huge.png:IHDR: the image has 2000000000x2000000000 = 4000000000000000000 pixels; the limit max_pixels is 268435456",
        "error[image-too-large]: wide.png:IHDR: the image has 16385x1 pixels; with the limit max_pixels of 268435456 a side may have 16384",
        "error[image-truncated]: deep.png: unexpected end of file: ",
        "error[image-too-large]: t.tga: the image has 65535x65535 = 4294836225 pixels; the limit max_pixels is 268435456",
        "error[cube-count]: grade.lut.cube:line 2: LUT_3D_SIZE 256 needs 16777216 entries, and the file has 1",
    ] {
        assert!(ran.stderr.contains(line), "{line} is not in:\n{}", ran.stderr);
    }
    assert!(ran.stdout.contains("6 assets: 1 built, 0 cached, 5 failed"), "{ran:?}");
}

#[test]
fn every_error_has_file_and_hint() {
    let p = Project::new();
    let good = test_image(4, 4, 1);
    let sources: [(&str, &[u8], &str); 12] = [
        ("a.png", b"text", "image-unknown"),
        ("b.png", b"", "file-empty"),
        ("c.png", &good[..good.len() - 8], "image-truncated"),
        ("d.jpg", b"\xFF\xD8\xFF\xD9", "image-corrupt"),
        ("e.webp", b"RIFF\x99\0\0\0WEBPVP8L", "image-truncated"),
        ("f.bmp", b"BMxxxx", "image-"),
        ("g.png", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "lfs-pointer"),
        ("h.lut.cube", b"LUT_1D_SIZE 4\n", "cube-1d"),
        ("i.lut.cube", b"LUT_3D_SIZE 2\n0 0\n", "cube-syntax"),
        ("j.lut.cube", b"LUT_3D_SIZE 2\n0 0 \xFF\n", "cube-encoding"),
        ("k.env/px.png", &good, "cubemap-face-missing"),
        ("l.array/notes.txt", b"none", "array-empty"),
    ];
    for (name, bytes, _) in sources {
        p.write(&format!("assets/{name}"), bytes);
    }
    p.write("assets/m.png", &good).write("assets/m.jpg", &good);
    p.write("assets/n.array/1.png", &good).write("assets/n.array/2.png", test_image(2, 2, 1));
    let ran = p.run(&["-q"]).expect(1);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    let reported = |name: &str, code: &str| {
        let source = name.split('/').next().unwrap();
        let at = lines
            .iter()
            .position(|line| line.starts_with(&format!("error[{code}")) && line.contains(source))
            .unwrap_or_else(|| panic!("{name}: {code} is not reported:\n{}", ran.stderr));
        assert!(lines[at + 1].starts_with("  hint: "), "no hint: {}", lines[at]);
    };
    for (name, _, code) in sources {
        reported(name, code);
    }
    reported("m.png", "output-conflict");
    reported("m.jpg", "output-conflict");
    reported("n.array/2.png", "array-layer-size");
    assert_eq!(lines.len(), 2 * 15, "{}", ran.stderr);
    assert!(p.exists("runtime/assets.hman"), "the manifest describes the output also after failures");
}
