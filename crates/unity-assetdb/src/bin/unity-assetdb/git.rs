//! Reads revisions of a project through the `git` executable, for `check --changed-since`, `review` and the history of
//! removed assets.
//!
//! Only inspection commands run. A project may be untrusted, and the configuration of its repository can name
//! programs: file system monitors, hooks, filters, diff drivers, pagers, SSH commands. All of them are disabled on the
//! command line, filters by name after the configuration was listed; environment variables of Git are not passed on; missing
//! objects of partial clones are not fetched; nothing is written, not even the index. Arguments of the user are resolved to
//! object names first and rejected if they start with `-`.

use ::unity_assetdb::meta;
use ::unity_assetdb::query::changed_since::Status;
use kiln_engine::{Code, Diag};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The maximum size of a list that a command prints, in bytes.
const MAX_OUTPUT: u64 = 1 << 30;
/// The maximum size of an object that is kept, in bytes.
const MAX_BLOB: u64 = 512 << 20;
/// The number of objects that are requested at once: their names fit into the buffer of a pipe.
const BATCH: usize = 256;
/// The maximum number of old versions of `.meta` files that are searched for a GUID.
const MAX_HISTORY: usize = 200_000;
/// The folders of a project that contain assets and settings.
const FOLDERS: [&str; 3] = ["Assets", "Packages", "ProjectSettings"];

/// Keys of the configuration that name a program, with a value that names none.
const NO_PROGRAMS: [&str; 14] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=",
    "core.editor=false",
    "core.askPass=",
    "core.sshCommand=false",
    "core.alternateRefsCommand=",
    "credential.helper=",
    "diff.external=",
    "gpg.program=false",
    "log.showSignature=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "core.quotePath=false",
];

/// A repository that contains a project.
pub(super) struct Git {
    root: PathBuf,
    /// `key=value` arguments that disable programs.
    overrides: Vec<String>,
}

/// A file that differs from a revision.
pub(super) struct Changed {
    pub(super) status: Status,
    /// The object with the content in that revision.
    base: Option<String>,
}

impl Git {
    /// Opens the repository that contains the project.
    ///
    /// # Errors
    /// If `git` cannot be run, or the project is in no work tree.
    pub(super) fn open(root: &Path) -> Result<Git, Diag> {
        let overrides = NO_PROGRAMS.map(str::to_owned).to_vec();
        let mut git = Git { root: root.to_owned(), overrides };
        let inside = git.run(&["rev-parse", "--is-inside-work-tree"]).map_err(|diag| {
            // `git` runs with messages in English.
            let is_missing = diag.message.contains("not a git repository");
            if is_missing { failed("the project is in no Git repository") } else { diag }
        })?;
        if inside.trim_ascii() != b"true" {
            return Err(failed("the project is in no work tree of Git"));
        }
        // Without a key there is nothing to list, which is exit code 0 as well.
        let keys = git.run(&["config", "--list", "--name-only", "-z"])?;
        for key in strings(&keys) {
            let lower = key.to_ascii_lowercase();
            let is = |section: &str, names: &[&str]| {
                lower.strip_prefix(section).is_some_and(|rest| names.iter().any(|name| rest.ends_with(name)))
            };
            if is("filter.", &[".clean", ".smudge", ".process"])
                || is("diff.", &[".command", ".textconv"])
                || is("merge.", &[".driver"])
            {
                git.overrides.push(format!("{key}="));
            } else if is("filter.", &[".required"]) {
                git.overrides.push(format!("{key}=false"));
            }
        }
        Ok(git)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_") {
                command.env_remove(name);
            }
        }
        command
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_PAGER", "cat")
            .env("LC_ALL", "C")
            .current_dir(&self.root)
            .arg("--no-pager");
        for each in &self.overrides {
            command.arg("-c").arg(each);
        }
        command.stderr(Stdio::piped()).stdin(Stdio::null());
        command
    }

    /// Runs a command and returns its output.
    fn run(&self, args: &[&str]) -> Result<Vec<u8>, Diag> {
        let mut child =
            self.command().args(args).stdout(Stdio::piped()).spawn().map_err(|error| cannot_run(&error))?;
        let stderr = child.stderr.take();
        // Both pipes are read at once, so that neither fills up while the other is waited for.
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(stderr) = stderr {
                let _ = stderr.take(64 << 10).read_to_end(&mut text);
            }
            text
        });
        let mut output = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            stdout.take(MAX_OUTPUT).read_to_end(&mut output).map_err(|error| cannot_run(&error))?;
        }
        let status = child.wait().map_err(|error| cannot_run(&error))?;
        let errors = errors.join().unwrap_or_default();
        if status.success() {
            return Ok(output);
        }
        let why = String::from_utf8_lossy(&errors);
        Err(failed(&format!("git {} failed: {}", args[0], why.trim())))
    }

    /// Returns the object name of a commit.
    ///
    /// # Errors
    /// If the revision does not exist.
    pub(super) fn commit(&self, revision: &str) -> Result<String, Diag> {
        if revision.starts_with('-') || revision.is_empty() {
            let message = format!("expected a revision of Git, found {revision:?}");
            return Err(Diag::new(Code::Usage, message));
        }
        let found = self.run(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")]);
        let found = found.map_err(|_| {
            failed(&format!("the repository has no revision {revision:?}"))
                .hint("fetch it; a shallow clone has only the newest commits (`fetch-depth: 0`)")
        })?;
        Ok(String::from_utf8_lossy(&found).trim().to_owned())
    }

    /// Returns the commit at which the current branch left a revision.
    ///
    /// # Errors
    /// If the revision does not exist, or has no common ancestor with the current one.
    pub(super) fn merge_base(&self, revision: &str, head: &str) -> Result<String, Diag> {
        let (revision_name, head_name) = (self.commit(revision)?, self.commit(head)?);
        let found = self.run(&["merge-base", &revision_name, &head_name]).map_err(|_| {
            failed(&format!("{revision:?} and {head:?} have no common ancestor in this clone")).hint(
                "fetch the history of both; a shallow clone has only the newest commits (`fetch-depth: 0`)",
            )
        })?;
        Ok(String::from_utf8_lossy(&found).trim().to_owned())
    }

    /// Returns the files of the project that differ between a commit and the working tree, untracked ones included.
    ///
    /// # Errors
    /// If `git` fails.
    pub(super) fn changes(&self, base: &str) -> Result<BTreeMap<String, Changed>, Diag> {
        let diff = ["diff-index", "--raw", "-z", "--no-abbrev", "--no-renames", "--relative"];
        let more = ["--ignore-submodules=all", "--no-ext-diff", "--no-textconv", base, "--"];
        let mut found = changed_files(&self.run(&[&diff[..], &more[..], &FOLDERS[..]].concat())?);
        let others = ["ls-files", "--others", "--exclude-standard", "-z", "--"];
        for path in strings(&self.run(&[&others[..], &FOLDERS[..]].concat())?) {
            found.entry(path).or_insert(Changed { status: Status::Added, base: None });
        }
        Ok(found)
    }

    /// Returns the files of the project that differ between two commits, with the objects of the old and new content.
    ///
    /// # Errors
    /// If `git` fails.
    pub(super) fn changes_between(
        &self,
        base: &str,
        head: &str,
    ) -> Result<BTreeMap<String, (Changed, Option<String>)>, Diag> {
        let diff = ["diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", "--relative"];
        let more = ["--ignore-submodules=all", "--no-ext-diff", "--no-textconv", base, head, "--"];
        let output = self.run(&[&diff[..], &more[..], &FOLDERS[..]].concat())?;
        let entries = raw_entries(&output).into_iter();
        let pair = |entry: RawEntry| {
            let new = object(&entry.new);
            (entry.path, (Changed { status: entry.status, base: object(&entry.old) }, new))
        };
        Ok(entries.map(pair).collect())
    }

    /// Starts a process that returns the content of objects.
    ///
    /// # Errors
    /// If `git` cannot be run.
    pub(super) fn blobs(&self) -> Result<Blobs, Diag> {
        let mut command = self.command();
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().map_err(|error| cannot_run(&error))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("git has no standard input or output"));
        };
        let pipes = Some((BufWriter::new(input), BufReader::new(output)));
        Ok(Blobs { child, pipes: RefCell::new(pipes) })
    }

    /// Returns the last path of each of these GUIDs that the history of the current branch contains.
    ///
    /// # Errors
    /// If `git` fails.
    pub(super) fn removed_assets(&self, guids: &[u128]) -> Result<HashMap<u128, String>, Diag> {
        let mut found = HashMap::new();
        let blobs = self.blobs()?;
        let mut seen = HashSet::new();
        // Most GUIDs end with their asset; one that was changed is in an older version of a `.meta` that still exists.
        for filter in ["--diff-filter=D", "--diff-filter=M"] {
            if found.len() == guids.len() {
                break;
            }
            let log = ["log", "--raw", "-z", "--no-abbrev", "--no-renames", "--relative", "--format="];
            let more = ["--no-ext-diff", "--no-textconv", filter, "HEAD", "--", "*.meta"];
            let output = self.run(&[&log[..], &more[..]].concat())?;
            let entries: Vec<RawEntry> = raw_entries(&output)
                .into_iter()
                .filter(|entry| seen.insert(entry.old.clone()))
                .take(MAX_HISTORY)
                .collect();
            for part in entries.chunks(BATCH) {
                let names: Vec<&str> = part.iter().map(|entry| &*entry.old).collect();
                for (entry, content) in part.iter().zip(blobs.read_all(&names)) {
                    let guid = content.and_then(|content| meta::parse(&content).guid);
                    if let Some(guid) = guid.filter(|guid| guids.contains(guid)) {
                        let path = entry.path.strip_suffix(".meta").unwrap_or(&entry.path);
                        found.entry(guid).or_insert_with(|| path.to_owned());
                    }
                }
            }
        }
        Ok(found)
    }

    /// Returns the path of the project in the repository, with `/` at its end; empty for its root.
    ///
    /// # Errors
    /// If `git` fails.
    pub(super) fn prefix(&self) -> Result<String, Diag> {
        let output = self.run(&["rev-parse", "--show-prefix"])?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned())
    }

    /// Returns the files of the project that differ from the current commit, and untracked ones, by their path in the
    /// repository.
    ///
    /// # Errors
    /// If `git` fails.
    pub(super) fn dirty_files(&self) -> Result<Vec<String>, Diag> {
        let output =
            self.run(&["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all", "--", "."])?;
        Ok(strings(&output).into_iter().filter_map(|line| line.get(3..).map(str::to_owned)).collect())
    }
}

impl Changed {
    /// Returns the content in the base revision.
    pub(super) fn read(&self, blobs: &Blobs) -> Option<Vec<u8>> {
        blobs.read(self.base.as_deref()?)
    }
}

/// A process that returns the content of objects.
pub(super) struct Blobs {
    child: Child,
    pipes: RefCell<Option<(BufWriter<ChildStdin>, BufReader<ChildStdout>)>>,
}

impl Blobs {
    /// Returns the content of an object; `None` if the repository does not have it.
    pub(super) fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.read_all(&[name]).pop().flatten()
    }

    /// Returns the content of at most [`BATCH`] objects.
    fn read_all(&self, names: &[&str]) -> Vec<Option<Vec<u8>>> {
        let mut pipes = self.pipes.borrow_mut();
        let Some((input, output)) = pipes.as_mut() else { return vec![None; names.len()] };
        let asked = names.iter().try_for_each(|name| writeln!(input, "{name}")).and_then(|()| input.flush());
        if asked.is_err() {
            return vec![None; names.len()];
        }
        names.iter().map(|_| answer(output)).collect()
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        // The process ends at the end of its input.
        self.pipes.borrow_mut().take();
        let _ = self.child.wait();
    }
}

/// Reads one answer of `cat-file --batch`: `<name> <type> <size>`, the content and a line break.
fn answer(output: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut head = String::new();
    output.read_line(&mut head).ok()?;
    let mut parts = head.split_ascii_whitespace();
    let (kind, size) = (parts.nth(1)?, parts.next()?.parse::<u64>().ok()?);
    let mut content = Vec::new();
    output.by_ref().take(size.min(MAX_BLOB)).read_to_end(&mut content).ok()?;
    std::io::copy(&mut output.by_ref().take(size.saturating_sub(MAX_BLOB) + 1), &mut std::io::sink()).ok()?;
    (kind == "blob" && size <= MAX_BLOB).then_some(content)
}

/// An entry of a list in Git's raw format: `:100644 100644 <old> <new> M`, then the path.
struct RawEntry {
    old: String,
    new: String,
    status: Status,
    path: String,
}

fn raw_entries(output: &[u8]) -> Vec<RawEntry> {
    let parts = strings(output);
    let mut found = Vec::new();
    let mut parts = parts.into_iter();
    while let Some(head) = parts.next() {
        // The format of a log may leave line breaks between commits.
        let Some(fields) = head.trim_start().strip_prefix(':') else { continue };
        let Some(path) = parts.next() else { break };
        let fields: Vec<&str> = fields.split(' ').collect();
        let [old_mode, new_mode, old, new, status] = fields[..] else { continue };
        // Submodules are other repositories.
        if old_mode == "160000" || new_mode == "160000" {
            continue;
        }
        let status = match status.as_bytes().first() {
            Some(b'A') => Status::Added,
            Some(b'D') => Status::Deleted,
            _ => Status::Modified,
        };
        found.push(RawEntry { old: old.to_owned(), new: new.to_owned(), status, path });
    }
    found
}

fn changed_files(output: &[u8]) -> BTreeMap<String, Changed> {
    let mut found: BTreeMap<String, Changed> = BTreeMap::new();
    for entry in raw_entries(output) {
        // An unmerged file has two entries, one without objects.
        let base = object(&entry.old).or_else(|| found.remove(&entry.path).and_then(|known| known.base));
        found.insert(entry.path, Changed { status: entry.status, base });
    }
    found
}

/// Returns an object name, unless it is the one of zeros that stands for no object.
fn object(name: &str) -> Option<String> {
    name.bytes().any(|digit| digit != b'0').then(|| name.to_owned())
}

/// Splits a list that is terminated by zero bytes. Paths that are not UTF-8 are in no index.
fn strings(output: &[u8]) -> Vec<String> {
    let parts = output.split(|b| *b == 0).filter(|part| !part.is_empty());
    parts.filter_map(|part| String::from_utf8(part.to_vec()).ok()).collect()
}

fn failed(why: &str) -> Diag {
    Diag::new(Code::UnityGit, why)
}

fn cannot_run(error: &std::io::Error) -> Diag {
    failed(&format!("cannot run git: {error}")).hint("install Git, and check that PATH contains it")
}
