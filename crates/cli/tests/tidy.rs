//! What no compiler checks: the layers, the heads of files, the list of diagnostic codes, and who may touch files.

use kiln_diagnostics::Code;
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
    let list = |dir: &str| fs::read_dir(root().join(dir)).unwrap().map(|entry| entry.unwrap());
    let dirs = list("crates").chain(list("crates/testing"));
    let dirs = dirs.filter(|entry| entry.path().join("Cargo.toml").is_file());
    dirs.map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        (name, read(entry.path().join("Cargo.toml")))
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
        "assetc" => Some(name.to_owned()),
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
            let feature = match name.as_str() {
                "assetc" => "cli",
                "cli" => "cache",
                "format" => "tools",
                _ => "bake",
            };
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

#[test]
fn the_table_of_diagnostic_codes_is_the_document_and_every_code_is_used() {
    let update = "cargo run -p kiln-diagnostics --example document";
    assert!(read("docs/diagnostics.md") == kiln_diagnostics::document(), "outdated; run `{update}`");
    let sources: Vec<_> =
        sources().into_iter().filter(|(name, _)| !name.contains("crates/diagnostics/")).collect();
    let is_used = |code: &Code| {
        let variant = format!("Code::{code:?}");
        sources.iter().any(|(_, text)| {
            text.match_indices(&variant)
                .any(|(at, _)| !text[at + variant.len()..].starts_with(|c: char| c.is_ascii_alphanumeric()))
        })
    };
    let unused: Vec<_> = Code::ALL.iter().filter(|code| !is_used(code)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn walks_of_the_architecture_name_functions_that_exist() {
    let text = read("ARCHITECTURE.md");
    let blocks = text.split("```walk\n").skip(1).filter_map(|rest| rest.split("```").next());
    let steps: Vec<_> = blocks.flat_map(str::lines).collect();
    assert!(steps.len() > 30, "{steps:?}");
    for step in steps {
        let (file, function) = step.rsplit_once("::").expect("file::function");
        let source = read(format!("crates/{file}"));
        let is_there = |end: char| source.contains(&format!("fn {function}{end}"));
        assert!(is_there('(') || is_there('<'), "{step}");
    }
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
