//! Points and directions of the plane, in texels of the atlas, y up.

use std::ops::{Add, Mul, Sub};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

pub(crate) const fn point(x: f64, y: f64) -> Point {
    Point { x, y }
}

impl Point {
    pub(crate) fn dot(self, other: Point) -> f64 {
        self.x * other.x + self.y * other.y
    }

    /// Positive where `other` points to the left of this.
    pub(crate) fn cross(self, other: Point) -> f64 {
        self.x * other.y - self.y * other.x
    }

    /// A square root is the same on every machine; powers and angles are not, and nothing here needs them.
    pub(crate) fn len(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// Of length one; nothing stays nothing.
    pub(crate) fn unit(self) -> Point {
        match self.len() {
            0.0 => self,
            len => self * (1.0 / len),
        }
    }

    /// A quarter turn to the left.
    pub(crate) fn left(self) -> Point {
        point(-self.y, self.x)
    }

    pub(crate) fn towards(self, other: Point, share: f64) -> Point {
        self + (other - self) * share
    }

    /// Its bits: what it is compared and sorted by.
    pub(crate) fn key(self) -> (u64, u64) {
        // Minus zero is the same place as zero.
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
