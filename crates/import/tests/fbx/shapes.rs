//! Meshes and node transforms.

use crate::text::{SQUARE, Text, axes, by_corner, square};
use crate::{codes, good, import, near};
use kiln_ir::{NodeId, Scene, Valid};

/// The corners of all triangles that are drawn, in the world.
fn corners(scene: &Valid<Scene>) -> Vec<[f32; 3]> {
    let mut found = Vec::new();
    for draw in scene.draws() {
        for part in &scene.meshes[draw.mesh.0 as usize].primitives {
            found.extend(part.indices.iter().map(|&index| draw.world.point(part.positions[index as usize])));
        }
    }
    found
}

fn corner_of(bytes: &[u8], index: usize, wanted: [f32; 3]) {
    let found = good(bytes).value;
    let part = &found.meshes[0].primitives[0];
    let world = found.draws().next().unwrap().world;
    near(&world.point(part.positions[index]), &wanted, 1e-5);
}

#[test]
fn square_becomes_two_triangles_in_metres() {
    let found = good(&square("", &[]).bytes());
    assert_eq!(codes(&found), Vec::<&str>::new());
    let scene = found.value;
    assert_eq!((scene.nodes.len(), scene.roots.clone()), (1, vec![NodeId(0)]));
    assert_eq!((scene.nodes[0].name.as_str(), scene.meshes[0].name.as_str()), ("square", "shape"));
    let part = &scene.meshes[0].primitives[0];
    assert_eq!(part.triangles(), 2);
    assert_eq!(part.positions, [[-0.5, -0.5, 0.0], [0.5, -0.5, 0.0], [0.5, 0.5, 0.0], [-0.5, 0.5, 0.0]]);
    // Smooth where nothing is said, and turned as it was.
    part.normals.iter().for_each(|normal| near(normal, &[0.0, 0.0, 1.0], 1e-6));
    assert!(scene.nodes[0].transform.trs().scale == [1.0; 3], "the unit is in the vertices");
}

#[test]
fn triangulates_concave_polygons() {
    // The letter L, whose first corner does not see the last.
    let outline = [[0.0, 0.0], [200.0, 0.0], [200.0, 100.0], [100.0, 100.0], [100.0, 300.0], [0.0, 300.0]];
    let positions = outline.map(|[x, y]| [x, y, 0.0]);
    let faces: &[&[i32]] = &[&[3, 4, 5, 0, 1, 2]];
    let text = Text::new().mesh(1, &positions, faces, "").node(2, "l", "Mesh", &[]).link(1, 2).link(2, 0);
    let found = corners(&good(&text.bytes()).value);
    assert_eq!(found.len(), 4 * 3);
    let area: f32 = found
        .chunks_exact(3)
        .map(|t| (t[1][0] - t[0][0]) * (t[2][1] - t[0][1]) - (t[1][1] - t[0][1]) * (t[2][0] - t[0][0]))
        .inspect(|area| assert!(*area > 0.0, "each turns as the whole does"))
        .sum();
    near(&[area / 2.0], &[4.0], 1e-5);
}

#[test]
fn converts_units_and_axes() {
    let with = |settings: String| {
        let mut text = square("", &[("Lcl Translation", [100.0, 200.0, 300.0])]);
        text.settings = settings;
        text.bytes()
    };
    let corner = |settings: String, wanted| corner_of(&with(settings), 0, wanted);
    // Corner (-50, -50, 0) at (100, 200, 300).
    corner(axes([1, 1], [2, 1], [0, 1], 1.0), [0.5, 1.5, 3.0]);
    corner(axes([1, 1], [2, 1], [0, 1], 100.0), [50.0, 150.0, 300.0]);
    corner(axes([1, 1], [2, 1], [0, 1], 2.54), [1.27, 3.81, 7.62]);
    // Z up, as 3ds Max and Blender have it: up becomes Y, and what was Y points away.
    corner(axes([2, 1], [1, -1], [0, 1], 1.0), [0.5, 3.0, -1.5]);
    // Left-handed: mirrored, so that front and back, up and down stay what they are.
    let found = good(&with(axes([1, 1], [2, -1], [0, 1], 1.0))).value;
    let (all, part) = (corners(&found), &found.meshes[0].primitives[0]);
    let low = all.iter().map(|corner| corner[1]).fold(f32::MAX, f32::min);
    near(&[low], &[1.5], 1e-5);
    // However it is mirrored, triangles turn the way their normals say.
    let [a, b, c] = [0, 1, 2].map(|i| part.positions[part.indices[i] as usize]);
    let (u, v) = ([0, 1, 2].map(|i| b[i] - a[i]), [0, 1, 2].map(|i| c[i] - a[i]));
    let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let along: f32 = (0..3).map(|i| cross[i] * part.normals[part.indices[0] as usize][i]).sum();
    assert!(along > 0.0, "{along}");
}

#[test]
fn applies_all_transform_properties() {
    let placed = |props: &[(&str, [f64; 3])], wanted| corner_of(&square("", props).bytes(), 2, wanted);
    // Corner (0.5, 0.5, 0).
    placed(&[("Lcl Translation", [100.0, 0.0, 0.0]), ("Lcl Scaling", [2.0, 3.0, 1.0])], [2.0, 1.5, 0.0]);
    placed(&[("Lcl Rotation", [0.0, 0.0, 90.0])], [-0.5, 0.5, 0.0]);
    // Rotations are in degrees, about X, then Y, then Z.
    placed(&[("Lcl Rotation", [90.0, 0.0, 90.0])], [0.0, 0.5, 0.5]);
    // About a point other than the origin: the corner itself stays.
    let pivot = [50.0, 50.0, 0.0];
    placed(&[("Lcl Rotation", [0.0, 0.0, 33.0]), ("RotationPivot", pivot)], [0.5, 0.5, 0.0]);
    placed(&[("Lcl Scaling", [7.0, 7.0, 7.0]), ("ScalingPivot", pivot)], [0.5, 0.5, 0.0]);
    placed(&[("GeometricTranslation", [0.0, 0.0, 100.0])], [0.5, 0.5, 1.0]);
    let turned = format!("{}\n", r#"P: "RotationActive", "bool", "", "",1"#);
    let text = square("", &[("PreRotation", [0.0, 0.0, 90.0])]).text();
    let text = text
        .replace("Version: 232\nProperties70:  {\n", &format!("Version: 232\nProperties70:  {{\n{turned}"));
    corner_of(text.as_bytes(), 2, [-0.5, 0.5, 0.0]);
}

#[test]
fn geometric_transform_moves_mesh_but_not_children() {
    let text =
        square("", &[("GeometricTranslation", [0.0, 0.0, 100.0]), ("Lcl Translation", [100.0, 0.0, 0.0])])
            .node(3, "child", "Mesh", &[("Lcl Translation", [0.0, 100.0, 0.0])])
            .link(1, 3)
            .link(3, 2);
    let found = good(&text.bytes()).value;
    let mut centres: Vec<[f32; 3]> = corners(&found)
        .chunks_exact(6)
        .map(|square| std::array::from_fn(|axis| square.iter().map(|c| c[axis]).sum::<f32>() / 6.0))
        .collect();
    centres.sort_by(|a, b| a[1].total_cmp(&b[1]));
    near(&centres[0], &[1.0, 0.0, 1.0], 1e-5);
    near(&centres[1], &[1.0, 1.0, 0.0], 1e-5);
}

#[test]
fn imports_node_trees_and_shared_meshes() {
    let text = square("", &[("Lcl Translation", [100.0, 0.0, 0.0])])
        .node(3, "again", "Mesh", &[("Lcl Translation", [0.0, 100.0, 0.0])])
        .node(4, "empty", "Null", &[])
        .link(1, 3)
        .link(3, 2)
        .link(4, 2);
    let scene = good(&text.bytes()).value;
    let named = |name: &str| scene.nodes.iter().position(|node| node.name == name).unwrap();
    let names: Vec<&str> = scene.nodes[named("square")]
        .children
        .iter()
        .map(|child| scene.nodes[child.0 as usize].name.as_str())
        .collect();
    assert_eq!(names, ["again", "empty"]);
    assert_eq!(scene.meshes.len(), 1, "drawn twice, held once");
    assert_eq!(scene.draws().count(), 2);
    let world = scene.worlds()[named("again")];
    near(&world.point([0.0; 3]), &[1.0, 1.0, 0.0], 1e-6);
}

#[test]
fn flips_v_coordinates() {
    let first = by_corner("LayerElementUV", "UV", "one", &[0.0, 0.0, 1.0, 0.0, 1.0, 0.75, 0.0, 1.0]);
    let second = by_corner("LayerElementUV", "UV", "two", &[0.5; 8]).replace("UV: 0", "UV: 1");
    let found = good(&square(&format!("{first}\n{second}"), &[]).bytes()).value;
    let part = &found.meshes[0].primitives[0];
    assert_eq!(part.uv0, [[0.0, 1.0], [1.0, 1.0], [1.0, 0.25], [0.0, 0.0]]);
    assert_eq!(part.uv1, [[0.5, 0.5]; 4]);
}

#[test]
fn keeps_normals_of_the_file() {
    let tilted = [0.0, 0.6, 0.8].repeat(4);
    let layer = by_corner("LayerElementNormal", "Normals", "", &tilted);
    let found = good(&square(&layer, &[]).bytes()).value;
    found.meshes[0].primitives[0].normals.iter().for_each(|normal| near(normal, &[0.0, 0.6, 0.8], 1e-6));
}

#[test]
fn ignores_faces_without_triangles() {
    let faces: &[&[i32]] = &[&[0, 1, 2, 3], &[0, 1], &[2]];
    let text = Text::new().mesh(1, &SQUARE, faces, "").node(2, "a", "Mesh", &[]).link(1, 2).link(2, 0);
    let found = good(&text.bytes());
    assert!(codes(&found).contains(&"fbx-no-triangles"), "{:?}", found.warnings);
    assert_eq!(found.value.meshes[0].primitives[0].triangles(), 2);
    // Nothing else: a node without a mesh.
    let text = Text::new().mesh(1, &SQUARE, &[&[0, 1]], "").node(2, "a", "Mesh", &[]).link(1, 2).link(2, 0);
    let found = good(&text.bytes());
    assert_eq!((found.value.meshes.len(), found.value.nodes[0].mesh), (0, None));
}

#[test]
fn rejects_files_that_are_not_fbx() {
    let rejected = |bytes: &[u8], code: &str| {
        let error = import(bytes).err().unwrap();
        assert_eq!(
            (error.code.as_str(), error.path.as_deref().unwrap_or_default()),
            (code, "models/m.fbx"),
            "{error}"
        );
    };
    rejected(b"", "file-empty");
    rejected(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", "lfs-pointer");
    rejected(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "fbx-format");
    rejected(&[0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 0], "fbx-format");
    let mut deep = Text::new();
    for id in 1..400 {
        deep = deep.node(id, "n", "Null", &[]).link(id, id - 1);
    }
    rejected(&deep.bytes(), "fbx-too-deep");
}
