//! The materials of a model to `.hmat`, and their images to textures beside it; with `mesh.scene_data` also to `.hmatx`.
//!
//! A row is a material slot of the mesh. An image becomes one texture, in the mode of the first slot that uses it; with
//! `texture.conflict: split` it becomes one per mode, the later ones with the mode in their name.

use super::material_extensions::{self, extension_slot, slot_number};
use crate::artifact::{FileArtifact, FileMetadata};
use crate::config::{Conflict, Settings};
use crate::recipes::ktx::{self, EncodedImage, is_mode_name, mode_name};
use kiln_engine::{ActionContext, Code, Diag, RelPath};
use kiln_format::hmat::{self, GpuMaterial};
use kiln_format::hmatx::{self, MaterialExtension, TextBuilder, TextureSlot};
use kiln_format::refs;
use kiln_ir::{AlphaMode, ImageId, ImageSource, Material, MaterialId, Scene, Slot};
use kiln_texture::Mode;

/// Computes the hashes by which a mesh refers to the materials of its slots.
pub(crate) fn hashes(cx: &mut ActionContext<'_>, materials: &[Material], slots: &[MaterialId]) -> Vec<u64> {
    let names: Vec<Option<&str>> = materials.iter().map(|material| Some(material.name.as_str())).collect();
    if let Some((one, other)) = refs::material_clash(&names) {
        let message = format!(
            "materials {one} and {other} have the same reference, so engines cannot distinguish them"
        );
        cx.warn(Diag::new(Code::MaterialConflict, message).hint("rename one of the materials"));
    }
    let leaves = refs::material_leaves(&names);
    let source = refs::source_ref(cx.source().as_str());
    slots.iter().map(|id| refs::hash_asset_ref(&format!("{source}/{}", leaves[id.0 as usize]))).collect()
}

/// A texture that a material refers to.
struct Texture {
    image: ImageId,
    mode: Mode,
    /// The file stem below the folder of the model: `tex_3`.
    name: String,
}

/// Compiles the material table and every texture that it refers to.
pub(crate) fn artifacts(
    cx: &mut ActionContext<'_>,
    scene: &Scene,
    slots: &[MaterialId],
    output: &RelPath,
    settings: &Settings,
) -> Result<Vec<FileArtifact>, Diag> {
    let mut textures: Vec<Texture> = Vec::new();
    let mut rows = Vec::with_capacity(slots.len());
    let folder = output.as_str().strip_suffix(".hmesh").unwrap_or(output.as_str());
    for id in slots {
        let material = &scene.materials[id.0 as usize];
        let mut used = [refs::NO_REF; 5];
        for (slot, image) in material.textures() {
            let name = choose(cx, &mut textures, (mode_of(slot), image), settings.texture.conflict);
            used[slot as usize] = refs::hash_asset_ref(&format!("{folder}/{name}"));
        }
        rows.push(row(material, used));
    }
    let failed = |error: kiln_format::Error| Diag::new(Code::Material, error.to_string());
    let table = hmat::write(&rows).map_err(failed)?;
    let path = with_ending(folder, ".hmat")?;
    let mut artifacts = vec![cx.artifact(&path, FileMetadata::of(&path), &table)?];
    if settings.mesh.scene_data {
        // After the table above, whose textures have the same names without the extensions.
        let conflict = settings.texture.conflict;
        let chosen = slots.iter().map(|id| &scene.materials[id.0 as usize]).zip(&rows);
        let table = extensions(cx, &mut textures, chosen, folder, conflict)?;
        let path = with_ending(folder, ".hmatx")?;
        artifacts.push(cx.artifact(&path, FileMetadata::of(&path), &table)?);
    }
    for texture in &textures {
        let path = with_ending(folder, &format!("/{}.ktx2", texture.name))?;
        let image = &scene.images[texture.image.0 as usize];
        artifacts.push(image_artifact(cx, &path, texture, image, settings)?);
    }
    Ok(artifacts)
}

/// Compiles the table of material extensions, with a texture for each image that an extension uses.
fn extensions<'a>(
    cx: &mut ActionContext<'_>,
    textures: &mut Vec<Texture>,
    materials: impl Iterator<Item = (&'a Material, &'a GpuMaterial)>,
    folder: &str,
    conflict: Conflict,
) -> Result<Vec<u8>, Diag> {
    let failed = |error: kiln_format::Error| Diag::new(Code::Material, error.to_string());
    let (mut rows, mut used, mut text) = (Vec::new(), Vec::new(), TextBuilder::default());
    for (material, row) in materials {
        let first_texture = used.len();
        for (slot, hash) in Slot::ALL.into_iter().zip(row.textures()) {
            if hash != refs::NO_REF {
                let mapping = &material.mappings[slot as usize];
                used.push(material_extensions::texture(slot_number(slot), mapping, hash));
            }
        }
        let transmission = material.transmission_texture.map(|image| {
            (TextureSlot::Transmission, Mode::LinearColor, image, &material.transmission_mapping)
        });
        let others = material.extensions.textures().map(|(slot, info)| {
            let (slot, mode) = extension_slot(slot);
            (slot, mode, info.image, &info.mapping)
        });
        for (slot, mode, image, mapping) in transmission.into_iter().chain(others) {
            let name = choose(cx, textures, (mode, image), conflict);
            let hash = refs::hash_asset_ref(&format!("{folder}/{name}"));
            used.push(material_extensions::texture(slot, mapping, hash));
        }
        rows.push(MaterialExtension {
            name: text.add(&material.name).map_err(failed)?,
            extras: text.add(&material.extras).map_err(failed)?,
            first_texture: first_texture as u32,
            texture_count: (used.len() - first_texture) as u32,
            ..material_extensions::row(material)
        });
    }
    hmatx::write(&rows, &used, &text).map_err(failed)
}

/// Returns whether a file below the folder of a model has the name of one of its textures: `tex_3.ktx2`,
/// `tex_3_normal.ktx2`.
pub(crate) fn is_texture_name(name: &str) -> bool {
    let Some(name) = name.strip_prefix("tex_").and_then(|name| name.strip_suffix(".ktx2")) else {
        return false;
    };
    let (image, mode) = name.split_once('_').map_or((name, None), |(image, mode)| (image, Some(mode)));
    image.parse::<u32>().is_ok_and(|number| number.to_string() == image) && mode.is_none_or(is_mode_name)
}

/// Returns the name of the texture for an image in a mode; adds a texture unless there is one.
fn choose(
    cx: &mut ActionContext<'_>,
    textures: &mut Vec<Texture>,
    (mode, image): (Mode, ImageId),
    conflict: Conflict,
) -> String {
    if let Some(same) = textures.iter().find(|t| t.image == image && t.mode == mode) {
        return same.name.clone();
    }
    let name = match textures.iter().find(|t| t.image == image) {
        None => format!("tex_{}", image.0),
        Some(first) if conflict == Conflict::First => {
            let message = format!(
                "image {} is used as {} and as {}; the first use determines the texture mode",
                image.0,
                mode_name(first.mode),
                mode_name(mode)
            );
            let hint = "set texture.conflict to split to write one texture per mode";
            let name = first.name.clone();
            let warning = Diag::new(Code::TextureConflict, message).at(format!("/images/{}", image.0));
            // The same conflict of several slots is reported once.
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

/// Returns the texture mode of a material slot.
pub(crate) fn mode_of(slot: Slot) -> Mode {
    match slot {
        Slot::BaseColor | Slot::Emissive => Mode::Color,
        Slot::MetallicRoughness | Slot::Occlusion => Mode::LinearColor,
        Slot::Normal => Mode::Normal,
    }
}

fn image_artifact(
    cx: &mut ActionContext<'_>,
    path: &RelPath,
    texture: &Texture,
    image: &ImageSource,
    settings: &Settings,
) -> Result<FileArtifact, Diag> {
    // An image in a file of its own is identified by its path, an embedded image by its JSON pointer.
    let locate = |diag: Diag| match image.path.as_str() {
        "" => diag.at(format!("/images/{}", texture.image.0)),
        file => diag.path(file),
    };
    let image = EncodedImage::of_model(cx, image);
    let made = ktx::image_artifact(cx, path, image, texture.mode, settings);
    let (mut artifact, warnings) = made.map_err(locate)?;
    warnings.into_iter().for_each(|warning| cx.warn(locate(warning)));
    artifact.metadata = artifact.metadata.listed();
    Ok(artifact)
}

/// Converts a material to a row of the table.
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
        .map_err(|_| Diag::new(Code::Mesh, "the file name has no stem, so the output has no name"))
}
