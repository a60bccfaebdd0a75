//! The section `cache:` of `assetc.yml`: where results are kept beyond one output, and on which server.
//!
//! Nothing in here decides what comes out of a build. Credentials have no place in the file: an address with a user or
//! a password in it is refused.

use std::path::PathBuf;

use kiln_kit::Diag;
use kiln_kit::remote::{Address, Policy};

use super::parse::{Reader, bad, entries, text, truth};
use super::yaml::{Node, Value};

/// Its keys.
pub(super) const CACHE: &[&str] = &["dir", "max_size", "url", "policy", "allow_http"];

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

pub(super) fn read(reader: &mut Reader<'_>, node: &Node) -> Result<CacheSettings, Diag> {
    let mut cache = CacheSettings::default();
    for entry in entries(node, "cache")? {
        match entry.key.as_str() {
            "dir" => {
                cache.dir = Some(match truth(entry) {
                    Ok(false) => CacheDir::Off,
                    Ok(true) => return Err(bad(&entry.node, "cache.dir", "a path, `false`")),
                    Err(_) => CacheDir::At(text(entry, "cache.dir", "a path, `false`")?.text.into()),
                })
            }
            "max_size" => {
                let size = match &entry.node.value {
                    Value::Scalar(scalar) => parse_size(&scalar.text),
                    _ => None,
                };
                let accepts = "a size such as `500 MB` or `20 GB`";
                cache.max_size = Some(size.ok_or_else(|| bad(&entry.node, "cache.max_size", accepts))?);
            }
            "url" => {
                let url =
                    text(entry, "cache.url", "an address such as `https://cache.example.com/kiln`")?.text;
                // Whether an address that is not encrypted will do is known when the whole section is.
                Address::parse(&url, true).map_err(|why| {
                    let message = format!("cache.url is no address of a server: {why}");
                    let hint = "credentials are taken from the environment, never from this file";
                    Diag::error("config-bad-value", message).at(entry.node.at).hint(hint)
                })?;
                cache.url = Some(url);
            }
            "policy" => {
                let policy = match &entry.node.value {
                    // Plain `off` is a word here, whatever else YAML takes it for.
                    Value::Scalar(scalar) => CachePolicy::parse(&scalar.text),
                    _ => None,
                };
                let bad = || bad(&entry.node, "cache.policy", CachePolicy::ACCEPTS);
                cache.policy = Some(policy.ok_or_else(bad)?);
            }
            "allow_http" => cache.allow_http = truth(entry)?,
            _ => reader.unknown(entry, "cache", CACHE.iter().copied()),
        }
    }
    Ok(cache)
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
    use crate::config::Config;

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

    #[test]
    fn the_document_has_every_key() {
        let document = include_str!("../../../../docs/cache.md");
        let example = document.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let keys = example.lines().skip(1).map(|line| line.trim().split(':').next().unwrap());
        assert_eq!(keys.collect::<Vec<_>>(), CACHE);
        let read = Config::parse(example, "assetc.yml").unwrap();
        assert!(read.warnings().is_empty() && read.cache().url.is_some());
    }

    #[test]
    fn the_section_is_read() {
        let parse = |text: &str| Config::parse(text, "assetc.yml").map(|config| config.cache().clone());
        assert_eq!(parse(""), Ok(CacheSettings::default()));
        let full =
            "cache:\n  dir: .cache\n  max_size: 2 GB\n  url: https://h/k\n  policy: off\n  allow_http: true";
        let expected = CacheSettings {
            dir: Some(CacheDir::At(".cache".into())),
            max_size: Some(2 << 30),
            url: Some("https://h/k".into()),
            policy: Some(CachePolicy::Off),
            allow_http: true,
        };
        assert_eq!(parse(full).unwrap(), expected);
        for secret in ["cache: {url: 'https://me:pw@h/'}", "cache: {url: h}"] {
            let refused = parse(secret).unwrap_err();
            assert!(refused.code == "config-bad-value" && !refused.to_string().contains("pw"), "{refused}");
        }
        assert_eq!(parse("cache: {dir: false}").unwrap().dir, Some(CacheDir::Off));
        for bad in [
            "cache: {dir: true}",
            "cache: {dir: ''}",
            "cache: {max_size: big}",
            "cache: {policy: all}",
            "cache: 7",
        ] {
            assert_eq!(parse(bad).unwrap_err().code, "config-bad-value", "{bad}");
        }
        let odd = Config::parse("cache: {size: 7}", "assetc.yml").unwrap();
        assert_eq!(odd.warnings()[0].code, "config-unknown-key");
    }
}
