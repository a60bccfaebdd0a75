//! `--explain CODE`: prints the severity and the description of a diagnostic code.

use crate::reporter::OK;
use crate::terminal::{Color, Out, write_error};
use crate::version;
use clap::Parser;
use kiln_engine::{Code, Severity};
use std::process::ExitCode;

/// Parses the arguments of a tool, like [`Parser::parse`], but first handles `--explain CODE`, which needs no command.
///
/// # Errors
///
/// The exit code, if the code was explained or the version was printed as JSON.
pub fn parse_arguments<C: Parser>() -> Result<C, ExitCode> {
    let relaxed = C::command().subcommand_required(false).arg_required_else_help(false);
    let explained =
        relaxed.try_get_matches().ok().and_then(|found| found.get_one::<Code>("explain").copied());
    let Some(code) = explained else {
        return version::parse();
    };
    Out::new(Color::Auto).line(&explanation(code));
    Err(if write_error().is_none() { OK.into() } else { crate::reporter::FATAL.into() })
}

/// Returns the explanation of a code: its severity, its description and how to change its level.
fn explanation(code: Code) -> String {
    let section = Code::SECTIONS.iter().find(|section| section.codes.contains(&code));
    let section = section.map(|section| section.title).unwrap_or_default();
    let level = match code.severity() {
        Severity::Error => "An error always fails the command; its level cannot be changed.".to_owned(),
        Severity::Warning => {
            let of_other_tool = ["pak-", "unity-"].iter().any(|tool| code.as_str().starts_with(tool));
            let project = format!(" assetc.yml can set its level: `lints: {{ {code}: allow }}`.");
            let project = if of_other_tool { "" } else { &project };
            format!("--deny {code} treats it as an error.{project}")
        }
    };
    format!("{}[{code}] ({section})\n\n{}\n\n{level}", code.severity(), plain(code.meaning()))
}

/// Replaces the links of a Markdown text with their titles.
pub(super) fn plain(markdown: &str) -> String {
    let (mut text, mut rest) = (String::new(), markdown);
    while let Some((before, link)) = rest.split_once('[') {
        text += before;
        match link.split_once("](").and_then(|(title, target)| Some((title, target.split_once(')')?.1))) {
            Some((title, after)) if !title.contains('[') => {
                text += title;
                rest = after;
            }
            _ => {
                text.push('[');
                rest = link;
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explains_every_code_without_links() {
        for &code in Code::ALL {
            let text = explanation(code);
            assert!(text.starts_with(&format!("{}[{code}] (", code.severity())), "{text}");
            assert!(!text.contains("]("), "{text}");
        }
        assert_eq!(plain("a [`b`](c.md#d), e[0] and [f](g)."), "a `b`, e[0] and f.");
    }
}
