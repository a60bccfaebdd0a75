//! The mip chain of a single image, filtered in a streaming window of rows.
//!
//! Every mip level is filtered from the previous one and needs only a few of its rows at a time. So all
//! levels advance together, from the top down: a block of rows of the first filtered level, the rows of the
//! next level whose source rows are complete, and so on. Rows are encoded as soon as they fill a strip, and
//! dropped when no other row needs them. Besides the source and the encoded levels only the windows are in
//! memory. The bytes are those of an encoder that holds whole levels.
//!
//! `row_stream` does the same for a source whose rows arrive one batch after the other.

use std::ops::Range;
use std::time::Instant;

use crate::encode::{Target, encode_strips};
use crate::filter_mode::{FilterMode, Texel};
use crate::kernel::Edge;
use crate::mip_tail::MipTail;
use crate::mips::{self, Pass, Rows};
use crate::plane::{ClampedPlane, Plane};
use crate::swizzle::any_alpha;
use crate::{Error, check};

/// The size of a block of rows of the first filtered level, in bytes. Smaller levels are one block.
const BLOCK_BYTES: usize = 32 << 20;

/// Rows that a filter task computes, for each thread of the pool; fewer do not justify a block either.
const BAND_ROWS: usize = 32;

/// Bytes of a texel while it is filtered.
const TEXEL_BYTES: usize = size_of::<Texel>();

/// Returns the number of rows in a block of a level of this width.
fn block_rows(width: u32) -> usize {
    let by_size = BLOCK_BYTES / (width as usize * TEXEL_BYTES);
    by_size.max(rayon::current_num_threads() * BAND_ROWS).next_multiple_of(BAND_ROWS)
}

/// Returns an upper estimate of the memory of all windows in bytes when the first filtered level has this
/// size: a block, and the rows that wait for a strip or for the kernel, at every level.
pub(crate) fn window_bytes(width: u32, height: u32) -> u64 {
    let rows = (block_rows(width.max(1)) + 3 * BAND_ROWS).min(height as usize);
    (2 * rows as u64 * TEXEL_BYTES as u64).saturating_mul(width.into())
}

/// The mip chain of one image.
#[derive(Clone, Copy)]
pub(crate) struct MipChain<'a> {
    /// The size of the base level in texels.
    pub(crate) size: (u32, u32),
    pub(crate) filter_mode: FilterMode,
    pub(crate) target: &'a Target,
    pub(crate) deadline: Option<Instant>,
}

impl MipChain<'_> {
    /// Encodes the mip chain and appends each level to its bytes in `levels`. Returns true if the block encoder saw alpha.
    pub(crate) fn encode(&self, source: Plane, levels: &mut [Vec<u8>]) -> Result<bool, Error> {
        self.encode_in_blocks(source, levels, block_rows)
    }

    /// Encodes as [`encode`](Self::encode) does, with the rows in a block of the first filtered level as a function of its
    /// width.
    fn encode_in_blocks(
        &self,
        source: Plane,
        levels: &mut [Vec<u8>],
        block_rows: impl Fn(u32) -> usize,
    ) -> Result<bool, Error> {
        let is_base = (source.width(), source.height()) == self.size;
        let (base, filtered) = levels.split_at_mut(usize::from(is_base));
        let mut tail = MipTail::default();
        let mut alpha = self.filter(&source, u32::from(is_base), filtered, &mut tail, block_rows)?;
        check(self.deadline)?;
        if let Some(out) = base.first_mut() {
            alpha |= self.append_base(source, out, &mut tail);
        }
        tail.encode(self.target);
        Ok(alpha)
    }

    /// Filters the mip levels from `first_level` on, and appends each to its bytes in `levels`: encoded, or as a part of the
    /// tail.
    fn filter<'o>(
        &self,
        source: &Plane,
        first_level: u32,
        levels: &'o mut [Vec<u8>],
        tail: &mut MipTail<'o>,
        block_rows: impl Fn(u32) -> usize,
    ) -> Result<bool, Error> {
        let mut stages = self.stages((source.width(), source.height()), first_level, levels);
        let mut alpha = false;
        let whole = ClampedPlane { plane: source, filter_mode: self.filter_mode };
        if let Some((first, rest)) = stages.split_first_mut() {
            let block = block_rows(first.width as u32);
            while first.made < first.height {
                check(self.deadline)?;
                let rows = first.made..first.height.min(first.made + block);
                first.push(first.pass.rows(&whole, rows));
                alpha |= self.advance(first, rest);
            }
        }
        Ok(alpha | self.fill_tail(stages, tail))
    }

    /// Returns the stages of the levels from `first_level` on; the first is filtered from a source of `before` texels.
    pub(crate) fn stages<'o>(
        &self,
        mut before: (u32, u32),
        first_level: u32,
        levels: &'o mut [Vec<u8>],
    ) -> Vec<Stage<'o>> {
        let mut stages = Vec::with_capacity(levels.len());
        for (level, out) in (first_level..).zip(levels) {
            let size = mips::level_size(self.size.0, self.size.1, level);
            stages.push(Stage::new(before, size, self, out));
            before = size;
        }
        stages
    }

    /// Adds the levels of the tail, which are filtered. Returns true if one has alpha.
    pub(crate) fn fill_tail<'o>(&self, stages: Vec<Stage<'o>>, tail: &mut MipTail<'o>) -> bool {
        let mut alpha = false;
        for stage in stages.into_iter().filter(|stage| stage.in_tail) {
            let (width, height) = (stage.width as u32, stage.height as u32);
            let mut rgba = vec![0; stage.width * stage.height * 4];
            self.filter_mode.encode(&stage.rows, 1.0, &mut rgba);
            self.target.swizzle().apply(&mut rgba);
            alpha |= any_alpha(&rgba);
            tail.push(&rgba, width, height, stage.out);
        }
        alpha
    }

    /// Appends the source as the base level; raw texels that are the whole level are moved, not copied.
    fn append_base<'o>(&self, source: Plane, out: &'o mut Vec<u8>, tail: &mut MipTail<'o>) -> bool {
        match (source, self.target) {
            (Plane::Source(image), Target::Raw) if out.is_empty() => {
                *out = image.into_rgba8();
                false
            }
            (source, target) if MipTail::holds(target, self.size.0, self.size.1) => {
                let (start, (width, height)) = (out.len(), self.size);
                out.resize(start + target.encoded_len(width, height), 0);
                let mut rgba = vec![0; width as usize * height as usize * 4];
                source.bytes(self.filter_mode, 1.0, 0..height, &mut rgba);
                target.swizzle().apply(&mut rgba);
                tail.push(&rgba, width, height, &mut out[start..]);
                any_alpha(&rgba)
            }
            (source, target) => crate::encode::append(&source, self.filter_mode, 1.0, target, out),
        }
    }

    /// Encodes the rows of a level that fill a strip, filters the rows of the next level whose source rows are complete, and
    /// drops the rows that are no longer needed.
    pub(crate) fn advance(&self, stage: &mut Stage<'_>, rest: &mut [Stage<'_>]) -> bool {
        let mut alpha = stage.encode(self);
        let mut needed = stage.encoded;
        if let Some((next, rest)) = rest.split_first_mut() {
            let complete_rows = next.complete_rows(stage.made);
            if complete_rows - next.made >= BAND_ROWS
                || stage.made == stage.height && complete_rows > next.made
            {
                let rows = next.pass.rows(&stage.window(), next.made..complete_rows);
                next.push(rows);
                alpha |= self.advance(next, rest);
            }
            needed = needed.min(next.needed());
        }
        stage.drop_rows(needed);
        alpha
    }
}

/// A mip level that is filtered from the previous one.
pub(crate) struct Stage<'o> {
    width: usize,
    height: usize,
    pub(crate) pass: Pass,
    /// The rows that are in memory, starting with row number `first`.
    rows: Vec<Texel>,
    first: usize,
    /// The number of rows filtered so far, and the number of rows encoded so far.
    pub(crate) made: usize,
    encoded: usize,
    strip: usize,
    /// True if the whole level is encoded with the tail, when all levels are filtered.
    in_tail: bool,
    out: &'o mut [u8],
}

impl<'o> Stage<'o> {
    fn new(from: (u32, u32), size: (u32, u32), chain: &MipChain<'_>, out: &'o mut Vec<u8>) -> Stage<'o> {
        let (target, start) = (chain.target, out.len());
        out.resize(start + target.encoded_len(size.0, size.1), 0);
        Stage {
            width: size.0 as usize,
            height: size.1 as usize,
            pass: Pass::new(from, Edge::Clamp, chain.filter_mode, size),
            rows: Vec::new(),
            first: 0,
            made: 0,
            encoded: 0,
            strip: target.strip_rows(size.0) as usize,
            in_tail: MipTail::holds(target, size.0, size.1),
            out: &mut out[start..],
        }
    }

    pub(crate) fn push(&mut self, rows: Vec<Texel>) {
        self.made += rows.len() / self.width;
        match self.rows.is_empty() {
            true => self.rows = rows,
            false => self.rows.extend(rows),
        }
    }

    /// Returns the number of rows that can be filtered when the previous level has `before` rows.
    pub(crate) fn complete_rows(&self, before: usize) -> usize {
        (self.made..self.height).take_while(|&row| self.pass.sources(row).end <= before).count() + self.made
    }

    /// Returns the first row of the previous level that the remaining rows need.
    pub(crate) fn needed(&self) -> usize {
        // The ranges of neighbouring rows may start in any order by one row, where the kernel is zero.
        let next = self.made..self.height.min(self.made + 2);
        next.map(|row| self.pass.sources(row).start).min().unwrap_or(usize::MAX)
    }

    fn window(&self) -> Window<'_> {
        Window { size: (self.width, self.height), first: self.first, rows: &self.rows }
    }

    fn encode(&mut self, chain: &MipChain<'_>) -> bool {
        let MipChain { filter_mode, target, .. } = *chain;
        let end = match self.made == self.height {
            _ if self.in_tail => 0,
            true => self.height,
            false => self.made - self.made % self.strip,
        };
        if end <= self.encoded {
            return false;
        }
        let (width, rows) = (self.width as u32, self.encoded as u32..end as u32);
        let place = target.encoded_len(width, rows.start)..target.encoded_len(width, rows.end);
        let window = Window { size: (self.width, self.height), first: self.first, rows: &self.rows };
        let read = |rows: Range<u32>, bytes: &mut [u8]| {
            filter_mode.encode(window.part(rows.start as usize..rows.end as usize), 1.0, bytes);
        };
        self.encoded = end;
        encode_strips(width, rows, target, read, &mut self.out[place])
    }

    /// Drops the rows before `needed`.
    fn drop_rows(&mut self, needed: usize) {
        let count = needed.min(self.made) - self.first;
        self.rows.drain(..count * self.width);
        self.first += count;
    }
}

/// A range of rows of a mip level.
struct Window<'a> {
    size: (usize, usize),
    first: usize,
    rows: &'a [Texel],
}

impl Window<'_> {
    fn part(&self, rows: Range<usize>) -> &[Texel] {
        &self.rows[(rows.start - self.first) * self.size.0..(rows.end - self.first) * self.size.0]
    }
}

impl Rows for Window<'_> {
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
        out.copy_from_slice(self.part(y..y + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::{Blocks, append};
    use crate::swizzle::Swizzle;
    use kiln_block_encoders::Effort;
    use kiln_ir::{Image, Texels};
    use kiln_uastc::bc7::Bc7Options;
    use kiln_uastc::{Options, Quality};

    fn noise(width: u32, height: u32) -> Plane {
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut byte = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        };
        let texels = (0..width * height * 4).map(|_| byte()).collect();
        Plane::Source(Image::new(width, height, Texels::Rgba8(texels)).unwrap())
    }

    fn chain(size: (u32, u32), filter_mode: FilterMode, target: &Target) -> MipChain<'_> {
        MipChain { size, filter_mode, target, deadline: None }
    }

    /// Encodes every level as a whole, from the previous one.
    fn whole(
        mut plane: Plane,
        size: (u32, u32),
        filter_mode: FilterMode,
        target: &Target,
        out: &mut [Vec<u8>],
    ) -> bool {
        let mut alpha = false;
        for (level, out) in (0..).zip(out) {
            let (width, height) = mips::level_size(size.0, size.1, level);
            if (plane.width(), plane.height()) != (width, height) {
                let texels =
                    mips::shrink(&ClampedPlane { plane: &plane, filter_mode }, filter_mode, width, height);
                plane = Plane::Filtered { width, texels };
            }
            alpha |= append(&plane, filter_mode, 1.0, target, out);
        }
        alpha
    }

    #[test]
    fn streaming_equals_whole_levels() {
        let options = |rdo| Options { quality: Quality::Fast, rdo };
        let targets = [
            Target::Raw,
            Target::Uastc(Swizzle::Rgba, options(None)),
            Target::Uastc(Swizzle::Rg01, options(Some(1.0))),
            Target::Astc(Swizzle::R001, options(None)),
            Target::Bc7(Swizzle::Rgba, Bc7Options::default()),
            Target::Blocks(Swizzle::Rgba, Blocks::Bc1, Effort::Fast),
        ];
        let sizes = [
            ((70, 531), (70, 531)),
            ((301, 299), (301, 299)),
            ((90, 400), (65, 289)),
            ((1, 1), (1, 1)),
            ((8, 8), (8, 8)),
            ((17, 5), (17, 5)),
            ((40, 9), (16, 4)),
        ];
        for target in &targets {
            for filter_mode in [FilterMode::Opaque, FilterMode::Translucent, FilterMode::VectorXy] {
                for (from, base) in sizes {
                    let count = mips::Mips::Full.levels(base.0, base.1) as usize;
                    let (mut expected, mut found) = (vec![vec![7]; count], vec![vec![7]; count]);
                    let expected_alpha =
                        whole(noise(from.0, from.1), base, filter_mode, target, &mut expected);
                    let source = noise(from.0, from.1);
                    let chain = chain(base, filter_mode, target);
                    let found_alpha = chain.encode_in_blocks(source, &mut found, |_| 40).unwrap();
                    assert!(expected == found, "{target:?} {filter_mode:?} {from:?} {base:?}");
                    assert_eq!(expected_alpha, found_alpha);
                }
            }
        }
    }

    #[test]
    fn base_level_is_the_raw_source() {
        let mut levels = vec![Vec::new(); 2];
        let chain = chain((8, 8), FilterMode::Data, &Target::Raw);
        chain.encode(noise(8, 8), &mut levels).unwrap();
        let Plane::Source(image) = noise(8, 8) else { panic!("a source") };
        assert_eq!(levels[0], image.into_rgba8());
        assert_eq!(levels[1].len(), 4 * 4 * 4);
    }

    #[test]
    fn returns_deadline_error_when_deadline_has_passed() {
        let now = Instant::now();
        while Instant::now() <= now {}
        let past = Some(now);
        let mut out = vec![Vec::new(); 2];
        let chain = MipChain { deadline: past, ..chain((8, 8), FilterMode::Data, &Target::Raw) };
        let result = chain.encode(noise(8, 8), &mut out);
        assert_eq!(result, Err(Error::Deadline));
    }

    #[test]
    fn window_estimate_is_below_whole_levels() {
        // A level of 8192² in floats would be a gigabyte.
        assert!(window_bytes(8192, 8192) < 100 << 20 || rayon::current_num_threads() > 8);
        assert_eq!(window_bytes(64, 64), 2 * 64 * 64 * 16);
        assert!(window_bytes(u32::MAX, u32::MAX) > 1 << 40);
    }
}
