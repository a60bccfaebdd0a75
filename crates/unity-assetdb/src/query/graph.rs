//! Walks the graph of references: everything that an asset depends on, everything that depends on it, and the shortest chain
//! from a root of the build to it.

use super::roots::{BUILD_SETTINGS, RootKind, Roots};
use crate::index::incoming::Incoming;
use crate::index::{Entry, Index, Result};
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;

/// An asset that a walk reached.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reached<'a> {
    /// The asset that was reached.
    pub entry: Entry<'a>,
    /// The path, relative to the project.
    pub hint: String,
    /// The number of references between the start and the asset, at least 1.
    pub depth: u32,
    /// The path of the asset through which this one was first reached.
    pub through: String,
}

/// Returns all assets that the given ones refer to, directly or not, by depth and path.
///
/// # Errors
/// If the index is damaged.
pub fn dependencies<'a>(index: &'a Index, start: &[Entry<'a>]) -> Result<Vec<Reached<'a>>> {
    walk(index, start, |entry, reach| {
        for reference in index.entry(entry)?.references()? {
            index.find_by_guid(reference.guid)?.iter().for_each(|entry| reach(index.position(entry)));
        }
        Ok(())
    })
}

/// Returns all assets that refer to the given ones, directly or not, by depth and path.
///
/// # Errors
/// If the index is damaged.
pub fn dependents<'a>(index: &'a Index, start: &[Entry<'a>]) -> Result<Vec<Reached<'a>>> {
    let incoming = index.incoming()?;
    walk(index, start, |entry, reach| {
        incoming.sources(entry)?.for_each(reach);
        Ok(())
    })
}

/// Walks from assets to others: `next` passes the positions of the assets after one to a function, each at least once.
fn walk<'a>(
    index: &'a Index,
    start: &[Entry<'a>],
    next: impl Fn(u32, &mut dyn FnMut(u32)) -> Result<()>,
) -> Result<Vec<Reached<'a>>> {
    let mut seen = vec![false; index.len()];
    let mut waiting = VecDeque::new();
    for entry in start {
        let at = index.position(entry);
        if !std::mem::replace(&mut seen[at as usize], true) {
            waiting.push_back((at, entry.hint()?, 0));
        }
    }
    let mut found = Vec::new();
    let mut steps = Vec::new();
    while let Some((at, through, depth)) = waiting.pop_front() {
        steps.clear();
        next(at, &mut |at| {
            if !std::mem::replace(&mut seen[at as usize], true) {
                steps.push(at);
            }
        })?;
        let mut steps: Vec<(String, Entry<'a>)> = steps
            .iter()
            .map(|at| index.entry(*at).and_then(|entry| Ok((entry.hint()?, entry))))
            .collect::<Result<_>>()?;
        // By path, so that the result does not depend on the order of GUIDs.
        steps.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (hint, entry) in steps {
            waiting.push_back((index.position(&entry), hint.clone(), depth + 1));
            found.push(Reached { entry, hint, depth: depth + 1, through: through.clone() });
        }
    }
    found.sort_by(|a, b| (a.depth, &a.hint).cmp(&(b.depth, &b.hint)));
    Ok(found)
}

/// A step of the chain from a root to an asset.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Step<'a> {
    /// The asset of this step.
    pub entry: Entry<'a>,
    /// The path, relative to the project.
    pub hint: String,
    /// The line of the reference to the next step; 0 for the last step, and for a reference to a folder that contains it.
    pub line: u32,
    /// True if that line is in the `.meta`.
    pub in_meta: bool,
    /// The reason why the first step is a root.
    pub root: Option<RootKind>,
}

/// Returns the shortest chain from a root of the build to an asset, the root first; `None` if no root reaches it. Of several
/// chains of that length, the one whose steps come first by path, from the asset to the root. Scenes that are disabled in the
/// build settings are roots only with `all_scenes`.
///
/// # Errors
/// If the index is damaged.
pub fn why<'a>(
    index: &'a Index,
    root: &Path,
    asset: Entry<'a>,
    all_scenes: bool,
) -> Result<Option<Vec<Step<'a>>>> {
    let roots = Roots::new(root, all_scenes);
    let search = Search::new(index, &roots)?;
    let Some((distance, depth)) = search.distances(index.position(&asset), &roots)? else { return Ok(None) };
    let mut at = index.position(&asset);
    let mut steps = vec![Step { hint: asset.hint()?, entry: asset, line: 0, in_meta: false, root: None }];
    for next in 1..=depth {
        let mut best: Option<(String, u32)> = None;
        for source in search.all_sources(at)? {
            if distance[source as usize] != next | ON_CHAIN {
                continue;
            }
            let hint = index.entry(source)?.hint()?;
            if best.as_ref().is_none_or(|best| hint < best.0) {
                best = Some((hint, source));
            }
        }
        // Every step of a chain has a predecessor that is on one.
        let Some((hint, source)) = best else { return Ok(None) };
        let (line, in_meta) = search.line(at, source)?;
        steps.push(Step { entry: index.entry(source)?, hint, line, in_meta, root: None });
        at = source;
    }
    steps.reverse();
    if let Some(first) = steps.first_mut() {
        first.root = roots.kind(&first.entry, &first.hint);
    }
    Ok(Some(steps))
}

/// The distance of an asset that was not reached.
const FAR: u32 = u32::MAX;
/// Marks the distance of an asset that is on a shortest chain.
const ON_CHAIN: u32 = 1 << 31;

/// A search from an asset to the assets that refer to it, directly or not.
struct Search<'a> {
    index: &'a Index,
    incoming: Incoming<'a>,
    /// The entry of the build settings, whose references to disabled scenes do not count.
    build_settings: Option<u32>,
    /// The entries of the disabled scenes.
    disabled: HashSet<u32>,
}

impl<'a> Search<'a> {
    fn new(index: &'a Index, roots: &Roots<'_>) -> Result<Search<'a>> {
        let build_settings = index.find_by_hint(BUILD_SETTINGS)?.map(|entry| index.position(&entry));
        let mut disabled = HashSet::new();
        for guid in roots.disabled_scenes() {
            disabled.extend(index.claimants(guid)?.iter().map(|entry| index.position(entry)));
        }
        Ok(Search { index, incoming: index.incoming()?, build_settings, disabled })
    }

    /// Returns the assets that refer to an asset itself.
    fn sources(&self, entry: u32) -> Result<impl Iterator<Item = u32>> {
        let skipped = self.build_settings.filter(|_| self.disabled.contains(&entry));
        Ok(self.incoming.sources(entry)?.filter(move |source| Some(*source) != skipped))
    }

    /// Returns the assets that refer to an asset, or to a folder that contains it.
    fn all_sources(&self, entry: u32) -> Result<Vec<u32>> {
        let mut all: Vec<u32> = self.sources(entry)?.collect();
        // A reference to a folder reaches all assets in it.
        for folder in self.incoming.folders_around(entry) {
            all.extend(self.incoming.sources(folder)?);
        }
        Ok(all)
    }

    /// Returns the distance of each asset from `start` up to the nearest root, and the distance of that root. Assets on a
    /// shortest chain are marked with [`ON_CHAIN`]. `None` if no root is reached.
    fn distances(&self, start: u32, roots: &Roots<'_>) -> Result<Option<(Vec<u32>, u32)>> {
        let mut distance = vec![FAR; self.index.len()];
        let mut expanded: HashSet<u32> = HashSet::new();
        distance[start as usize] = 0;
        let mut levels = vec![vec![start]];
        loop {
            let depth = levels.len() as u32 - 1;
            let level = &levels[depth as usize];
            let mut found = false;
            for entry in level.iter().filter(|entry| self.incoming.may_be_root(**entry)) {
                let entry = self.index.entry(*entry)?;
                if roots.kind(&entry, &entry.hint()?).is_some() {
                    distance[self.index.position(&entry) as usize] |= ON_CHAIN;
                    found = true;
                }
            }
            if found {
                break;
            }
            let mut next = Vec::new();
            let mut reach = |source: u32| {
                if distance[source as usize] == FAR {
                    distance[source as usize] = depth + 1;
                    next.push(source);
                }
            };
            for entry in level {
                self.sources(*entry)?.for_each(&mut reach);
                for folder in self.incoming.folders_around(*entry) {
                    if expanded.insert(folder) {
                        self.incoming.sources(folder)?.for_each(&mut reach);
                    }
                }
            }
            if next.is_empty() {
                return Ok(None);
            }
            levels.push(next);
        }
        // Back from the roots: an asset is on a chain if one of its sources on the next level is.
        let depth = levels.len() as u32 - 1;
        for near in (0..depth).rev() {
            let is_on_chain =
                |distance: &[u32], source: u32| distance[source as usize] == (near + 1) | ON_CHAIN;
            let mut folders: HashMap<u32, bool> = HashMap::new();
            for entry in &levels[near as usize] {
                let mut on_chain = self.sources(*entry)?.any(|source| is_on_chain(&distance, source));
                for folder in self.incoming.folders_around(*entry) {
                    let known = folders.get(&folder).copied();
                    let reaches = match known {
                        Some(reaches) => reaches,
                        None => self.incoming.sources(folder)?.any(|source| is_on_chain(&distance, source)),
                    };
                    folders.insert(folder, reaches);
                    on_chain |= reaches;
                }
                if on_chain {
                    distance[*entry as usize] |= ON_CHAIN;
                }
            }
        }
        Ok(Some((distance, depth)))
    }

    /// Returns the line of the reference from `source` to an asset, and whether it is in the `.meta`; 0 for a reference to a
    /// folder that contains the asset.
    fn line(&self, entry: u32, source: u32) -> Result<(u32, bool)> {
        for folder in self.incoming.folders_around(entry) {
            if self.incoming.sources(folder)?.any(|each| each == source) {
                return Ok((0, false));
            }
        }
        let guid = self.index.entry(entry)?.guid();
        let own = self.index.entry(source)?.references()?.into_iter().filter(|each| each.guid == guid);
        Ok(own.min_by_key(|each| each.line).map_or((0, false), |each| (each.line, each.in_meta)))
    }
}

#[cfg(test)]
mod tests;
