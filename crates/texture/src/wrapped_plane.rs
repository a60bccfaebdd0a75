//! A plane whose texels continue beyond its edges as the address mode of the sampler has it.

use crate::filter_mode::{FilterMode, Texel};
use crate::kernel::{Edge, reach};
use crate::mips::Rows;
use crate::plane::Plane;

/// The address mode of the sampler that a texture is made for. The mip filter reads beyond the edges accordingly, so that a
/// tiling texture has no seam in its mip levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrap {
    /// Repeats the outermost texel.
    #[default]
    Clamp,
    /// Repeats the image.
    Repeat,
    /// Repeats the image, mirrored each time.
    Mirror,
}

impl Wrap {
    /// Returns the texel that a coordinate beyond the edges stands for.
    fn texel(self, at: i64, size: i64) -> i64 {
        match self {
            Wrap::Clamp => at.clamp(0, size - 1),
            Wrap::Repeat => at.rem_euclid(size),
            Wrap::Mirror => {
                let at = at.rem_euclid(2 * size);
                at.min(2 * size - 1 - at)
            }
        }
    }
}

/// A plane with a border that continues its texels.
pub(crate) struct WrappedPlane<'a> {
    plane: &'a Plane,
    filter_mode: FilterMode,
    wrap: Wrap,
    /// The width of the border at the left and right, and at the top and bottom.
    border: (i64, i64),
}

impl<'a> WrappedPlane<'a> {
    /// Prepares a plane to be downscaled to this size.
    pub(crate) fn new(
        plane: &'a Plane,
        filter_mode: FilterMode,
        wrap: Wrap,
        (width, height): (u32, u32),
    ) -> WrappedPlane<'a> {
        let border = (reach(plane.width(), width).into(), reach(plane.height(), height).into());
        WrappedPlane { plane, filter_mode, wrap, border }
    }
}

impl Rows for WrappedPlane<'_> {
    fn width(&self) -> u32 {
        self.plane.width()
    }

    fn height(&self) -> u32 {
        self.plane.height()
    }

    fn edge(&self) -> Edge {
        Edge::Border
    }

    fn read(&self, y: usize, out: &mut [Texel]) {
        let (width, height) = (i64::from(self.width()), i64::from(self.height()));
        let row = self.wrap.texel(y as i64 - self.border.1, height) as u32;
        let border = self.border.0 as usize;
        self.plane.read(self.filter_mode, 0, row, &mut out[border..border + width as usize]);
        let beyond = (-self.border.0..0).chain(width..width + self.border.0);
        for x in beyond {
            out[(x + self.border.0) as usize] = out[border + self.wrap.texel(x, width) as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_beyond_the_edges_are_mapped() {
        let mapped = |wrap: Wrap| (-5..8).map(|at| wrap.texel(at, 3)).collect::<Vec<_>>();
        assert_eq!(mapped(Wrap::Clamp), [0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2]);
        assert_eq!(mapped(Wrap::Repeat), [1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]);
        assert_eq!(mapped(Wrap::Mirror), [1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
    }
}
