//! Validation of the whole content of a runtime file: its structure by the reader of its format, and its compressed data by
//! decoding it.

use kiln_format::{Format, ZstdFrame, zstd_frame};
use std::io::{self, Read};

/// Checks the structure of a file, and decodes its Zstandard frames.
///
/// # Errors
///
/// A description of the first defect.
pub(crate) fn verify(format: &dyn Format, bytes: &[u8]) -> Result<(), String> {
    format.verify(bytes).map_err(|e| e.to_string())?;
    decode_frames(format, bytes)
}

/// Decodes the Zstandard frames of a file with a valid structure.
///
/// # Errors
///
/// A description of the first defect.
pub(crate) fn decode_frames(format: &dyn Format, bytes: &[u8]) -> Result<(), String> {
    let mut decoded = Ok(());
    let mut each = |frame: ZstdFrame<'_>| {
        if decoded.is_ok() {
            decoded = decode(&frame)
                .map_err(|e| format!("the Zstandard frame at offset {} is damaged: {e}", frame.offset));
        }
    };
    format.zstd_frames(bytes, &mut each).map_err(|e| e.to_string())?;
    decoded
}

/// Decompresses a frame of a pack, which starts at `offset`, to `len` bytes, in memory that grows with what was
/// decompressed. The decoder compares the checksum.
///
/// # Errors
///
/// The frame is invalid, or its content has another length.
pub(crate) fn decompress(frame: &[u8], offset: u64, len: u64) -> io::Result<Vec<u8>> {
    let damaged =
        |why: String| io::Error::other(format!("the Zstandard frame at offset {offset} is damaged: {why}"));
    zstd_frame::check(frame, offset, len).map_err(|e| damaged(e.to_string()))?;
    let mut decoder = zstd::stream::read::Decoder::with_buffer(frame)?.single_frame();
    let mut content = Vec::new();
    decoder.by_ref().take(len).read_to_end(&mut content).map_err(|e| damaged(e.to_string()))?;
    // The read beyond the content reaches the checksum.
    let rest = decoder.read(&mut [0]).map_err(|e| damaged(e.to_string()))?;
    if content.len() as u64 != len || rest > 0 {
        return Err(damaged(format!("its content does not have {len} bytes")));
    }
    Ok(content)
}

/// Decodes a frame into nothing, in memory that does not depend on its content size, and no further than that size. The
/// decoder compares the checksum.
fn decode(frame: &ZstdFrame<'_>) -> io::Result<()> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(frame.bytes)?.single_frame();
    let len = io::copy(&mut (&mut decoder).take(frame.content_len), &mut io::sink())?;
    // The read beyond the content reaches the checksum.
    if len < frame.content_len || decoder.read(&mut [0])? > 0 {
        return Err(io::Error::other(format!("its content does not have {} bytes", frame.content_len)));
    }
    match decoder.finish().len() {
        0 => Ok(()),
        rest => Err(io::Error::other(format!("{rest} bytes follow its end"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_no_flipped_bit_that_changes_the_content() {
        let content: Vec<u8> = (0..5000u32).map(|n| (n * n / 7) as u8).collect();
        let mut compressor = zstd::bulk::Compressor::new(6).unwrap();
        compressor.include_checksum(true).unwrap();
        let bytes = compressor.compress(&content).unwrap();
        let decoded = |bytes: &[u8]| decode(&ZstdFrame { offset: 0, bytes, content_len: 5000 });
        decoded(&bytes).unwrap();
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            // Some bits have no meaning, and some content has several encodings.
            let is_equal = || zstd::bulk::decompress(&damaged, 5000).is_ok_and(|found| found == content);
            assert!(decoded(&damaged).is_err() || is_equal(), "bit {bit}");
        }
        assert!(decoded(&[&bytes[..], &[0]].concat()).is_err(), "a byte after the frame");
        assert_eq!(decompress(&bytes, 0, 5000).unwrap(), content);
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(
                decompress(&damaged, 0, 5000).is_ok_and(|found| found == content)
                    || decompress(&damaged, 0, 5000).is_err()
            );
        }
        for len in 0..bytes.len() {
            assert!(decompress(&bytes[..len], 0, 5000).is_err(), "{len} bytes");
        }
        assert!(decompress(&bytes, 0, 4999).is_err() && decompress(&bytes, 0, 5001).is_err());
        for content_len in [4999, 5001] {
            assert!(decode(&ZstdFrame { offset: 0, bytes: &bytes, content_len }).is_err(), "{content_len}");
        }
    }
}
