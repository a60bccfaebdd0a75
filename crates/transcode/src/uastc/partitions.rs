//! The partition patterns of the UASTC modes with two or three subsets.
//!
//! ASTC names a partition by a 10-bit seed and computes each texel's subset with a hash
//! ([`crate::astc::partition`]). UASTC allows only the partitions that BC7 has too; the UASTC specification lists
//! their seeds. The patterns are computed from the seeds at compile time.

use crate::astc::partition::subset_of_texel;

/// A partition of the sixteen texels into subsets.
#[derive(Clone, Copy, Debug)]
pub struct Partition {
    /// The subset of each texel, in raster order.
    pub subset: [u8; 16],
    /// The texels of each subset as a bit set.
    pub members: [u16; 3],
    /// The anchor of each subset, its first texel: its weight is stored without its top bit, which is zero.
    pub anchors: [u8; 3],
}

/// Seeds of the two-subset patterns that BC7 has as two subsets (modes 2, 4, 9, 16).
pub(crate) const SEEDS_2: [u16; 30] = [
    28, 20, 16, 29, 91, 9, 107, 72, 149, 204, 50, 114, 496, 17, 78, 39, 252, 828, 43, 156, 116, 210, 476,
    273, 684, 359, 246, 195, 694, 524,
];
/// Seeds of the three-subset patterns (mode 3).
pub(crate) const SEEDS_3: [u16; 11] = [260, 74, 32, 156, 183, 15, 745, 0, 335, 902, 254];
/// Seeds of the two-subset patterns that BC7 has by merging two of three subsets (mode 7).
pub(crate) const SEEDS_2_OF_3: [u16; 19] =
    [36, 48, 61, 137, 161, 183, 226, 281, 302, 307, 479, 495, 593, 594, 605, 799, 812, 988, 993];

/// The patterns of modes 2, 4, 9 and 16.
pub static TWO: [Partition; 30] = partitions(SEEDS_2, 2);
/// The patterns of mode 3.
pub static THREE: [Partition; 11] = partitions(SEEDS_3, 3);
/// The patterns of mode 7.
pub static TWO_OF_THREE: [Partition; 19] = partitions(SEEDS_2_OF_3, 2);
/// The trivial pattern of the modes with one subset.
pub static WHOLE: Partition =
    Partition { subset: [0; 16], members: [0xFFFF, 0, 0], anchors: [0, u8::MAX, u8::MAX] };

const fn partitions<const N: usize>(seeds: [u16; N], subsets: u32) -> [Partition; N] {
    let mut out = [WHOLE_CONST; N];
    let mut i = 0;
    while i < N {
        out[i] = partition(seeds[i] as u32, subsets);
        i += 1;
    }
    out
}

const WHOLE_CONST: Partition = Partition { subset: [0; 16], members: [0; 3], anchors: [u8::MAX; 3] };

const fn partition(seed: u32, subsets: u32) -> Partition {
    let mut out = WHOLE_CONST;
    let mut i = 16;
    while i > 0 {
        i -= 1;
        let subset = subset_of_texel(seed, subsets, (i % 4) as u32, (i / 4) as u32);
        out.subset[i] = subset;
        out.members[subset as usize] |= 1 << i;
        // Texels are visited from the last to the first, so that the first remains.
        out.anchors[subset as usize] = i as u8;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use basisu::uastc::patterns as theirs;

    fn same(ours: &[Partition], patterns: &[[u8; 16]], anchors: &[[u8; 3]], subsets: usize) {
        assert_eq!(ours.len(), patterns.len());
        for (i, partition) in ours.iter().enumerate() {
            assert_eq!(partition.subset, patterns[i], "pattern {i}");
            assert_eq!(partition.anchors[..subsets], anchors[i][..subsets], "anchors {i}");
        }
    }

    #[test]
    fn patterns_match_the_independent_transcoder() {
        same(&TWO, &theirs::ASTC_BC7_PATTERNS2, &theirs::ASTC_BC7_PATTERN2_ANCHORS, 2);
        same(&THREE, &theirs::ASTC_BC7_PATTERNS3, &theirs::ASTC_BC7_PATTERN3_ANCHORS, 3);
        same(&TWO_OF_THREE, &theirs::BC7_3_ASTC2_PATTERNS2, &theirs::BC7_3_ASTC2_PATTERNS2_ANCHORS, 2);
    }

    #[test]
    fn members_and_subsets_agree() {
        for partition in TWO.iter().chain(&THREE).chain(&TWO_OF_THREE).chain([&WHOLE]) {
            for (i, &subset) in partition.subset.iter().enumerate() {
                for (s, members) in partition.members.iter().enumerate() {
                    assert_eq!(members >> i & 1 != 0, s == usize::from(subset));
                }
            }
        }
    }
}
