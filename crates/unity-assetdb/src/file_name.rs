//! Splits file names at their last dot.
//!
//! A bake does so several times for each file, so that the dot is searched byte by byte from the end: extensions are too short
//! for any other search to pay off.

/// Returns a file name without its last extension. A name that starts with its only dot has none.
pub(crate) fn stem(name: &str) -> &str {
    match last_dot(name) {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

/// Returns the part of a file name after its last dot; empty if there is none.
pub(crate) fn extension(name: &str) -> &str {
    last_dot(name).map_or("", |at| &name[at + 1..])
}

fn last_dot(name: &str) -> Option<usize> {
    name.bytes().rposition(|byte| byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_the_last_dot() {
        for (name, expected) in [
            ("a.prefab", ("a", "prefab")),
            ("a.b.cs", ("a.b", "cs")),
            ("a.", ("a", "")),
            ("a", ("a", "")),
            (".a", (".a", "a")),
            ("ä.ö", ("ä", "ö")),
            ("", ("", "")),
        ] {
            assert_eq!((stem(name), extension(name)), expected, "{name}");
        }
    }
}
