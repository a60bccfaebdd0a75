//! Refusals: system calls that fail, one by one and from some point on, disks and tables of files that are full, and
//! reads and writes that do part of the work. The tool says which path, what was there stays, and afterwards all works.

use super::case::{Case, NotRun};
use super::files;
use super::sample::{self, Sample};
use super::tool::{self, Ran};
use super::trace::{self, Call, Point, traced};
use super::{Row, Setup};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// This row.
pub const ROW: Row =
    Row { name: "refusals", what: "ENOSPC, EIO, EMFILE, short reads and writes", unit: "refusals", cases };

/// Calls, and how they are refused.
const ERRORS: [(&str, &[&str]); 17] = [
    ("openat", &["EMFILE", "EIO", "ENOSPC"]),
    ("read", &["EIO", "EINTR"]),
    ("pread64", &["EIO"]),
    ("write", &["ENOSPC", "EIO", "EINTR"]),
    ("pwrite64", &["ENOSPC"]),
    ("fsync", &["EIO"]),
    ("fdatasync", &["EIO", "ENOSPC"]),
    ("rename", &["EIO", "ENOSPC"]),
    ("unlink", &["EIO"]),
    ("ftruncate", &["EIO"]),
    ("mkdir", &["ENOSPC"]),
    ("getdents64", &["EIO"]),
    ("statx", &["EIO"]),
    ("flock", &["ENOLCK"]),
    ("copy_file_range", &["EIO"]),
    ("sendfile", &["EIO"]),
    ("mmap", &["ENODEV"]),
];

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    trace::available()?;
    let mut cases = Vec::new();
    let mut number = setup.seed as usize;
    for sample in Sample::all(&setup.tools, &setup.room) {
        let sample = Arc::new(sample);
        for edit in [false, true] {
            let dir = setup.room.join("survey");
            prepare(&sample, edit, &dir);
            let names: Vec<&str> =
                ERRORS.iter().map(|(call, _)| *call).filter(|call| *call != "mmap").collect();
            let points = trace::points(&sample.command(&dir), &setup.room.join("log"), &names);
            files::remove(&dir);
            for point in points {
                let errors = ERRORS.iter().find(|(call, _)| *call == point.call).map_or(&[][..], |(_, e)| e);
                for error in errors {
                    for lasting in [false, true] {
                        number += 1;
                        let (skip, once) = (setup.short && !number.is_multiple_of(61), *error == "EINTR");
                        if skip || (lasting && once) {
                            continue;
                        }
                        let how = if lasting { " and all after" } else { "" };
                        let state = if edit { "edit" } else { "cold" };
                        let name = format!("{} {state} {error} {}{how}", sample.name, point.name());
                        let (sample, point) = (Arc::clone(&sample), point.clone());
                        let inject = format!("error={error}");
                        cases.push(Case::counted(name, move |dir| {
                            refuse(&sample, edit, &point, &inject, lasting, dir)
                        }));
                    }
                }
                // The end of a file before its end.
                if point.call == "read" && (!setup.short || number.is_multiple_of(23)) {
                    let name = format!(
                        "{} {} short {}",
                        sample.name,
                        if edit { "edit" } else { "cold" },
                        point.name()
                    );
                    let sample = Arc::clone(&sample);
                    cases.push(Case::counted(name, move |dir| {
                        refuse(&sample, edit, &point, "retval=0", false, dir)
                    }));
                }
            }
        }
        real(setup, &sample, &mut cases);
    }
    Ok(cases)
}

/// Limits that the system itself enforces.
fn real(setup: &Setup, sample: &Arc<Sample>, cases: &mut Vec<Case>) {
    for edit in [false, true] {
        let state = if edit { "edit" } else { "cold" };
        for files in (4..setup.of(5, 40)).chain(setup.of(Some(12), None)) {
            let (name, sample) = (format!("{} {state} {files} descriptors", sample.name), Arc::clone(sample));
            cases
                .push(Case::new(name, move |dir| limited(&sample, edit, &format!("ulimit -n {files}"), dir)));
        }
        // Writes beyond the limit do part of the work first, and then none.
        for blocks in (0..16).step_by(setup.of(15, 1)) {
            let (name, sample) =
                (format!("{} {state} files of {blocks} blocks", sample.name), Arc::clone(sample));
            let limit = format!("trap '' XFSZ; ulimit -f {blocks}");
            cases.push(Case::new(name, move |dir| limited(&sample, edit, &limit, dir)));
        }
        if can_mount(&setup.room) {
            for pages in (0..setup.of(24, 60)).step_by(setup.of(12, 1)) {
                let (name, sample) =
                    (format!("{} {state} disk of {pages} more pages", sample.name), Arc::clone(sample));
                cases.push(Case::new(name, move |dir| {
                    full(&sample, edit, &format!("size={}k", 4 * pages), dir)
                }));
            }
            for inodes in (0..setup.of(8, 30)).step_by(setup.of(4, 1)) {
                let (name, sample) =
                    (format!("{} {state} disk of {inodes} more files", sample.name), Arc::clone(sample));
                cases.push(Case::new(name, move |dir| {
                    full(&sample, edit, &format!("nr_inodes={inodes}"), dir)
                }));
            }
        }
    }
}

fn prepare(sample: &Sample, edit: bool, dir: &Path) {
    if edit {
        sample.put(dir, 0);
        sample.run(dir).expect(0);
    }
    sample.put(dir, 1);
}

/// Refuses a call; 0 when the run ended without making it, or when it was made to start the process.
fn refuse(sample: &Sample, edit: bool, point: &Point, inject: &str, lasting: bool, dir: &Path) -> usize {
    let log = dir.join("log");
    let dir = &dir.join("p");
    prepare(sample, edit, dir);
    let when = format!("{}{}", point.when, if lasting { "+" } else { "" });
    let inject = format!("{}:{inject}:when={when}", point.call);
    let command = traced(&sample.command(dir), &log, point.threads, &[&point.call], Some(&inject));
    let ran = tool::run(command);
    let hit: Vec<Call> = trace::read(&log, point.threads).into_iter().filter(Call::is_injected).collect();
    let Some(first) = hit.iter().find(|call| !trace::is_loading(call)) else { return 0 };
    if hit.iter().any(|call| call.path().is_some_and(|path| path.to_string_lossy().contains(".so"))) {
        // Without its libraries a program does not even begin.
        return 0;
    }
    let told = !hit.iter().any(is_terminal);
    judge(sample, ran, told.then_some(first), dir);
    aftermath(sample, dir);
    1
}

/// Whether a call was about what the tool says, and not about files.
fn is_terminal(call: &Call) -> bool {
    ["write(1<", "write(2<"].iter().any(|start| call.line.starts_with(start))
        || call.path().is_some_and(|path| path.to_string_lossy().starts_with("pipe:"))
        || call.line.contains("<pipe:")
}

/// Runs under a limit of the shell.
fn limited(sample: &Sample, edit: bool, limit: &str, dir: &Path) {
    prepare(sample, edit, dir);
    let plain = sample.command(dir);
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")])
        .arg(plain.get_program())
        .args(plain.get_args());
    command.current_dir(dir);
    let ran = tool::run(command);
    if ran.code() == 127 || ran.code() == 126 {
        // Too little for the program to begin with.
        return;
    }
    judge(sample, ran, None, dir);
    aftermath(sample, dir);
}

/// Whether file systems can be mounted here.
fn can_mount(room: &Path) -> bool {
    let at = room.join("mount");
    std::fs::create_dir_all(&at).unwrap();
    let mounted = tool::is_root() && mount(&at, "size=64k");
    if mounted {
        unmount(&at);
    }
    mounted
}

fn mount(at: &Path, options: &str) -> bool {
    let mut command = Command::new("mount");
    command.args(["-t", "tmpfs", "-o", options, "kiln-fault-injection"]).arg(at);
    command.output().is_ok_and(|output| output.status.success())
}

fn unmount(at: &Path) {
    let unmounted = Command::new("umount").arg(at).output().unwrap();
    assert!(unmounted.status.success(), "{unmounted:?}");
}

/// Runs on a disk with room for this much more.
fn full(sample: &Sample, edit: bool, room: &str, dir: &Path) {
    let at = dir.join("disk");
    std::fs::create_dir_all(&at).unwrap();
    assert!(mount(&at, "size=64m"));
    struct Mounted<'a>(&'a Path);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            unmount(self.0);
        }
    }
    let _mounted = Mounted(&at);
    prepare(sample, edit, &at);
    // What is there takes this much; the limit is that and what was asked for.
    let (key, more) = room.split_once('=').unwrap();
    let more: u64 = more.trim_end_matches('k').parse().unwrap();
    let stat = rustix::fs::statvfs(&at).unwrap();
    let limit = match key {
        "size" => format!("size={}k", (stat.f_blocks - stat.f_bfree) * (stat.f_bsize / 1024) + more),
        _ => format!("nr_inodes={}", stat.f_files - stat.f_ffree + more),
    };
    let remount = |limit: &str| {
        let options = format!("remount,{limit}");
        let done = Command::new("mount").args(["-o", &options]).arg(&at).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    remount(&limit);
    let ran = sample.run(&at);
    judge(sample, ran, None, &at);
    remount(if key == "size" { "size=64m" } else { "nr_inodes=100000" });
    aftermath(sample, &at);
}

/// What a refused run may say: that all is well, if it is, or what went wrong with which path.
fn judge(sample: &Sample, ran: Ran, call: Option<&Call>, dir: &Path) {
    let ran = ran.calm();
    sample.is_whole(dir);
    if ran.code() == 0 {
        // What cannot be removed stays under its temporary name, for the next run to sweep.
        let stays = call.is_some_and(|call| call.name.starts_with("unlink"));
        let mut found = sample.outputs(dir);
        found.retain(|path, _| !(stays && sample::is_temporary(path)));
        let differ = files::differences(&found, &sample.wanted[1]);
        assert!(differ.is_empty(), "not what a clean run gives: {differ:?}");
        return;
    }
    if let Some(call) = call {
        assert!(ran.stderr.contains("error"), "{}: not a word: {ran:#?}", call.line);
        assert!(names(sample, &ran.stderr, dir), "{}: no path is named: {}", call.line, ran.stderr);
    }
}

/// Whether a complaint names something that there is.
fn names(sample: &Sample, complaint: &str, dir: &Path) -> bool {
    let here = dir.to_string_lossy();
    // The folder of a content file that was named without one is the current one.
    complaint.contains(&*here)
        || complaint.contains("]: .: ")
        || sample.names().iter().any(|name| name.len() > 3 && complaint.contains(name))
        || [
            "Library",
            "Packages",
            "ProjectSettings",
            "runtime",
            "out/",
            "]: out:",
            "]: art:",
            "config.yml",
            "thread",
        ]
        .iter()
        .any(|name| complaint.contains(name))
}

fn aftermath(sample: &Sample, dir: &Path) {
    let strays = tool::strays(dir);
    assert!(strays.is_empty(), "still running: {strays:?}");
    sample.recovers(dir, 1);
}
