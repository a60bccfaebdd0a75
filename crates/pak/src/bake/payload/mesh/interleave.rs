//! Interleaved vertex buffers.

use kiln_format::pak::VertexType;
use kiln_mesh::{Influences, VertexStreams};

/// The vertex attributes of a primitive or of its shadow geometry; an absent attribute is empty.
pub(super) struct Attributes {
    pub(super) streams: VertexStreams,
    pub(super) skin: Vec<Influences>,
}

impl Attributes {
    pub(super) fn vertex_type(&self, wide: bool) -> VertexType {
        let Self { streams, skin } = self;
        let mut found = VertexType::POSITION;
        for (present, attribute) in [
            (!streams.normals.is_empty(), VertexType::NORMAL),
            (!streams.uvs.is_empty(), VertexType::TEXTURE0),
            (!streams.uv1.is_empty(), VertexType::TEXTURE1),
            (!streams.tangents.is_empty(), VertexType::TANGENT),
            (!skin.is_empty(), VertexType::JOINTS_WEIGHTS),
            (!skin.is_empty() && wide, VertexType::JOINTS16_WEIGHTS),
        ] {
            if present {
                found |= attribute;
            }
        }
        found
    }

    /// Returns the interleaved vertex buffer. With `wide`, joint indices have 16 bits.
    pub(super) fn interleaved(&self, wide: bool) -> Vec<u8> {
        fn put<const N: usize>(out: &mut Vec<u8>, values: &[[f32; N]], at: usize) {
            if let Some(value) = values.get(at) {
                value.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
            }
        }
        let Self { streams, skin } = self;
        let count = streams.positions.len();
        let mut out = Vec::with_capacity(count * self.vertex_type(wide).stride());
        for at in 0..count {
            put(&mut out, &streams.positions, at);
            put(&mut out, &streams.normals, at);
            put(&mut out, &streams.uvs, at);
            put(&mut out, &streams.uv1, at);
            put(&mut out, &streams.tangents, at);
            if let Some(skin) = skin.get(at) {
                match wide {
                    true => skin.joints.iter().for_each(|joint| out.extend_from_slice(&joint.to_le_bytes())),
                    false => out.extend(skin.joints.iter().map(|&joint| joint as u8)),
                }
                out.extend(quantized(skin.weights));
            }
        }
        out
    }
}

/// Quantizes four joint weights that sum to 1 to bytes that sum to 255, by largest remainder.
fn quantized(weights: [f32; 4]) -> [u8; 4] {
    let scaled = weights.map(|weight| weight.clamp(0.0, 1.0) * 255.0);
    let mut bytes = scaled.map(|weight| weight as u8);
    let mut left = 255u32.saturating_sub(bytes.iter().map(|&b| u32::from(b)).sum());
    let mut by_rest = [0, 1, 2, 3];
    let rest = |at: usize| scaled[at] - scaled[at].floor();
    by_rest.sort_by(|&a, &b| rest(b).total_cmp(&rest(a)));
    // At most one per slot; a larger remainder means that the weights did not sum to 1.
    for at in by_rest.into_iter().filter(|at| scaled[*at] > 0.0).collect::<Vec<_>>() {
        if left > 0 {
            bytes[at] = bytes[at].saturating_add(1);
            left -= 1;
        }
    }
    let most = (0..4).max_by_key(|&at| bytes[at]).unwrap_or(0);
    bytes[most] = bytes[most].saturating_add(left as u8);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_255() {
        for weights in [
            [1.0, 0.0, 0.0, 0.0],
            [0.25; 4],
            [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0],
            [0.999, 0.001, 0.0, 0.0],
            [0.5, 0.3, 0.15, 0.05],
            [0.4, 0.0, 0.0, 0.0],
        ] {
            let bytes = quantized(weights);
            assert_eq!(bytes.iter().map(|&b| u32::from(b)).sum::<u32>(), 255, "{weights:?} {bytes:?}");
            for (byte, weight) in bytes.iter().zip(weights) {
                let apart = (f32::from(*byte) - weight * 255.0).abs();
                assert!(apart <= 1.0 || weights == [0.4, 0.0, 0.0, 0.0], "{weights:?} {bytes:?}");
            }
        }
    }
}
