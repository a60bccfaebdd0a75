//! Meshes with encoded chunks: version 3.
//!
//! A compressed mesh is a mesh of version 2 whose large chunks are streams of meshoptimizer's codecs.
//! [`CompressedHmesh::decode_into`] restores the mesh of version 2, so everything that reads meshes works on the result.
//! Decoding allocates nothing. Vertices and all other values are restored bit by bit; the corners of a triangle may be
//! rotated, which keeps the triangle and its winding.

#[cfg(feature = "tools")]
mod write;

use core::ops::Range;

use super::records::{ChunkId, Meshlet};
use super::{MAGIC, VERSION};
use crate::bytes::{Reader, align, record};
use crate::chunks::{self, ALIGNMENT, Chunk, ChunkEntry, Chunks, Header, Kind};
use crate::meshopt::{StreamError, decode_index_sequence, decode_triangles, decode_vertices, is_stride};
use crate::numbered::numbered;
use crate::{Array, Error};

#[cfg(feature = "tools")]
pub use self::write::{Stream, write_compressed};

/// The version of meshes with encoded chunks.
pub const COMPRESSED_VERSION: u32 = 3;

/// The largest ratio of decoded to encoded size, against decompression bombs. Vertices reach it only where all of them
/// are equal.
pub const MAX_STREAM_RATIO: u64 = 1024;

/// The largest mesh that [`CompressedHmesh::decode`] allocates memory for, in bytes: the limit of files on disk.
#[cfg(feature = "tools")]
const MAX_DECODED_SIZE: u64 = 4 << 30;

pub(super) const FORMAT: Kind =
    Kind { format: "hmesh", magic: MAGIC, version: COMPRESSED_VERSION, version_text: "3" };

record! {
    /// The start of an encoded payload; the stream follows it.
    struct StreamHeader {
        count: u32,
        stride: u32,
    }
}

#[cfg(feature = "tools")]
pub(super) const LAYOUT: crate::Layout = StreamHeader::LAYOUT;

numbered! {
    /// The encoding of a chunk. A chunk that is stored as it is has the number 0.
    pub enum StreamCodec: u32 = 1 {
        /// Vertices or other records of a multiple of 4 bytes.
        Vertices = "vertices",
        /// Indices of triangles.
        Triangles = "triangles",
        /// Indices without a meaning of their order.
        Indices = "indices",
        /// The triangles of meshlets, as triangles whose indices count from the first vertex of the first meshlet.
        MeshletTriangles = "meshlet triangles",
    }
}

/// An encoded chunk.
#[derive(Clone, Copy, Debug)]
pub struct EncodedChunk<'a> {
    /// The tag of the chunk.
    pub fourcc: [u8; 4],
    /// The codec of its stream.
    pub codec: StreamCodec,
    /// The number of elements: of indices, for triangles.
    pub count: u32,
    /// The size of a decoded element in bytes.
    pub stride: u32,
    /// The stream.
    pub stream: &'a [u8],
}

impl EncodedChunk<'_> {
    /// Returns the size of the decoded chunk in bytes.
    pub fn decoded_size(&self) -> u64 {
        u64::from(self.count) * u64::from(self.stride)
    }

    /// Returns true if a stream of this length can hold the elements: those of vertices have no bytes where all are equal,
    /// a triangle and an index have at least one.
    fn is_plausible(&self) -> bool {
        let (count, len) = (u64::from(self.count), self.stream.len() as u64);
        match self.codec {
            StreamCodec::Vertices => self.decoded_size() <= len.saturating_mul(MAX_STREAM_RATIO),
            StreamCodec::Triangles | StreamCodec::MeshletTriangles => count / 3 <= len,
            StreamCodec::Indices => count <= len,
        }
    }
}

/// A chunk with the byte range of its payload in the decoded file.
struct Placed<'a> {
    chunk: Chunk<'a>,
    encoded: Option<EncodedChunk<'a>>,
    range: Range<u64>,
}

/// A mesh of version 3, not decoded yet.
///
/// ```
/// use kiln_format::hmesh::{CompressedHmesh, HmeshView};
///
/// /// Returns the mesh to read, whether the file is compressed or not.
/// fn in_place<'a>(file: &'a [u8], buffer: &'a mut Vec<u8>) -> Result<HmeshView<'a>, kiln_format::Error> {
///     if !CompressedHmesh::is_compressed(file) {
///         return HmeshView::read(file);
///     }
///     let mesh = CompressedHmesh::read(file)?;
///     buffer.resize(mesh.decoded_size() as usize, 0);
///     mesh.decode_into(buffer)?;
///     HmeshView::read(buffer)
/// }
/// # assert!(in_place(b"HMSH", &mut Vec::new()).is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CompressedHmesh<'a> {
    chunks: Chunks<'a>,
    count: usize,
    decoded_size: u64,
}

impl<'a> CompressedHmesh<'a> {
    /// Returns whether a file is a mesh of version 3, by its header.
    pub fn is_compressed(file: &[u8]) -> bool {
        let version = file.get(4..8).and_then(|bytes| bytes.first_chunk());
        file.starts_with(&MAGIC) && version.is_some_and(|v| u32::from_le_bytes(*v) == COMPRESSED_VERSION)
    }

    /// Checks the chunk table, the codecs and the sizes of the decoded chunks.
    ///
    /// # Errors
    ///
    /// [`Error`] if one of them is invalid.
    pub fn read(file: &'a [u8]) -> Result<Self, Error> {
        let chunks = Chunks::read(file, FORMAT)?;
        let mut mesh = CompressedHmesh { chunks, count: chunks.iter().count(), decoded_size: 0 };
        let mut end = mesh.table_end();
        let mut decoded_size = end;
        let mut has_meshlet_triangles = false;
        for placed in mesh.placed() {
            let Placed { chunk, encoded, range } = placed?;
            let is_again = |encoded: EncodedChunk<'_>| {
                encoded.codec == StreamCodec::MeshletTriangles
                    && core::mem::replace(&mut has_meshlet_triangles, true)
            };
            if encoded.is_some_and(is_again) {
                let (at, why) = (chunks::flags_at(&chunk), "is the codec of two chunks");
                return Err(Error::Fault { at, field: "flags", why });
            }
            // In table order, so that a file has one decoded form.
            let place = align(end, ALIGNMENT).unwrap_or(u64::MAX);
            crate::error::equal(chunks::offset_at(&chunk), "offset", chunk.at, place)?;
            (end, decoded_size) = (chunk.end(), range.end);
        }
        mesh.decoded_size = decoded_size;
        // So that a mesh without encoded chunks has one version.
        if mesh.encoded_chunks().next().is_none() {
            return Err(Error::Fault { at: 4, field: "version", why: "is 3, but no chunk is encoded" });
        }
        match file.len() as u64 - end {
            0 => Ok(mesh),
            extra => Err(Error::Trailing { at: end, extra }),
        }
    }

    /// Checks that the bytes between payloads are zero, which [`read`](Self::read) leaves out.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] at the first byte that is not.
    pub fn verify_padding(&self) -> Result<(), Error> {
        self.chunks.check_layout()
    }

    /// Returns the size of the decoded file in bytes.
    pub fn decoded_size(&self) -> u64 {
        self.decoded_size
    }

    /// Returns the encoded chunks, in table order.
    pub fn encoded_chunks(&self) -> impl Iterator<Item = EncodedChunk<'a>> + use<'a> {
        self.chunks.iter().filter_map(|chunk| encoded(&chunk).ok().flatten())
    }

    /// Decodes the file to a mesh of version 2, into a buffer of exactly [`decoded_size`](Self::decoded_size) bytes. Its
    /// address should be a multiple of 16.
    ///
    /// # Errors
    ///
    /// [`Error`] if the buffer has another length or a stream is invalid; then the content of the buffer is unspecified.
    pub fn decode_into(&self, out: &mut [u8]) -> Result<(), Error> {
        crate::error::equal(0, "buffer length", out.len() as u64, self.decoded_size)?;
        self.write_head(out)?;
        let mut end = self.table_end() as usize;
        let (mut meshlets, mut triangles) = (None, None);
        for placed in self.placed() {
            let Placed { chunk, encoded, range } = placed?;
            // The ranges end at the size of the buffer, so they fit.
            let range = range.start as usize..range.end as usize;
            out[end..range.start].fill(0);
            end = range.end;
            if chunk.fourcc == ChunkId::Meshlets.fourcc() {
                meshlets = Some(range.clone());
            }
            match encoded {
                None => out[range].copy_from_slice(chunk.bytes),
                // These need the meshlets, which may follow.
                Some(encoded) if encoded.codec == StreamCodec::MeshletTriangles => {
                    triangles = Some((encoded, range, chunk.at));
                }
                Some(encoded) => encoded.decode(&mut out[range]).map_err(|e| stream_error(chunk.at, e))?,
            }
        }
        let Some((encoded, range, at)) = triangles else { return Ok(()) };
        let meshlets = meshlets.ok_or(Error::Missing { chunk: ChunkId::Meshlets.name() })?;
        // Only chunks of the same tag could overlap, and these have different ones.
        let [meshlets, out] = out
            .get_disjoint_mut([meshlets, range])
            .map_err(|_| Error::Missing { chunk: ChunkId::Meshlets.name() })?;
        let meshlets = Array::<Meshlet>::new(meshlets);
        decode_meshlet_triangles(encoded.stream, meshlets, out).map_err(|e| stream_error(at, e))
    }

    /// Decodes the file to a mesh of version 2.
    ///
    /// # Errors
    ///
    /// [`Error`] if a stream is invalid or the memory does not suffice.
    #[cfg(feature = "tools")]
    pub fn decode(&self) -> Result<alloc::vec::Vec<u8>, Error> {
        let why = "does not fit in the memory";
        let too_large = Error::Fault { at: 0, field: "decoded mesh", why };
        let mut out = alloc::vec::Vec::new();
        if self.decoded_size > MAX_DECODED_SIZE {
            return Err(Error::Fault { at: 0, field: "decoded mesh", why: "is larger than 4 GiB" });
        }
        let size = usize::try_from(self.decoded_size).map_err(|_| too_large.clone())?;
        out.try_reserve_exact(size).map_err(|_| too_large)?;
        out.resize(size, 0);
        self.decode_into(&mut out)?;
        Ok(out)
    }

    /// Returns the end of the chunk table, which both versions have in common.
    fn table_end(&self) -> u64 {
        (Header::SIZE + self.count * ChunkEntry::SIZE) as u64
    }

    /// Returns the chunks with their places in the decoded file.
    fn placed(&self) -> impl Iterator<Item = Result<Placed<'a>, Error>> + use<'a> {
        let mut end = self.table_end();
        self.chunks.iter().map(move |chunk| {
            let encoded = encoded(&chunk)?;
            let size = encoded.map_or(chunk.bytes.len() as u64, |encoded| encoded.decoded_size());
            let start = align(end, ALIGNMENT);
            let range = start.and_then(|start| Some(start..start.checked_add(size)?));
            let Some(range) = range else {
                return Err(Error::Fault {
                    at: chunk.at,
                    field: "decoded size",
                    why: "is larger than any file",
                });
            };
            end = range.end;
            Ok(Placed { chunk, encoded, range })
        })
    }

    /// Writes the header and the chunk table of the decoded file.
    fn write_head(&self, out: &mut [u8]) -> Result<(), Error> {
        let mut written = 0;
        let mut put = |bytes: &[u8]| {
            out[written..written + bytes.len()].copy_from_slice(bytes);
            written += bytes.len();
        };
        put(&MAGIC);
        put(&VERSION.to_le_bytes());
        put(&(self.count as u32).to_le_bytes());
        put(&[0; Header::SIZE - 12]);
        for placed in self.placed() {
            let Placed { chunk, range, .. } = placed?;
            put(&chunk.fourcc);
            put(&[0; 4]);
            put(&range.start.to_le_bytes());
            put(&(range.end - range.start).to_le_bytes());
        }
        Ok(())
    }
}

/// Returns a file of version 2 as it is, and one of version 3 decoded.
///
/// # Errors
///
/// [`Error`] if a file of version 3 is invalid, or its mesh does not fit in the memory.
#[cfg(feature = "tools")]
pub fn decoded(file: &[u8]) -> Result<alloc::borrow::Cow<'_, [u8]>, Error> {
    match CompressedHmesh::is_compressed(file) {
        true => CompressedHmesh::read(file)?.decode().map(Into::into),
        false => Ok(file.into()),
    }
}

/// Checks the codec and the header of a chunk; `None` if it is stored as it is.
fn encoded<'a>(chunk: &Chunk<'a>) -> Result<Option<EncodedChunk<'a>>, Error> {
    if chunk.flags == 0 {
        return Ok(None);
    }
    let is_right_chunk = chunk.fourcc == ChunkId::MeshletTriangles.fourcc();
    let codec = StreamCodec::from_number(chunk.flags);
    let Some(codec) = codec.filter(|codec| *codec != StreamCodec::MeshletTriangles || is_right_chunk) else {
        let (at, found) = (chunks::flags_at(chunk), chunk.flags.into());
        return Err(Error::Value { at, field: "flags", found, expected: "0 to 3, or 4 for MLTR" });
    };
    let StreamHeader { count, stride } = StreamHeader::read(&mut Reader::new(chunk.bytes)).map_err(|_| {
        let (at, len) = (chunk.at, chunk.at + chunk.bytes.len() as u64);
        Error::Truncated { at, field: "stream header", needed: StreamHeader::SIZE as u64, len }
    })?;
    let stream = chunk.bytes.get(StreamHeader::SIZE..).unwrap_or_default();
    let chunk_of = EncodedChunk { fourcc: chunk.fourcc, codec, count, stride, stream };
    let (has_stride, expected) = match codec {
        StreamCodec::Vertices => (is_stride(stride as usize), "a multiple of 4 from 4 to 256"),
        StreamCodec::MeshletTriangles => (stride == 1, "1"),
        StreamCodec::Triangles | StreamCodec::Indices => (matches!(stride, 2 | 4), "2 or 4"),
    };
    if !has_stride {
        return Err(Error::Value { at: chunk.at + 4, field: "stride", found: stride.into(), expected });
    }
    let is_triangles = matches!(codec, StreamCodec::Triangles | StreamCodec::MeshletTriangles);
    if is_triangles && !count.is_multiple_of(3) {
        let expected = "a multiple of 3";
        return Err(Error::Value { at: chunk.at, field: "count", found: count.into(), expected });
    }
    if !chunk_of.is_plausible() {
        let why = "is larger than a stream of this length can hold";
        return Err(Error::Fault { at: chunk.at, field: "decoded size", why });
    }
    Ok(Some(chunk_of))
}

fn stream_error(at: u64, error: StreamError) -> Error {
    Error::Fault { at: at + StreamHeader::SIZE as u64, field: "meshopt stream", why: error.why() }
}

impl EncodedChunk<'_> {
    /// Decodes all but the triangles of meshlets, which need the meshlets.
    fn decode(&self, out: &mut [u8]) -> Result<(), StreamError> {
        let count = self.count as usize;
        match (self.codec, self.stride) {
            (StreamCodec::Vertices, stride) => decode_vertices(self.stream, stride as usize, out),
            (StreamCodec::Triangles, 2) => {
                let mut out = out.as_chunks_mut::<6>().0.iter_mut();
                decode_triangles(self.stream, count / 3, |[a, b, c]| {
                    let Some(out) = out.next() else { return false };
                    for (out, index) in out.as_chunks_mut().0.iter_mut().zip([a, b, c]) {
                        *out = (index as u16).to_le_bytes();
                    }
                    (a | b | c) <= u16::MAX.into()
                })
            }
            (StreamCodec::Triangles, _) => {
                let mut out = out.as_chunks_mut::<12>().0.iter_mut();
                decode_triangles(self.stream, count / 3, |triangle| {
                    let Some(out) = out.next() else { return false };
                    for (out, index) in out.as_chunks_mut().0.iter_mut().zip(triangle) {
                        *out = index.to_le_bytes();
                    }
                    true
                })
            }
            (StreamCodec::Indices, 2) => {
                let mut out = out.as_chunks_mut::<2>().0.iter_mut();
                decode_index_sequence(self.stream, count, |index| {
                    let Some(out) = out.next() else { return false };
                    *out = (index as u16).to_le_bytes();
                    index <= u16::MAX.into()
                })
            }
            (StreamCodec::Indices, _) => {
                let mut out = out.as_chunks_mut::<4>().0.iter_mut();
                decode_index_sequence(self.stream, count, |index| {
                    let Some(out) = out.next() else { return false };
                    *out = index.to_le_bytes();
                    true
                })
            }
            (StreamCodec::MeshletTriangles, _) => Err(StreamError::Size),
        }
    }
}

/// Decodes the triangles of meshlets. An index is the first vertex of the meshlet and the corner.
fn decode_meshlet_triangles(
    stream: &[u8],
    meshlets: Array<'_, Meshlet>,
    out: &mut [u8],
) -> Result<(), StreamError> {
    let mut triangles = out.as_chunks_mut::<3>().0.iter_mut();
    let mut meshlets = meshlets.iter();
    let (mut first, mut left) = (0, 0);
    let count = triangles.len();
    decode_triangles(stream, count, |triangle| {
        while left == 0 {
            let Some(meshlet) = meshlets.next() else { return false };
            (first, left) = (meshlet.vertex_offset, meshlet.triangle_count);
        }
        left -= 1;
        let Some(out) = triangles.next() else { return false };
        let corners = triangle.map(|index| index.wrapping_sub(first));
        *out = corners.map(|corner| corner as u8);
        corners.into_iter().all(|corner| corner <= u8::MAX.into())
    })
}
