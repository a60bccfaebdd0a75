//! Options of the client of the shared cache, read from environment variables: headers, certificates, proxies and limits.
//!
//! No message repeats a value, because most of them are secrets or contain one.

use crate::environment::Var;
use crate::store::{bad, text};
use kiln_engine::remote::{Address, Scheme};
use kiln_engine::store::settings::parse_size;
use kiln_engine::{Code, Diag};
use kiln_remote_cache::ClientOptions;
use std::time::Duration;

/// The longest accepted stall deadline, in seconds.
const MAX_TIMEOUT: f64 = 600.0;

/// The largest accepted number of lookups in flight.
const MAX_CONNECTIONS: usize = 256;

/// Reads the client options for the server at an address.
pub(crate) fn options(address: &Address, var: Var<'_>) -> Result<ClientOptions, Diag> {
    let mut options = ClientOptions::default();
    if let Some(headers) = text(var, "KILN_CACHE_HEADERS")? {
        for (n, line) in headers.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let invalid = |why: &str| unusable("KILN_CACHE_HEADERS", &format!("line {}: {why}", n + 1));
            let (name, value) = line.split_once(':').ok_or_else(|| invalid("expected `Name: value`"))?;
            options.add_header(name.trim(), value.trim()).map_err(invalid)?;
        }
    }
    if let Some(pem) = file(var, "KILN_CACHE_CA")? {
        options.set_ca(pem).map_err(|why| unusable("KILN_CACHE_CA", why))?;
    }
    match (file(var, "KILN_CACHE_CLIENT_CERT")?, file(var, "KILN_CACHE_CLIENT_KEY")?) {
        (None, None) => {}
        (Some(chain), Some(key)) => options
            .set_client_certificate(chain, key)
            .map_err(|why| unusable("KILN_CACHE_CLIENT_CERT", why))?,
        (Some(_), None) => {
            return Err(unusable(
                "KILN_CACHE_CLIENT_CERT",
                "KILN_CACHE_CLIENT_KEY must name the private key",
            ));
        }
        (None, Some(_)) => {
            return Err(unusable(
                "KILN_CACHE_CLIENT_KEY",
                "KILN_CACHE_CLIENT_CERT must name the certificate",
            ));
        }
    }
    if let Some(seconds) = text(var, "KILN_CACHE_TIMEOUT")? {
        let timeout = seconds.parse::<f64>().ok().filter(|n| (0.01..=MAX_TIMEOUT).contains(n));
        let timeout = timeout
            .ok_or_else(|| bad("KILN_CACHE_TIMEOUT", &seconds, "a number of seconds between 0.01 and 600"))?;
        options.limits.timeout = Duration::from_secs_f64(timeout);
    }
    if let Some(size) = text(var, "KILN_CACHE_MAX_BLOB")? {
        options.limits.max_blob = parse_size(&size)
            .ok_or_else(|| bad("KILN_CACHE_MAX_BLOB", &size, "a size such as 100 MB or 4 GB"))?;
    }
    if let Some(count) = text(var, "KILN_CACHE_CONNECTIONS")? {
        let connections = count.parse().ok().filter(|n| (1..=MAX_CONNECTIONS).contains(n));
        options.limits.connections =
            connections.ok_or_else(|| bad("KILN_CACHE_CONNECTIONS", &count, "a number between 1 and 256"))?;
    }
    proxy(address, var, &mut options)?;
    Ok(options)
}

/// Sets the proxy from the variables that curl and Bazel use. Loopback addresses, Redis and the Remote Execution API are
/// connected to directly.
fn proxy(address: &Address, var: Var<'_>, options: &mut ClientOptions) -> Result<(), Diag> {
    if matches!(address.scheme, Scheme::Redis | Scheme::Grpc) || address.is_loopback() {
        return Ok(());
    }
    let names: &[&str] = match address.tls {
        true => &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        false => &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"],
    };
    for name in names {
        let Some(proxy) = text(var, name)? else { continue };
        let no_proxy = text(var, "no_proxy")?.or(text(var, "NO_PROXY")?).unwrap_or_default();
        return options.set_proxy(&proxy, &no_proxy).map_err(|why| unusable(name, why));
    }
    Ok(())
}

/// Reads the file named by a variable.
fn file(var: Var<'_>, name: &str) -> Result<Option<Vec<u8>>, Diag> {
    let Some(path) = var(name) else { return Ok(None) };
    let unreadable = |error: std::io::Error| unusable(name, &format!("the file cannot be read: {error}"));
    std::fs::read(path).map(Some).map_err(unreadable)
}

fn unusable(name: &str, why: &str) -> Diag {
    Diag::new(Code::CacheVariable, format!("{name} is invalid: {why}"))
        .hint("correct or unset the environment variable; see docs/reference/cache.md")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn read(url: &str, vars: &[(&str, &str)]) -> Result<ClientOptions, Diag> {
        let var = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value));
        options(&Address::parse(url, true).unwrap(), &var)
    }

    #[test]
    fn reads_headers_and_limits() {
        let vars = [
            ("KILN_CACHE_HEADERS", "X-Team: kiln\n\nX-Key:  a:b \n"),
            ("KILN_CACHE_TIMEOUT", "2.5"),
            ("KILN_CACHE_MAX_BLOB", "100 MB"),
            ("KILN_CACHE_CONNECTIONS", "4"),
        ];
        let options = read("https://h", &vars).unwrap();
        assert_eq!(options.headers().collect::<Vec<_>>(), [("X-Team", "kiln"), ("X-Key", "a:b")]);
        assert_eq!(options.limits.timeout, Duration::from_millis(2500));
        assert_eq!((options.limits.max_blob, options.limits.connections), (100 << 20, 4));
    }

    #[test]
    fn rejects_invalid_values_without_repeating_secrets() {
        for (name, value) in [
            ("KILN_CACHE_HEADERS", "hush"),
            ("KILN_CACHE_HEADERS", "Host: hush"),
            ("KILN_CACHE_HEADERS", "X-Key: hush\u{1}"),
            ("KILN_CACHE_CA", "/hush/no/such/file"),
            ("KILN_CACHE_CLIENT_CERT", "/dev/null"),
            ("KILN_CACHE_CLIENT_KEY", "/dev/null"),
            ("KILN_CACHE_TIMEOUT", "0"),
            ("KILN_CACHE_TIMEOUT", "NaN"),
            ("KILN_CACHE_MAX_BLOB", "much"),
            ("KILN_CACHE_CONNECTIONS", "0"),
            ("HTTPS_PROXY", "ftp://hush:hush@proxy"),
        ] {
            let error = read("https://h", &[(name, value)]).err().unwrap();
            assert!(error.code == Code::CacheVariable && error.message.contains(name), "{error}");
            assert!(!error.to_string().contains("hush"), "{error}");
        }
    }

    #[test]
    fn chooses_the_proxy_by_scheme_and_bypasses_it_for_loopback() {
        let wrong = [("HTTPS_PROXY", "ftp://x"), ("http_proxy", "ftp://x"), ("ALL_PROXY", "ftp://x")];
        for url in ["https://h", "http://h", "s3://bucket"] {
            assert!(read(url, &wrong).is_err(), "{url} ignores the proxy");
        }
        for url in ["https://localhost", "http://127.0.0.1:8080", "rediss://h", "grpcs://h"] {
            assert!(read(url, &wrong).is_ok(), "{url} uses the proxy");
        }
        assert!(read("https://h", &[("http_proxy", "ftp://x")]).is_ok());
    }
}
