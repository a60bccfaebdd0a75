//! OpenEXR: the first layer with the channels R, G and B, without deep data, placed in the display window.
//!
//! Blocks are decoded one after another into the texels, so that only one copy of the image is in memory. Pixels of
//! the display window that the layer does not cover are zero.

use super::{CHANNEL_BYTES, Decoded};
use crate::image::{admit, corrupt, decoder_message, truncated, unsupported};
use exr::meta::header::Header;
use exr::prelude::*;
use kiln_diagnostics::{Diag, Limits};
use std::io::{Cursor, ErrorKind};

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    // The attribute is four integers: the inclusive corners of the window.
    let name = b"dataWindow\0box2i\0\x10\0\0\0";
    let at = prefix.windows(name.len()).position(|bytes| bytes == name)? + name.len();
    let number =
        |i: usize| Some(i32::from_le_bytes(prefix.get(at + i * 4..at + i * 4 + 4)?.try_into().ok()?));
    let side = |low: i32, high: i32| u32::try_from(i64::from(high) - i64::from(low) + 1).ok();
    Some((side(number(0)?, number(2)?)?, side(number(1)?, number(3)?)?))
}

pub(super) fn import(bytes: &[u8], limits: &Limits) -> std::result::Result<Decoded, Diag> {
    // The stated size is checked before anything is allocated for it.
    if let Some((width, height)) = probe(bytes) {
        admit(limits, width, height, CHANNEL_BYTES)?;
    }
    let reader = exr::block::read(Cursor::new(bytes), false).map_err(diagnose)?;
    let has =
        |header: &Header, name: &str| header.channels.find_index_of_channel(&Text::from(name)).is_some();
    let layer = reader
        .headers()
        .iter()
        .find(|header| !header.deep && ["R", "G", "B"].iter().all(|name| has(header, name)));
    let layer = layer.ok_or_else(|| corrupt("no layer has the channels R, G and B"))?;
    let window = layer.shared_attributes.display_window;
    let (from, to) = (layer.own_attributes.layer_position, window.position);
    let offset = (i64::from(from.x()) - i64::from(to.x()), i64::from(from.y()) - i64::from(to.y()));
    let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
    let (width, height) = (side(window.size.width()), side(window.size.height()));
    admit(limits, width, height, CHANNEL_BYTES)?;

    let put = move |texels: &mut Vec<[f32; 4]>, at: Vec2<usize>, (r, g, b, a): (f32, f32, f32, f32)| {
        let place = |at: usize, offset: i64, size: usize| {
            let place = usize::try_from(i64::try_from(at).ok()?.checked_add(offset)?).ok()?;
            (place < size).then_some(place)
        };
        let x = place(at.x(), offset.0, window.size.width());
        let y = place(at.y(), offset.1, window.size.height());
        if let (Some(x), Some(y)) = (x, y) {
            texels[y * window.size.width() + x] = [r, g, b, a];
        }
    };
    let image = read()
        .no_deep_data()
        .largest_resolution_level()
        .rgba_channels(move |_, _| vec![[0.0; 4]; window.size.area()], put)
        .first_valid_layer()
        .all_attributes()
        .from_chunks(reader)
        .map_err(diagnose)?;
    Ok((width, height, image.layer_data.channel_data.pixels))
}

fn diagnose(error: Error) -> Diag {
    match error {
        Error::Io(e) if e.kind() == ErrorKind::UnexpectedEof => truncated("the OpenEXR data is incomplete"),
        Error::NotSupported(what) => {
            unsupported(what, "save the image with scan lines and a common compression")
        }
        Error::Invalid(what) => corrupt(what),
        other => corrupt(decoder_message(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_diagnostics::Code;

    fn encoded(width: u32, height: u32, texels: &[[f32; 4]]) -> Vec<u8> {
        let channels = SpecificChannels::rgba(|at: Vec2<usize>| {
            let [r, g, b, a] = texels[at.y() * width as usize + at.x()];
            (r, g, b, a)
        });
        let mut out = Cursor::new(Vec::new());
        let image = Image::from_channels((width as usize, height as usize), channels);
        image.write().to_buffered(&mut out).unwrap();
        out.into_inner()
    }

    #[test]
    fn floats_come_back() {
        let texels: Vec<[f32; 4]> =
            (0..35u32).map(|i| [i as f32 * 1000.0, 0.001 * i as f32, -1.5, 0.5]).collect();
        let bytes = encoded(7, 5, &texels);
        assert_eq!(probe(&bytes), Some((7, 5)));
        assert_eq!(import(&bytes, &Limits::default()).unwrap(), (7, 5, texels));
    }

    #[test]
    fn damage_is_survived() {
        let good = encoded(9, 4, &[[0.5, 1.5, 2.5, 1.0]; 36]);
        let small = Limits { max_pixels: 64 * 64, ..Limits::default() };
        for len in 0..good.len() {
            assert!(import(&good[..len], &small).is_err(), "{len} of {} bytes", good.len());
        }
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = import(&bytes, &small);
        }
        let tiny = Limits { max_pixels: 8 * 4, ..Limits::default() };
        assert_eq!(import(&good, &tiny).unwrap_err().code, Code::ImageTooLarge);
    }
}
