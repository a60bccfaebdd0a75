//! Compression of payloads in independent blocks, in parallel. Content that barely shrinks is stored uncompressed.

use crate::checksum::checksum;
use crate::codec::decode;
use kiln_engine::remote::Blob;
use kiln_engine::wire::{Reader, Writer};
use kiln_engine::{Hash, Metadata, PlacedArtifact};
use kiln_format::pak::{self, Block, Codec};
use rayon::prelude::*;
use std::borrow::Cow;

/// The compression settings of an asset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compression {
    pub(crate) codec: Codec,
    /// The compression level. Brotli: 0 to 11. Zstandard: 1 to 22.
    pub(crate) quality: u32,
    /// The base-2 logarithm of the Brotli window size.
    pub(crate) window: u32,
}

impl Compression {
    /// Returns the default settings of a codec.
    pub(crate) fn of(codec: Codec) -> Compression {
        let (quality, window) = match codec {
            Codec::Brotli => (8, 22),
            Codec::Zstd => (9, 0),
            _ => (0, 0),
        };
        Compression { codec, quality, window }
    }

    /// Returns the settings as a line of the asset's fingerprint.
    pub(crate) fn line(&self) -> String {
        match self.codec {
            Codec::Brotli => format!("compression=brotli {} {}\n", self.quality, self.window),
            Codec::Zstd => format!("compression=zstd {}\n", self.quality),
            codec => format!("compression={}\n", codec.name()),
        }
    }
}

/// The extensions of file formats that are already compressed.
const COMPRESSED: [&str; 24] = [
    "ogg", "mp3", "opus", "m4a", "aac", "flac", "mp4", "webm", "mkv", "jpg", "jpeg", "png", "webp", "gif",
    "ktx2", "basis", "zip", "gz", "zst", "xz", "br", "7z", "woff2", "avif",
];

/// Returns `true` if the extension is that of a compressed file format.
pub(crate) fn has_compressed_extension(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    COMPRESSED.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// A compressed payload and its index entry.
pub(crate) struct CompressedPayload {
    pub(crate) stored: PayloadEntry,
    pub(crate) bytes: Vec<u8>,
}

/// The index entry of a payload. Equal entries mean equal content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PayloadEntry {
    pub(crate) len: u64,
    pub(crate) codec: Codec,
    pub(crate) block_log2: u8,
    pub(crate) blocks: Vec<(u64, u32)>,
}

impl PayloadEntry {
    /// Returns the stored length in bytes.
    pub(crate) fn stored_len(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.1)).sum()
    }

    /// Returns `true` if the block count and the block lengths match the content length.
    pub(crate) fn is_consistent(&self) -> bool {
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

    /// Returns a hash of the entry, which stands for the content: the entry has a checksum of every block.
    pub(crate) fn identity(&self) -> Hash {
        Hash::of(&self.encode())
    }

    pub(crate) fn format_blocks(&self) -> Vec<Block> {
        self.blocks.iter().map(|&(checksum, stored_len)| Block { checksum, stored_len }).collect()
    }
}

/// A payload: its index entry, and the hash that the staging area knows it by. That is the digest of its stored bytes if it
/// was baked with a build cache, and otherwise the identity of its entry.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    pub(crate) stored: PayloadEntry,
    pub(crate) hash: Hash,
}

impl Payload {
    /// Returns the name in the staging area.
    pub(crate) fn blob(&self) -> Blob {
        Blob { hash: self.hash, len: self.stored.stored_len() }
    }
}

impl From<&PlacedArtifact<PayloadEntry>> for Payload {
    fn from(artifact: &PlacedArtifact<PayloadEntry>) -> Payload {
        Payload { stored: artifact.metadata.clone(), hash: artifact.hash }
    }
}

/// The index entry of a payload is the metadata of its build artifact.
impl Metadata for PayloadEntry {
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

    fn read(from: &mut Reader<'_>) -> Option<PayloadEntry> {
        let (len, codec, block_log2) = (from.u64()?, Codec::from_number(from.u8()?)?, from.u8()?);
        let count = from.count()?;
        let blocks = (0..count).map(|_| Some((from.u64()?, from.u32()?))).collect::<Option<Vec<_>>>()?;
        Some(PayloadEntry { len, codec, block_log2, blocks }).filter(PayloadEntry::is_consistent)
    }
}

impl CompressedPayload {
    /// Returns `true` if the index entry is consistent and every block matches its checksum.
    pub(crate) fn is_intact(&self) -> bool {
        let mut rest = self.bytes.as_slice();
        let mut whole = |&(sum, len): &(u64, u32)| {
            rest.split_off(..len as usize).is_some_and(|block| checksum(block) == sum)
        };
        self.stored.is_consistent() && self.stored.blocks.iter().all(&mut whole) && rest.is_empty()
    }

    /// Returns `true` if the payload can be the result of these compression settings.
    pub(crate) fn is_compressed_as(&self, compression: Compression) -> bool {
        self.stored.block_log2 == BLOCK_LOG2 && [Codec::None, compression.codec].contains(&self.stored.codec)
    }
}

/// The longest content to decompress for validation, in bytes. A longer cached payload counts as a miss.
const MAX_DECOMPRESSED: u64 = 2 << 30;

/// Decompresses a payload; `None` if a block does not decode to its length, or the content exceeds
/// [`MAX_DECOMPRESSED`].
pub(crate) fn decompress(compressed: &CompressedPayload) -> Option<Cow<'_, [u8]>> {
    let PayloadEntry { len, codec, block_log2, ref blocks } = compressed.stored;
    if codec == Codec::None {
        return Some(compressed.bytes.as_slice().into())
            .filter(|content: &Cow<'_, [u8]>| content.len() as u64 == len);
    }
    if len > MAX_DECOMPRESSED {
        return None;
    }
    let (mut content, mut rest, mut left) = (Vec::new(), compressed.bytes.as_slice(), len);
    for (_, stored_len) in blocks {
        // Grows block by block, so that a forged length allocates no memory.
        let (block, start) = (left.min(1 << block_log2), content.len());
        content.resize(start + block as usize, 0);
        let stored = rest.split_off(..*stored_len as usize)?;
        decode(codec, stored, &mut content[start..]).then_some(())?;
        left -= block;
    }
    (left == 0).then_some(content.into())
}

/// The base-2 logarithm of the block size: 1 MiB. Compared with whole assets, blocks of 1 MiB cost Brotli and Zstandard
/// less than 2 % of the size; the other codecs have windows of at most 64 KiB.
const BLOCK_LOG2: u8 = 20;

/// The minimum saving, as a divisor of the length: an asset that shrinks by less than 1/64 is stored uncompressed, so
/// that it can be read zero-copy.
const WORTH: usize = 64;

/// Splits content into blocks and compresses them.
pub(crate) fn compress(content: Vec<u8>, compression: Compression) -> CompressedPayload {
    if compression.codec != Codec::None {
        let encode = |encoder: &mut BlockEncoder, block: &[u8]| encoder.encode(block, compression);
        let blocks: Vec<Vec<u8>> =
            content.par_chunks(1 << BLOCK_LOG2).map_init(BlockEncoder::new, encode).collect();
        let total: usize = blocks.iter().map(Vec::len).sum();
        if total + content.len() / WORTH < content.len() {
            let entry = |block: &Vec<u8>| (checksum(block), block.len() as u32);
            let entries = blocks.iter().map(entry).collect();
            let stored = PayloadEntry {
                len: content.len() as u64,
                codec: compression.codec,
                block_log2: BLOCK_LOG2,
                blocks: entries,
            };
            drop(content);
            return CompressedPayload { stored, bytes: blocks.concat() };
        }
    }
    let entry = |block: &[u8]| (checksum(block), block.len() as u32);
    let blocks = content.par_chunks(1 << BLOCK_LOG2).map(entry).collect();
    let stored =
        PayloadEntry { len: content.len() as u64, codec: Codec::None, block_log2: BLOCK_LOG2, blocks };
    CompressedPayload { stored, bytes: content }
}

/// Compresses blocks one after the other. The codecs that take no longer than touching new memory share a buffer.
struct BlockEncoder {
    snap: snap::raw::Encoder,
    buffer: Vec<u8>,
}

impl BlockEncoder {
    fn new() -> BlockEncoder {
        BlockEncoder { snap: snap::raw::Encoder::new(), buffer: Vec::new() }
    }

    /// Compresses one block; returns it uncompressed if it does not shrink.
    fn encode(&mut self, block: &[u8], compression: Compression) -> Vec<u8> {
        let encoded = match compression.codec {
            Codec::None => None,
            Codec::Snap => {
                self.reserve(snap::raw::max_compress_len(block.len()));
                let len = self.snap.compress(block, &mut self.buffer);
                len.ok().map(|len| Cow::Borrowed(&self.buffer[..len]))
            }
            Codec::Lz4 => {
                self.reserve(lz4_flex::block::get_maximum_output_size(block.len()));
                let len = lz4_flex::block::compress_into(block, &mut self.buffer);
                len.ok().map(|len| Cow::Borrowed(&self.buffer[..len]))
            }
            // A context that is used again may find other matches.
            Codec::Zstd => zstd::bulk::compress(block, compression.quality as i32).ok().map(Cow::Owned),
            Codec::Brotli => brotli(block, compression).map(Cow::Owned),
        };
        encoded
            .filter(|encoded| encoded.len() < block.len() && !encoded.is_empty())
            .map_or_else(|| block.to_vec(), Cow::into_owned)
    }

    fn reserve(&mut self, len: usize) {
        self.buffer.resize(len.max(self.buffer.len()), 0);
    }
}

/// The size hint of the Brotli encoder: above 4 MiB, it hashes five bytes instead of four, and it looks for literals
/// that depend on their context in any input. That takes less time for small inputs as well, for about the same size.
const BROTLI_SIZE_HINT: usize = 8 << 20;

fn brotli(block: &[u8], compression: Compression) -> Option<Vec<u8>> {
    let params = brotli::enc::BrotliEncoderParams {
        quality: compression.quality as i32,
        lgwin: compression.window as i32,
        size_hint: BROTLI_SIZE_HINT,
        ..Default::default()
    };
    let mut out = Vec::with_capacity(block.len() / 2);
    brotli::BrotliCompress(&mut &*block, &mut out, &params).ok()?;
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns partly compressible content, longer than one block.
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
    fn detects_inconsistent_entries_and_damaged_blocks() {
        let compressed = |change: fn(&mut CompressedPayload)| {
            let mut compressed = compress(content(), Compression::of(Codec::Zstd));
            change(&mut compressed);
            compressed
        };
        assert!(compressed(|_| ()).is_intact());
        let unsound: [fn(&mut CompressedPayload); 7] = [
            |compressed| compressed.stored.block_log2 = 255,
            |compressed| compressed.stored.block_log2 = 11,
            |compressed| compressed.stored.len = u64::MAX,
            |compressed| compressed.stored.len = 1 << 20,
            |compressed| compressed.stored.blocks[0].1 = (1 << 20) + 1,
            |compressed| compressed.stored.blocks[1].1 = 0,
            |compressed| compressed.stored.codec = Codec::None,
        ];
        for change in unsound {
            assert!(!compressed(change).stored.is_consistent() && !compressed(change).is_intact());
        }
        let damaged: [fn(&mut CompressedPayload); 4] = [
            |compressed| compressed.bytes[9] ^= 1,
            |compressed| compressed.stored.blocks[1].0 ^= 1,
            |compressed| compressed.bytes.push(0),
            |compressed| compressed.bytes.truncate(compressed.bytes.len() - 1),
        ];
        for change in damaged {
            assert!(compressed(change).stored.is_consistent() && !compressed(change).is_intact());
        }
    }

    #[test]
    fn every_codec_round_trips() {
        let content = content();
        for codec in Codec::ALL {
            let compressed = compress(content.clone(), Compression { quality: 4, ..Compression::of(codec) });
            assert_eq!(compressed.stored.codec, codec);
            assert_eq!(compressed.stored.blocks.len(), 2);
            assert!(compressed.is_intact());
            assert_eq!(compressed.stored.stored_len(), compressed.bytes.len() as u64);
            assert_eq!(compressed.bytes.len() < content.len(), codec != Codec::None);
            let (mut out, mut at) = (vec![0; content.len()], 0);
            for ((sum, len), out) in compressed.stored.blocks.iter().zip(out.chunks_mut(1 << 20)) {
                let block = &compressed.bytes[at..at + *len as usize];
                assert_eq!(checksum(block), *sum);
                assert!(decode(codec, block, out), "{codec:?}");
                // A damaged block is an error or decodes to the same length; it never panics.
                for bit in (0..block.len() * 8).step_by(block.len().max(64) / 2) {
                    let mut bad = block.to_vec();
                    bad[bit / 8] ^= 1 << (bit % 8);
                    let _ = decode(codec, &bad, &mut vec![0; out.len()]);
                }
                at += *len as usize;
            }
            assert!(out == content, "{codec:?}");
            assert!(
                decompress(&compressed).is_some_and(|decompressed| *decompressed == content),
                "{codec:?}"
            );
            assert!(compressed.is_compressed_as(Compression::of(codec)));
            assert_eq!(
                compressed.is_compressed_as(Compression::of(Codec::Zstd)),
                [Codec::None, Codec::Zstd].contains(&codec)
            );
            let longer = PayloadEntry { len: content.len() as u64 + 1, ..compressed.stored.clone() };
            assert!(
                decompress(&CompressedPayload { stored: longer, bytes: compressed.bytes.clone() }).is_none()
            );
        }
    }

    /// With the logarithm of the platform's math library, the first block has 279,815 bytes on Linux.
    #[test]
    fn brotli_does_not_depend_on_the_platform() {
        let blocks = compress(content(), Compression::of(Codec::Brotli)).stored.blocks;
        assert_eq!(blocks, [(0xef22_0727_f77f_175e, 279_840), (0x78a6_236c_6396_ba8d, 18_906)]);
    }

    #[test]
    fn metadata_round_trips_and_rejects_every_prefix() {
        let stored = compress(vec![7; 3 << 20], Compression::default()).stored;
        assert_eq!(stored.blocks.len(), 3);
        let bytes = Metadata::encode(&stored);
        assert_eq!(PayloadEntry::decode(&bytes), Some(stored));
        (0..bytes.len()).for_each(|len| assert_eq!(PayloadEntry::decode(&bytes[..len]), None));
    }

    #[test]
    fn stores_incompressible_content_uncompressed() {
        let mut state = 7u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(100_000)
        .collect();
        for codec in Codec::ALL {
            let compressed = compress(noise.clone(), Compression::of(codec));
            assert_eq!(
                (compressed.stored.codec, compressed.bytes.len()),
                (Codec::None, noise.len()),
                "{codec:?}"
            );
        }
        assert_eq!(compress(vec![], Compression::of(Codec::Snap)).stored.blocks, []);
        assert!(
            has_compressed_extension("a/B.OGG")
                && !has_compressed_extension("ogg")
                && !has_compressed_extension("a.wav")
        );
    }
}
