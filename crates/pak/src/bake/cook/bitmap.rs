//! Bitmaps: decoded, scaled down, given levels, and reduced to the channels that are wanted.
//!
//! Colour is filtered in linear light and by opacity; the channels are picked afterwards. Sixteen bits stay sixteen
//! unless told otherwise.

use super::super::plan::bitmap::{BitmapSpec, Levels, Use, is_float};
use super::super::plan::extension;
use super::{floats, memory, unwritten};
use kiln_engine::{ActionContext, Code, Diag};
use kiln_format::ktx2::{self, Channels, Desc, Supercompression, Transfer};
use kiln_format::pak::bitmap::{Shape, write};
use kiln_format::pak::{Color, Encoding, Sample};
use kiln_import::gltf::{self, Parts, Pictures};
use kiln_import::image;
use kiln_ir::{Image, Texels};
use kiln_texture::{Mips, Mode, Payload, Settings};
use rayon::prelude::*;

/// The payload of a bitmap.
pub(crate) fn bake(cx: &mut ActionContext<'_>, spec: &BitmapSpec) -> Result<Vec<u8>, Diag> {
    if is_float(&spec.src) || spec.sample == Some(Sample::F32) {
        return floats::bake(cx, spec);
    }
    let Picture { image, grey } = read(cx, spec)?;
    let channels = channels(spec, &image, grey);
    if spec.uastc {
        return uastc(cx, spec, image, &channels);
    }
    let sample = spec.sample.unwrap_or(match image.texels() {
        Texels::Rgba8(_) => Sample::U8,
        Texels::Rgba16(_) => Sample::U16,
    });
    let levels = levels(cx, image, spec, sample)?;
    let shape = Shape {
        width: levels[0].width(),
        height: levels[0].height(),
        channels: channels.len() as u8,
        sample,
        color: spec.color,
        encoding: Encoding::Raw,
        levels: levels.len() as u8,
    };
    // Each level is given up when its channels are picked.
    let picked: Vec<Vec<u8>> = levels.into_iter().map(|level| pick(level, &channels)).collect();
    let picked: Vec<&[u8]> = picked.iter().map(Vec::as_slice).collect();
    write(&shape, &picked).map_err(unwritten)
}

/// One texel of sRGB colour.
pub(crate) fn solid(color: [u8; 4]) -> Result<Vec<u8>, Diag> {
    let shape = Shape {
        width: 1,
        height: 1,
        channels: 4,
        sample: Sample::U8,
        color: Color::Srgb,
        encoding: Encoding::Raw,
        levels: 1,
    };
    write(&shape, &[&color]).map_err(unwritten)
}

/// A picture, and whether its file has one channel only.
pub(crate) struct Picture {
    pub(crate) image: Image,
    pub(crate) grey: bool,
}

/// Reads the image of a bitmap from its own file or from a glTF file, if the limits admit what becomes of it.
pub(crate) fn read(cx: &mut ActionContext<'_>, spec: &BitmapSpec) -> Result<Picture, Diag> {
    let src = &spec.src;
    let (bytes, extension) = match &src.part {
        None => (cx.inputs.read(&src.path)?, extension(&src.path)),
        Some(part) => {
            let parts = Parts { shapes: false, pictures: Pictures::All, ..Parts::default() };
            let scene = gltf::import_parts(&mut cx.inputs, &src.path, &parts)?.value;
            let by_name = scene.images.iter().position(|image| image.name == *part);
            let number = by_name.or_else(|| part.parse().ok());
            let Some(image) = number.and_then(|n| scene.images.get(n)) else {
                let names: Vec<String> =
                    scene.images.iter().map(|image| format!("{:?}", image.name)).collect();
                return Err(Diag::new(Code::PakMissing, format!("there is no picture {part:?} in it"))
                    .path(&src.path)
                    .hint(format!("there are {}", names.join(", "))));
            };
            if image.bytes.is_empty() {
                let message = format!("no material uses the picture {part:?}");
                return Err(Diag::new(Code::PakMissing, message).path(&src.path));
            }
            (image.bytes.clone(), image.extension.clone())
        }
    };
    let named = |diag: Diag| diag.path(src);
    cx.inputs.check_deadline()?;
    memory::check(&bytes, &extension, spec, cx.inputs.limits()).map_err(named)?;
    let imported = image::import(&bytes, &extension, cx.inputs.limits()).map_err(named)?;
    for warning in imported.warnings {
        cx.warn(named(warning));
    }
    Ok(Picture { image: imported.value, grey: is_grey(&bytes) })
}

/// Whether a PNG or JPEG has one channel and nothing else.
fn is_grey(bytes: &[u8]) -> bool {
    if bytes.starts_with(b"\x89PNG") {
        // The colour type in the header; a chunk of transparency makes it more.
        return bytes.get(25) == Some(&0) && !bytes.windows(4).take(4096).any(|name| name == b"tRNS");
    }
    if !bytes.starts_with(b"\xff\xd8") {
        return false;
    }
    let mut rest = &bytes[2..];
    while let [0xff, marker, high, low, ..] = *rest {
        // Start of frame: length, depth, height, width, components.
        if (0xc0..=0xcf).contains(&marker) && ![0xc4, 0xc8, 0xcc].contains(&marker) {
            return rest.get(9) == Some(&1);
        }
        rest = rest.get(2 + usize::from(u16::from_be_bytes([high, low]))..).unwrap_or_default();
    }
    false
}

/// Which channels are kept, by number.
fn channels(spec: &BitmapSpec, image: &Image, grey: bool) -> Vec<usize> {
    if !spec.swizzle.is_empty() {
        return spec.swizzle.clone();
    }
    match spec.used_as {
        Use::Value => vec![0],
        Use::Normal | Use::Emissive => vec![0, 1, 2],
        Use::Color if grey => vec![0],
        Use::Color if image.has_alpha() => vec![0, 1, 2, 3],
        Use::Color => vec![0, 1, 2],
    }
}

pub(crate) fn mips(levels: Levels) -> Mips {
    match levels {
        Levels::Full => Mips::Full,
        Levels::Count(count) => Mips::Count(count),
    }
}

fn mode(spec: &BitmapSpec) -> Mode {
    match (spec.used_as, spec.color) {
        (Use::Normal, _) => Mode::Normal,
        (_, Color::Srgb) => Mode::Color,
        (_, Color::Linear) => Mode::LinearColor,
    }
}

/// The levels of a picture, RGBA, at the depth that is wanted.
fn levels(
    cx: &ActionContext<'_>,
    image: Image,
    spec: &BitmapSpec,
    sample: Sample,
) -> Result<Vec<Image>, Diag> {
    let limit = spec.resize;
    let size = image.width().max(image.height());
    let alone = spec.levels == Levels::Count(1) && limit.is_none_or(|limit| limit >= size);
    if sample == Sample::U16 {
        cx.inputs.check_deadline()?;
        return Ok(kiln_texture::levels_16(image, mode(spec), mips(spec.levels), limit));
    }
    let (width, height) = (image.width(), image.height());
    let narrow = |texels, width, height| {
        Image::new(width, height, Texels::Rgba8(texels))
            .ok_or_else(|| Diag::new(Code::Texture, "a level is short"))
    };
    if alone {
        return Ok(vec![narrow(image.into_rgba8(), width, height)?]);
    }
    let settings = Settings {
        compress: false,
        mips: mips(spec.levels),
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

/// Encodes a texture within the time that the asset has.
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

/// The bytes of some channels of a picture.
fn pick(image: Image, channels: &[usize]) -> Vec<u8> {
    match image.texels() {
        Texels::Rgba8(_) if channels == [0, 1, 2, 3] => image.into_rgba8(),
        Texels::Rgba8(v) => {
            let mut out = vec![0; v.len() / 4 * channels.len()];
            let each = out.par_chunks_mut(channels.len() << 14).zip(v.par_chunks(4 << 14));
            each.for_each(|(out, texels)| match *channels {
                // The common case, spelled out for the compiler.
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

/// A KTX2 file of UASTC blocks.
fn uastc(
    cx: &mut ActionContext<'_>,
    spec: &BitmapSpec,
    image: Image,
    channels: &[usize],
) -> Result<Vec<u8>, Diag> {
    let (width, height) = (image.width(), image.height());
    let mut texels = image.into_rgba8();
    if spec.used_as != Use::Normal && channels != [0, 1, 2, 3] {
        // Missing colours are black, missing opacity is full.
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
    let image = image.ok_or_else(|| Diag::new(Code::Texture, "the picture is short"))?;
    let settings = Settings { mips: mips(spec.levels), max_size: spec.resize, ..Settings::default() };
    let encoded = encode(cx, image, mode(spec), settings)?;
    let alpha = encoded.texels == Payload::Uastc { alpha: true };
    let desc = Desc {
        shape: ktx2::Shape {
            width: encoded.width,
            height: encoded.height,
            depth: 0,
            layer_count: 0,
            face_count: 1,
        },
        payload: ktx2::Payload::Uastc { channels: if alpha { Channels::Rgba } else { Channels::Rgb } },
        transfer: if encoded.srgb { Transfer::Srgb } else { Transfer::Linear },
        supercompression: Supercompression::Zstd,
        writer: "Kiln pak",
        oriented: true,
    };
    let levels: Vec<&[u8]> = encoded.levels.iter().map(|level| level.bytes.as_slice()).collect();
    let file = ktx2::write(&desc, &levels).map_err(unwritten)?;
    if spec.used_as == Use::Normal && !spec.swizzle.is_empty() {
        let message = "swizzle has no effect on normals in UASTC: X and Y are kept";
        cx.warn(Diag::new(Code::PakSwizzle, message).path(&spec.src));
    }
    let shape = Shape {
        width: encoded.width,
        height: encoded.height,
        channels: if alpha { 4 } else { 3 },
        sample: Sample::U8,
        color: spec.color,
        encoding: Encoding::Ktx2,
        levels: encoded.levels.len() as u8,
    };
    write(&shape, &[&file]).map_err(unwritten)
}
