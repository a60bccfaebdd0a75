//! Random histories of edits: after every few of them the incremental build has to be what a build from nothing is,
//! byte for byte, and has to have left alone what is not its own. `kiln_fault_injection` tells them; its long form tells more.
#![cfg(target_os = "linux")]

use crate::project::{ASSETC, Project};
use kiln_fault_injection::faults::histories::{Tally, tell};
use std::path::Path;

const STEPS: usize = 8;

fn tell_all(seeds: impl Iterator<Item = u64>) {
    let one = |tally, seed| tell(Path::new(ASSETC), Project::in_memory().root(), tally, seed, STEPS);
    let tally = seeds.fold(Tally::default(), one);
    let Tally { builds, whole, idle, lost } = tally;
    assert_eq!(builds, 150 * STEPS);
    // None of what histories are made of can go missing unnoticed.
    assert!(
        whole * 4 > builds && (builds - whole) * 6 > builds && idle * 100 > builds && lost * 20 > builds,
        "{tally:?}"
    );
}

#[test]
fn even_histories_end_like_builds_from_nothing() {
    tell_all((0..300).step_by(2));
}

#[test]
fn odd_histories_end_like_builds_from_nothing() {
    tell_all((1..300).step_by(2));
}
