//! `--version`: the version with the commit and its date, as a line or with `--json` as an object.

use crate::reporter::{FATAL, OK};
use crate::terminal::{Color, Out, write_error};
use clap::Parser;
use kiln_engine::Json;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::sync::LazyLock;

/// The commit that a release was built from. `packaging/dist.py` sets both; other builds do not know them, and do not ask
/// git, so that the same sources give the same executable.
const COMMIT: Option<&str> = option_env!("KILN_COMMIT");
/// The date of the commit, as `YYYY-MM-DD`.
const COMMIT_DATE: Option<&str> = option_env!("KILN_COMMIT_DATE");
/// The version of all tools.
const VERSION: &str = env!("CARGO_PKG_VERSION");

static LINE: LazyLock<String> = LazyLock::new(|| line(COMMIT, COMMIT_DATE));

/// Parses the command line of a tool, like [`Parser::parse`]. `--version` names the commit of a release; `--version --json`
/// prints an object.
///
/// # Errors
///
/// The exit code, if the version was printed as JSON.
pub(crate) fn parse<C: Parser>() -> Result<C, ExitCode> {
    let command = C::command().version(LINE.as_str());
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if wants_json(&arguments) {
        let object = object(command.get_name(), COMMIT, COMMIT_DATE);
        Out::new(Color::Never).line(&object.to_string());
        return Err(if write_error().is_none() { OK.into() } else { FATAL.into() });
    }
    Ok(C::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit()))
}

/// Returns true if the version is asked for as JSON, before any `--`.
fn wants_json(arguments: &[OsString]) -> bool {
    let flags = arguments.iter().take_while(|argument| *argument != "--");
    let has = |names: &[&str]| flags.clone().any(|flag| names.iter().any(|name| flag == OsStr::new(name)));
    has(&["--version", "-V"]) && has(&["--json"])
}

fn line(commit: Option<&str>, date: Option<&str>) -> String {
    match (commit.and_then(|commit| commit.get(..12)), date) {
        (Some(commit), Some(date)) => format!("{VERSION} ({commit} {date})"),
        _ => VERSION.to_owned(),
    }
}

fn object(tool: &str, commit: Option<&str>, date: Option<&str>) -> Json {
    let text = |value: Option<&str>| value.map_or(Json::Null, |value| Json::Text(value.to_owned()));
    Json::object([
        ("name", Json::Text(tool.to_owned())),
        ("version", Json::Text(VERSION.to_owned())),
        ("commit", text(commit)),
        ("date", text(date)),
        ("os", Json::Text(std::env::consts::OS.to_owned())),
        ("arch", Json::Text(std::env::consts::ARCH.to_owned())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_commit_of_a_release() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(line(Some(commit), Some("2026-11-17")), format!("{VERSION} (0123456789ab 2026-11-17)"));
        assert_eq!(line(None, None), VERSION);
        let json = object("assetc", Some(commit), None).to_string();
        assert!(json.contains(&format!("\"commit\":\"{commit}\",\"date\":null")), "{json}");
    }

    #[test]
    fn json_needs_both_flags_before_the_arguments() {
        let wants = |line: &str| wants_json(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(wants("--version --json") && wants("--json -V"));
        assert!(!wants("--version") && !wants("--json") && !wants("build -- --version --json"));
    }
}
