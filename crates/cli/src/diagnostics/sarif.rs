//! SARIF 2.1.0, the format in which static analysis tools exchange results: one run with the rules and results of a tool.

use super::Position;
use super::explain::plain;
use kiln_engine::{Code, Diag, Json, Severity};
use std::collections::BTreeSet;
use std::path::Path;

/// The address of the schema of SARIF 2.1.0.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Makes the document. The paths of the diagnostics are relative to the root of the checkout, or absolute.
pub(super) fn document(tool: &str, exit_code: u8, diags: &[(Severity, Diag)]) -> Json {
    let codes: Vec<Code> =
        diags.iter().map(|(_, diag)| diag.code).collect::<BTreeSet<_>>().into_iter().collect();
    let rules = codes.iter().map(|code| {
        Json::object([
            ("id", code.as_str().into()),
            ("shortDescription", text(plain(code.meaning()))),
            ("help", text(plain(code.meaning()))),
            ("defaultConfiguration", Json::object([("level", code.severity().to_string().into())])),
        ])
    });
    let driver = Json::object([
        ("name", tool.into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("rules", Json::list(rules)),
    ]);
    let results = diags.iter().map(|(severity, diag)| {
        let rule = codes.binary_search(&diag.code).unwrap_or_default();
        result(diag, *severity, rule)
    });
    let invocation = Json::object([
        ("executionSuccessful", (exit_code < crate::reporter::FATAL).into()),
        ("exitCode", u32::from(exit_code).into()),
    ]);
    let run = Json::object([
        ("tool", Json::object([("driver", driver)])),
        ("invocations", Json::List(vec![invocation])),
        ("columnKind", "unicodeCodePoints".into()),
        ("results", Json::list(results)),
    ]);
    Json::object([("$schema", SCHEMA.into()), ("version", "2.1.0".into()), ("runs", Json::List(vec![run]))])
}

fn result(diag: &Diag, severity: Severity, rule: usize) -> Json {
    let message = match &diag.hint {
        Some(hint) => format!("{} ({hint})", diag.message),
        None => diag.message.clone(),
    };
    let mut members = vec![
        ("ruleId".to_owned(), diag.code.as_str().into()),
        ("ruleIndex".to_owned(), rule.into()),
        ("level".to_owned(), severity.to_string().into()),
        ("message".to_owned(), text(message)),
    ];
    if let Some(path) = &diag.path {
        members.push(("locations".to_owned(), Json::List(vec![location(diag, path)])));
    }
    Json::Object(members)
}

fn location(diag: &Diag, path: &str) -> Json {
    let artifact = Json::object([("uri", uri(path).into())]);
    let mut physical = vec![("artifactLocation".to_owned(), artifact)];
    let position = Position::of(diag);
    if let Some(Position { line, column }) = position {
        let mut region = vec![("startLine".to_owned(), Json::from(line))];
        region.extend(column.map(|column| ("startColumn".to_owned(), column.into())));
        physical.push(("region".to_owned(), Json::Object(region)));
    }
    let mut members = vec![("physicalLocation".to_owned(), Json::Object(physical))];
    if let (Some(at), None) = (&diag.at, position) {
        let logical = Json::object([("fullyQualifiedName", at.as_str().into())]);
        members.push(("logicalLocations".to_owned(), Json::List(vec![logical])));
    }
    Json::Object(members)
}

fn text(text: String) -> Json {
    Json::object([("text", text.into())])
}

/// Returns a path as a URI reference: percent-encoded, and with the scheme `file` if it is absolute.
fn uri(path: &str) -> String {
    let keep = |b: u8| b.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&b);
    let encoded: String =
        path.bytes().map(|b| if keep(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect();
    match Path::new(path).is_absolute() {
        true => format!("file://{}{encoded}", if encoded.starts_with('/') { "" } else { "/" }),
        false => encoded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_paths_as_uri_references() {
        assert_eq!(uri("a b/ü#?%:[1].png"), "a%20b/%C3%BC%23%3F%25%3A%5B1%5D.png");
        #[cfg(unix)]
        assert_eq!(uri("/a/b.png"), "file:///a/b.png");
    }

    #[test]
    fn results_refer_to_their_rules() {
        let diags = [
            (Severity::Warning, Diag::new(Code::SymlinkIgnored, "m").path("a.png").at("skins[1]")),
            (Severity::Error, Diag::new(Code::FileEmpty, "n").path("b.png").at("2:3").hint("h")),
        ];
        let document = document("assetc", 1, &diags);
        let run = &document.get("runs").unwrap().items().unwrap()[0];
        let rules = run.get("tool").unwrap().get("driver").unwrap().get("rules").unwrap().items().unwrap();
        let results = run.get("results").unwrap().items().unwrap();
        assert_eq!((rules.len(), results.len()), (2, 2));
        for result in results {
            let rule = &rules[result.get("ruleIndex").unwrap().number().unwrap() as usize];
            assert_eq!(rule.get("id"), result.get("ruleId"));
        }
    }
}
