//! Transcoding of blocks and images.

use crate::uastc::decode::{Channels, decode_channels, interleave};
use crate::uastc::modes::{MODES, Mode, SOLID};
use crate::uastc::unpack::{hints, solid_hint};
use crate::{Channel, Error, Target, astc, bc1, bc4, bc7, eac, etc1};

/// Bytes of a UASTC block.
pub const BLOCK_BYTES: usize = 16;

/// Returns the bytes of a UASTC image: `None` if they exceed the address space.
#[must_use]
pub const fn uastc_len(width: u32, height: u32) -> Option<usize> {
    // UASTC has blocks of the size of ASTC's.
    Target::Astc4x4.image_len(width, height)
}

/// Transcodes an image of `width` times `height` texels. Blocks are stored row by row, in `blocks` and in `out`;
/// [`Target::Rgba8`] has rows of texels instead.
///
/// # Errors
///
/// - [`Error::InputLength`] if `blocks` does not have the length of the image,
/// - [`Error::OutputLength`] if `out` does not have the length that [`Target::image_len`] returns,
/// - [`Error::Block`] if a block is not a UASTC block. Blocks before it have been written.
pub fn transcode(
    blocks: &[u8],
    width: u32,
    height: u32,
    target: Target,
    out: &mut [u8],
) -> Result<(), Error> {
    let needed = uastc_len(width, height).ok_or(Error::TooLarge)?;
    if blocks.len() != needed {
        return Err(Error::InputLength { expected: needed, found: blocks.len() });
    }
    let needed = target.image_len(width, height).ok_or(Error::TooLarge)?;
    if out.len() != needed {
        return Err(Error::OutputLength { expected: needed, found: out.len() });
    }
    let blocks = blocks.as_chunks::<BLOCK_BYTES>().0;
    match target {
        Target::Rgba8 => to_rgba8(blocks, width as usize, out),
        Target::Astc4x4 => each(blocks, out, astc::transcode),
        Target::Bc7 => each(blocks, out, bc7::transcode::transcode),
        Target::Bc1 => each(blocks, out, bc1::transcode),
        Target::Bc3 => each(blocks, out, to_bc3),
        Target::Bc4(channel) => each(blocks, out, |block| to_bc4(block, channel)),
        Target::Bc5(channels) => each(blocks, out, |block| to_bc5(block, channels)),
        Target::Etc1 => each(blocks, out, to_etc1),
        Target::Etc2Rgba => each(blocks, out, to_etc2),
        Target::EacR11(channel) => each(blocks, out, |block| to_eac(block, [channel]).map(|[only]| only)),
        Target::EacRg11(channels) => {
            each(blocks, out, |block| to_eac(block, channels).map(|[first, second]| both(first, second)))
        }
    }
}

/// Transcodes each block with a function, compiled for each of them.
#[inline]
fn each<const N: usize>(
    blocks: &[[u8; BLOCK_BYTES]],
    out: &mut [u8],
    transcode: impl Fn(&[u8; BLOCK_BYTES]) -> Option<[u8; N]>,
) -> Result<(), Error> {
    for (index, (block, out)) in blocks.iter().zip(out.as_chunks_mut::<N>().0).enumerate() {
        *out = transcode(block).ok_or(Error::Block { index })?;
    }
    Ok(())
}

fn to_rgba8(blocks: &[[u8; BLOCK_BYTES]], width: usize, out: &mut [u8]) -> Result<(), Error> {
    let columns = width.div_ceil(4);
    if columns == 0 {
        return Ok(());
    }
    let rows = blocks.chunks_exact(columns).zip(out.chunks_mut(width * 4 * 4));
    for (y, (blocks, out)) in rows.enumerate() {
        for (x, block) in blocks.iter().enumerate() {
            let texels = decode_channels(block).ok_or(Error::Block { index: y * columns + x })?;
            let texels = interleave(&texels);
            // The last column and the last row may have fewer than four texels.
            for (row, texels) in out.chunks_exact_mut(width * 4).zip(texels.as_chunks::<4>().0) {
                match row[x * 16..].first_chunk_mut::<16>() {
                    Some(four) => four.copy_from_slice(texels.as_flattened()),
                    None => {
                        let rest = &mut row[x * 16..];
                        rest.copy_from_slice(&texels.as_flattened()[..rest.len()]);
                    }
                }
            }
        }
    }
    Ok(())
}

fn both(first: [u8; 8], second: [u8; 8]) -> [u8; 16] {
    (u128::from(u64::from_le_bytes(first)) | u128::from(u64::from_le_bytes(second)) << 64).to_le_bytes()
}

fn to_bc3(block: &[u8; 16]) -> Option<[u8; 16]> {
    let mode = Mode::of_first_byte(block[0])?;
    let texels = decode_channels(block)?;
    Some(both(bc4::encode(&texels[3]), bc1::transcode_texels(block, mode, &texels)?))
}

fn to_bc4(block: &[u8; 16], channel: Channel) -> Option<[u8; 8]> {
    Some(bc4::encode(&decode_channels(block)?[channel as usize]))
}

fn to_bc5(block: &[u8; 16], [first, second]: [Channel; 2]) -> Option<[u8; 16]> {
    let texels = decode_channels(block)?;
    Some(both(bc4::encode(&texels[first as usize]), bc4::encode(&texels[second as usize])))
}

fn to_etc1(block: &[u8; 16]) -> Option<[u8; 8]> {
    let number = Mode::of_first_byte(block[0])?;
    if number == SOLID {
        return Some(solid_etc1(block));
    }
    Some(etc1_of(block, number, &decode_channels(block)?))
}

fn solid_etc1(block: &[u8; 16]) -> [u8; 8] {
    let (hint, differential) = solid_hint(block);
    etc1::solid(&hint, differential)
}

fn etc1_of(block: &[u8; 16], number: u8, texels: &Channels) -> [u8; 8] {
    let mode = &MODES[usize::from(number)];
    etc1::encode(texels, &hints(block, mode), mode.has_long_hints())
}

fn to_etc2(block: &[u8; 16]) -> Option<[u8; 16]> {
    let number = Mode::of_first_byte(block[0])?;
    let texels = decode_channels(block)?;
    if number == SOLID {
        return Some(both(eac::solid_alpha(texels[3][0]), solid_etc1(block)));
    }
    Some(both(hinted_alpha(block, number, &texels), etc1_of(block, number, &texels)))
}

fn hinted_alpha(block: &[u8; 16], number: u8, texels: &Channels) -> [u8; 8] {
    eac::encode_hinted(&texels[3], hints(block, &MODES[usize::from(number)]).eac)
}

/// Returns an EAC block for each channel. Alpha uses the hints of the block.
fn to_eac<const N: usize>(block: &[u8; 16], channels: [Channel; N]) -> Option<[[u8; 8]; N]> {
    let number = Mode::of_first_byte(block[0])?;
    let texels = decode_channels(block)?;
    Some(channels.map(|channel| {
        let values = &texels[channel as usize];
        if number == SOLID {
            eac::solid(values[0])
        } else if channel == Channel::Alpha {
            hinted_alpha(block, number, &texels)
        } else {
            eac::encode(values)
        }
    }))
}
