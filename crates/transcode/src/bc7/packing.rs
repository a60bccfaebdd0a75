//! Packs the fields of a BC7 block into its sixteen bytes, and unpacks them.
//!
//! The order is that of Khronos Data Format 1.3, chapter 20: mode, pattern, rotation, index selection,
//! endpoints by channel, P-bits, weights. Values are packed from the lowest bit up.

use super::modes::{Fields, MODES, Mode, PBits};
use crate::bits::Bits;
use crate::uastc::unpack::ones_every;

/// Packs a block. The fields need not be canonical: the endpoints of a subset whose anchor weight has its top
/// bit set are swapped here.
#[inline]
#[must_use]
pub fn pack(fields: &Fields) -> [u8; 16] {
    pack_as(fields.mode, *fields)
}

/// Packs a block of a constant mode, whatever the mode of its fields: straight code for one mode.
#[inline(always)]
pub(crate) fn pack_mode<const M: u8>(fields: Fields) -> [u8; 16] {
    pack_as(M, fields)
}

#[inline(always)]
fn pack_as(number: u8, mut fields: Fields) -> [u8; 16] {
    let mode = &MODES[usize::from(number)];
    swap_endpoints(&mut fields, mode);
    let mut bits = Bits::default();
    bits.put(1 << number, u32::from(number) + 1);
    bits.put(fields.pattern.into(), mode.pattern_bits);
    if mode.planes {
        bits.put(fields.rotation.into(), 2);
        bits.put(fields.swapped.into(), mode.swap_bits);
    }
    put_endpoints(&mut bits, &fields, mode);
    let (first, second) = fields.weight_bits(mode);
    let mut planes = [(fields.weights, first), (fields.second, second)];
    if fields.swapped {
        planes.swap(0, 1);
    }
    put_weights(&mut bits, planes[0].0, planes[0].1, mode, fields.pattern);
    if mode.planes {
        put_weights(&mut bits, planes[1].0, planes[1].1, mode, 0);
    }
    bits.value.to_le_bytes()
}

#[inline(always)]
fn put_endpoints(bits: &mut Bits, fields: &Fields, mode: &Mode) {
    let ends = &fields.ends[..mode.subsets];
    for channel in 0..4 {
        let grid = if channel == 3 { mode.alpha } else { mode.colour };
        let stored = grid.stored_bits();
        if stored > 0 {
            for &end in ends.as_flattened() {
                bits.put(u64::from((end >> (8 * channel)) as u8 >> (8 - stored)), stored);
            }
        }
    }
    // The P-bit is below the stored bits; all channels share it.
    let p_bit = |end: u32| u64::from(end >> (8 - mode.colour.bits) & 1);
    for &[low, high] in ends {
        match mode.colour.p_bits {
            PBits::None => {}
            PBits::PerEndpoint => bits.put(p_bit(low) | p_bit(high) << 1, 2),
            PBits::Shared => bits.put(p_bit(low), 1),
        }
    }
}

/// Packs weights of `width` bits, one bit less for the anchor of each subset.
#[inline(always)]
fn put_weights(bits: &mut Bits, weights: u64, width: u32, mode: &Mode, pattern: u8) {
    let mut tight = pack_nibbles(weights, width);
    // The highest anchor first, so that the lower ones keep their positions. That of the first subset is texel 0.
    let [_, second, third] = mode.partition(pattern).anchors.map(u32::from);
    if mode.subsets == 3 {
        tight = remove_bit(tight, second.max(third) * width + width - 1);
        tight = remove_bit(tight, second.min(third) * width + width - 1);
    } else if mode.subsets == 2 {
        tight = remove_bit(tight, second * width + width - 1);
    }
    bits.put(remove_bit(tight, width - 1), 16 * width - mode.subsets as u32);
}

/// Removes a zero bit and closes the gap.
#[inline(always)]
const fn remove_bit(value: u64, at: u32) -> u64 {
    let low = (1 << (at & 63)) - 1;
    value & low | value >> 1 & !low
}

/// Packs sixteen numbers of `width` bits, from four bits each to `width` bits each.
#[inline(always)]
const fn pack_nibbles(mut weights: u64, width: u32) -> u64 {
    // Pairs, fours, eights move together; each step closes the gaps between two neighbours.
    let gap = 4 - width;
    let mut taken = width;
    let mut place = 4;
    while gap > 0 && place < 64 {
        let low = ones_every(place * 2, taken);
        weights = weights & low | weights >> (place - taken) & low << taken;
        taken *= 2;
        place *= 2;
    }
    weights
}

/// Makes the top bit of each anchor weight zero, by swapping low and high endpoints where needed.
#[inline(always)]
fn swap_endpoints(fields: &mut Fields, mode: &Mode) {
    let (first, second) = fields.weight_bits(mode);
    if mode.planes {
        let [low, high] = &mut fields.ends[0];
        for (weights, width, channels) in
            [(&mut fields.weights, first, 0x00FF_FFFF), (&mut fields.second, second, 0xFF00_0000)]
        {
            if *weights >> (width - 1) & 1 != 0 {
                *weights ^= all(width);
                let differ = (*low ^ *high) & channels;
                (*low, *high) = (*low ^ differ, *high ^ differ);
            }
        }
        return;
    }
    let partition = mode.partition(fields.pattern);
    for subset in 0..mode.subsets {
        let anchor = u32::from(partition.anchors[subset]);
        if fields.weights >> ((4 * anchor + first - 1) & 63) & 1 != 0 {
            fields.weights ^= all(first) & nibbles(partition.members[subset]);
            fields.ends[subset].swap(0, 1);
        }
    }
}

/// Returns the largest weight of `width` bits at every texel.
const fn all(width: u32) -> u64 {
    0x1111_1111_1111_1111 * ((1 << width) - 1)
}

/// Returns four ones for each texel of a set.
const fn nibbles(members: u16) -> u64 {
    // Moves each bit to every fourth position, by halves.
    let mut x = members as u64;
    x = (x | x << 24) & 0x0000_00FF_0000_00FF;
    x = (x | x << 12) & 0x000F_000F_000F_000F;
    x = (x | x << 6) & 0x0303_0303_0303_0303;
    x = (x | x << 3) & 0x1111_1111_1111_1111;
    x * 15
}

/// Unpacks the fields of a block; returns `None` for the reserved mode.
pub fn unpack(block: &[u8; 16]) -> Option<Fields> {
    let number = block[0].trailing_zeros();
    let mode = MODES.get(number as usize)?;
    let mut bits = Bits { value: u128::from_le_bytes(*block), used: 0 };
    let mut fields = Fields { mode: number as u8, ..Fields::NONE };
    bits.take(number + 1);
    fields.pattern = bits.take(mode.pattern_bits) as u8;
    if mode.planes {
        fields.rotation = bits.take(2) as u8;
        fields.swapped = bits.take(mode.swap_bits) != 0;
    }
    take_endpoints(&mut bits, &mut fields, mode);
    let first = take_weights(&mut bits, mode.weight_bits, mode, fields.pattern);
    let second = if mode.planes { take_weights(&mut bits, mode.second_bits, mode, 0) } else { 0 };
    (fields.weights, fields.second) = if fields.swapped { (second, first) } else { (first, second) };
    Some(fields)
}

fn take_endpoints(bits: &mut Bits, fields: &mut Fields, mode: &Mode) {
    let mut values = [[[0; 4]; 2]; 3];
    for channel in 0..4 {
        let stored = if channel == 3 { mode.alpha } else { mode.colour }.stored_bits();
        for ends in values.iter_mut().take(mode.subsets) {
            for end in ends {
                end[channel] = bits.take(stored) as u32;
            }
        }
    }
    for (values, out) in values.iter().zip(&mut fields.ends).take(mode.subsets) {
        let p_bit = match mode.colour.p_bits {
            PBits::None => [0; 2],
            PBits::PerEndpoint => [bits.take(1) as u32, bits.take(1) as u32],
            PBits::Shared => [bits.take(1) as u32; 2],
        };
        for ((values, p_bit), out) in values.iter().zip(p_bit).zip(out) {
            let mut end = [255; 4];
            for (channel, value) in values.iter().enumerate() {
                let grid = if channel == 3 { mode.alpha } else { mode.colour };
                if grid.bits > 0 {
                    let separate = grid.p_bits != PBits::None;
                    end[channel] = grid.widen(if separate { value << 1 | p_bit } else { *value });
                }
            }
            *out = u32::from_le_bytes(end);
        }
    }
}

fn take_weights(bits: &mut Bits, width: u32, mode: &Mode, pattern: u8) -> u64 {
    let anchors = &mode.partition(pattern).anchors[..mode.subsets];
    let mut out = 0;
    for texel in 0..16 {
        let saved = u32::from(anchors.contains(&(texel as u8)));
        out |= bits.take(width - saved) << (4 * texel);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pack_nibbles_and_nibbles_match_references() {
        for width in 2..=4 {
            let mut weights = 0u64;
            let mut tight = 0u64;
            for i in 0..16 {
                let w = (i * 7 + 3) as u64 & ((1 << width) - 1);
                weights |= w << (4 * i);
                tight |= w << (width * i);
            }
            assert_eq!(pack_nibbles(weights, width), tight, "{width}");
        }
        assert_eq!(nibbles(0b1000_0000_0000_0101), 0xF000_0000_0000_0F0F);
    }

    /// The fields of every mode fill the block exactly.
    #[test]
    fn fields_fill_128_bits() {
        for (number, mode) in MODES.iter().enumerate() {
            let mut bits = Bits::default();
            bits.put(1, number as u32 + 1 + mode.pattern_bits + mode.swap_bits + 2 * u32::from(mode.planes));
            put_endpoints(&mut bits, &Fields::NONE, mode);
            put_weights(&mut bits, 0, mode.weight_bits, mode, 0);
            if mode.planes {
                put_weights(&mut bits, 0, mode.second_bits, mode, 0);
            }
            assert_eq!(bits.used, 128, "mode {number}");
        }
    }

    /// Any block is packed to its own bytes again: unpacked fields are canonical.
    #[test]
    fn unpack_and_pack_round_trip() {
        let mut state = 1u128;
        for _ in 0..100_000 {
            state = state.wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645).wrapping_add(1);
            let bytes = (state ^ state >> 64).to_le_bytes();
            if bytes[0] != 0 {
                assert_eq!(pack(&unpack(&bytes).expect("a mode")), bytes);
            }
        }
        assert_eq!(unpack(&[0; 16]), None);
    }
}
