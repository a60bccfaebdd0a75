//! Materials for the page: factors, and textures as indices into its list of files.

use crate::{Files, file_indices};
use kiln_engine::Json;
use kiln_format::hman::{self, HmanView};
use kiln_format::hmat::{GpuMaterial, HmatView, SLOTS};
use kiln_format::refs::{NO_REF, hash_runtime_path};
use std::collections::BTreeMap;

/// The file index of each texture hash.
pub(crate) struct Textures(BTreeMap<u64, usize>);

impl Textures {
    /// Resolves hashes by the manifest; for unlisted files, by hashing their paths.
    pub(crate) fn new(files: &Files<'_>) -> Textures {
        let file_indices = file_indices(files);
        let textures = file_indices.iter().filter(|(path, _)| path.ends_with(".ktx2"));
        let mut found: BTreeMap<u64, usize> =
            textures.map(|(path, place)| (hash_runtime_path(path), *place)).collect();
        if file_indices.contains_key(hman::PATH)
            && let Ok(bytes) = (files.read)(hman::PATH)
            && let Ok(manifest) = HmanView::read(&bytes)
        {
            let listed = manifest.entries().filter_map(|e| Some((e.hash, *file_indices.get(e.path)?)));
            found.extend(listed);
        }
        Textures(found)
    }
}

/// Returns the rows of a `.hmat` as JSON.
pub(crate) fn materials(view: &HmatView<'_>, textures: &Textures) -> Json {
    Json::List(view.materials().iter().map(|row| material(&row, textures)).collect())
}

fn material(row: &GpuMaterial, textures: &Textures) -> Json {
    let floats = |values: &[f32]| Json::list(values.iter().copied());
    let texture = |hash: u64| match textures.0.get(&hash) {
        _ if hash == NO_REF => Json::Null,
        Some(place) => Json::from(*place),
        None => format!("{hash:#018x}").into(),
    };
    let slots = SLOTS.iter().zip(row.textures()).map(|(slot, hash)| ((*slot).to_owned(), texture(hash)));
    Json::object([
        ("base_color", floats(&{ row.base_color_factor })),
        ("emissive", floats(&{ row.emissive_factor })),
        ("metallic", row.metallic_factor.into()),
        ("roughness", row.roughness_factor.into()),
        ("normal_scale", row.normal_scale.into()),
        ("occlusion", row.occlusion_strength.into()),
        ("alpha", row.alpha_mode().name().into()),
        ("alpha_cutoff", row.alpha_cutoff.into()),
        ("double_sided", row.double_sided().into()),
        ("textures", Json::Object(slots.collect())),
    ])
}
