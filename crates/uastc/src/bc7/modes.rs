//! The eight modes of BC7 (Khronos Data Format 1.3, table 20.4), and a block's fields.

use super::patterns;
use crate::partitions::Partition;

/// How the lowest bit of endpoints is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parity {
    /// With the other bits.
    Own,
    /// Once for all channels of an endpoint.
    Each,
    /// Once for all channels of both endpoints of a subset.
    Shared,
}

/// The values that the endpoints of a mode can have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Bits of a value, with the lowest one, wherever that is stored.
    pub(crate) bits: u32,
    /// How the lowest bit is stored.
    pub(crate) parity: Parity,
}

/// What a mode's fields are and how wide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    /// How many endpoint pairs share the block's texels.
    pub(crate) subsets: usize,
    /// Bits of the pattern index.
    pub(crate) pattern_bits: u32,
    /// Whether there are two planes: alpha, or the channel exchanged for it, has weights of its own.
    pub(crate) planes: bool,
    /// Bits that say which plane has the finer weights.
    pub(crate) swap_bits: u32,
    /// The endpoints of colours.
    pub(crate) colour: Grid,
    /// The endpoints of alpha; 0 bits if the mode is opaque.
    pub(crate) alpha: Grid,
    /// Bits of a weight.
    pub(crate) weight_bits: u32,
    /// Bits of a weight of the second plane.
    pub(crate) second_bits: u32,
}

/// All modes by number.
pub(crate) const MODES: [Mode; 8] = [
    split(3, 4, 5, Parity::Each, 0, 3),
    split(2, 6, 7, Parity::Shared, 0, 3),
    split(3, 6, 5, Parity::Own, 0, 2),
    split(2, 6, 8, Parity::Each, 0, 2),
    planes(1, 5, 6, 2, 3),
    planes(0, 7, 8, 2, 2),
    split(1, 0, 8, Parity::Each, 8, 4),
    split(2, 6, 6, Parity::Each, 6, 2),
];

const fn split(
    subsets: usize,
    pattern_bits: u32,
    bits: u32,
    parity: Parity,
    alpha: u32,
    weight_bits: u32,
) -> Mode {
    Mode {
        subsets,
        pattern_bits,
        planes: false,
        swap_bits: 0,
        colour: Grid { bits, parity },
        alpha: Grid { bits: alpha, parity },
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
        colour: Grid { bits: colour, parity: Parity::Own },
        alpha: Grid { bits: alpha, parity: Parity::Own },
        weight_bits,
        second_bits,
    }
}

impl Mode {
    /// The partition of a pattern index.
    pub(crate) fn partition(&self, pattern: u8) -> &'static Partition {
        patterns::pattern(self.subsets, pattern)
    }
}

impl Grid {
    /// How many bits a value takes among the endpoints, without a lowest bit that is stored apart.
    pub(crate) const fn stored_bits(self) -> u32 {
        if self.bits == 0 || matches!(self.parity, Parity::Own) { self.bits } else { self.bits - 1 }
    }

    /// A value as eight bits: its top bits repeat below.
    pub(crate) const fn widen(self, value: u32) -> u8 {
        let high = value << (8 - self.bits);
        (high | high >> self.bits) as u8
    }
}

/// What one block says, before packing and after unpacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    /// Which mode, 0..=7.
    pub(crate) mode: u8,
    /// Which partition pattern, zero if there is one subset.
    pub(crate) pattern: u8,
    /// Which channel is exchanged for alpha: 0 none, else red, green or blue. Only with two planes.
    pub(crate) rotation: u8,
    /// Mode 4: whether the colours have the finer weights.
    pub(crate) swapped: bool,
    /// Low and high endpoint of each subset as RGBA words, eight bits each, channels exchanged.
    pub(crate) ends: [[u32; 2]; 3],
    /// The weights of all texels, or of the colours if there are two planes; four bits each.
    pub(crate) weights: u64,
    /// The weights of alpha if there are two planes.
    pub(crate) second: u64,
}

impl Fields {
    /// No fields yet.
    pub(crate) const NONE: Self =
        Self { mode: 6, pattern: 0, rotation: 0, swapped: false, ends: [[0; 2]; 3], weights: 0, second: 0 };

    /// Bits of the weights of colours, and of alpha if it has its own.
    pub(crate) const fn weight_bits(&self, mode: &Mode) -> (u32, u32) {
        if self.swapped { (mode.second_bits, mode.weight_bits) } else { (mode.weight_bits, mode.second_bits) }
    }
}
