//! Existing files at the paths of outputs: only files of an earlier build, and files of the format of the output, are
//! replaced; links and special files never are; no foreign file is removed.

use kiln_fault_injection::file_contents;
use kiln_fault_injection::random::Random;
use kiln_fault_injection::test_dir::TestDir;
use kiln_format::by_path;
use std::fs;

const ASSETC: &str = env!("CARGO_BIN_EXE_assetc");

fn image(seed: u64) -> Vec<u8> {
    file_contents::random_image(&mut Random::new(seed), 4, 4)
}

/// A project that embeds `authorized_keys` and compiles one image.
fn assets() -> TestDir {
    let room = TestDir::create();
    room.write("assetc.yml", "embed: [\"authorized_keys\"]\n")
        .write("assets/authorized_keys", "theirs")
        .write("assets/wall.png", image(1));
    room
}

/// `embed: ["authorized_keys"]` into a directory that has another `authorized_keys`.
#[test]
fn embedded_file_does_not_replace_foreign_file() {
    let room = assets();
    room.write("runtime/authorized_keys", "mine");
    // The failed build must not record ownership of the file.
    for _ in 0..2 {
        let ran = room.run(ASSETC, &[]);
        ran.refused(1, "output-not-owned", &["authorized_keys: ", "--overwrite"]);
        assert_eq!(room.read("runtime/authorized_keys"), b"mine");
        assert!(room.path("runtime/wall.ktx2").is_file(), "the other asset is not affected");
        assert!(room.path("runtime/assets.hman").is_file(), "the manifest lists the other asset");
    }
    // Removing an asset removes only files that it wrote.
    room.write("assetc.yml", "").run(ASSETC, &[]).expect(0);
    assert_eq!(room.read("runtime/authorized_keys"), b"mine");
    room.run(ASSETC, &["clean"]).expect(0);
    assert_eq!(room.read("runtime/authorized_keys"), b"mine");
    assert!(!room.path("runtime/wall.ktx2").exists());

    room.write("assetc.yml", "embed: [\"authorized_keys\"]\n");
    room.run(ASSETC, &["--overwrite"]).expect(0);
    assert_eq!(room.read("runtime/authorized_keys"), b"theirs");
    // Now the journal owns the file, whatever its content.
    room.write("runtime/authorized_keys", "edited").run(ASSETC, &[]).expect(0);
    assert_eq!(room.read("runtime/authorized_keys"), b"theirs");
    room.write("assets/authorized_keys", "newer").run(ASSETC, &[]).expect(0);
    assert_eq!(room.read("runtime/authorized_keys"), b"newer");
}

#[test]
fn adopts_file_with_equal_bytes() {
    let room = assets();
    room.write("runtime/authorized_keys", "theirs");
    let inode = |path: std::path::PathBuf| {
        #[cfg(unix)]
        return std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
        #[cfg(not(unix))]
        return path.exists();
    };
    let before = inode(room.path("runtime/authorized_keys"));
    room.run(ASSETC, &[]).expect(0);
    assert_eq!(inode(room.path("runtime/authorized_keys")), before, "the file itself stays");
    room.run(ASSETC, &["check"]).expect(0);
    room.write("assets/authorized_keys", "newer").run(ASSETC, &[]).expect(0);
    assert_eq!(room.read("runtime/authorized_keys"), b"newer");
    room.run(ASSETC, &["clean"]).expect(0);
    assert!(!room.path("runtime").exists());
}

/// Deleting `.assetc-cache` is the documented way to force a rebuild, for every kind of output.
#[test]
fn rebuilds_everything_without_journal() {
    let room = assets();
    room.write("assets/a.obj", "mtllib a.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        .write("assets/a.mtl", "newmtl m\nmap_Kd wall.png\n")
        .write("assets/warm.lut.cube", format!("LUT_3D_SIZE 2\n{}", "0 0.5 1\n".repeat(8)))
        .write("assets/x.shader/v.wgsl", "@compute @workgroup_size(1) fn main() {}");
    room.run(ASSETC, &["--pack"]).expect(0);
    let outputs = ["wall.ktx2", "a.hmesh", "a.hmat", "a/tex_0.ktx2", "warm.lut.ktx2", "x.shader/compute.spv"];
    let whole = outputs.map(|path| room.read(&format!("runtime/{path}")));
    let (manifest, pack) = (room.read("runtime/assets.hman"), room.read("runtime.hpack"));
    for (path, bytes) in outputs.iter().zip(&whole) {
        let magic = by_path(path).unwrap().magic();
        assert!(magic.len() >= 4 && bytes.starts_with(magic), "{path}");
        room.write(&format!("runtime/{path}"), [magic, b" stale"].concat());
    }
    room.write("runtime/assets.hman", b"HMAN stale").write("runtime.hpack", b"HPAK stale");
    room.remove("runtime/.assetc-cache").run(ASSETC, &["--pack"]).expect(0);
    assert!(outputs.map(|path| room.read(&format!("runtime/{path}"))) == whole);
    assert!(room.read("runtime/assets.hman") == manifest && room.read("runtime.hpack") == pack);
    room.run(ASSETC, &["check"]).expect(0);
}

#[test]
fn does_not_replace_file_of_another_format() {
    for foreign in [&b"a poem"[..], b"", b"\xabKTX 20", b"HMSH"] {
        let room = assets();
        room.write("runtime/wall.ktx2", foreign);
        room.run(ASSETC, &[]).refused(1, "output-not-owned", &["wall.ktx2: ", "--overwrite"]);
        assert_eq!(room.read("runtime/wall.ktx2"), foreign);
        assert_eq!(room.read("runtime/authorized_keys"), b"theirs");
        room.run(ASSETC, &["--overwrite"]).expect(0);
        assert!(room.read("runtime/wall.ktx2").starts_with(b"\xabKTX 20\xbb"));
    }
    // An embedded file can have any content, so its extension does not permit a replacement.
    let room = TestDir::create();
    room.write("assetc.yml", "embed: [\"*.ktx2\"]\n").write("assets/a.ktx2", "\u{ab}KTX 20 mine");
    let foreign = b"\xabKTX 20\xbb\r\n\x1a\n a texture of someone else";
    room.write("runtime/a.ktx2", foreign);
    room.run(ASSETC, &[]).refused(1, "output-not-owned", &["a.ktx2"]);
    assert_eq!(room.read("runtime/a.ktx2"), foreign);
}

#[test]
fn manifest_and_pack_do_not_replace_foreign_files() {
    for (path, format) in [("runtime/assets.hman", "HMAN"), ("runtime.hpack", "HPAK")] {
        let room = assets();
        room.write(path, "mine");
        let name = path.rsplit('/').next().unwrap();
        for _ in 0..2 {
            room.run(ASSETC, &["--pack"]).refused(2, "output-not-owned", &[name, "--overwrite"]);
            assert_eq!(room.read(path), b"mine");
        }
        room.run(ASSETC, &["--pack", "--overwrite"]).expect(0);
        assert!(room.read(path).starts_with(format.as_bytes()));
        // Owned now: a modification is overwritten.
        room.write(path, "edited").run(ASSETC, &["--pack"]).expect(0);
        assert!(room.read(path).starts_with(format.as_bytes()));
    }
    // A journal that moved with its directory does not own the pack of another one.
    let room = assets();
    room.run(ASSETC, &["--pack"]).expect(0);
    fs::rename(room.path("runtime"), room.path("other")).unwrap();
    room.write("other.hpack", "mine");
    room.run(ASSETC, &["--pack", "-o", "other"]).refused(2, "output-not-owned", &["other.hpack"]);
    assert_eq!(room.read("other.hpack"), b"mine");
}

#[test]
#[cfg(unix)]
fn never_follows_or_replaces_links_at_output_paths() {
    let outside =
        |room: &TestDir| fs::write(room.path("../theirs"), b"\xabKTX 20\xbb\r\n\x1a\n theirs").unwrap();
    for path in ["runtime/authorized_keys", "runtime/wall.ktx2", "runtime/assets.hman", "runtime.hpack"] {
        for target in ["../../theirs", "../theirs", "nowhere"] {
            let room = assets();
            outside(&room);
            room.link(target, path);
            let exit = if path.ends_with("hman") || path.ends_with("hpack") { 2 } else { 1 };
            for flags in [&["--pack"][..], &["--pack", "--overwrite"]] {
                let name = path.rsplit('/').next().unwrap();
                room.run(ASSETC, flags).refused(exit, "output-not-regular", &[name, "symbolic link"]);
                assert!(room.is_link(path), "{path}");
            }
            room.run(ASSETC, &["clean"]).expect(0);
            assert!(room.is_link(path), "{path}");
            assert!(fs::read(room.path("../theirs")).unwrap().ends_with(b" theirs"));
        }
    }
    // An output that was replaced by a link is foreign.
    let room = assets();
    outside(&room);
    room.run(ASSETC, &[]).expect(0);
    room.remove("runtime/wall.ktx2").link("../../theirs", "runtime/wall.ktx2");
    room.run(ASSETC, &[]).refused(1, "output-not-regular", &["wall.ktx2"]);
    let ran = room.run(ASSETC, &["clean"]).expect(0);
    assert!(ran.stderr.contains("clean-kept") && room.is_link("runtime/wall.ktx2"), "{}", ran.stderr);
    room.write("assets/new.png", image(2)).run(ASSETC, &[]).refused(1, "output-not-regular", &["wall.ktx2"]);
    fs::remove_file(room.path("assets/wall.png")).unwrap();
    room.run(ASSETC, &[]).expect(0);
    assert!(room.is_link("runtime/wall.ktx2"));
}

#[test]
#[cfg(unix)]
fn does_not_write_through_linked_directory() {
    let room = assets();
    room.write("assets/sub/a.png", image(3)).run(ASSETC, &[]).expect(0);
    let texture = room.read("runtime/sub/a.ktx2");
    fs::create_dir(room.path("../elsewhere")).unwrap();
    fs::write(room.path("../elsewhere/a.ktx2"), &texture).unwrap();
    room.remove("runtime/sub/a.ktx2");
    fs::remove_dir(room.path("runtime/sub")).unwrap();
    room.link("../../elsewhere", "runtime/sub");
    for args in [&["--no-cache"][..], &["--no-cache", "--overwrite"]] {
        room.run(ASSETC, args).refused(1, "unwritable", &["the parent sub is a symbolic link or a file"]);
    }
    room.run(ASSETC, &["clean"]).expect(0);
    assert!(room.is_link("runtime/sub"));
    assert_eq!(fs::read(room.path("../elsewhere/a.ktx2")).unwrap(), texture);
    assert_eq!(fs::read_dir(room.path("../elsewhere")).unwrap().count(), 1);
}

#[test]
#[cfg(unix)]
fn keeps_directories_and_pipes_at_output_paths() {
    let room = assets();
    room.write("runtime/authorized_keys/mine", "mine").pipe("runtime/wall.ktx2");
    for flags in [&[][..], &["--overwrite"]] {
        let ran = room.run(ASSETC, flags);
        assert!(ran.stderr.contains("error[unwritable]: authorized_keys: "), "{}", ran.stderr);
        ran.refused(1, "output-not-regular", &["wall.ktx2: ", "a pipe, a socket or a device"]);
        assert_eq!(room.read("runtime/authorized_keys/mine"), b"mine");
    }
    room.run(ASSETC, &["clean"]).expect(0);
    assert!(room.path("runtime/wall.ktx2").exists() && room.path("runtime/authorized_keys/mine").is_file());
}

/// A cloned project may contain a forged journal. It owns no files outside the output directory.
#[test]
#[cfg(unix)]
fn forged_journal_owns_nothing_outside_the_output() {
    use kiln_engine::record::{Output, Record};
    use kiln_engine::{Hash, Journal, Real, RelPath, Stamp};
    use std::borrow::Cow;
    for command in [&[][..], &["clean"], &["--overwrite"]] {
        let room = assets();
        room.run(ASSETC, &[]).expect(0);
        fs::create_dir(room.path("../home")).unwrap();
        fs::write(room.path("../home/file"), "mine").unwrap();
        room.write("runtime/.hidden", "mine")
            .link("../../home", "runtime/dir")
            .link("../../home/file", "runtime/link");
        let absolute = room.path("../home/file").display().to_string();
        let forged =
            ["../../home/file", &absolute, "dir/file", "link", ".hidden", "a\\..\\b", "C:/x", "//x/y/z"];
        let real = Real::open(&room.path("runtime")).unwrap();
        let mut journal = Journal::open(&real, &RelPath::new(".assetc-cache").unwrap(), &|| ()).unwrap();
        for (n, path) in forged.into_iter().enumerate() {
            for stamp in [Stamp::NONE, Stamp { mtime_ns: 1, changed_ns: 1, len: 1 }] {
                let output = Output {
                    path: path.to_owned().into(),
                    stamp,
                    hash: Hash::of(b"mine"),
                    work: None,
                    metadata: Cow::Borrowed(&[]),
                };
                let record = Record { outputs: vec![output], ..Record::default() };
                journal.append(&[(&*format!("gone{n}-{}.png", stamp.len), Some(&record))]).unwrap();
            }
        }
        drop((journal, real));
        let _ = room.run(ASSETC, command);
        assert_eq!(fs::read(room.path("../home/file")).unwrap(), b"mine", "{command:?}");
        assert!(room.is_link("runtime/link") && room.is_link("runtime/dir"), "{command:?}");
        assert_eq!(room.read("runtime/.hidden"), b"mine", "{command:?}");
    }
}

#[test]
#[cfg(unix)]
fn init_does_not_write_through_a_link() {
    let room = TestDir::create();
    room.link("../made", "assetc.yml");
    assert_ne!(room.run(ASSETC, &["init"]).code, 0);
    assert!(!room.path("../made").exists() && room.is_link("assetc.yml"));
    let room = TestDir::create();
    room.link("../made", ".gitignore");
    room.run(ASSETC, &["init"]).expect(0);
    assert!(!room.path("../made").exists() && room.is_link(".gitignore"));
}

#[test]
fn report_replaces_reports_only() {
    let room = assets();
    room.run(ASSETC, &[]).expect(0);
    room.run(ASSETC, &["report"]).expect(0);
    let page = room.read("runtime.report.html");
    room.write("assets/b.png", image(4)).run(ASSETC, &[]).expect(0);
    room.run(ASSETC, &["report"]).expect(0);
    assert!(room.read("runtime.report.html") != page);
    room.write("mine.html", "<!doctype html><title>mine</title>");
    room.run(ASSETC, &["report", "--out", "mine.html"]).refused(
        2,
        "output-not-owned",
        &["mine.html", "--overwrite"],
    );
    assert!(room.read("mine.html").ends_with(b"mine</title>"));
    room.run(ASSETC, &["report", "--out", "mine.html", "--overwrite"]).expect(0);
    #[cfg(unix)]
    {
        room.write("theirs", &page).link("theirs", "link.html");
        room.run(ASSETC, &["report", "--out", "link.html", "--overwrite"]).refused(
            2,
            "output-not-regular",
            &["link.html"],
        );
        assert!(room.read("theirs") == page && room.is_link("link.html"));
    }
}
