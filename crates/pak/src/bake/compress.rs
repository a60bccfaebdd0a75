//! Content in, blocks out: compressed side by side, and left as they are where that gains next to nothing.

use crate::checksum::checksum;
use crate::codec::decode;
use kiln_engine::Metadata;
use kiln_engine::wire::{Reader, Writer};
use kiln_format::pak::{self, Block, Codec};
use rayon::prelude::*;
use std::borrow::Cow;

/// How an asset is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packing {
    pub(crate) codec: Codec,
    /// Brotli: 0 to 11. Zstandard: 1 to 22.
    pub(crate) quality: u32,
    /// Brotli's window, as a power of two.
    pub(crate) window: u32,
}

impl Packing {
    /// A codec with its defaults.
    pub(crate) fn of(codec: Codec) -> Packing {
        let (quality, window) = match codec {
            Codec::Brotli => (8, 22),
            Codec::Zstd => (9, 0),
            _ => (0, 0),
        };
        Packing { codec, quality, window }
    }

    /// A line for fingerprints.
    pub(crate) fn line(&self) -> String {
        match self.codec {
            Codec::Brotli => format!("compression=brotli {} {}\n", self.quality, self.window),
            Codec::Zstd => format!("compression=zstd {}\n", self.quality),
            codec => format!("compression={}\n", codec.name()),
        }
    }
}

/// The extensions of files that are compressed already.
const COMPRESSED: [&str; 24] = [
    "ogg", "mp3", "opus", "m4a", "aac", "flac", "mp4", "webm", "mkv", "jpg", "jpeg", "png", "webp", "gif",
    "ktx2", "basis", "zip", "gz", "zst", "xz", "br", "7z", "woff2", "avif",
];

/// Whether a file of this name would not get smaller.
pub(crate) fn is_compressed(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    COMPRESSED.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// Content as it goes into the file.
pub(crate) struct Packed {
    pub(crate) stored: Stored,
    pub(crate) bytes: Vec<u8>,
}

/// What the index will say of some content: equal ones are equal content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stored {
    pub(crate) len: u64,
    pub(crate) codec: Codec,
    pub(crate) block_log2: u8,
    pub(crate) blocks: Vec<(u64, u32)>,
}

impl Stored {
    /// Bytes in the file.
    pub(crate) fn stored_len(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.1)).sum()
    }

    /// Whether a pak can hold it: it has the blocks that its length asks for.
    pub(crate) fn is_sound(&self) -> bool {
        if !pak::BLOCK_LOG2.contains(&self.block_log2) {
            return false;
        }
        let (block, mut left) = (1u64 << self.block_log2, self.len);
        let fits = |stored: u32| {
            let (whole, stored) = (left.min(block), u64::from(stored));
            left -= whole;
            if self.codec == Codec::None { stored == whole } else { 0 < stored && stored <= whole }
        };
        self.len.div_ceil(block) == self.blocks.len() as u64
            && self.blocks.iter().map(|block| block.1).all(fits)
    }

    pub(crate) fn format_blocks(&self) -> Vec<Block> {
        self.blocks.iter().map(|&(checksum, stored_len)| Block { checksum, stored_len }).collect()
    }
}

/// The index entry of a payload is the metadata of its artifact.
impl Metadata for Stored {
    fn write(&self, to: &mut Writer) {
        to.u64(self.len);
        to.u8(self.codec as u8);
        to.u8(self.block_log2);
        to.count(self.blocks.len());
        for (checksum, len) in &self.blocks {
            to.u64(*checksum);
            to.u32(*len);
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<Stored> {
        let (len, codec, block_log2) = (from.u64()?, Codec::from_number(from.u8()?)?, from.u8()?);
        let count = from.count()?;
        let blocks = (0..count).map(|_| Some((from.u64()?, from.u32()?))).collect::<Option<Vec<_>>>()?;
        Some(Stored { len, codec, block_log2, blocks }).filter(Stored::is_sound)
    }
}

impl Packed {
    /// Whether a pak can hold it, and every block is what its checksum says.
    pub(crate) fn is_whole(&self) -> bool {
        let mut rest = self.bytes.as_slice();
        let mut whole = |&(sum, len): &(u64, u32)| {
            rest.split_off(..len as usize).is_some_and(|block| checksum(block) == sum)
        };
        self.stored.is_sound() && self.stored.blocks.iter().all(&mut whole) && rest.is_empty()
    }

    /// Returns whether content that is to be packed like this can have been packed like that.
    pub(crate) fn is_packed_as(&self, packing: Packing) -> bool {
        self.stored.block_log2 == BLOCK_LOG2 && [Codec::None, packing.codec].contains(&self.stored.codec)
    }
}

/// The longest content that is unpacked to look at it, in bytes; a longer one is made again.
const LONGEST_UNPACKED: u64 = 2 << 30;

/// Unpacks content; `None` if a block does not decode to what it should, or the content is too long to look at.
pub(crate) fn unpack(packed: &Packed) -> Option<Cow<'_, [u8]>> {
    let Stored { len, codec, block_log2, ref blocks } = packed.stored;
    if codec == Codec::None {
        return Some(packed.bytes.as_slice().into())
            .filter(|content: &Cow<'_, [u8]>| content.len() as u64 == len);
    }
    if len > LONGEST_UNPACKED {
        return None;
    }
    let (mut content, mut rest, mut left) = (Vec::new(), packed.bytes.as_slice(), len);
    for (_, stored_len) in blocks {
        // It grows block by block: a length that is only claimed costs no memory.
        let (block, start) = (left.min(1 << block_log2), content.len());
        content.resize(start + block as usize, 0);
        let stored = rest.split_off(..*stored_len as usize)?;
        decode(codec, stored, &mut content[start..]).then_some(())?;
        left -= block;
    }
    (left == 0).then_some(content.into())
}

/// How much a block decodes to. One MiB costs Brotli and Zstandard under two per cent of what a whole asset would give
/// them, and the others look back 64 KiB at most.
const BLOCK_LOG2: u8 = 20;

/// Of this part of its bytes an asset has to get rid to be stored compressed: what stays as it is can be used where it
/// lies.
const WORTH: usize = 64;

/// Packs content.
pub(crate) fn pack(content: Vec<u8>, packing: Packing) -> Packed {
    if packing.codec != Codec::None {
        let blocks: Vec<Vec<u8>> =
            content.par_chunks(1 << BLOCK_LOG2).map(|block| encode(block, packing)).collect();
        let total: usize = blocks.iter().map(Vec::len).sum();
        if total + content.len() / WORTH < content.len() {
            let entry = |block: &Vec<u8>| (checksum(block), block.len() as u32);
            let entries = blocks.iter().map(entry).collect();
            let stored = Stored {
                len: content.len() as u64,
                codec: packing.codec,
                block_log2: BLOCK_LOG2,
                blocks: entries,
            };
            drop(content);
            return Packed { stored, bytes: blocks.concat() };
        }
    }
    let entry = |block: &[u8]| (checksum(block), block.len() as u32);
    let blocks = content.par_chunks(1 << BLOCK_LOG2).map(entry).collect();
    let stored = Stored { len: content.len() as u64, codec: Codec::None, block_log2: BLOCK_LOG2, blocks };
    Packed { stored, bytes: content }
}

/// One block; never longer than it was, because then it stays as it is.
fn encode(block: &[u8], packing: Packing) -> Vec<u8> {
    let encoded = match packing.codec {
        Codec::None => None,
        Codec::Snap => snap::raw::Encoder::new().compress_vec(block).ok(),
        Codec::Lz4 => Some(lz4_flex::block::compress(block)),
        Codec::Zstd => zstd::bulk::compress(block, packing.quality as i32).ok(),
        Codec::Brotli => brotli(block, packing),
    };
    encoded
        .filter(|encoded| encoded.len() < block.len() && !encoded.is_empty())
        .unwrap_or_else(|| block.to_vec())
}

fn brotli(block: &[u8], packing: Packing) -> Option<Vec<u8>> {
    let params = brotli::enc::BrotliEncoderParams {
        quality: packing.quality as i32,
        lgwin: packing.window as i32,
        size_hint: block.len(),
        ..Default::default()
    };
    let mut out = Vec::with_capacity(block.len() / 2);
    brotli::BrotliCompress(&mut &*block, &mut out, &params).ok()?;
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Something between noise and nothing, longer than a block.
    fn content() -> Vec<u8> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..(1 << 20) + 70_000)
            .map(|n: usize| if n.is_multiple_of(5) { next() } else { (n / 4096) as u8 })
            .collect()
    }

    #[test]
    fn what_no_pak_can_hold_is_told_from_what_it_can() {
        let packed = |change: fn(&mut Packed)| {
            let mut packed = pack(content(), Packing::of(Codec::Zstd));
            change(&mut packed);
            packed
        };
        assert!(packed(|_| ()).is_whole());
        let unsound: [fn(&mut Packed); 7] = [
            |packed| packed.stored.block_log2 = 255,
            |packed| packed.stored.block_log2 = 11,
            |packed| packed.stored.len = u64::MAX,
            |packed| packed.stored.len = 1 << 20,
            |packed| packed.stored.blocks[0].1 = (1 << 20) + 1,
            |packed| packed.stored.blocks[1].1 = 0,
            |packed| packed.stored.codec = Codec::None,
        ];
        for change in unsound {
            assert!(!packed(change).stored.is_sound() && !packed(change).is_whole());
        }
        let damaged: [fn(&mut Packed); 4] = [
            |packed| packed.bytes[9] ^= 1,
            |packed| packed.stored.blocks[1].0 ^= 1,
            |packed| packed.bytes.push(0),
            |packed| packed.bytes.truncate(packed.bytes.len() - 1),
        ];
        for change in damaged {
            assert!(packed(change).stored.is_sound() && !packed(change).is_whole());
        }
    }

    #[test]
    fn every_codec_gives_back_what_it_was_given() {
        let content = content();
        for codec in Codec::ALL {
            let packed = pack(content.clone(), Packing { quality: 4, ..Packing::of(codec) });
            assert_eq!(packed.stored.codec, codec);
            assert_eq!(packed.stored.blocks.len(), 2);
            assert!(packed.is_whole());
            assert_eq!(packed.stored.stored_len(), packed.bytes.len() as u64);
            assert_eq!(packed.bytes.len() < content.len(), codec != Codec::None);
            let (mut out, mut at) = (vec![0; content.len()], 0);
            for ((sum, len), out) in packed.stored.blocks.iter().zip(out.chunks_mut(1 << 20)) {
                let block = &packed.bytes[at..at + *len as usize];
                assert_eq!(checksum(block), *sum);
                assert!(decode(codec, block, out), "{codec:?}");
                // Damaged, it is refused or decodes to as much; it never panics.
                for bit in (0..block.len() * 8).step_by(block.len().max(64) / 2) {
                    let mut bad = block.to_vec();
                    bad[bit / 8] ^= 1 << (bit % 8);
                    let _ = decode(codec, &bad, &mut vec![0; out.len()]);
                }
                at += *len as usize;
            }
            assert!(out == content, "{codec:?}");
            assert!(unpack(&packed).is_some_and(|unpacked| *unpacked == content), "{codec:?}");
            assert!(packed.is_packed_as(Packing::of(codec)));
            assert_eq!(
                packed.is_packed_as(Packing::of(Codec::Zstd)),
                [Codec::None, Codec::Zstd].contains(&codec)
            );
            let longer = Stored { len: content.len() as u64 + 1, ..packed.stored.clone() };
            assert!(unpack(&Packed { stored: longer, bytes: packed.bytes.clone() }).is_none());
        }
    }

    #[test]
    fn metadata_comes_back_and_no_prefix_passes_for_whole() {
        let stored = pack(vec![7; 3 << 20], Packing::default()).stored;
        assert_eq!(stored.blocks.len(), 3);
        let bytes = Metadata::encode(&stored);
        assert_eq!(Stored::decode(&bytes), Some(stored));
        (0..bytes.len()).for_each(|len| assert_eq!(Stored::decode(&bytes[..len]), None));
    }

    #[test]
    fn what_does_not_shrink_stays_as_it_is() {
        let mut state = 7u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(100_000)
        .collect();
        for codec in Codec::ALL {
            let packed = pack(noise.clone(), Packing::of(codec));
            assert_eq!((packed.stored.codec, packed.bytes.len()), (Codec::None, noise.len()), "{codec:?}");
        }
        assert_eq!(pack(vec![], Packing::of(Codec::Snap)).stored.blocks, []);
        assert!(is_compressed("a/B.OGG") && !is_compressed("ogg") && !is_compressed("a.wav"));
    }
}
