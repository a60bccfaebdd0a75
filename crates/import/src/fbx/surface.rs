//! Materials of a file as metallic-roughness ones, with their pictures.
//!
//! | FBX (and what its many shaders call it) | here |
//! |---|---|
//! | diffuse or base colour, times its factor | base colour; a picture takes the place of the colour |
//! | opacity, or what transparency leaves | its alpha; below one the material is blended |
//! | emissive colour, times its factor | emissive |
//! | normal map, else bump map | normal |
//! | roughness; shininess is the fourth root of 2 / (it + 2) | roughness |
//! | metalness, else none | metalness |
//! | ambient occlusion | occlusion |
//!
//! Roughness and metalness share a picture here: they are kept when they do so there, or when nothing is metal. Every
//! other picture is lost, and named in a warning for each material. A material that nobody could see is taken for an
//! opaque one, and a factor of zero beside a picture for one: exporters write both.
//!
//! Pictures are embedded, or files of the project, looked for where the file says, and else beside it and in
//! `textures`, by name; what is not there is left out, with a warning. No other path is opened, whatever the file says.

use std::collections::{BTreeMap, BTreeSet};

use kiln_engine::{Code, Diag};
use kiln_ir::{AlphaMode, ImageId, ImageSource, Material, Slot};
use ufbx::{MaterialMap, Texture, WrapMode};

use crate::excerpt;
use crate::files::{Files, Sought};

/// A material, and how its textures are laid on.
pub(super) struct Surface {
    pub(super) material: Material,
    pub(super) mapping: Mapping,
}

/// Which coordinates textures use, and what becomes of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Mapping {
    /// The name of the set, or empty for the first.
    pub(super) set: String,
    /// Two rows of a matrix, if there is one.
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

    /// Coordinates as they are here: from the top.
    pub(super) fn apply(&self, uv: ufbx::Vec2) -> [f32; 2] {
        let row = |[x, y, along]: [f64; 3]| x * uv.x + y * uv.y + along;
        let [u, v] = self.matrix.map_or([uv.x, uv.y], |matrix| matrix.map(row));
        [u as f32, (1.0 - v) as f32]
    }
}

/// What interprets materials.
pub(super) struct Studio<'f, 'c, 'x> {
    files: &'f mut Files<'c, 'x>,
    pub(super) images: Vec<ImageSource>,
    /// What became of each file of the source; `None` when nothing is there.
    known: BTreeMap<u32, Option<ImageId>>,
    pub(super) warnings: Vec<Diag>,
}

impl<'f, 'c, 'x> Studio<'f, 'c, 'x> {
    pub(super) fn new(files: &'f mut Files<'c, 'x>) -> Studio<'f, 'c, 'x> {
        Studio { files, images: Vec::new(), known: BTreeMap::new(), warnings: Vec::new() }
    }

    /// A material; only of those that are drawn, pictures are read and something is said.
    pub(super) fn surface(&mut self, source: &ufbx::Material, is_drawn: bool) -> Result<Surface, Diag> {
        let maps = pictures(source);
        let mut surface = Surface { material: plain(source, &maps), mapping: Mapping::default() };
        if !is_drawn {
            return Ok(surface);
        }
        let material = &mut surface.material;
        let mut kept = BTreeSet::new();
        let mut first: Option<(Slot, Mapping)> = None;
        let mut apart = Vec::new();
        for slot in Slot::ALL {
            let Some(texture) = maps[slot as usize] else { continue };
            kept.insert(texture.element.element_id);
            let Some(file) = texture.file_textures.first() else { continue };
            material.textures[slot as usize] = self.picture(file)?;
            let mapping = Mapping::of(file);
            match &first {
                None => first = Some((slot, mapping)),
                Some((_, other)) if *other != mapping => apart.push(slot.name()),
                Some(_) => {}
            }
        }
        let base = material.texture(Slot::BaseColor);
        if let (Some(_), Some(veil)) =
            (base, texture(&source.fbx.transparency_color).or(texture(&source.pbr.opacity)))
            && maps[Slot::BaseColor as usize].is_some_and(|base| same(base, veil))
        {
            kept.insert(veil.element.element_id);
            material.alpha_mode = AlphaMode::Blend;
        }
        let same_as_kept = |texture: &Texture| maps.iter().flatten().any(|map| same(map, texture));
        for unused in &source.textures {
            let texture = &unused.texture;
            if !kept.contains(&texture.element.element_id) && !same_as_kept(texture) {
                material.lost.push(unused.material_prop.to_string());
            }
        }
        let maps = maps.into_iter().flatten();
        if maps.clone().any(|map| map.file_textures.count > 1) {
            material.lost.push("layers of textures above the first".to_owned());
        }
        if maps.clone().any(|map| map.wrap_u == WrapMode::Clamp || map.wrap_v == WrapMode::Clamp) {
            material.lost.push("clamping".to_owned());
        }
        let name = match material.name.as_str() {
            "" => "a material without a name".to_owned(),
            name => format!("material {}", excerpt(name)),
        };
        if let (Some((first, _)), false) = (&first, apart.is_empty()) {
            let (apart, first) = (apart.join(", "), first.name());
            let message = format!(
                "{name}: the textures for {apart} get the texture coordinates of {first}, not their own"
            );
            let hint = "give all textures of a material one set of coordinates and one transform";
            self.warnings.push(Diag::new(Code::FbxUv, message).hint(hint));
        }
        if !material.lost.is_empty() {
            let message = format!("{name}: not kept are {}", material.lost.join(", "));
            self.warnings.push(Diag::new(Code::FbxMaterial, message));
        }
        surface.mapping = first.map(|(_, mapping)| mapping).unwrap_or_default();
        Ok(surface)
    }

    /// The picture of a texture, read once.
    fn picture(&mut self, texture: &Texture) -> Result<Option<ImageId>, Diag> {
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
            let said = match self.files.seek(&name)? {
                Sought::Found(path, bytes) => {
                    let (name, path) = (stem, path.to_string());
                    return Ok(Some(ImageSource { name, extension: extension(&path), path, bytes }));
                }
                Sought::Missing(path) => format!("there is no {path}"),
                Sought::Refused(reason) => format!("{} is not read: {reason}", excerpt(&name)),
            };
            if why.is_empty() {
                why = said;
            }
        }
        let what = match (&*file, &*texture.element.name) {
            ("", name) => format!("texture {} names no picture", excerpt(name)),
            (file, _) => format!("picture {} is left out: {why}", excerpt(file)),
        };
        let hint = "copy it beside the model, or embed pictures when exporting";
        self.warnings.push(Diag::new(Code::FbxTexture, what).hint(hint));
        Ok(None)
    }
}

/// The texture of a map that is not switched off.
fn texture(map: &MaterialMap) -> Option<&Texture> {
    map.texture.as_deref().filter(|_| map.texture_enabled)
}

/// Whether two textures are one picture.
fn same(a: &Texture, b: &Texture) -> bool {
    a.element.element_id == b.element.element_id || a.has_file && b.has_file && a.file_index == b.file_index
}

/// The texture of each slot.
fn pictures(source: &ufbx::Material) -> [Option<&Texture>; 5] {
    let (fbx, pbr) = (&source.fbx, &source.pbr);
    let surface = match (texture(&pbr.roughness), texture(&pbr.metalness)) {
        _ if !source.features.pbr.enabled => None,
        (Some(roughness), Some(metalness)) => Some(roughness).filter(|roughness| same(roughness, metalness)),
        // A grey picture: what it would say about metalness is multiplied by zero.
        (Some(roughness), None) => Some(roughness).filter(|_| pbr.metalness.value_vec4.x == 0.0),
        (None, _) => None,
    };
    let normal = texture(&pbr.normal_map).or(texture(&fbx.normal_map)).or(texture(&fbx.bump));
    [
        texture(&pbr.base_color).or(texture(&fbx.diffuse_color)),
        surface,
        normal,
        texture(&pbr.ambient_occlusion),
        texture(&pbr.emission_color).or(texture(&fbx.emission_color)),
    ]
}

/// A material without its pictures, of which it knows that they are there.
fn plain(source: &ufbx::Material, maps: &[Option<&Texture>; 5]) -> Material {
    let (fbx, pbr) = (&source.fbx, &source.pbr);
    let has = |slot: Slot| maps[slot as usize].is_some();
    let colour = |map: &MaterialMap, factor: &MaterialMap, otherwise: f64, has_texture: bool| {
        let by = if factor.has_value { factor.value_vec4.x } else { 1.0 };
        let v = &map.value_vec4;
        match (has_texture, map.has_value) {
            (true, _) => [if by == 0.0 { 1.0 } else { by }; 3],
            (false, true) => [v.x, v.y, v.z].map(|v| v * by),
            (false, false) => [otherwise; 3],
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

/// How much of what is behind a material it hides.
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
