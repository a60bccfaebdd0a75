//! Scans a source for references to other files without parsing it: for compilers that read files themselves,
//! and must find the files that they may read and nothing else.
//!
//! Comments are skipped; conditions are not evaluated, so that more references may be found than are needed,
//! never fewer.

/// A reference from one file to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// `#include "a.h"`, or with brackets.
    Include(String),
    /// `import a.b;` of Slang, as the path of a file: `a/b.slang`.
    Import(String),
    /// An `#include` whose file only the preprocessor can compute.
    Computed {
        /// The line, counted from 1.
        line: usize,
    },
}

/// Returns the references of a text in order; imports only if `imports` is true, for languages that have
/// them.
pub fn references(text: &str, imports: bool) -> Vec<Reference> {
    let mut found = Vec::new();
    let bare = without_comments(text);
    for (n, line) in bare.lines().enumerate() {
        let line = line.trim();
        if let Some(directive) = line.strip_prefix('#') {
            let Some(file) = directive.trim_start().strip_prefix("include") else { continue };
            let file = file.trim();
            let quoted = |open: char, close: char| {
                let rest = file.strip_prefix(open)?;
                rest.split_once(close).map(|(name, _)| name.to_owned())
            };
            found.push(match quoted('"', '"').or_else(|| quoted('<', '>')) {
                Some(name) => Reference::Include(name),
                None => Reference::Computed { line: n + 1 },
            });
        } else if imports {
            found.extend(line.split(';').filter_map(import));
        }
    }
    found
}

/// Parses `import a.b`, `__exported import "a/b.slang"`, `__include c` and `implementing d`, but not
/// `module`.
fn import(statement: &str) -> Option<Reference> {
    let mut words = statement.trim().splitn(2, char::is_whitespace);
    let (word, rest) = (words.next()?, words.next()?.trim());
    match word {
        "import" | "__import" | "__include" | "implementing" => {
            let name = rest.trim_matches('"');
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
            if name.is_empty() || !name.chars().all(plain) {
                return None;
            }
            let path = match rest.starts_with('"') {
                true => name.trim_end_matches(".slang").to_owned(),
                false => name.replace('.', "/"),
            };
            Some(Reference::Import(path + ".slang"))
        }
        "__exported" | "public" => import(rest),
        _ => None,
    }
}

/// Returns the text with comments blanked and continued lines joined; lines keep their numbers unless they
/// are continued.
pub(crate) fn without_comments(text: &str) -> String {
    let text = text.replace("\\\r\n", "").replace("\\\n", "");
    let mut bare = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find('/') {
        bare.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if let Some(after) = rest.strip_prefix("/*") {
            let end = after.find("*/").unwrap_or(after.len());
            bare.push(' ');
            bare.extend(after[..end].chars().filter(|c| *c == '\n'));
            rest = after.get(end + 2..).unwrap_or("");
        } else {
            bare.push('/');
            rest = &rest[1..];
        }
    }
    bare.push_str(rest);
    bare
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_and_imports_are_found() {
        let text = "#include \"a.h\"\n  # include <lib/b.h> // why\n/* #include \"no\"\n */ import lib.light;\n\
                    // import no;\n#inc\\\nlude \"c.h\"\nimport \"x/y.slang\"; __exported import z;\n\
                    #include HEADER\nfloat important = 1; #includes\n__include part;\n";
        let include = |name: &str| Reference::Include(name.into());
        let import = |name: &str| Reference::Import(name.into());
        assert_eq!(
            references(text, true),
            [
                include("a.h"),
                include("lib/b.h"),
                import("lib/light.slang"),
                include("c.h"),
                import("x/y.slang"),
                import("z.slang"),
                Reference::Computed { line: 8 },
                import("part.slang"),
            ]
        );
        assert_eq!(references("import a;\n", false), []);
        assert_eq!(references("/* open", true), []);
    }
}
