//! Numbers with their noun in the right grammatical number, for messages.

/// Formats a number with the noun phrase that it counts: `1 mesh is`, `2 meshes are`.
///
/// ```
/// use kiln_diagnostics::counted;
///
/// assert_eq!(counted(1, "vertex", "vertices"), "1 vertex");
/// assert_eq!(counted(0, "vertex", "vertices"), "0 vertices");
/// ```
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
