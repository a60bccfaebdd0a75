//! Radiance HDR files that another encoder wrote, and what another decoder makes of them.

use crate::noise::Noise;
use crate::{LIMITS, Tally};
use image::codecs::hdr::{HdrDecoder, HdrEncoder};
use image::{ImageDecoder, Rgb};

/// Compares generated files and damaged copies of them.
pub fn compare(noise: &mut Noise, tally: &mut Tally) {
    for (width, height) in [(1, 1), (7, 3), (8, 2), (129, 5), (300, 2)] {
        let texel = |i: usize| match i % 40 < 20 {
            true => Rgb([1.5, 0.25, 8.0]),
            false => Rgb([3, 5, 7].map(|k| {
                (i * k % 97) as f32 / (1 + i * k % 13) as f32 * if i % 50 < 25 { 100.0 } else { 0.01 }
            })),
        };
        let source: Vec<Rgb<f32>> = (0..width * height).map(texel).collect();
        let mut good = Vec::new();
        HdrEncoder::new(&mut good).encode(&source, width, height).expect("texels that fit");
        let name = format!("{width}x{height}.hdr");
        compare_file(&name, &good, tally);
        let header = good.windows(2).position(|w| w == b"\n\n").expect("an end of the header") + 2;
        for _ in 0..500 {
            let mut bytes = good.clone();
            let at = header + noise.below(bytes.len() - header);
            bytes[at] = noise.below(256) as u8;
            // The other reader takes damaged runs for texels; only what both read counts.
            if ours(&bytes).is_ok() {
                compare_file(&name, &bytes, tally);
            }
        }
    }
}

fn ours(file: &[u8]) -> Result<Vec<[f32; 3]>, String> {
    let found = kiln_import::hdr::import(file, &LIMITS).map_err(|diag| diag.to_string())?;
    Ok(found.value.texels().iter().map(|&[r, g, b, _]| [r, g, b]).collect())
}

/// Compares one file.
pub fn compare_file(name: &str, file: &[u8], tally: &mut Tally) {
    let theirs = || {
        let decoder = HdrDecoder::new(file).ok()?;
        let mut bytes = vec![0; usize::try_from(decoder.total_bytes()).ok()?];
        decoder.read_image(&mut bytes).ok()?;
        let value = |b: &[u8]| f32::from_ne_bytes(b.try_into().expect("four bytes")).min(65504.0);
        Some(bytes.chunks_exact(12).map(|t| [value(&t[..4]), value(&t[4..8]), value(&t[8..])]).collect())
    };
    tally.count(name, ours(file), theirs(), false);
}
