//! Bitmap assets: uncompressed texels, one slice per mip level, or an embedded KTX2 file.

use crate::Bytes;
use kiln_format::pak::Encoding;
use kiln_format::pak::bitmap::{BitmapShape, BitmapView};

pub use kiln_format::pak::{Color as BitmapColor, Sample};

/// The channel layout of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum BitmapFormat {
    /// One channel: red only.
    R = 1,
    /// Two channels: red and green.
    Rg = 2,
    /// Three channels: red, green and blue.
    Rgb = 3,
    /// Four channels: red, green, blue and alpha.
    Rgba = 4,
}

impl BitmapFormat {
    /// All formats, ordered by channel count.
    pub const ALL: [BitmapFormat; 4] =
        [BitmapFormat::R, BitmapFormat::Rg, BitmapFormat::Rgb, BitmapFormat::Rgba];

    /// Returns the number of channels per texel.
    pub const fn channels(self) -> usize {
        self as usize
    }

    /// Returns the size of a texel in bytes at 8 bits per channel.
    pub const fn byte_len(self) -> usize {
        self as usize
    }

    /// Returns `true` if the format has an alpha channel.
    pub const fn has_alpha(self) -> bool {
        matches!(self, BitmapFormat::Rgba)
    }
}

/// An image: rows from top to bottom, texels from left to right, interleaved channels, no row padding.
#[derive(Clone, Debug, PartialEq)]
pub struct Bitmap {
    shape: BitmapShape,
    levels: Vec<Bytes>,
}

impl Bitmap {
    pub(crate) fn from_payload(view: &BitmapView<'_>, bytes: &Bytes) -> Bitmap {
        let shape = view.shape();
        let levels = (0..shape.levels).map_while(|level| view.range(level)).map(|range| bytes.slice(range));
        Bitmap { shape, levels: levels.collect() }
    }

    /// Returns the color space of the texels.
    pub fn color(&self) -> BitmapColor {
        self.shape.color
    }

    /// Returns the channel layout.
    pub fn format(&self) -> BitmapFormat {
        BitmapFormat::ALL[usize::from(self.shape.channels).clamp(1, 4) - 1]
    }

    /// Returns the sample type of a channel.
    pub fn sample(&self) -> Sample {
        self.shape.sample
    }

    /// Returns the width and height of mip level 0, in texels.
    pub fn extent(&self) -> (u32, u32) {
        (self.shape.width, self.shape.height)
    }

    /// Returns the width of mip level 0, in texels.
    pub fn width(&self) -> u32 {
        self.shape.width
    }

    /// Returns the height of mip level 0, in texels.
    pub fn height(&self) -> u32 {
        self.shape.height
    }

    /// Returns the number of stored mip levels, including the full-size level 0.
    pub fn mip_levels(&self) -> u32 {
        self.shape.levels.into()
    }

    /// Returns the texels of mip level 0; empty if the bitmap is a KTX2 file.
    pub fn pixels(&self) -> &[u8] {
        self.level(0).map_or(&[], |(_, texels)| texels)
    }

    /// Returns the width, height and texels of a mip level, or `None` if the level is not stored or the bitmap is a KTX2
    /// file.
    pub fn level(&self, level: u32) -> Option<((u32, u32), &[u8])> {
        let texels = self.levels.get(level as usize).filter(|_| self.shape.encoding == Encoding::Raw)?;
        Some((self.shape.level_size(u8::try_from(level).ok()?), texels))
    }

    /// Returns the bytes of the KTX2 file if the bitmap was baked with `compression = 'uastc'`.
    pub fn ktx2(&self) -> Option<&[u8]> {
        (self.shape.encoding == Encoding::Ktx2).then(|| self.levels.first().map_or(&[][..], |bytes| bytes))
    }

    /// Returns the bytes of one texel of mip level 0; empty if the position is out of bounds or the bitmap is a KTX2 file.
    pub fn pixel(&self, x: u32, y: u32) -> &[u8] {
        let texel = self.texel_len();
        let inside = x < self.width() && y < self.height();
        let start = (y as usize * self.width() as usize + x as usize) * texel;
        self.pixels().get(start..start + texel).filter(|_| inside).unwrap_or_default()
    }

    /// Returns mip level 0 converted to another channel layout. For 8-bit bitmaps only: missing color channels become 0,
    /// a missing alpha channel becomes 255.
    pub fn pixels_as_format(&self, format: BitmapFormat) -> Vec<u8> {
        let (from, to) = (self.texel_len(), format.channels());
        let mut out = Vec::with_capacity(self.pixels().len() / from * to);
        for texel in self.pixels().chunks_exact(from) {
            let channel = |c: usize| texel.get(c).copied().unwrap_or(if c == 3 { 255 } else { 0 });
            out.extend((0..to).map(channel));
        }
        out
    }

    /// Returns the size of a row of mip level 0, in bytes.
    pub fn stride(&self) -> usize {
        self.width() as usize * self.texel_len()
    }

    fn texel_len(&self) -> usize {
        usize::from(self.shape.channels) * self.shape.sample.byte_len() as usize
    }
}
