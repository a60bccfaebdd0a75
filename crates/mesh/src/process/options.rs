//! Options of the mesh pipeline.

use crate::order;
use crate::simplify;
use std::time::Instant;

/// The source of the tangents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TangentMode {
    /// No tangents in the result.
    None,
    /// Authored tangents are kept at any cost; missing ones are generated.
    Keep,
    /// All tangents are generated from the UVs.
    Generate,
    /// Authored tangents are kept if all of them are valid. Otherwise all are generated, or there are none
    /// without UVs.
    KeepIfAllUsable,
    /// Authored tangents are kept unless they are invalid or prevent the welding of far too many vertices.
    #[default]
    Auto,
}

/// The rule for the number and the sizes of LODs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LodRule {
    /// One LOD per entry: the share of the triangles to keep. See [`LodRule::halves`].
    Ratios(Vec<f32>),
    /// Half the triangles of the previous LOD, as long as an LOD would have at least this many.
    HalveDownTo(u32),
}

impl LodRule {
    /// Returns the rule for `count` LODs, each with half the triangles of the previous one.
    pub fn halves(count: usize) -> Self {
        Self::Ratios(simplify::halves(count))
    }

    /// Returns the ratios for a mesh of so many triangles.
    pub(crate) fn ratios(&self, triangles: usize) -> Vec<f32> {
        match self {
            Self::Ratios(ratios) => ratios.clone(),
            Self::HalveDownTo(least) => {
                let steps = (0..32).take_while(|step| triangles >> (step + 1) >= *least as usize);
                simplify::halves(steps.count())
            }
        }
    }
}

/// Options of [`process()`](crate::process()). The default is that of `assetc` for a model without settings.
///
/// ```
/// let mut options = kiln_mesh::MeshOptions::default();
/// options.lods = kiln_mesh::LodRule::halves(4);
/// options.meshlets = false;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeshOptions {
    /// Keeps normals, or creates flat ones where the input has none. Without normals there are no tangents
    /// either.
    pub normals: bool,
    /// The source of the tangents.
    pub tangents: TangentMode,
    /// The rule for LODs (levels of detail).
    pub lods: LodRule,
    /// The maximum error of an LOD, relative to the mesh's extent.
    pub lod_error: f32,
    /// Keeps border edges in all LODs, so that neighbouring meshes still fit. Such LODs are simplified by
    /// their positions alone.
    pub lock_border: bool,
    /// Orders triangles and vertices for the GPU.
    pub optimize: bool,
    /// The part of the post-transform vertex cache's gain that the overdraw order may lose: 1.05 is 5 %, and
    /// 0 skips the overdraw order.
    pub overdraw_threshold: f32,
    /// Builds meshlets if true.
    pub meshlets: bool,
    /// Builds [`ShadowGeometry`](crate::ShadowGeometry) if true.
    pub shadow: bool,
    /// The largest index of the index type, such as 65535. A mesh with more vertices is simplified until they
    /// fit.
    pub max_index: Option<u32>,
    /// Writes -0.0 as 0.0, so that equal vertices have equal bytes.
    pub positive_zeros: bool,
    /// The instant at which processing is cancelled. The result does not depend on the deadline.
    pub deadline: Option<Instant>,
}

impl Default for MeshOptions {
    fn default() -> Self {
        Self {
            normals: true,
            tangents: TangentMode::Auto,
            lods: LodRule::halves(2),
            lod_error: simplify::DEFAULT_ERROR,
            lock_border: false,
            optimize: true,
            overdraw_threshold: order::OVERDRAW_THRESHOLD,
            meshlets: true,
            shadow: false,
            max_index: None,
            positive_zeros: true,
            deadline: None,
        }
    }
}
