//! The string literals of the C# code of a project: names, paths and GUIDs by which code may load assets.

use crate::guid;
use crate::index::{Index, Result};
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

/// The maximum size of a source file that is read, in bytes.
const MAX_FILE_SIZE: u64 = 16 << 20;
/// Shorter literals name too many assets by chance, in bytes.
const MIN_LENGTH: usize = 3;

/// The literals of a project.
#[derive(Debug, Default)]
pub(super) struct StringLiterals {
    /// Literals in lower case, by the last component of their path without extension.
    by_stem: HashMap<String, Vec<Literal>>,
    /// The first source file and line in which a literal has each GUID.
    by_guid: HashMap<u128, String>,
}

#[derive(Debug)]
struct Literal {
    /// The literal in lower case, with `/`, without extension.
    path: String,
    /// The source file and line.
    place: String,
}

impl StringLiterals {
    /// Reads the scripts of a project.
    pub(super) fn of_project(index: &Index, root: &Path) -> Result<StringLiterals> {
        let mut literals = StringLiterals::default();
        for entry in index.entries() {
            let hint = entry?.hint()?;
            if !hint.ends_with(".cs") {
                continue;
            }
            let mut text = Vec::new();
            let read = kiln_engine::regular_file::open(&root.join(&hint))
                .and_then(|file| file.take(MAX_FILE_SIZE).read_to_end(&mut text));
            if read.is_ok() {
                literals.add(&hint, &String::from_utf8_lossy(&text));
            }
        }
        Ok(literals)
    }

    fn add(&mut self, file: &str, text: &str) {
        each_literal(text, |line, literal| {
            // The GUID alone, or inside of a reference, as in the `.asset` that code may write.
            let words = literal.split(|c: char| !c.is_ascii_hexdigit());
            for guid in words.filter_map(guid::parse) {
                self.by_guid.entry(guid).or_insert_with(|| format!("{file}:{line}"));
            }
            let path = literal.replace('\\', "/").to_lowercase();
            let path = without_extension(path.trim_matches('/')).to_owned();
            let stem = path.rsplit('/').next().unwrap_or_default().to_owned();
            if stem.len() >= MIN_LENGTH {
                let place = format!("{file}:{line}");
                let known = self.by_stem.entry(stem).or_default();
                if !known.iter().any(|known| known.path == path) {
                    known.push(Literal { path, place });
                }
            }
        });
    }

    /// Returns the reason why code may load the asset at a path by its name or by its GUID.
    pub(super) fn naming(&self, hint: &str, guid: u128) -> Option<String> {
        if let Some(place) = self.by_guid.get(&guid) {
            return Some(format!("{place} has its GUID as a string"));
        }
        let lower = hint.to_lowercase();
        let path = without_extension(&lower);
        let stem = path.rsplit('/').next().unwrap_or_default();
        let names = |literal: &&Literal| {
            path.strip_suffix(&literal.path).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let literal = self.by_stem.get(stem)?.iter().find(names)?;
        Some(format!("{} has its name as a string", literal.place))
    }
}

fn without_extension(path: &str) -> &str {
    let name = path.rfind('/').map_or(0, |at| at + 1);
    match path[name..].rfind('.') {
        Some(at) if at > 0 => &path[..name + at],
        _ => path,
    }
}

/// Calls `each` for every string literal of C# source with its line. Comments and characters are skipped; escapes other than
/// `\\` and `\"` are kept as they are, because names of assets rarely have them.
fn each_literal(text: &str, mut each: impl FnMut(usize, &str)) {
    let bytes = text.as_bytes();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        match rest[0] {
            b'\n' => line += 1,
            b'/' if rest.starts_with(b"//") => {
                at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                let len = memchr::memmem::find(&rest[2..], b"*/").map_or(rest.len(), |end| end + 4);
                line += memchr::memchr_iter(b'\n', &rest[..len]).count();
                at += len;
                continue;
            }
            b'\'' => {
                // 'x' or '\x': at most a few bytes, so that an apostrophe in a directive skips nothing.
                let escaped = rest.get(1) == Some(&b'\\');
                let end = rest.iter().skip(2 + usize::from(escaped)).take(8).position(|b| *b == b'\'');
                at += end.map_or(0, |end| end + 2 + usize::from(escaped));
            }
            b'"' => {
                let verbatim =
                    text[..at].ends_with('@') || text[..at].ends_with("@$") || text[..at].ends_with("$@");
                let len = literal_length(&rest[1..], verbatim);
                if let Some(literal) = text.get(at + 1..at + 1 + len) {
                    let literal = match verbatim {
                        true => literal.replace("\"\"", "\""),
                        false => literal.replace("\\\"", "\"").replace("\\\\", "\\"),
                    };
                    each(line, &literal);
                    line += memchr::memchr_iter(b'\n', &rest[1..1 + len]).count();
                }
                at += len + 1;
            }
            _ => {}
        }
        at += 1;
    }
}

/// Returns the length of a literal up to its closing quote, or to the end of the line where there is none.
fn literal_length(text: &[u8], verbatim: bool) -> usize {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' if verbatim && text.get(at + 1) == Some(&b'"') => at += 1,
            b'"' => return at,
            b'\\' if !verbatim => at += 1,
            b'\n' if !verbatim => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_source() {
        let text = "// \"no\"\nvar a = \"Flag\"; /* \"no\n\" */ char q = '\"'; var b = @\"Art\\Flag\";\nvar c = \"x\\\"y\";\n#region don't\nvar d = $\"{a}/b\";\nvar open = \"end\n";
        let mut found = Vec::new();
        each_literal(text, |line, literal| found.push(format!("{line} {literal}")));
        assert_eq!(found, ["2 Flag", "3 Art\\Flag", "4 x\"y", "6 {a}/b", "7 end"]);
    }

    #[test]
    fn names_assets_by_suffix_of_their_path() {
        let mut literals = StringLiterals::default();
        literals.add("A.cs", "x(\"Art/Flag\"); y(\"Pole.prefab\"); z(\"ab\");");
        let named = |path: &str| literals.naming(path, 0).is_some();
        assert!(named("Assets/Art/Flag.png") && named("Assets/Deep/Pole.prefab"));
        assert!(!named("Assets/Flag.png") && !named("Assets/SmArt/Flag.png") && !named("Assets/ab.mat"));
        assert_eq!(literals.naming("Assets/POLE.mat", 0).unwrap(), "A.cs:1 has its name as a string");
    }
    #[test]
    fn finds_guids_in_literals() {
        const GUID: &str = "8f57b4a070f7b43bbb3925467e6752ab";
        let of = |text: &str| {
            let mut literals = StringLiterals::default();
            literals.add("A.cs", text);
            literals.naming("Assets/x.mat", guid::parse(GUID).unwrap())
        };
        let reason = Some("A.cs:2 has its GUID as a string".to_owned());
        assert_eq!(of(&format!("\nx(\"{GUID}\");\ny(\"{GUID}\");")), reason);
        assert_eq!(of(&format!("\nx(\"{}\");", GUID.to_uppercase())), reason);
        assert_eq!(of(&format!("\nx(\"{{fileID: 2, guid: {GUID}, type: 2}}\");")), reason);
        for other in [format!("// \"{GUID}\""), format!("x(\"{GUID}0\");"), GUID.to_owned()] {
            assert_eq!(of(&other), None, "{other}");
        }
    }
}
