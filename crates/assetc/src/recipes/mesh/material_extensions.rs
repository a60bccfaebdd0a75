//! Properties of materials beyond the metallic-roughness model to `.hmatx` (`mesh.scene_data`).

use kiln_format::hmatx::{self, Filter, MaterialExtension, MaterialTexture, MipFilter, TextureSlot, Wrap};
use kiln_ir::{ExtensionSlot, Material, Slot, TextureMapping};
use kiln_texture::Mode;

/// Returns the row of a material, without strings and textures.
pub(crate) fn row(material: &Material) -> MaterialExtension {
    let extensions = &material.extensions;
    let mut row = MaterialExtension {
        emissive_strength: extensions.emissive_strength,
        ior: extensions.ior,
        dispersion: extensions.dispersion,
        transmission_factor: material.transmission_factor,
        ..MaterialExtension::default()
    };
    let mut set = |flag, is_set| row.flags |= if is_set { flag } else { 0 };
    set(hmatx::UNLIT, extensions.unlit);
    set(hmatx::TRANSMISSION, material.transmission_factor > 0.0);
    set(hmatx::CLEARCOAT, extensions.clearcoat.is_some());
    set(hmatx::VOLUME, extensions.volume.is_some());
    set(hmatx::SHEEN, extensions.sheen.is_some());
    set(hmatx::SPECULAR, extensions.specular.is_some());
    set(hmatx::IRIDESCENCE, extensions.iridescence.is_some());
    set(hmatx::ANISOTROPY, extensions.anisotropy.is_some());
    if let Some(coat) = &extensions.clearcoat {
        row.clearcoat_factor = coat.factor;
        row.clearcoat_roughness_factor = coat.roughness_factor;
        row.clearcoat_normal_scale = coat.normal_scale;
    }
    if let Some(volume) = &extensions.volume {
        row.thickness_factor = volume.thickness_factor;
        row.attenuation_distance = volume.attenuation_distance.unwrap_or(0.0);
        row.attenuation_color = volume.attenuation_color;
    }
    if let Some(sheen) = &extensions.sheen {
        row.sheen_color_factor = sheen.color_factor;
        row.sheen_roughness_factor = sheen.roughness_factor;
    }
    if let Some(specular) = &extensions.specular {
        row.specular_factor = specular.factor;
        row.specular_color_factor = specular.color_factor;
    }
    if let Some(film) = &extensions.iridescence {
        row.iridescence_factor = film.factor;
        row.iridescence_ior = film.ior;
        row.iridescence_thickness_minimum = film.thickness_minimum;
        row.iridescence_thickness_maximum = film.thickness_maximum;
    }
    if let Some(anisotropy) = &extensions.anisotropy {
        row.anisotropy_strength = anisotropy.strength;
        row.anisotropy_rotation = anisotropy.rotation;
    }
    row
}

/// Converts the mapping of a texture whose reference has this hash.
pub(crate) fn texture(slot: TextureSlot, mapping: &TextureMapping, texture: u64) -> MaterialTexture {
    let filter = |filter| match filter {
        kiln_ir::Filter::Linear => Filter::Linear as u8,
        kiln_ir::Filter::Nearest => Filter::Nearest as u8,
    };
    let wrap = |wrap| match wrap {
        kiln_ir::Wrap::Repeat => Wrap::Repeat as u8,
        kiln_ir::Wrap::MirroredRepeat => Wrap::MirroredRepeat as u8,
        kiln_ir::Wrap::ClampToEdge => Wrap::ClampToEdge as u8,
    };
    let sampler = &mapping.sampler;
    let [[a, b, c], [d, e, f]] = mapping.transform.rows;
    MaterialTexture {
        texture,
        slot: slot as u8,
        mag_filter: filter(sampler.mag_filter),
        min_filter: filter(sampler.min_filter),
        mip_filter: match sampler.mip_filter {
            kiln_ir::MipFilter::Linear => MipFilter::Linear as u8,
            kiln_ir::MipFilter::Nearest => MipFilter::Nearest as u8,
            kiln_ir::MipFilter::None => MipFilter::None as u8,
        },
        wrap_u: wrap(sampler.wrap_u),
        wrap_v: wrap(sampler.wrap_v),
        reserved: 0,
        uv_set: mapping.uv_set,
        transform: [a, b, c, d, e, f],
        pad: 0,
    }
}

/// Returns the number of a slot of the metallic-roughness model in the file.
pub(crate) fn slot_number(slot: Slot) -> TextureSlot {
    match slot {
        Slot::BaseColor => TextureSlot::BaseColor,
        Slot::MetallicRoughness => TextureSlot::MetallicRoughness,
        Slot::Normal => TextureSlot::Normal,
        Slot::Occlusion => TextureSlot::Occlusion,
        Slot::Emissive => TextureSlot::Emissive,
    }
}

/// Returns the number of a slot of an extension in the file, and the mode of its texture.
pub(crate) fn extension_slot(slot: ExtensionSlot) -> (TextureSlot, Mode) {
    match slot {
        ExtensionSlot::Clearcoat => (TextureSlot::Clearcoat, Mode::LinearColor),
        ExtensionSlot::ClearcoatRoughness => (TextureSlot::ClearcoatRoughness, Mode::LinearColor),
        ExtensionSlot::ClearcoatNormal => (TextureSlot::ClearcoatNormal, Mode::Normal),
        ExtensionSlot::Thickness => (TextureSlot::Thickness, Mode::LinearColor),
        ExtensionSlot::SheenColor => (TextureSlot::SheenColor, Mode::Color),
        ExtensionSlot::SheenRoughness => (TextureSlot::SheenRoughness, Mode::LinearColor),
        ExtensionSlot::Specular => (TextureSlot::Specular, Mode::LinearColor),
        ExtensionSlot::SpecularColor => (TextureSlot::SpecularColor, Mode::Color),
        ExtensionSlot::Iridescence => (TextureSlot::Iridescence, Mode::LinearColor),
        ExtensionSlot::IridescenceThickness => (TextureSlot::IridescenceThickness, Mode::LinearColor),
        ExtensionSlot::Anisotropy => (TextureSlot::Anisotropy, Mode::LinearColor),
    }
}
