//! An independent evaluation of the materials of a glTF file, texel by texel, from its JSON and the definitions of glTF
//! 2.0 (3.9), and its comparison with the materials of a pak. Used by the tests and by the example `material_check`.

use pak::bitmap::{Bitmap, Sample};
use pak::{BitmapId, MaterialInfo, MaterialParameterFlags, Pak, PakBuf};
use serde_json::Value;

/// A decoded source image: RGBA values from 0 to 1.
#[derive(Clone)]
pub(crate) struct Texels {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) rgba: Vec<[f64; 4]>,
}

/// Compares a material of a pak with the glTF material of this index, or with glTF's default material. `image` decodes
/// an image of the file by index. Returns the number of compared values.
///
/// # Errors
/// The first value that differs.
pub(crate) fn compare(
    document: &Value,
    index: Option<usize>,
    image: &dyn Fn(usize) -> Option<Texels>,
    pak: &PakBuf,
    info: &MaterialInfo,
) -> Result<usize, String> {
    let none = Value::Object(serde_json::Map::new());
    let material = index.map_or(&none, |index| &document["materials"][index]);
    let texture = |info: &Value| -> Option<Texels> {
        let texture = &document["textures"][info["index"].as_u64()? as usize];
        let extensions = &texture["extensions"];
        let sources = [
            &texture["source"],
            &extensions["KHR_texture_basisu"]["source"],
            &extensions["EXT_texture_webp"]["source"],
        ];
        image(sources.into_iter().find_map(Value::as_u64)? as usize)
    };
    let number = |value: &Value, default: f64| value.as_f64().unwrap_or(default);
    let factors = |value: &Value, default: [f64; 4]| {
        let mut factors = default;
        for (factor, value) in factors.iter_mut().zip(value.as_array().into_iter().flatten()) {
            *factor = value.as_f64().unwrap();
        }
        factors
    };
    let mut compared = 0;
    let pbr = &material["pbrMetallicRoughness"];

    let base = factors(&pbr["baseColorFactor"], [1.0; 4]);
    let multiply = |[r, g, b, a]: [f64; 4], by: [f64; 4]| {
        [encode(decode(r) * by[0]), encode(decode(g) * by[1]), encode(decode(b) * by[2]), a * by[3]]
    };
    let source = texture(&pbr["baseColorTexture"]).unwrap_or_else(white);
    compared += compare_bitmap(pak, info.color, &source, 4, "base color", |texel| multiply(texel, base))?;

    let strength =
        number(&material["extensions"]["KHR_materials_emissive_strength"]["emissiveStrength"], 1.0);
    let emitted = factors(&material["emissiveFactor"], [0.0; 4]).map(|factor| factor * strength);
    match (info.emissive, emitted[..3].iter().any(|factor| *factor > 0.0)) {
        (None, false) => {}
        (Some(id), true) => {
            let source = texture(&material["emissiveTexture"]).unwrap_or_else(white);
            let scale = f64::from(info.emissive_strength);
            let by = [emitted[0] / scale, emitted[1] / scale, emitted[2] / scale, 1.0];
            if by.iter().any(|factor| *factor > 1.0 + 1e-6) {
                return Err(format!("the emissive strength {scale} is too small for {emitted:?}"));
            }
            compared += compare_bitmap(pak, id, &source, 3, "emissive", |texel| multiply(texel, by))?;
        }
        (found, _) => return Err(format!("the emissive bitmap is {found:?}, the factor {emitted:?}")),
    }

    match (info.normal, texture(&material["normalTexture"])) {
        (None, None) => {}
        (Some(id), Some(source)) => {
            let scale = number(&material["normalTexture"]["scale"], 1.0);
            compared += compare_bitmap(pak, id, &source, 3, "normal", |texel| {
                let [x, y, z, _] = texel.map(|v| v * 2.0 - 1.0);
                let length = ((x * scale).powi(2) + (y * scale).powi(2) + z * z).sqrt();
                match scale == 1.0 || length == 0.0 {
                    true => texel,
                    false => [x * scale, y * scale, z, length].map(|v| (v / length + 1.0) / 2.0),
                }
            })?;
        }
        (found, source) => return Err(format!("normal: {found:?}, texture {}", source.is_some())),
    }

    let transmission = &material["extensions"]["KHR_materials_transmission"];
    let transmitted = number(&transmission["transmissionFactor"], 0.0);
    let orm = texture(&pbr["metallicRoughnessTexture"]).unwrap_or_else(white);
    let occlusion = texture(&material["occlusionTexture"]);
    let mut used = MaterialParameterFlags::METAL | MaterialParameterFlags::ROUGH;
    if occlusion.is_some() {
        used |= MaterialParameterFlags::OCCLUSION;
    }
    if transmitted > 0.0 {
        used |= MaterialParameterFlags::TRANSMISSION;
    }
    if info.params_used != used {
        return Err(format!("params_used is {:?}, expected {used:?}", info.params_used));
    }
    let params = pak.read_bitmap_id(info.params.ok_or("there are no params")?).unwrap();
    let occlusion_strength = number(&material["occlusionTexture"]["strength"], 1.0);
    let (metallic, rough) = (number(&pbr["metallicFactor"], 1.0), number(&pbr["roughnessFactor"], 1.0));
    type Map<'a> = &'a dyn Fn([f64; 4]) -> f64;
    let channels: [(&str, Option<Texels>, Map<'_>); 4] = [
        ("metallic", Some(orm.clone()), &|texel| texel[2] * metallic),
        ("roughness", Some(orm), &|texel| texel[1] * rough),
        ("occlusion", occlusion, &|texel| 1.0 + occlusion_strength * (texel[0] - 1.0)),
        (
            "transmission",
            (transmitted > 0.0).then(|| texture(&transmission["transmissionTexture"]).unwrap_or_else(white)),
            &|texel| texel[0] * transmitted,
        ),
    ];
    for (channel, (name, source, map)) in channels.into_iter().enumerate() {
        for (at, texel) in params.pixels().as_chunks::<4>().0.iter().enumerate() {
            let same_size = |s: &Texels| (s.width, s.height) == params.extent();
            let (expected, tolerance) = match &source {
                None => (0.0, 0.0),
                Some(source) if same_size(source) => (map(source.rgba[at]), 0.51),
                // Values of a smaller image are interpolated after rounding.
                Some(source) => (map(source.bilinear(at, params.extent())), 1.6),
            };
            let expected = expected.clamp(0.0, 1.0) * 255.0;
            if (f64::from(texel[channel]) - expected).abs() > tolerance {
                return Err(format!("{name} of texel {at} is {}, expected {expected:.3}", texel[channel]));
            }
            compared += 1;
        }
    }

    let mode = material["alphaMode"].as_str().unwrap_or("OPAQUE");
    let cutoff = number(&material["alphaCutoff"], 0.5);
    if (info.alpha_test, info.alpha_blend) != (mode == "MASK", mode == "BLEND")
        || (f64::from(info.alpha_cutoff) - cutoff).abs() > 1e-6
        || info.double_sided != material["doubleSided"].as_bool().unwrap_or(false)
    {
        return Err(format!("flags differ: {info:?}, expected {mode} with cutoff {cutoff}"));
    }
    Ok(compared)
}

fn compare_bitmap(
    pak: &PakBuf,
    id: BitmapId,
    source: &Texels,
    channels: usize,
    name: &str,
    expected: impl Fn([f64; 4]) -> [f64; 4],
) -> Result<usize, String> {
    let bitmap = pak.read_bitmap_id(id).unwrap();
    if bitmap.extent() != (source.width, source.height) {
        return Err(format!("{name}: {:?}, expected {}x{}", bitmap.extent(), source.width, source.height));
    }
    let max = if bitmap.sample() == Sample::U16 { 65535.0 } else { 255.0 };
    for (at, texel) in source.rgba.iter().enumerate() {
        let (found, expected) = (stored_texel(&bitmap, at), expected(*texel));
        for channel in 0..channels {
            let wanted = expected[channel].clamp(0.0, 1.0) * max;
            if (found[channel] * max - wanted).abs() > 0.51 {
                return Err(format!(
                    "{name}: channel {channel} of texel {at} is {:.3}, expected {wanted:.3}",
                    found[channel] * max
                ));
            }
        }
    }
    Ok(source.rgba.len() * channels)
}

/// Returns a texel as RGBA from 0 to 1: a single channel is gray, a missing alpha 1.
fn stored_texel(bitmap: &Bitmap, at: usize) -> [f64; 4] {
    let (x, y) = (at as u32 % bitmap.width(), at as u32 / bitmap.width());
    let bytes = bitmap.pixel(x, y);
    let values: Vec<f64> = match bitmap.sample() {
        Sample::U16 => {
            bytes.as_chunks::<2>().0.iter().map(|b| f64::from(u16::from_le_bytes(*b)) / 65535.0).collect()
        }
        _ => bytes.iter().map(|&b| f64::from(b) / 255.0).collect(),
    };
    match *values.as_slice() {
        [v] => [v, v, v, 1.0],
        [r, g, b] => [r, g, b, 1.0],
        [r, g, b, a] => [r, g, b, a],
        _ => panic!("a texel of {} channels", values.len()),
    }
}

impl Texels {
    /// Interpolates at the texel center of a larger image; beyond the outermost centers, the border is repeated.
    fn bilinear(&self, at: usize, (width, height): (u32, u32)) -> [f64; 4] {
        let place = |at: u32, from: u32, to: u32| {
            let at = (f64::from(at) + 0.5) * f64::from(from) / f64::from(to) - 0.5;
            let at = at.clamp(0.0, f64::from(from - 1));
            (at.floor() as u32, (at.floor() as u32 + 1).min(from - 1), at.fract())
        };
        let (x0, x1, fx) = place(at as u32 % width, self.width, width);
        let (y0, y1, fy) = place(at as u32 / width, self.height, height);
        let texel = |x: u32, y: u32| self.rgba[(y * self.width + x) as usize];
        std::array::from_fn(|c| {
            let row = |y: u32| texel(x0, y)[c] * (1.0 - fx) + texel(x1, y)[c] * fx;
            row(y0) * (1.0 - fy) + row(y1) * fy
        })
    }
}

fn white() -> Texels {
    Texels { width: 1, height: 1, rgba: vec![[1.0; 4]] }
}

/// The electro-optical transfer function of sRGB (IEC 61966-2-1).
fn decode(value: f64) -> f64 {
    if value <= 0.04045 { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) }
}

fn encode(light: f64) -> f64 {
    if light <= 0.0031308 { light * 12.92 } else { 1.055 * libm::pow(light, 1.0 / 2.4) - 0.055 }
}
