//! Asset GUIDs: 32 hexadecimal digits, parsed as one big-endian `u128`.

use std::fmt;

/// Parses exactly 32 hexadecimal digits of either case.
///
/// ```
/// use unity_assetdb::guid;
/// let guid = guid::parse("8f57b4a070f7b43bbb3925467e6752ab").unwrap();
/// assert_eq!(guid::Guid(guid).to_string(), "8f57b4a070f7b43bbb3925467e6752ab");
/// assert_eq!(guid::parse("8f57b4a0"), None);
/// ```
pub fn parse(text: &str) -> Option<u128> {
    parse_bytes(text.as_bytes().try_into().ok()?)
}

/// Parses a GUID in any common notation: hyphens, braces and spaces are ignored.
pub fn parse_loose(text: &str) -> Option<u128> {
    let digits: String = text.chars().filter(|c| !matches!(c, '-' | '{' | '}' | ' ')).collect();
    parse(&digits)
}

/// Parses 32 digits, in branch-free loops that the compiler vectorizes.
pub(crate) fn parse_bytes(digits: &[u8; 32]) -> Option<u128> {
    let mut values = [0; 32];
    let mut bad = false;
    for (value, digit) in values.iter_mut().zip(digits) {
        let number = digit.wrapping_sub(b'0');
        let letter = (digit | 0x20).wrapping_sub(b'a');
        bad |= number > 9 && letter > 5;
        *value = if number <= 9 { number } else { letter.wrapping_add(10) };
    }
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(values.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1] & 15;
    }
    (!bad).then_some(u128::from_be_bytes(bytes))
}

/// Returns whether a GUID is that of a built-in resource of Unity, which is in no project: sixteen zeros, one digit,
/// fifteen zeros.
pub fn is_builtin(guid: u128) -> bool {
    guid & !(0xf << 60) == 0 && guid >> 60 != 0
}

/// A GUID that is displayed as 32 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(pub u128);

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // By hand: queries print hundreds of thousands, and the formatter of 128-bit numbers divides for each digit.
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0.to_be_bytes()) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&digits).unwrap_or_default())
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guid_is_one_big_endian_number() {
        assert_eq!(parse("00000000000000000000000000000010"), Some(16));
        assert_eq!(parse("8F57B4A070F7B43BBB3925467E6752AB"), parse("8f57b4a070f7b43bbb3925467e6752ab"));
        assert_eq!(parse("gf57b4a070f7b43bbb3925467e6752ab"), None);
        assert_eq!(parse("8f57b4a070f7b43bbb3925467e6752a"), None);
        assert_eq!(parse("8f57b4a070f7b43bbb3925467e6752abc"), None);
        assert_eq!(
            parse_loose("{8f57b4a0-70f7-b43b-bb39-25467e6752ab}"),
            parse("8f57b4a070f7b43bbb3925467e6752ab")
        );
    }

    #[test]
    fn accepts_only_hexadecimal_digits() {
        for byte in 0..=255u8 {
            let mut digits = *b"8f57b4a070f7b43bbb3925467e6752ab";
            digits[17] = byte;
            let value = char::from(byte).to_digit(16).filter(|_| byte.is_ascii());
            let expected = value.map(|value| {
                let around = u128::from_str_radix("8f57b4a070f7b43bb03925467e6752ab", 16).unwrap();
                around | u128::from(value) << (4 * 14)
            });
            assert_eq!(parse_bytes(&digits), expected, "{byte}");
        }
    }

    #[test]
    fn builtin_guids_have_one_nonzero_digit() {
        assert!(is_builtin(parse("0000000000000000f000000000000000").unwrap()));
        assert!(is_builtin(parse("0000000000000000e000000000000000").unwrap()));
        assert!(!is_builtin(0));
        assert!(!is_builtin(parse("1000000000000000f000000000000000").unwrap()));
    }
}
