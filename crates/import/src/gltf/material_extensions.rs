//! Extensions of materials beyond metallic-roughness, with their factors and textures.

use kiln_diagnostics::Diag;
use kiln_ir::{Anisotropy, Clearcoat, Iridescence, MaterialExtensions, Sheen, Specular, TextureInfo, Volume};

use super::value::Value;

/// The extensions that a scene with material extensions represents.
pub(super) const SUPPORTED: [&str; 9] = [
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_dispersion",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_unlit",
    "KHR_materials_volume",
];

/// Reads the texture of an object by its name in messages; `None` if its image has no supported format.
pub(super) type ReadTexture<'t, 'a> = dyn FnMut(Value<'a>, &str) -> Result<Option<TextureInfo>, Diag> + 't;

/// Reads the extensions of a material.
pub(super) fn read<'a>(at: Value<'a>, texture: &mut ReadTexture<'_, 'a>) -> Result<MaterialExtensions, Diag> {
    let mut texture = |at: Value<'a>, name: &str, slot: &str| match at.get(name) {
        Some(info) => texture(info, slot),
        None => Ok(None),
    };
    let mut all =
        MaterialExtensions { unlit: at.extension("KHR_materials_unlit").is_some(), ..Default::default() };
    if let Some(at) = at.extension("KHR_materials_emissive_strength") {
        all.emissive_strength = at.float_or("emissiveStrength", 1.0)?;
    }
    if let Some(at) = at.extension("KHR_materials_ior") {
        all.ior = at.float_or("ior", all.ior)?;
    }
    if let Some(at) = at.extension("KHR_materials_dispersion") {
        all.dispersion = at.float_or("dispersion", all.dispersion)?;
    }
    if let Some(at) = at.extension("KHR_materials_clearcoat") {
        let normal = at.get("clearcoatNormalTexture");
        all.clearcoat = Some(Clearcoat {
            factor: at.float_or("clearcoatFactor", 0.0)?,
            texture: texture(at, "clearcoatTexture", "clearcoat")?,
            roughness_factor: at.float_or("clearcoatRoughnessFactor", 0.0)?,
            roughness_texture: texture(at, "clearcoatRoughnessTexture", "clearcoat roughness")?,
            normal_texture: texture(at, "clearcoatNormalTexture", "clearcoat normal")?,
            normal_scale: normal.map_or(Ok(1.0), |info| info.float_or("scale", 1.0))?,
        });
    }
    if let Some(at) = at.extension("KHR_materials_volume") {
        all.volume = Some(Volume {
            thickness_factor: at.float_or("thicknessFactor", 0.0)?,
            thickness_texture: texture(at, "thicknessTexture", "thickness")?,
            attenuation_distance: at.get("attenuationDistance").map(Value::float).transpose()?,
            attenuation_color: at.floats_or("attenuationColor", [1.0; 3])?,
        });
    }
    if let Some(at) = at.extension("KHR_materials_sheen") {
        all.sheen = Some(Sheen {
            color_factor: at.floats_or("sheenColorFactor", [0.0; 3])?,
            color_texture: texture(at, "sheenColorTexture", "sheen colour")?,
            roughness_factor: at.float_or("sheenRoughnessFactor", 0.0)?,
            roughness_texture: texture(at, "sheenRoughnessTexture", "sheen roughness")?,
        });
    }
    if let Some(at) = at.extension("KHR_materials_specular") {
        all.specular = Some(Specular {
            factor: at.float_or("specularFactor", 1.0)?,
            texture: texture(at, "specularTexture", "specular")?,
            color_factor: at.floats_or("specularColorFactor", [1.0; 3])?,
            color_texture: texture(at, "specularColorTexture", "specular colour")?,
        });
    }
    if let Some(at) = at.extension("KHR_materials_iridescence") {
        let default = Iridescence::default();
        all.iridescence = Some(Iridescence {
            factor: at.float_or("iridescenceFactor", default.factor)?,
            texture: texture(at, "iridescenceTexture", "iridescence")?,
            ior: at.float_or("iridescenceIor", default.ior)?,
            thickness_minimum: at.float_or("iridescenceThicknessMinimum", default.thickness_minimum)?,
            thickness_maximum: at.float_or("iridescenceThicknessMaximum", default.thickness_maximum)?,
            thickness_texture: texture(at, "iridescenceThicknessTexture", "iridescence thickness")?,
        });
    }
    if let Some(at) = at.extension("KHR_materials_anisotropy") {
        all.anisotropy = Some(Anisotropy {
            strength: at.float_or("anisotropyStrength", 0.0)?,
            rotation: at.float_or("anisotropyRotation", 0.0)?,
            texture: texture(at, "anisotropyTexture", "anisotropy")?,
        });
    }
    Ok(all)
}

/// Returns the textures of all extensions, to change them.
pub(super) fn textures_mut(all: &mut MaterialExtensions) -> impl Iterator<Item = &mut TextureInfo> {
    let coat = all.clearcoat.as_mut();
    let coat = coat.map(|c| [&mut c.texture, &mut c.roughness_texture, &mut c.normal_texture]);
    let volume = all.volume.as_mut().map(|v| [&mut v.thickness_texture]);
    let sheen = all.sheen.as_mut().map(|s| [&mut s.color_texture, &mut s.roughness_texture]);
    let specular = all.specular.as_mut().map(|s| [&mut s.texture, &mut s.color_texture]);
    let film = all.iridescence.as_mut().map(|i| [&mut i.texture, &mut i.thickness_texture]);
    let anisotropy = all.anisotropy.as_mut().map(|a| [&mut a.texture]);
    let pairs = sheen.into_iter().chain(specular).chain(film).flatten();
    let single = volume.into_iter().chain(anisotropy).flatten();
    coat.into_iter().flatten().chain(pairs).chain(single).filter_map(Option::as_mut)
}
