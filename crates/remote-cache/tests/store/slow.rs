//! Slow and overloaded servers, and rejected uploads.

use crate::project::Project;
use crate::server::{Fault, Server, When};
use kiln_engine::Store;
use kiln_engine::remote::{Address, Policy};
use kiln_remote_cache::{ClientOptions, Http};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ALWAYS: When = When { method: "", kind: "", after: 0 };

fn project(count: usize) -> Project {
    let sources: Vec<(String, String)> =
        (0..count).map(|n| (format!("{n}.txt"), format!("text {n}"))).collect();
    Project::new(&sources.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
}

/// Builds on a new machine; returns the number of built sources, and the warnings.
fn build(server: &Server, project: &Project, policy: Policy) -> (usize, Vec<String>) {
    // A busy machine must not look like a slow server.
    build_within(server, project, policy, 30)
}

fn build_within(server: &Server, project: &Project, policy: Policy, timeout: u64) -> (usize, Vec<String>) {
    let dir = TempDir::new().unwrap();
    let mut options = ClientOptions::default();
    options.limits.timeout = Duration::from_secs(timeout);
    let http = Http::with_options(Address::parse(&server.url(), false).unwrap(), None, options.clone());
    let store = Store::open(dir.path(), "kiln test").unwrap();
    let store = store.with_limited_remote(Box::new(http), policy, options.limits);
    let (built, _) = project.build(Some(&store));
    store.finish(Duration::from_secs(60));
    (built, store.warnings().iter().map(|warning| warning.to_string()).collect())
}

#[test]
fn disables_a_server_that_is_slower_than_building() {
    let server = Server::start();
    assert_eq!(build(&server, &project(60), Policy::Write), (60, vec![]));
    let before = server.requests();
    server.inject_fault(Fault::Latency(900), ALWAYS);
    let start = Instant::now();
    let (_, warnings) = build_within(&server, &project(60), Policy::Read, 2);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("take longer than building"), "{warnings:?}");
    // Three requests for each of sixty sources; four seconds of waiting admit about seventy, and some are in flight then.
    let requests = server.requests() - before;
    assert!(requests < 120, "{requests} requests");
    // Sequentially they would take a minute and a half.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn lookups_overlap() {
    let server = Server::start();
    build(&server, &project(24), Policy::Write);
    server.inject_fault(Fault::Latency(20), ALWAYS);
    assert_eq!(build(&server, &project(24), Policy::Read), (0, vec![]));
    assert!(server.most_in_flight() > 4, "{} in flight", server.most_in_flight());
}

#[test]
fn retry_after_is_honoured() {
    for status in [429, 503] {
        let server = Server::start();
        build(&server, &project(3), Policy::Write);
        server.inject_fault(Fault::Busy(status, 1, 1), ALWAYS);
        assert_eq!(build(&server, &project(3), Policy::Read), (0, vec![]), "{status}");
        // A delay of an hour is not waited for.
        server.inject_fault(Fault::Busy(status, 3600, usize::MAX / 2), ALWAYS);
        let (built, warnings) = build(&server, &project(9), Policy::Read);
        assert_eq!((built, warnings.len()), (9, 1), "{warnings:?}");
        assert!(warnings[0].contains(&status.to_string()), "{warnings:?}");
    }
}

#[test]
fn rejected_upload_does_not_stop_others() {
    let files = [("large.txt", "%3000"), ("a.txt", "one"), ("b.txt", "two"), ("c.txt", "three")];
    let whole = Server::start();
    assert_eq!(build(&whole, &Project::new(&files), Policy::Write), (4, vec![]));
    for is_large in [true, false] {
        let rejected = whole
            .kept()
            .into_iter()
            .find(|(path, bytes)| path.contains("/cas/") && (bytes.len() > 1 << 20) == is_large);
        let kind = Box::leak(rejected.unwrap().0.into_boxed_str());
        let server = Server::start();
        server.inject_fault(Fault::Status(413), When { method: "PUT", kind, after: 0 });
        let (built, warnings) = build(&server, &Project::new(&files), Policy::Write);
        assert_eq!((built, warnings.len()), (4, 1), "{warnings:?}");
        assert!(
            warnings[0].contains("cache-upload-too-large") && warnings[0].contains(&kind[6..]),
            "{warnings:?}"
        );
        // The record without its blob is missing, and all others are there.
        server.recover();
        assert_eq!(build(&server, &Project::new(&files), Policy::Read), (1, vec![]));
        assert_eq!(server.kept().len(), whole.kept().len() - 2);
    }
}

#[test]
fn does_not_reuse_a_connection_with_unread_bytes() {
    let server = Server::start();
    build(&server, &project(12), Policy::Write);
    server.inject_fault(Fault::LeftOver, When { method: "GET", kind: "", after: 0 });
    assert_eq!(build(&server, &project(12), Policy::Read), (0, vec![]));
}
