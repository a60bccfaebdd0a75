//! The tables of supported features: compared with what the importer does and with `docs/reference/gltf.md`.

use crate::model::Model;
use kiln_import::gltf::support::{EXTENSIONS, FEATURES, Support, markdown_table};
use kiln_import::gltf::{self, Options};
use kiln_import::{Code, MemoryFiles, RelPath};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A textured triangle of one material.
fn textured() -> Model {
    let mut model = Model::triangle();
    let image = model.push("images", json!({"uri": "data:image/png;base64,AAAA"}));
    model.push("textures", json!({"source": image}));
    model.push("materials", json!({"emissiveTexture": {"index": 0}}));
    model.json["meshes"][0]["primitives"][0]["material"] = json!(0);
    model
}

/// Returns the messages of the warnings with a code.
fn messages(model: &Model, code: Code) -> Vec<String> {
    let path = RelPath::new("model.glb").unwrap();
    let mut files = MemoryFiles::from_iter([(path.clone(), model.glb())]);
    // As `assetc` imports models.
    let options = Options::new().vertex_colors(true).uv_sets(true).morph_targets(true);
    let imported = gltf::import_with(&mut files, &path, &options);
    let warnings = imported.unwrap_or_else(|error| panic!("{error}\n{:#}", model.json)).warnings;
    warnings.into_iter().filter(|warning| warning.code == code).map(|warning| warning.message).collect()
}

/// A model with a feature that is lost, and a part of the message that names it.
fn lossy(feature: &str) -> Option<(Model, &'static str)> {
    let mut model = textured();
    let uv = model.floats("VEC2", &[0.0; 6]);
    let points = json!({"attributes": {"POSITION": 0}, "mode": 0});
    let with = |mut model: Model, pointer: &str, value: Value| {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = model.json.pointer_mut(parent).unwrap();
        match name.parse::<usize>() {
            Ok(_) => parent.as_array_mut().unwrap().push(value),
            Err(_) => parent[name] = value,
        }
        model
    };
    let attribute = |model: Model, name: &str| {
        with(model, &format!("/meshes/0/primitives/0/attributes/{name}"), json!(uv))
    };
    let animation = |model: Model, target: Value| {
        let animation = json!([{"samplers": [], "channels": [{"sampler": 0, "target": target}]}]);
        with(model, "/animations", animation)
    };
    Some(match feature {
        "several scenes" => (with(model, "/scenes/1", json!({})), "2 scenes"),
        "`extras`" => (with(model, "/nodes/0/extras", json!({"tag": 1})), "extras (nodes)"),
        "points, lines, line loops and line strips" => {
            (with(model, "/meshes/0/primitives/1", points), "points and lines")
        }
        "primitives with fewer than three vertices" => {
            let positions = model.floats("VEC3", &[0.0; 6]);
            let primitive = json!({"attributes": {"POSITION": positions}});
            (with(model, "/meshes/0/primitives/1", primitive), "fewer than three vertices")
        }
        "`TEXCOORD_8` and further UV sets" => {
            (attribute(attribute(model, "TEXCOORD_0"), "TEXCOORD_8"), "TEXCOORD_8")
        }
        "`COLOR_1` and further vertex colours" => (attribute(model, "COLOR_1"), "COLOR_1"),
        "custom attributes (`_NAME`)" => (attribute(model, "_HEAT"), "_HEAT"),
        "morph targets: UVs and colours" => {
            let targets = json!([{"POSITION": 0, "TEXCOORD_0": uv}]);
            (with(model, "/meshes/0/primitives/0/targets", targets), "TEXCOORD_0 of morph targets")
        }
        "cameras" => (with(model, "/nodes/0/camera", json!(0)), "cameras"),
        "animation channels without a node" => {
            (animation(model, json!({"path": "translation"})), "channels without a node")
        }
        "samplers with nearest filtering" => {
            let model = with(model, "/textures/0/sampler", json!(0));
            (with(model, "/samplers", json!([{"magFilter": 9728}])), "nearest filtering")
        }
        "samplers with a wrap mode other than `REPEAT`" => {
            let model = with(model, "/textures/0/sampler", json!(0));
            (with(model, "/samplers", json!([{"wrapT": 33071}])), "wrap mode CLAMP_TO_EDGE")
        }
        "textures of one material with different UV sets or transforms" => {
            let normal = json!({"index": 0, "texCoord": 1});
            let model = attribute(attribute(model, "TEXCOORD_0"), "TEXCOORD_1");
            (with(model, "/materials/0/normalTexture", normal), "other UVs")
        }
        "images in other formats" => (with(model, "/textures", json!([{}])), "no image"),
        _ => return None,
    })
}

/// Losses that other stages report, or that need more than a triangle; they are tested there.
const TESTED_ELSEWHERE: [Code; 4] =
    [Code::GltfSecondSkin, Code::AnimationCubic, Code::AnimationNotJoint, Code::GltfInfluences];

#[test]
fn every_lost_feature_is_named_once_per_model() {
    for feature in FEATURES {
        let Some(code) = feature.warning else { continue };
        let Some((model, wanted)) = lossy(feature.name) else {
            let by_assetc =
                TESTED_ELSEWHERE.contains(&code) || feature.name.contains("morph target `weights`");
            assert!(by_assetc, "no test of {:?}", feature.name);
            continue;
        };
        let found = messages(&model, code);
        assert!(found.len() == 1 && found[0].contains(wanted), "{}: {found:?}", feature.name);
        assert!(messages(&textured(), code).is_empty(), "{}", feature.name);
    }
}

#[test]
fn every_extension_is_treated_as_its_entry_says() {
    for extension in EXTENSIONS {
        let name = extension.name;
        // On an object where an extension of its kind occurs, and without content.
        let place = match extension.warning {
            Some(Code::GltfMaterial | Code::GltfSpecularGlossiness) => "/materials/0",
            Some(Code::GltfTexture | Code::GltfUv) => continue,
            _ if extension.support != Support::Dropped => continue,
            _ => "/nodes/0",
        };
        let mut model = textured();
        model.json["extensionsUsed"] = json!([name]);
        model.json.pointer_mut(place).unwrap()["extensions"] = json!({name: {}});
        let warnings = model.import().unwrap().warnings;
        let [warning] = warnings.as_slice() else { panic!("{name}: {warnings:?}") };
        assert_eq!(Some(warning.code), extension.warning, "{warning}");
        if extension.support == Support::Dropped {
            assert!(warning.message.contains(name), "{warning}");
        }
    }
    for extension in EXTENSIONS {
        // A known extension that nothing uses is no loss.
        let mut model = textured();
        model.json["extensionsUsed"] = json!([extension.name]);
        assert!(model.warnings().is_empty(), "{}: {:?}", extension.name, model.warnings());
        if extension.support != Support::Dropped {
            model.json["extensionsRequired"] = json!([extension.name]);
            assert!(model.import().is_ok(), "{}", extension.name);
        }
    }
}

#[test]
fn texture_extensions_without_an_image_beside_them_are_lost() {
    let dropped: BTreeSet<&str> = EXTENSIONS
        .iter()
        .filter(|extension| extension.warning == Some(Code::GltfTexture))
        .map(|extension| extension.name)
        .collect();
    assert!(!dropped.is_empty());
    for name in dropped {
        let mut model = textured();
        model.json["textures"][0]["extensions"] = json!({name: {"source": 0}});
        assert!(model.warnings().is_empty(), "{name}");
        model.json["textures"][0].as_object_mut().unwrap().remove("source");
        assert_eq!(model.warnings(), ["gltf-texture"], "{name}");
    }
}

#[test]
fn the_document_has_the_tables_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/gltf.md");
    let document = std::fs::read_to_string(path).unwrap();
    let mut updated = document.clone();
    for (name, table) in [("features", FEATURES), ("extensions", EXTENSIONS)] {
        let (start, end) = (format!("<!-- table: {name} -->\n\n"), "\n<!-- end of table -->");
        let (before, rest) = updated.split_once(&start).unwrap_or_else(|| panic!("no table {name}"));
        let (_, after) = rest.split_once(end).expect("the table ends");
        updated = format!("{before}{start}{}{end}{after}", markdown_table(table));
    }
    if std::env::var_os("KILN_UPDATE_DOCS").is_some() {
        std::fs::write(path, updated).unwrap();
    } else {
        assert!(
            document == updated,
            "docs/reference/gltf.md is out of date: KILN_UPDATE_DOCS=1 updates its tables"
        );
    }
}
