//! The partition function of ASTC: a hash of the 10-bit seed of a pattern gives the subset of each texel (Khronos Data
//! Format 1.3, section 23.21, "Partition Pattern Generation").

/// Returns the subset of the texel at (`x`, `y`) of a 4×4 block with two to four subsets: the specification's
/// `select_partition`.
#[must_use]
pub const fn subset_of_texel(seed: u32, subsets: u32, x: u32, y: u32) -> u8 {
    // Blocks of fewer than 31 texels use doubled coordinates.
    let (x, y) = (x * 2, y * 2);
    let seed = seed + (subsets - 1) * 1024;
    let hash = hash52(seed);
    let long = if subsets == 3 { 6 } else { 5 };
    let short = if seed & 2 != 0 { 4 } else { 5 };
    let (even, odd) = if seed & 1 != 0 { (short, long) } else { (long, short) };
    let a = (slope(hash, 0, even) * x + slope(hash, 4, odd) * y + (hash >> 14)) & 63;
    let b = (slope(hash, 8, even) * x + slope(hash, 12, odd) * y + (hash >> 10)) & 63;
    let c = (slope(hash, 16, even) * x + slope(hash, 20, odd) * y + (hash >> 6)) & 63;
    let d = (slope(hash, 24, even) * x + slope(hash, 28, odd) * y + (hash >> 2)) & 63;
    let (c, d) = (if subsets < 3 { 0 } else { c }, if subsets < 4 { 0 } else { d });
    if a >= b && a >= c && a >= d {
        0
    } else if b >= c && b >= d {
        1
    } else if c >= d {
        2
    } else {
        3
    }
}

/// Returns four bits of the hash, squared and scaled down: one slope of one subset.
const fn slope(hash: u32, at: u32, shift: u32) -> u32 {
    let value = (hash >> at) & 15;
    (value * value) >> shift
}

const fn hash52(seed: u32) -> u32 {
    let mut p = seed;
    p ^= p >> 15;
    p = p.wrapping_sub(p << 17);
    p = p.wrapping_add(p << 7);
    p = p.wrapping_add(p << 4);
    p ^= p >> 5;
    p = p.wrapping_add(p << 16);
    p ^= p >> 7;
    p ^= p >> 3;
    p ^= p << 6;
    p ^ (p >> 17)
}
