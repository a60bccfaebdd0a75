//! Overlap removal: the boundary of a glyph by the nonzero winding rule.
//!
//! Contours may overlap, nest or share edges; a point is inside when its winding number is not zero. Segments
//! with the inside on both sides would put false edges into the distance field, so they are removed: contours
//! are split at their intersections, and the winding numbers on both sides of each run between two splits are
//! compared once. The remaining runs are joined to closed contours again, with the inside to their left.

use crate::outline::{Contour, Segment};
use crate::point::Point;
use std::collections::{BTreeMap, BTreeSet};

/// The distance in texels below which two points are equal.
const EPSILON: f64 = 1e-7;
/// The offset in texels at which the sides of a segment are sampled.
const SIDE_OFFSET: f64 = 1e-5;
/// The maximum number of intersections of the contours of one glyph.
const MAX_SPLITS: usize = 8192;

/// Returns the boundary of the inside of these contours; `None` if they intersect too often.
pub(crate) fn boundary(contours: &[Contour]) -> Option<Vec<Contour>> {
    let segments: Vec<Segment> = contours.iter().flatten().copied().collect();
    let runs = Splits::of(contours, &segments)?.runs(contours);
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    for run in runs {
        let Some(run) = oriented(run, &segments) else { continue };
        // Of coincident contours, one is enough.
        let run: Contour = run.into_iter().filter(|p| seen.insert((p.a.key(), p.b.key()))).collect();
        if !run.is_empty() {
            kept.push(run);
        }
    }
    Some(join(kept))
}

/// Returns the winding number of a point.
fn winding(segments: &[Segment], at: Point) -> i32 {
    let crossing = |segment: &Segment| {
        let (up, down) =
            (segment.a.y <= at.y && segment.b.y > at.y, segment.b.y <= at.y && segment.a.y > at.y);
        if !up && !down {
            return 0;
        }
        let side = segment.along().cross(at - segment.a);
        i32::from(up && side > 0.0) - i32::from(down && side < 0.0)
    };
    segments.iter().map(crossing).sum()
}

/// Returns the run with the inside to its left, or `None` if both sides are equal.
fn oriented(run: Contour, segments: &[Segment]) -> Option<Contour> {
    let length = |segment: &Segment| segment.along().dot(segment.along());
    let longest = run.iter().max_by(|a, b| length(a).total_cmp(&length(b)))?;
    let middle = longest.a.towards(longest.b, 0.5);
    let aside = longest.along().unit().left() * SIDE_OFFSET;
    match (winding(segments, middle + aside) != 0, winding(segments, middle - aside) != 0) {
        (true, false) => Some(run),
        (false, true) => Some(run.into_iter().rev().map(Segment::reversed).collect()),
        _ => None,
    }
}

/// The split points of segments, and the segments at whose start a run ends.
struct Splits {
    /// By segment: the parameter and the point of each split.
    inside: BTreeMap<usize, Vec<(f64, Point)>>,
    at_start: Vec<bool>,
    count: usize,
}

impl Splits {
    fn of(contours: &[Contour], segments: &[Segment]) -> Option<Splits> {
        let mut next: Vec<usize> = (1..=segments.len()).collect();
        let mut first = 0;
        for contour in contours {
            next[first + contour.len() - 1] = first;
            first += contour.len();
        }
        let mut cuts = Splits { inside: BTreeMap::new(), at_start: vec![false; segments.len()], count: 0 };
        let mut order: Vec<usize> = (0..segments.len()).collect();
        order.sort_by(|&i, &j| segments[i].low().x.total_cmp(&segments[j].low().x));
        for (n, &i) in order.iter().enumerate() {
            let (low, high) = (segments[i].low(), segments[i].high());
            for &j in order[n + 1..].iter().take_while(|&&j| segments[j].low().x <= high.x + EPSILON) {
                if segments[j].low().y > high.y + EPSILON || segments[j].high().y < low.y - EPSILON {
                    continue;
                }
                cuts.meet(segments, &next, i, j);
                if cuts.count > MAX_SPLITS {
                    return None;
                }
            }
        }
        Some(cuts)
    }

    /// Splits two segments where they intersect.
    fn meet(&mut self, segments: &[Segment], next: &[usize], i: usize, j: usize) {
        let (p, q) = (segments[i], segments[j]);
        let (along_p, along_q) = (p.along(), q.along());
        let neighbours = next[i] == j || next[j] == i;
        let turn = along_p.cross(along_q);
        if turn.abs() > EPSILON * along_p.len().max(along_q.len()) {
            let between = q.a - p.a;
            let (t, u) = (between.cross(along_q) / turn, between.cross(along_p) / turn);
            let (near_p, near_q) = (EPSILON / along_p.len(), EPSILON / along_q.len());
            let on_p = t >= -near_p && t <= 1.0 + near_p;
            let on_q = u >= -near_q && u <= 1.0 + near_q;
            // Adjacent segments meet at their joint, and nowhere else.
            if on_p && on_q && !neighbours {
                let ends = [
                    (t <= near_p, p.a),
                    (t >= 1.0 - near_p, p.b),
                    (u <= near_q, q.a),
                    (u >= 1.0 - near_q, q.b),
                ];
                let at = ends.iter().find(|(is, _)| *is).map_or(p.a.towards(p.b, t), |(_, end)| *end);
                self.cut(segments, next, i, at);
                self.cut(segments, next, j, at);
            }
            return;
        }
        // Parallel. Adjacent segments may reverse; otherwise they continue.
        let distance = along_p.unit().cross(q.a - p.a).abs();
        if distance > EPSILON || neighbours && along_p.dot(along_q) > 0.0 {
            return;
        }
        for at in [q.a, q.b] {
            self.cut(segments, next, i, at);
        }
        for at in [p.a, p.b] {
            self.cut(segments, next, j, at);
        }
    }

    /// Splits a segment at a point, if the point is on it.
    fn cut(&mut self, segments: &[Segment], next: &[usize], i: usize, at: Point) {
        let segment = segments[i];
        let along = segment.along();
        let t = (at - segment.a).dot(along) / along.dot(along);
        let near = EPSILON / along.len();
        if t.abs() <= near {
            self.at_start[i] = true;
        } else if (t - 1.0).abs() <= near {
            self.at_start[next[i]] = true;
        } else if t > 0.0 && t < 1.0 {
            self.inside.entry(i).or_default().push((t, at));
            self.count += 1;
        }
    }

    /// Returns the runs between splits; a contour without intersections is one run.
    fn runs(mut self, contours: &[Contour]) -> Vec<Contour> {
        let mut runs = Vec::new();
        let mut first = 0;
        for contour in contours {
            let mut of_contour: Vec<Contour> = vec![vec![]];
            let mut push = |segment: Segment, starts: bool| {
                if starts || of_contour.is_empty() {
                    of_contour.push(vec![]);
                }
                if let Some(run) = of_contour.last_mut().filter(|_| segment.a != segment.b) {
                    run.push(segment);
                }
            };
            for (i, segment) in (first..).zip(contour) {
                let mut cuts = self.inside.remove(&i).unwrap_or_default();
                cuts.sort_by(|a, b| a.0.total_cmp(&b.0));
                let (mut rest, mut starts) = (*segment, self.at_start[i]);
                for (_, at) in cuts {
                    let (before, after) = rest.cut(at);
                    push(before, starts);
                    (rest, starts) = (after, true);
                }
                push(rest, starts);
            }
            // The segments before the first split continue the run that closes the contour.
            if of_contour.len() > 1 {
                let head = of_contour.remove(0);
                if let Some(tail) = of_contour.last_mut() {
                    tail.extend(head);
                }
            }
            runs.extend(of_contour.into_iter().filter(|run| !run.is_empty()));
            first += contour.len();
        }
        runs
    }
}

/// Joins runs to contours: each continues with one that starts at its end.
fn join(runs: Vec<Contour>) -> Vec<Contour> {
    let mut starting: BTreeMap<(u64, u64), Vec<usize>> = BTreeMap::new();
    for (i, run) in runs.iter().enumerate().rev() {
        starting.entry(run[0].a.key()).or_default().push(i);
    }
    let mut left: Vec<Option<Contour>> = runs.into_iter().map(Some).collect();
    let mut contours = Vec::new();
    for i in 0..left.len() {
        let Some(mut contour) = left[i].take() else { continue };
        loop {
            let end = contour[contour.len() - 1].b.key();
            if end == contour[0].a.key() {
                break;
            }
            let Some(candidates) = starting.get_mut(&end) else { break };
            let Some(run) = std::iter::from_fn(|| candidates.pop()).find_map(|i| left[i].take()) else {
                break;
            };
            contour.extend(run);
        }
        contours.push(contour);
    }
    contours
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::point;

    fn polygon(corners: &[(f64, f64)]) -> Contour {
        let corner = |i: usize| point(corners[i % corners.len()].0, corners[i % corners.len()].1);
        (0..corners.len()).map(|i| Segment::straight(corner(i), corner(i + 1))).collect()
    }

    fn square(left: f64, bottom: f64, side: f64) -> Contour {
        let (right, top) = (left + side, bottom + side);
        polygon(&[(left, bottom), (right, bottom), (right, top), (left, top)])
    }

    fn reversed(contour: &Contour) -> Contour {
        contour.iter().rev().map(|segment| segment.reversed()).collect()
    }

    /// Twice the signed area.
    fn area(contours: &[Contour]) -> f64 {
        contours.iter().flatten().map(|segment| segment.a.cross(segment.b)).sum()
    }

    fn closed(contours: &[Contour]) -> bool {
        contours.iter().all(|c| c.iter().zip(c.iter().cycle().skip(1)).all(|(p, next)| p.b == next.a))
    }

    fn of(contours: &[Contour]) -> Vec<Contour> {
        let found = boundary(contours).unwrap();
        assert!(closed(&found), "{found:?}");
        found
    }

    #[test]
    fn single_contour_is_oriented_with_inside_to_the_left() {
        let one = square(1.0, 2.0, 3.0);
        assert_eq!(of(std::slice::from_ref(&one)), std::slice::from_ref(&one));
        assert_eq!(area(&of(&[reversed(&one)])), 18.0);
        assert!(of(&[]).is_empty());
    }

    #[test]
    fn merges_overlapping_contours() {
        let both = of(&[square(0.0, 0.0, 2.0), square(1.0, 1.0, 2.0)]);
        assert_eq!(both.len(), 1);
        assert_eq!((both[0].len(), area(&both)), (8, 14.0));
        // The same for either direction of both, because both sides of a hole would count otherwise.
        assert_eq!(area(&of(&[reversed(&square(0.0, 0.0, 2.0)), reversed(&square(1.0, 1.0, 2.0))])), 14.0);
    }

    #[test]
    fn keeps_holes_and_removes_nested_contours() {
        let (outer, inner) = (square(0.0, 0.0, 9.0), square(3.0, 3.0, 3.0));
        assert_eq!(area(&of(&[outer.clone(), reversed(&inner)])), 2.0 * (81.0 - 9.0));
        assert_eq!(of(&[outer.clone(), inner]), [outer]);
    }

    #[test]
    fn merges_contours_with_shared_edges() {
        let both = of(&[square(0.0, 0.0, 2.0), square(2.0, 0.0, 2.0)]);
        assert_eq!((both.len(), area(&both)), (1, 16.0));
        // Part of an edge, and an edge of each inside the other's.
        let both = of(&[square(0.0, 0.0, 4.0), square(4.0, 1.0, 2.0)]);
        assert_eq!((both.len(), area(&both)), (1, 40.0));
        // Coincident: the same contour twice.
        let both = of(&[square(0.0, 0.0, 2.0), square(0.0, 0.0, 2.0)]);
        assert_eq!((both.len(), area(&both)), (1, 8.0));
    }

    #[test]
    fn self_intersecting_contour_keeps_both_halves() {
        let bow = polygon(&[(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0)]);
        let halves = of(&[bow]);
        assert_eq!(area(&halves), 4.0, "the lower left half is turned around");
    }

    #[test]
    fn removes_contours_without_area() {
        let spike =
            polygon(&[(0.0, 0.0), (4.0, 0.0), (4.0, 2.0), (9.0, 2.0), (4.0, 2.0), (4.0, 4.0), (0.0, 4.0)]);
        let found = of(&[spike]);
        assert_eq!(area(&found), 32.0);
        assert!(found.iter().flatten().all(|segment| segment.high().x <= 4.0), "{found:?}");
    }

    #[test]
    fn rejects_too_many_intersections() {
        let bar = |i: usize, flat: bool| {
            let (at, thick) = (i as f64 * 2.0, 1.0);
            match flat {
                true => polygon(&[(-1.0, at), (999.0, at), (999.0, at + thick), (-1.0, at + thick)]),
                false => polygon(&[(at, -1.0), (at + thick, -1.0), (at + thick, 999.0), (at, 999.0)]),
            }
        };
        let grid: Vec<Contour> = (0..100).flat_map(|i| [bar(i, true), bar(i, false)]).collect();
        assert!(boundary(&grid).is_none());
        let few: Vec<Contour> = (0..10).flat_map(|i| [bar(i, true), bar(i, false)]).collect();
        assert_eq!(area(&of(&few)), 2.0 * (2.0 * 10.0 * 1000.0 - 100.0));
    }
}
