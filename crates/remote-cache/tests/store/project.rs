//! A checkout whose sources are orders to a task, with everything that a build of it leaves to be seen.

use kiln_kit::Code;
use kiln_kit::mem::Mem;
use kiln_kit::{
    Cache, Cook, Diag, Done, Fs, Made, Plan, Rejected, RelPath, State, Store, StoredResult, Task, WorkKey,
    World, run,
};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const JOURNAL: &str = ".journal";

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

/// Each line of a source is an order: `+file` appends a file, `?file` one that may be missing, `/dir` the names in a
/// directory, `~` warns, `&text` emits the reverse of a text as shared work, `!file` changes a file while it is read,
/// `%n` appends n KiB, `kept` keeps a content for the tool. The rest is copied.
pub(crate) struct Orders<'a> {
    project: &'a Project,
    source: RelPath,
    fingerprint: &'a str,
}

impl Task for Orders<'_> {
    fn source(&self) -> &RelPath {
        &self.source
    }

    fn fingerprint(&self) -> &str {
        self.fingerprint
    }

    fn weight(&self, _: World<'_>) -> u64 {
        1
    }

    fn cook(&self, cx: &mut Cook<'_>) -> Result<Vec<u8>, Diag> {
        self.project.cooks.fetch_add(1, Relaxed);
        let text = String::from_utf8(cx.read(&self.source)?).unwrap();
        let mut out = self.fingerprint.as_bytes().to_vec();
        for line in text.lines() {
            let operand = || path(&line[1..]);
            match line.chars().next() {
                Some('+') => out.extend(cx.read(&operand())?),
                Some('?') => out.extend(cx.read_opt(&operand())?.unwrap_or_else(|| b"nothing".into())),
                Some('/') => {
                    let names: Vec<_> = cx.list(&operand())?.iter().map(|e| e.path.to_string()).collect();
                    out.extend(names.join(",").bytes());
                }
                Some('~') => cx.warn(Diag::new(Code::LinkIgnored, format!("{} is odd", &line[1..]))),
                Some('&') => {
                    let name = path(&format!("{}.work", self.source));
                    let warnings = cx.emit_shared(
                        &name,
                        WorkKey::of([line.as_bytes()]),
                        |bytes| bytes.ends_with(b"&"),
                        || {
                            self.project.works.fetch_add(1, Relaxed);
                            let bytes = line.bytes().rev().collect();
                            Ok(Made { bytes, warnings: vec![Diag::new(Code::LinkIgnored, "hard")] })
                        },
                    )?;
                    warnings.into_iter().for_each(|warning| cx.warn(warning));
                }
                Some('!') => {
                    out.extend(cx.read(&operand())?);
                    self.project.src.tick(1_000_000_000);
                    self.project.src.put(&line[1..], "changed meanwhile");
                }
                Some('%') => {
                    out.extend((0..line[1..].parse::<u32>().unwrap() << 10).map(|n| (n % 251) as u8))
                }
                _ if line == "kept" => {
                    cx.keep(text.as_bytes());
                    self.project.kept.lock().unwrap().insert(self.source.to_string(), text.clone().into());
                }
                _ => out.extend(line.bytes()),
            }
        }
        cx.emit(&path(&format!("{}.out", self.source)), &out)?;
        Ok(out)
    }

    fn restore(&self, stored: &mut StoredResult<'_>) -> Result<(), Rejected> {
        assert!(stored.payload().starts_with(self.fingerprint.as_bytes()));
        let ours = [format!("{}.out", self.source), format!("{}.work", self.source)];
        for (at, path) in stored.outputs().map(|(path, _)| path.to_string()).enumerate().collect::<Vec<_>>() {
            if !ours.contains(&path) {
                return Err(Rejected(format!("it writes {path}")));
            }
            if path == ours[0] && stored.read(at)? != stored.payload() {
                return Err(Rejected(format!("{path} is not what was returned")));
            }
        }
        if let Some(kept) = stored.kept()? {
            self.project.kept.lock().unwrap().insert(self.source.to_string(), kept);
        }
        Ok(())
    }
}

/// A checkout with an output of its own.
#[derive(Default)]
pub(crate) struct Project {
    pub(crate) src: Mem,
    pub(crate) out: Mem,
    pub(crate) cooks: AtomicUsize,
    pub(crate) works: AtomicUsize,
    kept: Mutex<BTreeMap<String, Vec<u8>>>,
}

/// Everything that a build leaves to be seen, but for how it came about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Left {
    pub(crate) outputs: BTreeMap<String, Vec<u8>>,
    pub(crate) payloads: Vec<Vec<u8>>,
    pub(crate) warnings: Vec<Diag>,
    pub(crate) kept: BTreeMap<String, Vec<u8>>,
}

impl Project {
    pub(crate) fn new(files: &[(&str, &str)]) -> Project {
        let project = Project { src: Mem::new(), out: Mem::new(), ..Project::default() };
        files.iter().for_each(|(path, text)| project.src.put(path, *text));
        project.src.tick(3_000_000_000);
        project
    }

    pub(crate) fn run(&self, store: Option<&Store>, fingerprint: &str, force: bool) -> Vec<Done> {
        let mut cache = Cache::open(&self.out, &path(JOURNAL), &|| ()).unwrap();
        let (src_tree, out_tree) = (self.src.walk(None).unwrap(), self.out.walk(None).unwrap());
        let world = World { src: &self.src, src_tree: &src_tree, out: &self.out, out_tree: &out_tree };
        let sources = src_tree.files().filter(|(path, _)| path.file_name().ends_with(".txt"));
        let tasks: Vec<_> =
            sources.map(|(path, _)| Orders { project: self, source: path.clone(), fingerprint }).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let plan = Plan {
            pool: &pool,
            force,
            verify: false,
            prune: true,
            overwrite: false,
            store,
            limits: kiln_kit::Limits::default(),
            events: &(),
        };
        run(world, &mut cache, &tasks, &[], plan).unwrap()
    }

    /// Builds; returns how many cooks ran, and what is left.
    pub(crate) fn build(&self, store: Option<&Store>) -> (usize, Left) {
        let before = self.cooks.load(Relaxed);
        let done = self.run(store, "copy 1", false);
        assert!(done.iter().all(|done| !matches!(done.state, State::Failed(_))), "{done:?}");
        let mut outputs = self.out.snapshot();
        outputs.remove(JOURNAL);
        let payloads = done.iter().map(|done| done.payload.clone()).collect();
        let warnings = done.into_iter().flat_map(|done| done.warnings).collect();
        let kept = self.kept.lock().unwrap().clone();
        (self.cooks.load(Relaxed) - before, Left { outputs, payloads, warnings, kept })
    }
}

pub(crate) const FILES: &[(&str, &str)] = &[
    ("a.txt", "plain"),
    ("b.txt", "+shared\n?absent\n/dir\nkept"),
    ("c.txt", "~this\n&work"),
    ("d.txt", "&work\n+shared"),
    ("dir/x", ""),
    ("shared", "of many"),
];
