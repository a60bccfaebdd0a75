//! The cache settings of a configuration file.
//!
//! None of them changes the result of a build, and none is a secret.

use crate::remote::Policy;
use std::path::PathBuf;

/// The cache settings of a file; `None` for a setting that the file does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheSettings {
    /// The cache directory.
    pub dir: Option<CacheDir>,
    /// The size limit of the cache directory, in bytes.
    pub max_size: Option<u64>,
    /// The URL of the cache server.
    pub url: Option<String>,
    /// The use of the server.
    pub policy: Option<CachePolicy>,
    /// True if unencrypted connections to hosts other than loopback are allowed.
    pub allow_http: bool,
}

/// The use of a cache server, or that it is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePolicy {
    /// The server is not used.
    Off,
    /// The server is used with this policy.
    Use(Policy),
}

impl CachePolicy {
    /// The accepted names, for messages.
    pub const ACCEPTS: &'static str = "`read`, `write`, `off`";

    /// Parses a name; `None` if it is unknown.
    pub fn parse(text: &str) -> Option<CachePolicy> {
        match text {
            "read" => Some(CachePolicy::Use(Policy::Read)),
            "write" => Some(CachePolicy::Use(Policy::Write)),
            "off" => Some(CachePolicy::Off),
            _ => None,
        }
    }
}

/// The cache directory of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheDir {
    /// The cache is disabled.
    Off,
    /// A directory, relative to the file.
    At(PathBuf),
}

/// Parses a size in bytes: `500 MB`, `20GB` or a plain number; units are powers of 1024. `None` if it is invalid.
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
    fn parses_sizes() {
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
