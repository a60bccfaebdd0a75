//! The eight modes of BC7 (Khronos Data Format 1.3, table 20.4), and the fields of a block.

use super::patterns;
use crate::uastc::partitions::Partition;

/// The P-bits of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PBits {
    /// No P-bits: every value has all its bits.
    None,
    /// One P-bit for all channels of an endpoint.
    PerEndpoint,
    /// One P-bit for all channels of both endpoints of a subset.
    Shared,
}

/// The endpoint precision of a mode.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Bits of a value, including the P-bit.
    pub bits: u32,
    /// The P-bits of the mode.
    pub p_bits: PBits,
}

/// The fields of a mode and their widths.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// The number of subsets, each with an endpoint pair.
    pub subsets: usize,
    /// Bits of the pattern index.
    pub pattern_bits: u32,
    /// True for dual-plane modes: alpha, or the channel rotated with it, has weights of its own.
    pub planes: bool,
    /// Bits that select the plane with the finer weights.
    pub swap_bits: u32,
    /// The precision of colour endpoints.
    pub colour: Grid,
    /// The precision of alpha endpoints; 0 bits if the mode is opaque.
    pub alpha: Grid,
    /// Bits of a weight.
    pub weight_bits: u32,
    /// Bits of a weight of the second plane.
    pub second_bits: u32,
}

/// All modes by number.
pub const MODES: [Mode; 8] = [
    split(3, 4, 5, PBits::PerEndpoint, 0, 3),
    split(2, 6, 7, PBits::Shared, 0, 3),
    split(3, 6, 5, PBits::None, 0, 2),
    split(2, 6, 8, PBits::PerEndpoint, 0, 2),
    planes(1, 5, 6, 2, 3),
    planes(0, 7, 8, 2, 2),
    split(1, 0, 8, PBits::PerEndpoint, 8, 4),
    split(2, 6, 6, PBits::PerEndpoint, 6, 2),
];

const fn split(
    subsets: usize,
    pattern_bits: u32,
    bits: u32,
    p_bits: PBits,
    alpha: u32,
    weight_bits: u32,
) -> Mode {
    Mode {
        subsets,
        pattern_bits,
        planes: false,
        swap_bits: 0,
        colour: Grid { bits, p_bits },
        alpha: Grid { bits: alpha, p_bits },
        weight_bits,
        second_bits: 0,
    }
}

const fn planes(swap_bits: u32, colour: u32, alpha: u32, weight_bits: u32, second_bits: u32) -> Mode {
    Mode {
        subsets: 1,
        pattern_bits: 0,
        planes: true,
        swap_bits,
        colour: Grid { bits: colour, p_bits: PBits::None },
        alpha: Grid { bits: alpha, p_bits: PBits::None },
        weight_bits,
        second_bits,
    }
}

impl Mode {
    /// Returns the partition of a pattern index.
    pub fn partition(&self, pattern: u8) -> &'static Partition {
        patterns::pattern(self.subsets, pattern)
    }
}

impl Grid {
    /// Returns the stored bits of a value, without the P-bit.
    pub const fn stored_bits(self) -> u32 {
        if self.bits == 0 || matches!(self.p_bits, PBits::None) { self.bits } else { self.bits - 1 }
    }

    /// Expands a value to eight bits by replicating its top bits.
    pub const fn widen(self, value: u32) -> u8 {
        let high = value << (8 - self.bits);
        (high | high >> self.bits) as u8
    }
}

/// The fields of a block, before packing and after unpacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The mode number, 0..=7.
    pub mode: u8,
    /// The partition pattern, zero for a single subset.
    pub pattern: u8,
    /// The channel that is swapped with alpha (rotation): 0 none, else red, green or blue. Only in dual-plane
    /// modes.
    pub rotation: u8,
    /// Mode 4: true if the colours have the finer weights.
    pub swapped: bool,
    /// Low and high endpoint of each subset as RGBA words, eight bits each, after the rotation.
    pub ends: [[u32; 2]; 3],
    /// The weights of all texels, or of the colours in dual-plane modes; four bits each.
    pub weights: u64,
    /// The weights of alpha in dual-plane modes.
    pub second: u64,
}

impl Fields {
    /// The initial value: no fields.
    pub const NONE: Self =
        Self { mode: 6, pattern: 0, rotation: 0, swapped: false, ends: [[0; 2]; 3], weights: 0, second: 0 };

    /// Returns the bits of the weights of colours, and of alpha if it has its own.
    pub const fn weight_bits(&self, mode: &Mode) -> (u32, u32) {
        if self.swapped { (mode.second_bits, mode.weight_bits) } else { (mode.weight_bits, mode.second_bits) }
    }
}
