//! The allocation of bytes to textures by marginal quality: the smallest increase of the error per byte that is saved.
//!
//! Only the points on the lower convex hull of a curve are used: between them, the error that a saved byte costs increases
//! from step to step. So all steps of all textures can be taken in the order of that cost until the sum fits, which is the
//! least total error for the sum that is reached.

use super::SizeStep;

/// The size and the error of a texture with one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) step: SizeStep,
    pub(super) bytes: u64,
    /// The sum of the squared errors of all texels.
    pub(super) error: f64,
}

/// The chosen points.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Allocation {
    /// The index of a point of each curve.
    pub(super) chosen: Vec<usize>,
    /// The sum of the sizes.
    pub(super) bytes: u64,
}

/// Chooses a point of each curve so that the sizes sum up to at most `target`, or the smallest sizes if none do.
pub(super) fn allocate(curves: &[&[Point]], target: u64) -> Allocation {
    let hulls: Vec<Vec<usize>> = curves.iter().map(|points| hull(points)).collect();
    let mut chosen: Vec<usize> = hulls.iter().map(|hull| hull.first().copied().unwrap_or(0)).collect();
    let size = |curve: usize, point: usize| curves[curve].get(point).map_or(0, |point| point.bytes);
    let mut bytes: u64 = chosen.iter().enumerate().map(|(curve, point)| size(curve, *point)).sum();
    let mut steps: Vec<(f64, usize, usize)> = Vec::new();
    for (curve, hull) in hulls.iter().enumerate() {
        for (rank, pair) in hull.windows(2).enumerate() {
            steps.push((cost(&curves[curve][pair[0]], &curves[curve][pair[1]]), curve, rank + 1));
        }
    }
    // Equal costs are taken in the order of the curves, and of the steps of one curve.
    steps.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    for (_, curve, rank) in steps {
        if bytes <= target {
            break;
        }
        let next = hulls[curve][rank];
        bytes = bytes - size(curve, chosen[curve]) + size(curve, next);
        chosen[curve] = next;
    }
    Allocation { chosen, bytes }
}

/// Returns the error that each byte costs which a step saves.
fn cost(from: &Point, to: &Point) -> f64 {
    (to.error - from.error) / (from.bytes - to.bytes) as f64
}

/// Returns the points of the lower convex hull, from the least error to the smallest size.
fn hull(points: &[Point]) -> Vec<usize> {
    let by_error = |a: &usize, b: &usize| {
        points[*a].error.total_cmp(&points[*b].error).then(points[*a].bytes.cmp(&points[*b].bytes))
    };
    let mut hull: Vec<usize> = (0..points.len()).min_by(by_error).into_iter().collect();
    while let Some(&last) = hull.last() {
        let smaller = (0..points.len()).filter(|index| points[*index].bytes < points[last].bytes);
        let by_cost = |a: &usize, b: &usize| {
            let [a, b] = [a, b].map(|index| &points[*index]);
            // Of points on one line, the one with the shortest step.
            cost(&points[last], a).total_cmp(&cost(&points[last], b)).then(b.bytes.cmp(&a.bytes))
        };
        match smaller.min_by(by_cost) {
            Some(next) => hull.push(next),
            None => break,
        }
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(u64, f64)]) -> Vec<Point> {
        let point = |(index, (bytes, error)): (usize, &(u64, f64))| Point {
            step: SizeStep { lambda: index as f32, halvings: 0 },
            bytes: *bytes,
            error: *error,
        };
        points.iter().enumerate().map(point).collect()
    }

    /// Returns the least total error within the target, by trying all combinations.
    fn least_error(curves: &[Vec<Point>], target: u64) -> Option<f64> {
        let Some((first, rest)) = curves.split_first() else { return Some(0.0) };
        let tried = first.iter().filter(|point| point.bytes <= target);
        let totals = tried.filter_map(|point| Some(point.error + least_error(rest, target - point.bytes)?));
        totals.min_by(f64::total_cmp)
    }

    #[test]
    fn takes_the_cheapest_steps_until_the_target_is_met() {
        let curves = [
            curve(&[(100, 0.0), (60, 4.0), (30, 20.0), (10, 90.0)]),
            // The second point is above the hull.
            curve(&[(200, 1.0), (190, 50.0), (80, 7.0), (20, 200.0)]),
            // Nothing to choose.
            curve(&[(15, 0.0)]),
        ];
        let slices: Vec<&[Point]> = curves.iter().map(Vec::as_slice).collect();
        assert_eq!(allocate(&slices, 400), Allocation { chosen: vec![0, 0, 0], bytes: 315 });
        assert_eq!(allocate(&slices, 314), Allocation { chosen: vec![0, 2, 0], bytes: 195 });
        let smallest = allocate(&slices, 44);
        assert_eq!(smallest, Allocation { chosen: vec![3, 3, 0], bytes: 45 });
        for target in 45..320 {
            let Allocation { chosen, bytes } = allocate(&slices, target);
            assert!(bytes <= target);
            // No other choice of this sum has a smaller error.
            let error: f64 = chosen.iter().zip(&curves).map(|(point, curve)| curve[*point].error).sum();
            assert_eq!(Some(error), least_error(&curves, bytes), "{target}: {chosen:?}");
        }
    }

    #[test]
    fn empty_and_flat_curves_are_kept() {
        assert_eq!(allocate(&[], 0), Allocation { chosen: vec![], bytes: 0 });
        assert_eq!(allocate(&[&[]], 0), Allocation { chosen: vec![0], bytes: 0 });
        // Equal errors: the smallest size costs nothing.
        let flat = curve(&[(50, 0.0), (40, 0.0), (45, 0.0)]);
        assert_eq!(allocate(&[&flat], 100), Allocation { chosen: vec![1], bytes: 40 });
    }
}
