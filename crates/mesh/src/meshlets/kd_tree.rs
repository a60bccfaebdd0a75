//! A k-d tree for nearest-neighbour queries over points that are removed one by one.
//!
//! A node splits its points across the longest side of their bounding box; a removed point is dropped by the first query
//! that finds it nearest, and a subtree without points is marked as empty.
//!
//! Kiln's own code, because meshoptimizer's tree is private to its meshlet builder and cannot be queried from
//! outside, and a crate would be one more dependency for some 90 lines in which equal distances have to be
//! decided by index. With 200,000 triangles that share no vertex, so that every step of the builder is a
//! query, all queries together are 9 % of the CPU time of `assetc build`.

use crate::vector::{Vec3, square_distance};

/// The points with their indices, and the tree over them.
pub(super) struct KdTree {
    points: Vec<(u32, Vec3)>,
    /// The root is 0, the children of `n` are `2n + 1` and `2n + 2`; the last row are leaves.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Default)]
struct Node {
    /// The axis of the split; of a leaf the number of its points.
    axis: u8,
    empty: bool,
    at: f32,
}

/// The maximum number of points in a leaf.
const LEAF_POINTS: usize = 8;

impl KdTree {
    /// Builds a tree over those of `points` for which `left` is true.
    pub(super) fn new(points: impl Iterator<Item = Vec3>, left: impl Fn(u32) -> bool) -> Self {
        let mut points: Vec<(u32, Vec3)> = (0..).zip(points).filter(|&(number, _)| left(number)).collect();
        let leaves = points.len().div_ceil(LEAF_POINTS).next_power_of_two();
        let mut nodes = vec![Node::default(); leaves * 2 - 1];
        split(&mut nodes, 0, &mut points);
        Self { points, nodes }
    }

    /// Returns the index of the point nearest to `point` for which `left` is true. A removed point must not
    /// come back.
    pub(super) fn find(&mut self, point: Vec3, left: impl Fn(u32) -> bool) -> Option<u32> {
        let mut search = Search { point, left, apart: f32::INFINITY, found: None };
        search.visit(&mut self.nodes, 0, &mut self.points);
        search.found
    }
}

fn split(nodes: &mut [Node], node: usize, part: &mut [(u32, Vec3)]) {
    if node >= nodes.len() / 2 {
        nodes[node] = Node { axis: part.len() as u8, empty: part.is_empty(), at: 0.0 };
        return;
    }
    let (mut min, mut max) = ([f32::MAX; 3], [f32::MIN; 3]);
    for (_, point) in &*part {
        for axis in 0..3 {
            min[axis] = min[axis].min(point[axis]);
            max[axis] = max[axis].max(point[axis]);
        }
    }
    let side = |axis: usize| max[axis] - min[axis];
    let axis = (1..3).fold(0, |best, axis| if side(axis) > side(best) { axis } else { best });
    let middle = part.len() / 2;
    if middle < part.len() {
        // Ties are decided by index, so that the tree does not depend on the selection algorithm.
        part.select_nth_unstable_by(middle, |a, b| a.1[axis].total_cmp(&b.1[axis]).then(a.0.cmp(&b.0)));
        nodes[node] = Node { axis: axis as u8, empty: false, at: part[middle].1[axis] };
    }
    let (low, high) = part.split_at_mut(middle);
    split(nodes, 2 * node + 1, low);
    split(nodes, 2 * node + 2, high);
}

struct Search<L> {
    point: Vec3,
    left: L,
    apart: f32,
    found: Option<u32>,
}

impl<L: Fn(u32) -> bool> Search<L> {
    /// Visits the points `part` of the subtree at `node`.
    fn visit(&mut self, nodes: &mut [Node], node: usize, part: &mut [(u32, Vec3)]) {
        if nodes[node].empty {
            return;
        }
        if node >= nodes.len() / 2 {
            let mut kept = 0;
            for at in 0..usize::from(nodes[node].axis) {
                let (number, place) = part[at];
                let apart = square_distance(place, self.point);
                // Looks the state up only where it matters: it is in another array.
                if apart < self.apart || self.found.is_none() {
                    if !(self.left)(number) {
                        continue;
                    }
                    (self.apart, self.found) = (apart, Some(number));
                }
                part[kept] = part[at];
                kept += 1;
            }
            (nodes[node].axis, nodes[node].empty) = (kept as u8, kept == 0);
            return;
        }
        let (low, high) = part.split_at_mut(part.len() / 2);
        let beyond = self.point[usize::from(nodes[node].axis)] - nodes[node].at;
        let (near, far) = ((2 * node + 1, low), (2 * node + 2, high));
        let (near, far) = if beyond < 0.0 { (near, far) } else { (far, near) };
        self.visit(nodes, near.0, near.1);
        if self.found.is_none() || beyond * beyond < self.apart {
            self.visit(nodes, far.0, far.1);
        }
        nodes[node].empty = nodes[2 * node + 1].empty && nodes[2 * node + 2].empty;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Random;

    #[test]
    fn matches_brute_force() {
        let mut random = Random(3);
        for count in [0, 1, 7, 8, 9, 300] {
            // On a coarse grid, so that many points coincide.
            let mut point = || std::array::from_fn::<f32, 3, _>(|_| random.below(7) as f32);
            let points: Vec<Vec3> = (0..count).map(|_| point()).collect();
            let mut gone = vec![false; count];
            let mut tree = KdTree::new(points.iter().copied(), |_| true);
            for _ in 0..=count {
                let from = point();
                let found = tree.find(from, |number| !gone[number as usize]);
                let left = (0..count).filter(|&number| !gone[number]);
                let expected =
                    left.map(|number| square_distance(points[number], from)).min_by(f32::total_cmp);
                assert_eq!(found.map(|number| square_distance(points[number as usize], from)), expected);
                if let Some(number) = found {
                    gone[number as usize] = true;
                }
            }
        }
    }
}
