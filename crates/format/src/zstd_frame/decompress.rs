//! Decompression of frames through `ruzstd`.

use alloc::vec::Vec;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// An error of [`decompress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecompressError {
    /// The frame is invalid, or its content has another length.
    Invalid,
    /// The content does not fit in the memory.
    OutOfMemory,
}

/// Decompresses one frame of exactly `len` bytes. The buffer grows with what was decompressed, so that a short frame
/// with a large length allocates little.
///
/// # Errors
///
/// [`DecompressError`] if the frame is invalid or followed by other bytes, has another length, or does not fit in the
/// memory.
pub fn decompress(mut frame: &[u8], len: usize) -> Result<Vec<u8>, DecompressError> {
    let mut decoder = FrameDecoder::new();
    decoder.init(&mut frame).map_err(|_| DecompressError::Invalid)?;
    // The window is the decoder's memory: a frame has no use for one that is larger than its content.
    if decoder.content_size() != len as u64 {
        return Err(DecompressError::Invalid);
    }
    let mut out = Vec::new();
    while !decoder.is_finished() {
        let strategy = BlockDecodingStrategy::UptoBytes(1 << 20);
        decoder.decode_blocks(&mut frame, strategy).map_err(|_| DecompressError::Invalid)?;
        let ready = decoder.can_collect();
        if ready > len - out.len() {
            return Err(DecompressError::Invalid);
        }
        let start = out.len();
        out.try_reserve(ready).map_err(|_| DecompressError::OutOfMemory)?;
        out.resize(start + ready, 0);
        read(&mut decoder, &mut out[start..])?;
    }
    let is_whole = out.len() == len && frame.is_empty();
    if is_whole { Ok(out) } else { Err(DecompressError::Invalid) }
}

fn read(decoder: &mut FrameDecoder, mut out: &mut [u8]) -> Result<(), DecompressError> {
    use ruzstd::io::Read;
    while !out.is_empty() {
        match decoder.read(out) {
            Ok(count) if count > 0 && count <= out.len() => out = &mut out[count..],
            _ => return Err(DecompressError::Invalid),
        }
    }
    Ok(())
}
