//! Signatures of cache records: HMAC-SHA256 (RFC 2104) with a secret that all machines share.
//!
//! A signature covers the key of a record and its body, and thereby the digest of every referenced blob. Without the secret a
//! record can neither be forged, nor modified, nor moved to another key.

use sha2::{Digest, Sha256};
use std::fmt;

/// The block length of SHA-256, in bytes.
const BLOCK: usize = 64;

/// A secret that signs and verifies records. [`Debug`](fmt::Debug) does not print it.
#[derive(Clone)]
pub struct SigningKey {
    /// The SHA-256 states after the inner and the outer padded key.
    inner: Sha256,
    outer: Sha256,
}

impl SigningKey {
    /// The shortest accepted secret, in bytes: a shorter one could be brute-forced from a single signed record.
    pub const SHORTEST: usize = 16;

    /// Makes a key from a secret; `None` if the secret is too short.
    pub fn new(secret: &[u8]) -> Option<SigningKey> {
        (secret.len() >= SigningKey::SHORTEST).then(|| SigningKey::of(secret))
    }

    fn of(secret: &[u8]) -> SigningKey {
        let mut block = [0; BLOCK];
        if secret.len() > BLOCK {
            block[..32].copy_from_slice(&Sha256::digest(secret));
        } else {
            block[..secret.len()].copy_from_slice(secret);
        }
        let padded = |pad: u8| Sha256::new_with_prefix(block.map(|byte| byte ^ pad));
        SigningKey { inner: padded(0x36), outer: padded(0x5c) }
    }

    /// Signs a message that is given in parts.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        let (mut inner, mut outer) = (self.inner.clone(), self.outer.clone());
        parts.iter().for_each(|part| inner.update(part));
        outer.update(inner.finalize());
        outer.finalize().into()
    }

    /// Returns whether a signature is valid, in constant time.
    pub(crate) fn verify(&self, parts: &[&[u8]], signature: &[u8]) -> bool {
        let expected = self.sign(parts);
        let differences = expected.iter().zip(signature).fold(0, |all, (a, b)| all | (a ^ b));
        signature.len() == expected.len() && std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The vectors of RFC 4231, but for the one of a truncated signature.
    #[test]
    fn is_hmac_sha_256() {
        let cases: [(&[u8], &[u8], &str); 6] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 20],
                &[0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                &std::array::from_fn::<u8, 25, _>(|n| n as u8 + 1),
                &[0xcd; 50],
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                &[0xaa; 131],
                b"This is a test using a larger than block-size key and a larger than block-size data. The key \
                  needs to be hashed before being used by the HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ];
        for (secret, message, expected) in cases {
            let key = SigningKey::of(secret);
            let (start, end) = message.split_at(message.len() / 3);
            assert_eq!(hex(&key.sign(&[start, end])), expected);
            assert_eq!(hex(&key.sign(&[message])), expected);
        }
    }

    #[test]
    fn verifies_its_own_signatures_and_no_others() {
        let (key, other) = (SigningKey::new(&[1; 16]).unwrap(), SigningKey::new(&[2; 16]).unwrap());
        let signature = key.sign(&[b"ab", b"c"]);
        assert!(key.verify(&[b"abc"], &signature));
        assert!(!key.verify(&[b"abd"], &signature) && !other.verify(&[b"abc"], &signature));
        for bad in [&signature[..31], &[&signature[..], &[0]].concat(), &[]] {
            assert!(!key.verify(&[b"abc"], bad));
        }
        for at in 0..32 {
            let mut flipped = signature;
            flipped[at] ^= 0x10;
            assert!(!key.verify(&[b"abc"], &flipped), "{at}");
        }
        assert!(SigningKey::new(&[1; 15]).is_none());
        assert_eq!(format!("{key:?}"), "SigningKey");
    }
}
