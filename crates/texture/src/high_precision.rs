//! Mip chains with 16-bit or float channels, for textures that are not converted to 8 bits.

use kiln_ir::{Image, Texels};
use rayon::prelude::*;

use crate::filter_mode::{FilterMode, unit_vector};
use crate::mips::{self, Mips};
use crate::plane::{ClampedPlane, Plane};
use crate::wrapped_plane::{Wrap, WrappedPlane};
use crate::{Encoded, Error, Extent, Mode, Payload, Settings, check, srgb, wrap_levels};

/// Returns the mip chain of a 16-bit RGBA image, largest level first. The base level is unmodified unless it
/// is downscaled to `max_size`.
pub fn levels_16(image: Image, mode: Mode, mips: Mips, max_size: Option<u32>) -> Vec<Image> {
    levels_16_wrapped(image, mode, mips, max_size, Wrap::Clamp)
}

/// Encodes layers of one size as R16, RG16 or RGBA16.
pub(crate) fn encode_layers_16(
    layers: Vec<Image>,
    mode: Mode,
    settings: &Settings,
) -> Result<Encoded, Error> {
    let first = layers.first().ok_or(Error::Empty)?;
    let (width, height) = mips::fit(first.width(), first.height(), settings.max_size);
    let (texels, channels) = match mode {
        Mode::Grayscale => (Payload::R16, 1),
        Mode::Normal => (Payload::Rg16, 2),
        Mode::LinearColor | Mode::Color => (Payload::Rgba16, 4),
    };
    let mut levels = vec![Vec::new(); settings.mips.levels(width, height) as usize];
    for image in layers {
        check(settings.deadline)?;
        let images = levels_16_wrapped(image, mode, settings.mips, settings.max_size, settings.wrap);
        for (image, out) in images.iter().zip(&mut levels) {
            if let Texels::Rgba16(values) = image.texels() {
                let kept = values.chunks_exact(4).flat_map(|texel| &texel[..channels]);
                out.extend(kept.flat_map(|value| value.to_le_bytes()));
            }
        }
    }
    let extent = Extent { width, height, depth: 0, layers: 0, faces: 1 };
    wrap_levels(extent, texels, false, levels, settings)
}

fn levels_16_wrapped(image: Image, mode: Mode, mips: Mips, max_size: Option<u32>, wrap: Wrap) -> Vec<Image> {
    let filter_mode = match mode {
        Mode::Color if image.has_alpha() => FilterMode::Translucent,
        Mode::Color => FilterMode::Opaque,
        Mode::LinearColor | Mode::Grayscale => FilterMode::Data,
        Mode::Normal => FilterMode::Vector,
    };
    let (width, height) = mips::fit(image.width(), image.height(), max_size);
    let mut plane = Plane::Source(image);
    let mut levels = Vec::new();
    for level in 0..mips.levels(width, height) {
        let (width, height) = mips::level_size(width, height, level);
        if (plane.width(), plane.height()) != (width, height) {
            let texels = match wrap {
                Wrap::Clamp => {
                    mips::shrink(&ClampedPlane { plane: &plane, filter_mode }, filter_mode, width, height)
                }
                wrap => {
                    let wrapped = WrappedPlane::new(&plane, filter_mode, wrap, (width, height));
                    mips::shrink(&wrapped, filter_mode, width, height)
                }
            };
            plane = Plane::Filtered { width, texels };
        }
        let texels = match &plane {
            Plane::Source(image) => match image.texels() {
                Texels::Rgba8(v) => v.iter().map(|&value| u16::from(value) * 257).collect(),
                Texels::Rgba16(v) => v.clone(),
            },
            Plane::Filtered { texels, .. } => {
                texels.par_iter().flat_map_iter(|t| encode(filter_mode, *t)).collect()
            }
        };
        levels.extend(Image::new(width, height, Texels::Rgba16(texels)));
    }
    levels
}

/// A mip level with float channels.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FloatLevel {
    /// Width in texels.
    pub width: u32,
    /// Height in texels.
    pub height: u32,
    /// The texels, top row first.
    pub texels: Vec<[f32; 4]>,
}

/// Returns the mip chain of a float image, largest level first. Each channel is filtered independently as a
/// linear quantity. Returns `None` if the number of texels is zero or not `width * height`.
pub fn levels_f32(
    width: u32,
    height: u32,
    texels: Vec<[f32; 4]>,
    mips: Mips,
    max_size: Option<u32>,
) -> Option<Vec<FloatLevel>> {
    if texels.is_empty() || (width as usize).checked_mul(height as usize) != Some(texels.len()) {
        return None;
    }
    let (wide, high) = mips::fit(width, height, max_size);
    let mut plane = Plane::Filtered { width, texels };
    let mut levels = Vec::new();
    for level in 0..mips.levels(wide, high) {
        let (width, height) = mips::level_size(wide, high, level);
        if (plane.width(), plane.height()) != (width, height) {
            let texels = mips::shrink(
                &ClampedPlane { plane: &plane, filter_mode: FilterMode::Data },
                FilterMode::Data,
                width,
                height,
            );
            plane = Plane::Filtered { width, texels };
        }
        if let Plane::Filtered { texels, .. } = &plane {
            // The kernel's negative lobes may leave negative values.
            let texels = texels.iter().map(|texel| texel.map(|v| v.max(0.0))).collect();
            levels.push(FloatLevel { width, height, texels });
        }
    }
    Some(levels)
}

fn encode(filter_mode: FilterMode, [x, y, z, w]: [f32; 4]) -> [u16; 4] {
    let unorm = |value: f32| (value * 65535.0 + 0.5) as u16;
    let srgb = |value: f32| unorm(srgb::from_linear(value));
    match filter_mode {
        FilterMode::Opaque => [srgb(x), srgb(y), srgb(z), u16::MAX],
        FilterMode::Translucent => [srgb(x / w), srgb(y / w), srgb(z / w), unorm(w)],
        FilterMode::Data => [x, y, z, w].map(unorm),
        FilterMode::Vector | FilterMode::VectorXy => {
            let [x, y, z] = unit_vector([x, y, z]);
            [unorm(x * 0.5 + 0.5), unorm(y * 0.5 + 0.5), unorm(z * 0.5 + 0.5), unorm(w)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(values: &[u16], width: u32) -> Image {
        let texels = values.iter().flat_map(|&v| [v, v, v, u16::MAX]).collect();
        Image::new(width, values.len() as u32 / width, Texels::Rgba16(texels)).unwrap()
    }

    #[test]
    fn base_is_exact_and_mips_are_filtered_in_linear_light() {
        let image = grey(&[1, 2, 3, 4], 2);
        let levels = levels_16(image.clone(), Mode::LinearColor, Mips::Full, None);
        assert_eq!(levels[0], image);
        assert_eq!(levels.len(), 2);
        let Texels::Rgba16(v) = levels[1].texels() else { panic!() };
        assert!((2..=3).contains(&v[0]), "{v:?}");
        // The average of black and white in linear light is not half the code: 0.5 is 0.7354 in sRGB.
        let levels = levels_16(grey(&[0, 65535, 65535, 0], 2), Mode::Color, Mips::Full, None);
        let Texels::Rgba16(v) = levels[1].texels() else { panic!() };
        assert!((f32::from(v[0]) / 65535.0 - 0.7354).abs() < 1e-3, "{v:?}");
    }

    #[test]
    fn float_levels_keep_their_range() {
        let texels =
            vec![[8.0, 0.0, 1.0, 1.0], [4.0, 0.0, 1.0, 1.0], [2.0, 0.0, 1.0, 1.0], [2.0, 0.0, 1.0, 1.0]];
        let levels = levels_f32(2, 2, texels.clone(), Mips::Full, None).unwrap();
        assert_eq!((levels.len(), &levels[0].texels), (2, &texels));
        let [r, g, b, _] = levels[1].texels[0];
        assert!((r - 4.0).abs() < 1e-4 && g == 0.0 && (b - 1.0).abs() < 1e-5, "{levels:?}");
        assert_eq!(levels_f32(2, 2, texels, Mips::None, Some(1)).unwrap()[0].width, 1);
        assert_eq!(levels_f32(2, 2, vec![[0.0; 4]; 3], Mips::Full, None), None);
    }

    #[test]
    fn constant_image_stays_constant() {
        for value in (0..=65535u16).step_by(251) {
            let levels = levels_16(grey(&[value; 16], 4), Mode::Color, Mips::Full, None);
            let Texels::Rgba16(v) = levels[2].texels() else { panic!() };
            assert!(v[0].abs_diff(value) <= 1, "{value}: {v:?}");
        }
    }
}
