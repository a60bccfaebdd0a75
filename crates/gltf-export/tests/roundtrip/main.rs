//! Exports small generated models and compares them with their source, as the importer reads both: triangles in world
//! space, poses of skins, morph targets, materials, names and extras.

mod model;

use kiln_gltf_export::{Exported, Options, TextureRole, export, export_scene, split};
use kiln_import::{Code, Diag, Imported, MemoryFiles, RelPath, gltf, obj};
use kiln_ir::{ImageSource, Matrix, Scene, Valid};
use model::Model;
use serde_json::{Value, json};

fn path(name: &str) -> RelPath {
    RelPath::new(name).unwrap()
}

fn options(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::default();
    change(&mut options);
    options
}

/// All combinations of quantisation and compression.
fn all_options() -> [Options; 4] {
    [(true, true), (true, false), (false, true), (false, false)].map(|(quantize, compress)| {
        options(|o| {
            o.quantize = quantize;
            o.compress = compress;
        })
    })
}

fn exported(model: &Model, options: &Options) -> Exported {
    export(&mut model.files(), &path("model.gltf"), options, None).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the JSON chunk of a binary glTF.
fn json_of(glb: &[u8]) -> Value {
    let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&glb[20..20 + length]).unwrap()
}

fn import(glb: &[u8]) -> Imported<Valid<Scene>> {
    let mut files = MemoryFiles::from_iter([(path("model.glb"), glb.to_vec())]);
    gltf::import(&mut files, &path("model.glb")).unwrap_or_else(|e| panic!("{e}"))
}

/// A corner of a triangle in world space.
#[derive(Clone, Copy, Debug)]
struct Corner {
    position: [f32; 3],
    normal: [f32; 3],
    uv: [f32; 2],
}

/// Returns all triangles in world space, skinned ones in the pose of the nodes.
fn triangles(scene: &Valid<Scene>) -> Vec<[Corner; 3]> {
    let worlds = scene.worlds();
    let mut found = Vec::new();
    for draw in scene.draws() {
        for primitive in &scene.meshes[draw.mesh.0 as usize].primitives {
            let corner = |&index: &u32| {
                let at = index as usize;
                let matrix = match draw.skin {
                    None => draw.world,
                    Some(skin) => {
                        let skin = &scene.skins[skin.0 as usize];
                        let (joints, weights) = (primitive.joints[at], primitive.weights[at]);
                        let sum: f32 = weights.iter().sum();
                        let mut blended = [[0.0; 4]; 4];
                        for (joint, weight) in joints.into_iter().zip(weights) {
                            let joint = usize::from(joint);
                            let bind = Matrix::from_columns(&skin.inverse_bind[joint]);
                            let matrix = worlds[skin.joints[joint].0 as usize] * bind;
                            for (sum_column, column) in blended.iter_mut().zip(matrix.0) {
                                for (cell, value) in sum_column.iter_mut().zip(column) {
                                    *cell += f64::from(weight / sum) * value;
                                }
                            }
                        }
                        Matrix(blended)
                    }
                };
                let normal = primitive.normals.get(at).copied().unwrap_or_default();
                let length = normal.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-9);
                Corner {
                    position: matrix.point(primitive.positions[at]),
                    normal: normal.map(|x| x / length),
                    uv: primitive.uv0.get(at).copied().unwrap_or_default(),
                }
            };
            found.extend(
                primitive.indices.as_chunks::<3>().0.iter().map(|t| [0, 1, 2].map(|i| corner(&t[i]))),
            );
        }
    }
    found
}

fn distance<const N: usize>(a: [f32; N], b: [f32; N]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Checks that two sets of triangles are equal up to these errors, whatever their order and first corner; brute force.
fn assert_same(source: &[[Corner; 3]], result: &[[Corner; 3]], position: f32, normal: f32, uv: f32) {
    assert_eq!(source.len(), result.len(), "number of triangles");
    let is_same = |a: &[Corner; 3], b: &[Corner; 3]| {
        (0..3).any(|turn| {
            (0..3).all(|at| {
                let (a, b) = (&a[at], &b[(at + turn) % 3]);
                distance(a.position, b.position) <= position
                    && distance(a.normal, b.normal) <= normal
                    && distance(a.uv, b.uv) <= uv
            })
        })
    };
    let mut left: Vec<&[Corner; 3]> = result.iter().collect();
    for triangle in source {
        let at = left.iter().position(|other| is_same(triangle, other));
        left.swap_remove(at.unwrap_or_else(|| panic!("no triangle is near {triangle:?}")));
    }
}

#[test]
fn triangles_are_the_same_within_the_stated_error() {
    let mut model = Model::new();
    let mesh = model.sphere(12, 3.0);
    let root =
        model.push("nodes", json!({"name": "root", "translation": [5, 1, -2], "rotation": [0, 0.6, 0, 0.8]}));
    let child = model.push("nodes", json!({"mesh": mesh, "scale": [1, 2, 0.5], "name": "ball"}));
    let second = model.push("nodes", json!({"mesh": mesh, "translation": [0, 9, 0], "extras": {"tag": 7}}));
    model.json["nodes"][root]["children"] = json!([child, second]);
    model.json["scenes"] = json!([{"nodes": [root]}]);
    let source = triangles(&import_source(&model));
    for options in all_options() {
        let exported = exported(&model, &options);
        assert!(exported.warnings.is_empty(), "{:?}", exported.warnings);
        let result = triangles(&import(&exported.glb).value);
        // The extent is 6, the largest scale 2; world coordinates are floats.
        let (position, normal) =
            if options.quantize { (6.0 / 131070.0 * 2.0 + 2e-6, 0.021) } else { (2e-6, 1e-6) };
        let uv = if options.quantize { 1.0 / 131070.0 + 1e-7 } else { 0.0 };
        assert_same(&source, &result, position * 1.01, normal, uv);
        let json = json_of(&exported.glb);
        let required = json["extensionsRequired"].as_array().cloned().unwrap_or_default();
        assert_eq!(required.contains(&json!("KHR_mesh_quantization")), options.quantize);
        assert_eq!(required.contains(&json!("EXT_meshopt_compression")), options.compress);
        let named =
            |name: &str| json["nodes"].as_array().unwrap().iter().find(|node| node["name"] == name).cloned();
        assert_eq!(named("root").unwrap()["rotation"], json!([0, 0.6, 0, 0.8]));
        assert_eq!(named("ball").unwrap()["scale"], json!([1, 2, 0.5]));
        let tagged = json["nodes"].as_array().unwrap().iter().filter(|node| node["extras"]["tag"] == 7);
        assert_eq!(tagged.count(), 1);
    }
}

fn import_source(model: &Model) -> Valid<Scene> {
    gltf::import(&mut model.files(), &path("model.gltf")).unwrap_or_else(|e| panic!("{e}")).value
}

#[test]
fn vertices_are_welded_and_compressed() {
    let mut model = Model::new();
    let mesh = model.sphere(40, 1.0);
    model.draw(mesh);
    let json = json_of(&exported(&model, &options(|_| ())).glb);
    let accessor = |name: &str| {
        let at = json["meshes"][0]["primitives"][0]["attributes"][name].as_u64().unwrap();
        json["accessors"][at as usize].clone()
    };
    // Every corner of the source is a vertex of its own: 41 * 41 remain of 40 * 40 * 6, less the merged poles.
    let count = accessor("POSITION")["count"].as_u64().unwrap();
    assert!((1500..=1681).contains(&count), "{count}");
    assert_eq!(accessor("POSITION")["componentType"], 5123);
    assert_eq!(accessor("NORMAL")["componentType"], 5120);
    assert_eq!(accessor("TEXCOORD_0")["componentType"], 5123);
    let plain = exported(&model, &options(|o| o.compress = false)).glb.len();
    let packed = exported(&model, &options(|_| ())).glb.len();
    assert!(
        packed * 3 < plain * 2 && plain * 4 < model.buffer.len(),
        "{packed} {plain} {}",
        model.buffer.len()
    );
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let mut model = Model::new();
    for radius in [1.0, 2.0, 3.0] {
        let mesh = model.sphere(10, radius);
        model.draw(mesh);
    }
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| exported(&model, &options(|o| o.lods = 2)).glb)
    };
    assert_eq!(run(1), run(4));
}

#[test]
fn poses_of_skins_are_the_same() {
    let mut model = Model::new();
    let mesh = model.skinned_strip(20);
    let joints = [
        json!({"name": "hip", "translation": [0, 1, 0], "children": [1]}),
        json!({"name": "knee", "translation": [0, 2, 0], "rotation": [0, 0, 0.28, 0.96]}),
    ];
    joints.into_iter().for_each(|joint| _ = model.push("nodes", joint));
    let matrices = [
        [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 1.0],
        [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -3.0, 0.0, 1.0],
    ];
    let matrices = model.floats("MAT4", matrices.as_flattened());
    model.push("skins", json!({"joints": [0, 1], "inverseBindMatrices": matrices}));
    let body = model.push("nodes", json!({"mesh": mesh, "skin": 0, "translation": [50, 0, 0]}));
    model.json["scenes"] = json!([{"nodes": [0, body]}]);
    let source = triangles(&import_source(&model));
    for options in all_options() {
        let result = triangles(&import(&exported(&model, &options).glb).value);
        // The extent is 4; a weight is off by 1/255 at most, and the joints move vertices apart by up to 3.
        let error = if options.quantize { 4.0 / 131070.0 + 3.0 / 255.0 } else { 1e-5 };
        assert_same(&source, &result, error, 0.02, 1e-4);
    }
    // The matrices themselves are exact up to rounding: a rigid vertex is within the error of the grid.
    let first = |triangles: &[[Corner; 3]]| {
        let corners = triangles.iter().flatten().map(|corner| corner.position);
        corners.min_by(|a, b| a[1].total_cmp(&b[1])).unwrap()
    };
    let result = triangles(&import(&exported(&model, &options(|_| ())).glb).value);
    assert!(distance(first(&source), first(&result)) < 4.0 / 131070.0 + 1e-6);
}

#[test]
fn morph_targets_and_their_weights_are_kept() {
    let mut model = Model::new();
    let positions = model.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let target = model.floats("VEC3", &[0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, -2.0, 0.0]);
    let indices = model.shorts(&[0, 1, 2]);
    let primitive =
        json!({"attributes": {"POSITION": positions}, "indices": indices, "targets": [{"POSITION": target}]});
    let mesh = model.push(
        "meshes",
        json!({"primitives": [primitive], "weights": [0.25], "extras": {"targetNames": ["bend"]}}),
    );
    let node = model.push("nodes", json!({"mesh": mesh, "weights": [0.5], "name": "flag"}));
    model.json["scenes"] = json!([{"nodes": [node]}]);
    let (times, values) = (model.floats("SCALAR", &[0.0, 1.0]), model.floats("SCALAR", &[0.0, 1.0]));
    let channel = json!({"sampler": 0, "target": {"node": node, "path": "weights"}});
    model
        .push("animations", json!({"channels": [channel], "samplers": [{"input": times, "output": values}]}));
    let json = json_of(&exported(&model, &options(|o| o.compress = false)).glb);
    assert_eq!(json["meshes"][0]["weights"], json!([0.25]));
    assert_eq!(json["meshes"][0]["extras"]["targetNames"], json!(["bend"]));
    // The weights and their animation belong to the node with the mesh.
    let holder =
        json["nodes"].as_array().unwrap().iter().position(|node| node.get("mesh").is_some()).unwrap();
    assert_eq!(json["nodes"][holder]["weights"], json!([0.5]));
    assert_eq!(json["animations"][0]["channels"][0]["target"]["node"], json!(holder));
    // A displacement of -2 needs a step of 2 / 32767.
    let at = json["meshes"][0]["primitives"][0]["targets"][0]["POSITION"].as_u64().unwrap() as usize;
    let scale = json["nodes"][holder]["scale"][0].as_f64().unwrap();
    let accessor = &json["accessors"][at];
    assert_eq!((accessor["componentType"].as_u64(), accessor["count"].as_u64()), (Some(5122), Some(3)));
    assert!((accessor["min"][1].as_f64().unwrap() * scale + 2.0).abs() < scale);
    assert!((accessor["max"][2].as_f64().unwrap() * scale - 0.5).abs() < scale);
}

#[test]
fn unused_objects_are_removed_and_materials_are_kept_verbatim() {
    let mut model = Model::new();
    let image = model.png(8, 8);
    model.push("images", json!({"bufferView": image, "mimeType": "image/png", "name": "unused"}));
    let image = model.png(8, 8);
    model.push("images", json!({"bufferView": image, "mimeType": "image/png", "name": "paint"}));
    model.push("samplers", json!({"wrapS": 33071}));
    model.push("textures", json!({"source": 0}));
    model.push("textures", json!({"source": 1, "sampler": 0}));
    model.push("materials", json!({"name": "unused", "normalTexture": {"index": 0}}));
    let clearcoat = json!({"clearcoatFactor": 0.3, "clearcoatTexture": {"index": 1, "texCoord": 1}});
    let material = json!({
        "name": "car", "extras": {"shop": [1, 2]}, "alphaMode": "MASK", "alphaCutoff": 0.3,
        "pbrMetallicRoughness": {"baseColorTexture": {"index": 1}},
        "extensions": {"KHR_materials_clearcoat": clearcoat, "ACME_materials_flake": {"size": 0.125}},
    });
    model.push("materials", material.clone());
    model.json["extensionsUsed"] = json!(["KHR_materials_clearcoat", "ACME_materials_flake"]);
    let mesh = model.sphere(3, 1.0);
    model.json["meshes"][mesh]["primitives"][0]["material"] = json!(1);
    model.sphere(5, 1.0);
    model.draw(mesh);
    model.push("cameras", json!({"type": "perspective", "perspective": {"yfov": 1, "znear": 0.1}}));
    let node = model.push("nodes", json!({"camera": 0, "name": "camera"}));
    model.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(json!(node));
    let json = json_of(&exported(&model, &options(|_| ())).glb);
    let lengths = ["materials", "textures", "images", "meshes", "cameras", "samplers"]
        .map(|list| json[list].as_array().map_or(0, Vec::len));
    assert_eq!(lengths, [1; 6]);
    let mut expected = material;
    expected["pbrMetallicRoughness"]["baseColorTexture"]["index"] = json!(0);
    expected["extensions"]["KHR_materials_clearcoat"]["clearcoatTexture"]["index"] = json!(0);
    assert_eq!(json["materials"][0], expected);
    assert_eq!(json["images"][0]["name"], "paint");
    let used: Vec<&str> =
        json["extensionsUsed"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    assert!(used.contains(&"ACME_materials_flake") && used.contains(&"KHR_materials_clearcoat"));
}

#[test]
fn unknown_extensions_keep_all_indices_or_are_dropped_with_a_warning() {
    let mut model = Model::new();
    model.sphere(2, 1.0);
    let mesh = model.sphere(3, 1.0);
    model.draw(mesh);
    model.json["nodes"][0]["extensions"] = json!({"ACME_collider": {"mesh": 0}});
    model.json["extensionsUsed"] = json!(["ACME_collider"]);
    let kept = exported(&model, &options(|_| ()));
    let json = json_of(&kept.glb);
    assert!(kept.warnings.is_empty());
    assert_eq!(
        (json["meshes"].as_array().unwrap().len(), &json["nodes"][0]["extensions"]["ACME_collider"]["mesh"]),
        (2, &json!(0))
    );
    model.json["nodes"][0]["extensions"] = json!({"ACME_points": {"accessor": 0}});
    let dropped = exported(&model, &options(|_| ()));
    assert_eq!(dropped.warnings[0].code, Code::GltfExtensionDropped);
    let json = json_of(&dropped.glb);
    assert!(json["nodes"][0].get("extensions").is_none() && json["meshes"].as_array().unwrap().len() == 1);
}

#[test]
fn textures_are_encoded_once_for_each_role() {
    let mut model = Model::new();
    let image = model.png(8, 8);
    model.push("images", json!({"bufferView": image, "mimeType": "image/png"}));
    model.push("textures", json!({"source": 0}));
    let pbr = json!({"baseColorTexture": {"index": 0}, "metallicRoughnessTexture": {"index": 0}});
    model.push("materials", json!({"pbrMetallicRoughness": pbr, "occlusionTexture": {"index": 0}}));
    let mesh = model.sphere(3, 1.0);
    model.json["meshes"][mesh]["primitives"][0]["material"] = json!(0);
    model.draw(mesh);
    let mut roles = Vec::new();
    let mut encode = |image: &ImageSource, role: TextureRole| {
        assert_eq!(image.extension, "png");
        roles.push(role);
        Ok::<_, Diag>(Some(format!("{role:?}").into_bytes()))
    };
    let exported =
        export(&mut model.files(), &path("model.gltf"), &Options::default(), Some(&mut encode)).unwrap();
    roles.sort();
    assert_eq!(roles, [TextureRole::Color, TextureRole::Linear]);
    let json = json_of(&exported.glb);
    let image_of = |texture: &Value| {
        let texture = &json["textures"][texture["index"].as_u64().unwrap() as usize];
        assert!(texture.get("source").is_none());
        let source = texture["extensions"]["KHR_texture_basisu"]["source"].as_u64().unwrap();
        let image = &json["images"][source as usize];
        assert_eq!(image["mimeType"], "image/ktx2");
        let view = &json["bufferViews"][image["bufferView"].as_u64().unwrap() as usize];
        let chunk = 20 + u32::from_le_bytes(exported.glb[12..16].try_into().unwrap()) as usize + 8;
        let start = chunk + view["byteOffset"].as_u64().unwrap_or(0) as usize;
        String::from_utf8(exported.glb[start..][..view["byteLength"].as_u64().unwrap() as usize].to_vec())
            .unwrap()
    };
    let material = &json["materials"][0];
    assert_eq!(image_of(&material["pbrMetallicRoughness"]["baseColorTexture"]), "Color");
    assert_eq!(image_of(&material["pbrMetallicRoughness"]["metallicRoughnessTexture"]), "Linear");
    assert_eq!(image_of(&material["occlusionTexture"]), "Linear");
    assert!(json["extensionsRequired"].as_array().unwrap().contains(&json!("KHR_texture_basisu")));
    // An image that the encoder declines stays.
    let mut decline = |_: &ImageSource, _: TextureRole| Ok::<_, Diag>(None);
    let kept =
        export(&mut model.files(), &path("model.gltf"), &Options::default(), Some(&mut decline)).unwrap();
    assert_eq!(json_of(&kept.glb)["images"][0]["mimeType"], "image/png");
}

#[test]
fn lods_are_nodes_of_msft_lod() {
    let mut model = Model::new();
    let mesh = model.sphere(24, 1.0);
    model.draw(mesh);
    let exported = exported(&model, &options(|o| o.lods = 2));
    let json = json_of(&exported.glb);
    let holder = json["nodes"].as_array().unwrap().iter().find(|node| node.get("mesh").is_some()).unwrap();
    let ids = holder["extensions"]["MSFT_lod"]["ids"].as_array().unwrap();
    let indices = |node: &Value| {
        let mesh = &json["meshes"][node["mesh"].as_u64().unwrap() as usize];
        json["accessors"][mesh["primitives"][0]["indices"].as_u64().unwrap() as usize]["count"]
            .as_u64()
            .unwrap()
    };
    let full = indices(holder);
    let counts: Vec<u64> =
        ids.iter().map(|id| indices(&json["nodes"][id.as_u64().unwrap() as usize])).collect();
    assert!(counts.len() == 2 && counts[0] <= full / 2 + 3 && counts[1] <= full / 4 + 3, "{full} {counts:?}");
    for id in ids {
        assert_eq!(json["nodes"][id.as_u64().unwrap() as usize]["scale"], holder["scale"]);
    }
    // The default scene still has the full mesh.
    let model_triangles = triangles(&import_source(&model)).len();
    assert_eq!(triangles(&import(&exported.glb).value).len(), model_triangles);
}

#[test]
fn an_export_of_an_export_has_the_same_triangles() {
    let mut model = Model::new();
    let mesh = model.sphere(8, 1.0);
    model.draw(mesh);
    let once = exported(&model, &options(|_| ())).glb;
    let mut files = MemoryFiles::from_iter([(path("a.glb"), once.clone())]);
    let twice = export(&mut files, &path("a.glb"), &Options::default(), None).unwrap().glb;
    assert_same(&triangles(&import(&once).value), &triangles(&import(&twice).value), 0.0, 0.0, 0.0);
    let (text, buffer) = split(twice.clone(), "a.bin").unwrap();
    let mut files = MemoryFiles::from_iter([(path("a.gltf"), text), (path("a.bin"), buffer.unwrap())]);
    let apart = gltf::import(&mut files, &path("a.gltf")).unwrap().value;
    assert_same(&triangles(&import(&twice).value), &triangles(&apart), 0.0, 0.0, 0.0);
}

#[test]
fn scenes_of_other_sources_are_exported() {
    let text = "mtllib a.mtl\no quad\nv 0 0 0\nv 2 0 0\nv 2 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvn 0 0 1\n\
                usemtl red\nf 1/1/1 2/2/1 3/3/1 4/4/1\n";
    let library = "newmtl red\nKd 1 0 0\n";
    let mut files = MemoryFiles::from_iter([
        (path("a.obj"), text.as_bytes().to_vec()),
        (path("a.mtl"), library.as_bytes().to_vec()),
    ]);
    let scene = obj::import(&mut files, &path("a.obj")).unwrap().value;
    let limits = kiln_import::Limits::default();
    let exported = export_scene(&scene, &Options::default(), None, limits, None).unwrap();
    let result = import(&exported.glb).value;
    assert_same(&triangles(&scene), &triangles(&result), 2.0 / 131070.0 + 1e-6, 0.021, 1e-5);
    assert_eq!(result.materials[0].name, "red");
    assert_eq!(result.materials[0].base_color_factor, scene.materials[0].base_color_factor);
}

#[test]
fn rejects_damaged_documents() {
    let mut model = Model::new();
    let mesh = model.sphere(3, 1.0);
    model.draw(mesh);
    let change = |change: &dyn Fn(&mut Value)| {
        let mut model = model.clone();
        change(&mut model.json);
        export(&mut model.files(), &path("model.gltf"), &Options::default(), None).unwrap_err().code
    };
    assert_eq!(change(&|json| json["nodes"][0]["mesh"] = json!(9)), Code::GltfReference);
    assert_eq!(change(&|json| json["accessors"][0]["count"] = json!(1 << 30)), Code::GltfAccessor);
    assert_eq!(change(&|json| json["accessors"][0]["count"] = json!(3)), Code::GltfAccessor);
    assert_eq!(
        change(&|json| json["meshes"][0]["primitives"][0]["attributes"]["NORMAL"] = json!(99)),
        Code::GltfReference
    );
    assert_eq!(change(&|json| json["meshes"][0]["primitives"][0]["indices"] = json!("x")), Code::GltfValue);
    // No panic on any document with one value replaced.
    let pointers = pointers(&model.json, String::new());
    for pointer in &pointers {
        for value in [json!(-1), json!("x"), json!([]), json!({}), json!(null), json!(1e9)] {
            let mut model = model.clone();
            *model.json.pointer_mut(pointer).unwrap() = value;
            _ = export(&mut model.files(), &path("model.gltf"), &Options::default(), None);
        }
    }
}

/// Returns the JSON pointers of all values below the root.
fn pointers(value: &Value, at: String) -> Vec<String> {
    let below: Vec<(String, &Value)> = match value {
        Value::Array(items) => items.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
        Value::Object(members) => members.iter().map(|(name, v)| (name.clone(), v)).collect(),
        _ => vec![],
    };
    below
        .into_iter()
        .flat_map(|(name, v)| {
            let at = format!("{at}/{name}");
            let mut all = pointers(v, at.clone());
            all.push(at);
            all
        })
        .collect()
}
