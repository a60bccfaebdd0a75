//! The section `cache:` of a configuration file: the directory, the size limit and the server of the build cache.
//!
//! None of these settings changes the result of a build. Credentials do not belong into a file: a URL with a user or a
//! password is rejected.

use crate::confine::{inside, inside_path, tidy};
use crate::nodes::{bad, boolean, text};
use crate::yaml::{At, Entry, Value};
use kiln_engine::remote::Address;
use kiln_engine::store::settings::{CacheDir, CachePolicy, CacheSettings, parse_size};
use kiln_engine::{Code, Diag};
use std::path::{Path, PathBuf};

/// The keys of the section.
pub const KEYS: &[&str] = &["dir", "max_size", "url", "policy", "allow_http"];

/// The hint of a warning about a setting that requires trust.
pub const TRUST_HINT: &str = "run `assetc trust` if you trust this project";

/// Reads one entry of the section; returns `false` if the key is not one of [`KEYS`].
///
/// # Errors
///
/// `config-bad-value` if the key does not accept the value.
pub fn set(cache: &mut CacheSettings, entry: &Entry) -> Result<bool, Diag> {
    match entry.key.as_str() {
        "dir" => {
            cache.dir = Some(match boolean(entry) {
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
            let url = text(entry, "cache.url", "a URL such as `https://cache.example.com/kiln`")?.text;
            // Plain HTTP is checked when the whole section is known, because `allow_http` may follow.
            Address::parse(&url, true).map_err(|why| {
                let message = format!("cache.url is not a valid URL: {why}");
                let hint = "set credentials in the environment; this file cannot contain them";
                Diag::new(Code::ConfigBadValue, message).at(entry.node.at).hint(hint)
            })?;
            cache.url = Some(url);
        }
        "policy" => {
            let policy = match &entry.node.value {
                // YAML 1.1 reads an unquoted `off` as a boolean; here it is a string.
                Value::Scalar(scalar) => CachePolicy::parse(&scalar.text),
                _ => None,
            };
            let bad = || bad(&entry.node, "cache.policy", CachePolicy::ACCEPTS);
            cache.policy = Some(policy.ok_or_else(bad)?);
        }
        "allow_http" => cache.allow_http = boolean(entry)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// The cache settings of a project file.
#[derive(Clone, Copy, Debug)]
pub struct ProjectCache<'a> {
    /// The values of the section.
    pub settings: &'a CacheSettings,
    /// The locations of the keys in the file.
    pub places: &'a [(String, At)],
    /// The name of the file in diagnostics.
    pub file: &'a str,
    /// The project directory.
    pub project: &'a Path,
    /// True if the user trusts the project.
    pub is_trusted: bool,
    /// True if the file or its directory belongs to another user.
    pub is_foreign: bool,
}

impl ProjectCache<'_> {
    /// Returns the location of a key, if the file has it.
    pub fn place(&self, key: &str) -> Option<At> {
        self.places.iter().find(|(named, _)| named == key).map(|(_, at)| *at)
    }

    /// Adds the file and the location of a key to a diagnostic.
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

    /// Resolves the cache directory of an untrusted project, which must be inside the project or inside `users`, the cache
    /// of the user. The flag is true if it is inside the project.
    ///
    /// # Errors
    ///
    /// A clause about the location of the directory, if it is elsewhere.
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
