//! Materials: which bitmaps a surface is made of.

use crate::BitmapId;

/// Which channels of a material's parameters mean something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MaterialParameterFlags(u8);

impl MaterialParameterFlags {
    /// Red: 0 is a dielectric, 1 a metal.
    pub const METAL: MaterialParameterFlags = MaterialParameterFlags(1);
    /// Green: 0 is a mirror, 1 is matt.
    pub const ROUGH: MaterialParameterFlags = MaterialParameterFlags(2);
    /// Blue: how far out the surface is.
    pub const HEIGHT: MaterialParameterFlags = MaterialParameterFlags(4);
    /// Alpha: how much light goes through.
    pub const TRANSMISSION: MaterialParameterFlags = MaterialParameterFlags(8);

    pub(crate) fn from_bits(bits: u8) -> MaterialParameterFlags {
        MaterialParameterFlags(bits & 15)
    }

    /// The bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether all of `other` are there.
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

/// What a surface looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaterialInfo {
    /// Colour and opacity, sRGB.
    pub color: BitmapId,
    /// Normals in tangent space, linear.
    pub normal: Option<BitmapId>,
    /// Emitted colour, sRGB.
    pub emissive: Option<BitmapId>,
    /// Metal, roughness, height and transmission in red, green, blue and alpha, linear.
    pub params: Option<BitmapId>,
    /// Which of them were asked for; the others are 0, 255, 0 and 0.
    pub params_used: MaterialParameterFlags,
    /// Whether the back is drawn too.
    pub double_sided: bool,
    /// Whether texels are there or not, by their alpha.
    pub alpha_test: bool,
    /// The least alpha that is there, with `alpha_test`.
    pub alpha_cutoff: f32,
}
