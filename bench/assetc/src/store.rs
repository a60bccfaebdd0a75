//! Builds with the cache: a second checkout with a warm cache, and one with an empty cache and a warm server
//! on this machine, beside a build from nothing. The rounds are interleaved, each from an empty output.

use crate::cold::build;
use crate::process::Costs;
use crate::project::Tree;
use crate::server::Server;
use std::io::BufRead;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The address of an unreachable server.
const NOBODY: &str = "http://127.0.0.1:9";

/// Prints one table over all trees.
pub fn store(runs: usize, trees: &[Tree]) {
    println!("Builds into an empty output with two threads, median of {runs} runs in turn (least–most).\n");
    println!("| tree | wall, s | CPU, s | peak memory, MB | of no cache |\n|---|---|---|---|---|");
    trees.iter().for_each(|tree| one(&tree.name, &tree.path, runs));
}

fn one(name: &str, tree: &Path, runs: usize) {
    let (url, _server) = start();
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
        "no cache",
        "empty cache",
        "warm cache",
        "empty cache, warm server on this machine",
        "empty cache, server unreachable",
    ];
    for (what, costs) in names.into_iter().zip(rounds) {
        println!("| {name}: {what} | {} | {:.2} |", costs.cells(1.0), costs.wall() / none);
    }
}

/// A server in a process of its own, until its input ends: what it keeps must not count as memory of the builds, which
/// start as copies of this process.
pub fn serve() {
    let server = Server::start();
    println!("{}", server.url());
    let _ = std::io::stdin().read_line(&mut String::new());
}

struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Starts the server; returns its address.
fn start() -> (String, Ending) {
    let me = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(me);
    command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("a process");
    let mut url = String::new();
    let out = child.stdout.take().expect("a pipe");
    std::io::BufReader::new(out).read_line(&mut url).expect("an address");
    (url.trim().to_owned(), Ending(child))
}
