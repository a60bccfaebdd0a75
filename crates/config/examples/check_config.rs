//! Reads a `config.yml` and prints its diagnostics:
//! `cargo run -p kiln-config --example check_config FILE`.

use kiln_config::user::UserConfig;
use std::path::Path;

#[expect(clippy::print_stdout, reason = "an example that prints its result")]
fn main() {
    for file in std::env::args().skip(1) {
        match UserConfig::load(Path::new(&file)) {
            Ok(config) if config.warnings().is_empty() => println!("{file}: valid"),
            Ok(config) => config.warnings().iter().for_each(|warning| println!("{warning}")),
            Err(error) => println!("{error}"),
        }
    }
}
