//! The resampling kernel: the source texels of each destination texel, and their weights.
//!
//! The kernel is Mitchell–Netravali with B = C = 1/3. A Kaiser-windowed sinc (width 3, alpha 4) is sharper
//! but rings: next to a hard edge it overshoots by 7 to 8 percent of the step, in linear light, where it is
//! visible against a dark background. Mitchell overshoots by 2 percent. Its blur is close to that of a box
//! filter (a second moment of 1/9 of a texel squared, against 1/12), and a chain in which each level is
//! filtered from the previous one adds at most a third to that, since each step counts a quarter of the next.
//! Weights are normalised in `f64`.

/// Radius of the kernel, in destination texels.
const RADIUS: f64 = 2.0;

/// The kernel of Mitchell and Netravali, "Reconstruction Filters in Computer Graphics" (1988), equation 8, at
/// B = C = 1/3.
fn mitchell(x: f64) -> f64 {
    let x = x.abs();
    if x < 1.0 {
        (7.0 * x * x * x - 12.0 * x * x + 16.0 / 3.0) / 6.0
    } else if x < RADIUS {
        (-7.0 / 3.0 * x * x * x + 12.0 * x * x - 20.0 * x + 32.0 / 3.0) / 6.0
    } else {
        0.0
    }
}

/// Address mode beyond the first and the last texel of a row or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Repeats the outermost texel.
    Clamp,
    /// Texels of a neighbouring face, which the source supplies as a border of [`reach`] texels on either
    /// side.
    Border,
}

/// Returns the number of texels that the kernel reads beyond the edge when `from` texels become `to`.
pub(crate) fn reach(from: u32, to: u32) -> u32 {
    if from == to { 0 } else { (1.5 * (f64::from(from) / f64::from(to)) + 0.5) as u32 }
}

/// The weighted source texels of each destination texel along one axis.
#[derive(Clone)]
pub(crate) struct Taps {
    /// For each destination texel, its first source texel and the start of its weights; one more entry ends
    /// the list.
    spans: Vec<(u32, usize)>,
    weights: Vec<f32>,
    longest: usize,
}

impl Taps {
    /// Returns the taps that resample `from` texels to `to`, with `1 <= to <= from`. Sizes need not divide
    /// each other: texel `i` covers exactly `i * from / to .. (i + 1) * from / to` and the kernel is centred
    /// there.
    pub(crate) fn new(from: u32, to: u32, edge: Edge) -> Taps {
        debug_assert!(1 <= to && to <= from);
        let scale = f64::from(from) / f64::from(to);
        let border = if edge == Edge::Border { i64::from(reach(from, to)) } else { 0 };
        let last = i64::from(from) - 1 + border;
        let mut taps = Taps { spans: Vec::with_capacity(to as usize + 1), weights: Vec::new(), longest: 0 };
        let mut row: Vec<f64> = Vec::new();
        for i in 0..to {
            row.clear();
            let mut first = i64::from(i);
            if from == to {
                row.push(1.0); // The kernel would blur even without a change of size.
            } else {
                let centre = (f64::from(i) + 0.5) * scale - 0.5;
                let (low, high) =
                    ((centre - RADIUS * scale).ceil() as i64, (centre + RADIUS * scale).floor() as i64);
                first = low.max(-border);
                row.resize((high.min(last) - first + 1) as usize, 0.0);
                for j in low..=high {
                    row[(j.clamp(first, last) - first) as usize] += mitchell((j as f64 - centre) / scale);
                }
            }
            taps.push((first + border) as u32, &row);
        }
        taps.spans.push((0, taps.weights.len()));
        taps
    }

    fn push(&mut self, mut first: u32, row: &[f64]) {
        // The kernel is zero at the ends of its support: such taps would only cost time.
        let start = row.iter().position(|w| *w != 0.0).unwrap_or(0);
        let end = row.iter().rposition(|w| *w != 0.0).map_or(row.len(), |i| i + 1);
        first += start as u32;
        let sum: f64 = row.iter().sum();
        self.spans.push((first, self.weights.len()));
        self.weights.extend(row[start..end].iter().map(|w| (w / sum) as f32));
        self.longest = self.longest.max(end - start);
    }

    /// Returns the number of destination texels.
    pub(crate) fn len(&self) -> usize {
        self.spans.len() - 1
    }

    /// Returns the largest number of taps of a destination texel.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Returns the first source texel of destination texel `i` (counted from the start of the border) and the
    /// weights from that texel on.
    #[inline]
    pub(crate) fn of(&self, i: usize) -> (usize, &[f32]) {
        let (first, from) = self.spans[i];
        let to = self.spans[i + 1].1;
        (first as usize, &self.weights[from..to])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_matches_published_values() {
        // Values that follow from the definition: k(0) = (6 - 2B) / 6, k(1) = B / 6, continuous, zero from 2
        // on.
        for (x, expected) in [(0.0, 8.0 / 9.0), (1.0, 1.0 / 18.0), (-1.0, 1.0 / 18.0), (2.0, 0.0), (3.0, 0.0)]
        {
            assert!((mitchell(x) - expected).abs() < 1e-15, "{x}");
        }
        assert!((mitchell(1.0 - 1e-9) - mitchell(1.0)).abs() < 1e-8);
        assert!(mitchell(2.0 - 1e-9).abs() < 1e-15);
        // Its integer shifts sum to one everywhere: a constant stays constant.
        for step in 0..100 {
            let x = f64::from(step) / 100.0;
            let sum: f64 = (-3..=3).map(|i| mitchell(x + f64::from(i))).sum();
            assert!((sum - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn second_moment_is_a_ninth_of_a_texel_squared() {
        let moment: f64 =
            (-2000..=2000).map(|i| f64::from(i) / 1000.0).map(|x| x * x * mitchell(x) / 1000.0).sum();
        assert!((moment - 1.0 / 9.0).abs() < 1e-6, "{moment}");
    }

    #[test]
    fn weights_sum_to_one_and_taps_stay_inside() {
        for from in 1..70 {
            for to in 1..=from {
                for edge in [Edge::Clamp, Edge::Border] {
                    let taps = Taps::new(from, to, edge);
                    let border = if edge == Edge::Border { reach(from, to) } else { 0 };
                    assert_eq!(taps.len(), to as usize);
                    for i in 0..taps.len() {
                        let (first, weights) = taps.of(i);
                        let sum: f32 = weights.iter().sum();
                        assert!((sum - 1.0).abs() < 1e-5, "{from} to {to}: {sum}");
                        assert!(first + weights.len() <= (from + 2 * border) as usize, "{from} to {to}");
                        assert!(weights.len() <= taps.longest());
                    }
                }
            }
        }
    }

    #[test]
    fn windows_only_move_forward() {
        for (from, to) in [(5, 2), (9, 4), (1000, 333), (7, 6), (4096, 1)] {
            let taps = Taps::new(from, to, Edge::Clamp);
            let ends: Vec<_> =
                (0..taps.len()).map(|i| (taps.of(i).0, taps.of(i).0 + taps.of(i).1.len())).collect();
            assert!(ends.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1), "{from} to {to}");
        }
    }

    #[test]
    fn same_size_is_the_identity() {
        let taps = Taps::new(7, 7, Edge::Border);
        assert!((0..7).all(|i| taps.of(i) == (i, &[1.0][..])));
    }

    #[test]
    fn step_overshoots_by_less_than_two_percent() {
        // All phases of a hard edge against the grid of a halved image.
        let taps = Taps::new(64, 32, Edge::Clamp);
        let mut worst: f32 = 0.0;
        for edge in 0..64 {
            for i in 0..32 {
                let (first, weights) = taps.of(i);
                let value: f32 =
                    weights.iter().zip(first..).filter(|(_, x)| *x >= edge).map(|(w, _)| w).sum();
                worst = worst.max(value - 1.0).max(-value);
            }
        }
        assert!(worst < 0.02, "{worst}");
    }

    #[test]
    fn ramp_keeps_its_slope() {
        // Away from the edges a linear function is reproduced at the destination's centres.
        for (from, to) in [(64u32, 32u32), (63, 31), (60, 25)] {
            let taps = Taps::new(from, to, Edge::Clamp);
            let scale = f64::from(from) / f64::from(to);
            for i in 3..taps.len() - 3 {
                let (first, weights) = taps.of(i);
                let value: f64 = weights.iter().zip(first..).map(|(w, x)| f64::from(*w) * x as f64).sum();
                let centre = (i as f64 + 0.5) * scale - 0.5;
                assert!((value - centre).abs() < 0.02 * scale, "{from} to {to} at {i}: {value} for {centre}");
            }
        }
    }
}
