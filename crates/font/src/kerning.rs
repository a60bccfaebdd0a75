//! Kerning pairs: from `GPOS`, or from the `kern` table if `GPOS` has no kerning feature.
//!
//! Lookups of one script apply one after another; within one, the first subtable that covers the pair
//! decides. The lookups for Latin come first, and those of other scripts add pairs that it does not have.
//! Rules that need a shaping engine (contexts, marks, vertical text) are left out.

use read_fonts::tables::gpos::{PairPos, PositionSubtables};
use read_fonts::tables::kern::SubtableKind;
use read_fonts::types::{GlyphId, Tag};
use read_fonts::{ReadError, TableProvider};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of pairs that are visited: more than any alphabet needs.
const MAX_PAIRS: usize = 1 << 22;

/// Kerning in font units between two glyphs.
pub(crate) type Pairs = BTreeMap<(GlyphId, GlyphId), i32>;

/// The reason why kerning cannot be read.
#[derive(Debug)]
pub(crate) enum KerningError {
    /// A table is damaged.
    Damaged(ReadError),
    /// The tables would expand to too many pairs.
    TooMany,
}

impl From<ReadError> for KerningError {
    fn from(error: ReadError) -> KerningError {
        KerningError::Damaged(error)
    }
}

/// Returns the kerning pairs among these glyphs.
pub(crate) fn pairs<'a>(
    tables: &impl TableProvider<'a>,
    glyphs: &BTreeSet<GlyphId>,
) -> Result<Pairs, KerningError> {
    let mut search = Search { glyphs, left: MAX_PAIRS };
    let groups = lookup_groups(tables)?;
    let mut pairs = Pairs::new();
    for group in &groups {
        for (pair, units) in search.group(tables, group)? {
            pairs.entry(pair).or_insert(units);
        }
    }
    if groups.is_empty() {
        pairs = search.kern(tables)?;
    }
    pairs.retain(|_, units| *units != 0);
    Ok(pairs)
}

/// Returns the lookups of the feature `kern`, script by script.
fn lookup_groups<'a>(tables: &impl TableProvider<'a>) -> Result<Vec<BTreeSet<u16>>, KerningError> {
    let gpos = match tables.gpos() {
        Err(ReadError::TableIsMissing(_)) => return Ok(vec![]),
        gpos => gpos?,
    };
    let (scripts, features) = (gpos.script_list()?, gpos.feature_list()?);
    let mut groups: Vec<(u8, BTreeSet<u16>)> = Vec::new();
    for record in scripts.script_records() {
        let Some(language) = record.script(scripts.offset_data())?.default_lang_sys() else { continue };
        let mut lookups = BTreeSet::new();
        for index in language?.feature_indices() {
            let Some(feature) = features.feature_records().get(usize::from(index.get())) else { continue };
            if feature.feature_tag() == Tag::new(b"kern") {
                let feature = feature.feature(features.offset_data())?;
                lookups.extend(feature.lookup_list_indices().iter().map(|index| index.get()));
            }
        }
        let rank = match &record.script_tag().to_be_bytes() {
            b"latn" => 0,
            b"DFLT" => 1,
            _ => 2,
        };
        if !lookups.is_empty() && !groups.iter().any(|(_, known)| *known == lookups) {
            groups.push((rank, lookups));
        }
    }
    groups.sort_by_key(|(rank, _)| *rank);
    Ok(groups.into_iter().map(|(_, lookups)| lookups).collect())
}

struct Search<'g> {
    glyphs: &'g BTreeSet<GlyphId>,
    /// The number of pairs that may still be visited.
    left: usize,
}

impl Search<'_> {
    fn spend(&mut self, pairs: usize) -> Result<(), KerningError> {
        self.left = self.left.checked_sub(pairs).ok_or(KerningError::TooMany)?;
        Ok(())
    }

    /// Returns the sums of the lookups of one script.
    fn group<'a>(
        &mut self,
        tables: &impl TableProvider<'a>,
        lookups: &BTreeSet<u16>,
    ) -> Result<Pairs, KerningError> {
        let mut sums = Pairs::new();
        let list = tables.gpos()?.lookup_list()?;
        for &index in lookups {
            let PositionSubtables::Pair(subtables) = list.lookups().get(usize::from(index))?.subtables()?
            else {
                continue;
            };
            let subtables: Vec<PairPos<'a>> = subtables.iter().collect::<Result<_, _>>()?;
            let classes =
                subtables.iter().map(|table| self.second_classes(table)).collect::<Result<Vec<_>, _>>()?;
            for &first in self.glyphs {
                let mut found: BTreeMap<GlyphId, i32> = BTreeMap::new();
                for (table, classes) in subtables.iter().zip(&classes) {
                    if self.subtable(table, classes, first, &mut found)? {
                        break;
                    }
                }
                for (second, units) in found {
                    let sum = sums.entry((first, second)).or_default();
                    *sum = sum.saturating_add(units);
                }
            }
        }
        Ok(sums)
    }

    /// Returns the glyphs of each second-glyph class of a subtable.
    fn second_classes(&mut self, table: &PairPos<'_>) -> Result<BTreeMap<u16, Vec<GlyphId>>, KerningError> {
        let mut classes: BTreeMap<u16, Vec<GlyphId>> = BTreeMap::new();
        if let PairPos::Format2(table) = table {
            self.spend(self.glyphs.len())?;
            let classes_of = table.class_def2()?;
            for &glyph in self.glyphs {
                // A class that no row can have equals no class.
                let class = u16::try_from(classes_of.get(glyph)).unwrap_or(u16::MAX);
                classes.entry(class).or_default().push(glyph);
            }
        }
        Ok(classes)
    }

    /// Adds the pairs of a subtable that no previous one has; returns `true` if it covers all pairs with this
    /// first glyph.
    fn subtable(
        &mut self,
        table: &PairPos<'_>,
        classes: &BTreeMap<u16, Vec<GlyphId>>,
        first: GlyphId,
        found: &mut BTreeMap<GlyphId, i32>,
    ) -> Result<bool, KerningError> {
        self.spend(1)?;
        let Some(covered) = table_coverage(table, first)? else { return Ok(false) };
        match table {
            PairPos::Format1(table) => {
                let set = table.pair_sets().get(covered as usize)?;
                self.spend(usize::from(set.pair_value_count()))?;
                for record in set.pair_value_records().iter() {
                    let record = record?;
                    let second = GlyphId::from(record.second_glyph());
                    if self.glyphs.contains(&second) {
                        found.entry(second).or_insert(record.value_record1().x_advance().unwrap_or(0).into());
                    }
                }
                Ok(false)
            }
            PairPos::Format2(table) => {
                let class = u16::try_from(table.class_def1()?.get(first)).unwrap_or(u16::MAX);
                let records = table.class_value_records();
                for (&second_class, seconds) in classes {
                    self.spend(1)?;
                    let Some([value, _]) = records.get(class, second_class) else { continue };
                    let units = i32::from(value.x_advance().unwrap_or(0));
                    if units == 0 {
                        continue;
                    }
                    self.spend(seconds.len())?;
                    for &second in seconds {
                        found.entry(second).or_insert(units);
                    }
                }
                Ok(class < table.class1_count())
            }
            // The formats for more than 65536 glyphs, which no font uses.
            _ => Ok(false),
        }
    }

    /// Returns the pairs of the `kern` table.
    fn kern<'a>(&mut self, tables: &impl TableProvider<'a>) -> Result<Pairs, KerningError> {
        let mut sums = Pairs::new();
        let kern = match tables.kern() {
            Err(ReadError::TableIsMissing(_)) => return Ok(sums),
            kern => kern?,
        };
        for subtable in kern.subtables() {
            let subtable = subtable?;
            if !subtable.is_horizontal() || subtable.is_cross_stream() || subtable.is_variable() {
                continue;
            }
            let mut add = |first, second, units: i32| {
                let sum: &mut i32 = sums.entry((first, second)).or_default();
                *sum = sum.saturating_add(units);
            };
            let value: Box<dyn Fn(GlyphId, GlyphId) -> Option<i32>> = match subtable.kind()? {
                SubtableKind::Format0(table) => {
                    self.spend(table.pairs().len())?;
                    for pair in table.pairs() {
                        let (first, second) = (GlyphId::from(pair.left()), GlyphId::from(pair.right()));
                        if self.glyphs.contains(&first) && self.glyphs.contains(&second) {
                            add(first, second, pair.value().into());
                        }
                    }
                    continue;
                }
                SubtableKind::Format2(table) => Box::new(move |first, second| table.kerning(first, second)),
                SubtableKind::Format3(table) => Box::new(move |first, second| table.kerning(first, second)),
                // A state machine, which depends on more than pairs.
                SubtableKind::Format1(_) => continue,
            };
            self.spend(self.glyphs.len().saturating_mul(self.glyphs.len()))?;
            for &first in self.glyphs {
                for &second in self.glyphs {
                    if let Some(units) = value(first, second).filter(|units| *units != 0) {
                        add(first, second, units);
                    }
                }
            }
        }
        Ok(sums)
    }
}

fn table_coverage(table: &PairPos<'_>, first: GlyphId) -> Result<Option<u32>, KerningError> {
    Ok(match table {
        PairPos::Format1(table) => table.coverage()?.get(first),
        PairPos::Format2(table) => table.coverage()?.get(first),
        _ => None,
    })
}
