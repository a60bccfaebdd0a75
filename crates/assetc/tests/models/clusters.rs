//! Cluster LODs (`mesh.clusters`): cuts of a compiled model, pages, and bytes that do not depend on threads.

use crate::project::Project;
use assetc::Build;
use assetc::config::Config;
use kiln_format::hmesh::{Cluster, ClusterHierarchy, CutView, HmeshView, MAX_PAGE_SIZE};
use std::fmt::Write;

/// Vertices along one side of the hill.
const SIDE: usize = 129;

/// A height field over the square from 0 to 2, as an OBJ of two materials. Its coordinates in the plane are multiples of
/// 1/64, so that areas are exact.
fn hill() -> String {
    let mut obj = String::new();
    let height = |x: f64, y: f64| 0.2 * libm::sin(5.0 * x) * libm::cos(3.0 * y);
    for i in 0..SIDE * SIDE {
        let (x, y) = ((i % SIDE) as f64 / 64.0, (i / SIDE) as f64 / 64.0);
        let (dx, dy) =
            (libm::cos(5.0 * x) * libm::cos(3.0 * y), -0.6 * libm::sin(5.0 * x) * libm::sin(3.0 * y));
        writeln!(obj, "v {x} {y} {}\nvn {} {} 1\nvt {} {}", height(x, y), -dx, -dy, x / 2.0, y / 2.0)
            .unwrap();
    }
    for (name, columns) in [("left", 0..SIDE / 2), ("right", SIDE / 2..SIDE - 1)] {
        writeln!(obj, "usemtl {name}").unwrap();
        for (row, column) in (0..SIDE - 1).flat_map(|row| columns.clone().map(move |column| (row, column))) {
            let a = row * SIDE + column + 1;
            let corner = |i: usize| format!("{i}/{i}/{i}");
            let quad = [a, a + 1, a + SIDE + 1, a + SIDE].map(corner);
            writeln!(obj, "f {}", quad.join(" ")).unwrap();
        }
    }
    obj
}

fn clustered(settings: &str, jobs: usize) -> Vec<u8> {
    let project = Project::with(&[("hill.obj", hill().as_bytes())]);
    project.set(settings);
    let config = Config::discover(&project.path("")).unwrap();
    let report = Build::new(&config).jobs(jobs).verify(true).run().unwrap();
    assert!(report.is_ok(), "{report:#?}");
    std::fs::read(project.path("runtime/hill.hmesh")).unwrap()
}

/// Returns the number of triangles of a cut, and the areas that they cover in the plane: with the sign of their winding,
/// and without. Both are 4 if they cover the square once.
fn cover(hierarchy: &ClusterHierarchy<'_>, cut: impl Iterator<Item = Cluster>) -> (usize, f64, f64) {
    let (mut count, mut signed, mut covered) = (0, 0.0, 0.0);
    for cluster in cut {
        let geometry = hierarchy.geometry(&cluster);
        for corners in geometry.triangles {
            let vertex = |corner: u8| geometry.vertices.get(corner.into()).unwrap().position.map(f64::from);
            let [a, b, c] = corners.map(vertex);
            let area = ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2.0;
            (count, signed, covered) = (count + 1, signed + area, covered + area.abs());
        }
    }
    (count, signed, covered)
}

#[test]
fn cuts_of_a_model_cover_it_once() {
    let bytes = clustered("mesh: {clusters: true}", 2);
    assert_eq!(bytes, clustered("mesh: {clusters: true}", 1));
    let mesh = HmeshView::read(&bytes).unwrap();
    assert_eq!(mesh.desc().submesh_count, 2);
    let hierarchy = mesh.clusters().unwrap();
    assert!(hierarchy.pages().len() > 2 && hierarchy.pages().iter().all(|page| page.size <= MAX_PAGE_SIZE));
    let full = 2 * (SIDE - 1) * (SIDE - 1);
    let view = |camera: [f32; 3], threshold: f32| CutView { camera, scale: 1000.0, near: 0.05, threshold };
    let mut counts = Vec::new();
    for threshold in [1e-6, 0.5, 2.0, 8.0, 1e9] {
        for camera in [[0.0, 0.0, 0.5], [1.0, 1.0, 3.0], [-4.0, 1.0, 1.0]] {
            let (count, signed, covered) = cover(&hierarchy, hierarchy.cut(&view(camera, threshold)));
            let at = format!("{camera:?}, {threshold}: {count} triangles");
            assert_eq!(signed, covered, "{at}");
            // The coarsest clusters keep the locked vertices between the materials, and little of the outer border: their
            // error is large, and a threshold in pixels does not select them.
            assert!(covered == 4.0 || threshold > 1e6, "{at}: {covered}");
            counts.push(count);
        }
    }
    assert_eq!(counts[0], full);
    // The border of the square and between the materials is locked or straight: the root has few clusters.
    assert!(counts[12] < full / 16, "{counts:?}");
    // From afar there is less to draw than from near.
    assert!(counts[5] < counts[3], "{counts:?}");
    // Any number of loaded pages gives a cut, with more detail for each.
    let near = view([1.0, 1.0, 0.5], 0.1);
    let mut previous = 0;
    for pages in 1..=hierarchy.pages().len() as u32 {
        let (count, signed, covered) = cover(&hierarchy, hierarchy.cut_of_pages(&near, pages));
        assert_eq!(signed, covered, "{pages} pages");
        assert!(count >= previous);
        previous = count;
    }
    assert_eq!(
        cover(&hierarchy, hierarchy.cut(&near)),
        cover(&hierarchy, hierarchy.cut_of_pages(&near, u32::MAX))
    );
}

#[test]
fn meshes_without_clusters_are_unchanged() {
    let (plain, clustered) = (clustered("", 2), clustered("mesh: {clusters: true}", 2));
    let chunks = |bytes: &[u8]| -> Vec<([u8; 4], Vec<u8>)> {
        HmeshView::read(bytes).unwrap().chunks().map(|(tag, bytes)| (tag, bytes.to_vec())).collect()
    };
    let (plain, clustered) = (chunks(&plain), chunks(&clustered));
    assert_eq!(plain[..], clustered[..plain.len()]);
    let added: Vec<_> = clustered[plain.len()..].iter().map(|(tag, _)| *tag).collect();
    assert_eq!(added, [*b"CLGR", *b"CLST", *b"CLPT", *b"CLPG"]);
}
