//! End-to-end tests of the `pak` executable: every command, its output and its exit code.

#[path = "../../../assetc/tests/untrusted_server/forge.rs"]
#[allow(dead_code, reason = "the tests of assetc use the other items")]
mod forge;
mod inspect;
#[cfg(unix)]
mod interrupts;
mod json;
#[path = "../../../cli/tests/json_schema/validate.rs"]
mod json_schema;
mod ownership;
#[path = "../../../remote-cache/tests/store/server.rs"]
#[allow(dead_code, reason = "the tests of assetc use the other items")]
mod server;
mod ship;
mod untrusted_server;

use kiln_fault_injection::file_contents;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Project {
        let project = Project(tempfile::tempdir().unwrap());
        project.put("pak.toml", "[content]\ncompression = 'zstd'\n[[content.group]]\nassets = ['art/*']\n");
        project.put("art/red.toml", "[material]\ncolor = '#f00'\n");
        project.put("art/level.toml", "[scene]\n[[scene.ref]]\nid = 'a'\nmaterials = ['red.toml']\n");
        project.put("art/notes.txt", "hello ".repeat(1000));
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn pak(&self, args: &[&str]) -> (i32, String, String) {
        // Tests must not share a build cache.
        self.pak_with(args, &[("KILN_CACHE", "off")])
    }

    fn pak_with(&self, args: &[&str], vars: &[(&str, &str)]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pak"));
        command.args(args).current_dir(self.0.path()).envs(vars.iter().copied());
        let output = command.output().unwrap();
        let Output { status, stdout, stderr } = output;
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().unwrap_or(-1), text(stdout), text(stderr))
    }

    /// Runs a command that has to succeed; returns its standard output.
    fn stdout_of(&self, args: &[&str]) -> String {
        let (code, out, err) = self.pak(args);
        assert_eq!(code, 0, "{args:?}: {err}");
        out
    }
}

#[test]
fn bake_list_info_verify_and_keys() {
    let project = Project::new();
    let stdout = project.stdout_of(&["bake", "pak.toml", "out/a.pak"]);
    assert!(stdout.contains("1 asset: 1 baked, 0 cached") && stdout.contains("written: 3 keys"), "{stdout}");
    let stdout = project.stdout_of(&["bake", "pak.toml", "out/a.pak", "-j", "1"]);
    assert!(stdout.contains("0 baked, 1 cached") && stdout.contains("unchanged"), "{stdout}");
    project.put("art/notes.txt", "other ".repeat(1000));
    let (_, _, err) = project.pak(&["bake", "pak.toml", "out/a.pak", "-v"]);
    assert!(err.contains("art/notes.txt changed"), "{err}");

    let list = project.stdout_of(&["list", "out/a.pak"]);
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("scene       art/level"), "{list}");
    assert!(lines[1].starts_with("blob        art/notes.txt") && lines[1].ends_with("zstd"), "{list}");
    let json = project.stdout_of(&["list", "out/a.pak", "--json"]);
    assert!(json.contains("\"key\":\"art/red\"") && json.contains("\"kind\":\"material\""), "{json}");

    let info = project.stdout_of(&["info", "out/a.pak", "art/red"]);
    assert!(info.contains("double-sided: false"), "{info}");
    let (code, _, err) = project.pak(&["info", "out/a.pak", "art/rad"]);
    assert!(code == 2 && err.contains("did you mean \"art/red\"?"), "{err}");
    assert!(project.stdout_of(&["verify", "out/a.pak"]).contains("out/a.pak: ok"));
    assert_eq!(project.stdout_of(&["keys", "out/a.pak"]), "art/level\nart/notes.txt\nart/red\n");
    let rust = project.stdout_of(&["keys", "out/a.pak", "--rust"]);
    assert!(
        rust.contains("pub mod blob {\n    pub const ART_NOTES_TXT: &str = \"art/notes.txt\";\n}"),
        "{rust}"
    );
}

#[test]
fn invalid_descriptions_and_damaged_paks_exit_with_1() {
    let project = Project::new();
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    project.put("art/red.toml", "[material]\ncolour = '#f00'\n");
    let (code, _, err) = project.pak(&["bake", "pak.toml", "w.pak"]);
    assert_eq!(code, 0);
    assert!(err.contains("art/red.toml:2:1") && err.contains("did you mean \"color\"?"), "{err}");
    assert_eq!(project.pak(&["bake", "pak.toml", "w.pak", "--deny", "warnings"]).0, 1);
    project.put("art/red.toml", "[material]\ncolor = 7\n");
    let (code, out, err) = project.pak(&["bake", "pak.toml", "a.pak"]);
    assert_eq!(code, 1);
    assert!(err.contains("art/red.toml:2:9"), "{err}");
    assert!(out.contains("a.pak was not changed"), "{out}");
    let mut bytes = std::fs::read(project.path("a.pak")).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 4;
    project.put("b.pak", &bytes);
    assert_eq!(project.pak(&["verify", "b.pak"]).0, 1);
    project.put("c.pak", &bytes[..200]);
    let (code, _, err) = project.pak(&["list", "c.pak"]);
    assert!(code == 1 && err.contains("pak-damaged"), "{err}");
    assert_eq!(project.pak(&["list", "none.pak"]).0, 2);
    assert_eq!(project.pak(&["bake", "none.toml", "x.pak"]).0, 1);
}

#[test]
fn assets_above_limits_fail_and_name_the_flag() {
    let project = Project::new();
    // A grayscale PNG of 3x2 pixels.
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, 3, 2);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&[0; 6]).unwrap();
    project.put("art/a.png", &png);
    let (code, _, err) = project.pak(&["bake", "pak.toml", "a.pak", "--no-cache", "--max-pixels", "5"]);
    assert!(code == 1 && err.contains("image-too-large") && err.contains("--max-pixels 6"), "{err}");
    let (code, _, err) = project.pak(&["bake", "pak.toml", "a.pak", "--no-cache", "--max-memory", "5K"]);
    assert!(code == 1 && err.contains("memory-limit") && err.contains("art/notes.txt"), "{err}");
    // The decoded image takes 144 KB; the mip chain and the written bitmap come on top.
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, 192, 192);
    encoder.set_color(png::ColorType::Rgba);
    encoder.write_header().unwrap().write_image_data(&[7; 192 * 192 * 4]).unwrap();
    project.put("images/large.png", &png);
    for (depth, limit) in [("", "200K"), ("depth = \"u16\"\n", "500K"), ("depth = \"f32\"\n", "1M")] {
        project.put(
            "art/large.toml",
            format!("[bitmap]\nsrc = \"../images/large.png\"\nmip-levels = true\n{depth}"),
        );
        let (code, _, err) = project.pak(&["bake", "pak.toml", "a.pak", "--no-cache", "--max-memory", limit]);
        assert!(
            code == 1 && err.contains("memory-limit") && err.contains("images/large.png"),
            "{limit}: {err}"
        );
        project.stdout_of(&["bake", "pak.toml", "a.pak", "--no-cache", "--max-memory", "4M"]);
    }
    std::fs::remove_file(project.path("art/large.toml")).unwrap();
    let (code, _, err) =
        project.pak(&["bake", "pak.toml", "a.pak", "--no-cache", "--time-limit", "0.000000001"]);
    assert!(code == 1 && err.contains("time-limit") && err.contains("art/a.png"), "{err}");
    project.put("user/config.yml", "limits: {max_pixels: 5}\n");
    let user = project.path("user");
    let vars = [("KILN_CACHE", "off"), ("KILN_CONFIG_DIR", user.to_str().unwrap())];
    let (code, _, err) = project.pak_with(&["bake", "pak.toml", "a.pak", "--no-cache"], &vars);
    assert!(code == 1 && err.contains("max_pixels is 5"), "{err}");
    project.stdout_of(&["bake", "pak.toml", "a.pak", "--no-cache", "--max-pixels", "6"]);
}

#[test]
fn diff_lists_changed_keys_and_patch_size() {
    let project = Project::new();
    project.stdout_of(&["bake", "pak.toml", "old.pak"]);
    assert_eq!(project.stdout_of(&["diff", "old.pak", "old.pak"]), "0 keys differ\n");
    let stdout = project.stdout_of(&["diff", "old.pak", "old.pak", "--patch-size"]);
    assert!(stdout.contains("0 keys differ; a patch has "), "{stdout}");
    project.put("art/red.toml", "[material]\ncolor = '#0f0'\n");
    project.put("art/new.bin", [1; 100]);
    std::fs::remove_file(project.path("art/notes.txt")).unwrap();
    project.stdout_of(&["bake", "pak.toml", "new.pak"]);
    let (code, stdout, _) = project.pak(&["diff", "old.pak", "new.pak"]);
    assert_eq!(code, 1);
    let words: Vec<&str> = stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    // The scene refers to the material that changed, so it counts as changed.
    assert_eq!(words[..4], ["changed", "added", "removed", "changed"], "{stdout}");
    assert!(stdout.contains("4 keys differ"), "{stdout}");
}

#[test]
fn extract_rejects_path_traversal() {
    let project = Project::new();
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    project.stdout_of(&["extract", "a.pak", "out"]);
    assert_eq!(std::fs::read(project.path("out/art/notes.txt")).unwrap(), "hello ".repeat(1000).as_bytes());
    assert!(project.path("out/art/level.scene.json").is_file());
    let files = |dir: &Path| std::fs::read_dir(dir).unwrap().count();
    let before = files(project.0.path());
    for key in ["../evil", "/tmp/evil", "a/../../evil", "C:evil", "..\\evil"] {
        project.put("evil.pak", file_contents::pak_with(key));
        let (code, _, err) = project.pak(&["extract", "evil.pak", "out"]);
        assert!(code == 1 && err.contains("pak-extract"), "{key}: {err}");
    }
    assert_eq!(files(project.0.path()), before + 1, "nothing but evil.pak itself");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(project.path("art"), project.path("out/link")).unwrap();
        project.put("evil.pak", file_contents::pak_with("link/evil"));
        assert_eq!(project.pak(&["extract", "evil.pak", "out"]).0, 1);
        assert!(!project.path("art/evil").exists());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn extract_rejects_keys_equal_after_case_folding() {
    let project = Project::new();
    for name in ["stra\u{df}e.txt", "STRASSE.txt", "\u{e9}.txt", "e\u{301}.txt"] {
        project.put(&format!("art/{name}"), format!("this is {name}").repeat(100));
    }
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    let (code, _, err) = project.pak(&["extract", "a.pak", "out"]);
    assert_eq!((code, err.matches("error[pak-extract]").count()), (1, 2), "{err}");
    for name in ["stra\u{df}e.txt", "STRASSE.txt", "\u{e9}.txt"] {
        assert!(err.contains(name), "{name}: {err}");
    }
    assert!(project.path("out/art/notes.txt").is_file(), "others are extracted");
    let extracted =
        ["stra\u{df}e.txt", "STRASSE.txt"].map(|name| project.path(&format!("out/art/{name}")).exists());
    assert_eq!(extracted.iter().filter(|exists| **exists).count(), 1);
    project.stdout_of(&["extract", "a.pak", "one", "art/stra\u{df}e.txt"]);
    project.stdout_of(&["extract", "a.pak", "two", "art/STRASSE.txt"]);
}

/// A checkout reuses results that another checkout or its shards put into the build cache.
#[test]
fn checkouts_and_shards_share_a_build_cache() {
    let many = || {
        let project = Project::new();
        (0..9).for_each(|n| project.put(&format!("art/{n}.txt"), format!("{n} ").repeat(50_000)));
        project
    };
    let alone = many();
    alone.stdout_of(&["bake", "pak.toml", "out/a.pak"]);
    let expected = std::fs::read(alone.path("out/a.pak")).unwrap();
    let store = tempfile::tempdir().unwrap();
    let vars = [("KILN_CACHE_DIR", store.path().to_str().unwrap())];
    let bake = |project: &Project, more: &[&str]| {
        let (code, out, err) = project.pak_with(&[&["bake", "pak.toml", "out/a.pak"], more].concat(), &vars);
        assert_eq!(code, 0, "{err}");
        out
    };
    for part in ["1/2", "2/2"] {
        let project = many();
        let stdout = bake(&project, &["--shard", part]);
        assert!(
            stdout.contains(&format!("shard {part}: ")) && !project.path("out/a.pak").exists(),
            "{stdout}"
        );
    }
    let whole = many();
    let stdout = bake(&whole, &[]);
    assert!(stdout.contains("10 assets: 0 baked, 10 fetched, 0 cached"), "{stdout}");
    assert!(stdout.contains("10 of 10 results found"), "{stdout}");
    assert_eq!(std::fs::read(whole.path("out/a.pak")).unwrap(), expected);
    let stdout = bake(&whole, &["--json"]);
    assert!(stdout.contains("\"unchanged\":true") && stdout.contains("\"asked\":0"), "{stdout}");
    // Baking a shard does not touch an existing pak.
    bake(&whole, &["--shard", "1/2"]);
    assert_eq!(std::fs::read(whole.path("out/a.pak")).unwrap(), expected);
    let (code, _, err) = whole.pak(&["bake", "pak.toml", "out/a.pak", "--shard", "1/2"]);
    assert!(code == 2 && err.contains("shard-without-cache"), "{err}");
}

/// Opening a named pipe would block forever.
#[test]
#[cfg(unix)]
fn rejects_named_pipes() {
    let pipe = |path: PathBuf| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    let project = Project::new();
    std::fs::remove_file(project.path("pak.toml")).unwrap();
    pipe(project.path("pak.toml"));
    let (code, _, err) = project.pak(&["bake", "pak.toml", "a.pak"]);
    assert!(
        code == 1 && err.contains("pak.toml: cannot read the content file: not a regular file"),
        "{code}: {err}"
    );
    let project = Project::new();
    pipe(project.path("a.pak"));
    assert_eq!(project.pak(&["verify", "a.pak"]).0, 2);
    let (code, _, err) = project.pak(&["bake", "pak.toml", "a.pak"]);
    assert!(code == 1 && err.contains("error[output-not-regular]: a.pak"), "{code}: {err}");
}

/// A blob may be larger than memory: it is streamed, and a checksum mismatch shows halfway.
#[test]
fn does_not_extract_a_damaged_blob() {
    let project = Project::new();
    project.put("art/notes.txt", "hello ".repeat(1 << 20));
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    project.stdout_of(&["extract", "a.pak", "out", "art/notes.txt"]);
    assert_eq!(
        std::fs::read(project.path("out/art/notes.txt")).unwrap(),
        "hello ".repeat(1 << 20).as_bytes()
    );
    let mut bytes = std::fs::read(project.path("a.pak")).unwrap();
    bytes[200] ^= 1;
    project.put("a.pak", bytes);
    std::fs::remove_file(project.path("out/art/notes.txt")).unwrap();
    let (code, _, err) = project.pak(&["extract", "a.pak", "out", "art/notes.txt"]);
    assert!(code == 1 && err.contains("pak-damaged"), "{code}: {err}");
    assert!(!project.path("out/art/notes.txt").exists());
    assert_eq!(std::fs::read_dir(project.path("out/art")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn message_formats_and_denied_warnings() {
    let project = Project::new();
    let bake = |flags: &[&str]| project.pak(&[&["bake", "pak.toml", "out/a.pak"], flags].concat());
    project.put("art/clip.toml", "[animation]\nsrc = 'missing.gltf'\n");
    let (code, out, err) = bake(&["--message-format", "sarif"]);
    assert_eq!(code, 1, "{err}");
    let sarif = json_schema::sarif(&out);
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(sarif["runs"][0]["tool"]["driver"]["name"], "pak");
    assert_eq!(result["level"], "error", "{out}");
    let file = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(file, "art/clip.toml", "{out}");
    let (_, out, _) = bake(&["--message-format", "github"]);
    assert!(out.starts_with("::error file=art/clip.toml,line=2,"), "{out}");
    let (_, out, _) = bake(&["--message-format", "json"]);
    let line: serde_json::Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!((&line["severity"], &line["line"]), (&"error".into(), &2.into()), "{out}");

    let explained = project.stdout_of(&["--explain", "pak-swizzle"]);
    assert!(explained.starts_with("warning[pak-swizzle] (Paks)\n"), "{explained}");
    let (code, _, err) = project.pak(&["--explain", "pak-swizzel"]);
    assert!(code == 2 && err.contains("did you mean 'pak-swizzle'?"), "{err}");
    let (code, _, err) = bake(&["--deny", "pak-swizzel"]);
    assert!(code == 2 && err.contains("did you mean 'pak-swizzle'?"), "{err}");
    // With --json, an error is the result on standard output.
    let (code, out, _) = bake(&["--json", "--message-format", "sarif"]);
    assert!(code == 2 && out.contains("--json cannot be combined"), "{out}");
}

#[test]
fn watch_prints_the_keys_that_change() {
    use std::io::{BufRead, BufReader};
    let project = Project::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pak"));
    command.args(["watch", "pak.toml", "out.pak", "--poll-ms", "20"]).current_dir(project.0.path());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.env("KILN_CACHE", "off").spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.starts_with("watching the sources of out.pak"), "{line}");
    let mut next = || {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        line
    };
    project.put("art/notes.txt", "changed");
    assert_eq!(next(), "changed  art/notes.txt\n");
    project.put("art/red.toml", "[material]\ncolor = 7\n");
    line.clear();
    err.read_line(&mut line).unwrap();
    assert!(line.contains("error[pak-value]: art/red.toml:2:9"), "{line}");
    // A scene changes with the material that it refers to.
    project.put("art/red.toml", "[material]\ncolor = '#00f'\n");
    assert_eq!([next(), next()], ["changed  art/level\n", "changed  art/red\n"]);
    std::fs::remove_file(project.path("art/notes.txt")).unwrap();
    assert_eq!(next(), "removed  art/notes.txt\n");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn warnings_of_one_code_are_grouped() {
    let project = Project::new();
    let patterns: Vec<String> = (0..9).map(|n| format!("'none-{n}/*.png'")).collect();
    let content = format!("[content]\n[[content.group]]\nassets = ['art/*', {}]\n", patterns.join(", "));
    project.put("pak.toml", content);
    let shown = |err: &str| err.matches("warning[pak-no-match]: pak.toml").count();
    let (code, _, err) = project.pak(&["bake", "pak.toml", "a.pak"]);
    assert_eq!((code, shown(&err)), (0, 3), "{err}");
    assert!(err.contains("6 more with this code after the first 3"), "{err}");
    let (_, _, err) = project.pak(&["bake", "pak.toml", "a.pak", "-v"]);
    assert_eq!(shown(&err), 9, "{err}");
    // An unchanged pak repeats its warnings; denied ones fail the bake.
    let (code, _, err) = project.pak(&["bake", "pak.toml", "a.pak", "--deny", "warnings"]);
    assert!(code == 1 && err.contains("error[pak-no-match]: 6 more"), "{err}");
}
