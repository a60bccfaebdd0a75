//! File names of extracted assets: escapes names that an operating system, a shell or a program treats specially.
//!
//! Characters are escaped as `%` and two hexadecimal digits, as in URLs. Escaped are a leading `.` (`.git/hooks`,
//! `.bashrc`) and `~`, a `~` before a digit (`git~1` is an alias of `.git` on Windows), the reserved device names of
//! Windows (`con`, `nul.txt`), a trailing `.` or space, and `< > " | ? *`. Path traversal is not escaped: it is an error.

use kiln_engine::is_windows_device;

/// Returns the path with each component escaped. Different paths stay different.
pub(super) fn escape(path: &str) -> String {
    path.split('/').map(component).collect::<Vec<_>>().join("/")
}

fn component(name: &str) -> String {
    if matches!(name, "" | "." | "..") {
        return name.to_owned();
    }
    let last = name.chars().count() - 1;
    let is_device = is_windows_device(name);
    let mut out = String::with_capacity(name.len());
    for (number, (at, c)) in name.char_indices().enumerate() {
        let rest = &name.as_bytes()[at + c.len_utf8()..];
        let escaped = match c {
            '<' | '>' | '"' | '|' | '?' | '*' => true,
            '.' => number == 0 || number == last,
            ' ' => number == last,
            '~' => number == 0 || rest.first().is_some_and(u8::is_ascii_digit),
            '%' => rest.get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
            _ => number == 0 && is_device,
        };
        match escaped {
            true => out += &format!("%{:02X}", u32::from(c)),
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_reserved_and_dangerous_names_only() {
        for (name, expected) in [
            ("art/red.png", "art/red.png"),
            ("con", "%63on"),
            ("a/NUL.txt", "a/%4EUL.txt"),
            ("com1.tar.gz", "%63om1.tar.gz"),
            ("lpt²", "%6Cpt²"),
            ("console/nullable/com10", "console/nullable/com10"),
            ("~/x", "%7E/x"),
            (".git/hooks/pre-commit", "%2Egit/hooks/pre-commit"),
            ("git~1/config", "git%7E1/config"),
            ("a~b", "a~b"),
            ("what?.png", "what%3F.png"),
            ("end.", "end%2E"),
            ("end ", "end%20"),
            ("100%", "100%"),
            ("100%41", "100%2541"),
            ("../x", "../x"),
        ] {
            assert_eq!(escape(name), expected, "{name}");
        }
    }
}
