//! Mesh partition: splits a large mesh spatially, so that algorithms need memory for a part and not for the
//! mesh.
//!
//! Parts are halved, at about the median along their longest side, until each is small enough. The splits
//! depend on the mesh alone.

use crate::vector::{Vec3, dot};
use rayon::prelude::*;

/// Meshes with more triangles than this are partitioned. Up to here the algorithms need little memory beside
/// the mesh, and splits would cost quality.
pub(crate) const MAX_PART_TRIANGLES: usize = 100_000;

/// The minimum number of triangles per unit of parallel work.
const BLOCK: usize = 1 << 16;
/// The maximum number of units of parallel work: each has its own counters.
const UNITS: usize = 16;

/// Histogram bins for the median: a half is off by at most the contents of one bin.
const BINS: usize = 256;

/// Rounds of halving. A mesh whose triangles are all in one place cannot be split, and stays whole.
const ROUNDS: usize = 20;

/// Three orthogonal directions, different ones for each turn: triangles on a split plane in one turn are
/// inside a part in the next.
const SIDES: [[Vec3; 3]; 2] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.8, 0.6, 0.0], [-0.36, 0.48, 0.8], [0.48, -0.64, 0.6]],
];

/// The triangles of a mesh, part by part.
pub(crate) struct MeshPartition {
    /// Triangle indices, ascending in each part.
    order: Vec<u32>,
    ends: Vec<usize>,
}

/// A bounding box along the sides, and the number of triangles whose first corner is in it.
#[derive(Clone)]
struct Node {
    min: Vec3,
    max: Vec3,
    count: usize,
}

/// The split plane of a node.
#[derive(Clone, Copy)]
struct Split {
    side: usize,
    low: f32,
    per: f32,
    bin: usize,
    /// The index of the upper half.
    upper: u16,
}

impl MeshPartition {
    /// Partitions `triangles` into parts of at most `most`, unless they are too close together for that.
    pub(crate) fn cut(triangles: &[[u32; 3]], positions: &[Vec3], most: usize, turn: usize) -> Self {
        let sides = SIDES[turn % SIDES.len()];
        let place = |triangle: &[u32; 3]| sides.map(|side| dot(positions[triangle[0] as usize], side));
        let block = triangles.len().div_ceil(UNITS).max(BLOCK);
        let mut names = vec![0u16; triangles.len()];
        let mut nodes = triangles
            .par_chunks(block)
            .map(|block| {
                let mut node = Node::EMPTY;
                block.iter().for_each(|triangle| node.add(place(triangle)));
                vec![node]
            })
            .reduce(|| vec![Node::EMPTY], joined);
        for _ in 0..ROUNDS {
            let mut cuts: Vec<Option<Split>> = nodes.iter().map(|node| node.cut(most)).collect();
            if cuts.iter().all(Option::is_none) || nodes.len() * 2 > usize::from(u16::MAX) {
                break;
            }
            let count = |(names, block): (&[u16], &[[u32; 3]])| {
                let mut bins = vec![[0u32; BINS]; nodes.len()];
                for (&name, triangle) in names.iter().zip(block) {
                    if let Some(cut) = &cuts[usize::from(name)] {
                        bins[usize::from(name)][cut.bin_of(place(triangle))] += 1;
                    }
                }
                bins
            };
            let bins = names.par_chunks(block).zip(triangles.par_chunks(block)).map(count);
            let bins = bins.reduce(|| vec![[0; BINS]; nodes.len()], summed);
            let mut upper = nodes.len() as u16;
            for ((cut, bins), node) in cuts.iter_mut().zip(&bins).zip(&nodes) {
                if let Some(cut) = cut {
                    (cut.bin, cut.upper) = (median(bins, node.count), upper);
                    upper += 1;
                }
            }
            let deal = |(names, block): (&mut [u16], &[[u32; 3]])| {
                let mut halves = vec![Node::EMPTY; usize::from(upper)];
                for (name, triangle) in names.iter_mut().zip(block) {
                    let place = place(triangle);
                    if let Some(cut) = &cuts[usize::from(*name)]
                        && cut.bin_of(place) >= cut.bin
                    {
                        *name = cut.upper;
                    }
                    halves[usize::from(*name)].add(place);
                }
                halves
            };
            let halves = names.par_chunks_mut(block).zip(triangles.par_chunks(block)).map(deal);
            nodes = halves.reduce(|| vec![Node::EMPTY; usize::from(upper)], joined);
        }
        Self::sorted(&names, &nodes)
    }

    fn sorted(names: &[u16], nodes: &[Node]) -> Self {
        let (mut starts, mut ends, mut end) = (Vec::new(), Vec::new(), 0);
        for node in nodes {
            starts.push(end);
            end += node.count;
            ends.push(end);
        }
        let mut order = vec![0; names.len()];
        for (triangle, &name) in names.iter().enumerate() {
            let at = &mut starts[usize::from(name)];
            order[*at] = triangle as u32;
            *at += 1;
        }
        Self { order, ends }
    }

    /// Returns the number of parts.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the triangle indices of a part.
    pub(crate) fn part(&self, at: usize) -> &[u32] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.order[start..self.ends[at]]
    }
}

impl Node {
    const EMPTY: Self = Self { min: [f32::MAX; 3], max: [f32::MIN; 3], count: 0 };

    fn add(&mut self, place: Vec3) {
        for (side, at) in place.into_iter().enumerate() {
            self.min[side] = self.min[side].min(at);
            self.max[side] = self.max[side].max(at);
        }
        self.count += 1;
    }

    fn join(&mut self, other: &Node) {
        for side in 0..3 {
            self.min[side] = self.min[side].min(other.min[side]);
            self.max[side] = self.max[side].max(other.max[side]);
        }
        self.count += other.count;
    }

    fn cut(&self, most: usize) -> Option<Split> {
        let long = |side: usize| self.max[side] - self.min[side];
        let side = (0..3).max_by(|&a, &b| long(a).total_cmp(&long(b))).unwrap_or(0);
        let per = BINS as f32 / long(side);
        let can = self.count > most && per.is_finite();
        can.then_some(Split { side, low: self.min[side], per, bin: 0, upper: 0 })
    }
}

impl Split {
    fn bin_of(&self, place: Vec3) -> usize {
        (((place[self.side] - self.low) * self.per) as usize).min(BINS - 1)
    }
}

/// Merges the bounds and counts of two node lists.
fn joined(mut nodes: Vec<Node>, others: Vec<Node>) -> Vec<Node> {
    nodes.iter_mut().zip(&others).for_each(|(node, other)| node.join(other));
    nodes
}

fn summed(mut bins: Vec<[u32; BINS]>, others: Vec<[u32; BINS]>) -> Vec<[u32; BINS]> {
    let all = bins.as_flattened_mut().iter_mut().zip(others.as_flattened());
    all.for_each(|(sum, count)| *sum += count);
    bins
}

/// Returns the first bin of the upper half: at least 1, so that the lower half is not empty.
fn median(bins: &[u32; BINS], count: usize) -> usize {
    let mut below = 0;
    for (bin, &held) in bins.iter().enumerate() {
        // Starts the upper half with this bin or the next, whichever is nearer to the half.
        if bin > 0 && (below + held as usize / 2) * 2 >= count {
            return bin;
        }
        below += held as usize;
    }
    BINS - 1
}

/// A part of a mesh with its own vertices.
pub(crate) struct SubMesh {
    /// Its triangles, over its own vertices.
    pub(crate) indices: Vec<u32>,
    /// The mesh vertex of each of its vertices, ascending.
    pub(crate) vertices: Vec<u32>,
}

impl SubMesh {
    /// Extracts the triangles with the indices `which` from a mesh of `count` vertices.
    pub(crate) fn new(triangles: &[[u32; 3]], which: &[u32], count: usize) -> Self {
        let mut used = vec![0u64; count.div_ceil(64)];
        for &triangle in which {
            triangles[triangle as usize].iter().for_each(|&v| used[v as usize / 64] |= 1 << (v % 64));
        }
        let mut vertices = Vec::with_capacity(used.iter().map(|word| word.count_ones() as usize).sum());
        // The number of used vertices before each word.
        let mut before = Vec::with_capacity(used.len());
        for (at, &word) in used.iter().enumerate() {
            before.push(vertices.len() as u32);
            let mut rest = word;
            while rest != 0 {
                vertices.push(at as u32 * 64 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        let name = |v: u32| {
            let lower = used[v as usize / 64] & ((1 << (v % 64)) - 1);
            before[v as usize / 64] + lower.count_ones()
        };
        let mut indices = Vec::with_capacity(which.len() * 3);
        which.iter().for_each(|&triangle| indices.extend(triangles[triangle as usize].map(name)));
        Self { indices, vertices }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{soup, sphere};
    use proptest::prelude::*;

    fn check(triangles: &[[u32; 3]], positions: &[Vec3], most: usize, turn: usize) -> usize {
        let parts = MeshPartition::cut(triangles, positions, most, turn);
        let mut seen = vec![false; triangles.len()];
        for at in 0..parts.len() {
            let part = parts.part(at);
            assert!(!part.is_empty() && part.len() <= most && part.is_sorted());
            part.iter().for_each(|&t| assert!(!std::mem::replace(&mut seen[t as usize], true)));
            let sub_mesh = SubMesh::new(triangles, part, positions.len());
            assert!(sub_mesh.vertices.is_sorted_by(|a, b| a < b));
            let back = sub_mesh.indices.iter().map(|&v| sub_mesh.vertices[v as usize]);
            assert!(back.eq(part.iter().flat_map(|&t| triangles[t as usize])));
        }
        assert!(seen.iter().all(|&seen| seen));
        parts.len()
    }

    #[test]
    fn sphere_is_split_evenly() {
        let sample = sphere(64, 32);
        let (triangles, _) = sample.indices.as_chunks::<3>();
        for turn in 0..3 {
            assert_eq!(check(triangles, &sample.positions, 4096, turn), 1);
            // 4096 halved three times, approximately.
            assert!((8..=10).contains(&check(triangles, &sample.positions, 600, turn)));
        }
    }

    #[test]
    fn coincident_triangles_stay_whole() {
        let parts = MeshPartition::cut(&[[0, 0, 0]; 100], &[[1.0, 2.0, 3.0]], 10, 0);
        assert_eq!((parts.len(), parts.part(0).len()), (1, 100));
        assert_eq!(MeshPartition::cut(&[], &[], 10, 0).part(0), [0u32; 0]);
        // All but one in one place.
        let positions = [[0.0; 3], [1e30, 0.0, 0.0]];
        let mut triangles = vec![[0, 0, 1]; 99];
        triangles.push([1, 0, 0]);
        let parts = MeshPartition::cut(&triangles, &positions, 10, 0);
        assert_eq!((parts.len(), parts.part(1)), (2, &[99][..]));
    }

    proptest! {
        #[test]
        fn every_triangle_is_in_one_part(seed: u64, triangles in 1u32..400, most in 100usize..300, turn in 0usize..2) {
            let sample = soup(seed, 200, triangles);
            check(sample.indices.as_chunks().0, &sample.positions, most, turn);
        }
    }
}
