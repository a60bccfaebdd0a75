//! Settings of shaders that are lists: include directories, and the matrix of permutations.

use super::{Value, any_of};
use kiln_config::yaml::Scalar;
use kiln_engine::{Json, RelPath};
use std::collections::BTreeMap;

/// The largest number of permutations of one shader folder.
const MAX_VARIANTS: usize = 256;

/// Directories below the input directory in which includes are looked up, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludeDirs(Vec<RelPath>);

impl IncludeDirs {
    /// Parses paths, separated by commas. Absolute paths, paths with `..` and duplicates are rejected.
    pub fn new(text: &str) -> Option<IncludeDirs> {
        let mut dirs: Vec<RelPath> = Vec::new();
        for dir in text.split(',').map(str::trim) {
            let dir = RelPath::new(dir.strip_suffix('/').unwrap_or(dir)).ok()?;
            if dirs.contains(&dir) {
                return None;
            }
            dirs.push(dir);
        }
        Some(IncludeDirs(dirs))
    }

    /// Returns the directories in order.
    pub fn iter(&self) -> impl Iterator<Item = &RelPath> {
        self.0.iter()
    }
}

impl Value for IncludeDirs {
    const TAKES_LISTS: bool = true;

    fn read(scalar: &Scalar) -> Option<IncludeDirs> {
        if scalar.plain && matches!(scalar.text.as_str(), "true" | "false" | "null") {
            return None;
        }
        IncludeDirs::new(&scalar.text)
    }

    fn show(&self) -> String {
        self.0.iter().map(RelPath::as_str).collect::<Vec<_>>().join(", ")
    }

    fn accepts() -> String {
        "a list of directories below the input directory".into()
    }

    fn schema() -> Json {
        let text = || Json::object([("type", "string".into())]);
        let number = Json::object([("type", "number".into())]);
        any_of([text(), number, Json::object([("type", "array".into()), ("items", text())])])
    }
}

/// The matrix of permutations: the values of each macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variants(BTreeMap<String, Vec<String>>);

/// One permutation of a shader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variant {
    /// The name of its folder, such as `SHADOWS-on+SKINNED-1`.
    pub name: String,
    /// The macros with their values, sorted by name.
    pub defines: Vec<(String, String)>,
}

impl Variants {
    /// Parses `NAME=VALUE|VALUE`, separated by commas. Values consist of letters, digits, dots and underscores, because
    /// they are part of file names. Duplicates and more than 256 combinations are rejected.
    pub fn new(text: &str) -> Option<Variants> {
        let mut matrix: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for part in text.split(',').map(str::trim) {
            let (name, values) = part.split_once('=')?;
            let (name, values) = (name.trim(), values.split('|').map(|value| value.trim().to_owned()));
            let values: Vec<String> = values.collect();
            let is_repeated = |(n, value): (usize, &String)| {
                values[..n].iter().any(|other| other.eq_ignore_ascii_case(value))
            };
            let is_valid = is_name(name) && values.iter().all(|value| is_value(value));
            if !is_valid || values.iter().enumerate().any(is_repeated) || matrix.contains_key(name) {
                return None;
            }
            matrix.insert(name.to_owned(), values);
        }
        let count = matrix.values().try_fold(1usize, |count, values| count.checked_mul(values.len()));
        count.is_some_and(|count| count <= MAX_VARIANTS).then_some(Variants(matrix))
    }

    /// Returns every combination of the values, sorted by name of the macro and by the order of its values.
    pub fn combinations(&self) -> Vec<Variant> {
        let mut all = vec![Variant::default()];
        for (name, values) in &self.0 {
            let extend =
                |variant: &Variant| values.iter().map(|value| variant.with(name, value)).collect::<Vec<_>>();
            all = all.iter().flat_map(extend).collect();
        }
        all
    }
}

impl Variant {
    fn with(&self, name: &str, value: &str) -> Variant {
        let separator = if self.name.is_empty() { "" } else { "+" };
        let mut defines = self.defines.clone();
        defines.push((name.to_owned(), value.to_owned()));
        Variant { name: format!("{}{separator}{name}-{value}", self.name), defines }
    }
}

impl Value for Variants {
    const TAKES_LISTS: bool = true;

    fn read(scalar: &Scalar) -> Option<Variants> {
        Variants::new(&scalar.text)
    }

    fn show(&self) -> String {
        let row = |(name, values): (&String, &Vec<String>)| format!("{name}={}", values.join("|"));
        self.0.iter().map(row).collect::<Vec<_>>().join(", ")
    }

    fn accepts() -> String {
        "a map from macro names to lists of values".into()
    }

    fn schema() -> Json {
        let of_type = |name: &str| Json::object([("type", name.into())]);
        any_of([of_type("string"), of_type("object")])
    }
}

/// Returns whether a folder has the name of a permutation.
pub(crate) fn is_variant_name(folder: &str) -> bool {
    let is_pair =
        |pair: &str| pair.split_once('-').is_some_and(|(name, value)| is_name(name) && is_value(value));
    folder.split('+').all(is_pair)
}

fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

fn is_value(value: &str) -> bool {
    // A folder whose name ends with a dot cannot be created on every platform.
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    !value.is_empty() && !value.ends_with('.') && value.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_has_every_combination() {
        let variants = Variants::new("SKINNED=0|1, SHADOWS=off|pcf.3").unwrap();
        assert_eq!(variants.show(), "SHADOWS=off|pcf.3, SKINNED=0|1");
        assert_eq!(Variants::new(&variants.show()), Some(variants.clone()));
        let names: Vec<String> = variants.combinations().into_iter().map(|variant| variant.name).collect();
        assert_eq!(
            names,
            [
                "SHADOWS-off+SKINNED-0",
                "SHADOWS-off+SKINNED-1",
                "SHADOWS-pcf.3+SKINNED-0",
                "SHADOWS-pcf.3+SKINNED-1"
            ]
        );
        assert!(names.iter().all(|name| is_variant_name(name)));
        assert_eq!(variants.combinations()[3].defines[0], ("SHADOWS".to_owned(), "pcf.3".to_owned()));
    }

    #[test]
    fn rejects_invalid_matrices_and_directories() {
        let many = (0..9).map(|n| format!("A{n}=0|1")).collect::<Vec<_>>().join(", ");
        for text in
            ["", "A", "A=", "A=1|", "1A=2", "A=1|1", "A=on|ON", "A=1, A=2", "A=a/b", "A=..", "A= |1", &many]
        {
            assert_eq!(Variants::new(text), None, "{text}");
        }
        for text in ["", "/etc", "..", "a/../b", "a, a", "a,,b"] {
            assert_eq!(IncludeDirs::new(text), None, "{text}");
        }
        assert_eq!(IncludeDirs::new("lib/shaders/ , b").unwrap().show(), "lib/shaders, b");
        for name in ["", "A", "A-", "-1", "A-1+", "A-1/B-2", "../A-1"] {
            assert!(!is_variant_name(name), "{name}");
        }
    }
}
