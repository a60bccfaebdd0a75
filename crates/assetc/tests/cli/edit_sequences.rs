//! Model-based tests with random sequences of edits: after every few edits the incremental build must equal a clean build
//! byte for byte, and foreign files must be unchanged. `kiln_fault_injection` generates the sequences; its suite
//! `model-based` runs others, 2,000 in the long form.
#![cfg(target_os = "linux")]

use crate::project::{ASSETC, Project};
use kiln_fault_injection::faults::model_based::{Tally, run_random_edits};
use std::path::Path;

const STEPS: usize = 8;

fn run_all(seeds: impl Iterator<Item = u64>) {
    let one =
        |tally, seed| run_random_edits(Path::new(ASSETC), Project::in_memory().root(), tally, seed, STEPS);
    let tally = seeds.fold(Tally::default(), one);
    let Tally { builds, whole, idle, lost } = tally;
    assert_eq!(builds, 50 * STEPS);
    // Every kind of edit must occur often enough.
    assert!(
        whole * 4 > builds && (builds - whole) * 6 > builds && idle * 100 > builds && lost * 20 > builds,
        "{tally:?}"
    );
}

#[test]
fn incremental_equals_clean_build_for_even_seeds() {
    run_all((0..100).step_by(2));
}

#[test]
fn incremental_equals_clean_build_for_odd_seeds() {
    run_all((1..100).step_by(2));
}
