//! The true boundary of a glyph: where one side is ink and the other is not.
//!
//! Contours may overlap, lie in one another or run along each other; a place is ink when they wind around it. Pieces
//! between two inks would put false edges into the distances, so they are left out: contours are cut where they meet,
//! and of each run between two cuts the sides are compared once. What is left is joined to closed contours again, with
//! the ink to their left.

use crate::outline::{Contour, Piece};
use crate::point::Point;
use std::collections::{BTreeMap, BTreeSet};

/// Nearer than this, in texels, two places are one.
const SAME: f64 = 1e-7;
/// How far beside a piece its sides are looked at.
const BESIDE: f64 = 1e-5;
/// The most places where contours of one glyph may meet.
const MOST_CUTS: usize = 8192;

/// The boundary of what these contours wind around; `None` if they meet far too often.
pub(crate) fn boundary(contours: &[Contour]) -> Option<Vec<Contour>> {
    let pieces: Vec<Piece> = contours.iter().flatten().copied().collect();
    let runs = Cuts::of(contours, &pieces)?.runs(contours);
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    for run in runs {
        let Some(run) = inked(run, &pieces) else { continue };
        // Of contours that run along each other, one is enough.
        let run: Contour = run.into_iter().filter(|p| seen.insert((p.a.key(), p.b.key()))).collect();
        if !run.is_empty() {
            kept.push(run);
        }
    }
    Some(join(kept))
}

/// How often the contours wind around a place.
fn winding(pieces: &[Piece], at: Point) -> i32 {
    let crossing = |piece: &Piece| {
        let (up, down) = (piece.a.y <= at.y && piece.b.y > at.y, piece.b.y <= at.y && piece.a.y > at.y);
        if !up && !down {
            return 0;
        }
        let side = piece.along().cross(at - piece.a);
        i32::from(up && side > 0.0) - i32::from(down && side < 0.0)
    };
    pieces.iter().map(crossing).sum()
}

/// The run with the ink to its left, or `None` when both its sides are the same.
fn inked(run: Contour, pieces: &[Piece]) -> Option<Contour> {
    let length = |piece: &Piece| piece.along().dot(piece.along());
    let longest = run.iter().max_by(|a, b| length(a).total_cmp(&length(b)))?;
    let middle = longest.a.towards(longest.b, 0.5);
    let aside = longest.along().unit().left() * BESIDE;
    match (winding(pieces, middle + aside) != 0, winding(pieces, middle - aside) != 0) {
        (true, false) => Some(run),
        (false, true) => Some(run.into_iter().rev().map(Piece::reversed).collect()),
        _ => None,
    }
}

/// Where pieces are cut, and at which of their starts a run ends.
struct Cuts {
    /// By piece: how far along, and where.
    inside: BTreeMap<usize, Vec<(f64, Point)>>,
    at_start: Vec<bool>,
    count: usize,
}

impl Cuts {
    fn of(contours: &[Contour], pieces: &[Piece]) -> Option<Cuts> {
        let mut next: Vec<usize> = (1..=pieces.len()).collect();
        let mut first = 0;
        for contour in contours {
            next[first + contour.len() - 1] = first;
            first += contour.len();
        }
        let mut cuts = Cuts { inside: BTreeMap::new(), at_start: vec![false; pieces.len()], count: 0 };
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by(|&i, &j| pieces[i].low().x.total_cmp(&pieces[j].low().x));
        for (n, &i) in order.iter().enumerate() {
            let (low, high) = (pieces[i].low(), pieces[i].high());
            for &j in order[n + 1..].iter().take_while(|&&j| pieces[j].low().x <= high.x + SAME) {
                if pieces[j].low().y > high.y + SAME || pieces[j].high().y < low.y - SAME {
                    continue;
                }
                cuts.meet(pieces, &next, i, j);
                if cuts.count > MOST_CUTS {
                    return None;
                }
            }
        }
        Some(cuts)
    }

    /// Cuts two pieces where they meet.
    fn meet(&mut self, pieces: &[Piece], next: &[usize], i: usize, j: usize) {
        let (p, q) = (pieces[i], pieces[j]);
        let (along_p, along_q) = (p.along(), q.along());
        let neighbours = next[i] == j || next[j] == i;
        let turn = along_p.cross(along_q);
        if turn.abs() > SAME * along_p.len().max(along_q.len()) {
            let between = q.a - p.a;
            let (t, u) = (between.cross(along_q) / turn, between.cross(along_p) / turn);
            let (near_p, near_q) = (SAME / along_p.len(), SAME / along_q.len());
            let on_p = t >= -near_p && t <= 1.0 + near_p;
            let on_q = u >= -near_q && u <= 1.0 + near_q;
            // Neighbours meet where they are joined, and nowhere else.
            if on_p && on_q && !neighbours {
                let ends = [
                    (t <= near_p, p.a),
                    (t >= 1.0 - near_p, p.b),
                    (u <= near_q, q.a),
                    (u >= 1.0 - near_q, q.b),
                ];
                let at = ends.iter().find(|(is, _)| *is).map_or(p.a.towards(p.b, t), |(_, end)| *end);
                self.cut(pieces, next, i, at);
                self.cut(pieces, next, j, at);
            }
            return;
        }
        // Side by side. Neighbours may go back the way they came, otherwise they go on.
        let apart = along_p.unit().cross(q.a - p.a).abs();
        if apart > SAME || neighbours && along_p.dot(along_q) > 0.0 {
            return;
        }
        for at in [q.a, q.b] {
            self.cut(pieces, next, i, at);
        }
        for at in [p.a, p.b] {
            self.cut(pieces, next, j, at);
        }
    }

    /// Cuts a piece at a place, if that lies on it.
    fn cut(&mut self, pieces: &[Piece], next: &[usize], i: usize, at: Point) {
        let piece = pieces[i];
        let along = piece.along();
        let t = (at - piece.a).dot(along) / along.dot(along);
        let near = SAME / along.len();
        if t.abs() <= near {
            self.at_start[i] = true;
        } else if (t - 1.0).abs() <= near {
            self.at_start[next[i]] = true;
        } else if t > 0.0 && t < 1.0 {
            self.inside.entry(i).or_default().push((t, at));
            self.count += 1;
        }
    }

    /// The pieces between cuts; a contour that meets nothing is one run.
    fn runs(mut self, contours: &[Contour]) -> Vec<Contour> {
        let mut runs = Vec::new();
        let mut first = 0;
        for contour in contours {
            let mut of_contour: Vec<Contour> = vec![vec![]];
            let mut push = |piece: Piece, starts: bool| {
                if starts || of_contour.is_empty() {
                    of_contour.push(vec![]);
                }
                if let Some(run) = of_contour.last_mut().filter(|_| piece.a != piece.b) {
                    run.push(piece);
                }
            };
            for (i, piece) in (first..).zip(contour) {
                let mut cuts = self.inside.remove(&i).unwrap_or_default();
                cuts.sort_by(|a, b| a.0.total_cmp(&b.0));
                let (mut rest, mut starts) = (*piece, self.at_start[i]);
                for (_, at) in cuts {
                    let (before, after) = rest.cut(at);
                    push(before, starts);
                    (rest, starts) = (after, true);
                }
                push(rest, starts);
            }
            // What comes before the first cut goes on where the contour closes.
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

/// Joins runs to contours: each goes on with one that starts where it ends.
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
        (0..corners.len()).map(|i| Piece::straight(corner(i), corner(i + 1))).collect()
    }

    fn square(left: f64, bottom: f64, side: f64) -> Contour {
        let (right, top) = (left + side, bottom + side);
        polygon(&[(left, bottom), (right, bottom), (right, top), (left, top)])
    }

    fn reversed(contour: &Contour) -> Contour {
        contour.iter().rev().map(|piece| piece.reversed()).collect()
    }

    /// Twice the area to the left.
    fn area(contours: &[Contour]) -> f64 {
        contours.iter().flatten().map(|piece| piece.a.cross(piece.b)).sum()
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
    fn a_contour_alone_stays_and_has_its_ink_to_the_left() {
        let one = square(1.0, 2.0, 3.0);
        assert_eq!(of(std::slice::from_ref(&one)), std::slice::from_ref(&one));
        assert_eq!(area(&of(&[reversed(&one)])), 18.0);
        assert!(of(&[]).is_empty());
    }

    #[test]
    fn overlapping_contours_become_one() {
        let both = of(&[square(0.0, 0.0, 2.0), square(1.0, 1.0, 2.0)]);
        assert_eq!(both.len(), 1);
        assert_eq!((both[0].len(), area(&both)), (8, 14.0));
        // The same whichever way either runs, because both sides of a hole would count otherwise.
        assert_eq!(area(&of(&[reversed(&square(0.0, 0.0, 2.0)), reversed(&square(1.0, 1.0, 2.0))])), 14.0);
    }

    #[test]
    fn holes_stay_and_islands_in_ink_go() {
        let (outer, inner) = (square(0.0, 0.0, 9.0), square(3.0, 3.0, 3.0));
        assert_eq!(area(&of(&[outer.clone(), reversed(&inner)])), 2.0 * (81.0 - 9.0));
        assert_eq!(of(&[outer.clone(), inner]), [outer]);
    }

    #[test]
    fn contours_that_share_an_edge_are_one() {
        let both = of(&[square(0.0, 0.0, 2.0), square(2.0, 0.0, 2.0)]);
        assert_eq!((both.len(), area(&both)), (1, 16.0));
        // Part of an edge, and an edge of each inside the other's.
        let both = of(&[square(0.0, 0.0, 4.0), square(4.0, 1.0, 2.0)]);
        assert_eq!((both.len(), area(&both)), (1, 40.0));
        // All edges: twice the same.
        let both = of(&[square(0.0, 0.0, 2.0), square(0.0, 0.0, 2.0)]);
        assert_eq!((both.len(), area(&both)), (1, 8.0));
    }

    #[test]
    fn a_contour_that_crosses_itself_keeps_both_halves() {
        let bow = polygon(&[(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0)]);
        let halves = of(&[bow]);
        assert_eq!(area(&halves), 4.0, "the lower left half is turned around");
    }

    #[test]
    fn a_way_there_and_back_is_no_boundary() {
        let spike =
            polygon(&[(0.0, 0.0), (4.0, 0.0), (4.0, 2.0), (9.0, 2.0), (4.0, 2.0), (4.0, 4.0), (0.0, 4.0)]);
        let found = of(&[spike]);
        assert_eq!(area(&found), 32.0);
        assert!(found.iter().flatten().all(|piece| piece.high().x <= 4.0), "{found:?}");
    }

    #[test]
    fn a_thousand_bars_are_too_many() {
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
