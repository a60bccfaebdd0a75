//! Textures as pictures: the images of a `.ktx2`, decoded and, where they are too large, reduced, as PNG.
//!
//! Levels are read as streams, one row of blocks at a time, so that memory follows the size of the picture and not
//! that of the texture. Level 0 is always shown, if need be reduced by a power of two; further levels where they fit.
//! Refuses levels of more than [`MAX_LEVEL_BYTES`], and blocks that do not exist.

use kiln_format::ktx2::{Channels, Ktx2View, Level, Payload, Shape, Supercompression, Transfer};
use std::io::{self, Read};
use std::sync::LazyLock;

/// Larger levels are not looked at: nothing that a GPU takes is.
const MAX_LEVEL_BYTES: u64 = 4 << 30;
/// Longer rows are not looked at.
const MAX_SIDE: u32 = 1 << 16;
/// How many images of a level are shown: layers, faces and slices together.
pub(crate) const MAX_IMAGES: u64 = 256;

/// What a texture shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pictures {
    /// Its levels, largest first.
    pub(crate) levels: Vec<LevelPictures>,
    /// The channels that hold something: those that the file names, or fewer where data was found to fill only `R`, or
    /// `RG` as a normal does.
    pub(crate) holds: &'static str,
}

/// The pictures of one level.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LevelPictures {
    /// Its size in texels.
    pub(crate) dims: [u32; 3],
    /// Its bytes in the file.
    pub(crate) stored: u64,
    /// The size of its pictures; 0 if it has none.
    pub(crate) shown: [u32; 2],
    /// Its images as PNG: layer by layer, face by face, slice by slice.
    pub(crate) images: Vec<Vec<u8>>,
}

/// How a level is shown when no side of a picture may be longer than `cap`: by what it is divided, or not at all.
fn divisor(dims: [u32; 3], level: u32, cap: u32) -> Option<u32> {
    let side = dims[0].max(dims[1]);
    let mut divisor = 1;
    while side.div_ceil(divisor) > cap && divisor < 1 << 31 {
        divisor *= 2;
    }
    (level == 0 || divisor == 1).then_some(divisor)
}

/// Layers, faces and slices of a level that are shown.
fn images(shape: &Shape, dims: [u32; 3]) -> u64 {
    let all = u64::from(shape.layer_count.max(1)) * u64::from(shape.face_count);
    all.saturating_mul(dims[2].into()).min(MAX_IMAGES)
}

/// How many texels the pictures of a texture have.
pub(crate) fn texels(shape: &Shape, level_count: u32, cap: u32) -> u64 {
    let level = |level| {
        let dims = shape.level_dims(level);
        let divisor = divisor(dims, level, cap)?;
        Some(
            u64::from(dims[0].div_ceil(divisor)) * u64::from(dims[1].div_ceil(divisor)) * images(shape, dims),
        )
    };
    (0..level_count).filter_map(level).fold(0, u64::saturating_add)
}

/// All pictures of a texture, none with a side longer than `cap`.
pub(crate) fn pictures(view: &Ktx2View<'_>, cap: u32) -> Result<Pictures, String> {
    let numbered = view.levels().zip(0..);
    let mut seen = Seen::default();
    let level = |(level, number): (Level<'_>, u32)| {
        let divisor = divisor(level.dims, number, cap);
        let shown = divisor.map_or([0; 2], |d| [level.dims[0].div_ceil(d), level.dims[1].div_ceil(d)]);
        let images = match divisor {
            Some(divisor) => {
                decode(view, &level, divisor, &mut seen).map_err(|why| format!("level {number}: {why}"))?
            }
            None => vec![],
        };
        Ok(LevelPictures { dims: level.dims, stored: level.bytes.len() as u64, shown, images })
    };
    let levels = numbered.map(level).collect::<Result<_, String>>()?;
    let channels = view.payload().channels();
    let data = view.transfer() == Transfer::Linear && channels == Channels::Rgb;
    Ok(Pictures { levels, holds: seen.holds().filter(|_| data).unwrap_or(channels.name()) })
}

/// How bright the channels of all pictures are.
#[derive(Default)]
struct Seen {
    most: [u8; 4],
    sums: [u64; 2],
    texels: u64,
}

impl Seen {
    fn look(&mut self, texels: &[[u8; 4]]) {
        for texel in texels {
            (0..4).for_each(|c| self.most[c] = self.most[c].max(texel[c]));
            (0..2).for_each(|c| self.sums[c] += u64::from(texel[c]));
        }
        self.texels += texels.len() as u64;
    }

    /// Fewer channels than three, where the others are dark but for what block coding leaves.
    fn holds(&self) -> Option<&'static str> {
        let dark = |c: usize| self.most[c] <= 4;
        // Normals point away from the surface, so that x and y are about in the middle.
        let level = |c: usize| (96..=160).contains(&(self.sums[c] / self.texels.max(1)));
        match (dark(1), dark(2)) {
            (true, true) => Some("R"),
            (false, true) if level(0) && level(1) => Some("RG"),
            _ => None,
        }
    }
}

fn decode(
    view: &Ktx2View<'_>,
    level: &Level<'_>,
    divisor: u32,
    seen: &mut Seen,
) -> Result<Vec<Vec<u8>>, String> {
    let [width, height, _] = level.dims;
    if level.uncompressed_len > MAX_LEVEL_BYTES || width > MAX_SIDE || height > MAX_SIDE {
        return Err("it is too large to be shown".to_owned());
    }
    let cut = |e: io::Error| format!("its content cannot be inflated: {e}");
    let mut bytes: Box<dyn Read + '_> = match view.supercompression() {
        Supercompression::None => Box::new(level.bytes),
        Supercompression::Zstd => {
            Box::new(zstd::stream::read::Decoder::with_buffer(level.bytes).map_err(cut)?.single_frame())
        }
    };
    let side = view.payload().block_side();
    let row_len = u64::from(width.div_ceil(side)) * view.payload().block_len();
    let mut row = vec![0; row_len as usize];
    let mut strip = vec![[0; 4]; width as usize * side as usize];
    let mut out = Vec::new();
    for _ in 0..images(&view.shape(), level.dims) {
        let mut picture = Reduced::new(width, height, divisor);
        for y in (0..height).step_by(side as usize) {
            bytes.read_exact(&mut row).map_err(cut)?;
            unpack(view, &row, width as usize, &mut strip).ok_or("it has a block of no mode")?;
            strip
                .chunks_exact(width as usize)
                .take((height - y) as usize)
                .for_each(|texels| picture.add(texels));
        }
        let texels = picture.finish();
        seen.look(&texels);
        out.push(png(texels, width.div_ceil(divisor), height.div_ceil(divisor))?);
    }
    Ok(out)
}

/// One row of blocks as rows of texels.
fn unpack(view: &Ktx2View<'_>, row: &[u8], width: usize, strip: &mut [[u8; 4]]) -> Option<()> {
    match view.payload() {
        Payload::Uastc { .. } | Payload::Bc7 => {
            let bc7 = view.payload() == Payload::Bc7;
            for (n, block) in row.as_chunks::<16>().0.iter().enumerate() {
                let texels = if bc7 {
                    kiln_uastc::bc7::decode_block(block)?
                } else {
                    kiln_uastc::decode_block(block)?
                };
                let x = n * 4;
                let inside = (width - x).min(4);
                for (line, texels) in strip.chunks_exact_mut(width).zip(texels.chunks_exact(4)) {
                    line[x..x + inside].copy_from_slice(&texels[..inside]);
                }
            }
        }
        Payload::Rgba8 => {
            strip.iter_mut().zip(row.as_chunks::<4>().0).for_each(|(texel, bytes)| *texel = *bytes)
        }
        Payload::Rgba16F => {
            // A volume holds colours as they are shown; anything else holds light.
            let table = if view.shape().depth > 0 { &HALVES.0 } else { &HALVES.1 };
            for (texel, bytes) in strip.iter_mut().zip(row.as_chunks::<8>().0) {
                let half = |i: usize| usize::from(u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]));
                *texel = [table[half(0)], table[half(1)], table[half(2)], HALVES.0[half(3)]];
            }
        }
    }
    Some(())
}

/// What each half float looks like, as it is and with the sRGB transfer function: 0 to 1 as 0 to 255.
static HALVES: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let byte = |value: f32| (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
    let srgb = |x: f32| if x <= 0.003_130_8 { x * 12.92 } else { 1.055 * libm::powf(x, 1.0 / 2.4) - 0.055 };
    let values = || (0..=u16::MAX).map(half);
    (values().map(byte).collect(), values().map(|x| byte(srgb(x.clamp(0.0, 1.0)))).collect())
});

/// The value of a half float; what is no number is 0.
fn half(bits: u16) -> f32 {
    let value = half::f16::from_bits(bits).to_f32();
    if value.is_nan() { 0.0 } else { value }
}

/// A picture that is filled row by row, each texel the mean of a square.
struct Reduced {
    divisor: u32,
    width: u32,
    height: u32,
    /// Rows that were added.
    rows: u32,
    sums: Vec<[u32; 4]>,
    out: Vec<[u8; 4]>,
}

impl Reduced {
    fn new(width: u32, height: u32, divisor: u32) -> Reduced {
        let sums = vec![[0; 4]; width.div_ceil(divisor) as usize];
        let out = Vec::with_capacity(sums.len() * height.div_ceil(divisor) as usize);
        Reduced { divisor, width, height, rows: 0, sums, out }
    }

    fn add(&mut self, texels: &[[u8; 4]]) {
        self.rows += 1;
        if self.divisor == 1 {
            return self.out.extend_from_slice(texels);
        }
        for (sum, square) in self.sums.iter_mut().zip(texels.chunks(self.divisor as usize)) {
            for texel in square {
                (0..4).for_each(|c| sum[c] += u32::from(texel[c]));
            }
        }
        if self.rows.is_multiple_of(self.divisor) || self.rows == self.height {
            let high = (self.rows - 1) % self.divisor + 1;
            for (x, sum) in (0..).step_by(self.divisor as usize).zip(&mut self.sums) {
                let count = high * (self.width - x).min(self.divisor);
                self.out.push(sum.map(|sum| ((sum + count / 2) / count) as u8));
                *sum = [0; 4];
            }
        }
    }

    fn finish(self) -> Vec<[u8; 4]> {
        self.out
    }
}

/// A picture as PNG, with as few channels as it needs.
fn png(texels: Vec<[u8; 4]>, width: u32, height: u32) -> Result<Vec<u8>, String> {
    let opaque = texels.iter().all(|t| t[3] == 255);
    let grey = opaque && texels.iter().all(|t| t[0] == t[1] && t[0] == t[2]);
    let (color, data): (_, Vec<u8>) = match (opaque, grey) {
        (_, true) => (png::ColorType::Grayscale, texels.iter().map(|t| t[0]).collect()),
        (true, _) => (png::ColorType::Rgb, texels.iter().flat_map(|t| [t[0], t[1], t[2]]).collect()),
        _ => (png::ColorType::Rgba, texels.into_flattened()),
    };
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::Eight);
    let write = || encoder.write_header()?.write_image_data(&data);
    write().map_err(|e: png::EncodingError| e.to_string())?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_as_the_standard_has_them() {
        for (bits, value) in [
            (0, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x7bff, 65504.0),
        ] {
            assert_eq!(half(bits), value, "{bits:#06x}");
        }
        assert_eq!((half(0x7c00), half(0x7e00)), (f32::INFINITY, 0.0));
        assert_eq!((HALVES.0[0x3800], HALVES.1[0x3800]), (128, 188));
    }

    #[test]
    fn squares_are_averaged_also_at_the_edges() {
        let mut picture = Reduced::new(3, 3, 2);
        for row in [[10, 20, 30], [30, 40, 50], [7, 8, 9]] {
            picture.add(&row.map(|v| [v, 0, 255, v]));
        }
        let red: Vec<u8> = picture.finish().iter().map(|t| t[0]).collect();
        assert_eq!(red, [25, 40, 8, 9]);
    }

    #[test]
    fn what_a_texture_holds() {
        let holds = |texels: &[[u8; 4]]| {
            let mut seen = Seen::default();
            seen.look(texels);
            seen.holds()
        };
        assert_eq!(holds(&[[200, 0, 1, 255], [3, 4, 0, 255]]), Some("R"));
        assert_eq!(holds(&[[120, 140, 1, 255], [130, 130, 0, 255]]), Some("RG"));
        assert_eq!(holds(&[[10, 140, 1, 255], [0, 130, 0, 255]]), None, "no normals");
        assert_eq!(holds(&[[120, 140, 5, 255]]), None);
    }

    #[test]
    fn large_levels_are_reduced_or_left_out() {
        assert_eq!(divisor([2048, 64, 1], 0, 512), Some(4));
        assert_eq!(divisor([1024, 32, 1], 1, 512), None);
        assert_eq!(divisor([512, 16, 1], 2, 512), Some(1));
        assert_eq!(divisor([513, 16, 1], 0, 512), Some(2));
        assert_eq!(divisor([u32::MAX, 1, 1], 0, 0), Some(1 << 31), "it ends");
        assert_eq!(texels(&Shape::flat(2048, 64), 3, 512), 512 * 16 + 512 * 16);
        assert_eq!(texels(&Shape::cube(8), 1, 512), 6 * 64);
        assert_eq!(texels(&Shape::volume(4, 4, 300), 1, 512), 256 * 16);
    }
}
