//! Scene files and material extensions, compared with an independent evaluation of the source.

use crate::model::Model;
use crate::pose::{Mat, Source, Splines, mul, trs};
use crate::project::{Compiled, Project};
use crate::shapes::{image, png, quad};
use kiln_format::hmat::HmatView;
use kiln_format::hmatx::{self, HmatxView, TextureSlot};
use kiln_format::hscn::{ChannelPath, HscnView, Interpolation, NONE, SceneChannel};
use kiln_format::refs;
use libm::sin;
use serde_json::{Value, json};

const SETTINGS: &str = "mesh: {scene_data: true, merge: false}";

/// The names of the nodes of [`stage`], in the order of the source.
const NAMES: [&str; 6] = ["face", "lamp", "eye", "arm", "not drawn", "copies"];

/// A morphed face below a moving arm, a lamp, an eye, copies, and a node outside of the scene.
fn stage() -> Model {
    let mut model = Model::new();
    let mut face = quad(&mut model);
    let zeros = model.floats("VEC3", &[0.0; 12]);
    face["targets"] = json!([{"POSITION": zeros}, {"POSITION": zeros}]);
    model.mesh(json!([face]));
    model.json["meshes"][0]["weights"] = json!([0.25, 0.5]);
    model.json["meshes"][0]["name"] = json!("Face");
    model.json["meshes"][0]["extras"] = json!({"targetNames": ["smile", "blink"], "kind": 1});
    let at = model.floats("VEC3", &[0.0, 0.0, 0.0, 10.0, 0.0, 0.0]);
    let shear = [1.0, 0.0, 0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 4.0, 5.0, 6.0, 1.0];
    model.json["nodes"] = json!([
        {"mesh": 0, "translation": [0, 1, 0], "name": NAMES[0], "weights": [0.5, 0.75], "extras": {"id": 7}},
        {"matrix": shear, "name": NAMES[1], "extensions": {"KHR_lights_punctual": {"light": 1}}},
        {"camera": 0, "rotation": [0, 0.6, 0, 0.8], "name": NAMES[2]},
        {"children": [0, 1], "translation": [1, 2, 3], "scale": [1, 2, 1], "name": NAMES[3]},
        {"camera": 1, "name": NAMES[4]},
        {"mesh": 0, "name": NAMES[5],
         "extensions": {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": at}}}},
    ]);
    model.json["scenes"] = json!([{"nodes": [5, 3, 2], "name": "Main", "extras": [1, "ä"]}]);
    model.json["extras"] = json!("all");
    model.json["cameras"] = json!([
        {"type": "perspective", "perspective": {"yfov": 0.75, "znear": 0.5, "zfar": 100.0}, "name": "main"},
        {"type": "orthographic", "orthographic": {"xmag": 2.0, "ymag": 3.0, "znear": 0.0, "zfar": 9.0}},
    ]);
    model.json["extensionsUsed"] = json!(["KHR_lights_punctual", "EXT_mesh_gpu_instancing"]);
    model.json["extensions"] = json!({"KHR_lights_punctual": {"lights": [
        {"type": "directional", "intensity": 3.0},
        {"type": "spot", "color": [1.0, 0.5, 0.25], "range": 8.0, "name": "bulb",
         "spot": {"innerConeAngle": 0.25, "outerConeAngle": 0.5}, "extras": true},
    ]}});
    animate(&mut model);
    model
}

fn animate(model: &mut Model) {
    let times = model.floats("SCALAR", &[0.0, 0.5, 2.0]);
    let early = model.floats("SCALAR", &[0.25, 1.0]);
    let turn = model.floats("VEC4", &[0.0, 0.0, 0.0, 1.0, 0.6, 0.0, 0.0, 0.8, 0.0, -0.8, 0.0, -0.6]);
    let tangents: Vec<f32> = (0..27).map(|n| (n * 7 % 11) as f32 / 4.0 - 1.0).collect();
    let spline = model.floats("VEC3", &tangents);
    let sizes = model.floats("VEC3", &[1.0, 1.0, 1.0, 2.0, 0.5, 3.0]);
    let weights = model.floats("SCALAR", &[0.0, 1.0, 1.0, 0.0, 0.5, 0.5]);
    let cubic = model.floats("SCALAR", &[0.0, 0.5, 0.0, 0.25, 1.0, 0.0, 0.5, -1.0, 1.0, 0.75, 0.0, 2.0]);
    model.push(
        "animations",
        json!({"name": "wave", "extras": {"loop": true},
        "samplers": [
            {"input": times, "output": turn},
            {"input": times, "output": spline, "interpolation": "CUBICSPLINE"},
            {"input": early, "output": sizes, "interpolation": "STEP"},
            {"input": times, "output": weights},
        ],
        "channels": [
            {"sampler": 0, "target": {"node": 3, "path": "rotation"}},
            {"sampler": 1, "target": {"node": 3, "path": "translation"}},
            {"sampler": 2, "target": {"node": 0, "path": "scale"}},
            {"sampler": 3, "target": {"node": 0, "path": "weights"}},
        ]}),
    );
    model.push(
        "animations",
        json!({
            "samplers": [{"input": early, "output": cubic, "interpolation": "CUBICSPLINE"}],
            "channels": [{"sampler": 0, "target": {"node": 5, "path": "weights"}}],
        }),
    );
}

/// Evaluates a channel of a scene file at a time.
fn sample(scene: &HscnView<'_>, channel: &SceneChannel, time: f64) -> Vec<f64> {
    let wide = |array: kiln_format::Array<'_, f32>| array.iter().map(f64::from).collect::<Vec<_>>();
    let (times, values) = (wide(scene.times(channel)), wide(scene.values(channel)));
    let mode = Interpolation::from_number(channel.interpolation).unwrap();
    let per_key = mode.values_per_key() as usize;
    let size = channel.components as usize;
    let part = |key: usize, part: usize| &values[(key * per_key + part) * size..][..size];
    let value = |key: usize| part(key, per_key / 2).to_vec();
    let next = times.iter().position(|t| *t > time);
    let (from, to) = match next {
        None => return value(times.len() - 1),
        Some(0) => return value(0),
        Some(next) => (next - 1, next),
    };
    let span = times[to] - times[from];
    let t = (time - times[from]) / span;
    let (a, b) = (value(from), value(to));
    match mode {
        Interpolation::Step => a,
        Interpolation::Linear if channel.path == ChannelPath::Rotation as u8 => {
            let dot: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let angle = dot.abs().min(1.0).acos();
            let (x, y) = match angle < 1e-6 {
                true => (1.0 - t, t),
                false => (sin((1.0 - t) * angle) / sin(angle), sin(t * angle) / sin(angle)),
            };
            a.iter().zip(&b).map(|(a, b)| x * a + dot.signum() * y * b).collect()
        }
        Interpolation::Linear => a.iter().zip(&b).map(|(a, b)| a + t * (b - a)).collect(),
        Interpolation::CubicSpline => {
            let (out, into) = (part(from, 2), part(to, 0));
            let hermite = |i: usize| {
                let (v0, v1, d0, d1) = (a[i], b[i], span * out[i], span * into[i]);
                v0 + t * (d0 + t * (3.0 * (v1 - v0) - 2.0 * d0 - d1 + t * (2.0 * (v0 - v1) + d0 + d1)))
            };
            (0..size).map(hermite).collect()
        }
    }
}

/// Evaluates the world matrices and morph target weights of all nodes of a scene file.
fn pose(scene: &HscnView<'_>, moment: Option<(usize, f64)>) -> (Vec<Mat>, Vec<Vec<f64>>) {
    let wide = |list: &[f32]| list.iter().copied().map(f64::from).collect::<Vec<_>>();
    let nodes: Vec<_> = scene.nodes().iter().collect();
    let part = |node: &kiln_format::hscn::SceneNode| {
        let at = &node.transform;
        [
            wide(&at.translation),
            wide(&at.rotation),
            wide(&at.scale),
            scene.weights(node).iter().map(f64::from).collect(),
        ]
    };
    let mut parts: Vec<[Vec<f64>; 4]> = nodes.iter().map(part).collect();
    if let Some((clip, time)) = moment {
        for channel in scene.channels(&scene.clips().get(clip).unwrap()) {
            parts[channel.node as usize][usize::from(channel.path)] = sample(scene, &channel, time);
        }
    }
    let mut worlds: Vec<Mat> = Vec::new();
    for (node, [t, r, s, _]) in nodes.iter().zip(&parts) {
        let local = match scene.matrix(node) {
            Some(m) => [0, 1, 2, 3].map(|c| [0, 1, 2, 3].map(|r| f64::from(m[4 * c + r]))),
            None => trs(t, r, s),
        };
        worlds.push(if node.parent == NONE { local } else { mul(&worlds[node.parent as usize], &local) });
    }
    (worlds, parts.into_iter().map(|[.., weights]| weights).collect())
}

#[test]
fn nodes_cameras_and_lights_are_those_of_the_source() {
    let compiled = Compiled::with(&stage(), SETTINGS);
    assert_eq!(compiled.codes(), ["gltf-matrix-shear"], "{:?}", compiled.warnings);
    let bytes = compiled.project.out("models/Chair.hscn");
    let scene = HscnView::read(&bytes).unwrap();
    let info = scene.info();
    assert_eq!((scene.text(info.name), scene.text(info.document_extras)), ("Main", "\"all\""));
    assert_eq!(serde_json::from_str::<Value>(scene.text(info.extras)).unwrap(), json!([1, "ä"]));
    let nodes: Vec<_> = scene.nodes().iter().collect();
    let rows: Vec<_> = nodes.iter().map(|n| (scene.text(n.name), n.parent, n.mesh, n.flags)).collect();
    // Depth first from the roots, then the other nodes.
    let wanted = [
        ("copies", -1, 0, 1),
        ("arm", -1, -1, 1),
        ("face", 1, 0, 1),
        ("lamp", 1, -1, 1),
        ("eye", -1, -1, 1),
        ("not drawn", -1, -1, 0),
    ];
    assert_eq!(rows, wanted);
    assert_eq!(scene.text(nodes[2].extras), r#"{"id":7}"#);
    assert_eq!((nodes[0].first_submesh, nodes[0].submesh_count), (0, 1));
    assert_eq!((nodes[2].first_submesh, nodes[2].submesh_count), (0, 1), "both draw the same mesh");
    let places: Vec<_> = scene.instances(&nodes[0]).iter().map(|at| at.translation).collect();
    assert_eq!(places, [[0.0; 3], [10.0, 0.0, 0.0]]);
    assert_eq!(scene.weights(&nodes[0]).iter().collect::<Vec<_>>(), [0.25, 0.5], "those of the mesh");
    assert_eq!(scene.weights(&nodes[2]).iter().collect::<Vec<_>>(), [0.5, 0.75]);
    let mesh = scene.meshes().get(0).unwrap();
    assert_eq!(scene.text(mesh.name), "Face");
    assert!(scene.text(mesh.extras).contains("\"kind\""), "{}", scene.text(mesh.extras));
    assert!(scene.matrix(&nodes[3]).is_some_and(|m| m[4] == 0.5 && m[14] == 6.0));

    let eye = scene.camera(&nodes[4]).unwrap();
    assert_eq!((scene.text(eye.name), eye.kind), ("main", 0));
    assert_eq!([eye.x, eye.y, eye.z_near, eye.z_far], [0.0, 0.75, 0.5, 100.0]);
    let other = scene.camera(&nodes[5]).unwrap();
    assert_eq!([other.x, other.y, other.z_near, other.z_far], [2.0, 3.0, 0.0, 9.0]);
    assert_eq!((scene.lights().len(), scene.lights().get(0).unwrap().intensity), (2, 3.0));
    let bulb = scene.light(&nodes[3]).unwrap();
    assert_eq!((scene.text(bulb.name), scene.text(bulb.extras), bulb.kind), ("bulb", "true", 2));
    assert_eq!((bulb.color, bulb.intensity, bulb.range), ([1.0, 0.5, 0.25], 1.0, 8.0));
    assert_eq!([bulb.inner_cone_angle, bulb.outer_cone_angle], [0.25, 0.5]);
}

#[test]
fn nodes_and_weights_move_as_in_the_source() {
    let model = stage();
    let compiled = Compiled::with(&model, SETTINGS);
    let bytes = compiled.project.out("models/Chair.hscn");
    let scene = HscnView::read(&bytes).unwrap();
    let clips: Vec<_> = scene.clips().iter().map(|clip| (scene.text(clip.name), clip.duration)).collect();
    assert_eq!(clips, [("wave", 2.0), ("", 1.0)]);
    let channels: Vec<_> = scene.all_channels().iter().collect();
    assert_eq!(channels[0].first_time, channels[1].first_time, "times of one accessor are stored once");
    let source = Source(&model);
    let moments = (0..=24).flat_map(|step| [0, 1].map(|clip| Some((clip, f64::from(step) * 0.1))));
    for moment in moments.chain([None]) {
        let (worlds, weights) = pose(&scene, moment);
        let at = moment.map(|(clip, time)| (clip, time, Splines::Follow));
        let (expected, moved) = (source.worlds(at), source.overrides(at));
        for (index, node) in scene.nodes().iter().enumerate() {
            let original = NAMES.iter().position(|name| *name == scene.text(node.name)).unwrap();
            for (found, wanted) in worlds[index].as_flattened().iter().zip(expected[original].as_flattened())
            {
                assert!((found - wanted).abs() < 1e-5, "{moment:?} {}: {found} {wanted}", NAMES[original]);
            }
            let stated = match original {
                0 => vec![0.5, 0.75],
                5 => vec![0.25, 0.5],
                _ => vec![],
            };
            let wanted = moved.get(&(original, "weights".to_owned())).cloned().unwrap_or(stated);
            assert_eq!(weights[index].len(), wanted.len());
            for (found, wanted) in weights[index].iter().zip(&wanted) {
                assert!((found - wanted).abs() < 1e-6, "{moment:?} {}: {found} {wanted}", NAMES[original]);
            }
        }
    }
}

#[test]
fn default_outputs_do_not_depend_on_scene_data() {
    let model = stage();
    let (plain, with) = (Compiled::new(&model), Compiled::with(&model, "mesh: {scene_data: true}"));
    assert_eq!(plain.bytes(), with.bytes());
    assert_eq!(plain.project.outputs(), ["assets.hman", "models/Chair.hmesh"]);
    assert_eq!(with.project.outputs(), ["assets.hman", "models/Chair.hmesh", "models/Chair.hscn"]);
    // Vertices in world space cannot follow the nodes.
    assert_eq!(with.codes(), ["gltf-matrix-shear", "animation-not-joint"], "{:?}", with.warnings);
    let bytes = with.project.out("models/Chair.hscn");
    assert!(HscnView::read(&bytes).unwrap().nodes().iter().all(|node| node.submesh_count == 0));
}

#[test]
fn scene_without_triangles_is_written_alone() {
    let mut model = Model::new();
    model.json["nodes"] = json!([{"name": "empty", "translation": [1, 2, 3]}]);
    model.json["scenes"] = json!([{"nodes": [0]}]);
    let project = Project::with(&[("models/Chair.glb", &model.glb())]);
    project.set("mesh: {scene_data: true}");
    project.built();
    assert_eq!(project.outputs(), ["assets.hman", "models/Chair.hscn"]);
    let bytes = project.out("models/Chair.hscn");
    let scene = HscnView::read(&bytes).unwrap();
    assert_eq!(scene.nodes().get(0).unwrap().transform.translation, [1.0, 2.0, 3.0]);
}

/// A material with every extension, and one without any.
fn coated() -> Model {
    let mut model = Model::new();
    model.json["samplers"] = json!([{"magFilter": 9728, "minFilter": 9985, "wrapS": 33071, "wrapT": 33648}]);
    for seed in 0..3 {
        let source = image(&mut model, &png(4, seed));
        model.push("textures", json!({"source": source, "sampler": 0}));
    }
    let transform = json!({"KHR_texture_transform": {"offset": [0.5, 0.25], "scale": [2.0, 4.0]}});
    model.push(
        "materials",
        json!({
            "name": "coat", "extras": {"layer": 2},
            "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}},
            "emissiveFactor": [0.5, 0.5, 0.5],
            "extensions": {
                "KHR_materials_clearcoat": {"clearcoatFactor": 0.75, "clearcoatTexture": {"index": 1, "extensions": transform},
                                            "clearcoatRoughnessFactor": 0.25},
                "KHR_materials_sheen": {"sheenColorFactor": [0.1, 0.2, 0.3], "sheenColorTexture": {"index": 2}},
                "KHR_materials_transmission": {"transmissionFactor": 0.5},
                "KHR_materials_volume": {"thicknessFactor": 0.125, "attenuationDistance": 4.0, "attenuationColor": [0.9, 0.8, 0.7]},
                "KHR_materials_specular": {"specularFactor": 0.5, "specularColorFactor": [1.0, 0.5, 0.25]},
                "KHR_materials_ior": {"ior": 1.25},
                "KHR_materials_iridescence": {"iridescenceFactor": 1.0, "iridescenceIor": 1.75, "iridescenceThicknessMaximum": 500.0},
                "KHR_materials_anisotropy": {"anisotropyStrength": 0.5, "anisotropyRotation": 1.0},
                "KHR_materials_emissive_strength": {"emissiveStrength": 5.0},
                "KHR_materials_dispersion": {"dispersion": 0.1},
            },
        }),
    );
    model.push("materials", json!({"extensions": {"KHR_materials_unlit": {}}}));
    let used: Vec<String> =
        model.json["materials"][0]["extensions"].as_object().unwrap().keys().cloned().collect();
    let others = ["KHR_materials_unlit", "KHR_texture_transform"].map(str::to_owned);
    model.json["extensionsUsed"] = json!(used.into_iter().chain(others).collect::<Vec<_>>());
    let mut primitives = Vec::new();
    for material in 0..2 {
        let mut primitive = quad(&mut model);
        primitive["material"] = json!(material);
        primitives.push(primitive);
    }
    model.mesh(json!(primitives));
    model
}

#[test]
fn material_extensions_are_those_of_the_source() {
    let compiled = Compiled::with(&coated(), "mesh: {scene_data: true}");
    assert!(compiled.warnings.is_empty(), "{:?}", compiled.warnings);
    let bytes = compiled.project.out("models/Chair.hmatx");
    let table = HmatxView::read(&bytes).unwrap();
    let [coat, unlit] = [0, 1].map(|row| table.rows().get(row).unwrap());
    assert_eq!((table.rows().len(), table.text(coat.name)), (2, "coat"));
    assert_eq!(table.text(coat.extras), r#"{"layer":2}"#);
    assert_eq!((coat.flags, unlit.flags), (255 - hmatx::UNLIT, hmatx::UNLIT));
    assert_eq!(
        unlit,
        hmatx::MaterialExtension {
            flags: hmatx::UNLIT,
            first_texture: coat.texture_count,
            ..Default::default()
        }
    );
    assert_eq!(
        [coat.clearcoat_factor, coat.clearcoat_roughness_factor, coat.clearcoat_normal_scale],
        [0.75, 0.25, 1.0]
    );
    assert_eq!((coat.sheen_color_factor, coat.sheen_roughness_factor), ([0.1, 0.2, 0.3], 0.0));
    assert_eq!(
        [coat.transmission_factor, coat.thickness_factor, coat.attenuation_distance],
        [0.5, 0.125, 4.0]
    );
    assert_eq!((coat.attenuation_color, coat.ior, coat.dispersion), ([0.9, 0.8, 0.7], 1.25, 0.1));
    assert_eq!((coat.specular_factor, coat.specular_color_factor), (0.5, [1.0, 0.5, 0.25]));
    assert_eq!([coat.iridescence_factor, coat.iridescence_ior], [1.0, 1.75]);
    assert_eq!([coat.iridescence_thickness_minimum, coat.iridescence_thickness_maximum], [100.0, 500.0]);
    assert_eq!([coat.anisotropy_strength, coat.anisotropy_rotation, coat.emissive_strength], [0.5, 1.0, 5.0]);

    let slots: Vec<u8> = table.textures(&coat).iter().map(|texture| texture.slot).collect();
    assert_eq!(
        slots,
        [TextureSlot::BaseColor, TextureSlot::Clearcoat, TextureSlot::SheenColor].map(|slot| slot as u8)
    );
    let texture = table.texture(&coat, TextureSlot::Clearcoat).unwrap();
    assert_eq!(texture.texture, refs::hash_asset_ref("models/Chair/tex_1"));
    assert_eq!(texture.transform, [2.0, 0.0, 0.5, 0.0, 4.0, 0.25]);
    let modes = [texture.mag_filter, texture.min_filter, texture.mip_filter, texture.wrap_u, texture.wrap_v];
    assert_eq!(modes, [1, 0, 1, 2, 1], "nearest; linear with the nearest mip level; clamped, mirrored");
    let base = table.texture(&coat, TextureSlot::BaseColor).unwrap();
    assert_eq!(base.transform, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let rows = compiled.project.out("models/Chair.hmat");
    assert_eq!(base.texture, HmatView::read(&rows).unwrap().materials().get(0).unwrap().base_color_tex);
    let outputs = compiled.project.outputs();
    for texture in ["models/Chair/tex_0.ktx2", "models/Chair/tex_1.ktx2", "models/Chair/tex_2.ktx2"] {
        assert!(outputs.iter().any(|output| output == texture), "{outputs:?}");
    }
    // Without scene data, there are no textures of extensions, and the others are the same.
    let plain = Compiled::new(&coated());
    assert_eq!(plain.project.out("models/Chair.hmat"), rows);
    assert_eq!(plain.project.out("models/Chair/tex_0.ktx2"), compiled.project.out("models/Chair/tex_0.ktx2"));
    assert!(plain.project.outputs().iter().all(|output| !output.ends_with("tex_1.ktx2")));
}
