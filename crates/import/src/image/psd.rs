//! Photoshop documents (PSD and PSB): the composite of all layers, as Photoshop stores it for other programs.
//!
//! Greyscale, duotone (as greyscale), indexed and RGB colour with 8 or 16 bits per channel. The first channel beyond the
//! colours is alpha. Layers are not read: a document that was saved without "Maximize Compatibility" has no composite and
//! is rejected.

use std::ops::Range;

use kiln_diagnostics::{Diag, Limits};
use kiln_ir::{Image, Texels};

use super::{admit, be16, be32, checked_image, corrupt, rgba, truncated, unsupported};

const HEADER: usize = 26;
/// The image resource that states whether the composite is valid.
const VERSION_INFO: u32 = 1057;
/// The largest number of bytes that two bytes of PackBits expand to.
const MAX_RUN: u64 = 128;

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32, u32)> {
    Some((be32(prefix, 18)?, be32(prefix, 14)?, be16(prefix, 22)?))
}

/// Returns `true` for a document in greyscale mode without an alpha channel.
pub(super) fn is_greyscale(bytes: &[u8]) -> bool {
    (be16(bytes, 24), be16(bytes, 12)) == (Some(1), Some(1))
}

pub(super) fn import(bytes: &[u8], limits: &Limits) -> Result<Image, Diag> {
    let incomplete = || truncated("the Photoshop document is incomplete");
    let (width, height, bits) = probe(bytes).ok_or_else(incomplete)?;
    let (version, channels) =
        (be16(bytes, 4).ok_or_else(incomplete)?, be16(bytes, 12).ok_or_else(incomplete)?);
    let large = version == 2;
    let colours = match be16(bytes, 24).ok_or_else(incomplete)? {
        1 | 2 | 8 => 1,
        3 => 3,
        mode => {
            let name = ["bitmap", "", "", "", "CMYK", "", "", "multichannel", "", "Lab"].get(mode as usize);
            let name = name.filter(|name| !name.is_empty()).copied().unwrap_or("unknown");
            return Err(unsupported(
                format!("a Photoshop document with {name} colours"),
                "convert it to RGB",
            ));
        }
    };
    if !matches!(bits, 8 | 16) || !(colours..=56).contains(&(channels as usize)) {
        let what = format!("a Photoshop document with {channels} channels of {bits} bits");
        return Err(unsupported(what, "convert it to 8 or 16 bits per channel"));
    }
    let indexed = be16(bytes, 24) == Some(2);
    let size = admit(limits, width, height, bits / 8)?;

    let colour_mode = section(bytes, HEADER, false).ok_or_else(incomplete)?;
    let resources = section(bytes, colour_mode.end, false).ok_or_else(incomplete)?;
    if has_composite(&bytes[resources.clone()]) == Some(false) {
        let hint =
            "save it with \"Maximize Compatibility\" (Preferences, File Handling), or export it as PNG";
        return Err(unsupported("a Photoshop document without a composite image", hint));
    }
    let layers = section(bytes, resources.end, large).ok_or_else(incomplete)?;
    let compression = be16(bytes, layers.end).ok_or_else(incomplete)?;
    let data = bytes.get(layers.end + 2..).ok_or_else(incomplete)?;

    // Colours and one channel of alpha; further channels are masks.
    let used = (channels as usize).min(colours + 1);
    let row = width as usize * bits as usize / 8;
    let plane = row * height as usize;
    let what = format_args!("the channels and texels of {width}x{height} pixels");
    limits.check_memory(size as u64 + (plane as u64) * used as u64, what)?;
    let planes = match compression {
        0 => {
            let all = plane.checked_mul(channels as usize).and_then(|len| data.get(..len));
            all.ok_or_else(incomplete)?[..plane * used].to_vec()
        }
        1 => unpack(data, height as usize * channels as usize, height as usize * used, row, large)?,
        _ => return Err(unsupported("a Photoshop composite with ZIP compression", "export it as PNG")),
    };
    let texels = match (bits, indexed) {
        (8, true) => {
            let palette = &bytes[colour_mode];
            let colour = |index: u8| {
                let channel = |c: usize| palette.get(c * 256 + usize::from(index)).copied();
                Some([channel(0)?, channel(1)?, channel(2)?, u8::MAX])
            };
            let texels: Option<Vec<_>> = planes[..plane].iter().map(|index| colour(*index)).collect();
            Texels::Rgba8(texels.ok_or_else(|| corrupt("the palette is too short"))?.into_flattened())
        }
        (8, false) => Texels::Rgba8(interleave(&planes, plane, used, u8::MAX, |bytes, at| bytes[at])),
        _ => Texels::Rgba16(interleave(&planes, plane / 2, used, u16::MAX, |bytes, at| {
            u16::from_be_bytes([bytes[2 * at], bytes[2 * at + 1]])
        })),
    };
    checked_image((width, height, texels))
}

/// Returns the content of the section at an offset, which starts with its length.
fn section(bytes: &[u8], at: usize, long: bool) -> Option<Range<usize>> {
    let (length, start) = match long {
        true => (u64::from(be32(bytes, at)?) << 32 | u64::from(be32(bytes, at + 4)?), at + 8),
        false => (be32(bytes, at)?.into(), at + 4),
    };
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    (end <= bytes.len()).then_some(start..end)
}

/// Returns whether the composite is valid, if the resources state it.
fn has_composite(resources: &[u8]) -> Option<bool> {
    let mut rest = resources;
    while rest.starts_with(b"8BIM") {
        let id = be16(rest, 4)?;
        // The name and the data are padded to an even length.
        let name = (usize::from(*rest.get(6)?) + 1).next_multiple_of(2);
        let data = 6 + name + 4;
        let length = be32(rest, data - 4)? as usize;
        if id == VERSION_INFO {
            return Some(*rest.get(data + 4)? != 0);
        }
        rest = rest.get(data.checked_add(length)?.checked_next_multiple_of(2)?..)?;
    }
    None
}

/// Decodes rows of PackBits, of which the file has `stored`: their lengths, then their bytes.
fn unpack(data: &[u8], stored: usize, rows: usize, row: usize, large: bool) -> Result<Vec<u8>, Diag> {
    let incomplete = || truncated("the rows of the Photoshop composite are incomplete");
    let (counts, packed) =
        data.split_at_checked(stored * if large { 4 } else { 2 }).ok_or_else(incomplete)?;
    if (rows as u64) * (row as u64) / MAX_RUN > packed.len() as u64 {
        return Err(incomplete());
    }
    let width = if large { 4 } else { 2 };
    let length = |count: &[u8]| count.iter().fold(0u64, |length, byte| length << 8 | u64::from(*byte));
    if counts.chunks_exact(width).map(length).sum::<u64>() > packed.len() as u64 {
        return Err(incomplete());
    }
    let mut out = Vec::with_capacity(rows * row);
    let mut at = 0;
    for index in 0..rows {
        let length = if large { be32(counts, index * 4) } else { be16(counts, index * 2) };
        let length = length.ok_or_else(incomplete)? as usize;
        let mut rest = packed.get(at..).and_then(|rest| rest.get(..length)).ok_or_else(incomplete)?;
        at += length;
        let end = out.len() + row;
        while let [head, tail @ ..] = rest {
            let count = usize::from(*head);
            rest = match (head, tail) {
                (128, _) => tail,
                (0..128, _) => {
                    let (literal, tail) = tail.split_at_checked(count + 1).ok_or_else(incomplete)?;
                    out.extend_from_slice(literal);
                    tail
                }
                (_, [byte, tail @ ..]) => {
                    out.resize(out.len() + 257 - count, *byte);
                    tail
                }
                _ => return Err(incomplete()),
            };
            if out.len() > end {
                return Err(corrupt("a row of the Photoshop composite is too long"));
            }
        }
        if out.len() != end {
            return Err(corrupt("a row of the Photoshop composite is too short"));
        }
    }
    Ok(out)
}

/// Interleaves planes of `count` samples each to RGBA.
fn interleave<T: Copy>(
    planes: &[u8],
    count: usize,
    channels: usize,
    opaque: T,
    sample: impl Fn(&[u8], usize) -> T,
) -> Vec<T> {
    let mut texels = Vec::with_capacity(count * 4);
    for at in 0..count {
        let mut samples = [opaque; 4];
        for (channel, value) in samples.iter_mut().enumerate().take(channels) {
            *value = sample(planes, channel * count + at);
        }
        texels.extend(rgba(&samples[..channels], opaque));
    }
    texels
}
