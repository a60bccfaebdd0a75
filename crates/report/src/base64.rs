//! Bytes as text that needs no escaping anywhere: base64 of RFC 4648, with padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// How long the text of so many bytes is.
pub(crate) const fn encoded_len(bytes: u64) -> u64 {
    bytes.div_ceil(3).saturating_mul(4)
}

/// Appends the text of these bytes.
pub(crate) fn encode(bytes: &[u8], out: &mut String) {
    out.reserve(encoded_len(bytes.len() as u64) as usize);
    for group in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=group.len()].copy_from_slice(group);
        let word = u32::from_be_bytes(word);
        for i in 0..4 {
            let digit = word >> (18 - 6 * i) & 63;
            out.push(if i <= group.len() { ALPHABET[digit as usize] as char } else { '=' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_as_the_standard_has_it() {
        let vectors = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, text) in vectors {
            let mut out = String::new();
            encode(plain.as_bytes(), &mut out);
            assert_eq!((out.as_str(), out.len() as u64), (text, encoded_len(plain.len() as u64)));
        }
        let mut out = String::new();
        encode(&[0xff, 0xef, 0xbe], &mut out);
        assert_eq!(out, "/+++");
    }
}
