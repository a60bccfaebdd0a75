//! `pack_compress: zstd`: packs of version 3, with an independent reader that was written from
//! `docs/reference/formats/hpack.md`.

use crate::packs::unpack;
use crate::project::{Project, test_image};
use kiln_fault_injection::random::Random;
use std::collections::BTreeMap;

/// One entry of a compressed pack.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    offset: usize,
    size: usize,
    content: Vec<u8>,
}

/// Reads a pack of version 3 as documented.
fn unpack_compressed(pack: &[u8]) -> BTreeMap<String, Entry> {
    let number = |at: usize, size: usize| {
        pack[at..at + size].iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
    };
    assert_eq!((&pack[..4], number(4, 4), number(12, 4)), (&b"HPAK"[..], 3, 0));
    let (mut at, mut end) = (24, 24 + number(16, 8));
    let mut files = BTreeMap::new();
    for _ in 0..number(8, 4) {
        let (offset, size, content_size) = (number(at, 8), number(at + 8, 8), number(at + 16, 8));
        let path_len = number(at + 25, 2);
        let path = String::from_utf8(pack[at + 27..at + 27 + path_len].to_vec()).unwrap();
        at += 27 + path_len;
        let payload = &pack[offset..offset + size];
        let content = if size == content_size {
            payload.to_vec()
        } else {
            assert!(
                size < content_size && (content_size <= 1 << 20 || content_size <= 1024 * size),
                "{path}"
            );
            let content = zstd::bulk::decompress(payload, content_size).unwrap();
            assert_eq!(content.len(), content_size, "{path}");
            content
        };
        if offset >= end {
            assert_eq!(offset, end.next_multiple_of(16), "{path}");
            assert!(pack[end..offset].iter().all(|byte| *byte == 0));
            end = offset + size;
        } else {
            let shares =
                |other: &Entry| (other.offset, other.size, &other.content) == (offset, size, &content);
            assert!(files.values().any(shares), "{path} shares no payload");
        }
        assert_eq!(files.insert(path, Entry { offset, size, content }), None);
    }
    assert_eq!((at, end), (24 + number(16, 8), pack.len()));
    files
}

fn configure(p: &Project, compress: &str) {
    p.write("assetc.yml", format!("pack_compress: {compress}\nembed: ['*.txt', '*.bin', '*.zero']\n"));
}

/// Files that shrink, that do not, that are equal, and that are empty.
fn project(compress: &str) -> Project {
    let p = Project::new();
    configure(&p, compress);
    p.write("assets/long.txt", "Kiln ".repeat(4000)).write("assets/same.txt", "Kiln ".repeat(4000));
    p.write("assets/empty.txt", "").write("assets/short.txt", "x");
    let noise: Vec<u8> =
        (0..9000u32).map(|n| ((n.wrapping_mul(n) >> 7) ^ (n.wrapping_mul(40503) >> 3)) as u8).collect();
    p.write("assets/noise.bin", noise).write("assets/bomb.zero", vec![0; 3 << 20]);
    p.write("assets/tri.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        .write("assets/a.png", test_image(64, 64, 1));
    p
}

#[test]
fn compressed_pack_has_the_documented_layout() {
    let p = project("zstd");
    p.run(&["-q", "--pack", "--verify"]).expect(0);
    let pack = p.read("runtime.hpack");
    let files = unpack_compressed(&pack);
    for (path, entry) in &files {
        assert_eq!(entry.content, p.read(&format!("runtime/{path}")), "{path}");
    }
    let is_compressed = |path: &str| files[path].size < files[path].content.len();
    assert!(["long.txt", "same.txt", "tri.hmesh", "assets.sha256"].into_iter().all(is_compressed));
    // The zeros would be a decompression bomb.
    assert!(!["empty.txt", "short.txt", "bomb.zero"].into_iter().any(is_compressed));
    assert_eq!(files["long.txt"].offset, files["same.txt"].offset);
    assert!(pack.len() < files.values().map(|entry| entry.content.len()).sum());

    // Commands see the files as they are.
    p.run(&["check", "runtime.hpack"]).expect(0);
    let body = |text: String| text.split_once('\n').unwrap().1.to_owned();
    let (dir, packed) = (p.run(&["info"]).expect(0), p.run(&["info", "runtime.hpack"]).expect(0));
    assert_eq!(body(dir.stdout), body(packed.stdout));
    p.run(&["extract", "runtime.hpack", "-o", "out"]).expect(0);
    for (path, entry) in &files {
        assert_eq!(p.read(&format!("out/{path}")), entry.content, "{path}");
    }
    let json = p.run(&["pack", "info", "--json"]).expect(0).json();
    assert_eq!((json["pack_version"].as_u64(), json["size"].as_u64()), (Some(3), Some(pack.len() as u64)));
    let compressed = files.keys().filter(|path| is_compressed(path)).count();
    assert_eq!(json["compressed"], compressed as u64);
    for entry in json["entries"].as_array().unwrap() {
        let file = &files[entry["path"].as_str().unwrap()];
        assert_eq!(entry["offset"], file.offset as u64);
        assert_eq!((&entry["stored"], &entry["size"]), (&file.size.into(), &file.content.len().into()));
    }
    let text = p.run(&["pack", "info"]).expect(0).stdout;
    assert!(text.starts_with("== runtime.hpack (HPAK v3) — "), "{text}");
    assert!(text.contains(&format!("  compressed: {compressed} files, ")), "{text}");
}

#[test]
fn compression_can_be_switched_and_is_deterministic() {
    let p = project("none");
    p.run(&["-q", "--pack"]).expect(0);
    let plain = p.read("runtime.hpack");
    unpack(&plain).unwrap();
    configure(&p, "zstd");
    p.run(&["-q", "--pack"]).expect(0);
    let pack = p.read("runtime.hpack");
    unpack_compressed(&pack);
    let ran = p.run(&["--pack"]).expect(0);
    assert!(ran.stdout.contains("unchanged 10 files -> runtime.hpack"), "{ran:?}");
    for jobs in ["1", "4"] {
        p.remove("runtime.hpack").run(&["-q", "--pack", "-j", jobs]).expect(0);
        assert!(p.read("runtime.hpack") == pack, "-j {jobs}");
    }
    configure(&p, "none");
    p.run(&["-q", "--pack"]).expect(0);
    assert!(p.read("runtime.hpack") == plain);
    configure(&p, "lz4");
    let ran = p.run(&["--pack"]).expect(2);
    assert!(ran.stderr.contains("pack_compress is 'lz4'; accepted: `none`, `zstd`"), "{ran:?}");
}

#[test]
fn check_finds_damaged_frames() {
    let p = project("zstd");
    p.run(&["-q", "--pack"]).expect(0);
    let good = p.read("runtime.hpack");
    let files = unpack_compressed(&good);
    let mut random = Random::new(2);
    for path in ["long.txt", "tri.hmesh", "assets.sha256"] {
        for _ in 0..12 {
            let mut bytes = good.clone();
            // Behind the header of the frame, whose window size can change without an effect.
            let at = files[path].offset + 8 + random.below(files[path].size - 8);
            bytes[at] ^= 1 << random.below(8);
            p.write("x.hpack", bytes);
            let ran = p.run(&["check", "x.hpack"]).expect(1);
            assert!(ran.stdout.contains(&format!("  FAIL {path}: ")), "{path}, byte {at}: {ran:?}");
            let ran = p.run(&["extract", "x.hpack", "-o", "out"]).expect(2);
            assert!(ran.stderr.contains(path), "{ran:?}");
        }
    }
    // A content size that the frame does not have, and one that no frame of this length has.
    let record = good.windows(8).position(|bytes| bytes == b"long.txt").unwrap() - 27;
    for (content_size, word) in [(19_999u64, "the offset of an earlier payload"), (1 << 40, "content_size")] {
        let mut bytes = good.clone();
        bytes[record + 16..record + 24].copy_from_slice(&content_size.to_le_bytes());
        p.write("x.hpack", bytes);
        let ran = p.run(&["check", "x.hpack"]).expect(1);
        // `same.txt` still has the right size: the first defect is that they do not share a payload.
        assert!(ran.stdout.contains(word), "{content_size}: {ran:?}");
    }
    for len in (0..good.len()).step_by(good.len() / 40) {
        p.write("x.hpack", &good[..len]);
        p.run(&["check", "x.hpack"]).expect(1);
    }
}
