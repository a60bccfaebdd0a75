//! Triangle indices that are known to be in range, and the errors of a mesh.
//!
//! The algorithms underneath index without asking; the one place that asks is [`Triangles::new`].

use std::fmt;

/// More indices than this are refused: several algorithms pack a corner number and two bits into 32.
const MAX_INDICES: usize = 3 << 28;

/// A triangle list over `vertex_count` vertices: whole triangles, every index in range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangles<'a> {
    indices: &'a [u32],
    vertex_count: usize,
}

impl<'a> Triangles<'a> {
    /// Checks `indices` once. Refuses a count that is no multiple of three and any index that is not below
    /// `vertex_count`.
    pub(crate) fn new(indices: &'a [u32], vertex_count: usize) -> Result<Self, Error> {
        if !indices.len().is_multiple_of(3) {
            return Err(Error::IndexCount(indices.len()));
        }
        if indices.len() > MAX_INDICES || vertex_count > MAX_INDICES {
            return Err(Error::TooLarge { indices: indices.len(), vertices: vertex_count });
        }
        // The largest first: one pass without a branch per index; the place is looked for only when there is one.
        let largest = indices.iter().fold(0, |most, &index| most.max(index));
        if !indices.is_empty() && largest as usize >= vertex_count {
            let at = indices.iter().position(|&index| index as usize >= vertex_count).unwrap_or(0);
            return Err(Error::IndexOutOfRange { at, index: indices[at], vertices: vertex_count });
        }
        Ok(Self { indices, vertex_count })
    }

    /// For indices that an algorithm of this crate made from others in range.
    pub(crate) fn trusted(indices: &'a [u32], vertex_count: usize) -> Self {
        debug_assert!(Self::new(indices, vertex_count).is_ok());
        Self { indices, vertex_count }
    }

    /// The indices, three per triangle.
    pub(crate) fn indices(self) -> &'a [u32] {
        self.indices
    }

    /// How many vertices the indices may name.
    pub(crate) fn vertex_count(self) -> usize {
        self.vertex_count
    }

    /// How many triangles there are.
    pub(crate) fn len(self) -> usize {
        self.indices.len() / 3
    }

    /// The three vertices of each triangle in turn.
    pub(crate) fn iter(self) -> impl ExactSizeIterator<Item = [u32; 3]> + use<'a> {
        self.indices.as_chunks().0.iter().copied()
    }

    /// Panics, naming the attribute, when `attribute` has no element for some vertex.
    pub(crate) fn expect<T>(self, name: &str, attribute: &[T]) {
        assert!(
            attribute.len() >= self.vertex_count,
            "{name}: {} elements for {} vertices",
            attribute.len(),
            self.vertex_count
        );
    }
}

/// Reason why a mesh is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The number of indices is no multiple of three.
    IndexCount(usize),
    /// An index names a vertex that does not exist.
    IndexOutOfRange {
        /// Where in the indices.
        at: usize,
        /// The index found there.
        index: u32,
        /// How many vertices there are.
        vertices: usize,
    },
    /// An attribute has a different number of elements than there are positions.
    Length {
        /// Its name.
        attribute: &'static str,
        /// How many elements it has.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A coordinate is NaN, infinite, or so large (beyond 1e37) that a radius would not fit.
    NotFinite {
        /// The attribute's name.
        attribute: &'static str,
        /// Which vertex.
        vertex: usize,
    },
    /// More indices or vertices than the algorithms can number.
    TooLarge {
        /// How many indices.
        indices: usize,
        /// How many vertices.
        vertices: usize,
    },
    /// The mesh cannot be simplified to as few vertices as its index type can number.
    IndexType {
        /// Number of vertices before.
        vertices: usize,
        /// Number of vertices that the index type allows.
        most: u64,
    },
    /// The deadline passed.
    Deadline,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Deadline => write!(f, "the deadline has passed"),
            Self::IndexCount(count) => write!(f, "{count} indices make no whole number of triangles"),
            Self::IndexOutOfRange { at, index, vertices } => {
                write!(f, "index {at} is {index}, but there are {vertices} vertices")
            }
            Self::Length { attribute, found, expected } => {
                write!(f, "{attribute} has {found} elements for {expected} vertices")
            }
            Self::NotFinite { attribute, vertex } => {
                write!(f, "{attribute} of vertex {vertex} is not a usable number")
            }
            Self::IndexType { vertices, most } => {
                write!(f, "{vertices} vertices cannot be reduced to {most} and stay a mesh")
            }
            Self::TooLarge { indices, vertices } => {
                write!(f, "{indices} indices over {vertices} vertices are too many for one mesh")
            }
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_triangles_in_range_are_taken() {
        assert_eq!(Triangles::new(&[0, 1], 2).unwrap_err(), Error::IndexCount(2));
        assert_eq!(
            Triangles::new(&[0, 1, 3, 0, 7, 1], 3).unwrap_err(),
            Error::IndexOutOfRange { at: 2, index: 3, vertices: 3 }
        );
        let none = Triangles::new(&[], 0).unwrap();
        assert_eq!(none.len(), 0);
        let two = Triangles::new(&[0, 1, 2, 2, 1, 0], 3).unwrap();
        assert_eq!(two.iter().collect::<Vec<_>>(), [[0, 1, 2], [2, 1, 0]]);
    }
}
