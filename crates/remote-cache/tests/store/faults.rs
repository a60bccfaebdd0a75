//! Fault injection: a server that is unreachable, slow, full or faulty at every point of the protocol. The build has the same
//! result as without the server, takes a bounded time, and reports one warning.

use crate::project::{BuildResult, Project};
use crate::server::{Fault, Server, When};
use kiln_engine::Store;
use kiln_engine::remote::{Address, Policy};
use kiln_remote_cache::Http;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The sources whose results the server has.
const BEFORE: &[(&str, &str)] = &[
    ("a.txt", "%300"),
    ("b.txt", "+shared\n?absent\n%200\nsecond"),
    ("c.txt", "~this\n&work\n%100"),
    ("d.txt", "plain"),
    ("shared", "of many"),
];

/// The sources that are built: half of the results are on the server, half are new and uploaded.
const AFTER: &[(&str, &str)] = &[
    ("a.txt", "%300"),
    ("b.txt", "+shared\n?absent\n%200\nsecond"),
    ("c.txt", "~that\n&work\n%150"),
    ("d.txt", "otherwise\n%250"),
    ("e.txt", "&more"),
    ("shared", "of many"),
];

/// The time limit of a build: far more than a fault costs, because the test must not fail on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(12);

fn store(dir: &TempDir, url: &str, policy: Policy) -> Store {
    let address = Address::parse(url, false).unwrap();
    Store::open(dir.path(), "kiln test").unwrap().with_remote(Box::new(Http::new(address, None)), policy)
}

/// Returns the objects of a server after a build.
fn filled_server() -> HashMap<String, Vec<u8>> {
    let (server, dir) = (Server::start(), TempDir::new().unwrap());
    let store = store(&dir, &server.url(), Policy::Write);
    Project::new(BEFORE).build(Some(&store));
    store.finish(Duration::from_secs(60));
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
    server.keep(server.kept());
    server.kept()
}

/// Builds with a server; returns the result, the duration and the codes of the warnings.
fn build(url: &str) -> (BuildResult, Duration, Vec<String>) {
    let dir = TempDir::new().unwrap();
    let start = Instant::now();
    let store = store(&dir, url, Policy::Write);
    let (_, left) = Project::new(AFTER).build(Some(&store));
    store.finish(Duration::from_secs(2));
    (left, start.elapsed(), store.warnings().iter().map(|warning| warning.code.to_string()).collect())
}

/// Asserts that the server has every blob that its records reference; the digests are in the records as text.
fn assert_complete(objects: &HashMap<String, Vec<u8>>, context: &str) {
    for (path, record) in objects.iter().filter(|(path, _)| path.contains("/ac/")) {
        // A hash inside the record may have the two bytes by chance.
        let is_digest = |b: &&[u8]| b[..2] == [0x0a, 64] && b[2..].iter().all(u8::is_ascii_hexdigit);
        for digest in record.windows(66).filter(is_digest) {
            let digest = String::from_utf8(digest[2..].to_vec()).unwrap();
            assert!(objects.contains_key(&format!("/team/cas/{digest}")), "{context}: {path} names {digest}");
        }
    }
}

#[test]
fn result_does_not_depend_on_the_server() {
    use Fault::*;
    let (clean, stock) = (Project::new(AFTER).build(None).1, filled_server());
    let faults = [
        BlackHole,
        Trickle,
        Stall,
        Reset,
        Truncated,
        Closed,
        Status(500),
        Status(503),
        Status(403),
        Status(401),
        Status(302),
        Status(507),
        Status(404),
        HeadOnly,
        WrongBytes,
        Another,
        Bomb,
        Huge,
        Garbage,
        Status(413),
        Status(429),
        Busy(429, 0, 2),
        Busy(503, 1, 1000),
        Busy(429, 3600, 1000),
        LeftOver,
        Cut,
    ];
    let requests =
        [("GET", "/ac/"), ("GET", "/cas/"), ("HEAD", ""), ("PUT", "/ac/"), ("PUT", "/cas/"), ("", "")];
    let mut cases = Vec::new();
    for fault in faults {
        for (method, kind) in requests {
            cases.extend([0, 1, 3].map(|after| (fault, When { method, kind, after })));
        }
    }
    assert!(cases.len() > 450);
    // Most cases wait for a silent server, so many run concurrently.
    let cases = Mutex::new(cases.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                let next = || cases.lock().unwrap().next();
                while let Some((fault, when)) = next() {
                    let server = Server::start();
                    server.keep(stock.clone());
                    server.inject_fault(fault, when);
                    let (left, took, warnings) = build(&server.url());
                    assert_eq!(left, clean, "{fault:?} {when:?}");
                    assert!(took < TIME_LIMIT, "{fault:?} {when:?} took {took:?}");
                    let unique: HashSet<&String> = warnings.iter().collect();
                    assert_eq!(unique.len(), warnings.len(), "{fault:?} {when:?}: {warnings:?}");
                    // These faults claim that the server has a blob.
                    if !matches!(fault, LeftOver | HeadOnly) {
                        assert_complete(&server.kept(), &format!("{fault:?} {when:?}"));
                    }
                }
            });
        }
    });
}

#[test]
fn unreachable_server_costs_little() {
    let clean = Project::new(AFTER).build(None).1;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_address = silent.local_addr().unwrap();
    // The first refuses connections, the second name does not resolve, and the third never responds.
    for url in
        [format!("http://{free}"), "https://kiln.invalid".to_owned(), format!("https://{silent_address}")]
    {
        let (left, took, warnings) = build(&url);
        assert_eq!((left, warnings), (clean.clone(), vec!["cache-server".to_owned()]), "{url}");
        assert!(took < TIME_LIMIT, "{url} took {took:?}");
    }
}

#[test]
fn sends_no_requests_after_a_permanent_failure() {
    let server = Server::start();
    server.inject_fault(Fault::Status(403), When { method: "", kind: "", after: 0 });
    let dir = TempDir::new().unwrap();
    let store = store(&dir, &server.url(), Policy::Read);
    let many: Vec<(String, String)> = (0..50).map(|n| (format!("{n}.txt"), format!("text {n}"))).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Project::new(&many).build(Some(&store));
    // The requests in flight when the first one failed: of workers and of prefetch threads.
    assert!(server.requests() <= 18, "{} requests", server.requests());
    let warnings = store.warnings();
    assert_eq!((warnings.len(), warnings[0].code.as_str()), (1, "cache-server"));
    assert!(warnings[0].message.contains("403"), "{}", warnings[0]);
}
