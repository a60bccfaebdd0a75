//! Baked meshes: node selection, transforms, vertex attributes, LODs, shadow geometry, skins.

use crate::project::{Model, Project, attribute, positions, triangles};
use pak::Pak;
use pak::mesh::{Mesh, Role, VertexType};
use serde_json::json;

fn bake(model: Model, fields: &str) -> Mesh {
    let project = Project::new();
    model.write(&project, "art/m.gltf");
    project.put("art/m.toml", format!("[mesh]\n{fields}\n"));
    project.content("none", "['art/m.toml']");
    project.open().read_mesh("art/m").unwrap()
}

fn close(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5)
}

/// Returns the unnormalized geometric normal of each triangle.
fn facing(primitive: &pak::mesh::Primitive) -> Vec<[f32; 3]> {
    let places = positions(primitive);
    let indices = primitive.lods()[0].as_u32();
    let face = |[a, b, c]: &[u32; 3]| {
        let at = |i: &u32| &places[*i as usize];
        let side = |p: &[f32], q: &[f32]| [q[0] - p[0], q[1] - p[1], q[2] - p[2]];
        let (u, v) = (side(at(a), at(b)), side(at(a), at(c)));
        [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
    };
    indices.as_chunks::<3>().0.iter().map(face).collect()
}

#[test]
fn bakes_all_nodes_with_their_world_transform() {
    let mut model = Model::new();
    let mesh = model.triangle("m");
    let parent = model.node(json!({"translation": [100, 0, 0]}), None);
    model.node(json!({"mesh": mesh, "translation": [0, 5, 0], "name": "child"}), Some(parent));
    model.node(json!({"mesh": mesh, "name": "other"}), None);
    let mesh = bake(model, "");
    assert_eq!(mesh.primitives().len(), 2);
    let first = positions(&mesh.primitives()[0]);
    assert!(first.iter().any(|p| close(p, &[101.0, 5.0, 0.0])), "{first:?}");
    assert_eq!((mesh.bounds().min, mesh.bounds().max), ([0.0, 0.0, 0.0], [101.0, 6.0, 0.0]));
}

#[test]
fn name_selects_a_mesh_or_a_node_with_descendants() {
    let model = || {
        let mut model = Model::new();
        let (a, b) = (model.triangle("A"), model.grid("B", 2));
        let parent = model.node(json!({"name": "group", "mesh": a, "translation": [1, 0, 0]}), None);
        model.node(json!({"name": "leaf", "mesh": b}), Some(parent));
        model.node(json!({"name": "again", "mesh": a, "translation": [9, 0, 0]}), None);
        model
    };
    let named = bake(model(), "name = 'A'");
    assert_eq!(named.primitives().len(), 1);
    assert_eq!(named.bounds().min, [1.0, 0.0, 0.0], "the first node with this mesh");
    let group = bake(model(), "name = 'group'");
    assert_eq!(group.primitives().len(), 2);
    let leaf = bake(model(), "name = 'leaf'");
    assert_eq!(leaf.primitives()[0].lods()[0].triangle_count(), 8);
    let project = Project::new();
    model().write(&project, "art/m.gltf");
    project.put("art/m.toml", "[mesh]\nname = 'grup'\n");
    assert!(project.error().contains("did you mean \"group\"?"), "{}", project.error());
}

#[test]
fn selects_scene_by_name() {
    let mut model = Model::new();
    let (a, b) = (model.triangle("A"), model.grid("B", 1));
    let first = model.node(json!({"mesh": a}), None);
    let second = model.node(json!({"mesh": b}), None);
    model.json["scenes"] = json!([{"name": "one", "nodes": [first]}, {"name": "two", "nodes": [second]}]);
    let json = model.json.clone();
    assert_eq!(bake(model, "scene-name = 'two'").primitives()[0].lods()[0].triangle_count(), 2);
    let project = Project::new();
    let mut model = Model::new();
    model.triangle("A");
    model.grid("B", 1);
    model.json = json;
    model.write(&project, "art/m.gltf");
    project.put("art/m.toml", "[mesh]\nscene-name = 'three'\n");
    assert!(project.error().contains("\"three\""), "{}", project.error());
}

#[test]
fn transform_rotates_normals_and_tangents_and_keeps_winding() {
    let tangent_at = 12 + 12 + 8;
    for (fields, corner, normal, tangent) in [
        ("rotation = [0, 90, 0]", [0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]),
        ("flip-x = true", [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]),
        ("flip-z = true", [1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]),
        ("scale = [2, 3, 4]\noffset = [1, 1, 1]", [3.0, 1.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]),
        ("scale = -2", [-2.0, 0.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]),
        ("rotation = [90, 0, 0]\neuler = 'zyx'", [1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]),
    ] {
        let mut model = Model::new();
        let mesh = model.triangle("m");
        model.node(json!({"mesh": mesh}), None);
        let mesh = bake(model, fields);
        let part = &mesh.primitives()[0];
        assert!(part.vertex_type().contains(VertexType::TANGENT | VertexType::NORMAL | VertexType::TEXTURE0));
        let places = positions(part);
        // The corner at (1, 0, 0) is the one with u = 1 and v = 1.
        let uv = attribute(part, 24, 2);
        let at = uv.iter().position(|uv| close(uv, &[1.0, 1.0])).unwrap();
        assert!(close(&places[at], &corner), "{fields}: {places:?}");
        for found in attribute(part, 12, 3) {
            assert!(close(&found, &normal), "{fields}: {found:?}");
        }
        for found in attribute(part, tangent_at, 4) {
            assert!(close(&found[..3], &tangent), "{fields}: {found:?}");
            assert!(found[3].abs() == 1.0);
        }
        for face in facing(part) {
            let dot: f32 = face.iter().zip(normal).map(|(a, b)| a * b).sum();
            assert!(dot > 0.0, "{fields}: its face looks away from its normal");
        }
    }
}

#[test]
fn keeps_and_rotates_source_tangents() {
    // Different from the tangents that the UVs would give, which run along x.
    for (fields, expected) in [("", [0.0, 1.0, 0.0, -1.0]), ("rotation = [0, 0, 90]", [-1.0, 0.0, 0.0, -1.0])]
    {
        let mut model = Model::new();
        let mesh = model.triangle("m");
        let tangents = model.floats("VEC4", &[0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0]);
        model.json["meshes"][0]["primitives"][0]["attributes"]["TANGENT"] = json!(tangents);
        model.node(json!({"mesh": mesh}), None);
        let mesh = bake(model, fields);
        for found in attribute(&mesh.primitives()[0], 32, 4) {
            assert!(close(&found, &expected), "{fields}: {found:?}");
        }
    }
}

#[test]
fn splits_vertices_on_mirrored_uv_seams() {
    // Two quads that share an edge, with mirrored UVs.
    let mut model = Model::new();
    let places = [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0];
    let position = model.floats("VEC3", &places);
    let normal = model.floats("VEC3", &[0.0, 0.0, 1.0].repeat(6));
    let uv = model.floats("VEC2", &[1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let indices = model.ints(&[0, 1, 4, 0, 4, 3, 1, 2, 5, 1, 5, 4]);
    let attributes = json!({"POSITION": position, "NORMAL": normal, "TEXCOORD_0": uv});
    let mesh = model.mesh("m", json!({"attributes": attributes, "indices": indices}));
    model.node(json!({"mesh": mesh}), None);
    let mesh = bake(model, "");
    let part = &mesh.primitives()[0];
    assert_eq!((part.vertex_count(), part.lods()[0].triangle_count()), (8, 4));
    let (places, tangents) = (positions(part), attribute(part, 32, 4));
    for triangle in part.lods()[0].as_u32().as_chunks::<3>().0 {
        let middle: f32 = triangle.iter().map(|&at| places[at as usize][0]).sum();
        for &at in triangle {
            assert!(close(&tangents[at as usize][..3], &[middle.signum(), 0.0, 0.0]), "{tangents:?}");
        }
    }
}

#[test]
fn reports_unsupported_mesh_content() {
    let project = Project::new();
    let mut model = Model::new();
    let mesh = model.triangle("m");
    let (colors, moved) = (model.floats("VEC4", &[1.0; 12]), model.floats("VEC3", &[1.0; 9]));
    let primitive = &mut model.json["meshes"][0]["primitives"][0];
    primitive["attributes"]["COLOR_0"] = json!(colors);
    primitive["targets"] = json!([{"POSITION": moved}]);
    model.node(json!({"mesh": mesh}), None);
    let (times, weights) = (model.floats("SCALAR", &[0.0]), model.floats("SCALAR", &[1.0]));
    model.json["animations"] = json!([{"channels": [{"sampler": 0, "target": {"node": 0, "path": "weights"}}],
        "samplers": [{"input": times, "output": weights}]}]);
    model.write(&project, "art/m.gltf");
    project.put("art/w.toml", "[animation]\nsrc = 'm.gltf'\n");
    project.content("none", "['art/*.gltf', 'art/*.toml']");
    for _ in 0..2 {
        let warnings: Vec<String> =
            project.bake().unwrap().warnings.iter().map(ToString::to_string).collect();
        let named =
            |lost: &str| warnings.iter().any(|line| line.contains(lost) && line.contains("art/m.gltf"));
        assert!(named("animated morph weights"), "{warnings:?}");
        assert!(!named("COLOR_0"), "vertex colors are stored: {warnings:?}");
    }
}

#[test]
fn normals_stay_perpendicular_under_non_uniform_scale() {
    // A slope along x + y = 1, scaled by 0.5 in x.
    let mut model = Model::new();
    let position = model.floats("VEC3", &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let normal = model.floats("VEC3", &[half, half, 0.0, half, half, 0.0, half, half, 0.0]);
    let mesh = model.mesh("m", json!({"attributes": {"POSITION": position, "NORMAL": normal}}));
    model.node(json!({"mesh": mesh, "scale": [0.5, 1, 1]}), None);
    let mesh = bake(model, "");
    let part = &mesh.primitives()[0];
    let expected = [2.0 / 5f32.sqrt(), 1.0 / 5f32.sqrt(), 0.0];
    for found in attribute(part, 12, 3) {
        assert!(close(&found, &expected), "{found:?}");
    }
    assert!(!part.vertex_type().contains(VertexType::TANGENT), "there is no texture to follow");
}

#[test]
fn shadow_geometry_has_the_same_triangles_and_its_own_role() {
    let mut model = Model::new();
    let mesh = model.grid("m", 16);
    model.node(json!({"mesh": mesh}), None);
    for fields in ["shadow = true\nlod = true", "shadow = true\noptimize = false"] {
        let mut model = Model::new();
        let mesh = model.grid("m", 16);
        model.node(json!({"mesh": mesh}), None);
        let mesh = bake(model, fields);
        let [main, shadow] = mesh.primitives() else { panic!() };
        assert_eq!((main.role(), shadow.role()), (Role::Main, Role::Shadow));
        assert_eq!(shadow.vertex_type(), VertexType::POSITION);
        assert_eq!(main.lods().len(), shadow.lods().len());
        for lod in 0..main.lods().len() {
            assert_eq!(triangles(main, lod), triangles(shadow, lod), "{fields} {lod}");
        }
        assert_eq!(triangles(main, 0).len(), 512);
    }
}

#[test]
fn lods_halve_within_their_error_and_stop_at_the_minimum() {
    for fields in [
        "lod = true\nlod-target-error = 1",
        "lod = true\nlod-target-error = 5.0\nlod-lock-border = true",
        "lod = true\nlod-lock-border = true\nmin-lod-triangles = 1\nlod-target-error = 1e30",
        "lod = true\nmin-lod-triangles = 500",
    ] {
        let mut model = Model::new();
        let mesh = model.grid("m", 64);
        model.node(json!({"mesh": mesh}), None);
        let mesh = bake(model, fields);
        let part = &mesh.primitives()[0];
        let counts: Vec<usize> = part.lods().iter().map(|lod| lod.triangle_count()).collect();
        assert_eq!(counts[0], 8192);
        assert!(counts.len() > 2, "{fields}: {counts:?}");
        for pair in counts.windows(2) {
            assert!(pair[1] < pair[0], "{fields}: {counts:?}");
        }
        // With an unlocked border, each LOD halves the triangles (not a sixth) until simplification stalls.
        if !fields.contains("border") {
            assert!((counts[1] as f64 / 4096.0 - 1.0).abs() < 0.1, "{counts:?}");
            assert!((counts[2] as f64 / 2048.0 - 1.0).abs() < 0.1, "{counts:?}");
        }
        assert!(part.lod_errors().windows(2).all(|pair| pair[0] <= pair[1]));
        // The target error is relative to the mesh extent, which is 10; the default is 0.05.
        let allowed = if fields.contains("error") { f32::INFINITY } else { 0.5 };
        assert!(part.lod_errors().iter().all(|error| *error <= allowed), "{fields}: {:?}", part.lod_errors());
    }
}

#[test]
fn splits_meshes_to_respect_max_index() {
    let mut model = Model::new();
    let mesh = model.grid("m", 40);
    model.node(json!({"mesh": mesh}), None);
    let mesh = bake(model, "max-index = 'u8'");
    assert!(mesh.primitives()[0].vertex_count() <= 256 && mesh.primitives()[0].vertex_count() > 128);
    assert!(mesh.primitives()[0].lods()[0].as_u8().is_some());
}

/// A cone of `sides` triangles around one vertex.
fn cone(sides: u32) -> Model {
    let mut model = Model::new();
    let turn = |side: u32| side as f32 / sides as f32 * std::f32::consts::TAU;
    let mut places = vec![0.0, 0.0, 1.0];
    places.extend((0..sides).flat_map(|side| [libm::cosf(turn(side)), libm::sinf(turn(side)), 0.0]));
    let normals: Vec<f32> = (0..=sides).flat_map(|_| [0.0, 0.0, 1.0]).collect();
    let (places, normals) = (model.floats("VEC3", &places), model.floats("VEC3", &normals));
    let rim = |side: u32| 1 + side % sides;
    let indices: Vec<u32> = (0..sides).flat_map(|side| [0, rim(side), rim(side + 1)]).collect();
    let indices = model.ints(&indices);
    let attributes = json!({"POSITION": places, "NORMAL": normals});
    let mesh = model.mesh("m", json!({"attributes": attributes, "indices": indices}));
    model.node(json!({"mesh": mesh}), None);
    model
}

#[test]
fn splits_high_valence_vertices() {
    for fields in ["", "optimize = false", "meshlets = true\nlod = true\nshadow = true"] {
        let mesh = bake(cone(3000), fields);
        let part = &mesh.primitives()[0];
        assert_eq!(part.vertex_count(), 3001 + 2, "{fields}");
        let mut corners = vec![0; part.vertex_count()];
        part.lods()[0].as_u32().iter().for_each(|&index| corners[index as usize] += 1);
        assert_eq!(corners.iter().max(), Some(&1024), "{fields}");
        // Position-only shadow geometry merges the copies.
        let shadow = mesh.primitives().iter().find(|part| part.role() == Role::Shadow);
        assert!(shadow.is_none_or(|shadow| shadow.vertex_count() == 3001), "{fields}");
    }
    // The copies count towards max-index.
    let narrow = bake(cone(3000), "max-index = 2999");
    assert!(narrow.primitives()[0].vertex_count() <= 3000);
}

#[test]
fn rescales_or_rejects_coordinates_whose_squares_overflow() {
    // Meshlets and LODs equal those of the unscaled mesh.
    let baked = |scale: &str| {
        let mut model = Model::new();
        let mesh = model.grid("m", 32);
        model.node(json!({"mesh": mesh}), None);
        bake(model, &format!("scale = {scale}\nmeshlets = true\nlod = true"))
    };
    let (plain, large) = (baked("1"), baked("1.298074214633707e33"));
    let counts = |mesh: &Mesh| {
        let part = &mesh.primitives()[0];
        let levels: Vec<_> = part.lods().iter().map(|lod| lod.as_u32().to_vec()).collect();
        let meshlets: Vec<_> = part.meshlets().iter().map(|m| m.triangles.len()).collect();
        (levels, meshlets)
    };
    assert_eq!(counts(&plain), counts(&large));
    // Beyond 1e37 the radius overflows.
    let project = Project::new();
    cone(8).write(&project, "art/m.gltf");
    project.put("art/m.toml", "[mesh]\nscale = 2e37\n");
    project.content("none", "['art/m.toml']");
    let error = project.error();
    assert!(error.contains("pak-mesh") && error.contains("smaller scale"), "{error}");
}

#[test]
fn omits_attributes_and_generates_meshlets() {
    let model = || {
        let mut model = Model::new();
        let mesh = model.grid("m", 20);
        model.node(json!({"mesh": mesh}), None);
        model
    };
    let bare = bake(model(), "normals = false\ntangents = false");
    assert_eq!(bare.primitives()[0].vertex_type(), VertexType::TEXTURE0);
    let without = bake(model(), "tangents = false");
    assert_eq!(without.primitives()[0].vertex_type(), VertexType::TEXTURE0 | VertexType::NORMAL);
    let clustered = bake(model(), "meshlets = true");
    let part = &clustered.primitives()[0];
    let in_meshlets: usize = part.meshlets().iter().map(|m| m.triangles.len()).sum();
    assert_eq!(in_meshlets, 800);
    assert!(bare.primitives()[0].meshlets().is_empty());
}

#[test]
fn keeps_second_uv_set() {
    let mut model = Model::new();
    let mesh = model.triangle("m");
    let uv1 = model.floats("VEC2", &[0.25, 0.5, 0.5, 0.5, 0.75, 0.5]);
    model.json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_1"] = json!(uv1);
    model.node(json!({"mesh": mesh}), None);
    let mesh = bake(model, "tangents = false\noptimize = false");
    let part = &mesh.primitives()[0];
    assert!(part.vertex_type().contains(VertexType::TEXTURE1));
    assert_eq!(attribute(part, 32, 2), [[0.25, 0.5], [0.5, 0.5], [0.75, 0.5]]);
}

/// Returns a triangle bound to the last joint of a chain of `count` joints, on a node with a transform.
fn skinned(count: usize) -> Model {
    let mut model = Model::new();
    let mesh = model.triangle("m");
    let last = count as u16 - 1;
    let joints = model.shorts("VEC4", 3, &[last, 0, 0, 0, last, 0, 0, 0, last, 0, 0, 0]);
    let weights = model.floats("VEC4", &[0.7, 0.3, 0.0, 0.0, 0.5, 0.25, 0.25, 0.0, 2.0, 1.0, 0.0, 0.0]);
    let attributes = &mut model.json["meshes"][0]["primitives"][0]["attributes"];
    attributes["JOINTS_0"] = json!(joints);
    attributes["WEIGHTS_0"] = json!(weights);
    let identity = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let binds: Vec<f32> = (0..count).flat_map(|_| identity).collect();
    let binds = model.floats("MAT4", &binds);
    model.node(json!({"mesh": mesh, "skin": 0, "translation": [50, 0, 0]}), None);
    let mut parent = None;
    let mut ids = Vec::new();
    for n in 0..count {
        let name = if n == 0 { json!({"name": "root"}) } else { json!({}) };
        parent = Some(model.node(name, parent));
        ids.push(parent.unwrap());
    }
    model.json["skins"] = json!([{"joints": ids, "inverseBindMatrices": binds}]);
    model
}

#[test]
fn skins_keep_unnamed_joints_and_ignore_node_transform() {
    let mesh = bake(skinned(3), "");
    let part = &mesh.primitives()[0];
    let skin = mesh.skin().unwrap();
    let names: Vec<_> = skin.joints().iter().map(|j| (j.name.as_str(), j.parent_index)).collect();
    assert_eq!(names, [("root", 0), ("node 2", 0), ("node 3", 1)]);
    assert_eq!(mesh.bounds().max, [1.0, 1.0, 0.0], "glTF ignores the node transform of a skinned mesh");
    let stride = part.vertex_type().stride();
    for vertex in part.vertex_data().chunks_exact(stride) {
        let weights = &vertex[stride - 4..];
        assert_eq!(weights.iter().map(|w| u32::from(*w)).sum::<u32>(), 255, "{weights:?}");
        assert!(vertex[stride - 8..stride - 4].contains(&2));
    }
    assert!(bake(skinned(3), "ignore-skin = true").skin().is_none());
    assert_eq!(bake(skinned(3), "ignore-skin = true").bounds().max, [51.0, 1.0, 0.0]);
}

#[test]
fn more_than_256_joints_use_16_bit_indices() {
    let mesh = bake(skinned(300), "shadow = true");
    assert_eq!(mesh.skin().unwrap().joints().len(), 300);
    for part in mesh.primitives() {
        assert!(part.vertex_type().contains(VertexType::JOINTS16_WEIGHTS));
        let stride = part.vertex_type().stride();
        for vertex in part.vertex_data().chunks_exact(stride) {
            let joints = vertex[stride - 12..stride - 4].as_chunks::<2>().0;
            assert!(joints.iter().any(|b| u16::from_le_bytes(*b) == 299));
        }
    }
}

#[test]
fn supports_more_than_256_materials() {
    let mut model = Model::new();
    let position = model.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let primitive = |n: usize| json!({"attributes": {"POSITION": position}, "material": n});
    model.json["materials"] = json!((0..300).map(|n| json!({"name": format!("m{n}")})).collect::<Vec<_>>());
    model.json["meshes"] = json!([{"primitives": (0..300).map(primitive).collect::<Vec<_>>()}]);
    model.node(json!({"mesh": 0}), None);
    let mesh = bake(model, "");
    assert_eq!(mesh.primitives()[299].material(), 299);
    assert_eq!(mesh.materials()[299], "m299");
}

#[test]
fn mesh_data_refers_to_a_blob() {
    let project = Project::new();
    let mut model = Model::new();
    let mesh = model.triangle("m");
    model.node(json!({"mesh": mesh}), None);
    model.write(&project, "art/m.gltf");
    project.put("art/extra.dat", "physics");
    project.put("art/m.toml", "[mesh]\ndata = 'extra.dat'\n");
    project.content("none", "['art/m.toml']");
    let pak = project.open();
    let data = pak.read_mesh("art/m").unwrap().data().unwrap();
    assert_eq!(*pak.read_blob_id(data).unwrap(), *b"physics");
    assert_eq!(pak.blob_id("art/extra.dat"), Some(data));
}

#[test]
fn missing_texture_does_not_fail_a_mesh() {
    let mut model = Model::new();
    let mesh = model.triangle("m");
    model.json["meshes"][0]["primitives"][0]["material"] = json!(0);
    model.json["materials"] = json!([{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]);
    model.json["textures"] = json!([{"source": 0}]);
    model.json["images"] = json!([{"uri": "gone.png"}]);
    model.node(json!({"mesh": mesh}), None);
    assert_eq!(bake(model, "").primitives().len(), 1);
}
