//! Endpoints and weights of the subsets of a BC6H block, in floats: all integers involved are below 2^24, so that the
//! arithmetic on them is exact. Loops over sixteen texels have no branches, so that compilers vectorise them.

use super::{OFFSET, SECOND};

/// The texels as integers of half floats, by channel.
pub(super) type Channels = [[f32; 16]; 3];
/// Two endpoints of each subset, by channel; the second pair is that of the first with one subset.
pub(super) type Ends = [[[f32; 3]; 2]; 2];

/// Sums over texels: red, green, blue, count; rr, rg, rb, 0; gg, gb, bb, 0.
pub(super) type Moments = [f32; 12];

/// Returns the terms of the moments of each texel, about `centre`.
pub(super) fn terms(px: &Channels, centre: [f32; 3]) -> [Moments; 16] {
    std::array::from_fn(|i| {
        let [r, g, b] = [px[0][i] - centre[0], px[1][i] - centre[1], px[2][i] - centre[2]];
        [r, g, b, 1.0, r * r, r * g, r * b, 0.0, g * g, g * b, b * b, 0.0]
    })
}

/// Returns the mean of each channel.
pub(super) fn mean(px: &Channels) -> [f32; 3] {
    px.map(|channel| channel.iter().sum::<f32>() / 16.0)
}

/// Adds the terms of the texels of a mask.
pub(super) fn sum(terms: &[Moments; 16], mask: u16) -> Moments {
    let mut out = [0.0; 12];
    let mut left = mask;
    while left != 0 {
        let term = &terms[left.trailing_zeros() as usize & 15];
        for (out, term) in out.iter_mut().zip(term) {
            *out += term;
        }
        left &= left - 1;
    }
    out
}

/// The covariance matrix of a set, times the number of its texels: rr, rg, rb, gg, gb, bb.
pub(super) fn covariance(m: &Moments) -> [f32; 6] {
    let [r, g, b, n] = [m[0], m[1], m[2], m[3].max(1.0)];
    let inverse = 1.0 / n;
    [
        m[4] - r * r * inverse,
        m[5] - r * g * inverse,
        m[6] - r * b * inverse,
        m[8] - g * g * inverse,
        m[9] - g * b * inverse,
        m[10] - b * b * inverse,
    ]
}

/// Returns an estimate of the squared error of a set: what is across its principal axis, and a share of what is along
/// it, for eight weights. The largest eigenvalue is estimated from below by the ratio of both norms of the matrix.
pub(super) fn estimate([rr, rg, rb, gg, gb, bb]: [f32; 6]) -> f32 {
    let trace = rr + gg + bb;
    let squares = rr * rr + gg * gg + bb * bb + 2.0 * (rg * rg + rb * rb + gb * gb);
    let along = squares / trace.max(1e-6);
    (trace - along).max(0.0) + along * (1.0 / 60.0)
}

/// Returns the direction of the largest variance, not normalised; zero if there is none.
fn axis([rr, rg, rb, gg, gb, bb]: [f32; 6]) -> [f32; 3] {
    let mut axis = if rr >= gg && rr >= bb {
        [rr, rg, rb]
    } else if gg >= bb {
        [rg, gg, gb]
    } else {
        [rb, gb, bb]
    };
    for _ in 0..3 {
        let [x, y, z] = axis;
        let next = [x * rr + y * rg + z * rb, x * rg + y * gg + z * gb, x * rb + y * gb + z * bb];
        let largest = next[0].abs().max(next[1].abs()).max(next[2].abs());
        let scale = 1.0 / largest.max(1e-30);
        axis = next.map(|value| value * scale);
    }
    axis
}

/// Returns the membership of each texel in the second subset: 0 or 1.
pub(super) fn membership(pattern: usize) -> [f32; 16] {
    std::array::from_fn(|i| f32::from(SECOND[pattern & 31] >> i & 1))
}

#[inline(always)]
fn pick(second: f32, a: f32, b: f32) -> f32 {
    if second > 0.5 { b } else { a }
}

/// Returns weights from 0 to 1 of the texels along the principal axes of one or two subsets, in `last` steps.
#[inline(always)]
pub(super) fn project<const SUBSETS: usize>(
    px: &Channels,
    second: &[f32; 16],
    covariances: &[[f32; 6]; 2],
    last: f32,
) -> [f32; 16] {
    let axes = covariances.map(axis);
    let mut along = [0.0; 16];
    for i in 0..16 {
        let c = |c: usize| if SUBSETS == 1 { axes[0][c] } else { pick(second[i], axes[0][c], axes[1][c]) };
        along[i] = px[0][i] * c(0) + px[1][i] * c(1) + px[2][i] * c(2);
    }
    let (mut low, mut high) = ([f32::MAX; 2], [f32::MIN; 2]);
    for i in 0..16 {
        let s = if SUBSETS == 1 { 0 } else { usize::from(second[i] > 0.5) };
        low[s] = low[s].min(along[i]);
        high[s] = high[s].max(along[i]);
    }
    let scale = [0, 1].map(|s| if high[s] > low[s] { last / (high[s] - low[s]) } else { 0.0 });
    let unit = 1.0 / last;
    for i in 0..16 {
        let (low, scale) = if SUBSETS == 1 {
            (low[0], scale[0])
        } else {
            (pick(second[i], low[0], low[1]), pick(second[i], scale[0], scale[1]))
        };
        along[i] = ((along[i] - low) * scale + 0.5) as i32 as f32 * unit;
    }
    along
}

/// Returns the endpoints with the least squared error for given weights.
#[inline(always)]
pub(super) fn solve<const SUBSETS: usize>(px: &Channels, second: &[f32; 16], weights: &[f32; 16]) -> Ends {
    let mut ends = [[[0.0; 3]; 2]; 2];
    for s in 0..SUBSETS {
        let mut members = [1.0; 16];
        if SUBSETS == 2 {
            for i in 0..16 {
                members[i] = if s == 1 { second[i] } else { 1.0 - second[i] };
            }
        }
        let (mut b, mut bb, mut n) = (0.0f32, 0.0f32, 0.0f32);
        let (mut x, mut bx) = ([0.0f32; 3], [0.0f32; 3]);
        for i in 0..16 {
            let w = weights[i] * members[i];
            n += members[i];
            b += w;
            bb += w * weights[i];
        }
        for c in 0..3 {
            // Four partial sums, which compilers vectorise: additions of floats are not reordered.
            let (mut sums, mut products) = ([0.0f32; 4], [0.0f32; 4]);
            for i in 0..16 {
                let value = px[c][i] * members[i];
                sums[i & 3] += value;
                products[i & 3] += value * weights[i];
            }
            x[c] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
            bx[c] = (products[0] + products[1]) + (products[2] + products[3]);
        }
        // The normal equations of the weights of both endpoints, which sum to one.
        let (ab, aa) = (b - bb, n - 2.0 * b + bb);
        let determinant = aa * bb - ab * ab;
        for c in 0..3 {
            let ax = x[c] - bx[c];
            let (first, last) = if determinant > 1e-3 {
                ((ax * bb - bx[c] * ab) / determinant, (bx[c] * aa - ax * ab) / determinant)
            } else {
                (x[c] / n.max(1.0), x[c] / n.max(1.0))
            };
            (ends[s][0][c], ends[s][1][c]) = (first, last);
        }
    }
    if SUBSETS == 1 {
        ends[1] = ends[0];
    }
    ends
}

/// Assigns the nearest weight to every texel; returns the indices and the squared error of the decoded texels.
/// `wide` are endpoints in 16 bits, `half` is the factor from them to half floats, and the weights of the texels in
/// `anchors` are below one half.
#[inline(always)]
pub(super) fn assign<const SUBSETS: usize>(
    px: &Channels,
    second: &[f32; 16],
    wide: &Ends,
    half: f32,
    last: f32,
    anchors: [usize; 2],
) -> ([f32; 16], f32) {
    let mut direction = [[0.0f32; 3]; 2];
    let mut origin = [0.0f32; 2];
    for s in 0..SUBSETS {
        let mut square = 0.0;
        for c in 0..3 {
            direction[s][c] = (wide[s][1][c] - wide[s][0][c]) * half;
            square += direction[s][c] * direction[s][c];
        }
        let scale = last / square.max(1e-6);
        for c in 0..3 {
            direction[s][c] *= scale;
            origin[s] -= direction[s][c] * (wide[s][0][c] * half);
        }
    }
    let mut indices = [0.0f32; 16];
    for i in 0..16 {
        let of = |a: f32, b: f32| if SUBSETS == 1 { a } else { pick(second[i], a, b) };
        let place = px[0][i] * of(direction[0][0], direction[1][0])
            + px[1][i] * of(direction[0][1], direction[1][1])
            + px[2][i] * of(direction[0][2], direction[1][2])
            + of(origin[0], origin[1]);
        indices[i] = (place.clamp(0.0, last) + 0.5) as i32 as f32;
    }
    for anchor in &anchors[..SUBSETS] {
        let index = &mut indices[anchor & 15];
        *index = index.min((last - 1.0) * 0.5);
    }
    let mut weights = [0.0f32; 16];
    for i in 0..16 {
        weights[i] = (indices[i] * (64.0 / last) + 0.5) as i32 as f32;
    }
    let mut errors = [0.0f32; 16];
    for c in 0..3 {
        for i in 0..16 {
            let of = |a: f32, b: f32| if SUBSETS == 1 { a } else { pick(second[i], a, b) };
            let (a, b) = (of(wide[0][0][c], wide[1][0][c]), of(wide[0][1][c], wide[1][1][c]));
            let sum = a * (64.0 - weights[i]) + b * weights[i] + 32.0;
            let value = (sum * (1.0 / 64.0) + OFFSET) as i32 as f32 - OFFSET;
            let decoded = (value * half) as i32 as f32;
            let d = decoded - px[c][i];
            errors[i] += d * d;
        }
    }
    (indices, errors.iter().sum())
}
