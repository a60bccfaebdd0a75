//! Golden tests: small sources in `tests/golden/<case>/in`, and text dumps of each stage in `expected`.
//!
//! A difference names the file, and thus the stage, and the first line. When it is intended,
//! `cargo run -p assetc --example bless` regenerates the files; review the diff like any other change.

mod case;

use case::Case;
use std::collections::BTreeSet;

/// Describes the first difference of two texts.
fn first_difference(expected: &str, found: &str) -> String {
    let (mut a, mut b) = (expected.lines(), found.lines());
    for line in 1.. {
        match (a.next(), b.next()) {
            (None, None) => return "only the line ends differ".to_owned(),
            (a, b) if a != b => {
                let shown = |text: Option<&str>| text.unwrap_or("(the end)").to_owned();
                return format!("line {line}\n  expected: {}\n  found:    {}", shown(a), shown(b));
            }
            _ => {}
        }
    }
    unreachable!("texts end")
}

#[test]
fn every_case_matches_its_golden_files() {
    let cases = Case::all();
    assert!(cases.len() >= 4, "the cases are in the repository");
    let mut wrong = Vec::new();
    for case in &cases {
        let (expected, found) = (case.expected(), case.dumps());
        let names: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
        for name in names {
            let place = format!("tests/golden/{}/expected/{name}", case.name);
            match (expected.get(name), found.get(name)) {
                (Some(expected), Some(found)) if expected == found => {}
                (Some(expected), Some(found)) => {
                    wrong.push(format!("{place} differs in {}", first_difference(expected, found)));
                }
                (Some(_), None) => wrong.push(format!("{place} is unused: remove it")),
                (None, _) => wrong.push(format!("{place} is missing")),
            }
        }
    }
    let hint = "if the difference is intended: cargo run -p assetc --example bless";
    assert!(wrong.is_empty(), "{}\n{hint}", wrong.join("\n"));
}

#[test]
fn cases_have_no_unused_files() {
    for case in Case::all() {
        assert_eq!(case.strays(), Vec::<String>::new(), "in tests/golden/{}", case.name);
    }
}

#[test]
fn reports_first_difference() {
    assert_eq!(first_difference("a\nb\n", "a\nc\n"), "line 2\n  expected: b\n  found:    c");
    assert_eq!(first_difference("a\n", "a\nb\n"), "line 2\n  expected: (the end)\n  found:    b");
}
