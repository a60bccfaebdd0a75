//! Searches all names of an index at once: they lie one after the other in lower case, so that a search is one pass over a few
//! megabytes and reads no record of an asset that does not match.

use super::{Index, Resolved, Result};
use crate::state::pages::Damage;
use crate::state::{EntryRec, NAME_END, NAMES_PER_BLOCK, NameBlockRec, Section, SubRec};
use memchr::{memchr, memchr_iter, memmem, memrchr};

/// The names and the table of their blocks disagree.
const BLOCKS: Damage = Damage("the table of names does not match them");

impl Index {
    /// Returns the assets, folders among them, and the sub-assets whose name in lower case contains `literal` and passes
    /// `matches`, in the order of [`entries`](Self::entries), sub-assets last.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn named_like(&self, literal: &str, matches: impl Fn(&str) -> bool) -> Result<Vec<Resolved<'_>>> {
        let names = self.state.section(Section::LowerNames)?;
        let entries = self.state.count::<EntryRec>(Section::Entries);
        let finder = memmem::Finder::new(literal);
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(hit) = finder.find(&names[at..]).map(|hit| at + hit).filter(|hit| *hit < names.len()) {
            let start = memrchr(NAME_END, &names[..hit]).map_or(0, |end| end + 1);
            let end = hit + memchr(NAME_END, &names[hit..]).ok_or(BLOCKS)?;
            at = end + 1;
            if !matches(text(&names[start..end])?) {
                continue;
            }
            let item = self.item_at(names, start)?;
            match item.checked_sub(entries) {
                None => {
                    let entry = self.entry(item as u32)?;
                    // Settings have no name of their own.
                    if !entry.is_settings() {
                        found.push(Resolved::Asset(entry));
                    }
                }
                Some(sub) => {
                    let rec: SubRec = self.state.record(Section::Subs, sub as u32)?;
                    found.push(Resolved::Sub(self.entry(rec.entry)?, self.sub(&rec)?));
                }
            }
        }
        Ok(found)
    }

    /// Calls `each` with the bytes of the name of each asset in lower case, whether it contains `literal`, and the index of
    /// the asset among [`entries`](Self::entries).
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub(crate) fn lower_names(&self, literal: &str, mut each: impl FnMut(&[u8], bool, u32)) -> Result<()> {
        let names = self.state.section(Section::LowerNames)?;
        // One pass over all names finds the substring.
        let finder = memmem::Finder::new(literal);
        let mut hits = finder.find_iter(names).peekable();
        let mut start = 0;
        for (entry, end) in memchr_iter(NAME_END, names).take(self.len()).enumerate() {
            let mut contains = literal.is_empty();
            while hits.next_if(|hit| *hit < end).is_some() {
                contains = true;
            }
            each(&names[start..end], contains, entry as u32);
            start = end + 1;
        }
        Ok(())
    }

    /// Returns the number of names before the one at an offset.
    fn item_at(&self, names: &[u8], start: usize) -> Result<usize> {
        let count = self.state.count::<NameBlockRec>(Section::LowerNameBlocks);
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            let rec: NameBlockRec = self.state.record(Section::LowerNameBlocks, middle as u32)?;
            if rec.at as usize <= start { low = middle + 1 } else { high = middle }
        }
        let block = low.checked_sub(1).ok_or(BLOCKS)?;
        let rec: NameBlockRec = self.state.record(Section::LowerNameBlocks, block as u32)?;
        let between = names.get(rec.at as usize..start).ok_or(BLOCKS)?;
        Ok(block * NAMES_PER_BLOCK + memchr_iter(NAME_END, between).count())
    }
}

fn text(name: &[u8]) -> Result<&str> {
    std::str::from_utf8(name).map_err(|_| Damage("a string is not UTF-8").into())
}
