//! Parameter bitmaps of materials: metalness, roughness, height and transmission in the channels of one linear bitmap.
//!
//! Images of different sizes are upscaled to the largest one with bilinear filtering.

use super::super::plan::bitmap::BitmapSpec;
use super::super::plan::material::{Channel, ParamsSpec};
use super::bitmap::encode;
use super::source_image::read;
use super::write_error;
use kiln_engine::{ActionContext, Code, Diag};
use kiln_format::pak::bitmap::{BitmapShape, write};
use kiln_format::pak::{Color, Encoding, Sample};
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
    let width = decoded.iter().map(|decoded| decoded.image.width()).max().unwrap_or(1);
    let height = decoded.iter().map(|decoded| decoded.image.height()).max().unwrap_or(1);
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
    let mut texels = vec![values; width as usize * height as usize];
    for (at, channel) in spec.channels.iter().enumerate() {
        let Channel::Image(image) = channel else { continue };
        let Some(known) = decoded.iter().find(|known| known.is_source_of(image)) else { continue };
        known.channel(image).scaled(width, height, &mut texels, at);
    }
    let texels = texels.into_flattened();
    let image = Image::new(width, height, Texels::Rgba8(texels));
    let image = image.ok_or_else(too_few_texels)?;
    let settings = Settings { compress: false, mips: spec.levels.mips(), zstd: false, ..Settings::default() };
    let encoded = encode(cx, image, Mode::LinearColor, settings)?;
    let shape = BitmapShape {
        width,
        height,
        channels: 4,
        sample: Sample::U8,
        color: Color::Linear,
        encoding: Encoding::Raw,
        levels: encoded.levels.len() as u8,
    };
    let levels: Vec<&[u8]> = encoded.levels.iter().map(|level| level.bytes.as_slice()).collect();
    write(&shape, &levels).map_err(write_error)
}

/// A decoded image, which several channels may use.
struct DecodedImage<'a> {
    spec: &'a BitmapSpec,
    image: Image,
}

impl<'a> DecodedImage<'a> {
    fn read(cx: &mut ActionContext<'_>, spec: &'a BitmapSpec) -> Result<Self, Diag> {
        let image = read(cx, spec)?.image;
        if spec.resize.is_none_or(|limit| image.width().max(image.height()) <= limit) {
            return Ok(DecodedImage { spec, image });
        }
        let settings = Settings {
            compress: false,
            mips: kiln_texture::Mips::None,
            max_size: spec.resize,
            zstd: false,
            ..Settings::default()
        };
        let encoded = encode(cx, image, Mode::LinearColor, settings)?;
        let texels = encoded.levels.into_iter().next().map_or_else(Vec::new, |level| level.bytes);
        let image = Image::new(encoded.width, encoded.height, Texels::Rgba8(texels));
        Ok(DecodedImage { spec, image: image.ok_or_else(too_few_texels)? })
    }

    /// Returns `true` if the image of `spec` decodes to these texels.
    fn is_source_of(&self, spec: &BitmapSpec) -> bool {
        self.spec.src == spec.src && self.spec.resize == spec.resize
    }

    /// Returns the size of the decoded texels in bytes.
    fn byte_len(&self) -> u64 {
        match self.image.texels() {
            Texels::Rgba8(texels) => texels.len() as u64,
            Texels::Rgba16(texels) => texels.len() as u64 * 2,
        }
    }

    /// Returns the channel that `spec` selects, with its factor, in 8 bits.
    fn channel(&self, spec: &BitmapSpec) -> Gray {
        let channel = spec.swizzle.first().copied().unwrap_or(0);
        let texels = match self.image.texels() {
            Texels::Rgba8(texels) => {
                let mut table = [0; 256];
                table.iter_mut().zip(spec.factor.values(255)).for_each(|(out, value)| *out = value);
                texels.as_chunks::<4>().0.iter().map(|texel| table[usize::from(texel[channel])]).collect()
            }
            Texels::Rgba16(texels) => {
                let table = spec.factor.values(65535);
                texels.as_chunks::<4>().0.iter().map(|texel| table[usize::from(texel[channel])]).collect()
            }
        };
        Gray { width: self.image.width(), height: self.image.height(), texels }
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
        if (width, height) == (self.width, self.height) {
            out.iter_mut().zip(&self.texels).for_each(|(out, value)| out[channel] = *value);
            return;
        }
        // Aligned at texel centers; fixed point with 8 fractional bits.
        let place = |at: u32, from: u32, to: u32| {
            let at = (i64::from(2 * at + 1) * 256 * i64::from(from) / i64::from(2 * to) - 128).max(0);
            let first = (at / 256).min(i64::from(from) - 1);
            (first as usize, (first + 1).min(i64::from(from) - 1) as usize, at % 256)
        };
        let texel = |x: usize, y: usize| i64::from(self.texels[y * self.width as usize + x]);
        for (at, out) in (0..u64::from(width) * u64::from(height)).zip(out) {
            let (x0, x1, fx) = place((at % u64::from(width)) as u32, self.width, width);
            let (y0, y1, fy) = place((at / u64::from(width)) as u32, self.height, height);
            let top = texel(x0, y0) * (256 - fx) + texel(x1, y0) * fx;
            let bottom = texel(x0, y1) * (256 - fx) + texel(x1, y1) * fx;
            out[channel] = ((top * (256 - fy) + bottom * fy + (1 << 15)) >> 16) as u8;
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
        let mut same = [[0; 4]; 2];
        gray.scaled(2, 1, &mut same, 3);
        assert_eq!(same, [[0, 0, 0, 0], [0, 0, 0, 200]]);
    }
}
