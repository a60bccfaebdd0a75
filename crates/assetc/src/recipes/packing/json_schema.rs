//! The JSON Schema of texture descriptions, generated from the keys that the parser knows.

use super::description::{CHANNELS, IMAGE_KEYS, KIND, KINDS, RGB};
use crate::schema::DIALECT;
use kiln_engine::Json;

/// Returns the JSON Schema of `.tex` files. `docs/schema/tex.schema.json` is the same.
pub(crate) fn json_schema() -> Json {
    let kinds = Json::object([("enum", Json::list(KINDS.map(|(name, _)| name)))]);
    let mut members = vec![
        ("$schema".to_owned(), DIALECT.into()),
        ("title".to_owned(), ".tex".into()),
        (
            "description".to_owned(),
            "The image and channel, or the constant, of each channel of a texture.".into(),
        ),
    ];
    if let Json::Object(rest) = description(Some((KIND.to_owned(), kinds))) {
        members.extend(rest);
    }
    Json::Object(members)
}

/// Returns the schema of a description without `kind`, as a slot of a `.mat` has it.
pub(crate) fn channels() -> Json {
    description(None)
}

fn description(kind: Option<(String, Json)>) -> Json {
    let mut properties: Vec<(String, Json)> =
        CHANNELS.iter().map(|key| ((*key).to_owned(), channel())).collect();
    properties.push((
        RGB.to_owned(),
        Json::object([("anyOf", Json::List(vec![path(), image(&["image", "invert"])]))]),
    ));
    properties.extend(kind);
    // At least one channel has to name an image, which the parser alone checks.
    Json::object([
        ("type", "object".into()),
        ("properties", Json::Object(properties)),
        ("additionalProperties", false.into()),
        ("minProperties", 1_u64.into()),
    ])
}

fn channel() -> Json {
    let constant =
        Json::object([("type", "number".into()), ("minimum", 0_u64.into()), ("maximum", 1_u64.into())]);
    Json::object([("anyOf", Json::List(vec![path(), constant, image(&IMAGE_KEYS)]))])
}

fn path() -> Json {
    Json::object([("type", "string".into()), ("minLength", 1_u64.into())])
}

fn image(keys: &[&str]) -> Json {
    let property = |key: &&str| {
        let schema = match *key {
            "channel" => Json::object([("enum", Json::list(CHANNELS))]),
            "invert" => Json::object([("type", "boolean".into())]),
            _ => path(),
        };
        ((*key).to_owned(), schema)
    };
    Json::object([
        ("type", "object".into()),
        ("properties", Json::Object(keys.iter().map(property).collect())),
        ("required", Json::list(["image"])),
        ("additionalProperties", false.into()),
    ])
}
