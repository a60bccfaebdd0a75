//! JSON Schemas of the files that people write, for editors and validators.
//!
//! They are generated from the tables that the parsers use. `docs/schema` has them as files, `assetc schema` prints them,
//! and `assetc init` writes the one of `assetc.yml` beside it.

use crate::{config, recipes};
use kiln_engine::Json;

/// The dialect of the schemas.
pub(crate) const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The file name of the schema that `assetc init` writes, which the first line of the starter names.
pub const PROJECT_SCHEMA_FILE: &str = "assetc.schema.json";

/// Returns the JSON Schema of `assetc.yml`.
pub fn assetc_yml() -> Json {
    config::json_schema()
}

/// Returns the JSON Schema of `.mat` files.
pub fn mat() -> Json {
    recipes::material::json_schema()
}

/// Returns the JSON Schema of `.tex` files.
pub fn tex() -> Json {
    recipes::packing::json_schema()
}
