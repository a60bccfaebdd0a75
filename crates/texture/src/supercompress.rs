//! Supercompression with Zstandard: one frame for each mip level, with its content size in the frame header,
//! as KTX2 requires, and a checksum.

use std::cell::RefCell;
use std::io::Write;
use std::time::Instant;

use rayon::prelude::*;
use zstd::bulk::Compressor;
use zstd::stream::write::Encoder;

use crate::{Error, Level, check};

/// The compression level. On UASTC blocks of photographs, level 3 leaves 91.9 % at 2.4 times this speed, 6
/// leaves 90.6 % and 9 the same at four fifths of it; on raw texels 3, 6 and 9 leave 56.5, 53.8 and 53.6 %.
/// One thread compresses blocks several times as fast as it can encode them.
const COMPRESSION_LEVEL: i32 = 6;

/// The length up to which the frame of a mip level does not depend on the history of its context: with windows of up to
/// 16 KiB Zstandard does not use the row-based match finder, which uses a new salt for each frame of a context.
const HISTORY_FREE_LEN: usize = 16 << 10;

thread_local! {
    /// The context for short mip levels. Creating one costs more than compressing them.
    static SHORT_LEVELS: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

/// Supercompresses mip levels, or returns them unmodified if `zstd` is false. Long levels are jobs of their own; to hand over
/// short ones to other threads costs more than to compress them.
pub(crate) fn levels(
    plain: Vec<Vec<u8>>,
    zstd: bool,
    deadline: Option<Instant>,
) -> Result<Vec<Level>, Error> {
    let one = |bytes| {
        check(deadline)?;
        level(bytes, zstd)
    };
    if plain.iter().all(|bytes| bytes.len() <= HISTORY_FREE_LEN) {
        return plain.into_iter().map(one).collect();
    }
    plain.into_par_iter().map(one).collect()
}

/// Supercompresses a mip level, or returns it unmodified if `zstd` is false.
pub(crate) fn level(bytes: Vec<u8>, zstd: bool) -> Result<Level, Error> {
    let uncompressed_len = bytes.len() as u64;
    let bytes = if zstd { compress(&bytes).map_err(|_| Error::Zstd)? } else { bytes };
    Ok(Level { bytes, uncompressed_len })
}

/// Compresses one mip level into a frame with a checksum of its content, so that a damaged texture is not mistaken for a
/// valid one. A long level gets a context of its own, so that its frame depends on its bytes only.
fn compress(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    if bytes.len() > HISTORY_FREE_LEN {
        return compressor()?.compress(bytes);
    }
    SHORT_LEVELS.with_borrow_mut(|known| {
        let mut context = known.take().map_or_else(compressor, Ok)?;
        let frame = context.compress(bytes)?;
        *known = Some(context);
        Ok(frame)
    })
}

/// A mip level that is compressed piece by piece. The frame depends on the content and not on the length of the pieces,
/// and is not the one that [`levels`] makes: the window of a stream ends elsewhere.
pub(crate) struct LevelStream {
    encoder: Encoder<'static, Vec<u8>>,
    uncompressed_len: u64,
}

impl LevelStream {
    /// Starts a level of `len` bytes.
    pub(crate) fn new(len: usize) -> Result<LevelStream, Error> {
        let new = || {
            let mut encoder = Encoder::new(Vec::new(), COMPRESSION_LEVEL)?;
            encoder.include_checksum(true)?;
            encoder.set_pledged_src_size(Some(len as u64))?;
            std::io::Result::Ok(encoder)
        };
        Ok(LevelStream { encoder: new().map_err(|_| Error::Zstd)?, uncompressed_len: len as u64 })
    }

    /// Compresses the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.encoder.write_all(bytes).map_err(|_| Error::Zstd)
    }

    /// Ends the frame.
    pub(crate) fn finish(self) -> Result<Level, Error> {
        let bytes = self.encoder.finish().map_err(|_| Error::Zstd)?;
        Ok(Level { bytes, uncompressed_len: self.uncompressed_len })
    }
}

fn compressor() -> std::io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(COMPRESSION_LEVEL)?;
    compressor.include_checksum(true)?;
    Ok(compressor)
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

    /// Levels of all lengths up to the bound, of blocks that repeat, that differ in a few bits, and of noise.
    #[test]
    fn frames_do_not_depend_on_earlier_frames() {
        let mut state = 1u32;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        for round in 0..400 {
            let len = random() as usize % (HISTORY_FREE_LEN + 1);
            let len = if round % 40 == 0 { HISTORY_FREE_LEN } else { len };
            let (period, noise) = (1 + random() as usize % 300, random() % 4);
            let block: Vec<u8> = (0..period).map(|_| random() as u8).collect();
            let change = |n: usize| match noise {
                0 => 0,
                1 => (random() % 50 == 0) as u8,
                2 => random() as u8 & 3,
                _ => (n / 7) as u8 ^ random() as u8,
            };
            let changes: Vec<u8> = (0..len).map(change).collect();
            let bytes: Vec<u8> = (0..len).map(|n| block[n % period] ^ changes[n]).collect();
            assert_eq!(compress(&bytes).unwrap(), compressor().unwrap().compress(&bytes).unwrap(), "{round}");
        }
    }

    #[test]
    fn stream_does_not_depend_on_pieces() {
        let plain: Vec<u8> = (0..5_000_000_u32).map(|i| (i.wrapping_mul(i) >> 13) as u8 & 0x3F).collect();
        let frame = |piece: usize| {
            let mut stream = LevelStream::new(plain.len()).unwrap();
            plain.chunks(piece).for_each(|piece| stream.push(piece).unwrap());
            stream.finish().unwrap()
        };
        let level = frame(1 << 20);
        assert!(level == frame(131_072) && level == frame(77_777) && level == frame(plain.len()));
        assert_eq!(level.uncompressed_len, plain.len() as u64);
        assert!(level.bytes.len() < plain.len());
        kiln_format::zstd_frame::check(&level.bytes, 0, plain.len() as u64).unwrap();
        assert_ne!(level.bytes[4] & 0b100, 0, "the frame has a checksum");
        assert!(zstd::bulk::decompress(&level.bytes, plain.len()).unwrap() == plain);
    }

    #[test]
    fn bytes_are_unmodified_without_zstd() {
        let stored = levels(vec![vec![1, 2, 3]], false, None).unwrap();
        assert_eq!((stored[0].bytes.as_slice(), stored[0].uncompressed_len), (&[1, 2, 3][..], 3));
    }
}
