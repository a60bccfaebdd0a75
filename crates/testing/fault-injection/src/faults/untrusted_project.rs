//! Untrusted projects: a malicious checkout whose configuration, symbolic links and files try to reach the home directory
//! of the user who builds it. `docs/reference/security.md` states the guarantees; the system call trace verifies them.
//!
//! Every case has a `home` beside the project. After all commands have run, `home` is unchanged but for Kiln's own cache
//! and configuration directories, nothing in it was opened for writing, removed, renamed or executed, and its secrets
//! were not read.

mod projects;

use super::case::{Case, NotRun};
use super::files::{self, Files};
use super::sample::flat;
use super::tool::{self, Tools, command};
use super::trace::{self, Call, Threads, traced};
use super::{Setup, Suite};
use projects::{Attack, For, attacks};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The `untrusted-project` suite.
pub const SUITE: Suite = Suite {
    name: "untrusted-project",
    summary: "malicious checkouts that try to read, write or run files of the user",
    unit: "projects",
    cases,
};

/// The `assetc` commands that are run in a checkout.
const ASSETC: [&[&str]; 15] = [
    &["explain", "authorized_keys"],
    &["explain", "s.shader"],
    &["info"],
    &["check"],
    &["graph"],
    &["--list-presets"],
    &["-j", "2"],
    &["--pack"],
    &["-j", "1", "--verify"],
    &["check"],
    &["report"],
    &["cache", "stats"],
    &["cache", "gc", "--max-size", "0"],
    &["clean"],
    &["--no-cache"],
];

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    trace::available()?;
    let tools = Arc::new(setup.tools.clone());
    let mut number = setup.seed as usize;
    let mut cases = Vec::new();
    for attack in attacks() {
        number += 1;
        if setup.short && !number.is_multiple_of(4) {
            continue;
        }
        let tools = Arc::clone(&tools);
        cases.push(Case::new(attack.name.clone(), move |dir| run(&attack, &tools, dir)));
    }
    Ok(cases)
}

const PAK: [&[&str]; 5] = [
    &["bake", "pak.toml", "out/a.pak"],
    &["list", "out/a.pak"],
    &["verify", "out/a.pak"],
    &["extract", "out/a.pak", "out/extracted"],
    &["bake", "pak.toml", "out/a.pak", "--no-cache"],
];

const UNITY: [&[&str]; 3] = [&["bake"], &["check"], &["bake", "--no-cache"]];

/// Creates the home directory, with files that are older than any temporary file of Kiln.
fn lay_out_home(dir: &Path) {
    let home = dir.join("home");
    let hash = "00".repeat(32);
    let names = [
        ".ssh/authorized_keys",
        ".ssh/id_rsa",
        ".bashrc",
        "docs/thesis",
        "docs/1-2-3",
        "docs/a.ktx2",
        "tmp/notes",
        "tmp/1234-5678-0",
    ];
    for name in
        names.map(str::to_owned).into_iter().chain([format!("docs/{hash}"), format!("docs/00/{hash}")])
    {
        files::write(&home.join(&name), format!("{name} of the user"));
        let old = SystemTime::now() - Duration::from_secs(90 * 24 * 3600);
        File::options().write(true).open(home.join(&name)).unwrap().set_modified(old).unwrap();
    }
    files::write(&home.join(".ssh/evil"), "#!/bin/sh\necho evil > \"$HOME/docs/evil\"\n");
}

fn lay_out_project(attack: &Attack, dir: &Path) {
    let p = dir.join("p");
    let filled = |text: &str| text.replace("{abs}", &dir.to_string_lossy());
    fs::create_dir_all(&p).unwrap();
    files::write(&p.join("assetc.yml"), filled(&attack.config));
    for (path, target) in &attack.links {
        let link = p.join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let _ = symlink(dir.join(target), link);
    }
    for (path, bytes) in &attack.files {
        files::write(&p.join(path), bytes);
        fs::set_permissions(p.join(path), Permissions::from_mode(0o755)).unwrap();
    }
    match attack.tool {
        For::Assetc => {}
        For::Pak => {
            files::write(&p.join("pak.toml"), "[content]\n[[content.group]]\nassets = ['art/**/*']\n");
            files::write(&p.join("art/a.txt"), "a");
            return;
        }
        For::Unity => {
            files::write(&p.join("ProjectSettings/ProjectVersion.txt"), "m_EditorVersion: 2022.3.0f1\n");
            files::write(&p.join("Assets/a.txt"), "a");
            let meta = "fileFormatVersion: 2\nguid: 0123456789abcdef0123456789abcdef\n";
            files::write(&p.join("Assets/a.txt.meta"), meta);
            return;
        }
    }
    // Writing the sources through a symbolic link would change the home directory.
    if fs::symlink_metadata(p.join("assets")).is_ok_and(|meta| meta.is_symlink()) {
        return;
    }
    files::write(&p.join("assets/a.png"), flat(1, 4));
    files::write(&p.join("assets/authorized_keys"), "a key of the attacker");
    if !p.join("assets/docs").exists() {
        files::write(&p.join("assets/docs/thesis"), "a thesis of the attacker");
    }
    files::write(&p.join("assets/s.shader/x.slang"), "[shader(\"vertex\")] float4 main() { return 0; }\n");
    files::write(&p.join("assets/g.shader/x.vert"), "#version 450\nvoid main() { gl_Position = vec4(0); }\n");
    if let Some(owner) = attack.owner {
        for path in [p.clone(), p.join("assetc.yml"), p.join("evil")] {
            lchown(&path, Some(owner), Some(owner)).unwrap();
        }
    }
}

fn isolated(program: &Path, dir: &Path, args: &[&str]) -> Command {
    let mut command = command(program, &dir.join("p"), args);
    let home = dir.join("home");
    for name in
        ["KILN_CACHE", "KILN_CACHE_DIR", "KILN_CONFIG_DIR", "KILN_TRUST", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"]
    {
        command.env_remove(name);
    }
    // The PATH has no programs of the system: any program that runs was chosen by the project.
    command.env("HOME", home).env("TMPDIR", dir.join("scratch")).env("PATH", dir.join("scratch"));
    command
}

fn run(attack: &Attack, tools: &Tools, dir: &Path) {
    fs::create_dir_all(dir.join("scratch")).unwrap();
    lay_out_home(dir);
    lay_out_project(attack, dir);
    let before = home(dir);
    let (program, commands): (&Path, &[&[&str]]) = match attack.tool {
        For::Assetc => (&tools.assetc, &ASSETC),
        For::Pak => (&tools.pak, &PAK),
        For::Unity => (&tools.unity, &UNITY),
    };
    for (number, args) in commands.iter().enumerate() {
        let log = dir.join(format!("log{number}"));
        let plain = isolated(program, dir, args);
        tool::run(traced(&plain, &log, Threads::All, &trace::PATH_CALLS, None)).assert_no_crash();
        for call in trace::read(&log, Threads::All) {
            judge(&call, args, program, dir);
        }
        let changed = files::differences(&home(dir), &before);
        assert!(changed.is_empty(), "`{}` changed the home directory: {changed:?}", args.join(" "));
    }
    let secrets = ["authorized_keys of the user", "id_rsa of the user"];
    for (path, bytes) in files::tree(&dir.join("p")) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!secrets.iter().any(|secret| text.contains(secret)), "{path} contains a secret");
    }
}

/// Returns the files of the home directory without Kiln's own directories.
fn home(dir: &Path) -> Files {
    let mut files = files::tree(&dir.join("home"));
    files.retain(|path, _| ![".cache/kiln/", ".config/kiln/"].iter().any(|own| path.starts_with(own)));
    files
}

/// Asserts that one system call stays within the project and Kiln's own directories.
fn judge(call: &Call, args: &[&str], program: &Path, dir: &Path) {
    let line = &call.line;
    let ours =
        ["home/.cache/kiln", "home/.config/kiln"].map(|own| dir.join(own).to_string_lossy().into_owned());
    let home = format!("{}/home", dir.display());
    let in_home = |path: &String| path.starts_with(&home) && !ours.iter().any(|own| path.starts_with(own));
    let failed = line.contains(") = -1 ");
    let reads_only = call.name.starts_with("open")
        && !["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"].iter().any(|flag| line.contains(flag));
    let what = format!("`{}` made the call {line}", args.join(" "));
    match call.name.as_str() {
        "execve" | "execveat" => {
            let own = program.to_string_lossy();
            assert!(failed || call.paths().first().is_some_and(|path| *path == own), "{what}");
        }
        "connect" | "bind" => assert!(failed, "{what}"),
        // Creating the parent of Kiln's own directories is allowed.
        "mkdir" | "mkdirat" => {
            let parents = [".cache", ".config"].map(|own| format!("{home}/{own}"));
            assert!(
                failed || !call.paths().iter().any(|path| in_home(path) && !parents.contains(path)),
                "{what}"
            );
        }
        _ if reads_only => {
            let secret = |path: &String| {
                in_home(path) && (path.contains("id_rsa") || path.contains("authorized_keys"))
            };
            assert!(failed || !call.paths().iter().any(secret), "{what}");
        }
        _ => assert!(failed || !call.paths().iter().any(in_home), "{what}"),
    }
}
