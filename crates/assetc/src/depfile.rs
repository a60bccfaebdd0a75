//! Dependency files in the syntax of make, which ninja reads, too.

use std::fmt::Write as _;

/// Formats a dependency file: the target depends on each of the prerequisites. Each prerequisite is also a target
/// without a recipe, as `gcc -MP` writes it, so that a deleted file does not stop make.
///
/// ```
/// let text = assetc::depfile::depfile("out/assets.hman", &["art/a b.png", "art/c$.png"]);
/// assert_eq!(text, "out/assets.hman: \\\n  art/a\\ b.png \\\n  art/c$$.png\n\nart/a\\ b.png:\n\nart/c$$.png:\n");
/// ```
pub fn depfile(target: &str, prerequisites: &[impl AsRef<str>]) -> String {
    let names: Vec<String> = prerequisites.iter().map(|name| escape(name.as_ref())).collect();
    let mut text = format!("{}:", escape(target));
    for name in &names {
        let _ = write!(text, " \\\n  {name}");
    }
    text.push('\n');
    // A percent sign in a target would make it a pattern rule.
    for name in names.iter().filter(|name| !name.contains('%')) {
        let _ = write!(text, "\n{name}:\n");
    }
    text
}

/// Escapes a path as compilers do: a blank, a number sign and a colon get a backslash, and backslashes before them are
/// doubled; a dollar sign is doubled.
fn escape(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    let mut backslashes = 0;
    for c in path.chars() {
        match c {
            ' ' | '\t' | '#' => {
                text.extend(std::iter::repeat_n('\\', backslashes + 1));
            }
            ':' if !is_drive(&text) => text.push('\\'),
            '$' => text.push('$'),
            _ => {}
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        text.push(c);
    }
    text
}

/// Returns whether a colon after this start of a path belongs to a drive letter of Windows.
fn is_drive(start: &str) -> bool {
    start.len() == 1 && start.starts_with(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_as_compilers_do() {
        for (path, escaped) in [
            ("plain/a.png", "plain/a.png"),
            ("a b#c$d.png", "a\\ b\\#c$$d.png"),
            ("dir\\a.png", "dir\\a.png"),
            ("dir\\ a", "dir\\\\\\ a"),
            ("C:\\art", "C:\\art"),
            ("aa:b", "aa\\:b"),
        ] {
            assert_eq!(escape(path), escaped);
        }
    }
}
