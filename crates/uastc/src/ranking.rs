//! Ranks partition patterns for a block by an error estimate from moments.
//!
//! For each pattern the squared distance to the principal axes of its subsets follows from sums of the texels
//! and of their products. The sums of every set of texels within a row are computed once; a pattern is four
//! of them.

use crate::lanes::Lanes;
use crate::partitions::Partition;
use crate::principal_axis::Texels;

/// The number of patterns of a list that are kept.
pub(crate) const RANKS: usize = 4;

/// The number of first and second moments of at most four channels.
const MOMENTS: usize = 14;

/// A pattern and its error estimate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranked<L> {
    /// The expected error of the pattern.
    pub(crate) score: L,
    /// Sum of squared distances from the principal axes.
    pub(crate) across: L,
    /// Sum of squared distances along the principal axes.
    pub(crate) along: L,
    /// Index among the patterns of its list.
    pub(crate) pattern: L,
}

/// The moments of every set of texels of one row, and of all texels.
pub(crate) struct Moments<L, const C: usize, const G: usize> {
    rows: [[[L; MOMENTS]; 16]; 4],
    total: [L; MOMENTS],
}

impl<L: Lanes, const C: usize, const G: usize> Moments<L, C, G> {
    const COUNT: usize = C + C * (C + 1) / 2;

    /// Computes the moments of sixteen texels. `G` is the number of channels that the first one stands for.
    #[inline(always)]
    pub(crate) fn new(px: &Texels<L, C>) -> Self {
        let mut rows = [[[L::zero(); MOMENTS]; 16]; 4];
        for i in 0..16 {
            let (row, bit) = (&mut rows[i / 4], 1 << (i % 4));
            let mut m = C;
            for a in 0..C {
                let p = px[a][i] - L::splat(128.0);
                row[bit][a] = p;
                for b in a..C {
                    row[bit][m] = p * (px[b][i] - L::splat(128.0));
                    m += 1;
                }
            }
            for set in 1..bit {
                for m in 0..Self::COUNT {
                    row[bit + set][m] = row[set][m] + row[bit][m];
                }
            }
        }
        let mut total = [L::zero(); MOMENTS];
        for m in 0..Self::COUNT {
            total[m] = (rows[0][15][m] + rows[1][15][m]) + (rows[2][15][m] + rows[3][15][m]);
        }
        Self { rows, total }
    }

    /// Returns the best patterns of a list, best first, once for each of `shares`: the share of the variance
    /// along the axes that is left as error, which depends on the number of weights.
    #[inline(always)]
    pub(crate) fn rank<const K: usize>(
        &self,
        patterns: &[Partition],
        subsets: usize,
        shares: [f32; K],
        wanted: usize,
    ) -> [[Ranked<L>; RANKS]; K] {
        let far = L::splat(1e30);
        let none = Ranked { score: far, across: far, along: L::zero(), pattern: L::zero() };
        let mut ranked = [[none; RANKS]; K];
        for (index, partition) in patterns.iter().enumerate() {
            let (across, along) = self.variance(partition, subsets);
            for k in 0..K {
                let score = across + along * L::splat(shares[k]);
                let mut falling = Ranked { score, across, along, pattern: L::splat(index as f32) };
                for place in ranked[k].iter_mut().take(wanted) {
                    let wins = falling.score.less(place.score);
                    let stays = falling.or(wins, place);
                    falling = place.or(wins, &falling);
                    *place = stays;
                }
            }
        }
        ranked
    }

    /// Returns the variance across and along the principal axes of all subsets of a pattern.
    #[inline(always)]
    fn variance(&self, partition: &Partition, subsets: usize) -> (L, L) {
        let mut rest = self.total;
        let (mut across, mut along) = (L::zero(), L::zero());
        for s in 1..subsets {
            let members = usize::from(partition.members[s]);
            let n = partition.members[s].count_ones() as f32;
            let mut sums = [L::zero(); MOMENTS];
            for m in 0..Self::COUNT {
                sums[m] = (self.rows[0][members & 15][m] + self.rows[1][members >> 4 & 15][m])
                    + (self.rows[2][members >> 8 & 15][m] + self.rows[3][members >> 12 & 15][m]);
                rest[m] = rest[m] - sums[m];
            }
            let (x, y) = axis_variance::<L, C, G>(&sums, n);
            (across, along) = (across + x, along + y);
        }
        let (x, y) = axis_variance::<L, C, G>(&rest, partition.members[0].count_ones() as f32);
        (across + x, along + y)
    }
}

impl<L: Lanes> Ranked<L> {
    /// Returns `self` where the mask is set, `other` elsewhere.
    #[inline(always)]
    fn or(&self, mask: L::Mask, other: &Self) -> Self {
        Self {
            score: self.score.or(mask, other.score),
            across: self.across.or(mask, other.across),
            along: self.along.or(mask, other.along),
            pattern: self.pattern.or(mask, other.pattern),
        }
    }
}

/// Returns the variance across and along the principal axis, from moments. The Frobenius norm of the
/// covariance matrix approximates its largest eigenvalue: it is that eigenvalue if the texels are collinear,
/// and somewhat more if not.
#[inline(always)]
fn axis_variance<L: Lanes, const C: usize, const G: usize>(moments: &[L; MOMENTS], count: f32) -> (L, L) {
    let share = L::splat(1.0 / count.max(1.0));
    let (mut trace, mut squares) = (L::zero(), L::zero());
    let mut m = C;
    for a in 0..C {
        let mean = moments[a] * share;
        for b in a..C {
            let repeat = if G == 1 { 1.0 } else { [3.0, 1.732_050_8, 1.0][a + b] };
            let cov = (moments[m] - mean * moments[b]) * L::splat(repeat);
            squares = squares + cov.squared() * L::splat(if a == b { 1.0 } else { 2.0 });
            if a == b {
                trace = trace + cov;
            }
            m += 1;
        }
    }
    if C == 1 {
        return (L::zero(), trace);
    }
    let along = squares.sqrt();
    ((trace - along).max(L::zero()), along)
}
