//! JPEG (ITU-T T.81): baseline and progressive, grey, YCbCr, RGB, CMYK and YCCK.
//!
//! The decoder tolerates many defects, so the markers are scanned here first: for variants that it would decode wrongly,
//! and for the end-of-image marker, without which the file is truncated. Rejects lossless, hierarchical and arithmetic
//! coding, and more than 8 bits per sample. JPEG has no checksum: damage inside the coded data may go unnoticed.

use kiln_diagnostics::{Code, Diag, Limits};
use kiln_ir::{Image, Texels};
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::{admit, corrupt, expand_to_rgba, truncated, unsupported, upright};

/// The content of the markers of a file.
#[derive(Debug, Default)]
struct Markers<'a> {
    frame: Option<Frame>,
    /// The colour transform of Adobe's APP14 segment.
    adobe: Option<u8>,
    exif: Option<&'a [u8]>,
    /// `true` if the end-of-image marker was found.
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The low nibble of the SOF marker: 0 and 1 sequential, 2 progressive, others for unsupported coding.
    coding: u8,
    bits: u8,
    width: u32,
    height: u32,
    components: u8,
    /// The samples of all components per sample of the finest one, in sixteenths.
    density: u64,
    /// `true` if the component ids are R, G and B.
    named_rgb: bool,
}

impl<'a> Markers<'a> {
    /// Scans the segments up to the first frame header, or to the end when `all` is set.
    fn scan(bytes: &'a [u8], all: bool) -> Markers<'a> {
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

/// Returns the next marker that starts a segment or ends the image, and moves `at` behind it. Skips coded data, in which
/// `FF` is followed by zero, and restart markers, which have no segment.
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
    Markers::scan(prefix, false).frame.map(|frame| (frame.width, frame.height))
}

/// Returns `true` for a frame of one component.
pub(super) fn is_greyscale(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(2..).unwrap_or_default();
    while let [0xff, marker, high, low, ..] = *rest {
        // Start of frame: length, depth, height, width, components.
        if (0xc0..=0xcf).contains(&marker) && ![0xc4, 0xc8, 0xcc].contains(&marker) {
            return rest.get(9) == Some(&1);
        }
        rest = rest.get(2 + usize::from(u16::from_be_bytes([high, low]))..).unwrap_or_default();
    }
    false
}

pub(super) fn import(bytes: &[u8], limits: &Limits, warnings: &mut Vec<Diag>) -> Result<Image, Diag> {
    let markers = Markers::scan(bytes, true);
    let Some(frame) = markers.frame else {
        return Err(if markers.ended {
            corrupt("the frame header is missing")
        } else {
            truncated("the frame header is missing")
        });
    };
    let Frame { width, height, components, .. } = frame;
    let common = "save the image as baseline or progressive JPEG, or as PNG";
    if frame.coding > 2 {
        return Err(unsupported("JPEG with lossless, hierarchical or arithmetic coding", common));
    }
    if frame.bits != 8 {
        return Err(unsupported(format!("JPEG with {} bits per sample", frame.bits), common));
    }
    let size = admit(limits, width, height, 1).map_err(|d| d.at("SOF"))?;
    if frame.coding == 2 {
        // A progressive file is refined scan by scan, and all coefficients are kept until the last scan.
        let coefficients = (size as u64 / 4 * frame.density).div_ceil(16) * 2;
        let what = format_args!("the coefficients and texels of {width}x{height} pixels");
        limits.check_memory(size as u64 + coefficients, what).map_err(|d| d.at("SOF"))?;
    }
    // Each block of 8x8 texels takes at least one bit.
    if u64::from(width.div_ceil(8)) * u64::from(height.div_ceil(8)) / 8 > bytes.len() as u64 {
        return Err(truncated(format!("{} bytes cannot contain {width}x{height} texels", bytes.len())));
    }
    if !markers.ended {
        return Err(truncated("the end-of-image marker is missing"));
    }

    // The decoder converts to RGBA from two colour spaces only, and correctly to RGB from two more.
    let rgb = || decode(bytes, ColorSpace::RGB, size);
    let texels = match (components, markers.adobe) {
        (3, _) if frame.named_rgb => rgb()?,
        (1, _) | (3, None | Some(1 | 2)) => decode(bytes, ColorSpace::RGBA, size)?,
        (3, Some(0)) | (4, Some(2)) => rgb()?,
        (4, None | Some(0)) => cmyk_to_rgba(decode(bytes, ColorSpace::CMYK, size)?),
        _ => {
            let transform = markers.adobe.map_or("none".to_owned(), |transform| transform.to_string());
            let what = format!("JPEG with {components} components and Adobe colour transform {transform}");
            return Err(unsupported(what, common));
        }
    };
    if components == 4 {
        let message = "the CMYK image was converted to RGB without its ICC profile";
        warnings.push(
            Diag::new(Code::ImageCmyk, message).hint("save the image as RGB to keep its exact colours"),
        );
    }
    upright((width, height, Texels::Rgba8(texels)), markers.exif, warnings)
}

/// Decodes to the wanted colour space, and returns RGBA texels of `size` bytes; those of RGB are opaque.
fn decode(bytes: &[u8], wanted: ColorSpace, size: usize) -> Result<Vec<u8>, Diag> {
    let side = usize::from(u16::MAX);
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(side)
        .set_max_height(side)
        .jpeg_set_out_colorspace(wanted);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(diagnose)?;
    let channels = wanted.num_components();
    if decoder.output_buffer_size() != Some(size / 4 * channels) {
        return Err(corrupt("two frame headers state different sizes"));
    }
    let mut texels = vec![0; size];
    decoder.decode_into(&mut texels[..size / 4 * channels]).map_err(diagnose)?;
    expand_to_rgba(&mut texels, channels);
    Ok(texels)
}

/// Converts CMYK to RGBA in place. The inks are stored inverted, as Adobe's programs do and all others do since, with or
/// without Adobe's segment.
fn cmyk_to_rgba(mut samples: Vec<u8>) -> Vec<u8> {
    for texel in samples.as_chunks_mut().0 {
        let [c, m, y, k] = texel.map(u32::from);
        let component = |colour: u32| ((colour * k + 127) / 255) as u8;
        *texel = [component(c), component(m), component(y), u8::MAX];
    }
    samples
}

fn diagnose(error: DecodeErrors) -> Diag {
    match error {
        DecodeErrors::ExhaustedData | DecodeErrors::IoErrors(_) => truncated("the coded data is incomplete"),
        DecodeErrors::Format(what) => corrupt(what),
        DecodeErrors::FormatStatic(what) => corrupt(what),
        DecodeErrors::HuffmanDecode(what) => corrupt(format!("invalid Huffman table: {what}")),
        DecodeErrors::DqtError(what) => corrupt(format!("invalid quantization table: {what}")),
        DecodeErrors::SosError(what) => corrupt(format!("invalid scan header: {what}")),
        DecodeErrors::SofError(what) => corrupt(format!("invalid frame header: {what}")),
        DecodeErrors::MCUError(what) => corrupt(format!("invalid coded data: {what}")),
        DecodeErrors::ZeroError => corrupt("the width or height is zero"),
        _ => corrupt("the JPEG decoder rejects the file"),
    }
}
