//! A working server: results of one machine are found by another; a read-only machine uploads nothing.

use crate::project::{FILES, Project};
use crate::server::Server;
use kiln_engine::Store;
use kiln_engine::remote::{Address, Policy};
use kiln_remote_cache::{Credentials, Http};
use std::time::Duration;
use tempfile::TempDir;

/// Makes a new machine with an empty local cache.
fn machine(server: &Server, policy: Policy, credentials: Option<Credentials>) -> (TempDir, Store) {
    let dir = TempDir::new().unwrap();
    let http = Http::new(Address::parse(&server.url(), false).unwrap(), credentials);
    let store = Store::open(dir.path(), "kiln test").unwrap().with_remote(Box::new(http), policy);
    (dir, store)
}

fn finish(store: &Store) {
    store.finish(Duration::from_secs(60));
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
}

#[test]
fn another_machine_finds_all_results() {
    let server = Server::start();
    let clean = Project::new(FILES).build(None).1;
    let (_first_dir, first) = machine(&server, Policy::Write, None);
    assert_eq!(Project::new(FILES).build(Some(&first)).0, 4);
    finish(&first);
    assert!(first.figures().bytes_up > 0 && first.figures().from_server == 0);

    let (_second_dir, second) = machine(&server, Policy::Read, None);
    assert_eq!(Project::new(FILES).build(Some(&second)), (0, clean.clone()));
    finish(&second);
    let figures = second.figures();
    assert_eq!((figures.hits, figures.from_server, figures.bytes_up), (4, 4, 0));
    assert!(figures.bytes_down > figures.bytes_out);

    // The results are in the local cache now, so no request is sent.
    let before = server.requests();
    assert_eq!(Project::new(FILES).build(Some(&second)), (0, clean));
    assert_eq!((server.requests(), second.figures().from_server), (before, 4));
}

#[test]
fn results_of_several_machines_are_merged() {
    let server = Server::start();
    let states = ["one", "two", "three"];
    let project = |shared: &str| Project::new(&[("a.txt", "+shared\n?absent"), ("shared", shared)]);
    for shared in states {
        let (_dir, store) = machine(&server, Policy::Write, None);
        assert_eq!(project(shared).build(Some(&store)).0, 1);
        finish(&store);
    }
    let (_dir, store) = machine(&server, Policy::Read, None);
    assert!(states.iter().all(|shared| project(shared).build(Some(&store)).0 == 0));
}

#[test]
fn only_writers_upload() {
    let server = Server::start();
    let (dir, reader) = machine(&server, Policy::Read, None);
    Project::new(FILES).build(Some(&reader));
    finish(&reader);
    assert!(server.kept().is_empty());
    // The same local cache with write access: everything is a local hit, and is uploaded.
    let http = Http::new(Address::parse(&server.url(), false).unwrap(), None);
    let writer = Store::open(dir.path(), "kiln test").unwrap().with_remote(Box::new(http), Policy::Write);
    assert_eq!(Project::new(FILES).build(Some(&writer)).0, 0);
    finish(&writer);
    let (_dir, third) = machine(&server, Policy::Read, None);
    assert_eq!(Project::new(FILES).build(Some(&third)).0, 0);
}

#[test]
fn lost_objects_are_rebuilt_and_uploaded_again() {
    let server = Server::start();
    let clean = Project::new(FILES).build(None).1;
    let (_dir, first) = machine(&server, Policy::Write, None);
    Project::new(FILES).build(Some(&first));
    finish(&first);
    let whole = server.kept();
    for kind in ["/ac/", "/cas/"] {
        server.keep(whole.clone().into_iter().filter(|(path, _)| !path.contains(kind)).collect());
        let (_dir, store) = machine(&server, Policy::Write, None);
        assert_eq!(Project::new(FILES).build(Some(&store)), (4, clean.clone()), "{kind}");
        finish(&store);
    }
}

#[test]
fn sends_credentials_with_every_request() {
    for (credentials, expected) in [
        (Credentials::token("sesame"), "Bearer sesame"),
        // RFC 7617, section 2.
        (Credentials::user("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
    ] {
        let server = Server::start();
        let (_dir, store) = machine(&server, Policy::Write, credentials);
        Project::new(FILES).build(Some(&store));
        finish(&store);
        let sent = server.authorizations();
        assert!(sent.len() == server.requests() && sent.iter().all(|value| value == expected), "{sent:?}");
    }
}
