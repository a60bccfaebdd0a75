//! `KHR_materials_pbrSpecularGlossiness`, compared with an independent evaluation of the published conversion: the
//! metalness is found by bisection of the metallic-roughness model instead of by its closed form.

use crate::model::{Model, base64};
use kiln_import::{Code, Limits, image};
use kiln_ir::{ImageId, Material, Slot};
use serde_json::{Value, json};

/// The reflectance of a dielectric.
const F0: f64 = 0.04;

/// Base colour, metalness.
type Wanted = ([f64; 3], f64);

/// Finds the metalness at which base colour and reflectance of the metallic-roughness model have the brightness of the
/// given colours; the base colour is then that of the diffuse or of the specular colour, weighted by its square.
fn evaluate(diffuse: [f64; 3], specular: [f64; 3]) -> Wanted {
    let luma = |c: [f64; 3]| (0.299 * c[0].powi(2) + 0.587 * c[1].powi(2) + 0.114 * c[2].powi(2)).sqrt();
    let kept = 1.0 - specular[0].max(specular[1]).max(specular[2]);
    // The base colour whose diffuse part is that of the source, at a metalness; the reflectance it implies.
    let base = |m: f64| luma(diffuse) * kept / ((1.0 - F0) * (1.0 - m));
    let reflectance = |m: f64| F0 * (1.0 - m) + base(m) * m;
    let metallic = if luma(specular) < F0 {
        0.0
    } else {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            if middle < 1.0 && reflectance(middle) < luma(specular) { low = middle } else { high = middle }
        }
        low
    };
    let color = |i: usize| {
        let of_diffuse = diffuse[i] * kept / (1.0 - F0) / f64::max(1.0 - metallic, 1e-6);
        let of_specular = (specular[i] - F0 * (1.0 - metallic)) / f64::max(metallic, 1e-6);
        (of_diffuse * (1.0 - metallic.powi(2)) + of_specular * metallic.powi(2)).clamp(0.0, 1.0)
    };
    ([color(0), color(1), color(2)], metallic)
}

fn model(extension: Value) -> Model {
    let mut model = Model::triangle();
    model.push("materials", json!({"extensions": {"KHR_materials_pbrSpecularGlossiness": extension}}));
    model.json["meshes"][0]["primitives"][0]["material"] = json!(0);
    model
}

fn material(extension: Value) -> Material {
    model(extension).scene().materials[0].clone()
}

#[test]
fn factors_match_an_independent_evaluation() {
    let levels = [0.0, 0.02, 0.04, 0.1, 0.3, 0.6, 0.9, 1.0];
    for (n, &d) in levels.iter().enumerate() {
        for (k, &s) in levels.iter().enumerate() {
            let diffuse = [d, levels[(n + 3) % 8], levels[(n * 5) % 8]];
            let specular = [s, levels[(k + 2) % 8], levels[(k * 3) % 8]];
            let found = material(json!({
                "diffuseFactor": [diffuse[0], diffuse[1], diffuse[2], 0.75],
                "specularFactor": specular,
                "glossinessFactor": 0.3,
            }));
            let (base, metallic) = evaluate(diffuse, specular);
            let what = format!("diffuse {diffuse:?}, specular {specular:?}: {found:?}");
            assert!((f64::from(found.metallic_factor) - metallic).abs() < 1e-4, "{metallic}, {what}");
            for (found, wanted) in found.base_color_factor.iter().zip(base) {
                assert!((f64::from(*found) - wanted).abs() < 1e-3, "{wanted}, {what}");
            }
            assert_eq!((found.base_color_factor[3], found.roughness_factor), (0.75, 0.7));
        }
    }
}

#[test]
fn metals_and_dielectrics_keep_their_parameters() {
    let gold = material(json!({"diffuseFactor": [0, 0, 0, 1], "specularFactor": [1.0, 0.766, 0.336]}));
    assert_eq!((gold.metallic_factor, gold.roughness_factor), (1.0, 0.0));
    for (found, wanted) in gold.base_color_factor.iter().zip([1.0, 0.766, 0.336, 1.0]) {
        assert!((found - wanted).abs() < 1e-6, "{gold:?}");
    }
    let plastic = json!({"diffuseFactor": [0.5, 0.25, 0.125, 1], "specularFactor": [0.04, 0.04, 0.04], "glossinessFactor": 0.2});
    let plastic = material(plastic);
    assert!(plastic.metallic_factor < 1e-6 && (plastic.roughness_factor - 0.8).abs() < 1e-6, "{plastic:?}");
    for (found, wanted) in plastic.base_color_factor.iter().zip([0.5, 0.25, 0.125, 1.0]) {
        assert!((found - wanted).abs() < 1e-5, "{plastic:?}");
    }
}

/// A PNG of one row, as a data URI.
fn row(texels: &[[u8; 4]]) -> Value {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, texels.len() as u32, 1);
    encoder.set_color(png::ColorType::Rgba);
    encoder.write_header().unwrap().write_image_data(texels.as_flattened()).unwrap();
    json!({"uri": format!("data:image/png;base64,{}", base64(&bytes))})
}

fn linear(v: u8) -> f64 {
    let v = f64::from(v) / 255.0;
    if v <= 0.04045 { v / 12.92 } else { libm::pow((v + 0.055) / 1.055, 2.4) }
}

fn texels(model: &Model, id: ImageId) -> Vec<[u8; 4]> {
    let source = &model.scene().images[id.0 as usize];
    let image = image::import(&source.bytes, &source.extension, &Limits::default()).unwrap().value;
    image.into_rgba8().as_chunks::<4>().0.to_vec()
}

#[test]
fn textures_match_an_independent_evaluation() {
    let diffuse = [[200, 180, 40, 255], [0, 0, 0, 128], [90, 10, 250, 0], [255, 255, 255, 255]];
    let specular = [[56, 56, 56, 255], [250, 200, 120, 64], [120, 130, 90, 0], [255, 255, 255, 200]];
    let mut model = model(json!({
        "diffuseTexture": {"index": 0},
        "diffuseFactor": [0.9, 0.8, 1.0, 0.5],
        "specularGlossinessTexture": {"index": 1},
        "specularFactor": [1.0, 0.9, 0.7],
        "glossinessFactor": 0.6,
    }));
    for texels in [&diffuse, &specular] {
        let image = model.push("images", row(texels));
        model.push("textures", json!({"source": image}));
    }
    let found = model.scene().materials[0].clone();
    assert_eq!(
        (found.base_color_factor, found.metallic_factor, found.roughness_factor),
        ([1.0; 4], 1.0, 1.0)
    );
    let image = |slot| found.texture(slot).unwrap();
    let bases = texels(&model, image(Slot::BaseColor));
    let packed = texels(&model, image(Slot::MetallicRoughness));
    for n in 0..diffuse.len() {
        let (d, s) = (diffuse[n], specular[n]);
        let (base, metallic) = evaluate(
            [linear(d[0]) * 0.9, linear(d[1]) * 0.8, linear(d[2])],
            [linear(s[0]), linear(s[1]) * 0.9, linear(s[2]) * 0.7],
        );
        let roughness = 1.0 - f64::from(s[3]) / 255.0 * 0.6;
        let near = |found: u8, wanted: f64| (f64::from(found) / 255.0 - wanted).abs() <= 0.6 / 255.0;
        for (found, wanted) in bases[n].iter().zip(base) {
            // Compared as linear colour; a step of sRGB is at most this much.
            assert!((linear(*found) - wanted).abs() < 0.005, "texel {n}: {found} is not {wanted}");
        }
        assert!(near(bases[n][3], f64::from(d[3]) / 255.0 * 0.5), "alpha of texel {n}");
        assert!(near(packed[n][1], roughness), "roughness {roughness} of texel {n}: {:?}", packed[n]);
        assert!(near(packed[n][2], metallic), "metalness {metallic} of texel {n}: {:?}", packed[n]);
    }
    // The sources of the conversion are not drawn.
    assert!(model.scene().images[..2].iter().all(|image| image.bytes.is_empty()));
    let warnings = model.import().unwrap().warnings;
    assert_eq!(warnings.iter().map(|w| w.code).collect::<Vec<_>>(), [Code::GltfSpecularGlossiness]);
}

#[test]
fn a_texture_of_a_dielectric_is_kept() {
    let mut model = model(json!({
        "diffuseTexture": {"index": 0}, "specularFactor": [0.0, 0.0, 0.0], "diffuseFactor": [0.48, 0.96, 0.0, 1.0],
        "glossinessFactor": 0.25,
    }));
    let image = model.push("images", row(&[[1, 2, 3, 4]]));
    model.push("textures", json!({"source": image}));
    let found = &model.scene().materials[0];
    assert_eq!(found.textures, [Some(ImageId(0)), None, None, None, None]);
    assert_eq!((found.metallic_factor, found.roughness_factor), (0.0, 0.75));
    for (found, wanted) in found.base_color_factor.iter().zip([0.5, 1.0, 0.0, 1.0]) {
        assert!((found - wanted).abs() < 1e-6, "{found} is not {wanted}");
    }
}

#[test]
fn filters_the_smaller_texture() {
    let mut model = model(json!({"diffuseTexture": {"index": 0}, "specularGlossinessTexture": {"index": 1}}));
    for texels in [&[[255; 4]; 4][..], &[[0, 0, 0, 0], [0, 0, 0, 255]][..]] {
        let image = model.push("images", row(texels));
        model.push("textures", json!({"source": image}));
    }
    let packed = texels(&model, model.scene().materials[0].texture(Slot::MetallicRoughness).unwrap());
    assert_eq!(packed.iter().map(|texel| texel[1]).collect::<Vec<_>>(), [255, 191, 64, 0]);
}

#[test]
fn an_authored_metallic_roughness_material_is_preferred() {
    let mut model = model(json!({"diffuseFactor": [0.5, 0.25, 0.125, 1.0], "specularFactor": [0, 0, 0]}));
    model.json["materials"][0]["pbrMetallicRoughness"] = json!({"metallicFactor": 0.5});
    assert_eq!(model.scene().materials[0].metallic_factor, 0.5);
    assert!(model.warnings().is_empty());
    // An object without content is not a material.
    model.json["materials"][0]["pbrMetallicRoughness"] = json!({});
    assert_eq!(model.scene().materials[0].metallic_factor, 0.0);
}

#[test]
fn images_that_are_not_wanted_are_not_decoded() {
    let mut model = model(json!({"diffuseTexture": {"index": 0}}));
    let image = model.push("images", json!({"uri": "missing.png"}));
    model.push("textures", json!({"source": image}));
    let options = kiln_import::gltf::Options::new().images(kiln_import::gltf::ImageSelection::None);
    let files = &mut crate::imported::memory_files(&[("model.glb", model.glb())]);
    let path = kiln_import::RelPath::new("model.glb").unwrap();
    let scene = kiln_import::gltf::import_with(files, &path, &options).unwrap().value;
    assert_eq!(scene.images.len(), 3);
    assert_eq!(scene.materials[0].texture(Slot::BaseColor), Some(ImageId(1)));
    assert_eq!(model.rejected_code(), Code::FileMissing);
}
