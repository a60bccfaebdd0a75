//! What no compiler checks: the layers, the heads of files, the list of diagnostic codes, and who may touch files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every Rust file of the product's crates, relative to the root.
fn sources() -> Vec<(String, String)> {
    fn visit(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, found);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    visit(&root().join("crates"), &mut found);
    found.sort();
    let name = |path: &Path| path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
    let files: Vec<_> = found.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect();
    assert!(files.len() > 50, "only {} files found", files.len());
    files
}

/// The crates of the workspace: folder and manifest.
fn manifests() -> BTreeMap<String, String> {
    let dirs = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap());
    let dirs = dirs.filter(|entry| entry.path().join("Cargo.toml").is_file());
    dirs.map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        let text = read(format!("crates/{name}/Cargo.toml"));
        (name, text)
    })
    .collect()
}

/// The workspace crates in one table of a manifest, by folder; those that a feature adds, or the others.
fn uses(manifest: &str, table: &str, optional: bool) -> BTreeSet<String> {
    let body = manifest.split(&format!("[{table}]\n")).nth(1).unwrap_or_default();
    let lines = body.lines().take_while(|line| !line.starts_with('['));
    let lines = lines.filter(|line| line.contains("optional = true") == optional);
    let names = lines.filter_map(|line| line.split(['.', ' ', '=']).next());
    let folder = |name: &str| match name {
        "assetc" | "pak" | "unity-assetdb" => Some(name.to_owned()),
        name => name.strip_prefix("kiln-").map(str::to_owned),
    };
    names.filter_map(folder).collect()
}

#[test]
fn the_layers_are_those_of_the_architecture() {
    let text = read("ARCHITECTURE.md");
    let block =
        text.split("```layers\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a layers block");
    let mut documented = BTreeMap::new();
    for line in block.lines() {
        let (name, used) = line.split_once(" ->").expect("name -> names");
        documented
            .insert(name.to_owned(), used.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>());
    }
    let mut real = BTreeMap::new();
    for (name, text) in manifests() {
        let added = uses(&text, "dependencies", true);
        real.insert(name.clone(), uses(&text, "dependencies", false));
        if !added.is_empty() {
            // Features add the baker of a library that also reads, or further servers to the command line.
            let feature = if name == "cli" { "servers" } else { "bake" };
            real.insert(format!("{name}[{feature}]"), added);
        }
    }
    assert_eq!(documented, real);
}

#[test]
fn every_file_opens_by_saying_what_it_is() {
    for (name, text) in sources() {
        assert!(text.starts_with("//! "), "{name} does not start with a line of documentation");
    }
}

#[test]
fn files_stay_readable() {
    let long: Vec<_> =
        sources().into_iter().filter(|(_, text)| text.lines().count() > 700).map(|(name, _)| name).collect();
    assert!(long.is_empty(), "is there a seam in {long:?}?");
    let vague = ["utils", "common", "helpers", "manager", "misc"];
    for (name, _) in sources() {
        assert!(
            !vague.iter().any(|word| name.ends_with(&format!("{word}.rs"))),
            "{name} is named after nothing"
        );
    }
}

#[test]
fn algorithms_and_importers_do_not_touch_files() {
    for (name, text) in sources() {
        let pure = ["font", "format", "import", "ir", "mesh", "shader", "texture", "uastc"];
        if pure.iter().any(|dir| name.starts_with(&format!("crates/{dir}/src/"))) {
            // A deadline ends work with an error and changes no result.
            let text = text.replace("std::time::Instant", "");
            for word in ["std::fs", "std::env", "std::net", "std::time", "std::process"] {
                assert!(!text.contains(word), "{name} uses {word}");
            }
        }
    }
}

/// What a file does in the product: its text up to the tests at the bottom.
fn product(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()
}

/// Whatever makes a diagnostic: the constructors, and every function whose first parameter is a code.
fn makers(files: &[(String, String)]) -> BTreeSet<String> {
    let mut makers = BTreeSet::from(["Diag::error".to_owned(), "Diag::warning".to_owned()]);
    for (name, text) in files.iter().filter(|(name, _)| !name.ends_with("kit/src/diag.rs")) {
        for function in product(text).split("fn ").skip(1) {
            let (head, rest) = function.split_once('(').unwrap_or_default();
            let parameters = rest.split(')').next().unwrap_or_default();
            let Some((before, _)) = parameters.split_once("code: &'static str") else { continue };
            let first = matches!(before.trim().trim_end_matches(',').trim(), "" | "&self" | "&mut self");
            assert!(first, "{name}: {head} takes a code, but not as its first parameter");
            makers.insert(head.split('<').next().unwrap_or_default().to_owned());
        }
    }
    makers
}

/// Every code in the sources with the severities it is made with, as far as they show: the literal that follows a
/// maker, wherever the formatter put it, or a field `code`.
fn codes_in_sources() -> BTreeMap<String, BTreeSet<&'static str>> {
    let is_code = |text: &str| {
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !text.is_empty() && text.chars().all(kebab)
    };
    let files: Vec<_> = sources()
        .into_iter()
        .filter(|(name, _)| name.contains("/src/") && !name.ends_with("/tests.rs"))
        .collect();
    let starts: Vec<String> =
        makers(&files).into_iter().map(|maker| format!("{maker}(")).chain(["code: ".to_owned()]).collect();
    let mut codes: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (name, text) in &files {
        for start in &starts {
            for after in product(text).split(start.as_str()).skip(1) {
                let Some(literal) = after.trim_start().strip_prefix('"') else { continue };
                let code = literal.split('"').next().unwrap_or_default();
                assert!(is_code(code), "{name}: {start}{code:?} is no code");
                let severities = codes.entry(code.to_owned()).or_default();
                match start.as_str() {
                    "Diag::error(" => _ = severities.insert("error"),
                    "Diag::warning(" => _ = severities.insert("warning"),
                    _ => {}
                }
            }
        }
    }
    codes
}

#[test]
fn diagnostic_codes_are_documented_and_documented_codes_exist() {
    let text = read("docs/diagnostics.md");
    let mut documented = BTreeSet::new();
    let used = codes_in_sources();
    for row in text.lines().filter_map(|line| line.strip_prefix("| `")) {
        let (code, rest) = row.split_once("` | ").expect("a row of a code, a severity and a meaning");
        let (severity, meaning) = rest.split_once(" | ").expect("a severity and a meaning");
        assert!(documented.insert(code.to_owned()), "{code} is there twice");
        assert!(["error", "warning"].contains(&severity) && meaning.len() > 10, "{code}: {severity}");
        let made = used.get(code).cloned().unwrap_or_default();
        assert!(made.is_empty() || made == BTreeSet::from([severity]), "{code} is {made:?}, not {severity}");
    }
    let used: BTreeSet<String> = used.into_keys().collect();
    let missing: Vec<_> = used.difference(&documented).collect();
    let stale: Vec<_> = documented.difference(&used).collect();
    assert!(missing.is_empty() && stale.is_empty(), "not documented: {missing:?}; not used: {stale:?}");
}

#[test]
fn relative_links_in_documents_lead_somewhere() {
    let mut documents = vec!["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .into_iter()
        .map(PathBuf::from)
        .collect::<Vec<_>>();
    for dir in ["docs", "docs/formats", "docs/config"] {
        let files = fs::read_dir(root().join(dir)).unwrap().map(|e| e.unwrap().path());
        documents.extend(
            files
                .filter(|p| p.extension().is_some_and(|e| e == "md"))
                .map(|p| p.strip_prefix(root()).unwrap().to_owned()),
        );
    }
    for document in documents {
        for link in read(&document).split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            if link.is_empty() || link.contains("://") {
                continue;
            }
            let target = root().join(&document).parent().unwrap().join(link);
            assert!(target.exists(), "{}: {link} leads nowhere", document.display());
        }
    }
}
