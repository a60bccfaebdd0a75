//! Writes the expectations of all golden cases anew: `cargo run -p assetc --example bless`.
//!
//! It touches nothing but `tests/golden/*/expected`, and says which files it changed. Read the diff before you commit
//! it: what stands there is what the tests hold to be right.

#![allow(clippy::print_stdout)]

#[path = "../tests/golden/case.rs"]
mod case;

use case::Case;
use std::fs;

fn main() -> std::io::Result<()> {
    for case in Case::all() {
        let (expected, found) = (case.expected(), case.dumps());
        for name in expected.keys().filter(|name| !found.contains_key(*name)) {
            println!("{}: {name} is gone", case.name);
            fs::remove_file(case.place().join(name))?;
        }
        for (name, text) in found.iter().filter(|(name, text)| expected.get(*name) != Some(text)) {
            println!("{}: {name} is written", case.name);
            let path = case.place().join(name);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, text)?;
        }
    }
    Ok(())
}
