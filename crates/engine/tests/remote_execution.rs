//! Remote execution with a server in this process: it lays out the directory of each command on disk, and runs the worker code
//! on it. What the server does wrong never changes a result.

use kiln_engine::mem::Mem;
use kiln_engine::remote::{
    Blob, Command, ExecutionFigures, ExecutionLimits, ExecutionServer, Fault, Program, RemoteExecution,
    run_request,
};
use kiln_engine::{
    Action, ActionContext, Artifact, CacheEntry, Diag, DirectorySink, Fs, Inputs, Journal, Limits, Outcome,
    Plan, Rejected, RelPath, SourceTree, State, Store, run, store,
};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

const SECOND: i64 = 1_000_000_000;

/// Writes the source and the files that its lines name to `<source>.out`; a missing one is an empty line, and a line that ends
/// with `/` is replaced by the names in that directory. The source `gate` holds the pool until a server has a command, so that
/// a fast pool does not leave the server without work.
struct Concatenate {
    source: RelPath,
    is_remote: bool,
    commands: Arc<AtomicUsize>,
}

impl Concatenate {
    fn hold(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.commands.load(Relaxed) == 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Action for Concatenate {
    type Metadata = ();

    fn source(&self) -> &RelPath {
        &self.source
    }

    fn fingerprint(&self) -> &str {
        "concatenate 1"
    }

    fn weight(&self, _: SourceTree<'_>) -> u64 {
        1
    }

    fn remote_request(&self, _: &Limits) -> Option<Vec<u8>> {
        self.is_remote.then(|| self.source.as_str().into())
    }

    fn run(&self, cx: &mut ActionContext<'_>) -> Result<Vec<Artifact<()>>, Diag> {
        if self.source.as_str() == "gate" {
            self.hold();
        }
        let text = String::from_utf8(cx.inputs.read(&self.source)?).unwrap();
        let mut out = Vec::new();
        for line in text.lines() {
            match line.strip_suffix('/') {
                Some(dir) => {
                    let entries = cx.inputs.list(&RelPath::new(dir).unwrap())?;
                    entries.iter().for_each(|entry| out.extend(entry.path.as_str().bytes()));
                }
                None => out.extend(cx.inputs.read_opt(&RelPath::new(line).unwrap())?.unwrap_or_default()),
            }
            out.push(b'\n');
        }
        let output = RelPath::new(format!("{}.out", self.source)).unwrap();
        Ok(vec![cx.artifact(&output, (), &out)?])
    }

    fn check_cached(&self, entry: &mut CacheEntry<'_, ()>) -> Result<(), Rejected> {
        let expected = format!("{}.out", self.source);
        let is_own = entry.artifacts().iter().all(|artifact| artifact.name.as_str() == expected);
        is_own.then_some(()).ok_or_else(|| Rejected("another output".to_owned()))
    }
}

/// The behaviour of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    Runs,
    /// Fails every command.
    Fails,
    /// Cannot be reached.
    Unreachable,
    /// Returns a result with this byte flipped, counted from its end.
    Flips(usize),
    /// Returns the result of another action.
    Forges,
    /// Returns no bytes.
    Empty,
}

struct Server(Behaviour, Arc<AtomicUsize>);

fn work(dir: &Path) -> Result<(), Diag> {
    run_request(dir, |request, sources| {
        let source = RelPath::new(std::str::from_utf8(request).unwrap()).unwrap();
        let action = Concatenate { source, is_remote: true, commands: Arc::default() };
        let limits = Limits::default();
        Ok(store::run_action(Ok(&action), sources, request, &Inputs::new(sources), limits))
    })
}

impl ExecutionServer for Server {
    fn execute(&self, command: &Command<'_>) -> Result<Vec<u8>, Fault> {
        self.1.fetch_add(1, Relaxed);
        let dir = tempfile::tempdir().unwrap();
        for path in command.directories {
            fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        for file in command.files {
            let content = (command.read)(file)?;
            assert_eq!(Blob::of(&content), file.blob);
            let path = dir.path().join(&file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        assert!(command.files.iter().any(|file| file.path == command.arguments[0] && file.is_executable));
        match self.0 {
            Behaviour::Fails => return Err(Fault::Failed("exit code 1".to_owned())),
            Behaviour::Unreachable => return Err(Fault::Unreachable("refused".to_owned())),
            Behaviour::Empty => return Ok(vec![]),
            Behaviour::Forges => fs::write(dir.path().join("request"), "forged").unwrap(),
            Behaviour::Runs | Behaviour::Flips(_) => {}
        }
        if self.0 == Behaviour::Forges {
            fs::write(dir.path().join("sources/forged"), "").unwrap();
        }
        work(dir.path()).unwrap();
        let mut result = fs::read(dir.path().join(command.output)).unwrap();
        if let Behaviour::Flips(at) = self.0 {
            let at = result.len().saturating_sub(1 + at);
            result[at] ^= 1;
        }
        Ok(result)
    }

    fn name(&self) -> String {
        "test".to_owned()
    }
}

struct Project {
    src: Mem,
    out: Mem,
    commands: Arc<AtomicUsize>,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Project {
        let project = Project { src: Mem::new(), out: Mem::new(), commands: Arc::default() };
        files.iter().for_each(|(path, text)| project.src.put(path, *text));
        project.src.tick(SECOND);
        project
    }

    /// Builds with a server, or without one.
    fn build(
        &self,
        behaviour: Option<Behaviour>,
        store: Option<&Store>,
    ) -> (Vec<Outcome<()>>, ExecutionFigures, Option<Diag>) {
        let program = Program { executable: "Cargo.toml".into(), libraries: vec![], arguments: vec![] };
        let limits = ExecutionLimits { jobs: 4, timeout: Duration::from_secs(60) };
        let remote = behaviour.map(|behaviour| {
            RemoteExecution::new(Box::new(Server(behaviour, self.commands.clone())), program, limits)
        });
        let name = RelPath::new(".journal").unwrap();
        let mut journal = Journal::open(&self.out, &name, &|| ()).unwrap();
        let (src_tree, out_tree) = (self.src.walk(None).unwrap(), self.out.walk(None).unwrap());
        let sources = SourceTree { fs: &self.src, tree: &src_tree };
        let sink = DirectorySink::new(&self.out, &out_tree);
        let files = src_tree.files().filter(|(path, _)| path.parent().is_none());
        let action = |(path, _): (&RelPath, _)| Concatenate {
            source: path.clone(),
            is_remote: !matches!(path.as_str(), "local" | "gate"),
            commands: self.commands.clone(),
        };
        let actions: Vec<_> = files.map(action).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let plan = Plan { remote: remote.as_ref(), store, ..Plan::new(&pool) };
        let outcomes = run(sources, &sink, &mut journal, &actions, &[], plan).unwrap();
        let figures = remote.as_ref().map(RemoteExecution::figures).unwrap_or_default();
        (outcomes, figures, remote.as_ref().and_then(RemoteExecution::warning))
    }

    fn outputs(&self) -> Vec<(String, Vec<u8>)> {
        let tree = self.out.walk(None).unwrap();
        let files = tree.files().map(|(path, _)| path.to_string()).filter(|path| path != ".journal");
        files.map(|path| (path.clone(), self.out.get(&path).unwrap())).collect()
    }
}

const FILES: [(&str, &str); 6] = [
    ("a", "dir/x\nabsent\ndir/\n"),
    ("b", "dir/y\n"),
    ("c", "dir/nested/\n"),
    ("dir/nested/z", "Z"),
    ("dir/x", "X"),
    ("dir/y", "Y"),
];

fn expected() -> Vec<(String, Vec<u8>)> {
    let alone = Project::new(&FILES);
    alone.build(None, None);
    let outputs = alone.outputs();
    assert_eq!(outputs.len(), 3);
    outputs
}

/// Builds with a local thread that has no action of its own: whatever the threads of the server take, the result is the same.
#[test]
fn workers_discover_inputs_that_were_not_sent() {
    let project = Project::new(&FILES);
    let (outcomes, figures, warning) = project.build(Some(Behaviour::Runs), None);
    assert!(outcomes.iter().all(|outcome| matches!(outcome.state, State::Built(_))), "{outcomes:?}");
    assert_eq!((project.outputs(), warning), (expected(), None));
    assert_eq!(figures.fallbacks, 0);
    assert!(figures.commands >= figures.executed, "{figures:?}");
    // Everything is recorded: the next build has nothing to do, a change of an input rebuilds its user only.
    let (outcomes, ..) = project.build(Some(Behaviour::Runs), None);
    assert!(outcomes.iter().all(|outcome| outcome.state == State::Fresh));
    project.src.put("dir/y", "changed");
    project.src.tick(SECOND);
    let (outcomes, ..) = project.build(Some(Behaviour::Runs), None);
    let built: Vec<bool> = outcomes.iter().map(|outcome| matches!(outcome.state, State::Built(_))).collect();
    assert_eq!(built, [false, true, false]);
    assert_eq!(project.out.get("b.out").unwrap(), b"changed\n");
    // A file that was looked up without success is a dependency, too.
    project.src.put("absent", "here");
    project.src.tick(SECOND);
    project.build(Some(Behaviour::Runs), None);
    assert!(project.out.get("a.out").unwrap().starts_with(b"X\nhere\n"));
}

#[test]
fn a_faulty_server_costs_time_only() {
    let mut behaviours = vec![Behaviour::Fails, Behaviour::Unreachable, Behaviour::Forges, Behaviour::Empty];
    behaviours.extend((0..120).step_by(7).map(Behaviour::Flips));
    for behaviour in behaviours {
        let project = Project::new(&FILES);
        let (outcomes, figures, _) = project.build(Some(behaviour), None);
        assert!(outcomes.iter().all(|outcome| matches!(outcome.state, State::Built(_))), "{outcomes:?}");
        assert_eq!(project.outputs(), expected());
        if !matches!(behaviour, Behaviour::Flips(_)) {
            assert_eq!(figures.executed, 0);
        }
    }
}

#[test]
fn an_unreachable_server_is_asked_once_by_each_thread_at_most() {
    let files: Vec<(String, String)> = (0..50).map(|n| (format!("{n}"), String::new())).collect();
    let mut files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("gate", ""));
    let project = Project::new(&files);
    let (_, figures, warning) = project.build(Some(Behaviour::Unreachable), None);
    assert!(project.commands.load(Relaxed) <= 4 && figures.executed == 0);
    let warning = warning.unwrap();
    assert!(warning.code.as_str() == "remote-execution" && warning.message.contains("refused"), "{warning}");
    assert_eq!(project.outputs().len(), 51);
}

#[test]
fn actions_without_a_request_run_locally() {
    let project = Project::new(&[("local", "x\n"), ("x", "")]);
    let (_, figures, _) = project.build(Some(Behaviour::Fails), None);
    assert!(figures.fallbacks <= 1 && project.outputs().len() == 2);
    let only_local = Project::new(&[("local", "")]);
    let (outcomes, ..) = only_local.build(Some(Behaviour::Runs), None);
    assert!(matches!(outcomes[0].state, State::Built(_)));
    assert_eq!(only_local.commands.load(Relaxed), 0);
}

#[test]
fn results_of_workers_are_stored_in_the_cache() {
    let (dir, project) = (tempfile::tempdir().unwrap(), Project::new(&FILES));
    let store = Store::open(dir.path(), "test").unwrap();
    project.build(Some(Behaviour::Runs), Some(&store));
    let other = Project::new(&FILES);
    let (outcomes, ..) = other.build(None, Some(&store));
    assert!(outcomes.iter().all(|outcome| matches!(outcome.state, State::Fetched(_))), "{outcomes:?}");
    assert_eq!(other.outputs(), expected());
    // With a signing key they are not: nobody but the holder of the key makes signed results.
    let signed_dir = tempfile::tempdir().unwrap();
    let key = store::SigningKey::new(b"0123456789abcdef").unwrap();
    let signed = Store::open(signed_dir.path(), "test").unwrap().signed_with(key);
    let project = Project::new(&FILES);
    let (_, figures, _) = project.build(Some(Behaviour::Runs), Some(&signed));
    let other = Project::new(&FILES);
    let (outcomes, ..) = other.build(None, Some(&signed));
    let fetched = outcomes.iter().filter(|outcome| matches!(outcome.state, State::Fetched(_))).count();
    assert_eq!(fetched as u64, 3 - figures.executed);
}
