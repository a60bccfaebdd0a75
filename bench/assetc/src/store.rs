//! What the store of results gives: a second checkout with a warm store, and one with an empty store and a warm server
//! on this machine, beside a build from nothing. The rounds are interleaved, each from an empty output.

use crate::cold::{Run, build_with};
use crate::server::Server;
use std::path::Path;

pub fn store(assets: &Path, runs: usize) {
    let program = crate::assetc();
    let server = Server::start();
    let url = server.url();
    let (warm, sent) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let dir = |dir: &tempfile::TempDir| dir.path().display().to_string();
    let here = [("KILN_CACHE_DIR".to_owned(), dir(&warm))];
    build_with(&program, assets, 2, &here);
    let send = |policy: &str, at: String| {
        let names = ["KILN_CACHE_DIR", "KILN_CACHE_URL", "KILN_CACHE_POLICY"].map(str::to_owned);
        names.into_iter().zip([at, url.clone(), policy.to_owned()]).collect::<Vec<_>>()
    };
    build_with(&program, assets, 2, &send("write", dir(&sent)));

    let mut rounds: [Vec<Run>; 4] = Default::default();
    for _ in 0..runs {
        let empty = tempfile::tempdir().expect("a directory");
        rounds[0].push(build_with(&program, assets, 2, &[("KILN_CACHE".to_owned(), "off".to_owned())]));
        rounds[1].push(build_with(&program, assets, 2, &[("KILN_CACHE_DIR".to_owned(), dir(&empty))]));
        rounds[2].push(build_with(&program, assets, 2, &here));
        let empty = tempfile::tempdir().expect("a directory");
        rounds[3].push(build_with(&program, assets, 2, &send("read", dir(&empty))));
    }
    println!("| build from an empty output, median of {runs} | wall, s | CPU, s |\n|---|---|---|");
    let names = ["no store", "empty store", "warm store", "empty store, warm server on this machine"];
    for (name, mut runs) in names.into_iter().zip(rounds) {
        runs.sort_by(|a, b| a.wall.total_cmp(&b.wall));
        let median = &runs[runs.len() / 2];
        println!("| {name} | {:.2} | {:.2} |", median.wall, median.cpu);
    }
}
