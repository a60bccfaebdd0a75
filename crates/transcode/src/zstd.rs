//! Zstandard frames of supercompressed mip levels, through `ruzstd`.

use alloc::vec::Vec;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::ktx2::LoadError;

/// Returns a buffer of zeros.
pub(crate) fn zeroed(len: usize) -> Result<Vec<u8>, LoadError> {
    let mut out = Vec::new();
    out.try_reserve_exact(len).map_err(|_| LoadError::OutOfMemory)?;
    out.resize(len, 0);
    Ok(out)
}

/// Decompresses one frame of exactly `len` bytes. The buffer grows with what was decompressed, so that a short frame
/// with a large length allocates little.
pub(crate) fn decompress(mut frame: &[u8], len: usize) -> Result<Vec<u8>, LoadError> {
    let mut decoder = FrameDecoder::new();
    decoder.init(&mut frame).map_err(|_| LoadError::Zstd)?;
    // The window is the decoder's memory: a frame has no use for one that is larger than its content.
    if decoder.content_size() != len as u64 {
        return Err(LoadError::Zstd);
    }
    let mut out = Vec::new();
    while !decoder.is_finished() {
        let strategy = BlockDecodingStrategy::UptoBytes(1 << 20);
        decoder.decode_blocks(&mut frame, strategy).map_err(|_| LoadError::Zstd)?;
        let ready = decoder.can_collect();
        if ready > len - out.len() {
            return Err(LoadError::Zstd);
        }
        let start = out.len();
        out.try_reserve(ready).map_err(|_| LoadError::OutOfMemory)?;
        out.resize(start + ready, 0);
        read(&mut decoder, &mut out[start..])?;
    }
    if out.len() == len && frame.is_empty() { Ok(out) } else { Err(LoadError::Zstd) }
}

fn read(decoder: &mut FrameDecoder, mut out: &mut [u8]) -> Result<(), LoadError> {
    use ruzstd::io::Read;
    while !out.is_empty() {
        match decoder.read(out) {
            Ok(count) if count > 0 && count <= out.len() => out = &mut out[count..],
            _ => return Err(LoadError::Zstd),
        }
    }
    Ok(())
}
