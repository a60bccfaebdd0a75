//! Crash safety: the executable is killed at random moments. No partially written file is ever visible, and the next build
//! equals a clean build, without repeating finished jobs and without leaving temporary files.
//!
//! A project has two states with different sources; builds between them are incremental. A project may change its state
//! once more before the recovering build: outputs of the killed build are then known to the journal only.
//!
//! `KILN_KILLS=10` kills ten times as often.

use crate::project::{Project, test_image};
use kiln_engine::{Real, Records, RelPath};
use kiln_fault_injection::random::Random;
use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

type Files = BTreeMap<String, Vec<u8>>;

/// A set of sources and the result of their build.
struct Expected {
    sources: Files,
    runtime: Files,
    pack: Vec<u8>,
    /// The final size of the journal in bytes.
    journal: usize,
}

impl Expected {
    fn new(sources: Files) -> Expected {
        let project = Project::new();
        put_sources(&project, &sources);
        project.run(&["--pack"]).expect(0);
        let journal = project.read("runtime/.assetc-cache").len();
        Expected { sources, runtime: project.tree("runtime"), pack: project.read("runtime.hpack"), journal }
    }
}

/// Changes the source tree to exactly these files; files with the right content are not written.
fn put_sources(project: &Project, sources: &Files) {
    let present = project.tree("assets");
    for path in present.keys().filter(|path| !sources.contains_key(*path)) {
        project.remove(&format!("assets/{path}"));
    }
    for (path, bytes) in sources.iter().filter(|(path, bytes)| present.get(*path) != Some(bytes)) {
        project.write(&format!("assets/{path}"), bytes);
    }
}

/// Two states of a project of images: most images are equal in both, the others differ or are in one state only.
fn states(count: u32, side: u32) -> [Expected; 2] {
    [0, 1].map(|state| {
        let mut sources = Files::new();
        for n in 0..count {
            let (dir, suffix) = (["", "sub/", "sub/deep/"][n as usize % 3], ["", ".n", ".r"][n as usize % 3]);
            let (name, seed) = match n % 8 {
                0 => (format!("{dir}only{state}-{n}{suffix}.png"), n),
                1 | 2 => (format!("{dir}both{n}{suffix}.png"), n + 1000 * state),
                _ => (format!("{dir}same{n}{suffix}.png"), n),
            };
            sources.insert(name, test_image(side + n % 5, side, seed));
        }
        Expected::new(sources)
    })
}

/// Kills builds until `usual` of them, or a multiple, were killed while they ran. The moment of a kill depends on the
/// machine: a build that ends first does not count, and after ten times as many builds the test ends.
fn kill(seed: u64, usual: usize, project: &Project, states: &[Expected; 2]) {
    let factor = std::env::var("KILN_KILLS").ok().and_then(|text| text.parse().ok());
    let wanted = usual * factor.unwrap_or(1);
    let mut random = Random::new(seed);
    let mut kills = 0;
    let mut longest = Duration::from_millis(50);
    let mut round = 0;
    while kills < wanted && round < wanted * 10 {
        round += 1;
        let mut state = &states[random.below(2)];
        let cold = random.one_in(3);
        if cold && project.exists("runtime") {
            project.remove("runtime");
        }
        put_sources(project, &state.sources);
        let before = project.tree("runtime");
        let args: &[&str] = if random.one_in(3) { &["--pack", "-q"] } else { &["-q"] };
        let mut child = project.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let ended = if random.one_in(2) {
            // During publishing: an output has appeared, or the journal has grown to some size.
            let missing: Vec<&String> =
                state.runtime.keys().filter(|path| !before.contains_key(*path)).collect();
            let output =
                (!missing.is_empty()).then(|| project.path(&format!("runtime/{}", random.pick(&missing))));
            let size = random.below(state.journal) as u64;
            let journal = project.path("runtime/.assetc-cache");
            loop {
                let ended = child.try_wait().unwrap().is_some();
                let struck = match &output {
                    Some(output) => output.exists(),
                    None => fs::metadata(&journal).is_ok_and(|meta| meta.len() > size),
                };
                if ended || struck {
                    break ended;
                }
                std::thread::sleep(Duration::from_micros(50));
            }
        } else {
            std::thread::sleep(longest.mul_f64(random.below(1000) as f64 / 1000.0));
            let ended = child.try_wait().unwrap().is_some();
            // Follows the duration of builds on this machine.
            longest = longest.mul_f64(if ended { 0.8 } else { 1.1 }).max(Duration::from_millis(1));
            ended
        };
        child.kill().unwrap();
        child.wait().unwrap();
        kills += usize::from(!ended);
        let context = format!("seed {seed}, round {round}, cold: {cold}, {args:?}");
        assert_complete(project, states, &context);

        let known = known(project);
        let strayed = random.one_in(2);
        if strayed {
            state = &states[random.below(2)];
            put_sources(project, &state.sources);
        }
        let (built, cached) = project.build();
        assert_eq!(built + cached, state.sources.len(), "{context}");
        if cold && !strayed {
            assert_eq!(cached, known, "{context}: finished jobs were repeated");
        }
        assert!(project.tree("runtime") == state.runtime, "{context}: {}", differences(project, state));
        let left = leftovers(project);
        assert!(left.is_empty(), "{context}: left behind: {left:?}");
        if random.one_in(4) {
            project.run(&["--pack"]).expect(0);
            assert!(project.read("runtime.hpack") == state.pack, "{context}: another pack");
        }
    }
    assert!(kills > 0, "every build ended before it could be killed");
}

/// Asserts that every visible file is complete: it equals that of a finished build of one of the two states.
fn assert_complete(project: &Project, states: &[Expected; 2], context: &str) {
    for (path, bytes) in project.tree("runtime").iter().filter(|(path, _)| !path.starts_with(".kiln-")) {
        let whole = states.iter().any(|state| state.runtime.get(path) == Some(bytes));
        assert!(whole, "{context}: {path} is incomplete");
    }
    if project.exists("runtime.hpack") {
        let pack = project.read("runtime.hpack");
        assert!(states.iter().any(|state| state.pack == pack), "{context}: the pack is incomplete");
    }
}

/// Returns the number of sources that the journal records as built.
fn known(project: &Project) -> usize {
    let Ok(real) = Real::open(&project.path("runtime")) else { return 0 };
    let records = Records::read(&real, &RelPath::new(".assetc-cache").unwrap(), &|| ()).unwrap();
    let names = records.names().into_iter().filter(|name| !name.starts_with('/'));
    names.filter_map(|name| records.get(name)).filter(|record| !record.fingerprint.is_empty()).count()
}

/// Returns temporary files in the output directory and beside it.
fn leftovers(project: &Project) -> Vec<String> {
    let names = |dir: &str| {
        let listing = fs::read_dir(project.path(dir)).unwrap();
        listing.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let mut all = names("");
    all.extend(names("runtime"));
    all.retain(|name| name.starts_with(".kiln"));
    all
}

fn differences(project: &Project, state: &Expected) -> String {
    let there = project.tree("runtime");
    let paths = there.keys().chain(state.runtime.keys());
    let mut differ: Vec<&str> =
        paths.filter(|path| there.get(*path) != state.runtime.get(*path)).map(String::as_str).collect();
    differ.dedup();
    differ.join(", ")
}

/// Many small files: several batches are published one after the other.
#[test]
fn recovers_from_kills_during_publishing() {
    kill(1, 30, &Project::new(), &states(132, 4));
}

/// Without fsync latency, kills hit other moments.
#[test]
fn recovers_from_kills_on_a_memory_file_system() {
    kill(2, 50, &Project::in_memory(), &states(132, 4));
}

/// Fewer and larger images: most kills hit encoding.
#[test]
fn recovers_from_kills_during_encoding() {
    kill(3, 24, &Project::new(), &states(40, 32));
}
