//! Material factors, multiplied into the texels of their texture (glTF 2.0, 3.9).
//!
//! A pak material has bitmaps and no factors, so that a game draws what the bitmaps contain. Colors are multiplied in
//! linear light, normals are scaled and normalized, and values are mapped linearly. The result is rounded to the nearest
//! value and clamped to the range of the samples.

use kiln_format::pak::Color;
use kiln_ir::{Image, Texels, srgb};
use rayon::prelude::*;

/// The factor of a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Factor {
    /// No factor: the texels are unchanged.
    One,
    /// Linear RGBA factors of a color and its alpha.
    Color([f32; 4]),
    /// The factor of X and Y of a normal.
    NormalScale(f32),
    /// A linear map of a value: `scale * value + offset`.
    Value { scale: f32, offset: f32 },
}

impl Factor {
    /// Returns the factors of a color.
    pub(crate) fn color(factors: [f32; 4]) -> Factor {
        if factors == [1.0; 4] { Factor::One } else { Factor::Color(factors) }
    }

    /// Returns the factor of X and Y of a normal.
    pub(crate) fn normal_scale(scale: f32) -> Factor {
        if scale == 1.0 { Factor::One } else { Factor::NormalScale(scale) }
    }

    /// Returns the linear map `scale * value + offset`.
    pub(crate) fn value(scale: f32, offset: f32) -> Factor {
        if (scale, offset) == (1.0, 0.0) { Factor::One } else { Factor::Value { scale, offset } }
    }

    /// Returns `true` if gray texels stay gray and opaque ones opaque.
    pub(crate) fn keeps_gray(self) -> bool {
        match self {
            Factor::Color([r, g, b, a]) => r == g && g == b && a == 1.0,
            _ => true,
        }
    }

    /// Applies the factor to an image whose colors are encoded as `color`.
    pub(crate) fn apply(self, image: Image, color: Color) -> Image {
        if self == Factor::One {
            return image;
        }
        let (width, height) = (image.width(), image.height());
        let texels = match image.into_texels() {
            Texels::Rgba8(mut texels) => {
                self.apply_to(&mut texels, color, 255.0, f64::from, |v| v as u8);
                Texels::Rgba8(texels)
            }
            Texels::Rgba16(mut texels) => {
                self.apply_to(&mut texels, color, 65535.0, f64::from, |v| v as u16);
                Texels::Rgba16(texels)
            }
        };
        Image::new(width, height, texels).expect("the number of texels has not changed")
    }

    fn apply_to<T>(self, texels: &mut [T], color: Color, max: f64, widen: fn(T) -> f64, narrow: fn(f64) -> T)
    where
        T: Copy + Send + Sync,
        usize: TryFrom<T>,
    {
        let quantized = |value: f64| narrow((value.clamp(0.0, 1.0) * max).round());
        let tables: [Vec<T>; 4] = match self {
            Factor::One => return,
            Factor::NormalScale(scale) => {
                texels.par_chunks_mut(4 << 12).for_each(|texels| {
                    for texel in texels.as_chunks_mut::<4>().0 {
                        let [x, y, z] = [texel[0], texel[1], texel[2]].map(|v| widen(v) / max * 2.0 - 1.0);
                        let [x, y] = [x, y].map(|v| v * f64::from(scale));
                        let length = (x * x + y * y + z * z).sqrt();
                        // A zero vector has no direction; it stays as it is.
                        if length > 0.0 {
                            let [x, y, z] = [x, y, z].map(|v| quantized((v / length + 1.0) / 2.0));
                            (texel[0], texel[1], texel[2]) = (x, y, z);
                        }
                    }
                });
                return;
            }
            Factor::Color(factors) => {
                let channel = |channel: usize| {
                    let factor = f64::from(factors[channel]);
                    let map = move |value: f64| match (color, channel) {
                        (Color::Srgb, 0..3) => srgb::from_linear(srgb::to_linear(value) * factor),
                        _ => value * factor,
                    };
                    self.table(max, map, quantized)
                };
                [channel(0), channel(1), channel(2), channel(3)]
            }
            Factor::Value { scale, offset } => {
                let map = |value: f64| value * f64::from(scale) + f64::from(offset);
                let table = self.table(max, map, quantized);
                [table.clone(), table.clone(), table.clone(), table]
            }
        };
        texels.par_chunks_mut(4 << 12).for_each(|texels| {
            for texel in texels.as_chunks_mut::<4>().0 {
                for (value, table) in texel.iter_mut().zip(&tables) {
                    if let Some(mapped) = usize::try_from(*value).ok().and_then(|v| table.get(v)) {
                        *value = *mapped;
                    }
                }
            }
        });
    }

    /// Returns the mapped value of every sample from 0 to `max`.
    fn table<T>(self, max: f64, map: impl Fn(f64) -> f64, quantized: impl Fn(f64) -> T) -> Vec<T> {
        (0..=max as u32).map(|value| quantized(map(f64::from(value) / max))).collect()
    }

    /// Returns the 8-bit values that samples from 0 to `max` become.
    pub(crate) fn values(self, max: u16) -> Vec<u8> {
        let (scale, offset) = match self {
            Factor::Value { scale, offset } => (f64::from(scale), f64::from(offset)),
            _ => (1.0, 0.0),
        };
        let quantized = |value: f64| (value.clamp(0.0, 1.0) * 255.0).round() as u8;
        self.table(max.into(), |value| value * scale + offset, quantized)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rgba8(factor: Factor, color: Color, texel: [u8; 4]) -> Vec<u8> {
        let image = Image::new(1, 1, Texels::Rgba8(texel.to_vec())).unwrap();
        factor.apply(image, color).into_rgba8()
    }

    #[test]
    fn multiplies_colors_in_linear_light() {
        // 188 in sRGB is half of the light of 255; alpha is linear.
        let factor = Factor::color([0.5, 1.0, 0.0, 0.5]);
        assert_eq!(rgba8(factor, Color::Srgb, [255, 77, 99, 200]), [188, 77, 0, 100]);
        assert_eq!(rgba8(factor, Color::Linear, [255, 77, 99, 200]), [128, 77, 0, 100]);
        assert_eq!(rgba8(Factor::color([2.0; 4]), Color::Srgb, [255, 0, 200, 130]), [255, 0, 255, 255]);
        let deep = Image::new(1, 1, Texels::Rgba16(vec![65535, 40000, 3, 65535])).unwrap();
        let deep = factor.apply(deep, Color::Srgb);
        assert_eq!(*deep.texels(), Texels::Rgba16(vec![48192, 40000, 0, 32768]));
    }

    #[test]
    fn scales_and_normalizes_normals() {
        assert_eq!(rgba8(Factor::normal_scale(0.0), Color::Linear, [255, 128, 200, 7])[..3], [128, 128, 255]);
        // (0.6, 0, 0.8) with half of X and Y is (0.351, 0, 0.936).
        assert_eq!(
            rgba8(Factor::normal_scale(0.5), Color::Linear, [204, 128, 230, 255])[..3],
            [172, 128, 247]
        );
    }

    #[test]
    fn maps_values_linearly() {
        assert_eq!(rgba8(Factor::value(0.25, 0.0), Color::Linear, [179, 0, 255, 100]), [45, 0, 64, 25]);
        let values = Factor::value(0.5, 0.5).values(255);
        assert_eq!([values[0], values[255], values[100]], [128, 255, 178]);
        let narrowed = Factor::One.values(65535);
        let all = Image::new(1 << 14, 1, Texels::Rgba16((0..=65535).collect())).unwrap();
        assert_eq!(narrowed, all.into_rgba8());
        assert_eq!(Factor::value(1.0, 0.0), Factor::One);
    }
}
