//! Surroundings: a picture of all directions becomes a cubemap, with blurred levels for rough surfaces and the light
//! that falls on matt ones.
//!
//! The picture is equirectangular: its top row is up (+Y), its middle looks along +X, and to the right of that is +Z. The
//! faces have the order and orientation of every other cubemap here. Directions of samples follow a Hammersley sequence
//! and nothing random, and mathematics comes from `libm`, so that the bytes are the same on every machine.

use std::f64::consts::PI;
use std::time::Instant;

use kiln_ir::LightMap;
use rayon::prelude::*;

use crate::light::{halves, shrink};
use crate::mips::{Mips, level_size};
use crate::texel::Texel;
use crate::{Encoded, Error, Payload, check, cube, supercompress};

/// How surroundings are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvironmentSettings {
    /// Texels of a face's side; a quarter of the picture's width if not said.
    pub size: Option<u32>,
    /// Levels are what surfaces of rising roughness reflect, instead of plain means.
    pub specular: bool,
    /// Make the light that falls on matt surfaces as well.
    pub irradiance: bool,
    /// How many levels.
    pub mips: Mips,
    /// The longest side that a face may have.
    pub max_size: Option<u32>,
    /// Zstandard on every level.
    pub zstd: bool,
    /// When to give up. The result does not depend on it.
    pub deadline: Option<Instant>,
}

/// Directions that are looked at for each texel of a blurred level.
const SAMPLES: u32 = 256;
/// The side of a blurred cubemap's last level: below it, neighbours look in directions too far apart.
const LAST_SIDE: u32 = 4;
/// The side of the cubemap of light on matt surfaces, which has no detail.
const MATT_SIDE: u32 = 32;

/// Makes a cubemap of the surroundings and, if it is wanted, one of the light on matt surfaces.
pub fn encode_environment(
    map: LightMap,
    settings: &EnvironmentSettings,
) -> Result<(Encoded, Option<Encoded>), Error> {
    let side = settings.size.unwrap_or(map.width() / 4).min(settings.max_size.unwrap_or(u32::MAX)).max(1);
    let full = Mips::Full.levels(side, side);
    let mut chain = vec![Cube::of(map, side)];
    for level in 1..full {
        check(settings.deadline)?;
        let smaller = chain[level as usize - 1].smaller(level_size(side, side, level).0);
        chain.push(smaller);
    }
    let wanted = settings.mips.levels(side, side);
    let levels: Vec<Vec<u8>> = if settings.specular {
        let last = full.saturating_sub(LAST_SIDE.ilog2()).max(1);
        let rough = |level| check(settings.deadline).map(|()| rough(&chain, level, last).bytes());
        (0..wanted.min(last)).map(rough).collect::<Result<_, _>>()?
    } else {
        chain[..wanted as usize].iter().map(Cube::bytes).collect()
    };
    let matt = settings.irradiance.then(|| encoded(MATT_SIDE, vec![matt(&chain).bytes()], settings));
    drop(chain);
    Ok((encoded(side, levels, settings)?, matt.transpose()?))
}

fn encoded(side: u32, levels: Vec<Vec<u8>>, settings: &EnvironmentSettings) -> Result<Encoded, Error> {
    let zstd = settings.zstd;
    let (levels, texels) = (supercompress::levels(levels, zstd, settings.deadline)?, Payload::Rgba16F);
    Ok(Encoded {
        width: side,
        height: side,
        depth: 0,
        layers: 0,
        faces: 6,
        srgb: false,
        texels,
        zstd,
        levels,
    })
}

type Vec3 = [f64; 3];

fn unit(v: Vec3) -> Vec3 {
    let length = dot(v, v).sqrt();
    v.map(|c| c / length)
}

fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn mix(a: Texel, b: Texel, share: f64) -> Texel {
    std::array::from_fn(|c| (f64::from(a[c]) + (f64::from(b[c]) - f64::from(a[c])) * share) as f32)
}

/// Six faces, one after another.
struct Cube {
    side: u32,
    texels: Vec<Texel>,
}

impl Cube {
    /// A cube whose texels are a function of face, column and row.
    fn new(side: u32, texel: impl Fn(usize, u32, u32) -> Texel + Sync) -> Cube {
        let row = |i: u32| (0..side).map(move |x| (i, x));
        let rows = (0..6 * side).into_par_iter().flat_map_iter(row);
        let texels = rows.map(|(i, x)| texel((i / side) as usize, x, i % side)).collect();
        Cube { side, texels }
    }

    /// What a picture of all directions shows. Light is not negative, and has no alpha.
    fn of(map: LightMap, side: u32) -> Cube {
        let view = Panorama::new(map, side);
        Cube::new(side, |face, x, y| {
            let place = |i: u32, part: f64| (f64::from(i) + part) / f64::from(side) * 2.0 - 1.0;
            let mut sum = [0.0; 4];
            for (right, down) in [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)] {
                let texel = view.at(cube::direction(face, place(x, right), place(y, down)));
                (0..3).for_each(|c| sum[c] += texel[c].max(0.0) / 4.0);
            }
            [sum[0], sum[1], sum[2], 1.0]
        })
    }

    fn face(&self, face: usize) -> &[Texel] {
        let len = self.side as usize * self.side as usize;
        &self.texels[face * len..][..len]
    }

    fn smaller(&self, side: u32) -> Cube {
        let shrink = |face| shrink(self.face(face), (self.side, self.side), (side, side));
        Cube { side, texels: (0..6).flat_map(shrink).collect() }
    }

    fn bytes(&self) -> Vec<u8> {
        halves(&self.texels)
    }

    /// The middle of a texel, as a direction.
    fn direction(&self, face: usize, x: u32, y: u32) -> Vec3 {
        let place = |i: u32| (f64::from(i) + 0.5) / f64::from(self.side) * 2.0 - 1.0;
        cube::direction(face, place(x), place(y))
    }

    /// What a sampler shows, across the edges of faces as well.
    fn at(&self, direction: Vec3) -> Texel {
        let (face, along, down) = cube::place(direction);
        let side = i64::from(self.side);
        let texels = |place: f64| (place + 1.0) / 2.0 * side as f64 - 0.5;
        let (x, y) = (texels(along), texels(down));
        let (left, top) = (x.floor(), y.floor());
        let fetch = |dx: i64, dy: i64| {
            let (x, y) = (left as i64 + dx, top as i64 + dy);
            let (face, x, y) = match (0..side).contains(&x) && (0..side).contains(&y) {
                true => (face, x as u32, y as u32),
                false => cube::texel_over(face, x, y, side),
            };
            self.face(face)[(y * self.side + x) as usize]
        };
        let (right, down) = (x - left, y - top);
        mix(mix(fetch(0, 0), fetch(1, 0), right), mix(fetch(0, 1), fetch(1, 1), right), down)
    }
}

/// A picture of all directions, about as fine as the cube that is made of it.
struct Panorama {
    width: u32,
    height: u32,
    texels: Vec<Texel>,
}

impl Panorama {
    /// A picture far larger than the cube is brought near to its size, so that few samples see all of it. Towards the
    /// poles its texels are crowded, so rows there are blurred until one texel is as wide as on the equator.
    fn new(map: LightMap, side: u32) -> Panorama {
        let size = (map.width(), map.height());
        let near = (side.saturating_mul(4).min(size.0), side.saturating_mul(2).min(size.1));
        let (width, height) = if size.0 / 2 >= near.0 { near } else { size };
        let mut texels = match (width, height) == size {
            true => map.into_texels(),
            false => shrink(map.texels(), size, (width, height)),
        };
        texels.par_chunks_mut(width as usize).enumerate().for_each(|(y, row)| {
            let latitude = PI * ((y as f64 + 0.5) / f64::from(height) - 0.5);
            // So many texels to each side.
            let reach = (0.5 / libm::cos(latitude) - 0.5).min(f64::from(width) / 2.0 - 1.0) as usize;
            if reach > 0 {
                blur(row, reach);
            }
        });
        Panorama { width, height, texels }
    }

    /// What is seen in a direction. The picture closes from right to left; above its top row there is nothing else.
    fn at(&self, direction: Vec3) -> Texel {
        let [x, y, z] = unit(direction);
        let u = libm::atan2(z, x) / (2.0 * PI) + 0.5;
        let v = 0.5 - libm::asin(y.clamp(-1.0, 1.0)) / PI;
        let (x, y) = (u * f64::from(self.width) - 0.5, v * f64::from(self.height) - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let fetch = |dx: i64, dy: i64| {
            let x = (left as i64 + dx).rem_euclid(self.width.into()) as usize;
            let y = (top as i64 + dy).clamp(0, i64::from(self.height) - 1) as usize;
            self.texels[y * self.width as usize + x]
        };
        let (right, down) = (x - left, y - top);
        mix(mix(fetch(0, 0), fetch(1, 0), right), mix(fetch(0, 1), fetch(1, 1), right), down)
    }
}

/// Makes each texel of a ring the mean of itself and `reach` neighbours on each side.
fn blur(row: &mut [Texel], reach: usize) {
    let (source, len, wide) = (row.to_vec(), row.len(), (2 * reach + 1) as f64);
    let at = |x: usize, c: usize| f64::from(source[x % len][c]);
    for c in 0..4 {
        let mut sum: f64 = (0..2 * reach + 1).map(|i| at(len - reach + i, c)).sum();
        for (x, texel) in row.iter_mut().enumerate() {
            texel[c] = (sum / wide) as f32;
            sum += at(x + reach + 1, c) - at(len + x - reach, c);
        }
    }
}

/// A direction of light around the normal, how much it counts, and the level that shows as much as it stands for.
struct Sample {
    towards: Vec3,
    weight: f64,
    level: f64,
}

/// Level `level` of `count`: what a surface reflects whose roughness is the level's place in the chain. The view is
/// taken to be along the normal, as everywhere where cubemaps are blurred beforehand.
fn rough(chain: &[Cube], level: u32, count: u32) -> Cube {
    let side = chain[level as usize].side;
    if level == 0 {
        return Cube { side, texels: chain[0].texels.clone() };
    }
    let roughness = f64::from(level) / f64::from(count - 1);
    let samples = samples(roughness * roughness, chain[0].side);
    let total: f64 = samples.iter().map(|sample| sample.weight).sum();
    Cube::new(side, |face, x, y| {
        let normal = unit(chain[level as usize].direction(face, x, y));
        let aside = if normal[2].abs() < 0.9 { [0.0, 0.0, 1.0] } else { [1.0, 0.0, 0.0] };
        let right = unit(cross(aside, normal));
        let up = cross(normal, right);
        let mut sum = [0.0f64; 3];
        for Sample { towards: [a, b, c], weight, level } in &samples {
            let towards = std::array::from_fn(|i| right[i] * a + up[i] * b + normal[i] * c);
            let seen = between_levels(chain, towards, *level);
            (0..3).for_each(|i| sum[i] += weight * f64::from(seen[i]));
        }
        let [r, g, b] = sum.map(|value| (value / total) as f32);
        [r, g, b, 1.0]
    })
}

/// The directions from which a surface with the GGX distribution of this `alpha` reflects light along its normal.
fn samples(alpha: f64, side: u32) -> Vec<Sample> {
    let square = alpha * alpha;
    let texel = 4.0 * PI / (6.0 * f64::from(side) * f64::from(side));
    let sample = |i: u32| {
        let (u, v) =
            ((f64::from(i) + 0.5) / f64::from(SAMPLES), f64::from(i.reverse_bits()) / 4_294_967_296.0);
        let around = 2.0 * PI * v;
        let cosine = ((1.0 - u) / (1.0 + (square - 1.0) * u)).sqrt();
        let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
        // The light comes from where the half vector mirrors the normal.
        let weight = 2.0 * cosine * cosine - 1.0;
        let towards =
            [2.0 * cosine * sine * libm::cos(around), 2.0 * cosine * sine * libm::sin(around), weight];
        let spread = cosine * cosine * (square - 1.0) + 1.0;
        let density = square / (PI * spread * spread) / 4.0;
        let stands_for = 1.0 / (f64::from(SAMPLES) * density);
        let level = (0.5 * libm::log2(stands_for / texel)).max(0.0);
        (weight > 0.0).then_some(Sample { towards, weight, level })
    };
    (0..SAMPLES).filter_map(sample).collect()
}

fn between_levels(chain: &[Cube], direction: Vec3, level: f64) -> Texel {
    let level = level.min((chain.len() - 1) as f64);
    let (low, share) = (level.floor() as usize, level.fract());
    let near = chain[low].at(direction);
    match chain.get(low + 1).filter(|_| share > 0.0) {
        Some(next) => mix(near, next.at(direction), share),
        None => near,
    }
}

/// The light that falls on a matt surface, by its normal: the mean of what it sees, weighted by the cosine. Multiplied
/// with the surface's colour it is what the surface shows.
fn matt(chain: &[Cube]) -> Cube {
    let source = chain.iter().find(|cube| cube.side <= MATT_SIDE).unwrap_or(&chain[chain.len() - 1]);
    let lights: Vec<(Vec3, Texel)> = (0..6)
        .flat_map(|face| (0..source.side).flat_map(move |y| (0..source.side).map(move |x| (face, x, y))))
        .map(|(face, x, y)| {
            let towards = source.direction(face, x, y);
            // A texel towards a corner is farther away and seen at a slant.
            let angle = 1.0 / (dot(towards, towards) * dot(towards, towards).sqrt());
            (unit(towards).map(|c| c * angle), source.face(face)[(y * source.side + x) as usize])
        })
        .collect();
    let target = Cube { side: MATT_SIDE, texels: vec![] };
    Cube::new(MATT_SIDE, |face, x, y| {
        let normal = unit(target.direction(face, x, y));
        let (mut sum, mut total) = ([0.0f64; 3], 0.0f64);
        for (towards, light) in &lights {
            let weight = dot(normal, *towards).max(0.0);
            (0..3).for_each(|c| sum[c] += weight * f64::from(light[c]));
            total += weight;
        }
        let [r, g, b] = sum.map(|value| (value / total.max(f64::MIN_POSITIVE)) as f32);
        [r, g, b, 1.0]
    })
}

#[cfg(test)]
mod tests;
