//! The public encoding functions: single blocks, strips of block rows, and groups for the search.

use crate::batch::GROUP;
use crate::block::{Block, Class};
use crate::effort::Effort;
use crate::hints;
use crate::lanes::{Lanes, Path, Task};
use crate::packing::{Fields, pack, pack_solid};
use crate::rdo::{Window, band_rows};
use crate::search::search;
use crate::view::{View, blocks_high, blocks_wide};
use crate::{BLOCK_BYTES, Options};
use std::ops::Range;

/// Encodes one block of RGBA texels in raster order.
///
/// [`encode_rows`] is several times as fast for many blocks and gives the same bytes, except with RDO, which
/// needs more than one block.
#[must_use]
pub fn encode_block(texels: &[[u8; 4]; 16], options: &Options) -> [u8; BLOCK_BYTES] {
    let mut blocks = [Block::EMPTY];
    blocks[0].restart(texels.map(u32::from_le_bytes));
    let mut out = [0; BLOCK_BYTES];
    encode(Path::best(), &mut blocks, options, &mut out);
    out
}

/// Encodes the block rows `block_rows` of an image into `out`, row by row.
///
/// Rows past the last are ignored. `out` begins with the first of the rows and must have room for all of
/// them; if it is shorter, only whole blocks that fit are written.
pub fn encode_rows(view: &View<'_>, block_rows: Range<u32>, options: &Options, out: &mut [u8]) {
    encode_rows_on(Path::best(), view, block_rows, options, out);
}

/// Encodes as [`encode_rows`] does with a given instruction set, to compare them.
pub fn encode_rows_on(
    path: Path,
    view: &View<'_>,
    block_rows: Range<u32>,
    options: &Options,
    out: &mut [u8],
) {
    let wide = blocks_wide(view.width());
    let rows = block_rows.start..block_rows.end.min(blocks_high(view.height()));
    let mut window = options.rdo.filter(|lambda| *lambda > 0.0).map(Window::<Fields>::new);
    // With RDO a block depends on the previous blocks of its band: these are encoded too, but not written.
    let band = band_rows(wide);
    let first = if window.is_some() { rows.start - rows.start % band } else { rows.start };
    // A whole group has 400 KB, which matters for an image of few blocks.
    let group = GROUP.min((first..rows.end).len().saturating_mul(wide as usize));
    let mut blocks = vec![Block::EMPTY; group];
    let mut bytes = vec![[0; BLOCK_BYTES]; group];
    let mut out = out.chunks_exact_mut(BLOCK_BYTES);
    let mut places = (first..rows.end.max(first)).flat_map(|y| (0..wide).map(move |x| (x, y))).peekable();
    while places.peek().is_some() {
        let mut at = [(0, 0); GROUP];
        let mut count = 0;
        for (x, y) in places.by_ref().take(group) {
            blocks[count].restart(view.block(x, y));
            at[count] = (x, y);
            count += 1;
        }
        encode(path, &mut blocks[..count], options, bytes.as_flattened_mut());
        for i in 0..count {
            if let Some(window) = &mut window {
                if at[i] == (0, at[i].1 - at[i].1 % band) {
                    window.restart();
                }
                bytes[i] = window.choose(&blocks[i].texels, bytes[i]);
            }
            if at[i].1 >= rows.start {
                let Some(place) = out.next() else { return };
                place.copy_from_slice(&bytes[i]);
            }
        }
    }
}

/// Returns the number of block rows for one call of [`encode_rows`] if an image is divided into strips.
///
/// Strips that begin at multiples of this encode no block twice. Without RDO any height does.
#[must_use]
pub fn strip_rows(width: u32, options: &Options) -> u32 {
    if options.rdo.is_some() { rdo_strip_rows(width) } else { 1 }
}

/// Returns the number of block rows for one call if RDO is on.
pub(crate) const fn rdo_strip_rows(width: u32) -> u32 {
    band_rows(blocks_wide(width))
}

/// The squared errors that selection predicts for a block.
#[derive(Clone, Copy, Debug)]
pub struct Predicted {
    /// The error of the decoded block: exact.
    pub error: u32,
    /// The error after transcoding to BC7: a model. Without alpha where the block is opaque.
    pub as_bc7: f32,
}

/// Encodes blocks one after the other and returns the predicted errors of each, to verify the predictions.
pub fn encode_with_errors(
    texels: &[[[u8; 4]; 16]],
    options: &Options,
    mut each: impl FnMut(usize, [u8; BLOCK_BYTES], Predicted),
) {
    let balance = &Effort::of(options.quality).balance;
    let mut blocks = vec![Block::EMPTY; GROUP.min(texels.len())];
    for (group, texels) in texels.chunks(GROUP).enumerate() {
        let mut bytes = vec![[0; BLOCK_BYTES]; texels.len()];
        for (block, texels) in blocks.iter_mut().zip(texels) {
            block.restart(texels.map(u32::from_le_bytes));
        }
        let blocks = &mut blocks[..texels.len()];
        encode(Path::best(), blocks, options, bytes.as_flattened_mut());
        for (i, (block, bytes)) in blocks.iter().zip(bytes).enumerate() {
            let grey = matches!(block.class, Class::Grey | Class::GreyAlpha);
            let as_bc7 = (block.cost - block.error) / balance[usize::from(grey)].bc7;
            let predicted = match block.class {
                Class::Solid => Predicted { error: 0, as_bc7: 0.0 },
                _ => Predicted { error: block.error as u32, as_bc7 },
            };
            each(group * GROUP + i, bytes, predicted);
        }
    }
}

/// Encodes at most a group of blocks. Not generic, so that the search is compiled once, here.
fn encode(path: Path, blocks: &mut [Block], options: &Options, out: &mut [u8]) {
    path.run(Encode { blocks, options, out });
}

/// The task of encoding at most a group of blocks.
struct Encode<'a> {
    blocks: &'a mut [Block],
    options: &'a Options,
    out: &'a mut [u8],
}

impl Task for Encode<'_> {
    fn run<L: Lanes>(self) {
        search::<L>(self.blocks, Effort::of(self.options.quality));
        for (block, out) in self.blocks.iter().zip(self.out.chunks_exact_mut(BLOCK_BYTES)) {
            let bytes = if block.class == Class::Solid {
                let colour = block.texels[0].to_le_bytes();
                pack_solid(colour, &hints::solid(colour))
            } else {
                pack(&block.fields)
            };
            out.copy_from_slice(&bytes);
        }
    }
}
