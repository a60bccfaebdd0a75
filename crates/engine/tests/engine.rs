//! The engine on a file system in memory: what is cooked when, which files are read, what is left after faults.

use kiln_engine::mem::{Mem, Op};
use kiln_engine::{
    Action, ActionContext, Artifact, Code, Diag, DirectorySink, Event, Events, Fs, Journal, Outcome, Plan,
    RelPath, SourceTree, State, Why, run,
};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const JOURNAL: &str = ".journal";
const SECOND: i64 = 1_000_000_000;

/// Copies a source, reversed, to `<source>.out`. A source that starts with `+` includes the file it names, one
/// with `?` looks for a file that may be missing, `!` fails, `*` panics, `~` warns, `2` writes a second output,
/// and `/` lists the directory `dir`.
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
            Some(b'!') => return Err(Diag::new(Code::Unreadable, "refused").at("1")),
            Some(b'*') => panic!("on purpose"),
            Some(b'~') => cx.warn(Diag::new(Code::LinkIgnored, "so it is")),
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
                let fingerprint = format!(
                    "reverse 1
setting={}",
                    self.setting
                );
                Reverse { source: p.clone(), setting: self.setting, fingerprint }
            })
            .collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (force, verify) = (self.force, self.verify);
        let plan = Plan { force, verify, events, ..Plan::new(&pool) };
        let done = run(sources, &sink, &mut journal, &actions, &[], plan)?;
        Ok(actions.into_iter().map(|t| t.source.to_string()).zip(done).collect())
    }

    /// Builds and returns what was cooked and why (or how it failed), with everything that was read.
    fn built(&self) -> (Vec<String>, Vec<String>) {
        self.src.take_reads();
        let done = self.build().unwrap();
        let told = done.into_iter().filter_map(|(name, done)| match done.state {
            State::Fresh => None,
            State::Built(why) => Some(format!("{name}: {why}")),
            State::Fetched(why) => Some(format!("{name} fetched: {why}")),
            State::Failed(error) => Some(format!("{name}: {error}")),
        });
        let mut reads = self.src.take_reads();
        reads.sort();
        (told.collect(), reads)
    }

    /// Asserts what is cooked, and that just the files named are read.
    #[track_caller]
    fn check(&self, cooked: &[&str], read: &[&str]) {
        let (told, reads) = self.built();
        assert_eq!(told, cooked);
        assert_eq!(reads, read);
        assert_eq!(self.outputs(), self.clean(), "incremental is not clean");
    }

    /// The output tree without the journal.
    fn outputs(&self) -> Vec<(String, Vec<u8>)> {
        self.out.snapshot().into_iter().filter(|(path, _)| path != JOURNAL).collect()
    }

    /// What a build into an empty tree gives.
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
fn cold_then_warm_reads_nothing() {
    let p = Project::new(&[("a", "one"), ("b", "two")]);
    p.check(&["a: new", "b: new"], &["a", "b"]);
    p.check(&[], &[]);
    assert_eq!(p.out.get("a.out").unwrap(), b"eno");
}

#[test]
fn a_warm_run_changes_no_byte_of_the_journal() {
    let p = Project::new(&[("a", "one"), ("b", "~two")]);
    p.built();
    let journal = p.out.get(JOURNAL);
    p.built();
    assert_eq!(p.out.get(JOURNAL), journal);
}

#[test]
fn touch_hashes_once_and_cooks_nothing() {
    let p = Project::new(&[("a", "one")]);
    p.built();
    p.src.touch("a", 5 * SECOND);
    p.src.tick(SECOND);
    p.check(&[], &["a"]);
    p.check(&[], &[]);
}

#[test]
fn an_edit_cooks_that_source_alone() {
    let p = Project::new(&[("a", "one"), ("b", "two")]);
    p.built();
    p.src.put("a", "uno");
    p.src.tick(SECOND);
    // Read once to compare, once to cook.
    p.check(&["a: a changed"], &["a", "a"]);
    p.src.put("a", "longer");
    p.src.tick(SECOND);
    // Another length needs no comparison.
    p.check(&["a: a changed"], &["a"]);
}

#[test]
fn an_edit_in_the_same_tick_is_not_missed() {
    let p = Project::new(&[]);
    p.src.put("a", "one");
    p.built();
    p.src.put("a", "two");
    p.check(&["a: a changed"], &["a", "a"]);
    // Still young: compared again, once, and trusted when it has rested.
    p.src.tick(SECOND);
    p.check(&[], &["a"]);
    p.check(&[], &[]);
}

#[test]
fn an_edit_in_the_same_second_of_a_coarse_clock_is_not_missed() {
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
fn an_edit_whose_time_was_set_back_is_not_missed() {
    let p = Project::new(&[("a", "one")]);
    let before = p.src.stamp(&RelPath::new("a").unwrap()).unwrap().unwrap();
    p.built();
    p.src.tick(SECOND);
    p.src.put("a", "two");
    p.src.touch("a", before.mtime_ns);
    p.check(&["a: a changed"], &["a", "a"]);
}

#[test]
fn everything_a_cook_read_or_missed_or_listed_counts() {
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
fn another_setting_cooks_and_says_which() {
    let mut p = Project::new(&[("a", "one")]);
    p.setting = "quiet";
    p.built();
    p.setting = "loud";
    p.check(&["a: setting = loud, was quiet"], &["a"]);
}

#[test]
fn every_output_is_checked_not_only_the_first() {
    let p = Project::new(&[("a", "2")]);
    p.built();
    p.out.delete("a.second");
    p.check(&["a: output a.second is missing"], &["a"]);
    p.out.tick(SECOND);
    p.out.put("a.out", "");
    p.check(&["a: output a.out was changed"], &["a"]);
    // Same length, other bytes: the stamp moved, so the content is compared.
    p.out.tick(SECOND);
    p.out.put("a.out", "3");
    p.check(&["a: output a.out was changed"], &["a"]);
    // Rewritten with the same bytes: compared, and left alone.
    p.out.tick(SECOND);
    p.out.put("a.out", "2");
    p.check(&[], &[]);
}

#[test]
fn verify_finds_what_stamps_hide() {
    let mut p = Project::new(&[("a", "one")]);
    p.built();
    // The clock of the output stands still: other bytes under the very same stamp.
    p.out.put("a.out", "xxx");
    assert_eq!(p.built().0, [""; 0]);
    p.verify = true;
    p.check(&["a: output a.out was changed"], &["a"]);
}

#[test]
fn outputs_of_gone_sources_go_and_foreign_files_stay() {
    let p = Project::new(&[("a", "2"), ("b", "two")]);
    p.out.put("mine.txt", "keep");
    p.built();
    p.src.delete("a");
    assert_eq!(p.built().0, [""; 0]);
    let names: Vec<_> = p.outputs().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["b.out", "mine.txt"]);
}

#[test]
fn an_output_that_is_no_longer_written_goes() {
    let p = Project::new(&[("a", "2")]);
    p.built();
    p.src.put("a", "1");
    p.src.tick(SECOND);
    p.check(&["a: a changed"], &["a", "a"]);
    assert_eq!(p.out.get("a.second"), None);
}

#[test]
fn a_failure_or_a_panic_stays_alone_and_is_tried_again() {
    let p = Project::new(&[("a", "!"), ("b", "*"), ("c", "fine")]);
    for _ in 0..2 {
        let told = p.built().0;
        assert_eq!(told[0], "a: error[unreadable]: a:1: refused");
        assert!(
            told[1].starts_with("b: error[cook-panicked]: b: the cook panicked: on purpose"),
            "{}",
            told[1]
        );
    }
    assert!(p.out.get("c.out").is_some() && p.out.get("a.out").is_none() && p.out.get("b.out").is_none());
}

#[test]
fn a_failed_source_keeps_its_old_output() {
    let p = Project::new(&[("a", "good")]);
    p.built();
    p.src.put("a", "!");
    p.src.tick(SECOND);
    p.built();
    assert_eq!(p.out.get("a.out").unwrap(), b"doog");
}

#[test]
fn warnings_and_artifacts_are_replayed() {
    let p = Project::new(&[("a", "~hm")]);
    let first = p.build().unwrap();
    let again = p.build().unwrap();
    assert_eq!(first[0].1.state, State::Built(Why::New));
    assert_eq!(again[0].1.state, State::Fresh);
    assert_eq!(first[0].1.warnings, again[0].1.warnings);
    assert_eq!(first[0].1.warnings[0].path.as_deref(), Some("a"));
    assert_eq!(first[0].1.artifacts, again[0].1.artifacts);
    assert_eq!(first[0].1.artifacts.len(), 1);
}

#[test]
fn two_sources_with_one_output_both_fail_and_name_each_other() {
    let p = Project::new(&[("a", "=x"), ("b", "=x"), ("c", "fine")]);
    for _ in 0..3 {
        let told = p.built().0;
        assert!(told[0].contains("output-conflict") && told[0].contains("a and b both write x"), "{told:?}");
        assert!(told[1].contains("output-conflict") && told[1].contains("b and a both write x"), "{told:?}");
    }
    p.src.delete("b");
    p.built();
    assert_eq!(p.outputs(), p.clean());
}

#[test]
fn hidden_files_are_not_written_by_cooks() {
    let p = Project::new(&[("a", "=.journal"), ("b", "=dir/.x/y"), ("c", "fine")]);
    for _ in 0..2 {
        let told = p.built().0;
        assert!(told[0].contains("output-conflict") && told[0].contains("it writes .journal"), "{told:?}");
        assert!(told[1].contains("output-conflict") && told[1].contains("it writes dir/.x/y"), "{told:?}");
        assert_eq!(p.out.get("c.out").unwrap(), b"enif");
    }
}

#[test]
fn outputs_that_differ_in_case_only_are_one() {
    let p = Project::new(&[("a", "=x"), ("b", "=X")]);
    let told = p.built().0;
    let one = "which are one file on many systems";
    assert!(told[0].contains("output-conflict") && told[0].contains(&format!("x and X, {one}")), "{told:?}");
    assert!(told[1].contains("output-conflict") && told[1].contains(&format!("X and x, {one}")), "{told:?}");
    // Of one source, another spelling takes the place of the first, which goes before: afterwards it may be the new one.
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
fn force_cooks_everything() {
    let mut p = Project::new(&[("a", "one")]);
    p.built();
    p.force = true;
    p.check(&["a: forced"], &["a"]);
}

/// A kill between an output's appearance and its record: here, a journal that cannot be written to at that moment.
#[test]
fn an_output_is_known_before_it_appears() {
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
fn an_output_that_never_appeared_is_not_taken_for_a_foreign_file() {
    let p = Project::new(&[("a", "one")]);
    p.out.inject(Some(Box::new(|op, _| (op == Op::Publish).then(|| io::ErrorKind::StorageFull.into()))));
    p.build().unwrap();
    p.out.inject(None);
    p.out.put("a.out", "mine");
    p.src.delete("a");
    p.build().unwrap();
    assert_eq!(p.out.get("a.out").unwrap(), b"mine");
}

/// Every single operation on the output fails once; the run says so, and the next one mends everything.
#[test]
fn a_fault_at_any_step_is_reported_and_mended_by_the_next_run() {
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
        // Reading an old output back to compare it may fail: then it is written again.
        assert!(failed || step.starts_with(&format!("{:?}", Op::Read)), "{step} went unnoticed: {result:?}");
        p.build().unwrap();
        assert_eq!(p.outputs(), p.clean(), "after a fault at {step}");
    }
}

/// Has enough after so many cooks.
struct Enough(AtomicUsize);

impl Events for Enough {
    fn on(&self, event: Event<'_>) {
        if let Event::Finished { .. } = event {
            let one_less = |left: usize| Some(left.saturating_sub(1));
            let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        }
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

#[test]
fn a_foreign_file_at_the_path_of_an_output_fails_that_source_alone() {
    let p = Project::new(&[("a", "one"), ("b", "two")]);
    p.out.put("a.out", "foreign");
    for told in [&["a: error[output-not-owned]", "b: new"][..], &["a: error[output-not-owned]"]] {
        let (built, _) = p.built();
        assert_eq!(built.len(), told.len(), "{built:?}");
        assert!(built.iter().zip(told).all(|(built, told)| built.starts_with(told)), "{built:?}");
        assert_eq!(p.out.get("a.out").unwrap(), b"foreign");
        assert_eq!(p.out.get("b.out").unwrap(), b"owt");
    }
    // Equal bytes are adopted without a write, and the journal owns the file from then on.
    p.out.put("a.out", "eno");
    p.out.inject(Some(Box::new(|op, _| (op == Op::Publish).then(|| io::ErrorKind::StorageFull.into()))));
    assert_eq!(p.built().0, ["a: new"]);
    p.out.inject(None);
    p.check(&[], &[]);
    p.src.put("a", "other");
    p.src.tick(SECOND);
    p.check(&["a: a changed"], &["a"]);
}

/// A run is killed after an output got its name and before the journal has it as built, over and over, with another
/// content each time. Whichever of them is in place, it is ours.
#[test]
fn an_output_of_a_killed_run_is_owned_whichever_content_it_has() {
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
    assert_eq!(p.out.get("a.out").unwrap(), b"ruof", "the last output that got its name");
    p.check(&["a: new"], &["a"]);
    p.src.put("a", "the last");
    p.src.tick(SECOND);
    p.check(&["a: a changed"], &["a"]);
}

#[test]
fn a_run_that_is_told_to_end_keeps_what_it_did() {
    const ALL: usize = 50;
    let names: Vec<String> = (0..ALL).map(|n| format!("{n:02}")).collect();
    let p = Project::new(&names.iter().map(|name| (name.as_str(), "text")).collect::<Vec<_>>());
    let error = p.build_before(&Enough(10.into())).err().unwrap();
    assert_eq!(error.code, Code::Stopped);
    let done = p.outputs().len();
    assert!((10..=12).contains(&done), "ten, and what the two threads had in hand: {done}");
    assert_eq!(p.built().0.len(), ALL - done, "the next run does the rest");
    assert_eq!(p.outputs(), p.clean());
}
