//! A server that works: what one machine made, another one finds; who may only read sends nothing.

use crate::project::{FILES, Project};
use crate::server::Server;
use kiln_engine::Store;
use kiln_engine::remote::{Address, Policy};
use kiln_remote_cache::{Credentials, Http};
use std::time::Duration;
use tempfile::TempDir;

/// A machine of its own: its store is empty.
fn machine(server: &Server, policy: Policy, credentials: Option<Credentials>) -> (TempDir, Store) {
    let dir = TempDir::new().unwrap();
    let http = Http::new(Address::parse(&server.url(), false).unwrap(), credentials);
    let store = Store::open(dir.path(), "kiln test").unwrap().with_remote(Box::new(http), policy);
    (dir, store)
}

fn finish(store: &Store) {
    store.finish(Duration::from_secs(60));
    assert!(store.trouble().is_empty(), "{:?}", store.trouble());
}

#[test]
fn another_machine_finds_everything() {
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
    assert_eq!((figures.found, figures.from_server, figures.bytes_up), (4, 4, 0));
    assert!(figures.bytes_down > figures.bytes_out);

    // What was fetched is here now: the server is not asked again.
    let before = server.requests();
    assert_eq!(Project::new(FILES).build(Some(&second)), (0, clean));
    assert_eq!((server.requests(), second.figures().from_server), (before, 4));
}

#[test]
fn states_of_two_machines_are_found_by_a_third() {
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
fn readers_send_nothing_and_writers_send_what_they_have() {
    let server = Server::start();
    let (dir, reader) = machine(&server, Policy::Read, None);
    Project::new(FILES).build(Some(&reader));
    finish(&reader);
    assert!(server.kept().is_empty());
    // The same store under another policy: everything is found here, and sent all the same.
    let http = Http::new(Address::parse(&server.url(), false).unwrap(), None);
    let writer = Store::open(dir.path(), "kiln test").unwrap().with_remote(Box::new(http), Policy::Write);
    assert_eq!(Project::new(FILES).build(Some(&writer)).0, 0);
    finish(&writer);
    let (_dir, third) = machine(&server, Policy::Read, None);
    assert_eq!(Project::new(FILES).build(Some(&third)).0, 0);
}

#[test]
fn a_server_that_lost_blobs_or_records_costs_cooks_and_gets_them_again() {
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
fn credentials_are_sent_with_every_request() {
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
