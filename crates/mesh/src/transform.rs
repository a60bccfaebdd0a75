//! A node's matrix baked into a mesh.
//!
//! Positions by the matrix; normals by its inverse transpose, computed as cofactors so that a flattened node still
//! has normals; tangents by its linear part. A mirrored node (negative determinant) would turn the mesh inside out:
//! its triangles are wound the other way, and tangents change their handedness.

use crate::vector::unit64;

/// A matrix, taken apart once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    /// Columns of the linear part.
    linear: [[f64; 3]; 3],
    translation: [f64; 3],
    /// Columns of the inverse transpose, up to a positive factor.
    inverse_transpose: [[f64; 3]; 3],
    mirrored: bool,
}

impl Transform {
    /// From a column-major 4×4 matrix as glTF stores it; its last row is taken to be 0 0 0 1.
    pub fn new(matrix: &[f64; 16]) -> Self {
        let column = |i: usize| [matrix[i * 4], matrix[i * 4 + 1], matrix[i * 4 + 2]];
        let linear = [column(0), column(1), column(2)];
        let mut cofactors =
            [cross(linear[1], linear[2]), cross(linear[2], linear[0]), cross(linear[0], linear[1])];
        let determinant: f64 = (0..3).map(|row| linear[0][row] * cofactors[0][row]).sum();
        let mirrored = determinant < 0.0;
        if mirrored {
            cofactors = cofactors.map(|column| column.map(|x| -x));
        }
        Self { linear, translation: column(3), inverse_transpose: cofactors, mirrored }
    }

    /// The same, but triangles and handedness are turned as told: for what another matrix moves later on, which may
    /// mirror as well.
    pub fn turning(self, mirrored: bool) -> Self {
        Self { mirrored, ..self }
    }

    /// Whether left becomes right.
    pub fn mirrored(&self) -> bool {
        self.mirrored
    }

    /// Moves positions. A result beyond f32 becomes infinite; the caller checks.
    pub(crate) fn positions(&self, positions: &mut [[f32; 3]]) {
        for position in positions {
            let moved = times(&self.linear, position.map(f64::from));
            *position = std::array::from_fn(|row| (moved[row] + self.translation[row]) as f32);
        }
    }

    /// Turns normals and makes them unit vectors; one that the matrix flattens to nothing stays as it was.
    pub(crate) fn normals(&self, normals: &mut [[f32; 3]]) {
        for normal in normals {
            let turned = unit64(times(&self.inverse_transpose, normal.map(f64::from)));
            if turned != [0.0; 3] {
                *normal = turned;
            }
        }
    }

    /// Turns tangents and makes them unit vectors, with the handedness (the fourth component) of the result.
    pub(crate) fn tangents(&self, tangents: &mut [[f32; 4]]) {
        for [x, y, z, w] in tangents {
            let turned = unit64(times(&self.linear, [*x, *y, *z].map(f64::from)));
            if turned != [0.0; 3] {
                [*x, *y, *z] = turned;
            }
            if self.mirrored {
                *w = -*w;
            }
        }
    }

    /// Winds triangles the other way if the matrix mirrors.
    pub(crate) fn winding(&self, indices: &mut [u32]) {
        if self.mirrored {
            for triangle in indices.as_chunks_mut::<3>().0 {
                triangle.swap(1, 2);
            }
        }
    }
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        a[j] * b[k] - a[k] * b[j]
    })
}

fn times(columns: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|row| columns[0][row] * v[0] + columns[1][row] * v[1] + columns[2][row] * v[2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::{Vec3, dot, face, unit};
    use proptest::prelude::*;

    #[test]
    fn mirroring_keeps_the_outside_outside() {
        let mirror = Transform::new(&[
            -1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 5.0, 0.0, 0.0, 1.0,
        ]);
        assert!(mirror.mirrored());
        let mut positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let (mut normals, mut tangents) = ([[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0, 1.0]]);
        let mut indices = [0, 1, 2];
        mirror.positions(&mut positions);
        mirror.normals(&mut normals);
        mirror.tangents(&mut tangents);
        mirror.winding(&mut indices);
        assert_eq!(positions, [[5.0, 0.0, 0.0], [4.0, 0.0, 0.0], [5.0, 1.0, 0.0]]);
        assert_eq!((normals, tangents, indices), ([[0.0, 0.0, 1.0]], [[-1.0, 0.0, 0.0, -1.0]], [0, 2, 1]));
    }

    #[test]
    fn a_flattened_node_keeps_its_normals() {
        let mut scale = [0.0; 16];
        (scale[0], scale[5], scale[15]) = (2.0, 2.0, 1.0);
        let mut normals = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]];
        Transform::new(&scale).normals(&mut normals);
        assert_eq!(normals, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
    }

    proptest! {
        /// Whatever the matrix: the face normal by winding agrees with the baked normal, and the bitangent of the
        /// baked frame points where the matrix sends the old bitangent.
        #[test]
        fn winding_normal_and_handedness_agree(m in prop::array::uniform9(-2.0f64..2.0), w in prop::bool::ANY) {
            let matrix = [m[0], m[1], m[2], 0.0, m[3], m[4], m[5], 0.0, m[6], m[7], m[8], 0.0, 1.0, 2.0, 3.0, 1.0];
            let linear = [[m[0], m[1], m[2]], [m[3], m[4], m[5]], [m[6], m[7], m[8]]];
            let c = cross(linear[1], linear[2]);
            let determinant: f64 = (0..3).map(|i| linear[0][i] * c[i]).sum();
            prop_assume!(determinant.abs() > 0.05);
            let t = Transform::new(&matrix);
            prop_assert_eq!(t.mirrored(), determinant < 0.0);

            let w = if w { 1.0 } else { -1.0 };
            let mut positions = [[0.1, 0.2, 0.3], [1.0, 0.5, -0.5], [-0.25, 1.0, 0.75]];
            let normal = unit64(face(positions[0], positions[1], positions[2]));
            let tangent = unit(crate::vector::sub(positions[1], positions[0]));
            let bitangent = cross(normal.map(f64::from), tangent.map(f64::from)).map(|x| x * f64::from(w));
            let (mut normals, mut tangents) = ([normal], [[tangent[0], tangent[1], tangent[2], w]]);
            let mut indices = [0, 1, 2];
            t.positions(&mut positions);
            t.normals(&mut normals);
            t.tangents(&mut tangents);
            t.winding(&mut indices);

            let [a, b, c] = indices.map(|i: u32| positions[i as usize]);
            prop_assert!(dot(unit64(face(a, b, c)), normals[0]) > 0.999);
            let [x, y, z, sign] = tangents[0];
            let baked: Vec3 = cross(normals[0].map(f64::from), [x, y, z].map(f64::from)).map(|x| x as f32 * sign);
            let sent = times(&linear, bitangent).map(|x| x as f32);
            prop_assert!(dot(baked, sent) > 0.0);
        }
    }
}
