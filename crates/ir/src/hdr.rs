//! An HDR image in memory: linear RGBA in 32-bit floats, without an upper bound.

/// An HDR image of at least one texel and exactly `width * height` of them, all values finite.
#[derive(Clone, Debug, PartialEq)]
pub struct HdrImage {
    width: u32,
    height: u32,
    texels: Vec<[f32; 4]>,
}

impl HdrImage {
    /// Creates an image of linear RGBA, top row first; returns `None` when a side is zero, the number of texels is not
    /// `width * height`, or a value is not finite.
    pub fn new(width: u32, height: u32, texels: Vec<[f32; 4]>) -> Option<HdrImage> {
        let wanted = (width as usize).checked_mul(height as usize)?;
        let finite = texels.as_flattened().iter().all(|value| value.is_finite());
        (width > 0 && height > 0 && texels.len() == wanted && finite).then_some(HdrImage {
            width,
            height,
            texels,
        })
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
    pub fn texels(&self) -> &[[f32; 4]] {
        &self.texels
    }

    /// Returns the texels without copying them, top row first.
    pub fn into_texels(self) -> Vec<[f32; 4]> {
        self.texels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_sizes_that_do_not_match_and_values_that_are_not_finite() {
        assert!(HdrImage::new(2, 1, vec![[9.5; 4]; 2]).is_some());
        assert!(HdrImage::new(2, 1, vec![[0.0; 4]; 3]).is_none());
        assert!(HdrImage::new(0, 1, vec![]).is_none());
        assert!(HdrImage::new(u32::MAX, u32::MAX, vec![]).is_none());
        for bad in [f32::NAN, f32::INFINITY] {
            assert!(HdrImage::new(1, 1, vec![[0.0, 0.0, bad, 1.0]]).is_none());
        }
    }
}
