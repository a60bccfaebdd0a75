//! Tests of `assetc.yml` over the whole module, against its documentation.

use super::*;

fn parse(text: &str) -> Config {
    let config = Config::parse(text, "assetc.yml").unwrap_or_else(|diag| panic!("{diag}"));
    assert!(config.warnings().is_empty(), "{:?}", config.warnings());
    config
}

fn warnings(text: &str) -> Vec<String> {
    let config = Config::parse(text, "assetc.yml").unwrap_or_else(|diag| panic!("{diag}"));
    config.warnings().iter().map(Diag::to_string).collect()
}

fn refused(text: &str) -> String {
    Config::parse(text, "assetc.yml").expect_err(text).to_string()
}

const LAYERS: &str = r#"
input: art
pack: true
preset: desktop
default:
  texture: {compress: false, quality: fast}
  rules:
    - match: "ui/*"
      texture: {quality: high, mips: 4}
    - match: "*.n.png"
      texture: {mips: false}
presets:
  desktop:
    output: out/desktop
    texture: {quality: default, max_size: 512}
  mobile:
    mesh: {merge: false}
    rules:
      - match: "ui/icons/*"
        texture: {mips: 2}
        lut: {depth: float16}
"#;

#[test]
fn layers_override_from_least_to_most_specific() {
    let config = parse(LAYERS);
    let shown = |preset: Option<&str>, path: &str| {
        let preset = preset.map(|name| config.select_preset(Some(name)).unwrap().unwrap());
        let resolved = config.resolver(preset).resolve(path);
        let rows = resolved.rows(&["mesh", "texture", "lut"]);
        let set = rows.filter(|row| *row.layer != Layer::BuiltIn);
        set.map(|row| format!("{}={} {}", row.key.name, row.value, row.layer)).collect::<Vec<_>>()
    };
    assert_eq!(shown(None, "a.png"), ["compress=false default", "quality=fast default"]);
    assert_eq!(
        shown(Some("desktop"), "a.png"),
        ["compress=false default", "max_size=512 presets.desktop", "quality=default presets.desktop"]
    );
    let ui = "default.rules[0] (match \"ui/*\", line 8)";
    let normal = "default.rules[1] (match \"*.n.png\", line 10)";
    let icons = "presets.mobile.rules[0] (match \"ui/icons/*\", line 19)";
    assert_eq!(
        shown(Some("desktop"), "ui/a.n.png"),
        [
            "compress=false default".to_string(),
            format!("mips=false {normal}"),
            "max_size=512 presets.desktop".into(),
            format!("quality=high {ui}"),
        ]
    );
    assert_eq!(
        shown(Some("mobile"), "ui/icons/a.n.png"),
        [
            "merge=false presets.mobile".to_string(),
            "compress=false default".into(),
            format!("mips=2 {icons}"),
            format!("quality=high {ui}"),
            format!("depth=float16 {icons}"),
        ]
    );
}

#[test]
fn canonical_text_depends_only_on_values() {
    let config =
        parse("presets: {a: {texture: {mips: false}}, b: {rules: [{match: '*', texture: {mips: 1}}]}, c: }");
    let text = |name| {
        let preset = config.select_preset(Some(name)).unwrap();
        config.resolver(preset).resolve("x.png").settings.canonical(&["texture"])
    };
    assert_eq!(text("a"), text("b"));
    assert_ne!(text("a"), text("c"));
}

#[test]
fn sources_without_a_rule_share_their_settings() {
    let resolver = parse(LAYERS).resolver(None);
    let (a, b) = (resolver.resolve("a.png"), resolver.resolve("b/c.png"));
    assert!(std::sync::Arc::ptr_eq(&a.settings, &b.settings));
    assert_ne!(a.settings, resolver.resolve("ui/c.png").settings);
}

#[test]
fn top_level_keys_and_presets() {
    let config = parse(LAYERS);
    assert_eq!((config.input(), config.output(None), config.pack()), ("art", "runtime", true));
    assert_eq!(config.presets().iter().map(Preset::name).collect::<Vec<_>>(), ["desktop", "mobile"]);
    let desktop = config.select_preset(None).unwrap();
    assert_eq!(desktop.unwrap().name(), "desktop");
    assert_eq!(config.output(desktop), "out/desktop");
    let mobile = config.select_preset(Some("mobile")).unwrap();
    assert_eq!((mobile.unwrap().name(), config.output(mobile)), ("mobile", "runtime"));
    assert_eq!(
        config.select_preset(Some("mobil")).unwrap_err().to_string(),
        "error[unknown-preset]: assetc.yml: unknown preset 'mobil'; available: desktop, mobile \
         (did you mean 'mobile'?)"
    );
    assert_eq!(
        parse("\npreset: web").select_preset(None).unwrap_err().to_string(),
        "error[unknown-preset]: assetc.yml:2:9: unknown preset 'web'; no presets are defined"
    );
}

#[test]
fn empty_file_has_the_defaults() {
    for text in
        ["", "# only a comment\n", "---\n", "default:\npresets:\n", "default: {rules: , texture: }", "{}"]
    {
        let config = parse(text);
        assert_eq!((config.input(), config.output(None), config.pack()), ("assets", "runtime", false));
        assert_eq!(*config.resolver(None).resolve("a.png").settings, Settings::default());
    }
}

#[test]
fn unknown_keys_are_warnings_with_position_and_hint() {
    let head = "warning[config-unknown-key]: assetc.yml";
    for (text, expected) in [
        ("inptu: x", "1:1: unknown key 'inptu' at the top level (did you mean 'input'?)"),
        ("texture: {}", "1:1: unknown key 'texture' at the top level (move 'texture' under 'default:')"),
        (
            "default:\n  texture:\n    compres: 1",
            "3:5: unknown key 'compres' in default.texture (did you mean 'compress'?)",
        ),
        (
            "default: {compress: true}",
            "1:11: unknown key 'compress' in default (move 'compress' under 'mesh:' or 'texture:')",
        ),
        (
            "default: {mesh: {mips: true}}",
            "1:18: unknown key 'mips' in default.mesh (move 'mips' under 'texture:')",
        ),
        (
            "default: {rules: [{match: a, mseh: {}}]}",
            "1:30: unknown key 'mseh' in default.rules[0] (did you mean 'mesh'?)",
        ),
        (
            "presets: {m: {pack: true}}",
            "1:15: unknown key 'pack' in presets.m (move 'pack' to the top level)",
        ),
        (
            "presets: {m: {rules: [{match: a, lut: {bits: [1]}}]}}",
            "1:40: unknown key 'bits' in presets.m.rules[0].lut (expected one of: depth)",
        ),
    ] {
        assert_eq!(warnings(text), [format!("{head}:{expected}")], "{text}");
    }
    assert_eq!(
        warnings("default: {output: x, rules: [{texture: {mips: 2}}, {match: '*', texture: {mips: 3}}]}"),
        [
            "warning[config-ignored-key]: assetc.yml:1:11: 'output' in default is ignored \
             (move 'output' to the top level or into a preset)",
            "warning[config-rule-without-match]: assetc.yml:1:30: default.rules[0] has no 'match' and is skipped \
             (add a glob of source paths, such as match: \"ui/*\")",
        ]
    );
}

#[test]
fn invalid_values_are_errors_with_position_and_hint() {
    let head = "error[config-bad-value]: assetc.yml";
    for (text, expected) in [
        ("pack: yes", "1:7: pack is 'yes'; accepted: `true`, `false` (use true or false)"),
        (
            "default:\n  texture:\n    compress: \"true\"",
            "3:15: default.texture.compress is the string \"true\"; accepted: `true`, `false` \
             (use true or false, without quotes)",
        ),
        (
            "default: {texture: {quality: hihg}}",
            "1:30: default.texture.quality is 'hihg'; accepted: `fast`, `default`, `high`, `{psnr: DECIBELS}`, \
             `{angle: DEGREES}` (did you mean 'high'?)",
        ),
        (
            "default: {texture: {max_size: 0}}",
            "1:31: default.texture.max_size is '0'; accepted: `false`, a number of pixels from 1 to 65536",
        ),
        (
            "presets: {m: {rules: [{match: a, texture: {mips: '3'}}]}}",
            "1:50: presets.m.rules[0].texture.mips is the string \"3\"; \
             accepted: `true`, `false`, a count from 1 to 32 (remove the quotes)",
        ),
        ("default: {texture: {rdo: -1}}", "1:26: default.texture.rdo is '-1'; accepted: a number, 0 or more"),
        ("default: {texture: {mips: [1]}}", "1:27: default.texture.mips is a list; accepted: "),
        ("default: {texture: {mips: }}", "1:21: default.texture.mips is null; accepted: "),
        ("default: {texture: true}", "1:20: default.texture is 'true'; accepted: a map of keys and values"),
        ("default: [a]", "1:10: default is a list; accepted: a map of keys and values"),
        ("default: {rules: {match: a}}", "1:18: default.rules is a map; accepted: a list of rules"),
        ("default: {rules: [{match: }]}", "1:20: default.rules[0].match is null; accepted: a glob"),
        ("input: [a]", "1:8: input is a list; accepted: a path"),
        ("output: ''", "1:9: output is the string \"\"; accepted: a path"),
        (
            "presets: {\"a\\nb\": }",
            "1:11: 'a\\nb' is not a valid preset name (use a name without control characters)",
        ),
        ("- a", "1:1: the file is a list; accepted: a map of keys and values"),
        ("just text", "1:1: the file is 'just text'; accepted: a map of keys and values"),
    ] {
        let message = refused(text);
        assert!(message.starts_with(&format!("{head}:{expected}")), "{text}\n{message}");
    }
    let long = format!("default: {{rules: [{{match: '{}'}}]}}", "*".repeat(5000));
    assert!(refused(&long).starts_with(&format!("{head}:1:27: default.rules[0].match is not a valid glob")));
    assert!(refused("default:\n\ttexture: {}").starts_with("error[config-syntax]: assetc.yml:2:"));
}

#[test]
fn finds_nearest_file_and_names_it_relative_to_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let deep = root.join("game/a/b");
    std::fs::create_dir_all(deep.join("assetc.yml")).unwrap();
    std::fs::write(root.join("game/assetc.yml"), "bogus: 1\n").unwrap();
    // A directory of that name is skipped.
    assert_eq!(Config::find(&deep), Some(root.join("game/assetc.yml")));
    let config = Config::discover(&deep).unwrap();
    assert_eq!(config.project(), root.join("game"));
    assert_eq!(config.file(), Some(root.join("game/assetc.yml").as_path()));
    assert_eq!(config.warnings()[0].path.as_deref(), Some("../../assetc.yml"));
    assert_eq!(
        Config::discover(&root.join("game")).unwrap().warnings()[0].path.as_deref(),
        Some("assetc.yml")
    );
    std::fs::write(root.join("game/a/assetc.yml"), "").unwrap();
    assert_eq!(Config::find(&deep), Some(root.join("game/a/assetc.yml")));
    // A file whose metadata cannot be read is not absent: a build without it would be a different build.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("assetc.yml", root.join("assetc.yml")).unwrap();
        assert_eq!(Config::discover(&root).unwrap_err().code, Code::ConfigUnreadable);
    }
    let built_in = Config::built_in(&root);
    assert_eq!((built_in.project(), built_in.file()), (root.as_path(), None));
}

#[test]
fn rejects_files_that_are_not_utf8_or_too_large() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("assetc.yml");
    let code = || Config::load(&file, "assetc.yml").unwrap_err().code.to_string();
    assert_eq!(code(), "config-unreadable");
    std::fs::write(&file, b"a: 1\nb: \xff\n").unwrap();
    assert_eq!(
        Config::load(&file, "x").unwrap_err().to_string(),
        "error[config-syntax]: x:2: the file is not UTF-8 (save the file as UTF-8)"
    );
    std::fs::write(&file, vec![b'#'; (1 << 20) + 1]).unwrap();
    assert_eq!(code(), "config-too-large");
    assert_eq!(Config::load(dir.path(), "x").unwrap_err().code, Code::ConfigUnreadable);
}

const DOCUMENT: &str = include_str!("../../../../docs/reference/config/assetc-yml.md");

/// Returns the rows of the table under a heading of the document, without its two header lines.
fn table(heading: &str) -> Vec<&'static str> {
    let section = DOCUMENT.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
    section.lines().filter(|line| line.starts_with('|')).skip(2).collect()
}

#[test]
fn documentation_lists_exactly_the_settings() {
    let rows: Vec<String> = KEYS
        .iter()
        .map(|key| {
            let default = key.show(&Settings::default());
            format!("| `{}.{}` | {} | `{default}` | {} |", key.section, key.name, key.accepts(), key.doc())
        })
        .collect();
    assert_eq!(table("Settings"), rows);
}

#[test]
fn documentation_lists_exactly_the_project_keys() {
    let keys: Vec<&str> = table("Project keys").iter().map(|row| row.split('`').nth(1).unwrap()).collect();
    assert_eq!(keys, parse::TOP);
}

#[test]
fn documentation_examples_parse_without_warnings() {
    let examples: Vec<&str> =
        DOCUMENT.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(examples.len(), 5);
    for example in &examples {
        parse(example);
    }
    let ship = examples.iter().find(|example| example.contains("ship:")).unwrap();
    let config = parse(ship);
    let resolver = config.resolver(config.select_preset(Some("ship")).unwrap());
    assert_eq!(
        resolver.resolve("hero/face.png").settings.texture.quality,
        QualitySetting::Effort(Quality::High)
    );
    assert_eq!(resolver.resolve("a.png").settings.texture.quality, QualitySetting::Effort(Quality::Default));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2000))]

    /// Fragments of the language in any order: a configuration or an error that names the file, never a panic.
    #[test]
    fn arbitrary_text_does_not_panic(pieces in proptest::collection::vec(0..PIECES.len(), 0..30)) {
        let text: String = pieces.iter().map(|&piece| PIECES[piece]).collect();
        match Config::parse(&text, "assetc.yml") {
            Ok(config) => { config.resolver(config.select_preset(None).unwrap_or(None)).resolve("ui/a.png"); }
            Err(diag) => proptest::prop_assert!(diag.path.as_deref() == Some("assetc.yml") && diag.at.is_some(), "{}", diag),
        }
    }
}

const PIECES: &[&str] = &[
    "default:", "presets:", "rules:", "match:", "texture:", "mips:", "input:", "output:", "preset:", "a:",
    "{", "}", "[", "]", ",", " ", "\n", "\n  ", "\n    ", "\n      ", "- ", "true", "3", "0.5", "\"", "'",
    "*", "&a ", "*a ", "~", "#", "x", "|", ">", "!t ", "---\n", "\t", "?", "<<:", "%",
];
