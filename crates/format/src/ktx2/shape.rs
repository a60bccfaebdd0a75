//! The description of a texture: dimensions, texel format, transfer function, and the sizes that follow from
//! them.

use crate::numbered::numbered;

/// The dimensions of a texture; unused ones are 0, as in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The width of the base level in texels.
    pub width: u32,
    /// The height of the base level in texels.
    pub height: u32,
    /// Depth of a 3D texture in slices; 0 for other textures.
    pub depth: u32,
    /// Number of array layers; 0 if the texture is not an array.
    pub layer_count: u32,
    /// 6 for a cubemap, otherwise 1.
    pub face_count: u32,
}

impl Shape {
    /// Returns the shape of a 2D texture.
    pub const fn flat(width: u32, height: u32) -> Shape {
        Shape { width, height, depth: 0, layer_count: 0, face_count: 1 }
    }

    /// Returns the shape of a 2D array texture.
    pub const fn array(width: u32, height: u32, layer_count: u32) -> Shape {
        Shape { width, height, depth: 0, layer_count, face_count: 1 }
    }

    /// Returns the shape of a cubemap with faces +X, -X, +Y, -Y, +Z, -Z.
    pub const fn cube(side: u32) -> Shape {
        Shape { width: side, height: side, depth: 0, layer_count: 0, face_count: 6 }
    }

    /// Returns the shape of a 3D texture.
    pub const fn volume(width: u32, height: u32, depth: u32) -> Shape {
        Shape { width, height, depth, layer_count: 0, face_count: 1 }
    }

    /// Returns the name of the texture type: `2D`, `Cube array`.
    pub const fn name(&self) -> &'static str {
        match (self.depth, self.face_count, self.layer_count) {
            (0, 6, 0) => "Cube",
            (0, 6, _) => "Cube array",
            (0, _, 0) => "2D",
            (0, _, _) => "2D array",
            _ => "3D",
        }
    }

    /// Returns the number of mip levels of a full mip chain, down to one texel.
    pub fn max_levels(&self) -> u32 {
        u32::BITS - self.width.max(self.height).max(self.depth).leading_zeros()
    }

    /// Returns width, height and depth of a mip level, each at least one.
    pub fn level_dims(&self, level: u32) -> [u32; 3] {
        [self.width, self.height, self.depth].map(|side| side.checked_shr(level).unwrap_or(0).max(1))
    }

    /// Returns the texels of a mip level in all layers and faces, or `None` on overflow.
    pub fn level_texels(&self, level: u32) -> Option<u64> {
        let [w, h, d] = self.level_dims(level).map(u64::from);
        w.checked_mul(h)?.checked_mul(d)?.checked_mul(self.images()?)
    }

    /// Returns layers times faces.
    pub(super) fn images(&self) -> Option<u64> {
        u64::from(self.layer_count.max(1)).checked_mul(self.face_count.into())
    }
}

/// The channels of a UASTC texture that hold data, as in `KHR_DF_CHANNEL_UASTC_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Channels {
    /// Opaque colour in red, green and blue.
    Rgb = 0,
    /// Colour in red, green and blue, and alpha.
    Rgba = 3,
    /// One value, replicated to red, green and blue.
    Rrr = 4,
    /// Two values: one replicated to red, green and blue, the other in alpha.
    Rrrg = 5,
    /// Two values, in red and green.
    Rg = 6,
}

impl Channels {
    /// All channel layouts, in order of their numbers.
    pub const ALL: [Channels; 5] =
        [Channels::Rgb, Channels::Rgba, Channels::Rrr, Channels::Rrrg, Channels::Rg];

    /// Returns the name in upper case.
    pub const fn name(self) -> &'static str {
        match self {
            Channels::Rgb => "RGB",
            Channels::Rgba => "RGBA",
            Channels::Rrr => "RRR",
            Channels::Rrrg => "RRRG",
            Channels::Rg => "RG",
        }
    }
}

numbered! {
    /// The transfer function of the colour channels; alpha is always linear. The discriminants are the numbers of
    /// `colorspace` in a manifest.
    pub enum Transfer: u8 {
        /// Linear values: data, normals, linear colours.
        Linear = "linear",
        /// The sRGB transfer function.
        Srgb = "sRGB",
    }
}

impl Transfer {
    /// Returns `Srgb` if `srgb` is set, otherwise `Linear`.
    pub const fn of(srgb: bool) -> Transfer {
        if srgb { Transfer::Srgb } else { Transfer::Linear }
    }

    /// Returns the value of `transferFunction` in the data format descriptor (`KHR_DF_TRANSFER_*`).
    pub const fn khr_df(self) -> u8 {
        match self {
            Transfer::Linear => 1,
            Transfer::Srgb => 2,
        }
    }
}

/// The supercompression scheme of the mip levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supercompression {
    /// No supercompression: mip levels are stored directly.
    None,
    /// One Zstandard frame per mip level.
    Zstd,
}

impl Supercompression {
    pub(super) const ALL: [Supercompression; 2] = [Supercompression::None, Supercompression::Zstd];

    /// Returns the value of `supercompressionScheme` in the file.
    pub const fn scheme(self) -> u32 {
        match self {
            Supercompression::None => 0,
            Supercompression::Zstd => 2,
        }
    }

    /// Returns the name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Supercompression::None => "none",
            Supercompression::Zstd => "zstd",
        }
    }
}

/// The format of the texels before supercompression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// UASTC LDR 4×4: blocks of 4×4 texels in 16 bytes, transcoded to a format of the GPU at load time.
    Uastc {
        /// The channels that hold data.
        channels: Channels,
    },
    /// BC7: blocks of 4×4 texels in 16 bytes, read directly by desktop GPUs.
    Bc7,
    /// Four 8-bit channels per texel.
    Rgba8,
    /// Four half floats per texel; always linear.
    Rgba16F,
    /// BC1 with one bit of alpha: blocks of 4×4 texels in 8 bytes.
    Bc1,
    /// BC3: blocks of 4×4 texels in 16 bytes.
    Bc3,
    /// BC4, one channel: blocks of 4×4 texels in 8 bytes; always linear.
    Bc4,
    /// BC5, two channels: blocks of 4×4 texels in 16 bytes; always linear.
    Bc5,
    /// One 16-bit channel per texel; always linear.
    R16,
    /// Two 16-bit channels per texel; always linear.
    Rg16,
    /// Four 16-bit channels per texel; always linear.
    Rgba16,
    /// ASTC LDR: blocks of 4×4 texels in 16 bytes, read directly by mobile GPUs.
    Astc4x4,
    /// BC6H, three half floats from 0: blocks of 4×4 texels in 16 bytes; always linear.
    Bc6h,
    /// BC6H, three half floats with a sign: blocks of 4×4 texels in 16 bytes; always linear.
    Bc6hSigned,
    /// ETC2 without alpha: blocks of 4×4 texels in 8 bytes.
    Etc2Rgb,
    /// ETC2 with EAC alpha: blocks of 4×4 texels in 16 bytes.
    Etc2Rgba,
    /// EAC, one channel of 11 bits: blocks of 4×4 texels in 8 bytes; always linear.
    EacR11,
    /// EAC, two channels of 11 bits: blocks of 4×4 texels in 16 bytes; always linear.
    EacRg11,
}

impl Payload {
    /// All formats with a `VkFormat`, that is all but UASTC.
    pub const NUMBERED: [Payload; 17] = [
        Payload::Bc1,
        Payload::Bc3,
        Payload::Bc4,
        Payload::Bc5,
        Payload::Bc6h,
        Payload::Bc6hSigned,
        Payload::Bc7,
        Payload::Astc4x4,
        Payload::Etc2Rgb,
        Payload::Etc2Rgba,
        Payload::EacR11,
        Payload::EacRg11,
        Payload::Rgba8,
        Payload::Rgba16F,
        Payload::R16,
        Payload::Rg16,
        Payload::Rgba16,
    ];

    /// Returns true if the format has no variant with the sRGB transfer function.
    pub const fn is_linear_only(self) -> bool {
        match self {
            Payload::Uastc { .. } | Payload::Bc7 | Payload::Rgba8 | Payload::Bc1 | Payload::Bc3 => false,
            Payload::Astc4x4 | Payload::Etc2Rgb | Payload::Etc2Rgba => false,
            Payload::Rgba16F | Payload::Bc4 | Payload::Bc5 | Payload::Bc6h | Payload::Bc6hSigned => true,
            Payload::R16 | Payload::Rg16 | Payload::Rgba16 | Payload::EacR11 | Payload::EacRg11 => true,
        }
    }

    /// Returns true if the texels are half floats: HDR images.
    pub const fn is_float(self) -> bool {
        matches!(self, Payload::Rgba16F | Payload::Bc6h | Payload::Bc6hSigned)
    }

    /// Returns the `VkFormat`; 0 for UASTC.
    pub const fn vk_format(self, transfer: Transfer) -> u32 {
        match (self, transfer) {
            (Payload::Uastc { .. }, _) => 0,
            (Payload::Bc7, Transfer::Linear) => 145,
            (Payload::Bc7, Transfer::Srgb) => 146,
            (Payload::Rgba8, Transfer::Linear) => 37,
            (Payload::Rgba8, Transfer::Srgb) => 43,
            (Payload::Rgba16F, _) => 97,
            (Payload::Bc1, Transfer::Linear) => 133,
            (Payload::Bc1, Transfer::Srgb) => 134,
            (Payload::Bc3, Transfer::Linear) => 137,
            (Payload::Bc3, Transfer::Srgb) => 138,
            (Payload::Bc4, _) => 139,
            (Payload::Bc5, _) => 141,
            (Payload::R16, _) => 70,
            (Payload::Rg16, _) => 77,
            (Payload::Rgba16, _) => 91,
            (Payload::Astc4x4, Transfer::Linear) => 157,
            (Payload::Astc4x4, Transfer::Srgb) => 158,
            (Payload::Bc6h, _) => 143,
            (Payload::Bc6hSigned, _) => 144,
            (Payload::Etc2Rgb, Transfer::Linear) => 147,
            (Payload::Etc2Rgb, Transfer::Srgb) => 148,
            (Payload::Etc2Rgba, Transfer::Linear) => 151,
            (Payload::Etc2Rgba, Transfer::Srgb) => 152,
            (Payload::EacR11, _) => 153,
            (Payload::EacRg11, _) => 155,
        }
    }

    /// Returns the name of the format: that of the `VkFormat` without its prefix, or UASTC with its transfer function,
    /// because UASTC has no `VkFormat`.
    pub const fn name(self, transfer: Transfer) -> &'static str {
        match (self, transfer) {
            (Payload::Uastc { .. }, Transfer::Linear) => "UASTC LDR 4x4 linear",
            (Payload::Uastc { .. }, Transfer::Srgb) => "UASTC LDR 4x4 sRGB",
            (Payload::Bc7, Transfer::Linear) => "BC7_UNORM_BLOCK",
            (Payload::Bc7, Transfer::Srgb) => "BC7_SRGB_BLOCK",
            (Payload::Rgba8, Transfer::Linear) => "R8G8B8A8_UNORM",
            (Payload::Rgba8, Transfer::Srgb) => "R8G8B8A8_SRGB",
            (Payload::Rgba16F, _) => "R16G16B16A16_SFLOAT",
            (Payload::Bc1, Transfer::Linear) => "BC1_RGBA_UNORM_BLOCK",
            (Payload::Bc1, Transfer::Srgb) => "BC1_RGBA_SRGB_BLOCK",
            (Payload::Bc3, Transfer::Linear) => "BC3_UNORM_BLOCK",
            (Payload::Bc3, Transfer::Srgb) => "BC3_SRGB_BLOCK",
            (Payload::Bc4, _) => "BC4_UNORM_BLOCK",
            (Payload::Bc5, _) => "BC5_UNORM_BLOCK",
            (Payload::R16, _) => "R16_UNORM",
            (Payload::Rg16, _) => "R16G16_UNORM",
            (Payload::Rgba16, _) => "R16G16B16A16_UNORM",
            (Payload::Astc4x4, Transfer::Linear) => "ASTC_4x4_UNORM_BLOCK",
            (Payload::Astc4x4, Transfer::Srgb) => "ASTC_4x4_SRGB_BLOCK",
            (Payload::Bc6h, _) => "BC6H_UFLOAT_BLOCK",
            (Payload::Bc6hSigned, _) => "BC6H_SFLOAT_BLOCK",
            (Payload::Etc2Rgb, Transfer::Linear) => "ETC2_R8G8B8_UNORM_BLOCK",
            (Payload::Etc2Rgb, Transfer::Srgb) => "ETC2_R8G8B8_SRGB_BLOCK",
            (Payload::Etc2Rgba, Transfer::Linear) => "ETC2_R8G8B8A8_UNORM_BLOCK",
            (Payload::Etc2Rgba, Transfer::Srgb) => "ETC2_R8G8B8A8_SRGB_BLOCK",
            (Payload::EacR11, _) => "EAC_R11_UNORM_BLOCK",
            (Payload::EacRg11, _) => "EAC_R11G11_UNORM_BLOCK",
        }
    }

    /// Returns the channels that hold data.
    pub const fn channels(self) -> Channels {
        match self {
            Payload::Uastc { channels } => channels,
            Payload::Bc7 | Payload::Rgba8 | Payload::Rgba16F => Channels::Rgba,
            Payload::Bc1 | Payload::Bc3 | Payload::Rgba16 => Channels::Rgba,
            Payload::Astc4x4 | Payload::Etc2Rgba => Channels::Rgba,
            Payload::Bc6h | Payload::Bc6hSigned | Payload::Etc2Rgb => Channels::Rgb,
            Payload::Bc4 | Payload::R16 | Payload::EacR11 => Channels::Rrr,
            Payload::Bc5 | Payload::Rg16 | Payload::EacRg11 => Channels::Rg,
        }
    }

    /// Returns the size of a block in bytes; of a texel for uncompressed formats.
    pub const fn block_len(self) -> u64 {
        match self {
            Payload::Uastc { .. } | Payload::Bc7 | Payload::Bc3 | Payload::Bc5 => 16,
            Payload::Astc4x4 | Payload::Bc6h | Payload::Bc6hSigned => 16,
            Payload::Etc2Rgba | Payload::EacRg11 => 16,
            Payload::Rgba16F | Payload::Rgba16 | Payload::Bc1 | Payload::Bc4 => 8,
            Payload::Etc2Rgb | Payload::EacR11 => 8,
            Payload::Rgba8 | Payload::Rg16 => 4,
            Payload::R16 => 2,
        }
    }

    /// Returns the width and height of a block in texels.
    pub const fn block_side(self) -> u32 {
        match self {
            Payload::Rgba8 | Payload::Rgba16F | Payload::R16 | Payload::Rg16 | Payload::Rgba16 => 1,
            _ => 4,
        }
    }

    /// Returns the uncompressed size of one mip level in bytes, over all layers and faces, or `None` on
    /// overflow.
    pub fn level_len(self, shape: &Shape, level: u32) -> Option<u64> {
        let [w, h, d] = shape.level_dims(level);
        let blocks = u64::from(w.div_ceil(self.block_side())) * u64::from(h.div_ceil(self.block_side()));
        blocks.checked_mul(d.into())?.checked_mul(shape.images()?)?.checked_mul(self.block_len())
    }

    /// Returns the alignment of mip levels: the least common multiple of the block size and 4. With supercompression mip levels are unaligned.
    pub(super) const fn alignment(self, supercompression: Supercompression) -> u64 {
        match supercompression {
            // Block sizes are powers of two.
            Supercompression::None if self.block_len() < 4 => 4,
            Supercompression::None => self.block_len(),
            Supercompression::Zstd => 1,
        }
    }

    /// Returns `typeSize`: the size of the numbers that a big-endian machine would have to swap.
    pub(super) const fn type_size(self) -> u32 {
        match self {
            Payload::Rgba16F | Payload::R16 | Payload::Rg16 | Payload::Rgba16 => 2,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mip_levels_have_expected_sizes() {
        let uastc = Payload::Uastc { channels: Channels::Rgb };
        for (shape, levels) in [
            (Shape::flat(1, 1), 1),
            (Shape::flat(1024, 1024), 11),
            (Shape::flat(1023, 5), 10),
            (Shape::volume(2, 2, 9), 4),
            (Shape::flat(u32::MAX, 1), 32),
        ] {
            assert_eq!(shape.max_levels(), levels, "{shape:?}");
            assert_eq!(shape.level_dims(levels - 1), [1, 1, 1], "{shape:?}");
        }
        assert_eq!(Shape::flat(10, 6).level_dims(1), [5, 3, 1]);
        assert_eq!(Shape::flat(10, 6).level_dims(99), [1, 1, 1]);
        assert_eq!(uastc.level_len(&Shape::flat(10, 6), 0), Some(3 * 2 * 16));
        assert_eq!(uastc.level_len(&Shape::flat(10, 6), 3), Some(16));
        assert_eq!(uastc.level_len(&Shape::cube(8), 0), Some(4 * 16 * 6));
        assert_eq!(Payload::Rgba8.level_len(&Shape::array(3, 5, 7), 0), Some(3 * 5 * 7 * 4));
        assert_eq!(Payload::Rgba16F.level_len(&Shape::volume(33, 33, 33), 0), Some(33 * 33 * 33 * 8));
        let huge =
            Shape { width: u32::MAX, height: u32::MAX, depth: 0, layer_count: u32::MAX, face_count: 1 };
        assert_eq!(Payload::Rgba8.level_len(&huge, 0), None);
        assert_eq!(huge.level_texels(0), None);
    }
}
