//! Numbers with their noun in the right grammatical number, for diagnostics.

/// Formats a count with its noun phrase: `1 mesh`, `2 meshes`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
