//! The decoder of ASTC 4×4 LDR blocks (Khronos Data Format Specification 1.3, chapter 23).
//!
//! Decodes every LDR block, not only those that UASTC becomes. Blocks that the specification calls illegal, and those
//! with HDR endpoints, decode to the error colour: opaque magenta.

mod endpoints;
mod integer_sequence;

use endpoints::{Pair, endpoint_pair};
use integer_sequence::{COLOUR_RANGES, Range, WEIGHT_RANGES, decode_sequence};
use kiln_transcode::astc::partition::subset_of_texel;

/// The colour of illegal blocks.
const ERROR: [[u8; 4]; 16] = [[255, 0, 255, 255]; 16];

/// The configuration of the weights of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WeightGrid {
    width: usize,
    height: usize,
    dual_plane: bool,
    /// Index of [`WEIGHT_RANGES`].
    range: usize,
}

/// Decodes a block to RGBA texels in raster order.
#[must_use]
pub fn decode(block: &[u8; 16]) -> [[u8; 4]; 16] {
    decode_legal(u128::from_le_bytes(*block)).unwrap_or(ERROR)
}

fn decode_legal(bits: u128) -> Option<[[u8; 4]; 16]> {
    let field = |low: u32, count: u32| (bits >> low) as u32 & ((1 << count) - 1);
    if field(0, 9) == 0x1FC {
        return void_extent(bits);
    }
    let grid = weight_grid(field(0, 11))?;
    let planes = 1 + usize::from(grid.dual_plane);
    let count = grid.width * grid.height * planes;
    let weight_bits = WEIGHT_RANGES[grid.range].bits(count);
    if grid.width > 4 || grid.height > 4 || count > 64 || !(24..=96).contains(&weight_bits) {
        return None;
    }
    let partitions = field(11, 2) as usize + 1;
    if partitions == 4 && grid.dual_plane {
        return None;
    }

    // Endpoint modes: one for all partitions, or a class and two bits for each, which continue below the weights.
    let mut below = 128 - weight_bits as u32;
    let (mut modes, start) = ([0u32; 4], if partitions == 1 { 17 } else { 29 });
    if partitions == 1 {
        modes[0] = field(13, 4);
    } else if field(23, 2) == 0 {
        modes[..partitions].fill(field(25, 4));
    } else {
        let more = 3 * partitions as u32 - 4;
        below -= more;
        let all = field(25, 4) | field(below, more) << 4;
        for (i, mode) in modes[..partitions].iter_mut().enumerate() {
            let class = field(23, 2) - 1 + (all >> i & 1);
            *mode = class << 2 | (all >> (partitions + 2 * i) & 3);
        }
    }
    let second_plane = if grid.dual_plane {
        below -= 2;
        Some(field(below, 2) as usize)
    } else {
        None
    };

    let values: usize = modes[..partitions].iter().map(|mode| 2 * (*mode as usize / 4 + 1)).sum();
    let available = below.checked_sub(start)? as usize;
    if values > 18 {
        return None;
    }
    let range = COLOUR_RANGES.iter().rfind(|range| range.bits(values) <= available)?;
    let mut colours = [0; 18];
    decode_sequence(*range, bits >> start, &mut colours[..values]);
    let colours = colours.map(|value| range.colour(value));
    let mut pairs = [Pair::default(); 4];
    let mut at = 0;
    for (pair, mode) in pairs.iter_mut().zip(&modes[..partitions]) {
        let len = 2 * (*mode as usize / 4 + 1);
        *pair = endpoint_pair(*mode, &colours[at..at + len])?;
        at += len;
    }

    // Weights are stored from the highest bit down.
    let range = WEIGHT_RANGES[grid.range];
    let mut weights = [0; 64];
    decode_sequence(range, bits.reverse_bits(), &mut weights[..count]);
    let weights = weights.map(|value| range.weight(value));
    let pattern = field(13, 10);
    Some(std::array::from_fn(|i| {
        let (x, y) = (i % 4, i / 4);
        let subset = match partitions as u32 {
            1 => 0,
            subsets => usize::from(subset_of_texel(pattern, subsets, x as u32, y as u32)),
        };
        let [first, second] = [0, planes - 1].map(|plane| infill(&grid, &weights, planes, plane, x, y));
        std::array::from_fn(|c| {
            let weight = if second_plane == Some(c) { second } else { first };
            let [low, high] = [pairs[subset].low[c], pairs[subset].high[c]].map(|v| u32::from(v) * 257);
            (((low * (64 - weight) + high * weight + 32) / 64) >> 8) as u8
        })
    }))
}

/// Decodes a block of one colour.
fn void_extent(bits: u128) -> Option<[[u8; 4]; 16]> {
    // Bit 9 marks half floats; the two bits after it are reserved and set.
    if bits >> 9 & 1 == 1 || bits >> 10 & 3 != 3 {
        return None;
    }
    let coordinate = |at: u32| (bits >> (12 + 13 * at)) as u32 & 0x1FFF;
    let extent = [0, 1, 2, 3].map(coordinate);
    let is_unset = extent.iter().all(|value| *value == 0x1FFF);
    if !is_unset && (extent[0] >= extent[1] || extent[2] >= extent[3]) {
        return None;
    }
    let colour = std::array::from_fn(|c| (bits >> (64 + 16 * c + 8)) as u8);
    Some([colour; 16])
}

/// Reads the block mode: size, planes and range of the weights.
fn weight_grid(mode: u32) -> Option<WeightGrid> {
    let bit = |at: u32| mode >> at & 1;
    let (a, b) = (mode >> 5 & 3, mode >> 7 & 3);
    let (mut dual_plane, mut high) = (bit(10), bit(9));
    let (range, width, height) = if mode & 3 != 0 {
        let range = bit(4) | (mode & 3) << 1;
        let (width, height) = match mode >> 2 & 3 {
            0 => (b + 4, a + 2),
            1 => (b + 8, a + 2),
            2 => (a + 2, b + 8),
            _ if bit(8) == 0 => (a + 2, bit(7) + 6),
            _ => (bit(7) + 2, a + 2),
        };
        (range, width, height)
    } else {
        let range = bit(4) | (mode >> 2 & 3) << 1;
        let (width, height) = match b {
            0 => (12, a + 2),
            1 => (a + 2, 12),
            2 => {
                let height = (mode >> 9 & 3) + 6;
                (dual_plane, high) = (0, 0);
                (a + 6, height)
            }
            _ => match a {
                0 => (6, 10),
                1 => (10, 6),
                _ => return None,
            },
        };
        (range, width, height)
    };
    let range = (range as usize).checked_sub(2)? + 6 * high as usize;
    Some(WeightGrid { width: width as usize, height: height as usize, dual_plane: dual_plane == 1, range })
}

/// Returns the weight of a texel: interpolated if the grid is smaller than the block.
fn infill(grid: &WeightGrid, weights: &[u32; 64], planes: usize, plane: usize, x: usize, y: usize) -> u32 {
    // The scale of a block of four texels: (1024 + 2) / 3.
    let place = |at: usize, size: usize| (342 * at * (size - 1) + 32) >> 6;
    let (s, t) = (place(x, grid.width), place(y, grid.height));
    let (column, row, fs, ft) = (s >> 4, t >> 4, s & 15, t & 15);
    let both = (fs * ft + 8) >> 4;
    let shares = [16 + both - fs - ft, fs - both, ft - both, both];
    let at = |dx: usize, dy: usize| {
        let index = ((row + dy) * grid.width + column + dx) * planes + plane;
        weights.get(index).copied().unwrap_or(0) as usize
    };
    let sum = at(0, 0) * shares[0] + at(1, 0) * shares[1] + at(0, 1) * shares[2] + at(1, 1) * shares[3];
    ((sum + 8) >> 4) as u32
}

/// Returns the ranges of numbers with `bits` bits and a trit or quint, for the tables of ranges.
const fn plain(bits: u32) -> Range {
    Range { bits, trits: false, quints: false }
}

const fn with_trit(bits: u32) -> Range {
    Range { bits, trits: true, quints: false }
}

const fn with_quint(bits: u32) -> Range {
    Range { bits, trits: false, quints: true }
}
