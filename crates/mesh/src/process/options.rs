//! The options of the pipeline.

use crate::order;
use crate::simplify;
use std::time::Instant;

/// Source of the tangents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TangentMode {
    /// No tangents.
    None,
    /// Authored tangents stay, whatever they cost; missing ones are generated.
    Keep,
    /// All tangents are generated from the UVs.
    Generate,
    /// Authored tangents stay if every one of them is usable. Otherwise all are generated, or there are none if there are
    /// no UVs.
    KeepIfAllUsable,
    /// Authored tangents stay unless they are unusable or prevent the welding of far too many vertices.
    #[default]
    Auto,
}

/// Rule for the number and the size of levels of detail.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LodRule {
    /// One level per entry: the part of the triangles to keep. See [`LodRule::halves`].
    Ratios(Vec<f32>),
    /// Half the triangles of the level before, for as long as a level would have at least this many.
    HalveDownTo(u32),
}

impl LodRule {
    /// `count` levels, each with half the triangles of the one before.
    pub fn halves(count: usize) -> Self {
        Self::Ratios(simplify::halves(count))
    }

    /// The ratios for a mesh of so many triangles.
    pub(super) fn ratios(&self, triangles: usize) -> Vec<f32> {
        match self {
            Self::Ratios(ratios) => ratios.clone(),
            Self::HalveDownTo(least) => {
                let steps = (0..32).take_while(|step| triangles >> (step + 1) >= *least as usize);
                simplify::halves(steps.count())
            }
        }
    }
}

/// Options of [`process()`](crate::process()). The default is what `assetc` does with a model of which nothing is said.
///
/// ```
/// let mut options = kiln_mesh::MeshOptions::default();
/// options.lods = kiln_mesh::LodRule::halves(4);
/// options.meshlets = false;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeshOptions {
    /// Keep normals, or create flat ones where the input has none. Without normals there are no tangents either.
    pub normals: bool,
    /// Source of the tangents.
    pub tangents: TangentMode,
    /// Levels of detail.
    pub lods: LodRule,
    /// Largest error of a level of detail, as part of the mesh's extent.
    pub lod_error: f32,
    /// Keep border edges in all levels of detail, so that neighbouring meshes still fit. Such levels are made by their
    /// positions alone.
    pub lock_border: bool,
    /// Order triangles and vertices for the GPU.
    pub optimize: bool,
    /// Part of the post-transform vertex cache's gain that the order for less overdraw may give back: 1.05 is 5 %, and 0
    /// leaves that order out.
    pub overdraw_threshold: f32,
    /// Build meshlets.
    pub meshlets: bool,
    /// Build [`ShadowGeometry`](crate::ShadowGeometry).
    pub shadow: bool,
    /// Largest index that the index type holds, such as 65535. A mesh with more vertices is simplified until they fit.
    pub max_index: Option<u32>,
    /// Write -0.0 as 0.0, so that vertices that are equal have equal bytes.
    pub positive_zeros: bool,
    /// Time to give up. The result does not depend on the deadline.
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
