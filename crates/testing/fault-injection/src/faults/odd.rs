//! Odd trees: what may not be read or written, links that loop or lead out, pipes, sockets, devices, names that are long or
//! no text, trees that are deep. Each is over soon, is told or passed over, and nothing is opened that must not be.
//!
//! Everything whose name holds `forbidden` must not be opened. Runs are made by someone whom permissions bind.

use super::case::{Case, NotRun};
use super::files;
use super::sample::Sample;
use super::tool::{self, Ran, Tools, command};
use super::trace::{self, Call, Threads, traced};
use super::{Row, Setup};
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

/// This row.
pub const ROW: Row =
    Row { name: "odd", what: "permissions, links, pipes, devices, names and depths", unit: "trees", cases };

/// Nothing here takes longer unless it hangs.
const SOON: Duration = Duration::from_secs(20);

/// A user who owns nothing, to whom permissions apply.
const NOBODY: u32 = 65534;

/// How a run has to end.
#[derive(Clone, Copy)]
enum End {
    /// As if the odd thing were not there.
    Fine,
    /// With a failure that has this in it.
    Told(&'static str),
    /// Either way, as long as it ends and is calm.
    Ends,
}
use End::{Ends, Fine, Told};

type Arrange = fn(&Path);
type Odd = (&'static str, Arrange, End);

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    trace::available()?;
    let mut cases = Vec::new();
    let samples: Vec<Arc<Sample>> =
        Sample::all(&setup.tools, &setup.room).into_iter().map(Arc::new).collect();
    open_to_all(&setup.room, &setup.tools);
    let tables: [&[Odd]; 3] = [&ASSETC, &PAK, &UNITY];
    for (sample, table) in samples.iter().zip(tables) {
        for (what, arrange, end) in table {
            let sample = Arc::clone(sample);
            cases.push(Case::new(format!("{} {what}", sample.name), move |dir| {
                odd(&sample, *arrange, *end, dir)
            }));
        }
    }
    Ok(cases)
}

fn open_to_all(room: &Path, tools: &Tools) {
    for path in [room, &tools.assetc, &tools.pak, &tools.unity, &room.join("tools")] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
}

fn odd(sample: &Sample, arrange: Arrange, end: End, dir: &Path) {
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
        give_away(dir);
    }
    let mut command =
        traced(&sample.command(&p), &log, Threads::All, &["open", "openat", "openat2", "creat"], None);
    if root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let ran = tool::run_within(command, SOON).calm();
    for call in trace::read(&log, Threads::All).iter().filter(|call| is_opened(call)) {
        assert!(!opened(call).contains("forbidden"), "{}", call.line);
    }
    assert!(files::tree(&outside) == before, "something outside has changed");
    verdict(&ran, end);
    // Whoever only looks ends as well.
    let mut look = command_as(root, sample, &p);
    look.args(&sample.check);
    tool::run_within(look, SOON).calm();
}

fn command_as(root: bool, sample: &Sample, dir: &Path) -> Command {
    let mut plain = command(&sample.program, dir, &[]);
    if root {
        plain.uid(NOBODY).gid(NOBODY);
    }
    plain
}

fn verdict(ran: &Ran, end: End) {
    match end {
        Fine => assert!(ran.code() == 0, "not fine: {ran:#?}"),
        Told(word) => assert!(ran.code() != 0 && ran.stderr.contains(word), "{word:?} is not told: {ran:#?}"),
        Ends => assert!(ran.code() == 0 || ran.stderr.contains("error"), "failed without a word: {ran:#?}"),
    }
}

fn is_opened(call: &Call) -> bool {
    call.line.rsplit_once(" = ").is_some_and(|(_, result)| result.starts_with(|c: char| c.is_ascii_digit()))
}

/// What the descriptor that a call gave stands for.
fn opened(call: &Call) -> String {
    call.paths().pop().unwrap_or_default()
}

fn give_away(path: &Path) {
    // What no path reaches stays ours, and readable.
    let _ = lchown(path, Some(NOBODY), Some(NOBODY));
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            give_away(&entry.path());
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
    // Not everyone may make a device; then a pipe stands for it.
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

/// A file under a name that is no text, or that no other system can have.
fn named(dir: &Path, name: &[u8], bytes: &[u8]) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join(OsStr::from_bytes(name)), bytes).unwrap();
}

/// Directories in each other, deeper than any path can say.
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

fn picture() -> Vec<u8> {
    super::sample::flat(3, 4)
}

/// What may happen to a project of `assetc`.
const ASSETC: [Odd; 45] = [
    ("unreadable source", |p| mode(&p.join("assets/same.png"), 0o000), Told("same.png")),
    ("unreadable directory", |p| mode(&p.join("assets/sub"), 0o000), Told("sub")),
    ("directory that cannot be entered", |p| mode(&p.join("assets/sub"), 0o644), Told("sub")),
    ("unreadable input", |p| mode(&p.join("assets"), 0o000), Told("assets")),
    ("unreadable configuration", |p| mode(&p.join("assetc.yml"), 0o000), Told("assetc.yml")),
    ("unreadable buffer of a model", |p| mode(&p.join("assets/models/tri.bin"), 0o000), Told("tri.bin")),
    ("read-only project", |p| mode(p, 0o555), Told("runtime")),
    (
        "read-only output",
        |p| {
            fs::create_dir(p.join("runtime")).unwrap();
            mode(&p.join("runtime"), 0o555)
        },
        Told("runtime"),
    ),
    (
        "read-only directory in the output",
        |p| {
            fs::create_dir_all(p.join("runtime/sub")).unwrap();
            mode(&p.join("runtime/sub"), 0o555)
        },
        Told("sub/"),
    ),
    (
        "read-only file in the way",
        |p| {
            files::write(&p.join("runtime/same.ktx2"), "x");
            mode(&p.join("runtime/same.ktx2"), 0o000)
        },
        Told("same.ktx2"),
    ),
    (
        "unreadable journal",
        |p| {
            files::write(&p.join("runtime/.assetc-cache"), "");
            mode(&p.join("runtime/.assetc-cache"), 0o000)
        },
        Told(".assetc-cache"),
    ),
    (
        "read-only journal",
        |p| {
            files::write(&p.join("runtime/.assetc-cache"), "");
            mode(&p.join("runtime/.assetc-cache"), 0o444)
        },
        Told(".assetc-cache"),
    ),
    ("link to itself", |p| link("loop.png", &p.join("assets/loop.png")), Ends),
    (
        "two links in a circle",
        |p| {
            link("b.png", &p.join("assets/a.png"));
            link("a.png", &p.join("assets/b.png"))
        },
        Ends,
    ),
    (
        "forty links in a row",
        |p| (0..60).for_each(|n| link(&format!("l{}.png", n + 1), &p.join(format!("assets/l{n}.png")))),
        Ends,
    ),
    ("directory that links to itself", |p| link(".", &p.join("assets/around")), Ends),
    ("directory that links up", |p| link("..", &p.join("assets/sub/up")), Ends),
    (
        "directories that link to each other",
        |p| {
            link("../two", &p.join("assets/one/in"));
            link("../one", &p.join("assets/two/in"))
        },
        Ends,
    ),
    ("link out to a file", |p| link("../../outside/forbidden.png", &p.join("assets/out.png")), Ends),
    (
        "absolute link out",
        |p| {
            link(
                p.with_file_name("outside").join("forbidden.png").to_str().unwrap(),
                &p.join("assets/out.png"),
            )
        },
        Ends,
    ),
    ("link out to a directory", |p| link("../../outside/forbidden", &p.join("assets/out")), Ends),
    (
        "folder of an array that links out",
        |p| link("../../outside/forbidden", &p.join("assets/out.array")),
        Ends,
    ),
    (
        "layer of an array that links out",
        |p| link("../../../outside/forbidden.png", &p.join("assets/g.array/2.png")),
        Ends,
    ),
    (
        "buffer of a model that links out",
        |p| link("../../../outside/forbidden.txt", &p.join("assets/models/tri.bin")),
        Told("tri.bin"),
    ),
    ("dangling link", |p| link("nowhere.png", &p.join("assets/gone.png")), Ends),
    ("link to the devices", |p| link("/dev/zero", &p.join("assets/zero.png")), Ends),
    ("link to the kernel", |p| link("/proc/self/mem", &p.join("assets/mem.png")), Ends),
    ("pipe", |p| pipe(&p.join("assets/forbidden.png")), Ends),
    (
        "link to a pipe",
        |p| {
            pipe(&p.join("assets/forbidden"));
            link("forbidden", &p.join("assets/l.png"))
        },
        Ends,
    ),
    ("pipe as the buffer of a model", |p| pipe(&p.join("assets/models/tri.bin")), Told("tri.bin")),
    ("pipe as the configuration", |p| pipe(&p.join("assetc.yml")), Ends),
    (
        "pipe as the journal",
        |p| {
            fs::create_dir(p.join("runtime")).unwrap();
            pipe(&p.join("runtime/.assetc-cache"))
        },
        Ends,
    ),
    (
        "pipes as outputs",
        |p| {
            pipe(&p.join("runtime/same.ktx2"));
            pipe(&p.join("runtime/assets.hman"));
            pipe(&p.join("runtime.hpack"))
        },
        Told("same.ktx2"),
    ),
    ("socket", |p| drop(UnixListener::bind(p.join("assets/forbidden.png")).unwrap()), Fine),
    ("device", |p| device(&p.join("assets/forbidden.png")), Fine),
    (
        "device as the journal",
        |p| {
            fs::create_dir(p.join("runtime")).unwrap();
            device(&p.join("runtime/.assetc-cache"))
        },
        Ends,
    ),
    (
        "journal that links out",
        |p| link("../../outside/forbidden.txt", &p.join("runtime/.assetc-cache")),
        Ends,
    ),
    (
        "directory of the output that links out",
        |p| link("../../outside/forbidden", &p.join("runtime/sub")),
        Told("sub stands in the way"),
    ),
    (
        "outputs that link out",
        |p| {
            link("../../outside/forbidden.txt", &p.join("runtime/same.ktx2"));
            link("../../outside/forbidden.txt", &p.join("runtime/assets.hman"));
            link("../outside/forbidden.txt", &p.join("runtime.hpack"))
        },
        Told("same.ktx2"),
    ),
    ("name of 255 bytes", |p| named(&p.join("assets"), long(".png").as_bytes(), &picture()), Told("nnn")),
    ("directory of 255 bytes", |p| named(&p.join("assets").join(long("")), b"a.png", &picture()), Fine),
    (
        "names that are no text",
        |p| {
            named(&p.join("assets"), b"latin-\xe9.png", &picture());
            named(&p.join("assets").join(OsStr::from_bytes(b"d\xff")), b"a.png", &picture())
        },
        Fine,
    ),
    (
        "names that others cannot have",
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
            .for_each(|name| named(&p.join("assets"), name, &picture()))
        },
        Ends,
    ),
    ("300 directories deep", |p| deep(&p.join("assets"), 300), Ends),
    ("deeper than any path", |p| deep(&p.join("assets"), 1500), Ends),
];

/// What may happen to a project of `pak`.
const PAK: [Odd; 22] = [
    ("unreadable content file", |p| mode(&p.join("pak.toml"), 0o000), Told("pak.toml")),
    ("unreadable description", |p| mode(&p.join("art/red.toml"), 0o000), Told("red.toml")),
    ("unreadable source", |p| mode(&p.join("art/notes.txt"), 0o000), Told("notes.txt")),
    ("unreadable directory", |p| mode(&p.join("art"), 0o000), Told("art")),
    (
        "read-only output",
        |p| {
            fs::create_dir(p.join("out")).unwrap();
            mode(&p.join("out"), 0o555)
        },
        Told("out"),
    ),
    ("read-only project", |p| mode(p, 0o555), Told("out")),
    ("directory in place of the output", |p| files::write(&p.join("out/a.pak/x"), ""), Told("a.pak")),
    ("output that links out", |p| link("../../outside/target", &p.join("out/a.pak")), Told("a.pak")),
    ("journal that links out", |p| link("../../outside/forbidden.txt", &p.join("out/.a.pak.cache")), Ends),
    ("pipe as the output", |p| pipe(&p.join("out/a.pak")), Told("a.pak")),
    ("pipe as the journal", |p| pipe(&p.join("out/.a.pak.cache")), Ends),
    ("pipe as the content file", |p| pipe(&p.join("pak.toml")), Told("pak.toml")),
    ("pipe as a description", |p| pipe(&p.join("art/red.toml")), Told("red.toml")),
    ("pipe as a source", |p| pipe(&p.join("art/tri.bin")), Told("tri.bin")),
    ("device as a source", |p| device(&p.join("art/tri.bin")), Told("tri.bin")),
    ("link out", |p| link("../../outside/forbidden.txt", &p.join("art/tri.bin")), Told("tri.bin")),
    ("link out under a pattern", |p| link("../../outside/forbidden.txt", &p.join("art/out.txt")), Ends),
    ("link to itself", |p| link("loop.txt", &p.join("art/loop.txt")), Ends),
    ("directory that links up", |p| link("..", &p.join("art/up")), Ends),
    (
        "names of 255 bytes and no text",
        |p| {
            named(&p.join("art"), long(".txt").as_bytes(), b"x");
            named(&p.join("art"), b"\xff.txt", b"x")
        },
        Ends,
    ),
    ("300 directories deep", |p| deep(&p.join("art"), 300), Ends),
    ("deeper than any path", |p| deep(&p.join("art"), 1500), Ends),
];

/// What may happen to a project of Unity.
const UNITY: [Odd; 22] = [
    ("unreadable meta file", |p| mode(&p.join("Assets/Pole.prefab.meta"), 0o000), Ends),
    ("unreadable asset", |p| mode(&p.join("Assets/Pole.prefab"), 0o000), Ends),
    ("unreadable directory", |p| mode(&p.join("Assets/Art"), 0o000), Ends),
    ("read-only project", |p| mode(p, 0o555), Told("Library")),
    (
        "read-only output",
        |p| {
            fs::create_dir_all(p.join("Library/unity-assetdb")).unwrap();
            mode(&p.join("Library/unity-assetdb"), 0o555)
        },
        Told("Library"),
    ),
    ("file in place of the output", |p| files::write(&p.join("Library"), ""), Told("Library")),
    ("pipe as a meta file", |p| pipe(&p.join("Assets/Pole.prefab.meta")), Ends),
    ("pipe as an asset", |p| pipe(&p.join("Assets/Pole.prefab")), Ends),
    ("pipe as the database", |p| pipe(&p.join("Library/unity-assetdb/asset-db.bin")), Told("asset-db.bin")),
    ("pipe as the state", |p| pipe(&p.join("Library/unity-assetdb/asset-db.cache.bin")), Told("cache.bin")),
    ("pipe as the lock", |p| pipe(&p.join("Library/unity-assetdb/.asset-db.lock")), Ends),
    ("pipe as a setting", |p| pipe(&p.join("ProjectSettings/EditorBuildSettings.asset")), Ends),
    ("device as an asset", |p| device(&p.join("Assets/Pole.prefab")), Ends),
    ("socket", |p| drop(UnixListener::bind(p.join("Assets/forbidden.txt")).unwrap()), Ends),
    ("link to itself", |p| link("loop.txt", &p.join("Assets/loop.txt")), Ends),
    ("directory that links to itself", |p| link(".", &p.join("Assets/around")), Ends),
    ("directory that links up", |p| link("..", &p.join("Assets/Art/up")), Ends),
    (
        "database that links out",
        |p| link("../../../outside/forbidden.txt", &p.join("Library/unity-assetdb/asset-db.bin")),
        Told("asset-db.bin"),
    ),
    (
        "names that are no text",
        |p| {
            named(&p.join("Assets"), b"latin-\xe9.txt", b"x");
            named(&p.join("Assets"), b"latin-\xe9.txt.meta", b"guid: 1")
        },
        Ends,
    ),
    (
        "names of 255 bytes",
        |p| {
            named(&p.join("Assets"), long("").as_bytes(), b"x");
            named(&p.join("Assets"), long(".meta").as_bytes(), b"x")
        },
        Ends,
    ),
    ("300 directories deep", |p| deep(&p.join("Assets"), 300), Ends),
    ("deeper than any path", |p| deep(&p.join("Assets"), 1500), Ends),
];
