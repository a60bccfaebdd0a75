//! Vector operations on three floats that the stages share.
//!
//! Written out in a fixed order of operations and without fused multiply-add, so that every platform computes
//! the same bits.

/// A vector of three floats.
pub(crate) type Vec3 = [f32; 3];

/// Returns the difference of two vectors.
#[inline]
pub(crate) fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Returns the sum of two vectors.
#[inline]
pub(crate) fn add(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Returns the vector times a scalar.
#[inline]
pub(crate) fn scale(a: Vec3, by: f32) -> Vec3 {
    [a[0] * by, a[1] * by, a[2] * by]
}

/// Returns the dot product.
#[inline]
pub(crate) fn dot(a: Vec3, b: Vec3) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the cross product.
#[inline]
pub(crate) fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Returns the length of a vector.
#[inline]
pub(crate) fn length(a: Vec3) -> f32 {
    dot(a, a).sqrt()
}

/// Returns the squared distance between two points.
#[inline]
pub(crate) fn square_distance(a: Vec3, b: Vec3) -> f32 {
    let difference = sub(a, b);
    dot(difference, difference)
}

/// Normalises `a`; zero stays zero.
#[inline]
pub(crate) fn unit(a: Vec3) -> Vec3 {
    let length = length(a);
    if length > f32::MIN_POSITIVE { scale(a, 1.0 / length) } else { [0.0; 3] }
}

/// Projects `a` on the plane of the unit vector `normal`.
#[inline]
pub(crate) fn flatten(a: Vec3, normal: Vec3) -> Vec3 {
    sub(a, scale(normal, dot(normal, a)))
}

/// Returns the face normal of a triangle times twice its area. In f64, where neither the smallest nor the
/// largest f32 coordinates underflow or overflow.
#[inline]
pub(crate) fn face(a: Vec3, b: Vec3, c: Vec3) -> [f64; 3] {
    let [a, b, c] = [a, b, c].map(|v| v.map(f64::from));
    let (u, v) = ([b[0] - a[0], b[1] - a[1], b[2] - a[2]], [c[0] - a[0], c[1] - a[1], c[2] - a[2]]);
    cross64(u, v)
}

/// Normalises a f64 vector and rounds it to f32; zero stays zero.
#[inline]
pub(crate) fn unit64(v: [f64; 3]) -> Vec3 {
    let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    if length > 0.0 && length.is_finite() { v.map(|x| (x / length) as f32) } else { [0.0; 3] }
}

/// Returns the cross product of two f64 vectors.
#[inline]
pub(crate) fn cross64(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
