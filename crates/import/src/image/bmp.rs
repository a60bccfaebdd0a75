//! BMP (Windows bitmaps): 1 to 32 bits, run-length coded, alpha where a version 3 or later header masks it out.
//!
//! Headers of OS/2 1.x (12 bytes) and Windows (40, 52, 56, 108 and 124 bytes). The fourth byte of plain 32-bit files is
//! padding by the format's rules, so those are opaque. Colours that the palette does not have are black, and so are
//! texels that run-length coding skips. Refused: embedded JPEG and PNG, CMYK, and other headers.

mod rle;

use kiln_engine::{Diag, Limits};
use kiln_ir::{Image, Texels};

use super::{admit, corrupt, le16, le32, orientation, truncated, unsupported, whole};

/// The bytes before the header: signature, size of the file, two reserved fields, offset of the pixels.
const FILE_HEADER: usize = 14;
/// The size of the header of OS/2 1.x, with 16-bit sides and three bytes for a colour of the palette.
const CORE: u32 = 12;
/// The masks of bit fields: in the header, or behind one that ends there.
const MASKS: usize = FILE_HEADER + 40;

type Rgba = [u8; 4];
type Palette = [Rgba; 256];

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    // In all but the oldest header a negative height means top row first.
    match le32(prefix, 14)? {
        CORE => Some((le16(prefix, 18)?, le16(prefix, 20)?)),
        _ => Some((le32(prefix, 18)?, le32(prefix, 22)?.cast_signed().unsigned_abs())),
    }
}

pub(super) fn import(bytes: &[u8], limits: &Limits) -> Result<Image, Diag> {
    let header = Header::read(bytes)?;
    let size = admit(limits, header.width, header.height, 1)?;
    let pixels = usize::try_from(header.pixels).ok().and_then(|at| bytes.get(at..));
    let pixels = pixels.ok_or_else(|| truncated("the pixels start behind its end"))?;
    let (width, layout) = (header.width as usize, header.layout()?);
    let stride = layout.bits().map(|bits| (u64::from(header.width) * u64::from(bits)).div_ceil(32) * 4);
    if let Some(stride) = stride
        && stride.saturating_mul(header.height.into()) > pixels.len() as u64
    {
        return Err(truncated(format!("{} bytes for {} rows of {stride}", pixels.len(), header.height)));
    }
    let mut texels = vec![0; size];
    let out = texels.as_chunks_mut().0;
    // Rows are padded to four bytes, the last one too.
    let rows = |out: &mut [Rgba], unpack: &dyn Fn(&[u8], &mut [Rgba])| {
        let stored = pixels.chunks_exact(stride.map_or(1, |stride| stride as usize));
        stored.zip(out.chunks_exact_mut(width)).for_each(|(row, out)| unpack(row, out));
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
    whole((header.width, header.height, Texels::Rgba8(texels)))
}

/// The arrangement of pixels.
enum Layout {
    /// Numbers of colours, with as many bits.
    Palette(u32),
    /// Runs of numbers of colours with four or eight bits.
    Runs { nibbles: bool },
    /// Blue, green and red, in as many bytes.
    Bytes(usize),
    /// Red, green, blue and alpha in the bits of as many bytes.
    Fields(usize, [Field; 4]),
}

impl Layout {
    /// The bits of a pixel, unless they are coded.
    fn bits(&self) -> Option<u32> {
        match *self {
            Layout::Palette(bits) => Some(bits),
            Layout::Runs { .. } => None,
            Layout::Bytes(len) | Layout::Fields(len, _) => Some(8 * len as u32),
        }
    }
}

struct Header {
    /// The length of the header, which is also its version.
    len: u32,
    width: u32,
    height: u32,
    top_down: bool,
    bits: u32,
    compression: u32,
    /// The colours of the palette, or 0 for as many as the bits can number.
    colours: u32,
    /// The masks of red, green, blue and alpha.
    masks: [u32; 4],
    /// The offset of the pixels.
    pixels: u32,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Header, Diag> {
        let ends = || truncated("the header is cut off");
        let word = |at: usize| le32(bytes, at).ok_or_else(ends);
        let half = |at: usize| le16(bytes, at).ok_or_else(ends);
        let (pixels, len) = (word(10)?, word(14)?);
        let (width, height, planes_at) = match len {
            CORE => (half(18)?, half(20)?.cast_signed(), 22),
            40 | 52 | 56 | 108 | 124 => (word(18)?, word(22)?.cast_signed(), 26),
            0..CORE => return Err(corrupt(format!("a header of {len} bytes"))),
            _ => {
                return Err(unsupported(
                    format!("a header of {len} bytes"),
                    "save it in a common variant, or as PNG",
                ));
            }
        };
        if width > i32::MAX as u32 {
            return Err(corrupt(format!("a width of {}", width.cast_signed())));
        }
        let (planes, bits) = (half(planes_at)?, half(planes_at + 2)?);
        if planes != 1 {
            return Err(corrupt(format!("{planes} planes")));
        }
        let (compression, colours) = if len == CORE { (0, 0) } else { (word(30)?, word(46)?) };
        let mut masks = [0; 4];
        if compression == 3 {
            // Version 3 has brought the mask of alpha.
            for (index, mask) in masks[..if len >= 56 { 4 } else { 3 }].iter_mut().enumerate() {
                *mask = word(MASKS + 4 * index)?;
            }
        }
        let (height, top_down) = (height.unsigned_abs(), height < 0);
        Ok(Header { len, width, height, top_down, bits, compression, colours, masks, pixels })
    }

    fn layout(&self) -> Result<Layout, Diag> {
        if self.top_down && !matches!(self.compression, 0 | 3) {
            return Err(corrupt(format!("compression {} with the top row first", self.compression)));
        }
        match (self.compression, self.bits) {
            (0, 1 | 4 | 8) => Ok(Layout::Palette(self.bits)),
            (0, 2 | 16 | 32) if self.len == CORE => Err(corrupt(format!("{} bits a pixel", self.bits))),
            (0, 2) => Ok(Layout::Palette(2)),
            (0, 16) => Ok(Layout::Fields(2, fields([0x7C00, 0x03E0, 0x001F, 0], 16)?)),
            (0, 24) => Ok(Layout::Bytes(3)),
            (0, 32) => Ok(Layout::Bytes(4)),
            (1, 8) => Ok(Layout::Runs { nibbles: false }),
            (2, 4) => Ok(Layout::Runs { nibbles: true }),
            (3, 16 | 32) => Ok(Layout::Fields(self.bits as usize / 8, fields(self.masks, self.bits)?)),
            (4 | 5 | 11..=13, _) => {
                let what = match self.compression {
                    4 => "a JPEG in a BMP",
                    5 => "a PNG in a BMP",
                    _ => "a BMP in CMYK",
                };
                Err(unsupported(what, "save it in a common variant, or as PNG"))
            }
            (compression, bits) => {
                Err(corrupt(format!("{bits} bits a pixel with compression {compression}")))
            }
        }
    }

    /// The colours behind the header, and black where there are none.
    fn palette(&self, bytes: &[u8]) -> Result<Palette, Diag> {
        let most = 1 << self.bits;
        if self.colours > most {
            return Err(corrupt(format!("a palette of {} colours for {} bits", self.colours, self.bits)));
        }
        let colours = if self.colours == 0 { most } else { self.colours } as usize;
        let len = if self.len == CORE { 3 } else { 4 };
        let stored = bytes.get(FILE_HEADER + self.len as usize..).and_then(|rest| rest.get(..colours * len));
        let stored = stored.ok_or_else(|| truncated("the palette is cut off"))?;
        let mut palette = [[0, 0, 0, u8::MAX]; 256];
        for (colour, entry) in palette.iter_mut().zip(stored.chunks_exact(len)) {
            *colour = [entry[2], entry[1], entry[0], u8::MAX];
        }
        Ok(palette)
    }
}

/// A channel in the bits of a pixel: its eight highest bits, if it has more.
struct Field {
    shift: u32,
    /// The largest value, or 0 for a channel that is always full.
    max: u32,
}

impl Field {
    /// The nearest of 256 steps.
    fn read(&self, pixel: u32) -> u8 {
        match self.max {
            0 => u8::MAX,
            255 => (pixel >> self.shift) as u8,
            max => (((pixel >> self.shift & max) * 255 + max / 2) / max) as u8,
        }
    }
}

/// The channels that masks state: all but alpha have to be there.
fn fields(masks: [u32; 4], bits: u32) -> Result<[Field; 4], Diag> {
    if masks[..3].contains(&0) {
        return Err(corrupt("a colour channel without bits"));
    }
    if let Some(mask) = masks.iter().find(|&&mask| !is_field(mask, bits)) {
        return Err(corrupt(format!("a channel mask of {mask:#x} for {bits} bits a pixel")));
    }
    Ok(masks.map(|mask| {
        let len = mask.count_ones().min(8);
        Field { shift: (u32::BITS - mask.leading_zeros()).saturating_sub(len), max: (1 << len) - 1 }
    }))
}

/// Whether the bits of a mask are adjacent and inside a pixel.
fn is_field(mask: u32, bits: u32) -> bool {
    let run = mask.checked_shr(mask.trailing_zeros()).unwrap_or(0);
    run & run.wrapping_add(1) == 0 && u64::from(mask) < 1 << bits
}
