//! Comparison with `tobj` on generated files of every style.

use std::fmt::Write;

use crate::import_with;
use proptest::prelude::*;

/// The attributes of a face vertex in a sortable form: bits of position, UV and normal.
type Corner = [u32; 8];

/// A model of random content: its faces, each with a material and corners of positions, coordinates and normals.
#[derive(Clone, Debug)]
struct Random {
    positions: Vec<[f32; 3]>,
    uvs: Vec<[f32; 2]>,
    normals: Vec<[f32; 3]>,
    faces: Vec<(usize, bool, Vec<[usize; 3]>)>,
    has_uv: bool,
    has_normal: bool,
}

fn random() -> impl Strategy<Value = Random> {
    let number = || prop_oneof![-10.0f32..10.0, any::<f32>().prop_filter("finite", |v| v.abs() < 1e30)];
    let vector = |count| prop::collection::vec(prop::array::uniform3(number()), count);
    let corner = prop::array::uniform3(0usize..1000);
    // Triangles, and quadrilaterals of which any cut has the same corners.
    let face = (0usize..3, any::<bool>(), prop::collection::vec(corner, 3..=3));
    (
        vector(1..20),
        prop::collection::vec(prop::array::uniform2(number()), 1..20),
        vector(1..20),
        prop::collection::vec(face, 1..30),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(positions, uvs, normals, mut faces, has_uv, has_normal)| {
            for (_, _, corners) in &mut faces {
                for corner in corners {
                    *corner = [corner[0] % positions.len(), corner[1] % uvs.len(), corner[2] % normals.len()];
                }
            }
            Random { positions, uvs, normals, faces, has_uv, has_normal }
        })
}

impl Random {
    fn text(&self) -> String {
        let mut text = String::from("mtllib m.mtl\n");
        self.positions.iter().for_each(|[x, y, z]| writeln!(text, "v {x} {y:e} {z:?}").unwrap());
        self.uvs.iter().for_each(|[u, v]| writeln!(text, "vt {u} {v}").unwrap());
        self.normals.iter().for_each(|[x, y, z]| writeln!(text, "vn {x} {y} {z}").unwrap());
        let lengths = [self.positions.len(), self.uvs.len(), self.normals.len()];
        for (material, backwards, corners) in &self.faces {
            write!(text, "usemtl m{material}\nf").unwrap();
            for corner in corners {
                let number = |list: usize| match backwards {
                    true => corner[list] as i64 - lengths[list] as i64,
                    false => corner[list] as i64 + 1,
                };
                let [v, t, n] = [0, 1, 2].map(number);
                match (self.has_uv, self.has_normal) {
                    (false, false) => write!(text, " {v}").unwrap(),
                    (true, false) => write!(text, " {v}/{t}").unwrap(),
                    (false, true) => write!(text, " {v}//{n}").unwrap(),
                    (true, true) => write!(text, " {v}/{t}/{n}").unwrap(),
                }
            }
            text.push('\n');
        }
        text
    }
}

/// Triangles as bits, with the material's name; sorted.
fn sorted(mut triangles: Vec<(String, [Corner; 3])>) -> Vec<(String, [Corner; 3])> {
    triangles.sort();
    triangles
}

fn ours(text: &str, library: &str) -> Vec<(String, [Corner; 3])> {
    let found = import_with(text.as_bytes(), &[("models/m.mtl", library)]).0.unwrap().value;
    let mut triangles = Vec::new();
    for part in &found.meshes[0].primitives {
        let name = part.material.map(|id| found.materials[id.0 as usize].name.clone()).unwrap_or_default();
        let corner = |index: u32| {
            let index = index as usize;
            let [x, y, z] = part.positions[index];
            let [u, v] = part.uv0.get(index).copied().unwrap_or_default();
            let [a, b, c] = part.normals.get(index).copied().unwrap_or_default();
            [x, y, z, u, v, a, b, c].map(f32::to_bits)
        };
        for t in part.indices.chunks_exact(3) {
            triangles.push((name.clone(), [corner(t[0]), corner(t[1]), corner(t[2])]));
        }
    }
    sorted(triangles)
}

fn theirs(text: &str, library: &str) -> Vec<(String, [Corner; 3])> {
    let options = tobj::LoadOptions { triangulate: true, single_index: true, ..Default::default() };
    let (models, materials) =
        tobj::load_obj_buf(&mut text.as_bytes(), &options, |_| tobj::load_mtl_buf(&mut library.as_bytes()))
            .unwrap();
    let materials = materials.unwrap();
    let mut triangles = Vec::new();
    for tobj::Model { mesh, .. } in &models {
        let name = mesh.material_id.map(|id| materials[id].name.clone()).unwrap_or_default();
        let corner = |index: u32| {
            let at = |list: &[f32], size: usize, axis: usize| {
                list.get(index as usize * size + axis).copied().unwrap_or_default()
            };
            let v = if mesh.texcoords.is_empty() { 0.0 } else { 1.0 - at(&mesh.texcoords, 2, 1) };
            let [x, y, z] = [0, 1, 2].map(|axis| at(&mesh.positions, 3, axis));
            let [a, b, c] = [0, 1, 2].map(|axis| at(&mesh.normals, 3, axis));
            [x, y, z, at(&mesh.texcoords, 2, 0), v, a, b, c].map(f32::to_bits)
        };
        for t in mesh.indices.chunks_exact(3) {
            triangles.push((name.clone(), [corner(t[0]), corner(t[1]), corner(t[2])]));
        }
    }
    sorted(triangles)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn random_models_agree(model in random()) {
        let library = "newmtl m0\nKd 1 0 0\nnewmtl m1\nnewmtl m2\n";
        let text = model.text();
        let wanted = theirs(&text, library);
        prop_assert_eq!(wanted.len(), model.faces.len());
        prop_assert_eq!(ours(&text, library), wanted);
    }
}

#[test]
fn materials_match_tobj() {
    let library =
        "newmtl one\nKd 0.1 0.2 0.3\nNs 12\nd 0.5\nmap_Kd -s 1 1 1 a b.png\nnewmtl two\nKd 1 1 1\nTr 0.25\n";
    let (theirs, _) = tobj::load_mtl_buf(&mut library.as_bytes()).unwrap();
    let text = "mtllib m.mtl\nv 0 0 0\nusemtl one\nf 1 1 1\nusemtl two\nf 1 1 1";
    let found =
        import_with(text.as_bytes(), &[("models/m.mtl", library), ("models/a b.png", "image")]).0.unwrap();
    assert_eq!(found.value.materials.len(), theirs.len());
    for (ours, theirs) in found.value.materials.iter().zip(&theirs) {
        assert_eq!(ours.name, theirs.name);
        assert_eq!(ours.base_color_factor[..3], theirs.diffuse.unwrap());
    }
    assert_eq!(found.value.materials[0].base_color_factor[3], theirs[0].dissolve.unwrap());
}
