//! The 64 partition patterns with two subsets and the 64 with three (Khronos Data Format 1.3, tables 20.6 to
//! 20.10).

use crate::uastc::partitions::{Partition, WHOLE};

/// The texels of the second subset of each pattern with two, texel 0 lowest.
const SECOND_OF_TWO: [u16; 64] = [
    0xCCCC, 0x8888, 0xEEEE, 0xECC8, 0xC880, 0xFEEC, 0xFEC8, 0xEC80, 0xC800, 0xFFEC, 0xFE80, 0xE800, 0xFFE8,
    0xFF00, 0xFFF0, 0xF000, 0xF710, 0x008E, 0x7100, 0x08CE, 0x008C, 0x7310, 0x3100, 0x8CCE, 0x088C, 0x3110,
    0x6666, 0x366C, 0x17E8, 0x0FF0, 0x718E, 0x399C, 0xAAAA, 0xF0F0, 0x5A5A, 0x33CC, 0x3C3C, 0x55AA, 0x9696,
    0xA55A, 0x73CE, 0x13C8, 0x324C, 0x3BDC, 0x6996, 0xC33C, 0x9966, 0x0660, 0x0272, 0x04E4, 0x4E40, 0x2720,
    0xC936, 0x936C, 0x39C6, 0x639C, 0x9336, 0x9CC6, 0x817E, 0xE718, 0xCCF0, 0x0FCC, 0x7744, 0xEE22,
];

/// The texels of the second and third subset of each pattern with three.
const OTHERS_OF_THREE: [[u16; 2]; 64] = [
    [0x08CC, 0xF600],
    [0x8CC8, 0x7300],
    [0xCC80, 0x3310],
    [0xEC00, 0x00CE],
    [0x3300, 0xCC00],
    [0x00CC, 0xCC00],
    [0xFF00, 0x00CC],
    [0xCCCC, 0x3300],
    [0x0F00, 0xF000],
    [0x0FF0, 0xF000],
    [0x00F0, 0xFF00],
    [0x4444, 0x8888],
    [0x6666, 0x8888],
    [0x2222, 0xCCCC],
    [0x136C, 0xEC80],
    [0x008C, 0x7310],
    [0x36C8, 0xC800],
    [0x08CE, 0x3100],
    [0x3330, 0xCCC0],
    [0xF000, 0x0CCC],
    [0x00EE, 0xEE00],
    [0x8888, 0x7700],
    [0x22C0, 0xCC00],
    [0x4430, 0x3300],
    [0x0C22, 0x00CC],
    [0x0344, 0xFC88],
    [0x6996, 0x0660],
    [0x9960, 0x6600],
    [0x0330, 0xC88C],
    [0x0066, 0xF900],
    [0xC22C, 0x0CC0],
    [0x8C00, 0x7310],
    [0x1300, 0xEC80],
    [0xC400, 0x08CE],
    [0x004C, 0xEC80],
    [0x2222, 0x4444],
    [0x00F0, 0x0F00],
    [0x2492, 0x4924],
    [0x2942, 0x4294],
    [0xC30C, 0x0C30],
    [0xC03C, 0x03C0],
    [0x00AA, 0xFF00],
    [0xAA00, 0x5500],
    [0x3030, 0xCCCC],
    [0xC0C0, 0x0C0C],
    [0x9090, 0x6666],
    [0xA00A, 0x0FF0],
    [0xAAA0, 0x5550],
    [0x0AAA, 0xF000],
    [0xE0E0, 0x0E0E],
    [0x7070, 0x8888],
    [0x6660, 0x9990],
    [0x0EE0, 0xE00E],
    [0x0770, 0x8888],
    [0x0666, 0xF000],
    [0x6600, 0x9900],
    [0x0066, 0xFF00],
    [0x0CC0, 0xC00C],
    [0x0330, 0xCCCC],
    [0x6000, 0x9000],
    [0x8080, 0x0808],
    [0x1010, 0xEEEE],
    [0x000A, 0xFFF0],
    [0x08CE, 0x7310],
];

/// The anchor of the second subset in patterns with two: the texel whose weight is stored without its top
/// bit.
const ANCHOR_OF_TWO: [u8; 64] = [
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 2, 8, 2, 2, 8, 8, 15, 2, 8, 2, 2, 8,
    8, 2, 2, 15, 15, 6, 8, 2, 8, 15, 15, 2, 8, 2, 2, 2, 15, 15, 6, 6, 2, 6, 8, 15, 15, 2, 2, 15, 15, 15, 15,
    15, 2, 2, 15,
];
/// The anchor of the second subset in patterns with three.
const ANCHOR_2_OF_THREE: [u8; 64] = [
    3, 3, 15, 15, 8, 3, 15, 15, 8, 8, 6, 6, 6, 5, 3, 3, 3, 3, 8, 15, 3, 3, 6, 10, 5, 8, 8, 6, 8, 5, 15, 15,
    8, 15, 3, 5, 6, 10, 8, 15, 15, 3, 15, 5, 15, 15, 15, 15, 3, 15, 5, 5, 5, 8, 5, 10, 5, 10, 8, 13, 15, 12,
    3, 3,
];
/// The anchor of the third subset in patterns with three.
const ANCHOR_3_OF_THREE: [u8; 64] = [
    15, 8, 8, 3, 15, 15, 3, 8, 15, 15, 15, 15, 15, 15, 15, 8, 15, 8, 15, 3, 15, 8, 15, 8, 3, 15, 6, 10, 15,
    15, 10, 8, 15, 3, 15, 10, 10, 8, 9, 10, 6, 15, 8, 15, 3, 6, 6, 8, 15, 3, 15, 15, 15, 15, 15, 15, 15, 15,
    15, 15, 3, 15, 15, 8,
];

/// The patterns of modes 1, 3 and 7.
pub static TWO: [Partition; 64] = {
    let mut out = [NONE; 64];
    let mut i = 0;
    while i < 64 {
        out[i] = partition([SECOND_OF_TWO[i], 0], [ANCHOR_OF_TWO[i], u8::MAX]);
        i += 1;
    }
    out
};

/// The patterns of mode 2; mode 0 has the first sixteen of them.
pub static THREE: [Partition; 64] = {
    let mut out = [NONE; 64];
    let mut i = 0;
    while i < 64 {
        out[i] = partition(OTHERS_OF_THREE[i], [ANCHOR_2_OF_THREE[i], ANCHOR_3_OF_THREE[i]]);
        i += 1;
    }
    out
};

const NONE: Partition = Partition { subset: [0; 16], members: [0; 3], anchors: [u8::MAX; 3] };

const fn partition(others: [u16; 2], anchors: [u8; 2]) -> Partition {
    let mut subset = [0; 16];
    let mut i = 0;
    while i < 16 {
        subset[i] = (others[0] >> i & 1) as u8 + 2 * (others[1] >> i & 1) as u8;
        i += 1;
    }
    let members = [!(others[0] | others[1]), others[0], others[1]];
    Partition { subset, members, anchors: [0, anchors[0], anchors[1]] }
}

/// Returns a partition pattern with this many subsets.
pub fn pattern(subsets: usize, index: u8) -> &'static Partition {
    match subsets {
        2 => &TWO[usize::from(index & 63)],
        3 => &THREE[usize::from(index & 63)],
        _ => &WHOLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use basisu::uastc::bc7_tables as theirs;

    #[test]
    fn patterns_match_the_independent_transcoder() {
        for i in 0..64 {
            assert_eq!(TWO[i].subset, theirs::G_BC7_PARTITION2[i * 16..][..16], "two, {i}");
            assert_eq!(THREE[i].subset, theirs::G_BC7_PARTITION3[i * 16..][..16], "three, {i}");
            assert_eq!(TWO[i].anchors[1], theirs::G_BC7_ANCHOR_SECOND[i]);
            assert_eq!(THREE[i].anchors[1], theirs::G_BC7_ANCHOR_THIRD_1[i]);
            assert_eq!(THREE[i].anchors[2], theirs::G_BC7_ANCHOR_THIRD_2[i]);
        }
    }

    #[test]
    fn anchors_are_in_their_subsets() {
        for (patterns, subsets) in [(&TWO, 2), (&THREE, 3)] {
            for partition in patterns {
                for s in 0..subsets {
                    assert_eq!(usize::from(partition.subset[usize::from(partition.anchors[s])]), s);
                    assert_eq!(partition.members[s] >> partition.anchors[s] & 1, 1);
                }
                assert_eq!(partition.members.iter().fold(0, |all, m| all ^ m), 0xFFFF);
            }
        }
    }
}
