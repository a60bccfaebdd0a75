//! Prints the severity and the description of diagnostic codes:
//! `cargo run -p kiln-diagnostics --example explain image-too-large`.

use kiln_diagnostics::{Code, nearest};

#[expect(clippy::print_stdout, reason = "an example that prints its result")]
fn main() {
    for name in std::env::args().skip(1) {
        match name.parse::<Code>() {
            Ok(code) => println!("{}[{code}]: {}", code.severity(), code.meaning()),
            Err(error) => match nearest(&name, Code::ALL.iter().map(|code| code.as_str())) {
                Some(near) => println!("{name}: {error}; did you mean '{near}'?"),
                None => println!("{name}: {error}"),
            },
        }
    }
}
