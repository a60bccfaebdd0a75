//! The materials of a glTF file, read while planning.

use kiln_engine::{Diag, Inputs, RelPath};
use kiln_format::pak::{ALPHA_TEST, DOUBLE_SIDED};
use kiln_import::gltf::{self, ImageSelection, Options};
use kiln_ir::AlphaMode;

/// A material of a glTF file, reduced to the parameters of a pak material.
pub(crate) struct GltfMaterial {
    pub(crate) number: usize,
    pub(crate) name: String,
    /// Image indices: base color, metallic-roughness, normal, occlusion, emissive.
    pub(crate) textures: [Option<u32>; 5],
    /// The base color factor in sRGB, used where there is no texture.
    pub(crate) color: [u8; 4],
    pub(crate) emissive: [u8; 4],
    pub(crate) metallic: f32,
    pub(crate) roughness: f32,
    pub(crate) flags: u8,
    pub(crate) alpha_cutoff: f32,
}

/// Reads all materials of a file, and which of them its default scene draws, in the order of the mesh's material slots.
pub(crate) fn materials(inputs: &mut Inputs<'_>, path: &RelPath, shapes: bool) -> Result<Materials, Diag> {
    let options = Options::new().geometry(shapes).images(ImageSelection::None);
    let scene = gltf::import_with(inputs, path, &options)?.value;
    let mut drawn: Vec<usize> = Vec::new();
    for draw in scene.draws() {
        for primitive in &scene.meshes[draw.mesh.0 as usize].primitives {
            let number = primitive.material.map(|id| id.0 as usize);
            drawn.extend(number.filter(|number| !drawn.contains(number)));
        }
    }
    let all = scene.materials.iter().enumerate().map(|(number, material)| GltfMaterial {
        number,
        name: material.name.clone(),
        textures: material.textures.map(|image| image.map(|image| image.0)),
        color: srgb(material.base_color_factor),
        emissive: srgb([
            material.emissive_factor[0],
            material.emissive_factor[1],
            material.emissive_factor[2],
            1.0,
        ]),
        metallic: material.metallic_factor,
        roughness: material.roughness_factor,
        flags: if material.double_sided { DOUBLE_SIDED } else { 0 }
            | if material.alpha_mode == AlphaMode::Mask { ALPHA_TEST } else { 0 },
        alpha_cutoff: material.alpha_cutoff,
    });
    Ok(Materials { all: all.collect(), drawn })
}

/// The materials of a glTF file, and the indices of those that its default scene draws.
pub(crate) struct Materials {
    pub(crate) all: Vec<GltfMaterial>,
    pub(crate) drawn: Vec<usize>,
}

/// Converts a linear RGBA color to sRGB bytes; alpha stays linear.
fn srgb([r, g, b, a]: [f32; 4]) -> [u8; 4] {
    let byte = |value: f64| (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
    let light = |value: f32| {
        let value = f64::from(value);
        byte(if value <= 0.003_130_8 { value * 12.92 } else { 1.055 * libm::pow(value, 1.0 / 2.4) - 0.055 })
    };
    [light(r), light(g), light(b), byte(a.into())]
}
