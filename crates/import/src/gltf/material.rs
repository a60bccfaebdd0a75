//! Materials and the UV mapping of their textures (glTF 2.0, 3.9; `KHR_texture_transform`).
//!
//! A vertex has one UV set for materials. Where all textures of a material use one set and one transform, these become
//! the UVs; where they differ, the first texture in the order of [`Slot::ALL`] decides, with a warning. Of the material
//! extensions, emissive strength is folded into the factor, transmission is imported where the caller can represent it,
//! and specular-glossiness is converted where there is no metallic-roughness; the others are listed in one warning per
//! material.

use kiln_diagnostics::{Code, Diag};
use kiln_ir::{AlphaMode, ImageId, Material, Slot};

use super::document::Document;
use super::value::Value;
use crate::excerpt;

const EMISSIVE_STRENGTH: &str = "KHR_materials_emissive_strength";
const TRANSMISSION: &str = "KHR_materials_transmission";

/// A material with its UV mapping and warnings.
pub(super) struct MaterialImport {
    pub(super) material: Material,
    /// The UV mapping of its textures.
    pub(super) mapping: Mapping,
    /// `true` if a texture has a wrap mode other than repeat.
    pub(super) clamps: bool,
    /// The warnings that are reported if the material is used.
    pub(super) warnings: Vec<Diag>,
}

/// The UV set of a texture and its transform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mapping {
    /// The number of the UV set.
    pub(super) set: usize,
    offset: [f32; 2],
    rotation: f32,
    scale: [f32; 2],
}

/// The first UV set without a transform.
impl Default for Mapping {
    fn default() -> Mapping {
        Mapping { set: 0, offset: [0.0; 2], rotation: 0.0, scale: [1.0; 2] }
    }
}

impl Mapping {
    fn new(info: Value<'_>) -> Result<Mapping, Diag> {
        let set = info.uint_or("texCoord", 0)?;
        let Some(transform) = info.extension("KHR_texture_transform") else {
            return Ok(Mapping { set, ..Mapping::default() });
        };
        Ok(Mapping {
            set: transform.uint_or("texCoord", set)?,
            offset: transform.floats_or("offset", [0.0; 2])?,
            rotation: transform.float_or("rotation", 0.0)?,
            scale: transform.floats_or("scale", [1.0; 2])?,
        })
    }

    /// Transforms UVs: scale, then rotation, then offset.
    ///
    /// The rotation is counter-clockwise as seen on an image with v growing downwards. The listing in the
    /// extension's specification rotates the other way; its text, its test model and every viewer agree on this one.
    pub(super) fn apply(&self, uvs: &mut [[f32; 2]]) {
        if *self == (Mapping { set: self.set, ..Mapping::default() }) {
            return;
        }
        let [ox, oy] = self.offset.map(f64::from);
        let [sx, sy] = self.scale.map(f64::from);
        let angle = f64::from(self.rotation);
        let (sin, cos) = (libm::sin(angle), libm::cos(angle));
        for [u, v] in uvs {
            let (x, y) = (f64::from(*u) * sx, f64::from(*v) * sy);
            *u = (cos * x + sin * y + ox) as f32;
            *v = (cos * y - sin * x + oy) as f32;
        }
    }
}

/// Reads the materials of a document.
pub(super) fn read(document: &Document<'_>, transmission: bool) -> Result<Vec<MaterialImport>, Diag> {
    let materials = document.materials.iter().enumerate();
    materials.map(|(index, at)| read_one(index, at, document, transmission)).collect()
}

fn read_one(
    index: usize,
    at: Value<'_>,
    document: &Document<'_>,
    transmission: bool,
) -> Result<MaterialImport, Diag> {
    // Built here, not searched for: there may be as many warnings as materials.
    let pointer = format!("/materials/{index}");
    let mut warnings = Vec::new();
    let mut material = Material {
        name: at.string_or_empty("name")?.to_owned(),
        double_sided: at.is_true("doubleSided")?,
        ..Material::default()
    };
    material.alpha_cutoff = at.float_or("alphaCutoff", material.alpha_cutoff)?;
    material.alpha_mode = match at.string_or_empty("alphaMode")? {
        "" | "OPAQUE" => AlphaMode::Opaque,
        "MASK" => AlphaMode::Mask,
        "BLEND" => AlphaMode::Blend,
        other => {
            return Err(at.required("alphaMode")?.invalid(format_args!(
                "{other:?} is not an alpha mode: expected \"OPAQUE\", \"MASK\" or \"BLEND\""
            )));
        }
    };
    material.emissive_factor = at.floats_or("emissiveFactor", [0.0; 3])?;
    if let Some(extension) = at.extension(EMISSIVE_STRENGTH) {
        let strength = extension.float_or("emissiveStrength", 1.0)?;
        material.emissive_factor = material.emissive_factor.map(|factor| (factor * strength).min(f32::MAX));
    }
    let mut infos: [Option<Value<'_>>; 5] =
        [None, None, at.get("normalTexture"), at.get("occlusionTexture"), at.get("emissiveTexture")];
    let glossy = at.extension("KHR_materials_pbrSpecularGlossiness");
    if let Some(pbr) = at.get("pbrMetallicRoughness") {
        material.base_color_factor = pbr.floats_or("baseColorFactor", [1.0; 4])?;
        material.metallic_factor = pbr.float_or("metallicFactor", 1.0)?;
        material.roughness_factor = pbr.float_or("roughnessFactor", 1.0)?;
        infos[Slot::BaseColor as usize] = pbr.get("baseColorTexture");
        infos[Slot::MetallicRoughness as usize] = pbr.get("metallicRoughnessTexture");
    } else if let Some(glossy) = glossy {
        material.base_color_factor = glossy.floats_or("diffuseFactor", [1.0; 4])?;
        material.metallic_factor = 0.0;
        material.roughness_factor = 1.0 - glossy.float_or("glossinessFactor", 1.0)?;
        infos[Slot::BaseColor as usize] = glossy.get("diffuseTexture");
    }
    if let Some(info) = infos[Slot::Normal as usize] {
        material.normal_scale = info.float_or("scale", 1.0)?;
    }
    if let Some(info) = infos[Slot::Occlusion as usize] {
        material.occlusion_strength = info.float_or("strength", 1.0)?;
    }

    let mut mapping: Option<(&str, Mapping)> = None;
    let mut conflicting = Vec::new();
    let mut clamps = false;
    let transmission = at.extension(TRANSMISSION).filter(|_| transmission);
    if let Some(extension) = transmission {
        material.transmission_factor = extension.float_or("transmissionFactor", 0.0)?;
    }
    let transmission_info = transmission.and_then(|extension| extension.get("transmissionTexture"));
    let slots = Slot::ALL.into_iter().map(|slot| (Some(slot), infos[slot as usize]));
    for (slot, info) in slots.chain([(None, transmission_info)]) {
        let Some(info) = info else { continue };
        let slot_name = slot.map_or("transmission", Slot::name);
        let (_, texture) = info.required("index")?.resolve(document.textures, "texture")?;
        clamps |= !repeats(texture, document)?;
        let Some(image) = texture_image(texture, document)? else {
            let message = format!("the {slot_name} texture has no image in a supported format");
            warnings.push(
                Diag::new(Code::GltfTexture, message).at(&pointer).hint("save the image as PNG or JPEG"),
            );
            continue;
        };
        match slot {
            Some(slot) => material.textures[slot as usize] = Some(image),
            None => material.transmission_texture = Some(image),
        }
        let own = Mapping::new(info)?;
        match &mapping {
            None => mapping = Some((slot_name, own)),
            Some((_, first)) if *first != own => conflicting.push(slot_name),
            Some(_) => {}
        }
    }
    let name = match material.name.as_str() {
        "" => "unnamed material".to_owned(),
        name => format!("material {}", excerpt(name)),
    };
    if let (Some((first, _)), false) = (mapping, conflicting.is_empty()) {
        let conflicting = conflicting.join(", ");
        let message = format!(
            "{name}: the textures for {conflicting} use other UVs than {first}; the UVs of {first} are used for all"
        );
        let hint = "give all textures of a material the same UV set and transform";
        warnings.push(Diag::new(Code::GltfUv, message).at(&pointer).hint(hint));
    }
    if let Some(extensions) = at.get("extensions") {
        let imported =
            |name: &str| name == EMISSIVE_STRENGTH || (name == TRANSMISSION && transmission.is_some());
        let unsupported = extensions.names().filter(|name| !imported(name));
        material.unsupported.extend(unsupported.map(str::to_owned));
    }
    if !material.unsupported.is_empty() {
        let message = format!(
            "{name}: extensions that are not supported are ignored: {}",
            material.unsupported.join(", ")
        );
        warnings.push(Diag::new(Code::GltfMaterial, message).at(&pointer));
    }
    let mapping = mapping.map(|(_, mapping)| mapping).unwrap_or_default();
    Ok(MaterialImport { material, mapping, clamps, warnings })
}

/// Returns the image of a texture: the core one, or else that of an extension. An extension's image beside a core one
/// has the same content with better compression.
fn texture_image(texture: Value<'_>, document: &Document<'_>) -> Result<Option<ImageId>, Diag> {
    let extensions = ["KHR_texture_basisu", "EXT_texture_webp"];
    let source = texture
        .get("source")
        .or_else(|| extensions.iter().find_map(|name| texture.extension(name)?.get("source")));
    let image = source.map(|source| source.resolve(document.images, "image")).transpose()?;
    Ok(image.map(|(id, _)| ImageId(id)))
}

/// Returns `true` if a texture has the wrap mode repeat in both directions.
fn repeats(texture: Value<'_>, document: &Document<'_>) -> Result<bool, Diag> {
    const REPEAT: usize = 10497;
    let Some(reference) = texture.get("sampler") else { return Ok(true) };
    let (_, sampler) = reference.resolve(document.samplers, "sampler")?;
    Ok(sampler.uint_or("wrapS", REPEAT)? == REPEAT && sampler.uint_or("wrapT", REPEAT)? == REPEAT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(mapping: Mapping, [u, v]: [f32; 2], wanted: [f32; 2]) {
        let mut found = [[u, v]];
        mapping.apply(&mut found);
        for (found, wanted) in found[0].iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-3, "{found} is not {wanted}");
        }
    }

    /// The Khronos model TextureTransformTest: on a tile rotated by an eighth of pi, the tip of the arrow, which is at
    /// (0.7778, 0.7778) in the image, has to appear at the tick, which is at (0.421, 1.0163) of the tile.
    #[test]
    fn rotates_uvs_as_the_khronos_test_model() {
        let rotation = std::f32::consts::PI / 8.0;
        mapped(Mapping { rotation, ..Mapping::default() }, [0.42095, 1.01627], [0.77782, 0.77782]);
        // Scale comes first, the offset last.
        let quarter = std::f32::consts::FRAC_PI_2;
        let all = Mapping { set: 0, offset: [10.0, 20.0], rotation: quarter, scale: [2.0, 3.0] };
        mapped(all, [1.0, 0.0], [10.0, 18.0]);
        mapped(all, [0.0, 1.0], [13.0, 20.0]);
    }

    #[test]
    fn identity_transform_keeps_uvs_bit_exact() {
        let mut values = [[0.1, -0.0], [1e-30, 7.0]];
        Mapping { set: 3, ..Mapping::default() }.apply(&mut values);
        assert_eq!(
            values.map(|v| v.map(f32::to_bits)),
            [[0.1, -0.0], [1e-30, 7.0]].map(|v| v.map(f32::to_bits))
        );
    }
}
