//! Everything about a project that deserves a look before it is shared: for people, and for continuous integration.

use super::broken::broken;
use super::packages::packages;
use crate::guid::Guid;
use crate::index::{Index, Result};
use kiln_engine::{Code, Diag};
use std::path::Path;

/// Every finding, in the order of paths within each kind.
pub fn check(index: &Index, root: &Path) -> Result<Vec<Diag>> {
    let mut found = index.warnings()?;
    for file in index.files() {
        let file = file?;
        let path = format!("{}/{}", file.folder, file.name);
        let asset = file.folder != "ProjectSettings" && !is_package_file(&path);
        if file.has_meta && !file.is_file && !file.is_folder {
            found.push(
                Diag::new(Code::UnityOrphanMeta, "there is nothing that this .meta is about")
                    .path(format!("{path}.meta"))
                    .hint("remove it, or bring back what it belongs to; Git keeps no empty folders"),
            );
        } else if !file.has_meta && asset {
            found.push(
                Diag::new(Code::UnityMissingMeta, "there is no .meta for this asset")
                    .path(path)
                    .hint("open the project in Unity and commit the .meta that it writes; without one, references break"),
            );
        } else if let Some(entry) = file.entry
            && is_placeholder(entry.guid())
            && !entry.is_settings()
        {
            let message = format!("the guid {} looks made up", Guid(entry.guid()));
            found.push(
                Diag::new(Code::UnityPlaceholderGuid, message)
                    .path(format!("{path}.meta"))
                    .hint("let Unity make one: another project may have the same"),
            );
        }
    }
    let packages = packages(root);
    for each in broken(index, root, &packages)? {
        let source = each.source.hint()?;
        let path = if each.reference.in_meta { format!("{source}.meta") } else { source };
        let (guid, id) = (Guid(each.reference.guid), each.reference.file_id);
        let diag = match each.target {
            Some(target) => {
                let message = format!("refers to the object {id} in {}, which is not there", target.hint()?);
                Diag::new(Code::UnityBrokenObject, message)
            }
            None if each.perhaps_absent => {
                let message = format!("refers to {guid}, which no asset here has");
                let some = packages.absent.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
                let hint = format!("it may be in a package that is not on this machine ({some} …)");
                Diag::new(Code::UnityUnknownGuid, message).hint(hint)
            }
            None => Diag::new(Code::UnityBrokenGuid, format!("refers to {guid}, which no asset has"))
                .hint("restore the asset with its .meta, or remove the reference"),
        };
        found.push(diag.path(path).at(each.reference.line));
    }
    Ok(found)
}

/// Files that Unity's package manager keeps, and that are no assets.
fn is_package_file(path: &str) -> bool {
    matches!(path, "Packages/manifest.json" | "Packages/packages-lock.json" | "Packages/boot.config")
        || path.strip_prefix("Packages/").is_some_and(|rest| !rest.contains('/'))
}

/// Whether a GUID was typed rather than drawn.
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
    fn made_up_guids() {
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
