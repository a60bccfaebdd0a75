//! Normals: flat normals where a source has none, and repair of invalid ones.
//!
//! Missing normals are flat, as glTF requires. A single normal that is zero or NaN is replaced by the
//! area-weighted average of the faces around it; one that is merely not of unit length is normalised.

use crate::Triangles;
use crate::vector::{Vec3, dot, face, unit64};

/// Returns the unit normal of each triangle by its winding; zero for a degenerate triangle.
///
/// # Panics
///
/// Panics if there are fewer positions than vertices.
pub(crate) fn flat(triangles: Triangles<'_>, positions: &[[f32; 3]]) -> Vec<[f32; 3]> {
    triangles.expect("positions", positions);
    triangles.iter().map(|corners| unit64(face_of(corners, positions))).collect()
}

/// Makes every normal a unit vector where possible. Returns the number of normals that were computed from the
/// faces around them.
///
/// A vertex with degenerate faces only keeps a zero normal.
///
/// # Panics
///
/// Panics if there are fewer positions or normals than vertices.
pub(crate) fn repair(triangles: Triangles<'_>, positions: &[[f32; 3]], normals: &mut [[f32; 3]]) -> usize {
    triangles.expect("positions", positions);
    triangles.expect("normals", normals);
    let mut broken = false;
    for normal in normals.iter_mut() {
        if !is_unit(normal) {
            *normal =
                if normal.iter().all(|c| c.is_finite()) { unit64(normal.map(f64::from)) } else { [0.0; 3] };
            broken |= *normal == [0.0; 3];
        }
    }
    if !broken {
        return 0;
    }
    let mut sums = vec![[0.0f64; 3]; normals.len()];
    for corners in triangles.iter() {
        if corners.iter().all(|&corner| normals[corner as usize] != [0.0; 3]) {
            continue;
        }
        let face = face_of(corners, positions);
        for corner in corners {
            let sum = &mut sums[corner as usize];
            *sum = [sum[0] + face[0], sum[1] + face[1], sum[2] + face[2]];
        }
    }
    let mut made = 0;
    for (normal, sum) in normals.iter_mut().zip(sums) {
        if *normal == [0.0; 3] {
            *normal = unit64(sum);
            made += usize::from(*normal != [0.0; 3]);
        }
    }
    made
}

/// Returns true if `normal` needs no repair. Rounding errors of unit vectors are accepted.
pub(crate) fn is_unit(normal: &Vec3) -> bool {
    (dot(*normal, *normal) - 1.0).abs() < 1e-3
}

fn face_of(corners: [u32; 3], positions: &[Vec3]) -> [f64; 3] {
    let [a, b, c] = corners.map(|corner| positions[corner as usize]);
    face(a, b, c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::soup;
    use proptest::prelude::*;

    const QUAD: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];

    #[test]
    fn flat_normals_follow_the_winding_at_every_scale() {
        for scale in [1e-30f32, 1.0, 1e30] {
            let positions = QUAD.map(|p| p.map(|c| c * scale));
            let triangles = Triangles::new(&[0, 1, 2, 2, 1, 0, 0, 1, 1], 4).unwrap();
            assert_eq!(flat(triangles, &positions), [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.0; 3]]);
        }
    }

    #[test]
    fn invalid_normals_are_computed_from_faces() {
        let triangles = Triangles::new(&[0, 1, 2, 0, 2, 3], 4).unwrap();
        let mut normals = [[0.0, 0.0, 5.0], [f32::NAN, 0.0, 0.0], [0.0; 3], [1.0, 0.0, 0.0]];
        assert_eq!(repair(triangles, &QUAD, &mut normals), 2);
        assert_eq!(normals, [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
    }

    #[test]
    fn vertex_of_degenerate_faces_keeps_zero_normal() {
        let mut normals = [[0.0; 3]; 4];
        assert_eq!(repair(Triangles::new(&[1, 1, 2], 4).unwrap(), &QUAD, &mut normals), 0);
        assert_eq!(normals, [[0.0; 3]; 4]);
    }

    proptest! {
        /// Flat normals are perpendicular to both edges and on the side from which the corners run
        /// counter-clockwise; repaired ones have unit length, and valid ones are unchanged.
        #[test]
        fn normals_are_perpendicular_unit_vectors(seed: u64, broken in 0usize..8) {
            let mut sample = soup(seed, 30, 40);
            let triangles = Triangles::new(&sample.indices, sample.positions.len()).unwrap();
            for (corners, normal) in triangles.iter().zip(flat(triangles, &sample.positions)) {
                let [a, b, c] = corners.map(|v| sample.positions[v as usize].map(f64::from));
                let edge = |to: [f64; 3]| std::array::from_fn::<f64, 3, _>(|i| to[i] - a[i]);
                let (u, v, n) = (edge(b), edge(c), normal.map(f64::from));
                let dot = |x: [f64; 3], y: [f64; 3]| x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
                let determinant = n[0] * (u[1] * v[2] - u[2] * v[1]) + n[1] * (u[2] * v[0] - u[0] * v[2])
                    + n[2] * (u[0] * v[1] - u[1] * v[0]);
                if determinant != 0.0 {
                    prop_assert!(determinant > 0.0 && is_unit(&normal));
                    prop_assert!(dot(n, u).abs() < 1e-6 && dot(n, v).abs() < 1e-6);
                }
            }
            let good = sample.normals.clone();
            sample.normals[..broken].fill([f32::NAN; 3]);
            sample.normals[broken] = good[broken].map(|x| x * 7.0);
            repair(triangles, &sample.positions, &mut sample.normals);
            prop_assert!(sample.normals.iter().all(|n| is_unit(n) || *n == [0.0; 3]));
            prop_assert_eq!(&sample.normals[broken + 1..], &good[broken + 1..]);
            prop_assert!(dot(sample.normals[broken], good[broken]) > 0.999_999);
        }
    }
}
