//! Applies a node's matrix to a mesh.
//!
//! Positions are transformed by the matrix; normals by its inverse transpose, computed as cofactors so that a
//! node with zero scale along an axis still has normals; tangents by its linear part. A mirroring matrix
//! (negative determinant) would turn the mesh inside out: the winding of its triangles and the handedness of
//! its tangents are flipped.

use crate::vector::{cross64, unit64};

/// A node's matrix, decomposed once.
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
    /// Decomposes a column-major 4×4 matrix as glTF stores it; its last row is taken to be 0 0 0 1.
    pub fn new(matrix: &[f64; 16]) -> Self {
        let column = |i: usize| [matrix[i * 4], matrix[i * 4 + 1], matrix[i * 4 + 2]];
        let linear = [column(0), column(1), column(2)];
        let mut cofactors =
            [cross64(linear[1], linear[2]), cross64(linear[2], linear[0]), cross64(linear[0], linear[1])];
        let determinant: f64 = (0..3).map(|row| linear[0][row] * cofactors[0][row]).sum();
        let mirrored = determinant < 0.0;
        if mirrored {
            cofactors = cofactors.map(|column| column.map(|x| -x));
        }
        Self { linear, translation: column(3), inverse_transpose: cofactors, mirrored }
    }

    /// Returns the transform with the winding and handedness flipped by `mirrored` instead of the
    /// determinant: for meshes that another matrix, which may mirror as well, transforms later.
    pub fn turning(self, mirrored: bool) -> Self {
        Self { mirrored, ..self }
    }

    /// Returns true if the transform flips winding and handedness.
    pub fn mirrored(&self) -> bool {
        self.mirrored
    }

    /// Transforms positions. A result beyond f32 becomes infinite; the caller checks.
    pub(crate) fn positions(&self, positions: &mut [[f32; 3]]) {
        for position in positions {
            let moved = times(&self.linear, position.map(f64::from));
            *position = std::array::from_fn(|row| (moved[row] + self.translation[row]) as f32);
        }
    }

    /// Transforms and normalises normals; one that becomes zero is unchanged.
    pub(crate) fn normals(&self, normals: &mut [[f32; 3]]) {
        for normal in normals {
            let turned = unit64(times(&self.inverse_transpose, normal.map(f64::from)));
            if turned != [0.0; 3] {
                *normal = turned;
            }
        }
    }

    /// Transforms and normalises tangents, with the handedness (the fourth component) of the result.
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

    /// Transforms displacements of positions.
    pub(crate) fn displacements(&self, deltas: &mut [[f32; 3]]) {
        for delta in deltas {
            *delta = times(&self.linear, delta.map(f64::from)).map(|v| v as f32);
        }
    }

    /// Transforms displacements of these unit normals so that for any weight the blend of the transformed ones has the
    /// direction of the transformed blend; that of a normal that becomes zero is unchanged.
    pub(crate) fn normal_displacements(&self, normals: &[[f32; 3]], deltas: &mut [[f32; 3]]) {
        for (delta, normal) in deltas.iter_mut().zip(normals) {
            *delta = relative(&self.inverse_transpose, *normal, *delta);
        }
    }

    /// Transforms displacements of these unit tangents, as [`Self::normal_displacements`] does.
    pub(crate) fn tangent_displacements(&self, tangents: &[[f32; 4]], deltas: &mut [[f32; 3]]) {
        for (delta, &[x, y, z, _]) in deltas.iter_mut().zip(tangents) {
            *delta = relative(&self.linear, [x, y, z], *delta);
        }
    }

    /// Flips the winding of triangles if the matrix mirrors.
    pub(crate) fn winding(&self, indices: &mut [u32]) {
        if self.mirrored {
            for triangle in indices.as_chunks_mut::<3>().0 {
                triangle.swap(1, 2);
            }
        }
    }
}

/// Returns a transformed displacement, divided by the length that the transform gives to its base.
fn relative(columns: &[[f64; 3]; 3], base: [f32; 3], delta: [f32; 3]) -> [f32; 3] {
    let [x, y, z] = times(columns, base.map(f64::from));
    let length = (x * x + y * y + z * z).sqrt();
    match length > 0.0 && length.is_finite() {
        true => times(columns, delta.map(f64::from)).map(|v| (v / length) as f32),
        false => delta,
    }
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
    fn mirroring_keeps_front_faces_outside() {
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
    fn zero_scale_keeps_normals() {
        let mut scale = [0.0; 16];
        (scale[0], scale[5], scale[15]) = (2.0, 2.0, 1.0);
        let mut normals = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]];
        Transform::new(&scale).normals(&mut normals);
        assert_eq!(normals, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
    }

    proptest! {
        /// For any matrix: the face normal by winding agrees with the transformed normal, and the bitangent
        /// of the transformed frame points where the matrix sends the old bitangent.
        #[test]
        fn winding_normal_and_handedness_agree(m in prop::array::uniform9(-2.0f64..2.0), w in prop::bool::ANY) {
            let matrix = [m[0], m[1], m[2], 0.0, m[3], m[4], m[5], 0.0, m[6], m[7], m[8], 0.0, 1.0, 2.0, 3.0, 1.0];
            let linear = [[m[0], m[1], m[2]], [m[3], m[4], m[5]], [m[6], m[7], m[8]]];
            let c = cross64(linear[1], linear[2]);
            let determinant: f64 = (0..3).map(|i| linear[0][i] * c[i]).sum();
            prop_assume!(determinant.abs() > 0.05);
            let t = Transform::new(&matrix);
            prop_assert_eq!(t.mirrored(), determinant < 0.0);

            let w = if w { 1.0 } else { -1.0 };
            let mut positions = [[0.1, 0.2, 0.3], [1.0, 0.5, -0.5], [-0.25, 1.0, 0.75]];
            let normal = unit64(face(positions[0], positions[1], positions[2]));
            let tangent = unit(crate::vector::sub(positions[1], positions[0]));
            let bitangent = cross64(normal.map(f64::from), tangent.map(f64::from)).map(|x| x * f64::from(w));
            let (mut normals, mut tangents) = ([normal], [[tangent[0], tangent[1], tangent[2], w]]);
            let mut indices = [0, 1, 2];
            t.positions(&mut positions);
            t.normals(&mut normals);
            t.tangents(&mut tangents);
            t.winding(&mut indices);

            let [a, b, c] = indices.map(|i: u32| positions[i as usize]);
            prop_assert!(dot(unit64(face(a, b, c)), normals[0]) > 0.999);
            let [x, y, z, sign] = tangents[0];
            let baked: Vec3 = cross64(normals[0].map(f64::from), [x, y, z].map(f64::from)).map(|x| x as f32 * sign);
            let sent = times(&linear, bitangent).map(|x| x as f32);
            prop_assert!(dot(baked, sent) > 0.0);
        }
    }
}
