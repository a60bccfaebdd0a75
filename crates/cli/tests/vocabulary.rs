//! Code, messages and documents use the terms of the field: a deny list of paraphrases over the whole tree, and doc
//! comments that start with a verb or a noun. `docs/reference/glossary.md` has the terms to use instead.
//!
//! Identifiers are split by case and underscores, so that `HostileInput` and `hostile_input` are found like the word.
//! File names are checked as well.

use std::fs;
use std::path::{Path, PathBuf};

/// Words and phrases that paraphrase a term, with the term to use instead.
const DENIED: &[(&str, &str)] = &[
    ("a truth value", "a boolean"),
    ("alike", "equal, the same"),
    ("anew", "again; rebuild, recreate"),
    ("atlas of distances", "SDF atlas"),
    ("audience", "clients, notify server"),
    ("audiences", "clients"),
    ("bell", "wake signal"),
    ("by heart", "cached"),
    ("crowd", "concurrent runs"),
    ("crowds", "concurrency, concurrent runs"),
    ("deaf", "without events"),
    ("dressed", "styled"),
    ("ears", "events"),
    ("ends before its end", "unexpected end of file"),
    ("feast", "work"),
    ("fuse", "circuit breaker"),
    ("gloomy", "dark"),
    ("herd", "many"),
    ("histories", "edit sequences, model-based test"),
    ("hollow", "without files"),
    ("hostile", "malicious, untrusted"),
    ("hubs", "high-valence vertices"),
    ("in vain", "without a result; failed lookup"),
    ("kin", "related"),
    ("kitchen", "scheduler"),
    ("light map", "HDR image"),
    ("look after", "manage"),
    ("matt", "diffuse"),
    ("mend", "fix, recover"),
    ("mended", "fixed, recovered"),
    ("mending", "fixing, recovery"),
    ("mends", "fixes, recovers"),
    ("overheard", "received"),
    ("pantry", "cache"),
    ("patience", "deadline, timeout"),
    ("picture", "image, texture"),
    ("pictures", "images, textures"),
    ("pierced", "not opaque"),
    ("plain means", "box filter"),
    ("rests", "is unchanged"),
    ("scribe", "writer"),
    ("serve up", "return"),
    ("shiny", "specular"),
    ("sought", "lookup"),
    ("spool", "queue, staging area"),
    ("store of results", "cache"),
    ("stranger", "untrusted, unknown"),
    ("strangers", "untrusted, unknown"),
    ("suffer", "record a failure"),
    ("suffers", "fails"),
    ("surroundings", "environment map"),
    ("told", "reported, given"),
    ("twin", "duplicate, copy"),
    ("twins", "duplicates"),
    ("veil", "alpha"),
    ("voice", "reporter"),
    ("voices", "reporters"),
    ("wander", "random edits"),
    ("wanders", "random edits"),
    ("where it lies", "in place, zero-copy"),
    ("where they lie", "in place, zero-copy"),
];

/// Denied words that are right in one place: the start of a path, the word, and the reason.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("crates/cli/tests/vocabulary.rs", "", "this list"),
    ("docs/reference/glossary.md", "", "lists the paraphrases to avoid"),
    ("tests/job-arrays/run", "spool", "a key of the configuration of SLURM"),
    ("CHANGELOG.md", "deaf", "the former name of a diagnostic code"),
    ("crates/assetc/src/recipes/material/schema.rs", "shiny", "an invalid value in a test of `.mat` files"),
    ("", "fuse()", "`Iterator::fuse`"),
    ("crates/import/src/polygon.rs", "ears", "ear clipping, a method of triangulation"),
];

/// Question words that a doc comment must not start with: it says what the item is or does.
const OPENINGS: [&str; 7] = ["What", "How", "Whether", "Where", "Who", "Which", "Why"];

const FOLDERS: [&str; 8] = [".ci", "bench", "crates", "docs", "examples", "fuzz", "tests", "."];
const EXTENSIONS: [&str; 12] =
    ["rs", "md", "toml", "mjs", "js", "html", "css", "h", "c", "yml", "glsl", "wgsl"];
/// Folders with data rather than text.
const DATA: [&str; 6] = ["target", "corpus", "golden", "fonts", "node_modules", "runtime"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every text file of the tree with its path relative to the root. Of the root folder itself, the files alone.
fn texts() -> Vec<(String, String)> {
    fn visit(dir: &Path, recursive: bool, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
            let path = entry.expect("a directory entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() {
                if recursive && !DATA.contains(&name) {
                    visit(&path, true, found);
                }
            } else if path.extension().is_some_and(|e| EXTENSIONS.iter().any(|x| e == *x)) || name == "run" {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for folder in FOLDERS {
        visit(&root().join(folder), folder != ".", &mut found);
    }
    found.sort();
    let relative = |path: &Path| {
        let path =
            path.strip_prefix(root()).expect("below the root").to_str().expect("UTF-8").replace('\\', "/");
        path.trim_start_matches("./").to_owned()
    };
    let text = |path: &PathBuf| Some((relative(path), fs::read_to_string(path).ok()?));
    let files: Vec<_> = found.iter().filter_map(text).collect();
    assert!(files.len() > 300, "only {} files found", files.len());
    files
}

/// The words of a line in lower case, identifiers split by case, digits and underscores; a number is `0`.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let mut before = ' ';
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let next_is_lower = letters.peek().is_some_and(char::is_ascii_lowercase);
        let starts = letter.is_ascii_uppercase() && (before.is_ascii_lowercase() || next_is_lower);
        if (starts || !letter.is_ascii_alphabetic()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_ascii_alphabetic() {
            word.push(letter.to_ascii_lowercase());
        } else if letter.is_ascii_digit() && !before.is_ascii_digit() {
            words.push("0".to_owned());
        }
        before = letter;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn is_allowed(path: &str, line: &str, denied: &str) -> bool {
    ALLOWED.iter().any(|(start, word, _)| {
        path.starts_with(start)
            && (word.is_empty() || *word == denied || word.starts_with(denied) && line.contains(word))
    })
}

#[test]
fn no_paraphrases_of_terms() {
    let denied: Vec<_> =
        DENIED.iter().map(|(phrase, term)| (format!(" {phrase} "), *phrase, *term)).collect();
    let mut violations = Vec::new();
    for (path, text) in texts() {
        let name = (0, path.as_str());
        for (number, line) in std::iter::once(name).chain((1..).zip(text.lines())) {
            let spaced = format!(" {} ", words(line).join(" "));
            for (pattern, phrase, term) in &denied {
                if spaced.contains(pattern.as_str()) && !is_allowed(&path, line, phrase) {
                    violations.push(format!("{path}:{number}: \"{phrase}\"; write {term}"));
                }
            }
        }
    }
    assert!(violations.is_empty(), "{} paraphrases:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn doc_comments_start_with_a_verb_or_a_noun() {
    let mut violations = Vec::new();
    for (path, text) in texts().into_iter().filter(|(path, _)| path.ends_with(".rs")) {
        let mut in_comment = false;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim_start();
            let body = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            let first = body.and_then(|body| body.split_whitespace().next());
            if let Some(first) = first
                && !in_comment
                && OPENINGS.contains(&first.trim_end_matches(','))
            {
                violations.push(format!("{path}:{number}: {line}"));
            }
            in_comment = body.is_some();
        }
    }
    assert!(violations.is_empty(), "{} doc comments:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn identifiers_are_split_into_words() {
    assert_eq!(
        words("HostileInput::is_hostile(HDRImage, v2)").join(" "),
        "hostile input is hostile hdr image v 0"
    );
    assert_eq!(words("it's a `LightMap`.").join(" "), "it s a light map");
}

#[test]
fn every_exception_has_a_reason() {
    for (path, word, reason) in ALLOWED {
        assert!(!reason.is_empty(), "{path} {word}");
        assert!(path.is_empty() || root().join(path).exists(), "{path} is gone");
    }
}
