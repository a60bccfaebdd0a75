//! The words of a pak: kinds of assets, codecs, samples of bitmaps, attributes of vertices.

/// What an asset is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Keys over time.
    Animation = 0,
    /// Texels.
    Bitmap = 1,
    /// A bitmap font.
    BitmapFont = 2,
    /// Any bytes.
    Blob = 3,
    /// What a surface looks like.
    Material = 4,
    /// Triangles.
    Mesh = 5,
    /// Places.
    Scene = 6,
}

impl Kind {
    /// All kinds, in order of their numbers.
    pub const ALL: [Kind; 7] = [
        Kind::Animation,
        Kind::Bitmap,
        Kind::BitmapFont,
        Kind::Blob,
        Kind::Material,
        Kind::Mesh,
        Kind::Scene,
    ];

    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(number)).copied()
    }

    /// What it is called, as in an asset's table: `bitmap-font`.
    pub const fn name(self) -> &'static str {
        ["animation", "bitmap", "bitmap-font", "blob", "material", "mesh", "scene"][self as usize]
    }
}

/// How blocks are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Codec {
    /// As they are.
    #[default]
    None = 0,
    /// Snappy, the raw format without frames.
    Snap = 1,
    /// Brotli (RFC 7932).
    Brotli = 2,
    /// One Zstandard frame (RFC 8878).
    Zstd = 3,
    /// One LZ4 block, without a frame.
    Lz4 = 4,
}

impl Codec {
    /// All codecs, in order of their numbers.
    pub const ALL: [Codec; 5] = [Codec::None, Codec::Snap, Codec::Brotli, Codec::Zstd, Codec::Lz4];

    /// The codec with this number.
    pub fn from_number(number: u8) -> Option<Codec> {
        Codec::ALL.get(usize::from(number)).copied()
    }

    /// What it is called in a configuration.
    pub const fn name(self) -> &'static str {
        ["none", "snap", "brotli", "zstd", "lz4"][self as usize]
    }
}

/// What the numbers of a bitmap mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Color {
    /// In proportion to light, or no colour at all.
    Linear = 0,
    /// sRGB.
    #[default]
    Srgb = 1,
}

impl Color {
    /// Both, in order of their numbers.
    pub const ALL: [Color; 2] = [Color::Linear, Color::Srgb];

    /// What it is called in a configuration.
    pub const fn name(self) -> &'static str {
        ["linear", "srgb"][self as usize]
    }
}

/// One channel of a texel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Sample {
    /// 0 to 255.
    #[default]
    U8 = 0,
    /// 0 to 65535.
    U16 = 1,
    /// A float.
    F32 = 2,
}

impl Sample {
    /// All, in order of their numbers.
    pub const ALL: [Sample; 3] = [Sample::U8, Sample::U16, Sample::F32];

    /// Bytes of one.
    pub const fn byte_len(self) -> u32 {
        [1, 2, 4][self as usize]
    }

    /// What it is called.
    pub const fn name(self) -> &'static str {
        ["u8", "u16", "f32"][self as usize]
    }
}

/// How a bitmap's texels are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Encoding {
    /// Texel by texel.
    #[default]
    Raw = 0,
    /// As a KTX2 file.
    Ktx2 = 1,
}

impl Encoding {
    /// Both, in order of their numbers.
    pub const ALL: [Encoding; 2] = [Encoding::Raw, Encoding::Ktx2];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        ["raw", "ktx2"][self as usize]
    }
}

/// What a primitive is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    /// To be seen.
    #[default]
    Main = 0,
    /// Positions alone, for shadows: the same triangles as the main primitive before it.
    Shadow = 1,
}

impl Role {
    /// Both, in order of their numbers.
    pub const ALL: [Role; 2] = [Role::Main, Role::Shadow];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        ["main", "shadow"][self as usize]
    }
}

/// The attributes of a vertex, interleaved in this order: position, normal, first and second texture coordinates,
/// tangent, joints, weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VertexType(u16);

impl VertexType {
    /// Three floats; every vertex has them.
    pub const POSITION: VertexType = VertexType(1);
    /// Four joints and four weights, a byte each; weights are fractions of 255 and sum to it.
    pub const JOINTS_WEIGHTS: VertexType = VertexType(1 | 2);
    /// Three floats of unit length.
    pub const NORMAL: VertexType = VertexType(1 | 4);
    /// Four floats: a unit vector, and the sign of the bitangent `cross(normal, tangent) * w`.
    pub const TANGENT: VertexType = VertexType(1 | 8);
    /// Two floats from the top left.
    pub const TEXTURE0: VertexType = VertexType(1 | 16);
    /// Two floats from the top left.
    pub const TEXTURE1: VertexType = VertexType(1 | 32);
    /// Joints and weights whose joints have two bytes each, for skins of more than 256.
    pub const JOINTS16_WEIGHTS: VertexType = VertexType(1 | 2 | 64);

    /// The attributes with these bits; `None` when some mean nothing or positions are missing.
    pub fn from_bits(bits: u16) -> Option<VertexType> {
        let known = bits & 1 == 1 && bits < 128 && (bits & 64 == 0 || bits & 2 != 0);
        known.then_some(VertexType(bits))
    }

    /// The bits.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether all attributes of `other` are there.
    pub const fn contains(self, other: VertexType) -> bool {
        self.0 & other.0 == other.0
    }

    /// Bytes of a vertex.
    pub const fn stride(self) -> u32 {
        self.offset(128)
    }

    /// Bytes before the joints.
    pub const fn joints_offset(self) -> u32 {
        self.offset(2)
    }

    /// Bytes of the attributes that come before the one with this bit.
    const fn offset(self, bit: u16) -> u32 {
        const ORDER: [(u16, u32); 6] = [(1, 12), (4, 12), (16, 8), (32, 8), (8, 16), (2, 8)];
        let (mut at, mut bytes) = (0, 0);
        while at < ORDER.len() && ORDER[at].0 != bit {
            if self.0 & ORDER[at].0 != 0 {
                bytes += ORDER[at].1;
            }
            at += 1;
        }
        if bit == 128 && self.0 & 64 != 0 { bytes + 4 } else { bytes }
    }
}

impl core::ops::BitOr for VertexType {
    type Output = VertexType;

    fn bitor(self, other: VertexType) -> VertexType {
        VertexType(self.0 | other.0)
    }
}

impl core::ops::BitOrAssign for VertexType {
    fn bitor_assign(&mut self, other: VertexType) {
        self.0 |= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places() {
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            assert_eq!(Kind::from_number(number as u8), Some(kind));
        }
        for (number, codec) in Codec::ALL.into_iter().enumerate() {
            assert_eq!((codec as usize, Codec::from_number(number as u8)), (number, Some(codec)));
        }
        assert_eq!((Kind::from_number(7), Codec::from_number(5)), (None, None));
    }

    #[test]
    fn strides_are_the_sums_of_attributes() {
        let all = VertexType::NORMAL | VertexType::TEXTURE0 | VertexType::TEXTURE1 | VertexType::TANGENT;
        assert_eq!(VertexType::POSITION.stride(), 12);
        assert_eq!(all.stride(), 56);
        assert_eq!((all | VertexType::JOINTS_WEIGHTS).stride(), 64);
        assert_eq!((all | VertexType::JOINTS16_WEIGHTS).stride(), 68);
        assert_eq!((all | VertexType::JOINTS16_WEIGHTS).joints_offset(), 56);
        assert!(all.contains(VertexType::NORMAL) && !all.contains(VertexType::JOINTS_WEIGHTS));
        assert_eq!(VertexType::from_bits(65), None);
        assert_eq!(VertexType::from_bits(2), None);
        assert_eq!(VertexType::from_bits(67).map(VertexType::stride), Some(24));
    }
}
