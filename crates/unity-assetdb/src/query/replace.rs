//! Rewrites references to one asset or object so that they point to another. Only the tokens of references change: the fileID,
//! the GUID and the type between their braces; every other byte of a file stays.

use crate::guid::{self, Guid};
use crate::index::{Entry, Index, Resolved, Result};
use crate::{meta, refs};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// The maximum size of a file that is rewritten, in bytes.
const MAX_FILE_SIZE: u64 = 512 << 20;

/// One side of a replacement: an asset with all its objects, or one object in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplaceTarget {
    /// The GUID of the asset.
    pub guid: u128,
    /// The fileID of the object; `None` for the asset with all its objects.
    pub file_id: Option<i64>,
}

impl ReplaceTarget {
    /// Makes a target.
    pub fn new(guid: u128, file_id: Option<i64>) -> ReplaceTarget {
        ReplaceTarget { guid, file_id }
    }
}

/// The plan of a replacement: the new content of files. Nothing is written.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Replacement {
    /// The files that change, by path relative to the project.
    pub files: BTreeMap<String, RewrittenFile>,
    /// References that stay, because the new asset has no object that corresponds to theirs: path, line and fileID.
    pub skipped: Vec<(String, u32, i64)>,
}

/// A file with rewritten references.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RewrittenFile {
    /// The content on disk.
    pub old: Vec<u8>,
    /// The content to write.
    pub new: Vec<u8>,
    /// The number of references that changed.
    pub count: usize,
}

/// Plans the replacement of all references to `old` by references to `new`. A reference to the main object of the old asset
/// becomes one to the main object of the new one; a reference to another object keeps its fileID, if the new asset has such an
/// object.
///
/// # Errors
/// If the index is damaged.
pub fn replace(index: &Index, root: &Path, old: ReplaceTarget, new: ReplaceTarget) -> Result<Replacement> {
    let mut plan = Replacement::default();
    let Some(target) = index.find_by_guid(new.guid)? else { return Ok(plan) };
    let source = index.find_by_guid(old.guid)?;
    let kind = reference_type(root, &target)?;
    let mut paths: Vec<String> = Vec::new();
    for (entry, reference) in index.uses(old.guid)? {
        let hint = entry.hint()?;
        paths.push(if reference.in_meta { format!("{hint}.meta") } else { hint.clone() });
        // The row of a file and object has one line; other occurrences may be in the `.meta`.
        if !entry.is_settings() {
            paths.push(format!("{hint}.meta"));
            paths.push(hint);
        }
    }
    paths.sort();
    paths.dedup();
    for path in paths {
        // A link would be replaced by a file.
        let is_file = std::fs::symlink_metadata(root.join(&path)).is_ok_and(|meta| meta.is_file());
        let mut text = Vec::new();
        let read = kiln_engine::regular_file::open(&root.join(&path))
            .and_then(|file| file.take(MAX_FILE_SIZE + 1).read_to_end(&mut text));
        if read.is_err() || !is_file || text.len() as u64 > MAX_FILE_SIZE {
            continue;
        }
        // The `guid:` of a `.meta` at its start is the asset's own.
        let own = path.ends_with(".meta").then(|| meta::parse(&text).guid).flatten();
        if own == Some(old.guid) {
            continue;
        }
        let mut failed = None;
        let rewritten = rewrite(&text, old, |file_id| {
            let mapped = map_file_id(index, source.as_ref(), &target, old, new, file_id);
            let mapped = mapped.unwrap_or_else(|error| {
                failed.get_or_insert(error);
                None
            });
            Some((new.guid, mapped?, kind))
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let (content, count, skipped) = rewritten;
        plan.skipped.extend(skipped.into_iter().map(|(line, id)| (path.clone(), line, id)));
        if count > 0 {
            plan.files.insert(path, RewrittenFile { old: text, new: content, count });
        }
    }
    Ok(plan)
}

/// Returns the fileID of the object in the new asset; `None` if there is none that corresponds.
fn map_file_id(
    index: &Index,
    source: Option<&Entry<'_>>,
    target: &Entry<'_>,
    old: ReplaceTarget,
    new: ReplaceTarget,
    file_id: i64,
) -> Result<Option<i64>> {
    if let Some(id) = new.file_id {
        return Ok(Some(id));
    }
    // A GUID without a fileID stays one.
    if file_id == 0 {
        return Ok(Some(0));
    }
    let was_main = source.is_none_or(|source| source.answers_to(file_id));
    let fits = !matches!(index.resolve(target.guid(), file_id)?, Some(Resolved::Inner(_)) | None);
    Ok(match (fits, was_main || old.file_id.is_some()) {
        (true, _) => Some(file_id),
        (false, true) => Some(target.main_file_id()),
        (false, false) => None,
    })
}

/// Returns the `type` of references to an asset: 2 for assets in Unity's own format, 3 for imported ones.
fn reference_type(root: &Path, target: &Entry<'_>) -> Result<u8> {
    let mut text = Vec::new();
    let _ = kiln_engine::regular_file::open(&root.join(format!("{}.meta", target.hint()?)))
        .and_then(|file| file.take(16 << 20).read_to_end(&mut text));
    Ok(if meta::parse(&text).importer == "NativeFormatImporter" { 2 } else { 3 })
}

/// Rewrites the references to `old`. `map` returns the GUID, fileID and type that replace those of a fileID. Returns the new
/// content, the number of references that changed, and line and fileID of those that `map` rejected.
fn rewrite(
    text: &[u8],
    old: ReplaceTarget,
    mut map: impl FnMut(i64) -> Option<(u128, i64, u8)>,
) -> (Vec<u8>, usize, Vec<(u32, i64)>) {
    let mut out = Vec::with_capacity(text.len());
    let (mut from, mut count, mut skipped) = (0, 0, Vec::new());
    refs::scan(text, 0, |each| {
        if each.guid != old.guid || old.file_id.is_some_and(|id| id != each.file_id) || each.key < from {
            return;
        }
        let Some((guid, file_id, kind)) = map(each.file_id) else {
            let line = 1 + memchr::memchr_iter(b'\n', &text[..each.at]).count() as u32;
            skipped.push((line, each.file_id));
            return;
        };
        let span = each.span(text);
        // The fileID: the digits after its key, which stands before the GUID.
        if each.key < each.at && each.file_id != 0 {
            let digits = each.file_id.to_string();
            let key = &text[each.key..each.at];
            if let Some(at) = memchr::memmem::find(key, digits.as_bytes()) {
                let at = each.key + at;
                out.extend_from_slice(&text[from..at]);
                out.extend_from_slice(file_id.to_string().as_bytes());
                from = at + digits.len();
            }
        }
        out.extend_from_slice(&text[from..each.at]);
        let upper = text[each.at..each.at + 32].iter().any(u8::is_ascii_uppercase);
        let digits = Guid(guid).to_string();
        out.extend_from_slice(if upper { digits.to_uppercase() } else { digits }.as_bytes());
        from = each.at + 32;
        // `, type: 3}`: the type belongs to the reference.
        let rest = &text[from..span.end.max(from)];
        if let Some(at) = memchr::memmem::find(rest, b"type: ") {
            let at = from + at + 6;
            if matches!(text.get(at), Some(b'2' | b'3')) && !text.get(at + 1).is_some_and(u8::is_ascii_digit)
            {
                out.extend_from_slice(&text[from..at]);
                out.push(b'0' + kind);
                from = at + 1;
            }
        }
        count += 1;
    });
    out.extend_from_slice(&text[from..]);
    (out, count, skipped)
}

/// Parses a target: a GUID, `GUID:fileID`, or a whole reference.
pub fn parse_replace_target(text: &str) -> Option<ReplaceTarget> {
    let mut found = None;
    refs::scan(text.as_bytes(), 0, |each| found = found.or(Some((each.guid, each.file_id))));
    if let Some((guid, file_id)) = found {
        return Some(ReplaceTarget::new(guid, Some(file_id).filter(|id| *id != 0)));
    }
    if let Some((guid, file_id)) = text.split_once(':')
        && let (Some(guid), Ok(file_id)) = (guid::parse_loose(guid), file_id.trim().parse())
    {
        return Some(ReplaceTarget::new(guid, Some(file_id)));
    }
    guid::parse_loose(text).map(|guid| ReplaceTarget::new(guid, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "8f57b4a070f7b43bbb3925467e6752ab";
    const B: &str = "9f57b4a070f7b43bbb3925467e6752ab";

    #[test]
    fn only_tokens_of_references_change() {
        let text = format!(
            "a: {{fileID: 2100000, guid: {A}, type: 2}}\r\n# {A}\nb: {{fileID: 7, guid: {A},\n    type: 3}}\nguid: {A}\nc: {{fileID: 2100000, guid: {B}, type: 2}}\n\"GUID:{A}\"\nm_AssetGUID: {}\n",
            A.to_uppercase()
        );
        let old = ReplaceTarget::new(guid::parse(A).unwrap(), None);
        let map = |id: i64| (id != 7).then_some((guid::parse(B).unwrap(), if id == 0 { 0 } else { -9 }, 3));
        let (new, count, skipped) = rewrite(text.as_bytes(), old, map);
        let expected = format!(
            "a: {{fileID: -9, guid: {B}, type: 3}}\r\n# {A}\nb: {{fileID: 7, guid: {A},\n    type: 3}}\nguid: {B}\nc: {{fileID: 2100000, guid: {B}, type: 2}}\n\"GUID:{B}\"\nm_AssetGUID: {}\n",
            B.to_uppercase()
        );
        assert_eq!(String::from_utf8(new).unwrap(), expected);
        assert_eq!((count, skipped), (4, vec![(3, 7)]));
    }

    #[test]
    fn targets_in_three_notations() {
        let guid = guid::parse(A).unwrap();
        assert_eq!(parse_replace_target(A), Some(ReplaceTarget::new(guid, None)));
        assert_eq!(parse_replace_target(&format!("{A}:-5")), Some(ReplaceTarget::new(guid, Some(-5))));
        assert_eq!(
            parse_replace_target(&format!("{{fileID: 5, guid: {A}, type: 2}}")),
            Some(ReplaceTarget::new(guid, Some(5)))
        );
        assert_eq!(parse_replace_target("Assets/x.mat"), None);
    }
}
