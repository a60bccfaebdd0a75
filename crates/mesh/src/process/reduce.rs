//! Index width: simplifies a mesh with more vertices than its index type can address until they fit.

use super::MeshOptions;
use super::work_mesh::WorkMesh;
use crate::simplify::{self, LodSource};
use crate::{Error, high_valence, order};

/// The share of the triangles that each further attempt keeps of the previous one.
const STEP: f32 = 0.8;
/// The share of the triangles below which no usable mesh is left.
const MIN_RATIO: f32 = 1e-4;

impl WorkMesh<'_> {
    /// Simplifies until no index is above the maximum. Normals and skin are ignored: a mesh that has to lose
    /// so much is kept by its shape and its UVs.
    ///
    /// # Errors
    /// [`Error::IndexType`] if the vertices do not fit before the mesh has nearly vanished.
    pub(super) fn reduce(&mut self, options: &MeshOptions) -> Result<(), Error> {
        let Some(most) = options.max_index else { return Ok(()) };
        let count = self.positions.len();
        let fits = |vertices: usize| vertices as u64 <= u64::from(most) + 1;
        if fits(count) {
            return Ok(());
        }
        let surface = LodSource {
            positions: &self.positions,
            normals: None,
            uvs: self.uvs.as_deref(),
            skin: None,
            deadline: options.deadline,
            positions_suffice: false,
        };
        let mut ratio = STEP;
        while ratio >= MIN_RATIO {
            super::check(options.deadline)?;
            let made = simplify::chain(self.triangles(), &surface, &[ratio], 1.0, &|level| level.to_vec());
            ratio *= STEP;
            let Some(mut indices) = made.into_iter().next().map(|lod| lod.indices) else { continue };
            if indices.is_empty() {
                continue;
            }
            let mut sources = order::vertex_fetch(&mut indices, count);
            // Edge collapses may have created new high-valence vertices.
            let added = high_valence::split(&mut indices, sources.len());
            sources.extend(added.iter().map(|&vertex| sources[vertex as usize]).collect::<Vec<_>>());
            if fits(sources.len()) {
                self.pick(&sources);
                self.indices = indices.into();
                return Ok(());
            }
        }
        Err(Error::IndexType { vertices: count, most: u64::from(most) + 1 })
    }
}
