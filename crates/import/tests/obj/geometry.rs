//! Vertices, faces, groups and ignored statements.

use crate::{good, parts, triangles, warnings};

const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";
const A: [f32; 3] = [0.0, 0.0, 0.0];
const B: [f32; 3] = [1.0, 0.0, 0.0];
const C: [f32; 3] = [1.0, 1.0, 0.0];
const D: [f32; 3] = [0.0, 1.0, 0.0];

#[test]
fn parses_every_form_of_face_vertex() {
    let data = format!("{SQUARE}vt 0.25 0.75\nvt 0.5\nvt 1 0 7\nvn 0 0 1\nvn 0 0 2\n");
    let bare = &parts(&format!("{data}f 1 2 3"))[0];
    assert_eq!(triangles(bare), [[A, B, C]]);
    assert!(bare.uv0.is_empty() && bare.normals.is_empty() && bare.material.is_none());
    let uv = &parts(&format!("{data}f 1/1 2/2 3/3"))[0];
    // The origin is at the top here, and at the bottom there.
    assert_eq!(uv.uv0, [[0.25, 0.25], [0.5, 1.0], [1.0, 1.0]]);
    assert!(uv.normals.is_empty());
    let normal = &parts(&format!("{data}f 1//1 2//2 3//1"))[0];
    assert!(normal.uv0.is_empty());
    assert_eq!(normal.normals, [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 1.0]]);
    let all = &parts(&format!("{data}f 1/3/1 2/2/2 3/1/1"))[0];
    assert_eq!((all.uv0.len(), all.normals.len(), all.indices.as_slice()), (3, 3, &[0, 1, 2][..]));
    assert_eq!(all.uv0[0], [1.0, 1.0]);
}

#[test]
fn resolves_negative_and_forward_indices() {
    assert_eq!(triangles(&parts(&format!("{SQUARE}f -4 -3 -2"))[0]), [[A, B, C]]);
    assert_eq!(triangles(&parts(&format!("v 9 9 9\n{SQUARE}f -4 3 -2\nv 7 7 7"))[0]), [[A, B, C]]);
    assert_eq!(triangles(&parts(&format!("f 1 2 3\n{SQUARE}"))[0]), [[A, B, C]]);
    let uv = &parts(&format!("{SQUARE}vt 0 1\nvt 1 1\nf 1/-1 2/-2 3/1\nvt 5 5"))[0];
    assert_eq!(uv.uv0, [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]);
}

#[test]
fn equal_face_vertices_share_a_vertex() {
    let part = &parts(&format!("{SQUARE}vt 0 0\nvt 1 1\nf 1/1 2/1 3/1\nf 1/1 3/1 4/1\nf 1/2 3/1 4/1"))[0];
    assert_eq!(part.indices, [0, 1, 2, 0, 2, 3, 4, 2, 3]);
    assert_eq!(part.positions, [A, B, C, D, A]);
    // Equal values with different numbers stay apart: whoever wrote the file may have had a reason.
    let apart = &parts(&format!("{SQUARE}{SQUARE}f 1 2 3\nf 5 7 8"))[0];
    assert_eq!(apart.positions.len(), 6);
}

#[test]
fn triangulates_polygons() {
    assert_eq!(triangles(&parts(&format!("{SQUARE}f 1 2 3 4"))[0]), [[A, B, C], [A, C, D]]);
    let arrow = "v 0 0 0\nv 2 1 0\nv 0 2 0\nv 0.5 1 0\nv -1 1 0\nf 1 2 3 4 5";
    let part = &parts(arrow)[0];
    let area = |t: &[[f32; 3]; 3]| {
        ((t[1][0] - t[0][0]) * (t[2][1] - t[0][1]) - (t[1][1] - t[0][1]) * (t[2][0] - t[0][0])) / 2.0
    };
    let areas: Vec<f32> = triangles(part).iter().map(area).collect();
    assert!(areas.len() == 3 && areas.iter().all(|&area| area > 0.0), "{areas:?}");
    let shoelace = [[0.0, 0.0], [2.0, 1.0], [0.0, 2.0], [0.5, 1.0], [-1.0, 1.0f32]];
    let cross = |(i, p): (usize, &[f32; 2])| {
        let q = shoelace[(i + 1) % 5];
        p[0] * q[1] - p[1] * q[0]
    };
    let whole = shoelace.iter().enumerate().map(cross).sum::<f32>() / 2.0;
    assert!((areas.iter().sum::<f32>() - whole).abs() < 1e-6);
}

#[test]
fn splits_primitives_by_material_in_order_of_use() {
    let text = format!(
        "{SQUARE}usemtl never\nusemtl b c\nf 1 2 3\nusemtl a\nf 1 2 4\nusemtl b c\nf 1 3 4\nusemtl\nf 2 3 4\n"
    );
    let found = good(&text);
    let names: Vec<&str> = found.value.materials.iter().map(|material| material.name.as_str()).collect();
    assert_eq!(names, ["b c", "a"]);
    let parts = &found.value.meshes[0].primitives;
    let of: Vec<_> = parts.iter().map(|part| part.material.map(|id| id.0)).collect();
    assert_eq!(of, [Some(0), Some(1), None]);
    assert_eq!(triangles(&parts[0]), [[A, B, C], [A, C, D]]);
    assert_eq!(triangles(&parts[2]), [[B, C, D]]);
    assert_eq!(warnings(&found), [("obj-material-unknown", "line 7")]);
    // Before the first usemtl there is none, and that part is first.
    let of: Vec<_> = crate::parts(&format!("{SQUARE}f 1 2 3\nusemtl x\nf 1 2 3"))
        .iter()
        .map(|part| part.material.map(|id| id.0))
        .collect();
    assert_eq!(of, [None, Some(0)]);
}

#[test]
fn mesh_is_named_after_the_first_object() {
    for (text, name) in [
        ("g hand left\no My Robot\no other\n", "My Robot"),
        ("g hand left\ng foot\n", "hand left"),
        ("o\n", ""),
        ("", ""),
    ] {
        let found = good(&format!("{text}{SQUARE}f 1 2 3"));
        assert_eq!(found.value.meshes[0].name, name);
        assert_eq!(found.value.nodes[0].name, name);
    }
}

#[test]
fn accepts_any_whitespace_and_line_endings() {
    let wanted = parts(&format!("{SQUARE}vt 0 0\nf 1/1 2/1 3/1 4/1"));
    for text in [
        "\u{FEFF}# head\r\n v 0 0 0\r\n\tv\t1 0  0 \r\nv 1 1 0\r\nv 0 1 0\r\nvt 0 0\r\nf 1/1 2/1 3/1 4/1\r\n",
        "v 0 0 0\rv 1 0 0\rv 1 1 0\rv 0 1 0\rvt 0 0\rf 1/1 2/1 3/1 4/1",
        "v 0 0 0 # x\nv 1 0 0#\\\nv 1 1 0 # y \\\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1 4/1 # z"
            .replace("0#\\", "0 #\\")
            .as_str(),
        "v 0 0 \\\n0\nv \\\r\n1 0 0\nv 1 1 0\\\n\nv 0 1 0\nvt 0 0\nf 1/1 2/1\\\n 3/1 \\\n4/1",
        "v 0 0 0 1\nv 1.0e0 0 0 1.0\nv 1 1 0\nv 0 1 0\nvt 0 0 0\nfo 1/1 2/1 3/1 4/1",
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nf 1/1/ 2/1/ 3/1/ 4/1/",
    ] {
        assert_eq!(parts(text), wanted, "{text:?}");
    }
}

#[test]
fn generates_normals_from_smoothing_groups() {
    // Two squares that meet at a right angle along the y axis: 1-2-3-4 looks up, 1-4-5-6 to the left.
    let bent = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 1 -1\nv 0 0 -1\n";
    let flat = &parts(&format!("{bent}f 1 2 3 4\nf 1 4 5 6"))[0];
    assert!(flat.normals.is_empty());
    assert!(parts(&format!("{bent}s off\nf 1 2 3 4\ns 0\nf 1 4 5 6"))[0].normals.is_empty());

    let smooth = &parts(&format!("{bent}s 1\nf 1 2 3 4\nf 1 4 5 6"))[0];
    assert_eq!(smooth.positions.len(), 6);
    let half = 0.5f32.sqrt();
    let near = |found: [f32; 3], wanted: [f32; 3]| {
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} is not {wanted:?}");
    };
    for (position, normal) in smooth.positions.iter().zip(&smooth.normals) {
        let edge = position[0] == 0.0 && position[2] == 0.0;
        let lower = position[2] < 0.0;
        near(
            *normal,
            if edge {
                [-half, 0.0, half]
            } else if lower {
                [-1.0, 0.0, 0.0]
            } else {
                [0.0, 0.0, 1.0]
            },
        );
    }
    // Groups do not mix, and a face without one keeps its own normal.
    for second in ["s 2", "s off"] {
        let apart = &parts(&format!("{bent}s 1\nf 1 2 3 4\n{second}\nf 1 4 5 6"))[0];
        assert_eq!(apart.positions.len(), 8);
        assert!(apart.normals.iter().all(|n| n.iter().filter(|v| **v != 0.0).count() == 1));
    }
    // Groups reach over materials, and normals that are there stay.
    let parts = parts(&format!("{bent}vn 0 1 0\ns 1\nusemtl a\nf 1//1 2 3 4\nusemtl b\nf 1 4 5 6"));
    near(parts[0].normals[0], [0.0, 1.0, 0.0]);
    let shared = parts[1].positions.iter().position(|&p| p == [0.0, 1.0, 0.0]).unwrap();
    near(parts[1].normals[shared], [-half, 0.0, half]);
}

/// However a face is cut, its weight is the angle it has: a cube's corner looks along the diagonal.
#[test]
fn smooth_normals_do_not_depend_on_triangulation() {
    let corners: String = (0..8).map(|i| format!("v {} {} {}\n", i & 1, i >> 1 & 1, i >> 2)).collect();
    let quads = ["1 3 4 2", "5 6 8 7", "1 2 6 5", "3 7 8 4", "1 5 7 3", "2 4 8 6"];
    let cut = |quad: &&str| {
        let c: Vec<&str> = quad.split(' ').collect();
        format!("f {} {} {}\nf {} {} {}\n", c[0], c[1], c[2], c[0], c[2], c[3])
    };
    let whole: String = quads.iter().map(|quad| format!("f {quad}\n")).collect();
    for faces in [whole, quads.iter().map(cut).collect()] {
        let part = &parts(&format!("{corners}s 1\n{faces}"))[0];
        assert_eq!((part.positions.len(), part.triangles()), (8, 12));
        for (position, normal) in part.positions.iter().zip(&part.normals) {
            for (p, n) in position.iter().zip(normal) {
                assert!((n - (p * 2.0 - 1.0) / 3f32.sqrt()).abs() < 1e-6, "{position:?}: {normal:?}");
            }
        }
    }
}

#[test]
fn warns_once_about_each_kind_of_ignored_statement() {
    let found = good(&format!(
        "{SQUARE}v 1 2 3 0.5 0.5 0.5\nv 1 2 3 1 1 1\nf 1 2 3\np 1 2\nl 1 2 3\nf 1 2\nvp 0 1\ncurv 0 1 1 2\nend\n\
         frobnicate 1\nlod 3\n"
    ));
    assert_eq!(
        warnings(&found),
        [
            ("obj-vertex-colours", "line 5"),
            ("obj-no-triangles", "line 8"),
            ("obj-free-form", "line 11"),
            ("obj-keyword", "line 14")
        ]
    );
    assert!(found.warnings[1].message.contains("3 statements"), "{}", found.warnings[1]);
    assert!(found.warnings[3].message.contains("frobnicate"), "{}", found.warnings[3]);
    assert_eq!(found.value.meshes[0].primitives[0].triangles(), 1);
    let empty = good("# nothing\nv 1 2 3\n");
    assert!(empty.value.meshes[0].primitives.is_empty() && empty.warnings.is_empty());
}
