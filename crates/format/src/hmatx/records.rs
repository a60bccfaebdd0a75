//! The chunk tags of material extensions, and the records in the chunks.

use crate::chunk_tables::{TextRange, table_ids};
use crate::numbered::numbered;
use crate::pod::pod;

table_ids! {
    /// An array of [`MaterialExtension`], one for each material slot.
    Rows "MATX" MaterialExtension,
    /// An array of [`MaterialTexture`]: the textures of all rows.
    Textures "TEXU" MaterialTexture,
    /// The names and `extras`, in UTF-8.
    Text "TEXT" u8,
}

/// The bit of [`MaterialExtension::flags`] of `KHR_materials_unlit`.
pub const UNLIT: u32 = 1;
/// The bit of [`MaterialExtension::flags`] of `KHR_materials_transmission`.
pub const TRANSMISSION: u32 = 1 << 1;
/// The bit of [`MaterialExtension::flags`] of `KHR_materials_clearcoat`.
pub const CLEARCOAT: u32 = 1 << 2;
/// The bit of [`MaterialExtension::flags`] of `KHR_materials_volume`.
pub const VOLUME: u32 = 1 << 3;
/// The bit of [`MaterialExtension::flags`] of `KHR_materials_sheen`.
pub const SHEEN: u32 = 1 << 4;
/// The bit of [`MaterialExtension::flags`] of `KHR_materials_specular`.
pub const SPECULAR: u32 = 1 << 5;
/// The bit of [`MaterialExtension::flags`] of `KHR_materials_iridescence`.
pub const IRIDESCENCE: u32 = 1 << 6;
/// The bit of [`MaterialExtension::flags`] of `KHR_materials_anisotropy`.
pub const ANISOTROPY: u32 = 1 << 7;

/// All bits of [`MaterialExtension::flags`].
pub(super) const ALL_FLAGS: u32 = 255;

/// The names of the bits of [`MaterialExtension::flags`], from the lowest.
pub const FLAG_NAMES: [&str; 8] =
    ["unlit", "transmission", "clearcoat", "volume", "sheen", "specular", "iridescence", "anisotropy"];

pod! {
    /// The properties of a material beyond the metallic-roughness model. Factors of an extension whose flag is not set
    /// have their defaults.
    pub struct MaterialExtension {
        /// The name of the material.
        pub name: TextRange,
        /// The `extras`, as JSON.
        pub extras: TextRange,
        /// The extensions that the material has: [`UNLIT`], [`CLEARCOAT`] and others.
        pub flags: u32,
        /// The emissive strength, which is part of the `emissive_factor` in the `.hmat` already.
        pub emissive_strength: f32,
        /// The index of refraction.
        pub ior: f32,
        /// The dispersion: 20 divided by the Abbe number.
        pub dispersion: f32,
        /// The share of light that passes through the surface.
        pub transmission_factor: f32,
        /// The strength of the clear coat.
        pub clearcoat_factor: f32,
        /// The roughness of the clear coat.
        pub clearcoat_roughness_factor: f32,
        /// The factor of X and Y of the clear coat's normal texture.
        pub clearcoat_normal_scale: f32,
        /// The thickness of the volume in metres; 0 for a thin wall.
        pub thickness_factor: f32,
        /// The distance in metres after which white light has the attenuation colour; 0 without absorption.
        pub attenuation_distance: f32,
        /// The attenuation colour, linear RGB.
        pub attenuation_color: [f32; 3],
        /// The sheen colour, linear RGB.
        pub sheen_color_factor: [f32; 3],
        /// The sheen roughness.
        pub sheen_roughness_factor: f32,
        /// The strength of the specular reflection.
        pub specular_factor: f32,
        /// The colour of the specular reflection at normal incidence, linear RGB.
        pub specular_color_factor: [f32; 3],
        /// The strength of the thin film.
        pub iridescence_factor: f32,
        /// The index of refraction of the thin film.
        pub iridescence_ior: f32,
        /// The thickness of the thin film in nanometres where its texture is 0.
        pub iridescence_thickness_minimum: f32,
        /// The thickness of the thin film in nanometres where its texture is 1, or without one.
        pub iridescence_thickness_maximum: f32,
        /// The strength of the anisotropy.
        pub anisotropy_strength: f32,
        /// The direction of the anisotropy in radians, counter-clockwise from the tangent.
        pub anisotropy_rotation: f32,
        /// The index of the first texture in `TEXU`: that after the last of the preceding row.
        pub first_texture: u32,
        /// The number of textures.
        pub texture_count: u32,
    }
}

impl MaterialExtension {
    /// Returns all factors, in file order.
    pub(super) fn numbers(&self) -> [f32; 26] {
        let [ar, ag, ab] = self.attenuation_color;
        let [sr, sg, sb] = self.sheen_color_factor;
        let [pr, pg, pb] = self.specular_color_factor;
        [
            self.emissive_strength,
            self.ior,
            self.dispersion,
            self.transmission_factor,
            self.clearcoat_factor,
            self.clearcoat_roughness_factor,
            self.clearcoat_normal_scale,
            self.thickness_factor,
            self.attenuation_distance,
            ar,
            ag,
            ab,
            sr,
            sg,
            sb,
            self.sheen_roughness_factor,
            self.specular_factor,
            pr,
            pg,
            pb,
            self.iridescence_factor,
            self.iridescence_ior,
            self.iridescence_thickness_minimum,
            self.iridescence_thickness_maximum,
            self.anisotropy_strength,
            self.anisotropy_rotation,
        ]
    }
}

/// No extension: an index of refraction of 1.5.
impl Default for MaterialExtension {
    fn default() -> Self {
        MaterialExtension {
            name: TextRange::default(),
            extras: TextRange::default(),
            flags: 0,
            emissive_strength: 1.0,
            ior: 1.5,
            dispersion: 0.0,
            transmission_factor: 0.0,
            clearcoat_factor: 0.0,
            clearcoat_roughness_factor: 0.0,
            clearcoat_normal_scale: 1.0,
            thickness_factor: 0.0,
            attenuation_distance: 0.0,
            attenuation_color: [1.0; 3],
            sheen_color_factor: [0.0; 3],
            sheen_roughness_factor: 0.0,
            specular_factor: 1.0,
            specular_color_factor: [1.0; 3],
            iridescence_factor: 0.0,
            iridescence_ior: 1.3,
            iridescence_thickness_minimum: 100.0,
            iridescence_thickness_maximum: 400.0,
            anisotropy_strength: 0.0,
            anisotropy_rotation: 0.0,
            first_texture: 0,
            texture_count: 0,
        }
    }
}

pod! {
    /// A texture as a material uses it.
    pub struct MaterialTexture {
        /// The hash of the texture's reference, as in the `.hmat`.
        pub texture: u64,
        /// The number of a [`TextureSlot`].
        pub slot: u8,
        /// The magnification filter: the number of a [`Filter`].
        pub mag_filter: u8,
        /// The minification filter within a mip level: the number of a [`Filter`].
        pub min_filter: u8,
        /// The number of a [`MipFilter`].
        pub mip_filter: u8,
        /// The number of a [`Wrap`] along u.
        pub wrap_u: u8,
        /// The number of a [`Wrap`] along v.
        pub wrap_v: u8,
        /// 0.
        pub reserved: u16,
        /// The UV set: 0 for the UVs in the vertices, otherwise one of `UVST`.
        pub uv_set: u32,
        /// The transform of the UVs: `u' = a u + b v + c` and `v' = d u + e v + f`.
        pub transform: [f32; 6],
        /// 0.
        pub pad: u32,
    }
}

numbered! {
    /// The purpose of a texture.
    pub enum TextureSlot: u8 {
        /// Base colour and alpha, in sRGB.
        BaseColor = "base_color",
        /// Roughness in green, metalness in blue.
        MetallicRoughness = "metallic_roughness",
        /// Tangent-space normals.
        Normal = "normal",
        /// Ambient occlusion in red.
        Occlusion = "occlusion",
        /// Emitted colour, in sRGB.
        Emissive = "emissive",
        /// The factor of the transmission, in red.
        Transmission = "transmission",
        /// The factor of the clear coat, in red.
        Clearcoat = "clearcoat",
        /// The factor of the clear coat's roughness, in green.
        ClearcoatRoughness = "clearcoat_roughness",
        /// The tangent-space normals of the clear coat.
        ClearcoatNormal = "clearcoat_normal",
        /// The factor of the thickness, in green.
        Thickness = "thickness",
        /// The sheen colour, in sRGB.
        SheenColor = "sheen_color",
        /// The factor of the sheen roughness, in alpha.
        SheenRoughness = "sheen_roughness",
        /// The factor of the specular strength, in alpha.
        Specular = "specular",
        /// The specular colour, in sRGB.
        SpecularColor = "specular_color",
        /// The factor of the thin film, in red.
        Iridescence = "iridescence",
        /// The thickness of the thin film, in green.
        IridescenceThickness = "iridescence_thickness",
        /// The direction of the anisotropy in red and green, the factor of its strength in blue.
        Anisotropy = "anisotropy",
    }
}

numbered! {
    /// A texture filter.
    pub enum Filter: u8 {
        /// Bilinear.
        Linear = "linear",
        /// The nearest texel.
        Nearest = "nearest",
    }
}

numbered! {
    /// A filter between mip levels.
    pub enum MipFilter: u8 {
        /// Linear between two mip levels.
        Linear = "linear",
        /// The nearest mip level.
        Nearest = "nearest",
        /// The largest mip level only.
        None = "none",
    }
}

numbered! {
    /// The wrap mode of UVs outside of 0 to 1.
    pub enum Wrap: u8 {
        /// The texture repeats.
        Repeat = "repeat",
        /// The texture repeats, mirrored every other time.
        MirroredRepeat = "mirrored_repeat",
        /// The texels of the edge continue.
        ClampToEdge = "clamp_to_edge",
    }
}
