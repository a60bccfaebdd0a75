//! What the four channels of a texel mean, and so how they may be averaged.
//!
//! Filters add and scale; that is only right for quantities that add. [`Meaning::decode`] turns stored values
//! into such quantities, [`Meaning::encode`] turns sums of them back into bytes.

use kiln_ir::image::narrow;

use crate::srgb;

/// Four channels that may be added.
pub(crate) type Texel = [f32; 4];

/// The least weight that a colour has, however transparent.
///
/// Next to a visible texel it counts for nothing. Where all texels are transparent it leaves the plain
/// average of their colours, so that a fully transparent texel keeps a sensible one (a sampler blends it with
/// its neighbours).
pub(crate) const VEIL: f32 = 1.0 / (1 << 30) as f32;

/// How the channels of an image are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// sRGB colour without alpha: filtered in linear light.
    Opaque,
    /// sRGB colour with straight alpha: filtered in linear light, weighted by alpha, if only by [`VEIL`].
    Translucent,
    /// Four independent linear quantities.
    Data,
    /// A direction in three channels; the fourth is data.
    Vector,
    /// A direction of which only X and Y will be kept: the reader derives Z, so the filter does too, and the
    /// third channel of the source is not believed.
    VectorXy,
}

/// A stored channel, eight or sixteen bits deep.
pub(crate) trait Sample: Copy {
    /// The value in 0..=1.
    fn unorm(self) -> f32;
    /// Linear light of every value.
    fn lights() -> &'static [f32];
    /// The value as an index into [`Sample::lights`].
    fn index(self) -> usize;
    /// The nearest eight-bit value.
    fn byte(self) -> u8;
}

impl Sample for u8 {
    fn unorm(self) -> f32 {
        f32::from(self) / 255.0
    }
    fn lights() -> &'static [f32] {
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
    fn lights() -> &'static [f32] {
        srgb::linear16()
    }
    fn index(self) -> usize {
        usize::from(self)
    }
    fn byte(self) -> u8 {
        narrow(self)
    }
}

impl Meaning {
    /// Stored values, four to a texel, as quantities that add.
    pub(crate) fn decode<S: Sample>(self, stored: &[S], out: &mut [Texel]) {
        let lights = S::lights();
        let light = |s: S| lights[s.index()];
        let signed = |s: S| s.unorm() * 2.0 - 1.0;
        let each = stored.as_chunks().0.iter().zip(out);
        match self {
            Meaning::Opaque => each.for_each(|(&[r, g, b, _], t)| *t = [light(r), light(g), light(b), 1.0]),
            Meaning::Translucent => each.for_each(|(&[r, g, b, a], t)| {
                let weight = a.unorm().max(VEIL);
                *t = [light(r) * weight, light(g) * weight, light(b) * weight, weight];
            }),
            Meaning::Data => each.for_each(|(s, t)| *t = s.map(S::unorm)),
            Meaning::Vector => {
                each.for_each(|(&[x, y, z, a], t)| *t = [signed(x), signed(y), signed(z), a.unorm()]);
            }
            Meaning::VectorXy => each.for_each(|(&[x, y, _, a], t)| {
                let (x, y) = (signed(x), signed(y));
                *t = [x, y, (1.0 - x * x - y * y).max(0.0).sqrt(), a.unorm()];
            }),
        }
    }

    /// Quantities as bytes, rounded to the nearest and clamped; a translucent texel's alpha is first
    /// multiplied by `alpha_scale`.
    pub(crate) fn encode(self, texels: &[Texel], alpha_scale: f32, out: &mut [u8]) {
        let srgb = srgb::encoder();
        let each = texels.iter().zip(out.as_chunks_mut().0);
        match self {
            Meaning::Opaque => each.for_each(|(&[r, g, b, _], out)| {
                *out = [srgb.encode(r), srgb.encode(g), srgb.encode(b), u8::MAX];
            }),
            Meaning::Translucent => each.for_each(|(&[r, g, b, weight], out)| {
                let alpha = unorm8(weight * alpha_scale);
                *out = [srgb.encode(r / weight), srgb.encode(g / weight), srgb.encode(b / weight), alpha];
            }),
            Meaning::Data => each.for_each(|(texel, out)| *out = texel.map(unorm8)),
            Meaning::Vector | Meaning::VectorXy => each.for_each(|(&[x, y, z, a], out)| {
                let [x, y, z] = direction([x, y, z]).map(|v| unorm8(v * 0.5 + 0.5));
                *out = [x, y, z, unorm8(a)];
            }),
        }
    }
}

/// The nearest byte of a value in 0..=1; others are clamped, what is no number is zero.
fn unorm8(value: f32) -> u8 {
    (value * 255.0 + 0.5) as u8
}

/// The unit vector along `v`, or +Z where opposite directions cancelled out and none is left.
fn direction(v: [f32; 3]) -> [f32; 3] {
    let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    if length > 1e-4 { v.map(|c| c / length) } else { [0.0, 0.0, 1.0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<S: Sample>(meaning: Meaning, stored: [S; 4]) -> [u8; 4] {
        let mut texel = [[0.0; 4]];
        let mut bytes = [0; 4];
        meaning.decode(&stored, &mut texel);
        meaning.encode(&texel, 1.0, &mut bytes);
        bytes
    }

    #[test]
    fn colours_and_data_survive_unfiltered() {
        for v in 0..=255u8 {
            let w = 255 - v;
            assert_eq!(there_and_back(Meaning::Opaque, [v, w, 7, 255]), [v, w, 7, 255]);
            assert_eq!(there_and_back(Meaning::Translucent, [v, w, 200, v]), [v, w, 200, v]);
            assert_eq!(there_and_back(Meaning::Data, [v, w, 1, w]), [v, w, 1, w]);
        }
        for v in (0..=u16::MAX).step_by(13) {
            let n = narrow(v);
            assert_eq!(there_and_back(Meaning::Opaque, [v, v, v, u16::MAX]), [n, n, n, 255]);
            assert_eq!(there_and_back(Meaning::Data, [v, 0, v, v]), [n, 0, n, n]);
        }
    }

    #[test]
    fn directions_become_unit_vectors() {
        assert_eq!(there_and_back(Meaning::Vector, [128u8, 128, 255, 9]), [128, 128, 255, 9]);
        // Half as long, same direction.
        let [x, y, z, _] = there_and_back(Meaning::Vector, [128u8, 128, 191, 255]);
        assert!(x.abs_diff(128) <= 1 && y.abs_diff(128) <= 1 && z >= 254);
        // Z derived, whatever the third channel says.
        assert_eq!(there_and_back(Meaning::VectorXy, [204u8, 128, 0, 255])[..2], [204, 128]);
        assert_eq!(there_and_back(Meaning::VectorXy, [204u8, 128, 255, 255])[..2], [204, 128]);
        assert_eq!(direction([0.0, 1e-6, 0.0]), [0.0, 0.0, 1.0]);
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
