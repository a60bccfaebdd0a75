//! KTX 2.0 with a Basis Universal payload (UASTC or ETC1S), as in `KHR_texture_basisu`: the base mip level.
//!
//! Rejects cubemaps, arrays, volumes, video, and GPU-specific payloads. Textures are decoded here to be encoded again with
//! the settings of the project; a `.ktx2` file is not a source by itself.

mod etc1s;
mod huffman;

use std::ops::Range;

use kiln_diagnostics::{Code, Diag, Limits};
use kiln_ir::{Image, Texels};

use super::{admit, checked_image, corrupt, le32};

/// The colour models of the data format descriptor (Khronos Data Format Specification 1.4).
const MODEL_ETC1S: u32 = 163;
const MODEL_UASTC: u32 = 166;
/// The supercompression schemes (KTX 2.0, section 3.7).
const NONE: u32 = 0;
const BASIS_LZ: u32 = 1;
const ZSTANDARD: u32 = 2;
/// The offset of the level index, which follows the header.
const LEVELS: usize = 80;
const UASTC_BLOCK: usize = 16;

type Texel = [u8; 4];

/// Reads the width and the height, which follow the identifier, the format and the type size.
pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    Some((le32(prefix, 20)?, le32(prefix, 24)?))
}

pub(super) fn import(bytes: &[u8], limits: &Limits) -> Result<Image, Diag> {
    let field = |at: usize| le32(bytes, at).ok_or_else(|| corrupt("the KTX header is incomplete"));
    let (width, height) = (field(20)?, field(24)?);
    let size = admit(limits, width, height, 1)?;
    let (depth, layers, faces) = (field(28)?, field(32)?, field(36)?);
    if depth > 0 || layers > 1 || faces != 1 {
        return Err(Diag::new(Code::ImageKind, "the KTX texture is a cubemap, an array or a volume")
            .hint("a material needs a 2D texture"));
    }
    let blocks = check_level(bytes, width, height)?;
    let what = format_args!("the blocks and texels of {width}x{height} pixels");
    limits.check_memory(size as u64 + blocks, what)?;
    let mut grid = Grid { width: width as usize, texels: vec![0; size] };
    decode(bytes, &mut grid).ok_or_else(|| {
        Diag::new(Code::ImageCorrupt, "the KTX texture is damaged, or has no Basis Universal payload")
            .hint("export the texture again, as UASTC or ETC1S")
    })?;
    checked_image((width, height, Texels::Rgba8(grid.texels)))
}

/// Returns the uncompressed size of the base level that the index states, checked before memory is allocated for it.
fn check_level(bytes: &[u8], width: u32, height: u32) -> Result<u64, Diag> {
    let level = || Some((le64(bytes, LEVELS)?, le64(bytes, LEVELS + 8)?, le64(bytes, LEVELS + 16)?));
    let (offset, length, uncompressed) =
        level().ok_or_else(|| corrupt("the KTX level index is incomplete"))?;
    let inside = offset.checked_add(length).is_some_and(|end| end <= bytes.len() as u64);
    // A payload takes at most sixteen bytes for sixteen texels.
    let max_size = u64::from(width.div_ceil(4)) * u64::from(height.div_ceil(4)) * UASTC_BLOCK as u64;
    if !inside || uncompressed > max_size {
        return Err(corrupt("the base mip level is larger than its dimensions allow"));
    }
    Ok(uncompressed)
}

/// Decodes the texels; returns `None` for a damaged file or one without a Basis Universal payload.
fn decode(bytes: &[u8], grid: &mut Grid) -> Option<()> {
    let (format, type_size, levels) = (le32(bytes, 12)?, le32(bytes, 16)?, le32(bytes, 40)?);
    let scheme = le32(bytes, 44)?;
    let descriptor = part(bytes, le32(bytes, 48)?.into(), le32(bytes, 52)?.into())?;
    let (level_start, level_len) = (le64(bytes, LEVELS)?, le64(bytes, LEVELS + 8)?);
    if format != 0 || type_size != 1 || levels == 0 {
        return None;
    }
    match (le32(descriptor, 12)? & 0xFF, scheme) {
        (MODEL_UASTC, NONE) => uastc(part(bytes, level_start, level_len)?, grid),
        (MODEL_UASTC, ZSTANDARD) => {
            let uncompressed = usize::try_from(le64(bytes, LEVELS + 16)?).ok()?;
            let blocks = zstd::bulk::decompress(part(bytes, level_start, level_len)?, uncompressed).ok()?;
            if blocks.len() == uncompressed { uastc(&blocks, grid) } else { None }
        }
        (MODEL_ETC1S, BASIS_LZ) => {
            let images = usize::try_from(levels).ok()?;
            let global = part(bytes, le64(bytes, 64)?, le64(bytes, 72)?)?;
            let (books, slices) = etc1s::Codebooks::read(global, images)?;
            let slice = |range: Range<u64>| {
                let start = level_start.checked_add(range.start)?;
                part(bytes, start, range.end.checked_sub(range.start)?)
            };
            books.decode(slice(slices.colour)?, grid, |texel, colour| texel[..3].copy_from_slice(&colour))?;
            // An image with alpha has a second sample in the descriptor, and a second slice.
            match descriptor.len() {
                44 => grid.each_texel(|texel| texel[3] = u8::MAX),
                60 => books.decode(slice(slices.alpha)?, grid, |texel, [_, green, _]| texel[3] = green)?,
                _ => return None,
            }
            Some(())
        }
        _ => None,
    }
}

fn uastc(blocks: &[u8], grid: &mut Grid) -> Option<()> {
    let mut blocks = blocks.as_chunks::<UASTC_BLOCK>().0.iter();
    for (x, y) in grid.blocks() {
        let texels = kiln_uastc::decode_block(blocks.next()?)?;
        grid.put(x, y, |index, texel| *texel = texels[index]);
    }
    Some(())
}

/// A buffer of texels that is filled by 4x4 blocks.
struct Grid {
    width: usize,
    texels: Vec<u8>,
}

impl Grid {
    fn blocks_wide(&self) -> usize {
        self.width.div_ceil(4)
    }

    fn blocks_high(&self) -> usize {
        (self.texels.len() / 4 / self.width).div_ceil(4)
    }

    /// Iterates over the columns and rows of the blocks, row by row.
    fn blocks(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let wide = self.blocks_wide();
        (0..self.blocks_high()).flat_map(move |y| (0..wide).map(move |x| (x, y)))
    }

    /// Calls `set` for the texels of a block that are inside the image.
    fn put(&mut self, block_x: usize, block_y: usize, set: impl Fn(usize, &mut Texel)) {
        let (left, right) = (block_x * 4, (block_x * 4 + 4).min(self.width));
        let rows = self.texels.as_chunks_mut().0.chunks_exact_mut(self.width);
        for (y, row) in rows.skip(block_y * 4).take(4).enumerate() {
            row[left..right].iter_mut().enumerate().for_each(|(x, texel)| set(y * 4 + x, texel));
        }
    }

    fn each_texel(&mut self, set: impl Fn(&mut Texel)) {
        self.texels.as_chunks_mut().0.iter_mut().for_each(set);
    }
}

/// Returns a range of the file, or `None` if it exceeds the file.
fn part(bytes: &[u8], start: u64, len: u64) -> Option<&[u8]> {
    let end = usize::try_from(start.checked_add(len)?).ok()?;
    bytes.get(usize::try_from(start).ok()?..end)
}

fn le64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from(le32(bytes, at)?) | u64::from(le32(bytes, at + 4)?) << 32)
}
