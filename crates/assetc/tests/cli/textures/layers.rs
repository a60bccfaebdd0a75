//! Textures of more than one image: 3D lookup tables, cubemaps and arrays.

use super::read::{LINEAR, SRGB, Texture, psnr};
use super::rgba;
use crate::project::Project;

/// Converts an IEEE 754 binary16 number, without infinities.
fn half(bytes: [u8; 2]) -> f64 {
    let bits = u16::from_le_bytes(bytes);
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let value = match exponent {
        0 => fraction * 2f64.powi(-24),
        e => (1.0 + fraction / 1024.0) * 2f64.powi(e - 15),
    };
    if bits >> 15 == 1 { -value } else { value }
}

#[test]
fn lookup_table_compiles_to_3d_texture() {
    let p = Project::new();
    p.write(
        "assetc.yml",
        "default: {rules: [{match: \"deep*\", lut: {depth: float16}}, {match: \"*plain*\", texture: {supercompress: none}}]}\n",
    );
    // Red varies fastest; some values lie outside 0 to 1.
    let value = |i: usize| {
        let at = |k: usize| (k % 3) as f64 / 2.0;
        [at(i) * 1.1 - 0.02, at(i / 3) * 0.9, at(i / 9)]
    };
    let mut cube = "TITLE \"x\"\r\nLUT_3D_SIZE 3\r\n# comment\r\n".to_owned();
    for i in 0..27 {
        let [r, g, b] = value(i);
        cube += &format!("{r} {g} {b}\r\n");
    }
    for name in ["flat", "flat-plain", "deep", "deep-plain"] {
        p.write(&format!("assets/{name}.lut.cube"), &cube);
    }
    let ran = p.run(&[]).expect(0);
    assert!(ran.stderr.contains("warning[lut-clamped]: flat.lut.cube: "), "{ran:?}");
    assert!(!ran.stderr.contains("deep.lut.cube: "), "{ran:?}");
    for (name, vk_format, zstd) in
        [("flat", 37, true), ("flat-plain", 37, false), ("deep", 97, true), ("deep-plain", 97, false)]
    {
        let texture = Texture::open(&p, &format!("runtime/{name}.lut.ktx2"));
        assert_eq!((texture.vk_format(), texture.zstd(), texture.transfer), (vk_format, zstd, LINEAR));
        assert_eq!((texture.size(), texture.header.pixel_depth), ((3, 3, 1), 3));
        let channels: Vec<f64> = match vk_format {
            37 => texture.levels[0].iter().map(|v| f64::from(*v) / 255.0).collect(),
            _ => texture.levels[0].as_chunks().0.iter().map(|v| half(*v)).collect(),
        };
        for (i, texel) in channels.chunks_exact(4).enumerate() {
            assert_eq!(texel[3], 1.0, "{name}");
            for (found, wanted) in texel.iter().zip(value(i)) {
                let (wanted, off) = match vk_format {
                    37 => (wanted.clamp(0.0, 1.0), 0.5001 / 255.0),
                    _ => (wanted, wanted.abs() * 2f64.powi(-11) + 2f64.powi(-25)),
                };
                assert!((found - wanted).abs() <= off, "{name} {i}: {found} for {wanted}");
            }
        }
    }
}

pub(super) const FACES: [&str; 6] = ["px", "nx", "py", "ny", "pz", "nz"];

#[test]
fn cubemap_faces_are_in_order() {
    let p = Project::new();
    p.write("assetc.yml", "default: {rules: [{match: \"raw*\", texture: {compress: false}}]}\n");
    // Each face has a different colour.
    let face = |n: usize| -> Vec<u8> {
        let colour = [40 * n as u8, 255 - 40 * n as u8, 128, 255];
        (0..64).flat_map(|_| colour).collect()
    };
    for (n, name) in FACES.iter().enumerate() {
        p.write(&format!("assets/sky.env/{name}.png"), rgba(8, 8, &face(n)));
        p.write(&format!("assets/raw.env/{name}.png"), rgba(8, 8, &face(n)));
    }
    p.run(&["-q", "--verify"]).expect(0);
    let sky = Texture::open(&p, "runtime/sky.env.ktx2");
    let raw = Texture::open(&p, "runtime/raw.env.ktx2");
    for texture in [&sky, &raw] {
        assert_eq!((texture.header.face_count, texture.header.layer_count), (6, 0));
        assert_eq!((texture.size(), texture.transfer), ((8, 8, 4), SRGB));
    }
    assert_eq!((sky.vk_format(), raw.vk_format()), (0, 43));
    for n in 0..6 {
        let quality = psnr(&sky.decode(0, 0, n), &face(n as usize), &[0, 1, 2, 3]);
        assert!(quality > 40.0, "face {n}: {quality:.1} dB");
        assert_eq!(raw.levels[0][n as usize * 256..][..256], face(n as usize), "face {n}");
    }
}

#[test]
fn array_layers_are_in_natural_order() {
    let p = Project::new();
    p.write("assetc.yml", "default: {rules: [{match: \"raw*\", texture: {compress: false}}]}\n");
    let layer = |n: u8| -> Vec<u8> { (0..64).flat_map(|_| [n * 60, 10, 250 - n * 60, 255]).collect() };
    for (n, name) in ["2-b", "10-c", "a", "b"].iter().enumerate() {
        for folder in ["ground.array", "raw.n.array"] {
            p.write(&format!("assets/{folder}/{name}.png"), rgba(8, 8, &layer(n as u8)));
        }
    }
    p.run(&["-q", "--verify"]).expect(0);
    let ground = Texture::open(&p, "runtime/ground.arr.ktx2");
    let raw = Texture::open(&p, "runtime/raw.n.arr.ktx2");
    for texture in [&ground, &raw] {
        assert_eq!((texture.header.face_count, texture.header.layer_count), (1, 4));
        assert_eq!(texture.size(), (8, 8, 4));
    }
    assert_eq!((ground.transfer, raw.transfer), (SRGB, LINEAR));
    for n in 0..4 {
        let quality = psnr(&ground.decode(0, n, 0), &layer(n as u8), &[0, 1, 2, 3]);
        assert!(quality > 40.0, "layer {n}: {quality:.1} dB");
        assert_eq!(raw.levels[0][n as usize * 256..][..256], layer(n as u8), "layer {n}");
    }
}
