//! Pictures of light: half floats, and levels that are plain means.
//!
//! A filter with negative lobes would put dark rings around a sun, so each texel of a smaller level is the mean of the
//! area it covers, and a picture keeps its mean all the way down.

use std::time::Instant;

use kiln_ir::LightMap;
use rayon::prelude::*;

use crate::half::half4;
use crate::mips::{self, Mips};
use crate::texel::Texel;
use crate::{Encoded, Error, Payload, check, supercompress};

/// Makes a 2D texture of half floats, linear.
pub fn encode_light(
    map: LightMap,
    mips: Mips,
    max_size: Option<u32>,
    zstd: bool,
    deadline: Option<Instant>,
) -> Result<Encoded, Error> {
    let mut size = (map.width(), map.height());
    let (width, height) = mips::fit(size.0, size.1, max_size);
    let count = mips.levels(width, height);
    let mut texels = map.into_texels();
    if size != (width, height) {
        texels = shrink(&texels, size, (width, height));
        size = (width, height);
    }
    let mut levels = Vec::new();
    for level in 1..=count {
        check(deadline)?;
        let next = mips::level_size(width, height, level);
        let smaller = if level < count { shrink(&texels, size, next) } else { Vec::new() };
        levels.push(into_halves(texels));
        (texels, size) = (smaller, next);
    }
    let levels = supercompress::levels(levels, zstd, deadline)?;
    let texels = Payload::Rgba16F;
    Ok(Encoded { width, height, depth: 0, layers: 0, faces: 1, srgb: false, texels, zstd, levels })
}

/// Texels of which half floats are made before their memory is given back.
const GIVEN_BACK: usize = 1 << 20;

/// The texels as four half floats each. They are made from the last to the first, and the memory of texels is given back
/// on the way, so that there are never two copies of a large image.
fn into_halves(mut texels: Vec<Texel>) -> Vec<u8> {
    let mut out = vec![0; texels.len() * HALVES];
    while !texels.is_empty() {
        let start = (texels.len() - 1) / GIVEN_BACK * GIVEN_BACK;
        put_halves(&texels[start..], &mut out[start * HALVES..texels.len() * HALVES]);
        texels.truncate(start);
        texels.shrink_to_fit();
    }
    out
}

/// Bytes of a texel in half floats.
const HALVES: usize = 8;

/// The texels as four half floats each.
pub(crate) fn halves(texels: &[Texel]) -> Vec<u8> {
    let mut out = vec![0; texels.len() * HALVES];
    put_halves(texels, &mut out);
    out
}

fn put_halves(texels: &[Texel], out: &mut [u8]) {
    let put = |(texel, out): (&Texel, &mut [u8; HALVES])| {
        out.as_chunks_mut().0.copy_from_slice(&half4(texel));
    };
    texels.par_iter().zip(out.as_chunks_mut().0).with_min_len(4096).for_each(put);
}

/// A picture at a smaller size: each texel the mean of the area it covers.
pub(crate) fn shrink(texels: &[Texel], from: (u32, u32), to: (u32, u32)) -> Vec<Texel> {
    let (across, down) = (spans(from.0, to.0), spans(from.1, to.1));
    let width = from.0 as usize;
    let mut out = vec![[0.0; 4]; to.0 as usize * to.1 as usize];
    out.par_chunks_mut(to.0 as usize).zip(&down).for_each(|(row, tall)| {
        for (texel, wide) in row.iter_mut().zip(&across) {
            let mut sum = [0.0f64; 4];
            for (y, high) in tall {
                for (x, long) in wide {
                    let weight = high * long;
                    let source = texels[y * width + x];
                    (0..4).for_each(|c| sum[c] += weight * f64::from(source[c]));
                }
            }
            *texel = sum.map(|value| value as f32);
        }
    });
    out
}

/// Which texels of `from` make each of `to`, with weights that add up to one.
fn spans(from: u32, to: u32) -> Vec<Vec<(usize, f64)>> {
    let (from, to) = (u64::from(from), u64::from(to));
    let span = |i: u64| {
        // In parts of which a source texel has `to` and a destination texel `from`: whole numbers, so exact.
        let (start, end) = (i * from, (i + 1) * from);
        let covered = |x: u64| end.min((x + 1) * to) - start.max(x * to);
        (start / to..end.div_ceil(to)).map(|x| (x as usize, covered(x) as f64 / from as f64)).collect()
    };
    (0..to).map(span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(width: u32, height: u32, value: impl Fn(u32) -> f32) -> LightMap {
        let texel = |i| [value(i), 2.0 * value(i), 0.0, 1.0];
        LightMap::new(width, height, (0..width * height).map(texel).collect()).unwrap()
    }

    #[test]
    fn levels_keep_the_mean() {
        for size in [(8, 8), (7, 5), (13, 1), (6, 9)] {
            let source = map(size.0, size.1, |i| (i * i % 17) as f32 * if i == 3 { 1000.0 } else { 1.0 });
            let mean =
                |texels: &[Texel]| texels.iter().map(|t| f64::from(t[0])).sum::<f64>() / texels.len() as f64;
            let small = shrink(source.texels(), size, ((size.0 / 2).max(1), (size.1 / 2).max(1)));
            let (before, after) = (mean(source.texels()), mean(&small));
            assert!((before - after).abs() < before * 1e-6, "{size:?}: {before}, then {after}");
            assert!(small.iter().all(|t| t[0] >= 0.0 && t[3] == 1.0));
        }
    }

    #[test]
    fn halves_are_the_same_when_texels_are_given_up() {
        for len in [1, 7, GIVEN_BACK, GIVEN_BACK + 3] {
            let texels: Vec<Texel> = (0..len).map(|i| [i as f32, 0.5, -1.0, (i % 9) as f32]).collect();
            assert!(halves(&texels) == into_halves(texels), "{len}");
        }
    }

    #[test]
    fn halves_are_stored_level_by_level() {
        let encoded = encode_light(map(4, 2, |i| i as f32), Mips::Full, None, false, None).unwrap();
        assert_eq!((encoded.width, encoded.height, encoded.texels), (4, 2, Payload::Rgba16F));
        assert_eq!(encoded.levels.iter().map(|l| l.bytes.len()).collect::<Vec<_>>(), [64, 16, 8]);
        // 5.0, 10.0, 0.0 and 1.0 in binary16.
        assert_eq!(encoded.levels[0].bytes[40..48], [0x00, 0x45, 0x00, 0x49, 0, 0, 0x00, 0x3c]);
        // The mean of 0 to 7 is 3.5.
        assert_eq!(encoded.levels[2].bytes[..2], [0x00, 0x43]);
        let small = encode_light(map(4, 2, |i| i as f32), Mips::None, Some(2), true, None).unwrap();
        assert_eq!((small.width, small.height, small.levels.len(), small.zstd), (2, 1, 1, true));
    }
}
