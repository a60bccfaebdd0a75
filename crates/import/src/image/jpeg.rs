//! JPEG (ITU-T T.81): baseline and progressive, grey, YCbCr, RGB, CMYK and YCCK.
//!
//! The decoder forgives much, so the markers are walked here first: for what it would decode wrongly, and for
//! the end of the image, without which the file is truncated. Refused: lossless, hierarchical and arithmetic
//! coding, and more than eight bits. JPEG has no checksum: damage inside the coded data may go unnoticed.

use kiln_engine::{Code, Diag, Limits};
use kiln_ir::{Image, Texels};
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::{admit, corrupt, truncated, unsupported, upright, widen};

/// What the markers of a file say.
#[derive(Debug, Default)]
struct Markers<'a> {
    frame: Option<Frame>,
    /// The colour transform of Adobe's segment.
    adobe: Option<u8>,
    exif: Option<&'a [u8]>,
    /// Whether the end of the image was reached.
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The low nibble of its marker: 0 and 1 sequential, 2 progressive, others of coding nobody uses.
    coding: u8,
    bits: u8,
    width: u32,
    height: u32,
    components: u8,
    /// Samples of all components for one of the finest, in sixteenths.
    density: u64,
    /// Whether the components are called R, G and B.
    named_rgb: bool,
}

impl<'a> Markers<'a> {
    /// Follows the segments until the first frame header, or to the end when `all` is set.
    fn walk(bytes: &'a [u8], all: bool) -> Markers<'a> {
        let mut found = Markers::default();
        let mut at = 2;
        while let Some(marker) = next_marker(bytes, &mut at) {
            if marker == 0xD9 {
                found.ended = true;
                break;
            }
            let Some(length) = bytes.get(at..at + 2).map(|b| usize::from(u16::from_be_bytes([b[0], b[1]])))
            else {
                break;
            };
            let Some(segment) = bytes.get(at + 2..at + length.max(2)) else { break };
            match marker {
                0xC0..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) && found.frame.is_none() => {
                    found.frame = Frame::read(marker, segment);
                    if !all {
                        break;
                    }
                }
                0xE1 if found.exif.is_none() => found.exif = segment.strip_prefix(b"Exif\0\0"),
                0xEE if segment.starts_with(b"Adobe") && segment.len() >= 12 => {
                    found.adobe = Some(segment[11]);
                }
                _ => {}
            }
            at += length.max(2);
        }
        found
    }
}

impl Frame {
    fn read(marker: u8, segment: &[u8]) -> Option<Frame> {
        let &[bits, h1, h0, w1, w0, components, ref specs @ ..] = segment else { return None };
        let names = specs.chunks_exact(3).map(|spec| spec[0]);
        let factors = specs.chunks_exact(3).map(|spec| (u64::from(spec[1] >> 4), u64::from(spec[1] & 15)));
        let most = |(a, b): (u64, u64), (c, d): (u64, u64)| (a.max(c), b.max(d));
        let (across, down) = factors.clone().fold((1, 1), most);
        let density = factors.map(|(h, v)| (h * v * 16).div_ceil(across * down)).sum();
        Some(Frame {
            coding: marker & 0x0F,
            bits,
            width: u16::from_be_bytes([w1, w0]).into(),
            height: u16::from_be_bytes([h1, h0]).into(),
            components,
            density,
            named_rgb: names.eq(*b"RGB"),
        })
    }
}

/// The next marker that starts a segment or ends the image, with `at` left behind it. Passes over coded data,
/// in which `FF` is followed by zero, and over restart markers, which have no segment.
fn next_marker(bytes: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        *at += bytes.get(*at..)?.iter().position(|&byte| byte == 0xFF)? + 1;
        match *bytes.get(*at)? {
            0xFF => {}
            0x00 | 0x01 | 0xD0..=0xD8 => *at += 1,
            marker => {
                *at += 1;
                return Some(marker);
            }
        }
    }
}

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    Markers::walk(prefix, false).frame.map(|frame| (frame.width, frame.height))
}

pub(super) fn import(bytes: &[u8], limits: &Limits, warnings: &mut Vec<Diag>) -> Result<Image, Diag> {
    let markers = Markers::walk(bytes, true);
    let Some(frame) = markers.frame else {
        return Err(if markers.ended {
            corrupt("it has no frame header")
        } else {
            truncated("there is no frame header")
        });
    };
    let Frame { width, height, components, .. } = frame;
    let common = "save it as baseline or progressive JPEG, or as PNG";
    if frame.coding > 2 {
        return Err(unsupported("JPEG with lossless, hierarchical or arithmetic coding", common));
    }
    if frame.bits != 8 {
        return Err(unsupported(format!("JPEG with {} bits a sample", frame.bits), common));
    }
    let size = admit(limits, width, height, 1).map_err(|d| d.at("SOF"))?;
    if frame.coding == 2 {
        // A progressive file is refined scan by scan, and all coefficients are kept until the last one.
        let coefficients = (size as u64 / 4 * frame.density).div_ceil(16) * 2;
        let what = format_args!("the coefficients and texels of {width}x{height} pixels");
        limits.check_memory(size as u64 + coefficients, what).map_err(|d| d.at("SOF"))?;
    }
    // Each block of 8x8 texels takes one bit at least.
    if u64::from(width.div_ceil(8)) * u64::from(height.div_ceil(8)) / 8 > bytes.len() as u64 {
        return Err(truncated(format!("{} bytes cannot hold {width}x{height} texels", bytes.len())));
    }
    if !markers.ended {
        return Err(truncated("the end-of-image marker is missing"));
    }

    // The decoder goes straight to RGBA from two colour spaces only, and rightly to RGB from two more.
    let rgb = || decode(bytes, ColorSpace::RGB, size);
    let texels = match (components, markers.adobe) {
        (3, _) if frame.named_rgb => rgb()?,
        (1, _) | (3, None | Some(1 | 2)) => decode(bytes, ColorSpace::RGBA, size)?,
        (3, Some(0)) | (4, Some(2)) => rgb()?,
        (4, None | Some(0)) => ink_to_light(decode(bytes, ColorSpace::CMYK, size)?),
        _ => {
            let what = format!("JPEG of {components} components with colour transform {:?}", markers.adobe);
            return Err(unsupported(what, common));
        }
    };
    if components == 4 {
        let message = "a CMYK picture, turned into RGB without regard to its colour profile";
        warnings.push(Diag::new(Code::ImageCmyk, message).hint("save it as RGB to be sure of its colours"));
    }
    upright((width, height, Texels::Rgba8(texels)), markers.exif, warnings)
}

/// The samples in the wanted colour space as texels of `size` bytes; those of RGB are opaque.
fn decode(bytes: &[u8], wanted: ColorSpace, size: usize) -> Result<Vec<u8>, Diag> {
    let side = usize::from(u16::MAX);
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(side)
        .set_max_height(side)
        .jpeg_set_out_colorspace(wanted);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(explain)?;
    let channels = wanted.num_components();
    if decoder.output_buffer_size() != Some(size / 4 * channels) {
        return Err(corrupt("it has two frame headers that disagree"));
    }
    let mut texels = vec![0; size];
    decoder.decode_into(&mut texels[..size / 4 * channels]).map_err(explain)?;
    widen(&mut texels, channels);
    Ok(texels)
}

/// CMYK as RGBA, in place. The inks are stored inverted: Adobe's programs began that, and all others followed,
/// with or without Adobe's segment.
fn ink_to_light(mut samples: Vec<u8>) -> Vec<u8> {
    for texel in samples.as_chunks_mut().0 {
        let [c, m, y, k] = texel.map(u32::from);
        let light = |colour: u32| ((colour * k + 127) / 255) as u8;
        *texel = [light(c), light(m), light(y), u8::MAX];
    }
    samples
}

fn explain(error: DecodeErrors) -> Diag {
    match error {
        DecodeErrors::ExhaustedData | DecodeErrors::IoErrors(_) => truncated("the coded data stops"),
        e => corrupt(e),
    }
}
