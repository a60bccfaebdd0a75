//! Bounded integer sequences of ASTC: numbers of some bits, with a trit or a quint each where the range needs it, and
//! the expansion of such numbers to weights and colours.

use super::{plain, with_quint, with_trit};

/// A range of numbers: bits, and above them a trit or a quint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) bits: u32,
    pub(super) trits: bool,
    pub(super) quints: bool,
}

/// The ranges of weights: 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24 and 32 levels.
pub(super) const WEIGHT_RANGES: [Range; 12] = [
    plain(1),
    with_trit(0),
    plain(2),
    with_quint(0),
    with_trit(1),
    plain(3),
    with_quint(1),
    with_trit(2),
    plain(4),
    with_quint(2),
    with_trit(3),
    plain(5),
];

/// The ranges of colours, from 6 levels to 256.
pub(super) const COLOUR_RANGES: [Range; 17] = [
    with_trit(1),
    plain(3),
    with_quint(1),
    with_trit(2),
    plain(4),
    with_quint(2),
    with_trit(3),
    plain(5),
    with_quint(3),
    with_trit(4),
    plain(6),
    with_quint(4),
    with_trit(5),
    plain(7),
    with_quint(5),
    with_trit(6),
    plain(8),
];

impl Range {
    /// Returns the bits of this many numbers.
    pub(super) const fn bits(self, count: usize) -> usize {
        let more = if self.trits {
            (8 * count).div_ceil(5)
        } else if self.quints {
            (7 * count).div_ceil(3)
        } else {
            0
        };
        count * self.bits as usize + more
    }

    /// Splits a number into its bits, and its trit or quint.
    const fn parts(self, value: u32) -> (u32, u32) {
        (value & ((1 << self.bits) - 1), value >> self.bits)
    }

    /// Expands a number to a colour from 0 to 255.
    pub(super) fn colour(self, value: u32) -> u8 {
        let (bits, digit) = self.parts(value);
        if !self.trits && !self.quints {
            return replicate(bits, self.bits, 8) as u8;
        }
        let a = if bits & 1 == 1 { 0x1FF } else { 0 };
        let x = bits >> 1;
        // The factor C and the pattern B of the specification, table 23.19: the bits above the lowest, spread.
        let (b, c) = match (self.trits, self.bits) {
            (true, 1) => (0, 204),
            (true, 2) => (x * 0b1_0001_0110, 93),
            (true, 3) => (x << 7 | x << 2 | x, 44),
            (true, 4) => (x << 6 | x, 22),
            (true, 5) => (x << 5 | x >> 2, 11),
            (true, _) => (x << 4 | x >> 4, 5),
            (false, 1) => (0, 113),
            (false, 2) => (x * 0b1_0000_1100, 54),
            (false, 3) => (x << 7 | x << 1 | x >> 1, 26),
            (false, 4) => (x << 6 | x >> 1, 13),
            (false, _) => (x << 5 | x >> 3, 6),
        };
        let t = (digit * c + b) ^ a;
        (a & 0x80 | t >> 2) as u8
    }

    /// Expands a number to a weight from 0 to 64.
    pub(super) fn weight(self, value: u32) -> u32 {
        let (bits, digit) = self.parts(value);
        let wide = if !self.trits && !self.quints {
            replicate(bits, self.bits, 6)
        } else if self.bits == 0 {
            if self.trits { [0, 32, 63][digit as usize % 3] } else { [0, 16, 32, 47, 63][digit as usize % 5] }
        } else {
            let a = if bits & 1 == 1 { 0x7F } else { 0 };
            let x = bits >> 1;
            let (b, c) = match (self.trits, self.bits) {
                (true, 1) => (0, 50),
                (true, 2) => (x * 0b100_0101, 23),
                (true, _) => (x << 5 | x, 11),
                (false, 1) => (0, 28),
                (false, _) => (x * 0b100_0010, 13),
            };
            let t = (digit * c + b) ^ a;
            a & 0x20 | t >> 2
        };
        if wide > 32 { wide + 1 } else { wide }
    }
}

/// Repeats `from` bits from the highest bit down until there are `to`.
fn replicate(value: u32, from: u32, to: u32) -> u32 {
    let (mut out, mut filled) = (0, 0);
    while filled < to {
        let shift = to as i32 - filled as i32 - from as i32;
        out |= if shift >= 0 { value << shift } else { value >> -shift };
        filled += from;
    }
    out
}

/// Decodes a sequence from the lowest bit up. Bits past the end are zero.
pub(super) fn decode_sequence(range: Range, bits: u128, out: &mut [u32]) {
    let end = range.bits(out.len()) as u32;
    let bits = if end >= 128 { bits } else { bits & ((1 << end) - 1) };
    let mut at = 0;
    let mut take = |count: u32| {
        let value = if at < 128 { (bits >> at) as u32 & ((1 << count) - 1) } else { 0 };
        at += count;
        value
    };
    if range.trits {
        for five in out.chunks_mut(5) {
            let (mut low, mut packed, mut filled) = ([0; 5], 0, 0);
            for (low, width) in low.iter_mut().zip([2, 2, 1, 2, 1]) {
                *low = take(range.bits);
                packed |= take(width) << filled;
                filled += width;
            }
            for (out, (low, trit)) in five.iter_mut().zip(low.iter().zip(trits(packed))) {
                *out = trit << range.bits | low;
            }
        }
    } else if range.quints {
        for three in out.chunks_mut(3) {
            let (mut low, mut packed, mut filled) = ([0; 3], 0, 0);
            for (low, width) in low.iter_mut().zip([3, 2, 2]) {
                *low = take(range.bits);
                packed |= take(width) << filled;
                filled += width;
            }
            for (out, (low, quint)) in three.iter_mut().zip(low.iter().zip(quints(packed))) {
                *out = quint << range.bits | low;
            }
        }
    } else {
        out.iter_mut().for_each(|out| *out = take(range.bits));
    }
}

/// Unpacks five trits from eight bits.
fn trits(packed: u32) -> [u32; 5] {
    let bit = |at: u32| packed >> at & 1;
    let (c, t4, t3);
    if packed >> 2 & 7 == 7 {
        c = (packed >> 5 & 7) << 2 | packed & 3;
        (t4, t3) = (2, 2);
    } else {
        c = packed & 31;
        if packed >> 5 & 3 == 3 {
            (t4, t3) = (2, bit(7));
        } else {
            (t4, t3) = (bit(7), packed >> 5 & 3);
        }
    }
    let bit = |at: u32| c >> at & 1;
    let (t2, t1, t0);
    if c & 3 == 3 {
        t2 = 2;
        t1 = bit(4);
        t0 = bit(3) << 1 | bit(2) & !bit(3);
    } else if c >> 2 & 3 == 3 {
        (t2, t1, t0) = (2, 2, c & 3);
    } else {
        t2 = bit(4);
        t1 = c >> 2 & 3;
        t0 = bit(1) << 1 | bit(0) & !bit(1);
    }
    [t0, t1, t2, t3, t4]
}

/// Unpacks three quints from seven bits.
fn quints(packed: u32) -> [u32; 3] {
    let bit = |at: u32| packed >> at & 1;
    if packed >> 1 & 3 == 3 && packed >> 5 & 3 == 0 {
        let q2 = bit(0) << 2 | (bit(4) & !bit(0)) << 1 | bit(3) & !bit(0);
        return [4, 4, q2];
    }
    let (q2, c) = if packed >> 1 & 3 == 3 {
        (4, (packed >> 3 & 3) << 3 | (!(packed >> 5) & 3) << 1 | bit(0))
    } else {
        (packed >> 5 & 3, packed & 31)
    };
    let (q1, q0) = if c & 7 == 5 { (4, c >> 3 & 3) } else { (c >> 3 & 3, c & 7) };
    [q0, q1, q2]
}
