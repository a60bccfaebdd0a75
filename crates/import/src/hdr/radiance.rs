//! Radiance HDR: RGBE texels (red, green and blue with a shared exponent) in flat or run-length encoded rows.
//!
//! Implements `filefmts.pdf` of Radiance for RGB images. Rejects XYZ, and columns before rows.

use super::{CHANNEL_BYTES, Decoded};
use crate::image::{admit, corrupt, truncated, unsupported};
use kiln_diagnostics::{Diag, Limits};

/// The maximum length of a header in bytes: more than any program writes.
const HEADER: usize = 64 << 10;
/// The widths of rows that can be run-length encoded by channel.
const CODED: std::ops::RangeInclusive<u32> = 8..=32767;

type Rgbe = [u8; 4];

struct Header {
    width: u32,
    height: u32,
    /// `true` if the first row is the bottom one, and if the first texel is the rightmost.
    flipped: (bool, bool),
    /// The exposure by which all values were multiplied.
    exposure: f32,
    /// The offset of the first row.
    len: usize,
}

pub(super) fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    header(prefix).ok().map(|header| (header.width, header.height))
}

pub(super) fn import(bytes: &[u8], limits: &Limits) -> Result<Decoded, Diag> {
    let header = header(bytes)?;
    let (width, height) = (header.width, header.height);
    admit(limits, width, height, CHANNEL_BYTES)?;
    let (row_len, mut rest) = (width as usize, &bytes[header.len..]);
    // An encoded row takes at least four bytes.
    if rest.len() / 4 < height as usize {
        return Err(truncated(format!("{} bytes cannot contain {height} rows", rest.len())));
    }
    let mut texels = vec![[0.0, 0.0, 0.0, 1.0]; row_len * height as usize];
    let mut row = vec![[0; 4]; row_len];
    let scale = 1.0 / header.exposure;
    for y in 0..height as usize {
        rest = read_row(rest, &mut row)?;
        let y = if header.flipped.0 { height as usize - 1 - y } else { y };
        let out = &mut texels[y * row_len..][..row_len];
        out.iter_mut().zip(&row).for_each(|(texel, rgbe)| *texel = decode_rgbe(*rgbe, scale));
        if header.flipped.1 {
            out.reverse();
        }
    }
    Ok((width, height, texels))
}

/// Decodes an RGBE texel: the mantissas times two to the shared exponent.
fn decode_rgbe([r, g, b, exponent]: Rgbe, scale: f32) -> [f32; 4] {
    if exponent == 0 {
        return [0.0, 0.0, 0.0, 1.0];
    }
    // Exact: a power of two from 2^-135 to 2^119, the smallest of which is subnormal.
    let power = libm::ldexp(1.0, i32::from(exponent) - 136);
    let value = |mantissa: u8| (f64::from(mantissa) * power) as f32 * scale;
    [value(r), value(g), value(b), 1.0]
}

/// Reads the header: lines up to an empty one, and the line with the size.
fn header(bytes: &[u8]) -> Result<Header, Diag> {
    let mut at = 0;
    let mut exposure = 1.0f32;
    let mut next = || {
        let rest = &bytes[at..bytes.len().min(HEADER)];
        let len = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or_else(|| truncated("the header does not end"))?;
        at += len + 1;
        Ok::<_, Diag>((String::from_utf8_lossy(&rest[..len]).trim_end_matches('\r').to_owned(), at))
    };
    let (magic, _) = next()?;
    if !magic.starts_with("#?") {
        return Err(corrupt(format!("the header starts with {}", crate::excerpt(&magic))));
    }
    loop {
        let (line, _) = next()?;
        if line.is_empty() {
            break;
        }
        match line.split_once('=') {
            Some(("FORMAT", "32-bit_rle_rgbe")) => {}
            Some(("FORMAT", other)) => {
                return Err(unsupported(
                    format!("the pixel format {}", crate::excerpt(other)),
                    "save the image as RGB",
                ));
            }
            Some(("EXPOSURE", number)) => {
                let number: f32 = number.trim().parse().unwrap_or(f32::NAN);
                exposure *= number;
            }
            _ => {}
        }
    }
    if !(exposure.is_normal() && exposure > 0.0) {
        return Err(corrupt(format!("the exposure is {exposure}")));
    }
    let (line, len) = next()?;
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [rows, height, columns, width] = words[..] else {
        return Err(corrupt(format!("the resolution line is {}", crate::excerpt(&line))));
    };
    let flipped = match (rows, columns) {
        ("-Y" | "+Y", "+X" | "-X") => (rows == "+Y", columns == "-X"),
        ("+X" | "-X", "+Y" | "-Y") => {
            return Err(unsupported("columns before rows", "rotate the image upright and save it again"));
        }
        _ => return Err(corrupt(format!("the resolution line is {}", crate::excerpt(&line)))),
    };
    let side = |digits: &str| {
        digits
            .parse::<u32>()
            .map_err(|_| corrupt(format!("the width or height is {}", crate::excerpt(digits))))
    };
    Ok(Header { width: side(width)?, height: side(height)?, flipped, exposure, len })
}

/// Reads a row; returns the bytes after it.
fn read_row<'a>(bytes: &'a [u8], row: &mut [Rgbe]) -> Result<&'a [u8], Diag> {
    let width = row.len() as u32;
    match bytes {
        [2, 2, high, low, rest @ ..] if *high < 128 && CODED.contains(&width) => {
            let stated = u32::from(*high) << 8 | u32::from(*low);
            if stated != width {
                return Err(corrupt(format!("a row states {stated} texels, and the image is {width} wide")));
            }
            decode_by_channel(rest, row)
        }
        _ => decode_by_texel(bytes, row),
    }
}

fn row_truncated() -> Diag {
    truncated("a row is incomplete")
}

/// Decodes a row that is run-length encoded by channel.
fn decode_by_channel<'a>(mut bytes: &'a [u8], row: &mut [Rgbe]) -> Result<&'a [u8], Diag> {
    for channel in 0..4 {
        let mut x = 0;
        while x < row.len() {
            let (&code, rest) = bytes.split_first().ok_or_else(row_truncated)?;
            let (count, repeats) =
                if code > 128 { (usize::from(code) - 128, true) } else { (code.into(), false) };
            let texels = row.get_mut(x..x + count).filter(|texels| !texels.is_empty());
            let texels = texels.ok_or_else(|| corrupt(format!("a run of {count} exceeds its row")))?;
            let (values, rest) =
                rest.split_at_checked(if repeats { 1 } else { count }).ok_or_else(row_truncated)?;
            let values = values.iter().cycle();
            texels.iter_mut().zip(values).for_each(|(texel, value)| texel[channel] = *value);
            (x, bytes) = (x + count, rest);
        }
    }
    Ok(bytes)
}

/// Decodes a row of whole texels; after a texel of 1, 1, 1, the last byte is the repeat count of the one before.
fn decode_by_texel<'a>(mut bytes: &'a [u8], row: &mut [Rgbe]) -> Result<&'a [u8], Diag> {
    let (mut x, mut shift) = (0, 0);
    while x < row.len() {
        let (texel, rest) = bytes.split_first_chunk::<4>().ok_or_else(row_truncated)?;
        bytes = rest;
        if let [1, 1, 1, count] = *texel {
            // Consecutive repeat counts are the digits of one number.
            let count = usize::from(count).checked_shl(shift).filter(|count| *count <= row.len() - x);
            let count = count.ok_or_else(|| corrupt("a run exceeds its row"))?;
            let before = *row[..x].last().ok_or_else(|| corrupt("a run precedes the first texel"))?;
            row[x..x + count].fill(before);
            (x, shift) = (x + count, (shift + 8).min(32));
        } else {
            row[x] = *texel;
            (x, shift) = (x + 1, 0);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(size: &str, rows: &[u8]) -> Vec<u8> {
        let mut bytes =
            format!("#?RADIANCE\n# made by hand\nFORMAT=32-bit_rle_rgbe\n\n{size}\n").into_bytes();
        bytes.extend(rows);
        bytes
    }

    fn decoded(bytes: &[u8]) -> Result<Decoded, Diag> {
        import(bytes, &Limits::default())
    }

    #[test]
    fn decodes_rgbe_values() {
        assert_eq!(decode_rgbe([128, 64, 0, 129], 1.0), [1.0, 0.5, 0.0, 1.0]);
        assert_eq!(decode_rgbe([255, 1, 0, 136], 1.0), [255.0, 1.0, 0.0, 1.0]);
        assert_eq!(decode_rgbe([255, 255, 255, 0], 1.0), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(decode_rgbe([1, 1, 1, 1], 1.0)[0], libm::ldexpf(1.0, -135));
    }

    #[test]
    fn decodes_flat_rows_and_old_runs() {
        let rows = [[128, 0, 0, 129], [0, 128, 0, 129], [1, 1, 1, 2], [0, 0, 128, 129]];
        let (width, height, texels) = decoded(&image("-Y 1 +X 5", rows.as_flattened())).unwrap();
        assert_eq!((width, height), (5, 1));
        let (red, green, blue) = ([1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(texels, [red, green, green, green, blue]);
    }

    /// Encodes one channel of a row: runs where bytes repeat, literals elsewhere.
    fn encoded(channel: &[u8]) -> Vec<u8> {
        channel
            .chunk_by(|a, b| a == b)
            .flat_map(|run| run.chunks(127))
            .flat_map(|run| if run.len() > 1 { [128 + run.len() as u8, run[0]] } else { [1, run[0]] })
            .collect()
    }

    #[test]
    fn decodes_run_length_encoded_rows() {
        for (width, height) in [(8, 2), (129, 5), (300, 2)] {
            let texel = |i: usize| {
                if i % 40 < 20 {
                    [200, 50, 90, 131]
                } else {
                    [i, i * 3, i * 5, 120 + i % 16].map(|v| v as u8)
                }
            };
            let stored: Vec<Rgbe> = (0..width * height).map(texel).collect();
            let mut rows = Vec::new();
            for row in stored.chunks(width) {
                rows.extend([2, 2, (width >> 8) as u8, width as u8]);
                (0..4).for_each(|c| rows.extend(encoded(&row.iter().map(|t| t[c]).collect::<Vec<_>>())));
            }
            let bytes = image(&format!("-Y {height} +X {width}"), &rows);
            let wanted: Vec<[f32; 4]> = stored.iter().map(|rgbe| decode_rgbe(*rgbe, 1.0)).collect();
            assert_eq!(decoded(&bytes).unwrap(), (width as u32, height as u32, wanted));
            assert_eq!(probe(&bytes), Some((width as u32, height as u32)));
            for len in 0..bytes.len() {
                assert!(decoded(&bytes[..len]).is_err(), "{len} of {} bytes", bytes.len());
            }
        }
    }

    #[test]
    fn rejects_damaged_files() {
        let code = |bytes: &[u8]| decoded(bytes).unwrap_err().code.as_str();
        assert_eq!(code(b"#?RADIANCE\nFORMAT=32-bit_rle_xyze\n\n-Y 1 +X 1\n0000"), "image-unsupported");
        assert_eq!(code(&image("+X 1 -Y 1", &[0; 4])), "image-unsupported");
        assert_eq!(code(&image("-Y 1 +X", &[0; 4])), "image-corrupt");
        assert_eq!(code(&image("-Y 0 +X 4", &[0; 4])), "image-corrupt");
        assert_eq!(code(&image("-Y 99999 +X 99999", &[0; 4])), "image-too-large");
        assert_eq!(code(&image("-Y 9999 +X 9", &[0; 4])), "image-truncated");
        assert_eq!(code(&image("-Y 1 +X 9", &[2, 2, 0, 8, 0])), "image-corrupt");
        assert_eq!(code(&image("-Y 1 +X 9", &[2, 2, 0, 9, 0, 0, 0, 0])), "image-corrupt");
        assert_eq!(code(&image("-Y 1 +X 9", &[2, 2, 0, 9, 138, 1, 0, 0])), "image-corrupt");
        assert_eq!(code(&image("-Y 1 +X 2", &[1, 1, 1, 1])), "image-corrupt");
        assert_eq!(code(&image("-Y 1 +X 3", &[9, 9, 9, 9, 1, 1, 1, 9])), "image-corrupt");
        assert_eq!(code(b"#?RADIANCE\nEXPOSURE=0\n\n-Y 1 +X 1\n0000"), "image-corrupt");
        assert_eq!(code(&[&b"#?"[..], &[b'x'; HEADER]].concat()), "image-truncated");
    }

    #[test]
    fn removes_exposure_and_flips_rows() {
        let bytes = b"#?RGBE\nEXPOSURE=2\nEXPOSURE= 4.0\nFORMAT=32-bit_rle_rgbe\n\n+Y 2 -X 2\n";
        let rows: Vec<u8> = (1..=4u8).flat_map(|i| [i * 8, 0, 0, 136]).collect();
        let (.., texels) = decoded(&[&bytes[..], &rows].concat()).unwrap();
        assert_eq!(texels.iter().map(|t| t[0]).collect::<Vec<_>>(), [4.0, 3.0, 2.0, 1.0]);
    }
}
