//! TGA (Truevision): true colour, grey and palettes, uncompressed or run-length encoded, with any origin.
//!
//! There are no magic bytes, so a file is TGA when its extension states it and its header is plausible. The sixteenth bit
//! of a pixel is an attribute without a meaning and ignored. Packets may cross rows, and the last one may exceed the image.
//! Data after the pixels (developer area, footer) is not read.

use kiln_diagnostics::{Diag, Limits};
use kiln_ir::{Image, Texels};

use super::{admit, checked_image, corrupt, le16, orientation, truncated, unsupported};

const HEADER: usize = 18;

/// Returns `true` if the header is plausible: known types of colour map and image, a known depth.
pub(super) fn plausible(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER
        && matches!(bytes[1], 0 | 1)
        && matches!(bytes[2], 1..=3 | 9..=11)
        && matches!(bytes[16], 8 | 15 | 16 | 24 | 32)
}

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    Some((le16(prefix, 12)?, le16(prefix, 14)?))
}

/// Returns `true` for an image type of one channel without alpha.
pub(super) fn is_greyscale(bytes: &[u8]) -> bool {
    matches!((bytes.get(2), bytes.get(16)), (Some(3 | 11), Some(8)))
}

pub(super) fn import(bytes: &[u8], limits: &Limits) -> Result<Image, Diag> {
    let (header, rest) =
        bytes.split_first_chunk::<HEADER>().ok_or_else(|| truncated("the header is incomplete"))?;
    let (width, height) = probe(header).expect("the header is there");
    let size = admit(limits, width, height, 1)?;
    let (kind, depth, descriptor) = (header[2], header[16], header[17]);
    let (mapped, coded) = (matches!(kind, 1 | 9), kind > 8);
    let entry_bits = header[7];
    if mapped {
        check_indices(header[1], depth, entry_bits)?;
    }
    let colour = Colour::of(if mapped { entry_bits } else { depth }, descriptor & 15, kind & 3 != 3)?;

    let (_, rest) =
        rest.split_at_checked(header[0].into()).ok_or_else(|| truncated("the image id is incomplete"))?;
    let (palette, pixels) = match header[1] {
        1 => palette(header, rest)?,
        _ => (&[][..], rest),
    };
    let first = le16(header, 3).expect("the header is there") as usize;
    let entry_len = usize::from(entry_bits).div_ceil(8);
    let texel = |pixel: &[u8]| {
        if !mapped {
            return Some(colour.texel(pixel));
        }
        let index = pixel.iter().rev().fold(0, |index, byte| index << 8 | usize::from(*byte));
        let entry = index.checked_sub(first)?.checked_mul(entry_len)?;
        Some(colour.texel(palette.get(entry..entry + entry_len)?))
    };

    let pixel_len = usize::from(depth).div_ceil(8);
    // A packet is a byte and a pixel, and contains at most 128 texels.
    let least = if coded { (size / 4).div_ceil(128) * (1 + pixel_len) } else { size / 4 * pixel_len };
    if pixels.len() < least {
        return Err(truncated(format!("{} bytes cannot contain {width}x{height} texels", pixels.len())));
    }
    let mut texels = vec![0; size];
    decode_pixels(pixels, pixel_len, coded, texels.as_chunks_mut().0, texel)?;
    // Bit 5 means the top row first, bit 4 the rightmost texel first.
    if descriptor & 0x20 == 0 {
        orientation::flip_vertically(&mut texels, width as usize);
    }
    if descriptor & 0x10 != 0 {
        orientation::flip_horizontally(&mut texels, width as usize);
    }
    checked_image((width, height, Texels::Rgba8(texels)))
}

/// Checks that indexed pixels have a palette and a supported depth.
fn check_indices(palettes: u8, depth: u8, entry_bits: u8) -> Result<(), Diag> {
    match depth {
        _ if palettes != 1 => Err(corrupt("the pixels are palette indices, and there is no palette")),
        8 | 16 if depth <= entry_bits => Ok(()),
        8 | 16 => Err(unknown(format!("TGA with indices of {depth} bits for colours of {entry_bits} bits"))),
        _ => Err(corrupt(format!("palette indices have {depth} bits"))),
    }
}

/// Splits the palette from the pixels. A true-colour file may have one too.
fn palette<'a>(header: &[u8; HEADER], rest: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), Diag> {
    let (entries, bits) = (le16(header, 5).expect("the header is there"), header[7]);
    if !matches!(bits, 15 | 16 | 24 | 32) {
        return Err(unknown(format!("TGA with a palette of {bits}-bit colours")));
    }
    let len = entries as usize * usize::from(bits).div_ceil(8);
    rest.split_at_checked(len).ok_or_else(|| truncated("the palette is incomplete"))
}

/// The layout of pixels or of palette entries.
#[derive(Clone, Copy)]
enum Colour {
    Grey,
    GreyAlpha,
    /// Five bits each of blue, green and red, from the lowest.
    Bgr5,
    Bgr,
    Bgra,
}

impl Colour {
    /// Returns the layout of pixels with this many bits, of which some are attributes.
    fn of(bits: u8, attributes: u8, coloured: bool) -> Result<Colour, Diag> {
        match (attributes, bits.checked_sub(attributes), coloured) {
            (_, None, _) => {
                Err(corrupt(format!("pixels of {bits} bits cannot have {attributes} bits of alpha")))
            }
            (0, Some(32), true) | (8, Some(24), true) => Ok(Colour::Bgra),
            (0, Some(24), true) => Ok(Colour::Bgr),
            (0 | 1, Some(15), true) | (0, Some(16), true) => Ok(Colour::Bgr5),
            (8, Some(8), false) => Ok(Colour::GreyAlpha),
            // A channel of alpha only is read as grey.
            (0, Some(8), false) | (8, Some(0), false) => Ok(Colour::Grey),
            _ => Err(unknown(format!("TGA with {bits} bits per pixel, {attributes} of them alpha"))),
        }
    }

    /// Converts a pixel, which has the size of the layout, to RGBA.
    fn texel(self, pixel: &[u8]) -> [u8; 4] {
        match (self, pixel) {
            (Colour::Grey, &[l]) => [l, l, l, u8::MAX],
            (Colour::GreyAlpha, &[l, a]) => [l, l, l, a],
            (Colour::Bgr5, &[low, high]) => {
                let bits = u16::from_le_bytes([low, high]);
                // Rounded to the nearest of 256 steps.
                let channel = |shift: u32| (((bits >> shift & 31) * 255 + 15) / 31) as u8;
                [channel(10), channel(5), channel(0), u8::MAX]
            }
            (Colour::Bgr, &[b, g, r]) => [r, g, b, u8::MAX],
            (Colour::Bgra, &[b, g, r, a]) => [r, g, b, a],
            _ => [0; 4],
        }
    }
}

/// Decodes pixels into `out` in the order of the file.
fn decode_pixels(
    mut data: &[u8],
    len: usize,
    coded: bool,
    mut out: &mut [[u8; 4]],
    texel: impl Fn(&[u8]) -> Option<[u8; 4]>,
) -> Result<(), Diag> {
    let ends = || truncated("the pixels are incomplete");
    let texel = |pixel: &[u8]| texel(pixel).ok_or_else(|| corrupt("a palette index is out of range"));
    while !out.is_empty() {
        let (count, repeats) = match coded {
            false => (out.len(), false),
            true => {
                let (&head, rest) = data.split_first().ok_or_else(ends)?;
                data = rest;
                (usize::from(head & 0x7F) + 1, head & 0x80 != 0)
            }
        };
        let count = count.min(out.len());
        let (run, rest) = std::mem::take(&mut out).split_at_mut(count);
        let (pixels, after) =
            data.split_at_checked(if repeats { len } else { run.len() * len }).ok_or_else(ends)?;
        match repeats {
            true => run.fill(texel(pixels)?),
            false => {
                for (pixel, out) in pixels.chunks_exact(len).zip(run) {
                    *out = texel(pixel)?;
                }
            }
        }
        (data, out) = (after, rest);
    }
    Ok(())
}

fn unknown(what: String) -> Diag {
    unsupported(what, "save the image as a true-colour TGA, or as PNG")
}
