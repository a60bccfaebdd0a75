//! Replaces references in text with names and paths, to make diffs, logs and YAML readable.

use super::inner::Inner;
use crate::class_id::class_name;
use crate::index::{Index, Resolved, Result};
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

/// Returns the label of a reference, such as `Flag (Sprite) Assets/Flag.png`; `None` if no asset has the GUID.
///
/// # Errors
/// If the index is damaged.
pub fn label(index: &Index, inner: &mut Inner<'_>, guid: u128, file_id: i64) -> Result<Option<String>> {
    let Some(resolved) = index.resolve(guid, file_id)? else { return Ok(None) };
    let hint = resolved.entry().hint()?;
    let (name, kind) = match resolved {
        Resolved::Asset(entry) => (entry.name()?.to_owned(), short_type(index, &entry.type_name()?)?),
        Resolved::Sub(_, sub) => (sub.name.to_owned(), class_name(sub.class_id).into_owned()),
        Resolved::Inner(entry) => match inner.find(guid, file_id)? {
            Some(object) if !object.name.is_empty() => {
                (object.name, class_name(object.class_id).into_owned())
            }
            Some(object) => (entry.name()?.to_owned(), class_name(object.class_id).into_owned()),
            None => (entry.name()?.to_owned(), format!("object {file_id}")),
        },
    };
    Ok(Some(format!("{name} ({kind}) {hint}")))
}

/// Replaces the GUID in a type name (`Script:8f57…`) with the name of the script, if it is in the project.
///
/// # Errors
/// If the index is damaged.
pub fn short_type(index: &Index, kind: &str) -> Result<String> {
    let script = kind.strip_prefix("Script:").and_then(crate::guid::parse);
    let Some(script) = script else { return Ok(kind.to_owned()) };
    Ok(match index.find_by_guid(script)? {
        Some(entry) => entry.name()?.to_owned(),
        None => kind.to_owned(),
    })
}
