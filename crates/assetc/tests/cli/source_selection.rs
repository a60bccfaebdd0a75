//! Selection of the files that are compiled: `exclude`, skipped files, globs without a match, stray configuration files.

use crate::project::{Project, test_image};

fn paths(json: &serde_json::Value, key: &str) -> Vec<String> {
    json[key].as_array().unwrap().iter().map(|path| path.as_str().unwrap().to_owned()).collect()
}

#[test]
fn exclude_resolves_an_output_conflict() {
    let p = Project::new();
    p.write("assets/e.png", test_image(4, 4, 1)).write("assets/e.jpg", test_image(4, 4, 2));
    let ran = p.run(&[]).expect(1);
    assert!(
        ran.stderr.contains("error[output-conflict]: e.jpg: e.jpg and e.png both write e.ktx2"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("exclude: [\"e.png\"] in assetc.yml"), "{}", ran.stderr);

    p.write("assetc.yml", "exclude: [\"e.jpg\"]\n");
    let json = p.run(&["--json"]).expect(0).json();
    assert_eq!((json["built"].as_u64(), paths(&json, "excluded")), (Some(1), vec!["e.jpg".to_owned()]));
    let png = p.read("runtime/e.ktx2");
    p.write("assetc.yml", "exclude: e.png\n");
    assert_eq!(p.build(), (1, 0));
    assert_ne!(p.read("runtime/e.ktx2"), png);

    let ran = p.run(&["explain", "e.png"]).expect(2);
    assert!(ran.stderr.contains("the source is left out by exclude \"e.png\""), "{}", ran.stderr);
}

#[test]
fn exclude_leaves_out_directories_and_removes_their_outputs() {
    let p = Project::new();
    p.write("assets/a.png", test_image(4, 4, 1))
        .write("assets/wip/b.png", test_image(4, 4, 2))
        .write("assets/wip/deep/c.png", test_image(4, 4, 3))
        .write("assets/wip-not/d.png", test_image(4, 4, 4))
        .write("assets/old.array/0.png", test_image(4, 4, 5))
        .write("assets/m.obj", "mtllib m.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        .write("assets/m.mtl", "newmtl m\nmap_Kd wip/b.png\n");
    assert_eq!(p.build(), (6, 0));
    p.write("assetc.yml", "exclude: wip/\npresets:\n  small:\n    exclude: [\"*.array\"]\n");
    let json = p.run(&["--json", "-v"]).expect(0).json();
    assert_eq!(paths(&json, "excluded"), ["wip/b.png", "wip/deep/c.png"]);
    assert_eq!(
        (json["cached"].as_u64(), json["built"].as_u64()),
        (Some(4), Some(0)),
        "the model still reads wip/b.png"
    );
    assert!(!p.exists("runtime/wip/b.ktx2") && p.exists("runtime/old.arr.ktx2"));

    let ran = p.run(&["--preset", "small", "-v"]).expect(0);
    assert!(!p.exists("runtime/old.arr.ktx2") && !p.exists("runtime/old.array/0.ktx2"), "{}", ran.stderr);
    assert!(ran.stderr.contains("excluded: old.array/0.png"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("warning["), "{}", ran.stderr);
}

#[test]
fn exclude_leaves_out_single_files_of_folder_sources() {
    let p = Project::new();
    p.write("assets/l.array/0.png", test_image(4, 4, 1))
        .write("assets/l.array/0.ref.png", test_image(8, 8, 2))
        .write("assets/l.array/1.png", test_image(4, 4, 3))
        .write("assets/sky.env/px.jpg", test_image(4, 4, 4));
    for (face, seed) in ["px", "nx", "py", "ny", "pz", "nz"].iter().zip(0..) {
        p.write(&format!("assets/sky.env/{face}.png"), test_image(4, 4, seed));
    }
    let vertex = "@vertex fn main() -> @builtin(position) vec4f { return vec4f(); }";
    p.write("assets/s.shader/vertex.wgsl", vertex).write("assets/s.shader/fragment.wgsl", "broken");
    let stderr = p.run(&[]).expect(1).stderr;
    assert_eq!(stderr.matches("error[").count(), 3, "{stderr}");

    p.write("assetc.yml", "exclude: [\"*.ref.png\", sky.env/px.jpg, s.shader/fragment.wgsl]\n");
    let ran = p.run(&["--json"]).expect(0);
    let json = ran.json();
    let expected = ["l.array/0.ref.png", "s.shader/fragment.wgsl", "sky.env/px.jpg"];
    assert_eq!(paths(&json, "excluded"), expected);
    assert!(!ran.stderr.contains("config-glob-unmatched"), "{}", ran.stderr);
    let info = p.run(&["info", "runtime/l.arr.ktx2"]).expect(0).stdout;
    assert!(info.contains("4x4 | 2D array") && info.contains("2 layers"), "{info}");
    assert!(p.exists("runtime/s.shader/vertex.spv") && !p.exists("runtime/s.shader/fragment.spv"));
    assert_eq!(p.build(), (0, 3));

    // The setting of one file rebuilds its folder and no other.
    p.write(
        "assetc.yml",
        "exclude: [\"*.ref.png\", l.array/1.png, sky.env/px.jpg, s.shader/fragment.wgsl]\n",
    );
    assert_eq!(p.build(), (1, 2));
    let explained = p.run(&["explain", "l.array/1.png"]).expect(2).stderr;
    assert!(explained.contains("the source is left out by exclude \"l.array/1.png\""), "{explained}");
    // A layer that is excluded may change.
    p.write("assets/l.array/1.png", "no image");
    assert_eq!(p.build(), (0, 3));
}

#[test]
fn skipped_files_are_counted_and_listed() {
    let p = Project::new();
    p.write("assets/a.png", test_image(4, 4, 1))
        .write("assets/x.blend", "b")
        .write("assets/s/y.WAV", "w")
        .write("assets/z.wav", "w")
        .write("assets/LICENSE", "l")
        .write("assets/.hidden.wav", "h")
        .write("assets/m.obj", "mtllib m.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        .write("assets/m.mtl", "newmtl m\n");
    let expected = "; skipped 4 files: 2 .wav, 1 without extension, 1 .blend\n";
    let ran = p.run(&[]).expect(0);
    assert!(ran.stdout.ends_with(expected), "{}", ran.stdout);
    let again = p.run(&["-v"]).expect(0);
    assert!(again.stdout.contains(expected), "{}", again.stdout);
    for path in ["LICENSE", "s/y.WAV", "x.blend", "z.wav"] {
        assert!(again.stderr.contains(&format!("skipped: {path}\n")), "{}", again.stderr);
    }
    let json = p.run(&["--json"]).expect(0).json();
    assert_eq!(paths(&json, "skipped"), ["LICENSE", "s/y.WAV", "x.blend", "z.wav"]);
    p.write("assetc.yml", "exclude: \"*.wav\"\nembed: LICENSE\n");
    assert_eq!(paths(&p.run(&["--json"]).expect(0).json(), "skipped"), ["s/y.WAV", "x.blend"]);
}

#[test]
fn globs_without_a_match_and_stray_files_are_warnings() {
    let p = Project::new();
    p.write("assets/ui/a.png", test_image(4, 4, 1)).write("assets/ui/b.png", test_image(4, 4, 2)).write(
        "assetc.yml",
        "exclude: [\"ui/b.png\", \"wip\"]\nembed: \"*.json\"\ndefault:\n  rules:\n    - match: \"UI/*\"\n      texture: {mips: false}\n    \
         - match: \"ui/[ab].png\"\n      texture: {mips: false}\n    - match: \"ui/b.png\"\n      texture: {mips: false}\n    \
         - match: \"ui/**\"\n      texture: {mips: false}\n",
    );
    p.write("assetc.yaml", "pack: true\n");
    let stderr = p.run(&[]).expect(0).stderr;
    for expected in [
        "warning[config-glob-unmatched]: assetc.yml:1:23: the glob \"wip\" of exclude matches no source",
        "warning[config-glob-unmatched]: assetc.yml:2:8: the glob \"*.json\" of embed matches no source",
        "warning[config-glob-unmatched]: assetc.yml:5:14: the glob \"UI/*\" of default.rules[0].match matches no source\n  hint: a glob matches the whole path",
        "warning[config-glob-unmatched]: assetc.yml:7:14: the glob \"ui/[ab].png\" of default.rules[1].match matches no source\n  hint: '[', ']'",
        "warning[config-glob-syntax]: assetc.yml:11:14: '**' in the glob \"ui/**\" of default.rules[3].match means the same as '*'",
        "warning[config-stray-file]: assetc.yaml: the file is not read: the configuration file is named assetc.yml",
    ] {
        assert!(stderr.contains(expected), "{expected}\n{stderr}");
    }
    assert_eq!(stderr.matches("warning[").count(), 6, "{stderr}");
    // Below the project, and without any assetc.yml.
    p.remove("assetc.yml");
    let stderr = p.run(&["-C", "assets", "--list-presets"]).stderr;
    assert!(stderr.contains("warning[config-stray-file]: ../assetc.yaml: "), "{stderr}");
}
