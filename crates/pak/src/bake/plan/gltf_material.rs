//! Materials of glTF files as pak materials: factors are multiplied into the bitmaps.

use super::super::compression::Compression;
use super::super::gltf_materials;
use super::super::payload::factor::Factor;
use super::super::toml_document::Value;
use super::bitmap::{BitmapSpec, ImageUse};
use super::material::{Channel, MaterialSpec, byte};
use super::mesh::MeshSpec;
use super::{NodeId, Planner, Reference, part};
use kiln_engine::{Code, Diag, RelPath};
use kiln_format::pak::{ALPHA_BLEND, ALPHA_TEST, DOUBLE_SIDED, Half, PARAM_OCCLUSION};
use kiln_ir::{AlphaMode, ImageId, Material, Slot};
use std::rc::Rc;

impl Planner<'_, '_> {
    /// Returns one material of a glTF file, or those of all slots of a mesh of the file.
    pub(super) fn gltf_materials(
        &mut self,
        value: &Value<'_>,
        reference: &Reference,
        mesh: Option<&MeshSpec>,
        compression: Compression,
    ) -> Result<Vec<NodeId>, Diag> {
        if self.is_accepted_missing(&reference.path) {
            return Ok(Vec::new());
        }
        let found = self.materials_of(&reference.path)?;
        let wanted = match &reference.part {
            None => {
                let own = mesh.filter(|mesh| mesh.src == reference.path).cloned();
                let spec = own.unwrap_or_else(|| MeshSpec::plain(reference.path.clone()));
                self.slots(&spec)?.to_vec()
            }
            Some(part) => {
                let by_name = found.0.iter().position(|(material, _)| material.name == *part);
                let by_number = || part.parse().ok().filter(|n: &usize| *n < found.0.len());
                let Some(number) = by_name.or_else(by_number) else {
                    let names: Vec<String> =
                        found.0.iter().map(|(material, _)| format!("{:?}", material.name)).collect();
                    return Err(value
                        .error(Code::PakMissing, format_args!("{} has no material {part:?}", reference.path))
                        .hint(format!("the materials of the file are {}", names.join(", "))));
                };
                vec![Some(number)]
            }
        };
        let mut nodes = Vec::with_capacity(wanted.len());
        for number in wanted {
            let Some((material, warnings)) = number.and_then(|number| found.0.get(number)) else {
                // Primitives without a material have glTF's default material.
                let name = part(&reference.path, "default material");
                nodes.push(self.gltf_material(&reference.path, &name, &Material::default(), compression));
                continue;
            };
            let name = part(&reference.path, format_args!("material {}", number.unwrap_or_default()));
            if self.reported.insert(name.clone()) {
                self.plan.warnings.extend(warnings.iter().cloned());
            }
            nodes.push(self.gltf_material(&reference.path, &name, material, compression));
        }
        Ok(nodes)
    }

    /// Returns the materials of a glTF file, which is read once.
    fn materials_of(&mut self, path: &RelPath) -> Result<Rc<gltf_materials::GltfMaterials>, Diag> {
        if let Some(found) = self.gltf_files.get(path) {
            return Ok(Rc::clone(found));
        }
        let found = Rc::new(gltf_materials::materials(self.inputs, path)?);
        self.gltf_files.insert(path.clone(), Rc::clone(&found));
        Ok(found)
    }

    /// Returns the material slots of a mesh, which are read once.
    pub(super) fn slots(&mut self, spec: &MeshSpec) -> Result<Rc<[Option<usize>]>, Diag> {
        if self.is_accepted_missing(&spec.src) {
            return Ok(Rc::default());
        }
        let key = (spec.src.clone(), spec.name.clone(), spec.scene.clone());
        if let Some(slots) = self.mesh_slots.get(&key) {
            return Ok(Rc::clone(slots));
        }
        let slots: Rc<[_]> = gltf_materials::slots(self.inputs, spec)?.into();
        self.mesh_slots.insert(key, Rc::clone(&slots));
        Ok(slots)
    }

    fn gltf_material(
        &mut self,
        path: &RelPath,
        name: &RelPath,
        material: &Material,
        compression: Compression,
    ) -> NodeId {
        let bitmap = |image: ImageId, used_as: ImageUse, factor: Factor| {
            let src = Reference { path: path.clone(), part: Some(image.0.to_string()) };
            BitmapSpec { factor, ..BitmapSpec::plain(src, used_as) }
        };
        let color = match material.texture(Slot::BaseColor) {
            Some(image) => {
                let spec = bitmap(image, ImageUse::Color, Factor::color(material.base_color_factor));
                self.bitmap_node(&part(name, "color"), spec, compression)
            }
            None => self.solid(&part(name, "color"), srgb(material.base_color_factor)),
        };
        let normal = material.texture(Slot::Normal).map(|image| {
            let spec = bitmap(image, ImageUse::Normal, Factor::normal_scale(material.normal_scale));
            self.bitmap_node(&part(name, "normal"), spec, compression)
        });
        // A factor above 1 is split: the bitmap has at most 1, the material the rest.
        let strength = Half::at_least(material.emissive_factor.into_iter().fold(0.0, f32::max));
        let [r, g, b] = material.emissive_factor.map(|factor| factor / strength.to_f32());
        let emissive = match material.texture(Slot::Emissive) {
            _ if [r, g, b].iter().all(|factor| *factor <= 0.0) => None,
            Some(image) => {
                let spec = bitmap(image, ImageUse::Emissive, Factor::color([r, g, b, 1.0]));
                Some(self.bitmap_node(&part(name, "emissive"), spec, compression))
            }
            None => Some(self.solid(&part(name, "emissive"), srgb([r, g, b, 1.0]))),
        };
        let channel = |image: Option<ImageId>, channel: usize, factor: f32| match image {
            Some(image) => Channel::Image(BitmapSpec {
                swizzle: vec![channel],
                ..bitmap(image, ImageUse::Value, Factor::value(factor, 0.0))
            }),
            None => Channel::Value(byte(factor)),
        };
        // glTF stores occlusion in red, roughness in green, metalness in blue, and transmission in red.
        let orm = material.texture(Slot::MetallicRoughness);
        let mut params_used = 3;
        let occlusion = match material.texture(Slot::Occlusion) {
            Some(image) => {
                params_used |= PARAM_OCCLUSION;
                let strength = material.occlusion_strength;
                let factor = Factor::value(strength, 1.0 - strength);
                Channel::Image(BitmapSpec { swizzle: vec![0], ..bitmap(image, ImageUse::Value, factor) })
            }
            None => Channel::Default(0),
        };
        let transmission = match material.transmission_factor > 0.0 {
            true => {
                params_used |= 8;
                channel(material.transmission_texture, 0, material.transmission_factor)
            }
            false => Channel::Default(0),
        };
        let channels = [
            channel(orm, 2, material.metallic_factor),
            channel(orm, 1, material.roughness_factor),
            occlusion,
            transmission,
        ];
        let params = Some(self.params(name, channels, compression));
        let flags = if material.double_sided { DOUBLE_SIDED } else { 0 }
            | match material.alpha_mode {
                AlphaMode::Opaque => 0,
                AlphaMode::Mask => ALPHA_TEST,
                AlphaMode::Blend => ALPHA_BLEND,
            };
        let spec = MaterialSpec {
            color,
            normal,
            emissive,
            params,
            params_used,
            flags,
            emissive_strength: if emissive.is_some() { strength } else { Half::ONE },
            alpha_cutoff: material.alpha_cutoff,
        };
        self.material_node(name, spec)
    }
}

/// Converts a linear RGBA color to sRGB bytes; alpha stays linear.
fn srgb([r, g, b, a]: [f32; 4]) -> [u8; 4] {
    let byte = |value: f64| (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
    let light = |value: f32| byte(kiln_ir::srgb::from_linear(value.into()));
    [light(r), light(g), light(b), byte(a.into())]
}
