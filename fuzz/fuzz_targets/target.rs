//! The libFuzzer executable of the target of kiln-fuzz-targets with the same name.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

static RUN: OnceLock<fn(&[u8])> = OnceLock::new();

fuzz_target!(init: {
    let name = env!("CARGO_BIN_NAME");
    let target = kiln_fuzz_targets::target(name).unwrap_or_else(|| panic!("no target {name}"));
    let _ = RUN.set(target.run);
}, |bytes: &[u8]| {
    if let Some(run) = RUN.get() {
        run(bytes);
    }
});
