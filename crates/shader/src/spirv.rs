//! The instructions of a SPIR-V module in words, as compilers return it, before it is validated.

use std::ops::Range;

/// The length of the header in words.
pub(crate) const HEADER: usize = 5;

/// Returns the opcode and the range of words of every instruction. Ends at the first one that exceeds the module.
pub(crate) fn instructions(words: &[u32]) -> impl Iterator<Item = (u32, Range<usize>)> {
    let mut at = HEADER;
    std::iter::from_fn(move || {
        let head = *words.get(at)?;
        let range = at..at + (head >> 16).max(1) as usize;
        at = range.end;
        (range.end <= words.len()).then_some((head & 0xffff, range))
    })
}
