//! Bitmap payloads: decodes, downscales, generates mip levels, and swizzles channels.
//!
//! Color is filtered in linear light and weighted by alpha; channels are swizzled afterwards. 16-bit sources stay 16-bit
//! unless `depth` is set.

use super::super::plan::bitmap::{BitmapSpec, ImageUse, MipLevels};
use super::factor::Factor;
use super::source_image::{EncodedImage, SourceImage, load};
use super::write_error;
use kiln_engine::{ActionContext, Code, Diag};
use kiln_format::ktx2::{self, Channels, Desc, Supercompression, Transfer};
use kiln_format::pak::bitmap::{self, BitmapShape, write};
use kiln_format::pak::{Color, Encoding, Sample};
use kiln_ir::{Image, Texels};
use kiln_texture::{BlockFormat, Mode, Payload, Settings};
use rayon::prelude::*;

/// Bakes the payload of a bitmap with 8 or 16 bits per channel.
pub(crate) fn bake(cx: &mut ActionContext<'_>, spec: &BitmapSpec) -> Result<Vec<u8>, Diag> {
    let encoded = load(cx, spec)?;
    if let Some(payload) = unchanged(cx, spec, &encoded)? {
        return Ok(payload);
    }
    let SourceImage { image, is_gray } = encoded.decode(cx, spec)?;
    drop(encoded);
    let (image, is_gray) = (spec.factor.apply(image, spec.color), is_gray && spec.factor.keeps_gray());
    let channels = channels(spec, &image, is_gray);
    if let Some(format) = spec.blocks {
        return blocks(cx, spec, image, &channels, format);
    }
    let sample = spec.sample.unwrap_or(match image.texels() {
        Texels::Rgba8(_) => Sample::U8,
        Texels::Rgba16(_) => Sample::U16,
    });
    let levels = levels(cx, image, spec, sample)?;
    let shape = BitmapShape {
        width: levels[0].width(),
        height: levels[0].height(),
        channels: channels.len() as u8,
        sample,
        color: spec.color,
        encoding: Encoding::Raw,
        levels: levels.len() as u8,
    };
    // Each level is freed once its channels are picked.
    let picked: Vec<Vec<u8>> = levels.into_iter().map(|level| pick(level, &channels)).collect();
    let picked: Vec<&[u8]> = picked.iter().map(Vec::as_slice).collect();
    write(&shape, &picked).map_err(write_error)
}

/// Returns the payload of a bitmap whose texels are those of its file, decoded in place; `None` if texels or channels
/// change. Most images are such, and the way through RGBA takes as long as decompressing them.
fn unchanged(
    cx: &ActionContext<'_>,
    spec: &BitmapSpec,
    encoded: &EncodedImage,
) -> Result<Option<Vec<u8>>, Diag> {
    let is_plain = spec.blocks.is_none()
        && spec.levels == MipLevels::Count(1)
        && spec.resize.is_none()
        && spec.factor == Factor::One
        && spec.swizzle.is_empty()
        && spec.sample.is_none_or(|sample| sample == Sample::U8);
    if !is_plain {
        return Ok(None);
    }
    let Some(samples) = encoded.decode_opaque(cx, spec, bitmap::HEAD_LEN)? else { return Ok(None) };
    let keeps_channels = match spec.used_as {
        ImageUse::Color => true,
        ImageUse::Value => samples.channels == 1,
        ImageUse::Normal | ImageUse::Emissive => samples.channels == 3,
    };
    if !keeps_channels {
        return Ok(None);
    }
    let shape = BitmapShape {
        width: samples.width,
        height: samples.height,
        channels: samples.channels as u8,
        sample: Sample::U8,
        color: spec.color,
        encoding: Encoding::Raw,
        levels: 1,
    };
    bitmap::write_in_place(&shape, samples.bytes).map(Some).map_err(write_error)
}

/// Returns the payload of a 1×1 bitmap in sRGB.
pub(crate) fn solid(color: [u8; 4]) -> Result<Vec<u8>, Diag> {
    let shape = BitmapShape {
        width: 1,
        height: 1,
        channels: 4,
        sample: Sample::U8,
        color: Color::Srgb,
        encoding: Encoding::Raw,
        levels: 1,
    };
    write(&shape, &[&color]).map_err(write_error)
}

/// Returns the source channels to keep, by index.
fn channels(spec: &BitmapSpec, image: &Image, is_gray: bool) -> Vec<usize> {
    if !spec.swizzle.is_empty() {
        return spec.swizzle.clone();
    }
    match spec.used_as {
        ImageUse::Value => vec![0],
        ImageUse::Normal | ImageUse::Emissive => vec![0, 1, 2],
        ImageUse::Color if is_gray => vec![0],
        ImageUse::Color if image.has_alpha() => vec![0, 1, 2, 3],
        ImageUse::Color => vec![0, 1, 2],
    }
}

fn mode(spec: &BitmapSpec) -> Mode {
    match (spec.used_as, spec.color) {
        (ImageUse::Normal, _) => Mode::Normal,
        (_, Color::Srgb) => Mode::Color,
        (_, Color::Linear) => Mode::LinearColor,
    }
}

/// Returns the mip levels of an image as RGBA with the given sample type.
fn levels(
    cx: &ActionContext<'_>,
    image: Image,
    spec: &BitmapSpec,
    sample: Sample,
) -> Result<Vec<Image>, Diag> {
    let limit = spec.resize;
    let size = image.width().max(image.height());
    let alone = spec.levels == MipLevels::Count(1) && limit.is_none_or(|limit| limit >= size);
    if sample == Sample::U16 {
        cx.inputs.check_deadline()?;
        return Ok(kiln_texture::levels_16(image, mode(spec), spec.levels.mips(), limit));
    }
    let (width, height) = (image.width(), image.height());
    let narrow = |texels, width, height| {
        Image::new(width, height, Texels::Rgba8(texels))
            .ok_or_else(|| Diag::new(Code::Texture, "a mip level has fewer texels than its size requires"))
    };
    if alone {
        return Ok(vec![narrow(image.into_rgba8(), width, height)?]);
    }
    let settings = Settings {
        compress: false,
        mips: spec.levels.mips(),
        max_size: limit,
        zstd: false,
        ..Settings::default()
    };
    let encoded = encode(cx, image, mode(spec), settings)?;
    let sized = encoded.levels.into_iter().enumerate();
    sized
        .map(|(n, level)| narrow(level.bytes, (encoded.width >> n).max(1), (encoded.height >> n).max(1)))
        .collect()
}

/// Encodes a texture, subject to the deadline of the asset.
pub(crate) fn encode(
    cx: &ActionContext<'_>,
    image: Image,
    mode: Mode,
    settings: Settings,
) -> Result<kiln_texture::Encoded, Diag> {
    let settings = Settings { deadline: cx.inputs.deadline(), ..settings };
    kiln_texture::encode_2d(image, mode, &settings).map_err(|error| match error {
        kiln_texture::Error::Deadline => cx.inputs.limits().out_of_time(),
        error => Diag::new(Code::Texture, error.to_string()),
    })
}

/// Returns the interleaved bytes of the given channels.
fn pick(image: Image, channels: &[usize]) -> Vec<u8> {
    match image.texels() {
        Texels::Rgba8(_) if channels == [0, 1, 2, 3] => image.into_rgba8(),
        Texels::Rgba8(v) => {
            let mut out = vec![0; v.len() / 4 * channels.len()];
            let each = out.par_chunks_mut(channels.len() << 14).zip(v.par_chunks(4 << 14));
            each.for_each(|(out, texels)| match *channels {
                // The common case, written out so that it is vectorized.
                [0, 1, 2] => {
                    for (out, texel) in out.as_chunks_mut::<3>().0.iter_mut().zip(texels.as_chunks::<4>().0) {
                        *out = [texel[0], texel[1], texel[2]];
                    }
                }
                _ => {
                    for (out, texel) in out.chunks_exact_mut(channels.len()).zip(texels.as_chunks::<4>().0) {
                        out.iter_mut().zip(channels).for_each(|(out, channel)| *out = texel[*channel]);
                    }
                }
            });
            out
        }
        Texels::Rgba16(v) => {
            let texels = v.as_chunks::<4>().0.iter();
            texels.flat_map(|texel| channels.iter().flat_map(|c| texel[*c].to_le_bytes())).collect()
        }
    }
}

/// Bakes a KTX2 file of UASTC or BC7 blocks.
fn blocks(
    cx: &mut ActionContext<'_>,
    spec: &BitmapSpec,
    image: Image,
    channels: &[usize],
    format: BlockFormat,
) -> Result<Vec<u8>, Diag> {
    let (width, height) = (image.width(), image.height());
    let mut texels = image.into_rgba8();
    if spec.used_as != ImageUse::Normal && channels != [0, 1, 2, 3] {
        // Missing color channels become 0, a missing alpha channel 255.
        for texel in texels.as_chunks_mut::<4>().0 {
            let old = *texel;
            let channel = |n: usize| channels.get(n).map(|c| old[*c]);
            *texel = [
                channel(0).unwrap_or(0),
                channel(1).unwrap_or(0),
                channel(2).unwrap_or(0),
                channel(3).unwrap_or(255),
            ];
        }
    }
    let image = Image::new(width, height, Texels::Rgba8(texels));
    let image =
        image.ok_or_else(|| Diag::new(Code::Texture, "the image has fewer texels than its size requires"))?;
    let zstd = format == BlockFormat::Uastc;
    let settings =
        Settings { format, zstd, mips: spec.levels.mips(), max_size: spec.resize, ..Settings::default() };
    let has_alpha = image.has_alpha() && spec.used_as != ImageUse::Normal;
    let encoded = encode(cx, image, mode(spec), settings)?;
    let alpha = match encoded.texels {
        Payload::Uastc { channels } => channels == Channels::Rgba,
        _ => has_alpha,
    };
    let desc = Desc {
        shape: ktx2::Shape {
            width: encoded.width,
            height: encoded.height,
            depth: 0,
            layer_count: 0,
            face_count: 1,
        },
        payload: encoded.texels,
        transfer: Transfer::of(encoded.srgb),
        supercompression: if zstd { Supercompression::Zstd } else { Supercompression::None },
        writer: "Kiln pak",
        oriented: true,
    };
    let levels: Vec<&[u8]> = encoded.levels.iter().map(|level| level.bytes.as_slice()).collect();
    let file = ktx2::write(&desc, &levels).map_err(write_error)?;
    if spec.used_as == ImageUse::Normal && !spec.swizzle.is_empty() {
        let message = "swizzle has no effect on block-compressed normal maps, which keep X and Y";
        cx.warn(Diag::new(Code::PakSwizzle, message).path(&spec.src));
    }
    let shape = BitmapShape {
        width: encoded.width,
        height: encoded.height,
        channels: if alpha { 4 } else { 3 },
        sample: Sample::U8,
        color: spec.color,
        encoding: Encoding::Ktx2,
        levels: encoded.levels.len() as u8,
    };
    write(&shape, &[&file]).map_err(write_error)
}
