//! The enumerations of a pak: asset kinds, codecs, sample types of bitmaps, vertex attributes.

use super::flags::flags;
use crate::numbered::numbered;

numbered! {
    /// The kind of an asset, with its name in an asset's configuration.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Kind: u8 {
        /// Keyframe animation of named nodes.
        Animation = "animation",
        /// A bitmap with its mip chain.
        Bitmap = "bitmap",
        /// A bitmap font with its pages.
        BitmapFont = "bitmap-font",
        /// Arbitrary bytes, stored unchanged.
        Blob = "blob",
        /// A material with references to bitmaps.
        Material = "material",
        /// A triangle mesh with its LODs.
        Mesh = "mesh",
        /// A scene of references and geometries.
        Scene = "scene",
    }
}

numbered! {
    /// The compression codec of blocks, with its name in a configuration.
    #[derive(Default, PartialOrd, Ord, Hash)]
    pub enum Codec: u8 {
        /// No compression: blocks are stored.
        #[default]
        None = "none",
        /// Snappy, the raw format without frames.
        Snap = "snap",
        /// Brotli (RFC 7932).
        Brotli = "brotli",
        /// One Zstandard frame (RFC 8878).
        Zstd = "zstd",
        /// One LZ4 block, without a frame.
        Lz4 = "lz4",
    }
}

numbered! {
    /// The colour space of a bitmap.
    #[derive(Default, Hash)]
    pub enum Color: u8 {
        /// Linear colour, or data.
        Linear = "linear",
        /// The sRGB transfer function.
        #[default]
        Srgb = "srgb",
    }
}

numbered! {
    /// The sample type of a channel.
    #[derive(Default, Hash)]
    pub enum Sample: u8 {
        /// An unsigned byte, 0 to 255.
        #[default]
        U8 = "u8",
        /// A 16-bit unsigned integer, 0 to 65535.
        U16 = "u16",
        /// A 32-bit floating-point number.
        F32 = "f32",
    }
}

impl Sample {
    /// Returns the size in bytes.
    pub const fn byte_len(self) -> u32 {
        [1, 2, 4][self as usize]
    }
}

numbered! {
    /// The encoding of a bitmap's texels.
    #[derive(Default, Hash)]
    pub enum Encoding: u8 {
        /// Uncompressed texels, row by row.
        #[default]
        Raw = "raw",
        /// A complete KTX2 file.
        Ktx2 = "ktx2",
    }
}

numbered! {
    /// The role of a primitive.
    #[derive(Default, Hash)]
    pub enum Role: u8 {
        /// Geometry to be rendered.
        #[default]
        Main = "main",
        /// Position-only geometry for shadow maps: the same triangles as the preceding main primitive.
        Shadow = "shadow",
    }
}

/// The attributes of a vertex, interleaved in this order: position, normal, first and second UV set, tangent,
/// joint indices, joint weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VertexType(u16);

impl VertexType {
    /// Position: three floats; every vertex has one.
    pub const POSITION: VertexType = VertexType(1);
    /// Four joint indices and four joint weights, a byte each; weights are in units of 1/255 and sum to 255.
    pub const JOINTS_WEIGHTS: VertexType = VertexType(1 | 2);
    /// Normal: three floats of unit length.
    pub const NORMAL: VertexType = VertexType(1 | 4);
    /// Tangent: four floats, a unit vector and the sign of the bitangent `cross(normal, tangent) * w`.
    pub const TANGENT: VertexType = VertexType(1 | 8);
    /// First UV set: two floats, origin at the top left.
    pub const TEXTURE0: VertexType = VertexType(1 | 16);
    /// Second UV set: two floats, origin at the top left.
    pub const TEXTURE1: VertexType = VertexType(1 | 32);
    /// Joint indices of two bytes each, and joint weights: for skins of more than 256 joints.
    pub const JOINTS16_WEIGHTS: VertexType = VertexType(1 | 2 | 64);

    /// Returns the attributes with these bits; `None` if a bit is unknown or positions are missing.
    pub fn from_bits(bits: u16) -> Option<VertexType> {
        let known = bits & 1 == 1 && bits < 128 && (bits & 64 == 0 || bits & 2 != 0);
        known.then_some(VertexType(bits))
    }

    /// Returns the size of a vertex in bytes.
    pub const fn stride(&self) -> usize {
        self.offset(128)
    }

    /// Returns the offset of the joint indices in a vertex, in bytes.
    pub const fn joints_offset(&self) -> usize {
        self.offset(2)
    }

    /// Returns the total size in bytes of the attributes before the one with this bit.
    const fn offset(&self, bit: u16) -> usize {
        const ORDER: [(u16, usize); 6] = [(1, 12), (4, 12), (16, 8), (32, 8), (8, 16), (2, 8)];
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

flags!(
    VertexType,
    u16,
    127,
    [POSITION, JOINTS_WEIGHTS, NORMAL, TANGENT, TEXTURE0, TEXTURE1, JOINTS16_WEIGHTS,]
);

/// The channels of a material's parameter bitmap that the description set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MaterialParameterFlags(u8);

impl MaterialParameterFlags {
    /// Red channel, metalness: 0 is a dielectric, 1 a metal.
    pub const METAL: MaterialParameterFlags = MaterialParameterFlags(1);
    /// Green channel, roughness: 0 is perfectly smooth, 1 fully rough.
    pub const ROUGH: MaterialParameterFlags = MaterialParameterFlags(2);
    /// Blue channel: height (displacement).
    pub const HEIGHT: MaterialParameterFlags = MaterialParameterFlags(4);
    /// Alpha channel: transmission, from 0 (opaque) to 1.
    pub const TRANSMISSION: MaterialParameterFlags = MaterialParameterFlags(8);
    /// Blue channel instead of height, ambient occlusion: 0 is fully occluded, 1 unoccluded.
    pub const OCCLUSION: MaterialParameterFlags = MaterialParameterFlags(16);

    /// Returns the set with these bits; `None` if a bit is undefined.
    pub const fn from_bits(bits: u8) -> Option<MaterialParameterFlags> {
        if bits < 32 { Some(MaterialParameterFlags(bits)) } else { None }
    }
}

flags!(MaterialParameterFlags, u8, 31, [METAL, ROUGH, HEIGHT, TRANSMISSION, OCCLUSION]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_indices_into_all() {
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
    fn stride_is_sum_of_attribute_sizes() {
        let all = VertexType::NORMAL | VertexType::TEXTURE0 | VertexType::TEXTURE1 | VertexType::TANGENT;
        assert_eq!(VertexType::POSITION.stride(), 12);
        assert_eq!(all.stride(), 56);
        assert_eq!((all | VertexType::JOINTS_WEIGHTS).stride(), 64);
        assert_eq!((all | VertexType::JOINTS16_WEIGHTS).stride(), 68);
        assert_eq!((all | VertexType::JOINTS16_WEIGHTS).joints_offset(), 56);
        assert!(all.contains(VertexType::NORMAL) && !all.contains(VertexType::JOINTS_WEIGHTS));
        assert_eq!(VertexType::from_bits(65), None);
        assert_eq!(VertexType::from_bits(2), None);
        assert_eq!(VertexType::from_bits(67).map(|vertex| vertex.stride()), Some(24));
    }

    #[test]
    fn flags_are_sets() {
        type Flags = MaterialParameterFlags;
        let mut set = Flags::METAL | Flags::HEIGHT;
        assert!(set.intersects(Flags::HEIGHT) && !set.contains(Flags::ROUGH) && !set.is_all());
        set.set(Flags::ROUGH, true);
        set.toggle(Flags::METAL);
        assert_eq!((set, set.bits()), (Flags::ROUGH | Flags::HEIGHT, 6));
        assert_eq!(set - Flags::HEIGHT, Flags::ROUGH);
        assert_eq!((set & Flags::ROUGH) ^ Flags::METAL, Flags::METAL | Flags::ROUGH);
        assert_eq!(!Flags::all(), Flags::empty());
        assert_eq!(
            set.iter_names().map(|(name, _)| name).collect::<alloc::vec::Vec<_>>(),
            ["ROUGH", "HEIGHT"]
        );
        assert_eq!(Flags::from_name("OCCLUSION"), Some(Flags::OCCLUSION));
        assert_eq!((Flags::from_bits(32), Flags::from_bits_truncate(0xff)), (None, Flags::all()));
    }
}
