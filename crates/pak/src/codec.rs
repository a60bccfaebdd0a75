//! Block decompression: a block decodes to exactly its declared length, or fails.

use kiln_format::pak::Codec;
use std::io::Read;

/// Decodes a block into `out`; returns whether it filled `out` exactly.
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
    // The output is full, and the stream ends there.
    decoder.read_exact(out).is_ok() && matches!(decoder.read(&mut [0]), Ok(0))
}

#[cfg(feature = "zstd-c")]
fn zstd(stored: &[u8], out: &mut [u8]) -> bool {
    zstd::bulk::decompress_to_buffer(stored, out).ok() == Some(out.len())
}

#[cfg(all(feature = "zstd-fast", not(feature = "zstd-c")))]
fn zstd(stored: &[u8], out: &mut [u8]) -> bool {
    let mut decoder = structured_zstd::decoding::FrameDecoder::new();
    decoder.set_max_window_size(8 << 20).is_ok() && decoder.decode_all(stored, out).ok() == Some(out.len())
}

#[cfg(not(any(feature = "zstd-c", feature = "zstd-fast")))]
fn zstd(stored: &[u8], out: &mut [u8]) -> bool {
    let mut decoder = ruzstd::decoding::FrameDecoder::new();
    decoder.set_max_window_size(8 << 20);
    decoder.decode_all(stored, out).ok() == Some(out.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_blocks_of_the_declared_length_only() {
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

    // Written by Node.js 20: `zlib.brotliCompressSync` of a hundred zeros, a hundred ones and so on up to 49.
    const BROTLI: &[u8] = b"\x1b\x87\x13\xf8\x8d\x94\xab\xe1\x6e\xc3\xd8\x05\xf9\x1f\x1b\x5b\x9b\x6a\x0d\xc4\x0a\x00\x04\x3a\
        \xd8\xa1\x8e\x74\xac\x13\x9d\xea\x4c\xe7\xba\xd0\xa5\xae\x74\xad\x1b\xdd\xea\x4e\xf7\x7a\xd0\xa3\x9e\xf4\xac\x17\xbd\
        \xea\x4d\xef\xfa\xd0\xa7\xbe\xf4\xad\x1f\xfd\xea\x4f\xff\xf4\x5f\x07\x1d\x75\xd2\x59\x17\x5d\x75\xd3\x5d\x0f\x3d\xf5\
        \xd2\x5b\x1f\x7d\xf5\xd3\x9f\xfe\x01";
    // Written by the reference implementation of Zstandard: forty zeros, with a checksum.
    const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd\x24\x28\x45\0\0\x10\0\0\x01\0\x1f\x80\x05\x72\xd1\xf1\x2d";

    #[test]
    fn decodes_blocks_of_reference_encoders() {
        let steps: Vec<u8> = (0..5000u32).map(|n| (n / 100) as u8).collect();
        for (codec, stored, content) in [(Codec::Brotli, BROTLI, &steps[..]), (Codec::Zstd, ZSTD, &[0; 40])] {
            let mut out = vec![7; content.len()];
            assert!(decode(codec, stored, &mut out) && out == content, "{codec:?}");
            for len in [0, 1, content.len() - 1, content.len() + 1, 2 * content.len()] {
                assert!(!decode(codec, stored, &mut vec![0; len]), "{codec:?} {len}");
            }
            for end in 0..stored.len() {
                assert!(
                    !decode(codec, &stored[..end], &mut vec![0; content.len()]),
                    "{codec:?} cut at {end}"
                );
            }
            assert!(
                !decode(codec, b"neither Brotli nor Zstandard", &mut vec![0; content.len()]),
                "{codec:?}"
            );
        }
    }

    #[cfg(not(feature = "zstd-c"))]
    #[test]
    fn rejects_zstandard_windows_above_8_mib() {
        // A frame of one repeated block. The window descriptor is an exponent above 10, and eighths.
        let frame = |window: u8| {
            let mut bytes = b"\x28\xb5\x2f\xfd\x80".to_vec();
            bytes.push(window);
            bytes.extend(1000u32.to_le_bytes());
            bytes.extend(&(1000u32 << 3 | 0b011).to_le_bytes()[..3]);
            bytes.push(9);
            bytes
        };
        let mut out = vec![0; 1000];
        assert!(decode(Codec::Zstd, &frame(13 << 3), &mut out) && out == [9; 1000]);
        assert!(!decode(Codec::Zstd, &frame(13 << 3 | 1), &mut out), "9 MiB");
        assert!(!decode(Codec::Zstd, &frame(31 << 3), &mut out), "2 TiB");
    }
}
