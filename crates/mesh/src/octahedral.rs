//! Octahedral encoding of unit vectors in two 16-bit integers.
//!
//! The encoding of `.hmesh` vertices: all arithmetic in f32, components times 32767 rounded half away from
//! zero. A tangent stores its handedness in the lowest bit of x, which moves x by up to one step more. The
//! zero vector has no direction; it is encoded as (0, 0), which decodes to +Z.

use crate::vector::{Vec3, unit};

/// The number of quantisation steps from 0 to 1.
const STEPS: f32 = 32767.0;

/// Encodes a direction. The vector need not have unit length; zero and NaN give (0, 0).
pub fn encode(vector: [f32; 3]) -> [i16; 2] {
    let [x, y, z] = vector;
    let sum = x.abs() + y.abs() + z.abs();
    if !sum.is_finite() && vector.iter().all(|c| c.is_finite()) {
        // Only the sum overflows: a quarter of the vector has the same direction.
        return encode(vector.map(|c| c * 0.25));
    }
    if !(sum > 0.0 && sum.is_finite()) {
        return [0, 0];
    }
    let (x, y, z) = (x / sum, y / sum, z / sum);
    let (u, v) = if z >= 0.0 { (x, y) } else { ((1.0 - y.abs()) * sign(x), (1.0 - x.abs()) * sign(y)) };
    [quantise(u), quantise(v)]
}

/// Encodes a tangent: the direction, and `tangent[3] < 0` as a set bit 0 of x.
pub fn encode_tangent(tangent: [f32; 4]) -> [i16; 2] {
    let [x, y, z, w] = tangent;
    let [u, v] = encode([x, y, z]);
    [(u & !1) | i16::from(w < 0.0), v]
}

/// Decodes a unit vector.
pub fn decode(encoded: [i16; 2]) -> [f32; 3] {
    let [u, v] = encoded.map(|c| f32::from(c) / STEPS);
    let z = 1.0 - u.abs() - v.abs();
    // In the lower hemisphere the corners of the square are folded back.
    let vector: Vec3 =
        if z >= 0.0 { [u, v, z] } else { [(1.0 - v.abs()) * sign(u), (1.0 - u.abs()) * sign(v), z] };
    unit(vector)
}

/// Decodes a tangent, with its handedness (1 or -1) last.
pub fn decode_tangent(encoded: [i16; 2]) -> [f32; 4] {
    let [x, y, z] = decode(encoded);
    [x, y, z, if encoded[0] & 1 == 0 { 1.0 } else { -1.0 }]
}

/// Returns the sign of `x`; 1 for zero of either sign.
fn sign(x: f32) -> f32 {
    if x < 0.0 { -1.0 } else { 1.0 }
}

/// Rounds half away from zero, as `f32::round` does.
fn quantise(x: f32) -> i16 {
    (x.clamp(-1.0, 1.0) * STEPS).round() as i16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::dot;
    use proptest::prelude::*;

    #[test]
    fn matches_documented_vectors() {
        assert_eq!(encode([0.0, 0.0, 1.0]), [0, 0]);
        assert_eq!(encode([0.0, 0.0, -1.0]), [32767, 32767]);
        assert_eq!(encode([-0.0, -0.0, -1.0]), [32767, 32767]);
        assert_eq!(encode([1.0, 0.0, 0.0]), [32767, 0]);
        assert_eq!(encode_tangent([1.0, 0.0, 0.0, -1.0]), [32767, 0]);
        assert_eq!(encode_tangent([-1.0, 0.0, 0.0, 1.0]), [-32768, 0]);
        assert_eq!(encode([0.6, 0.8, 0.0]), [14043, 18724]);
        assert_eq!(encode_tangent([0.6, 0.8, 0.0, 1.0]), [14042, 18724]);
        assert_eq!(encode_tangent([0.6, 0.8, 0.0, 0.0]), [14042, 18724]);
        assert_eq!(encode_tangent([-0.6, 0.8, 0.0, -1.0]), [-14043, 18724]);
        assert_eq!(encode([-0.3, -0.4, -0.866_025_4]), [-24398, -26490]);
    }

    #[test]
    fn zero_and_nan_encode_to_zero() {
        assert_eq!(encode([0.0; 3]), [0, 0]);
        assert_eq!(encode([f32::NAN, 0.0, 1.0]), [0, 0]);
        assert_eq!(encode([f32::INFINITY, 0.0, 0.0]), [0, 0]);
        assert_eq!(encode_tangent([0.0; 4]), [0, 0]);
        assert_eq!(encode_tangent([0.0, 0.0, 0.0, -1.0]), [1, 0]);
        assert_eq!(encode([f32::MAX, f32::MAX, 0.0]), encode([1.0, 1.0, 0.0]));
        assert_eq!(encode([1e-45, 0.0, 0.0]), [32767, 0]);
    }

    proptest! {
        /// Half a step of 1/32767 in each direction moves a point of the octahedron by √6 times that, and
        /// projecting it on the sphere stretches by √3 at most: 6.5e-5. The handedness costs x a step more.
        #[test]
        fn round_trip_error_is_bounded(x in -1.0f32..1.0, y in -1.0f32..1.0, z in -1.0f32..1.0, w in prop::bool::ANY) {
            let vector = unit([x, y, z]);
            prop_assume!(dot(vector, vector) > 0.5);
            let apart = |a: Vec3, b: Vec3| dot(crate::vector::sub(a, b), crate::vector::sub(a, b)).sqrt();
            prop_assert!(apart(decode(encode(vector)), vector) < 7e-5);
            let w = if w { 1.0 } else { -1.0 };
            let [tx, ty, tz, tw] = decode_tangent(encode_tangent([vector[0], vector[1], vector[2], w]));
            prop_assert!(apart([tx, ty, tz], vector) < 1.5e-4);
            prop_assert_eq!(tw, w);
        }
    }
}
