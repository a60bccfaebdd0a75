//! Numbers in text, straight from bytes: what most of an OBJ file is, so it has to be fast.
//!
//! Floats are rounded exactly, as `str::parse` does it: a short number takes two exact operations in `f64`, and the
//! rare one whose second rounding could matter, or which is too long for that, is left to `str::parse`.

/// The longest run of digits that a `u64` surely holds.
const MOST_DIGITS: usize = 19;

/// Powers of ten that `f64` holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Reads digits from `at` on and appends them to a number; gives the place after them. The number wraps around where
/// there are more than [`MOST_DIGITS`].
fn digits(text: &[u8], mut at: usize, number: &mut u64) -> usize {
    const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
    const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    while let Some((&eight, _)) = text[at..].split_first_chunk::<8>() {
        // Eight at a time: digits become 0 to 9, and the high bit marks every byte that is none.
        let values = u64::from_le_bytes(eight) ^ ZEROS;
        let others = ((values & !HIGH) + 0x7676_7676_7676_7676 | values) & HIGH;
        let count = others.trailing_zeros() as usize / 8;
        if count == 0 {
            return at;
        }
        // Zeros in front make it eight digits; pairs, then fours, then all of them are put together.
        let pairs = values << (64 - 8 * count);
        let pairs = (pairs * 10 + (pairs >> 8)) & 0x00FF_00FF_00FF_00FF;
        let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
        let eights = (fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF;
        *number = number.wrapping_mul(TENS[count]).wrapping_add(eights);
        at += count;
        if count < 8 {
            return at;
        }
    }
    while let Some(digit @ b'0'..=b'9') = text.get(at) {
        *number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    at
}

const HIGH: u64 = 0x8080_8080_8080_8080;

/// Whether a number may end before this byte.
pub(super) fn ends_number(byte: Option<&u8>) -> bool {
    matches!(byte, None | Some(b' ' | b'\t' | b'\n' | b'\r' | b'\\'))
}

/// The finite float that starts at a place, and the place after it.
pub(super) fn float(text: &[u8], start: usize) -> Option<(f32, usize)> {
    let mut at = start;
    let negative = text.get(at) == Some(&b'-');
    at += usize::from(negative || text.get(at) == Some(&b'+'));
    let (first, mut mantissa, mut exponent) = (at, 0, 0i64);
    at = digits(text, at, &mut mantissa);
    let mut count = at - first;
    if text.get(at) == Some(&b'.') {
        let point = at + 1;
        at = digits(text, point, &mut mantissa);
        count += at - point;
        exponent = -((at - point) as i64);
    }
    if count == 0 {
        return None;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        let below = text.get(at) == Some(&b'-');
        at += usize::from(below || text.get(at) == Some(&b'+'));
        let (first, mut stated) = (at, 0);
        at = digits(text, at, &mut stated);
        if at == first {
            return None;
        }
        // One that is out of range is read again below, whatever this makes of it.
        let stated = if at - first > 4 { 10_000 } else { stated as i64 };
        exponent += if below { -stated } else { stated };
    }
    if !ends_number(text.get(at)) {
        return None;
    }
    let short = count <= MOST_DIGITS && mantissa < 1 << 53;
    let value = short.then(|| scale(mantissa, exponent)).flatten();
    let value = match value {
        Some(value) if negative => -value,
        Some(value) => value,
        None => std::str::from_utf8(&text[start..at]).ok()?.parse().ok()?,
    };
    value.is_finite().then_some((value, at))
}

/// A number times a power of ten, unless it takes more than one rounding to tell.
fn scale(mantissa: u64, exponent: i64) -> Option<f32> {
    if mantissa == 0 {
        return Some(0.0);
    }
    let power = *POWERS.get(exponent.unsigned_abs() as usize)?;
    // Both operands are exact, so this is the nearest f64.
    let wide = if exponent < 0 { mantissa as f64 / power } else { mantissa as f64 * power };
    // Rounding that once more is right unless it lies halfway between two floats, where what the first rounding
    // took away decides. Below the normal floats the halves are elsewhere.
    const LOST: u64 = (1 << 29) - 1;
    let is_half = wide.to_bits() & LOST == 1 << 28;
    (!is_half && wide >= f64::from(f32::MIN_POSITIVE)).then_some(wide as f32)
}

/// The whole number that starts at a place, and the place after it. Numbers beyond 32 bits become the largest.
pub(super) fn whole(text: &[u8], start: usize) -> Option<(i64, usize)> {
    let negative = text.get(start) == Some(&b'-');
    let first = start + usize::from(negative || text.get(start) == Some(&b'+'));
    let mut value = 0;
    let at = digits(text, first, &mut value);
    let value = match at - first {
        0 => return None,
        1..MOST_DIGITS => value.min(u64::from(u32::MAX)) as i64,
        _ => i64::from(u32::MAX),
    };
    Some((if negative { -value } else { value }, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same as the standard library, wherever the text stands.
    fn agrees(text: &str) {
        let wanted = text.parse::<f32>().ok().filter(|v| v.is_finite());
        for padded in
            [text.to_owned(), format!("{text} 1234567890"), format!("{text}\n"), format!("{text}\\\n")]
        {
            let found = float(padded.as_bytes(), 0);
            assert_eq!(found.map(|(v, _)| v.to_bits()), wanted.map(f32::to_bits), "{padded:?}");
            assert!(found.is_none_or(|(_, end)| end == text.len()), "{padded:?}");
        }
    }

    #[test]
    fn floats_are_those_of_the_standard_library() {
        for text in [
            "0",
            "-0",
            "+0",
            "1",
            "-1",
            "+1.5",
            "1.",
            ".5",
            "-.5e1",
            "1e5",
            "1E-5",
            "1e+5",
            "0.1",
            "123456.789",
            "3.4028235e38",
            "3.4028236e38",
            "3.5e38",
            "1e39",
            "-1e39",
            "1e400",
            "1e-400",
            "1e99999999999999999999",
            "1.17549435e-38",
            "1.1754943e-38",
            "1e-45",
            "7e-46",
            "7.1e-46",
            "1.401298464324817e-45",
            "0e99999",
            "16777217",
            "16777219",
            "33554433",
            "16777217.0000000001",
            "9007199254740993",
            "0.000000059604645",
            "1.00000005960464477539062",
            "1.000000059604644775390625",
            "1.00000005960464477539063",
            "1234567890123456789",
            "12345678901234567890",
            "123456789012345678901234567890",
            "0.00000000000000000000000000000000000001234",
            "00000000000000000000000000000000000001.5",
        ] {
            agrees(text);
            agrees(&format!("-{}", text.trim_start_matches(['-', '+'])));
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "",
            "-",
            "+",
            ".",
            "-.",
            "e5",
            "1e",
            "1e+",
            "1.5.5",
            "1,5",
            "0x10",
            "nan",
            "NaN",
            "inf",
            "-infinity",
            "1.#QNAN",
            "--1",
            "1-",
            "1f",
            "1_000",
            "\u{0661}",
            "1#",
        ] {
            assert_eq!(float(text.as_bytes(), 0), None, "{text:?}");
        }
        assert_eq!(float(b"1 2", 3), None);
    }

    #[test]
    fn whole_numbers_saturate() {
        for (text, wanted) in [
            ("1", Some((1, 1))),
            ("-12/3", Some((-12, 3))),
            ("+7", Some((7, 2))),
            ("123456789/", Some((123_456_789, 9))),
            ("4294967295", Some((4_294_967_295, 10))),
            ("4294967296", Some((4_294_967_295, 10))),
            ("-99999999999999999999999", Some((-4_294_967_295, 24))),
            ("", None),
            ("-", None),
            ("x", None),
        ] {
            assert_eq!(whole(text.as_bytes(), 0), wanted, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_float_comes_back(bits in any::<u32>(), precision in 0usize..12) {
            let value = f32::from_bits(bits);
            if value.is_finite() {
                agrees(&format!("{value:?}"));
                agrees(&format!("{value:e}"));
                if value.abs() < 1e20 {
                    agrees(&format!("{value:.precision$}"));
                }
            }
        }

        #[test]
        fn any_decimal_agrees(text in "[-+]?[0-9]{0,12}[.]?[0-9]{0,24}([eE][-+]?[0-9]{1,3})?") {
            if text.bytes().any(|b| b.is_ascii_digit()) && text.parse::<f32>().is_ok() {
                agrees(&text);
            }
        }

        /// Next to the halfway points, where rounding twice goes wrong.
        #[test]
        fn halves_are_rounded_once(bits in 0x0080_0000u32..0x7F00_0000, digits in 8usize..20) {
            let low = f64::from(f32::from_bits(bits));
            let high = f64::from(f32::from_bits(bits + 1));
            agrees(&format!("{:.digits$e}", (low + high) / 2.0));
        }
    }
}
