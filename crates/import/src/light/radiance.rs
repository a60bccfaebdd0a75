//! Radiance HDR: red, green and blue that share an exponent, in flat or run-length coded rows.
//!
//! Implements `filefmts.pdf` of Radiance for pictures in RGB. Refused: XYZ, and columns before rows.

use super::{CHANNEL_BYTES, Decoded};
use crate::image::{admit, corrupt, truncated, unsupported};
use kiln_engine::{Diag, Limits};

/// How long a header may be: more than any program writes.
const HEADER: usize = 64 << 10;
/// The widths that rows coded channel by channel can have.
const CODED: std::ops::RangeInclusive<u32> = 8..=32767;

type Rgbe = [u8; 4];

struct Header {
    width: u32,
    height: u32,
    /// Whether the first row is the bottom one, and the first texel the rightmost.
    flipped: (bool, bool),
    /// What all values were multiplied with.
    exposure: f32,
    /// Where the rows start.
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
    // However well a row is coded, it takes four bytes.
    if rest.len() / 4 < height as usize {
        return Err(truncated(format!("{} bytes for {height} rows", rest.len())));
    }
    let mut texels = vec![[0.0, 0.0, 0.0, 1.0]; row_len * height as usize];
    let mut row = vec![[0; 4]; row_len];
    let scale = 1.0 / header.exposure;
    for y in 0..height as usize {
        rest = read_row(rest, &mut row)?;
        let y = if header.flipped.0 { height as usize - 1 - y } else { y };
        let out = &mut texels[y * row_len..][..row_len];
        out.iter_mut().zip(&row).for_each(|(texel, rgbe)| *texel = light(*rgbe, scale));
        if header.flipped.1 {
            out.reverse();
        }
    }
    Ok((width, height, texels))
}

/// The mantissas times two to the shared exponent.
fn light([r, g, b, exponent]: Rgbe, scale: f32) -> [f32; 4] {
    if exponent == 0 {
        return [0.0, 0.0, 0.0, 1.0];
    }
    // Exact: a power of two from 2^-135 to 2^119, the smallest of which is not a normal float.
    let power = libm::ldexp(1.0, i32::from(exponent) - 136);
    let value = |mantissa: u8| (f64::from(mantissa) * power) as f32 * scale;
    [value(r), value(g), value(b), 1.0]
}

/// The lines up to an empty one, and the line with the size.
fn header(bytes: &[u8]) -> Result<Header, Diag> {
    let mut at = 0;
    let mut exposure = 1.0f32;
    let mut next = || {
        let rest = &bytes[at..bytes.len().min(HEADER)];
        let len =
            rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| truncated("no end of the header"))?;
        at += len + 1;
        Ok::<_, Diag>((String::from_utf8_lossy(&rest[..len]).trim_end_matches('\r').to_owned(), at))
    };
    let (magic, _) = next()?;
    if !magic.starts_with("#?") {
        return Err(corrupt(format!("it starts with {}", crate::excerpt(&magic))));
    }
    loop {
        let (line, _) = next()?;
        if line.is_empty() {
            break;
        }
        match line.split_once('=') {
            Some(("FORMAT", "32-bit_rle_rgbe")) => {}
            Some(("FORMAT", other)) => {
                return Err(unsupported(crate::excerpt(other), "save it as RGB"));
            }
            Some(("EXPOSURE", number)) => {
                let number: f32 = number.trim().parse().unwrap_or(f32::NAN);
                exposure *= number;
            }
            _ => {}
        }
    }
    if !(exposure.is_normal() && exposure > 0.0) {
        return Err(corrupt(format!("an exposure of {exposure}")));
    }
    let (line, len) = next()?;
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [rows, height, columns, width] = words[..] else {
        return Err(corrupt(format!("a size of {}", crate::excerpt(&line))));
    };
    let flipped = match (rows, columns) {
        ("-Y" | "+Y", "+X" | "-X") => (rows == "+Y", columns == "-X"),
        ("+X" | "-X", "+Y" | "-Y") => {
            return Err(unsupported("columns before rows", "turn it upright and save it again"));
        }
        _ => return Err(corrupt(format!("a size of {}", crate::excerpt(&line)))),
    };
    let side = |digits: &str| {
        digits.parse::<u32>().map_err(|_| corrupt(format!("a side of {}", crate::excerpt(digits))))
    };
    Ok(Header { width: side(width)?, height: side(height)?, flipped, exposure, len })
}

/// Reads a row; returns what follows it.
fn read_row<'a>(bytes: &'a [u8], row: &mut [Rgbe]) -> Result<&'a [u8], Diag> {
    let width = row.len() as u32;
    match bytes {
        [2, 2, high, low, rest @ ..] if *high < 128 && CODED.contains(&width) => {
            let stated = u32::from(*high) << 8 | u32::from(*low);
            if stated != width {
                return Err(corrupt(format!("a row of {stated} texels in a picture of {width}")));
            }
            by_channel(rest, row)
        }
        _ => by_texel(bytes, row),
    }
}

fn ends() -> Diag {
    truncated("a row is cut off")
}

/// A row as four runs of bytes, one for each channel.
fn by_channel<'a>(mut bytes: &'a [u8], row: &mut [Rgbe]) -> Result<&'a [u8], Diag> {
    for channel in 0..4 {
        let mut x = 0;
        while x < row.len() {
            let (&code, rest) = bytes.split_first().ok_or_else(ends)?;
            let (count, repeats) =
                if code > 128 { (usize::from(code) - 128, true) } else { (code.into(), false) };
            let texels = row.get_mut(x..x + count).filter(|texels| !texels.is_empty());
            let texels = texels.ok_or_else(|| corrupt(format!("a run of {count} does not fit its row")))?;
            let (values, rest) = rest.split_at_checked(if repeats { 1 } else { count }).ok_or_else(ends)?;
            let values = values.iter().cycle();
            texels.iter_mut().zip(values).for_each(|(texel, value)| texel[channel] = *value);
            (x, bytes) = (x + count, rest);
        }
    }
    Ok(bytes)
}

/// A row of whole texels; of those that could be none, the last byte says how often the one before is repeated.
fn by_texel<'a>(mut bytes: &'a [u8], row: &mut [Rgbe]) -> Result<&'a [u8], Diag> {
    let (mut x, mut shift) = (0, 0);
    while x < row.len() {
        let (texel, rest) = bytes.split_first_chunk::<4>().ok_or_else(ends)?;
        bytes = rest;
        if let [1, 1, 1, count] = *texel {
            // Runs that follow one another are the digits of one number.
            let count = usize::from(count).checked_shl(shift).filter(|count| *count <= row.len() - x);
            let count = count.ok_or_else(|| corrupt("a run does not fit its row"))?;
            let before = *row[..x].last().ok_or_else(|| corrupt("a run before the first texel"))?;
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

    fn picture(size: &str, rows: &[u8]) -> Vec<u8> {
        let mut bytes =
            format!("#?RADIANCE\n# made by hand\nFORMAT=32-bit_rle_rgbe\n\n{size}\n").into_bytes();
        bytes.extend(rows);
        bytes
    }

    fn decoded(bytes: &[u8]) -> Result<Decoded, Diag> {
        import(bytes, &Limits::default())
    }

    #[test]
    fn values_are_those_of_the_format() {
        assert_eq!(light([128, 64, 0, 129], 1.0), [1.0, 0.5, 0.0, 1.0]);
        assert_eq!(light([255, 1, 0, 136], 1.0), [255.0, 1.0, 0.0, 1.0]);
        assert_eq!(light([255, 255, 255, 0], 1.0), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(light([1, 1, 1, 1], 1.0)[0], libm::ldexpf(1.0, -135));
    }

    #[test]
    fn flat_rows_and_old_runs() {
        let rows = [[128, 0, 0, 129], [0, 128, 0, 129], [1, 1, 1, 2], [0, 0, 128, 129]];
        let (width, height, texels) = decoded(&picture("-Y 1 +X 5", rows.as_flattened())).unwrap();
        assert_eq!((width, height), (5, 1));
        let (red, green, blue) = ([1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(texels, [red, green, green, green, blue]);
    }

    /// One channel of a row: runs where bytes repeat, literals elsewhere.
    fn coded(channel: &[u8]) -> Vec<u8> {
        channel
            .chunk_by(|a, b| a == b)
            .flat_map(|run| run.chunks(127))
            .flat_map(|run| if run.len() > 1 { [128 + run.len() as u8, run[0]] } else { [1, run[0]] })
            .collect()
    }

    #[test]
    fn run_length_coded_rows() {
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
                (0..4).for_each(|c| rows.extend(coded(&row.iter().map(|t| t[c]).collect::<Vec<_>>())));
            }
            let bytes = picture(&format!("-Y {height} +X {width}"), &rows);
            let wanted: Vec<[f32; 4]> = stored.iter().map(|rgbe| light(*rgbe, 1.0)).collect();
            assert_eq!(decoded(&bytes).unwrap(), (width as u32, height as u32, wanted));
            assert_eq!(probe(&bytes), Some((width as u32, height as u32)));
            for len in 0..bytes.len() {
                assert!(decoded(&bytes[..len]).is_err(), "{len} of {} bytes", bytes.len());
            }
        }
    }

    #[test]
    fn damage_is_told() {
        let code = |bytes: &[u8]| decoded(bytes).unwrap_err().code.as_str();
        assert_eq!(code(b"#?RADIANCE\nFORMAT=32-bit_rle_xyze\n\n-Y 1 +X 1\n0000"), "image-unsupported");
        assert_eq!(code(&picture("+X 1 -Y 1", &[0; 4])), "image-unsupported");
        assert_eq!(code(&picture("-Y 1 +X", &[0; 4])), "image-corrupt");
        assert_eq!(code(&picture("-Y 0 +X 4", &[0; 4])), "image-corrupt");
        assert_eq!(code(&picture("-Y 99999 +X 99999", &[0; 4])), "image-too-large");
        assert_eq!(code(&picture("-Y 9999 +X 9", &[0; 4])), "image-truncated");
        assert_eq!(code(&picture("-Y 1 +X 9", &[2, 2, 0, 8, 0])), "image-corrupt");
        assert_eq!(code(&picture("-Y 1 +X 9", &[2, 2, 0, 9, 0, 0, 0, 0])), "image-corrupt");
        assert_eq!(code(&picture("-Y 1 +X 9", &[2, 2, 0, 9, 138, 1, 0, 0])), "image-corrupt");
        assert_eq!(code(&picture("-Y 1 +X 2", &[1, 1, 1, 1])), "image-corrupt");
        assert_eq!(code(&picture("-Y 1 +X 3", &[9, 9, 9, 9, 1, 1, 1, 9])), "image-corrupt");
        assert_eq!(code(b"#?RADIANCE\nEXPOSURE=0\n\n-Y 1 +X 1\n0000"), "image-corrupt");
        assert_eq!(code(&[&b"#?"[..], &[b'x'; HEADER]].concat()), "image-truncated");
    }

    #[test]
    fn exposure_is_taken_back_and_rows_can_be_turned() {
        let bytes = b"#?RGBE\nEXPOSURE=2\nEXPOSURE= 4.0\nFORMAT=32-bit_rle_rgbe\n\n+Y 2 -X 2\n";
        let rows: Vec<u8> = (1..=4u8).flat_map(|i| [i * 8, 0, 0, 136]).collect();
        let (.., texels) = decoded(&[&bytes[..], &rows].concat()).unwrap();
        assert_eq!(texels.iter().map(|t| t[0]).collect::<Vec<_>>(), [4.0, 3.0, 2.0, 1.0]);
    }
}
