//! DirectDraw Surface (`.dds`): textures with their mip chain, array layers and cubemap faces.
//!
//! Reads BC1, BC3, BC4, BC5 and BC7 blocks, uncompressed RGBA with 8 bits per channel (and everything that bit masks
//! describe), 16-bit channels and half floats, with the legacy header and with that of Direct3D 10. Texels are returned as
//! they are stored; [`Dds::decode`] converts the base level of a 2D texture to an image.
//!
//! Rejects partial cubemaps, BC2, BC6H and signed formats, and files that are shorter than their header states.

mod blocks;

use kiln_diagnostics::{Code, Diag, Limits};
use kiln_ir::{Image, Texels};

use crate::image::{admit, checked_image, corrupt, le32, truncated, unsupported};

const MAGIC_AND_HEADER: usize = 128;
const DX10_HEADER: usize = 20;
const FOURCC_FLAG: u32 = 0x4;
const ALPHA_FLAG: u32 = 0x1;
const LUMINANCE_FLAG: u32 = 0x2_0000;
const CUBEMAP: u32 = 0x200;
const ALL_FACES: u32 = 0xFC00;
const VOLUME: u32 = 0x20_0000;
const MAX_LEVELS: u32 = 32;

/// The format of the texels of a [`Dds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DdsFormat {
    /// BC1 (DXT1).
    Bc1,
    /// BC3 (DXT5).
    Bc3,
    /// BC4 (ATI1), unsigned.
    Bc4,
    /// BC5 (ATI2), unsigned.
    Bc5,
    /// BC7.
    Bc7,
    /// One 16-bit channel.
    R16,
    /// Two 16-bit channels.
    Rg16,
    /// Four 16-bit channels.
    Rgba16,
    /// Four half floats.
    Rgba16F,
    /// Up to 32 bits per texel with a bit mask for each channel.
    Masked {
        /// Bytes of a texel, from 1 to 4.
        bytes: u32,
        /// The masks of red, green, blue and alpha; zero for an absent channel.
        masks: [u32; 4],
    },
}

impl DdsFormat {
    /// Returns the width and height of a block in texels.
    pub fn block_side(self) -> u32 {
        match self {
            DdsFormat::Bc1 | DdsFormat::Bc3 | DdsFormat::Bc4 | DdsFormat::Bc5 | DdsFormat::Bc7 => 4,
            _ => 1,
        }
    }

    /// Returns the size of a block, or of a texel, in bytes.
    pub fn block_len(self) -> u32 {
        match self {
            DdsFormat::Bc3 | DdsFormat::Bc5 | DdsFormat::Bc7 => 16,
            DdsFormat::Bc1 | DdsFormat::Bc4 | DdsFormat::Rgba16 | DdsFormat::Rgba16F => 8,
            DdsFormat::Rg16 => 4,
            DdsFormat::R16 => 2,
            DdsFormat::Masked { bytes, .. } => bytes,
        }
    }
}

/// A texture of a `.dds` file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Dds<'a> {
    /// The width of the base level in texels.
    pub width: u32,
    /// The height of the base level in texels.
    pub height: u32,
    /// The depth of a volume; 0 for other textures.
    pub depth: u32,
    /// The number of array layers; 0 if the texture is not an array.
    pub layers: u32,
    /// 6 for a cubemap, otherwise 1.
    pub faces: u32,
    /// The number of mip levels.
    pub levels: u32,
    /// The format of the texels.
    pub format: DdsFormat,
    /// True if colours are sRGB; `None` if the header cannot state it.
    pub srgb: Option<bool>,
    data: &'a [u8],
}

impl<'a> Dds<'a> {
    /// Reads the header and checks the size of the texels.
    ///
    /// # Errors
    ///
    /// `image-unsupported` for other formats, `image-corrupt` or `image-truncated` for a damaged file, `image-too-large` or
    /// `memory-limit` beyond the limits.
    pub fn read(bytes: &'a [u8], limits: &Limits) -> Result<Dds<'a>, Diag> {
        let field = |at: usize| le32(bytes, at).ok_or_else(|| truncated("the DDS header is incomplete"));
        if !bytes.starts_with(b"DDS ") || field(4)? != 124 || field(76)? != 32 {
            return Err(corrupt("the DDS header has an invalid size"));
        }
        let dx10 = field(80)? & FOURCC_FLAG != 0 && bytes.get(84..88) == Some(b"DX10");
        let caps2 = field(112)?;
        let (mut cube, mut layers) = (caps2 & CUBEMAP != 0, 0);
        let volume = if dx10 { field(132)? == 4 } else { caps2 & VOLUME != 0 };
        let (format, srgb) = if dx10 {
            cube = field(136)? & 4 != 0;
            // Some writers state 0 layers for a texture that is not an array.
            layers = Some(field(140)?).filter(|count| *count > 1).unwrap_or(0);
            dxgi_format(field(128)?)?
        } else {
            if cube && caps2 & ALL_FACES != ALL_FACES {
                return Err(unsupported("a DDS cubemap without all six faces", "export all faces"));
            }
            (legacy_format(bytes)?, None)
        };
        let (width, height) = (field(16)?, field(12)?);
        let dds = Dds {
            width,
            height,
            depth: if volume { field(24)?.max(1) } else { 0 },
            layers,
            faces: if cube { 6 } else { 1 },
            levels: field(28)?.max(1),
            format,
            srgb,
            data: bytes.get(MAGIC_AND_HEADER + if dx10 { DX10_HEADER } else { 0 }..).unwrap_or_default(),
        };
        admit(limits, width, height, 1)?;
        let longest = width.max(height).max(dds.depth);
        if dds.levels > MAX_LEVELS - longest.leading_zeros() {
            return Err(corrupt(format!("the DDS header states {} mip levels", dds.levels)));
        }
        let size = dds.image_size().and_then(|size| size.checked_mul(dds.images()));
        if size.is_none_or(|size| size > dds.data.len() as u64) {
            return Err(truncated(format!(
                "{} bytes cannot contain {width}x{height} texels with {} mip levels",
                dds.data.len(),
                dds.levels
            )));
        }
        Ok(dds)
    }

    /// Returns `true` if the texels have one channel, without alpha.
    pub fn is_greyscale(&self) -> bool {
        match self.format {
            DdsFormat::Bc4 | DdsFormat::R16 => true,
            DdsFormat::Masked { masks: [red, green, blue, alpha], .. } => {
                red == green && red == blue && alpha == 0
            }
            _ => false,
        }
    }

    /// Returns layers times faces.
    fn images(&self) -> u64 {
        u64::from(self.layers.max(1)) * u64::from(self.faces)
    }

    /// Returns the size in bytes of a mip level of one layer and face; `None` on overflow.
    fn level_size(&self, level: u32) -> Option<u64> {
        let side = self.format.block_side();
        let [w, h, d] =
            [self.width, self.height, self.depth].map(|s| s.checked_shr(level).unwrap_or(0).max(1));
        let blocks =
            u64::from(w.div_ceil(side)).checked_mul(h.div_ceil(side).into())?.checked_mul(d.into())?;
        blocks.checked_mul(self.format.block_len().into())
    }

    fn image_size(&self) -> Option<u64> {
        (0..self.levels).try_fold(0u64, |sum, level| sum.checked_add(self.level_size(level)?))
    }

    /// Returns the stored bytes of a mip level in all layers, and in each layer all faces.
    pub fn level(&self, level: u32) -> Vec<&'a [u8]> {
        // The sizes were checked when the file was read.
        let size = |level| self.level_size(level).unwrap_or_default() as usize;
        let before: usize = (0..level).map(size).sum();
        let image = self.image_size().unwrap_or_default() as usize;
        (0..self.images() as usize).map(|n| &self.data[n * image + before..][..size(level)]).collect()
    }

    /// Decodes the base level of a 2D texture.
    ///
    /// # Errors
    ///
    /// `image-kind` for cubemaps, arrays and volumes, `image-unsupported` for half floats, and the errors of the limits.
    pub fn decode(&self, limits: &Limits) -> Result<Image, Diag> {
        if self.images() > 1 || self.depth > 1 {
            return Err(Diag::new(Code::ImageKind, "the DDS texture is a cubemap, an array or a volume")
                .hint("only a 2D texture can be decoded as an image"));
        }
        let base = self.level(0).first().copied().unwrap_or_default();
        let size = admit(limits, self.width, self.height, 2)? / 2;
        let sixteen = |channels: usize| {
            let samples = base.as_chunks::<2>().0.chunks_exact(channels);
            let texel = |pairs: &[[u8; 2]]| {
                let mut texel = [0, 0, 0, u16::MAX];
                texel.iter_mut().zip(pairs).for_each(|(value, pair)| *value = u16::from_le_bytes(*pair));
                if channels == 1 { [texel[0], texel[0], texel[0], u16::MAX] } else { texel }
            };
            Texels::Rgba16(samples.flat_map(texel).collect())
        };
        let texels = match self.format {
            DdsFormat::R16 => sixteen(1),
            DdsFormat::Rg16 => sixteen(2),
            DdsFormat::Rgba16 => sixteen(4),
            DdsFormat::Rgba16F => {
                return Err(unsupported("a DDS texture of half floats", "save the image as OpenEXR"));
            }
            DdsFormat::Masked { .. } => Texels::Rgba8(self.rgba8(base)),
            _ => {
                let mut texels = vec![0; size];
                blocks::decode(self.format, base, self.width as usize, texels.as_chunks_mut().0)
                    .ok_or_else(|| corrupt("the DDS texture has a block with an invalid mode"))?;
                Texels::Rgba8(texels)
            }
        };
        checked_image((self.width, self.height, texels))
    }

    /// Converts texels with bit masks to RGBA8; other formats are returned as they are.
    pub fn rgba8(&self, texels: &[u8]) -> Vec<u8> {
        let DdsFormat::Masked { bytes, masks } = self.format else { return texels.to_vec() };
        let channel = |number: u32, mask: u32, absent: u8| {
            if mask == 0 {
                return absent;
            }
            let (shift, bits) = (mask.trailing_zeros(), mask.count_ones());
            let (value, max) = (u64::from((number & mask) >> shift), (1u64 << bits) - 1);
            ((value * 255 + max / 2) / max) as u8
        };
        let texel = |texel: &[u8]| {
            let number = texel.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
            [0, 1, 2, 3].map(|i| channel(number, masks[i], if i == 3 { u8::MAX } else { 0 }))
        };
        texels.chunks_exact(bytes as usize).flat_map(texel).collect()
    }
}

/// Returns the format of a `DXGI_FORMAT` and whether it is sRGB.
fn dxgi_format(number: u32) -> Result<(DdsFormat, Option<bool>), Diag> {
    let rgba = DdsFormat::Masked { bytes: 4, masks: [0xFF, 0xFF00, 0xFF_0000, 0xFF00_0000] };
    let bgra = |alpha| DdsFormat::Masked { bytes: 4, masks: [0xFF_0000, 0xFF00, 0xFF, alpha] };
    let grey = DdsFormat::Masked { bytes: 1, masks: [0xFF, 0xFF, 0xFF, 0] };
    let (format, srgb) = match number {
        10 => (DdsFormat::Rgba16F, false),
        11 => (DdsFormat::Rgba16, false),
        28 => (rgba, false),
        29 => (rgba, true),
        35 => (DdsFormat::Rg16, false),
        56 => (DdsFormat::R16, false),
        61 => (grey, false),
        71 => (DdsFormat::Bc1, false),
        72 => (DdsFormat::Bc1, true),
        77 => (DdsFormat::Bc3, false),
        78 => (DdsFormat::Bc3, true),
        80 => (DdsFormat::Bc4, false),
        83 => (DdsFormat::Bc5, false),
        87 => (bgra(0xFF00_0000), false),
        88 => (bgra(0), false),
        91 => (bgra(0xFF00_0000), true),
        93 => (bgra(0), true),
        98 => (DdsFormat::Bc7, false),
        99 => (DdsFormat::Bc7, true),
        // Typeless formats, which some tools write, leave the transfer function to the reader.
        27 => return Ok((rgba, None)),
        70 => return Ok((DdsFormat::Bc1, None)),
        76 => return Ok((DdsFormat::Bc3, None)),
        79 => return Ok((DdsFormat::Bc4, None)),
        82 => return Ok((DdsFormat::Bc5, None)),
        97 => return Ok((DdsFormat::Bc7, None)),
        other => return Err(unsupported(format!("a DDS texture with DXGI_FORMAT {other}"), HINT)),
    };
    Ok((format, Some(srgb)))
}

const HINT: &str = "save the texture as BC1, BC3, BC4, BC5, BC7 or RGBA8, or as PNG";

/// Returns the format of a header without `DXGI_FORMAT`.
fn legacy_format(bytes: &[u8]) -> Result<DdsFormat, Diag> {
    let field = |at: usize| le32(bytes, at).ok_or_else(|| truncated("the DDS header is incomplete"));
    let flags = field(80)?;
    if flags & FOURCC_FLAG != 0 {
        return Ok(match &bytes[84..88] {
            b"DXT1" => DdsFormat::Bc1,
            b"DXT4" | b"DXT5" => DdsFormat::Bc3,
            b"ATI1" | b"BC4U" => DdsFormat::Bc4,
            b"ATI2" | b"BC5U" => DdsFormat::Bc5,
            [36, 0, 0, 0] => DdsFormat::Rgba16,
            [113, 0, 0, 0] => DdsFormat::Rgba16F,
            code => {
                let code = code.escape_ascii();
                return Err(unsupported(format!("a DDS texture with the FourCC '{code}'"), HINT));
            }
        });
    }
    let bits = field(88)?;
    let [r, g, b, a] = [field(92)?, field(96)?, field(100)?, field(104)?];
    if !matches!(bits, 8 | 16 | 24 | 32) {
        return Err(unsupported(format!("a DDS texture with {bits} bits per texel"), HINT));
    }
    let alpha = if flags & ALPHA_FLAG != 0 { a } else { 0 };
    let masks = if flags & LUMINANCE_FLAG != 0 { [r, r, r, alpha] } else { [r, g, b, alpha] };
    if masks == [0; 4] {
        return Err(corrupt("the DDS header has no bit masks"));
    }
    Ok(DdsFormat::Masked { bytes: bits / 8, masks })
}
