//! Connections to a server: proxies, private certificate authorities, client certificates, headers and limits.

use crate::project::{FILES, Project};
use crate::relay::{CA, CLIENT_CERTIFICATE, CLIENT_KEY, HOST, connect_proxy, tls_front};
use crate::server::Server;
use kiln_engine::Store;
use kiln_engine::remote::{Address, Policy, RemoteLimits};
use kiln_remote_cache::{ClientOptions, Http};
use std::time::Duration;
use tempfile::TempDir;

/// Builds on a new machine; returns the number of built sources, and the warnings.
fn build(url: &str, options: &ClientOptions, policy: Policy) -> (usize, Vec<String>) {
    let dir = TempDir::new().unwrap();
    let http = Http::with_options(Address::parse(url, true).unwrap(), None, options.clone());
    let store = Store::open(dir.path(), "kiln test").unwrap();
    let store = store.with_limited_remote(Box::new(http), policy, options.limits);
    let (built, _) = Project::new(FILES).build(Some(&store));
    store.finish(Duration::from_secs(60));
    (built, store.warnings().iter().map(|warning| warning.to_string()).collect())
}

fn works(url: &str, options: &ClientOptions) {
    let mut options = options.clone();
    // A busy machine must not look like a slow server.
    options.limits.timeout = Duration::from_secs(30);
    assert_eq!(build(url, &options, Policy::Write), (4, vec![]), "{url}");
    assert_eq!(build(url, &options, Policy::Read), (0, vec![]), "{url}");
}

#[test]
fn client_certificate_and_private_authority() {
    let server = Server::start();
    let url = format!("https://localhost:{}/team", tls_front(server.port()));
    let mut options = ClientOptions::default();
    // The system does not trust the server, …
    let (built, warnings) = build(&url, &options, Policy::Write);
    assert_eq!((built, warnings.len(), server.requests()), (4, 1, 0), "{warnings:?}");
    // … the server requires a client certificate, …
    options.set_ca(CA.to_vec()).unwrap();
    let (built, warnings) = build(&url, &options, Policy::Write);
    assert_eq!((built, warnings.len(), server.requests()), (4, 1, 0), "{warnings:?}");
    // … and the key must match the certificate.
    let other = include_bytes!("certificates/server.key").to_vec();
    assert!(options.set_client_certificate(CLIENT_CERTIFICATE.to_vec(), other).is_err());
    options.set_client_certificate(CLIENT_CERTIFICATE.to_vec(), CLIENT_KEY.to_vec()).unwrap();
    works(&url, &options);
}

#[test]
fn sends_requests_through_a_proxy() {
    let server = Server::start();
    let (proxy, heads) = connect_proxy(server.port());
    let mut options = ClientOptions::default();
    options.set_proxy(&format!("http://me:p%40ss@127.0.0.1:{proxy}"), "").unwrap();
    works(&format!("http://{HOST}/team"), &options);
    let seen = std::mem::take(&mut *heads.lock().unwrap());
    assert!(
        !seen.is_empty() && seen.iter().all(|head| head.starts_with(&format!("CONNECT {HOST}:80 "))),
        "{seen:?}"
    );
    // "me:p@ss"
    assert!(seen[0].contains("Proxy-Authorization: Basic bWU6cEBzcw==\r\n"), "{seen:?}");

    let server = Server::start();
    let (proxy, heads) = connect_proxy(tls_front(server.port()));
    options.set_proxy(&format!("127.0.0.1:{proxy}"), "elsewhere.test").unwrap();
    options.set_ca(CA.to_vec()).unwrap();
    options.set_client_certificate(CLIENT_CERTIFICATE.to_vec(), CLIENT_KEY.to_vec()).unwrap();
    works(&format!("https://{HOST}/team"), &options);
    assert!(heads.lock().unwrap()[0].starts_with(&format!("CONNECT {HOST}:443 ")));

    // Hosts of the `no_proxy` list are connected to directly.
    let seen = heads.lock().unwrap().len();
    let server = Server::start();
    options.set_proxy(&format!("127.0.0.1:{proxy}"), "127.0.0.1").unwrap();
    works(&server.url(), &options);
    assert_eq!(heads.lock().unwrap().len(), seen);
}

#[test]
fn unreachable_or_stalled_proxy_costs_a_second() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for proxy in [silent.local_addr().unwrap(), free] {
        let mut options = ClientOptions::default();
        options.set_proxy(&proxy.to_string(), "").unwrap();
        let (built, warnings) = build(&format!("https://{HOST}"), &options, Policy::Write);
        assert_eq!((built, warnings.len()), (4, 1), "{warnings:?}");
    }
}

#[test]
fn sends_headers_with_every_request() {
    let server = Server::start();
    let mut options = ClientOptions::default();
    options.add_header("X-Team", "kiln").unwrap();
    works(&server.url(), &options);
    let sent =
        server.headers().into_iter().filter(|header| *header == ("x-team".to_owned(), "kiln".to_owned()));
    assert_eq!(sent.count(), server.requests());
}

#[test]
fn blob_limit_applies_to_uploads_and_downloads() {
    let server = Server::start();
    let mut small = ClientOptions::default();
    small.limits = RemoteLimits { max_blob: 3, connections: 1, ..RemoteLimits::default() };
    assert_eq!(build(&server.url(), &small, Policy::Write), (4, vec![]));
    assert!(!server.kept().keys().any(|path| path.contains("/cas/")), "a blob was uploaded");
    works(&server.url(), &ClientOptions::default());
    assert_eq!(build(&server.url(), &small, Policy::Read), (4, vec![]));
}
