//! What a texture is: its dimensions, how its texels are stored, and how many bytes that makes.

/// The dimensions of a texture, with zeros as the file has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Texels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Slices of a volume; 0 for everything else.
    pub depth: u32,
    /// Elements of an array; 0 for what is not an array.
    pub layer_count: u32,
    /// 6 for a cubemap, otherwise 1.
    pub face_count: u32,
}

impl Shape {
    /// A plain texture.
    pub const fn flat(width: u32, height: u32) -> Shape {
        Shape { width, height, depth: 0, layer_count: 0, face_count: 1 }
    }

    /// An array of textures.
    pub const fn array(width: u32, height: u32, layer_count: u32) -> Shape {
        Shape { width, height, depth: 0, layer_count, face_count: 1 }
    }

    /// A cubemap: faces +X, -X, +Y, -Y, +Z, -Z.
    pub const fn cube(side: u32) -> Shape {
        Shape { width: side, height: side, depth: 0, layer_count: 0, face_count: 6 }
    }

    /// A volume.
    pub const fn volume(width: u32, height: u32, depth: u32) -> Shape {
        Shape { width, height, depth, layer_count: 0, face_count: 1 }
    }

    /// What it is called.
    pub const fn name(&self) -> &'static str {
        match (self.depth, self.face_count, self.layer_count) {
            (0, 6, 0) => "Cube",
            (0, 6, _) => "Cube array",
            (0, _, 0) => "2D",
            (0, _, _) => "2D array",
            _ => "3D",
        }
    }

    /// The levels of a full chain, down to one texel.
    pub fn max_levels(&self) -> u32 {
        u32::BITS - self.width.max(self.height).max(self.depth).leading_zeros()
    }

    /// Width, height and depth of a level, each at least one.
    pub fn level_dims(&self, level: u32) -> [u32; 3] {
        [self.width, self.height, self.depth].map(|side| side.checked_shr(level).unwrap_or(0).max(1))
    }

    /// Texels of a level in all layers and faces, or `None` past 2^64.
    pub fn level_texels(&self, level: u32) -> Option<u64> {
        let [w, h, d] = self.level_dims(level).map(u64::from);
        w.checked_mul(h)?.checked_mul(d)?.checked_mul(self.images()?)
    }

    /// Layers times faces.
    pub(super) fn images(&self) -> Option<u64> {
        u64::from(self.layer_count.max(1)).checked_mul(self.face_count.into())
    }
}

/// Which channels hold something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Channels {
    /// Opaque colour.
    Rgb = 0,
    /// Colour and alpha.
    Rgba = 3,
    /// One value, in red, green and blue alike.
    Rrr = 4,
    /// Two values: one in red, green and blue alike, the other in alpha.
    Rrrg = 5,
    /// Two values, in red and green.
    Rg = 6,
}

impl Channels {
    /// All of them.
    pub const ALL: [Channels; 5] =
        [Channels::Rgb, Channels::Rgba, Channels::Rrr, Channels::Rrrg, Channels::Rg];

    /// Their name, in capitals.
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

/// How colours are stored. Alpha is linear always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Transfer {
    /// As they are.
    Linear = 1,
    /// With the sRGB transfer function.
    Srgb = 2,
}

impl Transfer {
    /// Its name, as people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Transfer::Linear => "linear",
            Transfer::Srgb => "sRGB",
        }
    }
}

/// How levels are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supercompression {
    /// Not at all.
    None,
    /// One Zstandard frame each.
    Zstd,
}

impl Supercompression {
    pub(super) const ALL: [Supercompression; 2] = [Supercompression::None, Supercompression::Zstd];

    /// Its number in the file.
    pub const fn scheme(self) -> u32 {
        match self {
            Supercompression::None => 0,
            Supercompression::Zstd => 2,
        }
    }

    /// Its name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Supercompression::None => "none",
            Supercompression::Zstd => "zstd",
        }
    }
}

/// How texels are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// UASTC LDR 4x4: blocks of 4×4 texels in 16 bytes, to be transcoded to what the GPU has.
    Uastc {
        /// Which channels hold something.
        channels: Channels,
    },
    /// BC7: blocks of 4×4 texels in 16 bytes, which desktop GPUs read as they are.
    Bc7,
    /// Four bytes a texel.
    Rgba8,
    /// Four half floats a texel; linear only.
    Rgba16F,
}

impl Payload {
    /// The `VkFormat`; 0 for UASTC.
    pub const fn vk_format(self, transfer: Transfer) -> u32 {
        match (self, transfer) {
            (Payload::Uastc { .. }, _) => 0,
            (Payload::Bc7, Transfer::Linear) => 145,
            (Payload::Bc7, Transfer::Srgb) => 146,
            (Payload::Rgba8, Transfer::Linear) => 37,
            (Payload::Rgba8, Transfer::Srgb) => 43,
            (Payload::Rgba16F, _) => 97,
        }
    }

    /// The name of the `VkFormat`, without its prefix.
    pub const fn name(self, transfer: Transfer) -> &'static str {
        match (self, transfer) {
            (Payload::Uastc { .. }, _) => "UNDEFINED (UASTC/Basis)",
            (Payload::Bc7, Transfer::Linear) => "BC7_UNORM_BLOCK",
            (Payload::Bc7, Transfer::Srgb) => "BC7_SRGB_BLOCK",
            (Payload::Rgba8, Transfer::Linear) => "R8G8B8A8_UNORM",
            (Payload::Rgba8, Transfer::Srgb) => "R8G8B8A8_SRGB",
            (Payload::Rgba16F, _) => "R16G16B16A16_SFLOAT",
        }
    }

    /// Which channels hold something.
    pub const fn channels(self) -> Channels {
        match self {
            Payload::Uastc { channels } => channels,
            Payload::Bc7 | Payload::Rgba8 | Payload::Rgba16F => Channels::Rgba,
        }
    }

    /// Bytes of a block of texels: of a single texel where there are no blocks.
    pub const fn block_len(self) -> u64 {
        match self {
            Payload::Uastc { .. } | Payload::Bc7 => 16,
            Payload::Rgba8 => 4,
            Payload::Rgba16F => 8,
        }
    }

    /// Texels of a block in width and height.
    pub const fn block_side(self) -> u32 {
        match self {
            Payload::Uastc { .. } | Payload::Bc7 => 4,
            Payload::Rgba8 | Payload::Rgba16F => 1,
        }
    }

    /// The bytes of one level in all layers and faces, not supercompressed, or `None` past 2^64.
    pub fn level_len(self, shape: &Shape, level: u32) -> Option<u64> {
        let [w, h, d] = shape.level_dims(level);
        let blocks = u64::from(w.div_ceil(self.block_side())) * u64::from(h.div_ceil(self.block_side()));
        blocks.checked_mul(d.into())?.checked_mul(shape.images()?)?.checked_mul(self.block_len())
    }

    /// What a level's offset is a multiple of: the least common multiple of block and 4, which is the block
    /// for every payload here; under supercompression levels are packed tightly.
    pub(super) const fn alignment(self, supercompression: Supercompression) -> u64 {
        match supercompression {
            Supercompression::None => self.block_len(),
            Supercompression::Zstd => 1,
        }
    }

    /// Bytes of the numbers that a big-endian machine would have to swap.
    pub(super) const fn type_size(self) -> u32 {
        match self {
            Payload::Uastc { .. } | Payload::Bc7 | Payload::Rgba8 => 1,
            Payload::Rgba16F => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_counted_and_sized() {
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
