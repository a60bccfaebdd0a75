//! The store under the engine: what is found again and where, that a found result cannot be told from a cooked one, and
//! that damage costs cooks and nothing else, be it on disk or on a server.

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
fn another_checkout_finds_everything_and_is_the_same() {
    let dir = TempDir::new().unwrap();
    let clean = Project::new(FILES).build(None).1;
    let first = Project::new(FILES);
    assert_eq!(first.build(Some(&open(&dir))), (4, Project::new(FILES).build(None).1));
    // Two of the sources share a piece of work; whether one waits for the other does not show.
    assert_eq!(first.works.load(Relaxed), 1);
    let (second, store) = (Project::new(FILES), open(&dir));
    assert_eq!(second.build(Some(&store)), (0, clean));
    let figures = store.figures();
    assert_eq!((figures.asked, figures.found, figures.bytes_in), (4, 4, 0));
    assert!(figures.bytes_out > 0 && store.trouble().is_empty());
    // What was fetched is remembered in the output like what was cooked.
    assert!(second.run(None, "copy 1", false).iter().all(|done| done.state == State::Fresh));
}

#[test]
fn every_input_counts_and_old_states_are_found_again() {
    let dir = TempDir::new().unwrap();
    let build = |change: &dyn Fn(&kiln_engine::mem::Mem)| {
        let project = Project::new(FILES);
        change(&project.src);
        let (cooked, left) = project.build(Some(&open(&dir)));
        assert_eq!(left, {
            let clean = Project::new(FILES);
            change(&clean.src);
            clean.build(None).1
        });
        cooked
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
    for (change, cooked) in changes {
        assert_eq!(build(change), cooked);
        assert_eq!(build(change), 0);
    }
    assert!(changes.iter().all(|(change, _)| build(change) == 0), "an older state was forgotten");
    // Another recipe or program finds nothing of this one.
    let project = Project::new(FILES);
    project.run(Some(&open(&dir)), "copy 2", false);
    assert_eq!(project.cooks.load(Relaxed), 4);
    let other = Store::open(dir.path(), "kiln other").unwrap();
    assert_eq!(Project::new(FILES).build(Some(&other)).0, 4);
}

#[test]
fn work_is_shared_between_projects_that_have_nothing_else_in_common() {
    let dir = TempDir::new().unwrap();
    Project::new(&[("a.txt", "&work")]).build(Some(&open(&dir)));
    let other = Project::new(&[("elsewhere/b.txt", "another\n&work")]);
    let store = open(&dir);
    let (cooked, left) = other.build(Some(&store));
    assert_eq!((cooked, other.works.load(Relaxed), store.figures().works), (1, 0, 1));
    assert_eq!(left.warnings[0].code, Code::LinkIgnored);
    assert_eq!(left.outputs["elsewhere/b.txt.work"], b"krow&");
}

#[test]
fn forced_runs_look_for_nothing() {
    let dir = TempDir::new().unwrap();
    let project = Project::new(FILES);
    project.build(Some(&open(&dir)));
    let done = project.run(Some(&open(&dir)), "copy 1", true);
    assert!(done.iter().all(|done| matches!(done.state, State::Built(_))), "{done:?}");
    assert_eq!(project.works.load(Relaxed), 2);
}

#[test]
fn what_changed_while_it_was_read_is_not_kept() {
    let dir = TempDir::new().unwrap();
    let files = &[("a.txt", "!b"), ("b", "as it was")];
    Project::new(files).build(Some(&open(&dir)));
    let again = Project::new(files);
    let store = open(&dir);
    again.build(Some(&store));
    assert_eq!((again.cooks.load(Relaxed), store.figures().found), (1, 0));
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    let mut all: Vec<_> = fs::read_dir(dir).unwrap().flat_map(|e| below(e.unwrap().path())).collect();
    all.sort();
    all
}

/// Every file of the store is removed, emptied, cut, flipped, or exchanged for another one.
#[test]
fn a_damaged_store_costs_cooks_and_is_mended_by_them() {
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
            let (cooked, left) = Project::new(FILES).build(Some(&open(&dir)));
            assert_eq!(left, clean, "{}", file.display());
            assert!(cooked <= 2, "{cooked}");
            assert_eq!(Project::new(FILES).build(Some(&open(&dir))).0, 0, "{} stays damaged", file.display());
            fs::write(file, bytes).unwrap();
        }
    }
    assert_eq!(Project::new(FILES).build(Some(&open(&dir))), (0, clean));
}

#[test]
fn a_store_that_cannot_be_written_is_told_of_once_and_stops_nothing() {
    let dir = TempDir::new().unwrap();
    let store = open(&dir);
    fs::remove_dir_all(dir.path().join("tmp")).unwrap();
    fs::write(dir.path().join("tmp"), "in the way").unwrap();
    assert_eq!(Project::new(FILES).build(Some(&store)), Project::new(FILES).build(None));
    assert_eq!(store.trouble()[0].code, Code::StoreUnwritable);
}

#[test]
fn processes_and_threads_share_a_store() {
    let dir = TempDir::new().unwrap();
    let clean = Project::new(FILES).build(None).1;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..8 {
                    let store = open(&dir);
                    assert_eq!(Project::new(FILES).build(Some(&store)).1, clean);
                    assert!(store.trouble().is_empty());
                    store.sweep(200, false);
                }
            });
        }
    });
}

/// An output is a copy: whoever edits it in place does not edit the store.
#[test]
fn outputs_are_not_second_names_of_the_store() {
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
