//! The engine on an in-memory file system: which actions run, which files are read, and recovery from faults.

use kiln_engine::mem::{Mem, Op};
use kiln_engine::{
    Action, ActionContext, Artifact, Code, Diag, DirectorySink, Event, Events, Fs, Journal, Outcome, Plan,
    RebuildReason, RelPath, SourceTree, State, run,
};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const JOURNAL: &str = ".journal";
const SECOND: i64 = 1_000_000_000;

/// Writes the reversed source to `<source>.out`. A source that starts with `+` includes another file, `?` looks up a file that
/// may be missing, `!` fails, `*` panics, `~` warns, `2` writes a second output, `/` lists a directory, and `=` writes only the
/// named output.
struct Reverse {
    source: RelPath,
    setting: &'static str,
    fingerprint: String,
}

impl Action for Reverse {
    type Metadata = ();

    fn source(&self) -> &RelPath {
        &self.source
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn weight(&self, _: SourceTree<'_>) -> u64 {
        1
    }

    fn run(&self, cx: &mut ActionContext<'_>) -> Result<Vec<Artifact<()>>, Diag> {
        let mut bytes = cx.inputs.read(&self.source)?;
        let operand = RelPath::new(String::from_utf8_lossy(bytes.get(1..).unwrap_or_default()));
        let mut artifacts = vec![];
        match bytes.first() {
            Some(b'+') => bytes.extend(cx.inputs.read(&operand.unwrap())?),
            Some(b'?') => bytes.extend(cx.inputs.read_opt(&operand.unwrap())?.unwrap_or_default()),
            Some(b'!') => return Err(Diag::new(Code::Unreadable, "rejected").at("1")),
            Some(b'*') => panic!("on purpose"),
            Some(b'~') => cx.warn(Diag::new(Code::SymlinkIgnored, "a warning")),
            Some(b'2') => {
                let second = RelPath::new(format!("{}.second", self.source)).unwrap();
                artifacts.push(cx.artifact(&second, (), b"2")?);
            }
            Some(b'/') => {
                let names = cx.inputs.list(&operand.unwrap())?;
                let names: Vec<_> = names.iter().map(|e| e.path.to_string()).collect();
                bytes.extend(names.join(",").bytes());
            }
            Some(b'=') => return Ok(vec![cx.artifact(&operand.unwrap(), (), b"shared")?]),
            _ => {}
        }
        bytes.extend(self.setting.bytes());
        bytes.reverse();
        let output = RelPath::new(format!("{}.out", self.source)).unwrap();
        artifacts.push(cx.artifact(&output, (), &bytes)?);
        Ok(artifacts)
    }
}

struct Project {
    src: Mem,
    out: Mem,
    setting: &'static str,
    force: bool,
    verify: bool,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Project {
        let project = Project { src: Mem::new(), out: Mem::new(), setting: "", force: false, verify: false };
        for (path, text) in files {
            project.src.put(path, *text);
        }
        project.src.tick(SECOND);
        project
    }

    fn build(&self) -> Result<Vec<(String, Outcome<()>)>, Diag> {
        self.build_before(&())
    }

    fn build_before(&self, events: &dyn Events) -> Result<Vec<(String, Outcome<()>)>, Diag> {
        let name = RelPath::new(JOURNAL).unwrap();
        let mut journal = Journal::open(&self.out, &name, &|| ()).unwrap();
        let (src_tree, out_tree) = (self.src.walk(None).unwrap(), self.out.walk(None).unwrap());
        let sources = SourceTree { fs: &self.src, tree: &src_tree };
        let sink = DirectorySink::new(&self.out, &out_tree);
        let files = src_tree.files().filter(|(p, _)| p.parent().is_none());
        let actions: Vec<_> = files
            .map(|(p, _)| {
                let fingerprint = format!("reverse 1\nsetting={}", self.setting);
                Reverse { source: p.clone(), setting: self.setting, fingerprint }
            })
            .collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (force, verify) = (self.force, self.verify);
        let plan = Plan { force, verify, events, ..Plan::new(&pool) };
        let done = run(sources, &sink, &mut journal, &actions, &[], plan)?;
        Ok(actions.into_iter().map(|t| t.source.to_string()).zip(done).collect())
    }

    /// Builds; returns the sources that were built with the reason or the error, and all files that were read.
    fn built(&self) -> (Vec<String>, Vec<String>) {
        self.src.take_reads();
        let done = self.build().unwrap();
        let built = done.into_iter().filter_map(|(name, done)| match done.state {
            State::Fresh => None,
            State::Built(why) => Some(format!("{name}: {why}")),
            State::Fetched(why) => Some(format!("{name} fetched: {why}")),
            State::Failed(error) => Some(format!("{name}: {error}")),
        });
        let mut reads = self.src.take_reads();
        reads.sort();
        (built.collect(), reads)
    }

    /// Asserts which sources are built, and that only the given files are read.
    #[track_caller]
    fn check(&self, expected: &[&str], read: &[&str]) {
        let (built, reads) = self.built();
        assert_eq!(built, expected);
        assert_eq!(reads, read);
        assert_eq!(self.outputs(), self.clean(), "the incremental build differs from a clean build");
    }

    /// Returns the output files without the journal.
    fn outputs(&self) -> Vec<(String, Vec<u8>)> {
        self.out.snapshot().into_iter().filter(|(path, _)| path != JOURNAL).collect()
    }

    /// Returns the output files of a clean build.
    fn clean(&self) -> Vec<(String, Vec<u8>)> {
        let clean = Project {
            src: self.src.clone(),
            out: Mem::new(),
            setting: self.setting,
            force: false,
            verify: false,
        };
        clean.build().unwrap();
        clean.outputs()
    }
}

#[test]
fn warm_run_reads_nothing() {
    let p = Project::new(&[("a", "one"), ("b", "two")]);
    p.check(&["a: new", "b: new"], &["a", "b"]);
    p.check(&[], &[]);
    assert_eq!(p.out.get("a.out").unwrap(), b"eno");
}

#[test]
fn warm_run_does_not_change_the_journal() {
    let p = Project::new(&[("a", "one"), ("b", "~two")]);
    p.built();
    let journal = p.out.get(JOURNAL);
    p.built();
    assert_eq!(p.out.get(JOURNAL), journal);
}

#[test]
fn touched_file_is_hashed_once_and_not_rebuilt() {
    let p = Project::new(&[("a", "one")]);
    p.built();
    p.src.touch("a", 5 * SECOND);
    p.src.tick(SECOND);
    p.check(&[], &["a"]);
    p.check(&[], &[]);
}

#[test]
fn rebuilds_only_the_edited_source() {
    let p = Project::new(&[("a", "one"), ("b", "two")]);
    p.built();
    p.src.put("a", "uno");
    p.src.tick(SECOND);
    // Read once to compare, once to build.
    p.check(&["a: a changed"], &["a", "a"]);
    p.src.put("a", "longer");
    p.src.tick(SECOND);
    // Another length needs no comparison.
    p.check(&["a: a changed"], &["a"]);
}

#[test]
fn detects_an_edit_within_the_clock_resolution() {
    let p = Project::new(&[]);
    p.src.put("a", "one");
    p.built();
    p.src.put("a", "two");
    p.check(&["a: a changed"], &["a", "a"]);
    // Still racy: compared once more, and trusted when the stamp is old enough.
    p.src.tick(SECOND);
    p.check(&[], &["a"]);
    p.check(&[], &[]);
}

#[test]
fn detects_an_edit_within_the_same_second_of_a_coarse_clock() {
    let p = Project::new(&[]);
    for grain in [SECOND, 2 * SECOND] {
        p.src.grain(grain);
        p.src.tick(10 * SECOND);
        p.src.put("a", "one");
        p.src.tick(SECOND / 3);
        p.built();
        p.src.tick(SECOND / 3);
        p.src.put("a", "two");
        p.check(&["a: a changed"], &["a", "a"]);
        p.src.tick(3 * SECOND);
        p.check(&[], &["a"]);
        p.check(&[], &[]);
    }
}

#[test]
fn detects_an_edit_with_a_restored_modification_time() {
    let p = Project::new(&[("a", "one")]);
    let before = p.src.stamp(&RelPath::new("a").unwrap()).unwrap().unwrap();
    p.built();
    p.src.tick(SECOND);
    p.src.put("a", "two");
    p.src.touch("a", before.mtime_ns);
    p.check(&["a: a changed"], &["a", "a"]);
}

#[test]
fn reads_failed_lookups_and_listings_are_dependencies() {
    let p = Project::new(&[("a", "+lib/x"), ("b", "?lib/y"), ("c", "/lib"), ("lib/x", "x")]);
    p.built();
    p.check(&[], &[]);
    p.src.put("lib/x", "X");
    p.src.tick(SECOND);
    assert_eq!(p.built().0, ["a: lib/x changed"]);
    p.src.put("lib/y", "y");
    p.src.tick(SECOND);
    assert_eq!(p.built().0, ["b: lib/y changed", "c: lib changed"]);
    p.src.delete("lib/y");
    assert_eq!(p.built().0, ["b: lib/y changed", "c: lib changed"]);
    assert_eq!(p.outputs(), p.clean());
}

#[test]
fn changed_setting_is_the_rebuild_reason() {
    let mut p = Project::new(&[("a", "one")]);
    p.setting = "quiet";
    p.built();
    p.setting = "loud";
    p.check(&["a: setting = loud, was quiet"], &["a"]);
}

#[test]
fn checks_every_output() {
    let p = Project::new(&[("a", "2")]);
    p.built();
    p.out.delete("a.second");
    p.check(&["a: output a.second is missing"], &["a"]);
    p.out.tick(SECOND);
    p.out.put("a.out", "");
    p.check(&["a: output a.out was modified"], &["a"]);
    // Same length, other content: the stamp changed, so the content is compared.
    p.out.tick(SECOND);
    p.out.put("a.out", "3");
    p.check(&["a: output a.out was modified"], &["a"]);
    // Rewritten with the same content: compared, and not rebuilt.
    p.out.tick(SECOND);
    p.out.put("a.out", "2");
    p.check(&[], &[]);
}

#[test]
fn verify_compares_content_despite_equal_stamps() {
    let mut p = Project::new(&[("a", "one")]);
    p.built();
    // The clock of the output does not advance: other content with an equal stamp.
    p.out.put("a.out", "xxx");
    assert_eq!(p.built().0, [""; 0]);
    p.verify = true;
    p.check(&["a: output a.out was modified"], &["a"]);
}

#[test]
fn removes_outputs_of_deleted_sources_only() {
    let p = Project::new(&[("a", "2"), ("b", "two")]);
    p.out.put("mine.txt", "keep");
    p.built();
    p.src.delete("a");
    assert_eq!(p.built().0, [""; 0]);
    let names: Vec<_> = p.outputs().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["b.out", "mine.txt"]);
}

#[test]
fn removes_obsolete_outputs() {
    let p = Project::new(&[("a", "2")]);
    p.built();
    p.src.put("a", "1");
    p.src.tick(SECOND);
    p.check(&["a: a changed"], &["a", "a"]);
    assert_eq!(p.out.get("a.second"), None);
}

#[test]
fn failures_and_panics_affect_one_source_and_are_retried() {
    let p = Project::new(&[("a", "!"), ("b", "*"), ("c", "fine")]);
    for _ in 0..2 {
        let built = p.built().0;
        assert_eq!(built[0], "a: error[unreadable]: a:1: rejected");
        assert!(
            built[1].starts_with("b: error[action-panicked]: b: the action panicked: on purpose"),
            "{}",
            built[1]
        );
    }
    assert!(p.out.get("c.out").is_some() && p.out.get("a.out").is_none() && p.out.get("b.out").is_none());
}

#[test]
fn failed_source_keeps_its_old_output() {
    let p = Project::new(&[("a", "good")]);
    p.built();
    p.src.put("a", "!");
    p.src.tick(SECOND);
    p.built();
    assert_eq!(p.out.get("a.out").unwrap(), b"doog");
}

#[test]
fn fresh_actions_repeat_warnings_and_artifacts() {
    let p = Project::new(&[("a", "~hm")]);
    let first = p.build().unwrap();
    let again = p.build().unwrap();
    assert_eq!(first[0].1.state, State::Built(RebuildReason::New));
    assert_eq!(again[0].1.state, State::Fresh);
    assert_eq!(first[0].1.warnings, again[0].1.warnings);
    assert_eq!(first[0].1.warnings[0].path.as_deref(), Some("a"));
    assert_eq!(first[0].1.artifacts, again[0].1.artifacts);
    assert_eq!(first[0].1.artifacts.len(), 1);
}

#[test]
fn conflicting_sources_both_fail() {
    let p = Project::new(&[("a", "=x"), ("b", "=x"), ("c", "fine")]);
    for _ in 0..3 {
        let built = p.built().0;
        assert!(
            built[0].contains("output-conflict") && built[0].contains("a and b both write x"),
            "{built:?}"
        );
        assert!(
            built[1].contains("output-conflict") && built[1].contains("b and a both write x"),
            "{built:?}"
        );
    }
    p.src.delete("b");
    p.built();
    assert_eq!(p.outputs(), p.clean());
}

#[test]
fn rejects_hidden_outputs() {
    let p = Project::new(&[("a", "=.journal"), ("b", "=dir/.x/y"), ("c", "fine")]);
    for _ in 0..2 {
        let built = p.built().0;
        assert!(
            built[0].contains("output-conflict") && built[0].contains("the action writes .journal"),
            "{built:?}"
        );
        assert!(
            built[1].contains("output-conflict") && built[1].contains("the action writes dir/.x/y"),
            "{built:?}"
        );
        assert_eq!(p.out.get("c.out").unwrap(), b"enif");
    }
}

#[test]
fn outputs_that_differ_in_case_conflict() {
    let p = Project::new(&[("a", "=x"), ("b", "=X")]);
    let built = p.built().0;
    let one = "which are one file on many systems";
    assert!(
        built[0].contains("output-conflict") && built[0].contains(&format!("x and X, {one}")),
        "{built:?}"
    );
    assert!(
        built[1].contains("output-conflict") && built[1].contains(&format!("X and x, {one}")),
        "{built:?}"
    );
    // A renamed output of one source: the old name is removed first, because it may be the same file.
    p.src.delete("a");
    p.built();
    p.src.put("b", "=x");
    p.src.tick(SECOND);
    let steps = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&steps);
    p.out.inject(Some(Box::new(move |op, path| {
        if matches!(op, Op::Publish | Op::Remove) {
            log.lock().unwrap().push((op, path.to_owned()));
        }
        None
    })));
    p.built();
    p.out.inject(None);
    assert_eq!(*steps.lock().unwrap(), [(Op::Remove, "X".to_owned()), (Op::Publish, "x".to_owned())]);
    assert_eq!(p.outputs(), p.clean());
    assert_eq!(p.outputs().len(), 1);
}

#[test]
fn force_rebuilds_everything() {
    let mut p = Project::new(&[("a", "one")]);
    p.built();
    p.force = true;
    p.check(&["a: forced"], &["a"]);
}

/// Simulates a process killed between the rename of an output and its record: the journal cannot be written at that point.
#[test]
fn records_the_intent_before_publishing() {
    let p = Project::new(&[("a", "2"), ("b", "one")]);
    let mut published = false;
    p.out.inject(Some(Box::new(move |op, _| {
        published |= op == Op::Publish;
        (published && op == Op::Log).then(|| io::ErrorKind::StorageFull.into())
    })));
    p.build().unwrap();
    p.out.inject(None);
    assert!(p.out.get("a.out").is_some() && p.out.get("a.second").is_some());
    p.src.delete("a");
    assert_eq!(p.built().0, ["b: new"]);
    assert_eq!(p.outputs(), p.clean());
}

#[test]
fn foreign_file_is_not_owned_by_an_unfulfilled_intent() {
    let p = Project::new(&[("a", "one")]);
    p.out.inject(Some(Box::new(|op, _| (op == Op::Publish).then(|| io::ErrorKind::StorageFull.into()))));
    p.build().unwrap();
    p.out.inject(None);
    p.out.put("a.out", "mine");
    p.src.delete("a");
    p.build().unwrap();
    assert_eq!(p.out.get("a.out").unwrap(), b"mine");
}

/// Every single operation on the output fails once; the run reports it, and the next run recovers.
#[test]
fn recovers_from_a_fault_at_any_step() {
    let files = [("a", "2"), ("b", "one"), ("c", "~two")];
    for fail_at in 0.. {
        let p = Project::new(&files);
        p.built();
        p.src.delete("b");
        p.src.put("a", "1");
        p.src.put("d", "new");
        p.src.tick(SECOND);
        let mut step = 0;
        let (hit, struck) = std::sync::mpsc::channel();
        p.out.inject(Some(Box::new(move |op, path| {
            step += 1;
            (step - 1 == fail_at).then(|| {
                hit.send(format!("{op:?} {path}")).unwrap();
                io::Error::from(io::ErrorKind::StorageFull)
            })
        })));
        let result = p.build();
        p.out.inject(None);
        let Ok(step) = struck.try_recv() else {
            assert!(fail_at >= 8, "only {fail_at} steps were tried");
            return;
        };
        let failed = match &result {
            Ok(done) => done
                .iter()
                .any(|(_, d)| matches!(&d.state, State::Failed(e) if e.message.contains("storage"))),
            Err(error) => error.message.contains("storage"),
        };
        // A failed read of an old output for comparison is not an error: the output is written again.
        assert!(
            failed || step.starts_with(&format!("{:?}", Op::Read)),
            "{step} was not reported: {result:?}"
        );
        p.build().unwrap();
        assert_eq!(p.outputs(), p.clean(), "after a fault at {step}");
    }
}

/// Cancels the run after this many actions.
struct CancelAfter(AtomicUsize);

impl Events for CancelAfter {
    fn on(&self, event: Event<'_>) {
        if let Event::Finished { .. } = event {
            let one_less = |left: usize| Some(left.saturating_sub(1));
            let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

#[test]
fn foreign_file_at_the_path_of_an_output_fails_one_source() {
    let p = Project::new(&[("a", "one"), ("b", "two")]);
    p.out.put("a.out", "foreign");
    for expected in [&["a: error[output-not-owned]", "b: new"][..], &["a: error[output-not-owned]"]] {
        let (built, _) = p.built();
        assert_eq!(built.len(), expected.len(), "{built:?}");
        assert!(built.iter().zip(expected).all(|(built, expected)| built.starts_with(expected)), "{built:?}");
        assert_eq!(p.out.get("a.out").unwrap(), b"foreign");
        assert_eq!(p.out.get("b.out").unwrap(), b"owt");
    }
    // A file with equal content is adopted without a write, and owned from then on.
    p.out.put("a.out", "eno");
    p.out.inject(Some(Box::new(|op, _| (op == Op::Publish).then(|| io::ErrorKind::StorageFull.into()))));
    assert_eq!(p.built().0, ["a: new"]);
    p.out.inject(None);
    p.check(&[], &[]);
    p.src.put("a", "other");
    p.src.tick(SECOND);
    p.check(&["a: a changed"], &["a"]);
}

/// Runs are killed between the rename of an output and its record, each time with another content. Whichever content is on
/// disk, the output is owned.
#[test]
fn output_of_a_killed_run_is_owned() {
    let p = Project::new(&[("a", "one")]);
    for (text, fault) in [("two", Op::Log), ("three", Op::Publish), ("four", Op::Log), ("five", Op::Publish)]
    {
        p.src.put("a", text);
        p.src.tick(SECOND);
        let mut published = false;
        p.out.inject(Some(Box::new(move |op, _| {
            published |= op == Op::Publish;
            (published && op == fault).then(|| io::ErrorKind::StorageFull.into())
        })));
        let _ = p.build();
        p.out.inject(None);
    }
    assert_eq!(p.out.get("a.out").unwrap(), b"ruof", "the last published output");
    p.check(&["a: new"], &["a"]);
    p.src.put("a", "the last");
    p.src.tick(SECOND);
    p.check(&["a: a changed"], &["a"]);
}

#[test]
fn cancelled_run_keeps_finished_results() {
    const ALL: usize = 50;
    let names: Vec<String> = (0..ALL).map(|n| format!("{n:02}")).collect();
    let p = Project::new(&names.iter().map(|name| (name.as_str(), "text")).collect::<Vec<_>>());
    let built = p.build_before(&CancelAfter(10.into())).unwrap();
    let outcomes: Vec<_> = built.into_iter().map(|(_, outcome)| outcome).collect();
    let error = kiln_engine::cancelled(&outcomes).unwrap();
    assert_eq!(error.code, Code::Cancelled);
    let done = p.outputs().len();
    assert_eq!(error.message, format!("interrupted: {done} assets built and kept, {} left", ALL - done));
    assert!((10..=12).contains(&done), "ten, and the actions in flight on two threads: {done}");
    assert_eq!(p.built().0.len(), ALL - done, "the next run does the rest");
    assert_eq!(p.outputs(), p.clean());
}
