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
use kiln_texture::{BlockChoice, BlockFormat, Encoded, Mode, Payload, Settings};
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
    if let Some(choice) = spec.blocks {
        return blocks(cx, spec, image, &channels, choice);
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
        return Ok(kiln_texture::levels_16(image, spec.mode(), spec.levels.mips(), limit));
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
    let encoded = encode(cx, image, spec.mode(), settings)?;
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
) -> Result<Encoded, Diag> {
    let settings = Settings { deadline: cx.inputs.deadline(), ..settings };
    kiln_texture::encode_2d(image, mode, &settings).map_err(|error| encoder_error(cx, error))
}

/// Converts an error of the texture encoder.
pub(super) fn encoder_error(cx: &ActionContext<'_>, error: kiln_texture::Error) -> Diag {
    match error {
        kiln_texture::Error::Deadline => cx.inputs.limits().out_of_time(),
        error => Diag::new(Code::Texture, error.to_string()),
    }
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

/// Bakes a KTX2 file of blocks.
fn blocks(
    cx: &mut ActionContext<'_>,
    spec: &BitmapSpec,
    image: Image,
    channels: &[usize],
    choice: BlockChoice,
) -> Result<Vec<u8>, Diag> {
    let (width, height) = (image.width(), image.height());
    let is_value = channels.len() == 1 && spec.mode() == Mode::LinearColor;
    let mode = if is_value { Mode::Grayscale } else { spec.mode() };
    let format = choice.block_format(mode);
    check_channels(spec, format, channels.len())?;
    let mut texels = image.into_rgba8();
    if mode == Mode::Normal {
        // X and Y in red and green are what is kept.
        if !matches!(spec.swizzle.as_slice(), [] | [0, 1, ..]) {
            let message = "swizzle has no effect on block-compressed normal maps, which keep X and Y";
            cx.warn(Diag::new(Code::PakSwizzle, message).path(&spec.src));
        }
    } else if channels != [0, 1, 2, 3] {
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
    if mode != Mode::Normal && format.rounds_alpha(&image) {
        let message = "the image has alpha between 0 and 1, and BC1 stores one bit of it";
        cx.warn(Diag::new(Code::TextureAlpha, message).path(&spec.src).hint("use bc3, bc7 or desktop"));
    }
    // UASTC and BC7 have no variant for one channel.
    let mode = match format {
        BlockFormat::Uastc | BlockFormat::Bc7 => spec.mode(),
        _ => mode,
    };
    let settings =
        Settings { format, mips: spec.levels.mips(), max_size: spec.resize, ..Settings::default() };
    block_payload(cx, image, mode, spec.color, settings)
}

/// Checks that BC4 and BC5 hold all channels of a bitmap, which are known once its image is decoded.
fn check_channels(spec: &BitmapSpec, format: BlockFormat, channels: usize) -> Result<(), Diag> {
    let (held, swizzle) = match format {
        BlockFormat::Bc4 => (1, "r"),
        BlockFormat::Bc5 if spec.used_as != ImageUse::Normal => (2, "rg"),
        _ => return Ok(()),
    };
    if channels == held {
        return Ok(());
    }
    let (name, content) = (format.name().to_uppercase(), format.content());
    Err(Diag::new(Code::PakValue, format!("{name} holds {content}; the bitmap has {channels}"))
        .path(&spec.src)
        .hint(format!("select the channels, as in swizzle = '{swizzle}', or use bc7 or desktop")))
}

/// Encodes an image with 8 bits per channel as a KTX2 file of blocks, subject to the deadline of the asset.
pub(super) fn block_payload(
    cx: &ActionContext<'_>,
    image: Image,
    mode: Mode,
    color: Color,
    settings: Settings,
) -> Result<Vec<u8>, Diag> {
    // Blocks that a game uploads as they are have no supercompression; the codec of the pak compresses them.
    let settings = Settings { zstd: settings.format == BlockFormat::Uastc, ..settings };
    let has_alpha = image.has_alpha() && mode != Mode::Normal;
    let encoded = encode(cx, image, mode, settings)?;
    let channels = match encoded.texels {
        Payload::Uastc { channels } => channels,
        texels if texels.channels() == Channels::Rgba && !has_alpha => Channels::Rgb,
        texels => texels.channels(),
    };
    ktx2_payload(&encoded, channels, Sample::U8, color)
}

/// Returns the payload of a bitmap that is a KTX2 file.
pub(super) fn ktx2_payload(
    encoded: &Encoded,
    channels: Channels,
    sample: Sample,
    color: Color,
) -> Result<Vec<u8>, Diag> {
    let desc = Desc {
        shape: ktx2::Shape::flat(encoded.width, encoded.height),
        payload: encoded.texels,
        transfer: Transfer::of(encoded.srgb && !encoded.texels.is_linear_only()),
        supercompression: if encoded.zstd { Supercompression::Zstd } else { Supercompression::None },
        writer: "Kiln pak",
        oriented: true,
    };
    let levels: Vec<&[u8]> = encoded.levels.iter().map(|level| level.bytes.as_slice()).collect();
    let file = ktx2::write(&desc, &levels).map_err(write_error)?;
    let shape = BitmapShape {
        width: encoded.width,
        height: encoded.height,
        channels: match channels {
            Channels::Rgba => 4,
            Channels::Rgb => 3,
            Channels::Rg | Channels::Rrrg => 2,
            Channels::Rrr => 1,
        },
        sample,
        color,
        encoding: Encoding::Ktx2,
        levels: encoded.levels.len() as u8,
    };
    write(&shape, &[&file]).map_err(write_error)
}
