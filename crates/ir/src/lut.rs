//! A three-dimensional colour lookup table.

/// A 3D lookup table (LUT) of RGB values; red varies fastest, then green, then blue.
#[derive(Clone, Debug, PartialEq)]
pub struct Lut {
    size: u32,
    domain: [[f32; 3]; 2],
    rgb: Vec<[f32; 3]>,
}

impl Lut {
    /// The range of entries along each edge.
    pub const SIZES: std::ops::RangeInclusive<u32> = 2..=256;

    /// Creates a table with `size` entries along each edge; returns `None` when the size is out of range, the number
    /// of entries is not its cube, or a value or a domain bound is not finite.
    pub fn new(size: u32, domain: [[f32; 3]; 2], rgb: Vec<[f32; 3]>) -> Option<Lut> {
        let finite = rgb.iter().chain(&domain).flatten().all(|v| v.is_finite());
        let fits = Self::SIZES.contains(&size) && rgb.len() == (size as usize).pow(3);
        (finite && fits).then_some(Lut { size, domain, rgb })
    }

    /// Returns the number of entries along each edge.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the input colours of the first and of the last entry: black and white unless the source states a domain.
    pub fn domain(&self) -> [[f32; 3]; 2] {
        self.domain
    }

    /// Returns the entries, red fastest.
    pub fn rgb(&self) -> &[[f32; 3]] {
        &self.rgb
    }
}
