//! UASTC to ASTC 4x4, without loss: the same endpoints and weights in ASTC's layout.
//!
//! ASTC stores trits and quints in an encoding of its own, weights from the top of the block down with their bits
//! reversed, and applies blue contraction to a subset whose first endpoint is the brighter one. Endpoints of such a
//! subset are swapped and its weights inverted. Solid-colour blocks become void-extent blocks. Layout: Khronos Data
//! Format 1.3, chapter 23.

pub mod partition;

use crate::bits::Bits;
use crate::uastc::modes::{MODES, Mode};
use crate::uastc::partitions::{SEEDS_2, SEEDS_2_OF_3, SEEDS_3};
use crate::uastc::unpack::{ones_every, read, solid_colour, spread_to_nibbles, with_mode};

/// Transcodes a block to ASTC 4x4. Returns `None` if its mode or pattern does not exist.
#[inline]
pub(crate) fn transcode(block: &[u8; 16]) -> Option<[u8; 16]> {
    let mode = Mode::of_first_byte(block[0])?;
    with_mode!(mode, transcode_mode(block), Some(void_extent(solid_colour(block))))
}

/// Returns an LDR void-extent block without coordinates; each channel has sixteen bits.
fn void_extent(colour: [u8; 4]) -> [u8; 16] {
    let mut out = [0xFF; 16];
    [out[0], out[1]] = [0xFC, 0xFD];
    for (channel, &value) in colour.iter().enumerate() {
        out[8 + channel * 2..][..2].copy_from_slice(&[value; 2]);
    }
    out
}

fn transcode_mode<const M: usize>(block: &[u8; 16]) -> Option<[u8; 16]> {
    let mode = &MODES[M];
    let stored = read::<M>(block)?;
    let (mut indices, mut weights) = (stored.indices, stored.weights);
    if mode.components > 2 {
        for subset in 0..mode.subsets {
            let first = subset * mode.components * 2;
            let value = |k: usize| u32::from(mode.range.values[usize::from(indices[first + k])]);
            if value(1) + value(3) + value(5) < value(0) + value(2) + value(4) {
                for pair in indices[first..][..mode.components * 2].as_chunks_mut::<2>().0 {
                    pair.swap(0, 1);
                }
                weights ^= all_weights(mode, stored.partition.members[subset]);
            }
        }
    }

    let mut bits = Bits::default();
    bits.put(block_mode(mode), 11);
    bits.put(mode.subsets as u64 - 1, 2);
    // Direct endpoints: luminance with alpha (4), RGB (8) or RGBA (12).
    let endpoint_mode = (mode.components as u64 - 1) * 4;
    if mode.subsets == 1 {
        bits.put(endpoint_mode, 4);
    } else {
        let seeds: &[u16] = match M {
            3 => &SEEDS_3,
            7 => &SEEDS_2_OF_3,
            _ => &SEEDS_2,
        };
        bits.put(u64::from(*seeds.get(usize::from(stored.pattern))?), 10);
        // Two zero bits: all subsets have the same endpoint mode.
        bits.put(endpoint_mode << 2, 6);
    }
    put_endpoints(&mut bits, mode, &indices);
    let mut value = bits.value | weights.reverse_bits();
    if mode.planes == 2 {
        value |= u128::from(stored.channel) << (128 - 32 * mode.weight_bits - 2);
    }
    Some(value.to_le_bytes())
}

/// Returns the block mode of a 4x4 weight grid: the range of the weights, and bit 10 for two planes.
const fn block_mode(mode: &Mode) -> u64 {
    let range = match mode.weight_bits {
        1 => 0x41,
        2 => 0x42,
        3 => 0x53,
        4 => 0x242,
        _ => 0x253,
    };
    range | (mode.planes as u64 - 1) << 10
}

/// Returns ones at all weights of the texels of a set.
#[inline(always)]
fn all_weights(mode: &Mode, members: u16) -> u128 {
    let width = mode.weight_bits * mode.planes as u32;
    if mode.subsets == 1 {
        return (1 << (16 * width)) - 1;
    }
    // Weights of these modes have two or three bits: first a nibble for each texel, then the gaps closed.
    let spread = spread_to_nibbles(u64::from(members), 1) * ((1 << width) - 1);
    let mut tight = spread;
    let (mut place, mut taken) = (4, width);
    while place < 64 {
        let low = ones_every(place * 2, taken);
        tight = tight & low | tight >> (place - taken) & low << taken;
        place *= 2;
        taken *= 2;
    }
    u128::from(tight)
}

/// Writes endpoints in ASTC's integer sequence encoding.
#[inline(always)]
fn put_endpoints(bits: &mut Bits, mode: &Mode, indices: &[u8; 18]) {
    let range = mode.range;
    let n = range.bits;
    let low = |index: u8| u64::from(index) & ((1 << n) - 1);
    let high = |index: u8| usize::from(index >> n);
    let indices = &indices[..mode.endpoints()];
    match range.radix {
        3 => {
            for group in indices.chunks(5) {
                let mut five = [0; 5];
                five[..group.len()].copy_from_slice(group);
                let packed = five.iter().rev().fold(0, |sum, &index| sum * 3 + high(index));
                let trits = u64::from(TRITS[packed.min(242)]);
                // The bits of the trits are spread between the bits of the values.
                let mut put = |index: u8, from: u32, count: u32| {
                    bits.put(low(index), n);
                    bits.put(trits >> from & ((1 << count) - 1), count);
                };
                put(five[0], 0, 2);
                put(five[1], 2, 2);
                put(five[2], 4, 1);
                put(five[3], 5, 2);
                put(five[4], 7, 1);
            }
        }
        5 => {
            for group in indices.chunks(3) {
                let mut three = [0; 3];
                three[..group.len()].copy_from_slice(group);
                let packed = three.iter().rev().fold(0, |sum, &index| sum * 5 + high(index));
                let quints = u64::from(QUINTS[packed.min(124)]);
                let mut put = |index: u8, from: u32, count: u32| {
                    bits.put(low(index), n);
                    bits.put(quints >> from & ((1 << count) - 1), count);
                };
                put(three[0], 0, 3);
                put(three[1], 3, 2);
                put(three[2], 5, 2);
            }
        }
        _ => {
            for &index in indices {
                bits.put(u64::from(index), n);
            }
        }
    }
}

/// The code of five trits, packed in base three. Of several codes the smallest, as the reference has it.
static TRITS: [u8; 243] = {
    let mut out = [0; 243];
    let mut code = 256;
    while code > 0 {
        code -= 1;
        out[trits_of(code)] = code as u8;
    }
    out
};

/// The code of three quints, packed in base five. Of several codes the largest, as the reference has it.
static QUINTS: [u8; 125] = {
    let mut out = [0; 125];
    let mut code = 0;
    while code < 128 {
        out[quints_of(code)] = code as u8;
        code += 1;
    }
    out
};

/// Decodes five trits (section 23.12 of the specification) and packs them in base three.
const fn trits_of(t: usize) -> usize {
    let (c, t4, t3) = if t >> 2 & 7 == 7 {
        ((t >> 5 & 7) << 2 | t & 3, 2, 2)
    } else if t >> 5 & 3 == 3 {
        (t & 31, 2, t >> 7 & 1)
    } else {
        (t & 31, t >> 7 & 1, t >> 5 & 3)
    };
    let (t2, t1, t0) = if c & 3 == 3 {
        (2, c >> 4 & 1, (c >> 3 & 1) << 1 | (c >> 2 & 1) & !(c >> 3 & 1))
    } else if c >> 2 & 3 == 3 {
        (2, 2, c & 3)
    } else {
        (c >> 4 & 1, c >> 2 & 3, (c >> 1 & 1) << 1 | (c & 1) & !(c >> 1 & 1))
    };
    t0 + 3 * (t1 + 3 * (t2 + 3 * (t3 + 3 * t4)))
}

/// Decodes three quints (section 23.12 of the specification) and packs them in base five.
const fn quints_of(q: usize) -> usize {
    let (q2, q1, q0);
    if q >> 1 & 3 == 3 && q >> 5 & 3 == 0 {
        let inverse = !q & 1;
        q2 = (q & 1) << 2 | ((q >> 4 & 1) & inverse) << 1 | (q >> 3 & 1) & inverse;
        (q1, q0) = (4, 4);
    } else {
        let c;
        if q >> 1 & 3 == 3 {
            q2 = 4;
            c = (q >> 3 & 3) << 3 | (!(q >> 5) & 3) << 1 | q & 1;
        } else {
            q2 = q >> 5 & 3;
            c = q & 31;
        }
        (q1, q0) = if c & 7 == 5 { (4, c >> 3 & 3) } else { (c >> 3 & 3, c & 7) };
    }
    q0 + 5 * (q1 + 5 * q2)
}
