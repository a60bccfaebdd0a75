//! Files that are at the paths of outputs before a tool writes there: only what an earlier run wrote, and files of the
//! output's own format, are replaced; links and special files never are; nothing foreign is removed.

use kiln_format::by_path;
use kiln_proof::contents;
use kiln_proof::random::Random;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const ASSETC: &str = env!("CARGO_BIN_EXE_assetc");
const PAK: &str = env!("CARGO_BIN_EXE_pak");
const UNITY: &str = env!("CARGO_BIN_EXE_unity-assetdb");

/// A directory with a project in `p`; what is beside `p` is outside the project.
struct Room(tempfile::TempDir);

struct Ran {
    code: i32,
    stderr: String,
}

impl Ran {
    #[track_caller]
    fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "{}", self.stderr);
        self
    }

    /// Asserts that the tool failed with an error of this code that has these words in it.
    #[track_caller]
    fn refused(self, exit: i32, code: &str, words: &[&str]) {
        let ran = self.expect(exit);
        let head = format!("error[{code}]");
        assert!(ran.stderr.contains(&head), "{code}: {}", ran.stderr);
        for word in words {
            assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
        }
    }
}

fn image(seed: u64) -> Vec<u8> {
    contents::picture(&mut Random::new(seed), 4, 4)
}

impl Room {
    fn new() -> Room {
        let room = Room(tempfile::tempdir().unwrap());
        fs::create_dir(room.path("")).unwrap();
        room
    }

    /// A project that embeds `authorized_keys` and compiles one image.
    fn assets() -> Room {
        let room = Room::new();
        room.write("assetc.yml", "embed: [\"authorized_keys\"]\n")
            .write("assets/authorized_keys", "theirs")
            .write("assets/wall.png", image(1));
        room
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join("p").join(path)
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Room {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), bytes).unwrap();
        self
    }

    fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    fn remove(&self, path: &str) -> &Room {
        fs::remove_file(self.path(path)).unwrap();
        self
    }

    fn run(&self, program: &str, args: &[&str]) -> Ran {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.path("")).env("KILN_CACHE", "off").env_remove("NO_COLOR");
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        Ran { code: output.status.code().unwrap_or(-1), stderr }
    }

    fn assetc(&self, args: &[&str]) -> Ran {
        self.run(ASSETC, args)
    }

    /// Whether a path names a link still.
    #[cfg(unix)]
    fn is_link(&self, path: &str) -> bool {
        fs::symlink_metadata(self.path(path)).unwrap().is_symlink()
    }

    #[cfg(unix)]
    fn link(&self, target: &str, path: &str) -> &Room {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
        self
    }

    #[cfg(unix)]
    fn pipe(&self, path: &str) -> &Room {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(self.path(path)).status().unwrap().success());
        self
    }
}

/// `embed: ["authorized_keys"]` into a directory that has another `authorized_keys`.
#[test]
fn an_embedded_file_does_not_replace_a_foreign_file() {
    let room = Room::assets();
    room.write("runtime/authorized_keys", "mine");
    // The first failure must not make the file ours.
    for _ in 0..2 {
        let ran = room.assetc(&[]);
        ran.refused(1, "output-not-owned", &["authorized_keys: ", "--overwrite"]);
        assert_eq!(room.read("runtime/authorized_keys"), b"mine");
        assert!(room.path("runtime/wall.ktx2").is_file(), "the other asset is not affected");
        assert!(!room.path("runtime/assets.hman").exists());
    }
    // An asset that goes takes nothing with it that it did not write.
    room.write("assetc.yml", "").assetc(&[]).expect(0);
    assert_eq!(room.read("runtime/authorized_keys"), b"mine");
    room.assetc(&["clean"]).expect(0);
    assert_eq!(room.read("runtime/authorized_keys"), b"mine");
    assert!(!room.path("runtime/wall.ktx2").exists());

    room.write("assetc.yml", "embed: [\"authorized_keys\"]\n");
    room.assetc(&["--overwrite"]).expect(0);
    assert_eq!(room.read("runtime/authorized_keys"), b"theirs");
    // From now on the journal owns it, whatever someone writes there.
    room.write("runtime/authorized_keys", "edited").assetc(&[]).expect(0);
    assert_eq!(room.read("runtime/authorized_keys"), b"theirs");
    room.write("assets/authorized_keys", "newer").assetc(&[]).expect(0);
    assert_eq!(room.read("runtime/authorized_keys"), b"newer");
}

#[test]
fn a_file_with_equal_bytes_is_adopted_as_it_is() {
    let room = Room::assets();
    room.write("runtime/authorized_keys", "theirs");
    let inode = |path: PathBuf| {
        #[cfg(unix)]
        return std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
        #[cfg(not(unix))]
        return path.exists();
    };
    let before = inode(room.path("runtime/authorized_keys"));
    room.assetc(&[]).expect(0);
    assert_eq!(inode(room.path("runtime/authorized_keys")), before, "the file itself stays");
    room.assetc(&["check"]).expect(0);
    room.write("assets/authorized_keys", "newer").assetc(&[]).expect(0);
    assert_eq!(room.read("runtime/authorized_keys"), b"newer");
    room.assetc(&["clean"]).expect(0);
    assert!(!room.path("runtime").exists());
}

/// Deleting `.assetc-cache` is the documented way to force a rebuild: it works for every kind of output.
#[test]
fn everything_is_rebuilt_after_the_journal_was_deleted() {
    let room = Room::assets();
    room.write("assets/a.obj", "mtllib a.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        .write("assets/a.mtl", "newmtl m\nmap_Kd wall.png\n")
        .write("assets/warm.lut.cube", format!("LUT_3D_SIZE 2\n{}", "0 0.5 1\n".repeat(8)))
        .write("assets/x.shader/v.wgsl", "@compute @workgroup_size(1) fn main() {}");
    room.assetc(&["--pack"]).expect(0);
    let outputs = ["wall.ktx2", "a.hmesh", "a.hmat", "a/tex_0.ktx2", "warm.lut.ktx2", "x.shader/compute.spv"];
    let whole = outputs.map(|path| room.read(&format!("runtime/{path}")));
    let (manifest, pack) = (room.read("runtime/assets.hman"), room.read("runtime.hpack"));
    for (path, bytes) in outputs.iter().zip(&whole) {
        let magic = by_path(path).unwrap().magic();
        assert!(magic.len() >= 4 && bytes.starts_with(magic), "{path}");
        room.write(&format!("runtime/{path}"), [magic, b" stale"].concat());
    }
    room.write("runtime/assets.hman", b"HMAN stale").write("runtime.hpack", b"HPAK stale");
    room.remove("runtime/.assetc-cache").assetc(&["--pack"]).expect(0);
    assert!(outputs.map(|path| room.read(&format!("runtime/{path}"))) == whole);
    assert!(room.read("runtime/assets.hman") == manifest && room.read("runtime.hpack") == pack);
    room.assetc(&["check"]).expect(0);
}

#[test]
fn a_file_of_another_format_is_not_replaced_whatever_its_name_is() {
    for foreign in [&b"a poem"[..], b"", b"\xabKTX 20", b"HMSH"] {
        let room = Room::assets();
        room.write("runtime/wall.ktx2", foreign);
        room.assetc(&[]).refused(1, "output-not-owned", &["wall.ktx2: ", "--overwrite"]);
        assert_eq!(room.read("runtime/wall.ktx2"), foreign);
        assert_eq!(room.read("runtime/authorized_keys"), b"theirs");
        room.assetc(&["--overwrite"]).expect(0);
        assert!(room.read("runtime/wall.ktx2").starts_with(b"\xabKTX 20\xbb"));
    }
    // An embedded file is any file, so that its name is no evidence for what may be replaced.
    let room = Room::new();
    room.write("assetc.yml", "embed: [\"*.ktx2\"]\n").write("assets/a.ktx2", "\u{ab}KTX 20 mine");
    let foreign = b"\xabKTX 20\xbb\r\n\x1a\n a texture of someone else";
    room.write("runtime/a.ktx2", foreign);
    room.assetc(&[]).refused(1, "output-not-owned", &["a.ktx2"]);
    assert_eq!(room.read("runtime/a.ktx2"), foreign);
}

#[test]
fn manifest_and_pack_do_not_replace_foreign_files() {
    for (path, format) in [("runtime/assets.hman", "HMAN"), ("runtime.hpack", "HPAK")] {
        let room = Room::assets();
        room.write(path, "mine");
        let name = path.rsplit('/').next().unwrap();
        for _ in 0..2 {
            room.assetc(&["--pack"]).refused(2, "output-not-owned", &[name, "--overwrite"]);
            assert_eq!(room.read(path), b"mine");
        }
        room.assetc(&["--pack", "--overwrite"]).expect(0);
        assert!(room.read(path).starts_with(format.as_bytes()));
        // Ours now: what someone did to it is undone.
        room.write(path, "edited").assetc(&["--pack"]).expect(0);
        assert!(room.read(path).starts_with(format.as_bytes()));
    }
    // A journal that moved with its directory does not own the pack of another one.
    let room = Room::assets();
    room.assetc(&["--pack"]).expect(0);
    fs::rename(room.path("runtime"), room.path("other")).unwrap();
    room.write("other.hpack", "mine");
    room.assetc(&["--pack", "-o", "other"]).refused(2, "output-not-owned", &["other.hpack"]);
    assert_eq!(room.read("other.hpack"), b"mine");
}

#[test]
#[cfg(unix)]
fn links_at_the_paths_of_outputs_are_never_followed_or_replaced() {
    let outside =
        |room: &Room| fs::write(room.path("../theirs"), b"\xabKTX 20\xbb\r\n\x1a\n theirs").unwrap();
    for path in ["runtime/authorized_keys", "runtime/wall.ktx2", "runtime/assets.hman", "runtime.hpack"] {
        for target in ["../../theirs", "../theirs", "nowhere"] {
            let room = Room::assets();
            outside(&room);
            room.link(target, path);
            let exit = if path.ends_with("hman") || path.ends_with("hpack") { 2 } else { 1 };
            for flags in [&["--pack"][..], &["--pack", "--overwrite"]] {
                let name = path.rsplit('/').next().unwrap();
                room.assetc(flags).refused(exit, "output-not-regular", &[name, "symbolic link"]);
                assert!(room.is_link(path), "{path}");
            }
            room.assetc(&["clean"]).expect(0);
            assert!(room.is_link(path), "{path}");
            assert!(fs::read(room.path("../theirs")).unwrap().ends_with(b" theirs"));
        }
    }
    // A file that a build wrote, and that someone replaced by a link, is not ours any more.
    let room = Room::assets();
    outside(&room);
    room.assetc(&[]).expect(0);
    room.remove("runtime/wall.ktx2").link("../../theirs", "runtime/wall.ktx2");
    room.assetc(&[]).refused(1, "output-not-regular", &["wall.ktx2"]);
    let ran = room.assetc(&["clean"]).expect(0);
    assert!(ran.stderr.contains("clean-kept") && room.is_link("runtime/wall.ktx2"), "{}", ran.stderr);
    room.write("assets/new.png", image(2)).assetc(&[]).refused(1, "output-not-regular", &["wall.ktx2"]);
    fs::remove_file(room.path("assets/wall.png")).unwrap();
    room.assetc(&[]).expect(0);
    assert!(room.is_link("runtime/wall.ktx2"));
}

#[test]
#[cfg(unix)]
fn nothing_is_written_or_removed_behind_a_linked_directory() {
    let room = Room::assets();
    room.write("assets/sub/a.png", image(3)).assetc(&[]).expect(0);
    let texture = room.read("runtime/sub/a.ktx2");
    fs::create_dir(room.path("../elsewhere")).unwrap();
    fs::write(room.path("../elsewhere/a.ktx2"), &texture).unwrap();
    room.remove("runtime/sub/a.ktx2");
    fs::remove_dir(room.path("runtime/sub")).unwrap();
    room.link("../../elsewhere", "runtime/sub");
    for args in [&["--no-cache"][..], &["--no-cache", "--overwrite"]] {
        room.assetc(args).refused(1, "unwritable", &["sub stands in the way"]);
    }
    room.assetc(&["clean"]).expect(0);
    assert!(room.is_link("runtime/sub"));
    assert_eq!(fs::read(room.path("../elsewhere/a.ktx2")).unwrap(), texture);
    assert_eq!(fs::read_dir(room.path("../elsewhere")).unwrap().count(), 1);
}

#[test]
#[cfg(unix)]
fn directories_and_pipes_at_the_paths_of_outputs_stay() {
    let room = Room::assets();
    room.write("runtime/authorized_keys/mine", "mine").pipe("runtime/wall.ktx2");
    for flags in [&[][..], &["--overwrite"]] {
        let ran = room.assetc(flags);
        assert!(ran.stderr.contains("error[unwritable]: authorized_keys: "), "{}", ran.stderr);
        ran.refused(1, "output-not-regular", &["wall.ktx2: ", "a pipe, a socket or a device"]);
        assert_eq!(room.read("runtime/authorized_keys/mine"), b"mine");
    }
    room.assetc(&["clean"]).expect(0);
    assert!(room.path("runtime/wall.ktx2").exists() && room.path("runtime/authorized_keys/mine").is_file());
}

/// A journal comes with a cloned project and may say anything. It leads nowhere but to files of the output directory.
#[test]
#[cfg(unix)]
fn a_forged_journal_owns_nothing_outside_the_output() {
    use kiln_kit::record::{Output, Record};
    use kiln_kit::{Hash, Journal, Real, RelPath, Stamp};
    for command in [&[][..], &["clean"], &["--overwrite"]] {
        let room = Room::assets();
        room.assetc(&[]).expect(0);
        fs::create_dir(room.path("../home")).unwrap();
        fs::write(room.path("../home/file"), "mine").unwrap();
        room.write("runtime/.hidden", "mine")
            .link("../../home", "runtime/dir")
            .link("../../home/file", "runtime/link");
        let absolute = room.path("../home/file").display().to_string();
        let forged =
            ["../../home/file", &absolute, "dir/file", "link", ".hidden", "a\\..\\b", "C:/x", "//x/y/z"];
        let real = Real::open(&room.path("runtime")).unwrap();
        let mut cache = Journal::open(&real, &RelPath::new(".assetc-cache").unwrap(), &|| ()).unwrap();
        for (n, path) in forged.into_iter().enumerate() {
            for stamp in [Stamp::NONE, Stamp { mtime_ns: 1, changed_ns: 1, len: 1 }] {
                let output = Output {
                    path: path.to_owned().into(),
                    stamp,
                    hash: Hash::of(b"mine"),
                    work: None,
                    metadata: b"".into(),
                };
                let record = Record { outputs: vec![output], ..Record::default() };
                cache.append(&[(&*format!("gone{n}-{}.png", stamp.len), Some(&record))]).unwrap();
            }
        }
        drop((cache, real));
        let _ = room.assetc(command);
        assert_eq!(fs::read(room.path("../home/file")).unwrap(), b"mine", "{command:?}");
        assert!(room.is_link("runtime/link") && room.is_link("runtime/dir"), "{command:?}");
        assert_eq!(room.read("runtime/.hidden"), b"mine", "{command:?}");
    }
}

#[test]
#[cfg(unix)]
fn init_does_not_write_through_a_link() {
    let room = Room::new();
    room.link("../made", "assetc.yml");
    assert_ne!(room.assetc(&["init"]).code, 0);
    assert!(!room.path("../made").exists() && room.is_link("assetc.yml"));
}

#[test]
fn a_report_replaces_reports_only() {
    let room = Room::assets();
    room.assetc(&[]).expect(0);
    room.assetc(&["report"]).expect(0);
    let page = room.read("runtime.report.html");
    room.write("assets/b.png", image(4)).assetc(&[]).expect(0);
    room.assetc(&["report"]).expect(0);
    assert!(room.read("runtime.report.html") != page);
    room.write("mine.html", "<!doctype html><title>mine</title>");
    room.assetc(&["report", "--out", "mine.html"]).refused(
        2,
        "output-not-owned",
        &["mine.html", "--overwrite"],
    );
    assert!(room.read("mine.html").ends_with(b"mine</title>"));
    room.assetc(&["report", "--out", "mine.html", "--overwrite"]).expect(0);
    #[cfg(unix)]
    {
        room.write("theirs", &page).link("theirs", "link.html");
        room.assetc(&["report", "--out", "link.html", "--overwrite"]).refused(
            2,
            "output-not-regular",
            &["link.html"],
        );
        assert!(room.read("theirs") == page && room.is_link("link.html"));
    }
}

#[test]
fn a_pak_replaces_paks_only() {
    let room = Room::new();
    room.write("pak.toml", "[content]\n[[content.group]]\nassets = ['art/*']\n")
        .write("art/notes.txt", "hello");
    let bake = |more: &[&str]| room.run(PAK, &[&["bake", "pak.toml", "a.pak"], more].concat());
    room.write("a.pak", "mine");
    for more in [&[][..], &["--no-cache"], &["--cache", "elsewhere"]] {
        bake(more).refused(1, "output-not-owned", &["a.pak", "--overwrite"]);
        assert_eq!(room.read("a.pak"), b"mine");
    }
    bake(&["--overwrite"]).expect(0);
    let pak = room.read("a.pak");
    assert!(pak.starts_with(b"KPAK"));
    // Ours now, damaged or not; and any pak is, also without a journal.
    room.write("a.pak", "damaged");
    bake(&[]).expect(0);
    assert!(room.read("a.pak") == pak);
    room.write("a.pak", b"KPAK of another bake").remove(".a.pak.cache");
    bake(&[]).expect(0);
    assert!(room.read("a.pak") == pak);
    #[cfg(unix)]
    {
        room.remove("a.pak").write("theirs", &pak).link("theirs", "a.pak");
        for more in [&[][..], &["--overwrite", "--no-cache"]] {
            bake(more).refused(1, "output-not-regular", &["a.pak", "symbolic link"]);
            assert!(room.read("theirs") == pak && room.is_link("a.pak"));
        }
        room.remove("a.pak").pipe("a.pak");
        bake(&["--overwrite"]).refused(1, "output-not-regular", &["a.pak"]);
    }
}

fn unity_project() -> Room {
    let room = Room::new();
    room.write("ProjectSettings/ProjectVersion.txt", "m_EditorVersion: 6000.0.1f1\n")
        .write("Assets/Flag.png", "")
        .write("Assets/Flag.png.meta", "guid: 8f57b4a070f7b43bbb3925467e6752ab\n");
    room
}

#[test]
fn an_index_replaces_only_files_of_an_index() {
    let dir = "Library/unity-assetdb";
    for name in ["asset-db.bin", "asset-db.cache.bin"] {
        let room = unity_project();
        room.write(&format!("{dir}/{name}"), "mine");
        for args in [&["bake"][..], &["list"]] {
            room.run(UNITY, args).refused(2, "output-not-owned", &[name, "--out-dir"]);
            assert_eq!(room.read(&format!("{dir}/{name}")), b"mine");
        }
        // In the directory of an index a file of this name is a damaged one.
        let room = unity_project();
        room.run(UNITY, &["bake"]).expect(0);
        let whole = room.read(&format!("{dir}/asset-db.bin"));
        room.write(&format!("{dir}/{name}"), "damaged").run(UNITY, &["bake"]).expect(0);
        assert!(room.read(&format!("{dir}/asset-db.bin")) == whole);
    }
}

#[test]
#[cfg(unix)]
fn an_index_is_not_written_through_links() {
    let dir = "Library/unity-assetdb";
    for name in ["asset-db.bin", "asset-db.cache.bin"] {
        let room = unity_project();
        room.run(UNITY, &["bake"]).expect(0);
        let whole = room.read(&format!("{dir}/{name}"));
        fs::rename(room.path(&format!("{dir}/{name}")), room.path("../theirs")).unwrap();
        room.link("../../../theirs", &format!("{dir}/{name}"));
        room.write("Assets/New.txt", "")
            .write("Assets/New.txt.meta", "guid: 8f57b4a070f7b43bbb3925467e6752ac\n");
        room.run(UNITY, &["bake"]).refused(2, "output-not-regular", &[name]);
        assert!(fs::read(room.path("../theirs")).unwrap() == whole && room.is_link(&format!("{dir}/{name}")));
    }
    for (path, target) in [("Library", "../elsewhere"), (dir, "../../elsewhere"), ("Library", "../nowhere")] {
        let room = unity_project();
        fs::create_dir(room.path("../elsewhere")).unwrap();
        room.link(target, path);
        for args in [&["bake"][..], &["list"]] {
            room.run(UNITY, args).refused(2, "unity-output-outside", &["--out-dir"]);
        }
        assert_eq!(fs::read_dir(room.path("../elsewhere")).unwrap().count(), 0);
        assert!(!room.path("../nowhere").exists());
        // A directory that the user names may be anywhere.
        room.run(UNITY, &["bake", "--out-dir", "../elsewhere"]).expect(0);
        assert!(room.path("../elsewhere/asset-db.bin").is_file());
    }
    // A link inside the project leads nowhere else.
    let room = unity_project();
    fs::create_dir(room.path("Cache")).unwrap();
    room.link("Cache", "Library").run(UNITY, &["bake"]).expect(0);
    assert!(room.path("Cache/unity-assetdb/asset-db.bin").is_file());
}
