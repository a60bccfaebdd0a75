//! An image in memory: RGBA, top row first, straight (not premultiplied) alpha, 8 or 16 bits per channel.

/// The texels of an [`Image`], four channels each, in the bit depth of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Texels {
    /// Eight bits per channel.
    Rgba8(Vec<u8>),
    /// Sixteen bits per channel, full range: 65535 is 1.0.
    Rgba16(Vec<u16>),
}

/// An image of at least one texel and exactly `width * height` of them.
///
/// ```
/// use kiln_ir::{Image, Texels};
///
/// let image = Image::new(1, 1, Texels::Rgba16(vec![65535, 0, 32768, 65535])).unwrap();
/// assert!(!image.has_alpha());
/// assert_eq!(image.into_rgba8(), [255, 0, 128, 255]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: u32,
    height: u32,
    texels: Texels,
}

impl Image {
    /// Creates an image; returns `None` when a side is zero or the number of values is not `width * height * 4`.
    pub fn new(width: u32, height: u32, texels: Texels) -> Option<Image> {
        let values = match &texels {
            Texels::Rgba8(v) => v.len(),
            Texels::Rgba16(v) => v.len(),
        };
        let wanted = (width as usize).checked_mul(height as usize)?.checked_mul(4)?;
        (width > 0 && height > 0 && values == wanted).then_some(Image { width, height, texels })
    }

    /// Returns the number of texels in a row.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the number of rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns the texels, top row first.
    pub fn texels(&self) -> &Texels {
        &self.texels
    }

    /// Returns the texels, top row first.
    pub fn into_texels(self) -> Texels {
        self.texels
    }

    /// Returns the image with its texels changed in place.
    ///
    /// # Panics
    ///
    /// If `change` changes the number of values.
    #[must_use]
    pub fn map_texels(mut self, change: impl FnOnce(&mut Texels)) -> Image {
        change(&mut self.texels);
        Image::new(self.width, self.height, self.texels).expect("the number of texels is unchanged")
    }

    /// Converts to eight bits per channel; 16-bit values are rounded to the nearest, not truncated.
    pub fn into_rgba8(self) -> Vec<u8> {
        match self.texels {
            Texels::Rgba8(v) => v,
            Texels::Rgba16(v) => v.into_iter().map(narrow).collect(),
        }
    }

    /// Returns `true` if any texel is not fully opaque.
    pub fn has_alpha(&self) -> bool {
        match &self.texels {
            // Without a branch for each texel: this reads every opaque image once.
            Texels::Rgba8(v) => {
                v.chunks(4096).any(|part| part.chunks_exact(4).fold(u8::MAX, |all, t| all & t[3]) != u8::MAX)
            }
            Texels::Rgba16(v) => v
                .chunks(4096)
                .any(|part| part.chunks_exact(4).fold(u16::MAX, |all, t| all & t[3]) != u16::MAX),
        }
    }
}

/// Converts a 16-bit value to the nearest 8-bit one: 65535 / 255 = 257, so a right shift would be biased.
pub fn narrow(value: u16) -> u8 {
    ((u32::from(value) + 128) / 257) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_sizes_that_do_not_match() {
        assert!(Image::new(2, 1, Texels::Rgba8(vec![0; 8])).is_some());
        assert!(Image::new(2, 1, Texels::Rgba8(vec![0; 7])).is_none());
        assert!(Image::new(0, 1, Texels::Rgba8(vec![])).is_none());
        assert!(Image::new(u32::MAX, u32::MAX, Texels::Rgba16(vec![])).is_none());
    }

    #[test]
    fn narrowing_rounds_to_nearest_and_inverts_widening() {
        for v in 0..=255u16 {
            assert_eq!(narrow(v * 257), v as u8);
        }
        for v in 0..=u16::MAX {
            let nearest = (f64::from(v) / 257.0).round() as u8;
            assert_eq!(narrow(v), nearest, "{v}");
        }
    }
}
