//! Errors of an encoded image: decoded, and transcoded to BC7 and ETC1 by the independent transcoder.

use crate::images::{Class, Image};

/// Figures for one image and one encoder. Ratios in decibels.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Of each round.
    pub seconds: Vec<f64>,
    pub rgb: f64,
    pub alpha: Option<f64>,
    pub bc7: f64,
    /// After the conversion to an ASTC block, which is exact for blocks that follow the specification.
    pub astc: f64,
    pub etc1: f64,
    pub eac: Option<f64>,
    pub bc1: f64,
    /// Mean angle between the normals, in degrees.
    pub angle: Option<f64>,
    pub zstd: usize,
}

pub fn figures(image: &Image, blocks: &[[u8; 16]]) -> Figures {
    let texels = image.blocks();
    let mut sums = Sums::default();
    for (texels, block) in texels.iter().zip(blocks) {
        let own = basisu::uastc::unpack::unpack_uastc(block, false).expect("a legal block").map(|t| t.c);
        add(&mut sums.rgb, &mut sums.alpha, texels, &own);
        add(&mut sums.bc7, &mut 0, texels, &bc7(block));
        add(&mut sums.astc, &mut 0, texels, &astc(block));
        let (etc1, eac) = etc2(block);
        add(&mut sums.etc1, &mut 0, texels, &etc1);
        add(&mut 0, &mut sums.eac, texels, &eac);
        add(&mut sums.bc1, &mut 0, texels, &bc1(block));
        if image.class == Class::Normal {
            let flat = image.name.ends_with("rg01");
            for (a, b) in texels.chunks_exact(4).zip(&own) {
                sums.angle += angle([a[0], a[1], a[2]], [b[0], b[1], b[2]], flat);
            }
        }
    }
    let count = (blocks.len() * 16) as f64;
    let bytes: Vec<u8> = blocks.iter().flatten().copied().collect();
    Figures {
        rgb: psnr(sums.rgb, count * 3.0),
        alpha: image.has_alpha.then(|| psnr(sums.alpha, count)),
        bc7: psnr(sums.bc7, count * 3.0),
        astc: psnr(sums.astc, count * 3.0),
        etc1: psnr(sums.etc1, count * 3.0),
        eac: image.has_alpha.then(|| psnr(sums.eac, count)),
        bc1: psnr(sums.bc1, count * 3.0),
        angle: (image.class == Class::Normal).then_some(sums.angle / count),
        zstd: zstd::bulk::compress(&bytes, 18).expect("memory suffices").len(),
        ..Figures::default()
    }
}

/// Returns the squared error of a block over all four channels.
pub fn squared_error(texels: &[u8; 64], block: &[u8; 16]) -> u64 {
    let (mut rgb, mut alpha) = (0, 0);
    let decoded = basisu::uastc::unpack::unpack_uastc(block, false).expect("a legal block").map(|t| t.c);
    add(&mut rgb, &mut alpha, texels, &decoded);
    rgb + alpha
}

#[derive(Default)]
struct Sums {
    rgb: u64,
    alpha: u64,
    bc7: u64,
    astc: u64,
    etc1: u64,
    eac: u64,
    bc1: u64,
    angle: f64,
}

fn add(rgb: &mut u64, alpha: &mut u64, a: &[u8; 64], b: &[[u8; 4]; 16]) {
    for (a, b) in a.chunks_exact(4).zip(b) {
        for c in 0..3 {
            *rgb += u64::from(a[c].abs_diff(b[c])).pow(2);
        }
        *alpha += u64::from(a[3].abs_diff(b[3])).pow(2);
    }
}

fn psnr(error: u64, count: f64) -> f64 {
    (10.0 * (255.0 * 255.0 * count / (error as f64).max(0.01)).log10()).min(80.0)
}

/// The angle between two stored normals; the third component is computed if the map does not store it.
fn angle(a: [u8; 3], b: [u8; 3], flat: bool) -> f64 {
    let unit = |v: [u8; 3]| {
        let [x, y, z] = v.map(|c| f64::from(c) / 127.5 - 1.0);
        let z = if flat { (1.0 - x * x - y * y).max(0.0).sqrt() } else { z };
        let length = (x * x + y * y + z * z).sqrt().max(1e-9);
        [x / length, y / length, z / length]
    };
    let (a, b) = (unit(a), unit(b));
    (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]).clamp(-1.0, 1.0).acos().to_degrees()
}

fn bc7(block: &[u8; 16]) -> [[u8; 4]; 16] {
    let bc7 = basisu::uastc::bc7::transcode_uastc_to_bc7(block).expect("a legal block");
    let mut pixels = [[0; 4]; 16];
    assert!(ktx::basisu::gpu_texture::unpack_bc7(&bc7, &mut pixels), "a legal BC7 block");
    pixels
}

/// An ASTC block, decoded by a decoder of its own.
fn astc(block: &[u8; 16]) -> [[u8; 4]; 16] {
    let astc = basisu::uastc::astc_pack::transcode_uastc_to_astc(block).expect("a legal block");
    let mut pixels = [0u32; 16];
    texture2ddecoder::decode_astc_4_4(&astc, 4, 4, &mut pixels).expect("a legal ASTC block");
    // The decoder's words are BGRA in memory.
    pixels.map(|word| {
        let [b, g, r, a] = word.to_le_bytes();
        [r, g, b, a]
    })
}

fn bc1(block: &[u8; 16]) -> [[u8; 4]; 16] {
    let bc1 = basisu::uastc::bc1::transcode_uastc_to_bc1(block, false).expect("a legal block");
    let mut pixels = [[0; 4]; 16];
    ktx::basisu::gpu_texture::unpack_bc1(&bc1, &mut pixels, true);
    pixels
}

/// ETC2 with alpha: the colours as ETC1 has them, and the alpha.
fn etc2(block: &[u8; 16]) -> ([[u8; 4]; 16], [[u8; 4]; 16]) {
    let both = basisu::etc::uastc_to_etc2::transcode_uastc_to_etc2_rgba(block).expect("a legal block");
    let (eac, etc1) = both.split_at(8);
    (unpack_etc1(etc1.try_into().expect("eight")), unpack_eac(eac.try_into().expect("eight")))
}

const ETC1: [[i32; 4]; 8] = [
    [2, 8, -2, -8],
    [5, 17, -5, -17],
    [9, 29, -9, -29],
    [13, 42, -13, -42],
    [18, 60, -18, -60],
    [24, 80, -24, -80],
    [33, 106, -33, -106],
    [47, 183, -47, -183],
];

/// ETC1, after the OES_compressed_ETC1_RGB8_texture specification.
fn unpack_etc1(block: &[u8; 8]) -> [[u8; 4]; 16] {
    let (flip, diff) = (block[3] & 1 != 0, block[3] & 2 != 0);
    let tables = [block[3] >> 5, block[3] >> 2 & 7];
    let mut bases = [[0i32; 3]; 2];
    for c in 0..3 {
        let v = i32::from(block[c]);
        if diff {
            let a = v >> 3;
            let delta = ((v & 7) ^ 4) - 4;
            let b = (a + delta) & 31;
            bases[0][c] = a << 3 | a >> 2;
            bases[1][c] = b << 3 | b >> 2;
        } else {
            bases[0][c] = (v >> 4) * 17;
            bases[1][c] = (v & 15) * 17;
        }
    }
    let bits = u32::from_be_bytes([block[4], block[5], block[6], block[7]]);
    let mut out = [[255; 4]; 16];
    for y in 0..4 {
        for x in 0..4 {
            let half = usize::from(if flip { y >= 2 } else { x >= 2 });
            let k = x * 4 + y;
            let selector = (bits >> k & 1) | (bits >> (16 + k) & 1) << 1;
            let modifier = ETC1[usize::from(tables[half])][selector as usize];
            for c in 0..3 {
                out[y * 4 + x][c] = (bases[half][c] + modifier).clamp(0, 255) as u8;
            }
        }
    }
    out
}

/// EAC alpha, after the ETC2 specification.
fn unpack_eac(block: &[u8; 8]) -> [[u8; 4]; 16] {
    let table = &basisu::etc::tables::EAC_MODIFIER_TABLE[usize::from(block[1] & 15)];
    let (base, multiplier) = (i32::from(block[0]), i32::from(block[1] >> 4));
    let bits = u64::from_be_bytes([0, 0, block[2], block[3], block[4], block[5], block[6], block[7]]);
    let mut out = [[0; 4]; 16];
    for i in 0..16 {
        let selector = bits >> (45 - 3 * i) & 7;
        let value = base + i32::from(table[selector as usize]) * multiplier;
        out[(i % 4) * 4 + i / 4][3] = value.clamp(0, 255) as u8;
    }
    out
}
