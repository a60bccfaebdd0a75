//! The JSON Schema of the TOML files of a bake, generated from one table of their fields.

use kiln_engine::Json;
use kiln_texture::BlockChoice;

/// The type of a field.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Bool,
    String,
    Strings,
    Integer(u64, u64),
    /// A number in a range; `None` for no limit.
    Number(Option<(f64, f64)>),
    /// This many numbers.
    Numbers(u64),
    /// One of these strings.
    Words(&'static [&'static str]),
    /// A block format or a target of textures, or `none`.
    BlockChoices,
    /// A definition of the schema.
    Definition(&'static str),
    /// A list of values of a definition.
    List(&'static str),
    /// One of these kinds.
    Either(&'static [Kind]),
    /// Any value, which the baker checks.
    Any,
}

use Kind::*;

const COMPRESSION: [(&str, Kind); 4] = [
    ("compression", Words(&["none", "snap", "lz4", "zstd", "brotli"])),
    ("quality", Integer(0, 22)),
    ("window-size", Integer(10, 24)),
    ("buffer-size", Any),
];

/// An image: a path, or a table with the fields of `[bitmap]`.
const IMAGE: Kind = Either(&[String, Definition("bitmap")]);
const ROTATION: Kind = Either(&[Numbers(3), Numbers(4)]);
const SCALE: Kind = Either(&[Number(None), Numbers(3)]);
const UNIT: Kind = Number(Some((0.0, 1.0)));
const EULER: Kind = Words(&["xyz", "xzy", "yxz", "yzx", "zxy", "zyx"]);

/// The tables of descriptions: the name of each table, and its fields in the order of the documentation.
const TABLES: &[(&str, &[(&str, Kind)])] = &[
    ("animation", &[("src", String), ("name", String), ("exclude", Strings)]),
    (
        "mesh",
        &[
            ("src", String),
            ("name", String),
            ("scene-name", String),
            ("scale", SCALE),
            ("rotation", ROTATION),
            ("euler", EULER),
            ("offset", Numbers(3)),
            ("flip-x", Bool),
            ("flip-y", Bool),
            ("flip-z", Bool),
            ("normals", Bool),
            ("tangents", Bool),
            ("ignore-skin", Bool),
            ("optimize", Bool),
            ("overdraw-threshold", Number(None)),
            ("lod", Bool),
            ("lod-target-error", Number(None)),
            ("lod-lock-border", Bool),
            ("min-lod-triangles", Integer(1, u32::MAX as u64)),
            ("max-index", Either(&[Words(&["u8", "u16"]), Integer(0, u32::MAX as u64)])),
            ("shadow", Bool),
            ("meshlets", Bool),
            ("uv1", Bool),
            ("colors", Bool),
            ("morphs", Bool),
            ("data", String),
        ],
    ),
    (
        "material",
        &[
            ("color", Either(&[String, Numbers(3), Numbers(4), Definition("bitmap")])),
            ("normal", IMAGE),
            ("emissive", Either(&[String, Numbers(3), Definition("bitmap")])),
            ("emissive-strength", Number(Some((1.0, 65504.0)))),
            ("metal", Either(&[UNIT, IMAGE])),
            ("rough", Either(&[UNIT, IMAGE])),
            ("height", Either(&[UNIT, IMAGE])),
            ("transmission", Either(&[UNIT, IMAGE])),
            ("displacement", Either(&[UNIT, IMAGE])),
            ("occlusion", Either(&[UNIT, IMAGE])),
            ("double-sided", Bool),
            ("alpha-test", Bool),
            ("alpha-blend", Bool),
            ("alpha-cutoff", UNIT),
        ],
    ),
    (
        "bitmap",
        &[
            ("src", String),
            ("color", Words(&["srgb", "linear"])),
            ("mip-levels", Either(&[Bool, Integer(1, u32::MAX as u64)])),
            ("resize", Integer(1, u32::MAX as u64)),
            ("swizzle", String),
            ("depth", Either(&[Integer(8, 32), String])),
            ("compression", BlockChoices),
        ],
    ),
    ("bitmap-font", &[("src", String)]),
    ("blob", &[("src", String)]),
    ("sound", &[("src", String)]),
    ("scene", &[("ref", List("ref")), ("geometry", List("geometry"))]),
];

/// The fields of objects in a scene.
const PLACEMENT: [(&str, Kind); 7] = [
    ("id", String),
    ("rotation", ROTATION),
    ("euler", EULER),
    ("translation", Numbers(3)),
    ("scale", SCALE),
    ("tags", Strings),
    ("data", Any),
];

/// Returns the JSON Schema of content files and descriptions. `docs/schema/pak.schema.json` is the same.
pub fn json_schema() -> Json {
    let mut definitions: Vec<(std::string::String, Json)> =
        TABLES.iter().map(|(name, fields)| ((*name).to_owned(), table(fields))).collect();
    let group = [("assets", Strings), ("exclude", Strings), ("enabled", Bool)];
    let group: Vec<_> = group.into_iter().chain(COMPRESSION).collect();
    let content: Vec<_> = COMPRESSION.into_iter().chain([("group", List("group"))]).collect();
    let mesh = Either(&[String, Definition("mesh")]);
    let reference: Vec<_> =
        [("mesh", mesh), ("materials", List("material-of-mesh"))].into_iter().chain(PLACEMENT).collect();
    let geometry: Vec<_> = PLACEMENT.into_iter().chain([("vertices", Any), ("indices", Any)]).collect();
    definitions.extend([
        ("content".to_owned(), table(&content)),
        ("group".to_owned(), table(&group)),
        ("ref".to_owned(), table(&reference)),
        ("geometry".to_owned(), table(&geometry)),
        ("material-of-mesh".to_owned(), schema(Either(&[String, Definition("material")]))),
    ]);
    let names = ["content"].into_iter().chain(TABLES.iter().map(|(name, _)| *name));
    let root = names.map(|name| (name.to_owned(), schema(Definition(name)))).collect();
    Json::object([
        ("$schema", "https://json-schema.org/draft/2020-12/schema".into()),
        ("title", "pak TOML".into()),
        ("description", "A content file, or the description of one asset.".into()),
        ("type", "object".into()),
        ("properties", Json::Object(root)),
        ("minProperties", 1_u64.into()),
        ("maxProperties", 1_u64.into()),
        ("additionalProperties", false.into()),
        ("$defs", Json::Object(definitions)),
    ])
}

/// Returns the schema of a table with these fields and no others.
fn table(fields: &[(&str, Kind)]) -> Json {
    let properties = fields.iter().map(|(name, kind)| ((*name).to_owned(), schema(*kind))).collect();
    Json::object([
        ("type", "object".into()),
        ("properties", Json::Object(properties)),
        ("additionalProperties", false.into()),
    ])
}

fn schema(kind: Kind) -> Json {
    let of_type = |name: &str| Json::object([("type", name.into())]);
    let list = |items: Json| Json::object([("type", "array".into()), ("items", items)]);
    match kind {
        Bool => of_type("boolean"),
        String => of_type("string"),
        Strings => list(of_type("string")),
        Integer(low, high) => {
            Json::object([("type", "integer".into()), ("minimum", low.into()), ("maximum", high.into())])
        }
        Number(None) => of_type("number"),
        Number(Some((low, high))) => Json::object([
            ("type", "number".into()),
            ("minimum", Json::Float(low)),
            ("maximum", Json::Float(high)),
        ]),
        Numbers(count) => Json::object([
            ("type", "array".into()),
            ("items", of_type("number")),
            ("minItems", count.into()),
            ("maxItems", count.into()),
        ]),
        Words(words) => Json::object([("enum", Json::list(words.iter().copied()))]),
        BlockChoices => {
            let names = ["none"].into_iter().chain(BlockChoice::all().map(BlockChoice::name));
            Json::object([("enum", Json::list(names))])
        }
        Definition(name) => Json::object([("$ref", format!("#/$defs/{name}").into())]),
        List(name) => list(schema(Definition(name))),
        Either(kinds) => {
            Json::object([("anyOf", Json::List(kinds.iter().map(|kind| schema(*kind)).collect()))])
        }
        Any => Json::object([]),
    }
}
