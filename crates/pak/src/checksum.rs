//! The checksum of the format: XXH3, 64 bits, seed 0. It finds damage, not intent.

/// The checksum of some bytes.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn is_xxh3() {
        // From the reference's test vectors: no bytes, seed 0.
        assert_eq!(super::checksum(b""), 0x2d06_8005_38d3_94c2);
    }
}
