//! Index width: a mesh with more vertices than its index type can number is simplified until they fit.

use super::MeshOptions;
use super::work_mesh::WorkMesh;
use crate::simplify::{self, LodSource};
use crate::{Error, high_valence, order};

/// Part of the triangles that one more attempt keeps of those of the last.
const STEP: f32 = 0.8;
/// Part of the triangles below which there is no mesh left.
const LEAST: f32 = 1e-4;

impl WorkMesh<'_> {
    /// Simplifies until no index is above the largest that is allowed. Normals and skin do not count: a mesh that has to
    /// lose so much is held by its shape and its UVs.
    ///
    /// # Errors
    /// [`Error::IndexType`] if the vertices do not fit before the mesh has all but vanished.
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
        };
        let mut ratio = STEP;
        while ratio >= LEAST {
            super::check(options.deadline)?;
            let made = simplify::chain(self.triangles(), &surface, &[ratio], 1.0, &|level| level.to_vec());
            ratio *= STEP;
            let Some(mut indices) = made.into_iter().next().map(|lod| lod.indices) else { continue };
            if indices.is_empty() {
                continue;
            }
            let mut sources = order::vertex_fetch(&mut indices, count);
            // Collapsed edges may have made new vertices of high valence.
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
