//! Validation of meshlets against the indices of their submesh.

use super::*;

#[test]
fn meshlets_contain_each_triangle_once() {
    let submesh = |number: usize| {
        let at = chunk_at(&write(&sample().parts()).unwrap(), b"SUBM") + 64 * number;
        format!("submesh at byte {at} has meshlets with other triangles")
    };
    // One triangle occurs twice in the indices, another twice in the meshlets: pairs must not cancel out.
    let error = write_error(|m| {
        m.indices.copy_within(0..3, 3);
        m.meshlet_triangles[0] = m.meshlet_triangles[1];
    });
    assert!(error.contains(&submesh(0)), "{error}");
    // A triangle with a zero hash is still counted.
    let error = write_error(|m| {
        m.indices.extend([0; 3]);
        m.submeshes[1].index_count += 3;
    });
    assert!(error.contains(&submesh(1)), "{error}");
    let error = write_error(|m| {
        m.meshlet_triangles.push([0; 3]);
        m.meshlets[1].triangle_count += 1;
    });
    assert!(error.contains(&submesh(1)), "{error}");
}

#[test]
fn meshlet_size_is_limited_by_desc() {
    let limited = |max: [u32; 2]| {
        let mut mesh = sample();
        mesh.meshlet_max = max;
        write(&mesh.parts()).map(drop).map_err(|error| error.to_string())
    };
    // The first meshlet has four vertices and two triangles.
    assert_eq!(limited([4, 2]), Ok(()));
    assert!(limited([3, 2]).unwrap_err().contains("vertex_count"));
    assert!(limited([4, 1]).unwrap_err().contains("triangle_count"));
}
