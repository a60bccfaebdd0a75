//! Damaged objects on a server: each costs one build, is reported, and is replaced by a build with write access.

use crate::project::Project;
use crate::server::{Fault, Server, When};
use kiln_engine::Store;
use kiln_engine::remote::{Address, Policy};
use kiln_remote_cache::{ClientOptions, Http};
use std::time::Duration;
use tempfile::TempDir;

/// Sources with distinct results; one of them is too large for a batch.
fn sources() -> Vec<(String, String)> {
    let text = |n: usize| if n == 0 { "%3000".to_owned() } else { format!("text {n}") };
    (0..12).map(|n| (format!("{n:02}.txt"), text(n))).collect()
}

fn project() -> Project {
    let sources = sources();
    Project::new(&sources.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
}

/// Builds on a new machine; returns the number of built sources, and the warnings.
fn build(server: &Server, policy: Policy) -> (usize, Vec<String>) {
    let dir = TempDir::new().unwrap();
    let mut options = ClientOptions::default();
    // A busy machine must not look like a slow server.
    options.limits.timeout = Duration::from_secs(30);
    let http = Http::with_options(Address::parse(&server.url(), false).unwrap(), None, options.clone());
    let store = Store::open(dir.path(), "kiln test").unwrap();
    let store = store.with_limited_remote(Box::new(http), policy, options.limits);
    let project = project();
    let (built, left) = project.build(Some(&store));
    store.finish(Duration::from_secs(60));
    assert_eq!(left.outputs.len(), 12);
    (built, store.warnings().iter().map(|warning| warning.to_string()).collect())
}

#[test]
fn damaged_object_costs_one_build_and_is_replaced() {
    let server = Server::start();
    assert_eq!(build(&server, Policy::Write), (12, vec![]));
    assert_eq!(build(&server, Policy::Read), (0, vec![]));
    let whole = server.kept();
    let names_a_blob = |record: &[u8]| record.windows(2).any(|bytes| bytes == [0x0a, 64]);
    let mut paths: Vec<&String> = whole.keys().collect();
    paths.sort();
    let find = |wanted: &dyn Fn(&str, &[u8]) -> bool| {
        let found = paths.iter().find(|path| wanted(path, &whole[**path]));
        (*found.unwrap()).clone()
    };
    let objects = [
        find(&|path, bytes| path.contains("/ac/") && names_a_blob(bytes)),
        find(&|path, bytes| path.contains("/ac/") && !names_a_blob(bytes)),
        find(&|path, bytes| path.contains("/cas/") && bytes.len() < 1000),
        find(&|path, bytes| path.contains("/cas/") && bytes.len() > 1000),
    ];
    let damages: [fn(&mut Vec<u8>); 3] =
        [|b| b.truncate(b.len().saturating_sub(10)), |b| *b.last_mut().unwrap() ^= 1, |b| b.extend([0; 99])];
    for path in &objects {
        for damage in damages {
            let mut objects = whole.clone();
            damage(objects.get_mut(path).unwrap());
            server.keep(objects);
            let name = path.strip_prefix("/team/").unwrap();
            for policy in [Policy::Read, Policy::Write] {
                let (built, warnings) = build(&server, policy);
                assert_eq!((built, warnings.len()), (1, 1), "{path} {policy:?}: {warnings:?}");
                assert!(
                    warnings[0].contains("cache-damaged-object") && warnings[0].contains(name),
                    "{warnings:?}"
                );
            }
            assert_eq!(build(&server, Policy::Read), (0, vec![]), "{path} was not replaced");
        }
    }
}

#[test]
fn disables_a_server_with_mostly_damaged_objects() {
    let server = Server::start();
    build(&server, Policy::Write);
    server.inject_fault(Fault::WrongBytes, When { method: "GET", kind: "", after: 0 });
    let (built, warnings) = build(&server, Policy::Read);
    assert_eq!(built, 12);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("most objects of the server are damaged"), "{warnings:?}");
    assert!(warnings[1].contains("cache-damaged-object"), "{warnings:?}");
}
