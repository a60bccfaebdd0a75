//! Materials and the UV mapping of their textures (glTF 2.0, 3.9; `KHR_texture_transform`).
//!
//! A vertex has one UV set for materials. Where all textures of a material use one set and one transform, these become
//! the UVs; where they differ, the first texture in the order of [`Slot::ALL`] decides, with a warning. Of the material
//! extensions, emissive strength is folded into the factor, transmission is imported where the caller can represent it,
//! and specular-glossiness is converted where there is no metallic-roughness; the others are ignored. Each kind of loss
//! is one warning for all selected materials.

use std::collections::{BTreeMap, BTreeSet};

use kiln_diagnostics::{Code, Diag};
use kiln_ir::{
    AlphaMode, Filter, ImageId, Material, MipFilter, Sampler, Slot, TextureInfo, TextureMapping, UvTransform,
    Wrap,
};

use super::Options;
use super::document::Document;
use super::material_extensions;
use super::specular_glossiness::SpecularGlossiness;
use super::value::Value;
use crate::{counted, excerpt};

const EMISSIVE_STRENGTH: &str = "KHR_materials_emissive_strength";
const SPECULAR_GLOSSINESS: &str = "KHR_materials_pbrSpecularGlossiness";
const TRANSMISSION: &str = "KHR_materials_transmission";

/// A material with its UV mapping and warnings.
pub(super) struct MaterialImport {
    pub(super) material: Material,
    /// The UV mapping of its textures.
    pub(super) mapping: Mapping,
    /// The sampler settings that materials do not have.
    pub(super) lost_sampling: BTreeSet<&'static str>,
    /// The textures that are converted, if the material has the specular-glossiness extension only.
    conversion: Option<SpecularGlossiness>,
    /// The warnings that are reported if the material is used.
    pub(super) warnings: Vec<Diag>,
}

/// The materials of a document.
pub(super) struct Materials {
    pub(super) list: Vec<MaterialImport>,
    /// The pairs of textures to convert. Each becomes two images after those of the document.
    pub(super) conversions: Vec<SpecularGlossiness>,
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

    /// Returns the transform as a matrix.
    fn transform(&self) -> UvTransform {
        UvTransform::from_parts(self.offset, self.rotation, self.scale)
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
pub(super) fn read(document: &Document<'_>, options: &Options<'_>) -> Result<Materials, Diag> {
    let list = document.materials.iter().enumerate();
    let list = list.map(|(index, at)| read_one(index, at, document, options));
    let mut list: Vec<MaterialImport> = list.collect::<Result<_, _>>()?;
    let mut conversions: Vec<SpecularGlossiness> = Vec::new();
    for MaterialImport { material, conversion, .. } in &mut list {
        let Some(conversion) = conversion.take() else { continue };
        let index = conversions.iter().position(|known| *known == conversion).unwrap_or_else(|| {
            conversions.push(conversion);
            conversions.len() - 1
        });
        let [base_color, metallic_roughness] = converted_images(index, document);
        material.textures[Slot::BaseColor as usize] = Some(base_color);
        material.textures[Slot::MetallicRoughness as usize] = Some(metallic_roughness);
    }
    Ok(Materials { list, conversions })
}

/// Returns the images that a conversion results in: base colour and metallic-roughness.
pub(super) fn converted_images(conversion: usize, document: &Document<'_>) -> [ImageId; 2] {
    let first = (document.images.len() + 2 * conversion) as u32;
    [ImageId(first), ImageId(first + 1)]
}

/// Returns one warning for each kind of loss in the given materials.
pub(super) fn warnings<'a>(used: impl Iterator<Item = &'a MaterialImport>) -> Vec<Diag> {
    let used: Vec<&MaterialImport> = used.collect();
    let mut by_code: BTreeMap<Code, Vec<&Diag>> = BTreeMap::new();
    used.iter()
        .flat_map(|material| &material.warnings)
        .for_each(|w| by_code.entry(w.code).or_default().push(w));
    let mut extensions: BTreeMap<&str, usize> = BTreeMap::new();
    used.iter()
        .flat_map(|m| &m.material.unsupported)
        .for_each(|name| *extensions.entry(name).or_default() += 1);
    let merged = by_code.into_iter().map(|(code, list)| {
        let mut warning = list[0].clone();
        let others = list.len() - 1;
        if code == Code::GltfMaterial && others > 0 {
            let names: Vec<String> =
                extensions.iter().map(|(name, count)| format!("{name} ({count})")).collect();
            warning.message = format!(
                "{} materials use extensions that are not supported and are ignored: {}",
                list.len(),
                names.join(", ")
            );
        } else if others > 0 {
            warning.message +=
                &format!("; the same holds for {}", counted(others, "other texture or material", "others"));
        }
        warning
    });
    merged.collect()
}

fn read_one(
    index: usize,
    at: Value<'_>,
    document: &Document<'_>,
    options: &Options<'_>,
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
    let mut glossy = at.extension(SPECULAR_GLOSSINESS).map(SpecularGlossiness::read).transpose()?;
    // An exporter may write the object without content.
    if let Some(pbr) =
        at.get("pbrMetallicRoughness").filter(|pbr| glossy.is_none() || pbr.names().next().is_some())
    {
        glossy = None;
        material.base_color_factor = pbr.floats_or("baseColorFactor", [1.0; 4])?;
        material.metallic_factor = pbr.float_or("metallicFactor", 1.0)?;
        material.roughness_factor = pbr.float_or("roughnessFactor", 1.0)?;
        infos[Slot::BaseColor as usize] = pbr.get("baseColorTexture");
        infos[Slot::MetallicRoughness as usize] = pbr.get("metallicRoughnessTexture");
    } else if let Some(extension) = at.extension(SPECULAR_GLOSSINESS) {
        infos[Slot::BaseColor as usize] = extension.get("diffuseTexture");
        infos[Slot::MetallicRoughness as usize] = extension.get("specularGlossinessTexture");
    }
    if let Some(info) = infos[Slot::Normal as usize] {
        material.normal_scale = info.float_or("scale", 1.0)?;
    }
    if let Some(info) = infos[Slot::Occlusion as usize] {
        material.occlusion_strength = info.float_or("strength", 1.0)?;
    }

    let mut mapping: Option<(&str, Mapping)> = None;
    let mut conflicting = Vec::new();
    let mut lost_sampling = BTreeSet::new();
    let keeps_extensions = options.material_extensions;
    let transmission = at.extension(TRANSMISSION).filter(|_| options.transmission || keeps_extensions);
    if let Some(extension) = transmission {
        material.transmission_factor = extension.float_or("transmissionFactor", 0.0)?;
    }
    let transmission_info = transmission.and_then(|extension| extension.get("transmissionTexture"));
    let slots = Slot::ALL.into_iter().map(|slot| (Some(slot), infos[slot as usize]));
    for (slot, info) in slots.chain([(None, transmission_info)]) {
        let Some(info) = info else { continue };
        let slot_name = slot.map_or("transmission", Slot::name);
        let (_, texture) = info.required("index")?.resolve(document.textures, "texture")?;
        lost_sampling.extend(sampler_losses(texture, document)?);
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
        if keeps_extensions {
            let of_slot =
                slot.map_or(&mut material.transmission_mapping, |s| &mut material.mappings[s as usize]);
            *of_slot = texture_mapping(own, texture, document)?;
        }
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
    let mut conversion = None;
    if let Some(mut glossy) = glossy {
        let message = format!("{name}: specular-glossiness is converted to metallic-roughness");
        let hint = "convert the materials in the source to decide about coloured reflections of dielectrics";
        warnings.push(Diag::new(Code::GltfSpecularGlossiness, message).at(&pointer).hint(hint));
        glossy.diffuse = material.textures[Slot::BaseColor as usize];
        glossy.specular = material.textures[Slot::MetallicRoughness as usize];
        let factors = glossy.factors();
        if (glossy.diffuse, glossy.specular) == (None, None) {
            material.base_color_factor = factors.base_color.map(|v| v as f32);
            material.metallic_factor = factors.metallic as f32;
            material.roughness_factor = factors.roughness as f32;
        } else if glossy.is_dielectric() {
            // The texture stays, and the factor that is the same for all texels applies to it.
            let scale = glossy.dielectric_scale();
            let [r, g, b, alpha] = glossy.diffuse_factor;
            material.base_color_factor = [r * scale, g * scale, b * scale, alpha];
            material.metallic_factor = 0.0;
            material.roughness_factor = factors.roughness as f32;
        } else {
            conversion = Some(glossy);
        }
    }
    if keeps_extensions {
        lost_sampling.clear();
        material.extras = if options.scene_data { at.extras() } else { String::new() };
        let mut texture = |info: Value<'_>, slot_name: &str| {
            let (_, texture) = info.required("index")?.resolve(document.textures, "texture")?;
            let Some(image) = texture_image(texture, document)? else {
                let message = format!("the {slot_name} texture has no image in a supported format");
                let hint = "save the image as PNG or JPEG";
                warnings.push(Diag::new(Code::GltfTexture, message).at(&pointer).hint(hint));
                return Ok(None);
            };
            let mapping = texture_mapping(Mapping::new(info)?, texture, document)?;
            Ok(Some(TextureInfo { image, mapping }))
        };
        material.extensions = material_extensions::read(at, &mut texture)?;
        let first = mapping.map(|(_, mapping)| mapping).unwrap_or_default();
        if !options.raw_uvs && make_relative(&mut material, first) && options.uv_sets {
            // Every texture states its UVs, so nothing is lost.
            conflicting.clear();
        }
        if options.raw_uvs {
            conflicting.clear();
        }
    }
    if let (Some((first, _)), false) = (mapping, conflicting.is_empty()) {
        let conflicting = conflicting.join(", ");
        let message = format!(
            "{name}: the textures for {conflicting} use other UVs than {first}; the UVs of {first} are used for all"
        );
        let hint = "give all textures of a material the same UV set and transform";
        warnings.push(Diag::new(Code::GltfUv, message).at(&pointer).hint(hint));
    }
    if let Some(extensions) = at.get("extensions") {
        let is_imported = |name: &str| {
            [EMISSIVE_STRENGTH, SPECULAR_GLOSSINESS].contains(&name)
                || (name == TRANSMISSION && transmission.is_some())
                || (keeps_extensions && material_extensions::SUPPORTED.contains(&name))
        };
        let unsupported = extensions.names().filter(|name| !is_imported(name));
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
    Ok(MaterialImport { material, mapping, lost_sampling, conversion, warnings })
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

const NEAREST: usize = 9728;
const LINEAR: usize = 9729;
const NEAREST_MIPMAP_NEAREST: usize = 9984;
const LINEAR_MIPMAP_NEAREST: usize = 9985;
const NEAREST_MIPMAP_LINEAR: usize = 9986;
const LINEAR_MIPMAP_LINEAR: usize = 9987;
const CLAMP_TO_EDGE: usize = 33071;
const MIRRORED_REPEAT: usize = 33648;
const REPEAT: usize = 10497;

/// Makes the mappings of a material's textures relative to UVs of which the first set is that of `first`, with its
/// transform applied. Returns `false` if this loses a mapping, because the transform of `first` has no inverse.
fn make_relative(material: &mut Material, first: Mapping) -> bool {
    let (first_set, inverse) = (first.set as u32, first.transform().inverse());
    let mut complete = true;
    let mut each = |mapping: &mut TextureMapping| {
        if mapping.uv_set == first_set {
            let own = mapping.transform;
            (mapping.uv_set, mapping.transform) = (0, UvTransform::IDENTITY);
            if own != first.transform() {
                match &inverse {
                    Some(inverse) => mapping.transform = own.after(inverse),
                    None => complete = false,
                }
            }
        } else if mapping.uv_set < first_set {
            mapping.uv_set += 1;
        }
    };
    for slot in Slot::ALL {
        if material.texture(slot).is_some() {
            each(&mut material.mappings[slot as usize]);
        }
    }
    if material.transmission_texture.is_some() {
        each(&mut material.transmission_mapping);
    }
    material_extensions::textures_mut(&mut material.extensions).for_each(|info| each(&mut info.mapping));
    complete
}

/// Returns the UVs of a texture as in the source, and its sampler.
fn texture_mapping(
    mapping: Mapping,
    texture: Value<'_>,
    document: &Document<'_>,
) -> Result<TextureMapping, Diag> {
    let sampler = match texture.get("sampler") {
        Some(reference) => read_sampler(reference.resolve(document.samplers, "sampler")?.1)?,
        None => Sampler::default(),
    };
    // No exporter writes so many UV sets; what is not there is no texture.
    let uv_set = u32::try_from(mapping.set).unwrap_or(u32::MAX - 1).min(u32::MAX - 1);
    Ok(TextureMapping { uv_set, transform: mapping.transform(), sampler })
}

fn read_sampler(at: Value<'_>) -> Result<Sampler, Diag> {
    let wrap = |name: &str| {
        Ok(match at.uint_or(name, REPEAT)? {
            CLAMP_TO_EDGE => Wrap::ClampToEdge,
            MIRRORED_REPEAT => Wrap::MirroredRepeat,
            _ => Wrap::Repeat,
        })
    };
    let (min_filter, mip_filter) = match at.uint_or("minFilter", LINEAR_MIPMAP_LINEAR)? {
        NEAREST => (Filter::Nearest, MipFilter::None),
        LINEAR => (Filter::Linear, MipFilter::None),
        NEAREST_MIPMAP_NEAREST => (Filter::Nearest, MipFilter::Nearest),
        LINEAR_MIPMAP_NEAREST => (Filter::Linear, MipFilter::Nearest),
        NEAREST_MIPMAP_LINEAR => (Filter::Nearest, MipFilter::Linear),
        _ => (Filter::Linear, MipFilter::Linear),
    };
    Ok(Sampler {
        mag_filter: if at.uint_or("magFilter", LINEAR)? == NEAREST {
            Filter::Nearest
        } else {
            Filter::Linear
        },
        min_filter,
        mip_filter,
        wrap_u: wrap("wrapS")?,
        wrap_v: wrap("wrapT")?,
    })
}

/// Returns the settings of a texture's sampler that a material does not have: filters and wrap modes.
fn sampler_losses(texture: Value<'_>, document: &Document<'_>) -> Result<Vec<&'static str>, Diag> {
    let Some(reference) = texture.get("sampler") else { return Ok(Vec::new()) };
    let (_, sampler) = reference.resolve(document.samplers, "sampler")?;
    let mut losses = Vec::new();
    for filter in [sampler.uint_or("magFilter", LINEAR)?, sampler.uint_or("minFilter", LINEAR)?] {
        if [NEAREST, NEAREST_MIPMAP_NEAREST, NEAREST_MIPMAP_LINEAR].contains(&filter) {
            losses.push("nearest filtering");
        }
    }
    for wrap in [sampler.uint_or("wrapS", REPEAT)?, sampler.uint_or("wrapT", REPEAT)?] {
        match wrap {
            CLAMP_TO_EDGE => losses.push("wrap mode CLAMP_TO_EDGE"),
            MIRRORED_REPEAT => losses.push("wrap mode MIRRORED_REPEAT"),
            _ => {}
        }
    }
    Ok(losses)
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
