//! Content hashes: SHA-256, the digest function of the cache servers.

use sha2::{Digest, Sha256};
use std::fmt;
use std::io::{self, Read};

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Hashes a byte slice.
    pub fn of(bytes: &[u8]) -> Hash {
        Hash(Sha256::digest(bytes).into())
    }

    /// Hashes everything that a reader returns, in chunks; returns the number of bytes, too.
    ///
    /// # Errors
    /// If reading fails.
    pub fn of_reader(mut reader: impl Read) -> io::Result<(Hash, u64)> {
        let (mut sha, mut len, mut chunk) = (Sha256::new(), 0, vec![0; 1 << 20]);
        loop {
            match reader.read(&mut chunk)? {
                0 => return Ok((Hash(sha.finalize().into()), len)),
                read => {
                    sha.update(&chunk[..read]);
                    len += read as u64;
                }
            }
        }
    }

    /// Hashes a list of length-prefixed fields, so that bytes cannot move between adjacent fields.
    pub fn of_fields<'a>(fields: impl IntoIterator<Item = &'a [u8]>) -> Hash {
        let mut sha = Sha256::new();
        for field in fields {
            sha.update((field.len() as u64).to_le_bytes());
            sha.update(field);
        }
        Hash(sha.finalize().into())
    }

    /// Parses 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Hash> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let mut hash = [0; 32];
        if pairs.len() != hash.len() || !rest.is_empty() {
            return None;
        }
        for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Hash(hash))
    }
}

/// Formats as 64 lower-case hexadecimal digits.
impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_sha_256() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Hash::of(b"abc").to_string(), abc);
        assert_eq!(Hash::of_reader(&b"abc"[..]).unwrap(), (Hash::of(b"abc"), 3));
    }

    #[test]
    fn parses_lower_case_digits_only() {
        let (hash, text) = (Hash::of(b"abc"), Hash::of(b"abc").to_string());
        assert_eq!(Hash::parse(&text), Some(hash));
        for bad in [&text[1..], &format!("{text}0"), &text.to_uppercase(), &text.replace('a', "g"), ""] {
            assert_eq!(Hash::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn fields_are_length_prefixed() {
        let hash = |fields: &[&[u8]]| Hash::of_fields(fields.iter().copied());
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
        assert_ne!(hash(&[b"a"]), hash(&[b"a", b""]));
    }
}
