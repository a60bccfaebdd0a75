//! Principal axes: the principal axis of each subset and the projection of its texels on it.
//!
//! Also the types for texels of eight blocks and for the subsets of their texels.

use crate::lanes::Lanes;

/// Sixteen texels of eight blocks, by channel.
pub(crate) type Texels<L, const C: usize> = [[L; 16]; C];

/// For every subset except the first, masks of its texels.
pub(crate) type Members<L> = [[<L as Lanes>::Mask; 16]];

/// The projections of texels on the principal axes of their subsets.
pub(crate) struct AxisProjection<L, const S: usize> {
    /// The projection of each texel: 0 for the first along the axis, 1 for the last.
    pub(crate) position: [L; 16],
    /// The number of texels of each subset.
    pub(crate) count: [L; S],
    /// Sum of squared distances from the axes.
    pub(crate) across: L,
    /// Squared distance between the first and the last texel along each axis.
    pub(crate) extent: [L; S],
}

impl<L: Lanes> AxisProjection<L, 1> {
    /// Returns the squared error of rounding the projections to `N` weights.
    #[inline(always)]
    pub(crate) fn rounding<const N: usize>(&self) -> L {
        let mut sum = L::zero();
        for i in 0..16 {
            let t = self.position[i] * L::splat((N - 1) as f32);
            sum = sum + (t - t.round()).squared();
        }
        sum * self.extent[0] * L::splat(1.0 / ((N - 1) * (N - 1)) as f32)
    }
}

/// Returns the scale of a channel in the space where distances are measured.
#[inline(always)]
const fn size(channel: usize, grey: usize) -> f32 {
    const ROOT_3: f32 = 1.732_050_8;
    if channel == 0 && grey == 3 { ROOT_3 } else { 1.0 }
}

/// Selects the value of a texel's subset.
#[inline(always)]
pub(crate) fn pick<L: Lanes, const S: usize>(values: &[L; S], members: &Members<L>, texel: usize) -> L {
    let mut value = values[0];
    for s in 1..S {
        value = values[s].or(members[s - 1][texel], value);
    }
    value
}

/// Adds to the sum of a texel's subset; the first entry is the total until [`finish_sums`].
#[inline(always)]
pub(crate) fn add<L: Lanes, const S: usize>(sums: &mut [L; S], value: L, members: &Members<L>, texel: usize) {
    sums[0] = sums[0] + value;
    for s in 1..S {
        sums[s] = sums[s] + value.only(members[s - 1][texel]);
    }
}

/// Finishes sums built with [`add`]: subtracts the other subsets from the total.
#[inline(always)]
pub(crate) fn finish_sums<L: Lanes, const S: usize>(sums: &mut [L; S]) {
    for s in 1..S {
        sums[0] = sums[0] - sums[s];
    }
}

/// Projects texels on the principal axis of each subset. `G` is the number of channels that the first one
/// stands for.
#[inline(always)]
pub(crate) fn project_on_axes<L: Lanes, const C: usize, const S: usize, const G: usize>(
    px: &Texels<L, C>,
    members: &Members<L>,
) -> AxisProjection<L, S> {
    let mut count = [L::zero(); S];
    let mut sum = [[L::zero(); S]; C];
    let mut product = [[[L::zero(); S]; C]; C];
    for i in 0..16 {
        // Relative to the middle of the range, squares stay small and exact.
        let mut p = [L::zero(); C];
        for c in 0..C {
            p[c] = px[c][i] - L::splat(128.0);
        }
        add(&mut count, L::splat(1.0), members, i);
        for a in 0..C {
            add(&mut sum[a], p[a], members, i);
            for b in a..C {
                add(&mut product[a][b], p[a] * p[b], members, i);
            }
        }
    }
    finish_sums(&mut count);
    let mut axis = [[L::zero(); S]; C];
    let mut mean = [[L::zero(); S]; C];
    let (mut along, mut total) = (L::zero(), L::zero());
    for a in 0..C {
        finish_sums(&mut sum[a]);
        for b in a..C {
            finish_sums(&mut product[a][b]);
        }
    }
    for s in 0..S {
        let share = L::splat(1.0) / count[s].max(L::splat(1.0));
        let mut cov = [[L::zero(); C]; C];
        for a in 0..C {
            mean[a][s] = sum[a][s] * share;
            for b in a..C {
                let size = L::splat(size(a, G) * size(b, G));
                cov[a][b] = (product[a][b][s] - mean[a][s] * sum[b][s]) * size;
                cov[b][a] = cov[a][b];
            }
            total = total + cov[a][a];
        }
        let (direction, length) = principal(&cov);
        along = along + length;
        for c in 0..C {
            axis[c][s] = direction[c] * L::splat(size(c, G));
            mean[c][s] = mean[c][s] + L::splat(128.0);
        }
    }
    let mut position = [L::zero(); 16];
    let mut first = [L::splat(1e9); S];
    let mut last = [L::splat(-1e9); S];
    for i in 0..16 {
        let mut t = L::zero();
        for c in 0..C {
            let p = px[c][i] - pick(&mean[c], members, i);
            t = t + p * pick(&axis[c], members, i);
        }
        position[i] = t;
        for s in 0..S {
            let (mut low, mut high) = (t, t);
            if S > 1 {
                let mine = if s == 0 { none_of::<L, S>(members, i) } else { members[s - 1][i] };
                low = t.or(mine, first[s]);
                high = t.or(mine, last[s]);
            }
            first[s] = first[s].min(low);
            last[s] = last[s].max(high);
        }
    }
    let (mut scale, mut extent) = ([L::zero(); S], [L::zero(); S]);
    for s in 0..S {
        let mut length = L::splat(1e-12);
        for c in 0..C {
            length = length + (axis[c][s] * L::splat(1.0 / size(c, G))).squared();
        }
        scale[s] = L::splat(1.0) / (last[s] - first[s]).max(L::splat(1e-6));
        extent[s] = (last[s] - first[s]).squared() / length;
    }
    for i in 0..16 {
        position[i] = (position[i] - pick(&first, members, i)) * pick(&scale, members, i);
    }
    AxisProjection { position, count, across: (total - along).max(L::zero()), extent }
}

#[inline(always)]
fn none_of<L: Lanes, const S: usize>(members: &Members<L>, texel: usize) -> L::Mask {
    let mut any = members[0][texel];
    for s in 2..S {
        any = any | members[s - 1][texel];
    }
    !any
}

/// Returns the principal axis and the variance along it, by power iteration from the row of the channel with
/// the largest variance.
#[inline(always)]
pub(crate) fn principal<L: Lanes, const C: usize>(cov: &[[L; C]; C]) -> ([L; C], L) {
    let mut row = cov[0];
    let mut most = cov[0][0];
    for c in 1..C {
        let more = most.less(cov[c][c]);
        most = most.max(cov[c][c]);
        for k in 0..C {
            row[k] = cov[c][k].or(more, row[k]);
        }
    }
    let mut length = most;
    let steps = if C == 1 { 0 } else { 3 };
    for _ in 0..steps {
        let mut next = [L::zero(); C];
        let mut peak = L::splat(1e-12);
        for a in 0..C {
            for b in 0..C {
                next[a] = next[a] + cov[a][b] * row[b];
            }
            peak = peak.max(next[a].abs());
        }
        // The Rayleigh quotient of the previous direction.
        let (mut up, mut down) = (L::zero(), L::splat(1e-12));
        for c in 0..C {
            up = up + row[c] * next[c];
            down = down + row[c].squared();
        }
        length = up / down;
        let scale = L::splat(1.0) / peak;
        for c in 0..C {
            row[c] = next[c] * scale;
        }
    }
    if C == 1 {
        row = [L::splat(1.0); C];
    }
    (row, length)
}

/// The error estimate of a dual-plane mode, in squares: one channel in the second plane, the others on a
/// principal axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DualPlaneEstimate<L> {
    /// The squared distances of the other channels from their axis.
    pub(crate) across: L,
    /// The variance of the other channels along their axis.
    pub(crate) along: L,
    /// The variance of the channel in the second plane.
    pub(crate) second_channel: L,
    /// The error of that channel quantised to four uniform levels from its minimum to its maximum: zero if it
    /// has only two values, like the alpha of leaves and fences.
    pub(crate) steps: L,
}

/// Returns the dual-plane estimate for each channel.
#[inline(always)]
pub(crate) fn dual_plane_estimates<L: Lanes, const C: usize>(px: &Texels<L, C>) -> [DualPlaneEstimate<L>; C] {
    let mut sum = [L::zero(); C];
    let mut cov = [[L::zero(); C]; C];
    for i in 0..16 {
        let mut p = [L::zero(); C];
        for c in 0..C {
            p[c] = px[c][i] - L::splat(128.0);
        }
        for a in 0..C {
            sum[a] = sum[a] + p[a];
            for b in a..C {
                cov[a][b] = cov[a][b] + p[a] * p[b];
            }
        }
    }
    for a in 0..C {
        for b in a..C {
            cov[a][b] = cov[a][b] - sum[a] * sum[b] * L::splat(1.0 / 16.0);
            cov[b][a] = cov[a][b];
        }
    }
    let zero = L::zero();
    let mut out = [DualPlaneEstimate { across: zero, along: zero, second_channel: zero, steps: zero }; C];
    for second_channel in 0..C {
        // The other channels: the row and column of `alone` are zero.
        let mut rest = cov;
        let mut trace = L::zero();
        for c in 0..C {
            rest[second_channel][c] = L::zero();
            rest[c][second_channel] = L::zero();
            trace = trace + rest[c][c];
        }
        let (_, along) = principal(&rest);
        let across = (trace - along).max(L::zero());
        out[second_channel] = DualPlaneEstimate {
            across,
            along,
            second_channel: cov[second_channel][second_channel],
            steps: four_level_error(&px[second_channel]),
        };
    }
    out
}

/// Returns the squared error of one channel quantised to four uniform levels from its minimum to its maximum.
#[inline(always)]
fn four_level_error<L: Lanes>(px: &[L; 16]) -> L {
    let (mut first, mut last) = (px[0], px[0]);
    for value in &px[1..] {
        first = first.min(*value);
        last = last.max(*value);
    }
    let scale = L::splat(3.0) / (last - first).max(L::splat(1.0));
    let mut sum = L::zero();
    for value in px {
        let at = (*value - first) * scale;
        sum = sum + (at - at.round()).squared();
    }
    sum / scale.squared()
}
