//! Checks a project for problems, for use before a commit and in continuous integration.

use super::broken::broken;
use super::packages::packages;
use crate::guid::Guid;
use crate::index::{Index, Result};
use kiln_engine::{Code, Diag};
use std::path::Path;

/// Returns all findings: the warnings of the bake, then problems of files, then broken references, each by path.
///
/// # Errors
/// If the index is damaged.
pub fn check(index: &Index, root: &Path) -> Result<Vec<Diag>> {
    let mut found = index.warnings()?;
    for file in index.files() {
        let file = file?;
        let path = format!("{}/{}", file.folder, file.name);
        let asset = file.folder != "ProjectSettings" && !is_package_file(&path);
        if file.has_meta && !file.is_file && !file.is_folder {
            found.push(
                Diag::new(
                    Code::UnityOrphanMeta,
                    "the .meta has no asset: neither a file nor a folder of that name exists",
                )
                .path(format!("{path}.meta"))
                .hint("remove the .meta or restore its asset; Git does not store empty folders"),
            );
        } else if !file.has_meta && asset {
            found.push(Diag::new(Code::UnityMissingMeta, "the asset has no .meta").path(path).hint(
                "open the project in Unity and commit the .meta that it writes; without it, references break",
            ));
        } else if let Some(entry) = file.entry
            && is_placeholder(entry.guid())
            && !entry.is_settings()
        {
            let message = format!("the GUID {} looks like a placeholder", Guid(entry.guid()));
            found.push(
                Diag::new(Code::UnityPlaceholderGuid, message)
                    .path(format!("{path}.meta"))
                    .hint("let Unity generate a GUID; another project may use the same placeholder"),
            );
        }
    }
    let packages = packages(root, index);
    for each in broken(index, root, &packages)? {
        let source = each.source.hint()?;
        let path = if each.reference.in_meta { format!("{source}.meta") } else { source };
        let (guid, id) = (Guid(each.reference.guid), each.reference.file_id);
        let diag = match each.target {
            Some(target) => {
                let message =
                    format!("the file refers to the object {id} in {}, which does not exist", target.hint()?);
                Diag::new(Code::UnityBrokenObject, message)
            }
            None if each.may_be_in_missing_package => {
                let message =
                    format!("the file refers to the GUID {guid}, which no asset of the project has");
                let some = packages.missing.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
                let hint =
                    format!("the asset may be in a package that is not on this machine, such as {some}");
                Diag::new(Code::UnityUnknownGuid, message).hint(hint)
            }
            None => Diag::new(
                Code::UnityBrokenGuid,
                format!("the file refers to the GUID {guid}, which no asset has"),
            )
            .hint("restore the asset with its .meta, or remove the reference"),
        };
        found.push(diag.path(path).at(each.reference.line));
    }
    Ok(found)
}

/// Returns whether a file belongs to Unity's package manager and is no asset.
fn is_package_file(path: &str) -> bool {
    matches!(path, "Packages/manifest.json" | "Packages/packages-lock.json" | "Packages/boot.config")
        || path.strip_prefix("Packages/").is_some_and(|rest| !rest.contains('/'))
}

/// Returns whether a GUID was typed by hand and not generated: few distinct digits, or consecutive ones.
fn is_placeholder(guid: u128) -> bool {
    let digits = Guid(guid).to_string();
    let mut distinct: Vec<u8> = digits.bytes().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let step =
        |by: u8| digits.bytes().zip(digits.bytes().skip(1)).all(|(a, b)| value(b) == (value(a) + by) % 16);
    distinct.len() <= 3 || step(1) || step(15)
}

fn value(digit: u8) -> u8 {
    (digit as char).to_digit(16).unwrap_or(0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_placeholder_guids() {
        let check = |text: &str, expected| {
            assert_eq!(is_placeholder(crate::guid::parse(text).unwrap()), expected, "{text}")
        };
        check("11111111111111111111111111111111", true);
        check("0123456789abcdef0123456789abcdef", true);
        check("fedcba9876543210fedcba9876543210", true);
        check("12121212121212121212121212121212", true);
        check("8f57b4a070f7b43bbb3925467e6752ab", false);
    }
}
