//! Regenerates the golden files of all cases: `cargo run -p assetc --example bless`.
//!
//! The program writes only to `tests/golden/*/expected`, and prints the files that it changed. Review the diff before you
//! commit it: the golden files are the expectations of the tests.

#![allow(clippy::print_stdout)]

#[path = "../tests/golden/case.rs"]
mod case;

use case::Case;
use std::fs;

fn main() -> std::io::Result<()> {
    for case in Case::all() {
        let (expected, found) = (case.expected(), case.dumps());
        for name in expected.keys().filter(|name| !found.contains_key(*name)) {
            println!("{}: removed {name}", case.name);
            fs::remove_file(case.expected_dir().join(name))?;
        }
        for (name, text) in found.iter().filter(|(name, text)| expected.get(*name) != Some(text)) {
            println!("{}: wrote {name}", case.name);
            let path = case.expected_dir().join(name);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, text)?;
        }
    }
    Ok(())
}
