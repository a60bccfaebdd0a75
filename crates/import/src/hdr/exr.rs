//! OpenEXR: the first layer with the channels R, G and B, without deep data, placed in the display window.
//!
//! Blocks are decoded one after another into the texels, so that only one copy of the image is in memory. Pixels of
//! the display window that the layer does not cover are zero.
//!
//! The samples of a block are read here, not through the builders of `exr`: their generic code was half of the
//! compile time of this crate.

use super::{CHANNEL_BYTES, Decoded};
use crate::image::{admit, corrupt, decoder_message, truncated, unsupported};
use exr::block::UncompressedBlock;
use exr::block::reader::ChunksReader;
use exr::error::Error;
use exr::meta::attribute::{SampleType, Text};
use exr::meta::header::Header;
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

pub(super) fn import(bytes: &[u8], limits: &Limits) -> Result<Decoded, Diag> {
    // The stated size is checked before anything is allocated for it.
    if let Some((width, height)) = probe(bytes) {
        admit(limits, width, height, CHANNEL_BYTES)?;
    }
    let reader = exr::block::read(Cursor::new(bytes), false).map_err(diagnose)?;
    let is_valid = |header: &Header| {
        let has = |name: &&str| header.channels.find_index_of_channel(&Text::from(*name)).is_some();
        !header.deep && ["R", "G", "B"].iter().all(has)
    };
    let index = reader.headers().iter().position(is_valid);
    let index = index.ok_or_else(|| corrupt("no layer has the channels R, G and B"))?;
    let layer = reader.headers()[index].clone();
    let window = layer.shared_attributes.display_window;
    let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
    let (width, height) = (side(window.size.width()), side(window.size.height()));
    admit(limits, width, height, CHANNEL_BYTES)?;

    let mut texels = vec![[0.0; 4]; window.size.area()];
    let mut blocks = reader
        .filter_chunks(false, |_, tile, block| block.layer == index && tile.is_largest_resolution_level())
        .map_err(diagnose)?
        .sequential_decompressor(false);
    while let Some(block) = blocks.decompress_next_block() {
        let block = block.map_err(diagnose)?;
        // The offset table of a damaged file can lead to a chunk of another layer.
        if block.index.layer != index {
            return Err(corrupt("the offset table refers to a chunk of another layer"));
        }
        place(&block, &layer, &mut texels);
    }
    Ok((width, height, texels))
}

/// Writes the samples of a block to the texels of the display window that it covers; alpha is one if there is none.
fn place(block: &UncompressedBlock, layer: &Header, texels: &mut [[f32; 4]]) {
    let window = layer.shared_attributes.display_window;
    let (from, to) = (layer.own_attributes.layer_position, window.position);
    let (columns, rows) = (block.index.pixel_size.width(), block.index.pixel_size.height());
    let inside = |at: usize, from: i32, to: i32, count: usize, size: usize| {
        let start = at as i64 + i64::from(from) - i64::from(to);
        let first = (-start).clamp(0, count as i64);
        (start, first as usize..(size as i64 - start).clamp(first, count as i64) as usize)
    };
    let position = block.index.pixel_position;
    let (left, columns_inside) = inside(position.x(), from.x(), to.x(), columns, window.size.width());
    let (top, rows_inside) = inside(position.y(), from.y(), to.y(), rows, window.size.height());
    let line_bytes = layer.channels.bytes_per_pixel * columns;
    for row in rows_inside {
        let Some(line) = block.data.get(row * line_bytes..(row + 1) * line_bytes) else { return };
        let start = (top + row as i64) as usize * window.size.width();
        let start = start + (left + columns_inside.start as i64) as usize;
        let texels = &mut texels[start..start + columns_inside.len()];
        texels.iter_mut().for_each(|texel| texel[3] = 1.0);
        // A line has the samples of the first channel, then those of the second, and so on.
        for (offset, channel) in layer.channels.channels_with_byte_offset() {
            let component = match channel.name.as_slice() {
                b"R" => 0,
                b"G" => 1,
                b"B" => 2,
                b"A" => 3,
                _ => continue,
            };
            let samples = &line[offset * columns..];
            for (texel, column) in texels.iter_mut().zip(columns_inside.clone()) {
                texel[component] = sample(channel.sample_type, samples, column);
            }
        }
    }
}

/// Returns the sample of a column. Decoded blocks are in native byte order.
fn sample(kind: SampleType, samples: &[u8], column: usize) -> f32 {
    let word = |at: usize| <[u8; 4]>::try_from(&samples[at..at + 4]).unwrap_or_default();
    match kind {
        SampleType::F16 => half::f16::from_ne_bytes([samples[column * 2], samples[column * 2 + 1]]).to_f32(),
        SampleType::F32 => f32::from_ne_bytes(word(column * 4)),
        SampleType::U32 => u32::from_ne_bytes(word(column * 4)) as f32,
    }
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
    use exr::image::{Image, SpecificChannels};
    use exr::math::Vec2;
    use exr::prelude::WritableImage;
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
