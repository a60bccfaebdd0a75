//! BMP (Windows bitmaps): 1 to 32 bits, run-length encoding, alpha where the header has an alpha mask (version 3 or later).
//!
//! Headers of OS/2 1.x (12 bytes) and Windows (40, 52, 56, 108 and 124 bytes). The fourth byte of 32-bit files without masks is
//! padding by the format's rules, so those are opaque. Colours that the palette does not have are black, and so are
//! texels that run-length encoding skips. Rejects embedded JPEG and PNG, CMYK, and other headers.

mod rle;

use kiln_diagnostics::{Diag, Limits};
use kiln_ir::{Image, Texels};

use super::{admit, checked_image, corrupt, le16, le32, orientation, truncated, unsupported};

/// The length of the file header: magic, size of the file, two reserved fields, offset of the pixels.
const FILE_HEADER: usize = 14;
/// The size of the OS/2 1.x header, with 16-bit dimensions and three bytes per palette colour.
const CORE: u32 = 12;
/// The offset of the bit field masks: in the header, or behind a 40-byte one.
const MASKS: usize = FILE_HEADER + 40;

type Rgba = [u8; 4];
type Palette = [Rgba; 256];

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    // In all headers but the oldest, a negative height means top row first.
    match le32(prefix, 14)? {
        CORE => Some((le16(prefix, 18)?, le16(prefix, 20)?)),
        _ => Some((le32(prefix, 18)?, le32(prefix, 22)?.cast_signed().unsigned_abs())),
    }
}

pub(super) fn import(bytes: &[u8], limits: &Limits) -> Result<Image, Diag> {
    let header = Header::read(bytes)?;
    let size = admit(limits, header.width, header.height, 1)?;
    let pixels = usize::try_from(header.pixels).ok().and_then(|at| bytes.get(at..));
    let pixels = pixels.ok_or_else(|| truncated("the pixels start beyond the end of the file"))?;
    let (width, layout) = (header.width as usize, header.layout()?);
    let stride = layout.bits().map(|bits| (u64::from(header.width) * u64::from(bits)).div_ceil(32) * 4);
    if let Some(stride) = stride
        && stride.saturating_mul(header.height.into()) > pixels.len() as u64
    {
        return Err(truncated(format!(
            "{} bytes cannot contain {} rows of {stride} bytes",
            pixels.len(),
            header.height
        )));
    }
    let mut texels = vec![0; size];
    let out = texels.as_chunks_mut().0;
    // Rows are padded to four bytes, the last one too.
    let rows = |out: &mut [Rgba], decode_row: &dyn Fn(&[u8], &mut [Rgba])| {
        let stored = pixels.chunks_exact(stride.map_or(1, |stride| stride as usize));
        stored.zip(out.chunks_exact_mut(width)).for_each(|(row, out)| decode_row(row, out));
    };
    match layout {
        Layout::Palette(bits) => {
            let palette = header.palette(bytes)?;
            let per_byte = 8 / bits as usize;
            let mask = ((1u16 << bits) - 1) as u8;
            rows(out, &|row, out| {
                for (x, texel) in out.iter_mut().enumerate() {
                    let shift = bits as usize * (per_byte - 1 - x % per_byte);
                    *texel = palette[usize::from(row[x / per_byte] >> shift & mask)];
                }
            });
        }
        Layout::Runs { nibbles } => rle::decode(pixels, nibbles, &header.palette(bytes)?, width, out)?,
        Layout::Bytes(len) => rows(out, &|row, out| {
            for (pixel, texel) in row.chunks_exact(len).zip(out) {
                *texel = [pixel[2], pixel[1], pixel[0], u8::MAX];
            }
        }),
        Layout::Fields(len, fields) => rows(out, &|row, out| {
            for (pixel, texel) in row.chunks_exact(len).zip(out) {
                let number = pixel.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
                *texel = fields.each_ref().map(|field| field.read(number));
            }
        }),
    }
    if !header.top_down {
        orientation::flip_vertically(&mut texels, width);
    }
    checked_image((header.width, header.height, Texels::Rgba8(texels)))
}

/// The pixel layout.
enum Layout {
    /// Palette indices of this many bits.
    Palette(u32),
    /// Run-length encoded palette indices of 4 or 8 bits.
    Runs { nibbles: bool },
    /// Blue, green and red, in pixels of this many bytes.
    Bytes(usize),
    /// Red, green, blue and alpha as bit fields in pixels of this many bytes.
    Fields(usize, [Field; 4]),
}

impl Layout {
    /// Returns the bits per pixel, or `None` for run-length encoding.
    fn bits(&self) -> Option<u32> {
        match *self {
            Layout::Palette(bits) => Some(bits),
            Layout::Runs { .. } => None,
            Layout::Bytes(len) | Layout::Fields(len, _) => Some(8 * len as u32),
        }
    }
}

struct Header {
    /// The length of the header, which implies its version.
    len: u32,
    width: u32,
    height: u32,
    top_down: bool,
    bits: u32,
    compression: u32,
    /// The number of palette colours, or 0 for as many as the index bits allow.
    colours: u32,
    /// The masks of red, green, blue and alpha.
    masks: [u32; 4],
    /// The offset of the pixel data.
    pixels: u32,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Header, Diag> {
        let ends = || truncated("the header is incomplete");
        let word = |at: usize| le32(bytes, at).ok_or_else(ends);
        let half = |at: usize| le16(bytes, at).ok_or_else(ends);
        let (pixels, len) = (word(10)?, word(14)?);
        let (width, height, planes_at) = match len {
            CORE => (half(18)?, half(20)?.cast_signed(), 22),
            40 | 52 | 56 | 108 | 124 => (word(18)?, word(22)?.cast_signed(), 26),
            0..CORE => return Err(corrupt(format!("the header has {len} bytes"))),
            _ => {
                return Err(unsupported(
                    format!("a BMP header of {len} bytes"),
                    "save the image with a Windows BMP header, or as PNG",
                ));
            }
        };
        if width > i32::MAX as u32 {
            return Err(corrupt(format!("the width is {}", width.cast_signed())));
        }
        let (planes, bits) = (half(planes_at)?, half(planes_at + 2)?);
        if planes != 1 {
            return Err(corrupt(format!("the header states {planes} colour planes")));
        }
        let (compression, colours) = if len == CORE { (0, 0) } else { (word(30)?, word(46)?) };
        let mut masks = [0; 4];
        if compression == 3 {
            // The alpha mask exists since version 3.
            for (index, mask) in masks[..if len >= 56 { 4 } else { 3 }].iter_mut().enumerate() {
                *mask = word(MASKS + 4 * index)?;
            }
        }
        let (height, top_down) = (height.unsigned_abs(), height < 0);
        Ok(Header { len, width, height, top_down, bits, compression, colours, masks, pixels })
    }

    fn layout(&self) -> Result<Layout, Diag> {
        if self.top_down && !matches!(self.compression, 0 | 3) {
            return Err(corrupt(format!(
                "compression {} is not allowed with the top row first",
                self.compression
            )));
        }
        match (self.compression, self.bits) {
            (0, 1 | 4 | 8) => Ok(Layout::Palette(self.bits)),
            (0, 2 | 16 | 32) if self.len == CORE => {
                Err(corrupt(format!("{} bits per pixel are not allowed", self.bits)))
            }
            (0, 2) => Ok(Layout::Palette(2)),
            (0, 16) => Ok(Layout::Fields(2, fields([0x7C00, 0x03E0, 0x001F, 0], 16)?)),
            (0, 24) => Ok(Layout::Bytes(3)),
            (0, 32) => Ok(Layout::Bytes(4)),
            (1, 8) => Ok(Layout::Runs { nibbles: false }),
            (2, 4) => Ok(Layout::Runs { nibbles: true }),
            (3, 16 | 32) => Ok(Layout::Fields(self.bits as usize / 8, fields(self.masks, self.bits)?)),
            (4 | 5 | 11..=13, _) => {
                let what = match self.compression {
                    4 => "BMP with embedded JPEG",
                    5 => "BMP with embedded PNG",
                    _ => "BMP in CMYK",
                };
                Err(unsupported(what, "save the image as an RGB BMP, or as PNG"))
            }
            (compression, bits) => {
                Err(corrupt(format!("{bits} bits per pixel are not allowed with compression {compression}")))
            }
        }
    }

    /// Reads the palette behind the header; missing colours are black.
    fn palette(&self, bytes: &[u8]) -> Result<Palette, Diag> {
        let most = 1 << self.bits;
        if self.colours > most {
            return Err(corrupt(format!(
                "the palette has {} colours for indices of {} bits",
                self.colours, self.bits
            )));
        }
        let colours = if self.colours == 0 { most } else { self.colours } as usize;
        let len = if self.len == CORE { 3 } else { 4 };
        let stored = bytes.get(FILE_HEADER + self.len as usize..).and_then(|rest| rest.get(..colours * len));
        let stored = stored.ok_or_else(|| truncated("the palette is incomplete"))?;
        let mut palette = [[0, 0, 0, u8::MAX]; 256];
        for (colour, entry) in palette.iter_mut().zip(stored.chunks_exact(len)) {
            *colour = [entry[2], entry[1], entry[0], u8::MAX];
        }
        Ok(palette)
    }
}

/// A channel as a bit field of a pixel: its eight highest bits, if it has more.
struct Field {
    shift: u32,
    /// The largest value of the field, or 0 for a channel that is always 255.
    max: u32,
}

impl Field {
    /// Scales the field to 0..=255, rounded to the nearest.
    fn read(&self, pixel: u32) -> u8 {
        match self.max {
            0 => u8::MAX,
            255 => (pixel >> self.shift) as u8,
            max => (((pixel >> self.shift & max) * 255 + max / 2) / max) as u8,
        }
    }
}

/// Creates the bit fields of masks; all but alpha are required.
fn fields(masks: [u32; 4], bits: u32) -> Result<[Field; 4], Diag> {
    if masks[..3].contains(&0) {
        return Err(corrupt("the mask of a colour channel is empty"));
    }
    if let Some(mask) = masks.iter().find(|&&mask| !is_field(mask, bits)) {
        return Err(corrupt(format!("the channel mask {mask:#x} is invalid for {bits} bits per pixel")));
    }
    Ok(masks.map(|mask| {
        let len = mask.count_ones().min(8);
        Field { shift: (u32::BITS - mask.leading_zeros()).saturating_sub(len), max: (1 << len) - 1 }
    }))
}

/// Returns `true` if the bits of a mask are contiguous and inside a pixel.
fn is_field(mask: u32, bits: u32) -> bool {
    let run = mask.checked_shr(mask.trailing_zeros()).unwrap_or(0);
    run & run.wrapping_add(1) == 0 && u64::from(mask) < 1 << bits
}
