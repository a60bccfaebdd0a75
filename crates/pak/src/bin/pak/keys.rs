//! `pak keys`: one a line, or as a Rust module whose constants name them.

use super::open;
use ::pak::Kind;
use kiln_cli::voice::{OK, Voice};
use kiln_engine::{Diag, Json};
use std::collections::BTreeSet;
use std::path::Path;

pub(super) fn keys(voice: &Voice, path: &Path, rust: bool) -> Result<u8, Diag> {
    let pak = open(path)?;
    let mut out = voice.out();
    if rust {
        let keys: Vec<(Kind, &str)> = pak.entries().map(|entry| (entry.kind, entry.key)).collect();
        out.line(module(&keys).trim_end());
    } else if voice.json {
        out.line(&Json::object([("keys", Json::list(pak.keys()))]).to_string());
    } else {
        pak.keys().for_each(|key| out.line(key));
    }
    Ok(OK)
}

/// Constants in a module for each kind; equal names get numbers.
fn module(keys: &[(Kind, &str)]) -> String {
    let mut text = "// Made by `pak keys --rust`.\n".to_owned();
    for kind in Kind::ALL {
        let mut own = keys.iter().filter(|(found, _)| *found == kind).peekable();
        if own.peek().is_none() {
            continue;
        }
        text += &format!("\npub mod {} {{\n", kind.name().replace('-', "_"));
        let mut taken = BTreeSet::new();
        for (_, key) in own {
            let plain = constant(key);
            let numbered = (2..).map(|n| format!("{plain}_{n}"));
            let name = std::iter::once(plain.clone()).chain(numbered).find(|name| taken.insert(name.clone()));
            text += &format!("    pub const {}: &str = {key:?};\n", name.unwrap_or(plain));
        }
        text += "}\n";
    }
    text
}

/// A name for a constant: upper case, with `_` for what no name has.
fn constant(key: &str) -> String {
    let name: String =
        key.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    match name.chars().find(|c| *c != '_') {
        None => "KEY".to_owned(),
        Some(_) if name.starts_with(|c: char| c.is_ascii_digit()) => format!("_{name}"),
        Some(_) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_names_and_unique() {
        let keys =
            [(Kind::Mesh, "mesh/cube"), (Kind::Mesh, "mesh_cube"), (Kind::Blob, "2.bin"), (Kind::Mesh, "é")];
        let expected = "// Made by `pak keys --rust`.\n\npub mod blob {\n    pub const _2_BIN: &str = \"2.bin\";\n}\n\n\
                        pub mod mesh {\n    pub const MESH_CUBE: &str = \"mesh/cube\";\n    pub const MESH_CUBE_2: &str = \
                        \"mesh_cube\";\n    pub const KEY: &str = \"é\";\n}\n";
        assert_eq!(module(&keys), expected);
    }
}
