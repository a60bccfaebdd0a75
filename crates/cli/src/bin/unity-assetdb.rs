//! The `unity-assetdb` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    kiln_cli::unity_assetdb::main()
}
