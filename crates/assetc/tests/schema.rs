//! The JSON Schemas of `assetc.yml` and `.mat`, compared with the parsers, the documents and the examples by an independent
//! validator. `KILN_UPDATE_DOCS=1` writes `docs/schema`.

#[path = "../../cli/tests/json_schema/validate.rs"]
#[allow(dead_code, reason = "the tests of the executables use the other items")]
mod json_schema;

use assetc::config::{Config, KEYS, SECTIONS, Settings};
use kiln_config::yaml::{self, Node};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn schema(schema: &kiln_engine::Json) -> Value {
    serde_json::from_str(&schema.to_string()).unwrap()
}

/// Converts YAML to JSON: unquoted scalars of the core schema are null, booleans and numbers.
fn to_json(node: &Node) -> Value {
    match &node.value {
        yaml::Value::Map(entries) => {
            let member = |entry: &yaml::Entry| (entry.key.clone(), to_json(&entry.node));
            Value::Object(entries.iter().map(member).collect::<Map<_, _>>())
        }
        yaml::Value::Seq(items) => items.iter().map(to_json).collect(),
        yaml::Value::Scalar(scalar) if scalar.is_null() => Value::Null,
        yaml::Value::Scalar(scalar) if scalar.plain => match scalar.text.as_str() {
            "true" => true.into(),
            "false" => false.into(),
            text => match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(number), _) => number.into(),
                (_, Ok(number)) if number.is_finite() => number.into(),
                _ => text.into(),
            },
        },
        yaml::Value::Scalar(scalar) => scalar.text.as_str().into(),
    }
}

fn parse(text: &str) -> Value {
    yaml::parse(text).unwrap().map_or(Value::Null, |node| to_json(&node))
}

/// Returns the YAML blocks of a document.
fn examples(document: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(document)).unwrap();
    text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// Returns the files with this name or extension below the examples and golden sources.
fn files(is_wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("examples"), root().join("tests")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true if entry.file_name() != "target" => folders.push(entry.path()),
                false if is_wanted(&entry.path()) => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found
}

#[test]
fn published_schemas_are_up_to_date() {
    for (file, schema) in [
        ("assetc.schema.json", assetc::schema::assetc_yml()),
        ("mat.schema.json", assetc::schema::mat()),
        ("tex.schema.json", assetc::schema::tex()),
    ] {
        let path = root().join("docs/schema").join(file);
        if std::env::var_os("KILN_UPDATE_DOCS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, schema.pretty()).unwrap();
        }
        let published = fs::read_to_string(&path).unwrap_or_default();
        assert!(published == schema.pretty(), "{file}: KILN_UPDATE_DOCS=1 updates the schema");
    }
}

#[test]
fn examples_of_the_project_file_are_valid() {
    let schema = schema(&assetc::schema::assetc_yml());
    let mut texts = examples("docs/reference/config/assetc-yml.md");
    texts.extend(examples("docs/reference/cache.md").into_iter().filter(|text| text.starts_with("cache:")));
    texts.push(assetc::config::STARTER.to_owned());
    let project_files = files(&|path| path.file_name().is_some_and(|name| name == "assetc.yml"));
    assert!(!project_files.is_empty());
    texts.extend(project_files.iter().map(|path| fs::read_to_string(path).unwrap()));
    for text in texts {
        Config::parse(&text, "assetc.yml").unwrap();
        json_schema::assert_valid(&schema, &parse(&text));
    }
}

#[test]
fn examples_of_materials_are_valid() {
    let schema = schema(&assetc::schema::mat());
    let mut texts = examples("docs/reference/config/mat.md");
    assert!(texts.len() >= 2);
    let materials = files(&|path| path.extension().is_some_and(|extension| extension == "mat"));
    assert!(!materials.is_empty());
    texts.extend(materials.iter().map(|path| fs::read_to_string(path).unwrap()));
    for text in texts {
        json_schema::assert_valid(&schema, &parse(&text));
    }
}

#[test]
fn examples_of_texture_descriptions_are_valid() {
    let schema = schema(&assetc::schema::tex());
    let texts = examples("docs/reference/config/tex.md");
    assert!(texts.len() >= 2);
    for text in texts {
        json_schema::assert_valid(&schema, &parse(&text));
    }
}

/// Scalars of every type, in and out of the ranges of the settings.
const PROBES: &[&str] = &[
    "true",
    "false",
    "0",
    "1",
    "2",
    "8",
    "9",
    "32",
    "33",
    "48",
    "256",
    "257",
    "65536",
    "65537",
    "-1",
    "0.5",
    "1.5",
    "uastc",
    "bc7",
    "fast",
    "high",
    "auto",
    "keep",
    "first",
    "none",
    "size",
    "zstd",
    "unorm8",
    "float16",
    "sdf",
    "msdf",
    "vulkan1.2",
    "ascii",
    "degrade",
    "resample",
    "no-such-word",
    "'true'",
    "'8'",
];

#[test]
fn schema_and_parser_accept_the_same_values() {
    let schema = schema(&assetc::schema::assetc_yml());
    let validator = jsonschema::options().build(&schema).unwrap();
    for key in KEYS {
        // Free strings and types without a schema of their own: the parser is stricter.
        let own: Value = serde_json::from_str(&key.schema().to_string()).unwrap();
        let is_open = own.to_string().contains("\"string\"") || own == json!({});
        for probe in PROBES {
            let text = format!("default: {{{}: {{{}: {probe}}}}}", key.section, key.name);
            let accepted = Config::parse(&text, "assetc.yml").is_ok();
            let valid = validator.is_valid(&parse(&text));
            assert!(valid || !accepted, "the schema rejects what the parser accepts: {text}");
            assert!(accepted || !valid || is_open, "the schema accepts what the parser rejects: {text}");
        }
        let default = key.show(&Settings::default());
        let text = format!("default: {{{}: {{{}: '{default}'}}}}", key.section, key.name);
        let unquoted = text.replace('\'', "");
        assert!(
            validator.is_valid(&parse(&text)) || validator.is_valid(&parse(&unquoted)),
            "the schema rejects the default: {text}"
        );
    }
}

#[test]
fn schema_rejects_mistakes() {
    let project = schema(&assetc::schema::assetc_yml());
    let validator = jsonschema::options().build(&project).unwrap();
    let mistakes = [
        "inputs: assets",
        "pack: yes please",
        "manifest: some",
        "default: {textures: {}}",
        "default: {texture: {compres: true}}",
        "presets: {a: {rules: {match: x}}}",
        "presets: {a: {rules: [{match: [x]}]}}",
        "lints: {gltf-material: forbid}",
        "- a",
    ];
    for text in mistakes {
        assert!(!validator.is_valid(&parse(text)), "{text}");
    }
    assert_eq!(project["$defs"].as_object().unwrap().len(), SECTIONS.len() + 3);

    let validator = jsonschema::options().build(&schema(&assetc::schema::mat())).unwrap();
    let mistakes = [
        "roughnes_factor: 1",
        "roughness_factor: 2",
        "base_color_factor: [1, 2]",
        "base_color_factor: '#12345'",
        "alpha_mode: solid",
        "textures: {albedo: a.png}",
        "textures: {normal: 3.5}",
        "materials: []",
        "{materials: [{}], name: b}",
        "{}",
    ];
    for text in mistakes {
        assert!(!validator.is_valid(&parse(text)), "{text}");
    }
}
