//! Encodes a mip level: UASTC blocks, BC7 blocks or raw RGBA8.
//!
//! Rows are rounded to bytes, swizzled and encoded strip by strip, so that no whole level is held as bytes
//! besides its result.

use std::ops::Range;

use rayon::prelude::*;

use crate::filter_mode::FilterMode;
use crate::plane::Plane;
use crate::swizzle::{Swizzle, any_alpha};

/// Rows of texels in a strip, eight rows of blocks: half a megabyte of texels at a width of 4096.
const STRIP_ROWS: u32 = 32;

/// The texel format to encode to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// UASTC blocks of swizzled texels.
    Uastc(Swizzle, kiln_uastc::Options),
    /// BC7 blocks of swizzled texels.
    Bc7(Swizzle, kiln_uastc::bc7::Bc7Options),
    /// RGBA8 texels without a swizzle.
    Raw,
}

impl Target {
    /// Returns the rows of texels in a strip of an image of this width: whole bands where RDO refers to
    /// earlier rows of blocks.
    pub(crate) fn strip_rows(&self, width: u32) -> u32 {
        match self {
            Target::Uastc(_, options) => {
                STRIP_ROWS.next_multiple_of(kiln_uastc::strip_rows(width, options) * 4)
            }
            Target::Bc7(..) | Target::Raw => STRIP_ROWS,
        }
    }

    /// Returns the encoded size of an image in bytes.
    pub(crate) fn encoded_len(&self, width: u32, height: u32) -> usize {
        match self {
            Target::Uastc(..) | Target::Bc7(..) => {
                width.div_ceil(4) as usize * height.div_ceil(4) as usize * 16
            }
            Target::Raw => width as usize * height as usize * 4,
        }
    }
}

/// Encodes an image and appends it to the bytes of its mip level. Returns true if the block encoder saw a
/// texel that was not opaque.
pub(crate) fn append(
    plane: &Plane,
    filter_mode: FilterMode,
    alpha_scale: f32,
    target: &Target,
    out: &mut Vec<u8>,
) -> bool {
    let (width, height) = (plane.width(), plane.height());
    let start = out.len();
    out.resize(start + target.encoded_len(width, height), 0);
    let read = |rows, bytes: &mut [u8]| plane.bytes(filter_mode, alpha_scale, rows, bytes);
    encode_strips(width, 0..height, target, read, &mut out[start..])
}

/// Encodes rows of a mip level, which start at a multiple of [`Target::strip_rows`] and end at one or at the
/// end of the level. `read` fills a buffer with the RGBA8 texels of a range of rows.
pub(crate) fn encode_strips(
    width: u32,
    rows: Range<u32>,
    target: &Target,
    read: impl Fn(Range<u32>, &mut [u8]) + Sync,
    out: &mut [u8],
) -> bool {
    let strip_rows = target.strip_rows(width);
    out.par_chunks_mut(target.encoded_len(width, strip_rows))
        .enumerate()
        .map_init(Vec::new, |scratch, (i, strip)| {
            let first = rows.start + i as u32 * strip_rows;
            let rows = first..rows.end.min(first.saturating_add(strip_rows));
            match target {
                Target::Raw => {
                    read(rows, strip);
                    false
                }
                Target::Uastc(swizzle, _) | Target::Bc7(swizzle, _) => {
                    scratch.resize(rows.len() * width as usize * 4, 0);
                    read(rows.clone(), scratch);
                    swizzle.apply(scratch);
                    encode_blocks(scratch, width, rows.len() as u32, target, strip);
                    any_alpha(scratch)
                }
            }
        })
        .reduce(|| false, |a, b| a | b)
}

/// Encodes the blocks of one strip.
fn encode_blocks(rgba: &[u8], width: u32, height: u32, target: &Target, out: &mut [u8]) {
    let all: Range<u32> = 0..height.div_ceil(4);
    let Some(view) = kiln_uastc::View::tight(rgba, width, height) else { return };
    match target {
        Target::Uastc(_, options) => kiln_uastc::encode_rows(&view, all, options, out),
        Target::Bc7(_, options) => kiln_uastc::bc7::encode_rows(&view, all, *options, out),
        Target::Raw => {}
    }
}
