//! The console sessions with `assetc` in README and guide print what the documents show.

#![cfg(all(unix, feature = "cli"))]

#[path = "../../cli/tests/console/session.rs"]
mod session;

#[test]
fn readme_sessions_match() {
    session::check("README.md", "assetc", env!("CARGO_BIN_EXE_assetc"));
}

#[test]
fn getting_started_sessions_match() {
    session::check("docs/guide/getting-started.md", "assetc", env!("CARGO_BIN_EXE_assetc"));
}

#[test]
fn recipe_sessions_match() {
    session::check("docs/guide/recipes.md", "assetc", env!("CARGO_BIN_EXE_assetc"));
}

#[test]
fn one_file_sessions_match() {
    session::check("docs/guide/one-file.md", "assetc", env!("CARGO_BIN_EXE_assetc"));
}

#[test]
fn report_sessions_match() {
    session::check("docs/guide/report.md", "assetc", env!("CARGO_BIN_EXE_assetc"));
}
