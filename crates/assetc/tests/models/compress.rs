//! Compressed meshes (`mesh.compress: meshopt`): the same mesh as without, smaller, and the default unchanged.

use crate::project::Project;
use assetc::Build;
use assetc::config::Config;
use kiln_format::hmesh::{self, CompressedHmesh, HmeshView};

/// A wavy grid of 40 × 40 vertices as an OBJ.
fn waves() -> String {
    let side = 40;
    let mut obj = String::new();
    for (y, x) in (0..side).flat_map(|y| (0..side).map(move |x| (y, x))) {
        let height = libm::sin(f64::from(x) * 0.4) * libm::cos(f64::from(y) * 0.3);
        obj += &format!("v {} {height:.4} {}\nvt {} {}\n", x, y, f64::from(x) / 40.0, f64::from(y) / 40.0);
    }
    for (y, x) in (0..side - 1).flat_map(|y| (0..side - 1).map(move |x| (y, x))) {
        let a = y * side + x + 1;
        obj += &format!("f {a}/{a} {0}/{0} {1}/{1} {2}/{2}\n", a + side, a + side + 1, a + 1);
    }
    obj
}

fn built(settings: &str, jobs: usize) -> Vec<u8> {
    let project = Project::with(&[("waves.obj", waves().as_bytes())]);
    project.set(settings);
    let config = Config::discover(&project.path("")).unwrap();
    let report = Build::new(&config).jobs(jobs).verify(true).run().unwrap();
    assert!(report.is_ok(), "{report:#?}");
    std::fs::read(project.path("runtime/waves.hmesh")).unwrap()
}

/// Rotates the corners of triangles so that the smallest index is first.
fn canonical(indices: impl Iterator<Item = u32>) -> Vec<[u32; 3]> {
    let indices: Vec<u32> = indices.collect();
    let triangles = indices.as_chunks::<3>().0.iter();
    triangles.map(|&[a, b, c]| [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap()).collect()
}

#[test]
fn compressed_mesh_is_the_uncompressed_one() {
    let plain = built("", 1);
    assert_eq!(built("mesh: { compress: none }", 2), plain);
    let compressed = built("mesh: { compress: meshopt }", 1);
    assert_eq!(built("mesh: { compress: meshopt }", 2), compressed, "threads change nothing");
    assert!(compressed.len() < plain.len() / 2, "{} of {}", compressed.len(), plain.len());
    assert!(CompressedHmesh::is_compressed(&compressed) && HmeshView::read(&compressed).is_err());
    let decoded = hmesh::decoded(&compressed).unwrap();
    let (a, b) = (HmeshView::read(&plain).unwrap(), HmeshView::read(&decoded).unwrap());
    assert_eq!(canonical(a.indices().iter()), canonical(b.indices().iter()));
    assert_eq!(canonical(a.lod_indices().iter()), canonical(b.lod_indices().iter()));
    assert_eq!((a.lod_count(), a.lods().len()), (2, b.lods().len()));
    for ((tag, plain), (_, decoded)) in a.chunks().zip(b.chunks()) {
        let rotated = [*b"IDXS", *b"LODI", *b"MLTR"].contains(&tag);
        assert!(rotated || plain == decoded, "{}", tag.escape_ascii());
    }
    let glb = |mesh: &[u8]| assetc::extract::glb(mesh, None).unwrap();
    assert_eq!(glb(&compressed), glb(&decoded));
}
