//! Row by row decoding of opaque PNG files, so that a large image is never in memory as a whole.

use std::io::Cursor;

use ::png::{BitDepth, Reader};
use kiln_diagnostics::{Diag, Limits};

use super::super::{incomplete_texels, rgba};
use super::{diagnose, frame_count, open};

/// The rows of an opaque image of 8 bits per channel, from the top.
pub struct OpaqueRows<'a> {
    reader: Reader<Cursor<&'a [u8]>>,
    size: (u32, u32),
    channels: usize,
    rows_left: u32,
    samples: Vec<u8>,
}

impl<'a> OpaqueRows<'a> {
    pub(in crate::image) fn open(bytes: &'a [u8], limits: &Limits) -> Result<Option<OpaqueRows<'a>>, Diag> {
        // Color type and bit depth in IHDR; an orientation may follow the texels.
        if !matches!(bytes.get(24..26), Some([8, 0 | 2])) || has_chunk(bytes, b"eXIf") {
            return Ok(None);
        }
        let reader = open(bytes, limits)?;
        let info = reader.info();
        if info.trns.is_some()
            || info.interlaced
            || info.bit_depth != BitDepth::Eight
            || frame_count(&reader).is_some()
        {
            return Ok(None);
        }
        let (size, channels) = ((info.width, info.height), info.color_type.samples());
        let samples = vec![0; size.0 as usize * channels];
        Ok(Some(OpaqueRows { reader, size, channels, rows_left: size.1, samples }))
    }

    /// Returns the width and the height in texels.
    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    /// Fills a buffer with the next rows as RGBA8. With the last row the rest of the file is checked.
    ///
    /// # Errors
    /// `image-corrupt` or `image-truncated` for a damaged file, also if no rows are left.
    pub fn read(&mut self, texels: &mut [u8]) -> Result<(), Diag> {
        for row in texels.chunks_exact_mut(self.size.0 as usize * 4) {
            self.rows_left = self.rows_left.checked_sub(1).ok_or_else(incomplete_texels)?;
            self.reader.read_row(&mut self.samples).map_err(diagnose)?.ok_or_else(incomplete_texels)?;
            match self.channels {
                1 => expand_row::<1>(&self.samples, row),
                _ => expand_row::<3>(&self.samples, row),
            }
        }
        if self.rows_left == 0 {
            self.reader.read_row(&mut self.samples).map_err(diagnose)?;
            self.reader.finish().map_err(diagnose)?;
        }
        Ok(())
    }
}

fn expand_row<const N: usize>(samples: &[u8], row: &mut [u8]) {
    let texels = row.as_chunks_mut::<4>().0.iter_mut();
    texels.zip(samples.as_chunks::<N>().0).for_each(|(texel, sample)| *texel = rgba(sample, u8::MAX));
}

/// Returns whether a file has a chunk of a type, by the lengths that its chunks state.
fn has_chunk(bytes: &[u8], name: &[u8; 4]) -> bool {
    let mut rest = bytes.get(8..).unwrap_or_default();
    while let Some((head, after)) = rest.split_at_checked(8) {
        if head[4..] == *name {
            return true;
        }
        let len = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        rest = after.get(len.saturating_add(4)..).unwrap_or_default();
    }
    false
}
