//! A cache server that is damaged, slow, or behind a proxy, with the real executable.

use crate::project::{Project, Ran, test_image};
use crate::relay::{CA, CLIENT_CERTIFICATE, CLIENT_KEY, HOST, connect_proxy, tls_front};
use crate::server::{Fault, Server, When};
use tempfile::TempDir;

const COUNT: u64 = 8;

/// Builds a new checkout with an empty local cache and these variables.
fn build(vars: &[(&str, &str)]) -> Ran {
    let (cache, p) = (TempDir::new().unwrap(), Project::new());
    for n in 0..COUNT as u32 {
        p.write(&format!("assets/{n}.png"), test_image(16, 16, n));
    }
    let mut command = p.command(&["--json"]);
    for name in ["CI", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    command.env("KILN_CACHE", "on").env("KILN_CACHE_DIR", cache.path()).envs(vars.iter().copied());
    command.output().unwrap().into()
}

fn built(ran: &Ran) -> u64 {
    ran.json()["built"].as_u64().unwrap()
}

#[test]
fn replaces_damaged_record_with_a_warning() {
    let server = Server::start();
    let url = server.url();
    let build = |policy| build(&[("KILN_CACHE_URL", &url), ("KILN_CACHE_POLICY", policy)]).expect(0);
    assert_eq!(built(&build("write")), COUNT);
    let mut kept = server.kept();
    // The record of a result names its output; that of a shared encode does not.
    let record = |(path, bytes): &(&String, &mut Vec<u8>)| {
        path.contains("/ac/") && bytes.windows(5).any(|five| five == b".ktx2")
    };
    let (path, bytes) = kept.iter_mut().find(record).unwrap();
    let name = path.strip_prefix("/team/").unwrap().to_owned();
    bytes.truncate(bytes.len() - 10);
    server.keep(kept);
    for policy in ["read", "write"] {
        let ran = build(policy);
        assert_eq!(built(&ran), 1, "{policy}");
        assert_eq!(ran.stderr.matches("warning[cache-damaged-object]").count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(&name) && !ran.stderr.contains("cache-server"), "{}", ran.stderr);
    }
    let ran = build("read");
    assert_eq!((built(&ran), ran.stderr.contains("warning[cache")), (0, false), "{}", ran.stderr);
}

#[test]
fn stops_using_slow_server_with_one_warning() {
    let server = Server::start();
    let url = server.url();
    let vars = [("KILN_CACHE_URL", url.as_str()), ("KILN_CACHE_TIMEOUT", "0.3")];
    build(&[vars[0], ("KILN_CACHE_POLICY", "write")]).expect(0);
    server.inject_fault(Fault::Latency(250), When { method: "", kind: "", after: 0 });
    let before = server.requests();
    let ran = build(&[vars[0], vars[1], ("KILN_CACHE_CONNECTIONS", "1")]).expect(0);
    assert_eq!(ran.stderr.matches("warning[cache-server]").count(), 1, "{}", ran.stderr);
    // Without the circuit breaker there would be three requests per source: record, result and blob.
    let requests = (server.requests() - before) as u64;
    assert!(requests < 3 * COUNT, "{requests} requests");
}

#[test]
fn connects_through_proxy_with_certificates_and_headers() {
    let server = Server::start();
    let (proxy, heads) = connect_proxy(tls_front(server.port()));
    let dir = TempDir::new().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (ca, certificate, key) =
        (file("ca.pem", CA), file("client.pem", CLIENT_CERTIFICATE), file("client.key", CLIENT_KEY));
    let (url, proxy) = (format!("https://{HOST}/team"), format!("http://me:hush-hush@127.0.0.1:{proxy}"));
    let vars = [
        ("KILN_CACHE_URL", url.as_str()),
        ("HTTPS_PROXY", &proxy),
        ("KILN_CACHE_CA", &ca),
        ("KILN_CACHE_CLIENT_CERT", &certificate),
        ("KILN_CACHE_CLIENT_KEY", &key),
        ("KILN_CACHE_HEADERS", "X-Team: kiln\nX-Key: hush-hush"),
    ];
    let with = |more: (&'static str, &'static str)| build(&[vars.as_slice(), &[more]].concat()).expect(0);
    assert_eq!(built(&with(("KILN_CACHE_POLICY", "write"))), COUNT);
    let reader = with(("KILN_CACHE_POLICY", "read"));
    assert_eq!((built(&reader), reader.stderr.contains("warning[cache")), (0, false), "{}", reader.stderr);
    assert!(heads.lock().unwrap().iter().all(|head| head.starts_with(&format!("CONNECT {HOST}:443 "))));
    let keys = server.headers().into_iter().filter(|header| header.0 == "x-key");
    assert_eq!(keys.count(), server.requests());
    // No error message contains a secret.
    let wrong = build(&[vars.as_slice(), &[("KILN_CACHE_HEADERS", "hush-hush")]].concat());
    assert!(wrong.stderr.contains("cache-variable") && !wrong.stderr.contains("hush"), "{}", wrong.stderr);
    let refused = build(&[vars.as_slice(), &[("HTTPS_PROXY", "http://me:hush-hush@127.0.0.1:1")]].concat());
    assert!(
        refused.stderr.contains("cache-server") && !refused.stderr.contains("hush"),
        "{}",
        refused.stderr
    );
}
