//! Validation of bounding boxes and spheres, and their rounding tolerance.

use super::*;
use crate::meshes::bounds_of;

#[test]
fn accepts_bounds_far_from_origin() {
    // At this distance the centre of the sphere is rounded to 1/128.
    let positions: Vec<[f32; 3]> = spec().positions.iter().map(|p| p.map(|x| x * 0.01 + 100_000.0)).collect();
    let mesh = Mesh::build(&MeshSpec { positions, ..spec() });
    write(&mesh.parts()).unwrap();
    let bounds = bounds_of(&[[-1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]);
    assert_eq!((bounds.sphere_center, bounds.sphere_radius), ([0.0, 2.0, 3.0], 1.0));
}

/// Verifies a mesh with one bound reduced by `by`: of the mesh, of a submesh or of a meshlet; box or sphere.
fn tightened(mesh: &Mesh, bound: usize, by: f32) -> Result<(), String> {
    let mut mesh = mesh.clone();
    match bound {
        0 => mesh.bounds.sphere_radius -= by,
        1 => mesh.submeshes[0].bounds.sphere_radius -= by,
        2 => mesh.meshlet_bounds[0].radius -= by,
        3 => mesh.bounds.aabb_max[0] -= by,
        4 => mesh.bounds.aabb_min[0] += by,
        5 => mesh.submeshes[0].bounds.aabb_max[0] -= by,
        _ => mesh.submeshes[0].bounds.aabb_min[0] += by,
    }
    write(&mesh.parts()).map(drop).map_err(|error| error.to_string())
}

#[test]
fn bounds_tolerate_rounding_errors_only() {
    let moved = |scale: f32, by: f32| {
        let positions = spec().positions.into_iter().map(|p| [p[0] * scale + by, p[1] * scale, p[2] * scale]);
        Mesh::build(&MeshSpec { positions: positions.collect(), ..spec() })
    };
    // The tolerance is 1e-5 of the extent (at least of 1); for a sphere, of the distance from the origin.
    for (scale, by, of_sphere, of_box) in [
        (1.0, 0.0, 3e-5, 3e-5),
        (0.01, 0.0, 1e-5, 1e-5),
        (100.0, 0.0, 3e-3, 3e-3),
        (1.0, 1000.0, 1e-2, 3e-5),
        (1.0, -1000.0, 1e-2, 3e-5),
    ] {
        let mesh = moved(scale, by);
        write(&mesh.parts()).unwrap();
        for bound in 0..7 {
            let room = if bound < 3 { of_sphere } else { of_box };
            let found = tightened(&mesh, bound, room * 3.0);
            // Coordinates far from the origin are themselves rounded to 6e-5.
            let found = if bound >= 3 && by != 0.0 { tightened(&mesh, bound, 2e-4) } else { found };
            assert!(found.is_err(), "bound {bound} of a mesh scaled by {scale} at {by}");
            if bound < 3 || by == 0.0 {
                tightened(&mesh, bound, room * 0.3)
                    .unwrap_or_else(|error| panic!("bound {bound}, scaled by {scale} at {by}: {error}"));
            }
        }
    }
}

#[test]
fn checks_bounds_of_every_meshlet() {
    let triangles = vec![[0, 1, 2], [0, 2, 3], [0, 3, 4]];
    let good = Mesh::build(&MeshSpec { submeshes: vec![(triangles, true)], ..spec() });
    assert_eq!(good.submeshes[0].meshlet_count, 2);
    let bounds_at = chunk_at(&write(&good.parts()).unwrap(), b"MLBN");
    for meshlet in 0..2 {
        let mut mesh = good.clone();
        mesh.meshlet_bounds[meshlet].radius = 0.1;
        let error = write(&mesh.parts()).unwrap_err().to_string();
        assert!(
            error.contains(&format!("sphere at byte {} does not contain", bounds_at + 32 * meshlet)),
            "{error}"
        );
    }
}

#[test]
fn degenerate_triangles_may_be_out_of_bounds() {
    // Two triangles in a meshlet with a sphere around the first only.
    let with = |second: [u32; 3]| {
        let mut positions = spec().positions;
        positions.push([2.0, 1.0, -2.9]);
        let triangles = vec![[0, 1, 2], second];
        let mut mesh = Mesh::build(&MeshSpec { positions, submeshes: vec![(triangles, true)], ..spec() });
        let around = bounds_of(&[0, 1, 2].map(|i| mesh.vertices[i].position));
        let sphere = &mut mesh.meshlet_bounds[0];
        (sphere.center, sphere.radius) = (around.sphere_center, around.sphere_radius);
        write(&mesh.parts())
    };
    assert!(with([2, 5, 2]).is_ok() && with([5, 2, 2]).is_ok() && with([5, 5, 5]).is_ok());
    let error = with([2, 5, 1]).unwrap_err().to_string();
    assert!(error.contains("all triangles of the meshlet"), "{error}");
}
