//! The build cache under the engine: which results are found, that a cached result equals a built one, and that damage on disk
//! or on a server costs builds and nothing else.

mod damaged;
mod faults;
mod network;
mod project;
mod relay;
mod server;
mod servers;
mod slow;
mod streaming;

use kiln_engine::Code;
use kiln_engine::{Fs, Hash, State, Store};
use project::{FILES, Project, path};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use tempfile::TempDir;

fn open(dir: &TempDir) -> Store {
    Store::open(dir.path(), "kiln test").unwrap()
}

#[test]
fn another_checkout_finds_all_results() {
    let dir = TempDir::new().unwrap();
    let clean = Project::new(FILES).build(None).1;
    let first = Project::new(FILES);
    assert_eq!(first.build(Some(&open(&dir))), (4, Project::new(FILES).build(None).1));
    // Two of the sources share a result.
    assert_eq!(first.shared_runs.load(Relaxed), 1);
    let (second, store) = (Project::new(FILES), open(&dir));
    assert_eq!(second.build(Some(&store)), (0, clean));
    let figures = store.figures();
    assert_eq!((figures.lookups, figures.hits, figures.bytes_in), (4, 4, 0));
    assert!(figures.bytes_out > 0 && store.warnings().is_empty());
    // Results from the cache are recorded in the journal like built ones.
    assert!(second.run(None, "copy 1", false).iter().all(|done| done.state == State::Fresh));
}

#[test]
fn every_input_is_part_of_the_key() {
    let dir = TempDir::new().unwrap();
    let build = |change: &dyn Fn(&kiln_engine::mem::Mem)| {
        let project = Project::new(FILES);
        change(&project.src);
        let (built, left) = project.build(Some(&open(&dir)));
        assert_eq!(left, {
            let clean = Project::new(FILES);
            change(&clean.src);
            clean.build(None).1
        });
        built
    };
    type Change<'a> = &'a dyn Fn(&kiln_engine::mem::Mem);
    let changes: [(Change<'_>, usize); 6] = [
        (&|_| (), 4),
        (&|src| src.put("shared", "other"), 2),
        (&|src| src.put("absent", "here"), 1),
        (&|src| src.put("dir/y", ""), 1),
        (&|src| src.put("a.txt", "+shared"), 1),
        (&|src| src.put("e.txt", "plain"), 1),
    ];
    for (change, built) in changes {
        assert_eq!(build(change), built);
        assert_eq!(build(change), 0);
    }
    assert!(changes.iter().all(|(change, _)| build(change) == 0), "an older result was evicted");
    // Another recipe or program has other keys.
    let project = Project::new(FILES);
    project.run(Some(&open(&dir)), "copy 2", false);
    assert_eq!(project.runs.load(Relaxed), 4);
    let other = Store::open(dir.path(), "kiln other").unwrap();
    assert_eq!(Project::new(FILES).build(Some(&other)).0, 4);
}

#[test]
fn shared_results_are_shared_between_projects() {
    let dir = TempDir::new().unwrap();
    Project::new(&[("a.txt", "&work")]).build(Some(&open(&dir)));
    let other = Project::new(&[("elsewhere/b.txt", "another\n&work")]);
    let store = open(&dir);
    let (built, left) = other.build(Some(&store));
    assert_eq!((built, other.shared_runs.load(Relaxed), store.figures().shared_hits), (1, 0, 1));
    assert_eq!(left.warnings[0].code, Code::SymlinkIgnored);
    assert_eq!(left.outputs["elsewhere/b.txt.work"], b"krow&");
}

#[test]
fn forced_runs_ignore_the_cache() {
    let dir = TempDir::new().unwrap();
    let project = Project::new(FILES);
    project.build(Some(&open(&dir)));
    let done = project.run(Some(&open(&dir)), "copy 1", true);
    assert!(done.iter().all(|done| matches!(done.state, State::Built(_))), "{done:?}");
    assert_eq!(project.shared_runs.load(Relaxed), 2);
}

#[test]
fn inputs_modified_during_the_run_are_not_cached() {
    let dir = TempDir::new().unwrap();
    let files = &[("a.txt", "!b"), ("b", "original")];
    Project::new(files).build(Some(&open(&dir)));
    let again = Project::new(files);
    let store = open(&dir);
    again.build(Some(&store));
    assert_eq!((again.runs.load(Relaxed), store.figures().hits), (1, 0));
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    let mut all: Vec<_> = fs::read_dir(dir).unwrap().flat_map(|e| below(e.unwrap().path())).collect();
    all.sort();
    all
}

/// Every file of the cache is removed, emptied, truncated, flipped, extended, or replaced by another one.
#[test]
fn damaged_cache_files_are_rebuilt() {
    let dir = TempDir::new().unwrap();
    let clean = Project::new(FILES).build(None).1;
    Project::new(FILES).build(Some(&open(&dir)));
    let all: Vec<PathBuf> =
        ["ac", "cas"].iter().map(|kind| dir.path().join(kind)).flat_map(|d| files(&d)).collect();
    assert!(all.len() > 12, "{all:?}");
    let sound: Vec<Vec<u8>> = all.iter().map(|file| fs::read(file).unwrap()).collect();
    for (n, file) in all.iter().enumerate() {
        let bytes = &sound[n];
        let mut flipped = bytes.clone();
        flipped[bytes.len() / 2] ^= 8;
        let half = bytes[..bytes.len() / 2].to_vec();
        let longer = [bytes.as_slice(), b"more"].concat();
        let exchanged = sound[(n + 1) % all.len()].clone();
        fs::remove_file(file).unwrap();
        for damage in [None, Some(vec![]), Some(flipped), Some(half), Some(longer), Some(exchanged)] {
            if let Some(damage) = damage {
                fs::write(file, damage).unwrap();
            }
            let (built, left) = Project::new(FILES).build(Some(&open(&dir)));
            assert_eq!(left, clean, "{}", file.display());
            assert!(built <= 2, "{built}");
            assert_eq!(
                Project::new(FILES).build(Some(&open(&dir))).0,
                0,
                "{} was not replaced",
                file.display()
            );
            fs::write(file, bytes).unwrap();
        }
    }
    assert_eq!(Project::new(FILES).build(Some(&open(&dir))), (0, clean));
}

#[test]
fn unwritable_cache_is_reported_once() {
    let dir = TempDir::new().unwrap();
    let store = open(&dir);
    for name in ["ac", "cas"] {
        fs::write(dir.path().join(name), "in the way").unwrap();
    }
    assert_eq!(Project::new(FILES).build(Some(&store)), Project::new(FILES).build(None));
    assert_eq!(store.warnings()[0].code, Code::CacheUnwritable);
}

#[test]
fn concurrent_builds_share_a_cache() {
    let dir = TempDir::new().unwrap();
    let clean = Project::new(FILES).build(None).1;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..8 {
                    let store = open(&dir);
                    assert_eq!(Project::new(FILES).build(Some(&store)).1, clean);
                    assert!(store.warnings().is_empty());
                    store.sweep(200, false);
                }
            });
        }
    });
}

/// An output is a copy: editing it in place does not modify the cache.
#[test]
fn outputs_are_not_hard_links_to_the_cache() {
    let (dir, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let bytes = vec![9; 100 << 10];
    let blob = dir.path().join("blob");
    fs::write(&blob, &bytes).unwrap();
    let real = kiln_engine::Real::open(out.path()).unwrap();
    let staged = real.stage_copy(&mut fs::File::open(&blob).unwrap()).unwrap();
    real.publish(vec![(staged, path("copy"))]).remove(0).unwrap();
    let copy = out.path().join("copy");
    assert_eq!(Hash::of(&fs::read(&copy).unwrap()), Hash::of(&bytes));
    fs::write(&copy, "edited").unwrap();
    assert_eq!(fs::read(&blob).unwrap(), bytes);
}
