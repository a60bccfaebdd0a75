//! File names that Windows cannot use: device names, a trailing dot or space, and `< > " | ? *`.
//!
//! A [`RelPath`](crate::RelPath) has no `\`, `:` or control character on any platform. The names here are valid on other platforms and
//! occur in old projects (`aux.png`), so they are no errors: an output with such a name works everywhere but on Windows,
//! where it can be neither checked out nor copied.

use std::fmt;

/// The reason that Windows cannot use a file name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowsNameFault {
    /// The name before its first dot is that of a device, such as `aux` or `COM1`.
    Device(String),
    /// The name ends with a dot or a space, which Windows removes.
    Trailing(char),
    /// The name has a character that is not allowed: one of `< > " | ? *`.
    Character(char),
}

impl fmt::Display for WindowsNameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WindowsNameFault::Device(name) => write!(f, "'{name}' is a device there"),
            WindowsNameFault::Trailing(' ') => f.write_str("a name must not end with a space there"),
            WindowsNameFault::Trailing(_) => f.write_str("a name must not end with a dot there"),
            WindowsNameFault::Character(c) => write!(f, "a name must not contain {c:?} there"),
        }
    }
}

/// Returns the reason that Windows cannot use a file name; `None` if it can.
pub fn windows_name_fault(name: &str) -> Option<WindowsNameFault> {
    if let Some(c) = name.chars().find(|c| matches!(c, '<' | '>' | '"' | '|' | '?' | '*')) {
        return Some(WindowsNameFault::Character(c));
    }
    if let Some(c) = name.chars().next_back().filter(|c| matches!(c, '.' | ' ')) {
        return Some(WindowsNameFault::Trailing(c));
    }
    is_windows_device(name).then(|| WindowsNameFault::Device(device_part(name).to_owned()))
}

/// Returns whether Windows takes a file name for a device, with any extension.
pub fn is_windows_device(name: &str) -> bool {
    let stem = device_part(name);
    let is_port = |kind: &str| {
        let number = stem.get(..3).filter(|start| start.eq_ignore_ascii_case(kind)).map(|_| &stem[3..]);
        number.is_some_and(|n| matches!(n, "¹" | "²" | "³") || matches!(n.as_bytes(), [b'0'..=b'9']))
    };
    let names = ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"];
    names.iter().any(|device| stem.eq_ignore_ascii_case(device)) || is_port("com") || is_port("lpt")
}

/// Returns the part of a name that Windows compares with the names of devices.
fn device_part(name: &str) -> &str {
    name.split('.').next().unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names are from Microsoft's "Naming Files, Paths, and Namespaces".
    #[test]
    fn finds_names_that_windows_cannot_use() {
        let device = |name: &str| Some(WindowsNameFault::Device(name.to_owned()));
        for (name, fault) in [
            ("con", device("con")),
            ("NUL.txt", device("NUL")),
            ("NUL.tar.gz", device("NUL")),
            ("Aux .png", device("Aux")),
            ("COM1.png", device("COM1")),
            ("lpt²", device("lpt²")),
            ("a. ", Some(WindowsNameFault::Trailing(' '))),
            ("a.", Some(WindowsNameFault::Trailing('.'))),
            ("what?.png", Some(WindowsNameFault::Character('?'))),
            ("a|b", Some(WindowsNameFault::Character('|'))),
        ] {
            assert_eq!(windows_name_fault(name), fault, "{name}");
        }
        let usable =
            ["a.png", "console.png", "com.png", "com10", "nullable", "aux-cable.png", ".con", "ü", "coö"];
        for name in usable {
            assert_eq!(windows_name_fault(name), None, "{name}");
        }
    }
}
