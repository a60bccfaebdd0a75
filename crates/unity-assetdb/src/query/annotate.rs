//! Replaces references in text with names and paths, to make diffs, logs and YAML readable.

use super::inner::{Inner, TargetStatus};
use crate::index::{Index, Result};
use crate::refs;

/// Replaces every reference in a line that the index can name: `{fileID: 21300000, guid: 8f57…, type: 3}` becomes
/// `{Flag (Sprite) Assets/Flag.png}`.
///
/// # Errors
/// If the index is damaged.
pub fn annotate(index: &Index, inner: &mut Inner<'_>, line: &str) -> Result<String> {
    let mut found = Vec::new();
    refs::scan(line.as_bytes(), 0, |each| found.push(each));
    let mut out = String::with_capacity(line.len());
    let mut from = 0;
    for each in found {
        let Some(label) = label(index, inner, each.guid, each.file_id)? else { continue };
        let span = each.span(line.as_bytes());
        if span.start < from || !line.is_char_boundary(span.start) || !line.is_char_boundary(span.end) {
            continue;
        }
        out.push_str(&line[from..span.start]);
        out.push_str(&format!("{{{label}}}"));
        from = span.end;
    }
    out.push_str(&line[from..]);
    Ok(out)
}

/// Returns whether a line ends inside a reference, as Unity wraps long lines; the next line then has its end.
pub fn is_wrapped(line: &str) -> bool {
    line.rfind("{fileID:").is_some_and(|at| !line[at..].contains('}') && line.len() - at < 200)
}

/// Appends the rest of a wrapped reference. In a diff, both lines have the same mark before them.
pub fn join_wrapped(line: &mut String, next: &str) {
    let mark = line.chars().next().filter(|mark| matches!(mark, '+' | '-'));
    let next = mark.and_then(|mark| next.strip_prefix(mark)).unwrap_or(next);
    line.truncate(line.trim_end().len());
    line.push(' ');
    line.push_str(next.trim_start());
}

/// Returns the label of a reference, such as `Flag (Sprite) Assets/Flag.png`; `None` if no asset has the GUID.
///
/// # Errors
/// If the index is damaged.
pub fn label(index: &Index, inner: &mut Inner<'_>, guid: u128, file_id: i64) -> Result<Option<String>> {
    let _ = index;
    let target = inner.target(guid, file_id)?;
    Ok(match target.status {
        TargetStatus::UnknownGuid => None,
        TargetStatus::UnknownBuiltIn => Some(target.status.describe().to_owned()),
        TargetStatus::BuiltIn => Some(format!("{} ({}) built-in", target.name, target.type_name)),
        TargetStatus::KnownScript => {
            Some(format!("{} ({}) {}", target.name, target.type_name, target.status.describe()))
        }
        TargetStatus::NoSuchObject | TargetStatus::Opaque => {
            let kind = if target.type_name.is_empty() { target.status.describe() } else { &target.type_name };
            Some(format!("object {file_id} ({kind}) {}", target.path))
        }
        _ => Some(format!("{} ({}) {}", target.name, target.type_name, target.path)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_references_over_two_lines() {
        let check = |first: &str, second: &str, joined: &str| {
            assert!(is_wrapped(first), "{first}");
            let mut line = first.to_owned();
            join_wrapped(&mut line, second);
            assert_eq!(line, joined);
            assert!(!is_wrapped(&line));
        };
        check("  a: {fileID: 1, guid: x,", "    type: 3}", "  a: {fileID: 1, guid: x, type: 3}");
        check("+  a: {fileID: 1,", "+    guid: x, type: 3}", "+  a: {fileID: 1, guid: x, type: 3}");
        assert!(
            !is_wrapped("  a: {fileID: 1, guid: x, type: 3}")
                && !is_wrapped("  a: {fileID: 5}")
                && !is_wrapped("")
        );
    }
}
