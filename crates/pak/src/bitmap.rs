//! Bitmap assets: uncompressed texels, one slice per mip level, or an embedded KTX2 file.

use crate::Bytes;
use kiln_format::ktx2::{Ktx2View, Supercompression};
use kiln_format::pak::Encoding;
use kiln_format::pak::bitmap::{BitmapShape, BitmapView};

pub use kiln_format::ktx2::{Payload as GpuFormat, Transfer};
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

    /// Returns the size of a texel in bytes at 8 bits per channel. [`Bitmap::texel_len`] has the size for any sample type.
    pub const fn byte_len(self) -> usize {
        self as usize
    }

    /// Returns `true` if the format has an alpha channel.
    pub const fn has_alpha(self) -> bool {
        matches!(self, BitmapFormat::Rgba)
    }
}

/// An image: rows from top to bottom, texels from left to right, interleaved channels, no row padding.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// Creates a bitmap of 8 bits per channel from the tightly packed texels of mip level 0.
    ///
    /// # Panics
    /// If there is no texel, or the length of `pixels` is not a multiple of the size of a row.
    pub fn new(
        color: BitmapColor,
        format: BitmapFormat,
        width: u32,
        mip_levels: u32,
        pixels: impl Into<Vec<u8>>,
    ) -> Bitmap {
        let pixels = pixels.into();
        let row = width as usize * format.channels();
        assert!(
            row > 0 && !pixels.is_empty() && pixels.len().is_multiple_of(row),
            "the texels are not whole rows"
        );
        let height = u32::try_from(pixels.len() / row).expect("a height in the range of u32");
        let shape = BitmapShape {
            width,
            height,
            channels: format as u8,
            sample: Sample::U8,
            color,
            encoding: Encoding::Raw,
            levels: mip_levels.clamp(1, 255) as u8,
        };
        Bitmap { shape, levels: vec![Bytes::from_vec(pixels)] }
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

    /// Writes a mip level as RGBA8 into a buffer of the caller, such as a mapped staging buffer of the GPU, without an
    /// intermediate copy. Rows start every `row_pitch` bytes, of which the first four times the width are written.
    /// Channels are converted as [`pixels_as_format`](Bitmap::pixels_as_format) does; sRGB and linear values stay as they
    /// are. Returns `false`, and writes nothing, if the level is not stored, the bitmap is a KTX2 file, or the buffer is
    /// too small.
    ///
    /// ```
    /// # use pak::bitmap::{Bitmap, BitmapColor, BitmapFormat};
    /// let bitmap = Bitmap::new(BitmapColor::Srgb, BitmapFormat::Rgb, 1, 1, [1, 2, 3, 4, 5, 6]);
    /// let mut staging = [0; 2 * 256];
    /// assert!(bitmap.write_rgba8(0, &mut staging, 256));
    /// assert_eq!((&staging[..4], &staging[256..260]), (&[1, 2, 3, 255][..], &[4, 5, 6, 255][..]));
    /// ```
    pub fn write_rgba8(&self, level: u32, out: &mut [u8], row_pitch: usize) -> bool {
        let Some(((width, height), texels)) = self.level(level) else { return false };
        let (width, height) = (width as usize, height as usize);
        let needed = row_pitch.checked_mul(height - 1).and_then(|end| end.checked_add(width * 4));
        if row_pitch < width * 4 || needed.is_none_or(|needed| out.len() < needed) {
            return false;
        }
        let (sample, size) = (self.shape.sample, self.shape.sample.byte_len() as usize);
        let rows = texels.chunks_exact(width * self.texel_len());
        for (row, out) in rows.zip(out.chunks_mut(row_pitch)) {
            let out = out[..width * 4].as_chunks_mut::<4>().0;
            match (sample, self.format()) {
                (Sample::U8, BitmapFormat::Rgba) => out.as_flattened_mut().copy_from_slice(row),
                (Sample::U8, BitmapFormat::Rgb) => {
                    for (out, texel) in out.iter_mut().zip(row.as_chunks::<3>().0) {
                        *out = [texel[0], texel[1], texel[2], 255];
                    }
                }
                _ => {
                    for (out, texel) in out.iter_mut().zip(row.chunks_exact(self.texel_len())) {
                        *out = [0, 0, 0, 255];
                        for (out, value) in out.iter_mut().zip(texel.chunks_exact(size)) {
                            *out = to_u8(value, sample);
                        }
                    }
                }
            }
        }
        true
    }

    /// Returns the format of the texels of a bitmap that was baked with a `compression`, with its `VkFormat`, the size of its
    /// blocks and its name.
    ///
    /// ```
    /// # fn upload(bitmap: &pak::bitmap::Bitmap) {
    /// if let Some(format) = bitmap.gpu_format() {
    ///     let (number, block) = (format.vk_format(bitmap.transfer()), format.block_len());
    ///     for level in 0..bitmap.mip_levels() {
    ///         let Some(((width, height), bytes)) = bitmap.gpu_level(level) else { break };
    ///         let row_pitch = u64::from(width.div_ceil(format.block_side())) * block;
    ///         # let _ = (number, height, bytes, row_pitch);
    ///     }
    /// }
    /// # }
    /// ```
    pub fn gpu_format(&self) -> Option<GpuFormat> {
        Some(Ktx2View::read(self.ktx2()?).ok()?.payload())
    }

    /// Returns the transfer function of the texels, for [`GpuFormat::vk_format`] and [`GpuFormat::name`].
    pub fn transfer(&self) -> Transfer {
        match self.ktx2().map(Ktx2View::read) {
            Some(Ok(view)) => view.transfer(),
            _ => Transfer::of(self.shape.color == BitmapColor::Srgb),
        }
    }

    /// Returns the width, height and blocks of a mip level, to be uploaded to the GPU as they are; `None` if the level is not
    /// stored, or the bitmap was baked without a `compression` or with `'uastc'`, which is transcoded.
    pub fn gpu_level(&self, level: u32) -> Option<((u32, u32), &[u8])> {
        let view = Ktx2View::read(self.ktx2()?).ok()?;
        let is_native = !matches!(view.payload(), GpuFormat::Uastc { .. })
            && view.supercompression() == Supercompression::None;
        let level = view.level(level).filter(|_| is_native)?;
        Some(((level.dims[0], level.dims[1]), level.bytes))
    }

    /// Returns the width, height and BC7 blocks of a mip level, as [`gpu_level`](Bitmap::gpu_level) does; `None` if the
    /// bitmap has another format.
    pub fn bc7_level(&self, level: u32) -> Option<((u32, u32), &[u8])> {
        self.gpu_level(level).filter(|_| self.gpu_format() == Some(GpuFormat::Bc7))
    }

    /// Transcodes a mip level of a bitmap that was baked with `compression = 'uastc'` to a format of the GPU.
    ///
    /// # Errors
    /// The bitmap has no UASTC blocks, the level is not stored, or a block is not valid.
    #[cfg(feature = "transcode")]
    pub fn transcode(
        &self,
        level: u32,
        target: kiln_transcode::Target,
    ) -> Result<kiln_transcode::ktx2::Level, kiln_transcode::ktx2::LoadError> {
        kiln_transcode::ktx2::load_level(self.ktx2().unwrap_or_default(), level, target)
    }

    /// Returns the bytes of the KTX2 file if the bitmap was baked with a `compression`.
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

    /// Returns the texels of mip level 0 with 8 bits per channel in another channel layout: missing color channels become
    /// 0, a missing alpha channel becomes 255. 16-bit and float samples are rounded to the nearest 8-bit value.
    pub fn pixels_as_format(&self, format: BitmapFormat) -> impl Iterator<Item = u8> + '_ {
        let (sample, size) = (self.shape.sample, self.shape.sample.byte_len() as usize);
        let texels = self.pixels().chunks_exact(self.texel_len());
        texels.flat_map(move |texel| {
            (0..format.channels()).map(move |channel| match texel.get(channel * size..(channel + 1) * size) {
                Some(value) => to_u8(value, sample),
                None if channel == 3 => 255,
                None => 0,
            })
        })
    }

    /// Returns the size of a row of mip level 0, in bytes.
    pub fn stride(&self) -> usize {
        self.width() as usize * self.texel_len()
    }

    /// Returns the size of a texel in bytes: the number of channels times the size of a sample.
    pub fn texel_len(&self) -> usize {
        usize::from(self.shape.channels) * self.shape.sample.byte_len() as usize
    }
}

/// Converts a sample to 8 bits.
fn to_u8(value: &[u8], sample: Sample) -> u8 {
    match (sample, value) {
        (Sample::U8, [v]) => *v,
        (Sample::U16, [a, b]) => ((u32::from(u16::from_le_bytes([*a, *b])) + 128) / 257) as u8,
        (Sample::F32, [a, b, c, d]) => {
            (f32::from_le_bytes([*a, *b, *c, *d]).clamp(0.0, 1.0) * 255.0 + 0.5) as u8
        }
        _ => 0,
    }
}
