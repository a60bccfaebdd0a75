//! Material assets: PBR parameters and the bitmaps they refer to.

use crate::BitmapId;

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

    pub(crate) fn from_bits(bits: u8) -> MaterialParameterFlags {
        MaterialParameterFlags(bits & 31)
    }

    /// Returns the flags as a bit mask.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns `true` if all flags of `other` are set.
    pub const fn contains(self, other: MaterialParameterFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for MaterialParameterFlags {
    type Output = MaterialParameterFlags;

    fn bitor(self, other: MaterialParameterFlags) -> MaterialParameterFlags {
        MaterialParameterFlags(self.0 | other.0)
    }
}

/// A PBR material: its bitmaps and flags.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaterialInfo {
    /// Base color and alpha, sRGB.
    pub color: BitmapId,
    /// Tangent-space normal map, linear.
    pub normal: Option<BitmapId>,
    /// Emissive color bitmap, sRGB; the emitted light is that of the bitmap times `emissive_strength`.
    pub emissive: Option<BitmapId>,
    /// The factor of the emissive bitmap in linear light: 1, or more for emitters brighter than the bitmap can express.
    pub emissive_strength: f32,
    /// Metalness, roughness, height (or occlusion) and transmission in red, green, blue and alpha, linear.
    pub params: Option<BitmapId>,
    /// The parameter channels that the description set; the others hold their defaults 0, 255, 0 and 0.
    pub params_used: MaterialParameterFlags,
    /// Draws back faces too.
    pub double_sided: bool,
    /// Discards texels whose alpha is below `alpha_cutoff`.
    pub alpha_test: bool,
    /// Blends with the background by alpha.
    pub alpha_blend: bool,
    /// The alpha cutoff, used with `alpha_test`.
    pub alpha_cutoff: f32,
}
