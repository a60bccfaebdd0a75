//! The section `cache:` of a configuration file: where results are kept beyond one output, and on which server.
//!
//! Nothing in here decides what comes out of a build. Credentials have no place in a file: an address with a user or a
//! password in it is refused.

use crate::confine::{inside, inside_path, tidy};
use crate::nodes::{bad, text, truth};
use crate::yaml::{At, Entry, Value};
use kiln_engine::remote::Address;
use kiln_engine::store::settings::{CacheDir, CachePolicy, CacheSettings, parse_size};
use kiln_engine::{Code, Diag};
use std::path::{Path, PathBuf};

/// The keys of the section.
pub const KEYS: &[&str] = &["dir", "max_size", "url", "policy", "allow_http"];

/// The remedy for a setting that needs trust.
pub const TRUST_HINT: &str = "run `assetc trust` if you trust this project";

/// Reads one entry of the section, whichever file it is in; `false` if the key is not one of [`KEYS`].
///
/// # Errors
///
/// The key does not accept the value.
pub fn set(cache: &mut CacheSettings, entry: &Entry) -> Result<bool, Diag> {
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

/// The section of a project's file.
#[derive(Clone, Copy, Debug)]
pub struct ProjectCache<'a> {
    /// The settings.
    pub settings: &'a CacheSettings,
    /// The places of the keys in the file.
    pub places: &'a [(String, At)],
    /// The file, as messages call it.
    pub file: &'a str,
    /// The directory of the project.
    pub project: &'a Path,
    /// Whether the user trusts the project.
    pub is_trusted: bool,
    /// Whether the file or its directory belongs to another user.
    pub is_foreign: bool,
}

impl ProjectCache<'_> {
    /// Returns the place of a key, if the file has it.
    pub fn place(&self, key: &str) -> Option<At> {
        self.places.iter().find(|(named, _)| named == key).map(|(_, at)| *at)
    }

    /// Adds the place of a key to a diagnostic.
    pub fn at_key(&self, key: &str, diag: Diag) -> Diag {
        let mut diag = diag.path(self.file);
        diag.at = self.place(key).map(|at| at.to_string());
        diag
    }

    /// Returns the warning that a key is ignored because the project is not trusted. `why` is a clause: "it would
    /// shrink the cache".
    pub fn ignored_key(&self, key: &str, why: &str) -> Diag {
        let message = format!("cache.{key} is ignored: the project is not trusted, and {why}");
        self.at_key(key, Diag::new(Code::UntrustedCache, message)).hint(TRUST_HINT)
    }

    /// Resolves a directory that an untrusted file names for the cache: inside the project, which the flag says, or
    /// inside `users`, the user's own cache.
    ///
    /// # Errors
    ///
    /// It lies elsewhere; the text is a clause that says where.
    pub fn confined_dir(&self, dir: &Path, users: Option<&Path>) -> Result<(PathBuf, bool), String> {
        let outside = match inside(self.project, &dir.to_string_lossy()) {
            Ok(path) => return Ok((path, true)),
            Err(outside) => outside,
        };
        let shared = users.and_then(|users| inside_path(users, &tidy(&self.project.join(dir))).ok());
        shared
            .map(|path| (path, false))
            .ok_or_else(|| format!("the directory '{}' {}", dir.display(), outside.why))
    }
}
