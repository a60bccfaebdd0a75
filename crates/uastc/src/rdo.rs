//! Rate–distortion optimisation (RDO): trades error for bytes that Zstandard compresses better.
//!
//! Zstandard saves bytes where a block repeats earlier bytes. So each block is compared with a window of
//! previous blocks: it may become a copy of one of them (sixteen bytes repeat), or take over the weights of
//! one with the same mode and pattern (the bytes at its end repeat). The change is made if `error + λ * bits`
//! decreases, with a simple model of the cost of bytes. The error that a block can gain is thereby bounded:
//! about two levels in the root mean square at λ = 1.
//!
//! Blocks are compared within bands of rows that begin at fixed rows, so that the result does not depend on
//! the division of an image into strips. The window is that of both formats: [`Repeated`] is what they differ in.

use crate::decode::{interpolate, texels, unpack, weight_64ths};
use crate::modes::{MODES, Mode, SOLID};
use crate::packing::{Fields, is_second_plane, pack};

/// The error of every weight index for every texel (and plane, in dual-plane modes) with a block's endpoints.
pub(crate) type WeightErrors = [[u32; 32]; 32];

/// The fields of a block whose weights can be replaced by those of another.
pub(crate) trait Repeated: Copy {
    /// An opaque block never becomes a copy of one that is not.
    const KEEPS_OPAQUE: bool;

    /// Decodes a block of the encoder: its texels, and its fields if weights can be replaced.
    fn describe(bytes: &[u8; 16]) -> ([[u8; 4]; 16], Option<Self>);

    /// Returns true if the weights of the other block have the same meaning and bits.
    fn has_weights_of(&self, other: &Self) -> bool;

    /// Returns the number of whole bytes at the end of a block that hold weights only.
    fn weight_bytes(&self) -> u32;

    /// Returns the errors of all weights with the endpoints of this block.
    fn weight_errors(&self, source: &[[u8; 4]; 16]) -> WeightErrors;

    /// Returns the error of the weights of this block.
    fn error(&self, errors: &WeightErrors) -> u32;

    /// Packs this block with the weights of another.
    fn with_weights(&self, other: &Self) -> [u8; 16];
}

/// The number of previous blocks in the window.
const WINDOW_BLOCKS: usize = 256;
/// The minimum number of blocks in a band.
const BAND_BLOCKS: u32 = 4096;

/// The cost of a literal byte, in bits.
const LITERAL: f32 = 7.0;
/// The cost of a match (offset and length), in bits.
const MATCH: f32 = 20.0;
/// The cost of a match that continues the previous one, in bits.
const CONTINUED_MATCH: f32 = 2.0;
/// Squared error per bit at λ = 1.
const SCALE: f32 = 1.6;
/// The weight of alpha in errors. A level of alpha is seen against every background, and one of three colours is not.
pub(crate) const ALPHA: u32 = 6;

/// Returns the number of block rows in a band.
pub(crate) const fn band_rows(blocks_wide: u32) -> u32 {
    if blocks_wide == 0 { 1 } else { BAND_BLOCKS.div_ceil(blocks_wide) }
}

/// A block of the window.
#[derive(Clone, Copy)]
struct WindowBlock<F> {
    bytes: [u8; 16],
    texels: [[u8; 4]; 16],
    fields: Option<F>,
}

/// The window of previous blocks.
pub(crate) struct Window<F> {
    past: [WindowBlock<F>; WINDOW_BLOCKS],
    count: usize,
    /// The offset of the block that the previous block was copied from, zero if it was not.
    offset: usize,
    lambda: f32,
}

impl<F: Repeated> Window<F> {
    /// Returns an empty window.
    pub(crate) const fn new(lambda: f32) -> Self {
        let none = WindowBlock { bytes: [0; 16], texels: [[0; 4]; 16], fields: None };
        Self { past: [none; WINDOW_BLOCKS], count: 0, offset: 0, lambda: lambda * SCALE }
    }

    /// Empties the window at the start of a band.
    pub(crate) const fn restart(&mut self) {
        (self.count, self.offset) = (0, 0);
    }

    /// Returns the bytes to write for a block that was encoded as `bytes`.
    pub(crate) fn choose(&mut self, source: &[u32; 16], bytes: [u8; 16]) -> [u8; 16] {
        let source = source.map(u32::to_le_bytes);
        let mut this = describe(bytes);
        let mut best = distance(&source, &this.texels) as f32 + self.lambda * LITERAL * 16.0;
        let mut offset = 0;
        let original = this;
        let opaque = F::KEEPS_OPAQUE && is_opaque(&source);
        for back in 1..=self.count.min(WINDOW_BLOCKS) {
            let past = &self.past[(self.count - back) % WINDOW_BLOCKS];
            if opaque && !is_opaque(&past.texels) {
                continue;
            }
            let bits = if back == self.offset { CONTINUED_MATCH } else { MATCH };
            let cost = self.lambda * bits + distance(&source, &past.texels) as f32;
            if cost < best {
                (best, offset, this) = (cost, back, *past);
            }
        }
        let borrowed = original.fields.and_then(|fields| self.borrow_weights(&source, &fields, best));
        if let Some(bytes) = borrowed {
            (offset, this) = (0, describe(bytes));
        }
        self.offset = offset;
        self.past[self.count % WINDOW_BLOCKS] = this;
        self.count += 1;
        this.bytes
    }

    /// Returns the block with the weights of an earlier one, if that costs less than `best`.
    fn borrow_weights(&self, source: &[[u8; 4]; 16], fields: &F, best: f32) -> Option<[u8; 16]> {
        let bytes = fields.weight_bytes() as f32;
        let rate = self.lambda * ((16.0 - bytes) * LITERAL + MATCH);
        if rate >= best {
            return None;
        }
        let errors = fields.weight_errors(source);
        let (mut best, mut found) = (best, None);
        for back in 1..=self.count.min(WINDOW_BLOCKS) {
            let Some(past) = &self.past[(self.count - back) % WINDOW_BLOCKS].fields else { continue };
            if !fields.has_weights_of(past) {
                continue;
            }
            let cost = rate + past.error(&errors) as f32;
            if cost < best {
                (best, found) = (cost, Some(past));
            }
        }
        found.map(|past| fields.with_weights(past))
    }
}

fn describe<F: Repeated>(bytes: [u8; 16]) -> WindowBlock<F> {
    let (texels, fields) = F::describe(&bytes);
    WindowBlock { bytes, texels, fields }
}

impl Repeated for Fields {
    const KEEPS_OPAQUE: bool = false;

    fn describe(bytes: &[u8; 16]) -> ([[u8; 4]; 16], Option<Self>) {
        // Blocks of the encoder itself: their modes and patterns exist.
        let mode = Mode::of_first_byte(bytes[0]).unwrap_or(SOLID);
        if mode == SOLID {
            return (crate::decode_block(bytes).unwrap_or([[0; 4]; 16]), None);
        }
        let fields = unpack(mode, bytes);
        (fields.as_ref().map_or([[0; 4]; 16], texels), fields)
    }

    fn has_weights_of(&self, other: &Self) -> bool {
        (self.mode, self.pattern, self.channel) == (other.mode, other.pattern, other.channel)
    }

    fn weight_bytes(&self) -> u32 {
        weight_bytes(&MODES[usize::from(self.mode)])
    }

    fn weight_errors(&self, source: &[[u8; 4]; 16]) -> WeightErrors {
        weight_errors(source, &MODES[usize::from(self.mode)], self)
    }

    fn error(&self, errors: &WeightErrors) -> u32 {
        let planes = MODES[usize::from(self.mode)].planes;
        let mut error = 0;
        for (i, &weight) in self.weights[..16 * planes].iter().enumerate() {
            error += errors[i][usize::from(weight)];
        }
        error
    }

    fn with_weights(&self, other: &Self) -> [u8; 16] {
        pack(&Fields { weights: other.weights, ..*self })
    }
}

fn is_opaque(texels: &[[u8; 4]; 16]) -> bool {
    texels.iter().fold(u8::MAX, |all, texel| all & texel[3]) == u8::MAX
}

fn distance(a: &[[u8; 4]; 16], b: &[[u8; 4]; 16]) -> u32 {
    let mut sums = [0; 4];
    for (a, b) in a.iter().zip(b) {
        for c in 0..4 {
            let d = i32::from(a[c]) - i32::from(b[c]);
            sums[c] += (d * d) as u32;
        }
    }
    sums[0] + sums[1] + sums[2] + sums[3] * ALPHA
}

/// Returns the number of whole bytes at the end of a block that hold weights only.
const fn weight_bytes(mode: &Mode) -> u32 {
    let anchors = if mode.planes > mode.subsets { mode.planes } else { mode.subsets };
    // Endpoints come before the weights; the bits after the weights, if any, are always zero.
    (16 * mode.planes as u32 * mode.weight_bits - anchors as u32) / 8
}

/// Returns the error of every weight index for every texel (and plane, in dual-plane modes) with a block's
/// endpoints.
fn weight_errors(source: &[[u8; 4]; 16], mode: &Mode, fields: &Fields) -> WeightErrors {
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
                for channel in channels.clone() {
                    let weight = if channel == 3 { ALPHA } else { 1 };
                    *error += u32::from(texel[channel].abs_diff(value)).pow(2) * weight;
                }
            }
        }
    }
    errors
}
