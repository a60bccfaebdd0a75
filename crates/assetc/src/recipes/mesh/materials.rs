//! The materials of a model to `.hmat`, and the pictures they use to textures beside it.
//!
//! A row is a slot of the mesh. A picture becomes one texture, in the mode of the slot that uses it first; with
//! `texture.conflict: split` it becomes one for each mode, the later ones with the mode in their name.

use crate::config::{Conflict, Settings};
use crate::link::Row;
use crate::recipes::ktx::{self, Picture};
use crate::recipes::texture::{is_mode_name, mode_name};
use kiln_format::hman::{Colorspace, Kind};
use kiln_format::hmat::{self, GpuMaterial};
use kiln_format::refs;
use kiln_ir::{AlphaMode, ImageId, ImageSource, Material, MaterialId, Scene, Slot};
use kiln_kit::{Code, Cook, Diag, RelPath};
use kiln_texture::Mode;

/// The hashes by which a mesh names the materials of its slots.
pub(crate) fn hashes(cx: &mut Cook<'_>, materials: &[Material], slots: &[MaterialId]) -> Vec<u64> {
    let names: Vec<Option<&str>> = materials.iter().map(|material| Some(material.name.as_str())).collect();
    if let Some((one, other)) = refs::material_clash(&names) {
        let message =
            format!("materials {one} and {other} have one reference, so engines cannot tell them apart");
        cx.warn(Diag::new(Code::MaterialClash, message).hint("rename one of them"));
    }
    let leaves = refs::material_leaves(&names);
    let source = refs::source_ref(cx.source().as_str());
    slots.iter().map(|id| refs::hash_asset_ref(&format!("{source}/{}", leaves[id.0 as usize]))).collect()
}

/// Which texture a slot of some material refers to.
struct Texture {
    image: ImageId,
    mode: Mode,
    /// Its file, below the folder of the model: `tex_3`.
    name: String,
}

/// Emits the table of materials and every texture it refers to; returns the rows of the manifest.
pub(crate) fn emit(
    cx: &mut Cook<'_>,
    scene: &Scene,
    slots: &[MaterialId],
    output: &RelPath,
    settings: &Settings,
) -> Result<Vec<Row>, Diag> {
    let mut textures: Vec<Texture> = Vec::new();
    let mut rows = Vec::with_capacity(slots.len());
    let folder = output.as_str().strip_suffix(".hmesh").unwrap_or(output.as_str());
    for id in slots {
        let material = &scene.materials[id.0 as usize];
        let mut used = [refs::NO_REF; 5];
        for (slot, image) in material.textures() {
            let name = choose(cx, &mut textures, (slot, image), settings.texture.conflict);
            used[slot as usize] = refs::hash_asset_ref(&format!("{folder}/{name}"));
        }
        rows.push(row(material, used));
    }
    let table = hmat::write(&rows).map_err(|error| Diag::new(Code::Material, error.to_string()))?;
    cx.emit(&with_ending(folder, ".hmat")?, &table)?;

    let mut listed = Vec::with_capacity(textures.len());
    for texture in &textures {
        let path = with_ending(folder, &format!("/{}.ktx2", texture.name))?;
        emit_image(cx, &path, texture, &scene.images[texture.image.0 as usize], settings)?;
        listed.push(Row {
            hash: refs::hash_runtime_path(path.as_str()),
            kind: Kind::Texture,
            colorspace: colorspace(texture.mode),
            path,
        });
    }
    Ok(listed)
}

/// Returns whether a file below the folder of a model has the name of a texture of it: `tex_3.ktx2`, `tex_3_normal.ktx2`.
pub(crate) fn is_texture_name(name: &str) -> bool {
    let Some(name) = name.strip_prefix("tex_").and_then(|name| name.strip_suffix(".ktx2")) else {
        return false;
    };
    let (image, mode) = name.split_once('_').map_or((name, None), |(image, mode)| (image, Some(mode)));
    image.parse::<u32>().is_ok_and(|number| number.to_string() == image) && mode.is_none_or(is_mode_name)
}

/// The texture for an image in a slot: one that is there, or a new one.
fn choose(
    cx: &mut Cook<'_>,
    textures: &mut Vec<Texture>,
    (slot, image): (Slot, ImageId),
    conflict: Conflict,
) -> String {
    let mode = mode_of(slot);
    if let Some(same) = textures.iter().find(|t| t.image == image && t.mode == mode) {
        return same.name.clone();
    }
    let name = match textures.iter().find(|t| t.image == image) {
        None => format!("tex_{}", image.0),
        Some(first) if conflict == Conflict::First => {
            let message = format!(
                "image {} is used as {} and as {}; the first use decides how it is stored",
                image.0,
                mode_name(first.mode),
                mode_name(mode)
            );
            let hint = "set texture.conflict to split for a texture of each kind";
            let name = first.name.clone();
            let warning = Diag::new(Code::TextureConflict, message).at(format!("/images/{}", image.0));
            // Several slots may run into the same conflict; it is one.
            if !cx.has_warned(&warning) {
                cx.warn(warning.hint(hint));
            }
            return name;
        }
        Some(_) => format!("tex_{}_{}", image.0, mode_name(mode)),
    };
    textures.push(Texture { image, mode, name: name.clone() });
    name
}

/// How the texels of a slot are stored.
pub(crate) fn mode_of(slot: Slot) -> Mode {
    match slot {
        Slot::BaseColor | Slot::Emissive => Mode::Color,
        Slot::MetallicRoughness | Slot::Occlusion => Mode::LinearColor,
        Slot::Normal => Mode::Normal,
    }
}

/// How the texels of a mode are read.
pub(crate) fn colorspace(mode: Mode) -> Colorspace {
    if mode == Mode::Color { Colorspace::Srgb } else { Colorspace::Linear }
}

fn emit_image(
    cx: &mut Cook<'_>,
    path: &RelPath,
    texture: &Texture,
    image: &ImageSource,
    settings: &Settings,
) -> Result<(), Diag> {
    // A picture in a file of its own is named by its path, one inside the model by its place there.
    let locate = |diag: Diag| match image.path.as_str() {
        "" => diag.at(format!("/images/{}", texture.image.0)),
        file => diag.path(file),
    };
    let picture = Picture { bytes: &image.bytes, extension: &image.extension };
    for warning in ktx::emit_picture(cx, path, picture, texture.mode, settings).map_err(locate)? {
        cx.warn(locate(warning));
    }
    Ok(())
}

/// A row of the table.
pub(crate) fn row(material: &Material, textures: [u64; 5]) -> GpuMaterial {
    let alpha_mode = match material.alpha_mode {
        AlphaMode::Opaque => hmat::AlphaMode::Opaque,
        AlphaMode::Mask => hmat::AlphaMode::Mask,
        AlphaMode::Blend => hmat::AlphaMode::Blend,
    };
    GpuMaterial {
        base_color_factor: material.base_color_factor,
        emissive_factor: material.emissive_factor,
        metallic_factor: material.metallic_factor,
        roughness_factor: material.roughness_factor,
        normal_scale: material.normal_scale,
        occlusion_strength: material.occlusion_strength,
        alpha_cutoff: material.alpha_cutoff,
        flags: hmat::flags(alpha_mode, material.double_sided),
        pad: 0,
        base_color_tex: textures[Slot::BaseColor as usize],
        metallic_roughness_tex: textures[Slot::MetallicRoughness as usize],
        normal_tex: textures[Slot::Normal as usize],
        occlusion_tex: textures[Slot::Occlusion as usize],
        emissive_tex: textures[Slot::Emissive as usize],
    }
}

pub(crate) fn with_ending(stem: &str, ending: &str) -> Result<RelPath, Diag> {
    RelPath::new(format!("{stem}{ending}"))
        .map_err(|_| Diag::new(Code::Mesh, "its name leaves no name for the output"))
}
