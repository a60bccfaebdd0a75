//! A colour lookup table as the one level of a 3D texture, eight bits or half floats a channel.

use kiln_ir::Lut;
use rayon::prelude::*;

use crate::half::{HALF_MAX, HALF_ONE, half};

/// How the entries of a lookup table are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LutDepth {
    /// `R8G8B8A8_UNORM`: small and universal; smooth gradients may band, and what lies outside 0..=1 is
    /// clamped.
    #[default]
    Unorm8,
    /// `R16G16B16A16_SFLOAT`: no bands, and values outside 0..=1 are kept.
    Float16,
}

/// The table's texels, red fastest, alpha one; and how many values had to be clamped.
pub(crate) fn texels(lut: &Lut, depth: LutDepth) -> (Vec<u8>, u64) {
    match depth {
        LutDepth::Unorm8 => store(lut, [u8::MAX], |v| [unorm8(v)], |v| !(0.0..=1.0).contains(&v)),
        LutDepth::Float16 => store(lut, HALF_ONE, |v| half(v).to_le_bytes(), |v| v.abs() > HALF_MAX),
    }
}

/// Writes every entry as four values of `N` bytes and counts the values that do not fit.
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

fn unorm8(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(values: [[f32; 3]; 8]) -> Lut {
        Lut::new(2, [[0.0; 3], [1.0; 3]], values.to_vec()).unwrap()
    }

    #[test]
    fn eight_bits_clamp_and_count() {
        let mut values = [[0.0, 0.5, 1.0]; 8];
        values[3] = [-0.25, 0.1, 1.5];
        let (bytes, clamped) = texels(&ramp(values), LutDepth::Unorm8);
        assert_eq!((bytes.len(), clamped), (32, 2));
        assert_eq!(bytes[..4], [0, 128, 255, 255]);
        assert_eq!(bytes[12..16], [0, 26, 255, 255]);
    }

    #[test]
    fn halves_keep_what_lies_outside() {
        let mut values = [[0.0, 0.5, 1.0]; 8];
        values[7] = [-0.25, 2.0, 1e6];
        let (bytes, clamped) = texels(&ramp(values), LutDepth::Float16);
        assert_eq!((bytes.len(), clamped), (64, 1));
        let halves: Vec<u16> = bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
        assert_eq!(halves[..4], [0, 0x3800, 0x3C00, 0x3C00]);
        assert_eq!(halves[28..], [0xB400, 0x4000, 0x7BFF, 0x3C00]);
    }
}
