//! Suggests names and paths that are similar to one that was not found.

use crate::guid::Guid;
use crate::index::{Index, Result};
use crate::store::AssetType;

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
    let score = |known: &str| match known.contains(&file) {
        true => Some(known.len() - file.len()),
        false => distance(known, &file, 2),
    };
    let mut found: Vec<(usize, String)> = Vec::new();
    if path {
        for entry in index.entries() {
            let entry = entry?;
            let hint = entry.hint()?;
            let known = hint.rsplit('/').next().unwrap_or(&hint).to_lowercase();
            if let Some(score) = score(&known).filter(|_| !entry.is_settings()) {
                found.push((score, hint));
            }
        }
    } else {
        let mut near = Vec::new();
        index.lower_names(|known, entry| near.extend(score(known).map(|score| (score, entry))))?;
        for (score, entry) in near {
            let entry = index.entry(entry)?;
            if !entry.is_settings() {
                found.push((score, entry.name()?.to_owned()));
            }
        }
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
    for each in index.types()? {
        types.insert(match (each, index.script_of_type(each)?) {
            (_, Some(script)) => super::annotate::short_type(index, &format!("Script:{}", Guid(script)))?,
            (AssetType::Native(class), None) => crate::class_id::class_name(class).into_owned(),
            (AssetType::Script(_), None) => continue,
        });
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
    if a.is_ascii() && b.is_ascii() {
        return distance_of(a.as_bytes(), b.as_bytes(), most);
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    distance_of(&a, &b, most)
}

fn distance_of<T: PartialEq>(a: &[T], b: &[T], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    // An equal start and an equal end change nothing, and most names differ in a few characters only.
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    if a.len().max(b.len()) <= most && (a.is_empty() || b.is_empty()) {
        return Some(a.len().max(b.len()));
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
        assert_eq!(distance("flagge", "flage", 2), Some(1));
        assert_eq!(distance("fläge", "flage", 2), Some(1));
        assert_eq!(distance("", "", 2), Some(0));
        assert_eq!(distance("abcabc", "abc", 2), None);
    }
}
