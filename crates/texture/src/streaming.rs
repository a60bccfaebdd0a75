//! The mip chain of a single image, filtered in a streaming window of rows.
//!
//! Every mip level is filtered from the previous one and needs only a few of its rows at a time. So all
//! levels advance together, from the top down: a block of rows of the first filtered level, the rows of the
//! next level whose source rows are complete, and so on. Rows are encoded as soon as they fill a strip, and
//! dropped when no other row needs them. Besides the source and the encoded levels only the windows are in
//! memory. The bytes are those of an encoder that holds whole levels.

use std::ops::Range;
use std::time::Instant;

use crate::encode::{Target, encode_strips};
use crate::filter_mode::{FilterMode, Texel};
use crate::kernel::Edge;
use crate::mips::{self, Pass, Rows};
use crate::plane::{ClampedPlane, Plane};
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

/// Encodes the mip chain of one image and appends each level to its bytes in `levels`. Returns true if the
/// block encoder saw alpha.
pub(crate) fn levels(
    source: Plane,
    (width, height): (u32, u32),
    filter_mode: FilterMode,
    target: &Target,
    deadline: Option<Instant>,
    levels: &mut [Vec<u8>],
) -> Result<bool, Error> {
    in_blocks(source, (width, height), filter_mode, target, deadline, levels, block_rows)
}

/// Encodes as [`levels`] does, with the rows in a block of the first filtered level as a function of its
/// width.
fn in_blocks(
    source: Plane,
    (width, height): (u32, u32),
    filter_mode: FilterMode,
    target: &Target,
    deadline: Option<Instant>,
    levels: &mut [Vec<u8>],
    block_rows: impl Fn(u32) -> usize,
) -> Result<bool, Error> {
    let from = (source.width(), source.height());
    let is_base = from == (width, height);
    let (base, filtered) = levels.split_at_mut(usize::from(is_base));
    let mut stages = Vec::with_capacity(filtered.len());
    let mut before = from;
    for (level, out) in (u32::from(is_base)..).zip(filtered) {
        let size = mips::level_size(width, height, level);
        stages.push(Stage::new(before, size, filter_mode, target, out));
        before = size;
    }
    let mut alpha = false;
    let whole = ClampedPlane { plane: &source, filter_mode };
    if let Some((first, rest)) = stages.split_first_mut() {
        let block = block_rows(first.width as u32);
        while first.made < first.height {
            check(deadline)?;
            let rows = first.made..first.height.min(first.made + block);
            first.push(first.pass.rows(&whole, rows));
            alpha |= advance(first, rest, filter_mode, target);
        }
    }
    drop(stages);
    check(deadline)?;
    if let Some(out) = base.first_mut() {
        alpha |= append_base(source, filter_mode, target, out);
    }
    Ok(alpha)
}

/// Appends the source as the base level; raw texels that are the whole level are moved, not copied.
fn append_base(source: Plane, filter_mode: FilterMode, target: &Target, out: &mut Vec<u8>) -> bool {
    match (source, target) {
        (Plane::Source(image), Target::Raw) if out.is_empty() => {
            *out = image.into_rgba8();
            false
        }
        (source, _) => crate::encode::append(&source, filter_mode, 1.0, target, out),
    }
}

/// Encodes the rows of a level that fill a strip, filters the rows of the next level whose source rows are
/// complete, and drops the rows that are no longer needed.
fn advance(stage: &mut Stage<'_>, rest: &mut [Stage<'_>], filter_mode: FilterMode, target: &Target) -> bool {
    let mut alpha = stage.encode(filter_mode, target);
    let mut needed = stage.encoded;
    if let Some((next, rest)) = rest.split_first_mut() {
        let complete_rows = next.complete_rows(stage.made);
        if complete_rows - next.made >= BAND_ROWS || stage.made == stage.height && complete_rows > next.made {
            let rows = next.pass.rows(&stage.window(), next.made..complete_rows);
            next.push(rows);
            alpha |= advance(next, rest, filter_mode, target);
        }
        needed = needed.min(next.needed());
    }
    stage.drop_rows(needed);
    alpha
}

/// A mip level that is filtered from the previous one.
struct Stage<'o> {
    width: usize,
    height: usize,
    pass: Pass,
    /// The rows that are in memory, starting with row number `first`.
    rows: Vec<Texel>,
    first: usize,
    /// The number of rows filtered so far, and the number of rows encoded so far.
    made: usize,
    encoded: usize,
    strip: usize,
    out: &'o mut [u8],
}

impl<'o> Stage<'o> {
    fn new(
        from: (u32, u32),
        size: (u32, u32),
        filter_mode: FilterMode,
        target: &Target,
        out: &'o mut Vec<u8>,
    ) -> Stage<'o> {
        let start = out.len();
        out.resize(start + target.encoded_len(size.0, size.1), 0);
        Stage {
            width: size.0 as usize,
            height: size.1 as usize,
            pass: Pass::new(from, Edge::Clamp, filter_mode, size),
            rows: Vec::new(),
            first: 0,
            made: 0,
            encoded: 0,
            strip: target.strip_rows(size.0) as usize,
            out: &mut out[start..],
        }
    }

    fn push(&mut self, rows: Vec<Texel>) {
        self.made += rows.len() / self.width;
        match self.rows.is_empty() {
            true => self.rows = rows,
            false => self.rows.extend(rows),
        }
    }

    /// Returns the number of rows that can be filtered when the previous level has `before` rows.
    fn complete_rows(&self, before: usize) -> usize {
        (self.made..self.height).take_while(|&row| self.pass.sources(row).end <= before).count() + self.made
    }

    /// Returns the first row of the previous level that the remaining rows need.
    fn needed(&self) -> usize {
        // The ranges of neighbouring rows may start in any order by one row, where the kernel is zero.
        let next = self.made..self.height.min(self.made + 2);
        next.map(|row| self.pass.sources(row).start).min().unwrap_or(usize::MAX)
    }

    fn window(&self) -> Window<'_> {
        Window { size: (self.width, self.height), first: self.first, rows: &self.rows }
    }

    fn encode(&mut self, filter_mode: FilterMode, target: &Target) -> bool {
        let end = match self.made == self.height {
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
    use crate::encode::append;
    use crate::swizzle::Swizzle;
    use kiln_ir::{Image, Texels};
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
        ];
        for target in &targets {
            for filter_mode in [FilterMode::Opaque, FilterMode::Translucent, FilterMode::VectorXy] {
                for (from, base) in [((70, 531), (70, 531)), ((301, 299), (301, 299)), ((90, 400), (65, 289))]
                {
                    let count = mips::Mips::Full.levels(base.0, base.1) as usize;
                    let (mut expected, mut found) = (vec![vec![7]; count], vec![vec![7]; count]);
                    let expected_alpha =
                        whole(noise(from.0, from.1), base, filter_mode, target, &mut expected);
                    let source = noise(from.0, from.1);
                    let found_alpha =
                        in_blocks(source, base, filter_mode, target, None, &mut found, |_| 40).unwrap();
                    assert!(expected == found, "{target:?} {filter_mode:?} {from:?} {base:?}");
                    assert_eq!(expected_alpha, found_alpha);
                }
            }
        }
    }

    #[test]
    fn base_level_is_the_raw_source() {
        let mut levels = vec![Vec::new(); 2];
        in_blocks(noise(8, 8), (8, 8), FilterMode::Data, &Target::Raw, None, &mut levels, |_| 32).unwrap();
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
        let result = levels(noise(8, 8), (8, 8), FilterMode::Data, &Target::Raw, past, &mut out);
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
