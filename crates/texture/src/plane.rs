//! An image during mip filtering: the source image, or a filtered mip level in floats.
//!
//! The source is never held in floats: a 4096² source is 64 MB of bytes, and its first filtered level is
//! another 64 MB.

use std::ops::Range;

use kiln_ir::{Image, Texels};

use crate::filter_mode::{FilterMode, Sample, Texel};
use crate::kernel::Edge;
use crate::mips::Rows;

/// An image that can be read as linear quantities to filter and as bytes to store.
pub(crate) enum Plane {
    /// The source image at its own bit depth.
    Source(Image),
    /// A filtered mip level in floats.
    Filtered {
        /// Width in texels.
        width: u32,
        /// The texels, row by row.
        texels: Vec<Texel>,
    },
}

impl Plane {
    /// Returns the width in texels.
    pub(crate) fn width(&self) -> u32 {
        match self {
            Plane::Source(image) => image.width(),
            Plane::Filtered { width, .. } => *width,
        }
    }

    /// Returns the height in texels.
    pub(crate) fn height(&self) -> u32 {
        match self {
            Plane::Source(image) => image.height(),
            Plane::Filtered { width, texels } => (texels.len() / *width as usize) as u32,
        }
    }

    /// Reads `out.len()` texels of row `y` from column `x` on, decoded for filtering.
    pub(crate) fn read(&self, filter_mode: FilterMode, x: u32, y: u32, out: &mut [Texel]) {
        let start = y as usize * self.width() as usize + x as usize;
        let range = start..start + out.len();
        match self {
            Plane::Source(image) => match image.texels() {
                Texels::Rgba8(v) => filter_mode.decode(&v[values(range)], out),
                Texels::Rgba16(v) => filter_mode.decode(&v[values(range)], out),
            },
            Plane::Filtered { texels, .. } => out.copy_from_slice(&texels[range]),
        }
    }

    /// Reads whole rows as RGBA8. 8-bit sources are copied; 16-bit sources are rounded.
    pub(crate) fn bytes(&self, filter_mode: FilterMode, alpha_scale: f32, rows: Range<u32>, out: &mut [u8]) {
        let width = self.width() as usize;
        let range = rows.start as usize * width..rows.end as usize * width;
        match self {
            Plane::Source(image) => match image.texels() {
                Texels::Rgba8(v) => out.copy_from_slice(&v[values(range)]),
                Texels::Rgba16(v) => {
                    v[values(range)].iter().zip(out).for_each(|(value, byte)| *byte = value.byte());
                }
            },
            Plane::Filtered { texels, .. } => filter_mode.encode(&texels[range], alpha_scale, out),
        }
    }
}

/// Returns the range of channel values of a range of texels.
fn values(texels: Range<usize>) -> Range<usize> {
    texels.start * 4..texels.end * 4
}

/// A plane with clamped edges.
pub(crate) struct ClampedPlane<'a> {
    /// The image to read.
    pub(crate) plane: &'a Plane,
    /// The filter mode of its channels.
    pub(crate) filter_mode: FilterMode,
}

impl Rows for ClampedPlane<'_> {
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
        self.plane.read(self.filter_mode, 0, y as u32, out);
    }
}
