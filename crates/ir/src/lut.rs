//! A three-dimensional colour lookup table.

/// A cube of RGB values; red varies fastest, then green, then blue.
#[derive(Clone, Debug, PartialEq)]
pub struct Lut {
    size: u32,
    domain: [[f32; 3]; 2],
    rgb: Vec<[f32; 3]>,
}

impl Lut {
    /// The smallest and the largest edge that a table may have.
    pub const SIZES: std::ops::RangeInclusive<u32> = 2..=256;

    /// Makes a table with `size` entries along each edge, or `None` when the edge is out of range, the number
    /// of entries is not its cube, or a value or a domain bound is not finite.
    pub fn new(size: u32, domain: [[f32; 3]; 2], rgb: Vec<[f32; 3]>) -> Option<Lut> {
        let finite = rgb.iter().chain(&domain).flatten().all(|v| v.is_finite());
        let fits = Self::SIZES.contains(&size) && rgb.len() == (size as usize).pow(3);
        (finite && fits).then_some(Lut { size, domain, rgb })
    }

    /// Entries along each edge.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The input colours of the first and of the last entry: black and white unless the source says otherwise.
    pub fn domain(&self) -> [[f32; 3]; 2] {
        self.domain
    }

    /// The entries, red fastest.
    pub fn rgb(&self) -> &[[f32; 3]] {
        &self.rgb
    }
}
