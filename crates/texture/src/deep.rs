//! Levels at sixteen bits a channel, or in floats, for pictures that are kept as they are.

use kiln_ir::{Image, Texels};
use rayon::prelude::*;

use crate::mips::{self, Mips};
use crate::plane::{Flat, Plane};
use crate::texel::Meaning;
use crate::{Mode, srgb};

/// The levels of a picture with sixteen bits a channel, RGBA, largest first. The base is exactly what came unless it
/// has to be scaled down to `max_size`.
pub fn levels_16(image: Image, mode: Mode, mips: Mips, max_size: Option<u32>) -> Vec<Image> {
    let meaning = match mode {
        Mode::Color if image.has_alpha() => Meaning::Translucent,
        Mode::Color => Meaning::Opaque,
        Mode::LinearColor | Mode::Grayscale => Meaning::Data,
        Mode::Normal => Meaning::Vector,
    };
    let (width, height) = mips::fit(image.width(), image.height(), max_size);
    let mut plane = Plane::Source(image);
    let mut levels = Vec::new();
    for level in 0..mips.levels(width, height) {
        let (width, height) = mips::level_size(width, height, level);
        if (plane.width(), plane.height()) != (width, height) {
            let texels = mips::shrink(&Flat { plane: &plane, meaning }, meaning, width, height);
            plane = Plane::Filtered { width, texels };
        }
        let texels = match &plane {
            Plane::Source(image) => match image.texels() {
                Texels::Rgba8(v) => v.iter().map(|&value| u16::from(value) * 257).collect(),
                Texels::Rgba16(v) => v.clone(),
            },
            Plane::Filtered { texels, .. } => {
                texels.par_iter().flat_map_iter(|t| encode(meaning, *t)).collect()
            }
        };
        levels.extend(Image::new(width, height, Texels::Rgba16(texels)));
    }
    levels
}

/// One level in floats.
#[derive(Clone, Debug, PartialEq)]
pub struct FloatLevel {
    /// Texels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The texels, top row first.
    pub texels: Vec<[f32; 4]>,
}

/// The levels of a picture in floats, largest first, each channel filtered by itself: linear light, or data. `None`
/// when there are not `width * height` texels, or none at all.
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
            let texels =
                mips::shrink(&Flat { plane: &plane, meaning: Meaning::Data }, Meaning::Data, width, height);
            plane = Plane::Filtered { width, texels };
        }
        if let Plane::Filtered { texels, .. } = &plane {
            // The kernel's negative lobes may leave less than no light.
            let texels = texels.iter().map(|texel| texel.map(|v| v.max(0.0))).collect();
            levels.push(FloatLevel { width, height, texels });
        }
    }
    Some(levels)
}

fn encode(meaning: Meaning, [x, y, z, w]: [f32; 4]) -> [u16; 4] {
    let unorm = |value: f32| (value * 65535.0 + 0.5) as u16;
    let light = |value: f32| unorm(srgb::from_linear(value));
    match meaning {
        Meaning::Opaque => [light(x), light(y), light(z), u16::MAX],
        Meaning::Translucent => [light(x / w), light(y / w), light(z / w), unorm(w)],
        Meaning::Data => [x, y, z, w].map(unorm),
        Meaning::Vector | Meaning::VectorXy => {
            let length = (x * x + y * y + z * z).sqrt();
            let [x, y, z] = if length > 1e-4 { [x, y, z].map(|v| v / length) } else { [0.0, 0.0, 1.0] };
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
    fn the_base_is_exact_and_levels_are_averages_of_light() {
        let image = grey(&[1, 2, 3, 4], 2);
        let levels = levels_16(image.clone(), Mode::LinearColor, Mips::Full, None);
        assert_eq!(levels[0], image);
        assert_eq!(levels.len(), 2);
        let Texels::Rgba16(v) = levels[1].texels() else { panic!() };
        assert!((2..=3).contains(&v[0]), "{v:?}");
        // Half of black and white light is not half of the code: 0.5 is 0.7354 in sRGB.
        let levels = levels_16(grey(&[0, 65535, 65535, 0], 2), Mode::Color, Mips::Full, None);
        let Texels::Rgba16(v) = levels[1].texels() else { panic!() };
        assert!((f32::from(v[0]) / 65535.0 - 0.7354).abs() < 1e-3, "{v:?}");
    }

    #[test]
    fn floats_keep_their_range() {
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
    fn colours_survive_filtering_a_flat_picture() {
        for value in (0..=65535u16).step_by(251) {
            let levels = levels_16(grey(&[value; 16], 4), Mode::Color, Mips::Full, None);
            let Texels::Rgba16(v) = levels[2].texels() else { panic!() };
            assert!(v[0].abs_diff(value) <= 1, "{value}: {v:?}");
        }
    }
}
