//! Validated triangle indices, and the errors of a mesh.
//!
//! The algorithms index without bounds checks of their own; [`Triangles::new`] is the one place that
//! validates.

use std::fmt;

/// The maximum number of indices: several algorithms pack a corner number and two bits into 32.
const MAX_INDICES: usize = 3 << 28;

/// A triangle list over `vertex_count` vertices: whole triangles, every index in range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangles<'a> {
    indices: &'a [u32],
    vertex_count: usize,
}

impl<'a> Triangles<'a> {
    /// Validates `indices`. Rejects a count that is not a multiple of three and any index that is not below
    /// `vertex_count`.
    pub(crate) fn new(indices: &'a [u32], vertex_count: usize) -> Result<Self, Error> {
        if !indices.len().is_multiple_of(3) {
            return Err(Error::IndexCount(indices.len()));
        }
        if indices.len() > MAX_INDICES || vertex_count > MAX_INDICES {
            return Err(Error::TooLarge { indices: indices.len(), vertices: vertex_count });
        }
        // The largest first: one pass without a branch per index; its position is searched only on failure.
        let largest = indices.iter().fold(0, |most, &index| most.max(index));
        if !indices.is_empty() && largest as usize >= vertex_count {
            let at = indices.iter().position(|&index| index as usize >= vertex_count).unwrap_or(0);
            return Err(Error::IndexOutOfRange { at, index: indices[at], vertices: vertex_count });
        }
        Ok(Self { indices, vertex_count })
    }

    /// Returns a triangle list of indices that an algorithm of this crate derived from valid ones.
    pub(crate) fn trusted(indices: &'a [u32], vertex_count: usize) -> Self {
        debug_assert!(Self::new(indices, vertex_count).is_ok());
        Self { indices, vertex_count }
    }

    /// Returns the indices, three per triangle.
    pub(crate) fn indices(self) -> &'a [u32] {
        self.indices
    }

    /// Returns the number of vertices.
    pub(crate) fn vertex_count(self) -> usize {
        self.vertex_count
    }

    /// Returns the number of triangles.
    pub(crate) fn len(self) -> usize {
        self.indices.len() / 3
    }

    /// Iterates over the vertices of each triangle.
    pub(crate) fn iter(self) -> impl ExactSizeIterator<Item = [u32; 3]> + use<'a> {
        self.indices.as_chunks().0.iter().copied()
    }

    /// Panics, naming the attribute, if `attribute` has fewer elements than there are vertices.
    pub(crate) fn expect<T>(self, name: &str, attribute: &[T]) {
        assert!(
            attribute.len() >= self.vertex_count,
            "{name}: {} elements for {} vertices",
            attribute.len(),
            self.vertex_count
        );
    }
}

/// The reason why a mesh is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The number of indices is not a multiple of three.
    IndexCount(usize),
    /// An index refers to a vertex that does not exist.
    IndexOutOfRange {
        /// The position in the index list.
        at: usize,
        /// The index at that position.
        index: u32,
        /// The number of vertices.
        vertices: usize,
    },
    /// An attribute has a different number of elements than there are positions.
    Length {
        /// The name of the attribute.
        attribute: &'static str,
        /// The number of its elements.
        found: usize,
        /// The number of positions.
        expected: usize,
    },
    /// A coordinate is NaN, infinite, or so large (beyond 1e37) that a radius would overflow.
    NotFinite {
        /// The name of the attribute.
        attribute: &'static str,
        /// The index of the vertex.
        vertex: usize,
    },
    /// The mesh has more indices or vertices than the algorithms support.
    TooLarge {
        /// The number of indices.
        indices: usize,
        /// The number of vertices.
        vertices: usize,
    },
    /// The mesh cannot be simplified to as few vertices as its index type can address.
    IndexType {
        /// The number of vertices before simplification.
        vertices: usize,
        /// The number of vertices that the index type can address.
        most: u64,
    },
    /// The deadline of the options has passed.
    Deadline,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Deadline => write!(f, "the deadline passed before the mesh was processed"),
            Self::IndexCount(count) => {
                write!(f, "the number of indices must be a multiple of three, but it is {count}")
            }
            Self::IndexOutOfRange { at, index, vertices } => {
                write!(f, "index {index} at position {at} is out of range for {vertices} vertices")
            }
            Self::Length { attribute, found, expected } => {
                write!(f, "{attribute} has {found} elements for {expected} vertices")
            }
            Self::NotFinite { attribute, vertex } => {
                write!(f, "{attribute} of vertex {vertex} must be finite and below 1e37 in magnitude")
            }
            Self::IndexType { vertices, most } => {
                write!(
                    f,
                    "the mesh cannot be simplified from {vertices} vertices to the {most} that its index type can address"
                )
            }
            Self::TooLarge { indices, vertices } => {
                write!(
                    f,
                    "the mesh has {indices} indices and {vertices} vertices, which is more than one mesh supports"
                )
            }
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_partial_triangles_and_indices_out_of_range() {
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
