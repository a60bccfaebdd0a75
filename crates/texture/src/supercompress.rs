//! Supercompression with Zstandard: one frame for each mip level, with its content size in the frame header,
//! as KTX2 requires, and a checksum.

use std::time::Instant;

use rayon::prelude::*;

use crate::{Error, Level, check};

/// The compression level. On UASTC blocks of photographs, level 3 leaves 91.9 % at 2.4 times this speed, 6
/// leaves 90.6 % and 9 the same at four fifths of it; on raw texels 3, 6 and 9 leave 56.5, 53.8 and 53.6 %.
/// One thread compresses blocks several times as fast as it can encode them.
const COMPRESSION_LEVEL: i32 = 6;

/// Supercompresses mip levels, each on its own thread, or returns them unmodified if `zstd` is false.
///
/// Every level gets a fresh context, so that its frame depends on its bytes only.
pub(crate) fn levels(
    plain: Vec<Vec<u8>>,
    zstd: bool,
    deadline: Option<Instant>,
) -> Result<Vec<Level>, Error> {
    plain
        .into_par_iter()
        .map(|bytes| {
            check(deadline)?;
            let uncompressed_len = bytes.len() as u64;
            let bytes = if zstd { compress(&bytes).map_err(|_| Error::Zstd)? } else { bytes };
            Ok(Level { bytes, uncompressed_len })
        })
        .collect()
}

/// Compresses one mip level into a frame with a checksum of its content, so that a damaged texture is not mistaken for a
/// valid one.
fn compress(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(COMPRESSION_LEVEL)?;
    compressor.include_checksum(true)?;
    compressor.compress(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_round_trip_and_declare_their_size() {
        let plain: Vec<Vec<u8>> =
            [0, 1, 15, 70_000].map(|n: usize| (0..n).map(|i| (i * i / 7) as u8).collect()).to_vec();
        let stored = levels(plain.clone(), true, None).unwrap();
        for (level, plain) in stored.iter().zip(&plain) {
            assert_eq!(level.uncompressed_len, plain.len() as u64);
            let declared = zstd::zstd_safe::get_frame_content_size(&level.bytes).unwrap();
            assert_eq!(declared, Some(plain.len() as u64));
            assert_ne!(level.bytes[4] & 0b100, 0, "the frame has a checksum");
            assert_eq!(&zstd::bulk::decompress(&level.bytes, plain.len()).unwrap(), plain);
        }
        assert!(stored[3].bytes.len() < 70_000);
    }

    #[test]
    fn bytes_are_unmodified_without_zstd() {
        let stored = levels(vec![vec![1, 2, 3]], false, None).unwrap();
        assert_eq!((stored[0].bytes.as_slice(), stored[0].uncompressed_len), (&[1, 2, 3][..], 3));
    }
}
