//! Unusual file trees: missing permissions, symbolic links that loop or lead out of the project, named pipes, sockets,
//! devices, long and non-UTF-8 names, deep trees. Each run terminates soon, reports or ignores the entry, and opens
//! nothing that it must not open.
//!
//! Paths that contain `forbidden` must not be opened. Runs are made as an unprivileged user.

use super::case::{Case, NotRun};
use super::files;
use super::sample::Sample;
use super::tool::{self, Ran, Tools, command};
use super::trace::{self, Call, Threads, traced};
use super::{Setup, Suite};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// The `unusual-trees` suite.
pub const SUITE: Suite = Suite {
    name: "unusual-trees",
    summary: "missing permissions, symlinks, named pipes, devices, long and non-UTF-8 names, deep trees",
    unit: "trees",
    cases,
};

/// The timeout of a run. Only a hang takes longer.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The user id of an unprivileged user who owns nothing.
const NOBODY: u32 = 65534;

/// The expected outcome of a run.
#[derive(Clone, Copy)]
enum Outcome {
    /// Success, as if the unusual entry did not exist.
    Succeeds,
    /// Failure with a message that contains this string.
    FailsWith(&'static str),
    /// Success or failure, as long as the run terminates without a crash.
    Terminates,
}
use Outcome::{FailsWith, Succeeds, Terminates};

type Arrange = fn(&Path);
type UnusualTree = (&'static str, Arrange, Outcome);

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    trace::available()?;
    let mut cases = Vec::new();
    let samples: Vec<Arc<Sample>> =
        Sample::all(&setup.tools, &setup.work_dir).into_iter().map(Arc::new).collect();
    make_readable_by_all(&setup.work_dir, &setup.tools);
    let tables: [&[UnusualTree]; 3] = [&ASSETC, &PAK, &UNITY];
    for (sample, table) in samples.iter().zip(tables) {
        for (what, arrange, outcome) in table {
            let sample = Arc::clone(sample);
            cases.push(Case::new(format!("{} {what}", sample.name), move |dir| {
                run_case(&sample, *arrange, *outcome, dir)
            }));
        }
    }
    Ok(cases)
}

fn make_readable_by_all(work_dir: &Path, tools: &Tools) {
    for path in [work_dir, &tools.assetc, &tools.pak, &tools.unity, &work_dir.join("tools")] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
}

fn run_case(sample: &Sample, arrange: Arrange, outcome: Outcome, dir: &Path) {
    let (log, outside, p) = (dir.join("log"), dir.join("outside"), dir.join("p"));
    fs::create_dir_all(outside.join("forbidden")).unwrap();
    for name in [
        "target",
        "forbidden.png",
        "forbidden.txt",
        "forbidden/deep.png",
        "forbidden/deep.txt",
        "forbidden/deep.txt.meta",
    ] {
        files::write(&outside.join(name), "secret");
    }
    sample.put(&p, 0);
    arrange(&p);
    let before = files::tree(&outside);
    let root = tool::is_root();
    if root {
        chown_to_nobody(dir);
    }
    let mut command =
        traced(&sample.command(&p), &log, Threads::All, &["open", "openat", "openat2", "creat"], None);
    if root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let ran = tool::run_within(command, TIME_LIMIT).assert_no_crash();
    for call in trace::read(&log, Threads::All).iter().filter(|call| is_opened(call)) {
        assert!(!opened(call).contains("forbidden"), "{}", call.line);
    }
    assert!(files::tree(&outside) == before, "a file outside the project has changed");
    assert_outcome(&ran, outcome);
    // The verifying command terminates as well.
    let mut look = command_as(root, sample, &p);
    look.args(&sample.check);
    tool::run_within(look, TIME_LIMIT).assert_no_crash();
}

fn command_as(root: bool, sample: &Sample, dir: &Path) -> Command {
    let mut plain = command(&sample.program, dir, &[]);
    if root {
        plain.uid(NOBODY).gid(NOBODY);
    }
    plain
}

fn assert_outcome(ran: &Ran, outcome: Outcome) {
    match outcome {
        Succeeds => assert!(ran.code() == 0, "did not succeed: {ran:#?}"),
        FailsWith(word) => {
            assert!(ran.code() != 0 && ran.stderr.contains(word), "{word:?} is not reported: {ran:#?}")
        }
        Terminates => {
            assert!(
                ran.code() == 0 || ran.stderr.contains("error"),
                "failed without an error message: {ran:#?}"
            )
        }
    }
}

fn is_opened(call: &Call) -> bool {
    call.line.rsplit_once(" = ").is_some_and(|(_, result)| result.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the path of the descriptor that a call returned.
fn opened(call: &Call) -> String {
    call.paths().pop().unwrap_or_default()
}

fn chown_to_nobody(path: &Path) {
    // Files whose path is too long keep their owner, and stay readable.
    let _ = lchown(path, Some(NOBODY), Some(NOBODY));
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            chown_to_nobody(&entry.path());
        }
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn make(program: &str, path: &Path, args: &[&str]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(path);
    let made = Command::new(program).arg(path).args(args).output().unwrap();
    // Creating a device needs privileges; a named pipe replaces it without them.
    if !made.status.success() && program == "mknod" {
        return make("mkfifo", path, &[]);
    }
    assert!(made.status.success(), "{made:?}");
}

fn pipe(path: &Path) {
    make("mkfifo", path, &[]);
}

fn device(path: &Path) {
    make("mknod", path, &["c", "1", "5"]);
    mode(path, 0o666);
}

fn link(to: &str, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(path);
    symlink(to, path).unwrap();
}

/// Writes a file whose name is not UTF-8, or not allowed on other systems.
fn named(dir: &Path, name: &[u8], bytes: &[u8]) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join(OsStr::from_bytes(name)), bytes).unwrap();
}

/// Creates nested directories, deeper than a path can be long.
fn deep(dir: &Path, levels: usize) {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    let open = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = openat(CWD, dir, open, Mode::empty()).unwrap();
    for _ in 0..levels {
        mkdirat(&at, "ddd", Mode::from_raw_mode(0o755)).unwrap();
        at = openat(&at, "ddd", open, Mode::empty()).unwrap();
    }
    openat(&at, "x.txt", OFlags::CREATE | OFlags::WRONLY, Mode::from_raw_mode(0o644)).unwrap();
}

fn long(extension: &str) -> String {
    "n".repeat(255 - extension.len()) + extension
}

fn random_image() -> Vec<u8> {
    super::sample::flat(3, 4)
}

/// The unusual trees of `assetc` projects.
const ASSETC: [UnusualTree; 45] = [
    ("unreadable source", |p| mode(&p.join("assets/same.png"), 0o000), FailsWith("same.png")),
    ("unreadable directory", |p| mode(&p.join("assets/sub"), 0o000), FailsWith("sub")),
    ("directory that cannot be entered", |p| mode(&p.join("assets/sub"), 0o644), FailsWith("sub")),
    ("unreadable input", |p| mode(&p.join("assets"), 0o000), FailsWith("assets")),
    ("unreadable configuration", |p| mode(&p.join("assetc.yml"), 0o000), FailsWith("assetc.yml")),
    ("unreadable buffer of a model", |p| mode(&p.join("assets/models/tri.bin"), 0o000), FailsWith("tri.bin")),
    ("read-only project", |p| mode(p, 0o555), FailsWith("runtime")),
    (
        "read-only output",
        |p| {
            fs::create_dir(p.join("runtime")).unwrap();
            mode(&p.join("runtime"), 0o555)
        },
        FailsWith("runtime"),
    ),
    (
        "read-only directory in the output",
        |p| {
            fs::create_dir_all(p.join("runtime/sub")).unwrap();
            mode(&p.join("runtime/sub"), 0o555)
        },
        FailsWith("sub/"),
    ),
    (
        "read-only file in place of an output",
        |p| {
            files::write(&p.join("runtime/same.ktx2"), "x");
            mode(&p.join("runtime/same.ktx2"), 0o000)
        },
        FailsWith("same.ktx2"),
    ),
    (
        "unreadable journal",
        |p| {
            files::write(&p.join("runtime/.assetc-cache"), "");
            mode(&p.join("runtime/.assetc-cache"), 0o000)
        },
        FailsWith(".assetc-cache"),
    ),
    (
        "read-only journal",
        |p| {
            files::write(&p.join("runtime/.assetc-cache"), "");
            mode(&p.join("runtime/.assetc-cache"), 0o444)
        },
        FailsWith(".assetc-cache"),
    ),
    ("symlink to itself", |p| link("loop.png", &p.join("assets/loop.png")), Terminates),
    (
        "two symlinks in a cycle",
        |p| {
            link("b.png", &p.join("assets/a.png"));
            link("a.png", &p.join("assets/b.png"))
        },
        Terminates,
    ),
    (
        "chain of forty symlinks",
        |p| (0..60).for_each(|n| link(&format!("l{}.png", n + 1), &p.join(format!("assets/l{n}.png")))),
        Terminates,
    ),
    ("directory symlink to itself", |p| link(".", &p.join("assets/around")), Terminates),
    ("directory symlink to its parent", |p| link("..", &p.join("assets/sub/up")), Terminates),
    (
        "directory symlinks to each other",
        |p| {
            link("../two", &p.join("assets/one/in"));
            link("../one", &p.join("assets/two/in"))
        },
        Terminates,
    ),
    (
        "symlink to a file outside",
        |p| link("../../outside/forbidden.png", &p.join("assets/out.png")),
        Terminates,
    ),
    (
        "absolute symlink to a file outside",
        |p| {
            link(
                p.with_file_name("outside").join("forbidden.png").to_str().unwrap(),
                &p.join("assets/out.png"),
            )
        },
        Terminates,
    ),
    (
        "symlink to a directory outside",
        |p| link("../../outside/forbidden", &p.join("assets/out")),
        Terminates,
    ),
    (
        "array directory that is a symlink to outside",
        |p| link("../../outside/forbidden", &p.join("assets/out.array")),
        Terminates,
    ),
    (
        "array layer that is a symlink to outside",
        |p| link("../../../outside/forbidden.png", &p.join("assets/g.array/2.png")),
        Terminates,
    ),
    (
        "buffer of a model that is a symlink to outside",
        |p| link("../../../outside/forbidden.txt", &p.join("assets/models/tri.bin")),
        FailsWith("tri.bin"),
    ),
    ("dangling symlink", |p| link("nowhere.png", &p.join("assets/gone.png")), Terminates),
    ("symlink to /dev/zero", |p| link("/dev/zero", &p.join("assets/zero.png")), Terminates),
    ("symlink to /proc/self/mem", |p| link("/proc/self/mem", &p.join("assets/mem.png")), Terminates),
    ("pipe", |p| pipe(&p.join("assets/forbidden.png")), Terminates),
    (
        "symlink to a named pipe",
        |p| {
            pipe(&p.join("assets/forbidden"));
            link("forbidden", &p.join("assets/l.png"))
        },
        Terminates,
    ),
    ("pipe as the buffer of a model", |p| pipe(&p.join("assets/models/tri.bin")), FailsWith("tri.bin")),
    ("pipe as the configuration", |p| pipe(&p.join("assetc.yml")), Terminates),
    (
        "pipe as the journal",
        |p| {
            fs::create_dir(p.join("runtime")).unwrap();
            pipe(&p.join("runtime/.assetc-cache"))
        },
        Terminates,
    ),
    (
        "pipes as outputs",
        |p| {
            pipe(&p.join("runtime/same.ktx2"));
            pipe(&p.join("runtime/assets.hman"));
            pipe(&p.join("runtime.hpack"))
        },
        FailsWith("same.ktx2"),
    ),
    ("socket", |p| drop(UnixListener::bind(p.join("assets/forbidden.png")).unwrap()), Succeeds),
    ("device", |p| device(&p.join("assets/forbidden.png")), Succeeds),
    (
        "device as the journal",
        |p| {
            fs::create_dir(p.join("runtime")).unwrap();
            device(&p.join("runtime/.assetc-cache"))
        },
        Terminates,
    ),
    (
        "journal that is a symlink to outside",
        |p| link("../../outside/forbidden.txt", &p.join("runtime/.assetc-cache")),
        Terminates,
    ),
    (
        "output directory that is a symlink to outside",
        |p| link("../../outside/forbidden", &p.join("runtime/sub")),
        FailsWith("sub"),
    ),
    (
        "outputs that are symlinks to outside",
        |p| {
            link("../../outside/forbidden.txt", &p.join("runtime/same.ktx2"));
            link("../../outside/forbidden.txt", &p.join("runtime/assets.hman"));
            link("../outside/forbidden.txt", &p.join("runtime.hpack"))
        },
        FailsWith("same.ktx2"),
    ),
    (
        "name of 255 bytes",
        |p| named(&p.join("assets"), long(".png").as_bytes(), &random_image()),
        FailsWith("nnn"),
    ),
    (
        "directory of 255 bytes",
        |p| named(&p.join("assets").join(long("")), b"a.png", &random_image()),
        Succeeds,
    ),
    (
        "names that are not UTF-8",
        |p| {
            named(&p.join("assets"), b"latin-\xe9.png", &random_image());
            named(&p.join("assets").join(OsStr::from_bytes(b"d\xff")), b"a.png", &random_image())
        },
        Succeeds,
    ),
    (
        "names that other systems do not allow",
        |p| {
            [
                &b"a\nb.png"[..],
                b"co:lon.png",
                b"b\\s.png",
                b"CON.png",
                b"dot..png",
                b"sp ace .png",
                b"-rf.png",
                b"\xe2\x80\xae.png",
            ]
            .iter()
            .for_each(|name| named(&p.join("assets"), name, &random_image()))
        },
        Terminates,
    ),
    ("tree of 300 nested directories", |p| deep(&p.join("assets"), 300), Terminates),
    ("tree deeper than the longest path", |p| deep(&p.join("assets"), 1500), Terminates),
];

/// The unusual trees of `pak` projects.
const PAK: [UnusualTree; 22] = [
    ("unreadable content file", |p| mode(&p.join("pak.toml"), 0o000), FailsWith("pak.toml")),
    ("unreadable description", |p| mode(&p.join("art/red.toml"), 0o000), FailsWith("red.toml")),
    ("unreadable source", |p| mode(&p.join("art/notes.txt"), 0o000), FailsWith("notes.txt")),
    ("unreadable directory", |p| mode(&p.join("art"), 0o000), FailsWith("art")),
    (
        "read-only output",
        |p| {
            fs::create_dir(p.join("out")).unwrap();
            mode(&p.join("out"), 0o555)
        },
        FailsWith("out"),
    ),
    ("read-only project", |p| mode(p, 0o555), FailsWith("out")),
    ("directory in place of the output", |p| files::write(&p.join("out/a.pak/x"), ""), FailsWith("a.pak")),
    (
        "output that is a symlink to outside",
        |p| link("../../outside/target", &p.join("out/a.pak")),
        FailsWith("a.pak"),
    ),
    (
        "journal that is a symlink to outside",
        |p| link("../../outside/forbidden.txt", &p.join("out/.a.pak.cache")),
        Terminates,
    ),
    ("pipe as the output", |p| pipe(&p.join("out/a.pak")), FailsWith("a.pak")),
    ("pipe as the journal", |p| pipe(&p.join("out/.a.pak.cache")), Terminates),
    ("pipe as the content file", |p| pipe(&p.join("pak.toml")), FailsWith("pak.toml")),
    ("pipe as a description", |p| pipe(&p.join("art/red.toml")), FailsWith("red.toml")),
    ("pipe as a source", |p| pipe(&p.join("art/tri.bin")), FailsWith("tri.bin")),
    ("device as a source", |p| device(&p.join("art/tri.bin")), FailsWith("tri.bin")),
    (
        "source that is a symlink to outside",
        |p| link("../../outside/forbidden.txt", &p.join("art/tri.bin")),
        FailsWith("tri.bin"),
    ),
    (
        "symlink to outside that matches a pattern",
        |p| link("../../outside/forbidden.txt", &p.join("art/out.txt")),
        Terminates,
    ),
    ("symlink to itself", |p| link("loop.txt", &p.join("art/loop.txt")), Terminates),
    ("directory symlink to its parent", |p| link("..", &p.join("art/up")), Terminates),
    (
        "names of 255 bytes that are not UTF-8",
        |p| {
            named(&p.join("art"), long(".txt").as_bytes(), b"x");
            named(&p.join("art"), b"\xff.txt", b"x")
        },
        Terminates,
    ),
    ("tree of 300 nested directories", |p| deep(&p.join("art"), 300), Terminates),
    ("tree deeper than the longest path", |p| deep(&p.join("art"), 1500), Terminates),
];

/// The unusual trees of Unity projects.
const UNITY: [UnusualTree; 22] = [
    ("unreadable meta file", |p| mode(&p.join("Assets/Pole.prefab.meta"), 0o000), Terminates),
    ("unreadable asset", |p| mode(&p.join("Assets/Pole.prefab"), 0o000), Terminates),
    ("unreadable directory", |p| mode(&p.join("Assets/Art"), 0o000), Terminates),
    ("read-only project", |p| mode(p, 0o555), FailsWith("Library")),
    (
        "read-only output",
        |p| {
            fs::create_dir_all(p.join("Library/unity-assetdb")).unwrap();
            mode(&p.join("Library/unity-assetdb"), 0o555)
        },
        FailsWith("Library"),
    ),
    ("file in place of the output", |p| files::write(&p.join("Library"), ""), FailsWith("Library")),
    ("pipe as a meta file", |p| pipe(&p.join("Assets/Pole.prefab.meta")), Terminates),
    ("pipe as an asset", |p| pipe(&p.join("Assets/Pole.prefab")), Terminates),
    (
        "pipe as the database",
        |p| pipe(&p.join("Library/unity-assetdb/asset-db.bin")),
        FailsWith("asset-db.bin"),
    ),
    (
        "pipe as the state",
        |p| pipe(&p.join("Library/unity-assetdb/asset-db.cache.bin")),
        FailsWith("cache.bin"),
    ),
    ("pipe as the lock", |p| pipe(&p.join("Library/unity-assetdb/.asset-db.lock")), Terminates),
    ("pipe as a setting", |p| pipe(&p.join("ProjectSettings/EditorBuildSettings.asset")), Terminates),
    ("device as an asset", |p| device(&p.join("Assets/Pole.prefab")), Terminates),
    ("socket", |p| drop(UnixListener::bind(p.join("Assets/forbidden.txt")).unwrap()), Terminates),
    ("symlink to itself", |p| link("loop.txt", &p.join("Assets/loop.txt")), Terminates),
    ("directory symlink to itself", |p| link(".", &p.join("Assets/around")), Terminates),
    ("directory symlink to its parent", |p| link("..", &p.join("Assets/Art/up")), Terminates),
    (
        "database that is a symlink to outside",
        |p| link("../../../outside/forbidden.txt", &p.join("Library/unity-assetdb/asset-db.bin")),
        FailsWith("asset-db.bin"),
    ),
    (
        "names that are not UTF-8",
        |p| {
            named(&p.join("Assets"), b"latin-\xe9.txt", b"x");
            named(&p.join("Assets"), b"latin-\xe9.txt.meta", b"guid: 1")
        },
        Terminates,
    ),
    (
        "names of 255 bytes",
        |p| {
            named(&p.join("Assets"), long("").as_bytes(), b"x");
            named(&p.join("Assets"), long(".meta").as_bytes(), b"x")
        },
        Terminates,
    ),
    ("tree of 300 nested directories", |p| deep(&p.join("Assets"), 300), Terminates),
    ("tree deeper than the longest path", |p| deep(&p.join("Assets"), 1500), Terminates),
];
