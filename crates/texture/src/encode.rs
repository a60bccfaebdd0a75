//! Encodes a mip level: blocks of a format of GPUs, UASTC or raw RGBA8.
//!
//! Rows are rounded to bytes, swizzled and encoded strip by strip, so that no whole level is held as bytes
//! besides its result.

use std::ops::Range;

use kiln_block_encoders::{Effort, bc1, bc4, eac, etc2};
use rayon::prelude::*;

use crate::filter_mode::FilterMode;
use crate::plane::Plane;
use crate::swizzle::{Swizzle, any_alpha};
use crate::{Channels, Payload};

/// Rows of texels in a strip, eight rows of blocks: half a megabyte of texels at a width of 4096.
const STRIP_ROWS: u32 = 32;

/// The texel format to encode to. Blocks hold swizzled texels.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// UASTC blocks.
    Uastc(Swizzle, kiln_uastc::Options),
    /// ASTC 4×4 blocks, transcoded from UASTC.
    Astc(Swizzle, kiln_uastc::Options),
    /// BC7 blocks.
    Bc7(Swizzle, kiln_uastc::bc7::Bc7Options),
    /// Blocks of a format with an encoder in `kiln-block-encoders`.
    Blocks(Swizzle, Blocks, Effort),
    /// RGBA8 texels without a swizzle.
    Raw,
}

/// A block format with an encoder in `kiln-block-encoders`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocks {
    Bc1,
    Bc3,
    Bc4,
    Bc5,
    Etc2Rgb,
    Etc2Rgba,
    EacR11,
    EacRg11,
}

impl Target {
    /// Returns the rows of texels in a strip of an image of this width: whole bands where RDO refers to
    /// earlier rows of blocks.
    pub(crate) fn strip_rows(&self, width: u32) -> u32 {
        match self {
            Target::Uastc(_, options) | Target::Astc(_, options) => {
                STRIP_ROWS.next_multiple_of(kiln_uastc::strip_rows(width, options) * 4)
            }
            Target::Bc7(_, options) => {
                STRIP_ROWS.next_multiple_of(kiln_uastc::bc7::strip_rows(width, options) * 4)
            }
            Target::Blocks(..) | Target::Raw => STRIP_ROWS,
        }
    }

    /// Returns whether the encoded blocks do not depend on each other, as they do with RDO.
    pub(crate) fn has_independent_blocks(&self) -> bool {
        match self {
            Target::Uastc(_, options) | Target::Astc(_, options) => options.rdo.is_none(),
            Target::Bc7(_, options) => options.rdo.is_none(),
            Target::Blocks(..) => true,
            Target::Raw => false,
        }
    }

    /// Returns the channel swizzle of the encoded texels.
    pub(crate) fn swizzle(&self) -> Swizzle {
        match self {
            Target::Uastc(swizzle, _)
            | Target::Astc(swizzle, _)
            | Target::Bc7(swizzle, _)
            | Target::Blocks(swizzle, ..) => *swizzle,
            Target::Raw => Swizzle::Rgba,
        }
    }

    /// Returns the bytes of a block of 4×4 texels.
    fn block_bytes(&self) -> usize {
        match self {
            Target::Blocks(_, Blocks::Bc1 | Blocks::Bc4 | Blocks::Etc2Rgb | Blocks::EacR11, _) => 8,
            Target::Uastc(..) | Target::Astc(..) | Target::Bc7(..) | Target::Blocks(..) => 16,
            Target::Raw => 64,
        }
    }

    /// Returns the encoded size of an image in bytes.
    pub(crate) fn encoded_len(&self, width: u32, height: u32) -> usize {
        match self {
            Target::Raw => width as usize * height as usize * 4,
            blocks => width.div_ceil(4) as usize * height.div_ceil(4) as usize * blocks.block_bytes(),
        }
    }

    /// Returns the texel format of the result; `alpha` is true if the encoder saw a texel that was not opaque.
    pub(crate) fn payload(&self, alpha: bool) -> Payload {
        match self {
            Target::Uastc(..) => {
                Payload::Uastc { channels: if alpha { Channels::Rgba } else { Channels::Rgb } }
            }
            Target::Astc(..) => Payload::Astc4x4,
            Target::Bc7(..) => Payload::Bc7,
            Target::Raw => Payload::Rgba8,
            Target::Blocks(_, blocks, _) => match blocks {
                Blocks::Bc1 => Payload::Bc1,
                Blocks::Bc3 => Payload::Bc3,
                Blocks::Bc4 => Payload::Bc4,
                Blocks::Bc5 => Payload::Bc5,
                Blocks::Etc2Rgb => Payload::Etc2Rgb,
                Blocks::Etc2Rgba => Payload::Etc2Rgba,
                Blocks::EacR11 => Payload::EacR11,
                Blocks::EacRg11 => Payload::EacRg11,
            },
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
            if matches!(target, Target::Raw) {
                read(rows, strip);
                return false;
            }
            scratch.resize(rows.len() * width as usize * 4, 0);
            read(rows.clone(), scratch);
            target.swizzle().apply(scratch);
            encode_blocks(scratch, width, rows.len() as u32, target, strip);
            any_alpha(scratch)
        })
        .reduce(|| false, |a, b| a | b)
}

/// Encodes the blocks of one strip of swizzled RGBA8 texels.
pub(crate) fn encode_blocks(rgba: &[u8], width: u32, height: u32, target: &Target, out: &mut [u8]) {
    let all: Range<u32> = 0..height.div_ceil(4);
    let Some(view) = kiln_uastc::View::tight(rgba, width, height) else { return };
    match target {
        Target::Uastc(_, options) => kiln_uastc::encode_rows(&view, all, options, out),
        Target::Astc(_, options) => {
            let mut uastc = vec![0; out.len()];
            kiln_uastc::encode_rows(&view, all, options, &mut uastc);
            let astc = kiln_transcode::Target::Astc4x4;
            let transcoded = kiln_transcode::transcode(&uastc, width, height, astc, out);
            debug_assert!(transcoded.is_ok(), "blocks of the encoder are valid");
        }
        Target::Bc7(_, options) => kiln_uastc::bc7::encode_rows(&view, all, *options, out),
        Target::Blocks(_, blocks, effort) => {
            let places = all.flat_map(|y| (0..width.div_ceil(4)).map(move |x| (x, y)));
            for ((x, y), out) in places.zip(out.chunks_exact_mut(target.block_bytes())) {
                encode_block(&view.block(x, y).map(u32::to_le_bytes), *blocks, *effort, out);
            }
        }
        Target::Raw => {}
    }
}

fn encode_block(texels: &[[u8; 4]; 16], blocks: Blocks, effort: Effort, out: &mut [u8]) {
    let red = || texels.map(|[red, ..]| red);
    let red_green = || texels.map(|[red, green, ..]| [red, green]);
    match blocks {
        Blocks::Bc1 => out.copy_from_slice(&bc1::encode(texels, effort)),
        Blocks::Bc3 => out.copy_from_slice(&bc1::encode_with_alpha(texels, effort)),
        Blocks::Bc4 => out.copy_from_slice(&bc4::encode(&red(), effort)),
        Blocks::Bc5 => out.copy_from_slice(&bc4::encode_two(&red_green(), effort)),
        Blocks::Etc2Rgb => out.copy_from_slice(&etc2::encode(texels, effort)),
        Blocks::Etc2Rgba => out.copy_from_slice(&etc2::encode_with_alpha(texels, effort)),
        Blocks::EacR11 => out.copy_from_slice(&eac::encode_r11(&red(), effort)),
        Blocks::EacRg11 => out.copy_from_slice(&eac::encode_rg11(&red_green(), effort)),
    }
}
