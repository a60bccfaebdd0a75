//! Fast parsing of numbers from bytes, which make up most of an OBJ file.
//!
//! Floats are rounded correctly, as by `str::parse`: a short number takes two exact operations in `f64`, and the rare one
//! whose second rounding could matter, or which has too many digits, is left to `str::parse`.

/// The number of decimal digits that always fit into a `u64`.
const MAX_DIGITS: usize = 19;

/// The powers of ten that `f64` represents exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Parses the leading digits of the next eight bytes; returns their count and value, or `None` near the end of the text.
#[inline(always)]
fn eight(text: &[u8], at: usize) -> Option<(usize, u64)> {
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let bytes = text.get(at..)?.first_chunk::<8>()?;
    // Digits become 0 to 9, and the high bit marks every other byte.
    let values = u64::from_le_bytes(*bytes) ^ u64::from_ne_bytes([b'0'; 8]);
    let others = (((values & !HIGH) + u64::from_ne_bytes([0x76; 8])) | values) & HIGH;
    let count = others.trailing_zeros() as usize / 8;
    // Padded with leading zeros to eight digits; combined in pairs, then fours, then all.
    let pairs = if count == 0 { 0 } else { values << (64 - 8 * count) };
    let pairs = (pairs * 10 + (pairs >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    Some((count, (fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF))
}

/// Parses digits from `at` on and appends them to a number; returns the position after them. The number wraps around
/// beyond [`MAX_DIGITS`].
#[inline(always)]
fn digits(text: &[u8], mut at: usize, number: &mut u64) -> usize {
    const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    while let Some((count, value)) = eight(text, at) {
        *number = number.wrapping_mul(TENS[count]).wrapping_add(value);
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

/// Returns `true` if a number may end before this byte.
pub(super) fn ends_number(byte: Option<&u8>) -> bool {
    matches!(byte, None | Some(b' ' | b'\t' | b'\n' | b'\r' | b'\\'))
}

/// Parses the finite float at a position; returns it and the position after it.
#[inline]
pub(super) fn float(text: &[u8], start: usize) -> Option<(f32, usize)> {
    let mut at = start;
    let negative = text.get(at) == Some(&b'-');
    at += usize::from(negative || text.get(at) == Some(&b'+'));
    let (first, mut mantissa, mut exponent) = (at, 0u64, 0i64);
    // Rarely more than three digits, so one by one is faster.
    while let Some(digit @ b'0'..=b'9') = text.get(at) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
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
        // An exponent out of range is parsed again below, whatever this results in.
        let stated = if at - first > 4 { 10_000 } else { stated as i64 };
        exponent += if below { -stated } else { stated };
    }
    if !ends_number(text.get(at)) {
        return None;
    }
    let short = count <= MAX_DIGITS && mantissa < 1 << 53;
    let value = short.then(|| scale(mantissa, exponent)).flatten();
    let value: f32 = match value {
        Some(value) => value,
        None => std::str::from_utf8(&text[first..at]).ok()?.parse().ok()?,
    };
    // Signs are unpredictable: a branch would be mispredicted half the time.
    let value = f32::from_bits(value.to_bits() | u32::from(negative) << 31);
    value.is_finite().then_some((value, at))
}

/// Scales a number by a power of ten; `None` if the result needs more than one rounding.
fn scale(mantissa: u64, exponent: i64) -> Option<f32> {
    if mantissa == 0 {
        return Some(0.0);
    }
    if let (0..0x100_0000, -10..=0) = (mantissa, exponent) {
        // Both operands are exact: most numbers.
        return Some(mantissa as f32 / POWERS[-exponent as usize] as f32);
    }
    let power = *POWERS.get(exponent.unsigned_abs() as usize)?;
    // Both operands are exact, so this is the nearest f64.
    let wide = if exponent < 0 { mantissa as f64 / power } else { mantissa as f64 * power };
    // Rounding again is correct unless the value is halfway between two floats, where the bits that the first rounding
    // dropped decide. Subnormal floats have other halfway points.
    const DROPPED: u64 = (1 << 29) - 1;
    let is_half = wide.to_bits() & DROPPED == 1 << 28;
    (!is_half && wide >= f64::from(f32::MIN_POSITIVE)).then_some(wide as f32)
}

/// Parses a face vertex such as `1`, `1/2`, `1//3` or `1/2/3`; returns its indices and the position after it. Missing
/// indices are [`ABSENT`].
#[inline(always)]
pub(super) fn corner(text: &[u8], start: usize) -> Option<([i64; 3], usize)> {
    let (position, at) = whole(text, start)?;
    let (uv, at) = further(text, at)?;
    let (normal, at) = further(text, at)?;
    ends_number(text.get(at)).then_some(([position, uv, normal], at))
}

/// Parses an optional index after an optional slash.
#[inline(always)]
fn further(text: &[u8], at: usize) -> Option<(i64, usize)> {
    match text.get(at) {
        Some(b'/') if text.get(at + 1) == Some(&b'/') || ends_number(text.get(at + 1)) => {
            Some((ABSENT, at + 1))
        }
        Some(b'/') => whole(text, at + 1),
        _ => Some((ABSENT, at)),
    }
}

/// A missing index of a face vertex.
pub(super) const ABSENT: i64 = i64::MIN;

/// Parses the integer at a position; returns it and the position after it. Saturates at 32 bits.
#[inline(always)]
fn whole(text: &[u8], start: usize) -> Option<(i64, usize)> {
    let negative = text.get(start) == Some(&b'-');
    let first = start + usize::from(negative || text.get(start) == Some(&b'+'));
    let (value, at) = match eight(text, first) {
        Some((count @ 1..8, value)) => (value as i64, first + count),
        _ => long(text, first)?,
    };
    Some((if negative { -value } else { value }, at))
}

/// Parses integers of eight and more digits, and those near the end of the text.
#[cold]
fn long(text: &[u8], first: usize) -> Option<(i64, usize)> {
    let mut value = 0;
    let at = digits(text, first, &mut value);
    match at - first {
        0 => None,
        1..MAX_DIGITS => Some((value.min(u64::from(u32::MAX)) as i64, at)),
        _ => Some((i64::from(u32::MAX), at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Asserts the result of the standard library, with and without text after the number.
    fn matches_std(text: &str) {
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
    fn parses_floats_as_the_standard_library() {
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
            matches_std(text);
            matches_std(&format!("-{}", text.trim_start_matches(['-', '+'])));
        }
    }

    #[test]
    fn rejects_invalid_numbers() {
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
    fn integers_saturate() {
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

    #[test]
    fn parses_face_vertices_of_one_to_three_indices() {
        let found = |text: &str| corner(text.as_bytes(), 0).map(|(numbers, _)| numbers);
        assert_eq!(found("1"), Some([1, ABSENT, ABSENT]));
        assert_eq!(found("1/2 9"), Some([1, 2, ABSENT]));
        assert_eq!(found("1/-2/+3\n"), Some([1, -2, 3]));
        assert_eq!(found("1//3"), Some([1, ABSENT, 3]));
        assert_eq!(found("1/"), Some([1, ABSENT, ABSENT]));
        assert_eq!(found("1/2/"), Some([1, 2, ABSENT]));
        assert_eq!(found("0/0/0"), Some([0; 3]));
        for bad in ["", "/", "/1", "1/x", "1/2/3/4", "1/2/3/", "1.5", "1,2", "1/ /2/x", "a", "1/2x"] {
            assert!(found(bad).is_none_or(|_| bad == "1/ /2/x"), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_float_round_trips(bits in any::<u32>(), precision in 0usize..12) {
            let value = f32::from_bits(bits);
            if value.is_finite() {
                matches_std(&format!("{value:?}"));
                matches_std(&format!("{value:e}"));
                if value.abs() < 1e20 {
                    matches_std(&format!("{value:.precision$}"));
                }
            }
        }

        #[test]
        fn any_decimal_matches_std(text in "[-+]?[0-9]{0,12}[.]?[0-9]{0,24}([eE][-+]?[0-9]{1,3})?") {
            if text.bytes().any(|b| b.is_ascii_digit()) && text.parse::<f32>().is_ok() {
                matches_std(&text);
            }
        }

        /// Values near halfway points, where double rounding is wrong.
        #[test]
        fn halfway_points_are_rounded_once(bits in 0x0080_0000u32..0x7F00_0000, digits in 8usize..20) {
            let low = f64::from(f32::from_bits(bits));
            let high = f64::from(f32::from_bits(bits + 1));
            matches_std(&format!("{:.digits$e}", (low + high) / 2.0));
        }
    }
}
