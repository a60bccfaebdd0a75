//! What the store of results gives: a second checkout with a warm store, and one with an empty store and a warm server
//! on this machine, beside a build from nothing. The rounds are interleaved, each from an empty output.

use crate::cold::build;
use crate::process::Costs;
use crate::project::Tree;
use crate::server::Server;
use std::path::Path;

/// Where no server listens.
const NOBODY: &str = "http://127.0.0.1:9";

/// Prints one table over all trees.
pub fn store(runs: usize, trees: &[Tree]) {
    println!("Builds into an empty output with two threads, median of {runs} runs in turn (least–most).\n");
    println!("| tree | wall, s | CPU, s | peak memory, MB | of no store |\n|---|---|---|---|---|");
    trees.iter().for_each(|tree| one(&tree.name, &tree.path, runs));
}

fn one(name: &str, tree: &Path, runs: usize) {
    let server = Server::start();
    let url = server.url();
    let directory = || tempfile::tempdir().expect("a temporary directory");
    let (warm, sent) = (directory(), directory());
    let place = |dir: &tempfile::TempDir| dir.path().display().to_string();
    let here = |dir: &str| build(tree, 2, &[("KILN_CACHE_DIR", dir)]).0;
    let there = |dir: &str, url: &str, policy: &str| {
        let vars = [("KILN_CACHE_DIR", dir), ("KILN_CACHE_URL", url), ("KILN_CACHE_POLICY", policy)];
        build(tree, 2, &vars).0
    };
    here(&place(&warm));
    there(&place(&sent), &url, "write");

    let mut rounds: [Costs; 5] = Default::default();
    for _ in 0..runs {
        let [first, second, third] = [directory(), directory(), directory()];
        rounds[0].push(build(tree, 2, &[("KILN_CACHE", "off")]).0);
        rounds[1].push(here(&place(&first)));
        rounds[2].push(here(&place(&warm)));
        rounds[3].push(there(&place(&second), &url, "read"));
        rounds[4].push(there(&place(&third), NOBODY, "read"));
    }
    let none = rounds[0].wall();
    let names = [
        "no store",
        "empty store",
        "warm store",
        "empty store, warm server on this machine",
        "empty store, server that is not there",
    ];
    for (what, costs) in names.into_iter().zip(rounds) {
        println!("| {name}: {what} | {} | {:.2} |", costs.cells(1.0), costs.wall() / none);
    }
}
