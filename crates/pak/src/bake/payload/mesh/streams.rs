//! Streams of a primitive: vertex colors and morph targets, one element per vertex.

use kiln_format::pak::VertexFormat;
use kiln_format::pak::mesh::{MorphAttributes, Stream, StreamLayout};
use kiln_ir::{Draw, Primitive, Scene};
use kiln_mesh::{ExtraAttributes, MorphTarget};

/// The default weights and the names of the morph targets of a mesh.
#[derive(Clone, Copy)]
pub(super) struct MorphNames<'a> {
    pub(super) weights: &'a [f32],
    pub(super) names: &'a [String],
}

/// Returns an estimate of the memory in bytes for the streams of these draws: in the pipeline, and in the payload.
pub(super) fn working_set(scene: &Scene, draws: &[Draw]) -> u64 {
    let primitives = draws.iter().flat_map(|draw| &scene.meshes[draw.mesh.0 as usize].primitives);
    let bytes = |primitive: &Primitive| {
        let lists = primitive.morph_targets.iter().flat_map(|t| [&t.positions, &t.normals, &t.tangents]);
        let deltas: u64 = lists.map(|list| list.len() as u64 * 12).sum();
        (deltas + primitive.colors.len() as u64 * 16) * 3
    };
    primitives.map(bytes).fold(0, u64::saturating_add)
}

/// Returns the streams of a processed primitive of `count` vertices.
pub(super) fn streams(extra: &ExtraAttributes, count: usize, morphs: MorphNames<'_>) -> Vec<Stream> {
    let mut streams = Vec::new();
    if !extra.colors.is_empty() {
        let (format, elements) = colors(&extra.colors);
        let layout = StreamLayout::Color(format);
        streams.push(Stream { layout, weight: 0.0, name: String::new(), elements });
    }
    for (number, target) in extra.morph_targets.iter().enumerate() {
        let (attributes, elements) = deltas(target, count);
        streams.push(Stream {
            layout: StreamLayout::Morph(attributes),
            weight: morphs.weights.get(number).copied().unwrap_or(0.0),
            name: morphs.names.get(number).cloned().unwrap_or_default(),
            elements,
        });
    }
    streams
}

/// Returns the interleaved deltas of a morph target.
fn deltas(target: &MorphTarget, count: usize) -> (MorphAttributes, Vec<u8>) {
    let mut attributes = MorphAttributes {
        position: !target.positions.is_empty(),
        normal: !target.normals.is_empty(),
        tangent: !target.tangents.is_empty(),
    };
    // A target that moves nothing still has its number, which weights refer to.
    attributes.position |= attributes == MorphAttributes::default();
    let lists = [
        (attributes.position, &target.positions),
        (attributes.normal, &target.normals),
        (attributes.tangent, &target.tangents),
    ];
    let mut out = Vec::with_capacity(count * StreamLayout::Morph(attributes).stride());
    for vertex in 0..count {
        for (_, list) in lists.iter().filter(|(present, _)| *present) {
            let delta = list.get(vertex).copied().unwrap_or_default();
            delta.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        }
    }
    (attributes, out)
}

/// Returns colors in the smallest format that has their exact values.
fn colors(colors: &[[f32; 4]]) -> (VertexFormat, Vec<u8>) {
    let values = colors.as_flattened();
    let fits = |max: f32| values.iter().all(|v| (0.0..=1.0).contains(v) && (v * max).round() / max == *v);
    if fits(255.0) {
        return (VertexFormat::Unorm8x4, values.iter().map(|v| (v * 255.0).round() as u8).collect());
    }
    if fits(65535.0) {
        let values = values.iter().map(|v| (v * 65535.0).round() as u16);
        return (VertexFormat::Unorm16x4, values.flat_map(u16::to_le_bytes).collect());
    }
    (VertexFormat::Float32x4, values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_have_the_smallest_exact_format() {
        let bytes: Vec<[f32; 4]> = (0..=255u8).map(|n| [f32::from(n) / 255.0, 0.0, 1.0, 1.0]).collect();
        let (format, stored) = colors(&bytes);
        assert_eq!((format, stored.len()), (VertexFormat::Unorm8x4, 1024));
        assert!(stored.chunks(4).zip(0..=255u8).all(|(color, n)| color == [n, 0, 255, 255]));
        let words: Vec<[f32; 4]> = (0..=65535u16).map(|n| [f32::from(n) / 65535.0; 4]).collect();
        let (format, stored) = colors(&words);
        assert_eq!(format, VertexFormat::Unorm16x4);
        assert!(stored.chunks(8).zip(0..=65535u16).all(|(color, n)| color[..2] == n.to_le_bytes()));
        for value in [0.3, 1.5, -0.25, f32::MIN_POSITIVE] {
            let (format, stored) = colors(&[[value, 0.0, 0.0, 1.0]]);
            let is_same = stored[..4] == value.to_le_bytes();
            assert_eq!((format, is_same), (VertexFormat::Float32x4, true), "{value}");
        }
    }

    #[test]
    fn targets_that_move_nothing_have_zeros() {
        let (attributes, elements) = deltas(&MorphTarget::default(), 2);
        assert_eq!((attributes.position, attributes.normal, elements), (true, false, vec![0; 24]));
    }
}
