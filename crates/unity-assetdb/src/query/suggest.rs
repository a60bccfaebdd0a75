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
    let is_path = wanted.contains('/') || wanted.contains('.');
    let lower = wanted.to_lowercase();
    let file = Wanted::new(lower.rsplit('/').next().unwrap_or(&lower));
    let mut found: Vec<(usize, String)> = Vec::new();
    if is_path {
        let finder = memchr::memmem::Finder::new(file.text);
        let mut buffer = Vec::new();
        for entry in index.entries() {
            let entry = entry?;
            let name = entry.file_name_bytes()?;
            if let Some(score) = file.score_in_any_case(name, &finder, &mut buffer)
                && !entry.is_settings()
            {
                found.push((score, entry.hint()?));
            }
        }
    } else {
        let mut near = Vec::new();
        index.lower_names(file.text, |known, contains, entry| {
            near.extend(file.score(known, contains).map(|score| (score, entry)));
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

/// A string that was not found, in lower case.
struct Wanted<'w> {
    text: &'w str,
    /// The characters of the string, if it is ASCII.
    letters: Option<u64>,
    /// The maximum edit distance of a suggestion.
    most: usize,
}

impl Wanted<'_> {
    fn new(text: &str) -> Wanted<'_> {
        Wanted { text, letters: letters_of(text.as_bytes()), most: max_distance(text) }
    }

    /// Returns the distance of a name in lower case, of which it is known whether it contains the string.
    fn score(&self, name: &[u8], contains: bool) -> Option<usize> {
        match contains {
            true => Some(name.len().saturating_sub(self.text.len())),
            false => self.near(name),
        }
    }

    /// Returns the distance of a name in any case. The buffer is for the name in lower case.
    fn score_in_any_case(
        &self,
        name: &[u8],
        finder: &memchr::memmem::Finder<'_>,
        buffer: &mut Vec<u8>,
    ) -> Option<usize> {
        buffer.clear();
        match (letters_of(name), self.letters) {
            (Some(of_name), Some(of_text)) => {
                let may_contain = of_text & !of_name == 0;
                if !may_contain && self.is_far(name.len(), of_name, of_text) {
                    return None;
                }
                buffer.extend_from_slice(name);
                buffer.make_ascii_lowercase();
            }
            _ => buffer.extend(std::str::from_utf8(name).ok()?.to_lowercase().bytes()),
        }
        self.score(buffer, finder.find(buffer).is_some())
    }

    /// Returns the edit distance of a name in lower case, if it is small.
    fn near(&self, name: &[u8]) -> Option<usize> {
        match (letters_of(name), self.letters) {
            (Some(of_name), Some(of_text)) => match self.is_far(name.len(), of_name, of_text) {
                true => None,
                false => distance_of(name, self.text.as_bytes(), self.most),
            },
            // A character has at most four bytes.
            _ if name.len().abs_diff(self.text.len()) > 4 * self.most => None,
            _ => distance(std::str::from_utf8(name).ok()?, self.text, self.most),
        }
    }

    /// Returns whether the distance of an ASCII name is certainly too large. Rejects nearly all names.
    fn is_far(&self, len: usize, of_name: u64, of_text: u64) -> bool {
        // Each edit adds and removes at most one character.
        let edits = (of_name & !of_text).count_ones().max((of_text & !of_name).count_ones());
        len.abs_diff(self.text.len()).max(edits as usize) > self.most
    }
}

/// The bit of each ASCII character, the same in upper and lower case. Two characters may share one.
const LETTER_BITS: [u64; 256] = {
    let mut bits = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        bits[byte] = 1 << ((byte as u8).to_ascii_lowercase() & 63);
        byte += 1;
    }
    bits
};

/// Returns the set of the characters of an ASCII string; `None` for other strings.
fn letters_of(text: &[u8]) -> Option<u64> {
    let letters = || text.iter().fold(0, |letters, byte| letters | LETTER_BITS[usize::from(*byte)]);
    text.is_ascii().then(letters)
}

/// Returns the Levenshtein distance, if it is at most `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    if a.is_ascii() && b.is_ascii() {
        return distance_of(a.as_bytes(), b.as_bytes(), most);
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    distance_of(&a, &b, most)
}

/// Follows the edits, of which there are two at most: far fewer comparisons than a table of distances needs.
fn distance_of<T: PartialEq>(a: &[T], b: &[T], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    // An equal start changes nothing, and most names differ in a few characters only.
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[start..], &b[start..]);
    let ([_, after_a @ ..], [_, after_b @ ..]) = (a, b) else { return Some(a.len().max(b.len())) };
    // The first characters differ: one is replaced, removed or added.
    let mut best = None;
    let mut left = most.checked_sub(1)?;
    for (a, b) in [(after_a, after_b), (after_a, b), (a, after_b)] {
        let Some(distance) = distance_of(a, b, left) else { continue };
        best = Some(distance + 1);
        match distance.checked_sub(1) {
            Some(fewer) => left = fewer,
            None => break,
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_letters_reject_no_near_string() {
        for (name, text) in [
            ("flag", "flag"),
            ("flag", "xlxg"),
            ("flag", "flagxy"),
            ("flag", "ag"),
            ("flag", "galf"),
            ("fl\u{e4}ge", "flage"),
            ("flage", "fl\u{e4}ge"),
            ("ab", "xy"),
            ("", "ab"),
            ("flag", "banner"),
            ("flag!", "flag!"),
            ("bigflag", "flag"),
            ("gaflag", "flagga"),
        ] {
            let wanted = Wanted { most: MAX_DISTANCE, ..Wanted::new(text) };
            assert_eq!(wanted.near(name.as_bytes()), distance(name, text, MAX_DISTANCE), "{name} {text}");
            let finder = memchr::memmem::Finder::new(text);
            let mut buffer = Vec::new();
            for cased in [name.to_owned(), name.to_uppercase()] {
                let found = wanted.score_in_any_case(cased.as_bytes(), &finder, &mut buffer);
                assert_eq!(found, wanted.score(name.as_bytes(), name.contains(text)), "{cased} {text}");
            }
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
