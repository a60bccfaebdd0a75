//! Acceptance by `check`, `--verify` and `--pack`: damaged content is found without a journal, a shipped pack is verified
//! alone, and files that no source writes are named.

use crate::packs::unpack;
use crate::project::{Project, test_image};
use kiln_fault_injection::random::Random;
use std::process::Command;

/// Images with noise, so that most bytes of their textures are Zstandard blocks.
fn built() -> Project {
    let p = Project::new();
    p.write("assetc.yml", "default: {texture: {compress: false, mips: false}}\n");
    for n in 0..2 {
        p.write(&format!("assets/{n}.png"), test_image(64, 64, n));
    }
    p.write("assets/tri.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    p.run(&["-q", "--pack"]).expect(0);
    p
}

/// Returns the offset of the largest file in a pack, and its length.
fn largest(pack: &[u8]) -> (usize, usize) {
    let files = unpack(pack).unwrap();
    files.iter().map(|file| (file.offset, file.bytes.len())).max_by_key(|(_, len)| *len).unwrap()
}

#[test]
fn finds_damaged_levels_without_journal_and_digests() {
    let p = built();
    p.remove("runtime/.assetc-cache").remove("runtime/assets.sha256");
    p.run(&["-q", "check"]).expect(0);
    let good = p.read("runtime/0.ktx2");
    let mut random = Random::new(1);
    for round in 0..200 {
        let mut bytes = good.clone();
        let at = good.len() / 2 + random.below(good.len() / 2);
        bytes[at] ^= 1 << random.below(8);
        p.write("runtime/0.ktx2", bytes);
        let ran = p.run(&["check"]).expect(1);
        assert!(
            ran.stdout.contains("FAIL 0.ktx2: ") && ran.stdout.contains("[check-corrupt]"),
            "{round}: {ran:?}"
        );
    }
}

#[test]
fn shipped_pack_is_verified_alone() {
    let p = built();
    let good = p.read("runtime.hpack");
    p.write("ship/game.hpack", &good);
    let ran = p.run(&["check", "ship/game.hpack"]).expect(0);
    assert!(ran.stdout.contains("match assets.sha256"), "{ran:?}");
    let mut random = Random::new(2);
    for file in unpack(&good).unwrap().iter().filter(|file| !file.bytes.is_empty()) {
        let mut bytes = good.clone();
        bytes[file.offset + random.below(file.bytes.len())] ^= 0x20;
        p.write("ship/game.hpack", bytes);
        let ran = p.run(&["check", "ship/game.hpack"]).expect(1);
        assert!(ran.stdout.contains("FAIL "), "{}: {ran:?}", file.path);
    }
    let (at, len) = largest(&good);
    let mut bytes = good;
    for _ in 0..2000 {
        bytes[at + len / 2 + random.below(len / 2)] ^= random.below(255) as u8;
    }
    p.write("ship/game.hpack", bytes);
    p.run(&["check", "ship/game.hpack"]).expect(1);

    // The digests are those of `sha256sum`.
    if let Ok(summed) =
        Command::new("sha256sum").args(["-c", "assets.sha256"]).current_dir(p.path("runtime")).output()
    {
        assert!(summed.status.success(), "{summed:?}");
    }
    // A build that changes nothing keeps the digests, so the pack stays up to date; no digests are left that are not.
    p.run(&["-q"]).expect(0);
    assert!(p.run(&["--pack"]).expect(0).stdout.contains("unchanged "));
    p.write("assets/0.png", test_image(64, 64, 7)).run(&["-q"]).expect(0);
    assert!(!p.exists("runtime/assets.sha256"));
}

#[test]
fn unowned_files_are_named_and_can_be_left_out() {
    let p = built();
    p.write("runtime/notes.txt", "mine");
    let ran = p.run(&["--pack"]).expect(0);
    assert!(ran.stderr.contains("warning[pack-unowned]: notes.txt: "), "{ran:?}");
    let names = |p: &Project| {
        unpack(&p.read("runtime.hpack")).unwrap().into_iter().map(|f| f.path).collect::<Vec<_>>()
    };
    assert!(names(&p).contains(&"notes.txt".to_owned()));
    p.run(&["-q", "check", "runtime.hpack"]).expect(0);
    p.run(&["--pack", "--deny", "pack-unowned"]).expect(1);

    // A file with an extension of ours that its reader rejects fails the pack, and the old one stays.
    let old = p.read("runtime.hpack");
    p.write("runtime/x.ktx2", "12345");
    let ran = p.run(&["--pack"]).expect(1);
    assert!(
        ran.stdout.contains("the pack was not updated")
            && ran.stderr.contains("error[pack]: x.ktx2: the file is not a valid texture"),
        "{ran:?}"
    );
    assert_eq!(p.read("runtime.hpack"), old);

    p.write("assetc.yml", "pack_unowned: false\ndefault: {texture: {compress: false, mips: false}}\n");
    let ran = p.run(&["--pack", "--verify"]).expect(0);
    assert!(!ran.stderr.contains("pack-unowned"), "{ran:?}");
    assert!(!names(&p).iter().any(|name| name == "notes.txt" || name == "x.ktx2"));
}

#[test]
fn embedded_foreign_texture_is_not_judged() {
    let p = built();
    // A KTX 2.0 header with BasisLZ supercompression, which Kiln does not write.
    let mut basis = b"\xabKTX 20\xbb\r\n\x1a\n".to_vec();
    basis.extend([0u32, 1, 4, 4, 0, 0, 1, 1, 1].iter().flat_map(|n| n.to_le_bytes()));
    basis.resize(400, 7);
    p.write("assetc.yml", "embed: [\"video/*\"]\n").write("assets/video/intro.ktx2", &basis);
    p.run(&["-q", "--pack", "--verify"]).expect(0);
    assert_eq!(p.read("runtime/video/intro.ktx2"), basis);
    p.run(&["-q", "check"]).expect(0);
    p.run(&["-q", "check", "runtime.hpack"]).expect(0);
    p.remove("runtime/.assetc-cache").run(&["-q", "check"]).expect(0);
}

#[test]
fn identical_content_is_stored_once() {
    let p = Project::new();
    for name in ["a", "b", "c"] {
        p.write(&format!("assets/{name}.png"), test_image(64, 64, 1));
    }
    p.run(&["-q", "--pack", "--verify"]).expect(0);
    let files = unpack(&p.read("runtime.hpack")).unwrap();
    let textures: Vec<_> = files.iter().filter(|file| file.kind == 5).collect();
    assert_eq!(textures.len(), 3);
    assert!(
        textures
            .iter()
            .all(|file| file.offset == textures[0].offset && file.bytes == p.read("runtime/a.ktx2"))
    );
    p.run(&["-q", "check", "runtime.hpack"]).expect(0);
    let json = p.run(&["pack", "info", "--json"]).expect(0).json();
    assert_eq!(json["shared"], 2 * textures[0].bytes.len() as u64);
    let text = p.run(&["pack", "info"]).expect(0).stdout;
    assert!(text.contains(" of identical content stored once"), "{text}");
    p.run(&["info", "runtime.hpack"]).expect(0);
}
