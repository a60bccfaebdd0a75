//! The inverse of references: all GUIDs that are referred to, with their assets and the references to them.

use super::GuidOf;
use crate::bake::folder::BoxedFolder;
use crate::state::NONE;
use rayon::slice::ParallelSliceMut;

/// The targets of references. References are numbered in the order of their source entries.
pub(super) struct Targets {
    /// All GUIDs that are referred to, ascending.
    pub(super) guids: Vec<u128>,
    /// The asset with each GUID, or [`NONE`].
    pub(super) entries: Vec<u32>,
    /// The index of the first use of each target.
    pub(super) first_use: Vec<u32>,
    /// The target of each reference.
    pub(super) of_ref: Vec<u32>,
}

impl Targets {
    pub(super) fn new(folders: &[BoxedFolder], by_guid: &[GuidOf], refs: usize) -> Targets {
        // Most projects refer to fewer GUIDs than they have assets.
        let mut known =
            GuidInterner { guids: Vec::with_capacity(by_guid.len().min(refs)), slots: Vec::new() };
        let mut of_ref = Vec::with_capacity(refs);
        of_ref.extend(folders.iter().flat_map(|folder| &folder.refs).map(|each| known.intern(each.guid)));
        // Everything is freed as soon as it can be: at this point a bake needs most memory.
        let GuidInterner { guids: known, slots } = known;
        drop(slots);
        let mut order: Vec<u32> = (0..known.len() as u32).collect();
        order.par_sort_unstable_by_key(|at| known[*at as usize]);
        let mut rank = vec![0; order.len()];
        order.iter().enumerate().for_each(|(n, at)| rank[*at as usize] = n as u32);
        let guids: Vec<u128> = order.iter().map(|at| known[*at as usize]).collect();
        drop((known, order));
        // The first two steps of a counting sort: counts and prefix sums.
        let mut first_use = vec![0u32; guids.len() + 1];
        for target in &mut of_ref {
            *target = rank[*target as usize];
            first_use[*target as usize + 1] += 1;
        }
        for at in 1..first_use.len() {
            first_use[at] += first_use[at - 1];
        }
        first_use.pop();
        drop(rank);
        let mut assets = by_guid.iter().peekable();
        let entry = |guid: &u128| {
            while assets.next_if(|asset| asset.guid() < *guid).is_some() {}
            assets.peek().filter(|asset| asset.guid() == *guid).map_or(NONE, |asset| asset.entry)
        };
        let entries = guids.iter().map(entry).collect();
        Targets { guids, entries, first_use, of_ref }
    }

    /// Returns the references, ordered by target.
    pub(super) fn uses(&self) -> Vec<u32> {
        let mut next = self.first_use.clone();
        let mut uses = vec![0; self.of_ref.len()];
        for (reference, target) in self.of_ref.iter().enumerate() {
            let at = &mut next[*target as usize];
            uses[*at as usize] = reference as u32;
            *at += 1;
        }
        uses
    }
}

/// Numbers GUIDs in the order of their first occurrence. GUIDs are random, so that their bits serve as a hash.
struct GuidInterner {
    guids: Vec<u128>,
    /// Numbers plus 1; 0 is a free slot.
    slots: Vec<u32>,
}

impl GuidInterner {
    fn intern(&mut self, guid: u128) -> u32 {
        if self.guids.len() * 2 >= self.slots.len() {
            self.slots = vec![0; (self.guids.len() * 4).next_power_of_two().max(64)];
            for at in 0..self.guids.len() {
                let slot = self.slot(self.guids[at]);
                self.slots[slot] = at as u32 + 1;
            }
        }
        let slot = self.slot(guid);
        match self.slots[slot].checked_sub(1) {
            Some(at) => at,
            None => {
                self.guids.push(guid);
                self.slots[slot] = self.guids.len() as u32;
                self.guids.len() as u32 - 1
            }
        }
    }

    fn slot(&self, guid: u128) -> usize {
        let mask = self.slots.len() - 1;
        let mut at =
            (((guid >> 64) as u64 ^ guid as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & mask;
        while self.slots[at].checked_sub(1).is_some_and(|known| self.guids[known as usize] != guid) {
            at = (at + 1) & mask;
        }
        at
    }
}
