//! Bad input: never stops a bake, and is always reported.

use crate::project::{Project, guid, number};
use kiln_engine::Diag;
use std::fs;

/// The code and the path with its place of each warning.
fn warnings(project: &Project) -> Vec<(String, String)> {
    let place = |diag: &Diag| match (diag.path.as_deref().unwrap_or_default(), &diag.at) {
        (path, Some(at)) => format!("{path}:{at}"),
        (path, None) => path.to_owned(),
    };
    project.bake().warnings.iter().map(|diag| (diag.code.to_string(), place(diag))).collect()
}

#[test]
fn reports_each_bad_file_with_path_and_line() {
    let project = Project::new();
    let bad = |name: &str, text: &[u8]| {
        project.write(&format!("Assets/{name}.txt"), "").write(&format!("Assets/{name}.txt.meta"), text);
    };
    bad("a-empty", b"");
    bad("b-noguid", b"fileFormatVersion: 2\n");
    bad("c-short", format!("fileFormatVersion: 2\nguid: {}\n", &guid(1)[1..]).as_bytes());
    bad("d-long", format!("fileFormatVersion: 2\nguid: {}0\n", guid(1)).as_bytes());
    bad(
        "e-conflict",
        format!(
            "fileFormatVersion: 2\n<<<<<<< HEAD\nguid: {}\n=======\nguid: {}\n>>>>>>> b\n",
            guid(2),
            guid(3)
        )
        .as_bytes(),
    );
    bad("f-bom", format!("\u{feff}fileFormatVersion: 2\nguid: {}\n", guid(4)).as_bytes());
    bad("g-crlf", format!("fileFormatVersion: 2\r\nguid: {}\r\n", guid(5)).as_bytes());
    bad("h-utf8", &[b"guid: ", guid(6).as_bytes(), b"\nTextureImporter:\n  userData: \xff\n"].concat());
    bad("i-lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    bad("j-zero", format!("guid: {}\n", "0".repeat(32)).as_bytes());
    project.asset(
        "Assets/k.prefab",
        7,
        "PrefabImporter:\n",
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    );
    project.asset(
        "Assets/l.fbx",
        8,
        "ModelImporter:\n",
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    );
    project.asset("Assets/m.fbx", 9, "ModelImporter:\n", "\x00\x01\x02\x03 no model");
    project.asset(
        "Assets/n.mat",
        10,
        "NativeFormatImporter:\n",
        "--- !u!21 &2100000\nMaterial:\n<<<<<<< HEAD\n  m_Name: n\n=======\n>>>>>>> b\n",
    );
    project.asset(
        "Assets/o.mat",
        11,
        "NativeFormatImporter:\n",
        "\u{feff}%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n  m_Name: o\n",
    );
    project.asset(
        "Assets/p.mat",
        12,
        "NativeFormatImporter:\n",
        b"--- !u!21 &2100000\nMaterial:\n  m_Name: p\xff\n",
    );
    let at = |code: &str, place: &str| (code.to_owned(), format!("Assets/{place}"));
    assert_eq!(
        warnings(&project),
        [
            at("unity-meta-empty", "a-empty.txt.meta:1"),
            at("unity-meta-guid", "b-noguid.txt.meta:1"),
            at("unity-meta-guid", "c-short.txt.meta:2"),
            at("unity-meta-guid", "d-long.txt.meta:2"),
            at("unity-merge-conflict", "e-conflict.txt.meta:2"),
            at("unity-meta-guid", "e-conflict.txt.meta:5"),
            at("unity-bom", "f-bom.txt.meta:1"),
            at("unity-not-utf8", "h-utf8.txt.meta:3"),
            at("unity-lfs-pointer", "i-lfs.txt.meta:1"),
            at("unity-meta-guid", "j-zero.txt.meta:1"),
            at("unity-lfs-pointer", "k.prefab"),
            at("unity-lfs-pointer", "l.fbx"),
            at("unity-model-unreadable", "m.fbx"),
            at("unity-merge-conflict", "n.mat:3"),
            at("unity-bom", "o.mat:1"),
            at("unity-not-utf8", "p.mat:3"),
            at("unity-crlf", "g-crlf.txt.meta:1"),
        ]
    );
    let db = project.db();
    let found: Vec<u128> = db.entries.iter().map(|entry| entry.guid).collect();
    assert_eq!(found, [4, 5, 6, 7, 8, 9, 10, 11, 12].map(number), "every asset with a GUID has a row");
}

#[test]
fn reports_crlf_once_per_project() {
    let project = Project::new();
    let crlf = |n: u128| format!("fileFormatVersion: 2\r\nguid: {}\r\n", guid(n));
    for n in 1..=3 {
        project.write(&format!("Assets/D{n}/a.mat"), "--- !u!21 &2100000\r\nMaterial:\r\n  m_Name: a\r\n");
        project.write(&format!("Assets/D{n}/a.mat.meta"), crlf(n));
    }
    let messages = |project: &Project| {
        let warnings = project.bake().warnings;
        warnings
            .iter()
            .map(|diag| {
                format!("{} {}: {}", diag.code, diag.path.as_deref().unwrap_or_default(), diag.message)
            })
            .collect::<Vec<_>>()
    };
    let many = "the lines of 6 files end in CR LF; this is the first";
    assert_eq!(messages(&project), [format!("unity-crlf Assets/D1/a.mat: {many}")]);
    assert_eq!(
        messages(&project),
        [format!("unity-crlf Assets/D1/a.mat: {many}")],
        "an incremental bake repeats it"
    );
    project.write("Assets/D1/a.mat", "--- !u!21 &2100000\nMaterial:\n  m_Name: a\n");
    let many = "the lines of 5 files end in CR LF; this is the first";
    assert_eq!(messages(&project), [format!("unity-crlf Assets/D1/a.mat.meta: {many}")]);
    for n in 1..=3 {
        project.write(&format!("Assets/D{n}/a.mat"), "--- !u!21 &2100000\nMaterial:\n  m_Name: a\n");
        project.write(&format!("Assets/D{n}/a.mat.meta"), crlf(n).replace('\r', ""));
    }
    assert!(messages(&project).is_empty());
}

#[cfg(unix)]
#[test]
fn reports_unreadable_names_and_folders() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let invalid = project.root().join("Assets").join(OsStr::from_bytes(b"odd\xff.txt"));
    if fs::write(&invalid, "").is_err() {
        return; // A file system that refuses such names.
    }
    project.asset("Assets/fine.txt", 1, "", "").asset("Assets/Locked/a.txt", 2, "", "");
    let locked = project.root().join("Assets/Locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o0)).unwrap();
    let root_reads_anyway = fs::read_dir(&locked).is_ok();
    let first = warnings(&project);
    let again = warnings(&project);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(first, again);
    assert_eq!(first[0].0, "unity-name-not-utf8");
    if !root_reads_anyway {
        assert_eq!(first[1], ("unity-unreadable".to_owned(), "Assets/Locked/".to_owned()));
    }
    assert_eq!(project.bake().entries, 2);
}

#[cfg(unix)]
#[test]
fn does_not_block_on_a_pipe() {
    let project = Project::new();
    let pipe = project.root().join("Assets/pipe.asset");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        return; // Nothing to make one with.
    }
    project.write("Assets/pipe.asset.meta", format!("guid: {}\n", guid(1)));
    project.asset("Assets/a.txt", 2, "", "");
    assert_eq!(project.bake().entries, 1);
}

#[test]
fn reads_huge_files() {
    let project = Project::new();
    let line = "x".repeat(3 << 20);
    project.asset("Assets/long.asset", 1, "NativeFormatImporter:\n", format!("%YAML 1.1\n--- !u!43 &4300000\nMesh:\n  m_Name: Long\n  data: {line}\n--- !u!21 &5\nMaterial:\n  m_Name: After\n"));
    let many: String =
        (0..50_000).map(|n| format!("--- !u!74 &{}\nAnimationClip:\n  m_Name: c{n}\n", n + 1)).collect();
    project.asset("Assets/many.asset", 2, "NativeFormatImporter:\n", many);
    let sprites: String = (0..20_000).map(|n| format!("    - name: s{n}\n      internalID: 0\n")).collect();
    project.asset(
        "Assets/sheet.png",
        3,
        &format!("TextureImporter:\n  spriteMode: 2\n  spriteSheet:\n    sprites:\n{sprites}"),
        "",
    );
    project.bake();
    let db = project.db();
    let long = db.find_by_guid(number(1)).unwrap();
    assert_eq!(&*long.sub_assets[0].name, "After");
    assert_eq!(db.find_by_guid(number(2)).unwrap().sub_assets.len(), 49_999);
}
