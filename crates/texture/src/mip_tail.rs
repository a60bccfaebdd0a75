//! The mip tail: the small mip levels of an image, encoded together.
//!
//! Encoders search eight blocks at a time, one per SIMD lane, and the last mip levels have a few blocks each. Encoded one
//! level at a time, they leave most lanes idle: of an image of 8×8 texels, four searches for seven blocks.

use kiln_uastc::View;

use crate::encode::{Target, encode_blocks};

/// The largest number of blocks of a level in the tail. More blocks fill the lanes by themselves.
const MAX_BLOCKS: u32 = 16;

/// The small mip levels of one image, whose blocks are encoded by [`encode`](Self::encode).
#[derive(Default)]
pub(crate) struct MipTail<'o> {
    blocks: Vec<[u32; 16]>,
    levels: Vec<&'o mut [u8]>,
}

impl<'o> MipTail<'o> {
    /// Returns whether a level of this size belongs to the tail: it is small, and its blocks do not depend on each other.
    pub(crate) fn holds(target: &Target, width: u32, height: u32) -> bool {
        target.has_independent_blocks() && width.div_ceil(4) * height.div_ceil(4) <= MAX_BLOCKS
    }

    /// Adds a level: its swizzled RGBA8 texels, and the place of its blocks.
    pub(crate) fn push(&mut self, rgba: &[u8], width: u32, height: u32, level: &'o mut [u8]) {
        let Some(view) = View::tight(rgba, width, height) else { return };
        for y in 0..height.div_ceil(4) {
            self.blocks.extend((0..width.div_ceil(4)).map(|x| view.block(x, y)));
        }
        self.levels.push(level);
    }

    /// Encodes all levels, as one row of blocks.
    pub(crate) fn encode(self, target: &Target) {
        let width = 4 * self.blocks.len() as u32;
        let mut rgba = vec![0; 64 * self.blocks.len()];
        let rows = rgba.chunks_exact_mut(16);
        let places = (0..4).flat_map(|y| self.blocks.iter().map(move |block| &block[4 * y..4 * y + 4]));
        for (texels, bytes) in places.zip(rows) {
            for (texel, bytes) in texels.iter().zip(bytes.chunks_exact_mut(4)) {
                bytes.copy_from_slice(&texel.to_le_bytes());
            }
        }
        let mut encoded = vec![0; target.encoded_len(width, 4)];
        encode_blocks(&rgba, width, 4, target, &mut encoded);
        let mut rest = &encoded[..];
        for level in self.levels {
            let (blocks, after) = rest.split_at(level.len());
            level.copy_from_slice(blocks);
            rest = after;
        }
    }
}
