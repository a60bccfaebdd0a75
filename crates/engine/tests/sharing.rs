//! Shared results: how often the work is done in one run, across runs, and when results are damaged.

use kiln_engine::Code;
use kiln_engine::mem::Mem;
use kiln_engine::{
    Action, ActionContext, Artifact, Diag, DirectorySink, Fs, Journal, Outcome, Plan, RelPath, SharedResult,
    SourceTree, State, WorkKey, run,
};
use std::sync::atomic::{AtomicUsize, Ordering};

const JOURNAL: &str = ".journal";
const SECOND: i64 = 1_000_000_000;

/// Reverses a source as shared work, which depends on the content alone. A source that starts with `~` causes a warning.
struct Reverse<'a> {
    source: RelPath,
    done: &'a AtomicUsize,
}

impl Action for Reverse<'_> {
    type Metadata = ();

    fn source(&self) -> &RelPath {
        &self.source
    }

    fn fingerprint(&self) -> &str {
        "reverse 1"
    }

    fn weight(&self, _: SourceTree<'_>) -> u64 {
        1
    }

    fn run(&self, cx: &mut ActionContext<'_>) -> Result<Vec<Artifact<()>>, Diag> {
        let mut bytes = cx.inputs.read(&self.source)?;
        let output = RelPath::new(format!("{}.out", self.source)).unwrap();
        let key = WorkKey::of([&*bytes]);
        let make = || {
            self.done.fetch_add(1, Ordering::Relaxed);
            let warns = bytes.first() == Some(&b'~');
            bytes.reverse();
            let warnings = warns.then(|| Diag::new(Code::SymlinkIgnored, "a warning")).into_iter().collect();
            Ok(SharedResult::new(bytes, warnings))
        };
        let (artifact, warnings) = cx.shared_artifact(&output, (), key, |_| true, make)?;
        warnings.into_iter().for_each(|warning| cx.warn(warning));
        Ok(vec![artifact])
    }
}

#[derive(Default)]
struct Project {
    src: Mem,
    out: Mem,
    done: AtomicUsize,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Project {
        let project = Project { src: Mem::new(), out: Mem::new(), ..Project::default() };
        files.iter().for_each(|(path, text)| project.put(path, text));
        project
    }

    fn put(&self, path: &str, text: &str) {
        self.src.put(path, text);
        self.src.tick(SECOND);
        self.out.tick(SECOND);
    }

    fn build(&self, force: bool) -> Vec<Outcome<()>> {
        let name = RelPath::new(JOURNAL).unwrap();
        let mut journal = Journal::open(&self.out, &name, &|| ()).unwrap();
        let (src_tree, out_tree) = (self.src.walk(None).unwrap(), self.out.walk(None).unwrap());
        let sources = SourceTree { fs: &self.src, tree: &src_tree };
        let sink = DirectorySink::new(&self.out, &out_tree);
        let actions: Vec<_> =
            src_tree.files().map(|(path, _)| Reverse { source: path.clone(), done: &self.done }).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let plan = Plan { force, verify: true, ..Plan::new(&pool) };
        run(sources, &sink, &mut journal, &actions, &[], plan).unwrap()
    }

    /// Builds; asserts the number of built sources, how often the work is done for them, and the exact outputs.
    #[track_caller]
    fn check(&self, force: bool, built_count: usize, work_count: usize) {
        self.done.store(0, Ordering::Relaxed);
        let done = self.build(force);
        assert!(done.iter().all(|done| !matches!(done.state, State::Failed(_))), "{done:?}");
        let built = done.iter().filter(|done| matches!(done.state, State::Built(_))).count();
        assert_eq!(
            (built, self.done.load(Ordering::Relaxed)),
            (built_count, work_count),
            "built sources and work"
        );
        let expected: Vec<(String, Vec<u8>)> = (self.src.snapshot().into_iter())
            .map(|(path, bytes)| (format!("{path}.out"), bytes.into_iter().rev().collect()))
            .collect();
        let found = self.out.snapshot().into_iter().filter(|(path, _)| path != JOURNAL);
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn work_is_done_once_per_run() {
    let p = Project::new(&[("a", "same"), ("b", "same"), ("c", "same"), ("d", "other"), ("e", "same")]);
    p.check(false, 5, 2);
    p.check(false, 0, 0);
}

#[test]
fn later_run_reuses_the_result() {
    let p = Project::new(&[("a", "same")]);
    p.check(false, 1, 1);
    p.put("b", "same");
    p.put("c", "same");
    p.check(false, 2, 0);
}

#[test]
fn result_outlives_its_first_source() {
    let p = Project::new(&[("a", "same"), ("b", "same")]);
    p.check(false, 2, 1);
    p.src.delete("a");
    p.check(false, 0, 0);
    p.put("c", "same");
    p.check(false, 1, 0);
    // Also if both happen in one run.
    p.src.delete("b");
    p.put("a", "same");
    p.check(false, 1, 0);
}

#[test]
fn work_is_repeated_after_all_users_are_deleted() {
    let p = Project::new(&[("a", "same")]);
    p.check(false, 1, 1);
    p.src.delete("a");
    p.put("b", "same");
    p.check(false, 1, 1);
}

#[test]
fn edits_and_reverts_are_correct() {
    let p = Project::new(&[("a", "same"), ("b", "same")]);
    p.check(false, 2, 1);
    p.put("a", "else");
    p.check(false, 1, 1);
    p.put("a", "same");
    p.check(false, 1, 0);
    p.put("a", "same");
    p.put("b", "same");
    p.check(false, 0, 0);
}

#[test]
fn forced_run_shares_only_its_own_results() {
    let p = Project::new(&[("a", "same"), ("b", "same"), ("c", "same")]);
    p.check(false, 3, 1);
    p.check(true, 3, 1);
}

#[test]
fn damaged_results_are_not_used() {
    for damage in ["emaX", "longer than it was", ""] {
        let p = Project::new(&[("a", "same")]);
        p.check(false, 1, 1);
        p.out.put("a.out", damage);
        p.put("b", "same");
        // One is rebuilt, one is new, and the work is done once for both.
        p.check(false, 2, 1);
    }
    let p = Project::new(&[("a", "same"), ("b", "same")]);
    p.check(false, 2, 1);
    p.out.delete("a.out");
    p.out.delete("b.out");
    p.check(false, 2, 1);
}

#[test]
fn shared_result_repeats_warnings() {
    let p = Project::new(&[("a", "~x"), ("b", "~x")]);
    let codes =
        |done: &[Outcome<()>]| -> Vec<usize> { done.iter().map(|done| done.warnings.len()).collect() };
    assert_eq!(codes(&p.build(false)), [1, 1]);
    assert_eq!(p.done.load(Ordering::Relaxed), 1);
    // Warnings of shared results are not recorded, so a later run repeats the work.
    p.put("c", "~x");
    assert_eq!(codes(&p.build(false)), [1, 1, 1]);
    assert_eq!(p.done.load(Ordering::Relaxed), 2);
}
