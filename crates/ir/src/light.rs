//! A picture of light in memory: linear, in floats, without an upper bound.

/// A picture of light: at least one texel, exactly `width * height` of them, all numbers finite.
#[derive(Clone, Debug, PartialEq)]
pub struct LightMap {
    width: u32,
    height: u32,
    texels: Vec<[f32; 4]>,
}

impl LightMap {
    /// Makes a picture of linear RGBA, top row first; `None` when a side is zero, the number of texels is another, or
    /// one of them is not finite.
    pub fn new(width: u32, height: u32, texels: Vec<[f32; 4]>) -> Option<LightMap> {
        let wanted = (width as usize).checked_mul(height as usize)?;
        let finite = texels.as_flattened().iter().all(|value| value.is_finite());
        (width > 0 && height > 0 && texels.len() == wanted && finite).then_some(LightMap {
            width,
            height,
            texels,
        })
    }

    /// Texels in a row.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Number of rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The texels, top row first.
    pub fn texels(&self) -> &[[f32; 4]] {
        &self.texels
    }

    /// The texels, and nothing else.
    pub fn into_texels(self) -> Vec<[f32; 4]> {
        self.texels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_must_agree_and_numbers_be_numbers() {
        assert!(LightMap::new(2, 1, vec![[9.5; 4]; 2]).is_some());
        assert!(LightMap::new(2, 1, vec![[0.0; 4]; 3]).is_none());
        assert!(LightMap::new(0, 1, vec![]).is_none());
        assert!(LightMap::new(u32::MAX, u32::MAX, vec![]).is_none());
        for bad in [f32::NAN, f32::INFINITY] {
            assert!(LightMap::new(1, 1, vec![[0.0, 0.0, bad, 1.0]]).is_none());
        }
    }
}
