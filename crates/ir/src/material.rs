//! Materials: factors and textures of the metallic-roughness model, and the pictures they use.

use crate::valid::{Flaw, check_id};

/// Which material of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MaterialId(pub u32);

/// Which picture of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageId(pub u32);

/// What a texture is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// Colour and opacity, in sRGB.
    BaseColor,
    /// Roughness in green, metalness in blue, linear.
    MetallicRoughness,
    /// Normals in tangent space, linear, green upwards.
    Normal,
    /// Ambient occlusion in red, linear.
    Occlusion,
    /// Emitted colour, in sRGB.
    Emissive,
}

impl Slot {
    /// All slots, in the order in which pictures count as used.
    pub const ALL: [Slot; 5] =
        [Slot::BaseColor, Slot::MetallicRoughness, Slot::Normal, Slot::Occlusion, Slot::Emissive];

    /// What it is called: `base colour`.
    pub fn name(self) -> &'static str {
        match self {
            Slot::BaseColor => "base colour",
            Slot::MetallicRoughness => "metallic-roughness",
            Slot::Normal => "normal",
            Slot::Occlusion => "occlusion",
            Slot::Emissive => "emissive",
        }
    }
}

/// What alpha means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlphaMode {
    /// Nothing.
    #[default]
    Opaque,
    /// A texel is there or not, decided by the cut-off.
    Mask,
    /// Coverage.
    Blend,
}

/// What a surface looks like.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// As the source has it; empty when it has none.
    pub name: String,
    /// Linear RGBA, multiplied with the texture.
    pub base_color_factor: [f32; 4],
    /// Linear RGB, multiplied with the texture; above one for strong emitters.
    pub emissive_factor: [f32; 3],
    /// 0 is a dielectric, 1 a metal.
    pub metallic_factor: f32,
    /// 0 is a mirror, 1 is matt.
    pub roughness_factor: f32,
    /// How strong the normal texture is.
    pub normal_scale: f32,
    /// How strong the occlusion texture is.
    pub occlusion_strength: f32,
    /// What alpha means.
    pub alpha_mode: AlphaMode,
    /// The least alpha that is there, with [`AlphaMode::Mask`].
    pub alpha_cutoff: f32,
    /// Whether the back is drawn too.
    pub double_sided: bool,
    /// The pictures, by slot.
    pub textures: [Option<ImageId>; 5],
    /// What the source says beyond all this, by the names it uses there.
    pub lost: Vec<String>,
}

/// White, rough metal: what a material is where a source says nothing (glTF 2.0, 5.19 and 5.22).
impl Default for Material {
    fn default() -> Material {
        Material {
            name: String::new(),
            base_color_factor: [1.0; 4],
            emissive_factor: [0.0; 3],
            metallic_factor: 1.0,
            roughness_factor: 1.0,
            normal_scale: 1.0,
            occlusion_strength: 1.0,
            alpha_mode: AlphaMode::Opaque,
            alpha_cutoff: 0.5,
            double_sided: false,
            textures: [None; 5],
            lost: Vec::new(),
        }
    }
}

impl Material {
    /// The picture in a slot.
    pub fn texture(&self, slot: Slot) -> Option<ImageId> {
        self.textures[slot as usize]
    }

    /// The slots that have a picture, in the order in which pictures count as used.
    pub fn textures(&self) -> impl Iterator<Item = (Slot, ImageId)> {
        Slot::ALL.into_iter().filter_map(|slot| Some((slot, self.texture(slot)?)))
    }

    pub(crate) fn check(&self, images: usize) -> Result<(), Flaw> {
        let factors = [
            self.metallic_factor,
            self.roughness_factor,
            self.normal_scale,
            self.occlusion_strength,
            self.alpha_cutoff,
        ];
        let colours = self.base_color_factor.iter().chain(&self.emissive_factor);
        if !colours.chain(&factors).all(|v| v.is_finite()) {
            return Err(Flaw::new("factors", "one is not finite"));
        }
        self.textures().try_for_each(|(slot, image)| check_id(image.0, images, slot.name()))
    }
}

/// A picture as a source has it, not yet decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageSource {
    /// As the source has it; empty when it has none.
    pub name: String,
    /// What the source says it is, as a file extension in lower case: `png`, `ktx2`; empty when it does not say.
    pub extension: String,
    /// Where it comes from: the path of a file of its own, or empty when it is part of the source.
    pub path: String,
    /// The encoded picture; empty when nothing that is drawn uses it.
    pub bytes: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_indices_in_the_order_of_use() {
        for (index, slot) in Slot::ALL.into_iter().enumerate() {
            assert_eq!(slot as usize, index);
        }
        let mut material = Material::default();
        material.textures[Slot::Normal as usize] = Some(ImageId(7));
        material.textures[Slot::BaseColor as usize] = Some(ImageId(9));
        assert_eq!(material.texture(Slot::Normal), Some(ImageId(7)));
        let used: Vec<_> = material.textures().collect();
        assert_eq!(used, [(Slot::BaseColor, ImageId(9)), (Slot::Normal, ImageId(7))]);
        assert_eq!(material.check(10), Ok(()));
        assert_eq!(material.check(9).unwrap_err().at, "base colour");
    }

    #[test]
    fn factors_are_finite() {
        let bad = Material { roughness_factor: f32::NAN, ..Material::default() };
        assert_eq!(bad.check(0).unwrap_err().at, "factors");
    }
}
