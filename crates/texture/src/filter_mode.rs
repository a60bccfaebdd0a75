//! Filter modes: conversion of stored channels to quantities that can be averaged, and back.
//!
//! Filters add and scale, which is correct only for linear quantities. [`FilterMode::decode`] converts stored
//! values to such quantities, [`FilterMode::encode`] converts sums of them back to bytes.

use kiln_ir::image::narrow;

use crate::srgb;

/// An RGBA texel in linear quantities that may be added.
pub(crate) type Texel = [f32; 4];

/// The minimum weight of a colour, for transparent texels.
///
/// The weight is negligible next to a visible texel. Where all texels are transparent it leaves the
/// unweighted average of their colours, so that a fully transparent texel keeps a plausible colour (a sampler
/// blends it with its neighbours).
pub(crate) const MIN_WEIGHT: f32 = 1.0 / (1 << 30) as f32;

/// The filter mode of an image: the way its channels are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterMode {
    /// sRGB colour without alpha: filtered in linear light.
    Opaque,
    /// sRGB colour with straight alpha: filtered in linear light, premultiplied by alpha (at least
    /// [`MIN_WEIGHT`]).
    Translucent,
    /// Four independent linear channels.
    Data,
    /// A unit vector in RGB; alpha is data.
    Vector,
    /// A unit vector of which only X and Y are stored: the shader reconstructs Z, so the filter does too and
    /// ignores the third channel of the source.
    VectorXy,
}

/// A stored channel with 8 or 16 bits.
pub(crate) trait Sample: Copy {
    /// Returns the value in 0..=1.
    fn unorm(self) -> f32;
    /// Returns the table of linear values of all sRGB codes.
    fn linear_table() -> &'static [f32];
    /// Returns the value as an index into [`Sample::linear_table`].
    fn index(self) -> usize;
    /// Returns the nearest 8-bit value.
    fn byte(self) -> u8;
}

impl Sample for u8 {
    fn unorm(self) -> f32 {
        f32::from(self) / 255.0
    }
    fn linear_table() -> &'static [f32] {
        srgb::linear8()
    }
    fn index(self) -> usize {
        usize::from(self)
    }
    fn byte(self) -> u8 {
        self
    }
}

impl Sample for u16 {
    fn unorm(self) -> f32 {
        f32::from(self) / 65535.0
    }
    fn linear_table() -> &'static [f32] {
        srgb::linear16()
    }
    fn index(self) -> usize {
        usize::from(self)
    }
    fn byte(self) -> u8 {
        narrow(self)
    }
}

impl FilterMode {
    /// Decodes stored RGBA values to linear quantities.
    pub(crate) fn decode<S: Sample>(self, stored: &[S], out: &mut [Texel]) {
        let table = S::linear_table();
        let linear = |s: S| table[s.index()];
        let signed = |s: S| s.unorm() * 2.0 - 1.0;
        let each = stored.as_chunks().0.iter().zip(out);
        match self {
            FilterMode::Opaque => {
                each.for_each(|(&[r, g, b, _], t)| *t = [linear(r), linear(g), linear(b), 1.0])
            }
            FilterMode::Translucent => each.for_each(|(&[r, g, b, a], t)| {
                let weight = a.unorm().max(MIN_WEIGHT);
                *t = [linear(r) * weight, linear(g) * weight, linear(b) * weight, weight];
            }),
            FilterMode::Data => each.for_each(|(s, t)| *t = s.map(S::unorm)),
            FilterMode::Vector => {
                each.for_each(|(&[x, y, z, a], t)| *t = [signed(x), signed(y), signed(z), a.unorm()]);
            }
            FilterMode::VectorXy => each.for_each(|(&[x, y, _, a], t)| {
                let (x, y) = (signed(x), signed(y));
                *t = [x, y, (1.0 - x * x - y * y).max(0.0).sqrt(), a.unorm()];
            }),
        }
    }

    /// Encodes linear quantities as bytes, rounded to nearest and clamped. The alpha of a translucent texel
    /// is first multiplied by `alpha_scale`.
    pub(crate) fn encode(self, texels: &[Texel], alpha_scale: f32, out: &mut [u8]) {
        let srgb = srgb::encoder();
        let each = texels.iter().zip(out.as_chunks_mut().0);
        match self {
            FilterMode::Opaque => each.for_each(|(&[r, g, b, _], out)| {
                *out = [srgb.encode(r), srgb.encode(g), srgb.encode(b), u8::MAX];
            }),
            FilterMode::Translucent => each.for_each(|(&[r, g, b, weight], out)| {
                let alpha = unorm8(weight * alpha_scale);
                *out = [srgb.encode(r / weight), srgb.encode(g / weight), srgb.encode(b / weight), alpha];
            }),
            FilterMode::Data => each.for_each(|(texel, out)| *out = texel.map(unorm8)),
            FilterMode::Vector | FilterMode::VectorXy => each.for_each(|(&[x, y, z, a], out)| {
                let [x, y, z] = unit_vector([x, y, z]).map(|v| unorm8(v * 0.5 + 0.5));
                *out = [x, y, z, unorm8(a)];
            }),
        }
    }
}

/// Returns the nearest byte of a value in 0..=1; other values are clamped and NaN is zero.
pub(crate) fn unorm8(value: f32) -> u8 {
    (value * 255.0 + 0.5) as u8
}

/// Returns the unit vector along `v`, or +Z where opposite directions cancel out.
pub(crate) fn unit_vector(v: [f32; 3]) -> [f32; 3] {
    let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    if length > 1e-4 { v.map(|c| c / length) } else { [0.0, 0.0, 1.0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<S: Sample>(filter_mode: FilterMode, stored: [S; 4]) -> [u8; 4] {
        let mut texel = [[0.0; 4]];
        let mut bytes = [0; 4];
        filter_mode.decode(&stored, &mut texel);
        filter_mode.encode(&texel, 1.0, &mut bytes);
        bytes
    }

    #[test]
    fn unfiltered_values_round_trip() {
        for v in 0..=255u8 {
            let w = 255 - v;
            assert_eq!(round_trip(FilterMode::Opaque, [v, w, 7, 255]), [v, w, 7, 255]);
            assert_eq!(round_trip(FilterMode::Translucent, [v, w, 200, v]), [v, w, 200, v]);
            assert_eq!(round_trip(FilterMode::Data, [v, w, 1, w]), [v, w, 1, w]);
        }
        for v in (0..=u16::MAX).step_by(13) {
            let n = narrow(v);
            assert_eq!(round_trip(FilterMode::Opaque, [v, v, v, u16::MAX]), [n, n, n, 255]);
            assert_eq!(round_trip(FilterMode::Data, [v, 0, v, v]), [n, 0, n, n]);
        }
    }

    #[test]
    fn normals_are_renormalised() {
        assert_eq!(round_trip(FilterMode::Vector, [128u8, 128, 255, 9]), [128, 128, 255, 9]);
        // Half as long, same direction.
        let [x, y, z, _] = round_trip(FilterMode::Vector, [128u8, 128, 191, 255]);
        assert!(x.abs_diff(128) <= 1 && y.abs_diff(128) <= 1 && z >= 254);
        // Z is reconstructed; the third channel is ignored.
        assert_eq!(round_trip(FilterMode::VectorXy, [204u8, 128, 0, 255])[..2], [204, 128]);
        assert_eq!(round_trip(FilterMode::VectorXy, [204u8, 128, 255, 255])[..2], [204, 128]);
        assert_eq!(unit_vector([0.0, 1e-6, 0.0]), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn bytes_are_rounded_and_clamped() {
        for (value, byte) in
            [(-3.0, 0), (0.0, 0), (0.5 / 255.0, 1), (0.49 / 255.0, 0), (1.0, 255), (9.0, 255)]
        {
            assert_eq!(unorm8(value), byte, "{value}");
        }
        assert_eq!(unorm8(f32::NAN), 0);
    }
}
