//! UASTC to BC1: two 5:6:5 endpoints and sixteen selectors of two bits.
//!
//! Hints of the block allow shortcuts: its endpoints and weights as they are, or its weights as selectors. Without
//! hints the endpoints are the extremes along the principal axis of the colours, improved once by least squares. The
//! order of the operations on `f32` is that of the reference transcoder, so that the bytes are its bytes. All blocks
//! have four colours: none is transparent.

use crate::uastc::decode::{Channels, decode_channels};
use crate::uastc::modes::{MODES, Mode, SOLID};
use crate::uastc::unpack::{Stored, endpoint_values, hints, read, solid_colour, weight_planes, with_mode};

/// A colour of five, six and five bits.
type Colour565 = [u32; 3];

/// The selector in the block of each position from the first endpoint to the second.
const SELECTORS: [u32; 4] = [0, 2, 3, 1];

/// Transcodes a block. Returns `None` if its mode or pattern does not exist.
#[inline]
pub(crate) fn transcode(block: &[u8; 16]) -> Option<[u8; 8]> {
    let number = Mode::of_first_byte(block[0])?;
    if number == SOLID {
        let [r, g, b, _] = solid_colour(block);
        return Some(solid([r, g, b]));
    }
    if hints(block, &MODES[usize::from(number)]).bc1_direct {
        return with_mode!(number, direct(block), None);
    }
    transcode_texels(block, number, &decode_channels(block)?)
}

/// Transcodes a block whose texels are already decoded, `number` being its mode.
#[inline]
pub(crate) fn transcode_texels(block: &[u8; 16], number: u8, texels: &Channels) -> Option<[u8; 8]> {
    let mode = &MODES[usize::from(number)];
    if number == SOLID {
        return Some(solid([texels[0][0], texels[1][0], texels[2][0]]));
    }
    let hints = hints(block, mode);
    if hints.bc1_direct {
        return with_mode!(number, direct(block), None);
    }
    let positions = if hints.bc1_weights { with_mode!(number, weight_positions(block), None) } else { None };
    Some(encode(texels, positions))
}

/// Returns a block of the endpoints and weights of a UASTC block, for which its hints have to allow that.
fn direct<const M: usize>(block: &[u8; 16]) -> Option<[u8; 8]> {
    let mode = &MODES[M];
    let stored = read::<M>(block)?;
    let values = endpoint_values(&stored.indices, mode);
    let step = if mode.components == 2 { 0 } else { 2 };
    let end = |k: usize| {
        let value = |c: usize, top: u32| (u32::from(values[c * step + k]) * top + 127) / 255;
        [value(0, 31), value(1, 63), value(2, 31)]
    };
    Some(write(end(0), end(1), &positions(mode, &stored)))
}

fn weight_positions<const M: usize>(block: &[u8; 16]) -> Option<[u8; 16]> {
    read::<M>(block).map(|stored| positions(&MODES[M], &stored))
}

/// Returns the position between the endpoints that is nearest to each weight of the first plane.
#[inline(always)]
fn positions(mode: &Mode, stored: &Stored) -> [u8; 16] {
    weight_planes(stored.weights, mode)[0].map(|weight| match mode.weight_bits {
        1 => weight * 3,
        2 => weight,
        3 => weight / 2,
        4 => (weight + 2) / 5,
        // 0 to 5, 6 to 15, 16 to 25, 26 to 31
        _ => (weight + 4) / 10,
    })
}

/// Encodes the texels of a block. With the hint that its weights are good selectors, `positions` are they.
#[inline]
fn encode(texels: &Channels, positions: Option<[u8; 16]>) -> [u8; 8] {
    let positions = match positions {
        Some(positions) => positions,
        None => {
            if texels[..3].iter().all(|channel| channel.iter().all(|&value| value == channel[0])) {
                return solid([texels[0][0], texels[1][0], texels[2][0]]);
            }
            let (low, high) = extremes(texels);
            nearest(texels, low, high)
        }
    };
    let (low, high) = least_squares(texels, &positions);
    write(low, high, &nearest(texels, low, high))
}

/// Returns the block of one colour: the endpoints whose interpolation at one third is nearest to it.
fn solid(colour: [u8; 3]) -> [u8; 8] {
    let [first, second] = solid_ends(colour).map(word);
    if first == second {
        return write_equal(first);
    }
    let (first, second, selector) = if first < second { (second, first, 3) } else { (first, second, 2) };
    bytes(first, second, selector * 0x5555_5555)
}

/// Returns the endpoints of one colour, the nearer one first.
fn solid_ends([r, g, b]: [u8; 3]) -> [Colour565; 2] {
    let [r, g, b] = [FIVE[usize::from(r)], SIX[usize::from(g)], FIVE[usize::from(b)]];
    [0, 1].map(|k: usize| [r[k].into(), g[k].into(), b[k].into()])
}

/// For each value, the endpoints that give it at one third, for five bits.
static FIVE: [[u8; 2]; 256] = thirds(5);
/// The same for six bits.
static SIX: [[u8; 2]; 256] = thirds(6);

const fn thirds(bits: u32) -> [[u8; 2]; 256] {
    let top = (1 << bits) - 1;
    let mut out = [[0; 2]; 256];
    let mut value = 0;
    while value < 256 {
        let mut least = i32::MAX;
        let mut second = 0;
        while second <= top {
            let b = expand(second as u32, bits);
            // Two thirds of the first endpoint and one of the second: only a few are near enough.
            let from = ((value * 3 - b) / 2 - 12) * top / 255;
            let mut first = if from < 0 { 0 } else { from };
            let end = first + 9;
            while first <= top && first < end {
                let a = expand(first as u32, bits);
                // A wide pair costs a little, because decoders differ in how they round.
                let error = ((a * 2 + b) / 3 - value).abs() + (a - b).abs() * 3 / 100;
                if error < least {
                    least = error;
                    out[value as usize] = [first as u8, second as u8];
                }
                first += 1;
            }
            second += 1;
        }
        value += 1;
    }
    out
}

const fn expand(value: u32, bits: u32) -> i32 {
    (value << (8 - bits) | value >> (2 * bits - 8)) as i32
}

const fn word([r, g, b]: Colour565) -> u32 {
    r << 11 | g << 5 | b
}

fn bytes(first: u32, second: u32, selectors: u32) -> [u8; 8] {
    (u64::from(selectors) << 32 | u64::from(second) << 16 | u64::from(first)).to_le_bytes()
}

/// Writes a block whose endpoints are equal: the second changes, because equal ones would mean transparency.
fn write_equal(colour: u32) -> [u8; 8] {
    if colour > 0 { bytes(colour, colour - 1, 0) } else { bytes(1, 0, 0x5555_5555) }
}

/// Writes a block; the first endpoint has to be the larger word.
fn write(low: Colour565, high: Colour565, positions: &[u8; 16]) -> [u8; 8] {
    let (low, high) = (word(low), word(high));
    if low == high {
        return write_equal(low);
    }
    let mut selectors = 0;
    for (i, &position) in positions.iter().enumerate() {
        selectors |= SELECTORS[usize::from(position & 3)] << (2 * i);
    }
    if low < high { bytes(high, low, selectors ^ 0x5555_5555) } else { bytes(low, high, selectors) }
}

/// Returns the colours at both ends of the principal axis, which four power iterations find.
#[inline]
fn extremes(texels: &Channels) -> (Colour565, Colour565) {
    let rgb = &texels[..3];
    let mut range = [0.0; 3];
    let mut centred = [[0i32; 16]; 3];
    for ((range, centred), channel) in range.iter_mut().zip(&mut centred).zip(rgb) {
        let (mut low, mut high, mut sum) = (channel[0], channel[0], 0);
        for &value in channel {
            low = low.min(value);
            high = high.max(value);
            sum += i32::from(value);
        }
        let average = (sum + 8) >> 4;
        *centred = channel.map(|value| i32::from(value) - average);
        *range = f32::from(high - low);
    }
    let covariance = |a: usize, b: usize| {
        let sum: i32 = centred[a].iter().zip(&centred[b]).map(|(a, b)| a * b).sum();
        sum as f32 * (1.0 / 255.0)
    };
    let (rr, rg, rb) = (covariance(0, 0), covariance(0, 1), covariance(0, 2));
    let (gg, gb, bb) = (covariance(1, 1), covariance(1, 2), covariance(2, 2));
    let [mut x, mut y, mut z] = range;
    for _ in 0..4 {
        (x, y, z) = (x * rr + y * rg + z * rb, x * rg + y * gg + z * gb, x * rb + y * gb + z * bb);
    }
    let longest = x.abs().max(y.abs()).max(z.abs());
    // An axis too short to normalise: luma.
    let mut axis = [306, 601, 117];
    if longest >= 2.0 {
        let scale = 1024.0 / longest;
        axis = [(x * scale) as i32, (y * scale) as i32, (z * scale) as i32];
    }
    let mut dots = [0; 16];
    for (i, dot) in dots.iter_mut().enumerate() {
        *dot =
            i32::from(rgb[0][i]) * axis[0] + i32::from(rgb[1][i]) * axis[1] + i32::from(rgb[2][i]) * axis[2];
    }
    let (mut low, mut high) = (0, 0);
    for i in 1..16 {
        if dots[i] < dots[low] {
            low = i;
        }
        if dots[i] > dots[high] {
            high = i;
        }
    }
    let quantised = |i: usize| {
        let part = |value: u8, top: u32| {
            let value = u32::from(value) * top + 128;
            (value + (value >> 8)) >> 8
        };
        [part(rgb[0][i], 31), part(rgb[1][i], 63), part(rgb[2][i], 31)]
    };
    (quantised(low), quantised(high))
}

/// Returns the position of each texel between two endpoints: the nearest of the four colours along their axis.
#[inline]
fn nearest(texels: &Channels, low: Colour565, high: Colour565) -> [u8; 16] {
    let wide = |[r, g, b]: Colour565| [expand(r, 5), expand(g, 6), expand(b, 5)];
    let (low, high) = (wide(low), wide(high));
    let axis = [high[0] - low[0], high[1] - low[1], high[2] - low[2]];
    let along = |colour: [i32; 3]| colour[0] * axis[0] + colour[1] * axis[1] + colour[2] * axis[2];
    let between = |k: i32| [0, 1, 2].map(|c: usize| (low[c] * (3 - k) + high[c] * k) / 3);
    let dots = [along(low), along(between(1)), along(between(2)), along(high)];
    // Twice the midpoints between neighbours.
    let limits = [dots[0] + dots[1], dots[1] + dots[2], dots[2] + dots[3]];
    let axis = axis.map(|value| value * 2);
    let mut out = [0; 16];
    for (i, position) in out.iter_mut().enumerate() {
        let dot = i32::from(texels[0][i]) * axis[0]
            + i32::from(texels[1][i]) * axis[1]
            + i32::from(texels[2][i]) * axis[2];
        *position = u8::from(dot > limits[0]) + u8::from(dot >= limits[1]) + u8::from(dot >= limits[2]);
    }
    out
}

/// Returns the endpoints with the least squared error for given positions. They come out in reverse order: the first
/// is the one at position three.
#[inline]
fn least_squares(texels: &Channels, positions: &[u8; 16]) -> (Colour565, Colour565) {
    // The normal equations of both weights, position and three minus position.
    let (mut aa, mut ab, mut bb) = (0u32, 0u32, 0u32);
    for &position in positions {
        let (a, b) = (u32::from(position), 3 - u32::from(position));
        (aa, ab, bb) = (aa + a * a, ab + a * b, bb + b * b);
    }
    let (aa, ab, bb) = (aa as f32, ab as f32, bb as f32);
    let determinant = aa * bb - ab * ab;
    if determinant.abs() < 1e-8 {
        // All positions are equal: the average as a solid colour.
        let average = |channel: &[u8; 16]| {
            let sum: u32 = channel.iter().map(|&value| u32::from(value)).sum();
            ((sum + 8) >> 4) as u8
        };
        let [first, second] = solid_ends([average(&texels[0]), average(&texels[1]), average(&texels[2])]);
        return (first, second);
    }
    let scale = 3.0 / determinant;
    let (i00, i01, i11) = (bb * scale, -ab * scale, aa * scale);
    let (mut low, mut high) = ([0; 3], [0; 3]);
    for c in 0..3 {
        let (mut sum, mut weighted) = (0, 0);
        for (&value, &position) in texels[c].iter().zip(positions) {
            sum += u32::from(value);
            weighted += u32::from(value) * u32::from(position);
        }
        let weighted = weighted as f32;
        let rest = sum as f32 * 3.0 - weighted;
        let mut x = i00 * weighted + i01 * rest;
        let mut y = i01 * weighted + i11 * rest;
        if (x < 0.0 || y > 255.0) && texels[c].iter().all(|&value| value == texels[c][0]) {
            (x, y) = (f32::from(texels[c][0]), f32::from(texels[c][0]));
        }
        let top = if c == 1 { 63 } else { 31 };
        let quantised = |value: f32| ((value * (top as f32 / 255.0) + 0.5) as i32).clamp(0, top) as u32;
        (low[c], high[c]) = (quantised(x), quantised(y));
    }
    (low, high)
}
