//! The checksum of the pak format: 64-bit XXH3 with seed 0. It detects corruption, not tampering.

/// Returns the 64-bit XXH3 hash of `bytes`.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn matches_xxh3_test_vector() {
        // From the reference implementation's test vectors: empty input, seed 0.
        assert_eq!(super::checksum(b""), 0x2d06_8005_38d3_94c2);
    }
}
