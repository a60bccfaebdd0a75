//! The decoder of ETC2 colours: individual, differential, T, H and planar blocks.

use super::two_colours::{DISTANCES, H, T, number, palette};
use super::{expand, half_of, planar};
use kiln_transcode::etc1::MODIFIERS;

/// Decodes a block to RGB texels. Every bit pattern is valid.
#[must_use]
pub fn decode(block: &[u8; 8]) -> [[u8; 3]; 16] {
    let bits = u64::from_be_bytes(*block);
    let field = |low: u32, count: u32| (bits >> low) as i32 & ((1 << count) - 1);
    if field(33, 1) == 0 {
        let base = |low: u32| expand([field(56 + low, 4), field(48 + low, 4), field(40 + low, 4)], 4);
        return halves(bits, [base(4), base(0)]);
    }
    let first = [field(59, 5), field(51, 5), field(43, 5)];
    let signed = |low: u32| (field(low, 3) ^ 4) - 4;
    let second = [first[0] + signed(56), first[1] + signed(48), first[2] + signed(40)];
    let overflows = second.map(|value| !(0..32).contains(&value));
    match overflows {
        [true, ..] => {
            let red = field(59, 2) << 2 | field(56, 2);
            let first = [red, field(52, 4), field(48, 4)];
            let second = [field(44, 4), field(40, 4), field(36, 4)];
            let distance = DISTANCES[(field(34, 2) << 1 | field(32, 1)) as usize];
            selected(bits, palette(T, [first, second], distance))
        }
        [_, true, _] => {
            let green = field(56, 3) << 1 | field(52, 1);
            let blue = field(51, 1) << 3 | field(47, 3);
            let first = [field(59, 4), green, blue];
            let second = [field(43, 4), field(39, 4), field(35, 4)];
            let low = i32::from(number(first) >= number(second));
            let distance = DISTANCES[(field(34, 1) << 2 | field(32, 1) << 1 | low) as usize];
            selected(bits, palette(H, [first, second], distance))
        }
        [.., true] => {
            let blue = field(48, 1) << 5 | field(43, 2) << 3 | field(39, 3);
            let origin = [field(57, 6), field(56, 1) << 6 | field(49, 6), blue];
            let right = [field(34, 5) << 1 | field(32, 1), field(25, 7), field(19, 6)];
            let down = [field(13, 6), field(6, 7), field(0, 6)];
            std::array::from_fn(|i| {
                std::array::from_fn(|c| {
                    let width = if c == 1 { 7 } else { 6 };
                    let corners = [origin[c], right[c], down[c]].map(|value| planar::expand(value, width));
                    planar::interpolate(corners, i as i32 % 4, i as i32 / 4) as u8
                })
            })
        }
        _ => halves(bits, [expand(first, 5), expand(second, 5)]),
    }
}

/// Returns the selector of a texel; selectors are stored by columns, as two planes of bits.
const fn selector(bits: u64, texel: usize) -> usize {
    let place = texel % 4 * 4 + texel / 4;
    ((bits >> (16 + place) & 1) << 1 | bits >> place & 1) as usize
}

/// Decodes the two halves of an ETC1 block.
fn halves(bits: u64, bases: [[i32; 3]; 2]) -> [[u8; 3]; 16] {
    let tables = [bits >> 37 & 7, bits >> 34 & 7];
    std::array::from_fn(|i| {
        let half = half_of(i, bits >> 32 & 1 == 1);
        // From the smallest modifier the selectors are 3, 2, 0, 1.
        let modifier = MODIFIERS[tables[half] as usize][[2, 3, 1, 0][selector(bits, i)]];
        bases[half].map(|value| (value + modifier).clamp(0, 255) as u8)
    })
}

fn selected(bits: u64, palette: [[i32; 3]; 4]) -> [[u8; 3]; 16] {
    std::array::from_fn(|i| palette[selector(bits, i)].map(|value| value as u8))
}
