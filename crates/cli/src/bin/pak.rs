//! The `pak` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    kiln_cli::pak::main()
}
