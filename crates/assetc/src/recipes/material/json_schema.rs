//! The JSON Schema of `.mat` files, generated from the keys and slots that the parser knows.

use super::schema::{KEYS, ORM, SLOTS};
use crate::recipes::packing::channels_schema;
use crate::schema::DIALECT;
use kiln_engine::Json;

/// Returns the JSON Schema of `.mat` files. `docs/schema/mat.schema.json` is the same.
pub(crate) fn json_schema() -> Json {
    let list = Json::object([
        ("type", "array".into()),
        ("minItems", 1_u64.into()),
        ("items", Json::object([("$ref", "#/$defs/material".into())])),
    ]);
    let several = Json::object([
        ("type", "object".into()),
        ("properties", Json::object([("materials", list)])),
        ("required", Json::list(["materials"])),
        ("additionalProperties", false.into()),
    ]);
    let one = Json::object([("$ref", "#/$defs/material".into()), ("minProperties", 1_u64.into())]);
    let properties = KEYS.iter().map(|key| ((*key).to_owned(), property(key))).collect();
    let material = Json::object([
        ("type", Json::list(["object", "null"])),
        ("properties", Json::Object(properties)),
        ("additionalProperties", false.into()),
    ]);
    Json::object([
        ("$schema", DIALECT.into()),
        ("title", ".mat".into()),
        ("description", "One material, or a list of materials, with the property names of glTF.".into()),
        ("type", "object".into()),
        ("anyOf", Json::List(vec![several, one])),
        ("$defs", Json::object([("material", material), ("colour", colour()), ("texture", texture())])),
    ])
}

/// Returns the schema of a property; any value for one that the parser alone checks.
fn property(key: &str) -> Json {
    let number = |bounds: &[(&str, u64)]| {
        let bounds = bounds.iter().map(|(name, bound)| ((*name).to_owned(), Json::from(*bound)));
        Json::Object([("type".to_owned(), "number".into())].into_iter().chain(bounds).collect())
    };
    match key {
        "name" => Json::object([("type", Json::list(["string", "number", "boolean"]))]),
        "base_color_factor" | "emissive_factor" => Json::object([("$ref", "#/$defs/colour".into())]),
        "metallic_factor" | "roughness_factor" | "occlusion_strength" => {
            number(&[("minimum", 0), ("maximum", 1)])
        }
        "normal_scale" => number(&[]),
        "alpha_cutoff" => number(&[("minimum", 0)]),
        "alpha_mode" => Json::object([("enum", Json::list(["opaque", "mask", "blend"]))]),
        "double_sided" => Json::object([("type", "boolean".into())]),
        "textures" => {
            let texture = || Json::object([("$ref", "#/$defs/texture".into())]);
            let keys = SLOTS.iter().map(|(name, _)| *name).chain([ORM.0]);
            let slots = keys.map(|name| (name.to_owned(), texture()));
            Json::object([
                ("type", Json::list(["object", "null"])),
                ("properties", Json::Object(slots.collect())),
                ("additionalProperties", false.into()),
            ])
        }
        _ => Json::object([]),
    }
}

/// Returns the schema of a slot: the path of an image, or a texture description.
fn texture() -> Json {
    let path = Json::object([("type", "string".into())]);
    Json::object([("anyOf", Json::List(vec![path, channels_schema()]))])
}

fn colour() -> Json {
    let channel = Json::object([("type", "number".into()), ("minimum", 0_u64.into())]);
    let linear = Json::object([
        ("type", "array".into()),
        ("items", channel),
        ("minItems", 3_u64.into()),
        ("maxItems", 4_u64.into()),
    ]);
    let pattern = "^#([0-9a-fA-F]{6}|[0-9a-fA-F]{8})$";
    let srgb = Json::object([("type", "string".into()), ("pattern", pattern.into())]);
    Json::object([("anyOf", Json::List(vec![linear, srgb]))])
}
