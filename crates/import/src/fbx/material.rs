//! Conversion of FBX materials to the metallic-roughness model, with their images.
//!
//! | FBX, under the names of its many shaders | metallic-roughness |
//! |---|---|
//! | diffuse or base colour, times its factor | base colour; an image replaces the colour |
//! | opacity, or one minus transparency | alpha; below one the material is blended |
//! | emissive colour, times its factor | emissive |
//! | normal map, else bump map | normal |
//! | roughness, or the fourth root of 2 / (shininess + 2) | roughness |
//! | metalness, else zero | metalness |
//! | ambient occlusion | occlusion |
//!
//! Roughness and metalness share an image in the model: they are kept when they share one in the file, or when the
//! metalness is zero. Every other image is ignored, and listed in a warning for each material. A fully transparent material
//! is read as opaque, and a factor of zero beside an image as one: exporters write both.
//!
//! Images are embedded, or files of the project, looked up at the stated path, and else by name beside the file and in
//! `textures`; missing ones are ignored, with a warning. No other path is opened.

use std::collections::{BTreeMap, BTreeSet};

use kiln_diagnostics::{Code, Diag};
use kiln_ir::{AlphaMode, ImageId, ImageSource, Material, Slot};
use ufbx::{MaterialMap, Texture, WrapMode};

use crate::excerpt;
use crate::files::{Files, Lookup};

/// A material and the UV mapping of its textures.
pub(super) struct MaterialImport {
    pub(super) material: Material,
    pub(super) mapping: Mapping,
}

/// The UV set of textures and its transform.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Mapping {
    /// The name of the UV set, or empty for the first.
    pub(super) set: String,
    /// The two rows of the UV transform, if there is one.
    matrix: Option<[[f64; 3]; 2]>,
}

impl Mapping {
    fn of(texture: &Texture) -> Mapping {
        let m = &texture.uv_to_texture;
        Mapping {
            set: texture.uv_set.to_string(),
            matrix: texture.has_uv_transform.then_some([[m.m00, m.m01, m.m03], [m.m10, m.m11, m.m13]]),
        }
    }

    /// Transforms a UV, and flips V to the origin at the top.
    pub(super) fn apply(&self, uv: ufbx::Vec2) -> [f32; 2] {
        let row = |[x, y, along]: [f64; 3]| x * uv.x + y * uv.y + along;
        let [u, v] = self.matrix.map_or([uv.x, uv.y], |matrix| matrix.map(row));
        [u as f32, (1.0 - v) as f32]
    }
}

/// Converts materials and reads their images.
pub(super) struct MaterialReader<'f, 'c> {
    files: &'f mut Files<'c>,
    pub(super) images: Vec<ImageSource>,
    /// The image of each file of the source; `None` when it does not exist.
    known: BTreeMap<u32, Option<ImageId>>,
    pub(super) warnings: Vec<Diag>,
}

impl<'f, 'c> MaterialReader<'f, 'c> {
    pub(super) fn new(files: &'f mut Files<'c>) -> MaterialReader<'f, 'c> {
        MaterialReader { files, images: Vec::new(), known: BTreeMap::new(), warnings: Vec::new() }
    }

    /// Converts a material. Images are read, and warnings reported, for drawn materials only.
    pub(super) fn read(&mut self, source: &ufbx::Material, is_drawn: bool) -> Result<MaterialImport, Diag> {
        let maps = slot_textures(source);
        let mut import =
            MaterialImport { material: convert_factors(source, &maps), mapping: Mapping::default() };
        if !is_drawn {
            return Ok(import);
        }
        let material = &mut import.material;
        let mut kept = BTreeSet::new();
        let mut first: Option<(Slot, Mapping)> = None;
        let mut conflicting = Vec::new();
        for slot in Slot::ALL {
            let Some(texture) = maps[slot as usize] else { continue };
            kept.insert(texture.element.element_id);
            let Some(file) = texture.file_textures.first() else { continue };
            material.textures[slot as usize] = self.image(file)?;
            let mapping = Mapping::of(file);
            match &first {
                None => first = Some((slot, mapping)),
                Some((_, other)) if *other != mapping => conflicting.push(slot.name()),
                Some(_) => {}
            }
        }
        let base = material.texture(Slot::BaseColor);
        if let (Some(_), Some(opacity)) =
            (base, texture(&source.fbx.transparency_color).or(texture(&source.pbr.opacity)))
            && maps[Slot::BaseColor as usize].is_some_and(|base| same(base, opacity))
        {
            kept.insert(opacity.element.element_id);
            material.alpha_mode = AlphaMode::Blend;
        }
        let same_as_kept = |texture: &Texture| maps.iter().flatten().any(|map| same(map, texture));
        for unused in &source.textures {
            let texture = &unused.texture;
            if !kept.contains(&texture.element.element_id) && !same_as_kept(texture) {
                material.unsupported.push(unused.material_prop.to_string());
            }
        }
        let maps = maps.into_iter().flatten();
        if maps.clone().any(|map| map.file_textures.count > 1) {
            material.unsupported.push("texture layers above the first".to_owned());
        }
        if maps.clone().any(|map| map.wrap_u == WrapMode::Clamp || map.wrap_v == WrapMode::Clamp) {
            material.unsupported.push("the wrap mode clamp".to_owned());
        }
        let name = match material.name.as_str() {
            "" => "unnamed material".to_owned(),
            name => format!("material {}", excerpt(name)),
        };
        if let (Some((first, _)), false) = (&first, conflicting.is_empty()) {
            let (conflicting, first) = (conflicting.join(", "), first.name());
            let message = format!(
                "{name}: the textures for {conflicting} use other UVs than {first}; the UVs of {first} are used for all"
            );
            let hint = "give all textures of a material the same UV set and transform";
            self.warnings.push(Diag::new(Code::FbxUv, message).hint(hint));
        }
        if !material.unsupported.is_empty() {
            let message = format!(
                "{name}: properties that are not supported are ignored: {}",
                material.unsupported.join(", ")
            );
            self.warnings.push(Diag::new(Code::FbxMaterial, message));
        }
        import.mapping = first.map(|(_, mapping)| mapping).unwrap_or_default();
        Ok(import)
    }

    /// Returns the index of a texture's image, which is read on first use.
    fn image(&mut self, texture: &Texture) -> Result<Option<ImageId>, Diag> {
        if let (true, Some(known)) = (texture.has_file, self.known.get(&texture.file_index)) {
            return Ok(*known);
        }
        let found = self.find(texture)?;
        let id = found.map(|image| {
            self.images.push(image);
            ImageId(self.images.len() as u32 - 1)
        });
        if texture.has_file {
            self.known.insert(texture.file_index, id);
        }
        Ok(id)
    }

    fn find(&mut self, texture: &Texture) -> Result<Option<ImageSource>, Diag> {
        let names = [&texture.relative_filename, &texture.filename, &texture.absolute_filename];
        let names = names.map(|name| name.replace('\\', "/"));
        let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let file = names.iter().map(|name| last(name)).find(|name| !name.is_empty()).unwrap_or_default();
        let extension =
            |name: &str| name.rsplit_once('.').map_or(String::new(), |(_, e)| e.to_ascii_lowercase());
        let stem = file.rsplit_once('.').map_or(file.as_str(), |(stem, _)| stem).to_owned();
        if !texture.content.is_empty() {
            let bytes = texture.content.to_vec();
            return Ok(Some(ImageSource {
                name: stem,
                extension: extension(&file),
                path: String::new(),
                bytes,
            }));
        }
        let mut why = String::new();
        for name in [names[0].clone(), file.clone(), format!("textures/{file}")] {
            if file.is_empty() || name.is_empty() {
                continue;
            }
            let reason = match self.files.lookup(&name)? {
                Lookup::Found(path, bytes) => {
                    let (name, path) = (stem, path.to_string());
                    return Ok(Some(ImageSource { name, extension: extension(&path), path, bytes }));
                }
                Lookup::Missing(path) => format!("{path} does not exist"),
                Lookup::Rejected(reason) => format!("{} is rejected: {reason}", excerpt(&name)),
            };
            if why.is_empty() {
                why = reason;
            }
        }
        let what = match (&*file, &*texture.element.name) {
            ("", name) => format!("the texture {} has no image file", excerpt(name)),
            (file, _) => format!("the image {} is ignored: {why}", excerpt(file)),
        };
        let hint = "copy the image beside the model, or embed images in the export";
        self.warnings.push(Diag::new(Code::FbxTexture, what).hint(hint));
        Ok(None)
    }
}

/// Returns the texture of a map, if it is enabled.
fn texture(map: &MaterialMap) -> Option<&Texture> {
    map.texture.as_deref().filter(|_| map.texture_enabled)
}

/// Returns `true` if two textures use the same image.
fn same(a: &Texture, b: &Texture) -> bool {
    a.element.element_id == b.element.element_id || a.has_file && b.has_file && a.file_index == b.file_index
}

/// Returns the texture of each slot.
fn slot_textures(source: &ufbx::Material) -> [Option<&Texture>; 5] {
    let (fbx, pbr) = (&source.fbx, &source.pbr);
    let packed = match (texture(&pbr.roughness), texture(&pbr.metalness)) {
        _ if !source.features.pbr.enabled => None,
        (Some(roughness), Some(metalness)) => Some(roughness).filter(|roughness| same(roughness, metalness)),
        // A greyscale image: its blue channel, read as metalness, is multiplied by zero.
        (Some(roughness), None) => Some(roughness).filter(|_| pbr.metalness.value_vec4.x == 0.0),
        (None, _) => None,
    };
    let normal = texture(&pbr.normal_map).or(texture(&fbx.normal_map)).or(texture(&fbx.bump));
    [
        texture(&pbr.base_color).or(texture(&fbx.diffuse_color)),
        packed,
        normal,
        texture(&pbr.ambient_occlusion),
        texture(&pbr.emission_color).or(texture(&fbx.emission_color)),
    ]
}

/// Converts the factors of a material whose textures are known.
fn convert_factors(source: &ufbx::Material, maps: &[Option<&Texture>; 5]) -> Material {
    let (fbx, pbr) = (&source.fbx, &source.pbr);
    let has = |slot: Slot| maps[slot as usize].is_some();
    let colour = |map: &MaterialMap, factor: &MaterialMap, default: f64, has_texture: bool| {
        let by = if factor.has_value { factor.value_vec4.x } else { 1.0 };
        let v = &map.value_vec4;
        match (has_texture, map.has_value) {
            (true, _) => [if by == 0.0 { 1.0 } else { by }; 3],
            (false, true) => [v.x, v.y, v.z].map(|v| v * by),
            (false, false) => [default; 3],
        }
    };
    let [red, green, blue] = colour(&pbr.base_color, &pbr.base_factor, 1.0, has(Slot::BaseColor));
    let alpha = opacity(source).clamp(0.0, 1.0);
    let exponent = &fbx.specular_exponent;
    let roughness = match source.features.pbr.enabled {
        _ if has(Slot::MetallicRoughness) => 1.0,
        true if pbr.roughness.has_value => pbr.roughness.value_vec4.x,
        true if pbr.glossiness.has_value => 1.0 - pbr.glossiness.value_vec4.x,
        false if source.shader_type != ufbx::ShaderType::FbxLambert && exponent.has_value => {
            (2.0 / (exponent.value_vec4.x.max(0.0) + 2.0)).sqrt().sqrt()
        }
        _ => 1.0,
    };
    let metallic = match &pbr.metalness {
        map if source.features.pbr.enabled && has(Slot::MetallicRoughness) && texture(map).is_some() => 1.0,
        map if source.features.pbr.enabled && map.has_value => map.value_vec4.x,
        _ => 0.0,
    };
    let is_bump =
        maps[Slot::Normal as usize].is_some_and(|map| texture(&fbx.bump).is_some_and(|bump| same(map, bump)));
    let strength = &fbx.bump_factor;
    Material {
        name: source.element.name.to_string(),
        base_color_factor: [red, green, blue, alpha].map(|v| v as f32),
        emissive_factor: colour(&pbr.emission_color, &pbr.emission_factor, 0.0, has(Slot::Emissive))
            .map(|v| v.max(0.0) as f32),
        metallic_factor: metallic.clamp(0.0, 1.0) as f32,
        roughness_factor: roughness.clamp(0.0, 1.0) as f32,
        normal_scale: if is_bump && strength.has_value { strength.value_vec4.x as f32 } else { 1.0 },
        alpha_mode: if alpha < 1.0 { AlphaMode::Blend } else { AlphaMode::Opaque },
        double_sided: source.features.double_sided.enabled,
        ..Material::default()
    }
}

/// Returns the alpha of a material.
fn opacity(source: &ufbx::Material) -> f64 {
    let (fbx, pbr) = (&source.fbx, &source.pbr);
    let opacity = match source.element.props.find_prop("Opacity") {
        _ if source.features.pbr.enabled && pbr.opacity.has_value => pbr.opacity.value_vec4.x,
        Some(opacity) => opacity.value_vec4.x,
        None if fbx.transparency_color.has_value => {
            let (colour, factor) = (&fbx.transparency_color.value_vec4, &fbx.transparency_factor);
            let by = if factor.has_value { factor.value_vec4.x } else { 1.0 };
            1.0 - (colour.x + colour.y + colour.z) / 3.0 * by
        }
        None if fbx.transparency_factor.has_value => 1.0 - fbx.transparency_factor.value_vec4.x,
        None => 1.0,
    };
    if opacity <= 0.0 { 1.0 } else { opacity }
}
