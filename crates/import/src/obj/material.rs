//! Conversion of MTL materials to the metallic-roughness model, with their images.
//!
//! | MTL | metallic-roughness |
//! |---|---|
//! | `Kd`, `map_Kd` | base colour |
//! | `d`, `Tr` | alpha; below one the material is blended |
//! | `map_d` | blended, when it is the image of `map_Kd`, whose alpha is used |
//! | `Ke`, `map_Ke` | emissive |
//! | `norm`, `map_Kn`, else `map_Bump`, `bump` | normal, with the scale of `-bm` |
//! | `Pr`, else `Ns` | roughness; of a specular exponent, the fourth root of 2 / (`Ns` + 2) |
//! | `Pm` | metalness, else zero |
//! | `map_ORM` | occlusion, roughness and metalness |
//! | `map_Pr`, `map_Pm` | both, when they are the same image; `map_Pr` alone when the metalness is zero |
//!
//! Everything else is ignored, and listed in a warning for each material. A black colour beside an image is read as white:
//! exporters write it when only the image is used. Missing images are ignored, with a warning.

use std::collections::BTreeMap;

use kiln_diagnostics::{Code, Diag, RelPath};
use kiln_ir::{AlphaMode, ImageId, ImageSource, Material, Slot};

use super::mtl::{Map, MtlMaterial, Role};
use crate::excerpt;
use crate::files::{Files, Lookup};

/// The images of a model, in the order of their first use.
#[derive(Default)]
pub(super) struct ImageTable {
    pub(super) list: Vec<ImageSource>,
    /// The image of each path; `None` when the file does not exist.
    known: BTreeMap<RelPath, Option<ImageId>>,
}

/// Converts materials and reads their images.
pub(super) struct MaterialReader<'f, 'c> {
    pub(super) files: &'f mut Files<'c>,
    pub(super) images: ImageTable,
    pub(super) warnings: Vec<Diag>,
}

impl MaterialReader<'_, '_> {
    /// Converts a used material and reads its images.
    pub(super) fn material(&mut self, mut source: MtlMaterial) -> Result<Material, Diag> {
        if let Some((library, _)) = &source.place {
            self.files.go_beside(library);
        }
        let metalness = source.metalness.unwrap_or_default();
        let same = |a: Role, b: Role| match (source.map(a), source.map(b)) {
            (Some(a), Some(b)) => a.file == b.file,
            _ => false,
        };
        let is_cutout = same(Role::Opacity, Role::Diffuse);
        let has = |role: Role| source.map(role).is_some();
        let packed = if has(Role::Packed) {
            Some(Role::Packed)
        } else if same(Role::Roughness, Role::Metalness) {
            Some(Role::Roughness)
        } else if has(Role::Roughness) && !has(Role::Metalness) && metalness == 0.0 {
            // A greyscale image: its blue channel, read as metalness, is multiplied by zero.
            Some(Role::Roughness)
        } else {
            None
        };
        let is_packed = |role: Role| match packed {
            Some(Role::Packed) => true,
            Some(_) => role == Role::Roughness || same(Role::Roughness, Role::Metalness),
            None => false,
        };
        let normal = [Role::Normal, Role::Bump].into_iter().find(|&role| has(role));
        let kept = [
            (Role::Ambient, same(Role::Ambient, Role::Diffuse)),
            (Role::Specular, false),
            (Role::Opacity, is_cutout),
            (Role::Roughness, is_packed(Role::Roughness)),
            (Role::Metalness, is_packed(Role::Metalness)),
        ];
        let unsupported: Vec<String> = kept
            .into_iter()
            .filter(|(_, is_kept)| !is_kept)
            .filter_map(|(role, _)| Some(source.map(role)?.key.clone()))
            .collect();
        unsupported.into_iter().for_each(|key| source.note_unsupported(key));

        let occlusion = packed.filter(|&role| role == Role::Packed);
        let roles = [Some(Role::Diffuse), packed, normal, occlusion, Some(Role::Emissive)];
        let mut textures = [None; 5];
        for slot in Slot::ALL {
            if let Some(map) = roles[slot as usize].and_then(|role| source.map(role)) {
                textures[slot as usize] = self.image(map, &source)?;
            }
        }
        let mut material = convert(&source, textures);
        if let (Some(role), Some(_)) = (normal, material.texture(Slot::Normal)) {
            material.normal_scale = source.map(role).map_or(1.0, |map| map.strength);
        }
        if is_cutout && material.texture(Slot::BaseColor).is_some() {
            material.alpha_mode = AlphaMode::Blend;
        }
        if let (Some((library, line)), false) = (&source.place, material.unsupported.is_empty()) {
            let message = format!(
                "material {}: properties that are not supported are ignored: {}",
                excerpt(&material.name),
                material.unsupported.join(", ")
            );
            self.warnings
                .push(Diag::new(Code::ObjMaterial, message).path(library).at(format_args!("line {line}")));
        }
        Ok(material)
    }

    /// Returns the index of an image, which is read on first use.
    fn image(&mut self, map: &Map, source: &MtlMaterial) -> Result<Option<ImageId>, Diag> {
        let missing = |what: String| {
            let diag = Diag::new(Code::ObjTexture, what).at(format_args!("line {}", map.line)).hint(
                "use a path relative to the .mtl file, inside the project; file names are case-sensitive",
            );
            match &source.place {
                Some((library, _)) => diag.path(library),
                None => diag,
            }
        };
        let Some(name) = &map.file else {
            self.warnings.push(missing(format!("the file name of {} is not UTF-8", map.key)));
            return Ok(None);
        };
        if let Some(known) = self.files.resolve(name).ok().and_then(|path| self.images.known.get(&path)) {
            return Ok(*known);
        }
        match self.files.lookup(name)? {
            Lookup::Found(path, bytes) => {
                let id = ImageId(self.images.list.len() as u32);
                let extension =
                    path.file_name().rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
                self.images.list.push(ImageSource {
                    name: String::new(),
                    extension: extension.unwrap_or_default(),
                    path: path.to_string(),
                    bytes,
                });
                self.images.known.insert(path, Some(id));
                Ok(Some(id))
            }
            Lookup::Missing(path) => {
                let what = format!("the image {path} of {} does not exist and is ignored", map.key);
                self.warnings.push(missing(what));
                self.images.known.insert(path, None);
                Ok(None)
            }
            Lookup::Rejected(why) => {
                let what = format!("the image {} of {} is ignored: {why}", excerpt(name), map.key);
                self.warnings.push(missing(what));
                Ok(None)
            }
        }
    }
}

/// Converts a material with these textures.
pub(super) fn convert(source: &MtlMaterial, textures: [Option<ImageId>; 5]) -> Material {
    let has = |slot: Slot| textures[slot as usize].is_some();
    let colour = |stated: Option<[f32; 3]>, default: f32, has_texture: bool| match stated {
        Some(colour) if !has_texture || colour != [0.0; 3] => colour,
        _ if has_texture => [1.0; 3],
        _ => [default; 3],
    };
    let [red, green, blue] = colour(source.diffuse, 1.0, has(Slot::BaseColor));
    let alpha = source.opacity.unwrap_or(1.0).clamp(0.0, 1.0);
    // Illumination models 0 and 1 have no specular highlights.
    let has_specular = source.model.is_none_or(|model| model >= 2.0);
    let exponent = source.exponent.filter(|_| has_specular).unwrap_or_default().max(0.0);
    let of_exponent = libm::sqrt(libm::sqrt(2.0 / (f64::from(exponent) + 2.0))) as f32;
    let of_texture = |factor: Option<f32>, default: f32| match factor.map(|factor| factor.clamp(0.0, 1.0)) {
        Some(factor) if factor > 0.0 || !has(Slot::MetallicRoughness) => factor,
        _ if has(Slot::MetallicRoughness) => 1.0,
        _ => default,
    };
    let metallic =
        if has(Slot::MetallicRoughness) && !has(Slot::Occlusion) && source.map(Role::Metalness).is_none() {
            0.0
        } else {
            of_texture(source.metalness, 0.0)
        };
    let mut unsupported = source.unsupported.clone();
    // A specular colour of 0.5 is close to that of every dielectric; black is close enough.
    if has_specular && source.specular.is_some_and(|colour| colour != [0.0; 3] && colour != [0.5; 3]) {
        unsupported.push("Ks".to_owned());
    }
    Material {
        name: String::from_utf8_lossy(&source.name).into_owned(),
        base_color_factor: [red, green, blue, alpha],
        emissive_factor: colour(source.emissive, 0.0, has(Slot::Emissive)),
        metallic_factor: metallic,
        roughness_factor: of_texture(source.roughness, of_exponent),
        alpha_mode: if alpha < 1.0 { AlphaMode::Blend } else { AlphaMode::Opaque },
        textures,
        unsupported,
        ..Material::default()
    }
}
