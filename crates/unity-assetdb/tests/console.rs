//! The console sessions with `unity-assetdb` in README and guide print what the documents show.

#![cfg(all(unix, feature = "cli"))]

#[path = "../../cli/tests/console/session.rs"]
mod session;

#[test]
fn readme_sessions_match() {
    session::check("README.md", "unity-assetdb", env!("CARGO_BIN_EXE_unity-assetdb"));
}

#[test]
fn recipe_sessions_match() {
    session::check("docs/guide/recipes.md", "unity-assetdb", env!("CARGO_BIN_EXE_unity-assetdb"));
}

#[test]
fn reference_sessions_match() {
    session::check("docs/reference/unity-assetdb.md", "unity-assetdb", env!("CARGO_BIN_EXE_unity-assetdb"));
}
