//! The build cache as the tools open it: its location, size limit and server, documented in `docs/reference/cache.md`.
//!
//! A setting is taken from the first of these that has it: environment variables, the file of a trusted project, the user's
//! configuration, the file of an untrusted project, the default of the platform.
//!
//! An untrusted project cannot choose a cache directory outside itself or change the size limit of the user's cache. The
//! results of a server that only an untrusted project names are stored in a separate directory that no other project reads:
//! the operator of that server could have forged them.

mod dependencies;
pub(crate) mod server;

use crate::environment::Var;
use crate::render;
use kiln_config::cache::ProjectCache;
use kiln_config::user::UserConfig;
use kiln_engine::store::settings::{CacheDir, CacheSettings, parse_size};
use kiln_engine::store::{Figures, SigningKey};
use kiln_engine::{Code, Diag, Hash, Json, Shard, Store};
use server::Server;
use std::path::PathBuf;
use std::time::Duration;

/// The time that the end of a build waits for uploads. Together with the stall deadline of one second it is the cost of an
/// unresponsive server.
const UPLOAD_WAIT: Duration = Duration::from_secs(2);

/// The default size limit of the cache, in bytes.
const MAX_SIZE: u64 = 20 << 30;

/// The size limit for the results of a server that only an untrusted project names, in bytes.
const UNTRUSTED_MAX_SIZE: u64 = 2 << 30;

/// The location and the limits of the cache, and its server.
pub struct CacheLocation {
    /// The cache directory.
    pub dir: PathBuf,
    /// The size limit in bytes.
    pub max_size: u64,
    /// Warnings about settings that were ignored.
    pub warnings: Vec<Diag>,
    server: Option<Server>,
    /// The key that signs records.
    signing_key: Option<SigningKey>,
    /// The cache of the user, if `dir` is a separate directory inside it.
    parent: Option<PathBuf>,
}

/// The configuration files with cache settings.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The user's configuration.
    pub user: &'a UserConfig,
    /// The cache settings of the project, if there is a project.
    pub project: Option<ProjectCache<'a>>,
}

impl<'a> Sources<'a> {
    /// Returns the value of the trusted project, or else of the user's configuration.
    fn pick<T>(&self, get: impl Fn(&'a CacheSettings) -> Option<T>) -> Option<T> {
        let project = self.project.filter(|project| project.is_trusted);
        project.and_then(|project| get(project.settings)).or_else(|| get(self.user.cache()))
    }

    /// Returns the project, if it is not trusted.
    fn untrusted(&self) -> Option<ProjectCache<'a>> {
        self.project.filter(|project| !project.is_trusted)
    }
}

/// Returns the location of the cache; `None` if the cache is disabled or no directory is known.
///
/// # Errors
///
/// An environment variable has an invalid value, or the URL of the server is invalid.
pub fn place(sources: Sources<'_>, var: Var<'_>) -> Result<Option<CacheLocation>, Diag> {
    if is_disabled(var)? {
        return Ok(None);
    }
    let mut warnings = Vec::new();
    let Some(Dir { path: dir, is_inside_project }) = dir(sources, var, &mut warnings) else {
        return Ok(None);
    };
    let max_size = match text(var, "KILN_CACHE_MAX_SIZE")? {
        Some(text) => Some(
            parse_size(&text)
                .ok_or_else(|| bad("KILN_CACHE_MAX_SIZE", &text, "a size such as 500 MB or 20 GB"))?,
        ),
        None => sources.pick(|cache| cache.max_size),
    };
    let untrusted =
        sources.untrusted().filter(|project| max_size.is_none() && project.settings.max_size.is_some());
    let max_size = match untrusted {
        Some(project) if is_inside_project => project.settings.max_size,
        Some(project) => {
            warnings.push(project.ignored_key("max_size", "it would shrink the cache of all your projects"));
            None
        }
        None => max_size,
    };
    let max_size = max_size.unwrap_or(MAX_SIZE);
    let server = server::choose(sources, var, &mut warnings)?;
    let signing_key = signing_key(var)?;
    let apart = server.as_ref().filter(|server| server.is_untrusted && !is_inside_project);
    Ok(Some(match apart.map(|server| Hash::of(server.address.to_string().as_bytes()).to_string()) {
        Some(digest) => {
            let max_size = max_size.min(UNTRUSTED_MAX_SIZE);
            let parent = Some(dir.clone());
            let dir = dir.join("untrusted").join(&digest[..32]);
            CacheLocation { dir, max_size, warnings, server, signing_key, parent }
        }
        None => CacheLocation { dir, max_size, warnings, server, signing_key, parent: None },
    }))
}

/// Reads the key that signs records. No message repeats it.
fn signing_key(var: Var<'_>) -> Result<Option<SigningKey>, Diag> {
    const NAME: &str = "KILN_CACHE_SIGNING_KEY";
    let Some(secret) = text(var, NAME)? else { return Ok(None) };
    let key = SigningKey::new(secret.trim().as_bytes()).ok_or_else(|| {
        Diag::new(Code::CacheVariable, format!("{NAME} must have at least {} bytes", SigningKey::SHORTEST))
            .hint("use a random secret, for example the output of `openssl rand -hex 32`")
    })?;
    Ok(Some(key))
}

/// A candidate for the cache directory.
struct Dir {
    path: PathBuf,
    /// True if the directory is inside the project, where no other project looks.
    is_inside_project: bool,
}

fn dir(sources: Sources<'_>, var: Var<'_>, warnings: &mut Vec<Diag>) -> Option<Dir> {
    let shared = |path| Some(Dir { path, is_inside_project: false });
    if let Some(dir) = var("KILN_CACHE_DIR") {
        return shared(std::path::absolute(&dir).unwrap_or_else(|_| dir.into()));
    }
    match sources.pick(|cache| cache.dir.as_ref()) {
        Some(CacheDir::Off) => return None,
        Some(CacheDir::At(dir)) => {
            // A path of the user's configuration is absolute, so joining it to the project directory has no effect.
            return shared(sources.project.map_or_else(|| dir.clone(), |project| project.project.join(dir)));
        }
        None => {}
    }
    let default = default_dir(var);
    let Some(project) = sources.untrusted() else { return default.and_then(shared) };
    match &project.settings.dir {
        Some(CacheDir::Off) => None,
        Some(CacheDir::At(dir)) => match project.confined_dir(dir, default.as_deref()) {
            Ok((path, is_inside_project)) => Some(Dir { path, is_inside_project }),
            Err(why) => {
                warnings.push(project.ignored_key("dir", &why));
                default.and_then(shared)
            }
        },
        None => default.and_then(shared),
    }
}

fn is_disabled(var: Var<'_>) -> Result<bool, Diag> {
    match text(var, "KILN_CACHE")?.as_deref() {
        None | Some("on") => Ok(false),
        Some("off") => Ok(true),
        Some(other) => Err(bad("KILN_CACHE", other, "on, off")),
    }
}

/// Returns the default cache directory of the platform.
fn default_dir(var: Var<'_>) -> Option<PathBuf> {
    let absolute = |name: &str| var(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    if cfg!(windows) {
        return absolute("LOCALAPPDATA").map(|dir| dir.join("kiln").join("cache"));
    }
    let home = || absolute("HOME");
    let caches = match cfg!(target_os = "macos") {
        true => absolute("XDG_CACHE_HOME").or_else(|| home().map(|home| home.join("Library/Caches"))),
        false => absolute("XDG_CACHE_HOME").or_else(|| home().map(|home| home.join(".cache"))),
    };
    caches.map(|dir| dir.join("kiln"))
}

pub(crate) fn text(var: Var<'_>, name: &str) -> Result<Option<String>, Diag> {
    // The value may be a secret, so the message does not repeat it.
    let not_utf8 = |_| bad(name, "not UTF-8", "a UTF-8 string");
    var(name).map(|value| value.into_string().map_err(not_utf8)).transpose()
}

pub(crate) fn bad(name: &str, value: &str, accepts: &str) -> Diag {
    Diag::new(Code::CacheVariable, format!("{name} is '{value}'; accepted: {accepts}"))
        .hint("correct or unset the environment variable")
}

impl CacheLocation {
    /// Opens the cache for a tool.
    ///
    /// # Errors
    ///
    /// A warning with the reason that the directory cannot be used; the build continues without a cache.
    pub fn open(&self, tool: &str) -> Result<Store, Diag> {
        let build = dependencies::build_identity(tool);
        // The parent directory gets its CACHEDIR.TAG before it contains anything.
        if let Some(parent) = &self.parent {
            Store::open(parent, build.as_str())?;
        }
        let store = Store::open(&self.dir, build)?;
        let store = match &self.signing_key {
            Some(key) => store.signed_with(key.clone()),
            None => store,
        };
        Ok(match &self.server {
            Some(server) => store.with_limited_remote(server.remote(), server.policy, server.limits()),
            None => store,
        })
    }

    /// Finishes a build: waits for uploads, evicts old entries and returns the warnings about the cache. The results of a
    /// shard are built to be uploaded, so a shard waits for up to `part_took`, the time that building it took.
    pub fn finish(&self, store: &Store, part_took: Option<Duration>) -> Vec<Diag> {
        store.finish(part_took.unwrap_or_default().max(UPLOAD_WAIT));
        store.sweep_if_due(self.max_size);
        store.warnings()
    }
}

/// Returns the error about a shard that is built without a cache.
pub fn shard_needs_cache(shard: Shard) -> Diag {
    Diag::new(
        Code::ShardWithoutCache,
        format!("`--shard {shard}` requires a shared cache, and the cache is disabled"),
    )
    .hint("enable the cache, and let all shards share a directory or a server; see docs/reference/cache.md")
}

/// Formats the counters of the cache as one line; `None` if nothing was found in the cache.
pub fn line(figures: &Figures) -> Option<String> {
    if figures.hits + figures.shared_hits == 0 {
        return None;
    }
    let works = match figures.shared_hits {
        0 => String::new(),
        n => format!(" and {}", render::count(n as usize, "shared result", "shared results")),
    };
    let server = match figures.from_server {
        0 => String::new(),
        n => format!(" ({n} from the server, {} downloaded)", render::size(figures.bytes_down)),
    };
    Some(format!(
        "cache: {} of {} found{server}{works}, {}; {} of build time saved",
        figures.hits,
        render::count(figures.lookups as usize, "result", "results"),
        render::size(figures.bytes_out),
        render::time(figures.saved),
    ))
}

/// Converts the counters of the cache to a JSON object.
pub fn json(figures: &Figures) -> Json {
    Json::object([
        ("asked", figures.lookups.into()),
        ("found", figures.hits.into()),
        ("from_server", figures.from_server.into()),
        ("works", figures.shared_hits.into()),
        ("bytes_out", figures.bytes_out.into()),
        ("bytes_in", figures.bytes_in.into()),
        ("bytes_down", figures.bytes_down.into()),
        ("bytes_up", figures.bytes_up.into()),
        ("saved_ms", (figures.saved.as_millis() as u64).into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::{OsStr, OsString};
    use std::path::Path;

    /// Makes a project with this section `cache:`.
    pub(super) fn project(dir: &Path, cache: &str, trusted: bool) -> Project {
        let file = kiln_config::yaml::parse(&format!("cache: {{{cache}}}\n")).unwrap().unwrap();
        let section = &kiln_config::nodes::entries(&file, "the file").unwrap()[0].node;
        let mut project = Project { dir: dir.to_path_buf(), trusted, ..Project::default() };
        for entry in kiln_config::nodes::entries(section, "cache").unwrap() {
            assert!(kiln_config::cache::set(&mut project.settings, entry).unwrap());
            project.places.push((entry.key.clone(), entry.node.at));
        }
        project
    }

    /// The cache settings of a project file.
    #[derive(Default)]
    pub(super) struct Project {
        settings: CacheSettings,
        places: Vec<(String, kiln_config::yaml::At)>,
        dir: PathBuf,
        trusted: bool,
    }

    impl Project {
        pub(super) fn cache(&self) -> ProjectCache<'_> {
            ProjectCache {
                settings: &self.settings,
                places: &self.places,
                file: "assetc.yml",
                project: &self.dir,
                is_trusted: self.trusted,
                is_foreign: false,
            }
        }
    }

    pub(super) fn user(cache: &str) -> UserConfig {
        UserConfig::parse(&format!("cache: {{{cache}}}\n"), "config.yml").unwrap()
    }

    pub(super) fn vars(vars: &[(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
        let vars: Vec<(String, OsString)> =
            vars.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect();
        move |name| vars.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone())
    }

    #[test]
    #[cfg(all(unix, not(target_os = "macos")))]
    fn environment_overrides_trusted_files_and_the_default_directory() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let none = user("");
        let check =
            |user: &UserConfig, project: Option<&Project>, given: &[(&str, &str)], expected: Option<&str>| {
                let place =
                    place(Sources { user, project: project.map(Project::cache) }, &vars(given)).unwrap();
                let place = place.map(|place| (place.dir, place.warnings.len()));
                assert_eq!(place, expected.map(|dir| (root.join(dir), 0)), "{given:?}");
            };
        let home = ("HOME", "/home/me");
        check(&none, None, &[home], Some("/home/me/.cache/kiln"));
        check(&none, None, &[home, ("XDG_CACHE_HOME", "/caches")], Some("/caches/kiln"));
        check(&none, None, &[home, ("XDG_CACHE_HOME", "relative")], Some("/home/me/.cache/kiln"));
        check(&none, None, &[], None);
        check(&none, None, &[home, ("KILN_CACHE", "on")], Some("/home/me/.cache/kiln"));
        let own = user("dir: /own");
        check(&own, None, &[home], Some("/own"));
        for trusted in [true, false] {
            let at = project(&root, "dir: c", trusted);
            check(&none, Some(&at), &[home], Some("c"));
            check(&own, Some(&at), &[home], Some(if trusted { "c" } else { "/own" }));
            check(&own, Some(&at), &[home, ("KILN_CACHE_DIR", "/mine"), ("KILN_CACHE", "off")], None);
            let off = project(&root, "dir: false", trusted);
            check(&none, Some(&off), &[home], None);
            check(&none, Some(&off), &[home, ("KILN_CACHE_DIR", "/mine")], Some("/mine"));
        }
    }

    #[test]
    #[cfg(all(unix, not(target_os = "macos")))]
    fn untrusted_project_cannot_choose_an_outside_directory() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("game");
        std::fs::create_dir(&root).unwrap();
        std::os::unix::fs::symlink("/", root.join("link")).unwrap();
        let home = root.parent().unwrap().to_str().unwrap().to_owned();
        let found = |dir: &str, trusted: bool| {
            let project = project(&root, &format!("dir: '{dir}'"), trusted);
            let sources = Sources { user: &user(""), project: Some(project.cache()) };
            let place = place(sources, &vars(&[("HOME", &home)])).unwrap().unwrap();
            (place.dir, place.warnings.iter().map(|w| w.code.to_string()).collect::<Vec<_>>().concat())
        };
        let default = Path::new(&home).join(".cache/kiln");
        for dir in ["../c", "/c", "link/c", "C:\\c", ".git/c", &home] {
            assert_eq!(found(dir, false), (default.clone(), "untrusted-cache".into()), "{dir}");
            assert_eq!(found(dir, true), (root.join(dir), String::new()), "{dir}");
        }
        for dir in ["c", "../.cache/kiln/team"] {
            assert_eq!(found(dir, false).1, "", "{dir}");
        }
    }

    #[test]
    fn untrusted_project_limits_only_its_own_cache() {
        let temp = tempfile::tempdir().unwrap();
        let size = |cache: &str, trusted: bool, given: &[(&str, &str)]| {
            let project = project(temp.path(), cache, trusted);
            let sources = Sources { user: &user(""), project: Some(project.cache()) };
            let home = [("KILN_CACHE_DIR", "/c")];
            let place = place(sources, &vars(&[&home[..given.len().min(1)], given].concat())).unwrap();
            place.map(|place| (place.max_size, place.warnings.len()))
        };
        assert_eq!(size("dir: c, max_size: 5", false, &[]), Some((5, 0)));
        assert_eq!(size("max_size: 5", false, &[("X", "")]), Some((MAX_SIZE, 1)));
        assert_eq!(size("max_size: 5", true, &[("X", "")]), Some((5, 0)));
        assert_eq!(size("max_size: 5", false, &[("KILN_CACHE_MAX_SIZE", "7")]), Some((7, 0)));
    }

    #[test]
    fn results_of_an_untrusted_server_have_a_separate_directory() {
        let temp = tempfile::tempdir().unwrap();
        let at = |url: &str, trusted: bool| {
            let project = project(temp.path(), &format!("url: '{url}'"), trusted);
            let sources = Sources { user: &user(""), project: Some(project.cache()) };
            place(sources, &vars(&[("KILN_CACHE_DIR", "/c")])).unwrap().unwrap()
        };
        let shared = std::path::absolute("/c").unwrap();
        assert_eq!(at("https://a", true).dir, shared);
        let (a, b) = (at("https://a", false), at("https://b", false));
        assert!(a.dir != b.dir && a.dir == at("https://a", false).dir);
        assert_eq!((a.dir.parent(), a.max_size), (Some(&*shared.join("untrusted")), UNTRUSTED_MAX_SIZE));
        let project = project(temp.path(), "dir: own, url: 'https://a'", false);
        let own =
            place(Sources { user: &user(""), project: Some(project.cache()) }, &vars(&[])).unwrap().unwrap();
        assert_eq!(own.dir.file_name(), Some(OsStr::new("own")));
    }

    #[test]
    fn rejects_invalid_variables() {
        let wrong = [
            ("KILN_CACHE", "yes"),
            ("KILN_CACHE_MAX_SIZE", "much"),
            ("KILN_CACHE_POLICY", "all"),
            ("KILN_CACHE_ALLOW_HTTP", "maybe"),
        ];
        for (name, value) in wrong {
            let given = [("KILN_CACHE_DIR", "/c"), ("KILN_CACHE_URL", "https://h"), (name, value)];
            let error = place(Sources { user: &user(""), project: None }, &vars(&given)).err().unwrap();
            assert!(error.code == Code::CacheVariable && error.message.contains(value), "{error}");
        }
    }

    #[test]
    fn rejects_a_short_signing_key_without_repeating_it() {
        let short = |name: &str| (name == "KILN_CACHE_SIGNING_KEY").then(|| "hush-hush".into());
        let short = signing_key(&short).err().unwrap();
        assert!(short.code == Code::CacheVariable && !short.to_string().contains("hush"), "{short}");
    }
}
