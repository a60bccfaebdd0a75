//! Material assets: PBR parameters and the bitmaps they refer to.

use crate::BitmapId;

pub use kiln_format::pak::MaterialParameterFlags;

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
