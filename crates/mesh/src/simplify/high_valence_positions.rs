//! High-valence positions, on which simplification across normal splits would spend most of its time.

use crate::Triangles;

/// The budget of corner pairs at one position that the attempt across normal splits may visit in each pass,
/// for each corner of the mesh; a grid has six. Beyond the budget, time goes to the attribute error of
/// high-valence positions.
const PAIRS_PER_CORNER: u64 = 16;
/// The number of pairs that any mesh may have: up to here the time does not justify a different result.
const FREE_PAIRS: u64 = 1 << 17;
/// A position with fewer corners is never locked.
const MIN_LOCKED_CORNERS: u32 = 32;
/// A mesh with more pairs for each corner gets no attempt across normal splits, whose classification of
/// vertices visits each pair once: such a mesh consists of fans of thousands of flat triangles.
const MOST_PAIRS_PER_CORNER: u64 = 1024;

/// The high-valence positions of a mesh, which simplification across normal splits has to lock.
#[derive(Debug, PartialEq)]
pub(crate) enum HighValencePositions {
    /// These positions, each by its first vertex, ascending; none in an ordinary mesh.
    Positions(Vec<u32>),
    /// Too many for an attempt across normal splits.
    Extreme,
}

impl HighValencePositions {
    /// Finds the positions with the most corners, such that the pairs of corners at all others stay within
    /// the budget.
    pub(crate) fn of(triangles: Triangles<'_>, places: &[u32]) -> Self {
        let mut corners = vec![0u32; places.len()];
        for &index in triangles.indices() {
            corners[places[index as usize] as usize] += 1;
        }
        let square = |count: u32| u64::from(count) * u64::from(count);
        let all = triangles.indices().len() as u64;
        let pairs: u64 = corners.iter().map(|&count| square(count)).sum();
        let budget = FREE_PAIRS.max(all * PAIRS_PER_CORNER);
        if pairs <= budget {
            return Self::Positions(Vec::new());
        }
        if pairs > FREE_PAIRS.max(all * MOST_PAIRS_PER_CORNER) {
            return Self::Extreme;
        }
        let mut sorted: Vec<u32> = corners.iter().copied().filter(|&count| count > 0).collect();
        sorted.sort_unstable();
        let mut sum = 0;
        let is_beyond = |count: &u32| {
            sum += square(*count);
            sum > budget
        };
        let first_beyond = sorted.iter().copied().find(is_beyond);
        let least = first_beyond.unwrap_or(u32::MAX).max(MIN_LOCKED_CORNERS);
        let is_crowded = |&place: &u32| corners[place as usize] >= least;
        Self::Positions((0..places.len() as u32).filter(is_crowded).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{Sample, flat_fans, soup, sphere};
    use crate::weld::{Attribute, firsts};

    fn high_valence_positions(sample: &Sample) -> HighValencePositions {
        let count = sample.positions.len();
        let places = firsts(count, &[Attribute::F3(&sample.positions)]);
        HighValencePositions::of(Triangles::new(&sample.indices, count).unwrap(), &places)
    }

    #[test]
    fn locks_only_positions_that_dominate_the_work() {
        let none = HighValencePositions::Positions(vec![]);
        // The poles of a fine sphere are negligible against the rest of it, and a single cone is small.
        assert_eq!(high_valence_positions(&sphere(1024, 512)), none);
        assert_eq!(high_valence_positions(&flat_fans(1, 300)), none);
        // The apexes of cones, and not their rims.
        for (fans, sides) in [(1, 1000), (10, 700), (4, 2500)] {
            let HighValencePositions::Positions(found) = high_valence_positions(&flat_fans(fans, sides))
            else {
                panic!("{sides} sides are not extreme")
            };
            let apexes = (0..fans).map(|fan| fan * sides * 3);
            assert!(found.iter().copied().eq(apexes), "{fans} fans of {sides}: {found:?}");
        }
        assert_eq!(high_valence_positions(&flat_fans(1, 20_000)), HighValencePositions::Extreme);
        assert_eq!(high_valence_positions(&flat_fans(8, 20_000)), HighValencePositions::Extreme);
        // A few positions that all corners share.
        let mut few = soup(3, 40, 40_000);
        few.positions = few.indices.iter().map(|&index| few.positions[index as usize]).collect();
        few.indices = (0..few.indices.len() as u32).collect();
        let HighValencePositions::Positions(found) = high_valence_positions(&few) else { return };
        assert_eq!(found.len(), 40);
    }
}
