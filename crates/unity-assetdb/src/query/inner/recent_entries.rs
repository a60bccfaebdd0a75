//! The assets that were looked up last. The search for an object asks for the same few assets many times over: its own, and
//! the bases of its prefab instances.

use crate::index::{Entry, Index, Result};

/// The number of assets that are remembered; a power of two.
const SLOTS: usize = 1 << 9;

/// A cache of lookups by GUID.
#[derive(Default)]
pub(super) struct RecentEntries<'a> {
    /// A GUID with its asset. GUIDs are random, so that their bits are the number of the slot.
    slots: Vec<Option<(u128, Option<Entry<'a>>)>>,
}

impl<'a> RecentEntries<'a> {
    /// Returns the asset with a GUID.
    pub(super) fn find(&mut self, index: &'a Index, guid: u128) -> Result<Option<Entry<'a>>> {
        let slot = self.slot(guid);
        if let Some((known, entry)) = slot
            && *known == guid
        {
            return Ok(*entry);
        }
        let entry = index.find_by_guid(guid)?;
        *slot = Some((guid, entry));
        Ok(entry)
    }

    /// Remembers the asset with a GUID, which the index knows without a search.
    pub(super) fn remember(&mut self, guid: u128, entry: Option<Entry<'a>>) {
        *self.slot(guid) = Some((guid, entry));
    }

    fn slot(&mut self, guid: u128) -> &mut Option<(u128, Option<Entry<'a>>)> {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, None);
        }
        &mut self.slots[guid as usize % SLOTS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bake::{Extra, refresh};
    use std::fs;

    #[test]
    fn lookups_that_share_a_slot_find_their_own_assets() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("Assets")).unwrap();
        let guids = [7, 7 + SLOTS as u128, 7 + 2 * SLOTS as u128];
        for (n, guid) in guids.iter().enumerate().take(2) {
            let path = dir.path().join(format!("Assets/{n}.txt"));
            fs::write(&path, "").unwrap();
            fs::write(path.with_added_extension("meta"), format!("guid: {guid:032x}\n")).unwrap();
        }
        let index = refresh(dir.path(), &dir.path().join("out"), Extra::default(), &|_| None).unwrap();
        let mut recent = RecentEntries::default();
        for guid in guids.iter().chain(&guids).chain(guids.iter().rev()) {
            let found = recent.find(&index, *guid).unwrap();
            assert_eq!(found, index.find_by_guid(*guid).unwrap());
            assert_eq!(found.is_some(), *guid != guids[2]);
        }
        let first = recent.find(&index, guids[0]).unwrap();
        recent.remember(guids[1], index.find_by_guid(guids[1]).unwrap());
        assert_eq!(recent.find(&index, guids[0]).unwrap(), first);
    }
}
