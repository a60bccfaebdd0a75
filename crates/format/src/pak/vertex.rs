//! The attributes of a vertex: their formats and offsets, for the vertex layouts of graphics APIs.

use super::VertexType;

/// The meaning of a vertex attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VertexSemantic {
    /// The position in mesh space.
    Position,
    /// The unit normal.
    Normal,
    /// The first UV set; the origin is the top left.
    TexCoord0,
    /// The second UV set; the origin is the top left.
    TexCoord1,
    /// The unit tangent, and the sign of the bitangent `cross(normal, tangent) * w`.
    Tangent,
    /// The indices of four joints of the skin.
    Joints,
    /// The weights of the four joints; they sum to 1.
    Weights,
}

/// The format of a vertex attribute, with the names of WebGPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VertexFormat {
    /// Two 32-bit floats.
    Float32x2,
    /// Three 32-bit floats.
    Float32x3,
    /// Four 32-bit floats.
    Float32x4,
    /// Four 8-bit unsigned integers.
    Uint8x4,
    /// Four 16-bit unsigned integers.
    Uint16x4,
    /// Four 8-bit unsigned integers that stand for 0 to 1.
    Unorm8x4,
    /// Four 16-bit unsigned integers that stand for 0 to 1.
    Unorm16x4,
}

impl VertexFormat {
    /// Returns the size in bytes.
    pub const fn byte_len(self) -> usize {
        match self {
            VertexFormat::Float32x2 | VertexFormat::Uint16x4 | VertexFormat::Unorm16x4 => 8,
            VertexFormat::Float32x3 => 12,
            VertexFormat::Float32x4 => 16,
            VertexFormat::Uint8x4 | VertexFormat::Unorm8x4 => 4,
        }
    }
}

/// An attribute of interleaved vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VertexAttribute {
    /// The meaning of the attribute.
    pub semantic: VertexSemantic,
    /// The format of the attribute.
    pub format: VertexFormat,
    /// The offset from the start of a vertex, in bytes.
    pub offset: usize,
}

impl VertexType {
    /// Returns the attributes in the order in which a vertex has them. They are contiguous:
    /// [`stride`](VertexType::stride) is the end of the last.
    pub fn attributes(&self) -> impl Iterator<Item = VertexAttribute> + use<> {
        use VertexFormat::{Float32x2, Float32x3, Float32x4, Uint8x4, Uint16x4, Unorm8x4};
        let joints = if self.contains(VertexType::JOINTS16_WEIGHTS) { Uint16x4 } else { Uint8x4 };
        let all = [
            (VertexType::POSITION, VertexSemantic::Position, Float32x3),
            (VertexType::NORMAL, VertexSemantic::Normal, Float32x3),
            (VertexType::TEXTURE0, VertexSemantic::TexCoord0, Float32x2),
            (VertexType::TEXTURE1, VertexSemantic::TexCoord1, Float32x2),
            (VertexType::TANGENT, VertexSemantic::Tangent, Float32x4),
            (VertexType::JOINTS_WEIGHTS, VertexSemantic::Joints, joints),
            (VertexType::JOINTS_WEIGHTS, VertexSemantic::Weights, Unorm8x4),
        ];
        let (own, mut offset) = (*self, 0);
        all.into_iter().filter(move |(flag, ..)| own.contains(*flag)).map(move |(_, semantic, format)| {
            let attribute = VertexAttribute { semantic, format, offset };
            offset += format.byte_len();
            attribute
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_end_at_the_stride_and_joints_have_their_documented_offset() {
        for bits in 0..128 {
            let Some(vertex_type) = VertexType::from_bits(bits) else { continue };
            let end = vertex_type.attributes().last().map(|last| last.offset + last.format.byte_len());
            assert_eq!(end, Some(vertex_type.stride()), "{bits}");
            let mut all = vertex_type.attributes();
            let joints = all.find(|attribute| attribute.semantic == VertexSemantic::Joints);
            assert_eq!(joints.is_some(), bits & 2 != 0, "{bits}");
            assert!(joints.is_none_or(|joints| joints.offset == vertex_type.joints_offset()), "{bits}");
        }
    }
}
