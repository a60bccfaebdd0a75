//! Writes the results into the documentation: the text between `<!-- bench: NAME -->` and `<!-- /bench -->` is
//! regenerated from `bench/results.json`.
//!
//! A name is that of a block: that of its table (`mesh`), with an optional suffix (`mesh-levels`). Or it is one of these:
//! `headlines`, the table of the README; `runs`, date and machine of each table; `missing`, what could not be measured.

use crate::headlines;
use crate::results::{Results, Run};
use crate::tables;
use std::fs;
use std::path::Path;

/// Documents with generated tables.
const FILES: [&str; 4] =
    ["README.md", "docs/internals/performance.md", "docs/internals/bc7.md", "docs/internals/uastc.md"];
const OPEN: &str = "<!-- bench: ";
const CLOSE: &str = "<!-- /bench -->";

/// Fills all files, or with `check` reports the files that would change.
pub fn fill(root: &Path, check: bool) -> Result<(), String> {
    let results = Results::read(&root.join("bench/results.json"))?;
    let mut stale = Vec::new();
    for file in FILES {
        let path = root.join(file);
        let old = fs::read_to_string(&path).map_err(|e| format!("{file}: {e}"))?;
        let new = filled(&old, &results).map_err(|why| format!("{file}: {why}"))?;
        if new == old {
            continue;
        }
        if check {
            stale.push(file);
        } else {
            fs::write(&path, new).map_err(|e| format!("{file}: {e}"))?;
            println!("{file}");
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("{} do not say what bench/results.json says; run this without --check", stale.join(", ")))
}

/// Returns the text with every marker filled.
fn filled(text: &str, results: &Results) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(OPEN) {
        let (before, after) = rest.split_at(at);
        let (name, body) = after[OPEN.len()..].split_once(" -->").ok_or("a marker without an end")?;
        let end = body.find(CLOSE).ok_or_else(|| format!("{name} is never closed"))?;
        let content = content(name, results)?;
        out += &format!("{before}{OPEN}{name} -->\n{content}\n{CLOSE}");
        rest = &body[end + CLOSE.len()..];
    }
    Ok(out + rest)
}

/// Returns the generated text of a marker.
fn content(name: &str, results: &Results) -> Result<String, String> {
    match name {
        "headlines" => return Ok(headlines::table(results)),
        "runs" => return Ok(runs(results)),
        "missing" => return Ok(missing(results)),
        _ => {}
    }
    // A block is named after its table, or starts with its name; `pak-real` is a table of its own beside `pak`.
    let is_of =
        |table: &&str| name.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    let Some(table) = tables::NAMES.into_iter().filter(is_of).max_by_key(|table| table.len()) else {
        return Err(format!("no table is called {name}"));
    };
    let block = results.get(table).and_then(|run| run.block(name));
    Ok(block.map_or_else(|| "Not measured.".to_owned(), |block| block.markdown()))
}

/// Lists date, machine and load average of each table.
fn runs(results: &Results) -> String {
    let mut lines = vec![
        "| table | made (UTC) | took | load average before | files on |".to_owned(),
        "|---|---|---|---|---|".to_owned(),
    ];
    let mut machines: Vec<&str> = Vec::new();
    for name in tables::NAMES {
        let Some(run) = results.get(name) else { continue };
        let Run { when, seconds, load, machine, files, .. } = run;
        lines.push(format!("| {name} | {when} | {seconds} s | {load} | {files} |"));
        if !machines.contains(&machine.as_str()) {
            machines.push(machine);
        }
    }
    format!("{}\n\nOn {}.", lines.join("\n"), machines.join("; and on "))
}

/// Lists the measurements that are missing, one per line.
fn missing(results: &Results) -> String {
    let mut lines = Vec::new();
    for name in tables::NAMES {
        match results.get(name) {
            None => lines.push(format!("- {name}: all of it")),
            Some(run) => lines.extend(run.missing.iter().map(|what| format!("- {name}: {what}"))),
        }
    }
    if lines.is_empty() { "Nothing is missing.".to_owned() } else { lines.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::parse;

    fn results() -> Results {
        let (blocks, missing) = parse("| a | b |\n|---|---|\n| x | 1 |\n\nmissing: a rival\n", "warm");
        let mut results = Results::default();
        results.put("warm", Run { blocks, missing, load: "0.1 0.2 0.3".into(), ..Run::default() });
        results
    }

    #[test]
    fn places_are_filled_and_the_rest_is_left() {
        let text =
            "A\n<!-- bench: warm -->\nold\n<!-- /bench -->\nB\n<!-- bench: missing --><!-- /bench -->\n";
        let new = filled(text, &results()).expect("both are known");
        assert!(
            new.starts_with("A\n<!-- bench: warm -->\n| a | b |\n|---|---|\n| x | 1 |\n<!-- /bench -->\nB\n"),
            "{new}"
        );
        assert!(new.contains("- warm: a rival\n") && new.contains("\n- cold: all of it\n"), "{new}");
        assert_eq!(filled(&new, &results()).expect("the same"), new);
    }

    #[test]
    fn what_is_not_known_or_not_closed_is_an_error() {
        assert!(
            filled("<!-- bench: warmer -->\n<!-- /bench -->", &results())
                .is_err_and(|e| e.contains("warmer"))
        );
        assert!(
            filled("<!-- bench: cold -->\n<!-- /bench -->", &results())
                .is_ok_and(|text| text.contains("Not measured."))
        );
        assert!(filled("<!-- bench: warm -->\n", &results()).is_err_and(|e| e.contains("never closed")));
    }
}
