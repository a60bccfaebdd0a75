//! Blocks in, content out: never more than was declared, and exactly that or nothing.

use kiln_format::pak::Codec;
use std::io::Read;

/// Decodes a block that fills `out`; whether it did.
pub(crate) fn decode(codec: Codec, stored: &[u8], out: &mut [u8]) -> bool {
    if stored.len() == out.len() {
        out.copy_from_slice(stored);
        return true;
    }
    match codec {
        Codec::None => false,
        Codec::Snap => {
            snap::raw::decompress_len(stored).ok() == Some(out.len())
                && snap::raw::Decoder::new().decompress(stored, out).ok() == Some(out.len())
        }
        Codec::Brotli => brotli(stored, out),
        Codec::Zstd => zstd(stored, out),
        Codec::Lz4 => lz4_flex::block::decompress_into(stored, out).ok() == Some(out.len()),
    }
}

fn brotli(stored: &[u8], out: &mut [u8]) -> bool {
    let mut decoder = brotli_decompressor::Decompressor::new(stored, 16 << 10);
    // Full, and then at its end.
    decoder.read_exact(out).is_ok() && matches!(decoder.read(&mut [0]), Ok(0))
}

#[cfg(feature = "zstd-c")]
fn zstd(stored: &[u8], out: &mut [u8]) -> bool {
    zstd::bulk::decompress_to_buffer(stored, out).ok() == Some(out.len())
}

#[cfg(not(feature = "zstd-c"))]
fn zstd(stored: &[u8], out: &mut [u8]) -> bool {
    let mut decoder = ruzstd::decoding::FrameDecoder::new();
    decoder.set_max_window_size(8 << 20);
    decoder.decode_all(stored, out).ok() == Some(out.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_what_was_declared_or_nothing() {
        let content: Vec<u8> = (0..5000u32).map(|n| (n / 100) as u8).collect();
        let snap = snap::raw::Encoder::new().compress_vec(&content).unwrap();
        let lz4 = lz4_flex::block::compress(&content);
        for (codec, stored) in [(Codec::Snap, snap), (Codec::Lz4, lz4)] {
            let mut out = vec![0; content.len()];
            assert!(decode(codec, &stored, &mut out) && out == content, "{codec:?}");
            for len in [content.len() - 1, content.len() + 1] {
                assert!(!decode(codec, &stored, &mut vec![0; len]), "{codec:?} {len}");
            }
            assert!(!decode(codec, &stored[..stored.len() - 1], &mut vec![0; content.len()]));
        }
        assert!(decode(Codec::None, b"abc", &mut [0; 3]));
        assert!(!decode(Codec::None, b"abc", &mut [0; 4]));
    }
}
