//! UASTC decoder: sixteen bytes to sixteen texels, bit-exact with a conforming transcoder.
//!
//! A block is rejected if its prefix code is the reserved one or its pattern index is past the last pattern.
//! Weights interpolate by the linear rule of ASTC (endpoints expanded to sixteen bits by replication).

use super::modes::{MODES, Mode, SOLID};
use super::packing::{Fields, is_second_plane};
use super::partitions::Partition;
use super::unpack::{endpoint_values, hints, read, solid_colour, weight_planes, with_mode};

/// The texels of a block by channel: red, green, blue, alpha, each in raster order.
pub(crate) type Channels = [[u8; 16]; 4];

/// Decodes the texels of a block in raster order. Returns `None` if its mode or pattern does not exist.
#[must_use]
pub fn decode_block(block: &[u8; 16]) -> Option<[[u8; 4]; 16]> {
    decode_channels(block).map(|channels| interleave(&channels))
}

/// Decodes the texels of a block by channel. Returns `None` if its mode or pattern does not exist.
pub(crate) fn decode_channels(block: &[u8; 16]) -> Option<Channels> {
    let mode = Mode::of_first_byte(block[0])?;
    with_mode!(mode, decode_mode(block), Some(solid_colour(block).map(|value| [value; 16])))
}

fn decode_mode<const M: usize>(block: &[u8; 16]) -> Option<Channels> {
    let mode = &MODES[M];
    let stored = read::<M>(block)?;
    let endpoints = endpoint_values(&stored.indices, mode);
    let weights = weight_planes(stored.weights, mode);
    Some(channels(mode, stored.partition, stored.channel, &endpoints, &weights))
}

/// Unpacks the fields of a block of any mode except the solid-colour mode.
#[must_use]
pub fn unpack(number: u8, block: &[u8; 16]) -> Option<Fields> {
    debug_assert_ne!(number, SOLID);
    with_mode!(number, unpack_mode(block), None)
}

fn unpack_mode<const M: usize>(block: &[u8; 16]) -> Option<Fields> {
    let mode = &MODES[M];
    let stored = read::<M>(block)?;
    let planes = weight_planes(stored.weights, mode);
    let mut weights = [0; 32];
    for (i, weight) in weights[..16 * mode.planes].iter_mut().enumerate() {
        *weight = planes[i % mode.planes][i / mode.planes];
    }
    Some(Fields {
        mode: M as u8,
        pattern: stored.pattern,
        channel: stored.channel,
        endpoints: endpoint_values(&stored.indices, mode),
        weights,
        hints: hints(block, mode),
    })
}

/// Returns a weight index in 64ths: ASTC's weight unquantisation for one to five bits.
#[inline(always)]
#[must_use]
pub const fn weight_64ths(bits: u32, index: u8) -> u32 {
    let index = index as u32;
    let six = match bits {
        1 => index * 63,
        2 => index * 21,
        3 => index << 3 | index,
        4 => index << 2 | index >> 2,
        _ => index << 1 | index >> 4,
    };
    if six > 32 { six + 1 } else { six }
}

/// Interpolates one channel between two endpoints by ASTC's linear rule.
///
/// The specification expands both endpoints to sixteen bits by multiplying with 257 and keeps the upper eight bits
/// of the interpolation. With `sum` as the interpolation of the 8-bit endpoints in 64ths that is
/// `(257 * sum + 32) >> 14`, and the form below fits in sixteen bits.
#[inline(always)]
#[must_use]
pub const fn interpolate(low: u8, high: u8, weight: u32) -> u8 {
    let sum = low as i16 * 64 + (high as i16 - low as i16) * weight as i16;
    ((sum + ((sum + 32) >> 8)) >> 6) as u8
}

/// Decodes the texels of unpacked fields.
#[must_use]
pub fn texels(fields: &Fields) -> [[u8; 4]; 16] {
    let mode = &MODES[usize::from(fields.mode)];
    let mut weights = [[0; 16]; 2];
    for (i, &weight) in fields.weights[..16 * mode.planes].iter().enumerate() {
        weights[i % mode.planes][i / mode.planes] = weight;
    }
    let partition = mode.partition(fields.pattern);
    interleave(&channels(mode, partition, fields.channel, &fields.endpoints, &weights))
}

#[inline(always)]
fn channels(
    mode: &Mode,
    partition: &Partition,
    channel: u8,
    endpoints: &[u8; 18],
    weights: &[[u8; 16]; 2],
) -> Channels {
    let weights = weights.map(|plane| plane.map(|index| weight_64ths(mode.weight_bits, index) as i16));
    let mut out = [[255; 16]; 4];
    for component in 0..mode.components {
        let second = mode.planes == 2 && is_second_plane(mode, channel, component);
        let plane = &weights[usize::from(second)];
        let mut ends = [[0; 2]; 3];
        for (s, ends) in ends.iter_mut().enumerate().take(mode.subsets) {
            let at = (s * mode.components + component) * 2;
            *ends = [endpoints[at], endpoints[at + 1]];
        }
        let mut values = [0; 16];
        for i in 0..16 {
            let mut pair = ends[0];
            for s in 1..mode.subsets {
                pair = if usize::from(partition.subset[i]) == s { ends[s] } else { pair };
            }
            values[i] = interpolate(pair[0], pair[1], plane[i] as u32);
        }
        match mode.components {
            2 if component == 0 => out = [values, values, values, out[3]],
            2 => out[3] = values,
            _ => out[component] = values,
        }
    }
    out
}

/// Returns RGBA texels of separate channels.
#[inline(always)]
pub(crate) fn interleave(channels: &Channels) -> [[u8; 4]; 16] {
    let [r, g, b, a] = channels;
    let mut out = [[0; 4]; 16];
    for i in 0..16 {
        out[i] = [r[i], g[i], b[i], a[i]];
    }
    out
}
