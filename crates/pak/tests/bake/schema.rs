//! The JSON Schema of the TOML files, compared with the baker, the document and its examples by an independent validator.
//! `KILN_UPDATE_DOCS=1` writes `docs/schema/pak.schema.json`.

use crate::project::{Model, Project};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use toml::de::{DeTable, DeValue};

const DOCUMENT: &str = include_str!("../../../../docs/reference/pak.md");

fn schema() -> Value {
    serde_json::from_str(&pak::bake::json_schema().to_string()).unwrap()
}

fn parse(text: &str) -> Value {
    let table = DeTable::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    table_json(table.get_ref())
}

fn table_json(table: &DeTable<'_>) -> Value {
    table.iter().map(|(key, value)| (key.get_ref().to_string(), to_json(value.get_ref()))).collect()
}

fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => text.to_string().into(),
        DeValue::Integer(number) => number.to_string().parse::<i64>().unwrap().into(),
        DeValue::Float(number) => number.to_string().parse::<f64>().unwrap().into(),
        DeValue::Boolean(value) => (*value).into(),
        DeValue::Array(items) => items.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(table) => table_json(table),
        DeValue::Datetime(time) => time.to_string().into(),
    }
}

#[test]
fn published_schema_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/pak.schema.json");
    let schema = pak::bake::json_schema().pretty();
    if std::env::var_os("KILN_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &schema).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == schema,
        "KILN_UPDATE_DOCS=1 updates the schema"
    );
}

#[test]
fn examples_of_the_document_are_valid() {
    let schema = schema();
    let validator = jsonschema::options().build(&schema).unwrap();
    let examples = DOCUMENT.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let examples: Vec<&str> = examples
        .filter(|text| !text.starts_with("[profile") && !text.starts_with("[dependencies]"))
        .collect();
    assert!(examples.len() >= 2);
    for example in examples {
        let value = parse(example);
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{}\n{example}", errors.join("\n"));
    }
    for mistake in [
        "[mesh]\nlods = true",
        "[mesh]\nscale = [1, 2]",
        "[bitmap]\ncolor = 'sRGB'",
        "[material]\nalpha-cutoff = 2",
        "[content]\ncompression = 'zip'",
        "[content]\n[[content.group]]\nasset = []",
        "[mesh]\n[bitmap]",
        "[model]",
        "",
    ] {
        assert!(!validator.is_valid(&parse(mistake)), "{mistake}");
    }
}

/// Returns the fields that the baker lists as known in its warning about an unknown field.
fn known_fields(project: &Project, path: &str, text: &str) -> BTreeSet<String> {
    project.put(path, text);
    let said = match project.bake() {
        Ok(baked) => baked.warnings.iter().map(|warning| format!("{warning}\n")).collect(),
        Err(errors) => errors,
    };
    let known = said.split("the known fields are ").nth(1).unwrap_or_else(|| panic!("{text}: {said}"));
    known.split(')').next().unwrap().split(", ").map(str::to_owned).collect()
}

#[test]
fn schema_has_exactly_the_fields_of_the_baker() {
    let project = Project::new();
    let mut model = Model::new();
    let mesh = model.triangle("m");
    model.node(json!({"mesh": mesh}), None);
    model.write(&project, "src/m.gltf");
    project.png("src/a.png", 1, 3, &[1, 2, 3]);
    project.put("src/f.fnt", "page id=0 file=\"a.png\"\n");
    project.put("src/blob", "x");
    // Mono, 8 bits, no samples.
    let wav = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\0\0\0\0";
    project.put("src/s.wav", wav);
    let unknown = "zzzzzzzzzzzzzzzzzzzzzzzz = 1\n";
    let definitions = &schema()["$defs"];
    let fields = |name: &str| -> BTreeSet<String> {
        definitions[name]["properties"].as_object().unwrap().keys().cloned().collect()
    };
    for (table, text) in [
        ("animation", "[animation]\nsrc = '/src/m.gltf'\n"),
        ("mesh", "[mesh]\nsrc = '/src/m.gltf'\n"),
        ("material", "[material]\n"),
        ("bitmap", "[bitmap]\nsrc = '/src/a.png'\n"),
        ("bitmap-font", "[bitmap-font]\nsrc = '/src/f.fnt'\n"),
        ("blob", "[blob]\nsrc = '/src/blob'\n"),
        ("sound", "[sound]\nsrc = '/src/s.wav'\n"),
        ("scene", "[scene]\n"),
        ("ref", "[scene]\n[[scene.ref]]\n"),
        (
            "geometry",
            "[scene]\n[[scene.geometry]]\nvertices = [0, 0, 0, 1, 0, 0, 0, 0, 1]\nindices = [0, 2, 1]\n",
        ),
    ] {
        let known = known_fields(&project, "art/x.toml", &format!("{text}{unknown}"));
        assert_eq!(known, fields(table), "[{table}]");
    }
    let known = known_fields(&project, "pak.toml", &format!("[content]\ncompression = 'brotli'\n{unknown}"));
    assert_eq!(known, fields("content"));
    let known = known_fields(
        &project,
        "pak.toml",
        &format!("[content]\n[[content.group]]\ncompression = 'brotli'\n{unknown}"),
    );
    assert_eq!(known, fields("group"));
}
