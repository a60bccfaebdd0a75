//! The operations of a patch: ranges to copy from the old pak, and ranges of new bytes, which together are the new pak.
//!
//! A patch is a pak with two blobs, [`OPERATIONS_KEY`] and [`LITERALS_KEY`]. Rejected are an unknown version, empty
//! operations, ranges outside the old pak, and operations that do not add up to the new pak.

use super::Sections;
use crate::bytes::Le;
use crate::pod::pod;
use crate::{Array, Error};

/// The key of the blob with the operations.
pub const OPERATIONS_KEY: &str = "pak-patch/operations";
/// The key of the blob with the new bytes, in the order of the operations.
pub const LITERALS_KEY: &str = "pak-patch/literals";
/// The only supported version.
pub const VERSION: u32 = 1;
/// The value of [`PatchOperation::old_offset`] of an operation that takes new bytes.
pub const LITERAL: u64 = u64::MAX;

pod! {
    /// The start of the operations: the old and the new pak.
    pub struct PatchHead {
        /// Version of the patch format.
        pub version: u32,
        /// Number of operations.
        pub operations: u32,
        /// Length of the old pak in bytes.
        pub old_len: u64,
        /// The checksum in the header of the old pak, which covers its index and so every block.
        pub old_checksum: u64,
        /// Length of the new pak in bytes.
        pub new_len: u64,
        /// The checksum in the header of the new pak.
        pub new_checksum: u64,
    }
}

pod! {
    /// A range of the new pak. Operations follow one another without gaps.
    pub struct PatchOperation {
        /// Byte offset in the old pak, or [`LITERAL`] if the bytes are the next new ones.
        pub old_offset: u64,
        /// Length in bytes, at least 1.
        pub len: u64,
    }
}

/// Checked operations, borrowed from their blob.
#[derive(Clone, Copy, Debug)]
pub struct PatchView<'a> {
    /// The old and the new pak.
    pub head: PatchHead,
    /// The operations in the order of the new pak.
    pub operations: Array<'a, PatchOperation>,
    /// The number of new bytes that the operations take.
    pub literal_len: u64,
}

impl<'a> PatchView<'a> {
    /// Checks the operations of a patch.
    ///
    /// # Errors
    ///
    /// [`Error`] if the blob is truncated, has trailing bytes or holds an invalid value.
    pub fn read(bytes: &'a [u8]) -> Result<PatchView<'a>, Error> {
        let (needed, len) = (PatchHead::SIZE as u64, bytes.len() as u64);
        let head = PatchHead::get(bytes).ok_or(Error::Truncated { at: 0, field: "head", needed, len })?;
        if head.version != VERSION {
            return Err(Error::Value { at: 0, field: "version", found: head.version.into(), expected: "1" });
        }
        let mut sections = Sections::new(bytes, PatchHead::SIZE);
        let operations: Array<'a, PatchOperation> = sections.take(head.operations, "operations")?;
        sections.finish()?;
        let (mut end, mut literal_len) = (0u64, 0u64);
        for (number, operation) in operations.iter().enumerate() {
            let at = needed + (number * PatchOperation::SIZE) as u64;
            let invalid = |why| Error::Fault { at, field: "operation", why };
            if operation.old_offset == LITERAL {
                literal_len = literal_len.saturating_add(operation.len);
            } else if operation.old_offset.checked_add(operation.len).is_none_or(|end| end > head.old_len) {
                return Err(invalid("copies bytes outside the old pak"));
            }
            end = end.checked_add(operation.len).ok_or(invalid("exceeds the new pak"))?;
            if operation.len == 0 || end > head.new_len {
                return Err(invalid("is empty or exceeds the new pak"));
            }
        }
        if end != head.new_len {
            return Err(Error::Fault { at: 0, field: "operations", why: "do not add up to the new pak" });
        }
        Ok(PatchView { head, operations, literal_len })
    }
}

/// Encodes the operations of a patch.
#[cfg(feature = "tools")]
pub fn write(head: PatchHead, operations: &[PatchOperation]) -> alloc::vec::Vec<u8> {
    let mut out = alloc::vec::Vec::new();
    head.put(&mut out);
    operations.iter().for_each(|operation| operation.put(&mut out));
    out
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;

    #[test]
    fn operations_round_trip_and_invalid_ones_are_rejected() {
        let head = PatchHead {
            version: 1,
            operations: 2,
            old_len: 100,
            old_checksum: 7,
            new_len: 60,
            new_checksum: 8,
        };
        let copy = PatchOperation { old_offset: 50, len: 50 };
        let literal = PatchOperation { old_offset: LITERAL, len: 10 };
        let bytes = write(head, &[copy, literal]);
        let view = PatchView::read(&bytes).unwrap();
        assert_eq!((view.head, view.operations.len(), view.literal_len), (head, 2, 10));
        for len in 0..bytes.len() {
            assert!(PatchView::read(&bytes[..len]).is_err(), "{len}");
        }
        for operations in [
            [PatchOperation { old_offset: 51, ..copy }, literal],
            [PatchOperation { old_offset: u64::MAX - 1, ..copy }, literal],
            [copy, PatchOperation { len: 9, ..literal }],
            [copy, PatchOperation { len: 11, ..literal }],
            [PatchOperation { len: u64::MAX, ..literal }, literal],
            [PatchOperation { len: 0, ..literal }, PatchOperation { len: 60, ..literal }],
        ] {
            assert!(PatchView::read(&write(head, &operations)).is_err(), "{operations:?}");
        }
        assert!(PatchView::read(&write(PatchHead { version: 2, ..head }, &[copy, literal])).is_err());
    }
}
