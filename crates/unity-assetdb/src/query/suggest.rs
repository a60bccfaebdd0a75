//! What may have been meant: names and paths near to one that is not there.

use crate::index::{Index, Result};

/// How many are suggested.
const MOST: usize = 5;

/// Names or paths near to what was asked for, the nearest first. With a `/` in it, a path is meant.
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
    Ok(found.into_iter().map(|(_, text)| text).take(MOST).collect())
}

/// How many letters have to change, if not more than `most`.
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
    fn distances() {
        assert_eq!(distance("flag", "flag", 2), Some(0));
        assert_eq!(distance("flag", "flug", 2), Some(1));
        assert_eq!(distance("flag", "lfag", 2), Some(2));
        assert_eq!(distance("flag", "fl", 2), Some(2));
        assert_eq!(distance("flag", "", 2), None);
        assert_eq!(distance("flag", "stag!", 2), None);
    }
}
