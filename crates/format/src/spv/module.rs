//! Decorations and storage classes of a module's IDs, by their numbers in the specification.

use alloc::collections::BTreeMap;

use super::{Instruction, op};

/// The numbers of storage classes.
pub(super) mod storage {
    pub(crate) const UNIFORM_CONSTANT: u32 = 0;
    pub(crate) const INPUT: u32 = 1;
    pub(crate) const UNIFORM: u32 = 2;
    pub(crate) const OUTPUT: u32 = 3;
    pub(crate) const PRIVATE: u32 = 6;
    pub(crate) const FUNCTION: u32 = 7;
    pub(crate) const PUSH_CONSTANT: u32 = 9;
    pub(crate) const STORAGE_BUFFER: u32 = 12;
    pub(crate) const PHYSICAL: u32 = 5349;
}

/// The numbers of decorations.
pub(super) mod decoration {
    pub(crate) const SPEC_ID: u32 = 1;
    pub(crate) const BUFFER_BLOCK: u32 = 3;
    pub(crate) const ROW_MAJOR: u32 = 4;
    pub(crate) const ARRAY_STRIDE: u32 = 6;
    pub(crate) const MATRIX_STRIDE: u32 = 7;
    pub(crate) const BUILT_IN: u32 = 11;
    pub(crate) const LOCATION: u32 = 30;
    pub(crate) const COMPONENT: u32 = 31;
    pub(crate) const BINDING: u32 = 33;
    pub(crate) const SET: u32 = 34;
    pub(crate) const OFFSET: u32 = 35;
}

/// Decorations by target (an ID or a member of it) and decoration. The value is the first operand, or 0 if
/// there is none.
#[derive(Debug, Default)]
pub(super) struct Decorations(BTreeMap<(u32, Option<u32>, u32), u32>);

impl Decorations {
    /// Records a decoration instruction; others are ignored.
    pub(super) fn take(&mut self, i: &Instruction<'_>) {
        let word = |index| i.word(index);
        let key = match i.opcode {
            op::DECORATE => word(0).zip(word(1)).map(|(id, which)| ((id, None, which), 2)),
            op::MEMBER_DECORATE => {
                word(0).zip(word(1)).zip(word(2)).map(|((id, m), which)| ((id, Some(m), which), 3))
            }
            _ => None,
        };
        if let Some((key, value)) = key {
            self.0.insert(key, word(value).unwrap_or(0));
        }
    }

    /// Returns the operand of a decoration of an ID.
    pub(super) fn of(&self, id: u32, which: u32) -> Option<u32> {
        self.0.get(&(id, None, which)).copied()
    }

    /// Returns the operand of a decoration of a structure member.
    pub(super) fn of_member(&self, id: u32, member: u32, which: u32) -> Option<u32> {
        self.0.get(&(id, Some(member), which)).copied()
    }
}
