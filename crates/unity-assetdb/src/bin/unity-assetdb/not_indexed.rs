//! Explains why a file of the project that an argument names is not in the index: it has no `.meta`, or one without a usable
//! GUID, or Unity ignores it.

use super::argument::paths_in_project;
use ::unity_assetdb::index::{Index, IndexError};
use ::unity_assetdb::walk::{ROOTS, is_hidden};
use std::path::Path;

/// Returns the reason, as a whole sentence; `None` if no file of the project has the path or name.
pub(super) fn reason(index: &Index, root: &Path, wanted: &str) -> Result<Option<String>, IndexError> {
    let exists = |path: &String| !path.is_empty() && root.join(path).symlink_metadata().is_ok();
    match paths_in_project(root, wanted).into_iter().find(exists) {
        Some(path) => Ok(Some(reason_of_path(index, root, &path)?)),
        None => reason_of_name(index, wanted),
    }
}

fn reason_of_path(index: &Index, root: &Path, path: &str) -> Result<String, IndexError> {
    let first = path.split('/').next().unwrap_or_default();
    if ROOTS.contains(&path) {
        return Ok(format!("{path} is a root folder of the project, which has no .meta"));
    }
    if !ROOTS.contains(&first) {
        return Ok(format!("{path} is no asset: it is neither in Assets nor in Packages"));
    }
    if let Some(hidden) = path.split('/').find(|part| is_hidden(part)) {
        return Ok(format!("{path} is no asset: Unity ignores files and folders named {hidden}"));
    }
    let meta = format!("{path}.meta");
    for warning in index.warnings()? {
        if warning.path.as_ref().is_some_and(|at| *at == meta) {
            return Ok(format!("{path} has no entry: {meta}: {}", warning.message));
        }
    }
    Ok(match root.join(&meta).symlink_metadata() {
        Err(_) => {
            format!("{path} is no asset yet: it has no .meta, which Unity writes when it imports the project")
        }
        Ok(_) => format!("{path} is not in the index, which is older; run unity-assetdb bake"),
    })
}

/// Finds an asset whose `.meta` cannot be used, by the name of its file with or without the extension.
fn reason_of_name(index: &Index, name: &str) -> Result<Option<String>, IndexError> {
    for warning in index.warnings()? {
        let Some(meta) = &warning.path else { continue };
        let Some(path) = meta.strip_suffix(".meta") else { continue };
        let file = path.rsplit('/').next().unwrap_or_default();
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        if [file, stem].iter().any(|each| each.eq_ignore_ascii_case(name))
            && index.find_by_hint(path)?.is_none()
        {
            return Ok(Some(format!("{path} has no entry: {meta}: {}", warning.message)));
        }
    }
    Ok(None)
}
