//! BC7 encoder and decoder: the block format of desktop GPUs.
//!
//! A build for desktop GPUs alone needs no transcoder, and its blocks may use all of BC7: 64 partition
//! patterns instead of 30, BC7's own endpoint precision with P-bits, and BC7's weights. The search shares
//! lanes, batches, principal axes and ranking of partitions with the UASTC encoder; `grid` and `fit` know
//! BC7's endpoints and weights, `stages` its modes, `packing` its bits.
//!
//! ```
//! use kiln_uastc::{BLOCK_BYTES, View, bc7, blocks_high, encoded_len};
//!
//! let pixels = vec![128; 10 * 6 * 4];
//! let view = View::tight(&pixels, 10, 6).expect("the pixels suffice");
//! let mut out = vec![0; encoded_len(10, 6).expect("it fits")];
//! bc7::encode_rows(&view, 0..blocks_high(6), bc7::Bc7Options::default(), &mut out);
//! let first = out[..BLOCK_BYTES].try_into().expect("a block");
//! assert_eq!(bc7::decode_block(first), Some([[128; 4]; 16]));
//! ```
//!
//! Solid-colour blocks are exact. The bytes depend on the texels and the [`Bc7Options`] alone.

mod block;
mod effort;
mod fit;
mod grid;
mod rdo;
mod search;
mod solid;
mod stages;

use kiln_transcode::bc7::{decode, modes, packing, patterns};

pub use kiln_transcode::bc7::decode_block;

use crate::batch::GROUP;
use crate::block::Class;
use crate::lanes::{Lanes, Path, Task};
use crate::rdo::Window;
use crate::view::{View, blocks_high, blocks_wide};
use crate::{BLOCK_BYTES, Quality};
use block::Block;
use effort::Effort;
use std::ops::Range;

/// Options of the BC7 encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bc7Options {
    /// The effort of the search.
    pub quality: Quality,
    /// The image is opaque and its alpha is ignored: it may decode to 254, which leaves the colours more
    /// freedom. Otherwise an opaque block stays opaque. Blocks that are not opaque always keep their alpha.
    pub opaque: bool,
    /// The RDO lambda, as in [`Options::rdo`](crate::Options::rdo). With RDO a block depends on the previous blocks: see
    /// [`strip_rows`].
    pub rdo: Option<f32>,
}

/// Returns the number of block rows for one call of [`encode_rows`] if an image is divided into strips, as
/// [`strip_rows`](crate::strip_rows) of UASTC does.
#[must_use]
pub const fn strip_rows(width: u32, options: &Bc7Options) -> u32 {
    if options.rdo.is_some() { crate::encode::rdo_strip_rows(width) } else { 1 }
}

/// Encodes one block of RGBA texels in raster order.
///
/// [`encode_rows`] is several times as fast for many blocks and gives the same bytes, except with RDO, which needs more
/// than one block.
#[must_use]
pub fn encode_block(texels: &[[u8; 4]; 16], options: Bc7Options) -> [u8; BLOCK_BYTES] {
    let mut out = [0; BLOCK_BYTES];
    encode_with_errors(&[*texels], options, |_, bytes, _| out = bytes);
    out
}

/// Encodes the block rows `block_rows` of an image into `out`, row by row.
///
/// Rows past the last are ignored. `out` begins with the first of the rows and must have room for all of
/// them; if it is shorter, only whole blocks that fit are written.
pub fn encode_rows(view: &View<'_>, block_rows: Range<u32>, options: Bc7Options, out: &mut [u8]) {
    encode_rows_on(Path::best(), view, block_rows, options, out);
}

/// Encodes as [`encode_rows`] does with a given instruction set, to compare them.
#[doc(hidden)]
pub fn encode_rows_on(
    path: Path,
    view: &View<'_>,
    block_rows: Range<u32>,
    options: Bc7Options,
    out: &mut [u8],
) {
    let wide = blocks_wide(view.width());
    let rows = block_rows.start..block_rows.end.min(blocks_high(view.height()));
    if let Some(lambda) = options.rdo.filter(|lambda| *lambda > 0.0) {
        return encode_with_rdo(path, view, rows, options, lambda, out);
    }
    let group = GROUP.min(rows.len().saturating_mul(wide as usize));
    let mut places = rows.flat_map(|y| (0..wide).map(move |x| (x, y)));
    let mut blocks = vec![Block::EMPTY; group];
    for out in out.chunks_mut(GROUP * BLOCK_BYTES) {
        let mut count = 0;
        for ((x, y), block) in places.by_ref().take(out.len() / BLOCK_BYTES).zip(&mut blocks) {
            block.restart(view.block(x, y));
            count += 1;
        }
        if count == 0 {
            return;
        }
        encode(path, &mut blocks[..count], options, out);
    }
}

/// Encodes rows with RDO: the bands that they are in are encoded from their start, and only the rows are written.
fn encode_with_rdo(
    path: Path,
    view: &View<'_>,
    rows: Range<u32>,
    options: Bc7Options,
    lambda: f32,
    out: &mut [u8],
) {
    let wide = blocks_wide(view.width());
    let band = strip_rows(view.width(), &options);
    let first = rows.start - rows.start % band;
    let mut window = Window::<modes::Fields>::new(lambda);
    let mut blocks = vec![Block::EMPTY; GROUP];
    let mut bytes = vec![[0; BLOCK_BYTES]; GROUP];
    let mut out = out.as_chunks_mut::<BLOCK_BYTES>().0.iter_mut();
    let mut places = (first..rows.end.max(first)).flat_map(|y| (0..wide).map(move |x| (x, y)));
    loop {
        let mut at = [(0, 0); GROUP];
        let mut count = 0;
        for (x, y) in places.by_ref().take(GROUP) {
            blocks[count].restart(view.block(x, y));
            at[count] = (x, y);
            count += 1;
        }
        if count == 0 {
            return;
        }
        encode(path, &mut blocks[..count], options, bytes.as_flattened_mut());
        for i in 0..count {
            let (x, y) = at[i];
            if x == 0 && y % band == 0 {
                window.restart();
            }
            let chosen = window.choose(&blocks[i].texels, bytes[i]);
            if y >= rows.start {
                let Some(place) = out.next() else { return };
                *place = chosen;
            }
        }
    }
}

/// Encodes blocks one after the other and returns the predicted squared error of each, to verify that the
/// prediction is exact.
#[doc(hidden)]
pub fn encode_with_errors(
    texels: &[[[u8; 4]; 16]],
    options: Bc7Options,
    mut each: impl FnMut(usize, [u8; BLOCK_BYTES], u32),
) {
    let mut blocks = vec![Block::EMPTY; GROUP.min(texels.len())];
    for (group, texels) in texels.chunks(GROUP).enumerate() {
        let mut bytes = vec![[0; BLOCK_BYTES]; texels.len()];
        for (block, texels) in blocks.iter_mut().zip(texels) {
            block.restart(texels.map(u32::from_le_bytes));
        }
        let blocks = &mut blocks[..texels.len()];
        encode(Path::best(), blocks, options, bytes.as_flattened_mut());
        for (i, (block, bytes)) in blocks.iter().zip(bytes).enumerate() {
            let error = if block.class == Class::Solid { 0 } else { block.error as u32 };
            each(group * GROUP + i, bytes, error);
        }
    }
}

/// Encodes at most a group of blocks. Not generic, so that the search is compiled once, here.
fn encode(path: Path, blocks: &mut [Block], options: Bc7Options, out: &mut [u8]) {
    path.run(Encode { blocks, options, out });
}

/// The task of encoding at most a group of blocks.
struct Encode<'a> {
    blocks: &'a mut [Block],
    options: Bc7Options,
    out: &'a mut [u8],
}

impl Task for Encode<'_> {
    fn run<L: Lanes>(self) {
        search::search::<L>(self.blocks, Effort::of(self.options.quality), !self.options.opaque);
        for (block, out) in self.blocks.iter().zip(self.out.as_chunks_mut::<BLOCK_BYTES>().0) {
            *out = match block.class {
                Class::Solid => packing::pack(&solid::solid(block.texels[0])),
                _ => packing::pack(&block.fields),
            };
        }
    }
}
