//! BC7 decoder: sixteen bytes to sixteen texels, bit-exact with the specification.
//!
//! A block of the reserved mode is rejected; hardware shows it as transparent black.

use super::modes::{Fields, MODES};
use super::packing::unpack;

/// Decodes the texels of a block in raster order. Returns `None` if its mode is the reserved one.
#[must_use]
pub fn decode_block(block: &[u8; 16]) -> Option<[[u8; 4]; 16]> {
    unpack(block).map(|fields| texels(&fields))
}

/// Returns a weight index in 64ths.
pub const fn weight_64ths(bits: u32, index: u32) -> u32 {
    // The nearest 64th to index / last.
    let last = (1 << bits) - 1;
    (index * 128 + last) / (2 * last)
}

/// Decodes the texels of unpacked fields.
pub fn texels(fields: &Fields) -> [[u8; 4]; 16] {
    let mode = &MODES[usize::from(fields.mode)];
    let partition = mode.partition(fields.pattern);
    let (colour_bits, alpha_bits) = fields.weight_bits(mode);
    let mut out = [[0; 4]; 16];
    for (i, texel) in out.iter_mut().enumerate() {
        let [low, high] = fields.ends[usize::from(partition.subset[i])].map(u32::to_le_bytes);
        let colour = weight_64ths(colour_bits, (fields.weights >> (4 * i) & 15) as u32);
        let alpha = match mode.planes {
            true => weight_64ths(alpha_bits, (fields.second >> (4 * i) & 15) as u32),
            false => colour,
        };
        for (channel, value) in texel.iter_mut().enumerate() {
            let weight = if channel == 3 { alpha } else { colour };
            *value = interpolate(low[channel], high[channel], weight);
        }
        match fields.rotation {
            0 => {}
            channel => texel.swap(3, usize::from(channel) - 1),
        }
    }
    out
}

/// Interpolates one channel between two endpoints.
pub const fn interpolate(low: u8, high: u8, weight: u32) -> u8 {
    ((low as u32 * (64 - weight) + high as u32 * weight + 32) >> 6) as u8
}
