//! One channel as EAC: a base, a table of modifiers with a multiplier, and sixteen selectors of three bits.
//!
//! ETC2 stores alpha in such a block, and the hints of a UASTC block give table and multiplier. EAC R11 and RG11
//! blocks of other channels are searched for over four tables.

/// The modifiers of EAC, from the specification; the fourth is the smallest, the last the largest.
pub const MODIFIERS: [[i8; 8]; 16] = [
    [-3, -6, -9, -15, 2, 5, 8, 14],
    [-3, -7, -10, -13, 2, 6, 9, 12],
    [-2, -5, -8, -13, 1, 4, 7, 12],
    [-2, -4, -6, -13, 1, 3, 5, 12],
    [-3, -6, -8, -12, 2, 5, 7, 11],
    [-3, -7, -9, -11, 2, 6, 8, 10],
    [-4, -7, -8, -11, 3, 6, 7, 10],
    [-3, -5, -8, -11, 2, 4, 7, 10],
    [-2, -6, -8, -10, 1, 5, 7, 9],
    [-2, -5, -8, -10, 1, 4, 7, 9],
    [-2, -4, -8, -10, 1, 3, 7, 9],
    [-2, -5, -7, -10, 1, 4, 6, 9],
    [-3, -4, -7, -10, 2, 3, 6, 9],
    [-1, -2, -3, -10, 0, 1, 2, 9],
    [-4, -6, -8, -9, 3, 5, 7, 8],
    [-3, -5, -7, -9, 2, 4, 6, 8],
];

/// The selectors of a block whose texels all have selector 4, which is a modifier of zero in table 13.
const ALL_FOUR: u64 = 0x9249_2492_4924;

/// Returns the block of one alpha, exactly.
#[inline]
pub(crate) fn solid_alpha(alpha: u8) -> [u8; 8] {
    write(alpha, 13, 1, ALL_FOUR)
}

/// Returns the block of one value of another channel; the reference writes a multiplier of zero.
#[inline]
pub(crate) fn solid(value: u8) -> [u8; 8] {
    write(value, 13, 0, ALL_FOUR)
}

fn write(base: u8, table: u8, multiplier: u8, selectors: u64) -> [u8; 8] {
    (u64::from(base) << 56 | u64::from(multiplier) << 52 | u64::from(table) << 48 | selectors).to_be_bytes()
}

#[inline]
fn extremes(values: &[u8; 16]) -> (u8, u8) {
    values.iter().fold((values[0], values[0]), |(low, high), &value| (low.min(value), high.max(value)))
}

/// Returns the base at which a table spans the values from `low` to `high`, and its width.
///
/// All widths are odd, so that no quotient is halfway between two integers: integers round as floats do.
const fn base(table: usize, low: u8, high: u8) -> (u8, i32) {
    let (least, most) = (MODIFIERS[table][3] as i32, MODIFIERS[table][7] as i32);
    let width = most - least;
    let offset = (2 * (high - low) as i32 * -least + width) / (2 * width);
    (low + offset as u8, width)
}

/// Encodes alpha with the table (low four bits) and the multiplier (high four bits) of a hint.
#[inline]
pub(crate) fn encode_hinted(values: &[u8; 16], hint: u8) -> [u8; 8] {
    let (low, high) = extremes(values);
    if low == high {
        return solid_alpha(low);
    }
    let (table, multiplier) = (hint & 15, hint >> 4);
    let (base, _) = base(usize::from(table), low, high);
    let mut candidates = [0i16; 8];
    for (candidate, &modifier) in candidates.iter_mut().zip(&MODIFIERS[usize::from(table)]) {
        let sum = i16::from(base) + i16::from(modifier) * i16::from(multiplier);
        *candidate = sum.clamp(0, 255);
    }
    write(base, table, multiplier, pack(&nearest(values, &candidates)))
}

/// Returns the nearest candidate of each value, of equally near ones the first, below its distance times eight.
#[inline]
fn nearest(values: &[u8; 16], candidates: &[i16; 8]) -> [i16; 16] {
    let mut best = [i16::MAX; 16];
    for (selector, &candidate) in candidates.iter().enumerate() {
        for (best, &value) in best.iter_mut().zip(values) {
            *best = (*best).min((candidate - i16::from(value)).abs() << 3 | selector as i16);
        }
    }
    best
}

/// Packs selectors by columns, the first at the top.
#[inline]
fn pack(selectors: &[i16; 16]) -> u64 {
    let mut out = 0;
    for x in 0..4 {
        for y in 0..4 {
            out = out << 3 | (selectors[y * 4 + x] & 7) as u64;
        }
    }
    out
}

/// Encodes one channel without a hint.
#[inline]
pub(crate) fn encode(values: &[u8; 16]) -> [u8; 8] {
    let (low, high) = extremes(values);
    match high - low {
        0 => return solid(low),
        1..=5 => {
            // Table 13 has six consecutive values.
            let base = high.saturating_sub(2);
            let consecutive = [2, 1, 0, 4, 5, 6];
            let selector = |value: u8| consecutive[(usize::from(value) + 3 - usize::from(base)).min(5)];
            return write(base, 13, 1, pack(&values.map(selector)));
        }
        _ => {}
    }
    let mut best = (u32::MAX, [0; 8]);
    for table in [2, 8, 11, 13] {
        let (base, width) = base(table, low, high);
        let multiplier = ((2 * i32::from(high - low) + width) / (2 * width)).clamp(1, 15) as i16;
        let unclamped = MODIFIERS[table].map(|modifier| i16::from(base) + i16::from(modifier) * multiplier);
        let clamped = unclamped.map(|value| value.clamp(0, 255));
        // Only values near the ends count clamping, as in the reference.
        let (inner, outer) = (nearest(values, &unclamped), nearest(values, &clamped));
        let mut chosen = [0; 16];
        let mut error = 0;
        for i in 0..16 {
            chosen[i] = if (7..=248).contains(&values[i]) { inner[i] } else { outer[i] };
            error += u32::from((chosen[i] >> 3) as u16).pow(2);
        }
        if error < best.0 {
            best = (error, write(base, table as u8, multiplier as u8, pack(&chosen)));
        }
    }
    best.1
}
