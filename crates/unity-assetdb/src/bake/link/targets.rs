//! The inverse of references: all GUIDs that are referred to, with their assets and the references to them.

use super::GuidOf;
use crate::bake::folder::FolderView;
use crate::state::NONE;

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
    pub(super) fn new(folders: &[FolderView<'_>], by_guid: &[GuidOf], refs: usize) -> Targets {
        // Nearly all targets are assets, whose order is known. Others are numbered after them.
        let mut known = GuidInterner::new(by_guid);
        let mut of_ref = Vec::with_capacity(refs);
        of_ref.extend(folders.iter().flat_map(|folder| folder.refs).map(|each| known.intern(each.guid)));
        // Everything is freed as soon as it can be: at this point a bake needs most memory.
        let GuidInterner { others, slots, .. } = known;
        drop(slots);
        let mut rank = vec![NONE; by_guid.len() + others.len()];
        of_ref.iter().for_each(|target| rank[*target as usize] = 0);
        let mut others: Vec<(u128, u32)> = others.into_iter().zip(by_guid.len() as u32..).collect();
        others.sort_unstable();
        let mut others = others.into_iter().peekable();
        let (mut guids, mut entries) = (Vec::new(), Vec::new());
        let mut put = |at: u32, guid: u128, entry: u32| {
            let rank = &mut rank[at as usize];
            if *rank != NONE {
                *rank = guids.len() as u32;
                guids.push(guid);
                entries.push(entry);
            }
        };
        for (asset, at) in by_guid.iter().zip(0..) {
            while let Some((guid, at)) = others.next_if(|(guid, _)| *guid < asset.guid()) {
                put(at, guid, NONE);
            }
            put(at, asset.guid(), asset.entry);
        }
        others.for_each(|(guid, at)| put(at, guid, NONE));
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
        Targets { guids, entries, first_use, of_ref }
    }

    /// Orders values by target: one for each reference, in the order of references.
    pub(super) fn order(&self, values: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut next = self.first_use.clone();
        let mut ordered = vec![0; self.of_ref.len()];
        for (value, target) in values.zip(&self.of_ref) {
            let at = &mut next[*target as usize];
            ordered[*at as usize] = value;
            *at += 1;
        }
        ordered
    }
}

/// Numbers GUIDs: those of the assets by their order, and others as they come. GUIDs are random, so that their bits serve as a
/// hash.
struct GuidInterner<'a> {
    by_guid: &'a [GuidOf],
    others: Vec<u128>,
    /// Numbers plus 1; 0 is a free slot.
    slots: Vec<u32>,
}

impl GuidInterner<'_> {
    fn new(by_guid: &[GuidOf]) -> GuidInterner<'_> {
        let mut known = GuidInterner { by_guid, others: Vec::new(), slots: Vec::new() };
        known.rehash();
        known
    }

    fn len(&self) -> usize {
        self.by_guid.len() + self.others.len()
    }

    fn guid(&self, number: usize) -> u128 {
        match self.by_guid.get(number) {
            Some(each) => each.guid(),
            None => self.others[number - self.by_guid.len()],
        }
    }

    fn rehash(&mut self) {
        self.slots = vec![0; (self.len() * 2 + 1).next_power_of_two().max(64)];
        for at in 0..self.len() {
            let slot = self.slot(self.guid(at));
            // Of several assets with one GUID, the first counts.
            if self.slots[slot] == 0 {
                self.slots[slot] = at as u32 + 1;
            }
        }
    }

    fn intern(&mut self, guid: u128) -> u32 {
        let slot = self.slot(guid);
        if let Some(at) = self.slots[slot].checked_sub(1) {
            return at;
        }
        self.others.push(guid);
        self.slots[slot] = self.len() as u32;
        if self.len() * 2 >= self.slots.len() {
            self.rehash();
        }
        self.len() as u32 - 1
    }

    fn slot(&self, guid: u128) -> usize {
        let mask = self.slots.len() - 1;
        let mut at =
            (((guid >> 64) as u64 ^ guid as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & mask;
        while self.slots[at].checked_sub(1).is_some_and(|known| self.guid(known as usize) != guid) {
            at = (at + 1) & mask;
        }
        at
    }
}
