//! QOI (the "Quite OK Image" format, qoiformat.org): RGB and RGBA with eight bits per channel.
//!
//! Rejects files without the end marker, and runs beyond the last pixel.

use kiln_diagnostics::{Diag, Limits};
use kiln_ir::{Image, Texels};

use super::{admit, be32, checked_image, corrupt, truncated};

const HEADER: usize = 14;
const END: [u8; 8] = [0, 0, 0, 0, 0, 0, 0, 1];
/// The largest number of pixels of one byte: a run.
const MAX_RUN: u64 = 62;

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    Some((be32(prefix, 4)?, be32(prefix, 8)?))
}

pub(super) fn import(bytes: &[u8], limits: &Limits) -> Result<Image, Diag> {
    let (width, height) = probe(bytes).ok_or_else(|| truncated("the QOI header is incomplete"))?;
    let data = bytes.get(HEADER..).ok_or_else(|| truncated("the QOI header is incomplete"))?;
    if !matches!(bytes[12], 3 | 4) {
        return Err(corrupt(format!("the QOI header states {} channels", bytes[12])));
    }
    let size = admit(limits, width, height, 1)?;
    if u64::from(width) * u64::from(height) / MAX_RUN > data.len() as u64 {
        return Err(truncated(format!("{} bytes cannot contain {width}x{height} pixels", data.len())));
    }
    let mut texels = vec![0; size];
    let mut stream = data.iter();
    decode(&mut stream, texels.as_chunks_mut().0)?;
    if !stream.as_slice().starts_with(&END) {
        return Err(truncated("the end marker of the QOI data is missing"));
    }
    checked_image((width, height, Texels::Rgba8(texels)))
}

fn decode(stream: &mut std::slice::Iter<'_, u8>, out: &mut [[u8; 4]]) -> Result<(), Diag> {
    let mut seen = [[0u8; 4]; 64];
    let mut texel = [0, 0, 0, u8::MAX];
    let mut at = 0;
    while at < out.len() {
        let mut next = || stream.next().copied().ok_or_else(|| truncated("the QOI data is incomplete"));
        let tag = next()?;
        let mut run = 1;
        match (tag, tag >> 6) {
            (0xFE, _) => texel = [next()?, next()?, next()?, texel[3]],
            (0xFF, _) => texel = [next()?, next()?, next()?, next()?],
            (_, 0) => texel = seen[usize::from(tag & 63)],
            (_, 1) => {
                let delta = |shift: u8| (tag >> shift & 3).wrapping_sub(2);
                let [r, g, b, a] = texel;
                texel = [r.wrapping_add(delta(4)), g.wrapping_add(delta(2)), b.wrapping_add(delta(0)), a];
            }
            (_, 2) => {
                let second = next()?;
                let green = (tag & 63).wrapping_sub(32);
                let [r, g, b, a] = texel;
                let red = green.wrapping_add(second >> 4).wrapping_sub(8);
                let blue = green.wrapping_add(second & 15).wrapping_sub(8);
                texel = [r.wrapping_add(red), g.wrapping_add(green), b.wrapping_add(blue), a];
            }
            _ => run = usize::from(tag & 63) + 1,
        }
        let [r, g, b, a] = texel.map(usize::from);
        seen[(r * 3 + g * 5 + b * 7 + a * 11) % 64] = texel;
        let end = at + run;
        out.get_mut(at..end).ok_or_else(|| corrupt("a QOI run is longer than the image"))?.fill(texel);
        at = end;
    }
    Ok(())
}
