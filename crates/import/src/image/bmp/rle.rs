//! Run-length encoding of BMP (RLE8 and RLE4).
//!
//! Pairs of bytes: a count and colours to repeat, or 0 and an escape (end of row, end of image, skip, literal colours).
//! Rejects a literal or a skip beyond its row. A run of RLE8 is clipped at the end of its row, because a common converter
//! writes such runs.

use kiln_diagnostics::Diag;

use super::super::{corrupt, truncated};
use super::{Palette, Rgba};

/// Decodes rows in the order of the file into `out`. The data ends with an escape, or with the last row.
pub(super) fn decode(
    mut data: &[u8],
    nibbles: bool,
    palette: &Palette,
    width: usize,
    out: &mut [Rgba],
) -> Result<(), Diag> {
    out.fill([0, 0, 0, u8::MAX]);
    let colour = |byte: u8, x: usize| match nibbles {
        false => palette[usize::from(byte)],
        true => palette[usize::from(if x.is_multiple_of(2) { byte >> 4 } else { byte & 15 })],
    };
    let (mut x, mut y) = (0, 0);
    while let Some(row) = out.get_mut(y * width..).filter(|rest| !rest.is_empty()) {
        let row = &mut row[..width];
        match take(&mut data)? {
            [0, 0] => (x, y) = (0, y + 1),
            [0, 1] => break,
            [0, 2] => {
                let [right, up] = take(&mut data)?.map(usize::from);
                (x, y) = (x + right, y + up);
                let inside = x <= width && y < out.len() / width;
                if right + up > 0 && !inside {
                    return Err(corrupt("a skip leaves the image"));
                }
            }
            [0, count] => {
                let len = if nibbles { count.div_ceil(2) } else { count };
                let (bytes, rest) =
                    data.split_at_checked(usize::from(len).next_multiple_of(2)).ok_or_else(ends)?;
                data = rest;
                let row = row.get_mut(x..x + usize::from(count)).ok_or_else(beyond)?;
                for (index, texel) in row.iter_mut().enumerate() {
                    *texel = colour(bytes[if nibbles { index / 2 } else { index }], index);
                }
                x += usize::from(count);
            }
            [count, byte] => {
                let end = x + usize::from(count);
                if nibbles && end > width {
                    return Err(beyond());
                }
                let row = row.get_mut(x..end.min(width)).unwrap_or_default();
                row.iter_mut().enumerate().for_each(|(index, texel)| *texel = colour(byte, index));
                x = end;
            }
        }
    }
    Ok(())
}

fn take(data: &mut &[u8]) -> Result<[u8; 2], Diag> {
    let (pair, rest) = data.split_first_chunk().ok_or_else(ends)?;
    *data = rest;
    Ok(*pair)
}

fn ends() -> Diag {
    truncated("the run-length encoded pixels are incomplete")
}

fn beyond() -> Diag {
    corrupt("a run exceeds its row")
}
