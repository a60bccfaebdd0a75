//! The orientation tag of EXIF, and the mirroring and transposition that undo it.
//!
//! The tag (TIFF 6.0, `Orientation` 0x0112) is looked up in the first directory only, as cameras write it. A truncated
//! block, or one without a valid tag, means that the image is upright.

use kiln_ir::Texels;

use super::Decoded;

/// The upright orientation.
const UPRIGHT: u8 = 1;
/// The tag, type and count of the orientation entry: one 16-bit number.
const TAG: [u32; 3] = [0x112, 3, 1];

/// Returns the orientation that an EXIF block (a TIFF structure) states, if it is 2 to 8.
pub(super) fn stated(exif: &[u8]) -> Option<u8> {
    let big_endian = match exif.first_chunk()? {
        b"II*\0" => false,
        b"MM\0*" => true,
        _ => return None,
    };
    let number = |at: usize, len: usize| {
        let bytes = exif.get(at..at.checked_add(len)?)?.iter();
        let join = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
        Some(if big_endian { bytes.fold(0, join) } else { bytes.rev().fold(0, join) })
    };
    let directory = usize::try_from(number(4, 4)?).ok()?;
    let entries = number(directory, 2)? as usize;
    for index in 0..entries {
        let at = directory.checked_add(2 + 12 * index)?;
        // The last two bytes of the entry are not used, but an entry without them is truncated.
        number(at.checked_add(10)?, 2)?;
        if [number(at, 2)?, number(at + 2, 2)?, number(at + 4, 4)?] == TAG {
            let value = u8::try_from(number(at + 8, 2)?).ok()?;
            return (UPRIGHT + 1..=8).contains(&value).then_some(value);
        }
    }
    None
}

/// Returns the upright image of one with this orientation.
pub(super) fn apply((width, height, texels): Decoded, orientation: u8) -> Decoded {
    let (columns, rows) = (width as usize, height as usize);
    let transposed = orientation > 4;
    let texels = match texels {
        Texels::Rgba8(values) => Texels::Rgba8(reorient(values, columns, rows, orientation)),
        Texels::Rgba16(values) => Texels::Rgba16(reorient(values, columns, rows, orientation)),
    };
    if transposed { (height, width, texels) } else { (width, height, texels) }
}

/// Applies an orientation: an optional transposition, then flips in either direction or both.
fn reorient<T: Copy>(values: Vec<T>, columns: usize, rows: usize, orientation: u8) -> Vec<T> {
    let (mut values, width) = match orientation {
        5.. => (transpose(&values, columns, rows), rows),
        _ => (values, columns),
    };
    if matches!(orientation, 2 | 3 | 6 | 7) {
        flip_horizontally(&mut values, width);
    }
    if matches!(orientation, 3 | 4 | 7 | 8) {
        flip_vertically(&mut values, width);
    }
    values
}

fn transpose<T: Copy>(values: &[T], columns: usize, rows: usize) -> Vec<T> {
    let texels = values.as_chunks::<4>().0;
    let mut out = Vec::with_capacity(values.len());
    for x in 0..columns {
        (0..rows).for_each(|y| out.extend(texels[y * columns + x]));
    }
    out
}

/// Reverses every row of RGBA texels.
pub(super) fn flip_horizontally<T>(values: &mut [T], width: usize) {
    values.as_chunks_mut::<4>().0.chunks_exact_mut(width).for_each(<[_]>::reverse);
}

/// Reverses the order of rows of RGBA texels.
pub(super) fn flip_vertically<T>(values: &mut [T], width: usize) {
    let mut rows = values.chunks_exact_mut(width * 4);
    while let (Some(top), Some(bottom)) = (rows.next(), rows.next_back()) {
        top.swap_with_slice(bottom);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates an EXIF block with one entry, in either byte order.
    fn block(big_endian: bool, entry: [u32; 3], value: u16) -> Vec<u8> {
        let mut out = if big_endian { b"MM\0*".to_vec() } else { b"II*\0".to_vec() };
        let mut put = |number: u32, len: usize| {
            let bytes = number.to_be_bytes();
            match big_endian {
                true => out.extend(&bytes[4 - len..]),
                false => out.extend(bytes[4 - len..].iter().rev()),
            }
        };
        for (number, len) in [(8, 4), (1, 2), (entry[0], 2), (entry[1], 2), (entry[2], 4)] {
            put(number, len);
        }
        put(value.into(), 2);
        put(0, 2);
        out
    }

    #[test]
    fn reads_the_tag_in_both_byte_orders() {
        for big_endian in [false, true] {
            for value in 0..12 {
                let good = block(big_endian, TAG, value);
                let wanted = (2..=8).contains(&value).then_some(value as u8);
                assert_eq!(stated(&good), wanted);
                (0..good.len()).for_each(|end| assert_eq!(stated(&good[..end]), None));
            }
            assert_eq!(stated(&block(big_endian, TAG, 0x106)), None);
            assert_eq!(stated(&block(big_endian, [0x112, 4, 1], 6)), None);
            assert_eq!(stated(&block(big_endian, [0x112, 3, 2], 6)), None);
        }
    }

    /// The corner of the stored image at which row 0 and column 0 of the upright one lie, from the table of TIFF 6.0.
    #[test]
    fn moves_every_texel_to_its_place() {
        let (w, h) = (3u32, 2u32);
        let stored: Vec<[u8; 4]> = (0..6).map(|i| [i, 0, 0, 255]).collect();
        let upright: [(u8, &[u8]); 8] = [
            (1, &[0, 1, 2, 3, 4, 5]),
            (2, &[2, 1, 0, 5, 4, 3]),
            (3, &[5, 4, 3, 2, 1, 0]),
            (4, &[3, 4, 5, 0, 1, 2]),
            (5, &[0, 3, 1, 4, 2, 5]),
            (6, &[3, 0, 4, 1, 5, 2]),
            (7, &[5, 2, 4, 1, 3, 0]),
            (8, &[2, 5, 1, 4, 0, 3]),
        ];
        for (orientation, wanted) in upright {
            let (width, height, texels) = apply((w, h, Texels::Rgba8(stored.concat())), orientation);
            assert_eq!((width, height), if orientation > 4 { (h, w) } else { (w, h) });
            let Texels::Rgba8(values) = texels else { panic!("eight bits stay eight") };
            assert_eq!(values.iter().step_by(4).copied().collect::<Vec<_>>(), wanted, "{orientation}");
        }
    }
}
