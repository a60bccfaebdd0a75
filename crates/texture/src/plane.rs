//! One picture on its way down the chain: the source as it came, or a filtered level in floats.
//!
//! The largest picture is never held in floats: a 4096² source is 64 MB of bytes, and its first filtered
//! level is another 64 MB.

use std::ops::Range;

use kiln_ir::{Image, Texels};

use crate::kernel::Edge;
use crate::mips::Rows;
use crate::texel::{Meaning, Sample, Texel};

/// A picture that can be read as quantities to filter and as bytes to store.
pub(crate) enum Plane {
    /// As it came, at its own depth.
    Source(Image),
    /// A level that was filtered, still at full precision.
    Filtered {
        /// Texels in a row.
        width: u32,
        /// The rows, one after another.
        texels: Vec<Texel>,
    },
}

impl Plane {
    /// Texels in a row.
    pub(crate) fn width(&self) -> u32 {
        match self {
            Plane::Source(image) => image.width(),
            Plane::Filtered { width, .. } => *width,
        }
    }

    /// Number of rows.
    pub(crate) fn height(&self) -> u32 {
        match self {
            Plane::Source(image) => image.height(),
            Plane::Filtered { width, texels } => (texels.len() / *width as usize) as u32,
        }
    }

    /// Part of row `y` as quantities; `out` says how many texels from `x` on.
    pub(crate) fn read(&self, meaning: Meaning, x: u32, y: u32, out: &mut [Texel]) {
        let start = y as usize * self.width() as usize + x as usize;
        let range = start..start + out.len();
        match self {
            Plane::Source(image) => match image.texels() {
                Texels::Rgba8(v) => meaning.decode(&v[values(range)], out),
                Texels::Rgba16(v) => meaning.decode(&v[values(range)], out),
            },
            Plane::Filtered { texels, .. } => out.copy_from_slice(&texels[range]),
        }
    }

    /// Whole rows as bytes, RGBA. The source's own bytes come out exactly; sixteen bits are rounded.
    pub(crate) fn bytes(&self, meaning: Meaning, alpha_scale: f32, rows: Range<u32>, out: &mut [u8]) {
        let width = self.width() as usize;
        let range = rows.start as usize * width..rows.end as usize * width;
        match self {
            Plane::Source(image) => match image.texels() {
                Texels::Rgba8(v) => out.copy_from_slice(&v[values(range)]),
                Texels::Rgba16(v) => {
                    v[values(range)].iter().zip(out).for_each(|(value, byte)| *byte = value.byte());
                }
            },
            Plane::Filtered { texels, .. } => meaning.encode(&texels[range], alpha_scale, out),
        }
    }
}

/// Where the four values of each of a range of texels lie.
fn values(texels: Range<usize>) -> Range<usize> {
    texels.start * 4..texels.end * 4
}

/// A plane by itself: beyond its edges the outermost texels go on.
pub(crate) struct Flat<'a> {
    /// The picture.
    pub(crate) plane: &'a Plane,
    /// What its channels mean.
    pub(crate) meaning: Meaning,
}

impl Rows for Flat<'_> {
    fn width(&self) -> u32 {
        self.plane.width()
    }

    fn height(&self) -> u32 {
        self.plane.height()
    }

    fn edge(&self) -> Edge {
        Edge::Clamp
    }

    fn read(&self, y: usize, out: &mut [Texel]) {
        self.plane.read(self.meaning, 0, y as u32, out);
    }
}
