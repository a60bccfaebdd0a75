//! Numbers for things that hang on positions: which one of this position has this key.
//!
//! Keys of one position form a chain, which is short and near the ones used just before: several times as fast as
//! hashing. Where a file has many of them for one position, the rest are hashed, so that no file is slow.

use std::collections::HashMap;

use super::parse::NONE;

/// A key beside the position.
pub(super) type Key = [u32; 2];

/// The longest chain.
const MOST_LINKS: usize = 24;

/// The numbers that were given.
pub(super) struct Index {
    /// The number given last for each position.
    heads: Vec<u32>,
    /// For each number its key, and the number given before it for its position.
    links: Vec<(Key, u32)>,
    hashed: HashMap<(u32, Key), u32>,
}

impl Index {
    /// Nothing is numbered.
    pub(super) fn new(positions: usize) -> Index {
        Index { heads: vec![NONE; positions], links: Vec::new(), hashed: HashMap::new() }
    }

    /// The number of a key of a position, and whether it is new. Numbers are given in order, from zero.
    pub(super) fn number(&mut self, position: u32, key: Key) -> (u32, bool) {
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
        if links == MOST_LINKS {
            let number = *self.hashed.entry((position, key)).or_insert(next);
            if number == next {
                // Counted, and on no chain.
                self.links.push((key, NONE));
            }
            return (number, number == next);
        }
        self.links.push((key, head));
        self.heads[position as usize] = next;
        (next, true)
    }

    /// Forgets all numbers, given the positions that have some.
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
        fn as_a_map_would(keys in prop::collection::vec((0u32..3, 0u32..50, 0u32..2), 0..600)) {
            let mut index = Index::new(3);
            for _ in 0..2 {
                let mut map = HashMap::new();
                for &(position, a, b) in &keys {
                    let next = map.len() as u32;
                    let wanted = *map.entry((position, a, b)).or_insert(next);
                    prop_assert_eq!(index.number(position, [a, b]), (wanted, wanted == next));
                }
                index.clear(keys.iter().map(|key| key.0));
            }
        }
    }
}
