//! Parameter bitmaps of materials: metalness, roughness, height and transmission in the channels of one linear bitmap.
//!
//! Images of different sizes are upscaled to the largest one with bilinear filtering.

use super::super::plan::bitmap::{BitmapSpec, MipLevels};
use super::super::plan::material::{Channel, ParamsSpec};
use super::bitmap::{block_payload, encode};
use super::source_image::load;
use super::write_error;
use kiln_engine::{ActionContext, Code, Diag};
use kiln_format::pak::bitmap::{BitmapShape, HEAD_LEN, write, write_in_place};
use kiln_format::pak::{Color, Encoding, Sample};
use kiln_import::image::OpaqueSamples;
use kiln_ir::{Image, Texels};
use kiln_texture::{Mode, Settings};

/// Bakes the payload of a parameter bitmap.
pub(crate) fn bake(cx: &mut ActionContext<'_>, spec: &ParamsSpec) -> Result<Vec<u8>, Diag> {
    let mut decoded: Vec<DecodedImage<'_>> = Vec::new();
    for channel in &spec.channels {
        if let Channel::Image(image) = channel
            && !decoded.iter().any(|known| known.is_source_of(image))
        {
            decoded.push(DecodedImage::read(cx, image)?);
        }
    }
    let width = decoded.iter().map(|decoded| decoded.width).max().unwrap_or(1);
    let height = decoded.iter().map(|decoded| decoded.height).max().unwrap_or(1);
    let (pixels, decoded_bytes) =
        (u64::from(width) * u64::from(height), decoded.iter().map(DecodedImage::byte_len).sum::<u64>());
    // The texels, their mip chain and the bitmap.
    let needed = pixels.saturating_mul(4 * 11 / 3 + 1).saturating_add(decoded_bytes);
    cx.inputs
        .limits()
        .check_memory(needed, format_args!("the parameter bitmap of {width}x{height} texels"))?;
    let value = |channel: &Channel| match channel {
        Channel::Default(value) | Channel::Value(value) => *value,
        Channel::Image(_) => 0,
    };
    let values = spec.channels.each_ref().map(value);
    let shape = BitmapShape {
        width,
        height,
        channels: 4,
        sample: Sample::U8,
        color: Color::Linear,
        encoding: Encoding::Raw,
        levels: 1,
    };
    // Texels without mip levels are written where they stay, behind the head.
    let is_plain = spec.blocks.is_none() && spec.levels == MipLevels::Count(1);
    let headroom = if is_plain { HEAD_LEN } else { 0 };
    let mut bytes = vec![0; headroom + pixels as usize * 4];
    let texels = bytes[headroom..].as_chunks_mut::<4>().0;
    if values != [0; 4] {
        texels.fill(values);
    }
    for (at, channel) in spec.channels.iter().enumerate() {
        let Channel::Image(image) = channel else { continue };
        let Some(known) = decoded.iter().find(|known| known.is_source_of(image)) else { continue };
        known.fill(image, (width, height), texels, at);
    }
    drop(decoded);
    if is_plain {
        return write_in_place(&shape, bytes).map_err(write_error);
    }
    let image = Image::new(width, height, Texels::Rgba8(bytes)).ok_or_else(too_few_texels)?;
    let mips = spec.levels.mips();
    if let Some(choice) = spec.blocks {
        let format = choice.block_format(Mode::LinearColor);
        let settings = Settings { format, mips, ..Settings::default() };
        return block_payload(cx, image, Mode::LinearColor, Color::Linear, settings);
    }
    let settings = Settings { compress: false, mips, zstd: false, ..Settings::default() };
    let encoded = encode(cx, image, Mode::LinearColor, settings)?;
    let shape = BitmapShape { levels: encoded.levels.len() as u8, ..shape };
    let levels: Vec<&[u8]> = encoded.levels.iter().map(|level| level.bytes.as_slice()).collect();
    write(&shape, &levels).map_err(write_error)
}

/// A decoded image, which several channels may use.
struct DecodedImage<'a> {
    spec: &'a BitmapSpec,
    width: u32,
    height: u32,
    samples: Samples,
}

/// The samples of an image, texel by texel.
enum Samples {
    /// 8 bits: one gray, three opaque or four channels.
    U8 { bytes: Vec<u8>, channels: usize },
    /// Four channels of 16 bits.
    U16(Vec<u16>),
}

impl<'a> DecodedImage<'a> {
    fn read(cx: &mut ActionContext<'_>, spec: &'a BitmapSpec) -> Result<Self, Diag> {
        let encoded = load(cx, spec)?;
        if spec.resize.is_none()
            && let Some(OpaqueSamples { width, height, channels, bytes }) =
                encoded.decode_opaque(cx, spec, 0)?
        {
            return Ok(DecodedImage { spec, width, height, samples: Samples::U8 { bytes, channels } });
        }
        let image = encoded.decode(cx, spec)?.image;
        drop(encoded);
        let (width, height) = (image.width(), image.height());
        if spec.resize.is_none_or(|limit| width.max(height) <= limit) {
            return Ok(DecodedImage { spec, width, height, samples: Samples::of(image) });
        }
        let settings = Settings {
            compress: false,
            mips: kiln_texture::Mips::None,
            max_size: spec.resize,
            zstd: false,
            ..Settings::default()
        };
        let encoded = encode(cx, image, Mode::LinearColor, settings)?;
        let (width, height) = (encoded.width, encoded.height);
        let bytes = encoded.levels.into_iter().next().map_or_else(Vec::new, |level| level.bytes);
        Ok(DecodedImage { spec, width, height, samples: Samples::U8 { bytes, channels: 4 } })
    }

    /// Returns `true` if the image of `spec` decodes to these texels.
    fn is_source_of(&self, spec: &BitmapSpec) -> bool {
        self.spec.src == spec.src && self.spec.resize == spec.resize
    }

    /// Returns the size of the decoded texels in bytes.
    fn byte_len(&self) -> u64 {
        match &self.samples {
            Samples::U8 { bytes, .. } => bytes.len() as u64,
            Samples::U16(samples) => samples.len() as u64 * 2,
        }
    }

    /// Fills one channel of a target at least as large with the channel that `spec` selects, with its factor, in 8 bits.
    fn fill(&self, spec: &BitmapSpec, size: (u32, u32), out: &mut [[u8; 4]], at: usize) {
        let channel = spec.swizzle.first().copied().unwrap_or(0);
        match &self.samples {
            Samples::U8 { bytes, channels } => {
                let mut table = [0; 256];
                table.iter_mut().zip(spec.factor.values(255)).for_each(|(out, value)| *out = value);
                let value = |sample: u8| table[usize::from(sample)];
                match (channels, channel) {
                    (1, 0..3) => self.put(bytes.iter().map(|gray| value(*gray)), size, out, at),
                    (3, 0..3) => {
                        let texels = bytes.as_chunks::<3>().0.iter();
                        self.put(texels.map(|texel| value(texel[channel])), size, out, at);
                    }
                    (4, _) => {
                        let texels = bytes.as_chunks::<4>().0.iter();
                        self.put(texels.map(|texel| value(texel[channel])), size, out, at);
                    }
                    // The alpha of an opaque image.
                    _ => out.iter_mut().for_each(|out| out[at] = value(255)),
                }
            }
            Samples::U16(samples) => {
                let table = spec.factor.values(65535);
                let texels = samples.as_chunks::<4>().0.iter();
                self.put(texels.map(|texel| table[usize::from(texel[channel])]), size, out, at);
            }
        }
    }

    fn put(
        &self,
        values: impl Iterator<Item = u8>,
        (width, height): (u32, u32),
        out: &mut [[u8; 4]],
        at: usize,
    ) {
        if (width, height) == (self.width, self.height) {
            out.iter_mut().zip(values).for_each(|(out, value)| out[at] = value);
        } else {
            let gray = Gray { width: self.width, height: self.height, texels: values.collect() };
            gray.scaled(width, height, out, at);
        }
    }
}

impl Samples {
    fn of(image: Image) -> Samples {
        match image.into_texels() {
            Texels::Rgba16(samples) => Samples::U16(samples),
            Texels::Rgba8(bytes) => Samples::U8 { bytes, channels: 4 },
        }
    }
}

fn too_few_texels() -> Diag {
    Diag::new(Code::Texture, "the image has fewer texels than its size requires")
}

/// One channel of an image.
struct Gray {
    width: u32,
    height: u32,
    texels: Vec<u8>,
}

impl Gray {
    /// Fills one channel of a target at least as large, with bilinear filtering.
    fn scaled(&self, width: u32, height: u32, out: &mut [[u8; 4]], channel: usize) {
        // Aligned at texel centers; fixed point with 8 fractional bits.
        let place = |at: u32, from: u32, to: u32| {
            let at = (i64::from(2 * at + 1) * 256 * i64::from(from) / i64::from(2 * to) - 128).max(0);
            let first = (at / 256).min(i64::from(from) - 1);
            (first as usize, (first + 1).min(i64::from(from) - 1) as usize, at % 256)
        };
        let texel = |x: usize, y: usize| i64::from(self.texels[y * self.width as usize + x]);
        let columns: Vec<_> = (0..width).map(|x| place(x, self.width, width)).collect();
        for (y, row) in (0..height).zip(out.chunks_mut(width as usize)) {
            let (y0, y1, fy) = place(y, self.height, height);
            for (&(x0, x1, fx), out) in columns.iter().zip(row) {
                let top = texel(x0, y0) * (256 - fx) + texel(x1, y0) * fx;
                let bottom = texel(x0, y1) * (256 - fx) + texel(x1, y1) * fx;
                out[channel] = ((top * (256 - fy) + bottom * fy + (1 << 15)) >> 16) as u8;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upscales_bilinearly() {
        let gray = Gray { width: 2, height: 1, texels: vec![0, 200] };
        let mut out = [[7; 4]; 8];
        gray.scaled(4, 2, &mut out, 1);
        assert_eq!(out.map(|texel| texel[1]), [0, 50, 150, 200, 0, 50, 150, 200]);
        assert_eq!(out.map(|texel| [texel[0], texel[2], texel[3]]), [[7; 3]; 8]);
        let mut out = [[7; 4]; 2];
        gray.scaled(2, 1, &mut out, 3);
        assert_eq!(out, [[7, 7, 7, 0], [7, 7, 7, 200]]);
    }
}
