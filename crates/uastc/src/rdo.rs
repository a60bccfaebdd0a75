//! Rate-distortion optimisation: a little more error for a file that Zstd makes smaller.
//!
//! Zstd saves bytes where a block repeats earlier bytes. So each block is compared with those shortly before
//! it: it may become a copy of one of them (sixteen bytes repeat), or take over the weights of one with the
//! same mode and pattern (the bytes at its end repeat). The change is made if `error + λ * bits` falls, with a
//! simple model of what bytes cost. The error that a block can gain is thereby bounded: about two levels in
//! the root mean square at λ = 1.
//!
//! Blocks are compared within bands of rows that begin at fixed places, so that the result does not depend on
//! how an image is cut into strips.

use crate::decode::{interpolate, texels, unpack, weight_64ths};
use crate::modes::{MODES, Mode, SOLID};
use crate::packing::{Fields, is_second_plane, pack};

/// How many blocks back the comparison looks.
const REACH: usize = 256;
/// A band has at least this many blocks.
const BAND: u32 = 4096;

/// What a byte that repeats nothing costs, in bits.
const LITERAL: f32 = 7.0;
/// What a repetition costs: where from, and how long.
const REPETITION: f32 = 20.0;
/// What a repetition costs that goes on where the last one ended.
const CONTINUED: f32 = 2.0;
/// Squared error per bit at λ = 1.
const SCALE: f32 = 1.6;

/// How many rows of blocks a band has.
pub(crate) const fn band_rows(blocks_wide: u32) -> u32 {
    if blocks_wide == 0 { 1 } else { BAND.div_ceil(blocks_wide) }
}

/// A block that was written.
#[derive(Clone, Copy)]
struct Past {
    bytes: [u8; 16],
    texels: [[u8; 4]; 16],
    fields: Option<Fields>,
}

/// The blocks before the next one.
pub(crate) struct Window {
    past: [Past; REACH],
    count: usize,
    /// How far back the last block was copied from, zero if it was not.
    offset: usize,
    lambda: f32,
}

impl Window {
    /// No blocks yet.
    pub(crate) const fn new(lambda: f32) -> Self {
        let none = Past { bytes: [0; 16], texels: [[0; 4]; 16], fields: None };
        Self { past: [none; REACH], count: 0, offset: 0, lambda: lambda * SCALE }
    }

    /// A new band begins.
    pub(crate) const fn restart(&mut self) {
        (self.count, self.offset) = (0, 0);
    }

    /// The bytes to write for a block that was encoded as `bytes`.
    pub(crate) fn choose(&mut self, source: &[u32; 16], bytes: [u8; 16]) -> [u8; 16] {
        let source = source.map(u32::to_le_bytes);
        let mut this = describe(bytes);
        let mut best = distance(&source, &this.texels) as f32 + self.lambda * LITERAL * 16.0;
        let mut offset = 0;
        let original = this;
        for back in 1..=self.count.min(REACH) {
            let past = &self.past[(self.count - back) % REACH];
            let bits = if back == self.offset { CONTINUED } else { REPETITION };
            let cost = self.lambda * bits + distance(&source, &past.texels) as f32;
            if cost < best {
                (best, offset, this) = (cost, back, *past);
            }
        }
        let borrowed = original.fields.and_then(|fields| self.borrow_weights(&source, &fields, best));
        if let Some(fields) = borrowed {
            (offset, this) = (0, describe(pack(&fields)));
        }
        self.offset = offset;
        self.past[self.count % REACH] = this;
        self.count += 1;
        this.bytes
    }

    /// The block with the weights of an earlier one, if that costs less than `best`.
    fn borrow_weights(&self, source: &[[u8; 4]; 16], fields: &Fields, best: f32) -> Option<Fields> {
        let mode = &MODES[usize::from(fields.mode)];
        let planes = mode.planes;
        let bytes = weight_bytes(mode) as f32;
        let rate = self.lambda * ((16.0 - bytes) * LITERAL + REPETITION);
        if rate >= best {
            return None;
        }
        let errors = weight_errors(source, mode, fields);
        let (mut best, mut found) = (best, None);
        for back in 1..=self.count.min(REACH) {
            let Some(past) = &self.past[(self.count - back) % REACH].fields else { continue };
            if (past.mode, past.pattern, past.channel) != (fields.mode, fields.pattern, fields.channel) {
                continue;
            }
            let mut error = 0;
            for (i, &weight) in past.weights[..16 * planes].iter().enumerate() {
                error += errors[i][usize::from(weight)];
            }
            let cost = rate + error as f32;
            if cost < best {
                (best, found) = (cost, Some(past.weights));
            }
        }
        found.map(|weights| Fields { weights, ..*fields })
    }
}

fn describe(bytes: [u8; 16]) -> Past {
    // The encoder's own blocks: their modes and patterns exist.
    let mode = Mode::of_first_byte(bytes[0]).unwrap_or(SOLID);
    if mode == SOLID {
        let texels = crate::decode_block(&bytes).unwrap_or([[0; 4]; 16]);
        return Past { bytes, texels, fields: None };
    }
    let fields = unpack(mode, &bytes);
    Past { bytes, texels: fields.as_ref().map_or([[0; 4]; 16], texels), fields }
}

fn distance(a: &[[u8; 4]; 16], b: &[[u8; 4]; 16]) -> u32 {
    let mut sum = 0;
    for (a, b) in a.as_flattened().iter().zip(b.as_flattened()) {
        let d = i32::from(*a) - i32::from(*b);
        sum += (d * d) as u32;
    }
    sum
}

/// How many whole bytes at the end of a block hold nothing but weights.
const fn weight_bytes(mode: &Mode) -> u32 {
    let anchors = if mode.planes > mode.subsets { mode.planes } else { mode.subsets };
    // Endpoints come before the weights; the bits after the weights, if any, are always zero.
    (16 * mode.planes as u32 * mode.weight_bits - anchors as u32) / 8
}

/// The error of every weight index for every texel, and plane if there are two, with a block's endpoints.
fn weight_errors(source: &[[u8; 4]; 16], mode: &Mode, fields: &Fields) -> [[u32; 32]; 32] {
    let mut errors = [[0; 32]; 32];
    let partition = mode.partition(fields.pattern);
    for (i, texel) in source.iter().enumerate() {
        let first = usize::from(partition.subset[i]) * mode.components * 2;
        for component in 0..mode.components {
            let second = mode.planes == 2 && is_second_plane(mode, fields.channel, component);
            let at = first + component * 2;
            // Grey stands for three channels; its second component is alpha.
            let channels = match (mode.components, component) {
                (2, 0) => 0..3,
                (2, _) => 3..4,
                (_, c) => c..c + 1,
            };
            let row = &mut errors[i * mode.planes + usize::from(second)];
            for (index, error) in row.iter_mut().enumerate().take(1 << mode.weight_bits) {
                let weight = weight_64ths(mode.weight_bits, index as u8);
                let value = interpolate(fields.endpoints[at], fields.endpoints[at + 1], weight);
                for &channel in &texel[channels.clone()] {
                    *error += u32::from(channel.abs_diff(value)).pow(2);
                }
            }
        }
    }
    errors
}
