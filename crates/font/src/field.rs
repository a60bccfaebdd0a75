//! Distances: how far each texel of a glyph's box is from its outline, inside positive.
//!
//! Every piece looks at the texels around it and no others, so the work grows with the length of the outline. Which
//! side a texel is on is decided by how often the contours wind around it, which no rounding of distances can upset.

use crate::outline::{Contour, Piece};
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
    /// Around an outline, with `margin` texels on each side; `None` without one.
    pub(crate) fn around(contours: &[Contour], margin: u32) -> Option<Frame> {
        let mut pieces = contours.iter().flatten();
        let first = pieces.next()?;
        let (low, high) = pieces.fold((first.low(), first.high()), |(low, high), piece| {
            let (a, b) = (piece.low(), piece.high());
            (point(low.x.min(a.x), low.y.min(a.y)), point(high.x.max(b.x), high.y.max(b.y)))
        });
        let margin = f64::from(margin);
        let (left, bottom) = (low.x.floor() - margin, low.y.floor() - margin);
        let (right, top) = (high.x.ceil() + margin, high.y.ceil() + margin);
        Some(Frame {
            left: left as i32,
            bottom: bottom as i32,
            // Casts saturate, and whoever asks for the box refuses one that is too large.
            width: (right - left) as u32,
            height: (top - bottom) as u32,
        })
    }

    /// The number of texels.
    pub(crate) fn len(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// The middle of a texel; rows go down.
    pub(crate) fn centre(&self, column: u32, row: u32) -> Point {
        point(f64::from(self.left) + f64::from(column) + 0.5, self.row_y(row))
    }

    fn row_y(&self, row: u32) -> f64 {
        f64::from(self.bottom) + f64::from(self.height - row) - 0.5
    }

    /// Calls `each` with the number and middle of every texel that is within `reach` of the box of a piece.
    pub(crate) fn texels_near(&self, piece: &Piece, reach: f64, mut each: impl FnMut(usize, Point)) {
        let (low, high) = (piece.low(), piece.high());
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

/// For each texel, whether its middle is inside.
fn inside(frame: &Frame, contours: &[Contour]) -> Vec<bool> {
    let mut crossings: Vec<Vec<(f64, i32)>> = vec![vec![]; frame.height as usize];
    for piece in contours.iter().flatten() {
        let (low, high) = (piece.low().y, piece.high().y);
        let top = f64::from(frame.bottom) + f64::from(frame.height);
        let first = (top - high - 1.0).floor().max(0.0) as u32;
        let last = ((top - low + 1.0).ceil().max(0.0) as u32).min(frame.height);
        for row in first..last {
            let y = frame.row_y(row);
            if (piece.a.y <= y) != (piece.b.y <= y) {
                let x = piece.a.x + (y - piece.a.y) / (piece.b.y - piece.a.y) * (piece.b.x - piece.a.x);
                crossings[row as usize].push((x, if piece.a.y <= y { 1 } else { -1 }));
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

/// The squared distance of a place from a piece.
fn squared(piece: &Piece, at: Point) -> f64 {
    let (along, to) = (piece.along(), at - piece.a);
    let share = (to.dot(along) / along.dot(along)).clamp(0.0, 1.0);
    let off = to - along * share;
    off.dot(off)
}

/// The distance of every texel, top row first, cut off at `reach`: to the nearest piece of the boundary, negative
/// outside of the contours.
pub(crate) fn distances(frame: &Frame, contours: &[Contour], boundary: &[Contour], reach: f64) -> Vec<f64> {
    let mut nearest = vec![reach * reach; frame.len()];
    for piece in boundary.iter().flatten() {
        frame.texels_near(piece, reach, |i, at| nearest[i] = nearest[i].min(squared(piece, at)));
    }
    let signed = |(squared, inside): (f64, bool)| if inside { squared.sqrt() } else { -squared.sqrt() };
    nearest.into_iter().zip(inside(frame, contours)).map(signed).collect()
}

/// A distance as a texel has it: half is the edge, `reach` away it is 0 or 1.
pub(crate) fn quantise(distance: f64, reach: f64) -> u8 {
    let value = (0.5 + distance / (2.0 * reach)).clamp(0.0, 1.0);
    (value * 255.0 + 0.5) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polygon(corners: &[(f64, f64)]) -> Contour {
        let corner = |i: usize| point(corners[i % corners.len()].0, corners[i % corners.len()].1);
        (0..corners.len()).map(|i| Piece::straight(corner(i), corner(i + 1))).collect()
    }

    #[test]
    fn boxes_hold_the_outline_and_its_margin() {
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
    fn the_middle_of_the_scale_is_the_edge() {
        assert_eq!([-9.0, -6.0, 0.0, 6.0, 9.0].map(|d| quantise(d, 6.0)), [0, 0, 128, 255, 255]);
        for d in -60..60 {
            let exact = f64::from(d) / 10.0;
            let back = (f64::from(quantise(exact, 6.0)) / 255.0 - 0.5) * 12.0;
            assert!((back - exact).abs() <= 12.0 / 255.0 / 2.0 + 1e-9);
        }
    }
}
