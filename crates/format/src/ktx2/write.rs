//! The writer of textures: mip levels, smallest first, after the header and descriptors that
//! [`Ktx2View`](super::Ktx2View) reads.
//!
//! Rejects everything that the reader rejects: the result is verified before it is returned.

use alloc::vec::Vec;

use super::{Header, IDENTIFIER, Ktx2, LevelIndex, Payload, Shape, Supercompression, Transfer, dfd, kvd};
use crate::{Error, Format};

/// The description of a texture without its mip levels.
#[derive(Clone, Copy, Debug)]
pub struct Desc<'a> {
    /// The dimensions, layers and faces.
    pub shape: Shape,
    /// The format of the texels before supercompression.
    pub payload: Payload,
    /// The transfer function of the colour channels.
    pub transfer: Transfer,
    /// The supercompression scheme of the mip levels.
    pub supercompression: Supercompression,
    /// The value of `KTXwriter`: the name and version of the writing program.
    pub writer: &'a str,
    /// Writes `KTXorientation`: x right, y down and z in. Set for images; a lookup table has no orientation.
    pub oriented: bool,
}

/// Encodes a texture. `levels` are the mip levels, largest first, each with all layers and faces. Their
/// lengths, and with supercompression the content sizes of their frames, must match `desc`.
///
/// # Errors
///
/// [`Error`] if a length does not match, or if the result would not pass [`verify`](crate::Format::verify).
pub fn write(desc: &Desc<'_>, levels: &[&[u8]]) -> Result<Vec<u8>, Error> {
    let shape = desc.shape;
    let level_count = u32::try_from(levels.len()).ok().filter(|&n| n <= shape.max_levels());
    let level_count = level_count.ok_or(Error::TooLarge {
        field: "level_count",
        found: levels.len() as u64,
        max: shape.max_levels().into(),
    })?;
    let (dfd, kvd) = (describe(desc), key_values(desc)?);
    let dfd_at = Header::SIZE + levels.len() * LevelIndex::SIZE;
    let kvd_at = dfd_at + dfd.len();
    let levels_at = kvd_at + kvd.len();
    crate::count_u32("kvd_byte_length", levels_at)?;

    // In reverse: each mip level is stored before the next larger one.
    let alignment = desc.payload.alignment(desc.supercompression) as usize;
    let mut index = Vec::with_capacity(levels.len());
    let mut end = levels_at;
    for (level, bytes) in levels.iter().enumerate().rev() {
        let start = end.next_multiple_of(alignment);
        end = start + bytes.len();
        index.push(LevelIndex {
            byte_offset: start as u64,
            byte_length: bytes.len() as u64,
            uncompressed_byte_length: desc.payload.level_len(&shape, level as u32).unwrap_or(u64::MAX),
        });
    }

    let mut out = Vec::with_capacity(end);
    Header {
        identifier: IDENTIFIER,
        vk_format: desc.payload.vk_format(desc.transfer),
        type_size: desc.payload.type_size(),
        pixel_width: shape.width,
        pixel_height: shape.height,
        pixel_depth: shape.depth,
        layer_count: shape.layer_count,
        face_count: shape.face_count,
        level_count,
        supercompression_scheme: desc.supercompression.scheme(),
        dfd_byte_offset: dfd_at as u32,
        dfd_byte_length: dfd.len() as u32,
        kvd_byte_offset: kvd_at as u32,
        kvd_byte_length: kvd.len() as u32,
        sgd_byte_offset: 0,
        sgd_byte_length: 0,
    }
    .put(&mut out);
    index.iter().rev().for_each(|level| level.put(&mut out));
    out.extend_from_slice(&dfd);
    out.extend_from_slice(&kvd);
    for (bytes, index) in levels.iter().rev().zip(&index) {
        out.resize(index.byte_offset as usize, 0);
        out.extend_from_slice(bytes);
    }
    Ktx2.verify(&out)?;
    Ok(out)
}

fn describe(desc: &Desc<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    dfd::put(desc.payload, desc.transfer, &mut out);
    out
}

/// Encodes the key/value data, sorted by key as the format requires.
fn key_values(desc: &Desc<'_>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    if desc.oriented {
        let orientation: &[u8] = if desc.shape.depth > 0 { b"rdi\0" } else { b"rd\0" };
        kvd::put(kvd::ORIENTATION, orientation, &mut out)?;
    }
    kvd::put(kvd::WRITER, &[desc.writer.as_bytes(), b"\0"].concat(), &mut out)?;
    Ok(out)
}
