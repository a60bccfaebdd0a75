//! The user's configuration file `config.yml`, documented in `docs/reference/config/user.md`.
//!
//! The file is in a directory that no project can write to. It has the settings that an untrusted project file cannot
//! change: external programs, the cache, the servers that get the user's credentials, and limits on each asset. Every path
//! in it is absolute, so that it does not depend on the working directory. A file that another user owns or that is
//! world-writable is ignored with a warning.

use crate::cache;
use crate::file::{read_text, unreadable, unsafe_reason};
use crate::nodes::{bad, entries, text, unknown_key};
use crate::yaml::{self, Entry, Node, Value};
use kiln_engine::remote::{Address, Scheme};
use kiln_engine::store::settings::{CacheDir, CacheSettings, parse_size};
use kiln_engine::{Code, Diag, Limits, nearest};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of the file in the user's configuration directory.
pub const FILE_NAME: &str = "config.yml";

/// The keys of the top level. A new section needs an entry here and an arm in [`UserConfig::section`].
const TOP: &[&str] = &["tools", "cache", "limits"];
/// The keys of `tools:`: programs that recipes of `assetc` can run.
pub const TOOLS: &[&str] = &["slangc", "dxc", "spirv-opt", "spirv-val"];
/// The keys of `limits:`.
const LIMITS: &[&str] = &["max_pixels", "max_memory", "max_time"];
/// The key of `cache:` that only this file has.
const CREDENTIAL_HOSTS: &str = "credential_hosts";

/// The settings of a user, for all projects.
#[derive(Clone, Debug, Default)]
pub struct UserConfig {
    file: Option<PathBuf>,
    tools: Vec<(String, PathBuf)>,
    cache: CacheSettings,
    credential_hosts: Vec<CredentialHost>,
    limits: Limits,
    warnings: Vec<Diag>,
}

impl UserConfig {
    /// Loads a file; returns the defaults if it does not exist.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not valid YAML, or has an invalid value.
    pub fn load(file: &Path) -> Result<UserConfig, Diag> {
        let name = file.display().to_string();
        // A directory without access belongs to another user whose HOME was inherited.
        if let Err(error) = std::fs::metadata(file) {
            return match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied => {
                    Ok(UserConfig::default())
                }
                _ => Err(unreadable(&name, &error)),
            };
        }
        if let Some(why) = unsafe_reason(file, 0o002) {
            let warning = Diag::new(Code::UserFileUnsafe, format!("the file is ignored because it {why}"))
                .path(name)
                .hint("make sure that you own the file and its directory, and that nobody else can write to them");
            return Ok(UserConfig { warnings: vec![warning], ..UserConfig::default() });
        }
        let config = UserConfig::parse(&read_text(file, &name)?, &name)?;
        Ok(UserConfig { file: Some(file.to_path_buf()), ..config })
    }

    /// Parses the content of a file; `name` is the name of the file in messages.
    ///
    /// # Errors
    ///
    /// The text is not valid YAML, or has an invalid value.
    pub fn parse(text: &str, name: &str) -> Result<UserConfig, Diag> {
        let mut reader = Reader { name, warnings: Vec::new() };
        let mut config = UserConfig::default();
        let read = |config: &mut UserConfig, reader: &mut Reader<'_>| {
            let Some(root) = yaml::parse(text)? else { return Ok(()) };
            entries(&root, "the file")?.iter().try_for_each(|entry| config.section(reader, entry))
        };
        read(&mut config, &mut reader).map_err(|diag: Diag| diag.path(name))?;
        config.warnings = reader.warnings;
        Ok(config)
    }

    fn section(&mut self, reader: &mut Reader<'_>, entry: &Entry) -> Result<(), Diag> {
        match entry.key.as_str() {
            "tools" => self.read_tools(reader, &entry.node),
            "cache" => self.read_cache(reader, &entry.node),
            "limits" => self.read_limits(reader, &entry.node),
            _ => {
                reader.unknown(entry, "", TOP.iter().copied());
                Ok(())
            }
        }
    }

    fn read_tools(&mut self, reader: &mut Reader<'_>, node: &Node) -> Result<(), Diag> {
        for entry in entries(node, "tools")? {
            if TOOLS.contains(&entry.key.as_str()) {
                let path = absolute(entry, &format!("tools.{}", entry.key), "an absolute path")?;
                self.tools.push((entry.key.clone(), path));
            } else {
                reader.unknown(entry, "tools", TOOLS.iter().copied());
            }
        }
        Ok(())
    }

    fn read_cache(&mut self, reader: &mut Reader<'_>, node: &Node) -> Result<(), Diag> {
        for entry in entries(node, "cache")? {
            if entry.key == CREDENTIAL_HOSTS {
                self.credential_hosts = credential_hosts(&entry.node)?;
            } else if !cache::set(&mut self.cache, entry)? {
                reader.unknown(entry, "cache", cache::KEYS.iter().copied().chain([CREDENTIAL_HOSTS]));
            }
            if entry.key == "dir" && matches!(self.cache.dir, Some(CacheDir::At(_))) {
                absolute(entry, "cache.dir", "an absolute path, `false`")?;
            }
        }
        Ok(())
    }

    fn read_limits(&mut self, reader: &mut Reader<'_>, node: &Node) -> Result<(), Diag> {
        for entry in entries(node, "limits")? {
            let place = format!("limits.{}", entry.key);
            let value = |accepts: &str, parse: fn(&str) -> Option<u64>| {
                let value = parse(&text(entry, &place, accepts)?.text);
                value.ok_or_else(|| bad(&entry.node, &place, accepts))
            };
            let positive: fn(&str) -> Option<u64> = |text| text.parse().ok().filter(|number| *number > 0);
            match entry.key.as_str() {
                "max_pixels" => self.limits.max_pixels = value("a number of pixels", positive)?,
                "max_memory" => {
                    let size = |text: &str| parse_size(text).filter(|size| *size > 0);
                    self.limits.max_memory = value("a size such as `4 GB`", size)?;
                }
                "max_time" => {
                    let seconds = value("a number of seconds, `0` for no limit", |text| {
                        text.parse::<u32>().ok().map(u64::from)
                    })?;
                    self.limits.max_time = (seconds > 0).then(|| Duration::from_secs(seconds));
                }
                _ => reader.unknown(entry, "limits", LIMITS.iter().copied()),
            }
        }
        Ok(())
    }

    /// Returns the limits on each asset.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the path of the file, if one was loaded.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the path of an external program, if the file has it. `name` is one of [`TOOLS`].
    pub fn tool(&self, name: &str) -> Option<&Path> {
        self.tools.iter().find(|(named, _)| named == name).map(|(_, path)| path.as_path())
    }

    /// Returns the cache settings.
    pub fn cache(&self) -> &CacheSettings {
        &self.cache
    }

    /// Returns whether the user's credentials may be sent to this server, even if only an untrusted project names it.
    pub fn binds_credentials_to(&self, address: &Address) -> bool {
        self.credential_hosts.iter().any(|host| host.is(address))
    }

    /// Returns the warnings about the file, in file order.
    pub fn warnings(&self) -> &[Diag] {
        &self.warnings
    }
}

/// Collects the warnings about a file.
struct Reader<'a> {
    name: &'a str,
    warnings: Vec<Diag>,
}

impl Reader<'_> {
    /// Adds the warning about an unknown key in `place`, which is empty for the top level.
    fn unknown<'k>(&mut self, entry: &Entry, place: &str, known: impl Iterator<Item = &'k str> + Clone) {
        let key = entry.key.as_str();
        let hint = match nearest(key, known.clone()) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("known keys: {}", known.collect::<Vec<_>>().join(", ")),
        };
        self.warnings.push(unknown_key(entry, place).path(self.name).hint(hint));
    }
}

/// A server that may be sent credentials.
#[derive(Clone, Debug)]
enum CredentialHost {
    /// `cache.example.com` or `cache.example.com:8443`: any encrypted protocol.
    Authority(String),
    /// `https://cache.example.com`, `s3://bucket`: this protocol only.
    Address(Address),
}

impl CredentialHost {
    fn parse(text: &str) -> Option<CredentialHost> {
        if text.contains("://") {
            let address = Address::parse(text, true).ok().filter(|address| address.path.is_empty())?;
            return Some(CredentialHost::Address(address));
        }
        let address = Address::parse(&format!("https://{text}"), false).ok()?;
        address.path.is_empty().then(|| CredentialHost::Authority(text.to_owned()))
    }

    fn is(&self, address: &Address) -> bool {
        match self {
            // Anyone can create a bucket with the name of a host, and a connection without TLS can be intercepted.
            CredentialHost::Authority(authority) => {
                let is_network = matches!(address.scheme, Scheme::Http | Scheme::Redis | Scheme::Grpc);
                let is_private = address.tls || address.is_loopback();
                is_network && is_private && authority.eq_ignore_ascii_case(&address.authority())
            }
            CredentialHost::Address(bound) => {
                let same_host = bound.host.eq_ignore_ascii_case(&address.host);
                same_host
                    && (bound.scheme, bound.tls, bound.port) == (address.scheme, address.tls, address.port)
            }
        }
    }
}

fn credential_hosts(node: &Node) -> Result<Vec<CredentialHost>, Diag> {
    let place = "cache.credential_hosts";
    let accepts = "hosts such as `cache.example.com:8443` or `s3://bucket`, without a path";
    let one = |node: &Node| match &node.value {
        Value::Scalar(scalar) => CredentialHost::parse(&scalar.text).ok_or_else(|| bad(node, place, accepts)),
        _ => Err(bad(node, place, accepts)),
    };
    match &node.value {
        Value::Seq(items) => items.iter().map(one).collect(),
        Value::Scalar(scalar) if scalar.is_null() => Ok(vec![]),
        _ => one(node).map(|host| vec![host]),
    }
}

fn absolute(entry: &Entry, place: &str, accepts: &str) -> Result<PathBuf, Diag> {
    let path = PathBuf::from(text(entry, place, accepts)?.text);
    if path.is_absolute() { Ok(path) } else { Err(bad(&entry.node, place, accepts)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_engine::store::settings::CachePolicy;

    const ROOT: &str = if cfg!(windows) { "C:/" } else { "/" };

    fn parse(text: &str) -> Result<UserConfig, Diag> {
        UserConfig::parse(&text.replace("ROOT", ROOT), "config.yml")
    }

    #[test]
    fn reads_every_key() {
        let config = parse(
            "tools: {slangc: ROOTsdk/slangc}\ncache:\n  dir: ROOTcache\n  max_size: 1 GB\n  url: http://h\n  \
             policy: off\n  allow_http: true\n  credential_hosts: [h]\n",
        )
        .unwrap();
        assert!(config.warnings().is_empty(), "{:?}", config.warnings());
        assert_eq!(config.tool("slangc"), Some(Path::new(&format!("{ROOT}sdk/slangc"))));
        assert_eq!(config.tool("dxc"), None);
        let expected = CacheSettings {
            dir: Some(CacheDir::At(format!("{ROOT}cache").into())),
            max_size: Some(1 << 30),
            url: Some("http://h".into()),
            policy: Some(CachePolicy::Off),
            allow_http: true,
        };
        assert_eq!(config.cache(), &expected);
        assert!(parse("").unwrap().warnings().is_empty());
        assert_eq!(parse("").unwrap().limits(), &Limits::default());
        let limits = |text: &str| *parse(text).unwrap().limits();
        let raised = Limits { max_pixels: 7, max_memory: 4 << 30, max_time: None };
        assert_eq!(limits("limits: {max_pixels: 7, max_memory: 4 GB, max_time: 0}"), raised);
        let time = Some(Duration::from_secs(90));
        assert_eq!(limits("limits: {max_time: 90}"), Limits { max_time: time, ..Limits::default() });
    }

    #[test]
    fn rejects_invalid_values_and_warns_about_unknown_keys() {
        for (text, at) in [
            ("tools: {slangc: sdk/slangc}", "1:17"),
            ("cache: {dir: here}", "1:14"),
            ("cache: {dir: ~/here}", "1:14"),
            ("cache: {url: h}", "1:14"),
            ("cache: {credential_hosts: [a, 'b/c']}", "1:31"),
            ("cache: {credential_hosts: [{}]}", "1:28"),
            ("cache: {credential_hosts: 's3://bucket/prefix'}", "1:27"),
            ("cache: {credential_hosts: 'me:pw@host'}", "1:27"),
            ("tools: 7", "1:8"),
            ("limits: {max_pixels: 0}", "1:22"),
            ("limits: {max_memory: lots}", "1:22"),
            ("limits: {max_time: -1}", "1:20"),
        ] {
            let diag = parse(text).unwrap_err();
            let found = (
                diag.code.as_str(),
                diag.path.as_deref().unwrap_or_default(),
                diag.at.as_deref().unwrap_or_default(),
            );
            assert_eq!(found, ("config-bad-value", "config.yml", at), "{diag}");
        }
        assert_eq!(parse("a: [").unwrap_err().code, Code::ConfigSyntax);
        for (text, hint) in [
            ("tool: {}", "'tools'"),
            ("cache: {hosts: []}", "credential_hosts"),
            ("default: {}", "known keys: tools"),
            ("limits: {pixels: 1}", "max_pixels"),
        ] {
            let config = parse(text).unwrap();
            let [warning] = config.warnings() else { panic!("{text}") };
            assert!(
                warning.code == Code::ConfigUnknownKey
                    && warning.hint.as_deref().is_some_and(|found| found.contains(hint)),
                "{warning}"
            );
        }
    }

    #[test]
    fn credentials_are_bound_to_hosts_ports_and_protocols() {
        let check = |bound: &str, admitted: &[&str], refused: &[&str]| {
            let config = parse(&format!("cache: {{credential_hosts: ['{bound}']}}")).unwrap();
            let binds = |url: &str| config.binds_credentials_to(&Address::parse(url, true).unwrap());
            admitted.iter().for_each(|url| assert!(binds(url), "{bound} admits {url}"));
            refused.iter().for_each(|url| assert!(!binds(url), "{bound} refuses {url}"));
        };
        check(
            "cache.example.com",
            &["https://cache.example.com/kiln", "https://CACHE.example.com", "grpcs://cache.example.com/i"],
            &[
                "http://cache.example.com",
                "https://cache.example.com:8443",
                "https://cache.example.com.evil.org",
                "https://example.com",
                "s3://cache.example.com",
            ],
        );
        check("h:8443", &["https://h:8443/a"], &["https://h", "http://h:8443", "https://h:8444"]);
        check("localhost:9", &["http://localhost:9"], &["http://localhost:8", "http://127.0.0.1:9"]);
        check("http://h", &["http://h/a"], &["https://h", "http://h:81"]);
        check("s3://team", &["s3://team/kiln"], &["s3://other", "gs://team", "https://team"]);
        assert!(!UserConfig::default().binds_credentials_to(&Address::parse("https://h", false).unwrap()));
    }

    #[test]
    fn a_file_is_optional_and_must_be_the_users_own() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE_NAME);
        assert!(UserConfig::load(&file).unwrap().file().is_none());
        assert!(UserConfig::load(&file.join("below")).unwrap().file().is_none());
        std::fs::write(&file, "cache: {url: 'https://h'}").unwrap();
        assert!(UserConfig::load(&file.join("below")).unwrap().file().is_none());
        let loaded = UserConfig::load(&file).unwrap();
        assert_eq!((loaded.file(), loaded.cache().url.as_deref()), (Some(&*file), Some("https://h")));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o646)).unwrap();
            let ignored = UserConfig::load(&file).unwrap();
            assert_eq!((ignored.warnings()[0].code, &ignored.cache().url), (Code::UserFileUnsafe, &None));
        }
        std::fs::create_dir(dir.path().join("directory")).unwrap();
        assert_eq!(UserConfig::load(&dir.path().join("directory")).unwrap_err().code, Code::ConfigUnreadable);
    }

    #[test]
    fn document_lists_every_key() {
        let document = include_str!("../../../docs/reference/config/user.md");
        let example = document.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        #[cfg(unix)]
        assert!(UserConfig::parse(example, "config.yml").unwrap().warnings().is_empty());
        for key in cache::KEYS.iter().chain(&[CREDENTIAL_HOSTS]) {
            assert!(document.contains(&format!("| `cache.{key}` |")), "{key}");
            assert!(example.contains(&format!("\n  {key}:")), "{key}");
        }
        for key in LIMITS {
            assert!(document.contains(&format!("| `limits.{key}` |")), "{key}");
            assert!(example.contains(&format!("\n  {key}:")), "{key}");
        }
        for section in TOP {
            assert!(example.contains(&format!("{section}:\n")), "{section}");
        }
    }
}
