//! Unpacks the fields of a UASTC block.
//!
//! Every width and offset of a block follows from its mode. The functions below take the mode as a constant, so
//! that the compiler turns each of them into straight code for one mode; [`with_mode`] selects the mode.

use super::modes::{MODES, Mode, SOLID};
use super::packing::{Hints, SolidHint, digit_bits, digits_per_group};
use super::partitions::Partition;

/// Calls a function of a constant mode number with the mode of a block.
macro_rules! with_mode {
    ($number:expr, $function:ident($($argument:expr),*), $other:expr) => {
        match $number {
            0 => $function::<0>($($argument),*),
            1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            3 => $function::<3>($($argument),*),
            4 => $function::<4>($($argument),*),
            5 => $function::<5>($($argument),*),
            6 => $function::<6>($($argument),*),
            7 => $function::<7>($($argument),*),
            9 => $function::<9>($($argument),*),
            10 => $function::<10>($($argument),*),
            11 => $function::<11>($($argument),*),
            12 => $function::<12>($($argument),*),
            13 => $function::<13>($($argument),*),
            14 => $function::<14>($($argument),*),
            15 => $function::<15>($($argument),*),
            16 => $function::<16>($($argument),*),
            17 => $function::<17>($($argument),*),
            18 => $function::<18>($($argument),*),
            _ => $other,
        }
    };
}
pub(crate) use with_mode;

/// The fields of a block of any mode except the solid-colour mode, with weights as they are stored.
#[derive(Clone, Copy)]
pub(crate) struct Stored {
    /// The partition pattern, zero for a single subset.
    pub(crate) pattern: u8,
    /// The partition of that pattern.
    pub(crate) partition: &'static Partition,
    /// The channel of the second plane, in dual-plane modes.
    pub(crate) channel: u8,
    /// Endpoints as indices of the endpoint range: per subset and component, low and high.
    pub(crate) indices: [u8; 18],
    /// All weights without gaps, planes interleaved, the first lowest; anchor weights have all their bits.
    pub(crate) weights: u128,
}

/// Reads the fields of a block of mode `M`. Returns `None` if its pattern does not exist.
#[inline(always)]
pub(crate) fn read<const M: usize>(block: &[u8; 16]) -> Option<Stored> {
    let mode = &MODES[M];
    let value = u128::from_le_bytes(*block);
    let mut at = mode.pattern_at();
    let pattern = bits(value, at, mode.pattern_bits()) as u8;
    at += mode.pattern_bits();
    let partition = match mode.subsets {
        1 => &super::partitions::WHOLE,
        _ => mode.patterns.get(usize::from(pattern))?,
    };
    let mut channel = bits(value, at, mode.selector_bits()) as u8;
    at += mode.selector_bits();
    if mode.planes == 2 && mode.components == 2 {
        channel = 3;
    }
    let indices = read_indices(value, &mut at, mode);
    let weights = widen_anchors(value >> at, mode, partition);
    Some(Stored { pattern, partition, channel, indices, weights })
}

#[inline(always)]
fn bits(value: u128, at: u32, count: u32) -> u32 {
    (value >> at) as u32 & ((1 << count) - 1)
}

#[inline(always)]
fn read_indices(value: u128, at: &mut u32, mode: &Mode) -> [u8; 18] {
    let (range, count) = (mode.range, mode.endpoints());
    let mut indices = [0; 18];
    let group = digits_per_group(range.radix);
    if range.radix > 1 {
        let mut first = 0;
        while first < count {
            let length = if count - first < group { count - first } else { group };
            let width = digit_bits(range.radix, length);
            let packed = bits(value, *at, width) as usize;
            *at += width;
            let digits = if range.radix == 3 { &TRITS[packed & 255] } else { &QUINTS[packed & 127] };
            for k in 0..length {
                indices[first + k] = digits[k] << range.bits;
            }
            first += length;
        }
    }
    for index in &mut indices[..count] {
        *index |= bits(value, *at, range.bits) as u8;
        *at += range.bits;
    }
    indices
}

/// Inserts the top bit of each anchor weight, which is zero and not stored.
#[inline(always)]
fn widen_anchors(stored: u128, mode: &Mode, partition: &Partition) -> u128 {
    let width = mode.weight_bits;
    let total = 16 * width * mode.planes as u32;
    let mask = if total == 128 { u128::MAX } else { (1 << total) - 1 };
    if mode.planes == 2 {
        let first = insert_zero(stored, width - 1);
        return insert_zero(first, 2 * width - 1) & mask;
    }
    if mode.subsets == 1 {
        return insert_zero(stored, width - 1) & mask;
    }
    // From the lowest texel up, so that each position is final when its bit is inserted. The first texel of the
    // block is an anchor in every partition; weights of these modes fit in 64 bits.
    let mut weights = insert_zero_64(stored as u64, width - 1);
    let [a, b, c] = partition.anchors.map(u32::from);
    let last = if mode.subsets == 2 { a.max(b) } else { a.max(b).max(c) };
    if mode.subsets == 3 {
        let middle = a + b + c - last;
        weights = insert_zero_64(weights, (middle + 1) * width - 1);
    }
    u128::from(insert_zero_64(weights, (last + 1) * width - 1)) & mask
}

#[inline(always)]
const fn insert_zero(value: u128, at: u32) -> u128 {
    let low = (1 << at) - 1;
    value & low | (value & !low) << 1
}

#[inline(always)]
const fn insert_zero_64(value: u64, at: u32) -> u64 {
    let low = (1 << (at & 63)) - 1;
    value & low | (value & !low) << 1
}

/// Spreads eight numbers of `width` bits, at most eight, to one byte each.
#[inline(always)]
pub(crate) const fn spread_to_bytes(packed: u64, width: u32) -> u64 {
    let mut x = packed;
    let mut place = 32;
    let mut taken = 4 * width;
    while place >= 8 {
        let low = ones_every(place * 2, taken);
        x = x & low | x << (place - taken) & low << place;
        place /= 2;
        taken /= 2;
    }
    x
}

/// Spreads sixteen numbers of `width` bits, at most four, to four bits each.
#[inline(always)]
pub(crate) const fn spread_to_nibbles(packed: u64, width: u32) -> u64 {
    let mut x = packed;
    let mut place = 32;
    let mut taken = 8 * width;
    while place >= 4 && width < 4 {
        let low = ones_every(place * 2, taken);
        x = x & low | x << (place - taken) & low << place;
        place /= 2;
        taken /= 2;
    }
    x
}

/// Returns `count` ones at the bottom of every `step` bits.
#[inline(always)]
pub(crate) const fn ones_every(step: u32, count: u32) -> u64 {
    let mut out = 0;
    let mut at = 0;
    while at < 64 {
        out |= ((1u64 << count) - 1) << at;
        at += step;
    }
    out
}

/// Returns the weights of both planes, one byte each; the second is unused in modes with one plane.
#[inline(always)]
pub(crate) fn weight_planes(weights: u128, mode: &Mode) -> [[u8; 16]; 2] {
    let mut out = [[0; 16]; 2];
    let width = mode.weight_bits;
    let step = width * mode.planes as u32;
    for half in 0..2 {
        let eight = (weights >> (8 * step * half as u32)) as u64;
        let eight = eight & if step == 8 { u64::MAX } else { (1 << (8 * step)) - 1 };
        let bytes = spread_to_bytes(eight, step);
        let mask = ones_every(8, width);
        let (first, second) = (bytes & mask, bytes >> width & mask);
        out[0][half * 8..][..8].copy_from_slice(&first.to_le_bytes());
        if mode.planes == 2 {
            out[1][half * 8..][..8].copy_from_slice(&second.to_le_bytes());
        }
    }
    out
}

/// Returns the endpoint values 0..=255 of stored indices.
#[inline(always)]
pub(crate) fn endpoint_values(indices: &[u8; 18], mode: &Mode) -> [u8; 18] {
    let mut values = [0; 18];
    for (value, &index) in values.iter_mut().zip(indices).take(mode.endpoints()) {
        *value = mode.range.values[usize::from(index)];
    }
    values
}

/// Reads the transcoding hints of a block of any mode except the solid-colour mode.
#[inline]
pub(crate) fn hints(block: &[u8; 16], mode: &Mode) -> Hints {
    let value = u128::from_le_bytes(*block);
    let mut at = mode.code_bits;
    let mut take = |count: u32| {
        let out = bits(value, at, count);
        at += count;
        out
    };
    let mut hints = Hints::NEUTRAL;
    hints.bc1_direct = take(1) != 0;
    if mode.has_long_hints() {
        hints.bc1_weights = take(1) != 0;
    }
    hints.etc1 = take(8) as u8;
    if mode.has_long_hints() {
        hints.etc1_bias = take(5) as u8;
    }
    if mode.has_alpha() {
        hints.eac = take(8) as u8;
    }
    hints
}

/// Returns the colour of a solid-colour block.
#[inline]
pub(crate) fn solid_colour(block: &[u8; 16]) -> [u8; 4] {
    ((u128::from_le_bytes(*block) >> MODES[usize::from(SOLID)].code_bits) as u32).to_le_bytes()
}

/// Returns the ETC1 hint of a solid-colour block, and whether its base colour is differential (five bits).
#[inline]
pub(crate) fn solid_hint(block: &[u8; 16]) -> (SolidHint, bool) {
    let value = (u128::from_le_bytes(*block) >> (MODES[usize::from(SOLID)].code_bits + 32)) as u32;
    let part = |at: u32, count: u32| (value >> at & ((1 << count) - 1)) as u8;
    let hint =
        SolidHint { table: part(1, 3), selector: part(4, 2), base: [part(6, 5), part(11, 5), part(16, 5)] };
    (hint, part(0, 1) != 0)
}

/// The trits of a packed group: UASTC packs them as a number in base three.
static TRITS: [[u8; 5]; 256] = digits(3);
/// The quints of a packed group, the first three.
static QUINTS: [[u8; 5]; 128] = digits(5);

const fn digits<const N: usize>(radix: usize) -> [[u8; 5]; N] {
    let mut out = [[0; 5]; N];
    let mut packed = 0;
    while packed < N {
        let (mut rest, mut k) = (packed, 0);
        while k < 5 {
            out[packed][k] = (rest % radix) as u8;
            rest /= radix;
            k += 1;
        }
        packed += 1;
    }
    out
}
