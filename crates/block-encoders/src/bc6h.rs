//! BC6H: three half floats, with or without a sign, in blocks of 16 bytes.
//!
//! A block has one or two subsets, each with a pair of endpoints and weights of four or three bits. Endpoints are
//! integers: the bits of half floats, which are nearly logarithmic, so that the squared error of these integers is a
//! relative error of the values. `layout` knows the fourteen modes and their bits, `fit` finds endpoints and weights, and
//! [`encode`] selects subsets and modes.

mod decode;
mod fit;
mod layout;
mod modes;
mod search;

pub use decode::decode;
pub use search::encode;

/// The bits of the largest finite half float.
const HALF_MAX: i32 = 0x7BFF;

/// Returns the integer of a half float that is finite: its bits, with its sign.
const fn to_integer(bits: u16, signed: bool) -> i32 {
    let magnitude = (bits & 0x7FFF) as i32;
    // Infinities and NaN are not representable in general, and become the largest finite value.
    let magnitude = if magnitude > HALF_MAX { HALF_MAX } else { magnitude };
    match (bits >> 15 != 0, signed) {
        (false, _) => magnitude,
        (true, true) => -magnitude,
        (true, false) => 0,
    }
}

/// Returns the half float of an integer, the inverse of [`to_integer`].
const fn to_half(value: i32) -> u16 {
    if value < 0 { 0x8000 | (-value) as u16 } else { value as u16 }
}

/// Returns the integer that an endpoint of `bits` bits stands for, in 16 bits (15 and a sign if signed).
const fn unquantise(value: i32, bits: u32, signed: bool) -> i32 {
    if signed {
        if bits >= 16 {
            return value;
        }
        let magnitude = value.abs();
        let wide = if magnitude == 0 {
            0
        } else if magnitude >= (1 << (bits - 1)) - 1 {
            0x7FFF
        } else {
            ((magnitude << 15) + 0x4000) >> (bits - 1)
        };
        return if value < 0 { -wide } else { wide };
    }
    if bits >= 15 || value == 0 {
        value
    } else if value == (1 << bits) - 1 {
        0xFFFF
    } else {
        ((value << 16) + 0x8000) >> bits
    }
}

/// Scales an interpolated 16-bit integer to the bits of a half float.
#[inline]
const fn finish(value: i32, signed: bool) -> i32 {
    if !signed {
        (value * 31) >> 6
    } else if value < 0 {
        -((-value * 31) >> 5)
    } else {
        (value * 31) >> 5
    }
}

/// The weights of three and of four bits, in 64ths.
const WEIGHTS_3: [i32; 8] = [0, 9, 18, 27, 37, 46, 55, 64];
const WEIGHTS_4: [i32; 16] = [0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64];

/// The integer that is added to negative numbers before they are truncated, so that truncation rounds down.
const OFFSET: f32 = 65536.0;

/// The second subset of each of the 32 patterns: texel 0 lowest. These are the first patterns of BC7.
const SECOND: [u16; 32] = [
    0xCCCC, 0x8888, 0xEEEE, 0xECC8, 0xC880, 0xFEEC, 0xFEC8, 0xEC80, 0xC800, 0xFFEC, 0xFE80, 0xE800, 0xFFE8,
    0xFF00, 0xFFF0, 0xF000, 0xF710, 0x008E, 0x7100, 0x08CE, 0x008C, 0x7310, 0x3100, 0x8CCE, 0x088C, 0x3110,
    0x6666, 0x366C, 0x17E8, 0x0FF0, 0x718E, 0x399C,
];

/// The anchor of the second subset of each pattern: the texel whose weight has one bit less.
const ANCHORS: [u8; 32] = [
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 2, 8, 2, 2, 8, 8, 15, 2, 8, 2, 2, 8,
    8, 2, 2,
];
