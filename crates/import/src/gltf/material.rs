//! Materials, and how their textures lie on the vertices (glTF 2.0, 3.9; `KHR_texture_transform`).
//!
//! A vertex has room for one pair of texture coordinates. Where all textures of a material use one set and one
//! transform, that becomes the pair; where they differ, the first texture in the order of use has its way, with a
//! warning. Of the extensions of materials, emissive strength is folded into the factor, and specular-glossiness
//! stands in where there is nothing else; the others are named in one warning per material.

use kiln_engine::{Code, Diag};
use kiln_ir::{AlphaMode, ImageId, Material, Slot};

use super::at::At;
use super::document::Document;
use crate::excerpt;

/// A material with what vertices and warnings need to know of it.
pub(super) struct Surface {
    pub(super) material: Material,
    /// The texture coordinates that its textures use.
    pub(super) mapping: Mapping,
    /// Whether one of its textures ends, or is mirrored, where others would repeat.
    pub(super) clamps: bool,
    /// What to say when something is made of it.
    pub(super) warnings: Vec<Diag>,
}

/// Which texture coordinates are used, and what is done to them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mapping {
    /// The number of the set.
    pub(super) set: usize,
    offset: [f32; 2],
    rotation: f32,
    scale: [f32; 2],
}

/// The first set as it is.
impl Default for Mapping {
    fn default() -> Mapping {
        Mapping { set: 0, offset: [0.0; 2], rotation: 0.0, scale: [1.0; 2] }
    }
}

impl Mapping {
    fn new(info: At<'_>) -> Result<Mapping, Diag> {
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

    /// Transforms coordinates of the set: scale, then rotate, then move.
    ///
    /// The rotation is counter-clockwise as one looks at a picture whose v grows downwards. The listing in the
    /// extension's document turns the other way; its words, its test model and every viewer agree on this one.
    pub(super) fn apply(&self, coordinates: &mut [[f32; 2]]) {
        if *self == (Mapping { set: self.set, ..Mapping::default() }) {
            return;
        }
        let [ox, oy] = self.offset.map(f64::from);
        let [sx, sy] = self.scale.map(f64::from);
        let angle = f64::from(self.rotation);
        let (sin, cos) = (libm::sin(angle), libm::cos(angle));
        for [u, v] in coordinates {
            let (x, y) = (f64::from(*u) * sx, f64::from(*v) * sy);
            *u = (cos * x + sin * y + ox) as f32;
            *v = (cos * y - sin * x + oy) as f32;
        }
    }
}

/// Reads the materials of a document.
pub(super) fn read(document: &Document<'_>) -> Result<Vec<Surface>, Diag> {
    document.materials.iter().enumerate().map(|(index, at)| surface(index, at, document)).collect()
}

fn surface(index: usize, at: At<'_>, document: &Document<'_>) -> Result<Surface, Diag> {
    // Written down, not looked for: there may be as many warnings as materials.
    let pointer = format!("/materials/{index}");
    let mut warnings = Vec::new();
    let mut material = Material {
        name: at.text_of("name")?.to_owned(),
        double_sided: at.is("doubleSided")?,
        ..Material::default()
    };
    material.alpha_cutoff = at.float_or("alphaCutoff", material.alpha_cutoff)?;
    material.alpha_mode = match at.text_of("alphaMode")? {
        "" | "OPAQUE" => AlphaMode::Opaque,
        "MASK" => AlphaMode::Mask,
        "BLEND" => AlphaMode::Blend,
        other => return Err(at.need("alphaMode")?.bad(format_args!("{other:?} is not an alpha mode"))),
    };
    material.emissive_factor = at.floats_or("emissiveFactor", [0.0; 3])?;
    if let Some(extension) = at.extension("KHR_materials_emissive_strength") {
        let strength = extension.float_or("emissiveStrength", 1.0)?;
        material.emissive_factor = material.emissive_factor.map(|factor| (factor * strength).min(f32::MAX));
    }
    let mut infos: [Option<At<'_>>; 5] =
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

    let mut mapping: Option<(Slot, Mapping)> = None;
    let mut apart = Vec::new();
    let mut clamps = false;
    for slot in Slot::ALL {
        let Some(info) = infos[slot as usize] else { continue };
        let (_, texture) = info.need("index")?.refer(document.textures, "texture")?;
        clamps |= !repeats(texture, document)?;
        let Some(image) = picture(texture, document)? else {
            let message = format!("the {} texture has no picture in a format that can be read", slot.name());
            warnings.push(Diag::new(Code::GltfTexture, message).at(&pointer).hint("save it as PNG or JPEG"));
            continue;
        };
        material.textures[slot as usize] = Some(image);
        let own = Mapping::new(info)?;
        match &mapping {
            None => mapping = Some((slot, own)),
            Some((_, first)) if *first != own => apart.push(slot.name()),
            Some(_) => {}
        }
    }
    let name = match material.name.as_str() {
        "" => "a material without a name".to_owned(),
        name => format!("material {}", excerpt(name)),
    };
    if let (Some((first, _)), false) = (mapping, apart.is_empty()) {
        let (apart, first) = (apart.join(", "), first.name());
        let message =
            format!("{name}: the textures for {apart} get the texture coordinates of {first}, not their own");
        let hint = "give all textures of a material one set of coordinates and one transform";
        warnings.push(Diag::new(Code::GltfUv, message).at(&pointer).hint(hint));
    }
    if let Some(extensions) = at.get("extensions") {
        let lost = extensions.names().filter(|name| *name != "KHR_materials_emissive_strength");
        material.lost.extend(lost.map(str::to_owned));
    }
    if !material.lost.is_empty() {
        let message = format!("{name}: not kept are {}", material.lost.join(", "));
        warnings.push(Diag::new(Code::GltfMaterial, message).at(&pointer));
    }
    let mapping = mapping.map(|(_, mapping)| mapping).unwrap_or_default();
    Ok(Surface { material, mapping, clamps, warnings })
}

/// The picture of a texture: the one that every reader takes, or else that of an extension. What an extension
/// offers beside it is the same picture, packed harder.
fn picture(texture: At<'_>, document: &Document<'_>) -> Result<Option<ImageId>, Diag> {
    let packed = ["KHR_texture_basisu", "EXT_texture_webp"];
    let source = texture
        .get("source")
        .or_else(|| packed.iter().find_map(|name| texture.extension(name)?.get("source")));
    let image = source.map(|source| source.refer(document.images, "image")).transpose()?;
    Ok(image.map(|(id, _)| ImageId(id)))
}

/// Whether a texture repeats in both directions.
fn repeats(texture: At<'_>, document: &Document<'_>) -> Result<bool, Diag> {
    const REPEAT: usize = 10497;
    let Some(reference) = texture.get("sampler") else { return Ok(true) };
    let (_, sampler) = reference.refer(document.samplers, "sampler")?;
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

    /// Of the Khronos model TextureTransformTest: on a tile turned by an eighth of pi, the tip of the arrow, which
    /// is at (0.7778, 0.7778) in the picture, has to appear at the tick, which is at (0.421, 1.0163) of the tile.
    #[test]
    fn the_rotation_is_that_of_the_test_model() {
        let rotation = std::f32::consts::PI / 8.0;
        mapped(Mapping { rotation, ..Mapping::default() }, [0.42095, 1.01627], [0.77782, 0.77782]);
        // Scale comes first, the offset last.
        let quarter = std::f32::consts::FRAC_PI_2;
        let all = Mapping { set: 0, offset: [10.0, 20.0], rotation: quarter, scale: [2.0, 3.0] };
        mapped(all, [1.0, 0.0], [10.0, 18.0]);
        mapped(all, [0.0, 1.0], [13.0, 20.0]);
    }

    #[test]
    fn without_a_transform_coordinates_stay_as_they_are() {
        let mut values = [[0.1, -0.0], [1e-30, 7.0]];
        Mapping { set: 3, ..Mapping::default() }.apply(&mut values);
        assert_eq!(
            values.map(|v| v.map(f32::to_bits)),
            [[0.1, -0.0], [1e-30, 7.0]].map(|v| v.map(f32::to_bits))
        );
    }
}
