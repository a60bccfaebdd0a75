//! The fourteen modes of BC6H with their bits, as in the Khronos Data Format Specification 1.3, section 20.6.

/// A mode: the precision of its endpoints and the layout of its bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    /// The mode field, and its width in bits.
    pub(super) code: (u8, u32),
    /// The number of subsets.
    pub(super) subsets: usize,
    /// The bits of the first endpoint, which are those of every unpacked endpoint.
    pub(super) bits: u32,
    /// The bits of each channel of all other endpoints.
    pub(super) delta: [u32; 3],
    /// The other endpoints are differences from the first.
    pub(super) transformed: bool,
    /// The bits after the mode field, lowest first: channel and number of the endpoint with a range of its bits. A range
    /// that ascends is stored in reverse.
    pub(super) layout: &'static str,
}

const fn two(code: (u8, u32), bits: u32, delta: [u32; 3], layout: &'static str) -> Mode {
    Mode { code, subsets: 2, bits, delta, transformed: bits != 6, layout }
}

const fn one(code: u8, bits: u32, delta: u32, layout: &'static str) -> Mode {
    Mode { code: (code, 5), subsets: 1, bits, delta: [delta; 3], transformed: bits != 10, layout }
}

/// The modes in order of their numbers in the specification, less one.
pub(super) const MODES: [Mode; 14] = [
    two(
        (0b00, 2),
        10,
        [5, 5, 5],
        "g2[4] b2[4] b3[4] r0[9:0] g0[9:0] b0[9:0] r1[4:0] g3[4] g2[3:0] g1[4:0] b3[0] g3[3:0] b1[4:0] b3[1] b2[3:0] r2[4:0] b3[2] r3[4:0] b3[3]",
    ),
    two(
        (0b01, 2),
        7,
        [6, 6, 6],
        "g2[5] g3[4] g3[5] r0[6:0] b3[0] b3[1] b2[4] g0[6:0] b2[5] b3[2] g2[4] b0[6:0] b3[3] b3[5] b3[4] r1[5:0] g2[3:0] g1[5:0] g3[3:0] b1[5:0] b2[3:0] r2[5:0] r3[5:0]",
    ),
    two(
        (0b00010, 5),
        11,
        [5, 4, 4],
        "r0[9:0] g0[9:0] b0[9:0] r1[4:0] r0[10] g2[3:0] g1[3:0] g0[10] b3[0] g3[3:0] b1[3:0] b0[10] b3[1] b2[3:0] r2[4:0] b3[2] r3[4:0] b3[3]",
    ),
    two(
        (0b00110, 5),
        11,
        [4, 5, 4],
        "r0[9:0] g0[9:0] b0[9:0] r1[3:0] r0[10] g3[4] g2[3:0] g1[4:0] g0[10] g3[3:0] b1[3:0] b0[10] b3[1] b2[3:0] r2[3:0] b3[0] b3[2] r3[3:0] g2[4] b3[3]",
    ),
    two(
        (0b01010, 5),
        11,
        [4, 4, 5],
        "r0[9:0] g0[9:0] b0[9:0] r1[3:0] r0[10] b2[4] g2[3:0] g1[3:0] g0[10] b3[0] g3[3:0] b1[4:0] b0[10] b2[3:0] r2[3:0] b3[1] b3[2] r3[3:0] b3[4] b3[3]",
    ),
    two(
        (0b01110, 5),
        9,
        [5, 5, 5],
        "r0[8:0] b2[4] g0[8:0] g2[4] b0[8:0] b3[4] r1[4:0] g3[4] g2[3:0] g1[4:0] b3[0] g3[3:0] b1[4:0] b3[1] b2[3:0] r2[4:0] b3[2] r3[4:0] b3[3]",
    ),
    two(
        (0b10010, 5),
        8,
        [6, 5, 5],
        "r0[7:0] g3[4] b2[4] g0[7:0] b3[2] g2[4] b0[7:0] b3[3] b3[4] r1[5:0] g2[3:0] g1[4:0] b3[0] g3[3:0] b1[4:0] b3[1] b2[3:0] r2[5:0] r3[5:0]",
    ),
    two(
        (0b10110, 5),
        8,
        [5, 6, 5],
        "r0[7:0] b3[0] b2[4] g0[7:0] g2[5] g2[4] b0[7:0] g3[5] b3[4] r1[4:0] g3[4] g2[3:0] g1[5:0] g3[3:0] b1[4:0] b3[1] b2[3:0] r2[4:0] b3[2] r3[4:0] b3[3]",
    ),
    two(
        (0b11010, 5),
        8,
        [5, 5, 6],
        "r0[7:0] b3[1] b2[4] g0[7:0] b2[5] g2[4] b0[7:0] b3[5] b3[4] r1[4:0] g3[4] g2[3:0] g1[4:0] b3[0] g3[3:0] b1[5:0] b2[3:0] r2[4:0] b3[2] r3[4:0] b3[3]",
    ),
    two(
        (0b11110, 5),
        6,
        [6, 6, 6],
        "r0[5:0] g3[4] b3[0] b3[1] b2[4] g0[5:0] g2[5] b2[5] b3[2] g2[4] b0[5:0] g3[5] b3[3] b3[5] b3[4] r1[5:0] g2[3:0] g1[5:0] g3[3:0] b1[5:0] b2[3:0] r2[5:0] r3[5:0]",
    ),
    one(0b00011, 10, 10, "r0[9:0] g0[9:0] b0[9:0] r1[9:0] g1[9:0] b1[9:0]"),
    one(0b00111, 11, 9, "r0[9:0] g0[9:0] b0[9:0] r1[8:0] r0[10] g1[8:0] g0[10] b1[8:0] b0[10]"),
    one(0b01011, 12, 8, "r0[9:0] g0[9:0] b0[9:0] r1[7:0] r0[10:11] g1[7:0] g0[10:11] b1[7:0] b0[10:11]"),
    one(0b01111, 16, 4, "r0[9:0] g0[9:0] b0[9:0] r1[3:0] r0[10:15] g1[3:0] g0[10:15] b1[3:0] b0[10:15]"),
];

/// The modes with one subset, then those with two: from the most precise to the one that fits all endpoints.
pub(super) const BY_PRECISION: [&[usize]; 2] = [&[13, 12, 11, 10], &[2, 3, 4, 0, 5, 6, 7, 8, 1, 9]];
