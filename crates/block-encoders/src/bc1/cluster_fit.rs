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
            if colours == 3 {
                // The middle cluster is half of each endpoint.
                best.offer(&sums, n, [(first, 1.0), (second, 0.5), (n, 0.0)]);
                continue;
            }
            for third in second..=n {
                best.offer(&sums, n, [(first, 1.0), (second, 2.0 / 3.0), (third, 1.0 / 3.0)]);
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
    /// Solves for the endpoints of a division: the end of each cluster but the last, with its weight of the first
    /// endpoint. Texels after the clusters have weight zero.
    #[inline]
    fn offer(&mut self, sums: &Sums, n: usize, clusters: [(usize, f32); 3]) {
        let (mut aa, mut ab, mut bb) = (0.0f32, 0.0f32, 0.0f32);
        let mut ax = [0.0f32; 3];
        let mut start = 0;
        for (end, a) in clusters {
            let (count, b) = ((end - start) as f32, 1.0 - a);
            (aa, ab, bb) = (aa + a * a * count, ab + a * b * count, bb + b * b * count);
            for c in 0..3 {
                ax[c] += a * (sums[end][c] - sums[start][c]);
            }
            start = end;
        }
        bb += (n - start) as f32;
        let determinant = aa * bb - ab * ab;
        if determinant < 1e-4 {
            return;
        }
        let scale = 1.0 / determinant;
        let mut error = 0.0;
        let mut ends = [[0; 3]; 2];
        for c in 0..3 {
            let bx = sums[n][c] - ax[c];
            let (step, top) = (255.0 / TOP[c] as f32, TOP[c] as f32);
            let round = |value: f32| (value / step + 0.5).clamp(0.0, top).floor();
            let (x, y) = (round((ax[c] * bb - bx * ab) * scale), round((bx * aa - ax[c] * ab) * scale));
            ends[0][c] = x as i32;
            ends[1][c] = y as i32;
            let (x, y) = (x * step, y * step);
            error += aa * x * x + bb * y * y + 2.0 * (ab * x * y - ax[c] * x - bx * y);
        }
        if error < self.error {
            (self.error, self.ends) = (error, ends);
        }
    }
}
