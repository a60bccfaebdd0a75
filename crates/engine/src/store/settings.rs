//! What a project's configuration may say of the store and its server, whatever file it is written in.
//!
//! Nothing in here decides what comes out of a build, and nothing in here is a secret.

use crate::remote::Policy;
use std::path::PathBuf;

/// What the file says of the cache; `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheSettings {
    /// Where results are kept on this machine.
    pub dir: Option<CacheDir>,
    /// How many bytes they may take.
    pub max_size: Option<u64>,
    /// The address of a server that others share.
    pub url: Option<String>,
    /// What the server is used for.
    pub policy: Option<CachePolicy>,
    /// Whether the server may be one that does not encrypt, though it is not this machine.
    pub allow_http: bool,
}

/// What a server is used for, or that it is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePolicy {
    /// It is left alone.
    Off,
    /// It is used like this.
    Use(Policy),
}

impl CachePolicy {
    /// The names, for messages.
    pub const ACCEPTS: &'static str = "`read`, `write`, `off`";

    /// Reads a name.
    pub fn parse(text: &str) -> Option<CachePolicy> {
        match text {
            "read" => Some(CachePolicy::Use(Policy::Read)),
            "write" => Some(CachePolicy::Use(Policy::Write)),
            "off" => Some(CachePolicy::Off),
            _ => None,
        }
    }
}

/// Where results are kept on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheDir {
    /// Nowhere.
    Off,
    /// In a directory of its own, relative to the file.
    At(PathBuf),
}

/// A size in bytes from `500 MB`, `20GB` or a plain number; units are powers of 1024, as everywhere in Kiln.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = (text[..digits].parse::<u64>().ok()?, text[digits..].trim().to_ascii_uppercase());
    let power = match unit.strip_suffix('B').unwrap_or(&unit) {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    number.checked_mul(1 << (10 * power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let check = |text, size| assert_eq!(parse_size(text), size, "{text}");
        check("0", Some(0));
        check("512", Some(512));
        check("3 B", Some(3));
        check("500 MB", Some(500 << 20));
        check(" 20gb ", Some(20 << 30));
        check("1T", Some(1 << 40));
        for bad in ["", "GB", "-1", "1.5 GB", "1 XB", "99999999999 TB", "1 GB GB"] {
            check(bad, None);
        }
    }
}
