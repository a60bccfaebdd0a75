//! Morph targets: displacements of vertices, blended by weights.
//!
//! The vertex of a mesh with morph targets is its base plus the sum of the displacements, each times the weight of its
//! target. The weights are those of the node that draws the mesh, or else those of the mesh; animations change them.

use crate::anim::{Interpolation, check_keyframes};
use crate::scene::NodeId;
use crate::valid::{ValidationError, check_finite, check_id};

/// The displacements of one morph target of a primitive. A list is empty, which stands for zeros, or as long as the
/// primitive's `positions`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MorphTarget {
    /// The displacements of the positions.
    pub positions: Vec<[f32; 3]>,
    /// The displacements of the normals; the sum is normalized after blending.
    pub normals: Vec<[f32; 3]>,
    /// The displacements of the tangents without their sign, which does not change.
    pub tangents: Vec<[f32; 3]>,
}

impl MorphTarget {
    pub(crate) fn check(&self, vertices: usize) -> Result<(), ValidationError> {
        let lists =
            [("positions", &self.positions), ("normals", &self.normals), ("tangents", &self.tangents)];
        for (name, list) in lists {
            if !list.is_empty() && list.len() != vertices {
                let message =
                    format!("the list has length {}, and there are {vertices} positions", list.len());
                return Err(ValidationError::new(name, message));
            }
            check_finite(list, name)?;
        }
        Ok(())
    }
}

/// The keyframes of all morph target weights of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct MorphChannel {
    /// The node whose mesh has the morph targets.
    pub node: NodeId,
    /// The number of morph targets: the weights of one value; at least one.
    pub targets: usize,
    /// The interpolation between keyframes.
    pub interpolation: Interpolation,
    /// The times of the keyframes in seconds: at least one, in ascending order.
    pub times: Vec<f32>,
    /// The weights of all keyframes in order: for each keyframe one value, or an in-tangent, a value and an out-tangent
    /// with [`Interpolation::CubicSpline`], of `targets` numbers each.
    pub values: Vec<f32>,
}

impl MorphChannel {
    /// Returns the number of components of one keyframe, tangents included.
    pub fn stride(&self) -> usize {
        self.targets.saturating_mul(self.interpolation.values_per_key())
    }

    pub(crate) fn check(&self, nodes: usize) -> Result<(), ValidationError> {
        check_id(self.node.0, nodes, "node")?;
        if self.targets == 0 {
            return Err(ValidationError::new("targets", "the channel animates no morph target"));
        }
        check_keyframes(&self.times, &self.values, self.stride())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_lists_that_do_not_match() {
        let target = MorphTarget { positions: vec![[0.0; 3]; 3], ..MorphTarget::default() };
        assert_eq!(target.check(3), Ok(()));
        assert_eq!(target.check(4).unwrap_err().at, "positions");
        let bad = MorphTarget { normals: vec![[0.0, f32::NAN, 0.0]], ..MorphTarget::default() };
        assert_eq!(bad.check(1).unwrap_err().at, "normals[0]");
    }

    #[test]
    fn rejects_channels_with_missing_weights() {
        let channel = |targets, values: usize| MorphChannel {
            node: NodeId(0),
            targets,
            interpolation: Interpolation::CubicSpline,
            times: vec![0.0, 1.0],
            values: vec![0.0; values],
        };
        assert_eq!(channel(2, 12).check(1), Ok(()));
        assert_eq!(channel(2, 11).check(1).unwrap_err().at, "values");
        assert_eq!(channel(0, 0).check(1).unwrap_err().at, "targets");
        assert_eq!(channel(2, 12).check(0).unwrap_err().at, "node");
    }
}
