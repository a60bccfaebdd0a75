//! A test project whose sources are scripts for an action, and the observable result of a build.

use kiln_engine::Code;
use kiln_engine::mem::Mem;
use kiln_engine::wire::{Reader, Writer};
use kiln_engine::{
    Action, ActionContext, Artifact, CacheEntry, Diag, DirectorySink, Fs, Journal, Metadata, Outcome, Plan,
    Rejected, RelPath, SharedResult, SourceTree, State, Store, WorkKey, run,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const JOURNAL: &str = ".journal";

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

/// An action that interprets its source, one command per line: `+file` appends a file, `?file` one that may be missing, `/dir` the names in a
/// directory, `~` warns, `&text` emits the reversed line as a shared result, `!file` modifies a file while it is read,
/// `%n` appends n KiB, `second` has a second artifact. The rest is copied.
pub(crate) struct Script<'a> {
    project: &'a Project,
    source: RelPath,
    fingerprint: &'a str,
}

/// The first bytes of an artifact, as metadata.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Head(Vec<u8>);

impl Head {
    fn of(bytes: &[u8]) -> Head {
        Head(bytes[..bytes.len().min(16)].to_vec())
    }
}

impl Metadata for Head {
    fn write(&self, to: &mut Writer) {
        to.bytes(&self.0);
    }

    fn read(from: &mut Reader<'_>) -> Option<Head> {
        Some(Head(from.bytes()?.to_vec()))
    }
}

impl Action for Script<'_> {
    type Metadata = Head;

    fn source(&self) -> &RelPath {
        &self.source
    }

    fn fingerprint(&self) -> &str {
        self.fingerprint
    }

    fn weight(&self, _: SourceTree<'_>) -> u64 {
        1
    }

    fn run(&self, cx: &mut ActionContext<'_>) -> Result<Vec<Artifact<Head>>, Diag> {
        self.project.runs.fetch_add(1, Relaxed);
        let text = String::from_utf8(cx.inputs.read(&self.source)?).unwrap();
        let mut artifacts = vec![];
        let mut out = self.fingerprint.as_bytes().to_vec();
        for line in text.lines() {
            let operand = || path(&line[1..]);
            match line.chars().next() {
                Some('+') => out.extend(cx.inputs.read(&operand())?),
                Some('?') => out.extend(cx.inputs.read_opt(&operand())?.unwrap_or_else(|| b"nothing".into())),
                Some('/') => {
                    let names: Vec<_> =
                        cx.inputs.list(&operand())?.iter().map(|e| e.path.to_string()).collect();
                    out.extend(names.join(",").bytes());
                }
                Some('~') => cx.warn(Diag::new(Code::SymlinkIgnored, format!("{} is unusual", &line[1..]))),
                Some('&') => {
                    let name = path(&format!("{}.work", self.source));
                    let reversed: Vec<u8> = line.bytes().rev().collect();
                    let (artifact, warnings) = cx.shared_artifact(
                        &name,
                        Head::of(&reversed),
                        WorkKey::of([line.as_bytes()]),
                        |bytes| bytes.ends_with(b"&"),
                        || {
                            self.project.shared_runs.fetch_add(1, Relaxed);
                            Ok(SharedResult::new(
                                reversed.clone(),
                                vec![Diag::new(Code::SymlinkIgnored, "shared warning")],
                            ))
                        },
                    )?;
                    artifacts.push(artifact);
                    warnings.into_iter().for_each(|warning| cx.warn(warning));
                }
                Some('!') => {
                    out.extend(cx.inputs.read(&operand())?);
                    self.project.src.tick(1_000_000_000);
                    self.project.src.put(&line[1..], "modified meanwhile");
                }
                Some('%') => {
                    out.extend((0..line[1..].parse::<u32>().unwrap() << 10).map(|n| (n % 251) as u8))
                }
                _ if line == "second" => {
                    let name = path(&format!("{}.second", self.source));
                    artifacts.push(cx.artifact(&name, Head::of(text.as_bytes()), text.as_bytes())?);
                }
                _ => out.extend(line.bytes()),
            }
        }
        let name = path(&format!("{}.out", self.source));
        artifacts.push(cx.artifact(&name, Head::of(&out), &out)?);
        Ok(artifacts)
    }

    fn check_cached(&self, entry: &mut CacheEntry<'_, Head>) -> Result<(), Rejected> {
        let ours = ["out", "work", "second"].map(|ending| format!("{}.{ending}", self.source));
        for (at, artifact) in entry.artifacts().to_vec().into_iter().enumerate() {
            let name = artifact.name;
            if !ours.contains(&name.to_string()) {
                return Err(Rejected(format!("it writes {name}")));
            }
            if artifact.metadata != Head::of(&entry.read(at)?) {
                return Err(Rejected(format!("the metadata of {name} does not match")));
            }
        }
        Ok(())
    }
}

/// A checkout with its own output directory.
#[derive(Default)]
pub(crate) struct Project {
    pub(crate) src: Mem,
    pub(crate) out: Mem,
    pub(crate) runs: AtomicUsize,
    pub(crate) shared_runs: AtomicUsize,
}

/// The observable result of a build.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BuildResult {
    pub(crate) outputs: BTreeMap<String, Vec<u8>>,
    pub(crate) metadata: Vec<Vec<Head>>,
    pub(crate) warnings: Vec<Diag>,
}

impl Project {
    pub(crate) fn new(files: &[(&str, &str)]) -> Project {
        let project = Project { src: Mem::new(), out: Mem::new(), ..Project::default() };
        files.iter().for_each(|(path, text)| project.src.put(path, *text));
        project.src.tick(3_000_000_000);
        project
    }

    pub(crate) fn run(&self, store: Option<&Store>, fingerprint: &str, force: bool) -> Vec<Outcome<Head>> {
        let mut journal = Journal::open(&self.out, &path(JOURNAL), &|| ()).unwrap();
        let (src_tree, out_tree) = (self.src.walk(None).unwrap(), self.out.walk(None).unwrap());
        let sources = SourceTree { fs: &self.src, tree: &src_tree };
        let sink = DirectorySink::new(&self.out, &out_tree);
        let files = src_tree.files().filter(|(path, _)| path.file_name().ends_with(".txt"));
        let actions: Vec<_> =
            files.map(|(path, _)| Script { project: self, source: path.clone(), fingerprint }).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let plan = Plan { force, store, ..Plan::new(&pool) };
        run(sources, &sink, &mut journal, &actions, &[], plan).unwrap()
    }

    /// Builds; returns the number of actions that ran, and the result.
    pub(crate) fn build(&self, store: Option<&Store>) -> (usize, BuildResult) {
        let before = self.runs.load(Relaxed);
        let done = self.run(store, "copy 1", false);
        assert!(done.iter().all(|done| !matches!(done.state, State::Failed(_))), "{done:?}");
        let mut outputs = self.out.snapshot();
        outputs.remove(JOURNAL);
        let metadata = |done: &Outcome<Head>| done.artifacts.iter().map(|a| a.metadata.clone()).collect();
        let metadata = done.iter().map(metadata).collect();
        let warnings = done.into_iter().flat_map(|done| done.warnings).collect();
        (self.runs.load(Relaxed) - before, BuildResult { outputs, metadata, warnings })
    }
}

pub(crate) const FILES: &[(&str, &str)] = &[
    ("a.txt", "plain"),
    ("b.txt", "+shared\n?absent\n/dir\nsecond"),
    ("c.txt", "~this\n&work"),
    ("d.txt", "&work\n+shared"),
    ("dir/x", ""),
    ("shared", "of many"),
];
