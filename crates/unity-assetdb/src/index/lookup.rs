//! Finds assets by GUID and by name, and resolves references.

use super::{Entry, Index, Resolved, Result};
use crate::state::{GuidRec, NameRec, Record, SUB, Section, SubRec, name_hash};

impl Index {
    /// Returns the asset with this GUID.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn find_by_guid(&self, guid: u128) -> Result<Option<Entry<'_>>> {
        let before = |rec: &GuidRec| rec.guid < guid;
        // GUIDs are random, so that interpolation guesses the neighbourhood of one. From there on in steps that double, which
        // reads fewer pages than a binary search of all that may be near.
        let count = self.state.count::<GuidRec>(Section::Guids);
        let guess = ((((guid >> 64) * count as u128) >> 64) as usize).min(count);
        let is_before = |at: usize| -> Result<bool> {
            Ok(self.state.get(Section::Guids, at)?.is_some_and(|rec| before(&rec)))
        };
        let mut step = count.isqrt() / 4 + 1;
        let (mut low, mut high) = (0, count);
        if is_before(guess)? {
            low = guess + 1;
            while low + step < count {
                if !is_before(low + step)? {
                    high = low + step;
                    break;
                }
                low += step + 1;
                step *= 2;
            }
        } else {
            high = guess;
            while high > step {
                if is_before(high - step)? {
                    low = high - step + 1;
                    break;
                }
                high -= step;
                step *= 2;
            }
        }
        match self.search_in(Section::Guids, low, high, before)? {
            Some((_, found)) if found.guid == guid => self.entry(found.entry).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns all assets with this GUID, the one that lookups return first. There are more than one only if assets share the
    /// GUID, which a bake rejects.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn claimants(&self, guid: u128) -> Result<Vec<Entry<'_>>> {
        let Some((first, _)) = self.search::<GuidRec>(Section::Guids, |rec| rec.guid < guid)? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for at in first as usize.. {
            match self.state.get::<GuidRec>(Section::Guids, at)? {
                Some(rec) if rec.guid == guid => found.push(self.entry(rec.entry)?),
                _ => break,
            }
        }
        Ok(found)
    }

    /// Returns the GUIDs that several assets share, ascending; empty for the index of a bake that succeeded.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn duplicate_guids(&self) -> Result<Vec<u128>> {
        let mut found = Vec::new();
        if self.state.header.options & crate::state::DUPLICATES == 0 {
            return Ok(found);
        }
        let mut last = 0;
        for at in 0..self.state.count::<GuidRec>(Section::Guids) {
            let rec: GuidRec = self.state.record(Section::Guids, at as u32)?;
            if rec.guid == last && found.last() != Some(&last) {
                found.push(last);
            }
            last = rec.guid;
        }
        Ok(found)
    }

    /// Returns the first record that is not `before` the one searched for, by binary search.
    pub(super) fn search<R: Record>(
        &self,
        section: Section,
        before: impl Fn(&R) -> bool,
    ) -> Result<Option<(u32, R)>> {
        self.search_in(section, 0, self.state.count::<R>(section), before)
    }

    /// Searches between `low` and `high`.
    pub(super) fn search_in<R: Record>(
        &self,
        section: Section,
        mut low: usize,
        mut high: usize,
        before: impl Fn(&R) -> bool,
    ) -> Result<Option<(u32, R)>> {
        while low < high {
            let middle = low + (high - low) / 2;
            if before(&self.state.record(section, middle as u32)?) { low = middle + 1 } else { high = middle }
        }
        Ok(self.state.get(section, low)?.map(|rec| (low as u32, rec)))
    }

    /// Returns all assets and sub-assets with exactly this name.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn find_by_name(&self, name: &str) -> Result<Vec<Resolved<'_>>> {
        let hash = name_hash(name);
        let mut found = Vec::new();
        let Some((first, _)) = self.search::<NameRec>(Section::Names, |rec| rec.hash < hash)? else {
            return Ok(found);
        };
        for at in first.. {
            let Some(rec) = self.state.get::<NameRec>(Section::Names, at as usize)? else { break };
            if rec.hash != hash {
                break;
            }
            let resolved = match rec.item & SUB {
                0 => Resolved::Asset(self.entry(rec.item)?),
                _ => {
                    let sub: SubRec = self.state.record(Section::Subs, rec.item & !SUB)?;
                    Resolved::Sub(self.entry(sub.entry)?, self.sub(&sub)?)
                }
            };
            if resolved.name()? == name {
                found.push(resolved);
            }
        }
        Ok(found)
    }

    /// Resolves a reference: to a sub-asset, or to the asset itself where the fileID is that of its main object, the
    /// canonical one of its class, or 0; a texture also stands for the sprite made of it.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn resolve(&self, guid: u128, file_id: i64) -> Result<Option<Resolved<'_>>> {
        self.find_by_guid(guid)?.map(|entry| entry.resolve(file_id)).transpose()
    }
}

#[cfg(all(test, feature = "bake"))]
mod tests {
    use crate::bake::{Extra, refresh};
    use std::fs;

    /// GUIDs of generators that are not random, and of people: interpolation guesses their places badly.
    #[test]
    fn finds_guids_that_are_not_random() {
        let low = (1..400u128).map(|n| n * n);
        let high = (0..50).map(|n| u128::MAX - 3 * n);
        let middle = (0..50).map(|n| (1 << 127) + (n << 64));
        for guids in
            [low.clone().collect(), high.chain(low).chain(middle).collect::<Vec<_>>(), vec![1 << 100]]
        {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir_all(dir.path().join("Assets")).unwrap();
            for guid in &guids {
                let path = dir.path().join(format!("Assets/{guid:x}.txt"));
                fs::write(&path, "").unwrap();
                fs::write(path.with_added_extension("meta"), format!("guid: {guid:032x}\n")).unwrap();
            }
            let index = refresh(dir.path(), &dir.path().join("out"), Extra::default(), &|_| None).unwrap();
            for guid in &guids {
                let found = index.find_by_guid(*guid).unwrap().unwrap();
                assert_eq!((found.guid(), found.name().unwrap()), (*guid, &*format!("{guid:x}")));
                for other in [guid.wrapping_add(1), guid.wrapping_sub(1)] {
                    assert_eq!(index.find_by_guid(other).unwrap().is_some(), guids.contains(&other));
                }
            }
        }
    }
}
