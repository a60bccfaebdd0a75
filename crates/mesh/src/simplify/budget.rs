//! How many triangles each piece of a mesh gets, so that all of them end up about equally far from the surface.
//!
//! What it costs to take away a vertex says how densely its surroundings are sampled for their shape: on a curved
//! surface the error of a simplified mesh grows as the inverse of the triangles left, from that cost on. So at an
//! error `e` a vertex of cost `c` stands for `c / e` of the vertices that will be left, and one of cost `e` or more for
//! itself. The error at which these add up to what is wanted is found by halving; what the vertices of a piece
//! then add up to is its share.

use crate::partition::Local;
use crate::vector::{Vec3, cross, length, scale, sub};

/// Octaves of cost that are told apart, up to the extent of the mesh.
const OCTAVES: usize = 64;
/// Steps in each.
const STEPS: usize = 8;

/// What it costs to take away the vertices of a piece.
pub(super) struct Costs {
    triangles: usize,
    /// How many cost how much, by the logarithm of the cost.
    counts: Vec<u32>,
    /// How many cannot be taken away.
    fixed: usize,
}

/// The planes of the faces around a vertex, which all go through it: the sum of their squared distances from a point,
/// and the area they were weighted by.
#[derive(Clone, Copy, Default)]
struct Planes {
    /// xx, yy, zz, xy, xz, yz
    sum: [f32; 6],
    area: f32,
}

impl Planes {
    fn add(&mut self, [x, y, z]: Vec3, area: f32) {
        let products = [x * x, y * y, z * z, x * y, x * z, y * z];
        self.sum.iter_mut().zip(products).for_each(|(sum, product)| *sum += product * area);
        self.area += area;
    }

    /// The mean squared distance of a point, given from the vertex.
    fn square(&self, [x, y, z]: Vec3) -> f32 {
        let [xx, yy, zz, xy, xz, yz] = self.sum;
        let sum = xx * x * x + yy * y * y + zz * z * z + 2.0 * (xy * x * y + xz * x * z + yz * y * z);
        sum.max(0.0) / self.area
    }
}

impl Costs {
    /// The distance from the faces around a vertex to where it can go with the least, as part of `extent`.
    pub(super) fn of(piece: &Local, positions: &[Vec3], extent: f32, is_fixed: impl Fn(u32) -> bool) -> Self {
        let at = |v: u32| positions[piece.vertices[v as usize] as usize];
        let (triangles, _) = piece.indices.as_chunks::<3>();
        let mut planes = vec![Planes::default(); piece.vertices.len()];
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
                // One vector for both ends: a distance from planes knows no sign.
                let apart = sub(at(b), at(a));
                for v in [a, b] {
                    least[v as usize] = least[v as usize].min(planes[v as usize].square(apart));
                }
            }
        }
        let mut costs = Self { triangles: triangles.len(), counts: vec![0; OCTAVES * STEPS], fixed: 0 };
        let per = 1.0 / (extent * extent).max(f32::MIN_POSITIVE);
        for (&vertex, square) in piece.vertices.iter().zip(least) {
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

    /// How many triangles will be left at an error, given by the octave it is in.
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

/// Deals `target` triangles out to the pieces.
pub(super) fn share(pieces: &[Costs], target: usize) -> Vec<usize> {
    let left = |error: f64| pieces.iter().map(move |costs| costs.left(error));
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

    /// The costs of a wavy sheet that is stretched across itself.
    fn sheet(cells: u32, waves: f32) -> Costs {
        let mut sample = mirrored_sheet(cells);
        sample.positions.iter_mut().for_each(|p| p[2] *= waves);
        let which: Vec<u32> = (0..sample.indices.len() as u32 / 3).collect();
        let local = Local::new(sample.indices.as_chunks().0, &which, sample.positions.len());
        Costs::of(&local, &sample.positions, 1.0, |_| false)
    }

    #[test]
    fn rough_pieces_get_more() {
        let pieces = [sheet(64, 1.0), sheet(64, 0.1), sheet(64, 0.0)];
        let shares = share(&pieces, 12_000);
        assert!(shares[0] * 2 > shares[1] * 3 && shares[1] > shares[2], "{shares:?}");
        let sum = shares.iter().sum::<usize>();
        assert!((11_990..=12_000).contains(&sum), "{sum}");
        // Two that are alike get the same.
        let shares = share(&[sheet(64, 1.0), sheet(64, 1.0)], 8192);
        assert_eq!(shares[0], shares[1]);
    }

    #[test]
    fn as_dense_as_needed_is_twice_the_triangles() {
        // The finer of two sheets of one shape has four times the triangles, and gets as many as the other.
        let shares = share(&[sheet(128, 1.0), sheet(64, 1.0)], 8192);
        assert!((0.8..1.25).contains(&(shares[0] as f64 / shares[1] as f64)), "{shares:?}");
    }
}
