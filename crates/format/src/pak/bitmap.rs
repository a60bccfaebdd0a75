//! The payload of a bitmap: a header, then mip levels, largest first, or a KTX2 file.
//!
//! Rejected are empty dimensions, zero channels, more mip levels than a full mip chain has, and payloads of
//! the wrong size. Each mip level starts at a multiple of sixteen bytes.

use super::{ALIGNMENT, Color, Encoding, Sample};
use crate::Error;
use crate::bytes::{Le, align, slice};
use crate::pod::pod;

pod! {
    /// The header of the payload: dimensions and texel format.
    pub struct BitmapHead {
        /// The width of the base level in texels.
        pub width: u32,
        /// The height of the base level in texels.
        pub height: u32,
        /// Number of channels, 1 to 4.
        pub channels: u8,
        /// The sample type; see [`Sample`].
        pub sample: u8,
        /// The colour space; see [`Color`].
        pub color: u8,
        /// The encoding; see [`Encoding`].
        pub encoding: u8,
        /// Number of mip levels.
        pub levels: u8,
        /// Reserved; zero in every valid file.
        pub reserved: [u8; 3],
    }
}

/// The dimensions and the texel format of a bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitmapShape {
    /// The width of the base level in texels.
    pub width: u32,
    /// The height of the base level in texels.
    pub height: u32,
    /// Number of channels, 1 to 4.
    pub channels: u8,
    /// The sample type of each channel.
    pub sample: Sample,
    /// The colour space of the texels.
    pub color: Color,
    /// The encoding of the payload.
    pub encoding: Encoding,
    /// Number of mip levels.
    pub levels: u8,
}

impl BitmapShape {
    /// Returns width and height of a mip level in texels.
    pub fn level_size(&self, level: u8) -> (u32, u32) {
        let side = |side: u32| side.checked_shr(level.into()).unwrap_or(0).max(1);
        (side(self.width), side(self.height))
    }

    /// Returns offset and length of a mip level in the payload, in bytes; for raw bitmaps.
    pub fn level_range(&self, level: u8) -> Option<(u64, u64)> {
        let mut at = BitmapHead::SIZE as u64;
        for before in 0..level.min(self.levels) {
            at = align(at.checked_add(self.level_len(before)?)?, ALIGNMENT)?;
        }
        (level < self.levels).then_some((at, self.level_len(level)?))
    }

    /// Returns the size of a mip level in bytes.
    pub fn level_len(&self, level: u8) -> Option<u64> {
        let (width, height) = self.level_size(level);
        let texel = u64::from(self.channels) * u64::from(self.sample.byte_len());
        (u64::from(width) * u64::from(height)).checked_mul(texel)
    }

    fn check(&self) -> Result<(), Error> {
        let bad =
            |at, field, found: u32, expected| Err(Error::Value { at, field, found: found.into(), expected });
        if self.width == 0 || self.height == 0 {
            return bad(0, "width", 0, "at least 1");
        }
        if !(1..=4).contains(&self.channels) {
            return bad(8, "channels", self.channels.into(), "1 to 4");
        }
        let most = self.width.max(self.height).ilog2() as u8 + 1;
        if self.levels == 0 || self.levels > most {
            return bad(12, "levels", self.levels.into(), "at most the length of a full mip chain");
        }
        Ok(())
    }
}

/// A checked bitmap, borrowed from its payload.
#[derive(Clone, Copy, Debug)]
pub struct BitmapView<'a> {
    bytes: &'a [u8],
    shape: BitmapShape,
}

impl<'a> BitmapView<'a> {
    /// Checks the payload of a bitmap.
    ///
    /// # Errors
    ///
    /// [`Error`] if the payload is truncated, has trailing bytes or holds an invalid value.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let len = bytes.len() as u64;
        let short = Error::Truncated { at: 0, field: "head", needed: BitmapHead::SIZE as u64, len };
        let head = BitmapHead::get(bytes).ok_or(short)?;
        let sample = Sample::from_number(head.sample);
        let color = Color::from_number(head.color);
        let encoding = Encoding::from_number(head.encoding);
        let (Some(sample), Some(color), Some(encoding), [0, 0, 0]) = (sample, color, encoding, head.reserved)
        else {
            return Err(Error::Fault {
                at: 9,
                field: "sample",
                why: "has an unknown type, colour space or encoding",
            });
        };
        let BitmapHead { width, height, channels, levels, .. } = head;
        let shape = BitmapShape { width, height, channels, sample, color, encoding, levels };
        shape.check()?;
        let view = BitmapView { bytes, shape };
        if encoding == Encoding::Raw {
            let end = shape.level_range(levels - 1).and_then(|(at, size)| at.checked_add(size));
            match end {
                Some(end) if end == len => {}
                Some(end) if end < len => return Err(Error::Trailing { at: end, extra: len - end }),
                end => {
                    let needed = end.unwrap_or(u64::MAX);
                    return Err(Error::Truncated {
                        at: BitmapHead::SIZE as u64,
                        field: "texels",
                        needed,
                        len,
                    });
                }
            }
        }
        Ok(view)
    }

    /// Returns the dimensions and the texel format.
    pub fn shape(&self) -> BitmapShape {
        self.shape
    }

    /// Returns the byte range of a mip level in the payload; level 0 of a KTX2 bitmap is the whole KTX2 file.
    pub fn range(&self, level: u8) -> Option<core::ops::Range<usize>> {
        match self.shape.encoding {
            Encoding::Ktx2 => (level == 0).then_some(BitmapHead::SIZE..self.bytes.len()),
            Encoding::Raw => {
                let (at, size) = self.shape.level_range(level)?;
                slice(self.bytes, at, size).map(|_| at as usize..(at + size) as usize)
            }
        }
    }
}

/// Size of the header of a payload in bytes; mip level 0 or the KTX2 file follows it.
pub const HEAD_LEN: usize = BitmapHead::SIZE;

/// Encodes the payload of a bitmap from its mip levels, or from one KTX2 file.
///
/// # Errors
///
/// [`Error`] if the result would not pass [`BitmapView::read`].
#[cfg(feature = "tools")]
pub fn write(shape: &BitmapShape, levels: &[&[u8]]) -> Result<alloc::vec::Vec<u8>, Error> {
    shape.check()?;
    let mut out = alloc::vec::Vec::with_capacity(64 + levels.iter().map(|l| l.len() + 16).sum::<usize>());
    Le::put(head(shape), &mut out);
    for level in levels {
        out.resize(out.len().next_multiple_of(ALIGNMENT as usize), 0);
        out.extend_from_slice(level);
    }
    BitmapView::read(&out)?;
    Ok(out)
}

/// Encodes the payload of a bitmap of one mip level whose texels are in place: after [`HEAD_LEN`] bytes, which the header
/// replaces.
///
/// # Errors
///
/// [`Error`] if the result would not pass [`BitmapView::read`].
#[cfg(feature = "tools")]
pub fn write_in_place(
    shape: &BitmapShape,
    mut bytes: alloc::vec::Vec<u8>,
) -> Result<alloc::vec::Vec<u8>, Error> {
    let mut start = alloc::vec::Vec::with_capacity(HEAD_LEN);
    Le::put(head(shape), &mut start);
    let (needed, len) = (HEAD_LEN as u64, bytes.len() as u64);
    let place = bytes.get_mut(..HEAD_LEN).ok_or(Error::Truncated { at: 0, field: "head", needed, len })?;
    place.copy_from_slice(&start);
    BitmapView::read(&bytes)?;
    Ok(bytes)
}

#[cfg(feature = "tools")]
fn head(shape: &BitmapShape) -> BitmapHead {
    let BitmapShape { width, height, channels, sample, color, encoding, levels } = *shape;
    let (sample, color, encoding) = (sample as u8, color as u8, encoding as u8);
    BitmapHead { width, height, channels, sample, color, encoding, levels, reserved: [0; 3] }
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;

    const SHAPE: BitmapShape = BitmapShape {
        width: 5,
        height: 2,
        channels: 3,
        sample: Sample::U8,
        color: Color::Srgb,
        encoding: Encoding::Raw,
        levels: 3,
    };

    #[test]
    fn mip_levels_have_expected_ranges() {
        let levels: [&[u8]; 3] = [&[1; 30], &[2; 6], &[3; 3]];
        let bytes = write(&SHAPE, &levels).unwrap();
        let view = BitmapView::read(&bytes).unwrap();
        assert_eq!(view.shape(), SHAPE);
        for (level, texels) in levels.iter().enumerate() {
            let range = view.range(level as u8).unwrap();
            assert_eq!((&bytes[range.clone()], range.start % 16), (*texels, 0));
        }
        assert_eq!(view.range(3), None);
        for len in 0..bytes.len() {
            assert!(BitmapView::read(&bytes[..len]).is_err());
        }
    }

    #[test]
    fn texels_in_place_become_the_same_payload() {
        let shape = BitmapShape { levels: 1, ..SHAPE };
        let texels: alloc::vec::Vec<u8> = (0..30).collect();
        let mut bytes = alloc::vec![7; HEAD_LEN];
        bytes.extend(&texels);
        assert_eq!(write_in_place(&shape, bytes.clone()).unwrap(), write(&shape, &[&texels]).unwrap());
        bytes.pop();
        assert!(write_in_place(&shape, bytes.clone()).is_err());
        bytes.truncate(HEAD_LEN - 1);
        assert!(write_in_place(&shape, bytes).is_err());
    }

    #[test]
    fn rejects_invalid_dimensions() {
        for bad in [
            BitmapShape { levels: 4, ..SHAPE },
            BitmapShape { levels: 0, ..SHAPE },
            BitmapShape { channels: 5, ..SHAPE },
            BitmapShape { channels: 0, ..SHAPE },
            BitmapShape { width: 0, ..SHAPE },
            BitmapShape { width: u32::MAX, height: u32::MAX, levels: 1, sample: Sample::F32, ..SHAPE },
        ] {
            assert!(write(&bad, &[&[0; 30], &[0; 6], &[0; 3]]).is_err(), "{bad:?}");
        }
    }
}
