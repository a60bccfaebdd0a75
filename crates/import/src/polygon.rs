//! Triangulation of polygons by ear clipping.
//!
//! A polygon of `n` vertices becomes `n - 2` triangles of the same winding that use each of its edges once. The polygon is
//! projected onto the axis-aligned plane that it faces most. A quadrilateral is split along its shorter diagonal or, when
//! it is concave, along the one inside; a polygon that is star-shaped from its first vertex becomes a fan; any other is
//! triangulated by ear clipping. A self-intersecting or degenerate polygon has no correct result, but gets as many
//! triangles.

/// The budget of vertex comparisons for the polygons of a file: beyond it, ears are clipped without a test. Concave
/// polygons of twenty vertices take about as many for each vertex.
const WORK: usize = 1 << 26;
const WORK_PER_CORNER: usize = 64;

/// Triangulates the polygons of a file one by one.
pub(crate) struct Triangulator {
    flat: Vec<[f64; 2]>,
    previous: Vec<u32>,
    next: Vec<u32>,
    reflex: Vec<u32>,
    work_left: usize,
    /// The triangles of the last polygon, as indices of its vertices.
    pub(crate) triangles: Vec<[u32; 3]>,
}

impl Triangulator {
    /// Creates a triangulator with a budget for this number of face vertices.
    pub(crate) fn new(corners: usize) -> Triangulator {
        Triangulator {
            flat: Vec::new(),
            previous: Vec::new(),
            next: Vec::new(),
            reflex: Vec::new(),
            work_left: corners.saturating_mul(WORK_PER_CORNER).saturating_add(WORK),
            triangles: Vec::new(),
        }
    }

    /// Triangulates a polygon. Returns `false` when the budget is exhausted, and triangles may overlap.
    pub(crate) fn triangulate(&mut self, corners: &[[f32; 3]]) -> bool {
        self.triangles.clear();
        let Ok(count) = u32::try_from(corners.len()) else { return false };
        self.project(corners);
        match count {
            0..4 => self.triangles.extend((count == 3).then_some([0, 1, 2])),
            4 => self.split_quadrilateral(corners),
            _ if self.is_fan(count) => self.fan(count),
            _ => return self.clip_ears(count),
        }
        true
    }

    /// Projects a polygon along the axis that it faces most, so that its winding is counter-clockwise.
    fn project(&mut self, corners: &[[f32; 3]]) {
        let normal = newell(corners);
        let sizes = normal.map(f64::abs);
        let axis = (0..3).fold(0, |most, axis| if sizes[axis] > sizes[most] { axis } else { most });
        let (x, y) = ((axis + 1) % 3, (axis + 2) % 3);
        let (x, y) = if normal[axis] < 0.0 { (y, x) } else { (x, y) };
        self.flat.clear();
        self.flat.extend(corners.iter().map(|corner| [f64::from(corner[x]), f64::from(corner[y])]));
    }

    fn area(&self, a: u32, b: u32, c: u32) -> f64 {
        area(&self.flat, a, b, c)
    }

    fn split_quadrilateral(&mut self, corners: &[[f32; 3]]) {
        let length = |a: usize, b: usize| {
            let along = |axis| f64::from(corners[a][axis]) - f64::from(corners[b][axis]);
            (0..3).map(|axis| along(axis) * along(axis)).sum::<f64>()
        };
        // The diagonal through a reflex vertex is the one inside. Both of its triangles have the right winding.
        let even = self.area(0, 1, 2).min(self.area(0, 2, 3));
        let odd = self.area(1, 2, 3).min(self.area(1, 3, 0));
        let is_even = if even > 0.0 && odd > 0.0 { length(0, 2) <= length(1, 3) } else { even >= odd };
        self.triangles.extend(if is_even { [[0, 1, 2], [0, 2, 3]] } else { [[1, 2, 3], [1, 3, 0]] });
    }

    /// Returns `true` if the polygon is star-shaped from its first vertex.
    fn is_fan(&self, count: u32) -> bool {
        (1..count - 1).all(|corner| self.area(0, corner, corner + 1) > 0.0)
    }

    fn fan(&mut self, count: u32) {
        self.triangles.extend((1..count - 1).map(|corner| [0, corner, corner + 1]));
    }

    fn clip_ears(&mut self, count: u32) -> bool {
        self.previous.clear();
        self.previous.extend((0..count).map(|corner| (corner + count - 1) % count));
        self.next.clear();
        self.next.extend((0..count).map(|corner| (corner + 1) % count));
        // Only reflex vertices can be inside an ear, and clipping never creates new ones.
        let around = |corner: u32| self.area((corner + count - 1) % count, corner, (corner + 1) % count);
        self.reflex = (0..count).filter(|&corner| around(corner) <= 0.0).collect();
        let (mut corner, mut left, mut since) = (0, count, 0);
        while left > 3 {
            let (before, after) = (self.previous[corner as usize], self.next[corner as usize]);
            let cost = self.reflex.len() + 1;
            // After a round without an ear there is none: clip whatever vertex is next.
            if since > left || self.work_left < cost || self.is_ear(before, corner, after) {
                self.triangles.push([before, corner, after]);
                self.next[before as usize] = after;
                self.previous[after as usize] = before;
                let (previous, next, flat) = (&self.previous, &self.next, &self.flat);
                let still =
                    |corner: u32| area(flat, previous[corner as usize], corner, next[corner as usize]) <= 0.0;
                let is_beside = |corner: u32| corner == before || corner == after;
                if self.work_left >= cost {
                    self.reflex.retain(|&other| other != corner && (!is_beside(other) || still(other)));
                }
                left -= 1;
                since = 0;
                // Advancing by two vertices avoids slivers around one vertex.
                corner = self.next[after as usize];
            } else {
                corner = after;
                since += 1;
            }
            self.work_left = self.work_left.saturating_sub(cost);
        }
        let (before, after) = (self.previous[corner as usize], self.next[corner as usize]);
        self.triangles.push([before, corner, after]);
        self.work_left > 0
    }

    fn is_ear(&self, a: u32, b: u32, c: u32) -> bool {
        if self.area(a, b, c) <= 0.0 {
            return false;
        }
        let corners = [a, b, c].map(|corner| self.flat[corner as usize]);
        let bound = |axis: usize, pick: fn(f64, f64) -> f64| {
            pick(pick(corners[0][axis], corners[1][axis]), corners[2][axis])
        };
        let [low, high] = [f64::min, f64::max].map(|pick| [bound(0, pick), bound(1, pick)]);
        !self.reflex.iter().any(|&other| {
            let [x, y] = self.flat[other as usize];
            x >= low[0]
                && x <= high[0]
                && y >= low[1]
                && y <= high[1]
                // A vertex at the position of a corner is where two parts of the outline touch.
                && !corners.contains(&[x, y])
                && self.area(a, b, other) >= 0.0
                && self.area(b, c, other) >= 0.0
                && self.area(c, a, other) >= 0.0
        })
    }
}

/// Returns twice the signed area of a triangle; positive when it is counter-clockwise.
fn area(flat: &[[f64; 2]], a: u32, b: u32, c: u32) -> f64 {
    let [a, b, c] = [a, b, c].map(|corner| flat[corner as usize]);
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Returns the normal of a polygon by Newell's method, with twice the area as its length; it need not be planar.
pub(crate) fn newell(corners: &[[f32; 3]]) -> [f64; 3] {
    let Some(&origin) = corners.first() else { return [0.0; 3] };
    // Relative to one vertex, so that distance from the origin costs no precision.
    let at = |corner: [f32; 3]| [0, 1, 2].map(|axis| f64::from(corner[axis]) - f64::from(origin[axis]));
    let mut normal = [0.0; 3];
    for (index, &corner) in corners.iter().enumerate() {
        let (a, b) = (at(corner), at(corners[(index + 1) % corners.len()]));
        for (axis, sum) in normal.iter_mut().enumerate() {
            let (y, z) = ((axis + 1) % 3, (axis + 2) % 3);
            *sum += (a[y] - b[y]) * (a[z] + b[z]);
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn triangulate(corners: &[[f32; 3]]) -> Vec<[u32; 3]> {
        let mut triangulator = Triangulator::new(corners.len());
        assert!(triangulator.triangulate(corners));
        triangulator.triangles
    }

    fn circle(radius: f32, angle: f32) -> [f32; 2] {
        [radius * libm::cosf(angle), radius * libm::sinf(angle)]
    }

    fn length(v: [f64; 3]) -> f64 {
        v.iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    /// Asserts the number of triangles, that every outline edge is used once and every other edge once in each direction,
    /// and that the areas, all of one sign, add up to that of the polygon.
    fn is_exact(corners: &[[f32; 3]]) {
        let triangles = triangulate(corners);
        let count = corners.len() as u32;
        assert_eq!(triangles.len(), corners.len() - 2);
        let mut edges: Vec<[u32; 2]> =
            triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]).collect();
        for corner in 0..count {
            let edge = [corner, (corner + 1) % count];
            let at = edges.iter().position(|&found| found == edge);
            edges.swap_remove(at.unwrap_or_else(|| panic!("{edge:?} is missing in {triangles:?}")));
        }
        for &[a, b] in &edges {
            assert_eq!(edges.iter().filter(|&&edge| edge == [b, a]).count(), 1, "{triangles:?}");
        }
        let whole = newell(corners);
        let mut sum = 0.0;
        for triangle in &triangles {
            let part = newell(&triangle.map(|corner| corners[corner as usize]));
            let along: f64 = (0..3).map(|axis| part[axis] * whole[axis]).sum();
            assert!(along >= -1e-9 * length(whole) * length(whole), "{triangle:?} has the opposite winding");
            sum += length(part);
        }
        assert!((sum - length(whole)).abs() <= 1e-5 * length(whole), "{sum} is not {}", length(whole));
    }

    /// Places 2D points in space so that each axis is the dominant one in turn, in both windings.
    fn in_space(flat: &[[f32; 2]]) -> Vec<Vec<[f32; 3]>> {
        let place = |order: [usize; 3], flip: bool| {
            let mut corners: Vec<[f32; 3]> = flat
                .iter()
                .map(|[x, y]| {
                    let point = [*x, *y, 0.25 * x - 0.5 * y + 3.0];
                    order.map(|axis| point[axis])
                })
                .collect();
            if flip {
                corners.reverse();
            }
            corners
        };
        [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
            .into_iter()
            .flat_map(|o| [place(o, false), place(o, true)])
            .collect()
    }

    fn all_exact(flat: &[[f32; 2]]) {
        for turn in 0..flat.len() {
            let mut turned = flat.to_vec();
            turned.rotate_left(turn);
            in_space(&turned).iter().for_each(|corners| is_exact(corners));
        }
    }

    #[test]
    fn triangulates_known_shapes() {
        all_exact(&[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]);
        all_exact(&[[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]);
        // A dart: only one diagonal is inside.
        all_exact(&[[0.0, 0.0], [2.0, 1.0], [0.0, 2.0], [0.5, 1.0]]);
        // An L, a comb, and a plus.
        all_exact(&[[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 2.0]]);
        let comb: Vec<[f32; 2]> =
            (0..9).map(|i| [i as f32, (i % 2) as f32]).chain([[8.0, -1.0], [0.0, -1.0]]).rev().collect();
        all_exact(&comb);
        let plus =
            [[1, 0], [2, 0], [2, 1], [3, 1], [3, 2], [2, 2], [2, 3], [1, 3], [1, 2], [0, 2], [0, 1], [1, 1]];
        all_exact(&plus.map(|p: [u8; 2]| p.map(f32::from)));
        // A square with a hole, joined by a bridge edge in both directions.
        all_exact(&[
            [0.0, 0.0],
            [4.0, 0.0],
            [4.0, 4.0],
            [0.0, 4.0],
            [0.0, 0.0],
            [1.0, 1.0],
            [1.0, 3.0],
            [3.0, 3.0],
            [3.0, 1.0],
            [1.0, 1.0],
        ]);
        // A spiral.
        let spiral = |i: u32, r: f32| {
            let angle = i as f32 * 0.3;
            circle(r + angle, angle)
        };
        let spiral: Vec<[f32; 2]> =
            (0..40).map(|i| spiral(i, 2.0)).chain((0..40).rev().map(|i| spiral(i, 1.0))).collect();
        all_exact(&spiral);
    }

    #[test]
    fn splits_quadrilaterals_along_the_shorter_diagonal() {
        let kite = [[0.0, 0.0, 0.0], [3.0, -1.0, 0.0], [10.0, 0.0, 0.0], [3.0, 1.0, 0.0]];
        assert_eq!(triangulate(&kite), [[1, 2, 3], [1, 3, 0]]);
        let square = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
        assert_eq!(triangulate(&square), [[0, 1, 2], [0, 2, 3]]);
    }

    #[test]
    fn self_intersecting_polygons_have_as_many_triangles() {
        for corners in [
            vec![[0.0; 3]; 7],
            (0..9).map(|i| [i as f32, 0.0, 0.0]).collect(),
            // A pentagram, and an eight.
            [0, 2, 4, 1, 3]
                .map(|i| circle(1.0, i as f32 * std::f32::consts::TAU / 5.0))
                .map(|[x, y]| [x, y, 0.0])
                .to_vec(),
            vec![[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            vec![
                [f32::MAX, f32::MIN, 0.0],
                [f32::MIN, f32::MAX, 1.0],
                [0.0; 3],
                [f32::MAX; 3],
                [f32::MIN; 3],
            ],
        ] {
            assert_eq!(triangulate(&corners).len(), corners.len() - 2, "{corners:?}");
        }
    }

    #[test]
    fn huge_polygons_terminate() {
        // A comb, in which ears are far apart.
        let corners: Vec<[f32; 3]> = (0..200_000)
            .map(|i| {
                let angle = i as f32 / 200_000.0 * std::f32::consts::TAU;
                let radius = if i % 2 == 0 { 1.0 } else { 100.0 };
                let [x, y] = circle(radius, angle);
                [x, y, 0.0]
            })
            .collect();
        let mut triangulator = Triangulator::new(corners.len());
        triangulator.triangulate(&corners);
        assert_eq!(triangulator.triangles.len(), corners.len() - 2);
    }

    proptest! {
        /// Vertices around a centre at any distance: simple, mostly concave polygons.
        #[test]
        fn star_shaped_polygons_are_exact(radii in prop::collection::vec(0.1f32..10.0, 4..40)) {
            let count = radii.len() as f32;
            let at = |(i, r): (usize, &f32)| {
                let angle = i as f32 / count * std::f32::consts::TAU;
                circle(*r, angle)
            };
            let flat: Vec<[f32; 2]> = radii.iter().enumerate().map(at).collect();
            in_space(&flat).iter().for_each(|corners| is_exact(corners));
        }

        #[test]
        fn any_vertices_have_a_triangulation(
            corners in prop::collection::vec(prop::array::uniform3(-2i8..3), 3..20),
        ) {
            let corners: Vec<[f32; 3]> = corners.iter().map(|c| c.map(f32::from)).collect();
            prop_assert_eq!(triangulate(&corners).len(), corners.len() - 2);
        }
    }
}
