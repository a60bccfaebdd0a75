//! Encoders of meshoptimizer's streams: vertices, triangle lists and index sequences.
//!
//! The streams compress best where vertices are in the order of their first use and triangles in the order of the
//! post-transform vertex cache. All of them are lossless, but the corners of a triangle may be rotated.

/// The version of the vertex codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VertexCodec {
    /// The codec of `EXT_meshopt_compression`.
    V0,
    /// The codec of `KHR_meshopt_compression`, which packs floats better, with the most thorough search.
    V1,
}

/// Encodes records of `stride` bytes; `None` if the codec does not have records of this size.
pub fn encode_vertices(bytes: &[u8], stride: usize, codec: VertexCodec) -> Option<Vec<u8>> {
    fn of<const STRIDE: usize>(bytes: &[u8], codec: VertexCodec) -> Option<Vec<u8>> {
        let (level, version) = match codec {
            VertexCodec::V0 => (2, 0),
            VertexCodec::V1 => (3, 1),
        };
        meshopt::encode_vertex_buffer_level(bytes.as_chunks::<STRIDE>().0, level, Some(version)).ok()
    }
    // The encoder takes the size of a record from its type.
    match stride {
        4 => of::<4>(bytes, codec),
        8 => of::<8>(bytes, codec),
        12 => of::<12>(bytes, codec),
        16 => of::<16>(bytes, codec),
        20 => of::<20>(bytes, codec),
        24 => of::<24>(bytes, codec),
        28 => of::<28>(bytes, codec),
        32 => of::<32>(bytes, codec),
        36 => of::<36>(bytes, codec),
        64 => of::<64>(bytes, codec),
        _ => None,
    }
}

/// Encodes the indices of triangles; `None` if their number is not a multiple of 3.
pub fn encode_triangles(indices: &[u32]) -> Option<Vec<u8>> {
    let is_whole = indices.len().is_multiple_of(3);
    is_whole.then(|| meshopt::encode_index_buffer(indices, vertex_count(indices)).ok()).flatten()
}

/// Encodes indices without a meaning of their order.
pub fn encode_indices(indices: &[u32]) -> Option<Vec<u8>> {
    meshopt::encode_index_sequence(indices, vertex_count(indices)).ok()
}

fn vertex_count(indices: &[u32]) -> usize {
    indices.iter().max().map_or(0, |&most| most as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_decode_to_what_was_encoded() {
        let bytes: Vec<u8> = (0..28 * 300u32).map(|i| ((i * i) >> 5) as u8).collect();
        for codec in [VertexCodec::V0, VertexCodec::V1] {
            let stream = encode_vertices(&bytes, 28, codec).unwrap();
            assert_eq!(meshopt::decode_vertex_version(&stream), Some(codec as i32));
        }
        assert_eq!(encode_vertices(&bytes, 30, VertexCodec::V1), None);
        let indices = [0, 1, 2, 2, 1, 3];
        let stream = encode_triangles(&indices).unwrap();
        assert_eq!(meshopt::decode_index_buffer::<u32>(&stream, 6).unwrap(), indices);
        assert_eq!(encode_triangles(&indices[1..]), None);
        let stream = encode_indices(&indices).unwrap();
        assert_eq!(meshopt::decode_index_sequence::<u32>(&stream, 6).unwrap(), indices);
    }
}
