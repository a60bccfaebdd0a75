//! The `assetc` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    kiln_cli::assetc::main()
}
