//! Properties of materials beyond the metallic-roughness model, named as in the glTF extensions that define them, and
//! the mapping of textures: UV set, transform and sampler.

use crate::material::ImageId;
use crate::valid::{ValidationError, check_id};

/// An image as a material uses it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextureInfo {
    /// The image.
    pub image: ImageId,
    /// The UVs and the sampler.
    pub mapping: TextureMapping,
}

/// The UVs of a texture and its sampler.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TextureMapping {
    /// The number of the UV set of a primitive: 0 for `uv0`, 1 for `uv1`, from 2 on for `further_uvs`.
    pub uv_set: u32,
    /// The transform from that UV set to the UVs of the texture.
    pub transform: UvTransform,
    /// The filters and wrap modes.
    pub sampler: Sampler,
}

/// An affine transform of UVs: `(u, v)` becomes `(a·u + b·v + c, d·u + e·v + f)` for the rows `[a, b, c]` and
/// `[d, e, f]`. Affine, because the transform of a texture may be relative to UVs that have been transformed already.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UvTransform {
    /// The two rows.
    pub rows: [[f32; 3]; 2],
}

impl UvTransform {
    /// The transform that changes nothing.
    pub const IDENTITY: UvTransform = UvTransform { rows: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] };

    /// Returns the transform of UVs as a scale, then a rotation, then an offset (`KHR_texture_transform`). The
    /// rotation is counter-clockwise in radians, as seen on an image with v growing downwards.
    pub fn from_parts(offset: [f32; 2], rotation: f32, scale: [f32; 2]) -> UvTransform {
        let angle = f64::from(rotation);
        let (sin, cos) = if rotation == 0.0 { (0.0, 1.0) } else { (libm::sin(angle), libm::cos(angle)) };
        let [sx, sy] = scale.map(f64::from);
        UvTransform {
            rows: [
                [(cos * sx) as f32, (sin * sy) as f32, offset[0]],
                // Subtracted from zero, so that no rotation gives no negative zero.
                [(0.0 - sin * sx) as f32, (cos * sy) as f32, offset[1]],
            ],
        }
    }

    /// Returns the transform that applies `first` and then this one.
    pub fn after(&self, first: &UvTransform) -> UvTransform {
        let [[a, b, c], [d, e, f]] = first.rows.map(|row| row.map(f64::from));
        let row = |[x, y, z]: [f32; 3]| {
            let (x, y, z) = (f64::from(x), f64::from(y), f64::from(z));
            [(x * a + y * d) as f32, (x * b + y * e) as f32, (x * c + y * f + z) as f32]
        };
        UvTransform { rows: self.rows.map(row) }
    }

    /// Returns the inverse; `None` for a transform that maps the plane to a line or a point.
    pub fn inverse(&self) -> Option<UvTransform> {
        let [[a, b, c], [d, e, f]] = self.rows.map(|row| row.map(f64::from));
        let determinant = a * e - b * d;
        let inverse = [
            [e / determinant, -b / determinant, (b * f - e * c) / determinant],
            [-d / determinant, a / determinant, (d * c - a * f) / determinant],
        ];
        let rows = inverse.map(|row| row.map(|v| v as f32));
        rows.iter().flatten().all(|v| v.is_finite()).then_some(UvTransform { rows })
    }

    /// Applies the transform to UVs.
    pub fn apply(&self, [u, v]: [f32; 2]) -> [f32; 2] {
        let (u, v) = (f64::from(u), f64::from(v));
        self.rows.map(|[x, y, z]| (f64::from(x) * u + f64::from(y) * v + f64::from(z)) as f32)
    }
}

impl Default for UvTransform {
    fn default() -> UvTransform {
        UvTransform::IDENTITY
    }
}

/// The filters and wrap modes of a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampler {
    /// The magnification filter.
    pub mag_filter: Filter,
    /// The minification filter within a mip level.
    pub min_filter: Filter,
    /// The filter between mip levels.
    pub mip_filter: MipFilter,
    /// The wrap mode along u.
    pub wrap_u: Wrap,
    /// The wrap mode along v.
    pub wrap_v: Wrap,
}

/// A texture filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// Bilinear.
    #[default]
    Linear,
    /// The nearest texel.
    Nearest,
}

/// A filter between mip levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MipFilter {
    /// Linear between two mip levels.
    #[default]
    Linear,
    /// The nearest mip level.
    Nearest,
    /// The largest mip level only.
    None,
}

/// The wrap mode of UVs outside of 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrap {
    /// The texture repeats.
    #[default]
    Repeat,
    /// The texture repeats, mirrored every other time.
    MirroredRepeat,
    /// The texels of the edge continue.
    ClampToEdge,
}

/// Properties beyond the metallic-roughness model. Transmission is in [`Material`](crate::Material) itself.
#[derive(Clone, Debug, PartialEq)]
pub struct MaterialExtensions {
    /// The surface is drawn with its base colour and without lighting (`KHR_materials_unlit`).
    pub unlit: bool,
    /// The strength that is multiplied into the material's emissive factor already (`KHR_materials_emissive_strength`).
    pub emissive_strength: f32,
    /// The index of refraction (`KHR_materials_ior`).
    pub ior: f32,
    /// The dispersion: 20 divided by the Abbe number (`KHR_materials_dispersion`).
    pub dispersion: f32,
    /// A clear coat over the surface (`KHR_materials_clearcoat`).
    pub clearcoat: Option<Clearcoat>,
    /// Absorption in the volume below the surface (`KHR_materials_volume`).
    pub volume: Option<Volume>,
    /// Reflection at grazing angles as of cloth (`KHR_materials_sheen`).
    pub sheen: Option<Sheen>,
    /// Strength and colour of the specular reflection of dielectrics (`KHR_materials_specular`).
    pub specular: Option<Specular>,
    /// A thin film over the surface (`KHR_materials_iridescence`).
    pub iridescence: Option<Iridescence>,
    /// Direction-dependent roughness (`KHR_materials_anisotropy`).
    pub anisotropy: Option<Anisotropy>,
}

/// No extension: an index of refraction of 1.5.
impl Default for MaterialExtensions {
    fn default() -> MaterialExtensions {
        MaterialExtensions {
            unlit: false,
            emissive_strength: 1.0,
            ior: 1.5,
            dispersion: 0.0,
            clearcoat: None,
            volume: None,
            sheen: None,
            specular: None,
            iridescence: None,
            anisotropy: None,
        }
    }
}

/// A clear coat.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clearcoat {
    /// The strength of the coat, from 0 to 1.
    pub factor: f32,
    /// The image whose red channel multiplies the strength, linear.
    pub texture: Option<TextureInfo>,
    /// The roughness of the coat.
    pub roughness_factor: f32,
    /// The image whose green channel multiplies the roughness, linear.
    pub roughness_texture: Option<TextureInfo>,
    /// The tangent-space normals of the coat.
    pub normal_texture: Option<TextureInfo>,
    /// The factor of X and Y of the normal texture.
    pub normal_scale: f32,
}

/// The volume below a surface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Volume {
    /// The thickness in metres; 0 for a thin wall.
    pub thickness_factor: f32,
    /// The image whose green channel multiplies the thickness, linear.
    pub thickness_texture: Option<TextureInfo>,
    /// The distance in metres after which white light has the attenuation colour, or `None` without absorption.
    pub attenuation_distance: Option<f32>,
    /// The attenuation colour, linear RGB.
    pub attenuation_color: [f32; 3],
}

/// Sheen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheen {
    /// The linear RGB factor of the colour.
    pub color_factor: [f32; 3],
    /// The image of the colour, in sRGB.
    pub color_texture: Option<TextureInfo>,
    /// The roughness.
    pub roughness_factor: f32,
    /// The image whose alpha channel multiplies the roughness, linear.
    pub roughness_texture: Option<TextureInfo>,
}

/// The specular reflection of dielectrics.
#[derive(Clone, Debug, PartialEq)]
pub struct Specular {
    /// The strength, from 0 to 1.
    pub factor: f32,
    /// The image whose alpha channel multiplies the strength, linear.
    pub texture: Option<TextureInfo>,
    /// The linear RGB factor of the colour at normal incidence.
    pub color_factor: [f32; 3],
    /// The image of the colour, in sRGB.
    pub color_texture: Option<TextureInfo>,
}

/// White at full strength.
impl Default for Specular {
    fn default() -> Specular {
        Specular { factor: 1.0, texture: None, color_factor: [1.0; 3], color_texture: None }
    }
}

/// A thin film.
#[derive(Clone, Debug, PartialEq)]
pub struct Iridescence {
    /// The strength, from 0 to 1.
    pub factor: f32,
    /// The image whose red channel multiplies the strength, linear.
    pub texture: Option<TextureInfo>,
    /// The index of refraction of the film.
    pub ior: f32,
    /// The thickness in nanometres where the thickness texture is 0.
    pub thickness_minimum: f32,
    /// The thickness in nanometres where the thickness texture is 1, or where there is none.
    pub thickness_maximum: f32,
    /// The image whose green channel is the thickness, linear.
    pub thickness_texture: Option<TextureInfo>,
}

/// No film; 100 to 400 nanometres of an index of refraction of 1.3.
impl Default for Iridescence {
    fn default() -> Iridescence {
        Iridescence {
            factor: 0.0,
            texture: None,
            ior: 1.3,
            thickness_minimum: 100.0,
            thickness_maximum: 400.0,
            thickness_texture: None,
        }
    }
}

/// Direction-dependent roughness.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Anisotropy {
    /// The strength, from 0 to 1.
    pub strength: f32,
    /// The rotation of the direction in radians, counter-clockwise from the tangent.
    pub rotation: f32,
    /// The image with the direction in red and green and the strength in blue, linear.
    pub texture: Option<TextureInfo>,
}

impl MaterialExtensions {
    /// Returns the textures of all extensions with their names, in a fixed order.
    pub fn textures(&self) -> impl Iterator<Item = (ExtensionSlot, &TextureInfo)> {
        let (coat, volume, sheen) = (self.clearcoat.as_ref(), self.volume.as_ref(), self.sheen.as_ref());
        let (specular, film) = (self.specular.as_ref(), self.iridescence.as_ref());
        let anisotropy = self.anisotropy.as_ref();
        let texture = move |slot| match slot {
            ExtensionSlot::Clearcoat => coat?.texture.as_ref(),
            ExtensionSlot::ClearcoatRoughness => coat?.roughness_texture.as_ref(),
            ExtensionSlot::ClearcoatNormal => coat?.normal_texture.as_ref(),
            ExtensionSlot::Thickness => volume?.thickness_texture.as_ref(),
            ExtensionSlot::SheenColor => sheen?.color_texture.as_ref(),
            ExtensionSlot::SheenRoughness => sheen?.roughness_texture.as_ref(),
            ExtensionSlot::Specular => specular?.texture.as_ref(),
            ExtensionSlot::SpecularColor => specular?.color_texture.as_ref(),
            ExtensionSlot::Iridescence => film?.texture.as_ref(),
            ExtensionSlot::IridescenceThickness => film?.thickness_texture.as_ref(),
            ExtensionSlot::Anisotropy => anisotropy?.texture.as_ref(),
        };
        ExtensionSlot::ALL.into_iter().filter_map(move |slot| Some((slot, texture(slot)?)))
    }

    pub(crate) fn check(&self, images: usize) -> Result<(), ValidationError> {
        let mut numbers = vec![self.emissive_strength, self.ior, self.dispersion];
        if let Some(coat) = &self.clearcoat {
            numbers.extend([coat.factor, coat.roughness_factor, coat.normal_scale]);
        }
        if let Some(volume) = &self.volume {
            numbers.extend([volume.thickness_factor, volume.attenuation_distance.unwrap_or(0.0)]);
            numbers.extend(volume.attenuation_color);
        }
        if let Some(sheen) = &self.sheen {
            numbers.push(sheen.roughness_factor);
            numbers.extend(sheen.color_factor);
        }
        if let Some(specular) = &self.specular {
            numbers.push(specular.factor);
            numbers.extend(specular.color_factor);
        }
        if let Some(film) = &self.iridescence {
            numbers.extend([film.factor, film.ior, film.thickness_minimum, film.thickness_maximum]);
        }
        if let Some(anisotropy) = &self.anisotropy {
            numbers.extend([anisotropy.strength, anisotropy.rotation]);
        }
        if !numbers.iter().all(|v| v.is_finite()) {
            return Err(ValidationError::new("extensions", "a factor is not finite"));
        }
        for (slot, info) in self.textures() {
            check_id(info.image.0, images, slot.name())?;
            info.mapping.check(slot.name())?;
        }
        Ok(())
    }
}

impl TextureMapping {
    pub(crate) fn check(&self, at: &str) -> Result<(), ValidationError> {
        match self.transform.rows.iter().flatten().all(|v| v.is_finite()) {
            true => Ok(()),
            false => Err(ValidationError::new(at, "the UV transform is not finite")),
        }
    }
}

/// A texture of an extension of a material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExtensionSlot {
    /// The strength of the clear coat.
    Clearcoat,
    /// The roughness of the clear coat.
    ClearcoatRoughness,
    /// The normals of the clear coat.
    ClearcoatNormal,
    /// The thickness of the volume.
    Thickness,
    /// The colour of the sheen, in sRGB.
    SheenColor,
    /// The roughness of the sheen.
    SheenRoughness,
    /// The strength of the specular reflection.
    Specular,
    /// The colour of the specular reflection, in sRGB.
    SpecularColor,
    /// The strength of the iridescence.
    Iridescence,
    /// The thickness of the thin film.
    IridescenceThickness,
    /// The direction and strength of the anisotropy.
    Anisotropy,
}

impl ExtensionSlot {
    /// All slots, in the order of their declaration.
    pub const ALL: [ExtensionSlot; 11] = [
        ExtensionSlot::Clearcoat,
        ExtensionSlot::ClearcoatRoughness,
        ExtensionSlot::ClearcoatNormal,
        ExtensionSlot::Thickness,
        ExtensionSlot::SheenColor,
        ExtensionSlot::SheenRoughness,
        ExtensionSlot::Specular,
        ExtensionSlot::SpecularColor,
        ExtensionSlot::Iridescence,
        ExtensionSlot::IridescenceThickness,
        ExtensionSlot::Anisotropy,
    ];

    /// Returns the name of the slot in messages: `clearcoat roughness`.
    pub fn name(self) -> &'static str {
        match self {
            ExtensionSlot::Clearcoat => "clearcoat",
            ExtensionSlot::ClearcoatRoughness => "clearcoat roughness",
            ExtensionSlot::ClearcoatNormal => "clearcoat normal",
            ExtensionSlot::Thickness => "thickness",
            ExtensionSlot::SheenColor => "sheen colour",
            ExtensionSlot::SheenRoughness => "sheen roughness",
            ExtensionSlot::Specular => "specular",
            ExtensionSlot::SpecularColor => "specular colour",
            ExtensionSlot::Iridescence => "iridescence",
            ExtensionSlot::IridescenceThickness => "iridescence thickness",
            ExtensionSlot::Anisotropy => "anisotropy",
        }
    }

    /// Returns `true` if the colours of the image are in sRGB.
    pub fn is_srgb(self) -> bool {
        matches!(self, ExtensionSlot::SheenColor | ExtensionSlot::SpecularColor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: [f32; 2], wanted: [f32; 2]) {
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-3, "{found} is not {wanted}");
        }
    }

    /// The tip of the arrow of the Khronos model TextureTransformTest, as in the test of the importer.
    #[test]
    fn transforms_scale_rotate_and_offset() {
        let eighth = UvTransform::from_parts([0.0; 2], std::f32::consts::PI / 8.0, [1.0; 2]);
        near(eighth.apply([0.42095, 1.01627]), [0.77782, 0.77782]);
        let all = UvTransform::from_parts([10.0, 20.0], std::f32::consts::FRAC_PI_2, [2.0, 3.0]);
        near(all.apply([1.0, 0.0]), [10.0, 18.0]);
        near(all.apply([0.0, 1.0]), [13.0, 20.0]);
        let back = all.inverse().unwrap();
        near(back.apply(all.apply([0.25, -4.0])), [0.25, -4.0]);
        near(eighth.after(&all).apply([0.5, 0.75]), eighth.apply(all.apply([0.5, 0.75])));
        assert_eq!(UvTransform::from_parts([0.0; 2], 0.0, [0.0, 1.0]).inverse(), None);
        let plain = UvTransform::from_parts([0.0; 2], 0.0, [1.0; 2]);
        assert_eq!(
            plain.rows.map(|r| r.map(f32::to_bits)),
            UvTransform::IDENTITY.rows.map(|r| r.map(f32::to_bits))
        );
    }

    #[test]
    fn slots_are_listed_with_their_textures() {
        for (index, slot) in ExtensionSlot::ALL.into_iter().enumerate() {
            assert_eq!(slot as usize, index);
        }
        let info = TextureInfo { image: ImageId(3), mapping: TextureMapping::default() };
        let film = Iridescence { thickness_texture: Some(info), ..Iridescence::default() };
        let all = MaterialExtensions { iridescence: Some(film), ..MaterialExtensions::default() };
        let found: Vec<_> = all.textures().collect();
        assert_eq!(found, [(ExtensionSlot::IridescenceThickness, &info)]);
        assert_eq!(all.check(4), Ok(()));
        assert_eq!(all.check(3).unwrap_err().at, "iridescence thickness");
        let bad = MaterialExtensions { ior: f32::NAN, ..MaterialExtensions::default() };
        assert_eq!(bad.check(0).unwrap_err().at, "extensions");
    }
}
