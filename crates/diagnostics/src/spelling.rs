//! Spelling suggestions: the candidate nearest to an unknown word.

/// Returns the candidate with the smallest edit distance to `word`, if that distance is at most one edit in a short word
/// and a third of the length of a long one. The first of several equally near candidates wins. Case is ignored.
///
/// An edit inserts, deletes or replaces a character, or swaps two adjacent ones (optimal string alignment).
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance costs the product of the lengths, and both may come from a file.
    const MAX_CHARS: usize = 64;
    let normalized = |text: &str| text.to_lowercase().chars().take(MAX_CHARS).collect::<String>();
    let word = normalized(word);
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&word, &normalized(candidate)), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= allowed)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_near_words_only() {
        let keys = ["compress", "mips", "max_size"];
        assert_eq!(nearest("compres", keys), Some("compress"));
        assert_eq!(nearest("maxsize", keys), Some("max_size"));
        assert_eq!(nearest("MaxSize", keys), Some("max_size"));
        assert_eq!(nearest("mip", keys), Some("mips"));
        assert_eq!(nearest("channels", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn counts_a_swap_of_adjacent_characters_as_one_edit() {
        assert_eq!(nearest("mpis", ["mips"]), Some("mips"));
        assert_eq!(nearest("größe", ["grosse"]), None);
        assert_eq!(nearest("kitten", ["sitting"]), None);
    }

    #[test]
    fn first_of_equally_near_candidates_wins() {
        assert_eq!(nearest("abcd", ["abce", "abcf"]), Some("abce"));
    }
}
