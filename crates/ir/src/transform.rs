//! Transforms: translation, rotation and scale (TRS), and affine matrices.
//!
//! Values of sources are kept in `f32`; everything computed is `f64`, because chains of nodes multiply. Only
//! operations that IEEE 754 defines exactly are used, so results are the same on every platform.
//! Vectors are columns, matrices are stored by column, rotations are unit quaternions `x, y, z, w`, and the
//! coordinate system is right-handed.

use std::ops::Mul;

/// A scale, then a rotation, then a translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trs {
    /// The translation, applied last.
    pub translation: [f32; 3],
    /// The rotation, a quaternion `x, y, z, w` of unit length up to rounding; all zeros mean no rotation.
    pub rotation: [f32; 4],
    /// The scale along the axes, applied first. Negative factors mirror.
    pub scale: [f32; 3],
}

impl Trs {
    /// The identity transform.
    pub const IDENTITY: Trs = Trs { translation: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0], scale: [1.0; 3] };

    /// Converts to a matrix.
    pub fn matrix(&self) -> Matrix {
        let rotation = rotation_columns(self.rotation.map(f64::from));
        let column = |axis: usize| {
            let [x, y, z] = rotation[axis].map(|v| v * f64::from(self.scale[axis]));
            [x, y, z, 0.0]
        };
        let [x, y, z] = self.translation.map(f64::from);
        Matrix([column(0), column(1), column(2), [x, y, z, 1.0]])
    }

    /// Returns `true` if all numbers are finite.
    pub fn is_finite(&self) -> bool {
        self.translation.iter().chain(&self.rotation).chain(&self.scale).all(|v| v.is_finite())
    }
}

/// The transform of a node relative to its parent, in the form of the source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transform {
    /// Translation, rotation and scale, which can be animated.
    Trs(Trs),
    /// A matrix, which may shear.
    Matrix(Matrix),
}

impl Transform {
    /// The identity transform.
    pub const IDENTITY: Transform = Transform::Trs(Trs::IDENTITY);

    /// Converts to a matrix.
    pub fn matrix(&self) -> Matrix {
        match self {
            Transform::Trs(trs) => trs.matrix(),
            Transform::Matrix(matrix) => *matrix,
        }
    }

    /// Converts to translation, rotation and scale; see [`Matrix::decompose`] for what is lost.
    pub fn trs(&self) -> Trs {
        match self {
            Transform::Trs(trs) => *trs,
            Transform::Matrix(matrix) => matrix.decompose(),
        }
    }

    /// Returns `true` if all numbers are finite.
    pub fn is_finite(&self) -> bool {
        match self {
            Transform::Trs(trs) => trs.is_finite(),
            Transform::Matrix(matrix) => matrix.is_finite(),
        }
    }
}

/// An affine transform as a column-major 4x4 matrix with the last row 0 0 0 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matrix(pub [[f64; 4]; 4]);

impl Matrix {
    /// The identity transform.
    pub const IDENTITY: Matrix =
        Matrix([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]);

    /// Creates a matrix from sixteen numbers in column-major order.
    pub fn from_columns(values: &[f32; 16]) -> Matrix {
        Matrix(std::array::from_fn(|c| std::array::from_fn(|r| f64::from(values[c * 4 + r]))))
    }

    /// Returns sixteen numbers in column-major order, rounded to `f32`.
    pub fn to_columns(&self) -> [f32; 16] {
        std::array::from_fn(|i| self.0[i / 4][i % 4] as f32)
    }

    /// Transforms a point.
    pub fn point(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let [x, y, z] = [x, y, z].map(f64::from);
        let m = &self.0;
        std::array::from_fn(|r| (m[0][r] * x + m[1][r] * y + m[2][r] * z + m[3][r]) as f32)
    }

    /// Transforms a direction along the surface, such as a tangent. Its length changes with the scale.
    pub fn vector(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let [x, y, z] = [x, y, z].map(f64::from);
        let m = &self.0;
        std::array::from_fn(|r| (m[0][r] * x + m[1][r] * y + m[2][r] * z) as f32)
    }

    /// Returns the normal matrix, which keeps normals perpendicular to the surface and on its outer side: the
    /// cofactors of the linear part, negated when the transform mirrors (the winding of triangles has to be flipped
    /// then too). The length of normals changes.
    pub fn normal_matrix(&self) -> Matrix {
        let [a, b, c] = self.linear();
        let sign = if self.determinant() < 0.0 { -1.0 } else { 1.0 };
        let wide = |[x, y, z]: [f64; 3]| [x * sign, y * sign, z * sign, 0.0];
        Matrix([wide(cross(b, c)), wide(cross(c, a)), wide(cross(a, b)), Matrix::IDENTITY.0[3]])
    }

    /// Returns the determinant of the linear part; negative when the transform mirrors.
    pub fn determinant(&self) -> f64 {
        let [a, b, c] = self.linear();
        dot(a, cross(b, c))
    }

    /// Returns the inverse, or `None` when the matrix is singular or the inverse overflows.
    pub fn inverse(&self) -> Option<Matrix> {
        let [a, b, c] = self.linear();
        let determinant = dot(a, cross(b, c));
        if determinant == 0.0 || !determinant.is_finite() {
            return None;
        }
        // The rows of the inverse are the cofactors over the determinant.
        let rows = [cross(b, c), cross(c, a), cross(a, b)].map(|row| row.map(|v| v / determinant));
        let [x, y, z, _] = self.0[3];
        let moved = rows.map(|row| -dot(row, [x, y, z]));
        let column = |c: usize| [rows[0][c], rows[1][c], rows[2][c], 0.0];
        let inverse = Matrix([column(0), column(1), column(2), [moved[0], moved[1], moved[2], 1.0]]);
        inverse.is_finite().then_some(inverse)
    }

    /// Decomposes into translation, rotation and scale. A transform that mirrors gets a negative scale along x. Shear
    /// cannot be represented: the axes are made orthogonal in turn, x first. Collapsed axes get a scale of zero.
    pub fn decompose(&self) -> Trs {
        let [a, b, c] = self.linear();
        let scale = [a, b, c].map(length);
        // Gram-Schmidt, with an axis that has no direction taken from the others.
        let x = unit(a).unwrap_or_else(|| fallback(b, c));
        let y = unit(reject(b, x)).unwrap_or_else(|| fallback(c, x));
        let z = cross(x, y);
        let mirrored = self.determinant() < 0.0;
        // With x negated and y kept, the third axis of a right-handed system is negated too.
        let (x, z) = if mirrored { (x.map(|v| -v), z.map(|v| -v)) } else { (x, z) };
        let sign = if mirrored { -1.0 } else { 1.0 };
        let [tx, ty, tz, _] = self.0[3];
        Trs {
            translation: [tx, ty, tz].map(|v| v as f32),
            rotation: rotation_of([x, y, z]).map(|v| v as f32),
            scale: [sign * scale[0], scale[1], scale[2]].map(|v| v as f32),
        }
    }

    /// Returns `true` if all numbers are finite.
    pub fn is_finite(&self) -> bool {
        self.0.iter().flatten().all(|v| v.is_finite())
    }

    fn linear(&self) -> [[f64; 3]; 3] {
        [0, 1, 2].map(|c| [self.0[c][0], self.0[c][1], self.0[c][2]])
    }
}

/// The composition that applies `other` first, then `self`.
impl Mul for Matrix {
    type Output = Matrix;

    fn mul(self, other: Matrix) -> Matrix {
        let (a, b) = (&self.0, &other.0);
        Matrix(std::array::from_fn(|c| {
            std::array::from_fn(|r| (0..4).map(|k| a[k][r] * b[c][k]).sum::<f64>())
        }))
    }
}

/// Normalizes a quaternion; a zero or non-finite one becomes the identity.
pub fn normalize(quaternion: [f64; 4]) -> [f64; 4] {
    let length = quaternion.iter().map(|v| v * v).sum::<f64>().sqrt();
    if length > 0.0 && length.is_finite() { quaternion.map(|v| v / length) } else { [0.0, 0.0, 0.0, 1.0] }
}

/// Multiplies quaternions: the rotation that applies `b` first, then `a`.
pub fn rotate(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    let ([ax, ay, az, aw], [bx, by, bz, bw]) = (a, b);
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

/// Returns the columns of the rotation matrix of a quaternion.
fn rotation_columns(quaternion: [f64; 4]) -> [[f64; 3]; 3] {
    let [x, y, z, w] = normalize(quaternion);
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
        [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)],
        [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
}

/// Returns the quaternion of a rotation matrix, given by columns; its `w` is not negative.
fn rotation_of([a, b, c]: [[f64; 3]; 3]) -> [f64; 4] {
    // Of the four squares below, which sum to 4, the largest is at least 1: its root is well conditioned.
    let squares = [1.0 + a[0] - b[1] - c[2], 1.0 - a[0] + b[1] - c[2], 1.0 - a[0] - b[1] + c[2]];
    let trace = 1.0 + a[0] + b[1] + c[2];
    let q = if trace >= 1.0 {
        [b[2] - c[1], c[0] - a[2], a[1] - b[0], trace]
    } else if squares[0] >= squares[1] && squares[0] >= squares[2] {
        [squares[0], a[1] + b[0], c[0] + a[2], b[2] - c[1]]
    } else if squares[1] >= squares[2] {
        [a[1] + b[0], squares[1], b[2] + c[1], c[0] - a[2]]
    } else {
        [c[0] + a[2], b[2] + c[1], squares[2], a[1] - b[0]]
    };
    let q = normalize(q);
    if q[3] < 0.0 { q.map(|v| -v) } else { q }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn length(v: [f64; 3]) -> f64 {
    dot(v, v).sqrt()
}

fn unit(v: [f64; 3]) -> Option<[f64; 3]> {
    let length = length(v);
    (length > 0.0 && length.is_finite()).then(|| v.map(|x| x / length))
}

/// Returns the component of `v` orthogonal to the unit vector `axis`; zero when that is rounding noise.
fn reject(v: [f64; 3], axis: [f64; 3]) -> [f64; 3] {
    let along = dot(v, axis);
    let rest = [0, 1, 2].map(|i| v[i] - along * axis[i]);
    if length(rest) <= 1e-12 * length(v) { [0.0; 3] } else { rest }
}

/// Returns a unit vector orthogonal to both, or to the non-zero one, or any.
fn fallback(b: [f64; 3], c: [f64; 3]) -> [f64; 3] {
    let across = |v: [f64; 3]| {
        let least = (0..3).min_by(|&i, &j| v[i].abs().total_cmp(&v[j].abs())).unwrap_or(0);
        unit(cross(v, std::array::from_fn(|i| if i == least { 1.0 } else { 0.0 })))
    };
    unit(cross(b, c)).or_else(|| across(b)).or_else(|| across(c)).unwrap_or([1.0, 0.0, 0.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rotations about skewed axes, translations, scales with every combination of signs.
    fn samples() -> Vec<Trs> {
        let rotations =
            [[0.0, 0.0, 0.0, 1.0], [0.5, -0.5, 0.5, 0.5], [0.9, 0.1, -0.3, 0.02], [0.0, 1.0, 0.0, 0.0]];
        let mut samples = Vec::new();
        for rotation in rotations {
            let rotation = normalize(rotation).map(|v| v as f32);
            for signs in 0..8 {
                let scale = [0, 1, 2].map(|i| if signs >> i & 1 == 1 { -1.5 } else { 0.5 + i as f32 });
                samples.push(Trs { translation: [1.0, -2.0, 3.5], rotation, scale });
            }
        }
        samples
    }

    fn near(a: Matrix, b: Matrix) {
        for (x, y) in a.0.iter().flatten().zip(b.0.iter().flatten()) {
            assert!((x - y).abs() < 1e-6, "{a:?}\n{b:?}");
        }
    }

    #[test]
    fn a_quarter_turn_about_z_takes_x_to_y() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let trs = Trs { translation: [10.0, 0.0, 0.0], rotation: [0.0, 0.0, half, half], scale: [2.0; 3] };
        let moved = trs.matrix().point([1.0, 0.0, 0.0]);
        for (found, wanted) in moved.iter().zip([10.0, 2.0, 0.0]) {
            assert!((found - wanted).abs() < 1e-6, "{moved:?}");
        }
        assert_eq!(Trs::IDENTITY.matrix(), Matrix::IDENTITY);
        assert_eq!(Trs { rotation: [0.0; 4], ..Trs::IDENTITY }.matrix(), Matrix::IDENTITY);
    }

    #[test]
    fn products_of_quaternions_are_products_of_matrices() {
        for a in samples() {
            for b in samples() {
                let (a, b) = (a.rotation.map(f64::from), b.rotation.map(f64::from));
                let turn = |q: [f64; 4]| Trs { rotation: q.map(|v| v as f32), ..Trs::IDENTITY }.matrix();
                near(turn(rotate(a, b)), turn(a) * turn(b));
            }
        }
    }

    #[test]
    fn decomposition_recomposes_including_mirrors() {
        for trs in samples() {
            let matrix = trs.matrix();
            let parts = matrix.decompose();
            near(parts.matrix(), matrix);
            assert!(parts.rotation[3] >= 0.0);
            let mirrors = trs.scale.iter().filter(|s| **s < 0.0).count() % 2 == 1;
            assert_eq!(matrix.determinant() < 0.0, mirrors);
            assert_eq!(parts.scale[0] < 0.0, mirrors);
            assert!(parts.scale[1] > 0.0 && parts.scale[2] > 0.0);
        }
    }

    #[test]
    fn singular_and_sheared_matrices_decompose_into_finite_values() {
        let zero = [0.0; 4];
        let last = Matrix::IDENTITY.0[3];
        for columns in [
            [zero, zero, zero],
            [[2.0, 0.0, 0.0, 0.0], zero, zero],
            [zero, [0.0, 2.0, 0.0, 0.0], zero],
            [zero, zero, [0.0, 0.0, 3.0, 0.0]],
            [[1.0, 1.0, 0.0, 0.0], [2.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
            [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
        ] {
            let trs = Matrix([columns[0], columns[1], columns[2], last]).decompose();
            assert!(trs.is_finite(), "{trs:?}");
            let length: f32 = trs.rotation.iter().map(|v| v * v).sum();
            assert!((length - 1.0).abs() < 1e-6, "{trs:?}");
        }
        // A collapsed axis loses nothing that scale can represent.
        let flat = Trs { scale: [1.0, 0.0, 2.0], ..samples()[9] };
        near(flat.matrix().decompose().matrix(), flat.matrix());
    }

    #[test]
    fn inverse_times_matrix_is_identity() {
        for trs in samples() {
            let matrix = trs.matrix();
            let inverse = matrix.inverse().unwrap();
            near(inverse * matrix, Matrix::IDENTITY);
            near(matrix * inverse, Matrix::IDENTITY);
        }
        assert_eq!(Trs { scale: [1.0, 0.0, 1.0], ..Trs::IDENTITY }.matrix().inverse(), None);
    }

    #[test]
    fn has_no_inverse_when_it_overflows() {
        let scaled = |scale: f64, x: f64| {
            let [mut a, mut b, mut c, mut d] = Matrix::IDENTITY.0;
            (a[0], b[1], c[2], d[0]) = (scale, scale, scale, x);
            Matrix([a, b, c, d])
        };
        let huge = Trs { scale: [f32::MAX; 3], ..Trs::IDENTITY }.matrix();
        near(huge * huge.inverse().unwrap(), Matrix::IDENTITY);
        // The determinant is infinite though the matrix is finite: cofactors over it would be zeros.
        assert!(scaled(1e110, 0.0).determinant().is_infinite());
        assert_eq!(scaled(1e110, 0.0).inverse(), None);
        assert_eq!(scaled(-1e110, 0.0).inverse(), None);
        assert_eq!(scaled(f64::NAN, 0.0).inverse(), None);
        // The determinant is zero because it underflows.
        assert_eq!(scaled(1e-110, 0.0).inverse(), None);
        // The inverse itself is not finite.
        assert_eq!(scaled(1e-100, 1e250).inverse(), None);
        near(scaled(1e-100, 0.0) * scaled(1e-100, 0.0).inverse().unwrap(), Matrix::IDENTITY);
    }

    #[test]
    fn normal_matrix_keeps_normals_perpendicular_and_outside() {
        for trs in samples() {
            let matrix = trs.matrix();
            let (along, normal) = ([0.6, 0.8, 0.0], [0.8, -0.6, 0.0]);
            let moved = matrix.vector(along).into_iter().zip(matrix.normal_matrix().vector(normal));
            let across: f32 = moved.map(|(a, b)| a * b).sum();
            assert!(across.abs() < 1e-5, "{trs:?} {across}");
            // Of a counter-clockwise triangle in the plane of x and y, seen from z; a mirror flips the winding.
            let [a, b] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].map(|v| matrix.vector(v).map(f64::from));
            let face = if matrix.determinant() < 0.0 { cross(b, a) } else { cross(a, b) };
            let kept = matrix.normal_matrix().vector([0.0, 0.0, 1.0]).map(f64::from);
            assert!(dot(face, kept) > 0.0, "{trs:?}");
        }
    }

    #[test]
    fn columns_round_trip() {
        let values: [f32; 16] = std::array::from_fn(|i| i as f32 * 0.25 - 1.0);
        assert_eq!(Matrix::from_columns(&values).to_columns(), values);
        assert_eq!(Matrix::from_columns(&values).0[3][0], 2.0);
    }
}
