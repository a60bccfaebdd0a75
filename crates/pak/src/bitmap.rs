//! Bitmaps: texels as they are stored, level by level.

use crate::Bytes;
use kiln_format::pak::Encoding;
use kiln_format::pak::bitmap::{BitmapView, Shape};

pub use kiln_format::pak::{Color as BitmapColor, Sample};

/// The channels of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum BitmapFormat {
    /// One.
    R = 1,
    /// Two.
    Rg = 2,
    /// Three.
    Rgb = 3,
    /// Four; the last is opacity.
    Rgba = 4,
}

impl BitmapFormat {
    /// All, by their number of channels.
    pub const ALL: [BitmapFormat; 4] =
        [BitmapFormat::R, BitmapFormat::Rg, BitmapFormat::Rgb, BitmapFormat::Rgba];

    /// How many channels.
    pub const fn channels(self) -> usize {
        self as usize
    }

    /// Bytes of a texel with eight bits a channel.
    pub const fn byte_len(self) -> usize {
        self as usize
    }

    /// Whether there is opacity.
    pub const fn has_alpha(self) -> bool {
        matches!(self, BitmapFormat::Rgba)
    }
}

/// A picture: rows from the top, texels from the left, channels side by side, nothing between.
#[derive(Clone, Debug, PartialEq)]
pub struct Bitmap {
    shape: Shape,
    levels: Vec<Bytes>,
}

impl Bitmap {
    pub(crate) fn from_payload(view: &BitmapView<'_>, bytes: &Bytes) -> Bitmap {
        let shape = view.shape();
        let levels = (0..shape.levels).map_while(|level| view.range(level)).map(|range| bytes.slice(range));
        Bitmap { shape, levels: levels.collect() }
    }

    /// What the numbers mean.
    pub fn color(&self) -> BitmapColor {
        self.shape.color
    }

    /// Which channels there are.
    pub fn format(&self) -> BitmapFormat {
        BitmapFormat::ALL[usize::from(self.shape.channels).clamp(1, 4) - 1]
    }

    /// What a channel is.
    pub fn sample(&self) -> Sample {
        self.shape.sample
    }

    /// Width and height.
    pub fn extent(&self) -> (u32, u32) {
        (self.shape.width, self.shape.height)
    }

    /// Texels in a row.
    pub fn width(&self) -> u32 {
        self.shape.width
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.shape.height
    }

    /// How many levels are stored, the whole picture among them.
    pub fn mip_levels(&self) -> u32 {
        self.shape.levels.into()
    }

    /// The texels of the whole picture; empty when they are encoded.
    pub fn pixels(&self) -> &[u8] {
        self.level(0).map_or(&[], |(_, texels)| texels)
    }

    /// Width, height and texels of a level; `None` when it is not stored, or encoded.
    pub fn level(&self, level: u32) -> Option<((u32, u32), &[u8])> {
        let texels = self.levels.get(level as usize).filter(|_| self.shape.encoding == Encoding::Raw)?;
        Some((self.shape.level_size(u8::try_from(level).ok()?), texels))
    }

    /// The KTX2 file, if the bitmap was baked for the GPU.
    pub fn ktx2(&self) -> Option<&[u8]> {
        (self.shape.encoding == Encoding::Ktx2).then(|| self.levels.first().map_or(&[][..], |bytes| bytes))
    }

    /// The bytes of one texel of the whole picture; empty outside it, or when texels are encoded.
    pub fn pixel(&self, x: u32, y: u32) -> &[u8] {
        let texel = self.texel_len();
        let inside = x < self.width() && y < self.height();
        let start = (y as usize * self.width() as usize + x as usize) * texel;
        self.pixels().get(start..start + texel).filter(|_| inside).unwrap_or_default()
    }

    /// The whole picture with other channels, for eight-bit bitmaps: missing colours are 0, missing opacity is 255.
    pub fn pixels_as_format(&self, format: BitmapFormat) -> Vec<u8> {
        let (from, to) = (self.texel_len(), format.channels());
        let mut out = Vec::with_capacity(self.pixels().len() / from * to);
        for texel in self.pixels().chunks_exact(from) {
            let channel = |c: usize| texel.get(c).copied().unwrap_or(if c == 3 { 255 } else { 0 });
            out.extend((0..to).map(channel));
        }
        out
    }

    /// Bytes of a row of the whole picture.
    pub fn stride(&self) -> usize {
        self.width() as usize * self.texel_len()
    }

    fn texel_len(&self) -> usize {
        usize::from(self.shape.channels) * self.shape.sample.byte_len() as usize
    }
}
