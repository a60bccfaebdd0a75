//! Environment maps: an equirectangular HDR panorama becomes a cubemap, with prefiltered specular mip levels
//! (GGX) and a diffuse irradiance cubemap.
//!
//! The top row of the panorama is up (+Y), its centre looks along +X, and +Z is to the right of that. The
//! faces have the order and orientation of all other cubemaps of the crate. Sample directions follow a
//! Hammersley sequence, not a random one, and mathematical functions come from `libm`, so that the bytes are
//! the same on every machine.

use std::f64::consts::PI;
use std::time::Instant;

use kiln_ir::HdrImage;
use rayon::prelude::*;

use crate::filter_mode::Texel;
use crate::hdr::{bc6h_blocks, half_texels, hdr_payload, shrink};
use crate::mips::{Mips, level_size};
use crate::{Encoded, Error, Quality, check, cube, supercompress};

/// Options of an environment map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvironmentSettings {
    /// Texels of a face's side; a quarter of the panorama's width by default.
    pub size: Option<u32>,
    /// Mip levels are prefiltered specular (GGX) for increasing roughness instead of box-filtered.
    pub specular: bool,
    /// Also encodes the diffuse irradiance cubemap.
    pub irradiance: bool,
    /// The number of mip levels.
    pub mips: Mips,
    /// The maximum side of a face in texels.
    pub max_size: Option<u32>,
    /// Encodes BC6H blocks with this effort; `None` stores RGBA16F.
    pub bc6h: Option<Quality>,
    /// Compresses every mip level with Zstandard.
    pub zstd: bool,
    /// The instant at which encoding is cancelled. The result does not depend on it.
    pub deadline: Option<Instant>,
}

/// Samples of the GGX distribution for each texel of a prefiltered mip level.
const SAMPLES: u32 = 256;
/// The side of the last prefiltered mip level in texels: below it, neighbouring texels are too far apart in
/// direction.
const LAST_SIDE: u32 = 4;
/// The side of the diffuse irradiance cubemap in texels; irradiance has no fine detail.
const IRRADIANCE_SIDE: u32 = 32;

/// Encodes a panorama as an environment cubemap and, if requested, a diffuse irradiance cubemap.
///
/// # Errors
///
/// [`Error::Deadline`] if the deadline passes, [`Error::Zstd`] if memory runs out.
pub fn encode_environment(
    map: HdrImage,
    settings: &EnvironmentSettings,
) -> Result<(Encoded, Option<Encoded>), Error> {
    let side = settings.size.unwrap_or(map.width() / 4).min(settings.max_size.unwrap_or(u32::MAX)).max(1);
    let full = Mips::Full.levels(side, side);
    let mut chain = vec![Cube::from_panorama(map, side)];
    for level in 1..full {
        check(settings.deadline)?;
        let next = chain[level as usize - 1].downscaled(level_size(side, side, level).0);
        chain.push(next);
    }
    let wanted = settings.mips.levels(side, side);
    let levels: Vec<Vec<u8>> = if settings.specular {
        let last = full.saturating_sub(LAST_SIDE.ilog2()).max(1);
        let specular = |level| {
            check(settings.deadline).map(|()| prefiltered_specular(&chain, level, last).bytes(settings))
        };
        (0..wanted.min(last)).map(specular).collect::<Result<_, _>>()?
    } else {
        chain[..wanted as usize].iter().map(|cube| cube.bytes(settings)).collect()
    };
    let irradiance = settings
        .irradiance
        .then(|| encoded(IRRADIANCE_SIDE, vec![diffuse_irradiance(&chain).bytes(settings)], settings));
    drop(chain);
    Ok((encoded(side, levels, settings)?, irradiance.transpose()?))
}

fn encoded(side: u32, levels: Vec<Vec<u8>>, settings: &EnvironmentSettings) -> Result<Encoded, Error> {
    let zstd = settings.zstd;
    let levels = supercompress::levels(levels, zstd, settings.deadline)?;
    // Negative radiance was clamped.
    let texels = hdr_payload(settings.bc6h, false);
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

/// The six faces of a cubemap level, one after another.
struct Cube {
    side: u32,
    texels: Vec<Texel>,
}

impl Cube {
    /// Returns a cubemap whose texels are a function of face, column and row.
    fn new(side: u32, texel: impl Fn(usize, u32, u32) -> Texel + Sync) -> Cube {
        let row = |i: u32| (0..side).map(move |x| (i, x));
        let rows = (0..6 * side).into_par_iter().flat_map_iter(row);
        let texels = rows.map(|(i, x)| texel((i / side) as usize, x, i % side)).collect();
        Cube { side, texels }
    }

    /// Resamples a panorama. Negative radiance is clamped to zero, and alpha is one.
    fn from_panorama(map: HdrImage, side: u32) -> Cube {
        let panorama = Panorama::new(map, side);
        Cube::new(side, |face, x, y| {
            let place = |i: u32, part: f64| (f64::from(i) + part) / f64::from(side) * 2.0 - 1.0;
            let mut sum = [0.0; 4];
            for (right, down) in [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)] {
                let texel = panorama.at(cube::direction(face, place(x, right), place(y, down)));
                (0..3).for_each(|c| sum[c] += texel[c].max(0.0) / 4.0);
            }
            [sum[0], sum[1], sum[2], 1.0]
        })
    }

    fn face(&self, face: usize) -> &[Texel] {
        let len = self.side as usize * self.side as usize;
        &self.texels[face * len..][..len]
    }

    fn downscaled(&self, side: u32) -> Cube {
        let shrink = |face| shrink(self.face(face), (self.side, self.side), (side, side));
        Cube { side, texels: (0..6).flat_map(shrink).collect() }
    }

    fn bytes(&self, settings: &EnvironmentSettings) -> Vec<u8> {
        match settings.bc6h {
            None => half_texels(&self.texels),
            Some(quality) => {
                (0..6).flat_map(|face| bc6h_blocks(self.face(face), self.side, false, quality)).collect()
            }
        }
    }

    /// Returns the direction of the centre of a texel.
    fn direction(&self, face: usize, x: u32, y: u32) -> Vec3 {
        let place = |i: u32| (f64::from(i) + 0.5) / f64::from(self.side) * 2.0 - 1.0;
        cube::direction(face, place(x), place(y))
    }

    /// Samples the cubemap bilinearly, across the edges of faces.
    fn at(&self, direction: Vec3) -> Texel {
        let (face, along, down) = cube::face_coordinates(direction);
        let side = i64::from(self.side);
        let texels = |place: f64| (place + 1.0) / 2.0 * side as f64 - 0.5;
        let (x, y) = (texels(along), texels(down));
        let (left, top) = (x.floor(), y.floor());
        let fetch = |dx: i64, dy: i64| {
            let (x, y) = (left as i64 + dx, top as i64 + dy);
            let (face, x, y) = match (0..side).contains(&x) && (0..side).contains(&y) {
                true => (face, x as u32, y as u32),
                false => cube::texel_across_edge(face, x, y, side),
            };
            self.face(face)[(y * self.side + x) as usize]
        };
        let (right, down) = (x - left, y - top);
        mix(mix(fetch(0, 0), fetch(1, 0), right), mix(fetch(0, 1), fetch(1, 1), right), down)
    }
}

/// An equirectangular panorama, filtered to about the resolution of the cubemap.
struct Panorama {
    width: u32,
    height: u32,
    texels: Vec<Texel>,
}

impl Panorama {
    /// Prefilters the panorama for a cubemap of this size. A panorama far larger than the cubemap is
    /// downscaled to about its resolution, so that few samples cover all of it. Towards the poles its texels
    /// cover less of the sphere, so rows there are blurred until one texel is as wide as on the equator.
    fn new(map: HdrImage, side: u32) -> Panorama {
        let size = (map.width(), map.height());
        let near = (side.saturating_mul(4).min(size.0), side.saturating_mul(2).min(size.1));
        let (width, height) = if size.0 / 2 >= near.0 { near } else { size };
        let mut texels = match (width, height) == size {
            true => map.into_texels(),
            false => shrink(map.texels(), size, (width, height)),
        };
        texels.par_chunks_mut(width as usize).enumerate().for_each(|(y, row)| {
            let latitude = PI * ((y as f64 + 0.5) / f64::from(height) - 0.5);
            // The number of texels to each side.
            let reach = (0.5 / libm::cos(latitude) - 0.5).min(f64::from(width) / 2.0 - 1.0) as usize;
            if reach > 0 {
                blur(row, reach);
            }
        });
        Panorama { width, height, texels }
    }

    /// Samples the panorama bilinearly. It wraps horizontally and clamps vertically.
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

/// Replaces each texel of a cyclic row by the average of itself and `reach` neighbours on each side.
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

/// A light direction in tangent space, its weight (N·L), and the source mip level for its solid angle.
struct Sample {
    towards: Vec3,
    weight: f64,
    level: f64,
}

/// Returns prefiltered specular level `level` of `count`, whose roughness increases linearly with the level.
/// The view direction is taken to be the normal, as usual for the split-sum approximation.
fn prefiltered_specular(chain: &[Cube], level: u32, count: u32) -> Cube {
    let side = chain[level as usize].side;
    if level == 0 {
        return Cube { side, texels: chain[0].texels.clone() };
    }
    let roughness = f64::from(level) / f64::from(count - 1);
    let samples = ggx_samples(roughness * roughness, chain[0].side);
    let total: f64 = samples.iter().map(|sample| sample.weight).sum();
    Cube::new(side, |face, x, y| {
        let normal = unit(chain[level as usize].direction(face, x, y));
        let helper = if normal[2].abs() < 0.9 { [0.0, 0.0, 1.0] } else { [1.0, 0.0, 0.0] };
        let right = unit(cross(helper, normal));
        let up = cross(normal, right);
        let mut sum = [0.0f64; 3];
        for Sample { towards: [a, b, c], weight, level } in &samples {
            let towards = std::array::from_fn(|i| right[i] * a + up[i] * b + normal[i] * c);
            let seen = sample_trilinear(chain, towards, *level);
            (0..3).for_each(|i| sum[i] += weight * f64::from(seen[i]));
        }
        let [r, g, b] = sum.map(|value| (value / total) as f32);
        [r, g, b, 1.0]
    })
}

/// Returns GGX importance samples of this `alpha` around the normal, as light directions.
fn ggx_samples(alpha: f64, side: u32) -> Vec<Sample> {
    let square = alpha * alpha;
    let texel = 4.0 * PI / (6.0 * f64::from(side) * f64::from(side));
    let sample = |i: u32| {
        let (u, v) =
            ((f64::from(i) + 0.5) / f64::from(SAMPLES), f64::from(i.reverse_bits()) / 4_294_967_296.0);
        let around = 2.0 * PI * v;
        let cosine = ((1.0 - u) / (1.0 + (square - 1.0) * u)).sqrt();
        let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
        // The light direction is the normal mirrored at the half vector.
        let weight = 2.0 * cosine * cosine - 1.0;
        let towards =
            [2.0 * cosine * sine * libm::cos(around), 2.0 * cosine * sine * libm::sin(around), weight];
        let denominator = cosine * cosine * (square - 1.0) + 1.0;
        let density = square / (PI * denominator * denominator) / 4.0;
        let solid_angle = 1.0 / (f64::from(SAMPLES) * density);
        let level = (0.5 * libm::log2(solid_angle / texel)).max(0.0);
        (weight > 0.0).then_some(Sample { towards, weight, level })
    };
    (0..SAMPLES).filter_map(sample).collect()
}

fn sample_trilinear(chain: &[Cube], direction: Vec3, level: f64) -> Texel {
    let level = level.min((chain.len() - 1) as f64);
    let (low, share) = (level.floor() as usize, level.fract());
    let near = chain[low].at(direction);
    match chain.get(low + 1).filter(|_| share > 0.0) {
        Some(next) => mix(near, next.at(direction), share),
        None => near,
    }
}

/// Returns the diffuse irradiance by surface normal, divided by π: the cosine-weighted average of the
/// radiance of the hemisphere. Multiplied by the albedo it is the outgoing diffuse radiance.
fn diffuse_irradiance(chain: &[Cube]) -> Cube {
    let source = chain.iter().find(|cube| cube.side <= IRRADIANCE_SIDE).unwrap_or(&chain[chain.len() - 1]);
    let radiance: Vec<(Vec3, Texel)> = (0..6)
        .flat_map(|face| (0..source.side).flat_map(move |y| (0..source.side).map(move |x| (face, x, y))))
        .map(|(face, x, y)| {
            let towards = source.direction(face, x, y);
            // The solid angle of a texel decreases towards the corners of the face.
            let angle = 1.0 / (dot(towards, towards) * dot(towards, towards).sqrt());
            (unit(towards).map(|c| c * angle), source.face(face)[(y * source.side + x) as usize])
        })
        .collect();
    let target = Cube { side: IRRADIANCE_SIDE, texels: vec![] };
    Cube::new(IRRADIANCE_SIDE, |face, x, y| {
        let normal = unit(target.direction(face, x, y));
        let (mut sum, mut total) = ([0.0f64; 3], 0.0f64);
        for (towards, light) in &radiance {
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
