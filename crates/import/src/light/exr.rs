//! OpenEXR: the first layer with red, green and blue, through the decoder of the `image` crate.

use super::{CHANNEL_BYTES, Decoded};
use crate::image::{Limits, explain};
use ::image::ImageDecoder;
use ::image::codecs::openexr::OpenExrDecoder;
use kiln_kit::Diag;
use std::io::Cursor;

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    // The header states the window by name: four numbers, all of them included.
    let name = b"dataWindow\0box2i\0\x10\0\0\0";
    let at = prefix.windows(name.len()).position(|bytes| bytes == name)? + name.len();
    let number =
        |i: usize| Some(i32::from_le_bytes(prefix.get(at + i * 4..at + i * 4 + 4)?.try_into().ok()?));
    let side = |low: i32, high: i32| u32::try_from(i64::from(high) - i64::from(low) + 1).ok();
    Some((side(number(0)?, number(2)?)?, side(number(1)?, number(3)?)?))
}

pub(super) fn import(bytes: &[u8], limits: &Limits) -> Result<Decoded, Diag> {
    // What the header claims is admitted before anything is made of it.
    if let Some((width, height)) = probe(bytes) {
        limits.admit(width, height, CHANNEL_BYTES)?;
    }
    let decoder = OpenExrDecoder::with_alpha_preference(Cursor::new(bytes), Some(true)).map_err(explain)?;
    let (width, height) = decoder.dimensions();
    let len = limits.admit(width, height, CHANNEL_BYTES)?;
    let mut samples = vec![0; len];
    decoder.read_image(&mut samples).map_err(explain)?;
    let float = |bytes: &[u8; 4]| f32::from_ne_bytes(*bytes);
    let texels =
        samples.as_chunks().0.as_chunks().0.iter().map(|texel| texel.each_ref().map(float)).collect();
    Ok((width, height, texels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::image::codecs::openexr::OpenExrEncoder;
    use ::image::{ExtendedColorType, ImageEncoder};

    fn encoded(width: u32, height: u32, texels: &[[f32; 4]]) -> Vec<u8> {
        let bytes: Vec<u8> = texels.as_flattened().iter().flat_map(|v| v.to_ne_bytes()).collect();
        let mut out = Cursor::new(Vec::new());
        OpenExrEncoder::new(&mut out).write_image(&bytes, width, height, ExtendedColorType::Rgba32F).unwrap();
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
        let small = Limits { max_side: 64, max_bytes: 1 << 20 };
        for len in 0..good.len() {
            assert!(import(&good[..len], &small).is_err(), "{len} of {} bytes", good.len());
        }
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = import(&bytes, &small);
        }
        let tiny = Limits { max_side: 8, max_bytes: 1 << 20 };
        assert_eq!(import(&good, &tiny).unwrap_err().code, "image-too-large");
    }
}
