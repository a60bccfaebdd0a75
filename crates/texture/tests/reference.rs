//! The mip chain compared with a reference implementation in `f64`, two-dimensional, texel by texel, written
//! from the definitions without code of the crate.

use kiln_ir::{Image, Texels};
use kiln_texture::{Mode, Settings, encode_2d};

/// Mitchell–Netravali in its general form, with B = C = 1/3.
fn kernel(x: f64) -> f64 {
    let (b, c, x) = (1.0 / 3.0, 1.0 / 3.0, x.abs());
    let cubic = |k3: f64, k2: f64, k1: f64, k0: f64| ((k3 * x + k2) * x + k1) * x + k0;
    (match x {
        x if x < 1.0 => cubic(12.0 - 9.0 * b - 6.0 * c, -18.0 + 12.0 * b + 6.0 * c, 0.0, 6.0 - 2.0 * b),
        x if x < 2.0 => cubic(-b - 6.0 * c, 6.0 * b + 30.0 * c, -12.0 * b - 48.0 * c, 8.0 * b + 24.0 * c),
        _ => 0.0,
    }) / 6.0
}

type FloatImage = (usize, usize, Vec<[f64; 4]>);

/// Halves an image: every destination texel is the weighted average of the source texels around it, with clamped edges.
fn halve((w, h, texels): &FloatImage) -> FloatImage {
    let (dw, dh) = ((w / 2).max(1), (h / 2).max(1));
    let mut out = Vec::new();
    for y in 0..dh {
        for x in 0..dw {
            let (sx, sy) = (*w as f64 / dw as f64, *h as f64 / dh as f64);
            let (cx, cy) = ((x as f64 + 0.5) * sx, (y as f64 + 0.5) * sy);
            let (mut sum, mut total) = ([0.0; 4], 0.0);
            for j in (cy - 2.0 * sy).floor() as i64..=(cy + 2.0 * sy).ceil() as i64 {
                for i in (cx - 2.0 * sx).floor() as i64..=(cx + 2.0 * sx).ceil() as i64 {
                    let weight = kernel((i as f64 + 0.5 - cx) / sx) * kernel((j as f64 + 0.5 - cy) / sy);
                    let texel =
                        texels[j.clamp(0, *h as i64 - 1) as usize * w + i.clamp(0, *w as i64 - 1) as usize];
                    total += weight;
                    (0..4).for_each(|c| sum[c] += weight * texel[c]);
                }
            }
            out.push(sum.map(|v| v / total));
        }
    }
    (dw, dh, out)
}

fn to_linear(v: f64) -> f64 {
    if v <= 0.04045 { v / 12.92 } else { libm::pow((v + 0.055) / 1.055, 2.4) }
}

fn to_srgb(v: f64) -> f64 {
    if v <= 0.0031308 { v * 12.92 } else { 1.055 * libm::pow(v, 1.0 / 2.4) - 0.055 }
}

fn decode(mode: Mode, t: [f64; 4]) -> [f64; 4] {
    match mode {
        Mode::Color => {
            let a = t[3];
            [to_linear(t[0]) * a, to_linear(t[1]) * a, to_linear(t[2]) * a, a]
        }
        Mode::Normal => [t[0] * 2.0 - 1.0, t[1] * 2.0 - 1.0, t[2] * 2.0 - 1.0, t[3]],
        _ => t,
    }
}

/// Returns the exact values of the bytes, before rounding.
fn encode(mode: Mode, t: [f64; 4]) -> [f64; 4] {
    let values = match mode {
        Mode::Color => [to_srgb(t[0] / t[3]), to_srgb(t[1] / t[3]), to_srgb(t[2] / t[3]), t[3]],
        Mode::Normal => {
            let length = (t[0] * t[0] + t[1] * t[1] + t[2] * t[2]).sqrt();
            [t[0] / length * 0.5 + 0.5, t[1] / length * 0.5 + 0.5, t[2] / length * 0.5 + 0.5, t[3]]
        }
        _ => t,
    };
    values.map(|v| v.clamp(0.0, 1.0) * 255.0)
}

/// Returns a deterministic pattern of smooth and sharp features in 0..=1.
fn texel(x: usize, y: usize, mode: Mode, alpha: bool) -> [f64; 4] {
    let (x, y) = (x as f64, y as f64);
    let noise = (libm::sin(x * 12.9898 + y * 78.233) * 43758.5453).rem_euclid(1.0);
    let wave = 0.5 + 0.5 * libm::sin(x * 0.31) * libm::cos(y * 0.23);
    let edge = f64::from((x as i64 / 5 + y as i64 / 3) % 2 == 0);
    if mode == Mode::Normal {
        let (nx, ny) = ((wave - 0.5) * 1.2, (noise - 0.5) * 0.8);
        return [nx * 0.5 + 0.5, ny * 0.5 + 0.5, (1.0 - nx * nx - ny * ny).max(0.0).sqrt() * 0.5 + 0.5, 1.0];
    }
    // Alpha stays above the threshold below which colours are computed differently.
    [wave, edge, noise, if alpha { 0.5 + 0.5 * noise * edge } else { 1.0 }]
}

fn check(w: usize, h: usize, mode: Mode, alpha: bool, deep: bool) {
    let one = if deep { 65535.0 } else { 255.0 };
    let stored: Vec<f64> =
        (0..w * h).flat_map(|i| texel(i % w, i / w, mode, alpha)).map(|v| (v * one).round()).collect();
    let texels = match deep {
        true => Texels::Rgba16(stored.iter().map(|v| *v as u16).collect()),
        false => Texels::Rgba8(stored.iter().map(|v| *v as u8).collect()),
    };
    let image = Image::new(w as u32, h as u32, texels).unwrap();
    let settings = Settings { compress: false, zstd: false, ..Settings::default() };
    let encoded = encode_2d(image, mode, &settings).unwrap();

    let values = stored.chunks_exact(4).map(|t| decode(mode, [t[0], t[1], t[2], t[3]].map(|v| v / one)));
    let mut level = (w, h, values.collect::<Vec<_>>());
    for (i, ours) in encoded.levels.iter().enumerate() {
        assert_eq!(ours.bytes.len(), level.0 * level.1 * 4, "level {i}");
        for (t, bytes) in level.2.iter().zip(ours.bytes.chunks_exact(4)) {
            if i == 0 && !deep {
                continue; // Exactly the source, which another test checks.
            }
            let exact = if i == 0 { [0, 1, 2, 3].map(|c| f64::from(bytes[c])) } else { encode(mode, *t) };
            for c in 0..4 {
                // Correct rounding, except for values too close to a half for single precision.
                let off = (f64::from(bytes[c]) - exact[c]).abs();
                assert!(
                    off <= 0.501,
                    "{mode:?} {w}x{h} level {i} channel {c}: {} for {}",
                    bytes[c],
                    exact[c]
                );
            }
        }
        level = halve(&level);
    }
}

#[test]
fn every_level_matches_the_reference() {
    for (w, h) in [(64, 64), (5, 3), (1, 37), (37, 1), (100, 60), (63, 41), (2, 2), (1, 1), (3, 7)] {
        check(w, h, Mode::Color, false, false);
        check(w, h, Mode::Color, true, false);
        check(w, h, Mode::LinearColor, true, false);
        check(w, h, Mode::Grayscale, false, false);
        check(w, h, Mode::Normal, false, false);
    }
}

#[test]
fn sixteen_bit_sources_match_the_reference() {
    check(64, 48, Mode::Color, false, true);
    check(45, 31, Mode::Color, true, true);
    check(64, 48, Mode::LinearColor, true, true);
    check(33, 65, Mode::Normal, false, true);
}
