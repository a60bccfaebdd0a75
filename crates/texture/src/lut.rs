//! Encodes a colour lookup table as the single level of a 3D texture with 8-bit or half-float channels.

use kiln_ir::Lut;
use rayon::prelude::*;

use crate::filter_mode::unorm8;
use crate::half::{HALF_MAX, HALF_ONE, half};

/// The channel format of an encoded lookup table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LutDepth {
    /// `R8G8B8A8_UNORM`: small and universally supported; smooth gradients may band, and values outside 0..=1
    /// are clamped.
    #[default]
    Unorm8,
    /// `R16G16B16A16_SFLOAT`: no banding, and values outside 0..=1 are kept.
    Float16,
}

/// Returns the texels of the table, red fastest and alpha one, and the number of clamped values.
pub(crate) fn texels(lut: &Lut, depth: LutDepth) -> (Vec<u8>, u64) {
    match depth {
        LutDepth::Unorm8 => store(lut, [u8::MAX], |v| [unorm8(v)], |v| !(0.0..=1.0).contains(&v)),
        LutDepth::Float16 => store(lut, HALF_ONE, |v| half(v).to_le_bytes(), |v| v.abs() > HALF_MAX),
    }
}

/// Encodes every entry as four values of `N` bytes and counts the values that are clamped.
fn store<const N: usize>(
    lut: &Lut,
    one: [u8; N],
    value: impl Fn(f32) -> [u8; N] + Sync,
    clamped: impl Fn(f32) -> bool + Sync,
) -> (Vec<u8>, u64) {
    let mut out = vec![0; lut.rgb().len() * 4 * N];
    let count = out
        .par_chunks_exact_mut(4 * N)
        .zip(lut.rgb())
        .with_min_len(4096)
        .map(|(texel, rgb)| {
            let (values, _) = texel.as_chunks_mut();
            values.iter_mut().zip(rgb).for_each(|(out, v)| *out = value(*v));
            values[3] = one;
            rgb.iter().filter(|v| clamped(**v)).count() as u64
        })
        .sum();
    (out, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(values: [[f32; 3]; 8]) -> Lut {
        Lut::new(2, [[0.0; 3], [1.0; 3]], values.to_vec()).unwrap()
    }

    #[test]
    fn unorm8_clamps_and_counts() {
        let mut values = [[0.0, 0.5, 1.0]; 8];
        values[3] = [-0.25, 0.1, 1.5];
        let (bytes, clamped) = texels(&ramp(values), LutDepth::Unorm8);
        assert_eq!((bytes.len(), clamped), (32, 2));
        assert_eq!(bytes[..4], [0, 128, 255, 255]);
        assert_eq!(bytes[12..16], [0, 26, 255, 255]);
    }

    #[test]
    fn float16_keeps_values_outside_unit_range() {
        let mut values = [[0.0, 0.5, 1.0]; 8];
        values[7] = [-0.25, 2.0, 1e6];
        let (bytes, clamped) = texels(&ramp(values), LutDepth::Float16);
        assert_eq!((bytes.len(), clamped), (64, 1));
        let halves: Vec<u16> = bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
        assert_eq!(halves[..4], [0, 0x3800, 0x3C00, 0x3C00]);
        assert_eq!(halves[28..], [0xB400, 0x4000, 0x7BFF, 0x3C00]);
    }
}
