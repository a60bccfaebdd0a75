//! Validates output of the executables against a JSON Schema, with a validator that is not ours. The tests of `assetc`,
//! `pak` and `unity-assetdb` include this file.

use serde_json::Value;

/// The schema of SARIF 2.1.0 as OASIS publishes it, with the pattern of `language` corrected, which is not a valid regular
/// expression.
const SARIF: &str = include_str!("sarif-2.1.0.json");

/// Parses a SARIF document and asserts that it is valid.
#[track_caller]
pub(crate) fn sarif(document: &str) -> Value {
    let schema = serde_json::from_str(SARIF).unwrap();
    let document: Value = serde_json::from_str(document).unwrap_or_else(|e| panic!("{e}: {document}"));
    assert_valid(&schema, &document);
    document
}

/// Asserts that a value is valid under a schema, formats included.
#[track_caller]
pub(crate) fn assert_valid(schema: &Value, value: &Value) {
    let validator = jsonschema::options().should_validate_formats(true).build(schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{}\n{value:#}", errors.join("\n"));
}
