//! Content beyond geometry, skins and metallic-roughness: vertex colours, UV sets, morph targets, cameras, lights,
//! `extras` and extensions of materials. Expectations are worked out from the specification.

use crate::model::{Model, U8};
use kiln_import::gltf::Options;
use kiln_import::{Code, Imported, MemoryFiles, RelPath, gltf};
use kiln_ir::*;
use serde_json::{Value, json};

fn import(model: &Model, options: Options<'_>) -> Imported<Valid<Scene>> {
    let path = RelPath::new("model.glb").unwrap();
    let mut files = MemoryFiles::from_iter([(path.clone(), model.glb())]);
    gltf::import_with(&mut files, &path, &options).unwrap_or_else(|error| panic!("{error}\n{:#}", model.json))
}

/// Imports everything, and expects no warning.
fn whole(model: &Model) -> Scene {
    let imported = import(model, Options::everything());
    assert_eq!(imported.warnings, [], "{:#}", model.json);
    imported.value.into_inner()
}

fn primitive(model: &mut Model) -> &mut Value {
    &mut model.json["meshes"][0]["primitives"][0]
}

#[test]
fn imports_vertex_colors_of_every_form() {
    let mut model = Model::triangle();
    let view = model.view(&[255, 0, 51, 0, 0, 102, 255, 0, 255, 255, 255, 0]);
    let colors = model.accessor(view, U8, "VEC3", 3);
    model.json["accessors"][colors]["normalized"] = json!(true);
    model.json["bufferViews"][view]["byteStride"] = json!(4);
    primitive(&mut model)["attributes"]["COLOR_0"] = json!(colors);
    let scene = whole(&model);
    assert_eq!(
        scene.meshes[0].primitives[0].colors,
        [[1.0, 0.0, 0.2, 1.0], [0.0, 0.4, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    );
    let mut model = Model::triangle();
    let values = [0.5, 0.25, 2.0, 0.75, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    let colors = model.floats("VEC4", &values);
    primitive(&mut model)["attributes"]["COLOR_0"] = json!(colors);
    assert_eq!(whole(&model).meshes[0].primitives[0].colors.as_flattened(), values);
    let lossy = import(&model, Options::new());
    assert!(lossy.value.meshes[0].primitives[0].colors.is_empty());
    assert_eq!(lossy.warnings[0].code, Code::GltfDataIgnored);
}

/// A triangle with four UV sets, whose first u is the number of the set, and a material that uses set 2.
fn four_uv_sets() -> Model {
    let mut model = Model::triangle();
    for set in 0..4 {
        let uvs = model.floats("VEC2", &[set as f32, 0.5, 0.25, 0.0, 0.0, 1.0]);
        primitive(&mut model)["attributes"][format!("TEXCOORD_{set}")] = json!(uvs);
    }
    let image = model.push("images", json!({"uri": "data:image/png;base64,AAAA"}));
    model.push("textures", json!({"source": image}));
    let shift = json!({"offset": [0.0, 10.0], "scale": [2.0, 1.0]});
    let normal =
        json!({"index": 0, "texCoord": 2, "extensions": {"KHR_texture_transform": {"scale": [6.0, 1.0]}}});
    model.push(
        "materials",
        json!({
            "pbrMetallicRoughness": {"baseColorTexture":
                {"index": 0, "texCoord": 2, "extensions": {"KHR_texture_transform": shift}}},
            "normalTexture": normal,
            "occlusionTexture": {"index": 0, "texCoord": 1},
            "emissiveTexture": {"index": 0, "texCoord": 3},
        }),
    );
    primitive(&mut model)["material"] = json!(0);
    model
}

fn first_us(primitive: &Primitive) -> Vec<f32> {
    let sets = [&primitive.uv0, &primitive.uv1].into_iter().chain(&primitive.further_uvs);
    sets.map(|set| set[0][0]).collect()
}

#[test]
fn imports_all_uv_sets_in_their_order() {
    let model = four_uv_sets();
    let scene = whole(&model);
    assert_eq!(first_us(&scene.meshes[0].primitives[0]), [0.0, 1.0, 2.0, 3.0]);
    let sets = scene.materials[0].mappings.map(|mapping| mapping.uv_set);
    assert_eq!(sets, [2, 0, 2, 1, 3]);

    // With the UVs of the material first, each texture still finds its own.
    let options = Options::new().uv_sets(true).material_extensions(true);
    let imported = import(&model, options);
    assert_eq!(imported.warnings, [], "no UV is lost");
    let primitive = &imported.value.meshes[0].primitives[0];
    assert_eq!(first_us(primitive), [4.0, 0.0, 1.0, 3.0]);
    let mappings = &imported.value.materials[0].mappings;
    assert_eq!(mappings.map(|mapping| mapping.uv_set), [0, 0, 0, 2, 3]);
    assert_eq!(mappings[Slot::BaseColor as usize].transform, UvTransform::IDENTITY);
    // The normal texture has u × 6, the base colour texture u × 2 and v + 10, for the same set.
    let [u, v] = mappings[Slot::Normal as usize].transform.apply(primitive.uv0[0]);
    assert!((u - 12.0).abs() < 1e-5 && (v - 0.5).abs() < 1e-5, "{u} {v}");
    assert_eq!(import(&model, Options::new().uv_sets(true)).warnings[0].code, Code::GltfUv);
}

/// A triangle with two morph targets, of which the second is sparse.
fn morphing() -> Model {
    let mut model = Model::triangle();
    let normals = model.floats("VEC3", &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    primitive(&mut model)["attributes"]["NORMAL"] = json!(normals);
    let up = model.floats("VEC3", &[0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0]);
    let turned = model.floats("VEC3", &[0.1, 0.0, 0.0, 0.2, 0.0, 0.0, 0.3, 0.0, 0.0]);
    let (at, by) = (model.view(&[1]), model.view(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 160, 64]));
    let sparse =
        json!({"count": 1, "indices": {"bufferView": at, "componentType": U8}, "values": {"bufferView": by}});
    let out = model.push("accessors", json!({"componentType": 5126, "type": "VEC3", "count": 3, "sparse": sparse, "min": [0, 0, 0], "max": [0, 0, 5]}));
    primitive(&mut model)["targets"] = json!([{"POSITION": up, "NORMAL": turned}, {"POSITION": out}]);
    model.json["meshes"][0]["weights"] = json!([0.25, 0.5]);
    model.json["meshes"][0]["extras"] = json!({"targetNames": ["up", "out"]});
    model
}

#[test]
fn imports_morph_targets_with_names_and_weights() {
    let mut model = morphing();
    model.push("nodes", json!({"mesh": 0, "weights": [1.0, -1.0]}));
    model.json["scenes"][0]["nodes"] = json!([0, 1]);
    let scene = whole(&model);
    let mesh = &scene.meshes[0];
    assert_eq!(mesh.morph_names, ["up", "out"]);
    assert_eq!(mesh.morph_weights, [0.25, 0.5]);
    let targets = &mesh.primitives[0].morph_targets;
    assert_eq!(targets[0].positions, [[0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 3.0, 0.0]]);
    assert_eq!(targets[0].normals[2], [0.3, 0.0, 0.0]);
    assert_eq!(targets[1].positions, [[0.0; 3], [0.0, 0.0, 5.0], [0.0; 3]]);
    assert!(targets[1].normals.is_empty() && targets[1].tangents.is_empty());
    assert!(scene.nodes[0].morph_weights.is_empty());
    assert_eq!(scene.nodes[1].morph_weights, [1.0, -1.0]);

    let lossy = import(&model, Options::new());
    assert!(lossy.value.meshes[0].morph_weights.is_empty());
    assert!(lossy.warnings[0].message.contains("morph targets"), "{:?}", lossy.warnings);
    // The names alone are no loss.
    assert_eq!(import(&model, Options::new().morph_targets(true)).warnings, []);
    // A target for fewer vertices than the primitive has.
    let short = model.floats("VEC3", &[0.0; 6]);
    primitive(&mut model)["targets"][0]["POSITION"] = json!(short);
    let path = RelPath::new("model.glb").unwrap();
    let mut files = MemoryFiles::from_iter([(path.clone(), model.glb())]);
    let error = gltf::import_with(&mut files, &path, &Options::everything()).unwrap_err();
    assert_eq!(error.at.as_deref(), Some("/meshes/0/primitives/0/targets/0/POSITION"));
}

#[test]
fn morph_targets_follow_the_vertices_that_are_kept() {
    let mut model = morphing();
    // Five vertices, of which the triangle uses the last three.
    let positions = model.floats("VEC3", &(0..15).map(|v| v as f32).collect::<Vec<_>>());
    let deltas = model.floats("VEC3", &(0..15).map(|v| 100.0 + v as f32).collect::<Vec<_>>());
    let indices = model.shorts(&[4, 2, 3]);
    *primitive(&mut model) = json!({
        "attributes": {"POSITION": positions}, "indices": indices, "targets": [{"POSITION": deltas}]
    });
    model.json["meshes"][0]["extras"] = json!({"targetNames": ["one"]});
    model.json["meshes"][0]["weights"] = json!([0.0]);
    let scene = whole(&model);
    let found = &scene.meshes[0].primitives[0];
    assert_eq!(found.positions, [[6.0, 7.0, 8.0], [9.0, 10.0, 11.0], [12.0, 13.0, 14.0]]);
    assert_eq!(
        found.morph_targets[0].positions,
        [[106.0, 107.0, 108.0], [109.0, 110.0, 111.0], [112.0, 113.0, 114.0]]
    );
}

#[test]
fn imports_animations_of_morph_weights() {
    let mut model = morphing();
    let times = model.floats("SCALAR", &[1.0, 0.0]);
    let values = model.floats("SCALAR", &[0.1, 0.2, 0.3, 0.4]);
    let sampler = json!({"input": times, "output": values, "interpolation": "STEP"});
    let channels = json!([
        {"sampler": 0, "target": {"node": 0, "path": "weights"}},
        {"sampler": 0, "target": {"path": "pointer",
            "extensions": {"KHR_animation_pointer": {"pointer": "/nodes/0/weights"}}}},
    ]);
    model.push("animations", json!({"name": "smile", "samplers": [sampler], "channels": channels}));
    let imported = import(&model, Options::everything());
    let codes: Vec<Code> = imported.warnings.iter().map(|warning| warning.code).collect();
    assert!(codes.contains(&Code::GltfKeyframeOrder), "{codes:?}");
    assert!(!codes.contains(&Code::GltfDataIgnored), "{:?}", imported.warnings);
    let channels = &imported.value.animations[0].morph_channels;
    let wanted = MorphChannel {
        node: NodeId(0),
        targets: 2,
        interpolation: Interpolation::Step,
        times: vec![0.0, 1.0],
        values: vec![0.3, 0.4, 0.1, 0.2],
    };
    assert_eq!(*channels, [wanted.clone(), wanted]);
    // Three targets for a mesh that has two.
    let values = model.floats("SCALAR", &[0.0; 6]);
    model.json["animations"][0]["samplers"][0]["output"] = json!(values);
    let imported = import(&model, Options::everything());
    assert!(imported.value.animations[0].morph_channels.is_empty());
    assert!(imported.warnings.iter().any(|warning| warning.message.contains("without morph targets")));
}

#[test]
fn imports_cameras_lights_and_extras() {
    let mut model = Model::triangle();
    model.push(
        "cameras",
        json!({"type": "perspective", "name": "eye", "perspective": {"yfov": 0.5, "znear": 0.25}}),
    );
    let flat = json!({"xmag": 2.0, "ymag": 3.0, "znear": 0.0, "zfar": 10.0});
    model.push("cameras", json!({"type": "orthographic", "orthographic": flat, "extras": [1, "a\n"]}));
    let lights = json!([
        {"type": "spot", "intensity": 3.0, "color": [1.0, 0.5, 0.25], "range": 7.0,
            "spot": {"outerConeAngle": 0.75}, "extras": {"shadow": false}},
        {"type": "directional", "name": "sun"},
        {"type": "point"},
    ]);
    model.json["extensionsUsed"] = json!(["KHR_lights_punctual"]);
    model.json["extensions"] = json!({"KHR_lights_punctual": {"lights": lights}});
    model.json["nodes"][0]["camera"] = json!(1);
    model.json["nodes"][0]["extensions"] = json!({"KHR_lights_punctual": {"light": 0}});
    model.json["nodes"][0]["extras"] = json!({"tag": 1.5});
    model.json["scenes"][0]["name"] = json!("main");
    model.json["scenes"][0]["extras"] = json!({"sky": null});
    model.json["extras"] = json!("whole");
    let scene = whole(&model);
    assert_eq!((scene.name.as_str(), scene.extras.as_str()), ("main", r#"{"sky":null}"#));
    assert_eq!(scene.document_extras, "\"whole\"");
    assert_eq!(scene.nodes[0].extras, r#"{"tag":1.5}"#);
    assert_eq!((scene.nodes[0].camera, scene.nodes[0].light), (Some(CameraId(1)), Some(LightId(0))));
    let eye = Projection::Perspective { y_fov: 0.5, aspect_ratio: None, z_near: 0.25, z_far: None };
    assert_eq!(scene.cameras[0].projection, eye);
    let flat = Projection::Orthographic { x_mag: 2.0, y_mag: 3.0, z_near: 0.0, z_far: 10.0 };
    assert_eq!(scene.cameras[1].projection, flat);
    assert_eq!(scene.cameras[1].extras, r#"[1,"a\n"]"#);
    let spot = LightKind::Spot { inner_cone_angle: 0.0, outer_cone_angle: 0.75 };
    assert_eq!((scene.lights[0].kind, scene.lights[0].range), (spot, Some(7.0)));
    assert_eq!(
        (scene.lights[0].color, scene.lights[0].extras.as_str()),
        ([1.0, 0.5, 0.25], r#"{"shadow":false}"#)
    );
    assert_eq!((scene.lights[1].kind, scene.lights[1].intensity), (LightKind::Directional, 1.0));
    let lossy = import(&model, Options::new());
    assert!(lossy.value.cameras.is_empty() && lossy.value.nodes[0].extras.is_empty());
    let message = &lossy.warnings.last().unwrap().message;
    for lost in ["cameras", "lights (KHR_lights_punctual)", "document", "nodes", "scenes"] {
        assert!(message.contains(lost), "{message}");
    }
    model.json["cameras"][0]["type"] = json!("fisheye");
    let path = RelPath::new("model.glb").unwrap();
    let mut files = MemoryFiles::from_iter([(path.clone(), model.glb())]);
    let error = gltf::import_with(&mut files, &path, &Options::everything()).unwrap_err();
    assert_eq!(error.at.as_deref(), Some("/cameras/0/type"));
}

#[test]
fn imports_extensions_and_samplers_of_materials() {
    let mut model = Model::triangle();
    let image = model.push("images", json!({"uri": "data:image/png;base64,AAAA"}));
    model.push("samplers", json!({"magFilter": 9728, "minFilter": 9985, "wrapS": 33071, "wrapT": 33648}));
    model.push("textures", json!({"source": image, "sampler": 0}));
    let info = json!({"index": 0});
    let extensions = json!({
        "KHR_materials_anisotropy": {"anisotropyStrength": 0.5, "anisotropyRotation": 0.25, "anisotropyTexture": info},
        "KHR_materials_clearcoat": {"clearcoatFactor": 1.0, "clearcoatNormalTexture": {"index": 0, "scale": 0.5}},
        "KHR_materials_dispersion": {"dispersion": 0.1},
        "KHR_materials_emissive_strength": {"emissiveStrength": 4.0},
        "KHR_materials_ior": {"ior": 1.4},
        "KHR_materials_iridescence": {"iridescenceFactor": 1.0},
        "KHR_materials_sheen": {"sheenColorFactor": [0.1, 0.2, 0.3], "sheenColorTexture": info},
        "KHR_materials_specular": {"specularFactor": 0.5},
        "KHR_materials_transmission": {"transmissionFactor": 0.75, "transmissionTexture": info},
        "KHR_materials_unlit": {},
        "KHR_materials_volume": {"thicknessFactor": 2.0, "attenuationColor": [0.5, 0.6, 0.7]},
    });
    let material = json!({"emissiveFactor": [0.5, 0.5, 0.5], "extensions": extensions, "extras": {"a": 1}});
    model.push("materials", material);
    primitive(&mut model)["material"] = json!(0);
    let scene = whole(&model);
    let material = &scene.materials[0];
    let all = &material.extensions;
    assert!(all.unlit && material.unsupported.is_empty());
    assert_eq!((all.emissive_strength, all.ior, all.dispersion), (4.0, 1.4, 0.1));
    assert_eq!(material.emissive_factor, [2.0; 3], "with the strength");
    let sampler = Sampler {
        mag_filter: Filter::Nearest,
        min_filter: Filter::Linear,
        mip_filter: MipFilter::Nearest,
        wrap_u: Wrap::ClampToEdge,
        wrap_v: Wrap::MirroredRepeat,
    };
    let mapping = TextureMapping { sampler, ..TextureMapping::default() };
    let texture = Some(TextureInfo { image: ImageId(0), mapping });
    assert_eq!(all.anisotropy, Some(Anisotropy { strength: 0.5, rotation: 0.25, texture }));
    let coat = Clearcoat { factor: 1.0, normal_texture: texture, normal_scale: 0.5, ..Clearcoat::default() };
    assert_eq!(all.clearcoat, Some(coat));
    assert_eq!(all.iridescence, Some(Iridescence { factor: 1.0, ..Iridescence::default() }));
    let sheen = Sheen { color_factor: [0.1, 0.2, 0.3], color_texture: texture, ..Sheen::default() };
    assert_eq!(all.sheen, Some(sheen));
    assert_eq!(all.specular, Some(Specular { factor: 0.5, ..Specular::default() }));
    let volume = Volume { thickness_factor: 2.0, attenuation_color: [0.5, 0.6, 0.7], ..Volume::default() };
    assert_eq!(all.volume, Some(volume));
    assert_eq!((material.transmission_factor, material.transmission_mapping), (0.75, mapping));
    assert_eq!(material.extras, r#"{"a":1}"#);
    assert!(!scene.images[0].bytes.is_empty(), "images of extensions are read");
    let lossy = import(&model, Options::new());
    assert_eq!(lossy.value.materials[0].extensions.ior, 1.5);
    assert_eq!(lossy.value.materials[0].unsupported.len(), 10);
}
