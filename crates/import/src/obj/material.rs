//! Materials of MTL files as metallic-roughness ones, with their pictures.
//!
//! | MTL | here |
//! |---|---|
//! | `Kd`, `map_Kd` | base colour |
//! | `d`, `Tr` | its alpha; below one the material is blended |
//! | `map_d` | blended, when it is the picture of `map_Kd`, whose alpha that has |
//! | `Ke`, `map_Ke` | emissive |
//! | `norm`, `map_Kn`, else `map_Bump`, `bump` | normal, as strong as `-bm` says |
//! | `Pr`, else `Ns` | roughness; an exponent is the fourth root of 2 / (`Ns` + 2) |
//! | `Pm` | metalness, else none |
//! | `map_ORM` | occlusion, roughness and metalness |
//! | `map_Pr`, `map_Pm` | both, when they are one picture; `map_Pr` alone when nothing is metal |
//!
//! Everything else is lost, and named in a warning for each material. A colour of zero beside a picture is taken for
//! one: exporters write it when only the picture counts. Pictures that are not there are left out, with a warning.

use std::collections::BTreeMap;

use kiln_engine::{Code, Diag, RelPath};
use kiln_ir::{AlphaMode, ImageId, ImageSource, Material, Slot};

use super::mtl::{Look, Map, Role};
use crate::excerpt;
use crate::files::{Files, Sought};

/// The pictures of a model, in the order of their first use.
#[derive(Default)]
pub(super) struct Pictures {
    pub(super) list: Vec<ImageSource>,
    /// What became of each path; `None` when nothing is there.
    known: BTreeMap<RelPath, Option<ImageId>>,
}

/// What interprets materials.
pub(super) struct Studio<'f, 'c, 'x> {
    pub(super) files: &'f mut Files<'c, 'x>,
    pub(super) pictures: Pictures,
    pub(super) warnings: Vec<Diag>,
}

impl Studio<'_, '_, '_> {
    /// A material that is used, with its pictures.
    pub(super) fn material(&mut self, mut look: Look) -> Result<Material, Diag> {
        if let Some((library, _)) = &look.place {
            self.files.go_beside(library);
        }
        let metalness = look.metalness.unwrap_or_default();
        let same = |a: Role, b: Role| match (look.map(a), look.map(b)) {
            (Some(a), Some(b)) => a.file == b.file,
            _ => false,
        };
        let is_cutout = same(Role::Opacity, Role::Diffuse);
        let has = |role: Role| look.map(role).is_some();
        let surface = if has(Role::Packed) {
            Some(Role::Packed)
        } else if same(Role::Roughness, Role::Metalness) {
            Some(Role::Roughness)
        } else if has(Role::Roughness) && !has(Role::Metalness) && metalness == 0.0 {
            // A grey picture: what it would say about metalness is multiplied by zero.
            Some(Role::Roughness)
        } else {
            None
        };
        let is_surface = |role: Role| match surface {
            Some(Role::Packed) => true,
            Some(_) => role == Role::Roughness || same(Role::Roughness, Role::Metalness),
            None => false,
        };
        let normal = [Role::Normal, Role::Bump].into_iter().find(|&role| has(role));
        let kept = [
            (Role::Ambient, same(Role::Ambient, Role::Diffuse)),
            (Role::Specular, false),
            (Role::Opacity, is_cutout),
            (Role::Roughness, is_surface(Role::Roughness)),
            (Role::Metalness, is_surface(Role::Metalness)),
        ];
        let lost: Vec<String> = kept
            .into_iter()
            .filter(|(_, is_kept)| !is_kept)
            .filter_map(|(role, _)| Some(look.map(role)?.key.clone()))
            .collect();
        lost.into_iter().for_each(|key| look.lose(key));

        let occlusion = surface.filter(|&role| role == Role::Packed);
        let roles = [Some(Role::Diffuse), surface, normal, occlusion, Some(Role::Emissive)];
        let mut textures = [None; 5];
        for slot in Slot::ALL {
            if let Some(map) = roles[slot as usize].and_then(|role| look.map(role)) {
                textures[slot as usize] = self.picture(map, &look)?;
            }
        }
        let mut material = plain(&look, textures);
        if let (Some(role), Some(_)) = (normal, material.texture(Slot::Normal)) {
            material.normal_scale = look.map(role).map_or(1.0, |map| map.strength);
        }
        if is_cutout && material.texture(Slot::BaseColor).is_some() {
            material.alpha_mode = AlphaMode::Blend;
        }
        if let (Some((library, line)), false) = (&look.place, material.lost.is_empty()) {
            let message =
                format!("material {}: not kept are {}", excerpt(&material.name), material.lost.join(", "));
            self.warnings
                .push(Diag::new(Code::ObjMaterial, message).path(library).at(format_args!("line {line}")));
        }
        Ok(material)
    }

    /// The number of a picture, which is read when it is used first.
    fn picture(&mut self, map: &Map, look: &Look) -> Result<Option<ImageId>, Diag> {
        let missing = |what: String| {
            let diag = Diag::new(Code::ObjTexture, what)
                .at(format_args!("line {}", map.line))
                .hint("refer to a file inside the project by a path relative to the .mtl file");
            match &look.place {
                Some((library, _)) => diag.path(library),
                None => diag,
            }
        };
        let Some(name) = &map.file else {
            self.warnings.push(missing(format!("the name of the file of {} is not UTF-8", map.key)));
            return Ok(None);
        };
        if let Some(known) = self.files.resolve(name).ok().and_then(|path| self.pictures.known.get(&path)) {
            return Ok(*known);
        }
        match self.files.seek(name)? {
            Sought::Found(path, bytes) => {
                let id = ImageId(self.pictures.list.len() as u32);
                let extension =
                    path.file_name().rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
                self.pictures.list.push(ImageSource {
                    name: String::new(),
                    extension: extension.unwrap_or_default(),
                    path: path.to_string(),
                    bytes,
                });
                self.pictures.known.insert(path, Some(id));
                Ok(Some(id))
            }
            Sought::Missing(path) => {
                let what = format!("{} refers to {path}, and there is no such file: it is left out", map.key);
                self.warnings.push(missing(what));
                self.pictures.known.insert(path, None);
                Ok(None)
            }
            Sought::Refused(why) => {
                let what = format!("{} of {} is left out: {why}", excerpt(name), map.key);
                self.warnings.push(missing(what));
                Ok(None)
            }
        }
    }
}

/// A material with the pictures it has.
pub(super) fn plain(look: &Look, textures: [Option<ImageId>; 5]) -> Material {
    let has = |slot: Slot| textures[slot as usize].is_some();
    let colour = |stated: Option<[f32; 3]>, otherwise: f32, has_texture: bool| match stated {
        Some(colour) if !has_texture || colour != [0.0; 3] => colour,
        _ if has_texture => [1.0; 3],
        _ => [otherwise; 3],
    };
    let [red, green, blue] = colour(look.diffuse, 1.0, has(Slot::BaseColor));
    let alpha = look.opacity.unwrap_or(1.0).clamp(0.0, 1.0);
    // Models 0 and 1 have no highlights.
    let shines = look.model.is_none_or(|model| model >= 2.0);
    let exponent = look.exponent.filter(|_| shines).unwrap_or_default().max(0.0);
    let of_exponent = libm::sqrt(libm::sqrt(2.0 / (f64::from(exponent) + 2.0))) as f32;
    let of_texture = |factor: Option<f32>, otherwise: f32| match factor.map(|factor| factor.clamp(0.0, 1.0)) {
        Some(factor) if factor > 0.0 || !has(Slot::MetallicRoughness) => factor,
        _ if has(Slot::MetallicRoughness) => 1.0,
        _ => otherwise,
    };
    let metallic =
        if has(Slot::MetallicRoughness) && !has(Slot::Occlusion) && look.map(Role::Metalness).is_none() {
            0.0
        } else {
            of_texture(look.metalness, 0.0)
        };
    let mut lost = look.lost.clone();
    // Half grey is what every material has that is no metal; none at all comes close.
    if shines && look.specular.is_some_and(|colour| colour != [0.0; 3] && colour != [0.5; 3]) {
        lost.push("Ks".to_owned());
    }
    Material {
        name: String::from_utf8_lossy(&look.name).into_owned(),
        base_color_factor: [red, green, blue, alpha],
        emissive_factor: colour(look.emissive, 0.0, has(Slot::Emissive)),
        metallic_factor: metallic,
        roughness_factor: of_texture(look.roughness, of_exponent),
        alpha_mode: if alpha < 1.0 { AlphaMode::Blend } else { AlphaMode::Opaque },
        textures,
        lost,
        ..Material::default()
    }
}
