//! `check --changed-since`: a repository with seeded faults. All faults of the branch are found, and nothing else.

use crate::project::{Project, guid};

/// A repository whose `main` already has problems, which no branch is blamed for.
fn repository() -> Project {
    let project = Project::sample();
    project.write("Assets/Art.meta", &format!("guid: {}\nfolderAsset: yes\n", guid(60)));
    project.write("Packages/manifest.json", "{\"dependencies\": {\"com.far\": \"1.0\"}}");
    let old = format!(
        "%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  m_Name: Old\n  a: {{fileID: 11400000, guid: {}, type: 2}}\n  \
         b: {{fileID: 999, guid: {}, type: 2}}\n  c: {{fileID: 11400000, guid: {}, type: 2}}\n",
        guid(98),
        guid(2),
        guid(20)
    );
    project.asset("Assets/Old.asset", 50, "NativeFormatImporter:\n", &old);
    project.asset(
        "Assets/Data.asset",
        20,
        "NativeFormatImporter:\n",
        "%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  m_Name: Data\n",
    );
    project.write("Assets/loose.bin", "");
    project.write("Assets/orphan.txt.meta", &format!("guid: {}\n", guid(70)));
    project.asset("Assets/Extra.prefab", 21, "PrefabImporter:\n", "%YAML 1.1\n--- !u!1 &300\nGameObject:\n  m_Name: Extra\n--- !u!4 &301\nTransform:\n  m_GameObject: {fileID: 300}\n");
    let holder = format!(
        "%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  m_Name: Holder\n  x: {{fileID: 301, guid: {}, type: 3}}\n",
        guid(21)
    );
    project.asset("Assets/Holder.asset", 22, "NativeFormatImporter:\n", &holder);
    project.init();
    project
}

/// The code and the path of each finding.
fn found(project: &Project, base: &str) -> Vec<String> {
    let run = project.run(&["check", "--changed-since", base, "--json"]);
    assert!(run.code < 2, "{}{}", run.out, run.err);
    let member = |line: &str, name: &str| {
        let rest = line.split_once(&format!("\"{name}\":\"")).unwrap().1;
        rest.split_once('"').unwrap().0.to_owned()
    };
    run.out.lines().map(|line| format!("{} {}", member(line, "code"), member(line, "path"))).collect()
}

#[test]
fn old_problems_are_not_reported() {
    let project = repository();
    assert_eq!(project.run(&["check", "--strict"]).code, 1);
    project.branch("work");
    // Unrelated edits of files that have problems.
    let old = std::fs::read_to_string(project.root().join("Assets/Old.asset")).unwrap();
    project.write("Assets/Old.asset", &old.replace("  m_Name: Old\n", "  m_Name: Old\n  more: 1\n"));
    project.write("Assets/loose.bin", "changed");
    // A move keeps the GUID.
    project.git(&["mv", "Assets/Pole.prefab", "Assets/Art/Pole.prefab"]);
    project.git(&["mv", "Assets/Pole.prefab.meta", "Assets/Art/Pole.prefab.meta"]);
    project.commit("unrelated");
    assert_eq!(found(&project, "main"), Vec::<String>::new());
    let run = project.run(&["check", "--changed-since", "main", "--strict"]);
    assert_eq!((run.code, &*run.out), (0, ""), "{}", run.err);
}

#[test]
fn every_seeded_fault_is_found_and_nothing_else() {
    let project = repository();
    project.branch("work");
    // 1. An asset removed that others refer to, and a script, without Library/.
    project.remove("Assets/Data.asset").remove("Assets/Data.asset.meta");
    // 2. A GUID changed while others still refer to it.
    project.write(
        "Assets/Art/Flag.png.meta",
        &format!("fileFormatVersion: 2\nguid: {}\nTextureImporter:\n", guid(101)),
    );
    // 3. A new reference to an object that does not exist, and to an asset that never did.
    let fresh = format!(
        "%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  a: {{fileID: 777, guid: {}, type: 2}}\n  b: {{fileID: 1, guid: {}, type: 2}}\n",
        guid(2),
        guid(120)
    );
    project.asset("Assets/Fresh.asset", 110, "NativeFormatImporter:\n", &fresh);
    // 4. An object removed that another file refers to.
    project.write("Assets/Extra.prefab", "%YAML 1.1\n--- !u!1 &300\nGameObject:\n  m_Name: Extra\n");
    // 5. A duplicate GUID.
    project.asset(
        "Assets/Copy.mat",
        4,
        "NativeFormatImporter:\n",
        "%YAML 1.1\n--- !u!21 &2100000\nMaterial:\n  m_Name: Copy\n",
    );
    // 6. Missing and orphaned .meta files, of files and folders.
    project.write("Assets/NoMeta.txt", "").write("Assets/NewFolder/a.txt", "");
    project.write("Assets/NewFolder/a.txt.meta", &format!("guid: {}\n", guid(111)));
    project.remove("Assets/Code.cs");
    // 7. Merge markers, in an asset, a .meta and a script.
    let markers = "<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> other\n";
    project.asset(
        "Assets/Merge.asset",
        112,
        "NativeFormatImporter:\n",
        &format!("%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n{markers}"),
    );
    project.asset("Assets/Merge.cs", 113, "MonoImporter:\n", markers);
    // 8. GUIDs that Unity does not accept.
    project
        .write("Assets/upper.txt", "")
        .write("Assets/upper.txt.meta", &format!("guid: {}\n", guid(114).to_uppercase()));
    project
        .write("Assets/zero.txt", "")
        .write("Assets/zero.txt.meta", &format!("guid: {}\n", "0".repeat(32)));
    project
        .write("Assets/builtin.txt", "")
        .write("Assets/builtin.txt.meta", "guid: 0000000000000000f000000000000000\n");
    project.write("Assets/short.txt", "").write("Assets/short.txt.meta", "guid: 12ab\n");
    project.commit("faults");
    let expected = [
        "unity-duplicate-guid Assets/Art/Unused.mat.meta",
        "unity-orphan-meta Assets/Code.cs.meta",
        "unity-broken-object Assets/Fresh.asset",
        "unity-unknown-guid Assets/Fresh.asset",
        "unity-broken-object Assets/Holder.asset",
        "unity-unmerged-file Assets/Merge.asset",
        "unity-unmerged-file Assets/Merge.cs",
        "unity-missing-meta Assets/NewFolder",
        "unity-missing-meta Assets/NoMeta.txt",
        "unity-removed-asset Assets/Old.asset",
        "unity-removed-asset Assets/Pole.prefab",
        "unity-invalid-guid Assets/builtin.txt.meta",
        "unity-invalid-guid Assets/short.txt.meta",
        "unity-invalid-guid Assets/upper.txt.meta",
        "unity-invalid-guid Assets/zero.txt.meta",
    ];
    assert_eq!(found(&project, "main"), expected);
    let run = project.run(&["check", "--changed-since", "main"]);
    assert_eq!(run.code, 1);
    assert!(
        run.out.contains(&format!("by the GUID {}, which was changed to {}", guid(1), guid(101))),
        "{}",
        run.out
    );
    assert!(run.out.contains("of Assets/Data.asset, which was removed"), "{}", run.out);
}

/// The working tree counts, committed or not, and the base is where the branch left.
#[test]
fn compares_the_working_tree_with_the_merge_base() {
    let project = repository();
    project.branch("work");
    project.write("Assets/NoMeta.txt", "");
    assert_eq!(found(&project, "HEAD"), ["unity-missing-meta Assets/NoMeta.txt"], "untracked");
    project.git(&["switch", "-q", "main"]);
    project.remove("Assets/NoMeta.txt");
    project.write("Assets/OnMain.txt", "").commit("a problem of main");
    project.git(&["switch", "-q", "work"]);
    assert_eq!(found(&project, "main"), Vec::<String>::new(), "main went on");
    for (base, why) in [
        ("no-such-branch", "no revision"),
        ("--upload-pack=x", "expected a revision"),
        ("", "expected a revision"),
    ] {
        let run = project.run(&["check", &format!("--changed-since={base}")]);
        assert_eq!(run.code, 2, "{base}");
        assert!(run.err.contains(why), "{}", run.err);
    }
    let outside = Project::sample().run(&["check", "--changed-since", "main"]);
    assert_eq!(outside.code, 2);
    assert!(outside.err.contains("unity-git"), "{}", outside.err);
}

/// Without `Library/`, a GUID that no asset has may be in a package, unless the history shows the asset.
#[test]
fn history_tells_removed_scripts_from_packages() {
    let project = repository();
    let user = format!(
        "%YAML 1.1\n--- !u!114 &11400000\nMonoBehaviour:\n  m_Script: {{fileID: 11500000, guid: {}, type: 3}}\n  m_Name: User\n",
        guid(5)
    );
    project.asset("Assets/User.asset", 80, "NativeFormatImporter:\n", &user);
    project.commit("user");
    project.remove("Assets/Code.cs").remove("Assets/Code.cs.meta").commit("remove the script");
    let run = project.run(&["check"]);
    assert!(
        run.out.contains("error[unity-removed-asset]: Assets/User.asset:4:")
            && run.out.contains("of Assets/Code.cs,"),
        "{}",
        run.out
    );
    assert!(run.out.contains("warning[unity-unknown-guid]: Assets/Old.asset:5:"), "{}", run.out);
    let run = project.run(&["check", "--no-history"]);
    assert!(!run.out.contains("unity-removed-asset"), "{}", run.out);
}

/// The configuration of a repository cannot make a check run programs.
#[cfg(unix)]
#[test]
fn repository_configuration_runs_no_program() {
    use std::os::unix::fs::PermissionsExt;
    let project = repository();
    let (script, ran) = (project.root().join("run.sh"), project.root().join("ran"));
    project.write("run.sh", &format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", ran.display()));
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = script.to_str().unwrap();
    project.write(".gitattributes", "*.asset filter=evil diff=evil\n*.meta filter=evil\n");
    project.branch("work");
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "diff.external",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "gpg.program",
    ] {
        project.git(&["config", key, script]);
    }
    project.git(&["config", "filter.evil.required", "true"]);
    project.git(&["config", "log.showSignature", "true"]);
    project.write(".git/hooks/post-index-change", &format!("#!/bin/sh\necho hook >> '{}'\n", ran.display()));
    let hook = project.root().join(".git/hooks/post-index-change");
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let _ = std::fs::remove_file(&ran);
    let old = std::fs::read_to_string(project.root().join("Assets/Old.asset")).unwrap();
    project.write("Assets/Old.asset", &format!("{old}  more: 1\n"));
    assert_eq!(found(&project, "main"), Vec::<String>::new());
    assert!(project.run(&["check"]).code < 2);
    assert!(!ran.exists(), "{}", std::fs::read_to_string(&ran).unwrap_or_default());
}
