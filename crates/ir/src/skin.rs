//! Skins: the nodes that a mesh hangs on.

use crate::scene::NodeId;
use crate::valid::{Flaw, check_finite, check_id};

/// Which skin of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkinId(pub u32);

/// The joints of a skeleton, in the order that vertices name them.
///
/// Who is whose parent, and what lies between two joints, is said by the nodes of the scene.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skin {
    /// As the source has it; empty when it has none.
    pub name: String,
    /// At least one.
    pub joints: Vec<NodeId>,
    /// For each joint, what takes the mesh into its space in the bind pose: sixteen numbers, column by column.
    pub inverse_bind: Vec<[f32; 16]>,
}

impl Skin {
    pub(crate) fn check(&self, nodes: usize) -> Result<(), Flaw> {
        if self.joints.is_empty() || self.joints.len() > 1 << 16 {
            return Err(Flaw::new("joints", format_args!("there are {}", self.joints.len())));
        }
        if self.inverse_bind.len() != self.joints.len() {
            let message = format!("{} for {} joints", self.inverse_bind.len(), self.joints.len());
            return Err(Flaw::new("inverse_bind", message));
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
    fn joints_exist_and_have_matrices() {
        let skin = |joints: &[u32], matrices| Skin {
            name: String::new(),
            joints: joints.iter().copied().map(NodeId).collect(),
            inverse_bind: vec![[0.0; 16]; matrices],
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
