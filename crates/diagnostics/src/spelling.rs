//! "Did you mean": the nearest of the words that were possible.

/// The candidate nearest to `word`, if it is near enough to be a slip: one edit in a short word, up to a third
/// of a long one. The first of equals wins.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody misspells this much, and the distance costs the product of the lengths.
    const MAX_CHARS: usize = 64;
    let word: Vec<char> = word.to_lowercase().chars().take(MAX_CHARS).collect();
    let allowed = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| {
            let other: Vec<char> = candidate.to_lowercase().chars().take(MAX_CHARS).collect();
            (distance(&word, &other), candidate)
        })
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= allowed)
        .map(|(_, candidate)| candidate)
}

/// How many letters to insert, delete, replace or swap with a neighbour to make one word the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(a: &str, b: &str) -> usize {
        distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
    }

    #[test]
    fn distances() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("compres", "compress", 1),
            ("mpis", "mips", 1),
            ("größe", "grosse", 3),
        ] {
            assert_eq!(between(a, b), expected, "{a} {b}");
            assert_eq!(between(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn near_words_are_offered_and_far_ones_are_not() {
        let keys = ["compress", "mips", "max_size"];
        assert_eq!(nearest("compres", keys), Some("compress"));
        assert_eq!(nearest("maxsize", keys), Some("max_size"));
        assert_eq!(nearest("MaxSize", keys), Some("max_size"));
        assert_eq!(nearest("mip", keys), Some("mips"));
        assert_eq!(nearest("channels", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest("x", []), None);
    }
}
