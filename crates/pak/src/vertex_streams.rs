//! Streams of a primitive beside its interleaved vertices: vertex colors and morph targets, one element per vertex.

use crate::{Bytes, Vec3};
use kiln_format::pak::mesh::{MorphAttributes, StreamLayout, StreamView};
use kiln_format::pak::{VertexAttribute, VertexFormat, VertexSemantic};

/// One set of vertex colors: linear RGBA, which multiplies the base color.
#[derive(Clone, Debug, PartialEq)]
pub struct VertexColors {
    bytes: Bytes,
    format: VertexFormat,
}

impl VertexColors {
    /// Returns the colors as they are stored, aligned to 16 bytes: a vertex buffer of one attribute.
    pub fn data(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the format of a color: `Unorm8x4`, `Unorm16x4` or `Float32x4`, the smallest that has the exact values of
    /// the source. Its size is the stride.
    pub fn format(&self) -> VertexFormat {
        self.format
    }

    /// Returns the number of colors, which is that of the vertices.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.format.byte_len()
    }

    /// Returns `true` if there are no colors.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the color of a vertex; `None` if there is no such vertex.
    pub fn get(&self, vertex: usize) -> Option<[f32; 4]> {
        let size = self.format.byte_len();
        let color = self.bytes.get(vertex.checked_mul(size)?..)?.get(..size)?;
        Some(std::array::from_fn(|channel| match self.format {
            VertexFormat::Unorm8x4 => f32::from(color[channel]) / 255.0,
            VertexFormat::Unorm16x4 => {
                f32::from(u16::from_le_bytes([color[channel * 2], color[channel * 2 + 1]])) / 65535.0
            }
            _ => float(&color[channel * 4..]),
        }))
    }

    /// Returns the colors of all vertices.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = [f32; 4]> + '_ {
        (0..self.len()).map(|vertex| self.get(vertex).unwrap_or_default())
    }
}

/// A morph target (blend shape): deltas that are added to the vertices, times a weight that the game animates.
#[derive(Clone, Debug, PartialEq)]
pub struct MorphTarget {
    name: String,
    weight: f32,
    attributes: MorphAttributes,
    bytes: Bytes,
}

impl MorphTarget {
    /// Returns the name, which may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the weight in the bind pose.
    pub fn weight(&self) -> f32 {
        self.weight
    }

    /// Returns the interleaved deltas, aligned to 16 bytes: a vertex buffer with the [`attributes`](Self::attributes).
    pub fn data(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the attributes that the target moves, with their offsets: positions, normals, tangents, three floats each.
    pub fn attributes(&self) -> impl Iterator<Item = VertexAttribute> + use<> {
        self.attributes.attributes()
    }

    /// Returns the distance from one vertex to the next in [`data`](Self::data), in bytes.
    pub fn stride(&self) -> usize {
        StreamLayout::Morph(self.attributes).stride()
    }

    /// Returns the delta of a vertex's position; `None` if there is no such vertex or the target does not move positions.
    pub fn position(&self, vertex: usize) -> Option<Vec3> {
        self.delta(VertexSemantic::Position, vertex)
    }

    /// Returns the delta of a vertex's normal, to be added before the sum is normalized; `None` as for positions.
    pub fn normal(&self, vertex: usize) -> Option<Vec3> {
        self.delta(VertexSemantic::Normal, vertex)
    }

    /// Returns the delta of a vertex's tangent; the sign of the bitangent stays. `None` as for positions.
    pub fn tangent(&self, vertex: usize) -> Option<Vec3> {
        self.delta(VertexSemantic::Tangent, vertex)
    }

    fn delta(&self, semantic: VertexSemantic, vertex: usize) -> Option<Vec3> {
        let attribute = self.attributes().find(|attribute| attribute.semantic == semantic)?;
        let start = vertex.checked_mul(self.stride())?.checked_add(attribute.offset)?;
        let bytes = self.bytes.get(start..)?.get(..12)?;
        Some(std::array::from_fn(|axis| float(&bytes[axis * 4..])))
    }
}

/// Reads the streams of a primitive.
pub(crate) fn read<'a>(
    streams: impl Iterator<Item = StreamView<'a>>,
    bytes: &Bytes,
) -> (Vec<VertexColors>, Vec<MorphTarget>) {
    let (mut colors, mut targets) = (Vec::new(), Vec::new());
    for stream in streams {
        let bytes = bytes.slice(stream.range.0..stream.range.1);
        match stream.layout {
            StreamLayout::Color(format) => colors.push(VertexColors { bytes, format }),
            StreamLayout::Morph(attributes) => targets.push(MorphTarget {
                name: stream.name.to_owned(),
                weight: stream.weight,
                attributes,
                bytes,
            }),
        }
    }
    (colors, targets)
}

fn float(bytes: &[u8]) -> f32 {
    bytes.first_chunk().map_or(0.0, |bytes| f32::from_le_bytes(*bytes))
}
