//! The writer of meshes with encoded chunks.
//!
//! The encoders are the caller's. Each stream is decoded again and compared, so that a file never holds anything else
//! than the mesh. A chunk that an encoder does not make smaller is stored as it is.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::super::records::ChunkId;
use super::super::view::HmeshView;
use super::{CompressedHmesh, FORMAT, MAX_STREAM_RATIO, StreamCodec, StreamHeader};
use crate::{Error, chunks, count_u32};

/// Values to encode with one of meshoptimizer's codecs.
#[derive(Clone, Copy, Debug)]
pub enum Stream<'a> {
    /// Vertices or other records of `stride` bytes.
    Vertices {
        /// The records, one after the other.
        bytes: &'a [u8],
        /// The size of a record: a multiple of 4 from 4 to 256.
        stride: usize,
    },
    /// Indices of triangles.
    Triangles(&'a [u32]),
    /// Indices without a meaning of their order.
    Indices(&'a [u32]),
}

/// Encodes the large chunks of a mesh of version 2. `encode` returns a stream of meshoptimizer's codecs, or `None` if it
/// has none. A mesh whose chunks do not get smaller stays as it is.
///
/// # Errors
///
/// [`Error`] if the file is not a mesh of version 2, or [`Error::Fault`] if a stream does not decode to what was encoded.
pub fn write_compressed(
    file: &[u8],
    mut encode: impl FnMut(Stream<'_>) -> Option<Vec<u8>>,
) -> Result<Vec<u8>, Error> {
    let view = HmeshView::read(file)?;
    let mut listed: Vec<([u8; 4], u32, Cow<'_, [u8]>)> = Vec::new();
    for (fourcc, bytes) in view.chunks() {
        let id = ChunkId::ALL.into_iter().find(|id| id.fourcc() == fourcc);
        let encoded = id.and_then(|id| encode_chunk(&view, id, bytes, &mut encode)).transpose()?;
        listed.push(match encoded {
            Some((codec, payload)) => (fourcc, codec as u32, payload.into()),
            None => (fourcc, 0, bytes.into()),
        });
    }
    if listed.iter().all(|(_, flags, _)| *flags == 0) {
        return Ok(file.to_vec());
    }
    let payloads: Vec<[&[u8]; 1]> = listed.iter().map(|(_, _, payload)| [&**payload]).collect();
    let rows: Vec<chunks::WrittenChunk<'_>> = (listed.iter().zip(&payloads))
        .map(|((fourcc, flags, _), payload)| (*fourcc, *flags, payload.as_slice()))
        .collect();
    let written = chunks::write_with_flags(FORMAT, &rows)?;
    let decoded = CompressedHmesh::read(&written)?.decode()?;
    check_equal(&view, &HmeshView::read(&decoded)?)?;
    Ok(written)
}

/// Encodes a chunk; `None` if it is stored as it is.
fn encode_chunk(
    view: &HmeshView<'_>,
    id: ChunkId,
    bytes: &[u8],
    encode: &mut impl FnMut(Stream<'_>) -> Option<Vec<u8>>,
) -> Option<Result<(StreamCodec, Vec<u8>), Error>> {
    let (codec, stride) = codec_of(view, id)?;
    let stream = match codec {
        _ if bytes.is_empty() => None,
        StreamCodec::Vertices => encode(Stream::Vertices { bytes, stride }),
        StreamCodec::Triangles => encode(Stream::Triangles(&words(bytes, stride))),
        StreamCodec::Indices => encode(Stream::Indices(&words(bytes, stride))),
        StreamCodec::MeshletTriangles => encode(Stream::Triangles(&meshlet_indices(view)?)),
    }?;
    let size = bytes.len() as u64;
    let is_smaller = StreamHeader::SIZE + stream.len() < bytes.len();
    if !is_smaller || size > (stream.len() as u64).saturating_mul(MAX_STREAM_RATIO) {
        return None;
    }
    let head = |count| StreamHeader { count, stride: stride as u32 };
    Some(count_u32("count", bytes.len() / stride).map(|count| {
        let mut payload = Vec::with_capacity(StreamHeader::SIZE + stream.len());
        head(count).put(&mut payload);
        payload.extend_from_slice(&stream);
        (codec, payload)
    }))
}

/// Returns the codec and the element size of a chunk; `None` for small tables, and for the pages of clusters, which are
/// streamed from the file.
fn codec_of(view: &HmeshView<'_>, id: ChunkId) -> Option<(StreamCodec, usize)> {
    use super::super::records::*;
    Some(match id {
        ChunkId::Vertices => (StreamCodec::Vertices, GpuVertex::SIZE),
        ChunkId::Indices => (StreamCodec::Triangles, view.desc().index_width.into()),
        ChunkId::Meshlets => (StreamCodec::Vertices, Meshlet::SIZE),
        ChunkId::MeshletVertices => (StreamCodec::Indices, 4),
        ChunkId::MeshletTriangles => (StreamCodec::MeshletTriangles, 1),
        ChunkId::MeshletBounds => (StreamCodec::Vertices, MeshletBounds::SIZE),
        ChunkId::Skin => (StreamCodec::Vertices, GpuSkinVertex::SIZE),
        ChunkId::LodIndices => (StreamCodec::Triangles, 4),
        ChunkId::Colors => (StreamCodec::Vertices, view.colors()?.stride()),
        ChunkId::UvSets => (StreamCodec::Vertices, 8),
        ChunkId::MorphDeltas => (StreamCodec::Vertices, MorphDelta::SIZE),
        ChunkId::MorphNormals | ChunkId::MorphTangents => (StreamCodec::Vertices, 12),
        _ => return None,
    })
}

/// Widens indices of `width` bytes.
fn words(bytes: &[u8], width: usize) -> Vec<u32> {
    let word = |index: &[u8]| index.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
    bytes.chunks_exact(width).map(word).collect()
}

/// Returns the triangles of meshlets with indices that count from the first vertex of the first meshlet; `None` if the
/// meshlets do not cover them.
fn meshlet_indices(view: &HmeshView<'_>) -> Option<Vec<u32>> {
    let triangles = view.meshlet_triangles();
    let mut indices = Vec::with_capacity(triangles.len() * 3);
    for meshlet in view.meshlets().iter() {
        let part = triangles.range(meshlet.triangle_offset, meshlet.triangle_count)?;
        for corner in part.iter().flatten() {
            indices.push(meshlet.vertex_offset.checked_add(corner.into())?);
        }
    }
    (indices.len() == triangles.len() * 3).then_some(indices)
}

/// Checks that a decoded mesh is the source, but for rotated corners of triangles.
fn check_equal(source: &HmeshView<'_>, decoded: &HmeshView<'_>) -> Result<(), Error> {
    let is_equal = source.chunks().zip(decoded.chunks()).all(|((tag, a), (other, b))| {
        let corner = match ChunkId::ALL.into_iter().find(|id| id.fourcc() == tag) {
            Some(ChunkId::Indices) => source.desc().index_width.into(),
            Some(ChunkId::LodIndices) => 4,
            Some(ChunkId::MeshletTriangles) => 1,
            _ => return tag == other && a == b,
        };
        let triangles = a.chunks_exact(corner * 3).zip(b.chunks_exact(corner * 3));
        let rotated =
            |a: &[u8], b: &[u8], by: usize| a[..by] == b[b.len() - by..] && a[by..] == b[..b.len() - by];
        let mut triangles = triangles.map(|(a, b)| (0..3).any(|turn| rotated(a, b, turn * corner)));
        tag == other && a.len() == b.len() && triangles.all(|is_same| is_same)
    });
    let why = "does not decode to what was encoded";
    if is_equal { Ok(()) } else { Err(Error::Fault { at: 0, field: "meshopt stream", why }) }
}
