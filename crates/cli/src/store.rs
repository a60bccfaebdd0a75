//! The cache as the tools open it. A setting comes from the environment, or else from the file of a trusted project, the
//! user's configuration, the file of a project that is not trusted, or what is usual on this system. `docs/cache.md` is
//! its document.
//!
//! A project that is not trusted chooses no directory outside itself and does not limit the user's cache. The results of
//! a server that it names are kept apart, where no other project finds them: whoever has that server could have forged
//! them.

mod server;

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

/// How long the end of a build waits until what it made is sent. With the second that a server may stand still before it
/// is left alone, that is what a bad one costs.
const DRAIN: Duration = Duration::from_secs(2);

/// What a store may take when nobody says otherwise.
const MAX_SIZE: u64 = 20 << 30;

/// The size that the results of a server may have that a project names which is not trusted.
const UNTRUSTED_MAX_SIZE: u64 = 2 << 30;

/// Where the store is, how large it may get, and which server stands behind it.
pub struct Place {
    /// Its directory.
    pub dir: PathBuf,
    /// How many bytes it may take.
    pub max_size: u64,
    /// The settings that were ignored, and why.
    pub warnings: Vec<Diag>,
    server: Option<Server>,
    /// What records are signed with.
    signing_key: Option<SigningKey>,
    /// The user's own cache, if `dir` is a part of it that is kept apart.
    around: Option<PathBuf>,
}

/// The files that have settings of the cache.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The user's configuration.
    pub user: &'a UserConfig,
    /// The project's, if there is a project.
    pub project: Option<ProjectCache<'a>>,
}

impl<'a> Sources<'a> {
    /// The first value that the file of a trusted project or the user's configuration has.
    fn pick<T>(&self, get: impl Fn(&'a CacheSettings) -> Option<T>) -> Option<T> {
        let project = self.project.filter(|project| project.is_trusted);
        project.and_then(|project| get(project.settings)).or_else(|| get(self.user.cache()))
    }

    /// The project, if it is not trusted.
    fn untrusted(&self) -> Option<ProjectCache<'a>> {
        self.project.filter(|project| !project.is_trusted)
    }
}

/// Returns the place of the cache; `None` when it is switched off or there is no directory for it.
///
/// # Errors
///
/// A variable of the environment has a value that it does not accept, or the address of the server cannot be used.
pub fn place(sources: Sources<'_>, var: Var<'_>) -> Result<Option<Place>, Diag> {
    if is_off(var)? {
        return Ok(None);
    }
    let mut warnings = Vec::new();
    let Some(Dir { path: dir, is_projects_own }) = dir(sources, var, &mut warnings) else { return Ok(None) };
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
        Some(project) if is_projects_own => project.settings.max_size,
        Some(project) => {
            warnings.push(project.ignored_key("max_size", "it would shrink the cache of all your projects"));
            None
        }
        None => max_size,
    };
    let max_size = max_size.unwrap_or(MAX_SIZE);
    let server = server::choose(sources, var, &mut warnings)?;
    let signing_key = signing_key(var)?;
    let apart = server.as_ref().filter(|server| server.is_untrusted && !is_projects_own);
    Ok(Some(match apart.map(|server| Hash::of(server.address.to_string().as_bytes()).to_string()) {
        Some(digest) => {
            let max_size = max_size.min(UNTRUSTED_MAX_SIZE);
            let around = Some(dir.clone());
            let dir = dir.join("untrusted").join(&digest[..32]);
            Place { dir, max_size, warnings, server, signing_key, around }
        }
        None => Place { dir, max_size, warnings, server, signing_key, around: None },
    }))
}

/// The key that records are signed with. No message repeats it.
fn signing_key(var: Var<'_>) -> Result<Option<SigningKey>, Diag> {
    const NAME: &str = "KILN_CACHE_SIGNING_KEY";
    let Some(secret) = text(var, NAME)? else { return Ok(None) };
    let key = SigningKey::new(secret.trim().as_bytes()).ok_or_else(|| {
        Diag::new(Code::CacheVariable, format!("{NAME} is shorter than {} bytes", SigningKey::SHORTEST))
            .hint("take a random secret, such as `openssl rand -hex 32` prints")
    })?;
    Ok(Some(key))
}

/// A directory for the cache.
struct Dir {
    path: PathBuf,
    /// Whether it lies inside the project, where no other project looks.
    is_projects_own: bool,
}

fn dir(sources: Sources<'_>, var: Var<'_>, warnings: &mut Vec<Diag>) -> Option<Dir> {
    let shared = |path| Some(Dir { path, is_projects_own: false });
    if let Some(dir) = var("KILN_CACHE_DIR") {
        return shared(std::path::absolute(&dir).unwrap_or_else(|_| dir.into()));
    }
    match sources.pick(|cache| cache.dir.as_ref()) {
        Some(CacheDir::Off) => return None,
        Some(CacheDir::At(dir)) => {
            // The user's is absolute, so that the project's directory has no part in it.
            return shared(sources.project.map_or_else(|| dir.clone(), |project| project.project.join(dir)));
        }
        None => {}
    }
    let usual = usual(var);
    let Some(project) = sources.untrusted() else { return usual.and_then(shared) };
    match &project.settings.dir {
        Some(CacheDir::Off) => None,
        Some(CacheDir::At(dir)) => match project.confined_dir(dir, usual.as_deref()) {
            Ok((path, is_projects_own)) => Some(Dir { path, is_projects_own }),
            Err(why) => {
                warnings.push(project.ignored_key("dir", &why));
                usual.and_then(shared)
            }
        },
        None => usual.and_then(shared),
    }
}

fn is_off(var: Var<'_>) -> Result<bool, Diag> {
    match text(var, "KILN_CACHE")?.as_deref() {
        None | Some("on") => Ok(false),
        Some("off") => Ok(true),
        Some(other) => Err(bad("KILN_CACHE", other, "on, off")),
    }
}

/// Where caches of a user usually are.
fn usual(var: Var<'_>) -> Option<PathBuf> {
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
    // The value is not repeated: it may be a secret.
    let not_utf8 = |_| bad(name, "not UTF-8", "text");
    var(name).map(|value| value.into_string().map_err(not_utf8)).transpose()
}

pub(crate) fn bad(name: &str, value: &str, accepts: &str) -> Diag {
    Diag::new(Code::CacheVariable, format!("{name} is '{value}'; accepted: {accepts}"))
        .hint("correct the variable of the environment, or unset it")
}

impl Place {
    /// Opens the store for a tool. One that cannot be used is told of, and the build goes on without.
    pub fn open(&self, tool: &str) -> Result<Store, Diag> {
        let build = format!("{tool} {}", env!("CARGO_PKG_VERSION"));
        // So that the cache around it is marked as one before anything lies in it.
        if let Some(around) = &self.around {
            Store::open(around, build.as_str())?;
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

    /// The end of a build: what was made is sent, old results make room, and what went wrong is told. A part of a build
    /// is built to be sent, and may wait for that as long as `part_took` says that it was built.
    pub fn finish(&self, store: &Store, part_took: Option<Duration>) -> Vec<Diag> {
        store.finish(part_took.unwrap_or_default().max(DRAIN));
        store.sweep_if_due(self.max_size);
        store.trouble()
    }
}

/// A part that is put nowhere is of no use to anybody.
pub fn shard_needs_store(shard: Shard) -> Diag {
    Diag::new(
        Code::ShardWithoutStore,
        format!("part {shard} would be built for nobody: there is no store of results"),
    )
    .hint("do not switch it off, and let all parts share a directory or a server; see docs/cache.md")
}

/// What the store did, on a line; nothing when it did nothing worth telling.
pub fn line(figures: &Figures) -> Option<String> {
    if figures.found + figures.works == 0 {
        return None;
    }
    let works = match figures.works {
        0 => String::new(),
        n => format!(" and {}", render::count(n as usize, "piece of work", "pieces of work")),
    };
    let server = match figures.from_server {
        0 => String::new(),
        n => format!(" ({n} on the server, {} down)", render::size(figures.bytes_down)),
    };
    Some(format!(
        "store: {} of {} found{server}{works}, {}; {} of work saved",
        figures.found,
        render::count(figures.asked as usize, "result", "results"),
        render::size(figures.bytes_out),
        render::time(figures.saved),
    ))
}

/// The same for programs.
pub fn json(figures: &Figures) -> Json {
    Json::object([
        ("asked", figures.asked.into()),
        ("found", figures.found.into()),
        ("from_server", figures.from_server.into()),
        ("works", figures.works.into()),
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

    /// A project in a directory of its own, with this section `cache:`.
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

    /// What the file of a project says about the cache.
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
    fn the_environment_comes_first_then_trusted_files_then_the_usual_directory() {
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
    fn a_directory_elsewhere_takes_trust() {
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
        let usual = Path::new(&home).join(".cache/kiln");
        for dir in ["../c", "/c", "link/c", "C:\\c", ".git/c", &home] {
            assert_eq!(found(dir, false), (usual.clone(), "untrusted-cache".into()), "{dir}");
            assert_eq!(found(dir, true), (root.join(dir), String::new()), "{dir}");
        }
        for dir in ["c", "../.cache/kiln/team"] {
            assert_eq!(found(dir, false).1, "", "{dir}");
        }
    }

    #[test]
    fn a_project_limits_its_own_cache_alone() {
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
    fn results_of_an_untrusted_server_are_kept_apart() {
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
    fn wrong_variables_are_refused() {
        let wrong = [
            ("KILN_CACHE", "yes"),
            ("KILN_CACHE_MAX_SIZE", "much"),
            ("KILN_CACHE_POLICY", "all"),
            ("KILN_CACHE_ALLOW_HTTP", "maybe"),
        ];
        for (name, value) in wrong {
            let given = [("KILN_CACHE_DIR", "/c"), ("KILN_CACHE_URL", "https://h"), (name, value)];
            let refused = place(Sources { user: &user(""), project: None }, &vars(&given)).err().unwrap();
            assert!(refused.code == Code::CacheVariable && refused.message.contains(value), "{refused}");
        }
    }

    #[test]
    fn a_signing_key_that_is_too_short_is_refused_and_not_repeated() {
        let short = |name: &str| (name == "KILN_CACHE_SIGNING_KEY").then(|| "hush-hush".into());
        let short = signing_key(&short).err().unwrap();
        assert!(short.code == Code::CacheVariable && !short.to_string().contains("hush"), "{short}");
    }
}
