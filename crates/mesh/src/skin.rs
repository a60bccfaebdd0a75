//! Bone influences: at most four joints per vertex, with weights that sum to one.
//!
//! A source may have eight influences (or more) per vertex in sets of four; the runtime vertex has four.

/// The joint indices and weights of one vertex in the runtime format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Influences {
    /// Joint indices; a slot without weight has joint 0.
    pub joints: [u16; 4],
    /// Joint weights; their sum is one.
    pub weights: [f32; 4],
}

impl Influences {
    /// Bound rigidly to joint 0: the influences of a vertex without any weight.
    pub const RIGID: Self = Self { joints: [0; 4], weights: [1.0, 0.0, 0.0, 0.0] };
}

/// A set of four influences per vertex, as glTF stores `JOINTS_n` and `WEIGHTS_n`.
#[derive(Clone, Copy, Debug)]
pub struct InfluenceSet<'a> {
    /// Four joint indices per vertex.
    pub joints: &'a [[u16; 4]],
    /// Four joint weights per vertex.
    pub weights: &'a [[f32; 4]],
}

/// The numbers of vertices whose influences were changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Vertices with more than four influences, which lost the smallest.
    pub(crate) reduced: usize,
    /// Vertices without any weight, now bound rigidly to joint 0.
    pub(crate) weightless: usize,
}

/// Reduces every vertex to its four largest influences and renormalises them.
///
/// Weights that are negative or NaN count as zero; a joint named twice counts once with both weights; of
/// equal weights the earlier slot is kept, and the kept slots keep their order.
///
/// # Panics
///
/// Panics if a set's slices are shorter than `vertex_count`.
pub(crate) fn influences(sets: &[InfluenceSet<'_>], vertex_count: usize) -> (Vec<Influences>, Changes) {
    let mut changes = Changes::default();
    let mut slots: Vec<(u16, f32)> = Vec::with_capacity(sets.len() * 4);
    let all = (0..vertex_count).map(|vertex| {
        slots.clear();
        for set in sets {
            for (&joint, &weight) in set.joints[vertex].iter().zip(&set.weights[vertex]) {
                if !(weight > 0.0 && weight.is_finite()) {
                    continue;
                }
                match slots.iter_mut().find(|slot| slot.0 == joint) {
                    Some(slot) => slot.1 += weight,
                    None => slots.push((joint, weight)),
                }
            }
        }
        if slots.len() > 4 {
            changes.reduced += 1;
            keep_largest(&mut slots);
        }
        changes.weightless += usize::from(slots.is_empty());
        normalised(&slots)
    });
    (all.collect(), changes)
}

fn keep_largest(slots: &mut Vec<(u16, f32)>) {
    while slots.len() > 4 {
        let mut smallest = 0;
        for (at, slot) in slots.iter().enumerate() {
            if slot.1 <= slots[smallest].1 {
                smallest = at;
            }
        }
        slots.remove(smallest);
    }
}

fn normalised(slots: &[(u16, f32)]) -> Influences {
    let largest = slots.iter().fold(0.0f32, |most, slot| most.max(slot.1));
    if largest <= 0.0 {
        return Influences::RIGID;
    }
    let mut result = Influences { joints: [0; 4], weights: [0.0; 4] };
    // Divided by the largest first: neither huge nor tiny weights lose precision in the sum.
    let sum = slots.iter().fold(0.0, |sum, slot| sum + slot.1.min(f32::MAX) / largest.min(f32::MAX));
    for (at, &(joint, weight)) in slots.iter().enumerate() {
        let share = weight.min(f32::MAX) / largest.min(f32::MAX) / sum;
        if share > 0.0 {
            (result.joints[at], result.weights[at]) = (joint, share);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(joints: [u16; 8], weights: [f32; 8]) -> (Influences, Changes) {
        let (j, w) = (joints.as_chunks::<4>().0, weights.as_chunks::<4>().0);
        let sets = [
            InfluenceSet { joints: &j[..1], weights: &w[..1] },
            InfluenceSet { joints: &j[1..], weights: &w[1..] },
        ];
        let (all, changes) = influences(&sets, 1);
        (all[0], changes)
    }

    #[test]
    fn keeps_the_four_largest_in_order() {
        let (got, changes) = one([1, 2, 3, 4, 5, 6, 7, 8], [0.1, 0.3, 0.0, 0.05, 0.2, 0.15, 0.1, 0.1]);
        assert_eq!(got.joints, [1, 2, 5, 6]);
        for (weight, expected) in got.weights.iter().zip([0.1, 0.3, 0.2, 0.15]) {
            assert!((weight - expected / 0.75).abs() < 1e-6);
        }
        assert_eq!(changes, Changes { reduced: 1, weightless: 0 });
    }

    #[test]
    fn handles_zero_negative_nan_and_repeated_weights() {
        assert_eq!(one([9; 8], [0.0; 8]), (Influences::RIGID, Changes { reduced: 0, weightless: 1 }));
        let (got, _) =
            one([3, 4, 5, 6, 0, 0, 0, 0], [-1.0, f32::NAN, 2.0, f32::INFINITY, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(got, Influences { joints: [5, 0, 0, 0], weights: [1.0, 0.0, 0.0, 0.0] });
        let (got, _) = one([7, 1, 7, 0, 7, 0, 0, 0], [0.25, 0.5, 0.125, 0.0, 0.125, 0.0, 0.0, 0.0]);
        assert_eq!(got, Influences { joints: [7, 1, 0, 0], weights: [0.5, 0.5, 0.0, 0.0] });
    }

    #[test]
    fn extreme_weights_sum_to_one() {
        let (got, _) = one([1, 2, 0, 0, 0, 0, 0, 0], [f32::MAX, f32::MAX, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(got.weights, [0.5, 0.5, 0.0, 0.0]);
        let (got, _) = one([1, 2, 0, 0, 0, 0, 0, 0], [1e-45, 1e-45, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(got.weights, [0.5, 0.5, 0.0, 0.0]);
        let (got, _) = one([1, 1, 0, 0, 0, 0, 0, 0], [f32::MAX, f32::MAX, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(got.weights, [1.0, 0.0, 0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn weights_sum_to_one(joints in prop::array::uniform8(0u16..6), weights in prop::array::uniform8(-0.2f32..1.0)) {
            let (got, _) = one(joints, weights);
            prop_assert!((got.weights.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            prop_assert!(got.weights.iter().all(|&w| (0.0..=1.0).contains(&w)));
        }

        /// Compared with sorting: of eight different joints the four heaviest are kept, in proportion.
        #[test]
        fn keeps_the_heaviest_influences(weights in prop::array::uniform8(0.0f32..1.0)) {
            let (got, changes) = one([10, 11, 12, 13, 14, 15, 16, 17], weights);
            let mut sorted: Vec<(u16, f32)> = (10..).zip(weights).filter(|slot| slot.1 > 0.0).collect();
            prop_assert_eq!(changes.reduced, usize::from(sorted.len() > 4));
            // Stable: of equal weights the earlier comes first.
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
            sorted.truncate(4);
            let sum: f32 = sorted.iter().map(|slot| slot.1).sum();
            for (joint, weight) in sorted {
                let at = got.joints.iter().position(|&j| j == joint).expect("one of the heaviest");
                prop_assert!((got.weights[at] - weight / sum).abs() < 1e-6);
            }
        }
    }
}
