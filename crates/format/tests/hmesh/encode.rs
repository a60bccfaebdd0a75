//! The encoders of compressed meshes: those of meshoptimizer.

use kiln_format::hmesh::Stream;

/// Encodes a stream with meshoptimizer.
pub(crate) fn encode(stream: Stream<'_>) -> Option<Vec<u8>> {
    fn vertices<const STRIDE: usize>(bytes: &[u8]) -> Option<Vec<u8>> {
        meshopt::encode_vertex_buffer_level(bytes.as_chunks::<STRIDE>().0, 3, Some(1)).ok()
    }
    match stream {
        Stream::Vertices { bytes, stride } => match stride {
            4 => vertices::<4>(bytes),
            8 => vertices::<8>(bytes),
            12 => vertices::<12>(bytes),
            16 => vertices::<16>(bytes),
            24 => vertices::<24>(bytes),
            28 => vertices::<28>(bytes),
            32 => vertices::<32>(bytes),
            _ => panic!("a record of {stride} bytes"),
        },
        Stream::Triangles(indices) => meshopt::encode_index_buffer(indices, 1 << 20).ok(),
        Stream::Indices(indices) => meshopt::encode_index_sequence(indices, 1 << 20).ok(),
    }
}
