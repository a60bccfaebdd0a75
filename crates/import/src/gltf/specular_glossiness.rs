//! `KHR_materials_pbrSpecularGlossiness` to metallic-roughness, as in the conversion that Khronos published with the
//! extension.
//!
//! The metalness of a texel depends on its diffuse and its specular colour together, so both textures are decoded and
//! converted texel by texel to a base colour and a metallic-roughness image, which follow the images of the document.
//! A texture of another size than its counterpart is filtered bilinearly.

use std::time::Instant;

use kiln_diagnostics::{Code, Diag, Limits};
use kiln_ir::{Image, ImageId, ImageSource, srgb};

use super::value::Value;
use crate::image;

/// The specular reflectance of dielectrics at normal incidence.
const DIELECTRIC: f64 = 0.04;

/// The divisor in place of a smaller one.
const EPSILON: f64 = 1e-6;

/// The specular-glossiness parameters of a material. Colours are linear.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpecularGlossiness {
    pub(super) diffuse_factor: [f32; 4],
    specular_factor: [f32; 3],
    glossiness_factor: f32,
    /// The diffuse texture: colour in sRGB, and alpha.
    pub(super) diffuse: Option<ImageId>,
    /// The specular-glossiness texture: specular colour in sRGB, glossiness in alpha.
    pub(super) specular: Option<ImageId>,
}

/// A metallic-roughness material without textures. Colours are linear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MetallicRoughness {
    pub(super) base_color: [f64; 4],
    pub(super) metallic: f64,
    pub(super) roughness: f64,
}

impl SpecularGlossiness {
    /// Reads the factors of the extension; the textures are resolved with those of the material.
    pub(super) fn read(at: Value<'_>) -> Result<SpecularGlossiness, Diag> {
        Ok(SpecularGlossiness {
            diffuse_factor: at.floats_or("diffuseFactor", [1.0; 4])?,
            specular_factor: at.floats_or("specularFactor", [1.0; 3])?,
            glossiness_factor: at.float_or("glossinessFactor", 1.0)?,
            diffuse: None,
            specular: None,
        })
    }

    /// Converts the factors alone.
    pub(super) fn factors(&self) -> MetallicRoughness {
        convert(
            self.diffuse_factor.map(f64::from),
            self.specular_factor.map(f64::from),
            self.glossiness_factor.into(),
        )
    }

    /// Returns `true` if the metalness is 0 whatever the diffuse colour: then the diffuse texture is the base colour.
    pub(super) fn is_dielectric(&self) -> bool {
        self.specular.is_none() && brightness(self.specular_factor.map(f64::from)) < DIELECTRIC
    }

    /// Returns the factor from a diffuse colour to the base colour of a dielectric.
    pub(super) fn dielectric_scale(&self) -> f32 {
        let strongest = self.specular_factor.into_iter().fold(0.0, f32::max);
        (1.0 - strongest) / (1.0 - DIELECTRIC as f32)
    }

    /// Converts the textures: the base colour in sRGB with alpha, and the metallic-roughness image. Both include the
    /// factors.
    ///
    /// # Errors
    /// Those of decoding the images, with their place; `image-too-large`, `memory-limit` and `time-limit`.
    pub(super) fn images(
        &self,
        images: &[ImageSource],
        limits: &Limits,
        deadline: Option<Instant>,
        warnings: &mut Vec<Diag>,
    ) -> Result<[ImageSource; 2], Diag> {
        let mut decode =
            |id: Option<ImageId>| id.map(|id| Texture::decode(id, images, limits, warnings)).transpose();
        let (diffuse, specular) = (decode(self.diffuse)?, decode(self.specular)?);
        let textures = || [&diffuse, &specular].into_iter().flatten();
        let width = textures().map(|texture| texture.width).max().unwrap_or(1);
        let height = textures().map(|texture| texture.height).max().unwrap_or(1);
        let texels = limits.check_pixels(width, height)?;
        // Two sources and two results.
        limits.check_memory(texels.saturating_mul(16), "converting the specular-glossiness textures")?;
        let (mut base_color, mut metallic_roughness) = (Vec::new(), Vec::new());
        for y in 0..height {
            limits.check_time(deadline)?;
            for x in 0..width {
                let sample = |texture: &Option<Texture>| match texture {
                    Some(texture) => texture.sample(x, y, width, height),
                    None => [1.0; 4],
                };
                let (d, s) = (sample(&diffuse), sample(&specular));
                let scaled = |i: usize| d[i] * f64::from(self.diffuse_factor[i]);
                let specular = [0, 1, 2].map(|i| s[i] * f64::from(self.specular_factor[i]));
                let glossiness = s[3] * f64::from(self.glossiness_factor);
                let found = convert([0, 1, 2, 3].map(scaled), specular, glossiness);
                let [r, g, b, alpha] = found.base_color;
                base_color.extend([r, g, b].map(|v| byte(srgb::from_linear(v))));
                base_color.push(byte(alpha));
                metallic_roughness.extend([255, byte(found.roughness), byte(found.metallic), 255]);
            }
        }
        Ok([encode(width, height, &base_color)?, encode(width, height, &metallic_roughness)?])
    }
}

/// Converts one linear diffuse colour with alpha, one linear specular colour and a glossiness.
fn convert(diffuse: [f64; 4], specular: [f64; 3], glossiness: f64) -> MetallicRoughness {
    let [r, g, b, alpha] = diffuse;
    let diffuse = [r, g, b];
    let one_minus_specular = 1.0 - specular.into_iter().fold(0.0, f64::max);
    let metallic = solve_metallic(brightness(diffuse), brightness(specular), one_minus_specular);
    let of_diffuse = one_minus_specular / (1.0 - DIELECTRIC) / (1.0 - metallic).max(EPSILON);
    let of_specular = |s: f64| (s - DIELECTRIC * (1.0 - metallic)) / metallic.max(EPSILON);
    let weight = metallic * metallic;
    let base = [0, 1, 2].map(|i| {
        let (diffuse, specular) = (diffuse[i] * of_diffuse, of_specular(specular[i]));
        (diffuse + (specular - diffuse) * weight).clamp(0.0, 1.0)
    });
    let [r, g, b] = base;
    MetallicRoughness {
        base_color: [r, g, b, alpha],
        metallic,
        roughness: (1.0 - glossiness).clamp(0.0, 1.0),
    }
}

/// Solves for the metalness at which a metallic-roughness material has the given diffuse and specular brightness.
fn solve_metallic(diffuse: f64, specular: f64, one_minus_specular: f64) -> f64 {
    if specular < DIELECTRIC {
        return 0.0;
    }
    let a = DIELECTRIC;
    let b = diffuse * one_minus_specular / (1.0 - DIELECTRIC) + specular - 2.0 * DIELECTRIC;
    let c = DIELECTRIC - specular;
    let discriminant = (b * b - 4.0 * a * c).max(0.0);
    ((-b + discriminant.sqrt()) / (2.0 * a)).clamp(0.0, 1.0)
}

/// Returns the perceived brightness of a linear colour.
fn brightness([r, g, b]: [f64; 3]) -> f64 {
    (0.299 * r * r + 0.587 * g * g + 0.114 * b * b).sqrt()
}

/// A decoded image whose colour is sRGB and whose alpha is linear.
struct Texture {
    width: u32,
    height: u32,
    rgba: Vec<u8>,
    /// The linear value of each sRGB byte.
    linear: [f64; 256],
}

impl Texture {
    fn decode(
        id: ImageId,
        images: &[ImageSource],
        limits: &Limits,
        warnings: &mut Vec<Diag>,
    ) -> Result<Texture, Diag> {
        let source = &images[id.0 as usize];
        let locate = |diag: Diag| match source.path.as_str() {
            "" => diag.at(format!("/images/{}", id.0)),
            file => diag.path(file),
        };
        let decoded = image::import(&source.bytes, &source.extension, limits).map_err(locate)?;
        warnings.extend(decoded.warnings.into_iter().map(locate));
        let (width, height) = (decoded.value.width(), decoded.value.height());
        let linear = std::array::from_fn(|value| srgb::to_linear(value as f64 / 255.0));
        Ok(Texture { width, height, rgba: Image::into_rgba8(decoded.value), linear })
    }

    /// Returns the colour at the centre of a texel of an image with the given size.
    fn sample(&self, x: u32, y: u32, width: u32, height: u32) -> [f64; 4] {
        if (width, height) == (self.width, self.height) {
            return self.texel(x, y);
        }
        let place = |at: u32, of: u32, size: u32| {
            let place = (f64::from(at) + 0.5) / f64::from(of) * f64::from(size) - 0.5;
            let place = place.clamp(0.0, f64::from(size - 1));
            let first = place as u32;
            (first, (first + 1).min(size - 1), place - f64::from(first))
        };
        let (x0, x1, fx) = place(x, width, self.width);
        let (y0, y1, fy) = place(y, height, self.height);
        let lerp = |a: [f64; 4], b: [f64; 4], t: f64| [0, 1, 2, 3].map(|i| a[i] + (b[i] - a[i]) * t);
        lerp(
            lerp(self.texel(x0, y0), self.texel(x1, y0), fx),
            lerp(self.texel(x0, y1), self.texel(x1, y1), fx),
            fy,
        )
    }

    fn texel(&self, x: u32, y: u32) -> [f64; 4] {
        let at = (y as usize * self.width as usize + x as usize) * 4;
        let value = |i: usize| usize::from(self.rgba[at + i]);
        let [r, g, b] = [0, 1, 2].map(|i| self.linear[value(i)]);
        [r, g, b, value(3) as f64 / 255.0]
    }
}

fn byte(v: f64) -> u8 {
    (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
}

fn encode(width: u32, height: u32, rgba: &[u8]) -> Result<ImageSource, Diag> {
    let failed = |error: png::EncodingError| {
        Diag::new(Code::ImageTooLarge, format!("the converted texture cannot be encoded: {error}"))
    };
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(rgba).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(ImageSource { extension: "png".to_owned(), bytes, ..ImageSource::default() })
}
