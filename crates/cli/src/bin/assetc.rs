//! The `assetc` executable.
fn main() {}
