//! `.hpack` byte by byte, with an independent reader that was written from `docs/reference/formats/hpack.md`.

use crate::project::{Project, test_image};
use std::thread::sleep;
use std::time::Duration;

/// One file of a pack.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Packed {
    pub(crate) path: String,
    pub(crate) kind: u8,
    pub(crate) offset: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Reads a pack strictly as documented.
pub(crate) fn unpack(pack: &[u8]) -> Result<Vec<Packed>, String> {
    let number = |at: usize, size: usize| -> Result<u64, String> {
        let bytes = pack.get(at..at + size).ok_or_else(|| format!("cut off at {at}"))?;
        Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    };
    if pack.get(..4) != Some(b"HPAK") {
        return Err("magic".to_owned());
    }
    if (number(4, 4)?, number(12, 4)?) != (2, 0) {
        return Err("version or flags".to_owned());
    }
    let (count, toc_bytes) = (number(8, 4)?, number(16, 8)?);
    let toc_end = 24u64.checked_add(toc_bytes).filter(|end| *end <= pack.len() as u64).ok_or("toc")? as usize;
    let (mut at, mut end) = (24, toc_end);
    let mut files: Vec<Packed> = Vec::new();
    for _ in 0..count {
        if at + 19 > toc_end {
            return Err("a record outside the table".to_owned());
        }
        let (offset, size, kind, path_len) =
            (number(at, 8)?, number(at + 8, 8)?, number(at + 16, 1)?, number(at + 17, 2)? as usize);
        at += 19;
        let path = pack.get(at..at + path_len).filter(|_| at + path_len <= toc_end).ok_or("a path")?;
        let path = std::str::from_utf8(path).map_err(|e| e.to_string())?.to_owned();
        at += path_len;
        let parts_ok = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if !parts_ok || path.contains(|c: char| c == '\\' || c == ':' || c.is_control()) {
            return Err(format!("the path {path:?}"));
        }
        if files.last().is_some_and(|last| last.path.as_bytes() >= path.as_bytes()) {
            return Err("order".to_owned());
        }
        let name = path.rsplit('/').next().unwrap();
        let kinds = [
            (".hmesh", 1),
            (".hmat", 2),
            (".hman", 3),
            (".hanim", 4),
            (".ktx2", 5),
            (".spv", 6),
            (".hfont", 7),
        ];
        let of_name = kinds.iter().find(|(ext, _)| name.len() > ext.len() && name.ends_with(ext));
        if kind != of_name.map_or(0, |(_, kind)| *kind) {
            return Err(format!("kind {kind} of {path}"));
        }
        let start = end.next_multiple_of(16);
        // Equal contents are stored once.
        if let Some(bytes) = files
            .iter()
            .find(|file| file.offset as u64 == offset && file.bytes.len() as u64 == size && size > 0)
            .map(|file| file.bytes.clone())
        {
            files.push(Packed { path, kind: kind as u8, offset: offset as usize, bytes });
            continue;
        }
        if offset != start as u64 {
            return Err(format!("{path} at {offset} and not at {start}"));
        }
        let gap = pack.get(end..start).ok_or("padding")?;
        if gap.iter().any(|byte| *byte != 0) {
            return Err("padding that is not zero".to_owned());
        }
        end = offset.checked_add(size).filter(|end| *end <= pack.len() as u64).ok_or("a payload")? as usize;
        files.push(Packed { path, kind: kind as u8, offset: start, bytes: pack[start..end].to_vec() });
    }
    if at != toc_end {
        return Err("bytes left in the table".to_owned());
    }
    if end != pack.len() {
        return Err("bytes after the last file".to_owned());
    }
    Ok(files)
}

/// An output tree with every special case of a pack.
fn varied() -> Project {
    let p = Project::new();
    p.write("assets/b.png", test_image(8, 8, 1)).write("assets/B.n.png", test_image(4, 4, 2));
    p.write("assets/sub/a.r.png", test_image(3, 5, 3));
    let embed = "embed: [\"models/*\", \"shaders/*\"]\n";
    p.write("assetc.yml", format!("{embed}presets:\n  nested: {{output: runtime/nested}}\n"));
    // Embedded files are not judged by their extension.
    p.write("assets/shaders/x.spv", [1; 4]).write("assets/models/m.hmesh", "");
    p.write("assets/models/m.hmat", "table").write("assets/models/m.hanim", "clip");
    p.run(&["-q"]).expect(0);
    p.run(&["-q", "--preset", "nested", "--pack"]).expect(0);
    p.write("runtime/empty.txt", "").write("runtime/zzz", "x").write("runtime/sub-b/foreign.bin", [7; 33]);
    p.write("runtime/old.hpack", "not packed").write("runtime/sub/.hidden", "hidden but a file");
    p.write("runtime/.ktx2", "no extension");
    p
}

#[test]
fn pack_has_the_documented_layout() {
    let p = varied();
    let ran = p.run(&["--pack"]).expect(0);
    assert!(ran.stdout.contains("packed 14 files -> runtime.hpack\n"), "{ran:?}");
    let pack = p.read("runtime.hpack");
    let files = unpack(&pack).unwrap();
    let listed: Vec<(&str, u8)> = files.iter().map(|file| (file.path.as_str(), file.kind)).collect();
    assert_eq!(
        listed,
        [
            (".ktx2", 0),
            ("B.n.ktx2", 5),
            ("assets.hman", 3),
            ("assets.sha256", 0),
            ("b.ktx2", 5),
            ("empty.txt", 0),
            ("models/m.hanim", 4),
            ("models/m.hmat", 2),
            ("models/m.hmesh", 1),
            ("shaders/x.spv", 6),
            ("sub-b/foreign.bin", 0),
            ("sub/.hidden", 0),
            ("sub/a.r.ktx2", 5),
            ("zzz", 0),
        ]
    );
    for file in &files {
        assert_eq!(file.bytes, p.read(&format!("runtime/{}", file.path)), "{}", file.path);
    }
    // The nested output has its own pack with its own files.
    let nested = unpack(&p.read("runtime/nested.hpack")).unwrap();
    let nested: Vec<&str> = nested.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        nested,
        [
            "B.n.ktx2",
            "assets.hman",
            "assets.sha256",
            "b.ktx2",
            "models/m.hanim",
            "models/m.hmat",
            "models/m.hmesh",
            "shaders/x.spv",
            "sub/a.r.ktx2"
        ]
    );
}

#[test]
fn equal_trees_give_equal_packs() {
    let (p, q) = (varied(), varied());
    p.run(&["-q", "--pack", "-j", "1"]).expect(0);
    q.run(&["-q", "--pack", "-j", "7"]).expect(0);
    assert_eq!(p.read("runtime.hpack"), q.read("runtime.hpack"));
    let first = p.read("runtime.hpack");
    p.remove("runtime.hpack").run(&["-q", "--pack"]).expect(0);
    assert_eq!(p.read("runtime.hpack"), first);
}

#[test]
fn rewrites_pack_only_when_files_change() {
    let p = varied();
    let stamp = || std::fs::metadata(p.path("runtime.hpack")).unwrap().modified().unwrap();
    let pack = |word: &str| {
        // Files with racy timestamps are packed again.
        sleep(Duration::from_millis(40));
        let ran = p.run(&["--pack"]).expect(0);
        assert!(ran.stdout.contains(word), "{ran:?}");
    };
    pack("packed 14 files");
    let first = stamp();
    pack("unchanged 14 files");
    assert_eq!(stamp(), first);
    p.write("runtime/zzz", "y");
    pack("packed 14 files");
    p.write("runtime/more.txt", "");
    pack("packed 15 files");
    assert_eq!(unpack(&p.read("runtime.hpack")).unwrap().len(), 15);
    // A pack that was replaced by another program is written again.
    p.write("runtime.hpack", "HPAK");
    pack("packed 15 files");
    p.remove("runtime.hpack");
    pack("packed 15 files");
    pack("unchanged 15 files");
    unpack(&p.read("runtime.hpack")).unwrap();
}

#[test]
fn pack_is_written_beside_the_output() {
    let p = Project::new();
    p.write("assets/a.png", test_image(4, 4, 1));
    p.run(&["-q", "--pack", "-o", "out/v1.2/"]).expect(0);
    assert_eq!(unpack(&p.read("out/v1.2.hpack")).unwrap().len(), 3);
    assert!(!p.exists("out/v1.2/.hpack"));
    p.run(&["pack", "info", "-o", "out/v1.2/"]).expect(0);
    let found: Vec<String> = p.tree("out").into_keys().collect();
    assert_eq!(found, ["v1.2.hpack", "v1.2/a.ktx2", "v1.2/assets.hman"]);
}

#[test]
fn manifest_on_failure_keep_keeps_old_pack_and_manifest() {
    let p = Project::new();
    p.write("assetc.yml", "manifest: all\nmanifest_on_failure: keep\n");
    p.write("assets/a.png", test_image(4, 4, 1)).write("assets/b.png", test_image(4, 4, 2));
    p.run(&["-q", "--pack"]).expect(0);
    let (pack, manifest) = (p.read("runtime.hpack"), p.read("runtime/assets.hman"));
    p.write("assets/a.png", test_image(4, 4, 3)).write("assets/b.png", "broken");
    let ran = p.run(&["--pack"]).expect(1);
    assert!(ran.stdout.contains("the manifest and the pack were not updated"), "{ran:?}");
    assert_eq!((p.read("runtime.hpack"), p.read("runtime/assets.hman")), (pack.clone(), manifest));
    p.remove("assets/b.png").run(&["-q", "--pack"]).expect(0);
    assert_ne!(p.read("runtime.hpack"), pack);
    assert_eq!(unpack(&p.read("runtime.hpack")).unwrap().len(), 3);
}

#[test]
fn pack_info_reports_layout() {
    let p = varied();
    p.run(&["-q", "--pack"]).expect(0);
    let pack = p.read("runtime.hpack");
    let files = unpack(&pack).unwrap();
    let json = p.run(&["pack", "info", "--json"]).expect(0).json();
    let payload: usize = files.iter().map(|file| file.bytes.len()).sum();
    let toc: usize = files.iter().map(|file| 19 + file.path.len()).sum();
    let numbers =
        ["pack_version", "size", "header", "toc", "payload", "padding"].map(|n| json[n].as_u64().unwrap());
    let expected = [2, pack.len(), 24, toc, payload, pack.len() - 24 - toc - payload];
    assert_eq!(numbers, expected.map(|n| n as u64));
    for (entry, file) in json["entries"].as_array().unwrap().iter().zip(&files) {
        assert_eq!(entry["path"], file.path);
        assert_eq!(entry["offset"], file.offset as u64);
        assert_eq!(entry["size"], file.bytes.len() as u64);
    }
    for kind in json["kinds"].as_array().unwrap() {
        let titles = ["other files", "meshes", "materials", "manifests", "animations", "textures", "shaders"];
        let number = titles.iter().position(|title| *title == kind["kind"].as_str().unwrap()).unwrap();
        let of_kind = files.iter().filter(|file| usize::from(file.kind) == number);
        assert_eq!(kind["files"], of_kind.clone().count() as u64);
        assert_eq!(kind["size"], of_kind.map(|file| file.bytes.len() as u64).sum::<u64>());
    }

    let text = p.run(&["pack", "info"]).expect(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    let kb = |n: usize| format!("{:.1} KB", n as f64 / 1024.0);
    assert_eq!(lines[0], format!("== runtime.hpack (HPAK v2) — 14 entries, {}", kb(pack.len())));
    let padding = pack.len() - 24 - toc - payload;
    assert_eq!(
        lines[1],
        format!(
            "  layout: 24 B header + {toc} B toc + {} payload ({padding} B alignment padding)",
            kb(payload)
        )
    );
    assert!(lines.contains(&"  meshes (.hmesh)           1  0 B"), "{text}");
    assert!(lines.contains(&"== entries"));
    let last = files.last().unwrap();
    assert_eq!(
        *lines.last().unwrap(),
        format!("  other     zzz                         1 B  @{}", last.offset)
    );
}

#[test]
fn info_and_check_accept_packs() {
    let p = Project::new();
    p.write("assets/a.png", test_image(8, 8, 1)).write("assets/b.png", test_image(4, 4, 2));
    p.run(&["-q", "--pack"]).expect(0);
    let body = |text: String| text.split_once('\n').unwrap().1.to_owned();
    let (dir, pack) = (p.run(&["info"]).expect(0), p.run(&["info", "runtime.hpack"]).expect(0));
    assert_eq!(body(dir.stdout), body(pack.stdout));
    p.run(&["check", "runtime.hpack"]).expect(0);

    // A damaged file in a valid pack is reported.
    let q = Project::new();
    q.write("assetc.yml", "embed: [\"*.hmat\"]\n").write("assets/bad.hmat", "broken");
    q.write("assets/x.png", test_image(4, 4, 1)).run(&["-q", "--pack"]).expect(0);
    let pack = q.read("runtime.hpack");
    let at = pack.windows(6).rposition(|bytes| bytes == b"broken").unwrap();
    let mut damaged = pack.clone();
    damaged[at] = b'B';
    q.write("runtime.hpack", damaged);
    let ran = q.run(&["check", "runtime.hpack"]).expect(1);
    assert!(ran.stdout.contains("  FAIL bad.hmat: "), "{ran:?}");

    // An invalid pack is a finding of `check` and an error of the other commands.
    for (bytes, word) in [
        (&b""[..], "magic"),
        (b"HPAK", "version"),
        (b"PK\x03\x04 is how archives of another kind start", "not a .hpack file"),
    ] {
        p.write("x.hpack", bytes);
        let ran = p.run(&["check", "x.hpack"]).expect(1);
        assert!(ran.stdout.contains("  FAIL x.hpack: ") && ran.stdout.contains(word), "{ran:?}");
        for args in [&["info", "x.hpack"][..], &["pack", "info", "x.hpack"]] {
            let ran = p.run(args).expect(1);
            assert!(ran.stderr.starts_with("error[check-corrupt]: x.hpack: "), "{ran:?}");
            assert!(ran.stderr.contains(word) && ran.stderr.contains("  hint: "), "{ran:?}");
        }
    }
}
