//! The `review` command: the changes of a branch in Unity's terms, as text, Markdown or JSON.

use super::args::{ReviewArgs, ReviewFormat};
use super::check;
use super::git::Git;
use super::{Failure, Session};
use ::unity_assetdb::index::Index;
use ::unity_assetdb::query::check::Finding;
use ::unity_assetdb::query::review::{FileVersions, ObjectChange, Review, ValueChange, review as summarize};
use kiln_cli::render;
use kiln_cli::reporter::OK;
use kiln_engine::{Code, Diag, Json};
use std::path::Path;

/// The maximum number of values of one object in the forms for people.
const MAX_VALUES: usize = 20;
/// The maximum length of a value in the forms for people, in characters.
const MAX_VALUE: usize = 120;

pub(super) fn review(session: &Session, args: &ReviewArgs) -> Result<u8, Failure> {
    let (root, index) = session.index()?;
    let (summary, broken) = summary(&index, &root, &args.range)?;
    let format = if session.reporter.json { ReviewFormat::Json } else { args.format };
    let mut out = session.reporter.out();
    match format {
        ReviewFormat::Text => out.line(&text(&summary, &broken)),
        ReviewFormat::Markdown => out.line(&markdown(&summary, &broken)),
        ReviewFormat::Json => out.line(&json(&summary, &broken).to_string()),
    }
    Ok(OK)
}

/// Returns the changes of a range `BASE..HEAD` (from the point where HEAD left BASE), and the problems that they introduce,
/// if HEAD is checked out.
pub(super) fn summary(index: &Index, root: &Path, range: &str) -> Result<(Review, Vec<Finding>), Failure> {
    let (base, head) = match range.split_once("..") {
        Some((base, head)) => (base, head.trim_start_matches('.')),
        None => (range, ""),
    };
    let head = if head.is_empty() { "HEAD" } else { head };
    if base.is_empty() {
        let message = format!("expected a range BASE..HEAD, found {range:?}");
        return Err(Diag::new(Code::Usage, message).into());
    }
    let git = Git::open(root)?;
    let from = git.merge_base(base, head)?;
    let to = git.commit(head)?;
    let changes = git.changes_between(&from, &to)?;
    let blobs = git.blobs()?;
    // The `.meta` files first, which tell the paths of assets that were removed.
    let (metas, others): (Vec<_>, Vec<_>) = changes.iter().partition(|(path, _)| path.ends_with(".meta"));
    let versions = metas.into_iter().chain(others).map(|(path, (changed, new))| FileVersions {
        path: path.clone(),
        old: changed.read(&blobs),
        new: new.as_deref().and_then(|name| blobs.read(name)),
    });
    let summary = summarize(index, root, versions)?;
    let is_checked_out = git.commit("HEAD")? == to;
    let broken = if is_checked_out { check::since(index, root, &from)? } else { Vec::new() };
    Ok((summary, broken))
}

fn is_empty(review: &Review) -> bool {
    review.added.is_empty()
        && review.removed.is_empty()
        && review.moved.is_empty()
        && review.files.is_empty()
        && review.other.is_empty()
}

/// Formats the title of an object: `GameObject Pole`, `Transform of Pole`, with the old name if it was renamed.
fn title(change: &ObjectChange) -> String {
    let name = match (&change.old_name, &*change.name) {
        (_, "") => change.class.clone(),
        (_, name) if matches!(&*change.class, "GameObject" | "MonoBehaviour" | "Material") => {
            format!("{} {name}", change.class)
        }
        (_, name) => format!("{} of {name}", change.class),
    };
    match &change.old_name {
        Some(old) => format!("{name} (was {old})"),
        None => name,
    }
}

fn shortened(value: &str) -> String {
    match value.char_indices().nth(MAX_VALUE) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.to_owned(),
    }
}

fn value_line(value: &ValueChange) -> String {
    let property = &value.property;
    match (&value.old, &value.new) {
        (Some(old), Some(new)) => format!("{property}: {} → {}", shortened(old), shortened(new)),
        (None, Some(new)) => format!("{property}: + {}", shortened(new)),
        (Some(old), None) => format!("{property}: - {}", shortened(old)),
        (None, None) => property.clone(),
    }
}

/// The sections of the forms for people: title and entries.
fn sections(review: &Review) -> Vec<(&'static str, Vec<String>)> {
    let moved = review.moved.iter().map(|(old, new)| format!("{old} → {new}")).collect();
    vec![
        ("Added", review.added.clone()),
        ("Removed", review.removed.clone()),
        ("Moved or renamed", moved),
        ("Other files changed", review.other.clone()),
    ]
}

fn text(review: &Review, broken: &[Finding]) -> String {
    let mut lines = Vec::new();
    if is_empty(review) {
        lines.push("no asset changed".to_owned());
    }
    for (title, entries) in sections(review).into_iter().filter(|(_, entries)| !entries.is_empty()) {
        lines.push(format!("{title}:"));
        lines.extend(entries.iter().map(|entry| format!("  {entry}")));
    }
    for file in &review.files {
        lines.push(format!("{}:", file.path));
        for change in &file.objects {
            lines.push(format!("  {} {}", change.kind.as_str(), title(change)));
            lines.extend(
                change.values.iter().take(MAX_VALUES).map(|value| format!("    {}", value_line(value))),
            );
            if change.values.len() > MAX_VALUES {
                lines.push(format!("    and {} more", change.values.len() - MAX_VALUES));
            }
        }
    }
    if !broken.is_empty() {
        lines.push("New problems:".to_owned());
        lines.extend(broken.iter().map(|finding| format!("  {}", finding.diag)));
    }
    lines.join("\n")
}

/// Escapes a string for Markdown: names of objects and files are untrusted.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '!' | '&' | '@' => {
                // An at sign would notify the user of that name.
                out.push_str(&match c {
                    '<' => "&lt;".to_owned(),
                    '>' => "&gt;".to_owned(),
                    '&' => "&amp;".to_owned(),
                    '@' => "&#64;".to_owned(),
                    c => format!("\\{c}"),
                });
            }
            c => out.push(c),
        }
    }
    out
}

fn markdown(review: &Review, broken: &[Finding]) -> String {
    let mut lines = vec!["## Unity changes".to_owned(), String::new()];
    if is_empty(review) {
        lines.push("No asset changed.".to_owned());
    }
    if !broken.is_empty() {
        lines.push(format!("### {}", render::count(broken.len(), "new problem", "new problems")));
        lines.push(String::new());
        lines.extend(broken.iter().map(|finding| format!("- {}", escaped(&finding.diag.to_string()))));
        lines.push(String::new());
    }
    for (title, entries) in sections(review).into_iter().filter(|(_, entries)| !entries.is_empty()) {
        lines.push(format!("### {title}"));
        lines.push(String::new());
        lines.extend(entries.iter().map(|entry| format!("- {}", escaped(entry))));
        lines.push(String::new());
    }
    for file in &review.files {
        lines.push(format!("### {}", escaped(&file.path)));
        lines.push(String::new());
        for change in &file.objects {
            lines.push(format!("- {} **{}**", change.kind.as_str(), escaped(&title(change))));
            let values = change.values.iter().take(MAX_VALUES);
            lines.extend(values.map(|value| format!("  - {}", escaped(&value_line(value)))));
            if change.values.len() > MAX_VALUES {
                lines.push(format!("  - and {} more", change.values.len() - MAX_VALUES));
            }
        }
        lines.push(String::new());
    }
    lines.join("\n").trim_end().to_owned()
}

pub(super) fn json(review: &Review, broken: &[Finding]) -> Json {
    let strings = |list: &[String]| Json::list(list.iter().map(String::as_str));
    let moved = review
        .moved
        .iter()
        .map(|(old, new)| Json::object([("old", old.as_str().into()), ("new", new.as_str().into())]));
    let value = |value: &ValueChange| {
        Json::object([
            ("property", value.property.as_str().into()),
            ("old", value.old.as_deref().into()),
            ("new", value.new.as_deref().into()),
        ])
    };
    let object = |change: &ObjectChange| {
        Json::object([
            ("change", change.kind.as_str().into()),
            ("fileID", change.file_id.to_string().into()),
            ("type", change.class.as_str().into()),
            ("name", change.name.as_str().into()),
            ("oldName", change.old_name.as_deref().into()),
            ("values", Json::list(change.values.iter().map(value))),
        ])
    };
    let files = review.files.iter().map(|file| {
        Json::object([
            ("path", file.path.as_str().into()),
            ("objects", Json::list(file.objects.iter().map(object))),
        ])
    });
    Json::object([
        ("added", strings(&review.added)),
        ("removed", strings(&review.removed)),
        ("moved", Json::list(moved)),
        ("files", Json::list(files)),
        ("other", strings(&review.other)),
        ("problems", Json::list(broken.iter().map(|finding| render::diag_json(&finding.diag)))),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_escapes_names() {
        assert_eq!(escaped("a_b*[x](y) <img> @all\n`c`"), "a\\_b\\*\\[x\\](y) &lt;img&gt; &#64;all \\`c\\`");
    }
}
