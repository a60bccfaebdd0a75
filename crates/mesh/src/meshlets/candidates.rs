//! The candidate triangles next to the current cluster, with their rank, and the triangle geometry that
//! decides ties.

use crate::vector::{Vec3, cross, length, scale, sub};

/// The states of a triangle: not visited, in a cluster, or else its index among the candidates.
pub(super) const FREE: u32 = u32::MAX;
pub(super) const DONE: u32 = u32::MAX - 1;

/// The centroid and the face normal of a triangle.
#[derive(Clone, Copy)]
pub(super) struct Facet {
    pub(super) centre: Vec3,
    pub(super) normal: Vec3,
}

impl Facet {
    /// Returns the facet of a triangle, and twice its area.
    pub(super) fn of(corners: &[u32; 3], positions: &[Vec3]) -> (Self, f32) {
        let [a, b, c] = corners.map(|corner| positions[corner as usize]);
        let normal = cross(sub(b, a), sub(c, a));
        let size = length(normal);
        let centre = std::array::from_fn(|axis| (a[axis] + b[axis] + c[axis]) * (1.0 / 3.0));
        (Self { centre, normal: if size > 0.0 { scale(normal, 1.0 / size) } else { normal } }, size)
    }
}

/// The candidate triangles as a structure of arrays.
#[derive(Default)]
pub(super) struct Candidates {
    pub(super) triangle: Vec<u32>,
    /// The number of new vertices of a candidate, and its rank (lower is better).
    pub(super) extra: Vec<u8>,
    pub(super) rank: Vec<u8>,
    pub(super) facet: Vec<Facet>,
}

impl Candidates {
    pub(super) fn put(
        &mut self,
        triangle: u32,
        extra: u8,
        rank: u8,
        facet: impl FnOnce() -> Facet,
        place: &mut [u32],
    ) {
        let at = &mut place[triangle as usize];
        if *at == FREE {
            *at = self.triangle.len() as u32;
            self.triangle.push(triangle);
            self.extra.push(extra);
            self.rank.push(rank);
            self.facet.push(facet());
        } else {
            (self.extra[*at as usize], self.rank[*at as usize]) = (extra, rank);
        }
    }

    pub(super) fn remove(&mut self, triangle: u32, place: &mut [u32]) {
        let at = place[triangle as usize];
        if at >= DONE {
            return;
        }
        let at = at as usize;
        self.triangle.swap_remove(at);
        self.extra.swap_remove(at);
        self.rank.swap_remove(at);
        self.facet.swap_remove(at);
        if let Some(&moved) = self.triangle.get(at) {
            place[moved as usize] = at as u32;
        }
    }

    pub(super) fn clear(&mut self, place: &mut [u32]) {
        for &triangle in &self.triangle {
            place[triangle as usize] = FREE;
        }
        self.triangle.clear();
        self.extra.clear();
        self.rank.clear();
        self.facet.clear();
    }
}
