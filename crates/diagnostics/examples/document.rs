//! Generates `docs/reference/diagnostics.md` from the table of codes.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/diagnostics.md");
    std::fs::write(file, kiln_diagnostics::document())
}
