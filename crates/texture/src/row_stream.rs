//! The mip chain of an image whose rows arrive one batch after the other, such as from a decoder.
//!
//! While a batch is decoded, the batch before it is encoded and filtered, and the encoded strips before that are
//! supercompressed. Rows are dropped when no strip and no filter needs them, so that the image is never in memory as a whole.

use std::ops::Range;
use std::time::Instant;

use crate::encode::encode_strips;
use crate::filter_mode::{FilterMode, Texel};
use crate::kernel::Edge;
use crate::mip_tail::MipTail;
use crate::mips::Rows;
use crate::streaming::{MipChain, Stage};
use crate::supercompress::{self, LevelStream};
use crate::{Error, Level, check};

/// The RGBA8 texels of a batch of rows, in bytes.
pub(crate) const BATCH_LEN: usize = 32 << 20;

/// The encoded length of a base level from which it is supercompressed while it is encoded: a texture of 8192² in 16 bytes
/// for each block. Frames of a stream are up to half a percent longer, so that shorter levels are compressed at once.
pub(crate) const STREAMED_LEN: usize = 64 << 20;

impl MipChain<'_> {
    /// Encodes and supercompresses the mip chain of an image of `source` texels in blocks. `next` fills a buffer with the
    /// next rows of the image as RGBA8. Returns the levels, and true if the block encoder saw alpha.
    pub(crate) fn encode_rows<E: From<Error> + Send>(
        &self,
        source: (u32, u32),
        next: impl FnMut(&mut [u8]) -> Result<(), E> + Send,
        count: u32,
        zstd: bool,
    ) -> Result<(Vec<Level>, bool), E> {
        self.encode_batches(source, next, count, zstd, (BATCH_LEN, STREAMED_LEN))
    }

    fn encode_batches<E: From<Error> + Send>(
        &self,
        source: (u32, u32),
        mut next: impl FnMut(&mut [u8]) -> Result<(), E> + Send,
        count: u32,
        zstd: bool,
        (batch_len, streamed_len): (usize, usize),
    ) -> Result<(Vec<Level>, bool), E> {
        let is_base = source == self.size;
        let mut base = is_base.then(|| BaseLevel::new(self, zstd, streamed_len)).transpose()?;
        let mut levels = vec![Vec::new(); (count - u32::from(is_base)) as usize];
        let mut stages = self.stages(source, u32::from(is_base), &mut levels);
        let mut window = SourceRows::new(source, self.filter_mode);
        let mut tail = MipTail::default();
        let (row_len, height) = (source.0 as usize * 4, source.1 as usize);
        let strip_rows = self.target.strip_rows(source.0) as usize;
        let batch_rows = (batch_len / row_len).max(1).next_multiple_of(strip_rows);
        let mut batch = vec![0; batch_rows.min(height) * row_len];
        next(&mut batch)?;
        let mut alpha = false;
        while !batch.is_empty() {
            check(self.deadline)?;
            window.push(batch);
            let mut ahead = vec![0; batch_rows.min(height - window.made()) * row_len];
            let (decoded, encoded) = rayon::join(
                || if ahead.is_empty() { Ok(()) } else { next(&mut ahead) },
                || {
                    let saw_alpha = base.as_mut().map_or(Ok(false), |base| base.encode(self, &window))?;
                    Ok::<bool, Error>(saw_alpha | self.filter_complete_rows(&window, &mut stages))
                },
            );
            alpha |= encoded?;
            decoded?;
            let needed = stages.first().map_or(usize::MAX, Stage::needed);
            window.drop_rows(needed);
            batch = ahead;
        }
        alpha |= self.fill_tail(stages, &mut tail);
        tail.encode(self.target);
        let (base, filtered) = rayon::join(
            || base.map(|base| base.finish(self.deadline)).transpose(),
            || supercompress::levels(levels, zstd, self.deadline),
        );
        Ok((base?.into_iter().chain(filtered?).collect(), alpha))
    }

    /// Filters the rows of the first stage whose source rows are complete, and advances the stages after it.
    fn filter_complete_rows(&self, window: &SourceRows, stages: &mut [Stage<'_>]) -> bool {
        let Some((first, rest)) = stages.split_first_mut() else { return false };
        let complete_rows = first.complete_rows(window.made());
        if complete_rows == first.made {
            return false;
        }
        first.push(first.pass.rows(window, first.made..complete_rows));
        self.advance(first, rest)
    }
}

/// The base level: strips are encoded as their rows arrive, and compressed while later ones are encoded if the level is long.
struct BaseLevel {
    /// Blocks that are not compressed yet.
    blocks: Vec<u8>,
    /// The rows that are encoded.
    rows: usize,
    zstd: bool,
    stream: Option<LevelStream>,
}

impl BaseLevel {
    fn new(chain: &MipChain<'_>, zstd: bool, streamed_len: usize) -> Result<BaseLevel, Error> {
        let len = chain.target.encoded_len(chain.size.0, chain.size.1);
        let stream = (zstd && len >= streamed_len).then(|| LevelStream::new(len)).transpose()?;
        Ok(BaseLevel { blocks: Vec::new(), rows: 0, zstd, stream })
    }

    /// Encodes the strips that the rows of a batch complete. Returns true if the block encoder saw alpha.
    fn encode(&mut self, chain: &MipChain<'_>, source: &SourceRows) -> Result<bool, Error> {
        let rows = self.rows as u32..source.made() as u32;
        let read = |rows: Range<u32>, out: &mut [u8]| {
            out.copy_from_slice(source.bytes(rows.start as usize..rows.end as usize));
        };
        self.rows = source.made();
        let len = chain.target.encoded_len(source.size.0 as u32, rows.end - rows.start);
        let Some(stream) = &mut self.stream else {
            let start = self.blocks.len();
            self.blocks.resize(start + len, 0);
            return Ok(encode_strips(chain.size.0, rows, chain.target, read, &mut self.blocks[start..]));
        };
        let before = std::mem::replace(&mut self.blocks, vec![0; len]);
        let blocks = &mut self.blocks;
        let (compressed, alpha) = rayon::join(
            || stream.push(&before),
            || encode_strips(chain.size.0, rows, chain.target, read, blocks),
        );
        compressed.map(|()| alpha)
    }

    fn finish(self, deadline: Option<Instant>) -> Result<Level, Error> {
        check(deadline)?;
        match self.stream {
            Some(mut stream) => {
                stream.push(&self.blocks)?;
                stream.finish()
            }
            None => supercompress::level(self.blocks, self.zstd),
        }
    }
}

/// The rows of the source that are in memory.
struct SourceRows {
    size: (usize, usize),
    filter_mode: FilterMode,
    /// The number of the first row in memory.
    first: usize,
    rgba: Vec<u8>,
}

impl SourceRows {
    fn new((width, height): (u32, u32), filter_mode: FilterMode) -> SourceRows {
        SourceRows { size: (width as usize, height as usize), filter_mode, first: 0, rgba: Vec::new() }
    }

    /// Returns the number of rows that have arrived.
    fn made(&self) -> usize {
        self.first + self.rgba.len() / (self.size.0 * 4)
    }

    fn push(&mut self, mut rgba: Vec<u8>) {
        match self.rgba.is_empty() {
            true => self.rgba = rgba,
            false => self.rgba.append(&mut rgba),
        }
    }

    fn bytes(&self, rows: Range<usize>) -> &[u8] {
        let row_len = self.size.0 * 4;
        &self.rgba[(rows.start - self.first) * row_len..(rows.end - self.first) * row_len]
    }

    /// Drops the rows before `needed`.
    fn drop_rows(&mut self, needed: usize) {
        let count = needed.min(self.made()) - self.first;
        self.rgba.drain(..count * self.size.0 * 4);
        self.first += count;
    }
}

impl Rows for SourceRows {
    fn width(&self) -> u32 {
        self.size.0 as u32
    }

    fn height(&self) -> u32 {
        self.size.1 as u32
    }

    fn edge(&self) -> Edge {
        Edge::Clamp
    }

    fn read(&self, y: usize, out: &mut [Texel]) {
        self.filter_mode.decode(self.bytes(y..y + 1), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::{Blocks, Target};
    use crate::mips::Mips;
    use crate::plane::Plane;
    use crate::swizzle::Swizzle;
    use kiln_block_encoders::Effort;
    use kiln_ir::{Image, Texels};
    use kiln_uastc::{Options, Quality};

    fn noise(width: u32, height: u32) -> Vec<u8> {
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut byte = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        };
        (0..width * height).flat_map(|_| [byte(), byte(), byte(), u8::MAX]).collect()
    }

    /// Encodes from rows; `lens` are those of a batch and of a level that is compressed while it is encoded.
    fn from_rows(chain: &MipChain<'_>, source: (u32, u32), lens: (usize, usize)) -> (Vec<Level>, bool) {
        let (texels, mut at) = (noise(source.0, source.1), 0);
        let next = |rows: &mut [u8]| {
            rows.copy_from_slice(&texels[at..at + rows.len()]);
            at += rows.len();
            Ok::<(), Error>(())
        };
        let count = Mips::Full.levels(chain.size.0, chain.size.1);
        chain.encode_batches(source, next, count, true, lens).unwrap()
    }

    #[test]
    fn batches_equal_the_whole_image() {
        let options = |rdo| Options { quality: Quality::Fast, rdo };
        let targets = [
            Target::Uastc(Swizzle::Rgba, options(None)),
            Target::Uastc(Swizzle::Rg01, options(Some(1.0))),
            Target::Blocks(Swizzle::R001, Blocks::Bc4, Effort::Fast),
        ];
        let sizes =
            [((70, 531), (70, 531)), ((301, 97), (301, 97)), ((90, 400), (65, 289)), ((3, 200), (3, 200))];
        for target in &targets {
            for filter_mode in [FilterMode::Opaque, FilterMode::Data, FilterMode::VectorXy] {
                for (source, size) in sizes {
                    let chain = MipChain { size, filter_mode, target, deadline: None };
                    let image = Image::new(source.0, source.1, Texels::Rgba8(noise(source.0, source.1)));
                    let mut plain = vec![Vec::new(); Mips::Full.levels(size.0, size.1) as usize];
                    let alpha = chain.encode(Plane::Source(image.unwrap()), &mut plain).unwrap();
                    let expected = supercompress::levels(plain, true, None).unwrap();
                    for batch_len in [1, 40_000, usize::MAX / 2] {
                        let found = from_rows(&chain, source, (batch_len, usize::MAX));
                        assert!(found == (expected.clone(), alpha), "{target:?} {filter_mode:?} {source:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn streamed_base_does_not_depend_on_threads_and_batches() {
        let target = Target::Uastc(Swizzle::Rgba, Options { quality: Quality::Fast, rdo: None });
        let chain =
            MipChain { size: (301, 531), filter_mode: FilterMode::Opaque, target: &target, deadline: None };
        let with = |threads: usize, lens| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| from_rows(&chain, (301, 531), lens))
        };
        let expected = with(1, (1, 0));
        assert!(expected == with(3, (1, 0)) && expected == with(2, (100_000, 0)));
        let whole = with(1, (1, usize::MAX));
        let plain =
            |level: &Level| zstd::bulk::decompress(&level.bytes, level.uncompressed_len as usize).unwrap();
        assert!(expected.0.iter().map(plain).eq(whole.0.iter().map(plain)));
        assert!(expected.0[1..] == whole.0[1..]);
    }

    #[test]
    fn errors_of_the_source_end_the_encoding() {
        #[derive(Debug, PartialEq)]
        enum Failed {
            Rows(usize),
            Texture(Error),
        }
        impl From<Error> for Failed {
            fn from(error: Error) -> Failed {
                Failed::Texture(error)
            }
        }
        let target = Target::Uastc(Swizzle::Rgba, Options { quality: Quality::Fast, rdo: None });
        let past = Instant::now();
        for fails in 0..3 {
            for deadline in [None, Some(past)] {
                let chain =
                    MipChain { size: (16, 96), filter_mode: FilterMode::Opaque, target: &target, deadline };
                let mut calls = 0;
                let next = |_: &mut [u8]| {
                    calls += 1;
                    if calls > fails { Err(Failed::Rows(fails)) } else { Ok(()) }
                };
                let error = chain.encode_batches((16, 96), next, 1, true, (1, 0)).unwrap_err();
                let is_late = deadline.is_some() && fails > 0;
                assert_eq!(
                    error,
                    if is_late { Failed::Texture(Error::Deadline) } else { Failed::Rows(fails) }
                );
            }
        }
    }
}
