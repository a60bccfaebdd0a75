//! The distinct values of one channel of a block, sorted, and the error of a sorted palette.

/// The distinct values of sixteen texels in ascending order, each with the number of its texels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels {
    values: [i32; 16],
    counts: [i32; 16],
    len: usize,
}

impl Levels {
    /// Counts the values of a block.
    pub(crate) fn new(texels: &[i32; 16]) -> Levels {
        let mut sorted = *texels;
        sorted.sort_unstable();
        let mut out = Levels { values: [0; 16], counts: [0; 16], len: 0 };
        for value in sorted {
            if out.len == 0 || out.values[out.len - 1] != value {
                out.values[out.len] = value;
                out.len += 1;
            }
            out.counts[out.len - 1] += 1;
        }
        out
    }

    /// Returns the distinct values in ascending order; there is at least one.
    pub(crate) fn values(&self) -> &[i32] {
        &self.values[..self.len]
    }

    /// Returns the smallest value.
    pub(crate) fn low(&self) -> i32 {
        self.values[0]
    }

    /// Returns the largest value.
    pub(crate) fn high(&self) -> i32 {
        self.values[self.len - 1]
    }

    /// Returns the squared error if every texel takes the nearest entry of an ascending palette; any number from
    /// `limit` on if the error is not below it.
    #[inline]
    pub(crate) fn error(&self, palette: &[i32; 8], limit: i32) -> i32 {
        let (mut at, mut sum) = (0, 0);
        for i in 0..self.len {
            let value = self.values[i];
            let mut distance = (palette[at] - value).abs();
            // Nearest entries of ascending values are in ascending order, too.
            while at < 7 {
                let next = (palette[at + 1] - value).abs();
                if next > distance {
                    break;
                }
                distance = next;
                at += 1;
            }
            sum += self.counts[i] * distance * distance;
            if sum >= limit {
                break;
            }
        }
        sum
    }

    /// Returns the least squared error of any palette of one to eight integers: the optimal clustering of the values.
    pub(crate) fn clustering_errors(&self) -> [i32; 8] {
        let (mut count, mut sum, mut square) = ([0i64; 17], [0i64; 17], [0i64; 17]);
        for i in 0..self.len {
            let (n, v) = (i64::from(self.counts[i]), i64::from(self.values[i]));
            count[i + 1] = count[i] + n;
            sum[i + 1] = sum[i] + n * v;
            square[i + 1] = square[i] + n * v * v;
        }
        // The error of the values `from..to` with the best integer in place of all of them.
        let cost = |from: usize, to: usize| {
            let (n, s, q) = (count[to] - count[from], sum[to] - sum[from], square[to] - square[from]);
            let centre = (2 * s + n).div_euclid(2 * n);
            q - 2 * centre * s + n * centre * centre
        };
        let mut best = [0i64; 17];
        for to in 1..=self.len {
            best[to] = cost(0, to);
        }
        let mut out = [0; 8];
        out[0] = best[self.len] as i32;
        for clusters in 1..8 {
            let mut next = best;
            for to in 2..=self.len {
                for from in 1..to {
                    next[to] = next[to].min(best[from] + cost(from, to));
                }
            }
            best = next;
            out[clusters] = best[self.len] as i32;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_that_of_the_nearest_entries() {
        let texels = [0, 3, 3, 9, 255, 128, 7, 7, 7, 100, 90, 80, 70, 60, 50, 40];
        let levels = Levels::new(&texels);
        assert_eq!((levels.low(), levels.high(), levels.values().len()), (0, 255, 13));
        for palette in [[0, 10, 20, 40, 80, 160, 200, 255], [5; 8], [-9, 0, 0, 0, 1, 2, 3, 4]] {
            let nearest = |v: i32| palette.iter().map(|p| (p - v).pow(2)).min().unwrap();
            let expected: i32 = texels.iter().map(|v| nearest(*v)).sum();
            assert_eq!(levels.error(&palette, i32::MAX), expected);
            assert!(levels.error(&palette, 1) >= 1);
        }
    }

    #[test]
    fn clustering_is_optimal() {
        let mut texels = [0; 16];
        texels[..5].copy_from_slice(&[10, 12, 50, 51, 53]);
        let errors = Levels::new(&texels).clustering_errors();
        // {0}, {10, 12} and {50, 51, 53}: 0 + 2 + (1 + 0 + 4), with integers as centres.
        assert_eq!(errors[2], 2 + 5);
        assert_eq!(errors[5..], [0, 0, 0]);
        assert!(errors.is_sorted_by(|a, b| a >= b));
    }
}
