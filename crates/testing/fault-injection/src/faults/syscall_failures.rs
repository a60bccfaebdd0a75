//! System call failures: injected errors, once or from one call on, full disks, descriptor limits, and short reads and
//! writes. The tool names the path, existing files stay intact, and the next run succeeds.

use super::case::{Case, NotRun};
use super::files;
use super::sample::{self, Sample};
use super::tool::{self, Ran};
use super::trace::{self, Call, Point, traced};
use super::{Setup, Suite};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// The `syscall-failures` suite.
pub const SUITE: Suite = Suite {
    name: "syscall-failures",
    summary: "ENOSPC, EIO, EMFILE, full disks, short reads and writes",
    unit: "failures",
    cases,
};

/// The system calls, and the errors to inject.
const ERRORS: [(&str, &[&str]); 18] = [
    ("openat", &["EMFILE", "EIO", "ENOSPC"]),
    ("read", &["EIO", "EINTR"]),
    ("pread64", &["EIO"]),
    ("write", &["ENOSPC", "EIO", "EINTR"]),
    ("pwrite64", &["ENOSPC"]),
    ("fsync", &["EIO"]),
    ("fdatasync", &["EIO", "ENOSPC"]),
    ("syncfs", &["EIO", "ENOSPC"]),
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
    for sample in Sample::all(&setup.tools, &setup.work_dir) {
        let sample = Arc::new(sample);
        for edit in [false, true] {
            let dir = setup.work_dir.join("survey");
            prepare(&sample, edit, &dir);
            let names: Vec<&str> =
                ERRORS.iter().map(|(call, _)| *call).filter(|call| *call != "mmap").collect();
            let points = trace::points(&sample.command(&dir), &setup.work_dir.join("log"), &names);
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
                        let how = if lasting { " and all later calls" } else { "" };
                        let state = if edit { "edit" } else { "cold" };
                        let name = format!("{} {state} {error} {}{how}", sample.name, point.name());
                        let (sample, point) = (Arc::clone(&sample), point.clone());
                        let inject = format!("error={error}");
                        cases.push(Case::counted(name, move |dir| {
                            inject_failure(&sample, edit, &point, &inject, lasting, dir)
                        }));
                    }
                }
                // An unexpected end of file: `read` returns 0.
                if point.call == "read" && (!setup.short || number.is_multiple_of(23)) {
                    let name = format!(
                        "{} {} short read {}",
                        sample.name,
                        if edit { "edit" } else { "cold" },
                        point.name()
                    );
                    let sample = Arc::clone(&sample);
                    cases.push(Case::counted(name, move |dir| {
                        inject_failure(&sample, edit, &point, "retval=0", false, dir)
                    }));
                }
            }
        }
        add_system_limits(setup, &sample, &mut cases);
    }
    Ok(cases)
}

/// Adds cases with limits that the kernel enforces.
fn add_system_limits(setup: &Setup, sample: &Arc<Sample>, cases: &mut Vec<Case>) {
    for edit in [false, true] {
        let state = if edit { "edit" } else { "cold" };
        for files in (4..setup.of(5, 40)).chain(setup.of(Some(12), None)) {
            let (name, sample) = (format!("{} {state} {files} descriptors", sample.name), Arc::clone(sample));
            cases.push(Case::new(name, move |dir| {
                run_with_ulimit(&sample, edit, &format!("ulimit -n {files}"), dir)
            }));
        }
        // A write beyond the limit is short first, and then fails.
        for blocks in (0..16).step_by(setup.of(15, 1)) {
            let (name, sample) =
                (format!("{} {state} file size limit of {blocks} blocks", sample.name), Arc::clone(sample));
            let limit = format!("trap '' XFSZ; ulimit -f {blocks}");
            cases.push(Case::new(name, move |dir| run_with_ulimit(&sample, edit, &limit, dir)));
        }
        if can_mount(&setup.work_dir) {
            for pages in (0..setup.of(24, 60)).step_by(setup.of(12, 1)) {
                let (name, sample) =
                    (format!("{} {state} disk with {pages} free pages", sample.name), Arc::clone(sample));
                cases.push(Case::new(name, move |dir| {
                    run_on_full_disk(&sample, edit, &format!("size={}k", 4 * pages), dir)
                }));
            }
            for inodes in (0..setup.of(8, 30)).step_by(setup.of(4, 1)) {
                let (name, sample) =
                    (format!("{} {state} disk with {inodes} free inodes", sample.name), Arc::clone(sample));
                cases.push(Case::new(name, move |dir| {
                    run_on_full_disk(&sample, edit, &format!("nr_inodes={inodes}"), dir)
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

/// Injects a failure into a call; returns 0 if the run ended without making it, or if it belongs to process startup.
fn inject_failure(
    sample: &Sample,
    edit: bool,
    point: &Point,
    inject: &str,
    lasting: bool,
    dir: &Path,
) -> usize {
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
        // A program cannot start without its shared libraries.
        return 0;
    }
    let can_report = !hit.iter().any(is_terminal);
    check_result(sample, ran, can_report.then_some(first), dir);
    check_recovery(sample, dir);
    1
}

/// Returns `true` if a call writes to the terminal or a pipe instead of a file.
fn is_terminal(call: &Call) -> bool {
    ["write(1<", "write(2<"].iter().any(|start| call.line.starts_with(start))
        || call.path().is_some_and(|path| path.to_string_lossy().starts_with("pipe:"))
        || call.line.contains("<pipe:")
}

/// Runs a sample under a `ulimit` of the shell.
fn run_with_ulimit(sample: &Sample, edit: bool, limit: &str, dir: &Path) {
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
        // The limit is too low for the program to start.
        return;
    }
    check_result(sample, ran, None, dir);
    check_recovery(sample, dir);
}

/// Returns `true` if file systems can be mounted here.
fn can_mount(work_dir: &Path) -> bool {
    let at = work_dir.join("mount");
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

/// Runs a sample on a file system with this much free space: `size=…k` or `nr_inodes=…`.
fn run_on_full_disk(sample: &Sample, edit: bool, free: &str, dir: &Path) {
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
    // The limit is the current usage plus the free space.
    let (key, more) = free.split_once('=').unwrap();
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
    check_result(sample, ran, None, &at);
    remount(if key == "size" { "size=64m" } else { "nr_inodes=100000" });
    check_recovery(sample, &at);
}

/// Asserts that a run with a failure either succeeded with the right output, or reported an error that names a path.
fn check_result(sample: &Sample, ran: Ran, call: Option<&Call>, dir: &Path) {
    let ran = ran.assert_no_crash();
    sample.assert_no_partial_files(dir);
    if ran.code() == 0 {
        // A file that cannot be removed stays under its temporary name; the next run removes it.
        let keeps_temporary = call.is_some_and(|call| call.name.starts_with("unlink"));
        let mut found = sample.outputs(dir);
        found.retain(|path, _| !(keeps_temporary && sample::is_temporary(path)));
        let differ = files::differences(&found, &sample.expected[1]);
        assert!(differ.is_empty(), "differs from a clean run: {differ:?}");
        return;
    }
    if let Some(call) = call {
        assert!(ran.stderr.contains("error"), "{}: no error is reported: {ran:#?}", call.line);
        assert!(names_a_path(sample, &ran.stderr, dir), "{}: no path is named: {}", call.line, ran.stderr);
    }
}

/// Returns `true` if an error message names a path of the project.
fn names_a_path(sample: &Sample, message: &str, dir: &Path) -> bool {
    let here = dir.to_string_lossy();
    // The directory of a content file given without one is the current directory.
    message.contains(&*here)
        || message.contains("]: .: ")
        || sample.names().iter().any(|name| name.len() > 3 && message.contains(name))
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
        .any(|name| message.contains(name))
}

fn check_recovery(sample: &Sample, dir: &Path) {
    let leftovers = tool::leftovers(dir);
    assert!(leftovers.is_empty(), "still running: {leftovers:?}");
    sample.assert_recovers(dir, 1);
}
