//! Zstandard frames of mip levels and of files in packs (RFC 8878, section 3.1.1).
//!
//! The check parses a frame without decompressing it. It rejects a frame without a content size or with a wrong one,
//! with a dictionary, with an invalid block, and with trailing bytes; the contents of compressed blocks are not examined.
//! With the feature `zstd`, frames are decompressed through `ruzstd`.

#[cfg(feature = "zstd")]
mod decompress;

#[cfg(feature = "zstd")]
pub use decompress::{DecompressError, decompress};

use crate::Error;
use crate::bytes::Reader;

const MAGIC: u32 = 0xFD2F_B528;
/// Maximum decompressed size of a block in bytes.
const BLOCK_MAX: u64 = 128 << 10;

/// Checks that `bytes`, which start at byte `start` of the file, are one frame with a content size of
/// `content` bytes.
///
/// # Errors
///
/// [`Error`] at the first defect.
pub fn check(bytes: &[u8], start: u64, content: u64) -> Result<(), Error> {
    walk(bytes, start, content).map_err(|error| match error {
        // The parser works on the frame alone; errors use byte offsets of the file.
        Error::Truncated { at, field, needed, len } => {
            Error::Truncated { at: at + start, field, needed, len: len + start }
        }
        Error::Trailing { at, extra } => Error::Trailing { at: at + start, extra },
        other => other,
    })
}

fn walk(bytes: &[u8], start: u64, content: u64) -> Result<(), Error> {
    let mut reader = Reader::new(bytes);
    let bad = |at: u64, field, found, expected| Error::Value { at: start + at, field, found, expected };

    let magic: u32 = reader.get("frame magic")?;
    if magic != MAGIC {
        return Err(bad(0, "frame magic", magic.into(), "the magic of a Zstandard frame"));
    }
    let descriptor: u8 = reader.get("frame descriptor")?;
    if descriptor & 0b1000 != 0 {
        return Err(bad(
            4,
            "frame descriptor",
            descriptor.into(),
            "a descriptor with the reserved bit cleared",
        ));
    }
    if descriptor & 0b11 != 0 {
        return Err(bad(4, "frame descriptor", descriptor.into(), "a descriptor without a dictionary"));
    }
    let single_segment = descriptor & 0b10_0000 != 0;
    if !single_segment {
        reader.get::<u8>("window descriptor")?;
    }
    let at = reader.at();
    let found = match (descriptor >> 6, single_segment) {
        (0, false) => {
            return Err(bad(4, "frame descriptor", descriptor.into(), "a descriptor with a content size"));
        }
        (0, true) => reader.get::<u8>("content size")?.into(),
        (1, _) => u64::from(reader.get::<u16>("content size")?) + 256,
        (2, _) => reader.get::<u32>("content size")?.into(),
        _ => reader.get::<u64>("content size")?,
    };
    if found != content {
        return Err(Error::Mismatch { at: start + at, field: "content size", found, expected: content });
    }

    // Raw and RLE blocks have a known decompressed size; for compressed blocks only the bounds are known.
    let (mut least, mut most) = (0u64, 0u64);
    loop {
        let at = reader.at();
        let [a, b, c]: [u8; 3] = reader.get("block header")?;
        let header = u32::from_le_bytes([a, b, c, 0]);
        let size = u64::from(header >> 3);
        if size > BLOCK_MAX {
            return Err(bad(at, "block size", size, "at most 131072"));
        }
        match header >> 1 & 0b11 {
            0 => {
                reader.take(size, "raw block")?;
                (least, most) = (least + size, most + size);
            }
            1 => {
                reader.take(1, "repeated block")?;
                (least, most) = (least + size, most + size);
            }
            2 => {
                reader.take(size, "compressed block")?;
                most += BLOCK_MAX;
            }
            kind => return Err(bad(at, "block type", kind.into(), "at most 2")),
        }
        if header & 1 != 0 {
            break;
        }
    }
    if !(least..=most).contains(&content) {
        return Err(bad(at, "content size", content, "a size that the blocks can decompress to"));
    }
    if descriptor & 0b100 != 0 {
        reader.take(4, "frame checksum")?;
    }
    reader.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Written by the reference implementation: compressed zeros with a checksum; the same as a stream, which
    // omits the content size; a string too short to compress.
    const ZEROS: &[u8] = b"\x28\xb5\x2f\xfd\x24\x28\x45\0\0\x10\0\0\x01\0\x1f\x80\x05\x72\xd1\xf1\x2d";
    const STREAM: &[u8] = b"\x28\xb5\x2f\xfd\x04\x58\x45\0\0\x10\0\0\x01\0\x1f\x80\x05\x72\xd1\xf1\x2d";
    const HELLO: &[u8] = b"\x28\xb5\x2f\xfd\x20\x0b\x59\0\0hello hello";

    #[test]
    fn accepts_frames_of_reference_implementation() {
        assert_eq!(check(ZEROS, 0, 40), Ok(()));
        assert_eq!(check(HELLO, 0, 11), Ok(()));
    }

    #[test]
    fn rejects_invalid_input() {
        let hello = |at: usize, value: u8| {
            let mut bytes = std::vec::Vec::from(HELLO);
            bytes[at] = value;
            check(&bytes, 1000, 11).unwrap_err()
        };
        let found = 12;
        assert_eq!(
            check(HELLO, 1000, found),
            Err(Error::Mismatch { at: 1005, field: "content size", found: 11, expected: 12 })
        );
        assert!(matches!(check(STREAM, 0, 40), Err(Error::Value { field: "frame descriptor", .. })));
        assert!(matches!(hello(0, 0x29), Error::Value { at: 1000, field: "frame magic", .. }));
        assert!(matches!(hello(4, 0x21), Error::Value { expected: "a descriptor without a dictionary", .. }));
        assert!(matches!(
            hello(4, 0x28),
            Error::Value { expected: "a descriptor with the reserved bit cleared", .. }
        ));
        assert!(matches!(hello(6, 0x5f), Error::Value { at: 1006, field: "block type", found: 3, .. }));
        assert!(matches!(hello(8, 0xff), Error::Value { at: 1006, field: "block size", .. }));
        assert!(matches!(hello(6, 0x51), Error::Value { field: "content size", .. }));
        assert_eq!(hello(6, 0x61), Error::Truncated { at: 1009, field: "raw block", needed: 12, len: 1020 });
        // This block is not the last, but nothing follows.
        assert!(matches!(hello(6, 0x58), Error::Truncated { at: 1020, field: "block header", .. }));
        assert!(matches!(hello(4, 0x24), Error::Truncated { at: 1020, field: "frame checksum", .. }));
        // An RLE block takes one byte; the other ten are trailing bytes.
        assert_eq!(hello(6, 0x5b), Error::Trailing { at: 1010, extra: 10 });
    }

    #[test]
    fn reads_content_size_of_every_width() {
        for (descriptor, size, content) in [
            (0x20u8, &[0u8][..], 0u64),
            (0x40, &[0xff, 0, 0], 256),
            (0x60, &[0, 0], 256),
            (0xa0, &[0, 0, 1, 0], 65536),
            (0xe0, &[0, 0, 1, 0, 0, 0, 0, 0], 65536),
        ] {
            let mut bytes = std::vec::Vec::from(MAGIC.to_le_bytes());
            bytes.push(descriptor);
            bytes.extend(size);
            // One RLE block.
            bytes.extend(&((content as u32) << 3 | 0b011).to_le_bytes()[..3]);
            bytes.push(7);
            assert_eq!(check(&bytes, 0, content), Ok(()), "{descriptor:#x}");
        }
    }

    /// Builds a single-segment frame with an eight-byte content size and these blocks: type, size and stored
    /// bytes.
    fn frame(content: u64, blocks: &[(u32, u32, usize)]) -> std::vec::Vec<u8> {
        let mut bytes = std::vec::Vec::from(MAGIC.to_le_bytes());
        bytes.push(0xe0);
        bytes.extend(content.to_le_bytes());
        for (i, &(kind, size, stored)) in blocks.iter().enumerate() {
            let last = u32::from(i + 1 == blocks.len());
            bytes.extend(&(size << 3 | kind << 1 | last).to_le_bytes()[..3]);
            bytes.resize(bytes.len() + stored, 7);
        }
        bytes
    }

    #[test]
    fn block_size_is_limited_to_128_kib() {
        // RFC 8878, section 3.1.1.2.4.
        const MOST: u32 = 131_072;
        let check = |content: u32, blocks: &[(u32, u32, usize)]| {
            check(&frame(content.into(), blocks), 0, content.into())
        };
        let too_large =
            |found| Err(Error::Value { at: 13, field: "block size", found, expected: "at most 131072" });
        for (kind, stored) in [(0, MOST as usize), (1, 1), (2, MOST as usize)] {
            assert_eq!(check(MOST, &[(kind, MOST, stored)]), Ok(()), "{kind}");
            assert_eq!(
                check(MOST + 1, &[(kind, MOST + 1, stored + 1)]),
                too_large(u64::from(MOST) + 1),
                "{kind}"
            );
        }
        // A compressed block may decompress to any size up to the limit; the sizes of the others are fixed.
        let disagrees = |content: u32| {
            let found = content.into();
            Err(Error::Value {
                at: 5,
                field: "content size",
                found,
                expected: "a size that the blocks can decompress to",
            })
        };
        for content in [0, 3, MOST] {
            assert_eq!(check(content, &[(2, 3, 3)]), Ok(()));
        }
        assert_eq!(check(MOST + 1, &[(2, 3, 3)]), disagrees(MOST + 1));
        assert_eq!(check(2 * MOST, &[(2, 3, 3), (2, 3, 3)]), Ok(()));
        assert_eq!(check(2 * MOST + 1, &[(2, 3, 3), (2, 3, 3)]), disagrees(2 * MOST + 1));
        for exact in [[(0, 10, 10), (0, 20, 20)], [(1, 10, 1), (1, 20, 1)]] {
            assert_eq!(check(30, &exact), Ok(()));
            assert_eq!(check(29, &exact), disagrees(29));
            assert_eq!(check(31, &exact), disagrees(31));
        }
        for mixed in [[(0, 10, 10), (2, 3, 3)], [(1, 10, 1), (2, 3, 3)]] {
            assert_eq!(check(9, &mixed), disagrees(9));
            assert_eq!(check(10, &mixed), Ok(()));
            assert_eq!(check(10 + MOST, &mixed), Ok(()));
            assert_eq!(check(11 + MOST, &mixed), disagrees(11 + MOST));
        }
    }
}
