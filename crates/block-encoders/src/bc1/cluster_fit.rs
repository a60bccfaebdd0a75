//! Cluster fit: the best of all divisions of the texels, in the order of an axis, into clusters of the same selector.
//!
//! For each division the best endpoints follow from sums over the clusters, and so does the error of the rounded
//! endpoints: sums of prefixes make that a few operations.

use super::{Colour565, Opaque, TOP};

/// Sums of the first texels of an order: red, green, blue.
type Sums = [[f32; 3]; 17];

/// Returns the endpoints of the best division; those of the darkest texel if there is none with a solution.
pub(super) fn ends(texels: &Opaque, axis: [f32; 3], colours: usize) -> [Colour565; 2] {
    let sums = prefix_sums(texels, axis);
    let n = texels.len;
    let mut best = Best { error: f32::MAX, ends: [[0; 3]; 2] };
    for first in 0..=n {
        for second in first..=n {
            let [i, j] = [first, second].map(|at| at as f32);
            if colours == 3 {
                // The middle cluster is half of each endpoint.
                let form = [(3.0 * i + j) / 4.0, (j - i) / 4.0, n as f32 - (3.0 * j + i) / 4.0];
                let sum = std::array::from_fn(|c| (sums[first][c] + sums[second][c]) / 2.0);
                best.offer(form, sum, &sums[n]);
                continue;
            }
            for third in second..=n {
                // Weights of 1, 2/3, 1/3 and 0 of the first endpoint: the sums of the prefixes add up.
                let k = third as f32;
                let form = [
                    (5.0 * i + 3.0 * j + k) / 9.0,
                    (k - i) * (2.0 / 9.0),
                    n as f32 - (5.0 * k + 3.0 * j + i) / 9.0,
                ];
                let sum = std::array::from_fn(|c| (sums[first][c] + sums[second][c] + sums[third][c]) / 3.0);
                best.offer(form, sum, &sums[n]);
            }
        }
    }
    best.ends
}

fn prefix_sums(texels: &Opaque, axis: [f32; 3]) -> Sums {
    let mut order: [(f32, usize); 16] = [(f32::MAX, 0); 16];
    for i in 0..texels.len {
        let along = (0..3).map(|c| axis[c] * texels.rgb[i][c] as f32).sum();
        order[i] = (along, i);
    }
    order[..texels.len].sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut sums = [[0.0; 3]; 17];
    for (i, &(_, texel)) in order[..texels.len].iter().enumerate() {
        for c in 0..3 {
            sums[i + 1][c] = sums[i][c] + texels.rgb[texel][c] as f32;
        }
    }
    sums
}

struct Best {
    error: f32,
    ends: [Colour565; 2],
}

impl Best {
    /// Solves for the endpoints of a division: the sums of the squares and products of the weights of both endpoints,
    /// the sums of the colours times the weight of the first endpoint, and the sums of the colours.
    #[inline]
    fn offer(&mut self, [aa, ab, bb]: [f32; 3], ax: [f32; 3], all: &[f32; 3]) {
        let determinant = aa * bb - ab * ab;
        if determinant < 1e-3 {
            return;
        }
        let scale = 1.0 / determinant;
        let mut error = 0.0;
        let mut ends = [[0; 3]; 2];
        for c in 0..3 {
            let bx = all[c] - ax[c];
            let (step, top) = (255.0 / TOP[c] as f32, TOP[c] as f32);
            let round = |value: f32| (value * (top / 255.0) + 0.5).clamp(0.0, top) as i32;
            ends[0][c] = round((ax[c] * bb - bx * ab) * scale);
            ends[1][c] = round((bx * aa - ax[c] * ab) * scale);
            let (x, y) = (ends[0][c] as f32 * step, ends[1][c] as f32 * step);
            error += aa * x * x + bb * y * y + 2.0 * (ab * x * y - ax[c] * x - bx * y);
        }
        if error < self.error {
            (self.error, self.ends) = (error, ends);
        }
    }
}
