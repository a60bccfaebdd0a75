//! Positions with so many corners that simplification across normal splits would spend most of its time on them.

use crate::Triangles;

/// Pairs of corners at one position that the attempt across normal splits may look at in each pass, for each corner
/// of the mesh; a grid has six. What is beyond the budget is the attribute error of high-valence positions.
const PAIRS_PER_CORNER: u64 = 16;
/// Pairs that any mesh may have: up to here the time is not worth a different result.
const FREE_PAIRS: u64 = 1 << 17;
/// A position with fewer corners is never fixed.
const CROWDED: u32 = 32;
/// A mesh with more pairs for each corner gets no attempt across normal splits, whose classification of vertices looks at
/// each pair once: such a mesh is fans of thousands of flat triangles and little else.
const MOST_PAIRS_PER_CORNER: u64 = 1024;

/// The positions with so many corners that simplification across normal splits would spend most of its time on them.
#[derive(Debug, PartialEq)]
pub(super) enum Crowding {
    /// These positions, each by its first vertex, ascending; none in an ordinary mesh.
    Positions(Vec<u32>),
    /// Too many to try at all.
    Extreme,
}

impl Crowding {
    /// Finds the positions with the most corners, such that the pairs of corners at all others stay within the budget.
    pub(super) fn of(triangles: Triangles<'_>, places: &[u32]) -> Self {
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
        let least = first_beyond.unwrap_or(u32::MAX).max(CROWDED);
        let is_crowded = |&place: &u32| corners[place as usize] >= least;
        Self::Positions((0..places.len() as u32).filter(is_crowded).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{Sample, flat_fans, soup, sphere};
    use crate::weld::{Attribute, firsts};

    fn crowding(sample: &Sample) -> Crowding {
        let count = sample.positions.len();
        let places = firsts(count, &[Attribute::F3(&sample.positions)]);
        Crowding::of(Triangles::new(&sample.indices, count).unwrap(), &places)
    }

    #[test]
    fn only_positions_that_dominate_the_work_are_protected() {
        let none = Crowding::Positions(vec![]);
        // The poles of a fine sphere are nothing against the rest of it, and a single cone is small.
        assert_eq!(crowding(&sphere(1024, 512)), none);
        assert_eq!(crowding(&flat_fans(1, 300)), none);
        // The apexes of cones, and not their rims.
        for (fans, sides) in [(1, 1000), (10, 700), (4, 2500)] {
            let Crowding::Positions(found) = crowding(&flat_fans(fans, sides)) else {
                panic!("{sides} are no extreme")
            };
            let apexes = (0..fans).map(|fan| fan * sides * 3);
            assert!(found.iter().copied().eq(apexes), "{fans} fans of {sides}: {found:?}");
        }
        assert_eq!(crowding(&flat_fans(1, 20_000)), Crowding::Extreme);
        assert_eq!(crowding(&flat_fans(8, 20_000)), Crowding::Extreme);
        // A few positions that all corners share.
        let mut few = soup(3, 40, 40_000);
        few.positions = few.indices.iter().map(|&index| few.positions[index as usize]).collect();
        few.indices = (0..few.indices.len() as u32).collect();
        let Crowding::Positions(found) = crowding(&few) else { return };
        assert_eq!(found.len(), 40);
    }
}
