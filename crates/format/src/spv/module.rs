//! What a module says about its ids: decorations and storage classes, by their numbers in the specification.

use alloc::collections::BTreeMap;

use super::{Instruction, op};

/// Storage classes.
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

/// Decorations.
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

/// Decorations by what they are about: an id or a member of one, and which decoration. The value is the first
/// operand, or 0 where there is none.
#[derive(Debug, Default)]
pub(super) struct Decorations(BTreeMap<(u32, Option<u32>, u32), u32>);

impl Decorations {
    /// Takes in an instruction that decorates; others are left alone.
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

    /// A decoration of an id.
    pub(super) fn of(&self, id: u32, which: u32) -> Option<u32> {
        self.0.get(&(id, None, which)).copied()
    }

    /// A decoration of a member of a structure.
    pub(super) fn of_member(&self, id: u32, member: u32, which: u32) -> Option<u32> {
        self.0.get(&(id, Some(member), which)).copied()
    }
}
