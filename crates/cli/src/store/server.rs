//! The server of the shared cache: its URL, credentials and policy.
//!
//! The user's credentials are sent to a server that an environment variable, the user's configuration or a trusted project
//! names. A server that only an untrusted project names gets no credentials, is only read from, and must use TLS.

use super::{Sources, bad, text};
use crate::cache_client;
use crate::environment::Var;
use kiln_engine::remote::{Address, BadAddress, Fault, Name, Policy, Remote, RemoteLimits, Scheme};
use kiln_engine::store::settings::CachePolicy;
use kiln_engine::{Code, Diag};
use kiln_remote_cache::{ClientOptions, Credentials, Http, Redis};
use std::time::Duration;

/// A cache server with its credentials, client options and policy.
pub(super) struct Server {
    pub(super) address: Address,
    credentials: Option<Credentials>,
    options: ClientOptions,
    pub(super) policy: Policy,
    /// True if only an untrusted project names the server.
    pub(super) is_untrusted: bool,
    /// True if connections without TLS are allowed.
    #[cfg_attr(
        not(feature = "object-store"),
        allow(dead_code, reason = "the other protocols check it when the address is parsed")
    )]
    allow_plaintext: bool,
}

/// Returns the server, if one is configured. The default policy is to read, and to write in CI.
///
/// # Errors
///
/// An environment variable has an invalid value, or the URL of the server is invalid.
pub(super) fn choose(
    sources: Sources<'_>,
    var: Var<'_>,
    warnings: &mut Vec<Diag>,
) -> Result<Option<Server>, Diag> {
    let named = text(var, "KILN_CACHE_URL")?.or_else(|| sources.pick(|cache| cache.url.clone()));
    let untrusted = sources.untrusted().filter(|_| named.is_none());
    let Some(url) = named.or_else(|| untrusted.and_then(|project| project.settings.url.clone())) else {
        return Ok(None);
    };
    let Some(policy) = policy(sources, untrusted.is_some(), var, warnings)? else { return Ok(None) };
    if let Some(project) = untrusted.filter(|project| project.is_foreign) {
        warnings.push(project.ignored_key("url", "the file belongs to another user"));
        return Ok(None);
    }
    let allow_plaintext = match boolean(var, "KILN_CACHE_ALLOW_HTTP")? {
        Some(allowed) => allowed,
        None => sources.pick(|cache| cache.allow_http.then_some(true)).unwrap_or(false),
    };
    // The message does not repeat the URL, which may be rejected because it contains a secret.
    let address = match (Address::parse(&url, allow_plaintext), untrusted) {
        (Ok(address), _) => address,
        (Err(BadAddress::Plain), Some(project)) => {
            let why = "its connections are not encrypted, which requires KILN_CACHE_ALLOW_HTTP=1 or `allow_http` in your config.yml";
            warnings.push(project.ignored_key("url", why));
            return Ok(None);
        }
        (Err(why), _) => {
            let hint = match why {
                BadAddress::Plain => {
                    "use https, or allow plain HTTP with KILN_CACHE_ALLOW_HTTP=1 or `allow_http` in your config.yml"
                }
                _ => {
                    "use https://host:port/path, and KILN_CACHE_TOKEN, or KILN_CACHE_USER and KILN_CACHE_PASSWORD, for credentials"
                }
            };
            let message = format!("the URL of the shared cache is invalid: {why}");
            return Err(Diag::new(Code::CacheAddress, message).hint(hint));
        }
    };
    let is_bucket = matches!(address.scheme, Scheme::S3 | Scheme::Gcs | Scheme::Azure);
    let mut credentials = credentials(var)?;
    let mut options = cache_client::options(&address, var)?;
    if let Some(project) = untrusted.filter(|_| !sources.user.binds_credentials_to(&address)) {
        let bind = if is_bucket {
            format!("{}", Address { path: String::new(), ..address.clone() })
        } else {
            address.authority()
        };
        let hint = format!(
            "to send them, list '{bind}' under `cache: {{credential_hosts: …}}` in your config.yml, \
             set KILN_CACHE_URL, or run `assetc trust`"
        );
        let warn = |message: String| {
            project.at_key("url", Diag::new(Code::UntrustedCredentials, message).hint(&*hint))
        };
        // A bucket is hardly ever public, and its client finds credentials in many places of the environment.
        if is_bucket {
            warnings.push(warn(format!(
                "{address} is not used: only this untrusted project names it, so your cloud credentials are not sent to it"
            )));
            return Ok(None);
        }
        // Headers and client certificates are credentials as well.
        let is_secret = options.has_secrets();
        options = options.without_secrets();
        if credentials.take().is_some() || is_secret {
            warnings.push(warn(format!(
                "your credentials are not sent to {address}, because only this untrusted project names it"
            )));
        }
    }
    Ok(Some(Server {
        address,
        credentials,
        options,
        policy,
        is_untrusted: untrusted.is_some(),
        allow_plaintext,
    }))
}

/// Returns the policy; `None` if the server is not used. An untrusted project cannot enable uploads.
fn policy(
    sources: Sources<'_>,
    is_untrusted: bool,
    var: Var<'_>,
    warnings: &mut Vec<Diag>,
) -> Result<Option<Policy>, Diag> {
    let chosen = match text(var, "KILN_CACHE_POLICY")? {
        Some(name) => Some(
            CachePolicy::parse(&name).ok_or_else(|| bad("KILN_CACHE_POLICY", &name, "read, write, off"))?,
        ),
        None => sources.pick(|cache| cache.policy),
    };
    let chosen = chosen.or_else(|| {
        let project = sources.untrusted()?;
        let policy = project.settings.policy?;
        if policy == CachePolicy::Use(Policy::Write) {
            warnings.push(project.ignored_key("policy", "it would upload results to a server"));
            return None;
        }
        Some(policy)
    });
    Ok(match chosen {
        Some(CachePolicy::Off) => None,
        Some(CachePolicy::Use(policy)) => Some(policy),
        None if is_untrusted => Some(Policy::Read),
        None if var("CI").is_some_and(|ci| ci == "true" || ci == "1") => Some(Policy::Write),
        None => Some(Policy::Read),
    })
}

/// Reads the credentials from the environment.
pub(crate) fn credentials(var: Var<'_>) -> Result<Option<Credentials>, Diag> {
    let credentials = match (text(var, "KILN_CACHE_TOKEN")?, text(var, "KILN_CACHE_USER")?) {
        (Some(token), _) => Some(Credentials::token(&token)),
        (None, Some(user)) => {
            let password = text(var, "KILN_CACHE_PASSWORD")?.unwrap_or_default();
            Some(Credentials::user(&user, &password))
        }
        (None, None) => None,
    };
    let unusable =
        || Diag::new(Code::CacheVariable, "the credentials for the shared cache contain invalid characters");
    credentials.map(|given| given.ok_or_else(unusable)).transpose()
}

/// Reads a variable that is `1` or `true`, `0` or `false`.
pub(crate) fn boolean(var: Var<'_>, name: &str) -> Result<Option<bool>, Diag> {
    match text(var, name)?.as_deref() {
        None => Ok(None),
        Some("1" | "true") => Ok(Some(true)),
        Some("0" | "false") => Ok(Some(false)),
        Some(other) => Err(bad(name, other, "1, 0")),
    }
}

impl Server {
    /// Returns the limits on transfers.
    pub(super) fn limits(&self) -> RemoteLimits {
        self.options.limits
    }

    /// Makes the client for the protocol of the server. A protocol that this program does not support behaves like a server
    /// that is unreachable.
    pub(super) fn remote(&self) -> Box<dyn Remote> {
        let (address, credentials, options) =
            (self.address.clone(), self.credentials.clone(), self.options.clone());
        let client: Result<Box<dyn Remote>, String> = match address.scheme {
            Scheme::Http => return Box::new(Http::with_options(address, credentials, options)),
            Scheme::Redis => return Box::new(Redis::with_options(address, credentials, options)),
            #[cfg(feature = "reapi")]
            Scheme::Grpc => kiln_remote_cache::Reapi::new(address, credentials.as_ref(), &options)
                .map(|r| Box::new(r) as _),
            #[cfg(feature = "object-store")]
            Scheme::S3 | Scheme::Gcs | Scheme::Azure => {
                let vars = std::env::vars_os();
                let vars = vars
                    .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
                kiln_remote_cache::Bucket::new(address, vars, self.allow_plaintext, options)
                    .map(|b| Box::new(b) as _)
            }
            #[cfg(not(feature = "reapi"))]
            Scheme::Grpc => Err("this program was built without the feature `reapi`".to_owned()),
            #[cfg(not(feature = "object-store"))]
            Scheme::S3 | Scheme::Gcs | Scheme::Azure => {
                Err("this program was built without the feature `object-store`".to_owned())
            }
        };
        client.unwrap_or_else(|why| Box::new(Unusable { name: self.address.to_string(), why }))
    }
}

/// A server whose client could not be made.
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

#[cfg(test)]
mod tests {
    use super::super::tests::{project, user, vars};
    use super::*;

    /// The server of a project with this section `cache:`, and the codes of the warnings.
    fn chosen(
        cache: &str,
        trusted: bool,
        users: &str,
        given: &[(&str, &str)],
    ) -> Result<(Option<Server>, Vec<String>), Diag> {
        let temp = tempfile::tempdir().unwrap();
        let (project, user, mut warnings) = (project(temp.path(), cache, trusted), user(users), Vec::new());
        let sources = Sources { user: &user, project: Some(project.cache()) };
        let server = choose(sources, &vars(given), &mut warnings)?;
        Ok((
            server,
            warnings
                .iter()
                .map(|warning| format!("{} {}", warning.code, warning.at.as_deref().unwrap_or_default()))
                .collect(),
        ))
    }

    #[test]
    fn policy_defaults_to_read_and_to_write_in_ci() {
        let policy = |given: &[(&str, &str)], users: &str| {
            chosen("", false, users, given).unwrap().0.map(|server| server.policy)
        };
        let (url, ci) = (("KILN_CACHE_URL", "https://h"), ("CI", "true"));
        assert_eq!(policy(&[], ""), None);
        assert_eq!(policy(&[url], ""), Some(Policy::Read));
        assert_eq!(policy(&[url, ci], ""), Some(Policy::Write));
        assert_eq!(policy(&[url, ci, ("KILN_CACHE_POLICY", "read")], ""), Some(Policy::Read));
        assert_eq!(policy(&[url, ("KILN_CACHE_POLICY", "off")], ""), None);
        let named = "url: 'http://h', allow_http: true";
        assert_eq!(policy(&[], named), Some(Policy::Read));
        let off = format!("{named}, policy: off");
        assert_eq!(policy(&[], &off), None);
        assert_eq!(policy(&[("KILN_CACHE_POLICY", "write")], &off), Some(Policy::Write));
    }

    #[test]
    fn untrusted_project_cannot_enable_uploads() {
        let policy = |cache: &str, trusted: bool, given: &[(&str, &str)]| {
            let (server, warnings) = chosen(cache, trusted, "", given).unwrap();
            (server.map(|server| server.policy), warnings.concat())
        };
        let (plain, write) = ("url: 'https://h'", "url: 'https://h', policy: write");
        assert_eq!(policy(write, true, &[]), (Some(Policy::Write), String::new()));
        assert_eq!(policy(write, false, &[]), (Some(Policy::Read), "untrusted-cache 1:35".into()));
        assert_eq!(policy(plain, true, &[("CI", "1")]).0, Some(Policy::Write));
        assert_eq!(policy(plain, false, &[("CI", "1")]), (Some(Policy::Read), String::new()));
        assert_eq!(policy("url: 'https://h', policy: off", false, &[]).0, None);
        // The server that the user names is not restricted.
        let own = [("CI", "1"), ("KILN_CACHE_URL", "https://own")];
        assert_eq!(policy(write, false, &own), (Some(Policy::Write), "untrusted-cache 1:35".into()));
    }

    #[test]
    fn sends_credentials_only_to_servers_that_the_user_named() {
        let token = ("KILN_CACHE_TOKEN", "hush");
        let sent = |cache: &str, trusted: bool, users: &str, url: Option<&str>| {
            let given: Vec<_> = url.map(|url| ("KILN_CACHE_URL", url)).into_iter().chain([token]).collect();
            let (server, warnings) = chosen(cache, trusted, users, &given).unwrap();
            (server.map(|server| server.credentials.is_some()), warnings.concat())
        };
        let (url, warned) = ("url: 'https://h:8/p'", "untrusted-credentials 1:14");
        assert_eq!(sent(url, false, "", None), (Some(false), warned.into()));
        assert_eq!(sent(url, false, "credential_hosts: [h]", None), (Some(false), warned.into()));
        assert_eq!(sent(url, false, "credential_hosts: ['h:8']", None), (Some(true), String::new()));
        assert_eq!(sent(url, true, "", None), (Some(true), String::new()));
        assert_eq!(sent(url, false, "", Some("https://own")), (Some(true), String::new()));
        assert_eq!(sent(url, false, "url: 'https://own'", None), (Some(true), String::new()));
        // The client of the bucket finds cloud credentials by itself, so an unbound bucket is not used at all.
        let bucket = "url: 's3://foreign'";
        assert_eq!(sent(bucket, false, "", None), (None, warned.into()));
        assert_eq!(sent(bucket, false, "credential_hosts: [foreign]", None), (None, warned.into()));
        assert_eq!(sent(bucket, false, "credential_hosts: ['s3://foreign']", None).0, Some(true));
        assert_eq!(sent(bucket, true, "", None).0, Some(true));
    }

    #[test]
    fn requires_tls_unless_the_user_allows_plaintext() {
        let plain = "url: 'http://h', allow_http: true";
        let server = |cache: &str, trusted: bool, users: &str, given: &[(&str, &str)]| {
            chosen(cache, trusted, users, given)
                .map(|(server, warnings)| (server.is_some(), warnings.concat()))
        };
        assert_eq!(server(plain, false, "", &[]), Ok((false, "untrusted-cache 1:14".into())));
        assert_eq!(server(plain, true, "", &[]), Ok((true, String::new())));
        assert_eq!(server(plain, false, "allow_http: true", &[]), Ok((true, String::new())));
        assert_eq!(server(plain, false, "", &[("KILN_CACHE_ALLOW_HTTP", "1")]), Ok((true, String::new())));
        let refused = server("", false, "", &[("KILN_CACHE_URL", "http://h")]).unwrap_err();
        assert!(
            refused.code == Code::CacheAddress
                && refused.hint.as_deref().is_some_and(|hint| hint.contains("KILN_CACHE_ALLOW_HTTP")),
            "{refused}"
        );
        assert!(server(plain, true, "", &[("KILN_CACHE_ALLOW_HTTP", "0")]).is_err());
    }

    #[test]
    fn messages_contain_no_secrets() {
        let refused = |given: &[(&str, &str)]| chosen("", false, "", given).err().unwrap();
        let in_address = refused(&[("KILN_CACHE_URL", "https://me:hush@h")]);
        let broken = refused(&[("KILN_CACHE_URL", "https://h"), ("KILN_CACHE_TOKEN", "hush\n")]);
        assert_eq!((in_address.code.as_str(), broken.code.as_str()), ("cache-address", "cache-variable"));
        assert!(![in_address, broken].iter().any(|diag| diag.to_string().contains("hush")));
    }
}
