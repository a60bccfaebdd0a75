//! Materials: factors and textures of the metallic-roughness model, and the images they use.

use crate::material_extensions::{MaterialExtensions, TextureMapping};
use crate::valid::{ValidationError, check_id};

/// The index of a material in [`Scene::materials`](crate::Scene::materials).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MaterialId(pub u32);

/// The index of an image in [`Scene::images`](crate::Scene::images).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageId(pub u32);

/// The purpose of a texture in a material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// Base colour and alpha, in sRGB.
    BaseColor,
    /// Roughness in the green channel, metalness in the blue one, linear.
    MetallicRoughness,
    /// Tangent-space normals, linear, green upwards (+Y).
    Normal,
    /// Ambient occlusion in the red channel, linear.
    Occlusion,
    /// Emitted colour, in sRGB.
    Emissive,
}

impl Slot {
    /// All slots, in the order in which images are listed as used.
    pub const ALL: [Slot; 5] =
        [Slot::BaseColor, Slot::MetallicRoughness, Slot::Normal, Slot::Occlusion, Slot::Emissive];

    /// Returns the name of the slot in messages: `base colour`.
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

/// The interpretation of alpha.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlphaMode {
    /// Alpha is ignored.
    #[default]
    Opaque,
    /// Alpha test: a texel is opaque or discarded, decided by the alpha cutoff.
    Mask,
    /// Alpha blending.
    Blend,
}

/// A metallic-roughness material.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// The name in the source; empty when the source has none.
    pub name: String,
    /// The linear RGBA factor of the base colour texture.
    pub base_color_factor: [f32; 4],
    /// The linear RGB factor of the emissive texture; above one for strong emitters.
    pub emissive_factor: [f32; 3],
    /// The metalness: 0 for a dielectric, 1 for a metal.
    pub metallic_factor: f32,
    /// The roughness: 0 for a mirror, 1 for a fully rough surface.
    pub roughness_factor: f32,
    /// The factor of X and Y of the normal texture.
    pub normal_scale: f32,
    /// The strength of the occlusion texture, from 0 to 1.
    pub occlusion_strength: f32,
    /// The interpretation of alpha.
    pub alpha_mode: AlphaMode,
    /// The alpha cutoff of [`AlphaMode::Mask`]: texels with less alpha are discarded.
    pub alpha_cutoff: f32,
    /// Disables back-face culling.
    pub double_sided: bool,
    /// The images, indexed by [`Slot`].
    pub textures: [Option<ImageId>; 5],
    /// The share of light that passes through the surface, from 0 to 1 (`KHR_materials_transmission`).
    pub transmission_factor: f32,
    /// The image whose red channel multiplies the transmission factor, linear.
    pub transmission_texture: Option<ImageId>,
    /// The UVs and the sampler of each texture, indexed by [`Slot`]. The default unless the importer is asked for them.
    pub mappings: [TextureMapping; 5],
    /// The UVs and the sampler of the transmission texture.
    pub transmission_mapping: TextureMapping,
    /// Properties beyond the metallic-roughness model. The default unless the importer is asked for them.
    pub extensions: MaterialExtensions,
    /// The application-specific data of the source, as JSON text; empty when there is none.
    pub extras: String,
    /// The names of the source's material properties that this model cannot represent.
    pub unsupported: Vec<String>,
}

/// White, rough metal: the defaults of glTF 2.0 (5.19 and 5.22).
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
            transmission_factor: 0.0,
            transmission_texture: None,
            mappings: [TextureMapping::default(); 5],
            transmission_mapping: TextureMapping::default(),
            extensions: MaterialExtensions::default(),
            extras: String::new(),
            unsupported: Vec::new(),
        }
    }
}

impl Material {
    /// Returns the image in a slot.
    pub fn texture(&self, slot: Slot) -> Option<ImageId> {
        self.textures[slot as usize]
    }

    /// Returns the slots that have an image, in the order of [`Slot::ALL`].
    pub fn textures(&self) -> impl Iterator<Item = (Slot, ImageId)> {
        Slot::ALL.into_iter().filter_map(|slot| Some((slot, self.texture(slot)?)))
    }

    /// Returns every image that the material uses: those of its slots, the transmission texture, and those of its
    /// extensions.
    pub fn images(&self) -> impl Iterator<Item = ImageId> {
        let extensions = self.extensions.textures().map(|(_, info)| info.image);
        self.textures().map(|(_, image)| image).chain(self.transmission_texture).chain(extensions)
    }

    pub(crate) fn check(&self, images: usize) -> Result<(), ValidationError> {
        let factors = [
            self.metallic_factor,
            self.roughness_factor,
            self.normal_scale,
            self.occlusion_strength,
            self.alpha_cutoff,
            self.transmission_factor,
        ];
        let colours = self.base_color_factor.iter().chain(&self.emissive_factor);
        if !colours.chain(&factors).all(|v| v.is_finite()) {
            return Err(ValidationError::new("factors", "a factor is not finite"));
        }
        self.textures().try_for_each(|(slot, image)| check_id(image.0, images, slot.name()))?;
        for (slot, mapping) in Slot::ALL.into_iter().zip(&self.mappings) {
            mapping.check(slot.name())?;
        }
        self.transmission_mapping.check("transmission")?;
        self.extensions.check(images)?;
        self.transmission_texture.map_or(Ok(()), |image| check_id(image.0, images, "transmission"))
    }
}

/// An encoded image as the source contains it, not yet decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageSource {
    /// The name in the source; empty when the source has none.
    pub name: String,
    /// The format that the source states, as a file extension in lower case: `png`, `ktx2`; empty when it states none.
    pub extension: String,
    /// The path of the image file, or empty when the image is embedded in the source.
    pub path: String,
    /// The bytes of the encoded image; empty when nothing that is drawn uses it.
    pub bytes: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_indices_into_textures() {
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
    fn rejects_factors_that_are_not_finite() {
        let bad = Material { roughness_factor: f32::NAN, ..Material::default() };
        assert_eq!(bad.check(0).unwrap_err().at, "factors");
    }
}
