//! The store of results as the tools open it: the environment first, then the configuration, then what is usual on
//! this system. `docs/cache.md` is its document.

use crate::render;
use kiln_kit::remote::{Address, Credentials, Fault, Http, Name, Policy, Redis, Remote, Scheme};
use kiln_kit::store::settings::{CacheDir, CachePolicy, CacheSettings, parse_size};
use kiln_kit::store::{Figures, SigningKey};
use kiln_kit::{Diag, Json, Shard, Store};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the end of a build waits until what it made is sent. With the second that a server may stand still before it
/// is left alone, that is what a bad one costs.
const DRAIN: Duration = Duration::from_secs(2);

/// What a store may take when nobody says otherwise.
const MAX_SIZE: u64 = 20 << 30;

/// Where the store is, how large it may get, and which server stands behind it.
pub struct Place {
    /// Its directory.
    pub dir: PathBuf,
    /// How many bytes it may take.
    pub max_size: u64,
    server: Option<Server>,
    /// What records are signed with.
    signing_key: Option<SigningKey>,
}

/// The server, who we are to it, and what it is used for.
struct Server {
    address: Address,
    credentials: Option<Credentials>,
    policy: Policy,
    /// Whether it may be one that does not encrypt.
    #[cfg_attr(
        not(feature = "object-store"),
        allow(dead_code, reason = "the others are asked where their address is read")
    )]
    plain: bool,
}

/// Looks a variable of the environment up; those that are empty count as unset.
pub type Var<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The environment of this process.
pub fn env(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Where the store is; `None` when it is switched off or there is no place for it. Relative directories of the
/// configuration are below `project`.
pub fn place(settings: &CacheSettings, project: &Path, var: Var<'_>) -> Result<Option<Place>, Diag> {
    if is_off(var)? {
        return Ok(None);
    }
    let max_size = match text(var, "KILN_CACHE_MAX_SIZE")? {
        Some(text) => parse_size(&text)
            .ok_or_else(|| bad("KILN_CACHE_MAX_SIZE", &text, "a size such as 500 MB or 20 GB"))?,
        None => settings.max_size.unwrap_or(MAX_SIZE),
    };
    let dir = match (var("KILN_CACHE_DIR"), &settings.dir) {
        (Some(dir), _) => Some(std::path::absolute(&dir).unwrap_or_else(|_| dir.into())),
        (None, Some(CacheDir::Off)) => None,
        (None, Some(CacheDir::At(dir))) => Some(project.join(dir)),
        (None, None) => usual(var),
    };
    let server = server(settings, var)?;
    let signing_key = signing_key(var)?;
    Ok(dir.map(|dir| Place { dir, max_size, server, signing_key }))
}

/// The key that records are signed with. No message repeats it.
fn signing_key(var: Var<'_>) -> Result<Option<SigningKey>, Diag> {
    const NAME: &str = "KILN_CACHE_SIGNING_KEY";
    let Some(secret) = text(var, NAME)? else { return Ok(None) };
    let key = SigningKey::new(secret.trim().as_bytes()).ok_or_else(|| {
        Diag::error("cache-variable", format!("{NAME} is shorter than {} bytes", SigningKey::SHORTEST))
            .hint("take a random secret, such as `openssl rand -hex 32` prints")
    })?;
    Ok(Some(key))
}

/// The server, if there is one: people read from it, and machines that build for all of them write.
fn server(settings: &CacheSettings, var: Var<'_>) -> Result<Option<Server>, Diag> {
    let Some(url) = text(var, "KILN_CACHE_URL")?.or_else(|| settings.url.clone()) else { return Ok(None) };
    let policy = match text(var, "KILN_CACHE_POLICY")? {
        Some(name) => Some(
            CachePolicy::parse(&name).ok_or_else(|| bad("KILN_CACHE_POLICY", &name, "read, write, off"))?,
        ),
        None => settings.policy,
    };
    let policy = match policy {
        Some(CachePolicy::Off) => return Ok(None),
        Some(CachePolicy::Use(policy)) => policy,
        None if var("CI").is_some_and(|ci| ci == "true" || ci == "1") => Policy::Write,
        None => Policy::Read,
    };
    // The address is not repeated: it may be refused for the secret in it.
    let address = Address::parse(&url, settings.allow_http).map_err(|why| {
        Diag::error("cache-address", format!("the address of the shared cache cannot be used: {why}"))
            .hint("https://host:port/path; credentials are in KILN_CACHE_TOKEN, or KILN_CACHE_USER and KILN_CACHE_PASSWORD")
    })?;
    let credentials = match (text(var, "KILN_CACHE_TOKEN")?, text(var, "KILN_CACHE_USER")?) {
        (Some(token), _) => Some(Credentials::token(&token)),
        (None, Some(user)) => {
            let password = text(var, "KILN_CACHE_PASSWORD")?.unwrap_or_default();
            Some(Credentials::user(&user, &password))
        }
        (None, None) => None,
    };
    let unusable = || {
        Diag::error(
            "cache-variable",
            "the credentials for the shared cache have characters that none can have",
        )
    };
    let credentials = credentials.map(|given| given.ok_or_else(unusable)).transpose()?;
    Ok(Some(Server { address, credentials, policy, plain: settings.allow_http }))
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

fn text(var: Var<'_>, name: &str) -> Result<Option<String>, Diag> {
    // The value is not repeated: it may be a secret.
    let not_utf8 = |_| bad(name, "not UTF-8", "text");
    var(name).map(|value| value.into_string().map_err(not_utf8)).transpose()
}

fn bad(name: &str, value: &str, accepts: &str) -> Diag {
    Diag::error("cache-variable", format!("{name} is '{value}'; accepted: {accepts}"))
        .hint("correct the variable of the environment, or unset it")
}

impl Server {
    /// The server by its protocol. One that this program cannot talk to is like one that is dead.
    fn remote(&self) -> Box<dyn Remote> {
        let (address, credentials) = (self.address.clone(), self.credentials.clone());
        let made: Result<Box<dyn Remote>, String> = match address.scheme {
            Scheme::Http => return Box::new(Http::new(address, credentials)),
            Scheme::Redis => return Box::new(Redis::new(address, credentials)),
            #[cfg(feature = "reapi")]
            Scheme::Grpc => kiln_remote::Reapi::new(address, credentials.as_ref()).map(|r| Box::new(r) as _),
            #[cfg(feature = "object-store")]
            Scheme::S3 | Scheme::Gcs | Scheme::Azure => {
                let vars = std::env::vars_os();
                let vars = vars
                    .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
                kiln_remote::Bucket::new(address, vars, self.plain).map(|b| Box::new(b) as _)
            }
            #[cfg(not(feature = "reapi"))]
            Scheme::Grpc => Err("this program was built without the feature reapi".to_owned()),
            #[cfg(not(feature = "object-store"))]
            Scheme::S3 | Scheme::Gcs | Scheme::Azure => {
                Err("this program was built without the feature object-store".to_owned())
            }
        };
        made.unwrap_or_else(|why| Box::new(Unusable { name: self.address.to_string(), why }))
    }
}

/// A server that cannot even be tried.
struct Unusable {
    name: String,
    why: String,
}

impl Unusable {
    fn fault<T>(&self) -> Result<T, Fault> {
        Err(Fault::Unreachable(self.why.clone()))
    }
}

impl Remote for Unusable {
    fn get(&self, _: Name, _: u64, _: Duration) -> Result<Option<Vec<u8>>, Fault> {
        self.fault()
    }

    fn has(&self, _: Name) -> Result<bool, Fault> {
        self.fault()
    }

    fn put(&self, _: Name, _: &[u8]) -> Result<(), Fault> {
        self.fault()
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

impl Place {
    /// Opens the store for a tool. One that cannot be used is told of, and the build goes on without.
    pub fn open(&self, tool: &str) -> Result<Store, Diag> {
        let build = format!("{tool} {}", env!("CARGO_PKG_VERSION"));
        let store = Store::open(&self.dir, build)?;
        let store = match &self.signing_key {
            Some(key) => store.signed_with(key.clone()),
            None => store,
        };
        Ok(match &self.server {
            Some(server) => store.with_remote(server.remote(), server.policy),
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
    Diag::error(
        "shard-without-store",
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

    fn dir(settings: &CacheSettings, vars: &[(&str, &str)]) -> Option<PathBuf> {
        let var = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value));
        place(settings, Path::new("/project"), &var).unwrap().map(|place| place.dir)
    }

    #[test]
    #[cfg(all(unix, not(target_os = "macos")))]
    fn the_environment_comes_before_the_file_and_the_file_before_what_is_usual() {
        let none = CacheSettings::default();
        let at = CacheSettings { dir: Some(CacheDir::At("c".into())), ..none.clone() };
        let off = CacheSettings { dir: Some(CacheDir::Off), ..none.clone() };
        let check = |settings, vars: &[(&str, &str)], expected: Option<&str>| {
            assert_eq!(dir(settings, vars).as_deref(), expected.map(Path::new), "{vars:?}");
        };
        let home = ("HOME", "/home/me");
        check(&none, &[home], Some("/home/me/.cache/kiln"));
        check(&none, &[home, ("XDG_CACHE_HOME", "/caches")], Some("/caches/kiln"));
        check(&none, &[home, ("XDG_CACHE_HOME", "relative")], Some("/home/me/.cache/kiln"));
        check(&none, &[], None);
        check(&at, &[home], Some("/project/c"));
        check(&off, &[home], None);
        check(&off, &[home, ("KILN_CACHE_DIR", "/mine")], Some("/mine"));
        check(&at, &[home, ("KILN_CACHE_DIR", "/mine"), ("KILN_CACHE", "off")], None);
        check(&none, &[home, ("KILN_CACHE", "on")], Some("/home/me/.cache/kiln"));
    }

    #[test]
    fn wrong_variables_are_refused() {
        let wrong = [("KILN_CACHE", "yes"), ("KILN_CACHE_MAX_SIZE", "much"), ("KILN_CACHE_POLICY", "all")];
        for (name, value) in wrong {
            let var = |asked: &str| match asked {
                "KILN_CACHE_URL" => Some("https://h".into()),
                asked => (asked == name).then(|| OsString::from(value)),
            };
            let refused = place(&CacheSettings::default(), Path::new(""), &var).err().unwrap();
            assert!(refused.code == "cache-variable" && refused.message.contains(value), "{refused}");
        }
    }

    #[test]
    fn people_read_and_ci_writes() {
        let policy = |vars: &[(&str, &str)], settings: &CacheSettings| {
            let var = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into());
            server(settings, &var).unwrap().map(|server| server.policy)
        };
        let none = CacheSettings::default();
        let url = ("KILN_CACHE_URL", "https://h");
        assert_eq!(policy(&[], &none), None);
        assert_eq!(policy(&[url], &none), Some(Policy::Read));
        assert_eq!(policy(&[url, ("CI", "true")], &none), Some(Policy::Write));
        assert_eq!(policy(&[url, ("CI", "true"), ("KILN_CACHE_POLICY", "read")], &none), Some(Policy::Read));
        assert_eq!(policy(&[url, ("KILN_CACHE_POLICY", "off")], &none), None);
        let named = CacheSettings { url: Some("http://h".into()), allow_http: true, ..none.clone() };
        assert_eq!(policy(&[], &named), Some(Policy::Read));
        let forced = CacheSettings { policy: Some(CachePolicy::Off), ..named };
        assert_eq!(policy(&[], &forced), None);
        assert_eq!(policy(&[("KILN_CACHE_POLICY", "write")], &forced), Some(Policy::Write));
    }

    #[test]
    fn secrets_are_in_no_message() {
        let refused = |vars: &[(&str, &str)]| {
            let var = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into());
            server(&CacheSettings::default(), &var).err().unwrap()
        };
        let in_address = refused(&[("KILN_CACHE_URL", "https://me:hush@h")]);
        let broken = refused(&[("KILN_CACHE_URL", "https://h"), ("KILN_CACHE_TOKEN", "hush\n")]);
        assert_eq!((&*in_address.code, &*broken.code), ("cache-address", "cache-variable"));
        let short = |name: &str| (name == "KILN_CACHE_SIGNING_KEY").then(|| "hush-hush".into());
        let short = signing_key(&short).err().unwrap();
        assert_eq!(short.code, "cache-variable");
        assert!(![in_address, broken, short].iter().any(|diag| diag.to_string().contains("hush")));
    }
}
