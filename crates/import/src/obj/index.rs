//! Deduplication of vertices: an index for each pair of position and key.
//!
//! Keys of one position form a linked list, which is short and recently used in cache: several times as fast as hashing.
//! Where a file has many keys for one position, the rest are hashed, so that no input is quadratic.

use std::collections::HashMap;

use super::parse::NONE;

/// The part of the key beside the position.
pub(super) type Key = [u32; 2];

/// The maximum length of a linked list.
const MAX_CHAIN: usize = 24;

/// The indices that were assigned.
pub(super) struct Index {
    /// The last index of each position.
    heads: Vec<u32>,
    /// The key of each index, and the previous index of its position.
    links: Vec<(Key, u32)>,
    hashed: HashMap<(u32, Key), u32>,
}

impl Index {
    /// Creates an empty table for this many positions.
    pub(super) fn new(positions: usize) -> Index {
        Index { heads: vec![NONE; positions], links: Vec::new(), hashed: HashMap::new() }
    }

    /// Returns the index of a key of a position, and `true` if it is new. Indices are assigned in order, from zero.
    pub(super) fn index_of(&mut self, position: u32, key: Key) -> (u32, bool) {
        let head = self.heads[position as usize];
        let (mut number, mut links) = (head, 0);
        while number != NONE {
            let (known, before) = self.links[number as usize];
            if known == key {
                return (number, false);
            }
            number = before;
            links += 1;
        }
        let next = self.links.len() as u32;
        if links == MAX_CHAIN {
            let number = *self.hashed.entry((position, key)).or_insert(next);
            if number == next {
                // Beyond the maximum length: hashed instead of linked.
                self.links.push((key, NONE));
            }
            return (number, number == next);
        }
        self.links.push((key, head));
        self.heads[position as usize] = next;
        (next, true)
    }

    /// Removes all indices; `positions` lists the positions that have some.
    pub(super) fn clear(&mut self, positions: impl Iterator<Item = u32>) {
        positions.for_each(|position| self.heads[position as usize] = NONE);
        self.links.clear();
        self.hashed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn matches_a_hash_map(keys in prop::collection::vec((0u32..3, 0u32..50, 0u32..2), 0..600)) {
            let mut index = Index::new(3);
            for _ in 0..2 {
                let mut map = HashMap::new();
                for &(position, a, b) in &keys {
                    let next = map.len() as u32;
                    let wanted = *map.entry((position, a, b)).or_insert(next);
                    prop_assert_eq!(index.index_of(position, [a, b]), (wanted, wanted == next));
                }
                index.clear(keys.iter().map(|key| key.0));
            }
        }
    }
}
