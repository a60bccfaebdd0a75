//! PNG images of a `.ktx2` texture, decoded and downsampled if they are too large.
//!
//! Mip levels are decoded as streams, one row of blocks at a time, so that memory depends on the size of the
//! image and not on that of the texture. Level 0 is always shown, downsampled by a power of two if necessary:
//! where the texture has a mip level of that size, its images are shown in place of level 0, which is not
//! decoded. Further mip levels are shown if they fit. A tile is one such image of its own size limit. Textures of 16 bits are stretched to eight from the range of their
//! values, because a height map often uses a small part of it. Rejects mip levels of more than [`MAX_LEVEL_BYTES`], and
//! invalid blocks.

use kiln_format::ktx2::{Channels, Ktx2View, Level, Payload, Shape, Supercompression, Transfer};
use kiln_ir::image::narrow;
use std::io::{self, Read};
use std::sync::LazyLock;

/// Maximum size of a mip level in bytes; no GPU accepts larger ones.
const MAX_LEVEL_BYTES: u64 = 4 << 30;
/// Maximum width and height of a mip level in texels.
const MAX_SIDE: u32 = 1 << 16;
/// Maximum number of images per mip level: layers, faces and slices together.
pub(crate) const MAX_IMAGES: u64 = 256;

/// The images of a texture.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TextureImages {
    /// The mip levels, largest first.
    pub(crate) levels: Vec<LevelImages>,
    /// The channels that hold data: those that the file declares, or fewer if the contents use only `R`, or
    /// `RG` as a normal map does.
    pub(crate) holds: &'static str,
    /// The least and the largest value of the colour channels of a texture of 16 bits; they are shown as 0 and 255.
    pub(crate) range: Option<[u16; 2]>,
}

/// The images of one mip level.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LevelImages {
    /// Width, height and depth in texels.
    pub(crate) dims: [u32; 3],
    /// The stored size in bytes.
    pub(crate) stored: u64,
    /// Width and height of the images; 0 if there are none.
    pub(crate) shown: [u32; 2],
    /// The images as PNG, ordered by layer, face and slice.
    pub(crate) images: Vec<Vec<u8>>,
    /// The mip level whose images are shown in place of those of this one.
    pub(crate) same_as: Option<usize>,
}

/// Returns the mip level that is level 0 downsampled to at most `cap`. The mip levels of an environment map are
/// not: they are prefiltered for rough surfaces, and such textures are HDR cubemaps.
fn stand_in(view: &Ktx2View<'_>, cap: u32) -> Option<u32> {
    let shape = view.shape();
    let divisor = divisor(shape.level_dims(0), 0, cap)?;
    let level = divisor.trailing_zeros();
    let is_prefiltered = view.payload().is_float() && shape.face_count == 6;
    let is_mip = !is_prefiltered && shape.depth == 0;
    (is_mip && level > 0 && level < view.level_count()).then_some(level)
}

/// Returns the divisor by which a mip level is downsampled so that no image is larger than `cap`; `None` if
/// it is omitted.
fn divisor(dims: [u32; 3], level: u32, cap: u32) -> Option<u32> {
    let side = dims[0].max(dims[1]);
    let mut divisor = 1;
    while side.div_ceil(divisor) > cap && divisor < 1 << 31 {
        divisor *= 2;
    }
    (level == 0 || divisor == 1).then_some(divisor)
}

/// Returns the number of layers, faces and slices of a mip level that are shown.
fn image_count(shape: &Shape, dims: [u32; 3]) -> u64 {
    let all = u64::from(shape.layer_count.max(1)) * u64::from(shape.face_count);
    all.saturating_mul(dims[2].into()).min(MAX_IMAGES)
}

/// Returns the number of texels of all images of a texture.
pub(crate) fn texels(shape: &Shape, level_count: u32, cap: u32) -> u64 {
    let level = |level| {
        let dims = shape.level_dims(level);
        let divisor = divisor(dims, level, cap)?;
        Some(
            u64::from(dims[0].div_ceil(divisor))
                * u64::from(dims[1].div_ceil(divisor))
                * image_count(shape, dims),
        )
    };
    (0..level_count).filter_map(level).fold(0, u64::saturating_add)
}

/// Decodes all images of a texture, none larger than `cap`.
pub(crate) fn decode_images(view: &Ktx2View<'_>, cap: u32) -> Result<TextureImages, String> {
    let numbered = view.levels().zip(0..);
    let mut stats = ChannelStats::default();
    let stand_in = stand_in(view, cap);
    let range = value_range(view, stand_in.unwrap_or(0))?;
    let level = |(level, number): (Level<'_>, u32)| {
        if let Some(other) = stand_in.filter(|_| number == 0) {
            let [width, height, _] = view.shape().level_dims(other);
            let (stored, same_as) = (level.bytes.len() as u64, Some(other as usize));
            return Ok(LevelImages {
                dims: level.dims,
                stored,
                shown: [width, height],
                images: vec![],
                same_as,
            });
        }
        let divisor = divisor(level.dims, number, cap);
        let shown = divisor.map_or([0; 2], |d| [level.dims[0].div_ceil(d), level.dims[1].div_ceil(d)]);
        let images = match divisor {
            Some(divisor) => decode(view, &level, divisor, range, &mut |image| {
                stats.add(&image.texels);
                image.png(png::Compression::Fast)
            })
            .map_err(|why| format!("mip level {number}: {why}"))?,
            None => vec![],
        };
        let stored = level.bytes.len() as u64;
        Ok(LevelImages { dims: level.dims, stored, shown, images, same_as: None })
    };
    let levels = numbered.map(level).collect::<Result<_, String>>()?;
    let channels = view.payload().channels();
    let data = view.transfer() == Transfer::Linear && channels == Channels::Rgb;
    Ok(TextureImages { levels, holds: stats.holds().filter(|_| data).unwrap_or(channels.name()), range })
}

/// Returns the number of texels of the [image](BaseImage) of a texture; 0 for cubemaps, arrays and 3D textures.
pub(crate) fn base_image_texels(shape: &Shape, max: u32) -> u64 {
    if image_count(shape, shape.level_dims(0)) == 1 { texels(shape, 1, max) } else { 0 }
}

/// The base level of a 2D texture, at most `max` texels in width and height: the mip level of that size or, for textures
/// without one, the base level downsampled.
pub(crate) struct BaseImage<'a> {
    view: &'a Ktx2View<'a>,
    level: Level<'a>,
    number: u32,
    divisor: u32,
}

impl<'a> BaseImage<'a> {
    /// Chooses the mip level; returns `None` for cubemaps, arrays and 3D textures.
    pub(crate) fn of(view: &'a Ktx2View<'a>, max: u32) -> Option<BaseImage<'a>> {
        let number = stand_in(view, max).unwrap_or(0);
        let level = view.level(number).filter(|level| image_count(&view.shape(), level.dims) == 1)?;
        let divisor = divisor(level.dims, 0, max)?;
        Some(BaseImage { view, level, number, divisor })
    }

    /// Returns width and height of the image in texels.
    pub(crate) fn size(&self) -> [u32; 2] {
        let [width, height, _] = self.level.dims;
        [width, height].map(|side| side.div_ceil(self.divisor))
    }

    /// Decodes the image and encodes it as PNG. It is large and is not embedded, so time matters more than size.
    pub(crate) fn png(&self) -> Result<Vec<u8>, String> {
        let range = value_range(self.view, self.number)?;
        let encode = &mut |image: &Bitmap| image.png(png::Compression::Fastest);
        let mut images = decode(self.view, &self.level, self.divisor, range, encode)?;
        Ok(images.pop().unwrap_or_default())
    }
}

/// Returns the range of the colour channels of a mip level of 16 bits; `None` for other textures.
fn value_range(view: &Ktx2View<'_>, level: u32) -> Result<Option<[u16; 2]>, String> {
    let channels = match view.payload() {
        Payload::R16 => 1,
        Payload::Rg16 => 2,
        Payload::Rgba16 => 4,
        _ => return Ok(None),
    };
    let Some(level) = view.level(level) else { return Ok(None) };
    let mut range = [u16::MAX, 0];
    for_each_row(view, &level, &mut |row| {
        for texel in row.chunks_exact(2 * channels) {
            for value in texel.as_chunks::<2>().0.iter().take(3).map(|bytes| u16::from_le_bytes(*bytes)) {
                range = [range[0].min(value), range[1].max(value)];
            }
        }
        Ok(())
    })?;
    Ok(Some(range))
}

/// Statistics of the channels over all images.
#[derive(Default)]
struct ChannelStats {
    most: [u8; 4],
    sums: [u64; 2],
    texels: u64,
}

impl ChannelStats {
    fn add(&mut self, texels: &[[u8; 4]]) {
        for texel in texels {
            (0..4).for_each(|c| self.most[c] = self.most[c].max(texel[c]));
            (0..2).for_each(|c| self.sums[c] += u64::from(texel[c]));
        }
        self.texels += texels.len() as u64;
    }

    /// Returns fewer channels than three if the others are black, up to block compression artefacts.
    fn holds(&self) -> Option<&'static str> {
        let dark = |c: usize| self.most[c] <= 4;
        // Normals point away from the surface, so the means of x and y are near the middle.
        let level = |c: usize| (96..=160).contains(&(self.sums[c] / self.texels.max(1)));
        match (dark(1), dark(2)) {
            (true, true) => Some("R"),
            (false, true) if level(0) && level(1) => Some("RG"),
            _ => None,
        }
    }
}

/// Decompresses a mip level, one row of blocks at a time.
fn for_each_row(
    view: &Ktx2View<'_>,
    level: &Level<'_>,
    each: &mut dyn FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let [width, height, _] = level.dims;
    if level.uncompressed_len > MAX_LEVEL_BYTES || width > MAX_SIDE || height > MAX_SIDE {
        return Err("the mip level is too large to be shown".to_owned());
    }
    let cut = |e: io::Error| format!("the mip level cannot be decompressed: {e}");
    let mut bytes: Box<dyn Read + '_> = match view.supercompression() {
        Supercompression::None => Box::new(level.bytes),
        Supercompression::Zstd => {
            Box::new(zstd::stream::read::Decoder::with_buffer(level.bytes).map_err(cut)?.single_frame())
        }
    };
    let side = view.payload().block_side();
    let row_len = u64::from(width.div_ceil(side)) * view.payload().block_len();
    let mut row = vec![0; row_len as usize];
    for _ in 0..image_count(&view.shape(), level.dims) * u64::from(height.div_ceil(side)) {
        bytes.read_exact(&mut row).map_err(cut)?;
        each(&row)?;
    }
    Ok(())
}

/// An image of eight bits per channel.
struct Bitmap {
    width: u32,
    height: u32,
    texels: Vec<[u8; 4]>,
}

/// Decodes the images of a mip level, downsampled; returns what `encode` makes of them.
fn decode(
    view: &Ktx2View<'_>,
    level: &Level<'_>,
    divisor: u32,
    range: Option<[u16; 2]>,
    encode: &mut dyn FnMut(&Bitmap) -> Result<Vec<u8>, String>,
) -> Result<Vec<Vec<u8>>, String> {
    let [width, height, _] = level.dims;
    let side = view.payload().block_side();
    let mut strip = vec![[0; 4]; width as usize * side as usize];
    let mut image = Downsampled::new(width, height, divisor);
    let (mut out, mut y) = (Vec::new(), 0);
    for_each_row(view, level, &mut |row| {
        unpack(view, row, width as usize, range, &mut strip)
            .ok_or("the mip level has a block with an invalid mode")?;
        strip.chunks_exact(width as usize).take((height - y) as usize).for_each(|texels| image.add(texels));
        y += side;
        if y >= height {
            y = 0;
            let full = std::mem::replace(&mut image, Downsampled::new(width, height, divisor));
            let (width, height) = (width.div_ceil(divisor), height.div_ceil(divisor));
            out.push(encode(&Bitmap { width, height, texels: full.finish() })?);
        }
        Ok(())
    })?;
    Ok(out)
}

/// Decodes one row of blocks to rows of texels.
fn unpack(
    view: &Ktx2View<'_>,
    row: &[u8],
    width: usize,
    range: Option<[u16; 2]>,
    strip: &mut [[u8; 4]],
) -> Option<()> {
    match view.payload() {
        Payload::R16 | Payload::Rg16 | Payload::Rgba16 => {
            let channels = view.payload().block_len() as usize / 2;
            let [least, most] = range.unwrap_or([0, u16::MAX]).map(u32::from);
            // A texture of one value is shown as it is.
            let (least, span) = if most > least { (least, most - least) } else { (0, u16::MAX.into()) };
            let stretched = |value: u16| {
                let above = u32::from(value).saturating_sub(least).min(span);
                ((above * 255 + span / 2) / span) as u8
            };
            for (texel, bytes) in strip.iter_mut().zip(row.chunks_exact(2 * channels)) {
                let value = |i: usize| u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
                let shown = |i: usize| stretched(value(i));
                *texel = match channels {
                    1 => [shown(0), shown(0), shown(0), u8::MAX],
                    2 => [shown(0), shown(1), 0, u8::MAX],
                    _ => [shown(0), shown(1), shown(2), narrow(value(3))],
                };
            }
        }
        Payload::Rgba8 => {
            strip.iter_mut().zip(row.as_chunks::<4>().0).for_each(|(texel, bytes)| *texel = *bytes)
        }
        Payload::Rgba16F => {
            // A lookup table holds display-referred colours; other textures hold linear HDR values.
            let table = if view.shape().depth > 0 { &HALF_TO_BYTE.0 } else { &HALF_TO_BYTE.1 };
            for (texel, bytes) in strip.iter_mut().zip(row.as_chunks::<8>().0) {
                let half = |i: usize| usize::from(u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]));
                *texel = [table[half(0)], table[half(1)], table[half(2)], HALF_TO_BYTE.0[half(3)]];
            }
        }
        payload => {
            for (n, block) in row.chunks_exact(payload.block_len() as usize).enumerate() {
                let texels = match payload.is_float() {
                    false => kiln_texture::decode_block(payload, block)?,
                    true => kiln_texture::decode_hdr_block(payload, block)?.map(|[r, g, b, _]| {
                        let byte = |bits: u16| HALF_TO_BYTE.1[usize::from(bits)];
                        [byte(r), byte(g), byte(b), u8::MAX]
                    }),
                };
                let x = n * 4;
                let inside = (width - x).min(4);
                for (line, texels) in strip.chunks_exact_mut(width).zip(texels.chunks_exact(4)) {
                    line[x..x + inside].copy_from_slice(&texels[..inside]);
                }
            }
        }
    }
    Some(())
}

/// Maps each half float to a byte, linearly and with the sRGB transfer function: 0 to 1 as 0 to 255.
static HALF_TO_BYTE: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let byte = |value: f32| (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
    let srgb = |x: f32| kiln_ir::srgb::from_linear(x.into()) as f32;
    let values = || (0..=u16::MAX).map(half);
    (values().map(byte).collect(), values().map(|x| byte(srgb(x.clamp(0.0, 1.0)))).collect())
});

/// Returns the value of a half float; NaN is 0.
fn half(bits: u16) -> f32 {
    let value = half::f16::from_bits(bits).to_f32();
    if value.is_nan() { 0.0 } else { value }
}

/// An image that is filled row by row; each texel is the average of a square (box filter).
struct Downsampled {
    divisor: u32,
    width: u32,
    height: u32,
    /// Number of rows added.
    rows: u32,
    sums: Vec<[u32; 4]>,
    out: Vec<[u8; 4]>,
}

impl Downsampled {
    fn new(width: u32, height: u32, divisor: u32) -> Downsampled {
        let sums = vec![[0; 4]; width.div_ceil(divisor) as usize];
        let out = Vec::with_capacity(sums.len() * height.div_ceil(divisor) as usize);
        Downsampled { divisor, width, height, rows: 0, sums, out }
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

impl Bitmap {
    /// Encodes the image as PNG with as few channels as possible.
    fn png(&self, compression: png::Compression) -> Result<Vec<u8>, String> {
        let texels = &self.texels;
        let opaque = texels.iter().all(|t| t[3] == 255);
        let grey = opaque && texels.iter().all(|t| t[0] == t[1] && t[0] == t[2]);
        let mut data = Vec::new();
        let color = match (opaque, grey) {
            (_, true) => {
                data.extend(texels.iter().map(|t| t[0]));
                png::ColorType::Grayscale
            }
            (true, _) => {
                data.resize(texels.len() * 3, 0);
                data.as_chunks_mut::<3>()
                    .0
                    .iter_mut()
                    .zip(texels)
                    .for_each(|(to, t)| *to = [t[0], t[1], t[2]]);
                png::ColorType::Rgb
            }
            _ => {
                data.extend_from_slice(texels.as_flattened());
                png::ColorType::Rgba
            }
        };
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.width, self.height);
        encoder.set_color(color);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(compression);
        let write = || encoder.write_header()?.write_image_data(&data);
        write().map_err(|e: png::EncodingError| e.to_string())?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_floats_match_ieee_754() {
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
        assert_eq!((HALF_TO_BYTE.0[0x3800], HALF_TO_BYTE.1[0x3800]), (128, 188));
    }

    #[test]
    fn downsampling_averages_edges() {
        let mut image = Downsampled::new(3, 3, 2);
        for row in [[10, 20, 30], [30, 40, 50], [7, 8, 9]] {
            image.add(&row.map(|v| [v, 0, 255, v]));
        }
        let red: Vec<u8> = image.finish().iter().map(|t| t[0]).collect();
        assert_eq!(red, [25, 40, 8, 9]);
    }

    #[test]
    fn detects_texture_content() {
        let holds = |texels: &[[u8; 4]]| {
            let mut stats = ChannelStats::default();
            stats.add(texels);
            stats.holds()
        };
        assert_eq!(holds(&[[200, 0, 1, 255], [3, 4, 0, 255]]), Some("R"));
        assert_eq!(holds(&[[120, 140, 1, 255], [130, 130, 0, 255]]), Some("RG"));
        assert_eq!(holds(&[[10, 140, 1, 255], [0, 130, 0, 255]]), None, "no normals");
        assert_eq!(holds(&[[120, 140, 5, 255]]), None);
    }

    #[test]
    fn large_mip_levels_are_downsampled_or_omitted() {
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
