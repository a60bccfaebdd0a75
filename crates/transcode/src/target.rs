//! The formats to transcode to, and the sizes of images in them.

/// A channel of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Red.
    Red = 0,
    /// Green.
    Green = 1,
    /// Blue.
    Blue = 2,
    /// Alpha.
    Alpha = 3,
}

/// A format to transcode to. Choose one that the GPU supports, in this order: [`Astc4x4`](Self::Astc4x4) and
/// [`Bc7`](Self::Bc7) are nearly free of loss, the others have half the quality or half the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// Uncompressed texels, four bytes each, in rows without padding: for GPUs without block compression, and for
    /// tools.
    Rgba8,
    /// ASTC 4x4: mobile GPUs. Without loss.
    Astc4x4,
    /// BC7: desktop GPUs.
    Bc7,
    /// BC1: opaque colours at half the size, for desktop GPUs. Alpha is dropped.
    Bc1,
    /// BC3: BC1 colours, and alpha as BC4.
    Bc3,
    /// BC4: one channel at half the size, for desktop GPUs.
    Bc4(Channel),
    /// BC5: two channels, for normal maps on desktop GPUs. Red and green for textures that `assetc` builds; red and
    /// alpha for those of encoders that store Y in alpha.
    Bc5([Channel; 2]),
    /// ETC1: opaque colours at half the size, for any mobile GPU. Alpha is dropped. ETC2 decoders read it too.
    Etc1,
    /// ETC2 with EAC alpha: mobile GPUs without ASTC.
    Etc2Rgba,
    /// EAC R11: one channel at half the size, for mobile GPUs without ASTC.
    EacR11(Channel),
    /// EAC RG11: two channels, for normal maps on mobile GPUs without ASTC.
    EacRg11([Channel; 2]),
}

impl Target {
    /// Returns the bytes of a 4x4 block: 8 or 16, or 64 for [`Target::Rgba8`].
    #[must_use]
    pub const fn block_bytes(self) -> usize {
        match self {
            Self::Rgba8 => 64,
            Self::Bc1 | Self::Bc4(_) | Self::Etc1 | Self::EacR11(_) => 8,
            _ => 16,
        }
    }

    /// Returns the bytes of an image in this format. Sides that are not multiples of four are padded to whole blocks,
    /// except for [`Target::Rgba8`]. `None` if they exceed the address space.
    #[must_use]
    pub const fn image_len(self, width: u32, height: u32) -> Option<usize> {
        let (columns, rows, bytes) = match self {
            Self::Rgba8 => (width as usize, height as usize, 4),
            _ => (width.div_ceil(4) as usize, height.div_ceil(4) as usize, self.block_bytes()),
        };
        match columns.checked_mul(rows) {
            Some(count) => count.checked_mul(bytes),
            None => None,
        }
    }

    /// Returns the `VkFormat` of the format; `srgb` for textures with colours in sRGB. Formats without an sRGB variant
    /// ignore it.
    #[must_use]
    pub const fn vk_format(self, srgb: bool) -> u32 {
        let (linear, with_srgb) = match self {
            Self::Rgba8 => (37, 43),
            Self::Bc1 => (131, 132),
            Self::Bc3 => (137, 138),
            Self::Bc4(_) => (139, 139),
            Self::Bc5(_) => (141, 141),
            Self::Bc7 => (145, 146),
            Self::Etc1 => (147, 148),
            Self::Etc2Rgba => (151, 152),
            Self::EacR11(_) => (153, 153),
            Self::EacRg11(_) => (155, 155),
            Self::Astc4x4 => (157, 158),
        };
        if srgb { with_srgb } else { linear }
    }
}
