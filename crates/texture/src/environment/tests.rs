//! Constant light stays constant, directions stay where they are, and blur is the blur it should be.

use super::*;

const SETTINGS: EnvironmentSettings = EnvironmentSettings {
    size: None,
    specular: false,
    irradiance: false,
    mips: Mips::Full,
    max_size: None,
    zstd: false,
    deadline: None,
};

/// A picture that shows a function of the direction.
fn panorama(width: u32, value: impl Fn(Vec3) -> [f32; 3]) -> LightMap {
    let height = width / 2;
    let texel = |i: u32| {
        let around = (f64::from(i % width) + 0.5) / f64::from(width) * 2.0 * PI - PI;
        let up = PI / 2.0 - (f64::from(i / width) + 0.5) / f64::from(height) * PI;
        let [r, g, b] =
            value([libm::cos(up) * libm::cos(around), libm::sin(up), libm::cos(up) * libm::sin(around)]);
        [r, g, b, 1.0]
    };
    LightMap::new(width, height, (0..width * height).map(texel).collect()).unwrap()
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
fn constant_light_stays_constant() {
    let map = panorama(64, |_| [0.5, 4.0, 100.0]);
    let settings = EnvironmentSettings { specular: true, irradiance: true, ..SETTINGS };
    let (cube, matt) = encode_environment(map.clone(), &settings).unwrap();
    assert_eq!((cube.width, cube.faces, cube.levels.len()), (16, 6, 3), "16, 8 and 4 texels a side");
    let matt = matt.unwrap();
    assert_eq!((matt.width, matt.faces, matt.levels.len()), (32, 6, 1));
    for level in cube.levels.iter().chain(&matt.levels) {
        for texel in values(&level.bytes) {
            for (found, exact) in texel.into_iter().zip([0.5, 4.0, 100.0, 1.0]) {
                assert!((found - exact).abs() <= exact / 1024.0, "{found}, not {exact}");
            }
        }
    }
}

/// Every face shows the colour of the axis it looks along, whichever way its rows run.
#[test]
fn faces_look_where_those_of_other_cubemaps_look() {
    // Red grows along +X, green along +Y, blue along +Z.
    let map = panorama(256, |v| v.map(|c| (c + 1.0) as f32));
    let (cube, matt) = encode_environment(map.clone(), &SETTINGS).unwrap();
    assert!(matt.is_none());
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
fn the_middle_of_the_picture_is_plus_x_and_its_right_plus_z() {
    let mut texels = vec![[0.0, 0.0, 0.0, 1.0]; 64 * 32];
    texels[16 * 64 + 32][0] = 1000.0;
    texels[16 * 64 + 48][1] = 1000.0;
    texels[32][2] = 1000.0;
    let (cube, _) = encode_environment(LightMap::new(64, 32, texels).unwrap(), &SETTINGS).unwrap();
    let texels = values(&cube.levels[0].bytes);
    let light =
        |face: usize, channel: usize| -> f32 { texels[face * 256..][..256].iter().map(|t| t[channel]).sum() };
    for (channel, face) in [(0, 0), (1, 4), (2, 2)] {
        let all: f32 = (0..6).map(|face| light(face, channel)).sum();
        assert!(light(face, channel) > 0.99 * all && all > 0.0, "channel {channel} is on face {face}");
    }
}

/// Lambert's law for a sky whose light is one plus the cosine to +Y: the mean by cosine is one plus two thirds of it.
#[test]
fn matt_surfaces_gather_by_the_cosine() {
    let map = panorama(256, |v| [1.0 + v[1] as f32; 3]);
    let settings = EnvironmentSettings { irradiance: true, ..SETTINGS };
    let matt = encode_environment(map.clone(), &settings).unwrap().1.unwrap();
    let (texels, target) = (values(&matt.levels[0].bytes), Cube { side: MATT_SIDE, texels: vec![] });
    for (i, texel) in (0u32..).zip(&texels) {
        let (face, i) = ((i / (MATT_SIDE * MATT_SIDE)) as usize, i % (MATT_SIDE * MATT_SIDE));
        let up = unit(target.direction(face, i % MATT_SIDE, i / MATT_SIDE))[1];
        let exact = (1.0 + up * 2.0 / 3.0) as f32;
        assert!((texel[0] - exact).abs() < 0.006, "{up}: {}, not {exact}", texel[0]);
    }
}

/// The same sky in a rough mirror, integrated without samples: the light that is reflected along the normal.
#[test]
fn rough_surfaces_blur_as_their_distribution_says() {
    let chain: Vec<Cube> = {
        let mut chain = vec![Cube::of(panorama(256, |v| [1.0 + v[1] as f32; 3]), 64)];
        for level in 1..7 {
            let smaller = chain[level - 1].smaller(64 >> level);
            chain.push(smaller);
        }
        chain
    };
    for level in 1..5 {
        let alpha = (f64::from(level) / 4.0) * (f64::from(level) / 4.0);
        let (mut sum, mut total) = (0.0, 0.0);
        for i in 0..20_000 {
            // Over the angle of the half vector, by the density of the distribution.
            let angle = (f64::from(i) + 0.5) / 20_000.0 * PI / 4.0;
            let (cosine, square) = (libm::cos(angle), alpha * alpha);
            let spread = cosine * cosine * (square - 1.0) + 1.0;
            let light = libm::cos(2.0 * angle);
            let weight = square / (spread * spread) * cosine * libm::sin(angle) * light;
            (sum, total) = (sum + weight * light, total + weight);
        }
        // The sky rises evenly, so that a blur around any direction takes away the same share of the rise.
        let cube = rough(&chain, level, 5);
        for (i, texel) in (0u32..).zip(&cube.texels) {
            let (face, i) = ((i / (cube.side * cube.side)) as usize, i % (cube.side * cube.side));
            let up = unit(cube.direction(face, i % cube.side, i / cube.side))[1];
            let exact = 1.0 + up * sum / total;
            assert!((f64::from(texel[0]) - exact).abs() < 0.02, "level {level}: {}, not {exact}", texel[0]);
        }
    }
}

#[test]
fn a_ring_is_blurred_without_losing_light() {
    let mut row: Vec<Texel> =
        (0..12).map(|i| [if i == 0 { 12.0 } else { 0.0 }, i as f32, 1.0, 1.0]).collect();
    blur(&mut row, 2);
    assert_eq!(row.iter().map(|t| t[0]).collect::<Vec<_>>()[..4], [2.4, 2.4, 2.4, 0.0]);
    assert_eq!((row[10][0], row[9][0], row[5][1]), (2.4, 0.0, 5.0));
    assert!(row.iter().all(|t| t[2..] == [1.0, 1.0]));
}

#[test]
fn sizes_and_levels_are_obeyed() {
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
