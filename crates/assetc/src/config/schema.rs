//! The JSON Schema of `assetc.yml`, generated from the table of settings, for editors and validators.

use super::parse::TOP;
use super::settings::{KEYS, SECTIONS};
use crate::schema::DIALECT;
use kiln_engine::{Json, LintLevel};

/// Returns the JSON Schema of `assetc.yml`. `docs/schema/assetc.schema.json` is the same.
pub(crate) fn json_schema() -> Json {
    let properties = TOP.iter().map(|key| ((*key).to_owned(), top(key))).collect();
    Json::object([
        ("$schema", DIALECT.into()),
        ("title", "assetc.yml".into()),
        ("description", "The project file of assetc: sources, output directory and settings.".into()),
        ("type", nullable("object")),
        ("properties", Json::Object(properties)),
        ("additionalProperties", false.into()),
        ("$defs", definitions()),
    ])
}

/// Returns the schema of a key of the top level; any value for a key whose values are checked by `assetc` alone.
fn top(key: &str) -> Json {
    let string = || Json::object([("type", "string".into())]);
    match key {
        "input" | "output" | "preset" => string(),
        "pack" | "pack_unowned" => Json::object([("type", "boolean".into())]),
        "pack_compress" => Json::object([("enum", Json::list(["none", "zstd"]))]),
        "manifest" => Json::object([("enum", Json::list(["textures", "all"]))]),
        "embed" | "exclude" => globs(),
        "lints" => lints(),
        "tools" => map_of(string()),
        "cache" => Json::object([("type", nullable("object"))]),
        "default" => reference("layer"),
        "presets" => map_of(reference("preset")),
        _ => Json::object([]),
    }
}

/// Returns the schemas of layers, presets, rules and sections.
fn definitions() -> Json {
    let sections = || SECTIONS.iter().map(|section| ((*section).to_owned(), reference(section)));
    let rules = ("rules".to_owned(), list_of(reference("rule")));
    let output = ("output".to_owned(), Json::object([("type", "string".into())]));
    let globs = ("exclude".to_owned(), globs());
    let pattern = ("match".to_owned(), Json::object([("type", "string".into())]));
    let mut definitions = vec![
        ("layer".to_owned(), closed(sections().chain([rules.clone()]).collect())),
        ("preset".to_owned(), closed(sections().chain([rules, output, globs]).collect())),
        ("rule".to_owned(), closed(sections().chain([pattern]).collect())),
    ];
    definitions.extend(SECTIONS.iter().map(|section| ((*section).to_owned(), closed(settings(section)))));
    Json::Object(definitions)
}

/// Returns the schemas of the settings of a section, each with its description and its default.
fn settings(section: &str) -> Vec<(String, Json)> {
    let default = super::Settings::default();
    let setting = |key: &super::Key| {
        let mut members = match key.schema() {
            Json::Object(members) => members,
            other => vec![("const".to_owned(), other)],
        };
        let text = format!("{} Accepts {}. Default: `{}`.", key.doc(), key.accepts(), key.show(&default));
        members.insert(0, ("description".to_owned(), text.into()));
        (key.name.to_owned(), Json::Object(members))
    };
    KEYS.iter().filter(|key| key.section == section).map(setting).collect()
}

/// Returns the schema of `lints`: codes of warnings with their levels. The codes themselves are checked by `assetc` alone,
/// because a schema that lists them would change with every new diagnostic.
fn lints() -> Json {
    map_of(Json::object([("enum", Json::list(LintLevel::ALL.map(LintLevel::as_str)))]))
}

fn globs() -> Json {
    let glob = Json::object([("type", "string".into())]);
    let list = Json::object([("type", "array".into()), ("items", glob.clone())]);
    let none = Json::object([("type", "null".into())]);
    Json::object([("anyOf", Json::List(vec![none, glob, list]))])
}

fn reference(name: &str) -> Json {
    Json::object([("$ref", format!("#/$defs/{name}").into())])
}

/// Returns the type of a map or list, which may be left empty.
fn nullable(name: &str) -> Json {
    Json::list([name, "null"])
}

fn map_of(value: Json) -> Json {
    Json::object([("type", nullable("object")), ("additionalProperties", value)])
}

fn list_of(item: Json) -> Json {
    Json::object([("type", nullable("array")), ("items", item)])
}

/// Returns the schema of a map with these keys and no others.
fn closed(properties: Vec<(String, Json)>) -> Json {
    Json::object([
        ("type", nullable("object")),
        ("properties", Json::Object(properties)),
        ("additionalProperties", false.into()),
    ])
}
