//! Names of types, and the types with a name: classes by Unity's table, ScriptableObjects by their script, which is in the
//! project, or in a package that is not on this machine and known by its GUID.

use crate::builtin;
use crate::class_id::{ClassId, class_name};
use crate::guid::{self, Guid};
use crate::index::{Index, Resolved, Result};
use crate::store::AssetType;

/// Replaces the GUID in a type name (`Script:8f57…`) with the name of the script, if it is in the project or in the table of
/// [known scripts](crate::builtin::script).
///
/// # Errors
/// If the index is damaged.
pub fn short_type(index: &Index, kind: &str) -> Result<String> {
    match kind.strip_prefix("Script:").and_then(guid::parse) {
        Some(script) => script_name(index, script),
        None => Ok(kind.to_owned()),
    }
}

/// Returns the name of the type of a script's ScriptableObjects: that of the script, or `Script:` and its GUID.
fn script_name(index: &Index, script: u128) -> Result<String> {
    Ok(match index.find_by_guid(script)? {
        Some(entry) => entry.name()?.to_owned(),
        None => known_script(script).map_or_else(|| format!("Script:{}", Guid(script)), str::to_owned),
    })
}

fn known_script(script: u128) -> Option<&'static str> {
    builtin::script(script, ClassId::MonoScript.canonical_subobject_fid())
}

/// Returns the types of objects in the project, each with its name: classes, ascending, and then scripts.
///
/// # Errors
/// If the index is damaged.
pub fn type_names(index: &Index) -> Result<Vec<(AssetType, String)>> {
    let name = |each: AssetType| {
        Ok((
            each,
            match (each, index.script_of_type(each)?) {
                (AssetType::Native(class), _) => class_name(class).into_owned(),
                (AssetType::Script(_), script) => script_name(index, script.unwrap_or_default())?,
            },
        ))
    };
    index.types()?.into_iter().map(name).collect()
}

/// Returns the types that a word names, each with the name to show: a class by name or number, a script by name or as
/// `Script:` and its GUID. Case is ignored.
///
/// # Errors
/// If the index is damaged.
pub fn types_named(index: &Index, kind: &str) -> Result<Vec<(AssetType, String)>> {
    let lower = kind.to_lowercase();
    let mut types = Vec::new();
    for each in index.types()? {
        if let AssetType::Native(class) = each {
            let name = class_name(class);
            if kind.eq_ignore_ascii_case(&name) || kind == class.to_string() {
                types.push((each, name.into_owned()));
            }
        } else if let Some(script) = index.script_of_type(each)?
            && let Some(name) = known_script(script)
            && kind.eq_ignore_ascii_case(name)
            && index.find_by_guid(script)?.is_none()
        {
            types.push((each, name.to_owned()));
        }
    }
    let by_guid = lower.strip_prefix("script:").and_then(guid::parse);
    let named = index.named_like(&lower, |name| name == lower)?.into_iter();
    let named = named.filter(|found| matches!(found, Resolved::Asset(_))).map(|found| found.entry().guid());
    for script in named.chain(by_guid) {
        if let Some(each) = index.script_type(script)?
            && types.iter().all(|(known, _)| *known != each)
        {
            types.push((each, script_name(index, script)?));
        }
    }
    Ok(types)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bake::{Extra, refresh};
    use std::fs;

    /// A script of Unity's UI package, and one that no table has.
    const IMAGE: &str = "fe87c0e1cc204ed48ad3b37840f39efc";
    const OTHER: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn scripts_outside_the_project_have_types() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("Assets")).unwrap();
        let write = |name: &str, guid: u64, text: String| {
            let path = dir.path().join("Assets").join(name);
            fs::write(&path, text).unwrap();
            fs::write(path.with_added_extension("meta"), format!("guid: {guid:032x}\n")).unwrap();
        };
        let of_script = |script: &str| {
            format!(
                "--- !u!114 &11400000\nMonoBehaviour:\n  m_Script: {{fileID: 11500000, guid: {script}, type: 3}}\n  m_Name: x\n"
            )
        };
        write("a.asset", 1, of_script(IMAGE));
        write("b.asset", 2, of_script(OTHER));
        write("c.asset", 3, of_script(&format!("{:032x}", 4)));
        write("Item.cs", 4, String::new());
        let index = refresh(dir.path(), &dir.path().join("out"), Extra::default(), &|_| None).unwrap();
        let unknown = format!("Script:{OTHER}");
        let mut names: Vec<String> = type_names(&index).unwrap().into_iter().map(|(_, name)| name).collect();
        names.sort();
        assert_eq!(names, ["Image", "Item", "MonoScript", &unknown]);
        for (word, expected) in [
            ("image", Some("Image")),
            ("ITEM", Some("Item")),
            ("monoscript", Some("MonoScript")),
            ("115", Some("MonoScript")),
            (&*unknown, Some(&*unknown)),
            (&format!("Script:{IMAGE}"), Some("Image")),
            ("a", None),
        ] {
            let found = types_named(&index, word).unwrap();
            let shown: Vec<&str> = found.iter().map(|(_, name)| &**name).collect();
            assert_eq!(shown, Vec::from_iter(expected), "{word}");
            for (each, _) in found {
                assert_eq!(index.of_type(each).unwrap().count(), 1, "{word}");
            }
        }
        assert_eq!(short_type(&index, &format!("Script:{IMAGE}")).unwrap(), "Image");
        assert_eq!(short_type(&index, "Texture2D").unwrap(), "Texture2D");
    }
}
