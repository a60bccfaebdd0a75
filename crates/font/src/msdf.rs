//! Multi-channel signed distance field (MSDF): three distances whose median keeps corners sharp.
//!
//! A boundary is split at its corners into edges, and each edge is assigned two of three channels, so that
//! the two edges of a corner share one. A channel holds the distance to its nearest edge, extended straight
//! beyond its ends: around a corner two channels then describe two lines, and the median is where these
//! cross. Where two channels disagree by chance the median would show an artifact; such texels get the plain
//! SDF distance in all three.

use crate::outline::{Contour, Segment};
use crate::point::Point;
use crate::sdf::Frame;

/// The sine of the smallest turn that is a corner, about eight degrees.
const CORNER_SINE: f64 = 0.14;
/// The distance in texels by which the median may be on the wrong side between two texels.
const ARTIFACT_TOLERANCE: f64 = 0.5;

/// The channels of an edge.
type Channels = [bool; 3];

const ALL: Channels = [true; 3];
const PAIRS: [Channels; 3] = [[false, true, true], [true, false, true], [true, true, false]];

/// The segments between two corners.
struct Edge {
    segments: Vec<Segment>,
    channels: Channels,
    /// True if the edge starts and ends at corners, false if it is a closed contour.
    ends: bool,
}

/// Returns three distances for every texel, clamped to `reach`; `plain` is the SDF.
pub(crate) fn distances(frame: &Frame, boundary: &[Contour], plain: &[f64], reach: f64) -> Vec<[f64; 3]> {
    let mut nearest = vec![[Nearest::NONE; 3]; frame.len()];
    for edge in boundary.iter().flat_map(edges) {
        for (i, segment) in edge.segments.iter().enumerate() {
            let (first, last) = (edge.ends && i == 0, edge.ends && i + 1 == edge.segments.len());
            frame.texels_near(segment, reach, |texel, at| {
                let found = Nearest::of(segment, first, last, at);
                for (best, _) in nearest[texel].iter_mut().zip(edge.channels).filter(|(_, on)| *on) {
                    if found.is_before(best) {
                        *best = found;
                    }
                }
            });
        }
    }
    let mut found: Vec<[f64; 3]> = nearest
        .iter()
        .zip(plain)
        .map(|(channels, plain)| channels.map(|best| best.within(reach).unwrap_or(reach.copysign(*plain))))
        .collect();
    correct(frame, &mut found, plain);
    found
}

/// Returns the median of three numbers.
fn median([a, b, c]: [f64; 3]) -> f64 {
    a.min(b).max(a.max(b).min(c))
}

/// The nearest edge of a channel.
#[derive(Clone, Copy)]
struct Nearest {
    squared: f64,
    /// The deviation from perpendicular to the edge: decides between edges that meet in the nearest point.
    slant: f64,
    signed: f64,
}

impl Nearest {
    const NONE: Nearest = Nearest { squared: f64::INFINITY, slant: 0.0, signed: 0.0 };

    fn of(segment: &Segment, first: bool, last: bool, at: Point) -> Nearest {
        let (along, to) = (segment.along(), at - segment.a);
        let share = to.dot(along) / along.dot(along);
        if share > 0.0 && share < 1.0 {
            let signed = along.unit().cross(to);
            return Nearest { squared: signed * signed, slant: 0.0, signed };
        }
        let (to, direction, extends) = match share > 0.0 {
            true => (at - segment.b, segment.arriving, last && (at - segment.b).dot(segment.arriving) > 0.0),
            false => (to, segment.leaving, first && to.dot(segment.leaving) < 0.0),
        };
        let signed = if extends { direction.cross(to) } else { to.len().copysign(direction.cross(to)) };
        Nearest { squared: to.dot(to), slant: to.unit().dot(direction).abs(), signed }
    }

    fn is_before(&self, other: &Nearest) -> bool {
        (self.squared, self.slant) < (other.squared, other.slant)
    }

    fn within(&self, reach: f64) -> Option<f64> {
        (self.squared <= reach * reach).then_some(self.signed)
    }
}

/// Returns the edges of a contour, each with its channels.
fn edges(contour: &Contour) -> Vec<Edge> {
    let is_corner = |i: usize| {
        let (before, after) = (contour[(i + contour.len() - 1) % contour.len()].arriving, contour[i].leaving);
        before.dot(after) <= 0.0 || before.cross(after).abs() > CORNER_SINE
    };
    let corners: Vec<usize> = (0..contour.len()).filter(|&i| is_corner(i)).collect();
    let Some(&start) = corners.first() else {
        return vec![Edge { segments: contour.clone(), channels: ALL, ends: false }];
    };
    let mut turned = contour.clone();
    turned.rotate_left(start);
    if corners.len() == 1 {
        return drop_edges(turned);
    }
    let ends = corners[1..].iter().map(|corner| corner - start).chain([turned.len()]);
    let mut edges = Vec::with_capacity(corners.len());
    let mut from = 0;
    for (i, to) in ends.enumerate() {
        // The last edge meets the first one, so it may not have the same channels.
        let pair = if i + 1 == corners.len() && i % 3 == 0 { 1 } else { i % 3 };
        edges.push(Edge { segments: turned[from..to].to_vec(), channels: PAIRS[pair], ends: true });
        from = to;
    }
    edges
}

/// Splits a contour with a single corner (a drop), at which its only edge would meet itself, into three
/// edges.
fn drop_edges(contour: Contour) -> Vec<Edge> {
    let in_three = |segment: Segment| {
        let (first, rest) = segment.cut(segment.a.towards(segment.b, 1.0 / 3.0));
        let (second, third) = rest.cut(segment.a.towards(segment.b, 2.0 / 3.0));
        [first, second, third]
    };
    let segments: Contour =
        if contour.len() < 3 { contour.into_iter().flat_map(in_three).collect() } else { contour };
    let (a, b) = (segments.len() / 3, segments.len() * 2 / 3);
    let edge = |segments: &[Segment], channels| Edge { segments: segments.to_vec(), channels, ends: true };
    vec![edge(&segments[..a], PAIRS[1]), edge(&segments[a..b], ALL), edge(&segments[b..], PAIRS[2])]
}

/// Replaces texels by the SDF where the median is on the wrong side, at a texel or between it and the next.
fn correct(frame: &Frame, found: &mut [[f64; 3]], plain: &[f64]) {
    let wrong = |median: f64, plain: f64| median.is_sign_negative() != plain.is_sign_negative();
    for (channels, plain) in found.iter_mut().zip(plain) {
        if wrong(median(*channels), *plain) {
            *channels = [*plain; 3];
        }
    }
    let (width, height) = (frame.width as usize, frame.height as usize);
    let mut specks = Vec::new();
    for i in 0..found.len() {
        let (column, row) = (i % width, i / width);
        let right = (column + 1 < width).then_some(i + 1);
        let below = (row + 1 < height).then_some(i + width);
        let diagonal = right.and(below).map(|below| below + 1);
        let other = below.filter(|_| column > 0).map(|below| below - 1);
        for j in [right, below, diagonal, other].into_iter().flatten() {
            if has_artifact((found[i], plain[i]), (found[j], plain[j])) {
                specks.extend([i, j]);
            }
        }
    }
    for i in specks {
        found[i] = [plain[i]; 3];
    }
}

/// Returns true if the median is on the wrong side anywhere between two texels. It can change only where two
/// channels cross.
fn has_artifact((a, plain_a): ([f64; 3], f64), (b, plain_b): ([f64; 3], f64)) -> bool {
    let crosses = |m: usize, n: usize| {
        let (before, after) = (a[m] - a[n], b[m] - b[n]);
        Some(before / (before - after)).filter(|t| *t > 0.0 && *t < 1.0)
    };
    [(0, 1), (0, 2), (1, 2)].into_iter().filter_map(|(m, n)| crosses(m, n)).any(|t| {
        let mix = |from: f64, to: f64| from + (to - from) * t;
        let median = median([mix(a[0], b[0]), mix(a[1], b[1]), mix(a[2], b[2])]);
        let plain = mix(plain_a, plain_b);
        median.is_sign_negative() != plain.is_sign_negative() && plain.abs() > ARTIFACT_TOLERANCE
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::point;
    use crate::sdf;

    fn polygon(corners: &[(f64, f64)]) -> Contour {
        let corner = |i: usize| point(corners[i % corners.len()].0, corners[i % corners.len()].1);
        (0..corners.len()).map(|i| Segment::straight(corner(i), corner(i + 1))).collect()
    }

    #[test]
    fn adjacent_edges_share_one_channel() {
        for corners in 2..9 {
            let turn = |i: usize| std::f64::consts::TAU * i as f64 / corners as f64;
            let around: Vec<_> =
                (0..corners).map(|i| (libm::cos(turn(i)) * 9.0, libm::sin(turn(i)) * 9.0)).collect();
            let edges = edges(&polygon(&around));
            assert_eq!(edges.len(), corners);
            for (edge, next) in edges.iter().zip(edges.iter().cycle().skip(1)) {
                let shared = edge.channels.iter().zip(next.channels).filter(|(a, b)| **a && *b).count();
                assert_eq!(shared, 1, "{corners} corners");
            }
        }
    }

    #[test]
    fn circle_has_one_edge_and_drop_has_three() {
        let turn = |i: f64| std::f64::consts::TAU * i / 100.0;
        let place = |i: f64| point(libm::cos(turn(i)) * 9.0, libm::sin(turn(i)) * 9.0);
        let tangent = |i: f64| place(i).left().unit();
        let arc = |i: i32| {
            let (from, to) = (f64::from(i), f64::from(i + 1));
            Segment { a: place(from), b: place(to), leaving: tangent(from), arriving: tangent(to) }
        };
        let mut circle: Contour = (0..100).map(arc).collect();
        assert_eq!(edges(&circle).len(), 1);
        circle[0].leaving = point(1.0, 0.0);
        let drop = edges(&circle);
        assert_eq!(drop.iter().map(|e| e.segments.len()).collect::<Vec<_>>(), [33, 33, 34]);
        // Two segments suffice for a lens, and one of its ends may be round.
        let lens = vec![
            Segment { leaving: point(0.0, 1.0), ..Segment::straight(point(0.0, 0.0), point(5.0, 0.0)) },
            Segment::straight(point(5.0, 0.0), point(0.0, 0.0)),
        ];
        assert!(edges(&lens).iter().all(|edge| !edge.segments.is_empty()));
    }

    /// The median is the distance to the nearest line of the corner, where the SDF is round.
    #[test]
    fn median_extends_edges_beyond_a_corner() {
        let contours = [polygon(&[(0.0, 0.0), (8.0, 0.0), (8.0, 8.0), (0.0, 8.0)])];
        let frame = Frame::around(&contours, 4).unwrap();
        let plain = sdf::distances(&frame, &contours, &contours, 4.0);
        let multi = distances(&frame, &contours, &plain, 4.0);
        let near_corner = |at: Point| (at.x - 8.0).abs() < 2.0 && (at.y - 8.0).abs() < 2.0;
        let mut seen = 0;
        for row in 0..frame.height {
            for column in 0..frame.width {
                let (at, i) = (frame.centre(column, row), (row * frame.width + column) as usize);
                if near_corner(at) {
                    let exact = (8.0 - at.x).min(8.0 - at.y);
                    assert!((median(multi[i]) - exact).abs() < 1e-9, "{at:?}: {:?}, not {exact}", multi[i]);
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, 16);
    }
}
