//! `assetc.yml` with the executable: discovery, layers, invalid values, and the sources that a change rebuilds.

use crate::project::{Project, test_image};
use std::collections::BTreeSet;
use std::fs;

/// Returns the names of the sources that a build compiled.
#[track_caller]
fn built(p: &Project, args: &[&str]) -> BTreeSet<String> {
    let ran = p.run(&[&["--json"], args].concat()).expect(0);
    let report = ran.json();
    let compiled = report["assets"].as_array().unwrap().iter().filter(|asset| asset["state"] == "built");
    compiled.map(|asset| asset["source"].as_str().unwrap().to_owned()).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns the value and the layer of a setting, as `explain` prints them.
#[track_caller]
fn setting(p: &Project, args: &[&str], source: &str, key: &str) -> (String, String) {
    let ran = p.run(&[&["--json"], args, &["explain", source]].concat()).expect(0);
    let explained = ran.json();
    let row = explained["settings"].as_array().unwrap().iter().find(|row| row["key"] == key);
    let row = row.unwrap_or_else(|| panic!("no {key}: {}", ran.stdout));
    (row["value"].as_str().unwrap().to_owned(), row["from"].as_str().unwrap().to_owned())
}

fn art() -> Project {
    let p = Project::new();
    for (n, name) in ["a.png", "ui/b.png", "ui/c.n.png", "decals/d.png"].iter().enumerate() {
        p.write(&format!("assets/{name}"), test_image(8, 8, n as u32));
    }
    p
}

#[test]
fn later_layers_override_earlier_ones() {
    let p = art();
    let ship = &["--preset", "ship"][..];
    let check = |args: &[&str], source: &str, key: &str, value: &str, origin: &str| {
        let found = setting(&p, args, source, key);
        assert_eq!(found, (value.to_owned(), origin.to_owned()), "{args:?} {source} {key}");
    };
    check(&[], "ui/b.png", "texture.quality", "default", "built in");
    let mut layers = "default:\n  texture: {quality: fast}\n".to_owned();
    p.write("assetc.yml", &layers);
    check(&[], "ui/b.png", "texture.quality", "fast", "default");
    layers += "presets:\n  ship:\n    texture: {quality: high}\n";
    p.write("assetc.yml", &layers);
    check(ship, "ui/b.png", "texture.quality", "high", "presets.ship");
    let rules = "default:
  texture: {quality: fast}
  rules:
    - match: \"ui/*\"
      texture: {quality: default}
    - match: \"*.n.png\"
      texture: {quality: fast, mips: 2}
presets:
  ship:
    texture: {quality: high}
    rules:
      - match: \"*c.n*\"
        texture: {mips: 3}
";
    p.write("assetc.yml", rules);
    let first = "default.rules[0] (match \"ui/*\", line 4)";
    check(ship, "ui/b.png", "texture.quality", "default", first);
    check(ship, "a.png", "texture.quality", "high", "presets.ship");
    check(&[], "a.png", "texture.quality", "fast", "default");
    // Later rules override earlier ones, key by key, and those of the preset come last.
    let second = "default.rules[1] (match \"*.n.png\", line 6)";
    check(&[], "ui/c.n.png", "texture.quality", "fast", second);
    check(&[], "ui/c.n.png", "texture.mips", "2", second);
    check(ship, "ui/c.n.png", "texture.quality", "fast", second);
    check(ship, "ui/c.n.png", "texture.mips", "3", "presets.ship.rules[0] (match \"*c.n*\", line 12)");
}

#[test]
fn setting_change_rebuilds_affected_sources_only() {
    let p = art();
    let all = names(&["a.png", "decals/d.png", "ui/b.png", "ui/c.n.png"]);
    assert_eq!(built(&p, &[]), all);
    // A file with the default values rebuilds nothing, and neither does the name of a preset.
    p.write("assetc.yml", "default:\n  texture: {compress: true}\npreset: x\npresets:\n  x: {}\n");
    assert_eq!(built(&p, &[]), names(&[]));
    p.write(
        "assetc.yml",
        "presets:\n  y:\n    rules:\n      - match: \"ui/*\"\n        texture: {compress: false}\n",
    );
    assert_eq!(built(&p, &[]), names(&[]));
    assert_eq!(built(&p, &["--preset", "y"]), names(&["ui/b.png", "ui/c.n.png"]));
    assert_eq!(built(&p, &["--preset", "y"]), names(&[]));
    assert_eq!(built(&p, &[]), names(&["ui/b.png", "ui/c.n.png"]));
    p.write(
        "assetc.yml",
        "default:\n  rules:\n    - match: \"ui/?.png\"\n      texture: {compress: false}\n",
    );
    assert_eq!(built(&p, &[]), names(&["ui/b.png"]));
    // Sections that a recipe does not use do not affect its sources.
    p.write(
        "assetc.yml",
        "default:\n  mesh: {merge: false}\n  lut: {depth: float16}\n  rules:\n    - match: \"ui/?.png\"\n      texture: {compress: false}\n",
    );
    assert_eq!(built(&p, &[]), names(&[]));
    p.remove("assetc.yml");
    assert_eq!(built(&p, &[]), names(&["ui/b.png"]));
}

#[test]
fn preset_outputs_may_be_nested() {
    let p = art();
    p.write(
        "assetc.yml",
        "preset: big
presets:
  big: {output: runtime/big}
  small: {output: runtime/small, texture: {max_size: 2}}
  base: {}
",
    );
    assert_eq!(p.build(), (4, 0));
    assert_eq!(built(&p, &["--preset", "small", "--pack"]).len(), 4);
    assert_eq!(built(&p, &["--preset", "base", "--pack"]).len(), 4);
    // The outputs are independent, in whatever order they are built.
    for preset in ["small", "base", "big", "small"] {
        assert_eq!(built(&p, &["--preset", preset, "--pack"]), names(&[]), "{preset}");
        p.run(&["check", "--preset", preset]).expect(0);
    }
    let tree: BTreeSet<String> = p.tree("runtime").into_keys().collect();
    for path in ["a.ktx2", "big/a.ktx2", "small/a.ktx2", "big/assets.hman", "small.hpack"] {
        assert!(tree.contains(path), "{path} is not in {tree:?}");
    }
    assert_ne!(p.read("runtime/small/a.ktx2"), p.read("runtime/big/a.ktx2"));
    let listed = p.run(&["--list-presets"]).expect(0);
    assert_eq!(listed.stdout, "big\nsmall\nbase\n");
    let listed = p.run(&["--list-presets", "-v"]).expect(0);
    assert_eq!(listed.stdout, "big (default)\nsmall\nbase\n");
    let none = art().run(&["--list-presets"]).expect(0);
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", "no presets are defined\n"));
    p.run(&["clean", "--preset", "base"]).expect(0);
    assert!(!p.exists("runtime/a.ktx2") && p.exists("runtime/big/a.ktx2") && p.exists("runtime/small.hpack"));
}

#[test]
fn uses_nearest_config_with_paths_relative_to_it() {
    let p = Project::new();
    p.write("game/assetc.yml", "input: art\noutput: ../built\n");
    p.write("game/art/deep/a.png", test_image(4, 4, 1));
    p.write("game/art/deep/er/notes.txt", "");
    for dir in ["game", "game/art", "game/art/deep/er"] {
        let ran = p.run(&["-C", dir, "-v", "--trust"]).expect(0);
        assert!(p.exists("built/deep/a.ktx2"), "{ran:?}");
        p.run(&["-C", dir, "clean", "--trust"]).expect(0);
        assert!(!p.exists("built"));
    }
    // -o is relative to the working directory.
    p.run(&["-C", "game/art", "-o", "../here"]).expect(0);
    assert!(p.exists("game/here/deep/a.ktx2") && !p.exists("here"));
    // A nearer file takes precedence.
    p.write("game/art/deep/assetc.yml", "input: none\n");
    let ran = p.run(&["-C", "game/art/deep/er"]).expect(2);
    assert!(ran.stderr.contains("error[input-missing]: ../assetc.yml:1:8: "), "{ran:?}");
    // A `..` is resolved through links.
    fs::create_dir_all(p.path("elsewhere")).unwrap();
    p.run(&["-C", "elsewhere", "-o", "../game/../built2/"]).expect(2);
    p.run(&["-C", "game", "-o", "../game/../built2/"]).expect(0);
    assert!(p.exists("built2/deep/a.ktx2"));
}

#[test]
fn unknown_keys_are_warnings_with_spelling_suggestion() {
    let p = art();
    p.write(
        "assetc.yml",
        "inptu: assets
default:
  output: x
  texture:
    compres: false
    mips: true
  rules:
    - texture: {mips: 1}
    - match: \"*\"
      texture: {qualty: high}
presets:
  mobile:
    ouput: runtime/mobile
texture: {}
texure: {}
",
    );
    let ran = p.run(&["-q"]).expect(0);
    assert_eq!(ran.stderr, "");
    let ran = p.run(&[]).expect(0);
    for (line, hint) in [
        (
            "warning[config-unknown-key]: assetc.yml:1:1: unknown key 'inptu' at the top level",
            "did you mean 'input'?",
        ),
        (
            "warning[config-ignored-key]: assetc.yml:3:3: 'output' in default is ignored",
            "move 'output' to the top level or into a preset",
        ),
        (
            "warning[config-unknown-key]: assetc.yml:5:5: unknown key 'compres' in default.texture",
            "did you mean 'compress'?",
        ),
        (
            "warning[config-rule-without-match]: assetc.yml:8:7: default.rules[0] has no 'match' and is skipped",
            "add a glob of source paths, such as match: \"ui/*\"",
        ),
        (
            "warning[config-unknown-key]: assetc.yml:10:17: unknown key 'qualty' in default.rules[1].texture",
            "did you mean 'quality'?",
        ),
        (
            "warning[config-unknown-key]: assetc.yml:13:5: unknown key 'ouput' in presets.mobile",
            "did you mean 'output'?",
        ),
        (
            "warning[config-unknown-key]: assetc.yml:14:1: unknown key 'texture' at the top level",
            "move 'texture' under 'default:'",
        ),
        (
            "warning[config-unknown-key]: assetc.yml:15:1: unknown key 'texure' at the top level",
            "did you mean 'texture' under 'default:'?",
        ),
    ] {
        assert!(
            ran.stderr.contains(&format!("{line}\n  hint: {hint}\n")),
            "{line} ({hint}):\n{}",
            ran.stderr
        );
    }
    assert_eq!(ran.stderr.matches("warning[").count(), 8, "{}", ran.stderr);
}

#[test]
fn invalid_values_are_errors_with_position() {
    let p = art();
    let aliases: String =
        (1..12).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", "))).collect();
    let bomb = format!("a0: &a0 [x, x, x, x, x, x, x, x, x]\n{aliases}");
    for (text, place, word) in [
        ("pack: yes\n", "assetc.yml:1:7: ", "use true or false"),
        ("output:\n", "assetc.yml:1:1: ", "output is null"),
        ("default:\n  texture:\n    mips: 99\n", "assetc.yml:3:11: ", "a count from 1 to 32"),
        ("default: {texture: {quality: hihg}}\n", "assetc.yml:1:30: ", "did you mean 'high'?"),
        ("default: {texture: {max_size: -1}}\n", "assetc.yml:1:31: ", "a number of pixels from 1 to 65536"),
        ("default: {texture: {alpha_coverage: 1.5}}\n", "assetc.yml:1:37: ", "from 0 to 1"),
        ("default: [texture]\n", "assetc.yml:1:10: ", "a map of keys and values"),
        ("default: {rules: {match: x}}\n", "assetc.yml:1:18: ", "a list of rules"),
        ("preset: nope\n", "assetc.yml:1:9: ", "unknown preset 'nope'; no presets are defined"),
        ("a: [1\n", "assetc.yml:2:1: ", "error[config-syntax]"),
        ("pack: true\npack: true\n", "assetc.yml:2:1: ", "duplicate key 'pack', first on line 1"),
        ("default:\n\ttexture: {}\n", "assetc.yml:2:", "spaces"),
        ("- a\n", "assetc.yml:1:1: ", "a map of keys and values"),
        (bomb.as_str(), "assetc.yml:", "error[config-too-large]"),
    ] {
        p.write("assetc.yml", text);
        for args in [&[][..], &["info"], &["explain", "a.png"], &["clean"]] {
            let ran = p.run(args).expect(2);
            let reported = ran.stderr.contains(place) && ran.stderr.contains(word);
            assert!(reported, "{text:?} {args:?}: {place}{word}:\n{}", ran.stderr);
            assert_eq!(ran.stdout, "");
        }
    }
    p.write("assetc.yml", b"\xFF\xFE");
    assert!(p.run(&[]).expect(2).stderr.contains("not UTF-8"));
    p.write("assetc.yml", vec![b'#'; 2 << 20]);
    assert!(p.run(&[]).expect(2).stderr.contains("error[config-too-large]: assetc.yml: "));
    assert!(!p.exists("runtime"), "nothing was built");
}

#[test]
fn rejects_unsafe_outputs() {
    let p = Project::new();
    p.write("home/game/assets/a.png", test_image(4, 4, 1));
    p.write("home/game/assetc.yml", "presets:\n  bad: {output: assets/out}\n  root: {output: /}\n");
    let run = |args: &[&str]| {
        let args = [&["-C", "home/game"][..], args].concat();
        let output = p.command(&args).env("HOME", p.path("home")).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (args, code, word) in [
        (&["-o", "/"][..], "output-unsafe", "the root of the file system"),
        (&["-o", "../../home"], "output-unsafe", "home directory"),
        (&["-o", "../.."], "output-unsafe", "home directory"),
        (&["-o", "."], "output-unsafe", "project directory"),
        (&["-o", "assets"], "output-overlaps-input", "is the input directory"),
        (&["-o", "assets/x/y"], "output-overlaps-input", "inside the input directory"),
        (&["-o", "assetc.yml"], "output-not-a-directory", "not a directory"),
        (&["--preset", "bad"], "output-overlaps-input", "inside the input directory"),
        (&["--preset", "root"], "output-unsafe", "the root of the file system"),
    ] {
        let (exit, stderr) = run(args);
        assert_eq!(exit, Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(&format!("error[{code}]: ")) && stderr.contains(word), "{args:?}: {stderr}");
        assert!(stderr.contains("  hint: "), "{stderr}");
        if args[0] == "--preset" {
            assert!(stderr.contains("assetc.yml:"), "{stderr}");
        }
    }
    assert_eq!(p.tree("home/game").len(), 2, "nothing was written");
    assert_eq!(run(&["-o", "../out"]).0, Some(0));
    assert!(p.exists("home/out/a.ktx2"));
}

#[test]
fn pack_setting_packs_every_build() {
    let p = art();
    p.write("assetc.yml", "pack: true\n");
    let ran = p.run(&[]).expect(0);
    assert!(ran.stdout.ends_with("packed 6 files -> runtime.hpack\n"), "{ran:?}");
    assert!(p.exists("runtime.hpack"));
}
