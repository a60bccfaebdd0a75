//! Triangle budgets for the parts of a mesh, so that all of them end up at about the same error.
//!
//! The cost of removing a vertex measures how densely the surface around it is sampled for its shape: on a
//! curved surface the error of a simplified mesh grows as the inverse of the number of remaining triangles,
//! starting from that cost. So at an error `e` a vertex of cost `c` stands for `c / e` of the remaining
//! vertices, and one of cost `e` or more for itself. The error at which these sum to the target is found by
//! bisection; the sum over the vertices of a part is its budget.

use crate::partition::SubMesh;
use crate::vector::{Vec3, cross, length, scale, sub};

/// The number of octaves of cost in the histogram, up to the extent of the mesh.
const OCTAVES: usize = 64;
/// Histogram steps in each octave.
const STEPS: usize = 8;

/// A histogram of the costs of removing the vertices of a part.
pub(super) struct Costs {
    triangles: usize,
    /// The number of vertices by the logarithm of their cost.
    counts: Vec<u32>,
    /// The number of locked vertices.
    fixed: usize,
}

/// The quadric of the planes of the faces around a vertex, which all contain it: the sum of squared distances
/// of a point, and the area they are weighted by.
#[derive(Clone, Copy, Default)]
struct Quadric {
    /// xx, yy, zz, xy, xz, yz
    sum: [f32; 6],
    area: f32,
}

impl Quadric {
    fn add(&mut self, [x, y, z]: Vec3, area: f32) {
        let products = [x * x, y * y, z * z, x * y, x * z, y * z];
        self.sum.iter_mut().zip(products).for_each(|(sum, product)| *sum += product * area);
        self.area += area;
    }

    /// Returns the mean squared distance of a point, given relative to the vertex.
    fn square(&self, [x, y, z]: Vec3) -> f32 {
        let [xx, yy, zz, xy, xz, yz] = self.sum;
        let sum = xx * x * x + yy * y * y + zz * z * z + 2.0 * (xy * x * y + xz * x * z + yz * y * z);
        sum.max(0.0) / self.area
    }
}

impl Costs {
    /// Computes for each vertex the distance from the planes around it to its cheapest collapse target,
    /// relative to `extent`.
    pub(super) fn of(
        part: &SubMesh,
        positions: &[Vec3],
        extent: f32,
        is_fixed: impl Fn(u32) -> bool,
    ) -> Self {
        let at = |v: u32| positions[part.vertices[v as usize] as usize];
        let (triangles, _) = part.indices.as_chunks::<3>();
        let mut planes = vec![Quadric::default(); part.vertices.len()];
        for &triangle in triangles {
            let [a, b, c] = triangle.map(at);
            let normal = cross(sub(b, a), sub(c, a));
            let area = length(normal);
            if area > 0.0 {
                let normal = scale(normal, 1.0 / area);
                triangle.iter().for_each(|&v| planes[v as usize].add(normal, area));
            }
        }
        let mut least = vec![f32::INFINITY; planes.len()];
        for &[a, b, c] in triangles {
            for (a, b) in [(a, b), (b, c), (c, a)] {
                // One vector for both ends: a distance from planes has no sign.
                let edge = sub(at(b), at(a));
                for v in [a, b] {
                    least[v as usize] = least[v as usize].min(planes[v as usize].square(edge));
                }
            }
        }
        let mut costs = Self { triangles: triangles.len(), counts: vec![0; OCTAVES * STEPS], fixed: 0 };
        let per = 1.0 / (extent * extent).max(f32::MIN_POSITIVE);
        for (&vertex, square) in part.vertices.iter().zip(least) {
            if is_fixed(vertex) {
                costs.fixed += 1;
                continue;
            }
            // The square has two octaves for each of the cost.
            let octave = libm::log2f((square * per).max(f32::MIN_POSITIVE)) * 0.5 + OCTAVES as f32;
            let step = (octave * STEPS as f32).clamp(0.0, (OCTAVES * STEPS - 1) as f32);
            costs.counts[step as usize] += 1;
        }
        costs
    }

    /// Returns the number of vertices that remain at an error, given by its octave.
    fn left(&self, error: f64) -> f64 {
        let (mut all, mut left) = (self.fixed as f64, self.fixed as f64);
        for (step, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let cost = step as f64 / STEPS as f64;
            all += f64::from(count);
            left += f64::from(count) * libm::exp2((cost - error).min(0.0));
        }
        self.triangles as f64 * left / all.max(1.0)
    }
}

/// Distributes `target` triangles among the parts.
pub(super) fn share(parts: &[Costs], target: usize) -> Vec<usize> {
    let left = |error: f64| parts.iter().map(move |costs| costs.left(error));
    let (mut low, mut high) = (-(OCTAVES as f64), 2.0 * OCTAVES as f64);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if left(middle).sum::<f64>() > target as f64 { low = middle } else { high = middle }
    }
    left(high).map(|triangles| triangles as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::mirrored_sheet;

    /// Returns the costs of a wavy sheet.
    fn sheet(cells: u32, waves: f32) -> Costs {
        let mut sample = mirrored_sheet(cells);
        sample.positions.iter_mut().for_each(|p| p[2] *= waves);
        let which: Vec<u32> = (0..sample.indices.len() as u32 / 3).collect();
        let local = SubMesh::new(sample.indices.as_chunks().0, &which, sample.positions.len());
        Costs::of(&local, &sample.positions, 1.0, |_| false)
    }

    #[test]
    fn rough_parts_get_more_triangles() {
        let parts = [sheet(64, 1.0), sheet(64, 0.1), sheet(64, 0.0)];
        let shares = share(&parts, 12_000);
        assert!(shares[0] * 2 > shares[1] * 3 && shares[1] > shares[2], "{shares:?}");
        let sum = shares.iter().sum::<usize>();
        assert!((11_990..=12_000).contains(&sum), "{sum}");
        // Two equal parts get the same budget.
        let shares = share(&[sheet(64, 1.0), sheet(64, 1.0)], 8192);
        assert_eq!(shares[0], shares[1]);
    }

    #[test]
    fn budget_depends_on_shape_not_density() {
        // The finer of two sheets of one shape has four times the triangles, and gets as many as the other.
        let shares = share(&[sheet(128, 1.0), sheet(64, 1.0)], 8192);
        assert!((0.8..1.25).contains(&(shares[0] as f64 / shares[1] as f64)), "{shares:?}");
    }
}
