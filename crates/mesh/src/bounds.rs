//! Bounding box and bounding sphere of a mesh.
//!
//! The sphere is centred on the box and contains the farthest vertex; it is not the minimal sphere. Its
//! radius is rounded up so that every vertex is inside, whether a reader computes in f32 or exactly.

use crate::vector::Vec3;

/// An axis-aligned bounding box and a bounding sphere around its centre.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The minimum of each coordinate.
    pub min: [f32; 3],
    /// The maximum of each coordinate.
    pub max: [f32; 3],
    /// The centre of the box.
    pub center: [f32; 3],
    /// The distance of the farthest vertex from `center`, rounded up.
    pub radius: f32,
}

impl Bounds {
    /// The bounds of an empty mesh: all zero.
    pub const EMPTY: Self = Self { min: [0.0; 3], max: [0.0; 3], center: [0.0; 3], radius: 0.0 };
}

/// Returns the bounds of finite `positions`; [`Bounds::EMPTY`] if there are none.
pub fn bounds(positions: impl Iterator<Item = [f32; 3]> + Clone) -> Bounds {
    let Some(first) = positions.clone().next() else { return Bounds::EMPTY };
    let (mut min, mut max) = (first, first);
    for position in positions.clone() {
        for axis in 0..3 {
            min[axis] = min[axis].min(position[axis]);
            max[axis] = max[axis].max(position[axis]);
        }
    }
    let center: Vec3 = std::array::from_fn(|axis| 0.5 * min[axis] + 0.5 * max[axis]);
    Bounds { min, max, center, radius: enclosing_radius(center, positions) }
}

/// Returns the smallest f32 radius of a sphere around `center` that contains all `positions`, both exactly
/// and in f32 arithmetic.
pub(crate) fn enclosing_radius(center: Vec3, positions: impl Iterator<Item = Vec3>) -> f32 {
    let (mut narrow, mut wide) = (0.0f32, 0.0f64);
    for position in positions {
        let (mut n, mut w) = (0.0f32, 0.0f64);
        for axis in 0..3 {
            let d = position[axis] - center[axis];
            n += d * d;
            let d = f64::from(position[axis]) - f64::from(center[axis]);
            w += d * d;
        }
        (narrow, wide) = (narrow.max(n), wide.max(w));
    }
    let exact = wide.sqrt();
    let mut radius = exact as f32;
    if f64::from(radius) < exact {
        radius = radius.next_up();
    }
    // Squares of huge distances overflow f32; f32 arithmetic cannot measure those.
    if narrow.is_finite() { radius.max(narrow.sqrt()) } else { radius }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn empty_single_point_and_box() {
        assert_eq!(bounds(std::iter::empty()), Bounds::EMPTY);
        let point = [1.0, -2.0, 3.0];
        assert_eq!(
            bounds([point].into_iter()),
            Bounds { min: point, max: point, center: point, radius: 0.0 }
        );
        let got = bounds([[-1.0, -1.0, -1.0], [3.0, 1.0, 1.0], [1.0, 0.0, 0.0]].into_iter());
        assert_eq!((got.min, got.max, got.center), ([-1.0; 3], [3.0, 1.0, 1.0], [1.0, 0.0, 0.0]));
        assert!((got.radius - 6f32.sqrt()).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn sphere_contains_every_vertex(points in prop::collection::vec(prop::array::uniform3(-1e4f32..1e4), 1..50), scale in -30i32..30) {
            let scale = f32::from_bits(((scale + 127) as u32) << 23);
            let points: Vec<_> = points.iter().map(|p| p.map(|c| c * scale)).collect();
            let b = bounds(points.iter().copied());
            for p in &points {
                let (mut narrow, mut wide) = (0.0f32, 0.0f64);
                for (((&p, center), min), max) in p.iter().zip(b.center).zip(b.min).zip(b.max) {
                    prop_assert!(min <= p && p <= max);
                    narrow += (p - center) * (p - center);
                    wide += (f64::from(p) - f64::from(center)).powi(2);
                }
                prop_assert!(narrow.sqrt() <= b.radius && wide.sqrt() <= f64::from(b.radius));
            }
            // The radius is no larger than rounding requires.
            let square = |p: &[f32; 3]| (0..3).map(|a| (f64::from(p[a]) - f64::from(b.center[a])).powi(2)).sum::<f64>();
            let exact = points.iter().map(square).fold(0.0, f64::max).sqrt();
            prop_assert!(f64::from(b.radius) <= exact * 1.000_001 + 1e-40);
        }
    }
}
