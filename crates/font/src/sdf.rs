//! Signed distance field (SDF): the distance of each texel of a glyph's box from its outline, positive
//! inside.
//!
//! Every segment visits only the texels around it, so the work grows with the length of the outline. The sign
//! of a texel is its winding number by the nonzero rule, which rounding of distances cannot change.

use crate::outline::{Contour, Segment};
use crate::point::{Point, point};

/// The box of a glyph in the plane, in texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) left: i32,
    pub(crate) bottom: i32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Frame {
    /// Returns the box around an outline, with `margin` texels on each side; `None` without an outline.
    pub(crate) fn around(contours: &[Contour], margin: u32) -> Option<Frame> {
        let mut segments = contours.iter().flatten();
        let first = segments.next()?;
        let (low, high) = segments.fold((first.low(), first.high()), |(low, high), segment| {
            let (a, b) = (segment.low(), segment.high());
            (point(low.x.min(a.x), low.y.min(a.y)), point(high.x.max(b.x), high.y.max(b.y)))
        });
        let margin = f64::from(margin);
        let (left, bottom) = (low.x.floor() - margin, low.y.floor() - margin);
        let (right, top) = (high.x.ceil() + margin, high.y.ceil() + margin);
        Some(Frame {
            left: left as i32,
            bottom: bottom as i32,
            // Casts saturate, and the caller rejects a box that is too large.
            width: (right - left) as u32,
            height: (top - bottom) as u32,
        })
    }

    /// Returns the number of texels.
    pub(crate) fn len(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Returns the centre of a texel; rows go down.
    pub(crate) fn centre(&self, column: u32, row: u32) -> Point {
        point(f64::from(self.left) + f64::from(column) + 0.5, self.row_y(row))
    }

    fn row_y(&self, row: u32) -> f64 {
        f64::from(self.bottom) + f64::from(self.height - row) - 0.5
    }

    /// Calls `each` with the index and centre of every texel within `reach` of the bounding box of a segment.
    pub(crate) fn texels_near(&self, segment: &Segment, reach: f64, mut each: impl FnMut(usize, Point)) {
        let (low, high) = (segment.low(), segment.high());
        let top = f64::from(self.bottom) + f64::from(self.height);
        let span = |from: f64, to: f64, most: u32| {
            let from = (from - reach - 0.5).ceil().clamp(0.0, f64::from(most));
            (from as u32, (to + reach - 0.5).floor().clamp(-1.0, f64::from(most) - 1.0))
        };
        let left = f64::from(self.left);
        let (first_column, last_column) = span(low.x - left, high.x - left, self.width);
        let (first_row, last_row) = span(top - high.y, top - low.y, self.height);
        for row in first_row..(last_row + 1.0) as u32 {
            for column in first_column..(last_column + 1.0) as u32 {
                each((row * self.width + column) as usize, self.centre(column, row));
            }
        }
    }
}

/// Returns for each texel whether its centre is inside.
fn inside(frame: &Frame, contours: &[Contour]) -> Vec<bool> {
    let mut crossings: Vec<Vec<(f64, i32)>> = vec![vec![]; frame.height as usize];
    for segment in contours.iter().flatten() {
        let (low, high) = (segment.low().y, segment.high().y);
        let top = f64::from(frame.bottom) + f64::from(frame.height);
        let first = (top - high - 1.0).floor().max(0.0) as u32;
        let last = ((top - low + 1.0).ceil().max(0.0) as u32).min(frame.height);
        for row in first..last {
            let y = frame.row_y(row);
            if (segment.a.y <= y) != (segment.b.y <= y) {
                let x = segment.a.x
                    + (y - segment.a.y) / (segment.b.y - segment.a.y) * (segment.b.x - segment.a.x);
                crossings[row as usize].push((x, if segment.a.y <= y { 1 } else { -1 }));
            }
        }
    }
    let mut inside = Vec::with_capacity(frame.len());
    for (row, mut crossings) in (0..).zip(crossings) {
        crossings.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut crossings = crossings.into_iter().peekable();
        let mut winding = 0;
        for column in 0..frame.width {
            let x = frame.centre(column, row).x;
            while let Some((_, turn)) = crossings.next_if(|(at, _)| *at <= x) {
                winding += turn;
            }
            inside.push(winding != 0);
        }
    }
    inside
}

/// Returns the squared distance of a point from a segment.
fn squared(segment: &Segment, at: Point) -> f64 {
    let (along, to) = (segment.along(), at - segment.a);
    let share = (to.dot(along) / along.dot(along)).clamp(0.0, 1.0);
    let off = to - along * share;
    off.dot(off)
}

/// Returns the signed distance of every texel, top row first, clamped to `reach`: to the nearest segment of
/// the boundary, negative outside the contours.
pub(crate) fn distances(frame: &Frame, contours: &[Contour], boundary: &[Contour], reach: f64) -> Vec<f64> {
    let mut nearest = vec![reach * reach; frame.len()];
    for segment in boundary.iter().flatten() {
        frame.texels_near(segment, reach, |i, at| nearest[i] = nearest[i].min(squared(segment, at)));
    }
    let signed = |(squared, inside): (f64, bool)| if inside { squared.sqrt() } else { -squared.sqrt() };
    nearest.into_iter().zip(inside(frame, contours)).map(signed).collect()
}

/// Quantises a distance to a byte: the edge is a half, and a distance of `reach` is 0 or 1.
pub(crate) fn quantise(distance: f64, reach: f64) -> u8 {
    let value = (0.5 + distance / (2.0 * reach)).clamp(0.0, 1.0);
    (value * 255.0 + 0.5) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polygon(corners: &[(f64, f64)]) -> Contour {
        let corner = |i: usize| point(corners[i % corners.len()].0, corners[i % corners.len()].1);
        (0..corners.len()).map(|i| Segment::straight(corner(i), corner(i + 1))).collect()
    }

    #[test]
    fn box_contains_outline_and_margin() {
        let contour = polygon(&[(0.5, -1.25), (3.0, 0.0), (1.0, 4.5)]);
        let frame = Frame::around(&[contour], 2).unwrap();
        assert_eq!(frame, Frame { left: -2, bottom: -4, width: 7, height: 11 });
        assert_eq!(frame.centre(0, 0), point(-1.5, 6.5));
        assert_eq!(frame.centre(6, 10), point(4.5, -3.5));
        assert_eq!(Frame::around(&[], 2), None);
    }

    #[test]
    fn distances_to_a_square_are_exact() {
        let contours = [polygon(&[(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)])];
        let frame = Frame::around(&contours, 3).unwrap();
        let found = distances(&frame, &contours, &contours, 3.0);
        for row in 0..frame.height {
            for column in 0..frame.width {
                let at = frame.centre(column, row);
                let outside = point((at.x - 2.0).abs() - 2.0, (at.y - 2.0).abs() - 2.0);
                let exact = match outside.x.max(outside.y) {
                    inner if inner < 0.0 => -inner,
                    _ => -point(outside.x.max(0.0), outside.y.max(0.0)).len(),
                };
                let found = found[(row * frame.width + column) as usize];
                assert!((found - exact.max(-3.0)).abs() < 1e-12, "{at:?}: {found}, not {exact}");
            }
        }
    }

    #[test]
    fn edge_quantises_to_the_middle() {
        assert_eq!([-9.0, -6.0, 0.0, 6.0, 9.0].map(|d| quantise(d, 6.0)), [0, 0, 128, 255, 255]);
        for d in -60..60 {
            let exact = f64::from(d) / 10.0;
            let back = (f64::from(quantise(exact, 6.0)) / 255.0 - 0.5) * 12.0;
            assert!((back - exact).abs() <= 12.0 / 255.0 / 2.0 + 1e-9);
        }
    }
}
