//! Suggests names and paths that are similar to one that was not found.

use super::type_names::type_names;
use crate::index::{Index, Result};
use std::collections::BTreeSet;

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
    let (letters, most) = (letters_of(&file), max_distance(&file));
    let score = |known: &str, contains: bool| match contains {
        true => Some(known.len().saturating_sub(file.len())),
        false => near(known, &file, letters, most),
    };
    let mut found: Vec<(usize, String)> = Vec::new();
    if path {
        let finder = memchr::memmem::Finder::new(&file);
        let mut known = String::new();
        for entry in index.entries() {
            let entry = entry?;
            known.clear();
            match entry.file_name()? {
                name if name.is_ascii() => known.push_str(name),
                name => known.push_str(&name.to_lowercase()),
            }
            known.make_ascii_lowercase();
            let contains = finder.find(known.as_bytes()).is_some();
            if let Some(score) = score(&known, contains).filter(|_| !entry.is_settings()) {
                found.push((score, entry.hint()?));
            }
        }
    } else {
        let mut near = Vec::new();
        index.lower_names(&file, |known, contains, entry| {
            near.extend(score(known, contains).map(|score| (score, entry)));
        })?;
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
    let most = max_distance(&wanted);
    let types: BTreeSet<String> = type_names(index)?.into_iter().map(|(_, name)| name).collect();
    let score = |name: String| {
        let lower = name.to_lowercase();
        let score = match lower.contains(&wanted) {
            true => lower.len() - wanted.len(),
            false => distance(&lower, &wanted, most)?,
        };
        Some((score, name))
    };
    let mut found: Vec<(usize, String)> = types.into_iter().filter_map(score).collect();
    found.sort();
    Ok(found.into_iter().map(|(_, name)| name).take(MAX_SUGGESTIONS).collect())
}

/// The maximum edit distance of a suggestion.
const MAX_DISTANCE: usize = 2;

/// Returns the maximum edit distance of a suggestion for a string: half of a short one has to be the same.
fn max_distance(wanted: &str) -> usize {
    MAX_DISTANCE.min(wanted.chars().count() / 2)
}

/// Returns the edit distance of a name to a string with these letters, if it is at most `most`.
fn near(a: &str, b: &str, letters_of_b: Option<u64>, most: usize) -> Option<usize> {
    // A character has at most four bytes.
    if a.len().abs_diff(b.len()) > 4 * most {
        return None;
    }
    // Each edit adds and removes at most one character, which rejects nearly all names.
    if let (Some(of_a), Some(of_b)) = (letters_of(a), letters_of_b)
        && (of_a & !of_b).count_ones().max((of_b & !of_a).count_ones()) as usize > most
    {
        return None;
    }
    distance(a, b, most)
}

/// Returns the set of the characters of an ASCII string, in which two may share a bit; `None` for other strings.
fn letters_of(text: &str) -> Option<u64> {
    text.is_ascii().then(|| text.bytes().fold(0, |letters, byte| letters | 1 << (byte & 63)))
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
    // Only the diagonals at most `most` away from the main one can have such a distance: `row[most + m - n]` is the distance of
    // the first `n` of `a` and the first `m` of `b`.
    const FAR: usize = MAX_DISTANCE + 1;
    let mut row = [FAR; 2 * MAX_DISTANCE + 1];
    (0..=most).for_each(|m| row[most + m] = m);
    for (n, from) in a.iter().enumerate() {
        let mut left = FAR;
        for diagonal in 0..=2 * most {
            let above = if diagonal < 2 * most { row[diagonal + 1] } else { FAR };
            left = match (n + 1 + diagonal).checked_sub(most) {
                Some(0) => n + 1,
                Some(m) if m <= b.len() => {
                    (row[diagonal] + usize::from(*from != b[m - 1])).min(above + 1).min(left + 1)
                }
                _ => FAR,
            };
            row[diagonal] = left;
        }
        if row.iter().all(|value| *value > most) {
            return None;
        }
    }
    Some(row[most + b.len() - a.len()]).filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_letters_reject_no_near_string() {
        let near = |a: &str, b: &str| near(a, b, letters_of(b), MAX_DISTANCE);
        for (a, b) in [
            ("flag", "flag"),
            ("flag", "xlxg"),
            ("flag", "flagxy"),
            ("flag", "ag"),
            ("flag", "galf"),
            ("fläge", "flage"),
            ("ab", "xy"),
            ("", "ab"),
            ("flag", "banner"),
            ("FLAG!", "flag!"),
        ] {
            assert_eq!(near(a, b), distance(a, b, MAX_DISTANCE), "{a} {b}");
        }
    }

    #[test]
    fn distances_equal_those_of_the_definition() {
        fn slow(a: &[u8], b: &[u8]) -> usize {
            match (a, b) {
                ([], rest) | (rest, []) => rest.len(),
                ([x, a @ ..], [y, b @ ..]) if x == y => slow(a, b),
                ([_, short_a @ ..], [_, short_b @ ..]) => {
                    1 + slow(short_a, b).min(slow(a, short_b)).min(slow(short_a, short_b))
                }
            }
        }
        let words: Vec<Vec<u8>> = (0..200u32)
            .map(|n| (0..n % 7).map(|at| b'a' + ((n * 31) >> (at + n % 3) & 1) as u8).collect())
            .collect();
        for a in &words {
            for b in &words {
                for most in 0..=MAX_DISTANCE {
                    let expected = Some(slow(a, b)).filter(|distance| *distance <= most);
                    assert_eq!(distance_of(a, b, most), expected, "{a:?} {b:?} {most}");
                }
            }
        }
    }

    #[test]
    fn short_strings_have_few_neighbours() {
        assert_eq!(["", "a", "ab", "abc", "abcd", "abcdef", "日本"].map(max_distance), [0, 0, 1, 1, 2, 2, 1]);
    }

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
