//! Flattening: the curves of a glyph become line segments within a sixty-fourth of a texel.
//!
//! A step of the atlas' eight bits is a twentieth of a texel or more, so the flattening error is not visible,
//! and all later steps work on line segments only. Each segment stores the true directions of its curve at
//! both ends, so that a bend is not mistaken for a corner.

use crate::point::{Point, point};
use read_fonts::model::glyph::outline::PathSink;

/// The maximum distance of a segment from its curve, in texels.
const TOLERANCE: f64 = 1.0 / 64.0;
/// The maximum number of segments of one curve, and of one glyph.
const MAX_CURVE_SEGMENTS: f64 = 256.0;
pub(crate) const MAX_SEGMENTS: usize = 8192;

/// A line segment of an outline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) a: Point,
    pub(crate) b: Point,
    /// The direction of the curve at `a` and at `b`, of unit length.
    pub(crate) leaving: Point,
    pub(crate) arriving: Point,
}

impl Segment {
    pub(crate) fn straight(a: Point, b: Point) -> Segment {
        let along = (b - a).unit();
        Segment { a, b, leaving: along, arriving: along }
    }

    pub(crate) fn reversed(self) -> Segment {
        let back = |direction: Point| direction * -1.0;
        Segment { a: self.b, b: self.a, leaving: back(self.arriving), arriving: back(self.leaving) }
    }

    pub(crate) fn along(&self) -> Point {
        self.b - self.a
    }

    /// Splits the segment at `at`.
    pub(crate) fn cut(self, at: Point) -> (Segment, Segment) {
        let along = self.along().unit();
        (Segment { b: at, arriving: along, ..self }, Segment { a: at, leaving: along, ..self })
    }

    pub(crate) fn low(&self) -> Point {
        point(self.a.x.min(self.b.x), self.a.y.min(self.b.y))
    }

    pub(crate) fn high(&self) -> Point {
        point(self.a.x.max(self.b.x), self.a.y.max(self.b.y))
    }
}

/// A closed sequence of segments: each starts at the end of the previous one.
pub(crate) type Contour = Vec<Segment>;

/// The pen that collects the outline of a glyph.
#[derive(Debug)]
pub(crate) struct Pen {
    scale: f64,
    contours: Vec<Contour>,
    open: Contour,
    start: Point,
    at: Point,
    segments: usize,
    unsound: bool,
}

impl Pen {
    /// Returns a pen for outlines with `scale` texels per font unit.
    pub(crate) fn new(scale: f64) -> Pen {
        let origin = point(0.0, 0.0);
        Pen { scale, contours: vec![], open: vec![], start: origin, at: origin, segments: 0, unsound: false }
    }

    /// Returns the contours; `None` if there are too many segments, or coordinates that are not finite.
    pub(crate) fn finish(mut self) -> Option<Vec<Contour>> {
        self.close();
        (!self.unsound).then_some(self.contours)
    }

    fn place(&mut self, x: f32, y: f32) -> Point {
        self.unsound |= !(x.is_finite() && y.is_finite());
        point(f64::from(x) * self.scale, f64::from(y) * self.scale)
    }

    fn segment(&mut self, segment: Segment) {
        self.segments += 1;
        self.unsound |= self.segments > MAX_SEGMENTS;
        if segment.a != segment.b && !self.unsound {
            self.open.push(segment);
        }
        self.at = segment.b;
    }

    /// Flattens a curve whose middle can be `bend` away from its chord into as many segments as necessary.
    fn curve(&mut self, bend: f64, end: Point, at: impl Fn(f64) -> Point, direction: impl Fn(f64) -> Point) {
        let count = (bend / TOLERANCE).sqrt().ceil().clamp(1.0, MAX_CURVE_SEGMENTS);
        let mut step = 1.0;
        while step <= count && !self.unsound {
            let (from, to) = ((step - 1.0) / count, step / count);
            let b = if step == count { end } else { at(to) };
            let along = (b - self.at).unit();
            // Where control points coincide, a curve has no direction of its own.
            let or_along = |direction: Point| if direction == point(0.0, 0.0) { along } else { direction };
            let (leaving, arriving) = (or_along(direction(from).unit()), or_along(direction(to).unit()));
            self.segment(Segment { a: self.at, b, leaving, arriving });
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
        self.segment(Segment::straight(self.at, end));
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
            // At an end that coincides with its control point, the next one gives the direction.
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
            self.segment(Segment::straight(self.at, self.start));
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

    /// Segments are consecutive and end where they start.
    fn closed(contour: &Contour) -> bool {
        contour.iter().zip(contour.iter().cycle().skip(1)).all(|(segment, next)| segment.b == next.a)
    }

    #[test]
    fn flattened_circle_is_within_tolerance() {
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
        for segment in &contours[0] {
            let middle = segment.a.towards(segment.b, 0.5);
            assert!((middle.len() - 100.0).abs() < TOLERANCE + 0.03, "{}", middle.len());
            assert!(segment.leaving.dot(segment.a).abs() < 0.5, "a tangent is perpendicular to its radius");
        }
    }

    #[test]
    fn flattened_parabola_is_within_tolerance() {
        let mut pen = Pen::new(1.0);
        pen.move_to(-40.0, 40.0);
        pen.quad_to(0.0, -40.0, 40.0, 40.0);
        pen.close();
        let contour = &pen.finish().unwrap()[0];
        assert!(closed(contour));
        for segment in &contour[..contour.len() - 1] {
            let middle = segment.a.towards(segment.b, 0.5);
            let exact = middle.x * middle.x / 40.0;
            assert!(middle.y >= exact && middle.y - exact <= TOLERANCE * 1.001, "{}", middle.y - exact);
        }
    }

    #[test]
    fn closes_open_contours_and_drops_empty_ones() {
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
        assert_eq!(contours[0][2], Segment::straight(point(2.0, 2.0), point(0.0, 0.0)));
    }

    #[test]
    fn rejects_non_finite_points_and_too_many_segments() {
        let mut pen = Pen::new(1.0);
        pen.move_to(0.0, f32::NAN);
        assert!(pen.finish().is_none());
        let mut pen = Pen::new(1.0);
        pen.move_to(0.0, 0.0);
        (0..=MAX_SEGMENTS).for_each(|i| pen.line_to(i as f32, (i % 2) as f32));
        assert!(pen.finish().is_none());
    }
}
