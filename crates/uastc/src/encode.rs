//! The way in: blocks, strips of blocks, groups for the search.

use crate::block::{Block, Class};
use crate::effort::Effort;
use crate::hints;
use crate::lanes::{Lanes, Path, Task};
use crate::packing::{pack, pack_solid};
use crate::search::{GROUP, search};
use crate::view::{View, blocks_high, blocks_wide};
use crate::{BLOCK_BYTES, Options};
use std::ops::Range;

/// Encodes one block of RGBA texels in raster order.
///
/// [`encode_rows`] is several times as fast for many blocks and gives the same bytes.
#[must_use]
pub fn encode_block(texels: &[[u8; 4]; 16], options: &Options) -> [u8; BLOCK_BYTES] {
    let mut blocks = [Block::new(texels.map(u32::from_le_bytes))];
    let mut out = [0; BLOCK_BYTES];
    Path::best().run(Encode { blocks: &mut blocks, options, out: &mut out });
    out
}

/// Encodes the rows of blocks `block_rows` of an image into `out`, row by row.
///
/// Rows past the last are ignored. `out` begins with the first of the rows and must have room for all of them;
/// if it is shorter, only whole blocks that fit are written.
pub fn encode_rows(view: &View<'_>, block_rows: Range<u32>, options: &Options, out: &mut [u8]) {
    encode_rows_on(Path::best(), view, block_rows, options, out);
}

/// [`encode_rows`] with a given instruction set, to compare them.
pub fn encode_rows_on(
    path: Path,
    view: &View<'_>,
    block_rows: Range<u32>,
    options: &Options,
    out: &mut [u8],
) {
    let wide = blocks_wide(view.width());
    let rows = block_rows.start..block_rows.end.min(blocks_high(view.height()));
    let mut places = rows.flat_map(|y| (0..wide).map(move |x| (x, y)));
    let mut blocks = [Block::EMPTY; GROUP];
    for out in out.chunks_mut(GROUP * BLOCK_BYTES) {
        let room = out.len() / BLOCK_BYTES;
        let mut count = 0;
        for (x, y) in places.by_ref().take(room) {
            blocks[count] = Block::new(view.block(x, y));
            count += 1;
        }
        path.run(Encode { blocks: &mut blocks[..count], options, out });
    }
}

/// At most a group of blocks to encode.
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
