//! Zstandard frames of supercompressed mip levels, and memory for them.

use alloc::vec::Vec;

use kiln_format::zstd_frame::DecompressError;

use crate::ktx2::LoadError;

/// Returns a buffer of zeros.
pub(crate) fn zeroed(len: usize) -> Result<Vec<u8>, LoadError> {
    let mut out = Vec::new();
    out.try_reserve_exact(len).map_err(|_| LoadError::OutOfMemory)?;
    out.resize(len, 0);
    Ok(out)
}

/// Decompresses one frame of exactly `len` bytes.
pub(crate) fn decompress(frame: &[u8], len: usize) -> Result<Vec<u8>, LoadError> {
    kiln_format::zstd_frame::decompress(frame, len).map_err(|error| match error {
        DecompressError::Invalid => LoadError::Zstd,
        DecompressError::OutOfMemory => LoadError::OutOfMemory,
    })
}
