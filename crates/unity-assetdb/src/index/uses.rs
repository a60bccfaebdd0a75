//! References between assets, from the asset that is referred to.

use super::{Entry, Index, Result};
use crate::state::{IN_META, NONE, RefRec, Section, TargetRec, UseRec};

/// A reference from one file to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reference {
    /// The GUID of the asset that it points to.
    pub guid: u128,
    /// The fileID of the object inside that asset, or 0.
    pub file_id: i64,
    /// The line of its first occurrence, counted from 1.
    pub line: u32,
    /// True if that line is in the `.meta` of the file.
    pub in_meta: bool,
    /// The number of occurrences in the file.
    pub count: u32,
}

/// A reference to an asset, with the asset that it comes from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Use<'a> {
    /// The asset that refers to the other.
    pub source: Entry<'a>,
    /// The asset that is referred to.
    pub target: Entry<'a>,
    /// The reference.
    pub reference: Reference,
}

/// A GUID that is referred to.
#[cfg(feature = "bake")]
pub(crate) struct NumberedTarget<'a> {
    pub(crate) guid: u128,
    /// The asset, if there is one.
    pub(crate) entry: Option<Entry<'a>>,
    /// The references: their indices among all references, each with its fileID.
    pub(crate) uses: Vec<(u32, i64)>,
}

impl Index {
    /// Returns the references to a GUID, known or not: each file once for each fileID.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn uses(&self, guid: u128) -> Result<Vec<(Entry<'_>, Reference)>> {
        let found = self.search::<TargetRec>(Section::Targets, |rec| rec.guid < guid)?;
        let Some((at, target)) = found.filter(|(_, rec)| rec.guid == guid) else { return Ok(Vec::new()) };
        self.state
            .uses(at, &target)?
            .map(|at| {
                let each: UseRec = self.state.record(Section::Uses, at)?;
                let rec: RefRec = self.state.record(Section::Refs, each.reference)?;
                Ok((self.entry(rec.source)?, reference(&rec, guid)))
            })
            .collect()
    }

    /// Returns the number of references in the index.
    #[cfg(feature = "bake")]
    pub(crate) fn reference_count(&self) -> usize {
        self.state.count::<RefRec>(Section::Refs)
    }

    /// Iterates over all GUIDs that are referred to.
    #[cfg(feature = "bake")]
    pub(crate) fn numbered_targets(&self) -> impl Iterator<Item = Result<NumberedTarget<'_>>> {
        let numbered = |at: u32| {
            let UseRec { reference } = self.state.record(Section::Uses, at)?;
            Ok((reference, self.state.record::<RefRec>(Section::Refs, reference)?.file_id))
        };
        (0..self.state.count::<TargetRec>(Section::Targets) as u32).map(move |at| {
            let rec: TargetRec = self.state.record(Section::Targets, at)?;
            let entry = if rec.entry == NONE { None } else { Some(self.entry(rec.entry)?) };
            let uses = self.state.uses(at, &rec)?.map(numbered).collect::<Result<_>>()?;
            Ok(NumberedTarget { guid: rec.guid, entry, uses })
        })
    }

    /// Returns the references to any of these assets: see [`for_each_use`](Self::for_each_use).
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn uses_of_any<'a>(&'a self, assets: &[Entry<'a>]) -> Result<Vec<Use<'a>>> {
        let mut found = Vec::new();
        self.for_each_use(assets, |each| {
            found.push(each);
            Ok(())
        })?;
        Ok(found)
    }

    /// Calls `each` for the references to any of these assets, in the order of the [`entries`](Self::entries) that they come
    /// from: each file once for each asset and fileID. Reads the index from front to back, which makes it faster than
    /// [`uses`](Self::uses) for each of many assets, and needs eight bytes for each reference.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged, or the error of `each`.
    pub fn for_each_use<'a>(
        &'a self,
        assets: &[Entry<'a>],
        mut each: impl FnMut(Use<'a>) -> Result<()>,
    ) -> Result<()> {
        let mut wanted: Vec<(u128, u32)> = assets.iter().map(Entry::guid).zip(0..).collect();
        wanted.sort_unstable();
        wanted.dedup_by_key(|(guid, _)| *guid);
        let count = self.state.count::<TargetRec>(Section::Targets);
        let mut references = Vec::new();
        let mut low = 0;
        for (guid, asset) in wanted {
            // Both lists ascend: the next one is searched for from here on, in steps that double.
            let mut step = 1;
            while low + step < count
                && self.state.record::<TargetRec>(Section::Targets, (low + step) as u32)?.guid < guid
            {
                low += step;
                step *= 2;
            }
            let high = (low + step + 1).min(count);
            let Some((at, target)) =
                self.search_in(Section::Targets, low, high, |rec: &TargetRec| rec.guid < guid)?
            else {
                break;
            };
            low = at as usize;
            if target.guid == guid {
                for at in self.state.uses(at, &target)? {
                    let used: UseRec = self.state.record(Section::Uses, at)?;
                    references.push((used.reference, asset));
                }
            }
        }
        references.sort_unstable();
        let mut source: Option<Entry<'a>> = None;
        for (at, asset) in references {
            let rec: RefRec = self.state.record(Section::Refs, at)?;
            let source = match source {
                Some(source) if source.at == rec.source => source,
                _ => *source.insert(self.entry(rec.source)?),
            };
            let target = assets[asset as usize];
            each(Use { source, target, reference: reference(&rec, target.guid()) })?;
        }
        Ok(())
    }

    /// Iterates over all GUIDs that are referred to, with the number of references and the asset, if there is one.
    pub fn targets(&self) -> impl Iterator<Item = Result<(u128, u32, Option<Entry<'_>>)>> {
        let count = self.state.count::<TargetRec>(Section::Targets) as u32;
        (0..count).map(move |at| {
            let rec: TargetRec = self.state.record(Section::Targets, at)?;
            let uses = self.state.uses(at, &rec)?;
            let entry = if rec.entry == NONE { None } else { Some(self.entry(rec.entry)?) };
            Ok((rec.guid, uses.end - uses.start, entry))
        })
    }
}

/// Returns a reference to an asset with this GUID.
pub(super) fn reference(rec: &RefRec, guid: u128) -> Reference {
    let (file_id, line, count) = (rec.file_id, rec.line & !IN_META, rec.count);
    Reference { guid, file_id, line, in_meta: rec.line & IN_META != 0, count }
}
