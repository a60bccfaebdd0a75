//! Runs the ` ```console ` blocks of a document with a real executable and compares the printed output.
//!
//! The tests of `assetc`, `pak` and `unity-assetdb` include this file, each with its own executable:
//!
//! - A line that starts with `$ ` is a command for `sh`; the lines after it are its output, both streams together.
//! - A block belongs to the first of the three tools that it runs, or to the tool of the block before it. All blocks of
//!   one tool in one document share a directory, so that they read like one session.
//! - `<!-- file: PATH -->` writes the code block below it to that path first; `<!-- setup` … `-->` runs commands that
//!   the reader does not see; `<!-- not run: REASON -->` before a block leaves it out.
//! - In the expected output, `...` as a line stands for any lines, `[..]` for any characters. Durations are equal to each
//!   other, and consecutive lines of progress (`built` …), which depend on the scheduling of threads, are sorted.
//!
//! `KILN_UPDATE_DOCS=1` writes the real output into the documents instead of failing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TOOLS: [&str; 3] = ["assetc", "pak", "unity-assetdb"];

/// One command of a block and the lines of its expected output.
struct Step {
    command: String,
    /// Line numbers of the output in the document, from the first to after the last.
    output: std::ops::Range<usize>,
}

/// A part of a document that does something.
enum Item {
    File { path: String, content: String },
    Setup(String),
    Block { tool: &'static str, steps: Vec<Step> },
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Runs all console blocks of a document that belong to `tool`, whose executable is `program`.
///
/// # Panics
///
/// If an output differs, or if the document has no block for the tool.
pub(crate) fn check(document: &str, tool: &str, program: &str) {
    let file = root().join(document);
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{document}: {e}"));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let items = parse(document, &lines);
    let session = Session::new(program);
    let (mut ran, mut failures, mut updates) = (0, Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::File { path, content } => session.write(&path, &content),
            Item::Setup(script) => drop(session.run(&script)),
            Item::Block { tool: of, steps } if of == tool => {
                for step in steps {
                    ran += 1;
                    let actual = session.run(&step.command);
                    let expected = &lines[step.output.clone()];
                    if !matches(&normalised(expected), &normalised(&actual)) {
                        let line = step.output.start;
                        failures.push(format!(
                            "{document}:{line}: $ {}\n--- documented\n{}\n--- printed\n{}\n",
                            step.command,
                            expected.join("\n"),
                            actual.join("\n")
                        ));
                        updates.push((step.output, actual));
                    }
                }
            }
            Item::Block { .. } => {}
        }
    }
    assert!(ran > 0, "{document} has no console block for {tool}");
    if std::env::var_os("KILN_UPDATE_DOCS").is_some() {
        for (range, actual) in updates.into_iter().rev() {
            lines.splice(range, actual);
        }
        fs::write(&file, lines.join("\n") + "\n").expect("the document can be written");
    } else {
        assert!(failures.is_empty(), "KILN_UPDATE_DOCS=1 updates the documents\n{}", failures.join("\n"));
    }
}

/// A scratch directory with an environment of its own.
struct Session {
    dir: tempfile::TempDir,
    path: String,
}

impl Session {
    fn new(program: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(dir.path().join("work")).expect("a directory");
        let tools =
            Path::new(program).parent().expect("executables are in a directory").to_str().expect("UTF-8");
        let path = format!("{tools}:{}", std::env::var("PATH").unwrap_or_default());
        Self { dir, path }
    }

    fn write(&self, path: &str, content: &str) {
        let file = self.dir.path().join("work").join(path);
        fs::create_dir_all(file.parent().expect("a file is in a directory")).expect("a directory");
        fs::write(file, content).expect("the file can be written");
    }

    /// The lines that a command prints. `cd` holds for the commands after it.
    fn run(&self, command: &str) -> Vec<String> {
        let state = self.dir.path().join("cwd");
        let script = format!("{command}\npwd > '{}'\n", state.display());
        let cwd = fs::read_to_string(&state)
            .map_or_else(|_| self.dir.path().join("work"), |dir| dir.trim_end().into());
        let mut shell = Command::new("sh");
        let home = std::env::var("HOME").unwrap_or_default();
        let inherited =
            |name: &str, below: &str| std::env::var(name).unwrap_or_else(|_| format!("{home}/{below}"));
        shell
            .args(["-c", &format!("exec 2>&1\n{script}")])
            .current_dir(cwd)
            .env_clear()
            .env("PATH", &self.path)
            .env("KILN", root())
            .env("HOME", self.dir.path().join("home"))
            .env("CARGO_HOME", inherited("CARGO_HOME", ".cargo"))
            .env("RUSTUP_HOME", inherited("RUSTUP_HOME", ".rustup"))
            .env("CARGO_NET_OFFLINE", "true");
        let output = shell.output().expect("a shell");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }
}

/// Finds everything in a document that is run or written.
fn parse(document: &str, lines: &[String]) -> Vec<Item> {
    let (mut items, mut tool, mut skip) = (Vec::new(), TOOLS[0], false);
    let (mut file, mut at) = (None, 0);
    while at < lines.len() {
        let line = lines[at].as_str();
        at += 1;
        if let Some(path) = line.strip_prefix("<!-- file: ") {
            file = path.strip_suffix(" -->").map(str::to_owned);
        } else if line.starts_with("<!-- not run: ") {
            skip = true;
        } else if line == "<!-- setup" {
            let end = at + lines[at..].iter().position(|l| l == "-->").expect("a setup comment ends");
            items.push(Item::Setup(lines[at..end].join("\n")));
            at = end + 1;
        } else if let Some(language) = line.strip_prefix("```") {
            let end = at + lines[at..].iter().position(|l| l == "```").expect("a code block ends");
            let body = at..end;
            at = end + 1;
            if let Some(path) = file.take() {
                items.push(Item::File { path, content: lines[body].join("\n") + "\n" });
            } else if language == "console" && !std::mem::take(&mut skip) {
                let steps = steps(document, lines, body);
                let names = |tool: &str| {
                    steps.iter().any(|step| step.command.split([' ', '(', '|']).any(|w| w == tool))
                };
                tool = TOOLS.into_iter().find(|tool| names(tool)).unwrap_or(tool);
                items.push(Item::Block { tool, steps });
            }
            skip = false;
        }
    }
    items
}

fn steps(document: &str, lines: &[String], body: std::ops::Range<usize>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for at in body {
        if let Some(command) = lines[at].strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), output: at + 1..at + 1 });
        } else {
            let step =
                steps.last_mut().unwrap_or_else(|| panic!("{document}:{}: output before a command", at + 1));
            step.output.end = at + 1;
        }
    }
    steps
}

/// Lines without durations and trailing spaces, runs of progress lines sorted.
fn normalised<S: AsRef<str>>(lines: &[S]) -> Vec<String> {
    let mut lines: Vec<String> = lines.iter().map(|line| without_times(line.as_ref().trim_end())).collect();
    let progress =
        |line: &String| ["built ", "failed ", "fetched "].iter().any(|verb| line.starts_with(verb));
    lines.chunk_by_mut(|a, b| progress(a) && progress(b)).for_each(|run| run.sort());
    lines
}

/// Replaces every number before ` ms`, ` s` or ` min` by `N`, and those units by one.
fn without_times(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let mut out = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let unit = |w: &str| ["ms", "s", "min"].contains(&w.trim_end_matches([')', ',', ';', '.']));
        let number = word.trim_start_matches('(');
        let is_number =
            !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ':');
        if is_number && words.get(at + 1).is_some_and(|next| unit(next)) {
            out.push(word.replace(number, "N"));
        } else if unit(word) && at > 0 && words[at - 1].ends_with(|c: char| c.is_ascii_digit()) {
            out.push(word.replace("ms", "s").replace("min", "s"));
        } else {
            out.push((*word).to_owned());
        }
    }
    out.join(" ")
}

/// Compares lines; `...` matches any number of lines, `[..]` any characters.
fn matches(expected: &[String], actual: &[String]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((first, rest)) if first.trim() == "..." => {
            (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..]))
        }
        Some((first, rest)) => actual
            .split_first()
            .is_some_and(|(line, lines)| line_matches(first, line) && matches(rest, lines)),
    }
}

fn line_matches(expected: &str, actual: &str) -> bool {
    match expected.split_once("[..]") {
        None => expected == actual,
        Some((before, after)) => actual.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && line_matches(after, &rest[at..]))
        }),
    }
}
