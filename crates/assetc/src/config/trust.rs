//! Trust: the settings of a project file that take effect only if the user trusts the project, and the list of
//! projects that are trusted.
//!
//! A project may come from an untrusted author. Its file may control how its own assets are compiled, but not which
//! programs run, which directories outside the project are read or written, and which servers receive the user's
//! credentials or fill the user's cache. Each such setting is a [`Claim`]. The user admits them with `assetc trust`, which
//! records the directory of the project and a digest of its claims: a claim that is added or changed later has to be
//! admitted again, while all other settings may change.

use super::{Config, Preset};
use kiln_config::cache::TRUST_HINT;
use kiln_config::confine::{inside, real};
use kiln_config::file::unsafe_reason;
use kiln_config::nodes::Text;
use kiln_config::yaml::{At, excerpt};
use kiln_engine::publish::{Durability, publish};
use kiln_engine::remote::Policy;
use kiln_engine::store::settings::{CacheDir, CachePolicy};
use kiln_engine::{Code, Diag, Hash};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The name of the list in the user's configuration directory.
pub const FILE_NAME: &str = "trusted";

/// Most bytes of a list that are read, enough for some ten thousand projects.
const MAX_BYTES: u64 = 4 << 20;

/// A setting that takes effect only in a trusted project.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// The key, such as `tools.slangc`.
    pub key: String,
    /// The value, and for a directory the path that it leads to.
    pub value: String,
    /// The line and column of the value in the file; empty for a default.
    pub at: String,
    /// The effect of the setting: "builds run this program".
    pub effect: &'static str,
}

impl Config {
    /// Lets every setting take effect. Until this is called, [claims](Config::claims) are ignored or refused.
    pub fn trust(&mut self) {
        self.trusted = true;
    }

    /// Returns whether the user trusts the project.
    pub fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// Returns whether the file, or the directory it is in, belongs to another user.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Returns whether a file lies inside the project, through links too.
    pub(crate) fn contains(&self, file: &Path) -> bool {
        // A configuration that was not loaded from a file has no project directory.
        !self.project.as_os_str().is_empty() && real(file).starts_with(real(&self.project))
    }

    /// Lists the settings that take effect only in a trusted project, in a fixed order.
    pub fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for (name, path) in &self.tools {
            let key = format!("tools.{name}");
            claims.push(Claim::new(key, path.text.clone(), Some(path.at), "builds run this program"));
        }
        self.claim_cache(&mut claims);
        let mut directory = |key: String, text: &str, named: Option<&Text>, effect| {
            if let Err(outside) = inside(&self.project, text) {
                // With the resolved path: a link with a new target is another claim.
                let value = format!("{text} ({})", outside.resolved.display());
                claims.push(Claim::new(key, value, named.map(|named| named.at), effect));
            }
        };
        directory("input".into(), self.input(), self.input.as_ref(), "builds read this directory");
        let effect = "builds write to this directory";
        directory("output".into(), self.output(None), self.output.as_ref(), effect);
        for Preset { name, output, .. } in &self.presets {
            if let Some(output) = output {
                directory(format!("presets.{name}.output"), &output.text, Some(output), effect);
            }
        }
        claims
    }

    fn claim_cache(&self, claims: &mut Vec<Claim>) {
        let mut claim = |key: &str, value: String, effect| {
            claims.push(Claim::new(format!("cache.{key}"), value, self.project_cache().place(key), effect));
        };
        let cache = &self.cache;
        if let Some(url) = &cache.url {
            claim(
                "url",
                url.clone(),
                "builds send your credentials to this server and keep its results in your cache",
            );
        }
        if cache.policy == Some(CachePolicy::Use(Policy::Write)) {
            claim("policy", "write".into(), "builds send results to the server");
        }
        if cache.allow_http {
            claim("allow_http", "true".into(), "the connection to the server need not be encrypted");
        }
        let own = match &cache.dir {
            Some(CacheDir::At(dir)) => {
                let text = dir.to_string_lossy();
                let placed = inside(&self.project, &text);
                if let Err(outside) = &placed {
                    let value = format!("{text} ({})", outside.resolved.display());
                    claim("dir", value, "builds keep their results in this directory");
                }
                placed.is_ok()
            }
            _ => false,
        };
        if let Some(size) = cache.max_size.filter(|_| !own) {
            claim("max_size", format!("{size} bytes"), "builds shrink your cache to this size");
        }
    }

    /// Returns the warning that programs are ignored, if the file names some and the project is not trusted.
    pub fn ignored_tools(&self) -> Option<Diag> {
        let (_, first) = self.tools.first().filter(|_| !self.trusted)?;
        let names: Vec<String> = self.tools.iter().map(|(name, _)| format!("tools.{name}")).collect();
        let message = format!(
            "{} ignored, because builds would run the program and the project is not trusted",
            listed(&names)
        );
        let hint = format!("{TRUST_HINT}, or set the path of the program in the user's config.yml");
        Some(Diag::new(Code::UntrustedTools, message).path(&self.name).at(first.at).hint(hint))
    }

    /// Checks that no other user put the file above the working directory, in a directory that every user may write to.
    pub(super) fn check_owner(&self) -> Result<(), Diag> {
        if !(self.foreign && self.in_shared_dir) {
            return Ok(());
        }
        let message = "the file belongs to another user and is in a world-writable directory";
        let hint = "run assetc in a directory with an assetc.yml of your own, or run `assetc trust` if you trust this file";
        Err(Diag::new(Code::UntrustedOwner, message).path(&self.name).hint(hint))
    }
}

/// Joins the names of ignored settings with their verb.
fn listed(names: &[String]) -> String {
    format!("{} {}", names.join(", "), if names.len() == 1 { "is" } else { "are" })
}

impl Claim {
    fn new(key: String, value: String, at: Option<At>, effect: &'static str) -> Claim {
        Claim { key: excerpt(&key), value, at: at.map(|at| at.to_string()).unwrap_or_default(), effect }
    }
}

/// The list of trusted projects, each a directory and a digest of its claims.
#[derive(Clone, Debug)]
pub struct TrustList {
    file: PathBuf,
    entries: BTreeSet<(String, String)>,
}

impl TrustList {
    /// Loads a list; an empty one if there is no such file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or another user may write to it. A build reports the error as a warning and continues as
    /// if no project were trusted.
    pub fn load(file: &Path) -> Result<TrustList, Diag> {
        let mut list = TrustList { file: file.to_path_buf(), entries: BTreeSet::new() };
        let unreadable = |why: &str| {
            Diag::new(Code::UserFileUnsafe, format!("no project is trusted, because this file {why}"))
                .path(file.display())
                .hint("remove the file and run `assetc trust` again in each project that you trust")
        };
        let mut text = String::new();
        let read = File::open(file).and_then(|open| open.take(MAX_BYTES).read_to_string(&mut text));
        match read {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(list);
            }
            Err(error) => return Err(unreadable(&format!("cannot be read: {error}"))),
            Ok(_) => {}
        }
        if let Some(why) = unsafe_reason(file, 0o022) {
            return Err(unreadable(&why));
        }
        let entry =
            |line: &str| line.split_once(' ').map(|(digest, path)| (path.to_owned(), digest.to_owned()));
        list.entries = text.lines().filter(|line| !line.starts_with('#')).filter_map(entry).collect();
        Ok(list)
    }

    /// Returns whether the user admitted the claims of this project.
    pub fn trusts(&self, config: &Config) -> bool {
        self.entries.contains(&entry(config))
    }

    /// Adds a project with its present claims. Others that were admitted stay, so that branches with different claims
    /// can be switched.
    pub fn add(&mut self, config: &Config) {
        self.entries.insert(entry(config));
    }

    /// Removes all entries of a project; returns whether there were any.
    pub fn remove(&mut self, config: &Config) -> bool {
        let (path, _) = entry(config);
        let before = self.entries.len();
        self.entries.retain(|(listed, _)| *listed != path);
        self.entries.len() < before
    }

    /// Returns the directories of the projects, sorted. Control characters, `%` and bytes that are not UTF-8 are
    /// percent-encoded.
    pub fn projects(&self) -> impl Iterator<Item = &str> {
        let paths: BTreeSet<&str> = self.entries.iter().map(|(path, _)| path.as_str()).collect();
        paths.into_iter()
    }

    /// Writes the list, readable and writable by the user alone.
    ///
    /// # Errors
    ///
    /// The directory or the file cannot be written.
    pub fn save(&self) -> Result<(), Diag> {
        let mut text = String::from(
            "# Projects that assetc trusts, each with a digest of what was admitted: `assetc trust` writes this file.\n",
        );
        for (path, digest) in &self.entries {
            text.push_str(&format!("{digest} {path}\n"));
        }
        replace(&self.file, text.as_bytes()).map_err(|error| {
            Diag::new(Code::Unwritable, format!("the list of trusted projects cannot be written: {error}"))
                .path(self.file.display())
                .hint("check the permissions of the directory, or set KILN_CONFIG_DIR to another one")
        })
    }
}

/// Returns the entry of a project with its present claims.
fn entry(config: &Config) -> (String, String) {
    let project = std::fs::canonicalize(config.project()).unwrap_or_else(|_| config.project().to_path_buf());
    let claims = config.claims();
    let fields = claims.iter().flat_map(|claim| [claim.key.as_bytes(), claim.value.as_bytes()]);
    let digest = Hash::of_fields(std::iter::once(&b"kiln trust 1"[..]).chain(fields));
    (encoded(&project), digest.to_string())
}

/// Encodes a path on one line, injectively.
fn encoded(path: &Path) -> String {
    let mut out = String::new();
    let escape =
        |bytes: &[u8], out: &mut String| bytes.iter().for_each(|byte| out.push_str(&format!("%{byte:02x}")));
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '%' => escape(b"%", &mut out),
                c if c.is_control() => escape(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut out),
                c => out.push(c),
            }
        }
        escape(chunk.invalid(), &mut out);
    }
    out
}

/// Replaces a private file atomically, and creates its directory if it is missing.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = file.parent().ok_or(ErrorKind::InvalidInput)?;
    let (mut create, mut options) = (std::fs::DirBuilder::new(), File::options());
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        create.mode(0o700);
        options.mode(0o600);
    }
    create.recursive(true).create(dir)?;
    let temporary = dir.join(format!(".{FILE_NAME}-{}.tmp", std::process::id()));
    // Left by a killed process with the same process ID; never followed if it is a link.
    let _ = std::fs::remove_file(&temporary);
    let placed = options.write(true).create_new(true).open(&temporary).and_then(|mut open| {
        open.write_all(bytes)?;
        publish(&open, Durability::Durable, || kiln_engine::file_in_use::rename(&temporary, file))
    });
    if placed.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(dir: &Path, text: &str) -> Config {
        let file = dir.join("assetc.yml");
        std::fs::write(&file, text).unwrap();
        Config::load(&file, "assetc.yml").unwrap()
    }

    #[test]
    fn claims_are_the_settings_that_require_trust() {
        let dir = tempfile::tempdir().unwrap();
        let keys = |text: &str| {
            let claims = config(dir.path(), text).claims();
            claims.into_iter().map(|claim| format!("{}@{}", claim.key, claim.at)).collect::<Vec<_>>()
        };
        assert!(keys("").is_empty());
        assert!(
            keys("input: art\noutput: out\npresets: {a: {output: out/a}}\nembed: '*'\npack: true").is_empty()
        );
        assert!(keys("cache: {dir: c, max_size: 1 GB, policy: read}").is_empty());
        assert_eq!(keys("tools:\n  dxc: a\n  slangc: b"), ["tools.dxc@2:8", "tools.slangc@3:11"]);
        assert_eq!(
            keys("cache: {url: 'https://h', policy: write, allow_http: true, dir: ../c, max_size: 1 GB}"),
            [
                "cache.url@1:14",
                "cache.policy@1:35",
                "cache.allow_http@1:54",
                "cache.dir@1:65",
                "cache.max_size@1:81"
            ]
        );
        assert_eq!(
            keys("input: ../in\noutput: /out\npresets: {a: {output: ../a}}"),
            ["input@1:8", "output@2:9", "presets.a.output@3:23"]
        );
    }

    #[test]
    fn trust_ends_when_a_claim_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (project, file) = (dir.path().join("game"), dir.path().join("config").join(FILE_NAME));
        std::fs::create_dir(&project).unwrap();
        let admitted = "tools: {dxc: a}\ndefault: {texture: {rdo: 1}}";
        let mut list = TrustList::load(&file).unwrap();
        list.add(&config(&project, admitted));
        list.save().unwrap();
        let mut list = TrustList::load(&file).unwrap();
        let trusts = |list: &TrustList, text: &str| list.trusts(&config(&project, text));
        assert!(
            trusts(&list, admitted)
                && trusts(&list, "# moved\ntools: {dxc: a}\ndefault: {texture: {rdo: 2}}")
        );
        for changed in ["tools: {dxc: b}", "tools: {dxc: a, slangc: a}", "tools: {slangc: a}", "output: ../x"]
        {
            assert!(!trusts(&list, changed), "{changed}");
        }
        assert!(!list.trusts(&config(dir.path(), admitted)), "another directory");
        assert_eq!(list.projects().count(), 1);
        assert!(list.remove(&config(&project, "")) && !list.remove(&config(&project, "")));
        assert!(!trusts(&list, admitted));
    }

    #[cfg(unix)]
    #[test]
    fn list_is_private_and_writable_list_is_rejected() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (config, file) =
            (config(dir.path(), "tools: {dxc: a}"), dir.path().join("config").join(FILE_NAME));
        let mut list = TrustList::load(&file).unwrap();
        list.add(&config);
        list.save().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        for bad in [0o660, 0o606] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(bad)).unwrap();
            assert_eq!(TrustList::load(&file).unwrap_err().code, Code::UserFileUnsafe, "{bad:o}");
        }
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::set_permissions(file.parent().unwrap(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(TrustList::load(&file).unwrap_err().code, Code::UserFileUnsafe);
    }

    #[cfg(unix)]
    #[test]
    fn path_encoding_is_injective() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let of = |bytes: &[u8]| encoded(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(of("/a b/ü".as_bytes()), "/a b/ü");
        assert_eq!(of(b"/a\nb%\xff"), "/a%0ab%25%ff");
        assert_ne!(of(b"/%0a"), of(b"/\n"));
    }
}
