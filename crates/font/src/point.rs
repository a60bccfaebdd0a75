//! Points and vectors of the plane, in texels of the atlas, y up.

use std::ops::{Add, Mul, Sub};

/// A point or vector in texels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// Returns the point with these coordinates.
pub(crate) const fn point(x: f64, y: f64) -> Point {
    Point { x, y }
}

impl Point {
    /// Returns the dot product.
    pub(crate) fn dot(self, other: Point) -> f64 {
        self.x * other.x + self.y * other.y
    }

    /// Returns the cross product: positive if `other` points to the left of this vector.
    pub(crate) fn cross(self, other: Point) -> f64 {
        self.x * other.y - self.y * other.x
    }

    /// Returns the length. A square root is the same on every machine; powers and angles are not, and are not
    /// used.
    pub(crate) fn len(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// Normalises the vector; zero stays zero.
    pub(crate) fn unit(self) -> Point {
        match self.len() {
            0.0 => self,
            len => self * (1.0 / len),
        }
    }

    /// Rotates the vector by 90° to the left.
    pub(crate) fn left(self) -> Point {
        point(-self.y, self.x)
    }

    /// Interpolates linearly towards `other`.
    pub(crate) fn towards(self, other: Point, share: f64) -> Point {
        self + (other - self) * share
    }

    /// Returns the bits for comparing and sorting.
    pub(crate) fn key(self) -> (u64, u64) {
        // -0.0 equals 0.0.
        ((self.x + 0.0).to_bits(), (self.y + 0.0).to_bits())
    }
}

impl Add for Point {
    type Output = Point;

    fn add(self, other: Point) -> Point {
        point(self.x + other.x, self.y + other.y)
    }
}

impl Sub for Point {
    type Output = Point;

    fn sub(self, other: Point) -> Point {
        point(self.x - other.x, self.y - other.y)
    }
}

impl Mul<f64> for Point {
    type Output = Point;

    fn mul(self, by: f64) -> Point {
        point(self.x * by, self.y * by)
    }
}
