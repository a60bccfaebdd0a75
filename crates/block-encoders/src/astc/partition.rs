//! The partition function of ASTC: a hash of the pattern gives the subset of each texel.

/// Returns the subset of a texel of a 4×4 block.
pub(super) fn of_texel(pattern: u32, x: usize, y: usize, partitions: usize) -> usize {
    // Blocks of less than 31 texels double their coordinates.
    let (x, y) = ((x as u32) << 1, (y as u32) << 1);
    let seed = pattern + (partitions as u32 - 1) * 1024;
    let random = hash(seed);
    let mut seeds: [u32; 8] = std::array::from_fn(|i| {
        let value = random >> (4 * i) & 15;
        value * value
    });
    let (even, odd) = if seed & 1 == 1 {
        (if seed & 2 != 0 { 4 } else { 5 }, if partitions == 3 { 6 } else { 5 })
    } else {
        (if partitions == 3 { 6 } else { 5 }, if seed & 2 != 0 { 4 } else { 5 })
    };
    for (i, seed) in seeds.iter_mut().enumerate() {
        *seed >>= if i % 2 == 0 { even } else { odd };
    }
    let sum = |i: usize, shift: u32| (seeds[2 * i] * x + seeds[2 * i + 1] * y + (random >> shift)) & 63;
    let [a, b, mut c, mut d] = [sum(0, 14), sum(1, 10), sum(2, 6), sum(3, 2)];
    if partitions < 4 {
        d = 0;
    }
    if partitions < 3 {
        c = 0;
    }
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

fn hash(seed: u32) -> u32 {
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
    p ^= p >> 17;
    p
}
