//! A server that is dead, slow, full, broken or lying, in every place where it can be: what is built is what would be
//! built without it, it costs a bounded time, and one warning.

use crate::project::{Left, Project};
use crate::server::{Fault, Server, When};
use kiln_engine::Store;
use kiln_engine::remote::{Address, Policy};
use kiln_remote_cache::Http;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What the server has.
const BEFORE: &[(&str, &str)] = &[
    ("a.txt", "%300"),
    ("b.txt", "+shared\n?absent\n%200\nsecond"),
    ("c.txt", "~this\n&work\n%100"),
    ("d.txt", "plain"),
    ("shared", "of many"),
];

/// What is built: half of it is on the server, half is new and sent there.
const AFTER: &[(&str, &str)] = &[
    ("a.txt", "%300"),
    ("b.txt", "+shared\n?absent\n%200\nsecond"),
    ("c.txt", "~that\n&work\n%150"),
    ("d.txt", "otherwise\n%250"),
    ("e.txt", "&more"),
    ("shared", "of many"),
];

/// Nothing takes that long; it is far more than what a fault costs, because a test must not fail for a busy machine.
const FAR_TOO_LONG: Duration = Duration::from_secs(12);

fn store(dir: &TempDir, url: &str, policy: Policy) -> Store {
    let address = Address::parse(url, false).unwrap();
    Store::open(dir.path(), "kiln test").unwrap().with_remote(Box::new(Http::new(address, None)), policy)
}

/// Everything that a server has after a build.
fn stocked() -> HashMap<String, Vec<u8>> {
    let (server, dir) = (Server::start(), TempDir::new().unwrap());
    let store = store(&dir, &server.url(), Policy::Write);
    Project::new(BEFORE).build(Some(&store));
    store.finish(Duration::from_secs(60));
    assert!(store.trouble().is_empty(), "{:?}", store.trouble());
    server.keep(server.kept());
    server.kept()
}

/// Builds with a server; returns what is left, how long it took and the codes of the warnings.
fn build(url: &str) -> (Left, Duration, Vec<String>) {
    let dir = TempDir::new().unwrap();
    let start = Instant::now();
    let store = store(&dir, url, Policy::Write);
    let (_, left) = Project::new(AFTER).build(Some(&store));
    store.finish(Duration::from_secs(2));
    (left, start.elapsed(), store.trouble().iter().map(|warning| warning.code.to_string()).collect())
}

/// Asserts that the server has every blob that one of its records names: the digests are in the record as text.
fn assert_complete(kept: &HashMap<String, Vec<u8>>, context: &str) {
    for (path, record) in kept.iter().filter(|(path, _)| path.contains("/ac/")) {
        for digest in record.windows(66).filter(|bytes| bytes[..2] == [0x0a, 64]) {
            let digest = String::from_utf8(digest[2..].to_vec()).unwrap();
            assert!(kept.contains_key(&format!("/team/cas/{digest}")), "{context}: {path} names {digest}");
        }
    }
}

#[test]
fn whatever_a_server_does_the_build_is_the_same() {
    use Fault::*;
    let (clean, stock) = (Project::new(AFTER).build(None).1, stocked());
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
    let places =
        [("GET", "/ac/"), ("GET", "/cas/"), ("HEAD", ""), ("PUT", "/ac/"), ("PUT", "/cas/"), ("", "")];
    let mut cases = Vec::new();
    for fault in faults {
        for (method, kind) in places {
            cases.extend([0, 1, 3].map(|after| (fault, When { method, kind, after })));
        }
    }
    assert!(cases.len() > 450);
    // Most of them wait for a server that does not answer: many wait at once.
    let cases = Mutex::new(cases.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                let next = || cases.lock().unwrap().next();
                while let Some((fault, when)) = next() {
                    let server = Server::start();
                    server.keep(stock.clone());
                    server.misbehave(fault, when);
                    let (left, took, warnings) = build(&server.url());
                    assert_eq!(left, clean, "{fault:?} {when:?}");
                    assert!(took < FAR_TOO_LONG, "{fault:?} {when:?} took {took:?}");
                    let unique: HashSet<&String> = warnings.iter().collect();
                    assert_eq!(unique.len(), warnings.len(), "{fault:?} {when:?}: {warnings:?}");
                    // A server can always say that it has a blob.
                    if !matches!(fault, LeftOver | HeadOnly) {
                        assert_complete(&server.kept(), &format!("{fault:?} {when:?}"));
                    }
                }
            });
        }
    });
}

#[test]
fn a_server_that_is_not_there_costs_next_to_nothing() {
    let clean = Project::new(AFTER).build(None).1;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_address = silent.local_addr().unwrap();
    // Nobody listens at the first, the second name does not resolve, and the third never answers.
    for url in
        [format!("http://{free}"), "https://kiln.invalid".to_owned(), format!("https://{silent_address}")]
    {
        let (left, took, warnings) = build(&url);
        assert_eq!((left, warnings), (clean.clone(), vec!["cache-server".to_owned()]), "{url}");
        assert!(took < FAR_TOO_LONG, "{url} took {took:?}");
    }
}

#[test]
fn after_a_fault_the_server_is_left_alone() {
    let server = Server::start();
    server.misbehave(Fault::Status(403), When { method: "", kind: "", after: 0 });
    let dir = TempDir::new().unwrap();
    let store = store(&dir, &server.url(), Policy::Read);
    let many: Vec<(String, String)> = (0..50).map(|n| (format!("{n}.txt"), format!("text {n}"))).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Project::new(&many).build(Some(&store));
    // Those that were in flight when the first one failed: of the workers, and ahead of them.
    assert!(server.requests() <= 18, "{} requests", server.requests());
    let trouble = store.trouble();
    assert_eq!((trouble.len(), trouble[0].code.as_str()), (1, "cache-server"));
    assert!(trouble[0].message.contains("403"), "{}", trouble[0]);
}
