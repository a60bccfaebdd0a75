//! Suggests names and paths that are similar to one that was not found.

use crate::index::{Index, Result};
use std::cell::RefCell;
use std::collections::HashSet;

/// The maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 5;

/// Returns names or paths similar to `wanted`, the most similar first. Paths are compared if it contains `/` or `.`.
///
/// # Errors
/// If the index is damaged.
pub fn suggest(index: &Index, wanted: &str) -> Result<Vec<String>> {
    let path = wanted.contains('/') || wanted.contains('.');
    let lower = wanted.to_lowercase();
    let file = lower.rsplit('/').next().unwrap_or(&lower).to_owned();
    let mut found: Vec<(usize, String)> = Vec::new();
    for entry in index.entries() {
        let entry = entry?;
        if entry.is_settings() {
            continue;
        }
        let text = if path { entry.hint()? } else { entry.name()?.to_owned() };
        let known = text.to_lowercase();
        let known = if path { known.rsplit('/').next().unwrap_or(&known) } else { &*known };
        let score = match known {
            known if known.contains(&file) => known.len() - file.len(),
            known => match distance(known, &file, 2) {
                Some(distance) => distance,
                None => continue,
            },
        };
        found.push((score, text));
    }
    found.sort();
    found.dedup();
    Ok(found.into_iter().map(|(_, text)| text).take(MAX_SUGGESTIONS).collect())
}

/// Returns names of types similar to `wanted`, the most similar first: classes and scripts that the project has objects of.
///
/// # Errors
/// If the index is damaged.
pub fn suggest_type(index: &Index, wanted: &str) -> Result<Vec<String>> {
    let wanted = wanted.to_lowercase();
    let mut types = std::collections::BTreeSet::new();
    // A project has many objects and few types.
    let mut seen = HashSet::new();
    for entry in index.entries() {
        let entry = entry?;
        if seen.insert(entry.asset_type()) {
            types.insert(super::annotate::short_type(index, &entry.type_name()?)?);
        }
    }
    let classes = RefCell::new(HashSet::new());
    for found in index.subs_by(|sub| classes.borrow_mut().insert(sub.class_id)) {
        types.insert(crate::class_id::class_name(found?.1.class_id).into_owned());
    }
    let score = |name: String| {
        let lower = name.to_lowercase();
        let score = match lower.contains(&wanted) {
            true => lower.len() - wanted.len(),
            false => distance(&lower, &wanted, 2)?,
        };
        Some((score, name))
    };
    let mut found: Vec<(usize, String)> = types.into_iter().filter_map(score).collect();
    found.sort();
    Ok(found.into_iter().map(|(_, name)| name).take(MAX_SUGGESTIONS).collect())
}

/// Returns the Levenshtein distance, if it is at most `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (n, from) in a.iter().enumerate() {
        let mut left = n + 1;
        let mut diagonal = row[0];
        row[0] = left;
        for (m, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[m + 1];
            left = change.min(diagonal + 1).min(left + 1);
            row[m + 1] = left;
        }
        if row.iter().all(|value| *value > most) {
            return None;
        }
    }
    row.last().copied().filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance() {
        assert_eq!(distance("flag", "flag", 2), Some(0));
        assert_eq!(distance("flag", "flug", 2), Some(1));
        assert_eq!(distance("flag", "lfag", 2), Some(2));
        assert_eq!(distance("flag", "fl", 2), Some(2));
        assert_eq!(distance("flag", "", 2), None);
        assert_eq!(distance("flag", "stag!", 2), None);
    }
}
