//! From the curves of a glyph to straight pieces that are nowhere further from them than a sixty-fourth of a texel.
//!
//! A step of the atlas' eight bits is a twentieth of a texel or more, so that this cannot be seen, and everything
//! after it has to do with straight lines only. Each piece knows the true directions of its curve at both ends, so that
//! a bend is not mistaken for a corner.

use crate::point::{Point, point};
use read_fonts::model::glyph::outline::PathSink;

/// How far a piece may be from its curve, in texels.
const TOLERANCE: f64 = 1.0 / 64.0;
/// The most pieces of one curve, and of one glyph.
const MOST_OF_A_CURVE: f64 = 256.0;
pub(crate) const MOST_PIECES: usize = 8192;

/// A straight piece of an outline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Piece {
    pub(crate) a: Point,
    pub(crate) b: Point,
    /// The direction of the curve at `a` and at `b`, of length one.
    pub(crate) leaving: Point,
    pub(crate) arriving: Point,
}

impl Piece {
    pub(crate) fn straight(a: Point, b: Point) -> Piece {
        let along = (b - a).unit();
        Piece { a, b, leaving: along, arriving: along }
    }

    pub(crate) fn reversed(self) -> Piece {
        let back = |direction: Point| direction * -1.0;
        Piece { a: self.b, b: self.a, leaving: back(self.arriving), arriving: back(self.leaving) }
    }

    pub(crate) fn along(&self) -> Point {
        self.b - self.a
    }

    /// The piece up to `at`, and the one from there on.
    pub(crate) fn cut(self, at: Point) -> (Piece, Piece) {
        let along = self.along().unit();
        (Piece { b: at, arriving: along, ..self }, Piece { a: at, leaving: along, ..self })
    }

    pub(crate) fn low(&self) -> Point {
        point(self.a.x.min(self.b.x), self.a.y.min(self.b.y))
    }

    pub(crate) fn high(&self) -> Point {
        point(self.a.x.max(self.b.x), self.a.y.max(self.b.y))
    }
}

/// A closed run of pieces: each starts where the one before it ends.
pub(crate) type Contour = Vec<Piece>;

/// What a glyph draws into.
#[derive(Debug)]
pub(crate) struct Pen {
    scale: f64,
    contours: Vec<Contour>,
    open: Contour,
    start: Point,
    at: Point,
    pieces: usize,
    unsound: bool,
}

impl Pen {
    /// A pen for outlines of which `scale` texels are one unit.
    pub(crate) fn new(scale: f64) -> Pen {
        let origin = point(0.0, 0.0);
        Pen { scale, contours: vec![], open: vec![], start: origin, at: origin, pieces: 0, unsound: false }
    }

    /// The contours; `None` if there are too many pieces, or places that are none.
    pub(crate) fn finish(mut self) -> Option<Vec<Contour>> {
        self.close();
        (!self.unsound).then_some(self.contours)
    }

    fn place(&mut self, x: f32, y: f32) -> Point {
        self.unsound |= !(x.is_finite() && y.is_finite());
        point(f64::from(x) * self.scale, f64::from(y) * self.scale)
    }

    fn piece(&mut self, piece: Piece) {
        self.pieces += 1;
        self.unsound |= self.pieces > MOST_PIECES;
        if piece.a != piece.b && !self.unsound {
            self.open.push(piece);
        }
        self.at = piece.b;
    }

    /// Cuts a curve whose middle can be `bend` away from its chord into as many pieces as it takes.
    fn curve(&mut self, bend: f64, end: Point, at: impl Fn(f64) -> Point, direction: impl Fn(f64) -> Point) {
        let count = (bend / TOLERANCE).sqrt().ceil().clamp(1.0, MOST_OF_A_CURVE);
        let mut step = 1.0;
        while step <= count && !self.unsound {
            let (from, to) = ((step - 1.0) / count, step / count);
            let b = if step == count { end } else { at(to) };
            let along = (b - self.at).unit();
            // Where control points coincide, a curve has no direction of its own.
            let or_along = |direction: Point| if direction == point(0.0, 0.0) { along } else { direction };
            let (leaving, arriving) = (or_along(direction(from).unit()), or_along(direction(to).unit()));
            self.piece(Piece { a: self.at, b, leaving, arriving });
            step += 1.0;
        }
    }
}

impl PathSink for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.close();
        self.start = self.place(x, y);
        self.at = self.start;
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let end = self.place(x, y);
        self.piece(Piece::straight(self.at, end));
    }

    fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
        let (a, c, b) = (self.at, self.place(cx, cy), self.place(x, y));
        let bend = (a - c * 2.0 + b).len() / 4.0;
        let direction = move |t: f64| (c - a).towards(b - c, t);
        self.curve(bend, b, |t| a.towards(c, t).towards(c.towards(b, t), t), direction);
    }

    fn curve_to(&mut self, cx0: f32, cy0: f32, cx1: f32, cy1: f32, x: f32, y: f32) {
        let (a, c, d, b) = (self.at, self.place(cx0, cy0), self.place(cx1, cy1), self.place(x, y));
        let bend = (a - c * 2.0 + d).len().max((c - d * 2.0 + b).len()) * 0.75;
        let direction = move |t: f64| {
            let slope = (c - a).towards(d - c, t).towards((d - c).towards(b - d, t), t);
            // At an end that coincides with its control point, the next one tells the direction.
            match slope == point(0.0, 0.0) {
                true if t < 0.5 => d - a,
                true => b - c,
                false => slope,
            }
        };
        let at = |t: f64| {
            let (ac, cd, db) = (a.towards(c, t), c.towards(d, t), d.towards(b, t));
            ac.towards(cd, t).towards(cd.towards(db, t), t)
        };
        self.curve(bend, b, at, direction);
    }

    fn close(&mut self) {
        if self.at != self.start {
            self.piece(Piece::straight(self.at, self.start));
        }
        let contour = std::mem::take(&mut self.open);
        if contour.len() > 1 {
            self.contours.push(contour);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces follow one another and end where they start.
    fn closed(contour: &Contour) -> bool {
        contour.iter().zip(contour.iter().cycle().skip(1)).all(|(piece, next)| piece.b == next.a)
    }

    #[test]
    fn curves_are_followed_closely() {
        // Cubic quarters of a circle, which are off by 0.03 % of the radius themselves.
        const K: f32 = 0.552_284_8;
        let mut pen = Pen::new(100.0);
        pen.move_to(1.0, 0.0);
        pen.curve_to(1.0, K, K, 1.0, 0.0, 1.0);
        pen.curve_to(-K, 1.0, -1.0, K, -1.0, 0.0);
        pen.curve_to(-1.0, -K, -K, -1.0, 0.0, -1.0);
        pen.curve_to(K, -1.0, 1.0, -K, 1.0, 0.0);
        pen.close();
        let contours = pen.finish().unwrap();
        assert_eq!(contours.len(), 1);
        assert!(closed(&contours[0]) && contours[0].len() < 200, "{}", contours[0].len());
        for piece in &contours[0] {
            let middle = piece.a.towards(piece.b, 0.5);
            assert!((middle.len() - 100.0).abs() < TOLERANCE + 0.03, "{}", middle.len());
            assert!(piece.leaving.dot(piece.a).abs() < 0.5, "a tangent is square to its radius");
        }
    }

    #[test]
    fn a_parabola_is_within_the_tolerance() {
        let mut pen = Pen::new(1.0);
        pen.move_to(-40.0, 40.0);
        pen.quad_to(0.0, -40.0, 40.0, 40.0);
        pen.close();
        let contour = &pen.finish().unwrap()[0];
        assert!(closed(contour));
        for piece in &contour[..contour.len() - 1] {
            let middle = piece.a.towards(piece.b, 0.5);
            let exact = middle.x * middle.x / 40.0;
            assert!(middle.y >= exact && middle.y - exact <= TOLERANCE * 1.001, "{}", middle.y - exact);
        }
    }

    #[test]
    fn what_is_open_is_closed_and_what_is_nothing_is_left_out() {
        let mut pen = Pen::new(2.0);
        pen.move_to(0.0, 0.0);
        pen.line_to(1.0, 0.0);
        pen.line_to(1.0, 1.0);
        pen.move_to(5.0, 5.0);
        pen.line_to(5.0, 5.0);
        pen.close();
        let contours = pen.finish().unwrap();
        assert_eq!(contours.len(), 1);
        assert_eq!(contours[0].len(), 3);
        assert_eq!(contours[0][2], Piece::straight(point(2.0, 2.0), point(0.0, 0.0)));
    }

    #[test]
    fn places_that_are_none_and_endless_outlines_are_refused() {
        let mut pen = Pen::new(1.0);
        pen.move_to(0.0, f32::NAN);
        assert!(pen.finish().is_none());
        let mut pen = Pen::new(1.0);
        pen.move_to(0.0, 0.0);
        (0..=MOST_PIECES).for_each(|i| pen.line_to(i as f32, (i % 2) as f32));
        assert!(pen.finish().is_none());
    }
}
