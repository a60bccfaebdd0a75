//! Walks the graph of references: everything that an asset depends on, everything that depends on it, and the shortest chain
//! from a root of the build to it.

use super::roots::{RootKind, Roots};
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
    walk(start, |entry| {
        let mut next = Vec::new();
        for reference in entry.references()? {
            next.extend(index.find_by_guid(reference.guid)?);
        }
        Ok(next)
    })
}

/// Returns all assets that refer to the given ones, directly or not, by depth and path.
///
/// # Errors
/// If the index is damaged.
pub fn dependents<'a>(index: &'a Index, start: &[Entry<'a>]) -> Result<Vec<Reached<'a>>> {
    walk(start, |entry| {
        // Settings have no GUID, and nothing refers to them.
        let uses = if entry.is_settings() { Vec::new() } else { index.uses(entry.guid())? };
        Ok(uses.into_iter().map(|(source, _)| source).collect())
    })
}

fn walk<'a>(
    start: &[Entry<'a>],
    next: impl Fn(&Entry<'a>) -> Result<Vec<Entry<'a>>>,
) -> Result<Vec<Reached<'a>>> {
    let mut seen: HashSet<String> = HashSet::new();
    let mut waiting = VecDeque::new();
    for entry in start {
        let hint = entry.hint()?;
        if seen.insert(hint.clone()) {
            waiting.push_back((*entry, hint, 0));
        }
    }
    let mut found = Vec::new();
    while let Some((entry, through, depth)) = waiting.pop_front() {
        let mut steps = Vec::new();
        for entry in next(&entry)? {
            let hint = entry.hint()?;
            if seen.insert(hint.clone()) {
                steps.push((entry, hint));
            }
        }
        // By path, so that the result does not depend on the order of GUIDs.
        steps.sort_by(|a, b| a.1.cmp(&b.1));
        for (entry, hint) in steps {
            let depth = depth + 1;
            found.push(Reached { entry, hint: hint.clone(), depth, through: through.clone() });
            waiting.push_back((entry, hint, depth));
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

/// Returns the shortest chain from a root of the build to an asset, the root first; `None` if no root reaches it. Scenes that
/// are disabled in the build settings are roots only with `all_scenes`.
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
    let mut seen: HashSet<String> = HashSet::from([asset.hint()?]);
    let last = Step { hint: asset.hint()?, entry: asset, line: 0, in_meta: false, root: None };
    // Steps with the index of the step that follows each.
    let mut steps = vec![(last, usize::MAX)];
    let mut at = 0;
    let mut folder_uses = HashMap::new();
    while at < steps.len() {
        let (entry, hint) = (steps[at].0.entry, steps[at].0.hint.clone());
        if let Some(kind) = roots.kind(&entry, &hint) {
            let mut chain = vec![Step { root: Some(kind), ..steps[at].0.clone() }];
            let mut next = steps[at].1;
            while let Some((step, after)) = steps.get(next) {
                chain.push(step.clone());
                next = *after;
            }
            return Ok(Some(chain));
        }
        let mut before = Vec::new();
        for (source, reference) in index.uses(entry.guid())? {
            let hint = source.hint()?;
            if !roots.is_disabled(&hint, &reference) {
                before.push((hint, source, reference.line, reference.in_meta));
            }
        }
        // A reference to a folder reaches all assets in it.
        for (end, _) in hint.match_indices('/') {
            let folder = &hint[..end];
            if !folder_uses.contains_key(folder) {
                let uses = match index.find_by_hint(folder)? {
                    Some(folder) => index.uses(folder.guid())?,
                    None => Vec::new(),
                };
                let uses = uses.into_iter().map(|(source, _)| Ok((source.hint()?, source)));
                folder_uses.insert(folder.to_owned(), uses.collect::<Result<Vec<_>>>()?);
            }
            let uses = folder_uses.get(folder).into_iter().flatten();
            before.extend(uses.map(|(hint, source)| (hint.clone(), *source, 0, false)));
        }
        before.sort_by(|a, b| (&a.0, a.2).cmp(&(&b.0, b.2)));
        for (hint, entry, line, in_meta) in before {
            if seen.insert(hint.clone()) {
                steps.push((Step { entry, hint, line, in_meta, root: None }, at));
            }
        }
        at += 1;
    }
    Ok(None)
}
