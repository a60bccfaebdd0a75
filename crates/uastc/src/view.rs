//! A view of the pixels to encode.

/// A rectangle of RGBA8 texels; the row stride may be larger than a row.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    rgba: &'a [u8],
    width: u32,
    height: u32,
    stride: usize,
}

impl<'a> View<'a> {
    /// Returns a view of `width` by `height` texels with a row stride of `stride_bytes`.
    ///
    /// Returns `None` if a side is zero, rows overlap, or `rgba` is too short.
    #[must_use]
    pub fn new(rgba: &'a [u8], width: u32, height: u32, stride_bytes: usize) -> Option<Self> {
        let row = usize::try_from(width).ok()?.checked_mul(4)?;
        if row == 0 || height == 0 || stride_bytes < row {
            return None;
        }
        let rows_before = usize::try_from(height - 1).ok()?;
        let end = rows_before.checked_mul(stride_bytes)?.checked_add(row)?;
        (rgba.len() >= end).then_some(Self { rgba, width, height, stride: stride_bytes })
    }

    /// Returns a view of texels without padding between rows, or `None` if a side is zero or `rgba` is too
    /// short.
    #[must_use]
    pub fn tight(rgba: &'a [u8], width: u32, height: u32) -> Option<Self> {
        Self::new(rgba, width, height, usize::try_from(width).ok()?.checked_mul(4)?)
    }

    /// Returns the width in texels.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Returns the height in texels.
    #[must_use]
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// Returns the sixteen texels of a block as little-endian words. The last texels repeat past the right
    /// and bottom edges.
    ///
    /// # Panics
    ///
    /// If the block is outside the image.
    #[must_use]
    pub fn block(&self, block_x: u32, block_y: u32) -> [u32; 16] {
        let (x, y) = (block_x as usize * 4, block_y as usize * 4);
        let (width, height) = (self.width as usize, self.height as usize);
        let mut out = [0; 16];
        for (i, texels) in out.chunks_exact_mut(4).enumerate() {
            let row = &self.rgba[(y + i).min(height - 1) * self.stride..][..width * 4];
            if let Some(four) = row.get(x * 4..x * 4 + 16) {
                for (texel, bytes) in texels.iter_mut().zip(four.chunks_exact(4)) {
                    *texel = word(bytes);
                }
            } else {
                for (j, texel) in texels.iter_mut().enumerate() {
                    *texel = word(&row[(x + j).min(width - 1) * 4..][..4]);
                }
            }
        }
        out
    }
}

#[inline]
fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// Returns the number of blocks that cover `texels` texels in one direction.
#[must_use]
pub const fn blocks_wide(texels: u32) -> u32 {
    texels.div_ceil(4)
}

/// Returns the number of block rows that cover `texels` rows of texels.
#[must_use]
pub const fn blocks_high(texels: u32) -> u32 {
    texels.div_ceil(4)
}

/// Returns the encoded size of an image in bytes; `None` if it does not fit in a `usize`.
#[must_use]
pub fn encoded_len(width: u32, height: u32) -> Option<usize> {
    let wide = usize::try_from(blocks_wide(width)).ok()?;
    let high = usize::try_from(blocks_high(height)).ok()?;
    wide.checked_mul(high)?.checked_mul(crate::BLOCK_BYTES)
}
