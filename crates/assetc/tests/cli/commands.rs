//! Every command and flag: output streams, exit codes and hints.

use crate::project::{Project, Ran, test_image};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// A project with two images, one of them under a rule.
fn small() -> Project {
    let p = Project::new();
    p.write("assets/a.png", test_image(8, 8, 1)).write("assets/ui/b.png", test_image(4, 4, 2)).write(
        "assetc.yml",
        "default:\n  rules:\n    - match: \"ui/*\"\n      texture: {compress: false}\npresets:\n  small:\n    output: out/small\n    texture: {max_size: 4}\n",
    );
    p
}

/// Removes the duration of a build from its output.
fn without_duration(text: &str) -> String {
    text.lines()
        .map(|line| match line.rsplit_once(" (") {
            Some((head, time)) if time.ends_with("ms)") || time.ends_with("s)") => head.to_owned() + "\n",
            _ => line.to_owned() + "\n",
        })
        .collect()
}

#[test]
fn prints_version_help_and_completions() {
    let p = Project::new();
    let version = p.run(&["--version"]).expect(0);
    assert_eq!(version.stdout, format!("assetc {}\n", env!("CARGO_PKG_VERSION")));
    for args in [&["--help"][..], &["-h"], &["help"]] {
        let help = p.run(args).expect(0);
        assert!(help.stderr.is_empty());
        for word in
            ["build", "init", "info", "check", "pack", "clean", "explain", "completions", "Exit codes"]
        {
            assert!(help.stdout.contains(word), "{args:?} does not mention {word}");
        }
        for flag in [
            "-o",
            "-j",
            "--preset",
            "--list-presets",
            "--verify",
            "--no-cache",
            "--pack",
            "-C",
            "-q",
            "-v",
            "--json",
            "--color",
        ] {
            assert!(help.stdout.contains(flag), "{args:?} does not mention {flag}");
        }
    }
    for command in ["build", "init", "info", "check", "pack", "clean", "explain", "completions"] {
        assert!(p.run(&[command, "--help"]).expect(0).stdout.contains("Usage"), "{command}");
    }
    let page = p.run(&["man"]).expect(0).stdout;
    assert!(
        page.starts_with(".ie") && page.contains(".TH assetc 1") && page.contains("no\\-cache"),
        "{page}"
    );
    let pages = p.run(&["man", "pages"]).expect(0).stdout;
    for name in ["assetc.1", "assetc-build.1", "assetc-pack.1", "assetc-pack-info.1"] {
        assert!(pages.lines().any(|line| line == name), "{pages}");
        assert!(p.read(&format!("pages/{name}")).starts_with(b".ie"));
    }
    assert!(!pages.contains("serve-shaders") && !pages.contains("help"), "{pages}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = p.run(&["completions", shell]).expect(0);
        assert!(script.stdout.contains("no-cache") && script.stderr.is_empty(), "{shell}");
    }
}

#[test]
fn usage_errors_are_exit_code_2() {
    let p = small();
    for (args, word) in [
        (&["-j", "0"][..], "0 is not in 1..=1024"),
        (&["-j", "many"], "invalid value"),
        (&["--bogus"], "--bogus"),
        (&["bulid"], "bulid"),
        (&["pack"], "info"),
        (&["explain"], "SOURCE"),
        (&["-q", "-v"], "cannot be used with"),
        (&["--color", "sometimes"], "auto, always, never"),
        (&["completions", "tcsh"], "possible values"),
        (&["info", "--verify"], "--verify"),
        (&["--verify", "info"], "--verify is a flag of `assetc build`"),
        (&["-j", "2", "clean"], "--jobs is a flag of `assetc build`"),
        (&["--preset", "big"], "available: small"),
        (&["--preset", "smal"], "did you mean 'small'?"),
        (&["-C", "nowhere"], "cannot change to directory nowhere"),
        (&["-C", "assets/a.png"], "assets/a.png"),
    ] {
        let ran = p.run(args).expect(2);
        assert!(ran.stderr.contains(word), "{args:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty(), "{args:?}: {}", ran.stdout);
    }
    assert!(!p.exists("runtime"), "nothing was built");
}

#[test]
fn accepts_build_flags_before_the_command() {
    let p = small();
    p.run(&["--pack", "build"]).expect(0);
    assert!(p.exists("runtime.hpack"));
    let ran = p.run(&["--no-cache", "build"]).expect(0);
    assert!(ran.stdout.contains("2 built, 0 cached"), "{}", ran.stdout);
    let ran = p.run(&["--list-presets", "build"]).expect(0);
    assert_eq!(ran.stdout, "small\n");
}

#[test]
fn init_creates_starter_once() {
    let p = Project::new();
    let ran = p.run(&["init"]).expect(0);
    assert_eq!(
        ran.stdout,
        "created assetc.yml, assetc.schema.json, assets/ and entries in .gitignore\nnext: add sources to assets/ and run assetc\n"
    );
    assert_eq!(p.read(".gitignore"), b"/runtime/\n/runtime.hpack\n/runtime.*.html\n");
    let empty = p.run(&[]).expect(0);
    assert!(empty.stdout.starts_with("no sources found in assets: add images, models, "), "{}", empty.stdout);
    p.write("assets/a.png", test_image(4, 4, 1));
    let built = p.run(&[]).expect(0);
    assert!(!built.stderr.contains("warning"), "{}", built.stderr);

    p.write("assetc.yml", "pack: false\n");
    let again = p.run(&["init"]).expect(2);
    assert!(again.stderr.starts_with("error[init-exists]: assetc.yml: "), "{}", again.stderr);
    assert!(again.stderr.contains("hint: "));
    assert_eq!(p.read("assetc.yml"), b"pack: false\n");
    fs::create_dir(p.path("sub")).unwrap();
    p.run(&["-C", "sub", "init"]).expect(0);
    assert!(p.exists("sub/assetc.yml"));
}

#[test]
fn progress_goes_to_stderr_and_result_to_stdout() {
    let p = small();
    let ran = p.run(&["-j", "1"]).expect(0);
    let mut lines: Vec<&str> = ran.stderr.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["built a.png", "built ui/b.png"]);
    assert_eq!(without_duration(&ran.stdout), "2 assets: 2 built, 0 cached, 0 failed -> runtime\n");

    let ran = p.run(&[]).expect(0);
    assert_eq!(ran.stderr, "");
    assert_eq!(without_duration(&ran.stdout), "2 assets: 0 built, 2 cached, 0 failed -> runtime\n");

    p.write("assets/c.png", "not an image");
    let ran = p.run(&["-q"]).expect(1);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.starts_with("error[image-unknown]: c.png: "), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 2, "{}", ran.stderr);
    p.remove("assets/c.png");
    let ran = p.run(&["-q", "--no-cache"]).expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
}

#[test]
fn verbose_prints_rebuild_reasons() {
    let p = small();
    let ran = p.run(&["-v", "--preset", "small"]).expect(0);
    assert!(
        ran.stderr.starts_with("config: assetc.yml\npreset: small\n2 of 2 assets out of date\n"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("built a.png (new; "), "{ran:?}");
    assert!(ran.stdout.contains("0 references -> out/small/assets.hman"), "{ran:?}");

    p.write("assets/a.png", test_image(8, 8, 9));
    p.remove("out/small/ui/b.ktx2");
    let ran = p.run(&["-v", "--preset", "small"]).expect(0);
    assert!(ran.stderr.contains("built a.png (a.png changed; "), "{ran:?}");
    assert!(ran.stderr.contains("built ui/b.png (output ui/b.ktx2 is missing; "), "{ran:?}");
    p.run(&[]).expect(0);
    p.write("assetc.yml", "default:\n  texture: {compress: false, mips: 2}\n");
    let ran = p.run(&["-v"]).expect(0);
    let why = "built a.png (texture.compress = false, was true; texture.mips = 2, was true; ";
    assert!(ran.stderr.contains(why), "{ran:?}");
    assert!(ran.stderr.contains("preset: none\n"), "{ran:?}");
    assert!(p.run(&["-v", "--no-cache"]).expect(0).stderr.contains("(forced; "));
}

#[test]
fn json_is_one_object_on_stdout() {
    let p = small();
    let parse = |ran: Ran| ran.json();
    let build = parse(p.run(&["--json", "--pack"]).expect(0));
    assert_eq!(build["ok"], true);
    assert_eq!(build["built"], 2);
    assert_eq!(build["failed"], 0);
    let assets = build["assets"].as_array().unwrap();
    assert_eq!(assets[0]["source"], "a.png");
    assert_eq!(assets[0]["why"], "new");
    assert_eq!(assets[0]["kind"], "color");
    assert!(build["output"].as_str().unwrap().ends_with("runtime"));
    assert!(build["pack"].as_str().unwrap().ends_with("runtime.hpack"));

    let info = parse(p.run(&["--json", "info"]).expect(0));
    let file = info["files"].as_array().unwrap().iter().find(|f| f["path"] == "a.ktx2").unwrap();
    assert_eq!(file["size"], p.read("runtime/a.ktx2").len() as u64);
    assert_eq!(file["facts"]["width"], 8);
    assert_eq!(file["facts"]["mips"], 4);
    assert_eq!(info["totals"]["ktx2"]["files"], 2);
    let packed = parse(p.run(&["--json", "info", "runtime.hpack"]).expect(0));
    assert_eq!(packed["files"], info["files"]);

    let pack = parse(p.run(&["--json", "pack", "info"]).expect(0));
    assert_eq!(pack["entries"].as_array().unwrap().len(), 4);
    let check = parse(p.run(&["--json", "check"]).expect(0));
    assert_eq!(check["ok"], true);
    assert_eq!(check["compared"], 4);
    let explain = parse(p.run(&["--json", "explain", "ui/b.png"]).expect(0));
    assert_eq!(explain["recipe"], "color");
    assert!(explain["stale"].is_null());
    let settings = explain["settings"].as_array().unwrap();
    assert!(settings.iter().any(|s| s["key"] == "texture.compress" && s["value"] == "false"), "{settings:?}");
    let presets = parse(p.run(&["--json", "--list-presets"]).expect(0));
    assert_eq!(presets["presets"], json!(["small"]));

    // Errors are in the JSON, too, with escaped names.
    p.write("assets/\u{fc} 'x'.png", "\"not\\ an\timage\"");
    let ran = p.run(&["--json"]).expect(1);
    assert!(ran.stderr.contains("error[image-unknown]"), "{ran:?}");
    let build = parse(ran);
    let failed = build["assets"].as_array().unwrap().iter().find(|a| a["state"] == "failed").unwrap();
    assert_eq!(failed["error"]["code"], "image-unknown");
    assert_eq!(failed["error"]["path"], "\u{fc} 'x'.png");
    let error = parse(p.run(&["--json", "--preset", "nope"]).expect(2));
    assert_eq!(error["error"]["code"], "unknown-preset");
    fs::create_dir(p.path("new")).unwrap();
    let init = parse(p.run(&["--json", "-C", "new", "init"]).expect(0));
    assert!(init["written"].as_str().unwrap().ends_with("assetc.yml"));
    let clean = parse(p.run(&["--json", "clean"]).expect(0));
    assert_eq!(clean["removed"], 5);
    assert_eq!(clean["kept"], json!([]));
}

#[test]
fn colour_follows_flag_and_environment() {
    let p = small();
    p.write("assets/bad.png", "x");
    let plain = |ran: &Ran| !ran.stdout.contains('\x1b') && !ran.stderr.contains('\x1b');
    assert!(plain(&p.run(&[]).expect(1)));
    assert!(plain(&p.run(&["--color", "never"]).expect(1)));
    let ran = p.run(&["--color", "always"]).expect(1);
    assert!(ran.stderr.contains("\x1b[1;31merror[image-unknown]\x1b[0m: \x1b[1mbad.png\x1b[0m: "), "{ran:?}");
    assert!(ran.stdout.contains("\x1b[1;31m1 failed\x1b[0m"), "{ran:?}");
    // `always` overrides NO_COLOR.
    let output = p.command(&["--color", "always"]).env("NO_COLOR", "1").output().unwrap();
    assert!(output.stderr.contains(&0x1b));
    let output = p.command(&[]).env("NO_COLOR", "1").output().unwrap();
    assert!(!output.stderr.contains(&0x1b));
}

#[test]
fn directory_flag_changes_the_working_directory() {
    let p = small();
    fs::create_dir_all(p.path("else/where")).unwrap();
    // -o is relative to -C, like every path argument.
    let ran = p.run(&["-C", "else/where", "-o", "out"]).expect(0);
    assert!(without_duration(&ran.stdout).ends_with("-> out\n"), "{ran:?}");
    assert!(p.exists("else/where/out/a.ktx2"));
    p.run(&["-C", "else/where", "-o", "out", "check"]).expect(0);
    let ran = p.run(&["-C", "else/where", "info"]).expect(2);
    assert!(ran.stderr.contains("error[output-missing]: "), "{ran:?}");
}

#[test]
fn info_prints_documented_layout() {
    let p = Project::new();
    p.write("assets/a.png", test_image(8, 6, 1));
    p.write("assets/b.r.png", test_image(4, 4, 2));
    p.write("assets/sub/c.lut.cube", format!("LUT_3D_SIZE 2\n{}", "0 0.5 1\n".repeat(8)));
    p.write("assetc.yml", "default: {texture: {supercompress: none}}\n");
    p.run(&[]).expect(0);
    p.write("runtime/notes.txt", "hello");
    let ran = p.run(&["info"]).expect(0);
    let size = |path: &str| p.read(path).len();
    let (a, b, c) = (size("runtime/a.ktx2"), size("runtime/b.r.ktx2"), size("runtime/sub/c.lut.ktx2"));
    let human = |n: usize| match n {
        0..1024 => format!("{n} B"),
        _ => format!("{:.1} KB", n as f64 / 1024.0),
    };
    let texels = 8 * 6 + 4 * 3 + 2 + 1 + (4 * 4 + 2 * 2 + 1) + 2 * 2 * 2;
    let expected = format!(
        "Inspecting runtime

== manifests (.hman) (1)
  assets.hman
    v1 | 0 entries | kinds: 0 texture/0 mesh/0 material/0 lut | colour space: 0 sRGB/0 linear | 16 B
== textures (.ktx2) (3)
  a.ktx2
    8x6 | 2D | UASTC LDR 4x4 sRGB | 4 mip levels | 1 face, 1 layer | supercompression: none | {a} B | GPU memory: 112 B
  b.r.ktx2
    4x4 | 2D | UASTC LDR 4x4 linear | 3 mip levels | 1 face, 1 layer | supercompression: none | {b} B | GPU memory: 48 B
  sub/c.lut.ktx2
    2x2x2 | 3D | R8G8B8A8_UNORM | 1 mip level | 1 face, 1 layer | supercompression: none | {c} B | GPU memory: 32 B
== other files (1)
  notes.txt | 5 B
== summary
  manifests:  1 file | 16 B | 0 entries
  textures:   3 files | {} | {texels} texels | GPU memory: 192 B
  other:      1 file | 5 B
  on disk:    {} total
",
        human(a + b + c),
        human(a + b + c + 16 + 5),
    );
    assert_eq!(ran.stdout, expected);
    let verbose = p.run(&["info", "-v"]).expect(0).stdout;
    assert!(verbose.contains("transfer sRGB") && verbose.contains("level 3 1x1"), "{verbose}");

    p.write("runtime/a.ktx2", "damaged");
    let ran = p.run(&["info"]).expect(1);
    assert!(ran.stdout.contains("  a.ktx2\n    unreadable: "), "{ran:?}");
    assert!(ran.stdout.ends_with("  1 file failed to parse\n"), "{ran:?}");
}

#[test]
fn info_and_check_default_to_the_output_directory() {
    let p = small();
    p.run(&["-q"]).expect(0);
    p.run(&["-q", "--preset", "small", "--pack"]).expect(0);
    p.run(&["-q", "-o", "third/"]).expect(0);
    // A build that packs also writes the digests.
    for (args, dir, size, compared) in [
        (&[][..], "runtime", "8x8", 3),
        (&["--preset", "small"][..], "out/small", "4x4", 4),
        (&["-o", "third"][..], "third", "8x8", 3),
        (&["--preset", "small", "-o", "third"][..], "third", "8x8", 3),
    ] {
        let ran = p.run(&[args, &["info"]].concat()).expect(0);
        assert!(ran.stdout.starts_with(&format!("Inspecting {dir}\n")), "{ran:?}");
        assert!(ran.stdout.contains(&format!("  a.ktx2\n    {size} | 2D")), "{ran:?}");
        let ran = p.run(&[args, &["check"]].concat()).expect(0);
        let expected = format!(
            "Checking {dir}\nintegrity OK: 1 manifest, 2 textures; {compared} files match the journal\n"
        );
        assert_eq!(ran.stdout, expected);
    }
    let ran = p.run(&["pack", "info", "--preset", "small"]).expect(0);
    assert!(ran.stdout.starts_with("== out/small.hpack (HPAK v2) — 4 entries, "), "{ran:?}");
    let ran = p.run(&["check", "out/small.hpack"]).expect(0);
    assert!(ran.stdout.ends_with("integrity OK: 1 manifest, 2 textures; 3 files match assets.sha256\n"));
    let ran = p.run(&["check", "-q"]).expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    let ran = p.run(&["pack", "info"]).expect(2);
    assert!(ran.stderr.starts_with("error[output-missing]: runtime.hpack: "), "{ran:?}");
    assert!(ran.stderr.contains("--pack"), "{ran:?}");
    let ran = p.run(&["pack", "info", "runtime"]).expect(2);
    assert!(
        ran.stderr.contains("runtime: ") && ran.stderr.contains("hint: give the path of a .hpack file"),
        "{ran:?}"
    );
}

#[test]
fn explain_prints_layers_inputs_outputs_and_rebuild_reason() {
    let p = small();
    let before = p.run(&["explain", "ui/b.png"]).expect(0).stdout;
    assert!(before.starts_with("ui/b.png\n  recipe: color (version "), "{before}");
    assert!(
        before.contains("\n  last build: none\n  output: ui/b.ktx2\n  next build: rebuild (new)\n"),
        "{before}"
    );
    let rule = "  texture.compress = false        from default.rules[0] (match \"ui/*\", line 3)\n";
    assert!(before.contains(rule), "{before}");
    assert!(before.contains("  texture.max_size = false        from built in\n"), "{before}");
    let preset = p.run(&["explain", "--preset", "small", "ui/b.png"]).expect(0).stdout;
    assert!(preset.contains("  texture.max_size = 4            from presets.small\n"), "{preset}");

    p.run(&["-q"]).expect(0);
    let after = p.run(&["explain", "ui/b.png"]).expect(0).stdout;
    let end = "  last build: new\n  input:  ui/b.png (read)\n  output: ui/b.ktx2\n  next build: up to date\n";
    assert!(after.ends_with(end), "{after}");
    // The same source, by different relative paths.
    for (dir, name) in [(".", "assets/ui/b.png"), ("assets/ui", "b.png"), ("assets", "ui/b.png")] {
        assert_eq!(p.run(&["-C", dir, "explain", name]).expect(0).stdout, after, "{dir} {name}");
    }
    p.write("assets/ui/b.png", test_image(4, 4, 7));
    let stale = p.run(&["explain", "ui/b.png"]).expect(0).stdout;
    assert!(stale.ends_with("  next build: rebuild (ui/b.png changed)\n"), "{stale}");
    p.remove("runtime/a.ktx2");
    let stale = p.run(&["explain", "a.png"]).expect(0).stdout;
    assert!(stale.ends_with("  next build: rebuild (output a.ktx2 is missing)\n"), "{stale}");
    assert_eq!(p.build(), (2, 0), "explain changes nothing");

    let folder = test_image(4, 4, 3);
    for face in ["px", "nx", "py", "ny", "pz", "nz"] {
        p.write(&format!("assets/sky.env/{face}.png"), &folder);
    }
    p.run(&["-q"]).expect(0);
    let sky = p.run(&["explain", "sky.env"]).expect(0).stdout;
    assert!(sky.contains("  input:  sky.env (listed)\n  input:  sky.env/nx.png (read)\n"), "{sky}");
    let refused = |source: &str, code: &str, word: &str| {
        let ran = p.run(&["explain", source]).expect(2);
        assert!(ran.stderr.contains(code) && ran.stderr.contains(word), "{ran:?}");
        assert!(ran.stderr.contains("hint: "), "{ran:?}");
    };
    p.write("assets/readme.txt", "x");
    refused("sky.env/px.png", "not-a-source", "part of the source sky.env");
    refused("readme.txt", "not-a-source", "no recipe matches this name");
    refused("ui", "not-a-source", "no recipe matches this name");
    refused("nope.png", "file-missing", "the source does not exist");
    refused("../../etc/passwd", "not-a-source", "the path leaves its root");
}

#[test]
fn clean_removes_only_files_of_builds() {
    let p = small();
    p.run(&["-q", "--pack"]).expect(0);
    p.run(&["-q", "--preset", "small", "--pack"]).expect(0);
    p.write("runtime/mine.txt", "mine").write("runtime/ui/b.ktx2", "changed by hand");
    let ran = p.run(&["clean"]).expect(0);
    assert_eq!(ran.stdout, "removed 4 files from runtime\n");
    assert!(ran.stderr.starts_with("warning[clean-kept]: ui/b.ktx2: kept"), "{ran:?}");
    let left: Vec<String> = p.tree("runtime").into_keys().collect();
    assert_eq!(left, ["mine.txt", "ui/b.ktx2"]);
    assert!(!p.exists("runtime/.assetc-cache") && !p.exists("runtime.hpack"));
    assert!(p.exists("assets/a.png") && p.exists("out/small/a.ktx2") && p.exists("out/small.hpack"));

    let ran = p.run(&["clean"]).expect(0);
    assert_eq!(ran.stdout, "nothing to remove: runtime has no files of a build\n");
    p.run(&["clean", "--preset", "small"]).expect(0);
    assert!(!p.exists("out/small") && !p.exists("out/small.hpack"));
    assert_eq!(p.run(&["clean", "-o", "never/built"]).expect(0).code, 0);
    assert!(!p.exists("never"));
}

#[test]
fn closed_stdout_is_not_an_error() {
    let p = small();
    p.run(&["-q"]).expect(0);
    // More output than a pipe buffer holds.
    for n in 0..2000 {
        p.write(&format!("runtime/a file with a fairly long name, number {n:04}.txt"), "");
    }
    for args in [&["info"][..], &["info", "--json"], &["--help"]] {
        let mut child =
            p.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut first = String::new();
        let mut stdout = BufReader::with_capacity(64, child.stdout.take().unwrap());
        if args.len() == 1 {
            stdout.read_line(&mut first).unwrap();
            assert!(!first.is_empty());
        }
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{args:?}");
    }
}

#[test]
fn verbose_builds_repeat_warnings() {
    let p = Project::new();
    p.write("assets/a.jpg", test_image(4, 4, 1));
    let reported = "warning[image-extension]: a.jpg: the content is PNG, and the file extension is for JPEG";
    let ran = p.run(&[]).expect(0);
    assert!(ran.stderr.contains(reported), "{ran:?}");
    let ran = p.run(&[]).expect(0);
    assert!(ran.stderr.is_empty() && ran.stdout.contains("1 cached warning (-v shows it)"), "{ran:?}");
    let ran = p.run(&["-v"]).expect(0);
    assert!(ran.stderr.contains(reported), "{ran:?}");
    assert_eq!(p.run(&["-q"]).expect(0).stderr, "");
}

#[cfg(unix)]
#[test]
fn skips_and_escapes_unportable_names() {
    use std::os::unix::ffi::OsStrExt;
    let p = small();
    p.write("assets/red\u{1b}[31m\nline.png", test_image(4, 4, 1));
    fs::write(p.path("assets").join(std::ffi::OsStr::from_bytes(b"caf\xE9.png")), "x").unwrap();
    std::os::unix::fs::symlink("/etc", p.path("assets/etc")).unwrap();
    std::os::unix::fs::symlink("a.png", p.path("assets/same.png")).unwrap();
    let ran = p.run(&[]).expect(0);
    let spelt = "warning[path-not-portable]: red\\u{1b}[31m\\nline.png: the file was ignored: ";
    assert!(ran.stderr.contains(spelt) && !ran.stderr.contains('\x1b'), "{ran:?}");
    assert!(ran.stderr.contains("warning[path-not-utf8]: caf\u{fffd}.png: "), "{ran:?}");
    assert!(
        ran.stderr.contains("warning[symlink-ignored]: etc: the symbolic link leads outside the tree"),
        "{ran:?}"
    );
    assert!(ran.stdout.starts_with("3 assets: 3 built"), "a link inside the tree is a file: {ran:?}");
    std::os::unix::fs::symlink("/etc", p.path("runtime/etc")).unwrap();
    let ran = p.run(&["check"]).expect(1);
    assert!(
        ran.stdout.contains("  FAIL etc: the symbolic link leads outside the tree [symlink-ignored]"),
        "{ran:?}"
    );
    let info = p.run(&["info", "--json"]).expect(0).json();
    assert_eq!(info["problems"][0]["code"], "symlink-ignored");
}

#[test]
fn check_reports_directory_without_runtime_files() {
    let p = small();
    let ran = p.run(&["check", "assets"]).expect(0);
    let expected = "Checking assets\nintegrity OK: no runtime files; no journal to compare with\n";
    assert_eq!(ran.stdout, expected);
}

#[cfg(target_os = "linux")]
#[test]
fn write_error_on_stdout_is_exit_code_2() {
    let p = small();
    p.run(&["-q"]).expect(0);
    for args in [&["info"][..], &["check", "--json"], &["completions", "bash"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = p.command(args).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.starts_with("error[stdout]: the result could not be written"), "{args:?}: {stderr}");
    }
}
