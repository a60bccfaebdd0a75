//! The section `cache:` of `assetc.yml`: where results are kept beyond one output, and on which server.
//!
//! Nothing in here decides what comes out of a build. Credentials have no place in the file: an address with a user or
//! a password in it is refused.

use kiln_kit::remote::Address;
use kiln_kit::store::settings::{CacheDir, CachePolicy, CacheSettings, parse_size};
use kiln_kit::{Code, Diag};

use super::Config;
use super::confine::{inside, inside_path, tidy};
use super::parse::{Reader, bad, entries, text, truth};
use super::trust::CURE;
use super::yaml::{At, Entry, Node, Value};
use std::path::{Path, PathBuf};

/// Its keys.
pub(super) const CACHE: &[&str] = &["dir", "max_size", "url", "policy", "allow_http"];

/// Reads the section of a project file.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node, config: &mut Config) -> Result<(), Diag> {
    for entry in entries(node, "cache")? {
        if set(&mut config.cache, entry)? {
            config.cache_places.push((entry.key.clone(), entry.node.at));
        } else {
            reader.unknown(entry, "cache", CACHE.iter().copied());
        }
    }
    Ok(())
}

/// Reads one entry of the section, whichever file it is in; `false` if the key is not one of [`CACHE`].
pub(super) fn set(cache: &mut CacheSettings, entry: &Entry) -> Result<bool, Diag> {
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
            let url = text(entry, "cache.url", "an address such as `https://cache.example.com/kiln`")?.text;
            // Whether an address that is not encrypted will do is known when the whole section is.
            Address::parse(&url, true).map_err(|why| {
                let message = format!("cache.url is no address of a server: {why}");
                let hint = "credentials are taken from the environment, never from this file";
                Diag::new(Code::ConfigBadValue, message).at(entry.node.at).hint(hint)
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
        _ => return Ok(false),
    }
    Ok(true)
}

impl Config {
    /// Returns the place of a key of `cache:` in the file, if it has the key.
    pub(super) fn cache_at(&self, key: &str) -> Option<At> {
        self.cache_places.iter().find(|(named, _)| named == key).map(|(_, at)| *at)
    }

    /// Adds the place of a key of `cache:` to a diagnostic.
    pub fn at_cache_key(&self, key: &str, diag: Diag) -> Diag {
        diag.path(&self.name).at(self.cache_at(key).map(|at| at.to_string()).unwrap_or_default())
    }

    /// Returns the warning that a key of `cache:` is ignored because the project is not trusted. `why` is a clause:
    /// "it would shrink the cache".
    pub fn ignored_cache_key(&self, key: &str, why: &str) -> Diag {
        let message = format!("cache.{key} is ignored: the project is not trusted, and {why}");
        self.at_cache_key(key, Diag::new(Code::UntrustedCache, message)).hint(CURE)
    }

    /// Resolves a directory that an untrusted file names for the cache: inside the project, which the flag says, or
    /// inside `users`, the user's own cache.
    ///
    /// # Errors
    ///
    /// It lies elsewhere; the text is a clause that says where.
    pub fn confined_cache_dir(&self, dir: &Path, users: Option<&Path>) -> Result<(PathBuf, bool), String> {
        let outside = match inside(&self.project, &dir.to_string_lossy()) {
            Ok(path) => return Ok((path, true)),
            Err(outside) => outside,
        };
        let shared = users.and_then(|users| inside_path(users, &tidy(&self.project.join(dir))).ok());
        shared
            .map(|path| (path, false))
            .ok_or_else(|| format!("the directory '{}' {}", dir.display(), outside.why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(refused.code == Code::ConfigBadValue && !refused.to_string().contains("pw"), "{refused}");
        }
        assert_eq!(parse("cache: {dir: false}").unwrap().dir, Some(CacheDir::Off));
        for bad in [
            "cache: {dir: true}",
            "cache: {dir: ''}",
            "cache: {max_size: big}",
            "cache: {policy: all}",
            "cache: 7",
        ] {
            assert_eq!(parse(bad).unwrap_err().code, Code::ConfigBadValue, "{bad}");
        }
        let odd = Config::parse("cache: {size: 7}", "assetc.yml").unwrap();
        assert_eq!(odd.warnings()[0].code, Code::ConfigUnknownKey);
    }
}
