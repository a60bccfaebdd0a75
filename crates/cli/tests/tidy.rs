//! Rules that no compiler checks: layers, file heads, the list of diagnostic codes, file access, links and the table of
//! contents of the documents, and where they install from.

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
                "transcode" => "ktx2",
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
    // Importers read through a trait; this file implements it for a directory.
    let reads_files = "crates/import/src/source/directory.rs";
    for (name, text) in sources().into_iter().filter(|(name, _)| name != reads_files) {
        let pure = ["font", "format", "import", "ir", "mesh", "shader", "texture", "transcode", "uastc"];
        if pure.iter().any(|dir| name.starts_with(&format!("crates/{dir}/src/"))) {
            // A deadline ends work with an error and changes no result. An example in a comment may read a file.
            let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            let text = code.join("\n").replace("std::time::Instant", "");
            for word in ["std::fs", "std::env", "std::net", "std::time", "std::process"] {
                assert!(!text.contains(word), "{name} uses {word}");
            }
        }
    }
}

#[test]
fn the_table_of_diagnostic_codes_is_the_document_and_every_code_is_used() {
    let update = "cargo run -p kiln-diagnostics --example document";
    assert!(
        read("docs/reference/diagnostics.md") == kiln_diagnostics::document(),
        "outdated; run `{update}`"
    );
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

/// Every Markdown file of the tree that people read, relative to the root.
fn documents() -> Vec<String> {
    fn visit(dir: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(root().join(dir)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let path = format!("{dir}/{name}");
            if root().join(&path).is_dir() {
                visit(&path, found);
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    let mut found: Vec<_> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
            .map(str::to_owned)
            .into();
    visit("docs", &mut found);
    visit("examples/showcase", &mut found);
    let readmes = manifests().into_keys().map(|name| format!("crates/{name}/README.md"));
    found.extend(readmes.filter(|path| root().join(path).is_file()));
    found
}

/// Targets of the Markdown links of a text, code blocks left out.
fn links(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(str::to_owned).collect()
}

/// The anchors of a document, as GitHub and mdBook make them from headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let anchor = |heading: &str| {
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    prose
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

#[test]
fn relative_links_in_documents_resolve() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = read(&document);
        for link in links(&text) {
            if link.is_empty() || link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => root().join(&document),
                path => root().join(&document).parent().unwrap().join(path),
            };
            if !target.exists() {
                broken.push(format!("{document}: {link}: no such file"));
            } else if !anchor.is_empty()
                && target.extension().is_some_and(|e| e == "md")
                && !anchors(&read(&target)).contains(anchor)
            {
                broken.push(format!("{document}: {link}: no such heading"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Returns the commands and dependencies of a text that take a name of ours from a package registry.
fn installs_from_a_registry(text: &str) -> Vec<String> {
    const COMMANDS: &[&str] = &[
        "cargo install ",
        "cargo add ",
        "npm install ",
        "npm i ",
        "pip install ",
        "brew install ",
        "scoop install ",
    ];
    let is_ours = |name: &str| {
        let name = name.split('@').next().unwrap_or_default();
        ["assetc", "pak", "unity-assetdb", "kiln"].contains(&name) || name.starts_with("kiln-")
    };
    // A command in running text can be broken after its second word.
    let text = COMMANDS
        .iter()
        .fold(text.to_owned(), |text, command| text.replace(&format!("{}\n", command.trim_end()), command));
    let commands = text.lines().flat_map(|line| {
        let starts = COMMANDS.iter().flat_map(|command| line.match_indices(command));
        starts.filter_map(|(at, _)| line[at..].split(['`', '#', ';']).next())
    });
    let commands = commands.filter(|command| {
        let mut words = command.split_whitespace().skip(2);
        words.clone().any(is_ours) && !words.any(|word| ["--path", "--git"].contains(&word))
    });
    let dependencies = text.lines().filter(|line| {
        let Some((name, value)) = line.trim().split_once(" = ") else { return false };
        let value = value.trim_start();
        is_ours(name)
            && (value.starts_with('"') || value.starts_with('{'))
            && !["path = ", "git = ", "workspace = "].iter().any(|source| value.contains(source))
    });
    commands.chain(dependencies).map(str::to_owned).collect()
}

/// Until a crate is published its name can become that of another program, as happened to `pak` and `kiln-cli`.
#[test]
fn documents_install_nothing_of_ours_from_a_registry() {
    let others = [
        "packaging/README.md",
        "integrations/javascript/README.md",
        "integrations/unity/action.yml",
        "integrations/unity/gitlab-ci.yml",
    ];
    let documents = documents().into_iter().chain(others.map(str::to_owned));
    let found: Vec<_> = documents
        .flat_map(|document| {
            let of = installs_from_a_registry(&read(&document));
            of.into_iter().map(move |what| format!("{document}: {what}"))
        })
        .collect();
    assert!(found.is_empty(), "take it from a path or a Git repository:\n{}", found.join("\n"));

    let rejected = "$ cargo install assetc\nRun `cargo install\n--locked kiln-unity-assetdb`\nnpm i kiln-formats\n\
                    kiln-pak = \"0.1\"\npak = { package = \"kiln-pak\", version = \"0.1\" }";
    assert_eq!(installs_from_a_registry(rejected).len(), 5);
    let accepted = "cargo install --path crates/assetc\ncargo install --git URL kiln-unity-assetdb\n\
                    cargo install mdbook --locked\npak = { package = \"kiln-pak\", path = \"../kiln\" }";
    assert_eq!(installs_from_a_registry(accepted), Vec::<String>::new());
}

#[test]
fn the_table_of_contents_lists_every_document() {
    let listed: BTreeSet<String> =
        links(&read("docs/SUMMARY.md")).into_iter().filter(|l| !l.is_empty()).collect();
    let exists: BTreeSet<String> =
        documents().iter().filter_map(|path| path.strip_prefix("docs/")).map(str::to_owned).collect();
    let expected: BTreeSet<String> = exists.into_iter().filter(|path| path != "SUMMARY.md").collect();
    assert_eq!(listed, expected);
}

#[test]
fn where_does_x_live_names_paths_that_exist() {
    let text = read("docs/internals/where-does-x-live.md");
    let cells = text.lines().filter(|line| line.starts_with("| ")).filter_map(|line| line.split('|').nth(2));
    let paths: Vec<_> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(paths.len() > 30, "{paths:?}");
    for path in paths {
        assert!(root().join("crates").join(path).exists(), "crates/{path} does not exist");
    }
}

#[test]
fn every_console_session_is_run_by_a_test() {
    let tests = ["assetc", "pak", "unity-assetdb"]
        .map(|name| read(format!("crates/{name}/tests/console.rs")))
        .concat();
    for document in documents() {
        let text = read(&document);
        assert!(
            !text.contains("\n```console\n") || tests.contains(&format!("\"{document}\"")),
            "no test runs the console sessions of {document}"
        );
        for block in text.split("\n```console\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            let first = block.trim_start().lines().next().unwrap_or_default();
            assert!(
                first.starts_with("$ "),
                "{document}: a console block starts with a command, not {first}"
            );
        }
    }
}
