//! Skins: the joints of a skinned mesh and their inverse bind matrices.

use crate::scene::NodeId;
use crate::valid::{ValidationError, check_finite, check_id};

/// The index of a skin in [`Scene::skins`](crate::Scene::skins).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkinId(pub u32);

/// The joints of a skeleton, in the order of the vertices' joint indices.
///
/// The hierarchy of the joints is that of the scene's nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skin {
    /// The name in the source; empty when the source has none.
    pub name: String,
    /// The nodes that are joints; at least one.
    pub joints: Vec<NodeId>,
    /// The inverse bind matrix of each joint, column-major: from the space of the mesh into that of the joint in the bind
    /// pose.
    pub inverse_bind: Vec<[f32; 16]>,
    /// The application-specific data of the source, as JSON text; empty when there is none.
    pub extras: String,
}

impl Skin {
    pub(crate) fn check(&self, nodes: usize) -> Result<(), ValidationError> {
        if self.joints.is_empty() || self.joints.len() > 1 << 16 {
            return Err(ValidationError::new(
                "joints",
                format_args!("the number of joints must be between 1 and 65536, got {}", self.joints.len()),
            ));
        }
        if self.inverse_bind.len() != self.joints.len() {
            let message = format!(
                "there are {} inverse bind matrices for {} joints",
                self.inverse_bind.len(),
                self.joints.len()
            );
            return Err(ValidationError::new("inverse_bind", message));
        }
        for (index, joint) in self.joints.iter().enumerate() {
            check_id(joint.0, nodes, format_args!("joints[{index}]"))?;
        }
        check_finite(&self.inverse_bind, "inverse_bind")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_joints_that_do_not_exist_or_lack_matrices() {
        let skin = |joints: &[u32], matrices| Skin {
            joints: joints.iter().copied().map(NodeId).collect(),
            inverse_bind: vec![[0.0; 16]; matrices],
            ..Skin::default()
        };
        assert_eq!(skin(&[1, 0], 2).check(2), Ok(()));
        assert_eq!(skin(&[], 0).check(2).unwrap_err().at, "joints");
        assert_eq!(skin(&[0], 2).check(2).unwrap_err().at, "inverse_bind");
        assert_eq!(skin(&[0, 2], 2).check(2).unwrap_err().at, "joints[1]");
        let mut bad = skin(&[0], 1);
        bad.inverse_bind[0][5] = f32::NAN;
        assert_eq!(bad.check(1).unwrap_err().at, "inverse_bind[0]");
    }
}
