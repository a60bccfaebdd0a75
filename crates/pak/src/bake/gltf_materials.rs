//! The materials of a glTF file and the material slots of a mesh of it, read while planning.

use super::mesh_slots::{Slots, draws};
use super::plan::mesh::MeshSpec;
use kiln_engine::{Diag, Inputs, RelPath};
use kiln_import::gltf::{self, ImageSelection, MaterialSelection, Options, SceneSelection};
use kiln_ir::Material;

/// The materials of a glTF file by index, each with its warnings.
pub(crate) struct GltfMaterials(pub(crate) Vec<(Material, Vec<Diag>)>);

/// Reads all materials of a file.
pub(crate) fn materials(inputs: &mut Inputs<'_>, path: &RelPath) -> Result<GltfMaterials, Diag> {
    let options = Options::new()
        .geometry(false)
        .images(ImageSelection::None)
        .materials(MaterialSelection::All)
        .transmission(true);
    let imported = gltf::import_with(inputs, path, &options)?;
    let materials = imported.value.materials.iter().enumerate().map(|(number, material)| {
        let pointer = format!("/materials/{number}");
        let own = |warning: &&Diag| warning.at.as_deref() == Some(&*pointer);
        let warnings = imported.warnings.iter().filter(own).map(|diag| diag.clone().or_path(path));
        (material.clone(), warnings.collect())
    });
    Ok(GltfMaterials(materials.collect()))
}

/// Reads the material slots of a mesh: the index of each slot's material, or `None` for primitives without a material.
pub(crate) fn slots(inputs: &mut Inputs<'_>, spec: &MeshSpec) -> Result<Vec<Option<usize>>, Diag> {
    let scene = spec.scene.as_deref().map_or(SceneSelection::Default, SceneSelection::Name);
    let options = Options::new().scene(scene).images(ImageSelection::None);
    let scene = gltf::import_with(inputs, &spec.src, &options)?.value;
    let draws = draws(&scene, spec)?;
    let slots = Slots::of(&scene, &draws).0.into_iter();
    Ok(slots.map(|material| material.map(|id| id.0 as usize)).collect())
}
