//! The console sessions with `pak` in the guide print what the documents show.

#![cfg(all(unix, feature = "cli"))]

#[path = "../../cli/tests/console/session.rs"]
mod session;

#[test]
fn recipe_sessions_match() {
    session::check("docs/guide/recipes.md", "pak", env!("CARGO_BIN_EXE_pak"));
}
