//! Radiance pictures (`.hdr`): linear light as floats, with no upper end.
//!
//! They are no [`kiln_ir::Image`], whose numbers end at one: whoever wants them asks for floats.

use std::io::Cursor;

use ::image::ImageDecoder;
use ::image::codecs::hdr::HdrDecoder;
use kiln_kit::Diag;

use super::{Limits, corrupt, explain};

/// Texels of linear light: red, green, blue, and one.
#[derive(Clone, Debug, PartialEq)]
pub struct Floats {
    /// Texels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The texels, top row first; all are finite.
    pub texels: Vec<[f32; 4]>,
}

/// Decodes a Radiance picture.
pub fn import_floats(bytes: &[u8], limits: &Limits) -> Result<Floats, Diag> {
    if let Some(diag) = crate::absent(bytes) {
        return Err(diag);
    }
    let decoder = HdrDecoder::new(Cursor::new(bytes)).map_err(explain)?;
    let (width, height) = decoder.dimensions();
    limits.admit(width, height, 4)?;
    let len = usize::try_from(decoder.total_bytes()).map_err(|_| corrupt("it is too large"))?;
    // A row of equal texels takes some four bytes for each run of 127, so a short file can still be a large picture;
    // what is allocated is bounded by the limits, and the file has to have a row's mark for every row.
    if bytes.len() < height as usize * 4 {
        return Err(super::truncated("there is less than a mark for each row"));
    }
    let mut raw = vec![0; len];
    decoder.read_image(&mut raw).map_err(explain)?;
    let float = |bytes: &[u8; 4]| f32::from_ne_bytes(*bytes);
    let texels = raw.as_chunks::<4>().0.as_chunks::<3>().0.iter();
    let texels: Vec<[f32; 4]> = texels.map(|[r, g, b]| [float(r), float(g), float(b), 1.0]).collect();
    if texels.len() != width as usize * height as usize || !texels.iter().flatten().all(|v| v.is_finite()) {
        return Err(corrupt("the texels are not all there"));
    }
    Ok(Floats { width, height, texels })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two texels in a row, as bytes of mantissa and exponent: 1, 2, 0.5 and 256, 0, 0.
    const TWO: &[u8] = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 2\n\x40\x80\x20\x82\x80\0\0\x89";

    #[test]
    fn light_is_a_mantissa_and_an_exponent() {
        let found = import_floats(TWO, &Limits::default()).unwrap();
        assert_eq!((found.width, found.height), (2, 1));
        // (m + 0 or 0.5) / 256 * 2^(e - 128): within half a step of the mantissa.
        let near = |a: f32, b: f32| (a - b).abs() <= b / 64.0 + 1e-6;
        assert!(
            near(found.texels[0][0], 1.0) && near(found.texels[0][1], 2.0) && near(found.texels[0][2], 0.5)
        );
        assert!(near(found.texels[1][0], 256.0) && found.texels[1][3] == 1.0, "{:?}", found.texels);
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        for len in 0..TWO.len() {
            assert!(import_floats(&TWO[..len], &Limits::default()).is_err(), "{len}");
        }
        let huge = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 16000 +X 16000\n\0\0\0\0";
        assert!(import_floats(huge, &Limits::default()).is_err());
    }
}
