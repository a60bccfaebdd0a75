//! Environment maps of constant and analytic panoramas, compared with closed forms.

use super::*;

const SETTINGS: EnvironmentSettings = EnvironmentSettings {
    size: None,
    specular: false,
    irradiance: false,
    mips: Mips::Full,
    max_size: None,
    bc6h: None,
    zstd: false,
    deadline: None,
};

/// Returns a panorama that is a function of the direction.
fn panorama(width: u32, value: impl Fn(Vec3) -> [f32; 3]) -> HdrImage {
    let height = width / 2;
    let texel = |i: u32| {
        let around = (f64::from(i % width) + 0.5) / f64::from(width) * 2.0 * PI - PI;
        let up = PI / 2.0 - (f64::from(i / width) + 0.5) / f64::from(height) * PI;
        let [r, g, b] =
            value([libm::cos(up) * libm::cos(around), libm::sin(up), libm::cos(up) * libm::sin(around)]);
        [r, g, b, 1.0]
    };
    HdrImage::new(width, height, (0..width * height).map(texel).collect()).unwrap()
}

fn values(level: &[u8]) -> Vec<[f32; 4]> {
    let value = |bytes: &[u8]| {
        let bits = u16::from_le_bytes([bytes[0], bytes[1]]);
        let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
        match exponent {
            0 => mantissa * libm::ldexpf(1.0, -24),
            _ => (1024.0 + mantissa) * libm::ldexpf(1.0, exponent - 25),
        }
    };
    level.chunks_exact(8).map(|t| [value(t), value(&t[2..]), value(&t[4..]), value(&t[6..])]).collect()
}

#[test]
fn constant_radiance_stays_constant() {
    let map = panorama(64, |_| [0.5, 4.0, 100.0]);
    let settings = EnvironmentSettings { specular: true, irradiance: true, ..SETTINGS };
    let (cube, irradiance) = encode_environment(map.clone(), &settings).unwrap();
    assert_eq!((cube.width, cube.faces, cube.levels.len()), (16, 6, 3), "16, 8 and 4 texels a side");
    let irradiance = irradiance.unwrap();
    assert_eq!((irradiance.width, irradiance.faces, irradiance.levels.len()), (32, 6, 1));
    for level in cube.levels.iter().chain(&irradiance.levels) {
        for texel in values(&level.bytes) {
            for (found, exact) in texel.into_iter().zip([0.5, 4.0, 100.0, 1.0]) {
                assert!((found - exact).abs() <= exact / 1024.0, "{found}, not {exact}");
            }
        }
    }
}

/// Every face shows the colour of the axis it faces, whichever way its rows run.
#[test]
fn faces_are_oriented_as_in_vulkan() {
    // Red grows along +X, green along +Y, blue along +Z.
    let map = panorama(256, |v| v.map(|c| (c + 1.0) as f32));
    let (cube, irradiance) = encode_environment(map.clone(), &SETTINGS).unwrap();
    assert!(irradiance.is_none());
    assert_eq!(cube.levels.len(), 7);
    let (side, texels) = (64, values(&cube.levels[0].bytes));
    for face in 0..6 {
        for (x, y) in [(0, 0), (63, 0), (0, 63), (63, 63), (31, 31), (10, 50)] {
            // The table of the Vulkan specification, solved for the direction.
            let (s, t) = ((f64::from(x) + 0.5) / 32.0 - 1.0, (f64::from(y) + 0.5) / 32.0 - 1.0);
            let towards = unit(match face {
                0 => [1.0, -t, -s],
                1 => [-1.0, -t, s],
                2 => [s, 1.0, t],
                3 => [s, -1.0, -t],
                4 => [s, -t, 1.0],
                _ => [-s, -t, -1.0],
            });
            let found = texels[((face * side + y) * side + x) as usize];
            for c in 0..3 {
                let exact = (towards[c] + 1.0) as f32;
                assert!((found[c] - exact).abs() < 0.01, "face {face} at {x}, {y}: {found:?}, not {exact}");
            }
        }
    }
}

#[test]
fn panorama_centre_is_plus_x_and_right_is_plus_z() {
    let mut texels = vec![[0.0, 0.0, 0.0, 1.0]; 64 * 32];
    texels[16 * 64 + 32][0] = 1000.0;
    texels[16 * 64 + 48][1] = 1000.0;
    texels[32][2] = 1000.0;
    let (cube, _) = encode_environment(HdrImage::new(64, 32, texels).unwrap(), &SETTINGS).unwrap();
    let texels = values(&cube.levels[0].bytes);
    let energy =
        |face: usize, channel: usize| -> f32 { texels[face * 256..][..256].iter().map(|t| t[channel]).sum() };
    for (channel, face) in [(0, 0), (1, 4), (2, 2)] {
        let all: f32 = (0..6).map(|face| energy(face, channel)).sum();
        assert!(energy(face, channel) > 0.99 * all && all > 0.0, "channel {channel} is on face {face}");
    }
}

/// Lambert's law for a sky with radiance 1 + cos θ to +Y: the cosine-weighted average is 1 + 2/3 cos θ.
#[test]
fn irradiance_is_cosine_weighted() {
    let map = panorama(256, |v| [1.0 + v[1] as f32; 3]);
    let settings = EnvironmentSettings { irradiance: true, ..SETTINGS };
    let irradiance = encode_environment(map.clone(), &settings).unwrap().1.unwrap();
    let (texels, target) =
        (values(&irradiance.levels[0].bytes), Cube { side: IRRADIANCE_SIDE, texels: vec![] });
    for (i, texel) in (0u32..).zip(&texels) {
        let (face, i) =
            ((i / (IRRADIANCE_SIDE * IRRADIANCE_SIDE)) as usize, i % (IRRADIANCE_SIDE * IRRADIANCE_SIDE));
        let up = unit(target.direction(face, i % IRRADIANCE_SIDE, i / IRRADIANCE_SIDE))[1];
        let exact = (1.0 + up * 2.0 / 3.0) as f32;
        assert!((texel[0] - exact).abs() < 0.006, "{up}: {}, not {exact}", texel[0]);
    }
}

/// The same sky, prefiltered with GGX, integrated numerically without samples.
#[test]
fn prefiltered_specular_matches_ggx_integral() {
    let chain: Vec<Cube> = {
        let mut chain = vec![Cube::from_panorama(panorama(256, |v| [1.0 + v[1] as f32; 3]), 64)];
        for level in 1..7 {
            let next = chain[level - 1].downscaled(64 >> level);
            chain.push(next);
        }
        chain
    };
    for level in 1..5 {
        let alpha = (f64::from(level) / 4.0) * (f64::from(level) / 4.0);
        let (mut sum, mut total) = (0.0, 0.0);
        for i in 0..20_000 {
            // Over the angle of the half vector, weighted by the density of the distribution.
            let angle = (f64::from(i) + 0.5) / 20_000.0 * PI / 4.0;
            let (cosine, square) = (libm::cos(angle), alpha * alpha);
            let denominator = cosine * cosine * (square - 1.0) + 1.0;
            let cos_light = libm::cos(2.0 * angle);
            let weight = square / (denominator * denominator) * cosine * libm::sin(angle) * cos_light;
            (sum, total) = (sum + weight * cos_light, total + weight);
        }
        // The radiance is linear in Y, so prefiltering around any direction scales the linear part by the
        // same factor.
        let cube = prefiltered_specular(&chain, level, 5);
        for (i, texel) in (0u32..).zip(&cube.texels) {
            let (face, i) = ((i / (cube.side * cube.side)) as usize, i % (cube.side * cube.side));
            let up = unit(cube.direction(face, i % cube.side, i / cube.side))[1];
            let exact = 1.0 + up * sum / total;
            assert!((f64::from(texel[0]) - exact).abs() < 0.02, "level {level}: {}, not {exact}", texel[0]);
        }
    }
}

#[test]
fn cyclic_blur_preserves_energy() {
    let mut row: Vec<Texel> =
        (0..12).map(|i| [if i == 0 { 12.0 } else { 0.0 }, i as f32, 1.0, 1.0]).collect();
    blur(&mut row, 2);
    assert_eq!(row.iter().map(|t| t[0]).collect::<Vec<_>>()[..4], [2.4, 2.4, 2.4, 0.0]);
    assert_eq!((row[10][0], row[9][0], row[5][1]), (2.4, 0.0, 5.0));
    assert!(row.iter().all(|t| t[2..] == [1.0, 1.0]));
}

#[test]
fn size_and_mip_settings_are_applied() {
    let map = panorama(128, |v| [v[0].abs() as f32; 3]);
    let size = |settings: EnvironmentSettings| {
        let (cube, _) = encode_environment(map.clone(), &settings).unwrap();
        assert!(cube.levels.iter().zip(0..).all(|(level, i)| {
            let side = u64::from((cube.width >> i).max(1));
            level.uncompressed_len == side * side * 6 * 8
        }));
        (cube.width, cube.levels.len())
    };
    assert_eq!(size(SETTINGS), (32, 6));
    assert_eq!(size(EnvironmentSettings { size: Some(10), ..SETTINGS }), (10, 4));
    assert_eq!(
        size(EnvironmentSettings { size: Some(10), max_size: Some(8), mips: Mips::None, ..SETTINGS }),
        (8, 1)
    );
    assert_eq!(size(EnvironmentSettings { size: Some(2), specular: true, ..SETTINGS }), (2, 1));
    assert_eq!(size(EnvironmentSettings { specular: true, mips: Mips::Count(2), ..SETTINGS }), (32, 2));
}

#[test]
fn bytes_do_not_depend_on_the_number_of_threads() {
    let map = panorama(64, |v| v.map(|c| (c * 3.0 + 3.0) as f32));
    let settings = EnvironmentSettings { specular: true, irradiance: true, zstd: true, ..SETTINGS };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| encode_environment(map.clone(), &settings).unwrap())
    };
    assert!(with(1) == with(3));
}
